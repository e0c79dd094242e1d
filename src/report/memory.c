/* memory.c - live tensors over time, the peak, and the plan of the arena. */
#include "cleave/memory.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <stdlib.h>

static const char *step_name(const clv_memory *m, const clv_cut *c,
                             uint32_t step)
{
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    if (step >= n)
        return "";
    return clv_graph_node(g, subs[clv_memory_order(m)[step]].nodes[0]).name;
}

/* -- text -----------------------------------------------------------------*/

enum { PLOT_WIDTH = 64 };

/* Plots the largest value of each of at most PLOT_WIDTH equal spans of
 * steps. */
static void memory_put_timeline(const clv_memory *m, clv_buf *out)
{
    const int64_t *live = clv_memory_timeline(m);
    uint32_t steps = clv_memory_get(m)->steps;
    uint32_t n = steps < PLOT_WIDTH ? steps : PLOT_WIDTH;
    double high[PLOT_WIDTH] = {0};
    for (uint32_t k = 0; k < steps; k++) {
        uint32_t col = (uint32_t)((uint64_t)k * n / steps);
        if ((double)live[k] > high[col])
            high[col] = (double)live[k];
    }
    clv_buf_printf(out, "  ");
    text_spark(out, high, n);
    clv_buf_printf(out, "\n");
}

static void put_alive(const clv_memory *m, const clv_cut *c,
                      const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Tensor", TABLE_CUT},
                                     {"Shape", TABLE_LEFT},
                                     {"Bytes", TABLE_RIGHT},
                                     {"Alive from", TABLE_RIGHT},
                                     {"to", TABLE_RIGHT}};
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    const clv_memory_info *t = clv_memory_get(m);
    uint32_t n;
    const clv_buffer *b = clv_memory_buffers(m, &n);
    table tab;
    table_start(&tab, cols, 5);
    tab.margin = 2;
    for (uint32_t i = 0; i < n; i++) {
        if (b[i].first > t->peak_step || b[i].last < t->peak_step)
            continue;
        clv_value_info v = clv_graph_value(g, b[i].value);
        table_text(&tab, v.name);
        table_shape(&tab, &v);
        table_bytes(&tab, b[i].bytes);
        table_digits(&tab, b[i].first);
        table_digits(&tab, b[i].last);
    }
    text_heading(out, o, "Alive at the peak (step %u, %s)", t->peak_step,
                 step_name(m, c, t->peak_step));
    table_print(&tab, o, out);
}

static void memory_text(const clv_memory *m, const clv_cut *c,
                        const clv_report_opts *o, clv_buf *out)
{
    const clv_memory_info *t = clv_memory_get(m);
    char a[TEXT_MAX], b[TEXT_MAX];
    text_heading(out, o, "Memory: %s",
                 clv_graph_name(clv_profile_graph(clv_cut_profile(c))));
    text_field(out, "Steps", "%u (%s cut)", t->steps, clv_cut_strategy(c));
    text_field(out, "Weights", "%s", text_bytes(t->weights, a));
    if (t->steps == 0) {
        text_field(out, "Peak of activations", "none: there are no operators");
        return;
    }
    text_field(out, "Peak of activations", "%s at step %u (%s)",
               text_bytes(t->peak, a), t->peak_step,
               step_name(m, c, t->peak_step));
    if (t->order_peak != t->peak)
        text_field(out, "Peak before reordering", "%s",
                   text_bytes(t->order_peak, a));
    text_field(out, "Total", "%s", text_bytes(t->total, a));
    text_field(out, "Simple estimate", "%s (weights + largest layer)",
               text_bytes(t->simple, a));
    text_field(out, "Arena", "%s (%s; no plan is below %s)",
               text_bytes(t->arena, a), t->planner,
               text_bytes(t->arena_bound, b));
    if (t->planned > 0)
        text_field(out, "Interpreter's arena", "%s (as TFLite plans it)",
                   text_bytes(t->planned, a));
    if (t->budget > 0)
        text_field(out, "Budget", "%s: %s%s", text_bytes(t->budget, a),
                   t->over_budget ? "✗ exceeded by " : "✓ fits",
                   t->over_budget ? text_bytes(t->over_budget, b) : "");
    text_heading(out, o, "Bytes alive over time");
    memory_put_timeline(m, out);
    put_alive(m, c, o, out);
}

/* -- JSON and CSV ---------------------------------------------------------*/

enum { FOLDED_SPANS = 4000, FOLDED_ALIVE = 2000 };

/* Whether a folded report tells of buffer b: it is made by a node that is
 * drawn, or one of the first that are alive at the peak. */
static bool told_buffer(const clv_layout *fold, const clv_memory *m,
                        const clv_graph *g, const clv_buffer *b,
                        uint32_t *alive)
{
    const clv_layout_info *l = fold ? clv_layout_get(fold) : NULL;
    uint32_t peak = clv_memory_get(m)->peak_step;
    uint32_t maker = clv_graph_value(g, b->value).producer;
    if (!l || l->n_rows == 0)
        return true;
    if (maker != CLV_NONE && l->row_node[l->row[maker]] == maker)
        return true;
    return b->first <= peak && b->last >= peak && (*alive)++ < FOLDED_ALIVE;
}

