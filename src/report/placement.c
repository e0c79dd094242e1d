/* placement.c - cuts over devices by cost: the plans side by side, the curve
 * over the number of subgraphs, the stages of a pipeline. */
#include "report/partition.h"
#include "report/table.h"

#include <stdio.h>
#include <string.h>

static const char *placement_seconds(double s, char *buf)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t k = 0;
    if (s == 0)
        return strcpy(buf, "0");
    while (k < 3 && s < units[k].unit)
        k++;
    clv_format(buf, TEXT_MAX, "%.3f %s", s / units[k].unit, units[k].name);
    return buf;
}

static void placement_put_head(const clv_cut *c, const char *devices,
                               const clv_report_opts *o, clv_buf *out)
{
    clv_buf_printf(out, "%sPartition of %s over %s (%s):%s\n",
                   paint_on(o, PAINT_BOLD),
                   clv_graph_name(clv_profile_graph(clv_cut_profile(c))),
                   devices, clv_cut_strategy(c), paint_off(o, PAINT_BOLD));
}

/* -- placement ------------------------------------------------------------*/

static void put_plan(table *tab, const char *name, const clv_plan *p)
{
    char text[TEXT_MAX];
    table_text(tab, name);
    table_text(tab, placement_seconds(p->total, text));
    table_text(tab, placement_seconds(p->cpu, text));
    table_text(tab, placement_seconds(p->accelerator, text));
    table_text(tab, placement_seconds(p->transfer, text));
    table_bytes(tab, p->bytes);
    table_digits(tab, p->subgraphs);
    table_digits(tab, p->nodes);
    table_printf(tab, "%.2fx", p->ratio);
}

static void put_plans(const clv_placement_info *i, const clv_report_opts *o,
                      clv_buf *out)
{
    static const table_col cols[] = {
        {"Plan", TABLE_LEFT},      {"Total", TABLE_RIGHT},
        {"Host", TABLE_RIGHT},     {"Accel.", TABLE_RIGHT},
        {"Transfer", TABLE_RIGHT}, {"Moved", TABLE_RIGHT | TABLE_DROP},
        {"Parts", TABLE_RIGHT},    {"Ops", TABLE_RIGHT},
        {"Ratio", TABLE_RIGHT},
    };
    table tab;
    table_start(&tab, cols, 9);
    tab.margin = 2;
    put_plan(&tab, "all on host", &i->all_cpu);
    put_plan(&tab, "all supported", &i->greedy);
    put_plan(&tab, "optimum", &i->optimum);
    if (i->chosen.subgraphs != i->optimum.subgraphs ||
        i->chosen.total > i->optimum.total)
        put_plan(&tab, "within limit", &i->chosen);
    table_print(&tab, o, out);
}

static void put_curve(const clv_placement_info *i, const clv_report_opts *o,
                      clv_buf *out)
{
    static const table_col cols[] = {{"At most", TABLE_RIGHT},
                                     {"Used", TABLE_RIGHT},
                                     {"Total", TABLE_RIGHT},
                                     {"", TABLE_LEFT}};
    char text[TEXT_MAX];
    bool unproven = false;
    table tab;
    if (!i->n_curve)
        return;
    text_heading(out, o, "Best time by number of partitions");
    table_start(&tab, cols, 4);
    tab.margin = 2;
    for (uint32_t k = 0; k < i->n_curve; k++) {
        table_digits(&tab, i->curve[k].limit);
        table_digits(&tab, i->curve[k].subgraphs);
        table_printf(&tab, "%s%s", i->curve[k].proven ? "" : "* ",
                     placement_seconds(i->curve[k].total, text));
        table_bar(&tab, i->curve[k].total, i->curve[0].total, 24);
    }
    table_print(&tab, o, out);
    for (uint32_t k = 0; k < i->n_curve; k++)
        unproven = unproven || !i->curve[k].proven;
    if (unproven)
        text_wrap(out, o, 2,
                  "* the best found: the graph is too wide to prove that there "
                  "is no better.");
}

static void put_blocks(const clv_cut *c, const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {
        {"#", TABLE_RIGHT},     {"Device", TABLE_LEFT}, {"Ops", TABLE_RIGHT},
        {"FLOPs", TABLE_RIGHT}, {"In", TABLE_RIGHT},    {"Out", TABLE_RIGHT},
        {"First", TABLE_CUT},   {"Last", TABLE_CUT}};
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    uint32_t n, top = o->top ? o->top : 40;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    table tab;
    text_heading(out, o, "Partitions");
    table_start(&tab, cols, 8);
    tab.margin = 2;
    for (uint32_t k = 0; k < n && (o->verbose || k < top); k++) {
        const clv_subgraph *s = &subs[k];
        table_digits(&tab, k);
        table_text(&tab, s->device);
        table_digits(&tab, s->n_nodes);
        table_count(&tab, s->cost.flops);
        table_bytes(&tab, s->cost.bytes_in);
        table_bytes(&tab, s->cost.bytes_out);
        table_text(&tab, clv_graph_node(g, s->nodes[0]).name);
        table_text(&tab, clv_graph_node(g, s->nodes[s->n_nodes - 1]).name);
    }
    table_print(&tab, o, out);
    if (!o->verbose && n > top)
        text_rest(out, o, n - top);
}

