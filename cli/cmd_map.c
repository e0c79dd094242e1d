/* cmd_map.c - the roofline of a model on one or several devices, at one or
 * several batch sizes. Each batch is a graph, a profile and a cut of its own;
 * the devices share them. */
#include "strategy.h"

#include <stdlib.h>

typedef struct at_batch {
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
} at_batch;

typedef struct maps {
    clv_map **items;
    uint32_t n;
} maps;

static void map_report(const void *result, const clv_report_opts *o,
                       clv_buf *out)
{
    const maps *m = result;
    clv_report_maps((const clv_map *const *)m->items, m->n, o, out);
}

static clv_status map_prepare(const options *o, size_t i, at_batch *b,
                              clv_err *err)
{
    options one = *o;
    if (o->batch.n)
        one.batch = (cli_counts){o->batch.items + i, 1};
    clv_status s = open_profile(&one, &b->g, &b->p, err);
    return s == CLV_OK ? make_cut(o, "fusion", b->p, &b->c, err) : s;
}

static clv_status map_devices(const options *o, const at_batch *b, maps *m,
                              clv_err *err)
{
    for (size_t k = 0; k < o->hardware.n; k++) {
        const clv_device *d;
        clv_status s = find_device(o, o->hardware.items[k], &d, err);
        if (s == CLV_OK)
            s = clv_map_new(b->c, d, &m->items[m->n], err);
        if (s != CLV_OK)
            return s;
        m->n++;
    }
    return CLV_OK;
}

static clv_status map_draw(const options *o, const clv_map *m, clv_err *err)
{
    clv_buf text = {0};
    clv_report_map_svg(m, &text);
    clv_status s = write_file(o->svg, &text, err);
    clv_buf_free(&text);
    return s;
}

clv_status cmd_map(const options *o, clv_err *err)
{
    size_t n = o->batch.n ? o->batch.n : 1;
    if (o->hardware.n == 0)
        return fail(err, CLV_USAGE,
                    "map needs --hardware NAME; 'cleave hardware' lists them");
    if (o->svg && n * o->hardware.n != 1)
        return fail(err, CLV_USAGE,
                    "--svg draws one device at one batch, not %zu maps",
                    n * o->hardware.n);
    at_batch *b = calloc(n, sizeof *b);
    maps m = {calloc(n * o->hardware.n, sizeof *m.items), 0};
    clv_status s =
        b && m.items ? CLV_OK : fail(err, CLV_NOMEM, "out of memory");
    for (size_t i = 0; s == CLV_OK && i < n; i++) {
        s = map_prepare(o, i, &b[i], err);
        if (s == CLV_OK)
            s = map_devices(o, &b[i], &m, err);
    }
    if (s == CLV_OK && o->svg)
        s = map_draw(o, m.items[0], err);
    if (s == CLV_OK)
        s = emit(o, map_report, &m, err);
    for (uint32_t i = 0; i < m.n; i++)
        clv_map_free(m.items[i]);
    for (size_t i = 0; b && i < n; i++) {
        clv_cut_free(b[i].c);
        clv_profile_free(b[i].p);
        clv_graph_free(b[i].g);
    }
    free(m.items);
    free(b);
    return s;
}
