/* cluster.c - the plan for a cluster: stages and their devices, links and how
 * busy they are, the bound. */
#include "cleave/cluster.h"
#include "report/partition.h"
#include "report/table.h"

static void cluster_put_stages(const clv_cut *c, const clv_report_opts *o,
                               clv_buf *out)
{
    static const table_col cols[] = {
        {"Stage", TABLE_RIGHT},  {"Device", TABLE_CUT},
        {"Ops", TABLE_RIGHT},    {"Time", TABLE_RIGHT},
        {"Period", TABLE_RIGHT}, {"Memory", TABLE_RIGHT},
        {"First", TABLE_CUT},    {"Last", TABLE_CUT}};
    const clv_cluster_plan *p = clv_cut_cluster_plan(c);
    const clv_cluster_info *k = clv_cluster_get(p->cluster);
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    char t[TEXT_MAX];
    table tab;
    text_heading(out, o, "Stages");
    table_start(&tab, cols, 8);
    tab.margin = 2;
    for (uint32_t i = 0; i < n; i++) {
        const clv_cluster_stage *s = &p->stages[i];
        table_digits(&tab, i);
        if (s->n_devices > 1)
            table_printf(&tab, "%s + %u", k->devices[s->devices[0]].name,
                         s->n_devices - 1);
        else
            table_text(&tab, k->devices[s->devices[0]].name);
        table_digits(&tab, subs[i].n_nodes);
        table_text(&tab, text_time(s->seconds, t));
        table_text(&tab, text_time(s->period, t));
        table_bytes(&tab, s->memory);
        table_text(&tab, clv_graph_node(g, subs[i].nodes[0]).name);
        table_text(&tab,
                   clv_graph_node(g, subs[i].nodes[subs[i].n_nodes - 1]).name);
    }
    table_print(&tab, o, out);
}

static void cluster_put_loads(const clv_cluster_plan *p,
                              const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"From", TABLE_CUT},
                                     {"To", TABLE_CUT},
                                     {"Busy", TABLE_RIGHT},
                                     {"", TABLE_LEFT}};
    const clv_cluster_info *k = clv_cluster_get(p->cluster);
    uint32_t top = o->top ? o->top : 20;
    char t[TEXT_MAX];
    table tab;
    if (!p->n_loads)
        return;
    text_heading(out, o, "Links, per micro-batch");
    table_start(&tab, cols, 4);
    tab.margin = 2;
    for (uint32_t i = 0; i < p->n_loads && (o->verbose || i < top); i++) {
        const clv_cluster_link *l = &k->links[p->loads[i].link];
        table_text(&tab, p->loads[i].back ? l->to : l->from);
        table_text(&tab, p->loads[i].back ? l->from : l->to);
        table_text(&tab, text_time(p->loads[i].seconds, t));
        table_bar(&tab, p->loads[i].seconds, p->bottleneck, 16);
    }
    table_print(&tab, o, out);
    if (!o->verbose && p->n_loads > top)
        text_rest(out, o, p->n_loads - top);
}

void clv__cluster_text(const clv_cut *c, const clv_report_opts *o, clv_buf *out)
{
    const clv_cluster_plan *p = clv_cut_cluster_plan(c);
    char a[TEXT_MAX];
    clv_buf_printf(out, "%sPartition of %s over %u of %u devices (%s):%s\n",
                   paint_on(o, PAINT_BOLD),
                   clv_graph_name(clv_profile_graph(clv_cut_profile(c))),
                   p->used, clv_cluster_get(p->cluster)->n_devices,
                   p->objective == CLV_CLUSTER_LATENCY ? "latency"
                                                       : "throughput",
                   paint_off(o, PAINT_BOLD));
    text_field(out, "Bottleneck:", "%s per micro-batch",
               text_time(p->bottleneck, a));
    text_field(out, "Latency:", "%s", text_time(p->latency, a));
    text_field(out, "Lower bound:", "%s, %s %.2f %% away",
               text_time(p->bound, a),
               p->proven ? "the best plan is" : "at most", 100 * p->gap);
    cluster_put_stages(c, o, out);
    cluster_put_loads(p, o, out);
}

void clv__json_cluster(jsonw *w, const clv_cut *c)
{
    const clv_cluster_plan *p = clv_cut_cluster_plan(c);
    if (!p)
        return;
    const clv_cluster_info *k = clv_cluster_get(p->cluster);
    jsonw_object(w, "cluster");
    jsonw_int(w, "devices", k->n_devices);
    jsonw_int(w, "used", p->used);
    jsonw_str(w, "objective",
              p->objective == CLV_CLUSTER_LATENCY ? "latency" : "throughput");
    jsonw_num(w, "bottleneck", p->bottleneck);
    jsonw_num(w, "latency", p->latency);
    jsonw_num(w, "lower_bound", p->bound);
    jsonw_num(w, "gap", p->gap);
    jsonw_bool(w, "proven", p->proven);
    jsonw_array(w, "stages");
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const clv_cluster_stage *s = &p->stages[i];
        jsonw_object(w, NULL);
        jsonw_array_flat(w, "devices");
        for (uint32_t d = 0; d < s->n_devices; d++)
            jsonw_str(w, NULL, k->devices[s->devices[d]].name);
        jsonw_end(w);
        jsonw_num(w, "seconds", s->seconds);
        jsonw_num(w, "period", s->period);
        jsonw_int(w, "memory", s->memory);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_array(w, "messages");
    for (uint32_t i = 0; i < p->n_messages; i++) {
        jsonw_object(w, NULL);
        jsonw_int(w, "from", p->messages[i].from);
        jsonw_int(w, "to", p->messages[i].to);
        jsonw_int(w, "bytes", p->messages[i].bytes);
        jsonw_num(w, "seconds", p->messages[i].seconds);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_array(w, "links");
    for (uint32_t i = 0; i < p->n_loads; i++) {
        const clv_cluster_link *l = &k->links[p->loads[i].link];
        jsonw_object(w, NULL);
        jsonw_str(w, "from", p->loads[i].back ? l->to : l->from);
        jsonw_str(w, "to", p->loads[i].back ? l->from : l->to);
        jsonw_num(w, "seconds", p->loads[i].seconds);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}
