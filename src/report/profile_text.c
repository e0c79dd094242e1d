/* profile_text.c - a profile for people: the module tree, then summary,
 * operator types, bottlenecks, the largest layers, and what can be trusted. */
#include "analysis/profile.h"
#include "analysis/tree.h"
#include "graph/graph.h"
#include "report/profile.h"
#include "report/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the module tree ------------------------------------------------------*/

/* The name of an operator without the path of its module. */
static const char *short_name(const char *name, const char *path)
{
    size_t n = strlen(path);
    return n && !strncmp(name, path, n) && name[n] == '.' ? name + n + 1 : name;
}

static void put_module(table *t, const clv_profile *p, const tree_row *row,
                       const clv_report_opts *o)
{
    uint32_t n;
    const clv_graph *g = clv_profile_graph(p);
    const clv_module_total *m = &clv_profile_modules(p, &n)[row->module];
    table_text(t, row->depth ? m->name : clv_graph_name(g));
    table_count(t, m->params);
    if (o->shapes && m->last_node != CLV_NONE) {
        clv_value_info v = clv__first_output(g, m->last_node);
        table_shape(t, &v);
    } else if (o->shapes) {
        table_text(t, "");
    }
    table_count(t, m->macs);
    table_count(t, m->flops);
    table_bytes(t, m->memory);
}

static void put_operator(table *t, const clv_profile *p, const tree_row *row,
                         const clv_report_opts *o)
{
    uint32_t n;
    const clv_graph *g = clv_profile_graph(p);
    const clv_layer *l = &clv_profile_layers(p, &n)[row->node];
    const clv_module_total *m = &clv_profile_modules(p, &n)[row->module];
    table_color(t, PAINT_DIM);
    table_text(t, short_name(clv_graph_node(g, row->node).name, m->path));
    table_count(t, l->cost.params);
    if (o->shapes) {
        clv_value_info v = clv__first_output(g, row->node);
        table_shape(t, &v);
    }
    table_count(t, l->cost.macs);
    table_count(t, l->cost.flops);
    table_bytes(t, l->memory);
}

static void put_tree(const clv_profile *p, const clv_report_opts *o,
                     clv_buf *out)
{
    uint32_t n;
    table t;
    tree_row *rows = clv__tree_rows(p, &n);
    table_start(&t, NULL, 0);
    table_add_col(&t, "Module", TABLE_CUT);
    table_add_col(&t, "#Params", TABLE_RIGHT);
    if (o->shapes)
        table_add_col(&t, "Output shape", TABLE_LEFT);
    table_add_col(&t, "MACs", TABLE_RIGHT);
    table_add_col(&t, "FLOPs", TABLE_RIGHT);
    table_add_col(&t, "Memory", TABLE_RIGHT | TABLE_DROP);
    for (uint32_t i = 0; i < n; i++) {
        if (o->depth && rows[i].depth > o->depth)
            continue;
        table_indent(&t, rows[i].depth);
        if (rows[i].node == CLV_NONE)
            put_module(&t, p, &rows[i], o);
        else
            put_operator(&t, p, &rows[i], o);
    }
    t.failed = t.failed || !rows;
    table_print(&t, o, out);
    clv__free(rows);
}

/* -- summary --------------------------------------------------------------*/

static void put_values(const clv_graph *g, const char *label, uint32_t n,
                       const uint32_t *values, clv_buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        char shape[TEXT_MAX];
        clv_value_info v = clv_graph_value(g, values[i]);
        text_label(out, i ? "" : label);
        text_clean(out, v.name);
        clv_buf_add(out, " ", 1);
        text_clean(out, text_shape(&v, shape));
        clv_buf_add(out, " ", 1);
        text_clean(out, clv_dtype_name(v.dtype));
        clv_buf_add(out, "\n", 1);
    }
}

static void put_bytes(clv_buf *out, const char *label, int64_t n)
{
    char a[TEXT_MAX];
    text_field(out, label, "%s", text_bytes(n, a));
}

static void put_summary(const clv_profile *p, const clv_report_opts *o,
                        clv_buf *out)
{
    const clv_graph *g = clv_profile_graph(p);
    const clv_totals *t = clv_profile_totals(p);
    uint32_t n;
    text_heading(out, o, "Model Summary");
    const uint32_t *values = clv_graph_inputs(g, &n);
    put_values(g, "Input:", n, values, out);
    values = clv_graph_outputs(g, &n);
    put_values(g, "Output:", n, values, out);
    text_field(out, "Operators:", "%u (%u graph nodes)", t->operators,
               t->graph_nodes);
    text_field_count(out, "Parameters:", t->params);
    if (t->unused_params)
        text_field_count(out, "  never read:", t->unused_params);
    text_field_count(out, "MACs:", t->macs);
    if (t->integer_macs)
        text_field_count(out, "  on integers:", t->integer_macs);
    text_field_count(out, "FLOPs:", t->flops);
    if (clv_profile_convention(p) != CLV_CONVENTION_FULL)
        text_field(out, "  counted as:", "%s does, in %ss",
                   clv_convention_name(clv_profile_convention(p)),
                   clv_convention_unit(clv_profile_convention(p)));
    put_bytes(out, "Memory moved:", t->memory);
    put_bytes(out, "  inputs:", t->bytes_in);
    put_bytes(out, "  outputs:", t->bytes_out);
    put_bytes(out, "  weights:", t->bytes_weights);
    put_bytes(out, "Weights stored:", t->weight_bytes);
    text_field(out, "Arithmetic intensity:", "%.2f FLOPs/byte", t->intensity);
}

