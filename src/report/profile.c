/* profile.c - a profile as JSON and CSV. The keys are a contract: they are
 * listed in docs/json.md, and more may be added but none renamed. */
#include "report/profile.h"

#include "core/jsonw.h"
#include "layout/folded.h"
#include "report/csv.h"
#include "report/text.h"

#include <string.h>

/* -- JSON -----------------------------------------------------------------*/

static void json_shape(jsonw *w, const char *key, const clv_value_info *v)
{
    if (v->rank == CLV_NONE)
        jsonw_null(w, key);
    else
        jsonw_ints(w, key, v->dims, v->rank);
}

static void json_values(jsonw *w, const char *key, const clv_graph *g,
                        const uint32_t *values, uint32_t n)
{
    jsonw_array(w, key);
    for (uint32_t i = 0; i < n; i++) {
        clv_value_info v = clv_graph_value(g, values[i]);
        jsonw_object_flat(w, NULL);
        jsonw_str(w, "name", v.name);
        json_shape(w, "shape", &v);
        if (v.dim_names && v.rank != CLV_NONE)
            jsonw_strs(w, "dims", v.dim_names, v.rank);
        jsonw_str(w, "dtype", clv_dtype_name(v.dtype));
        if (v.optional)
            jsonw_bool(w, "optional", true);
        if (v.sequence && v.count == CLV_NONE)
            jsonw_null(w, "sequence");
        else if (v.sequence)
            jsonw_int(w, "sequence", v.count);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* Whether node i is told: all are, or those that a folded layout draws. */
static bool json_told(const clv_report_opts *o, uint32_t i)
{
    const clv_layout_info *l = o->fold ? clv_layout_get(o->fold) : NULL;
    return !l || !l->n_rows || l->row_node[l->row[i]] == i;
}

static void json_coverage(jsonw *w, const clv_profile *p,
                          const clv_report_opts *o)
{
    const clv_totals *t = clv_profile_totals(p);
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n);
    jsonw_object_flat(w, "coverage");
    for (int i = 0; i < CLV_TRUST_COUNT; i++)
        jsonw_int(w, clv_trust_name((clv_trust)i), t->trust[i]);
    jsonw_array(w, "unknown_ops");
    for (uint32_t i = 0; i < n; i++)
        if (layers[i].cost.trust == CLV_TRUST_UNKNOWN && json_told(o, i))
            jsonw_str(w, NULL, clv_graph_node(clv_profile_graph(p), i).origin);
    jsonw_end(w);
    jsonw_end(w);
}

static void profile_json_types(jsonw *w, const clv_profile *p)
{
    uint32_t n;
    const clv_type_total *types = clv_profile_types(p, &n);
    jsonw_object(w, "op_types");
    for (uint32_t i = 0; i < n; i++) {
        jsonw_object_flat(w, types[i].type);
        jsonw_int(w, "count", types[i].count);
        jsonw_int(w, "flops", types[i].flops);
        jsonw_int(w, "macs", types[i].macs);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void json_bottlenecks(jsonw *w, const clv_totals *t)
{
    jsonw_object_flat(w, "bottlenecks");
    for (int i = 0; i < CLV_BOTTLENECK_COUNT; i++)
        jsonw_int(w, clv_bottleneck_name((clv_bottleneck)i), t->bottleneck[i]);
    jsonw_end(w);
    jsonw_object_flat(w, "bottleneck_flops");
    for (int i = 0; i < CLV_BOTTLENECK_COUNT; i++)
        jsonw_int(w, clv_bottleneck_name((clv_bottleneck)i),
                  t->bottleneck_flops[i]);
    jsonw_end(w);
}

static void profile_json_totals(jsonw *w, const clv_totals *t)
{
    jsonw_int(w, "operators", t->operators);
    jsonw_int(w, "graph_nodes", t->graph_nodes);
    jsonw_int(w, "total_params", t->params);
    jsonw_int(w, "unused_params", t->unused_params);
    jsonw_int(w, "total_macs", t->macs);
    jsonw_int(w, "integer_macs", t->integer_macs);
    jsonw_int(w, "total_flops", t->flops);
    jsonw_int(w, "total_memory", t->memory);
    jsonw_int(w, "bytes_in", t->bytes_in);
    jsonw_int(w, "bytes_out", t->bytes_out);
    jsonw_int(w, "bytes_weights", t->bytes_weights);
    jsonw_int(w, "weight_bytes", t->weight_bytes);
    jsonw_num(w, "arithmetic_intensity", t->intensity);
}

void clv__json_parallel(jsonw *w, const clv_parallel *p)
{
    jsonw_object_flat(w, "parallelism");
    jsonw_int(w, "batch", p->batch);
    jsonw_int(w, "channels", p->channels);
    jsonw_int(w, "spatial", p->spatial);
    jsonw_int(w, "total_threads", p->total_threads);
    jsonw_bool(w, "is_depthwise", p->is_depthwise);
    jsonw_bool(w, "is_grouped", p->is_grouped);
    jsonw_int(w, "num_groups", p->num_groups);
    jsonw_bool(w, "can_split_batch", p->can_split_batch);
    jsonw_bool(w, "can_split_spatial", p->can_split_spatial);
    jsonw_bool(w, "can_split_channels", p->can_split_channels);
    jsonw_str(w, "vectorizable_dim", p->vectorizable_dim);
    jsonw_end(w);
}

clv_value_info clv__first_output(const clv_graph *g, uint32_t node)
{
    clv_node_info n = clv_graph_node(g, node);
    return n.n_outputs ? clv_graph_value(g, n.outputs[0])
                       : (clv_value_info){.rank = CLV_NONE};
}

/* `id` is the number of the row, which has `count` operators. */
static void json_layer(jsonw *w, const clv_graph *g, const clv_layer *l,
                       uint32_t id, uint32_t count, bool brief)
{
    clv_node_info n = clv_graph_node(g, l->node);
    clv_value_info out = clv__first_output(g, l->node);
    jsonw_object_flat(w, NULL);
    jsonw_int(w, "id", id);
    if (count > 1)
        jsonw_int(w, "folded", count);
    jsonw_str(w, "name", n.name);
    jsonw_str(w, "module", n.module);
    jsonw_str(w, "type", n.op);
    jsonw_str(w, "origin", n.origin);
    if (*n.source)
        jsonw_str(w, "source", n.source);
    if (n.times != 1)
        jsonw_int(w, "times", n.times);
    jsonw_int(w, "params", l->cost.params);
    jsonw_int(w, "macs", l->cost.macs);
    jsonw_int(w, "flops", l->cost.flops);
    jsonw_int(w, "memory", l->memory);
    jsonw_int(w, "bytes_in", l->cost.bytes_in);
    jsonw_int(w, "bytes_out", l->cost.bytes_out);
    jsonw_int(w, "bytes_weights", l->cost.bytes_weights);
    jsonw_num(w, "arithmetic_intensity", l->intensity);
    jsonw_str(w, "bottleneck", clv_bottleneck_name(l->bottleneck));
    json_shape(w, "output_shape", &out);
    jsonw_str(w, "trust", clv_trust_name(l->cost.trust));
    jsonw_str(w, "compute_dtype", clv_dtype_name(l->dtype));
    if (!brief)
        clv__json_parallel(w, &l->parallel);
    jsonw_end(w);
}

/* Rows in place of layers. */
static void profile_json_rows(jsonw *w, const clv_profile *p,
                              const clv_report_opts *o)
{
    const clv_layout_info *l = clv_layout_get(o->fold);
    clv_layer *rows = clv__zalloc(((size_t)l->n_rows + 1) * sizeof *rows);
    if (!rows) {
        w->out->failed = true;
        return;
    }
    clv__folded_layers(l, p, rows);
    for (uint32_t i = 0; i < l->n_rows; i++)
        json_layer(w, clv_profile_graph(p), &rows[i], i, l->row_count[i],
                   o->brief);
    clv__free(rows);
}

static void json_kinds(jsonw *w, const clv_profile *p)
{
    uint32_t n;
    const clv_kind_total *kinds = clv_profile_kinds(p, &n);
    if (clv_profile_convention(p) == CLV_CONVENTION_FULL)
        return;
    jsonw_object_flat(w, "kinds");
    for (uint32_t i = 0; i < n; i++)
        jsonw_int(w, kinds[i].kind, kinds[i].total);
    jsonw_end(w);
    if (!clv_convention_warns(clv_profile_convention(p)))
        return;
    const clv_unsupported *missing = clv_profile_unsupported(p, &n);
    jsonw_object_flat(w, "unsupported");
    for (uint32_t i = 0; i < n; i++)
        jsonw_int(w, missing[i].op, missing[i].count);
    jsonw_end(w);
}

void clv__profile_json(const clv_profile *p, const clv_report_opts *o,
                       clv_buf *out)
{
    const clv_graph *g = clv_profile_graph(p);
    uint32_t n;
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(g));
    jsonw_str(&w, "source", clv_graph_source(g));
    const uint32_t *values = clv_graph_inputs(g, &n);
    json_values(&w, "inputs", g, values, n);
    values = clv_graph_outputs(g, &n);
    json_values(&w, "outputs", g, values, n);
    jsonw_str(&w, "convention", clv_convention_name(clv_profile_convention(p)));
    profile_json_totals(&w, clv_profile_totals(p));
    json_coverage(&w, p, o);
    profile_json_types(&w, p);
    json_kinds(&w, p);
    json_bottlenecks(&w, clv_profile_totals(p));
    const clv_layer *layers = clv_profile_layers(p, &n);
    jsonw_array(&w, "layers");
    if (o->fold && clv_layout_get(o->fold)->n_rows)
        profile_json_rows(&w, p, o);
    else
        for (uint32_t i = 0; i < n; i++)
            json_layer(&w, g, &layers[i], layers[i].node, 1, o->brief);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

/* -- CSV ------------------------------------------------------------------*/

static void csv_layer(clv_buf *out, const clv_graph *g, const clv_layer *l)
{
    clv_node_info n = clv_graph_node(g, l->node);
    clv_value_info v = clv__first_output(g, l->node);
    csv_int(out, l->node);
    csv_text(out, n.name);
    csv_text(out, n.module);
    csv_text(out, n.op);
    csv_text(out, n.origin);
    csv_int(out, l->cost.params);
    csv_int(out, l->cost.macs);
    csv_int(out, l->cost.flops);
    csv_int(out, l->memory);
    csv_int(out, l->cost.bytes_in);
    csv_int(out, l->cost.bytes_out);
    csv_int(out, l->cost.bytes_weights);
    csv_num(out, l->intensity);
    csv_text(out, clv_bottleneck_name(l->bottleneck));
    csv_shape(out, v.rank, v.dims);
    csv_text(out, clv_trust_name(l->cost.trust));
    csv_end(out);
}

void clv__profile_csv(const clv_profile *p, clv_buf *out)
{
    static const char *const head[] = {
        "id",
        "name",
        "module",
        "type",
        "origin",
        "params",
        "macs",
        "flops",
        "memory",
        "bytes_in",
        "bytes_out",
        "bytes_weights",
        "arithmetic_intensity",
        "bottleneck",
        "output_shape",
        "trust",
    };
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n);
    csv_row(out, head, sizeof head / sizeof *head);
    for (uint32_t i = 0; i < n; i++)
        csv_layer(out, clv_profile_graph(p), &layers[i]);
}

void clv_report_profile(const clv_profile *p, const clv_report_opts *opts,
                        clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        clv__profile_json(p, opts, out);
    else if (opts->format == CLV_REPORT_CSV)
        clv__profile_csv(p, out);
    else
        clv__profile_text(p, opts, out);
}
