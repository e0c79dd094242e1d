/* html_whatif.c - what the page answers "what if" with: the polynomials of
 * every operator in every type, and the figures of the devices.
 *
 *     {"types": [{"dtype": "", "rate": [0, ...],
 *                 "flops": [[d0, ...], [d1, ...]], ...}, ...], ...}
 *
 * A column that is the same as in the first type is left out. */
#include "core/jsonw.h"
#include "cut/place.h"
#include "graph/graph.h"
#include "report/html.h"

#include <string.h>

/* One type for each rate that a device may publish. */
static const clv_dtype rate_types[] = {CLV_FLOAT32, CLV_FLOAT16, CLV_BFLOAT16,
                                       CLV_FLOAT8E4M3, CLV_INT8};
enum { N_RATES = sizeof rate_types / sizeof *rate_types };

static uint32_t rate_of(clv_dtype t)
{
    switch (t) {
    case CLV_FLOAT16:
        return 1;
    case CLV_BFLOAT16:
        return 2;
    case CLV_FLOAT8E4M3:
    case CLV_FLOAT8E4M3UZ:
    case CLV_FLOAT8E5M2:
    case CLV_FLOAT8E5M2UZ:
        return 3;
    case CLV_INT8:
    case CLV_UINT8:
    case CLV_INT4:
    case CLV_UINT4:
        return 4;
    default:
        return 0;
    }
}

static void whatif_device(jsonw *w, const char *key, const clv_device *d)
{
    jsonw_object_flat(w, key);
    jsonw_str(w, "device", d->name);
    jsonw_str(w, "title", d->title);
    jsonw_num(w, "units", d->units.value);
    jsonw_num(w, "bandwidth", d->bandwidth.value);
    jsonw_num(w, "launch", d->launch.value);
    jsonw_array_flat(w, "peaks");
    for (uint32_t i = 0; i < N_RATES; i++)
        jsonw_num(w, NULL, clv_device_peak(d, rate_types[i], NULL));
    jsonw_end(w);
    jsonw_end(w);
}

static bool whatif_same(const clv_scaling_column *a,
                        const clv_scaling_column *b, uint32_t rows)
{
    for (int i = 0; i < CLV_SCALING_POINTS; i++)
        if (memcmp(a->d[i], b->d[i], rows * sizeof *a->d[i]))
            return false;
    return true;
}

static void whatif_column(jsonw *w, const char *key,
                          const clv_scaling_column *c, uint32_t rows)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i <= c->degree; i++) {
        jsonw_array_flat(w, NULL);
        for (uint32_t row = 0; row < rows; row++)
            jsonw_int(w, NULL, c->d[i][row]);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void whatif_type(jsonw *w, const clv_graph *g, const clv_html_whatif *x,
                        uint32_t type)
{
    uint32_t n_values, n = g->n_nodes;
    clv_scaling_ids(x->scaling, &n_values);
    jsonw_object(w, NULL);
    jsonw_str(w, "dtype", x->dtypes[type]);
    jsonw_array_flat(w, "rate");
    for (uint32_t i = 0; i < n; i++)
        jsonw_int(w, NULL, rate_of(clv_scaling_dtype(x->scaling, type, i)));
    jsonw_end(w);
    for (uint32_t k = 0; k < CLV_SCALING_COLUMNS; k++) {
        clv_scaling_column first = clv_scaling_nodes(x->scaling, 0, k);
        clv_scaling_column c = clv_scaling_nodes(x->scaling, type, k);
        if (type == 0 || !whatif_same(&first, &c, n))
            whatif_column(w, clv_scaling_name(k), &c, n);
    }
    clv_scaling_column values = clv_scaling_values(x->scaling, type);
    whatif_column(w, "values", &values, n_values);
    jsonw_end(w);
}

/* Who makes each tensor and who reads it: maker, number of readers, readers. */
static void whatif_tensors(jsonw *w, const clv_graph *g, const clv_scaling *s)
{
    uint32_t n;
    const uint32_t *ids = clv_scaling_ids(s, &n);
    jsonw_array_flat(w, "tensors");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = ids[i], maker = g->values[v].producer;
        if (maker == CLV_NONE)
            jsonw_int(w, NULL, -1);
        else
            jsonw_int(w, NULL, maker);
        jsonw_int(w, NULL, g->user_first[v + 1] - g->user_first[v]);
        for (uint32_t k = g->user_first[v]; k < g->user_first[v + 1]; k++)
            jsonw_int(w, NULL, g->users[k]);
    }
    jsonw_end(w);
}

void clv__html_whatif(const clv_graph *g, const clv_profile *p,
                      const clv_html_whatif *x, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "batch", x->batch);
    jsonw_bool(&w, "batches", x->batches);
    jsonw_str(&w, "why", x->why);
    jsonw_str(&w, "flags", x->flags);
    jsonw_int(&w, "unused_params", clv_profile_totals(p)->unused_params);
    jsonw_num(&w, "link", x->link > 0 ? x->link : DEFAULT_LINK);
    jsonw_num(&w, "latency", x->latency > 0 ? x->latency : DEFAULT_LATENCY);
    whatif_device(&w, "host", x->host);
    jsonw_array(&w, "devices");
    for (uint32_t i = 0; i < x->n_devices; i++)
        whatif_device(&w, NULL, x->devices[i]);
    jsonw_end(&w);
    jsonw_array(&w, "types");
    for (uint32_t i = 0; i < clv_scaling_types(x->scaling); i++)
        whatif_type(&w, g, x, i);
    jsonw_end(&w);
    whatif_tensors(&w, g, x->scaling);
    jsonw_end(&w);
    jsonw_finish(&w);
}
