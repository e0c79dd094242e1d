/* partition.c - a cut as JSON and CSV, subgraphs in execution order. The keys
 * are a contract: more may be added, none renamed. */
#include "report/partition.h"

#include "cleave/cluster.h"
#include "layout/folded.h"
#include "report/csv.h"
#include "report/profile.h"
#include "report/text.h"

/* -- JSON -----------------------------------------------------------------*/

static void partition_json_totals(jsonw *w, const clv_summary_info *t)
{
    jsonw_int(w, "total_subgraphs", t->subgraphs);
    jsonw_int(w, "operators", t->operators);
    jsonw_int(w, "total_flops", t->flops);
    jsonw_int(w, "total_macs", t->macs);
    jsonw_int(w, "total_memory", t->bytes_external);
    jsonw_int(w, "internal_bytes", t->bytes_internal);
    jsonw_int(w, "unfused_memory", t->bytes_unfused);
    jsonw_num(w, "data_movement_reduction", t->reduction);
    jsonw_num(w, "average_fusion_size", t->avg_size);
    jsonw_int(w, "max_fusion_size", t->max_size);
    jsonw_num(w, "arithmetic_intensity", t->intensity);
    jsonw_num(w, "min_arithmetic_intensity", t->min_intensity);
    jsonw_num(w, "average_arithmetic_intensity", t->avg_intensity);
    jsonw_num(w, "max_arithmetic_intensity", t->max_intensity);
}

static void json_distributions(jsonw *w, const clv_summary_info *t)
{
    jsonw_object_flat(w, "operation_types");
    for (uint32_t i = 0; i < t->n_types; i++)
        jsonw_int(w, t->types[i].type, t->types[i].count);
    jsonw_end(w);
    jsonw_object_flat(w, "bottlenecks");
    for (int i = 0; i < CLV_BOTTLENECK_COUNT; i++)
        jsonw_int(w, clv_bottleneck_name((clv_bottleneck)i), t->bottleneck[i]);
    jsonw_end(w);
    jsonw_object_flat(w, "partition_reasons");
    for (int i = 0; i < CLV_REASON_COUNT; i++)
        if (t->reason[i])
            jsonw_int(w, clv_reason_name((clv_reason)i), t->reason[i]);
    jsonw_end(w);
    jsonw_object_flat(w, "parallelism_distribution");
    for (int i = 0; i < CLV_THREADS_COUNT; i++)
        jsonw_int(w, clv_threads_name((clv_threads_bin)i), t->threads[i]);
    jsonw_end(w);
}

