/* concurrency.c - a concurrency analysis as JSON, CSV and Chrome trace. */
#include "report/concurrency.h"

#include "core/jsonw.h"
#include "layout/folded.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const clv_graph *concurrency_graph_of(const clv_concurrency_report *r)
{
    return clv_profile_graph(clv_cut_profile(clv_concurrency_cut(r->analysis)));
}

/* Returns the name of a subgraph, which is that of its first node. */
static const char *concurrency_name_of(const clv_graph *g,
                                       const clv_subgraph *s)
{
    return clv_graph_node(g, s->nodes[0]).name;
}

/* -- JSON -----------------------------------------------------------------*/

/* Subgraphs, those that are told. */
static void json_ids(jsonw *w, const char *key, const uint32_t *ids, uint32_t n,
                     const folded_cut *f)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        if (clv__folded_number(f, ids[i]) != CLV_NONE)
            jsonw_int(w, NULL, clv__folded_number(f, ids[i]));
    jsonw_end(w);
}

static void json_figures(jsonw *w, const clv_concurrency_info *a)
{
    jsonw_int(w, "total_subgraphs", a->subgraphs);
    jsonw_int(w, "num_stages", a->n_stages);
    jsonw_int(w, "max_parallel_ops_per_stage", a->max_parallel);
    jsonw_int(w, "independent_subgraphs", a->independent);
    jsonw_int(w, "sequential_subgraphs", a->sequential);
    jsonw_str(w, "weight_unit", a->unit);
    jsonw_num(w, "work", a->work);
    jsonw_num(w, "span", a->span);
    jsonw_num(w, "work_span_speedup", a->speedup);
    jsonw_int(w, "critical_path_length", a->n_critical);
    jsonw_int(w, "critical_path_flops", a->critical_flops);
    jsonw_int(w, "total_flops", a->flops);
    jsonw_int(w, "min_threads", a->min_threads);
    jsonw_num(w, "avg_threads", a->avg_threads);
    jsonw_int(w, "max_threads", a->max_threads);
    jsonw_int(w, "batch_size", a->batch);
    jsonw_int(w, "max_theoretical_speedup",
              clv_concurrency_batch(a, a->batch, 0).speedup);
}

static void json_batches(jsonw *w, const clv_concurrency_report *r)
{
    const clv_concurrency_info *a = clv_concurrency_get(r->analysis);
    int64_t units = r->device ? (int64_t)r->device->units.value : 0;
    jsonw_array(w, "batches");
    for (uint32_t i = 0; i < r->n_batches; i++) {
        clv_batch_row b = clv_concurrency_batch(a, r->batches[i], units);
        jsonw_object_flat(w, NULL);
        jsonw_int(w, "batch", b.batch);
        jsonw_int(w, "theoretical_speedup", b.speedup);
        jsonw_num(w, "avg_threads", b.avg_threads);
        if (units)
            jsonw_num(w, "units_filled", b.units_filled);
        jsonw_end(w);
    }
    jsonw_end(w);
    if (!units)
        return;
    jsonw_object_flat(w, "hardware");
    jsonw_str(w, "name", r->device->name);
    jsonw_int(w, "compute_units", units);
    jsonw_int(w, "batch_to_fill", clv_concurrency_fill(a, units, 1));
    jsonw_int(w, "batch_to_fill_half", clv_concurrency_fill(a, units, 0.5));
    jsonw_end(w);
}

static void json_schedule(jsonw *w, const clv_schedule_info *s)
{
    jsonw_object(w, "schedule");
    jsonw_int(w, "streams", s->streams);
    jsonw_num(w, "makespan", s->makespan);
    jsonw_num(w, "lower_bound", s->lower_bound);
    jsonw_num(w, "utilisation", s->utilisation);
    jsonw_end(w);
}

