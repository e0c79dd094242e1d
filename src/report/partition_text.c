/* partition_text.c - a cut for people: totals, what patterns saved, how the
 * subgraphs are distributed, and the largest of them (all, when verbose). */
#include "cut/cut.h"
#include "report/partition.h"
#include "report/table.h"

#include <stdio.h>
#include <stdlib.h>

/* -- totals ---------------------------------------------------------------*/

static void partition_text_put_totals(const clv_cut *c,
                                      const clv_summary_info *t,
                                      const clv_report_opts *o, clv_buf *out)
{
    char a[TEXT_MAX], b[TEXT_MAX], part[TEXT_MAX];
    clv_buf_printf(out, "%sPartition of %s (%s):%s\n", paint_on(o, PAINT_BOLD),
                   clv_graph_name(clv_profile_graph(clv_cut_profile(c))),
                   clv_cut_strategy(c), paint_off(o, PAINT_BOLD));
    text_field(out, "Subgraphs:", "%u of %u operators (%.2f each, at most %u)",
               t->subgraphs, t->operators, t->avg_size, t->max_size);
    text_field(out, "MACs:", "%s", text_count(t->macs, a));
    text_field(out, "FLOPs:", "%s", text_count(t->flops, a));
    text_field(out, "Memory moved:", "%s (%s one by one)",
               text_bytes(t->bytes_external, a),
               text_bytes(t->bytes_unfused, b));
    text_field(out, "Stays inside:", "%s, %s less",
               text_bytes(t->bytes_internal, a),
               text_percent(t->bytes_internal, t->bytes_unfused, part));
    text_field(out, "Arithmetic intensity:",
               "%.2f FLOPs/byte (subgraphs: min %.2f, avg %.2f, max %.2f)",
               t->intensity, t->min_intensity, t->avg_intensity,
               t->max_intensity);
}

/* -- patterns -------------------------------------------------------------*/

static void put_patterns(const clv_summary_info *t, const clv_report_opts *o,
                         clv_buf *out)
{
    static const table_col cols[] = {
        {"Pattern", TABLE_CUT}, {"Count", TABLE_RIGHT}, {"Ops", TABLE_RIGHT},
        {"FLOPs", TABLE_RIGHT}, {"Moved", TABLE_RIGHT}, {"Saved", TABLE_RIGHT},
        {"Less", TABLE_RIGHT},
    };
    uint32_t top = o->top ? o->top : 10;
    table tab;
    text_heading(out, o, "Patterns");
    table_start(&tab, cols, 7);
    tab.margin = 2;
    for (uint32_t i = 0; i < t->n_patterns && (o->verbose || i < top); i++) {
        const clv_pattern_total *p = &t->patterns[i];
        table_text(&tab, p->pattern);
        table_digits(&tab, p->count);
        table_digits(&tab, p->operators);
        table_count(&tab, p->flops);
        table_bytes(&tab, p->bytes_external);
        table_bytes(&tab, p->bytes_internal);
        table_percent(&tab, p->bytes_internal, p->bytes_unfused);
    }
    table_print(&tab, o, out);
    if (!o->verbose && t->n_patterns > top)
        text_rest(out, o, t->n_patterns - top);
}

/* -- distributions --------------------------------------------------------*/

static void put_share(table *tab, const char *name, uint32_t n, uint32_t all)
{
    if (n == 0)
        return;
    table_text(tab, name);
    table_digits(tab, n);
    table_percent(tab, n, all);
    table_bar(tab, n, all, 16);
}

static void start_shares(table *tab, const char *what, const char *title,
                         const clv_report_opts *o, clv_buf *out)
{
    text_heading(out, o, "%s", title);
    table_start(tab, NULL, 0);
    table_add_col(tab, what, TABLE_LEFT);
    table_add_col(tab, "Subgraphs", TABLE_RIGHT);
    table_add_col(tab, "Share", TABLE_RIGHT);
    table_add_col(tab, "", TABLE_LEFT);
    tab->margin = 2;
}

static void put_distributions(const clv_summary_info *t,
                              const clv_report_opts *o, clv_buf *out)
{
    table tab;
    start_shares(&tab, "Class", "Bottlenecks", o, out);
    for (int i = 0; i < CLV_BOTTLENECK_COUNT; i++)
        put_share(&tab, clv_bottleneck_name((clv_bottleneck)i),
                  t->bottleneck[i], t->subgraphs);
    table_print(&tab, o, out);
    start_shares(&tab, "Reason", "Why subgraphs end", o, out);
    for (int i = 0; i < CLV_REASON_COUNT; i++)
        put_share(&tab, clv_reason_name((clv_reason)i), t->reason[i],
                  t->subgraphs);
    table_print(&tab, o, out);
    start_shares(&tab, "Threads", "Parallelism", o, out);
    for (int i = 0; i < CLV_THREADS_COUNT; i++)
        put_share(&tab, clv_threads_name((clv_threads_bin)i), t->threads[i],
                  t->subgraphs);
    table_print(&tab, o, out);
}