static void json_patterns(jsonw *w, const clv_summary_info *t)
{
    jsonw_array(w, "patterns");
    for (uint32_t i = 0; i < t->n_patterns; i++) {
        const clv_pattern_total *p = &t->patterns[i];
        jsonw_object_flat(w, NULL);
        jsonw_str(w, "pattern", p->pattern);
        jsonw_int(w, "count", p->count);
        jsonw_int(w, "operators", p->operators);
        jsonw_int(w, "flops", p->flops);
        jsonw_int(w, "external_bytes", p->bytes_external);
        jsonw_int(w, "saved_bytes", p->bytes_internal);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* All nodes, or of a folded cut the first and those that are drawn. */
static void json_nodes(jsonw *w, const clv_graph *g, const clv_subgraph *s,
                       const folded_cut *f)
{
    if (f->number)
        jsonw_int(w, "operators", s->n_nodes);
    jsonw_array_flat(w, "node_names");
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (i == 0 || clv__folded_drawn(f, s->nodes[i]))
            jsonw_str(w, NULL, clv_graph_node(g, s->nodes[i]).name);
    jsonw_end(w);
    jsonw_array_flat(w, "operation_types");
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (i == 0 || clv__folded_drawn(f, s->nodes[i]))
            jsonw_str(w, NULL, clv_graph_node(g, s->nodes[i]).op);
    jsonw_end(w);
}

static void json_subgraph(jsonw *w, const clv_graph *g, uint32_t id,
                          const clv_subgraph *s,
                          const clv_capability_info *capability,
                          const folded_cut *f)
{
    jsonw_object_flat(w, NULL);
    jsonw_int(w, "id", clv__folded_number(f, id));
    if (clv__folded_times(f, id) > 1)
        jsonw_int(w, "folded", clv__folded_times(f, id));
    json_nodes(w, g, s, f);
    jsonw_str(w, "pattern", s->pattern);
    jsonw_str(w, "device", *s->device ? s->device : NULL);
    jsonw_int(w, "flops", s->cost.flops);
    jsonw_int(w, "macs", s->cost.macs);
    jsonw_int(w, "params", s->cost.params);
    jsonw_int(w, "total_input_bytes", s->cost.bytes_in);
    jsonw_int(w, "total_output_bytes", s->cost.bytes_out);
    jsonw_int(w, "total_weight_bytes", s->cost.bytes_weights);
    jsonw_int(w, "internal_bytes", s->bytes_internal);
    jsonw_num(w, "arithmetic_intensity", s->intensity);
    jsonw_str(w, "recommended_bottleneck", clv_bottleneck_name(s->bottleneck));
    if (capability)
        jsonw_int(w, "peak_memory", capability->peak_bytes[id]);
    jsonw_str(w, "trust", clv_trust_name(s->cost.trust));
    clv__json_parallel(w, &s->parallel);
    jsonw_array_flat(w, "depends_on");
    for (uint32_t i = 0; i < s->n_depends_on; i++)
        if (clv__folded_number(f, s->depends_on[i]) != CLV_NONE)
            jsonw_int(w, NULL, clv__folded_number(f, s->depends_on[i]));
    jsonw_end(w);
    jsonw_str(w, "partition_reason", clv_reason_name(s->reason));
    jsonw_str(w, "detail", s->detail);
    jsonw_end(w);
}

static void partition_json(const clv_cut *c, const clv_summary *s,
                           const clv_layout *fold, clv_buf *out)
{
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    const clv_summary_info *t = clv_summary_get(s);
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    folded_cut f;
    jsonw w;
    if (!clv__folded_cut_make(fold, c, &f)) {
        out->failed = true;
        return;
    }
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(g));
    jsonw_str(&w, "source", clv_graph_source(g));
    jsonw_str(&w, "strategy", clv_cut_strategy(c));
    partition_json_totals(&w, t);
    json_distributions(&w, t);
    json_patterns(&w, t);
    clv__json_capability(&w, c, f.number != NULL);
    clv__json_placement(&w, c);
    clv__json_pipeline(&w, c);
    clv__json_cluster(&w, c);
    jsonw_array(&w, "subgraphs");
    for (uint32_t k = 0; k < n; k++)
        if (clv__folded_number(&f, k) != CLV_NONE)
            json_subgraph(&w, g, k, &subs[k], clv_cut_capability_info(c), &f);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
    clv__folded_cut_free(&f);
}

/* -- CSV ------------------------------------------------------------------*/

/* Names or numbers of a list in one cell, parted by spaces. */
static void csv_names(clv_buf *out, const clv_graph *g, const clv_subgraph *s)
{
    clv_buf cell = {0};
    for (uint32_t i = 0; i < s->n_nodes; i++)
        clv_buf_printf(&cell, "%s%s", i ? " " : "",
                       clv_graph_node(g, s->nodes[i]).name);
    csv_text(out, cell.text ? cell.text : "");
    out->failed = out->failed || cell.failed;
    clv_buf_free(&cell);
}

static void csv_depends(clv_buf *out, const clv_subgraph *s)
{
    clv_buf cell = {0};
    for (uint32_t i = 0; i < s->n_depends_on; i++)
        clv_buf_printf(&cell, "%s%u", i ? " " : "", s->depends_on[i]);
    csv_text(out, cell.text ? cell.text : "");
    out->failed = out->failed || cell.failed;
    clv_buf_free(&cell);
}

static void csv_subgraph(clv_buf *out, const clv_graph *g, uint32_t id,
                         const clv_subgraph *s)
{
    csv_int(out, id);
    csv_names(out, g, s);
    csv_text(out, s->pattern);
    csv_text(out, s->device);
    csv_int(out, s->cost.flops);
    csv_int(out, s->cost.macs);
    csv_int(out, s->cost.bytes_in);
    csv_int(out, s->cost.bytes_out);
    csv_int(out, s->cost.bytes_weights);
    csv_int(out, s->bytes_internal);
    csv_num(out, s->intensity);
    csv_text(out, clv_bottleneck_name(s->bottleneck));
    csv_int(out, s->parallel.total_threads);
    csv_depends(out, s);
    csv_text(out, clv_reason_name(s->reason));
    csv_end(out);
}

static void partition_csv(const clv_cut *c, clv_buf *out)
{
    static const char *const head[] = {
        "id",
        "node_names",
        "pattern",
        "device",
        "flops",
        "macs",
        "total_input_bytes",
        "total_output_bytes",
        "total_weight_bytes",
        "internal_bytes",
        "arithmetic_intensity",
        "recommended_bottleneck",
        "total_threads",
        "depends_on",
        "partition_reason",
    };
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    csv_row(out, head, sizeof head / sizeof *head);
    for (uint32_t k = 0; k < n; k++)
        csv_subgraph(out, clv_profile_graph(clv_cut_profile(c)), k, &subs[k]);
}

void clv_report_partition(const clv_cut *c, const clv_summary *s,
                          const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        partition_json(c, s, opts->fold, out);
    else if (opts->format == CLV_REPORT_CSV)
        partition_csv(c, out);
    else if (clv_cut_capability_info(c))
        clv__capability_text(c, opts, out);
    else if (clv_cut_placement_info(c))
        clv__placement_text(c, opts, out);
    else if (clv_cut_cluster_plan(c))
        clv__cluster_text(c, opts, out);
    else if (clv_cut_pipeline_info(c))
        clv__pipeline_text(c, opts, out);
    else
        clv__partition_text(c, s, opts, out);
}
