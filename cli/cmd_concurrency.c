/* cmd_concurrency.c - what can run at the same time, for one or more models. */
#include "strategy.h"
#include "trace.h"

#include <string.h>

typedef struct analysed {
    clv_graph *g;
    clv_profile *p;
    clv_cut *cut;
    clv_concurrency *a;
    clv_schedule *schedule;
    trace_load load;
} analysed;

typedef struct result {
    analysed *models;
    clv_concurrency_report *reports;
    uint32_t n;
} result;

static void concurrency_report(const void *all, const clv_report_opts *o,
                               clv_buf *out)
{
    const result *r = all;
    clv_report_concurrency(r->reports, r->n, o, out);
}

static uint32_t streams_of(const options *o, const analysed *m)
{
    uint32_t wide = clv_concurrency_get(m->a)->max_parallel;
    if (o->streams)
        return o->streams > UINT32_MAX ? UINT32_MAX : (uint32_t)o->streams;
    return wide ? wide : 1; /* a picture gets as many streams as are of use */
}

/* Analyses one model. A single --batch is that of the model. Several are the
 * rows of the batch table, and the model keeps its own batch. */
static clv_status concurrency_run(const options *o, const char *model,
                                  const clv_device *device, analysed *m,
                                  clv_err *err)
{
    options one = *o;
    const clv_concurrency_opts opts = {
        .size = sizeof opts, .device = device, .dtype = o->dtype};
    if (one.batch.n > 1)
        one.batch = (cli_counts){0};
    clv_status s = open_model(&one, model, &m->g, err);
    if (s == CLV_OK)
        s = clv_profile_new(m->g, NULL, &m->p, err);
    if (s == CLV_OK)
        s = make_cut(o, "op", m->p, &m->cut, err);
    if (s == CLV_OK)
        s = clv_concurrency_new(m->cut, &opts, &m->a, err);
    if (s == CLV_OK && (o->streams || o->trace || o->svg))
        s = clv_schedule_new(m->a, streams_of(o, m), &m->schedule, err);
    if (s == CLV_OK && o->trace)
        s = trace_load_new(o, m->a, m->schedule, &m->load, err);
    return s;
}

static clv_status analyse_all(const options *o, result *r, clv_err *err)
{
    static const int64_t usual[] = {1, 4, 8, 16, 32};
    const clv_device *device = NULL;
    clv_status s = CLV_OK;
    if (o->hardware.n > 1)
        return fail(err, CLV_USAGE, "%s takes one --hardware, not %zu",
                    o->cmd->verb, o->hardware.n);
    if (o->hardware.n)
        s = find_device(o, o->hardware.items[0], &device, err);
    for (uint32_t i = 0; s == CLV_OK && i < r->n; i++) {
        analysed *m = &r->models[i];
        s = concurrency_run(o, o->args.items[i], device, m, err);
        r->reports[i] = (clv_concurrency_report){
            .analysis = m->a,
            .schedule = m->schedule,
            .device = device,
            .load = m->load.load,
            .batches = o->batch.n > 1 ? o->batch.items : usual,
            .n_batches = o->batch.n > 1 ? (uint32_t)o->batch.n : 5,
        };
    }
    return s;
}

typedef void draw_fn(const clv_concurrency_report *r, clv_buf *out);

static clv_status write_schedule(const char *path, draw_fn *draw,
                                 const result *r, clv_err *err)
{
    clv_buf text = {0};
    if (!path)
        return CLV_OK;
    draw(&r->reports[0], &text);
    clv_status s = write_file(path, &text, err);
    clv_buf_free(&text);
    return s;
}

static void free_all(result *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        trace_load_free(&r->models[i].load);
        clv_schedule_free(r->models[i].schedule);
        clv_concurrency_free(r->models[i].a);
        clv_cut_free(r->models[i].cut);
        clv_profile_free(r->models[i].p);
        clv_graph_free(r->models[i].g);
    }
}

clv_status cmd_concurrency(const options *o, clv_err *err)
{
    options memory = {0}; /* lists that live as long as this call */
    result r = {.n = (uint32_t)o->args.n};
    if ((o->trace || o->svg) && r.n != 1)
        return fail(err, CLV_USAGE, "%s is for one model, not %u",
                    o->trace ? "--trace" : "--svg", r.n);
    r.models = options_alloc(&memory, r.n, sizeof *r.models);
    r.reports = options_alloc(&memory, r.n, sizeof *r.reports);
    clv_status s = r.models && r.reports
                       ? analyse_all(o, &r, err)
                       : fail(err, CLV_NOMEM, "out of memory");
    if (s == CLV_OK)
        s = write_schedule(o->trace, clv_report_trace, &r, err);
    if (s == CLV_OK)
        s = write_schedule(o->svg, clv_report_schedule_svg, &r, err);
    if (s == CLV_OK)
        s = emit(o, concurrency_report, &r, err);
    if (r.models)
        free_all(&r);
    options_free(&memory);
    return s;
}