/* -- types ----------------------------------------------------------------*/

static void put_types(const clv_profile *p, const clv_report_opts *o,
                      clv_buf *out)
{
    static const table_col cols[] = {
        {"Type", TABLE_CUT},    {"Count", TABLE_RIGHT}, {"MACs", TABLE_RIGHT},
        {"FLOPs", TABLE_RIGHT}, {"Share", TABLE_RIGHT}, {"", TABLE_DROP}};
    uint32_t n;
    int64_t total = clv_profile_totals(p)->flops;
    const clv_type_total **sorted = clv__profile_top_types(p, &n);
    table t;
    text_heading(out, o, "Operation Breakdown");
    table_start(&t, cols, 6);
    t.margin = 2;
    for (uint32_t i = 0; sorted && i < n; i++) {
        table_text(&t, sorted[i]->type);
        table_digits(&t, sorted[i]->count);
        table_count(&t, sorted[i]->macs);
        table_count(&t, sorted[i]->flops);
        table_percent(&t, sorted[i]->flops, total);
        table_bar(&t, (double)sorted[i]->flops, (double)total, 16);
    }
    t.failed = t.failed || !sorted;
    table_print(&t, o, out);
    clv__free(sorted);
}

/* -- bottlenecks ----------------------------------------------------------*/

static const struct {
    text_paint paint;
    const char *range;
} classes[CLV_BOTTLENECK_COUNT] = {
    [CLV_BOTTLENECK_COMPUTE] = {PAINT_GREEN, "AI > 50"},
    [CLV_BOTTLENECK_BALANCED] = {PAINT_CYAN, "AI > 10"},
    [CLV_BOTTLENECK_MEMORY] = {PAINT_YELLOW, "AI > 1"},
    [CLV_BOTTLENECK_BANDWIDTH] = {PAINT_RED, "AI <= 1"},
};

static void put_class(table *t, const clv_totals *all, text_paint paint,
                      const char *name, uint32_t count, int64_t flops)
{
    table_color(t, paint);
    table_text(t, name);
    table_digits(t, count);
    table_percent(t, count, all->operators);
    table_count(t, flops);
    table_percent(t, flops, all->flops);
}

static void put_bottlenecks(const clv_profile *p, const clv_report_opts *o,
                            clv_buf *out)
{
    static const table_col cols[] = {{"Class", TABLE_LEFT},
                                     {"Operators", TABLE_RIGHT},
                                     {"Share", TABLE_RIGHT},
                                     {"FLOPs", TABLE_RIGHT},
                                     {"Share", TABLE_RIGHT}};
    const clv_totals *all = clv_profile_totals(p);
    char name[TEXT_MAX];
    table t;
    text_heading(out, o, "Bottleneck Analysis");
    table_start(&t, cols, 5);
    t.margin = 2;
    for (int b = 0; b < CLV_BOTTLENECK_COUNT; b++) {
        snprintf(name, sizeof name, "%s (%s)",
                 clv_bottleneck_name((clv_bottleneck)b), classes[b].range);
        put_class(&t, all, classes[b].paint, name, all->bottleneck[b],
                  all->bottleneck_flops[b]);
    }
    clv_format(name, sizeof name, "compute side (AI > %g)", p->ai_threshold);
    put_class(&t, all, PAINT_NONE, name, all->above_threshold,
              all->above_threshold_flops);
    clv_format(name, sizeof name, "memory side (AI <= %g)", p->ai_threshold);
    put_class(&t, all, PAINT_NONE, name, all->below_threshold,
              all->below_threshold_flops);
    table_print(&t, o, out);
}

/* -- layers ---------------------------------------------------------------*/

/* Whether some node does not run once: it lies in the body of another. */
static bool has_times(const clv_graph *g, const clv_profile *p)
{
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (clv__node_times(g, &g->nodes[layers[i].node]) != 1)
            return true;
    return false;
}