void clv__placement_text(const clv_cut *c, const clv_report_opts *o,
                         clv_buf *out)
{
    const clv_placement_info *i = clv_cut_placement_info(c);
    char devices[160];
    snprintf(devices, sizeof devices, "%s and %s", i->host, i->device);
    placement_put_head(c, devices, o, out);
    put_plans(i, o, out);
    put_curve(i, o, out);
    put_blocks(c, o, out);
}

static void json_plan(jsonw *w, const char *key, const clv_plan *p)
{
    jsonw_object_flat(w, key);
    jsonw_num(w, "seconds", p->total);
    jsonw_num(w, "host_seconds", p->cpu);
    jsonw_num(w, "accelerator_seconds", p->accelerator);
    jsonw_num(w, "transfer_seconds", p->transfer);
    jsonw_int(w, "moved_bytes", p->bytes);
    jsonw_int(w, "subgraphs", p->subgraphs);
    jsonw_int(w, "accelerator_nodes", p->nodes);
    jsonw_end(w);
}

void clv__json_placement(jsonw *w, const clv_cut *c)
{
    const clv_placement_info *i = clv_cut_placement_info(c);
    if (!i)
        return;
    jsonw_object(w, "placement");
    jsonw_str(w, "host", i->host);
    jsonw_str(w, "accelerator", i->device);
    json_plan(w, "all_host", &i->all_cpu);
    json_plan(w, "all_supported", &i->greedy);
    json_plan(w, "optimum", &i->optimum);
    json_plan(w, "chosen", &i->chosen);
    jsonw_array(w, "curve");
    for (uint32_t k = 0; k < i->n_curve; k++) {
        jsonw_object(w, NULL);
        jsonw_int(w, "limit", i->curve[k].limit);
        jsonw_int(w, "subgraphs", i->curve[k].subgraphs);
        jsonw_num(w, "seconds", i->curve[k].total);
        jsonw_bool(w, "proven", i->curve[k].proven);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

/* -- pipeline -------------------------------------------------------------*/

static const char *placement_amount(const clv_pipeline_info *i, double x,
                                    char *buf)
{
    return i->unit[0] == 's' ? placement_seconds(x, buf)
                             : text_count((int64_t)x, buf);
}

void clv__pipeline_text(const clv_cut *c, const clv_report_opts *o,
                        clv_buf *out)
{
    static const table_col cols[] = {
        {"Stage", TABLE_RIGHT},  {"Ops", TABLE_RIGHT},
        {"Cost", TABLE_RIGHT},   {"Transfer", TABLE_RIGHT},
        {"Memory", TABLE_RIGHT}, {"", TABLE_LEFT},
        {"First", TABLE_CUT},    {"Last", TABLE_CUT}};
    const clv_pipeline_info *i = clv_cut_pipeline_info(c);
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    char devices[40], a[TEXT_MAX], b[TEXT_MAX];
    table tab;
    snprintf(devices, sizeof devices, "%u stages", i->n_stages);
    placement_put_head(c, devices, o, out);
    text_field(out, "Slowest stage:", "%s (%s order)",
               placement_amount(i, i->bottleneck, a), i->order);
    text_field(out, "Lower bound:", "%s, at most %.2f %% away",
               placement_amount(i, i->bound, b), 100 * i->gap);
    text_heading(out, o, "Stages");
    table_start(&tab, cols, 8);
    tab.margin = 2;
    for (uint32_t k = 0; k < n; k++) {
        const clv_pipeline_stage *s = &i->stages[k];
        table_digits(&tab, k);
        table_digits(&tab, subs[k].n_nodes);
        table_text(&tab, placement_amount(i, s->cost, a));
        table_text(&tab, placement_amount(i, s->transfer, a));
        table_bytes(&tab, s->memory);
        table_bar(&tab, s->total, i->bottleneck, 16);
        table_text(&tab, clv_graph_node(g, subs[k].nodes[0]).name);
        table_text(&tab,
                   clv_graph_node(g, subs[k].nodes[subs[k].n_nodes - 1]).name);
    }
    table_print(&tab, o, out);
}

void clv__json_pipeline(jsonw *w, const clv_cut *c)
{
    const clv_pipeline_info *i = clv_cut_pipeline_info(c);
    if (!i)
        return;
    jsonw_object(w, "pipeline");
    jsonw_str(w, "unit", i->unit);
    jsonw_str(w, "order", i->order);
    jsonw_num(w, "bottleneck", i->bottleneck);
    jsonw_num(w, "lower_bound", i->bound);
    jsonw_num(w, "gap", i->gap);
    jsonw_array(w, "stages");
    for (uint32_t k = 0; k < i->n_stages; k++) {
        jsonw_object(w, NULL);
        jsonw_num(w, "cost", i->stages[k].cost);
        jsonw_num(w, "transfer", i->stages[k].transfer);
        jsonw_int(w, "memory", i->stages[k].memory);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}