static void json_task(jsonw *w, const clv_concurrency_report *r, uint32_t k,
                      const folded_cut *f)
{
    uint32_t n;
    const clv_cut *c = clv_concurrency_cut(r->analysis);
    const clv_subgraph *s = &clv_cut_subgraphs(c, &n)[k];
    const clv_task *t = &clv_concurrency_get(r->analysis)->tasks[k];
    jsonw_object_flat(w, NULL);
    jsonw_int(w, "id", clv__folded_number(f, k));
    if (clv__folded_times(f, k) > 1)
        jsonw_int(w, "folded", clv__folded_times(f, k));
    jsonw_str(w, "name", concurrency_name_of(concurrency_graph_of(r), s));
    jsonw_str(w, "pattern", s->pattern);
    jsonw_int(w, "stage", t->stage);
    jsonw_int(w, "latest_stage", t->latest);
    jsonw_int(w, "slack", t->slack);
    jsonw_bool(w, "critical", t->critical);
    jsonw_num(w, "weight", t->weight);
    jsonw_num(w, "earliest_start", t->start);
    jsonw_num(w, "slack_time", t->slack_time);
    jsonw_int(w, "independent_threads", t->threads);
    jsonw_int(w, "min_units", t->min_units);
    jsonw_int(w, "optimal_units", t->optimal_units);
    jsonw_int(w, "max_units", t->max_units);
    json_ids(w, "depends_on", s->depends_on, s->n_depends_on, f);
    if (r->schedule) {
        const clv_slot *slot = &clv_schedule_get(r->schedule)->slots[k];
        jsonw_int(w, "stream", slot->stream);
        jsonw_num(w, "start", slot->start);
        jsonw_num(w, "finish", slot->finish);
    }
    jsonw_end(w);
}

static void json_stages(jsonw *w, const clv_concurrency_info *a,
                        const folded_cut *f)
{
    jsonw_array_flat(w, "stages");
    for (uint32_t i = 0; !f->number && i < a->n_stages; i++)
        json_ids(w, NULL, a->stages[i].subgraphs, a->stages[i].n, f);
    jsonw_end(w);
}

static void json_model(jsonw *w, const char *key,
                       const clv_concurrency_report *r, const folded_cut *f)
{
    const clv_concurrency_info *a = clv_concurrency_get(r->analysis);
    jsonw_object(w, key);
    jsonw_int(w, "schema", 1);
    jsonw_str(w, "model", clv_graph_name(concurrency_graph_of(r)));
    jsonw_str(w, "strategy",
              clv_cut_strategy(clv_concurrency_cut(r->analysis)));
    json_figures(w, a);
    json_ids(w, "critical_path", a->critical, a->n_critical, f);
    json_stages(w, a, f);
    json_batches(w, r);
    if (r->schedule)
        json_schedule(w, clv_schedule_get(r->schedule));
    jsonw_array(w, "subgraphs");
    for (uint32_t k = 0; k < a->subgraphs; k++)
        if (clv__folded_number(f, k) != CLV_NONE)
            json_task(w, r, k, f);
    jsonw_end(w);
    jsonw_end(w);
}

static void concurrency_json(const clv_concurrency_report *r, uint32_t n,
                             const clv_layout *fold, clv_buf *out)
{
    folded_cut f;
    jsonw w;
    jsonw_start(&w, out, n == 1 ? JSONW_LINES : JSONW_COMPACT);
    if (n != 1)
        jsonw_array(&w, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (clv__folded_cut_make(fold, clv_concurrency_cut(r[i].analysis),
                                 &f)) {
            json_model(&w, NULL, &r[i], &f);
            clv__folded_cut_free(&f);
        } else {
            out->failed = true;
        }
    if (n != 1)
        jsonw_end(&w);
    jsonw_finish(&w);
}

/* -- CSV ------------------------------------------------------------------*/

static void csv_task(const clv_concurrency_report *r, uint32_t k, clv_buf *out)
{
    uint32_t n;
    const clv_cut *c = clv_concurrency_cut(r->analysis);
    const clv_subgraph *s = &clv_cut_subgraphs(c, &n)[k];
    const clv_task *t = &clv_concurrency_get(r->analysis)->tasks[k];
    const clv_schedule_info *plan =
        r->schedule ? clv_schedule_get(r->schedule) : NULL;
    csv_text(out, clv_graph_name(concurrency_graph_of(r)));
    csv_int(out, k);
    csv_text(out, concurrency_name_of(concurrency_graph_of(r), s));
    csv_text(out, s->pattern);
    csv_int(out, t->stage);
    csv_int(out, t->latest);
    csv_int(out, t->slack);
    csv_bool(out, t->critical);
    csv_int(out, s->cost.flops);
    csv_num(out, t->weight);
    csv_num(out, t->start);
    csv_num(out, t->slack_time);
    csv_int(out, t->threads);
    csv_int(out, t->optimal_units);
    csv_num(out, plan ? (double)plan->slots[k].stream : NAN);
    csv_num(out, plan ? plan->slots[k].start : NAN);
    csv_num(out, plan ? plan->slots[k].finish : NAN);
    csv_end(out);
}

static void concurrency_csv(const clv_concurrency_report *r, uint32_t n,
                            clv_buf *out)
{
    static const char *const head[] = {
        "model",         "id",
        "name",          "pattern",
        "stage",         "latest",
        "slack",         "critical",
        "flops",         "weight",
        "start",         "slack_time",
        "threads",       "optimal_units",
        "stream",        "stream_start",
        "stream_finish",
    };
    csv_row(out, head, sizeof head / sizeof *head);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < clv_concurrency_get(r[i].analysis)->subgraphs;
             k++)
            csv_task(&r[i], k, out);
}