static void put_layer(table *t, const clv_graph *g, const clv_layer *l,
                      bool times, const clv_report_opts *o)
{
    clv_node_info n = clv_graph_node(g, l->node);
    bool known = l->cost.trust != CLV_TRUST_UNKNOWN;
    table_text(t, n.name);
    table_text(t, known ? n.op : n.origin);
    if (times)
        table_digits(t, n.times);
    if (o->shapes && o->verbose) {
        clv_value_info v = clv__first_output(g, l->node);
        table_shape(t, &v);
    }
    table_count(t, l->cost.flops);
    table_bytes(t, l->memory);
    table_num(t, l->intensity);
    table_color(t, known ? classes[l->bottleneck].paint : PAINT_RED);
    table_text(t, l->cost.trust == CLV_TRUST_EXACT
                      ? clv_bottleneck_name(l->bottleneck)
                      : clv_trust_name(l->cost.trust));
}

static void put_layers(const clv_profile *p, const clv_report_opts *o,
                       clv_buf *out)
{
    uint32_t n, top = o->top ? o->top : 10;
    const clv_layer *layers = clv_profile_layers(p, &n);
    uint32_t shown = o->verbose || n < top ? n : top;
    const clv_layer **sorted = o->verbose ? NULL : clv__profile_top(p, shown);
    const clv_graph *g = clv_profile_graph(p);
    bool times = has_times(g, p);
    table t;
    if (o->verbose)
        text_heading(out, o, "Layer Details");
    else
        text_heading(out, o, "Layer Details (top %u by FLOPs)", top);
    table_start(&t, NULL, 0);
    t.margin = 2;
    table_add_col(&t, "Layer", TABLE_CUT);
    table_add_col(&t, "Type", TABLE_CUT);
    if (times)
        table_add_col(&t, "Times", TABLE_RIGHT);
    if (o->shapes && o->verbose)
        table_add_col(&t, "Output shape", TABLE_LEFT);
    table_add_col(&t, "FLOPs", TABLE_RIGHT);
    table_add_col(&t, "Memory", TABLE_RIGHT | TABLE_DROP);
    table_add_col(&t, "AI", TABLE_RIGHT | TABLE_DROP);
    table_add_col(&t, "Bottleneck", TABLE_LEFT);
    for (uint32_t i = 0; i < shown && (o->verbose || sorted); i++)
        put_layer(&t, g, sorted ? sorted[i] : &layers[i], times, o);
    t.failed = t.failed || (!o->verbose && !sorted);
    table_print(&t, o, out);
    clv__free(sorted);
}

/* -- coverage -------------------------------------------------------------*/

enum { NAMED = 20 }; /* without --verbose */

/* What the tool that counts so would warn of. */
static void put_unsupported(const clv_profile *p, const clv_report_opts *o,
                            clv_buf *out)
{
    uint32_t n, shown;
    const clv_unsupported *u = clv_profile_unsupported(p, &n);
    shown = o->verbose || n < NAMED ? n : NAMED;
    for (uint32_t i = 0; i < shown; i++)
        text_wrap(out, o, 2, "%s has no rule for: %s (%u), not counted",
                  clv_convention_name(clv_profile_convention(p)), u[i].op,
                  u[i].count);
    text_rest(out, o, n - shown);
}

static void put_coverage(const clv_profile *p, const clv_report_opts *o,
                         clv_buf *out)
{
    const clv_totals *t = clv_profile_totals(p);
    text_paint paint = t->trust[CLV_TRUST_UNKNOWN] ? PAINT_RED : PAINT_GREEN;
    char given[32] = "";
    if (t->trust[CLV_TRUST_GIVEN])
        snprintf(given, sizeof given, "%u given by you, ",
                 t->trust[CLV_TRUST_GIVEN]);
    clv_buf_printf(out,
                   "\n%sCoverage:%s %u operators: %u exact, %u estimated, "
                   "%u free, %s%u unknown\n",
                   paint_on(o, paint), paint_off(o, paint), t->operators,
                   t->trust[CLV_TRUST_EXACT], t->trust[CLV_TRUST_ESTIMATED],
                   t->trust[CLV_TRUST_FREE], given,
                   t->trust[CLV_TRUST_UNKNOWN]);
    uint32_t n;
    const clv_layer *layers = clv_profile_layers(p, &n);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < n && (o->verbose || shown < NAMED); i++) {
        if (layers[i].cost.trust != CLV_TRUST_UNKNOWN)
            continue;
        clv_node_info node = clv_graph_node(clv_profile_graph(p), i);
        shown++;
        text_wrap(out, o, 2, "unknown: %s (%s), counted as nothing", node.name,
                  node.origin);
    }
    text_rest(out, o, t->trust[CLV_TRUST_UNKNOWN] - shown);
}

void clv__profile_text(const clv_profile *p, const clv_report_opts *o,
                       clv_buf *out)
{
    put_tree(p, o, out);
    put_summary(p, o, out);
    put_types(p, o, out);
    put_bottlenecks(p, o, out);
    put_layers(p, o, out);
    put_coverage(p, o, out);
    put_unsupported(p, o, out);
}