static void put_buffers(jsonw *w, const clv_memory *m, const clv_graph *g,
                        const clv_layout *fold)
{
    uint32_t n, alive = 0;
    const clv_buffer *b = clv_memory_buffers(m, &n);
    if (fold && clv_layout_get(fold)->n_rows)
        jsonw_int(w, "total_tensors", n);
    jsonw_array(w, "tensors");
    for (uint32_t i = 0; i < n; i++) {
        if (!told_buffer(fold, m, g, &b[i], &alive))
            continue;
        clv_value_info v = clv_graph_value(g, b[i].value);
        jsonw_object(w, NULL);
        jsonw_str(w, "name", v.name);
        jsonw_int(w, "bytes", b[i].bytes);
        jsonw_int(w, "first_step", b[i].first);
        jsonw_int(w, "last_step", b[i].last);
        jsonw_int(w, "offset", b[i].offset);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* The step of `span` from `from` on at which most is alive. */
static uint32_t span_highest(const clv_memory *m, uint32_t from, uint32_t span)
{
    const int64_t *live = clv_memory_timeline(m);
    uint32_t steps = clv_memory_get(m)->steps, best = from;
    for (uint32_t k = from; k < steps && k - from < span; k++)
        best = live[k] > live[best] ? k : best;
    return best;
}

/* Bytes at each step, and what runs then. A folded report has the highest step
 * of every span, and the row of what runs. */
static void memory_put_steps(jsonw *w, const clv_memory *m, const clv_cut *c,
                             const clv_layout *fold)
{
    const clv_layout_info *l = fold ? clv_layout_get(fold) : NULL;
    uint32_t steps = clv_memory_get(m)->steps, n, span = 1;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    bool folded = l && l->n_rows;
    if (folded)
        span = steps / FOLDED_SPANS + 1;
    if (folded)
        jsonw_int(w, "span", span);
    jsonw_array_flat(w, "timeline");
    for (uint32_t k = 0; k < steps; k += span)
        jsonw_int(w, NULL, clv_memory_timeline(m)[span_highest(m, k, span)]);
    jsonw_end(w);
    jsonw_array_flat(w, "order");
    for (uint32_t k = 0; k < steps; k += span) {
        uint32_t s = clv_memory_order(m)[span_highest(m, k, span)];
        jsonw_int(w, NULL, folded ? l->row[subs[s].nodes[0]] : s);
    }
    jsonw_end(w);
}

static void memory_json(const clv_memory *m, const clv_cut *c,
                        const clv_layout *fold, clv_buf *out)
{
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    const clv_memory_info *t = clv_memory_get(m);
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(g));
    jsonw_str(&w, "strategy", clv_cut_strategy(c));
    jsonw_int(&w, "steps", t->steps);
    jsonw_int(&w, "weight_bytes", t->weights);
    jsonw_int(&w, "peak_bytes", t->peak);
    jsonw_int(&w, "peak_step", t->peak_step);
    jsonw_str(&w, "peak_node", step_name(m, c, t->peak_step));
    jsonw_int(&w, "peak_before_reordering", t->order_peak);
    jsonw_int(&w, "total_bytes", t->total);
    jsonw_int(&w, "simple_estimate", t->simple);
    jsonw_int(&w, "arena_bytes", t->arena);
    jsonw_int(&w, "arena_lower_bound", t->arena_bound);
    jsonw_str(&w, "arena_planner", t->planner);
    if (t->planned > 0)
        jsonw_int(&w, "interpreter_arena_bytes", t->planned);
    if (t->budget > 0) {
        jsonw_int(&w, "budget", t->budget);
        jsonw_bool(&w, "fits", t->over_budget == 0);
    }
    memory_put_steps(&w, m, c, fold);
    put_buffers(&w, m, g, fold);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void memory_csv(const clv_memory *m, const clv_cut *c, clv_buf *out)
{
    static const char *const head[] = {"step", "subgraph", "node",
                                       "live_bytes"};
    csv_row(out, head, 4);
    for (uint32_t k = 0; k < clv_memory_get(m)->steps; k++) {
        csv_int(out, k);
        csv_int(out, clv_memory_order(m)[k]);
        csv_text(out, step_name(m, c, k));
        csv_int(out, clv_memory_timeline(m)[k]);
        csv_end(out);
    }
}

void clv_report_memory(const clv_memory *m, const clv_report_opts *opts,
                       clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    const clv_cut *c = clv_memory_cut(m);
    if (opts->format == CLV_REPORT_JSON)
        memory_json(m, c, opts->fold, out);
    else if (opts->format == CLV_REPORT_CSV)
        memory_csv(m, c, out);
    else
        memory_text(m, c, opts, out);
}