/* -- Chrome trace ---------------------------------------------------------*/

static void trace_stream(jsonw *w, uint32_t stream)
{
    char name[32];
    snprintf(name, sizeof name, "stream %u", stream);
    jsonw_object_flat(w, NULL);
    jsonw_str(w, "ph", "M");
    jsonw_str(w, "name", "thread_name");
    jsonw_int(w, "pid", 0);
    jsonw_int(w, "tid", stream);
    jsonw_object(w, "args");
    jsonw_str(w, "name", name);
    jsonw_end(w);
    jsonw_end(w);
}

static void trace_task(jsonw *w, const clv_concurrency_report *r, uint32_t k,
                       double scale)
{
    uint32_t n;
    const clv_cut *c = clv_concurrency_cut(r->analysis);
    const clv_subgraph *s = &clv_cut_subgraphs(c, &n)[k];
    const clv_task *t = &clv_concurrency_get(r->analysis)->tasks[k];
    const clv_slot *slot = &clv_schedule_get(r->schedule)->slots[k];
    jsonw_object_flat(w, NULL);
    jsonw_str(w, "ph", "X");
    jsonw_str(w, "name", concurrency_name_of(concurrency_graph_of(r), s));
    jsonw_str(w, "cat", clv_bottleneck_name(s->bottleneck));
    jsonw_int(w, "pid", 0);
    jsonw_int(w, "tid", slot->stream);
    jsonw_num(w, "ts", slot->start * scale);
    jsonw_num(w, "dur", (slot->finish - slot->start) * scale);
    jsonw_object(w, "args");
    jsonw_int(w, "subgraph", k);
    jsonw_str(w, "pattern", s->pattern);
    jsonw_int(w, "flops", s->cost.flops);
    jsonw_int(w, "stage", t->stage);
    jsonw_bool(w, "critical", t->critical);
    jsonw_end(w);
    jsonw_end(w);
}

static void trace_counter(jsonw *w, const char *name, double at, double value)
{
    jsonw_object_flat(w, NULL);
    jsonw_str(w, "ph", "C");
    jsonw_str(w, "name", name);
    jsonw_int(w, "pid", 0);
    jsonw_num(w, "ts", at);
    jsonw_object(w, "args");
    jsonw_num(w, "value", value);
    jsonw_end(w);
    jsonw_end(w);
}

/* Only what changes is said again. */
static void trace_load(jsonw *w, const clv_load *load, bool rates, double scale)
{
    uint32_t n;
    const clv_load_point *p = clv_load_points(load, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!i || p[i].live != p[i - 1].live)
            trace_counter(w, "live bytes", p[i].at * scale, (double)p[i].live);
        if (rates && (!i || p[i].flops != p[i - 1].flops))
            trace_counter(w, "FLOP/s", p[i].at * scale, p[i].flops);
        if (rates && (!i || p[i].bytes != p[i - 1].bytes))
            trace_counter(w, "bytes/s", p[i].at * scale, p[i].bytes);
    }
}

void clv_report_trace(const clv_concurrency_report *r, clv_buf *out)
{
    const clv_concurrency_info *a = clv_concurrency_get(r->analysis);
    bool seconds = !strcmp(a->unit, "s");
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "displayTimeUnit", "ns");
    jsonw_object_flat(&w, "otherData");
    jsonw_str(&w, "model", clv_graph_name(concurrency_graph_of(r)));
    jsonw_str(&w, "time",
              seconds ? "roofline estimate on the device"
                      : "1 us stands for 1,000,000 FLOPs");
    jsonw_str(&w, "device", r->device ? r->device->name : NULL);
    jsonw_end(&w);
    jsonw_array(&w, "traceEvents");
    for (uint32_t i = 0; i < clv_schedule_get(r->schedule)->streams; i++)
        trace_stream(&w, i);
    for (uint32_t k = 0; k < a->subgraphs; k++)
        trace_task(&w, r, k, seconds ? 1e6 : 1e-6);
    if (r->load)
        trace_load(&w, r->load, seconds, seconds ? 1e6 : 1e-6);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

void clv_report_concurrency(const clv_concurrency_report *r, uint32_t n,
                            const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        concurrency_json(r, n, opts->fold, out);
    else if (opts->format == CLV_REPORT_CSV)
        concurrency_csv(r, n, out);
    else if (n == 1)
        clv__concurrency_text(r, opts, out);
    else
        clv__concurrency_compare(r, n, opts, out);
}