static void partition_text_put_types(const clv_summary_info *t,
                                     const clv_report_opts *o, clv_buf *out)
{
    clv_buf line = {0};
    for (uint32_t i = 0; i < t->n_types; i++)
        clv_buf_printf(&line, "%s%u %s", i ? ", " : "", t->types[i].count,
                       t->types[i].type);
    text_heading(out, o, "Operators");
    text_wrap(out, o, 2, "%s", line.text ? line.text : "none");
    out->failed = out->failed || line.failed;
    clv_buf_free(&line);
}

/* -- subgraphs ------------------------------------------------------------*/

static void put_depends(table *tab, const clv_subgraph *s)
{
    enum { SHOWN = 20 }; /* characters; then dots say that there are more */
    char text[TEXT_MAX] = "";
    size_t len = 0;
    for (uint32_t i = 0; i < s->n_depends_on && len < SHOWN; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%u",
                                i ? "," : "", s->depends_on[i]);
    if (len >= SHOWN)
        snprintf(text + len, sizeof text - len, "...");
    table_text(tab, text);
}

static void put_subgraph(table *tab, const clv_cut *c, uint32_t id,
                         const clv_subgraph *s, bool verbose)
{
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    table_digits(tab, id);
    table_text(tab, clv_graph_node(g, s->nodes[0]).name);
    table_text(tab, s->pattern);
    table_count(tab, s->cost.flops);
    if (verbose) {
        table_bytes(tab, s->cost.bytes_in);
        table_bytes(tab, s->cost.bytes_out);
        table_bytes(tab, s->cost.bytes_weights);
        table_bytes(tab, s->bytes_internal);
    } else {
        table_bytes(tab, s->bytes_external);
    }
    table_num(tab, s->intensity);
    table_text(tab, clv_bottleneck_name(s->bottleneck));
    if (!verbose)
        return;
    table_count(tab, s->parallel.total_threads);
    put_depends(tab, s);
    table_text(tab, clv_reason_name(s->reason));
    table_text(tab, s->detail);
}

static void start_subgraphs(table *tab, bool verbose)
{
    static const table_col brief[] = {
        {"#", TABLE_RIGHT},        {"Subgraph", TABLE_CUT},
        {"Pattern", TABLE_LEFT},   {"FLOPs", TABLE_RIGHT},
        {"Moved", TABLE_RIGHT},    {"AI", TABLE_RIGHT},
        {"Bottleneck", TABLE_LEFT}};
    static const table_col full[] = {
        {"#", TABLE_RIGHT},          {"Subgraph", TABLE_CUT},
        {"Pattern", TABLE_LEFT},     {"FLOPs", TABLE_RIGHT},
        {"In", TABLE_RIGHT},         {"Out", TABLE_RIGHT},
        {"Weights", TABLE_RIGHT},    {"Saved", TABLE_RIGHT},
        {"AI", TABLE_RIGHT},         {"Bottleneck", TABLE_LEFT},
        {"Threads", TABLE_RIGHT},    {"After", TABLE_LEFT},
        {"Why it ends", TABLE_LEFT}, {"", TABLE_LEFT}};
    if (verbose)
        table_start(tab, full, sizeof full / sizeof *full);
    else
        table_start(tab, brief, sizeof brief / sizeof *brief);
    tab->margin = 2;
}

static void put_subgraphs(const clv_cut *c, const clv_report_opts *o,
                          clv_buf *out)
{
    uint32_t n, top = o->top ? o->top : 10;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    bool ranked = !o->verbose && n > top;
    const clv_subgraph **sorted = ranked ? clv__cut_by_flops(c) : NULL;
    table tab;
    if (!ranked)
        text_heading(out, o, "Subgraphs");
    else
        text_heading(out, o, "Subgraphs (top %u by FLOPs)", top);
    start_subgraphs(&tab, o->verbose);
    for (uint32_t i = 0; i < (ranked ? top : n) && (sorted || !ranked); i++) {
        const clv_subgraph *x = ranked ? sorted[i] : &subs[i];
        put_subgraph(&tab, c, (uint32_t)(x - subs), x, o->verbose);
    }
    tab.failed = tab.failed || (ranked && !sorted);
    table_print(&tab, o, out);
    clv__free(sorted);
}

void clv__partition_text(const clv_cut *c, const clv_summary *s,
                         const clv_report_opts *o, clv_buf *out)
{
    const clv_summary_info *t = clv_summary_get(s);
    partition_text_put_totals(c, t, o, out);
    if (t->subgraphs == 0) {
        clv_buf_printf(out, "\nThe graph is empty: there is nothing to cut.\n");
        return;
    }
    partition_text_put_types(t, o, out);
    put_patterns(t, o, out);
    put_distributions(t, o, out);
    put_subgraphs(c, o, out);
}
