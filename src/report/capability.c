/* capability.c - a capability cut for people, and its keys in JSON: what is
 * supported, the partitions, why there are not fewer, what would change it. */
#include "cut/cut.h"
#include "report/partition.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* Rows and steps that are shown without --verbose. */
enum { PATH_SHOWN = 16, PARTITIONS_SHOWN = 40 };

/* -- support --------------------------------------------------------------*/

static const char *row_name(const clv_support_row *r)
{
    return strcmp(r->op, "unknown") == 0 && *r->origin ? r->origin : r->op;
}

static void put_supported(const clv_capability_info *i,
                          const clv_report_opts *o, clv_buf *out)
{
    clv_buf line = {0};
    for (uint32_t k = 0; k < i->n_rows; k++)
        if (i->rows[k].supported)
            clv_buf_printf(&line, "%s%s:%u", line.len ? ", " : "",
                           row_name(&i->rows[k]), i->rows[k].count);
    text_heading(out, o, "Operators %s supports", i->device);
    text_wrap(out, o, 2, "%s", line.text ? line.text : "none");
    out->failed = out->failed || line.failed;
    clv_buf_free(&line);
}

/* Returns where the operator is in the model's source: file and line, or its
 * name there. */
static const char *row_source(const clv_graph *g, const clv_support_row *r)
{
    const char *source = clv_graph_node(g, r->node).source;
    return *source ? source : r->origin;
}

static void capability_put_unsupported(const clv_cut *c,
                                       const clv_capability_info *i,
                                       const clv_report_opts *o, clv_buf *out)
{
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    bool sources = false;
    table tab;
    if (i->supported == i->total)
        return;
    for (uint32_t k = 0; k < i->n_rows; k++)
        sources =
            sources || (!i->rows[k].supported && *row_source(g, &i->rows[k]));
    text_heading(out, o, "Operators %s does not support", i->device);
    table_start(&tab, NULL, 0);
    table_add_col(&tab, "Operator", TABLE_LEFT);
    table_add_col(&tab, "Count", TABLE_RIGHT);
    table_add_col(&tab, "First", TABLE_CUT);
    if (sources)
        table_add_col(&tab, "Source", TABLE_CUT);
    table_add_col(&tab, "Reason", TABLE_WRAP);
    tab.margin = 2;
    for (uint32_t k = 0; k < i->n_rows; k++) {
        const clv_support_row *r = &i->rows[k];
        if (r->supported)
            continue;
        table_text(&tab, row_name(r));
        table_digits(&tab, r->count);
        table_text(&tab, clv_graph_node(g, r->node).name);
        if (sources)
            table_text(&tab, row_source(g, r));
        table_text(&tab, r->reason);
    }
    table_print(&tab, o, out);
}

/* -- partitions -----------------------------------------------------------*/

/* "linear:3, relu:2", in order of first appearance. */
static void put_kinds(table *tab, const clv_cut *c, uint32_t k)
{
    uint32_t n;
    clv_buf text = {0};
    clv_type_total *types = clv__cut_types(c, k, &n);
    for (uint32_t i = 0; types && i < n; i++)
        clv_buf_printf(&text, "%s%s:%u", i ? ", " : "", types[i].type,
                       types[i].count);
    table_text(tab, text.text ? text.text : "");
    tab->failed = tab->failed || text.failed || !types;
    clv__free(types);
    clv_buf_free(&text);
}

static void put_numbers(const clv_subgraph *subs, uint32_t n,
                        const clv_capability_info *i, const clv_report_opts *o,
                        clv_buf *out)
{
    static const table_col cols[] = {
        {"#", TABLE_RIGHT},     {"Device", TABLE_CUT},   {"Ops", TABLE_RIGHT},
        {"FLOPs", TABLE_RIGHT}, {"Params", TABLE_RIGHT}, {"In", TABLE_RIGHT},
        {"Out", TABLE_RIGHT},   {"Peak", TABLE_RIGHT}};
    table tab;
    text_heading(out, o, "Partitions");
    table_start(&tab, cols, 8);
    tab.margin = 2;
    for (uint32_t k = 0; k < n; k++) {
        const clv_subgraph *s = &subs[k];
        table_digits(&tab, k);
        table_text(&tab, s->device);
        table_digits(&tab, s->n_nodes);
        table_count(&tab, s->cost.flops);
        table_count(&tab, s->cost.params);
        table_bytes(&tab, s->cost.bytes_in);
        table_bytes(&tab, s->cost.bytes_out);
        table_bytes(&tab, i->peak_bytes[k]);
    }
    table_print(&tab, o, out);
}

static void put_partitions(const clv_cut *c, const clv_capability_info *i,
                           const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"#", TABLE_RIGHT},
                                     {"Operators", TABLE_WRAP}};
    uint32_t n;
    const clv_subgraph *subs = clv_cut_subgraphs(c, &n);
    uint32_t shown = o->verbose || n < PARTITIONS_SHOWN ? n : PARTITIONS_SHOWN;
    table tab;
    put_numbers(subs, shown, i, o, out);
    text_heading(out, o, "What they hold");
    table_start(&tab, cols, 2);
    tab.margin = 2;
    for (uint32_t k = 0; k < shown; k++) {
        table_digits(&tab, k);
        put_kinds(&tab, c, k);
    }
    table_print(&tab, o, out);
    if (n > shown)
        text_rest(out, o, n - shown);
}

/* -- the proof ------------------------------------------------------------*/

static void capability_put_path(const clv_graph *g, const uint32_t *path,
                                uint32_t n, const clv_report_opts *o,
                                clv_buf *out)
{
    clv_buf line = {0};
    for (uint32_t k = 0; k < n; k++) {
        if (!o->verbose && n > PATH_SHOWN && k == PATH_SHOWN - 4) {
            clv_buf_printf(&line, " > (%u more%s%s)", n - PATH_SHOWN,
                           o->more ? ", " : "", o->more ? o->more : "");
            k = n - 4;
        }
        clv_buf_printf(&line, "%s%s", k ? " > " : "",
                       clv_graph_node(g, path[k]).name);
    }
    text_wrap(out, o, 2, "%s", line.text ? line.text : "");
    out->failed = out->failed || line.failed;
    clv_buf_free(&line);
}

static void put_certificate(const clv_cut *c, const clv_capability_info *i,
                            const clv_report_opts *o, clv_buf *out)
{
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    if (i->minimum < 2)
        return;
    text_heading(out, o, "Why fewer than %u is impossible", i->minimum);
    for (int k = 0; k < 2; k++)
        if (i->n_certificate[k])
            capability_put_path(g, i->certificate[k], i->n_certificate[k], o,
                                out);
    text_wrap(out, o, 2,
              i->n_certificate[1]
                  ? "Each leads to the next on the other device; whichever "
                    "device runs first, one of the two paths has to wait."
                  : "Each leads to the next, which runs on the other device.");
}

/* -- what if --------------------------------------------------------------*/

static void put_what_if(const clv_cut *c, const clv_capability_info *i,
                        const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {
        {"If supported", TABLE_LEFT}, {"Nodes", TABLE_RIGHT},
        {"Partitions", TABLE_RIGHT},  {"Between them", TABLE_RIGHT},
        {"Less", TABLE_RIGHT},        {"Reason now", TABLE_WRAP}};
    uint32_t n, top = o->top ? o->top : 10;
    table tab;
    clv_cut_subgraphs(c, &n);
    if (!i->n_what_if)
        return;
    text_heading(out, o, "What if");
    table_start(&tab, cols, 6);
    tab.margin = 2;
    for (uint32_t k = 0; k < i->n_what_if && (o->verbose || k < top); k++) {
        const clv_what_if *w = &i->what_if[k];
        table_text(&tab, w->op);
        table_digits(&tab, w->nodes);
        table_printf(&tab, "%u -> %u", n, w->subgraphs);
        table_bytes(&tab, w->crossing_bytes);
        table_bytes(&tab, w->fewer_bytes);
        table_text(&tab, w->reason);
    }
    table_print(&tab, o, out);
    if (!o->verbose && i->n_what_if > top)
        text_rest(out, o, i->n_what_if - top);
    if (i->what_if_untried)
        clv_buf_printf(out,
                       "  %u rarer kinds were not tried: it would take "
                       "too long\n",
                       i->what_if_untried);
}

static void put_demoted(const clv_capability_info *i, clv_buf *out)
{
    char flops[TEXT_MAX];
    if (i->n_demoted)
        clv_buf_printf(out,
                       "  %u supported operators (%s FLOPs) moved to the CPU "
                       "to meet the limits%s\n",
                       i->n_demoted, text_count(i->demoted_flops, flops),
                       i->demotion_unproven ? "; fewer might do" : "");
}

void clv__capability_text(const clv_cut *c, const clv_report_opts *o,
                          clv_buf *out)
{
    const clv_capability_info *i = clv_cut_capability_info(c);
    char bytes[TEXT_MAX];
    uint32_t n;
    clv_cut_subgraphs(c, &n);
    clv_buf_printf(out, "%sPartition of %s for %s (%s):%s\n",
                   paint_on(o, PAINT_BOLD),
                   clv_graph_name(clv_profile_graph(clv_cut_profile(c))),
                   i->device, clv_cut_strategy(c), paint_off(o, PAINT_BOLD));
    clv_buf_printf(out,
                   "  %.2f%% of arithmetic operations (%u of %u) are "
                   "supported\n",
                   i->percentage, i->supported, i->total);
    clv_buf_printf(out, "  Num Partitions: %u (%u on %s, %u on cpu)\n", n,
                   i->accelerator, i->device, n - i->accelerator);
    clv_buf_printf(out, "  Between them: %s\n",
                   text_bytes(i->crossing_bytes, bytes));
    put_demoted(i, out);
    put_supported(i, o, out);
    capability_put_unsupported(c, i, o, out);
    put_partitions(c, i, o, out);
    put_certificate(c, i, o, out);
    put_what_if(c, i, o, out);
}

/* -- JSON -----------------------------------------------------------------*/

static void json_support(jsonw *w, const clv_cut *c,
                         const clv_capability_info *i)
{
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    jsonw_object(w, "support");
    jsonw_str(w, "device", i->device);
    jsonw_int(w, "supported", i->supported);
    jsonw_int(w, "total", i->total);
    jsonw_num(w, "percentage", round(i->percentage * 100) / 100);
    for (int yes = 1; yes >= 0; yes--) {
        jsonw_array(w, yes ? "supported_ops" : "unsupported");
        for (uint32_t k = 0; k < i->n_rows; k++) {
            const clv_support_row *r = &i->rows[k];
            if (r->supported != yes)
                continue;
            jsonw_object(w, NULL);
            jsonw_str(w, "op", r->op);
            jsonw_str(w, "origin", r->origin);
            jsonw_int(w, "count", r->count);
            if (!yes) {
                jsonw_str(w, "first", clv_graph_node(g, r->node).name);
                jsonw_str(w, "source", clv_graph_node(g, r->node).source);
                jsonw_str(w, "reason", r->reason);
            }
            jsonw_end(w);
        }
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void json_path(jsonw *w, const char *key, const clv_graph *g,
                      const uint32_t *path, uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t k = 0; k < n; k++)
        jsonw_str(w, NULL, clv_graph_node(g, path[k]).name);
    jsonw_end(w);
}

static void json_what_if(jsonw *w, const clv_capability_info *i)
{
    jsonw_array(w, "what_if");
    for (uint32_t k = 0; k < i->n_what_if; k++) {
        const clv_what_if *x = &i->what_if[k];
        jsonw_object(w, NULL);
        jsonw_str(w, "op", x->op);
        jsonw_int(w, "nodes", x->nodes);
        jsonw_int(w, "subgraphs", x->subgraphs);
        jsonw_int(w, "fewer_subgraphs", x->fewer_subgraphs);
        jsonw_int(w, "crossing_bytes", x->crossing_bytes);
        jsonw_int(w, "fewer_bytes", x->fewer_bytes);
        jsonw_str(w, "reason", x->reason);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_int(w, "what_if_untried", i->what_if_untried);
}

/* Names of a path that a folded report gives. */
enum { FOLDED_PATH = 1000 };

static uint32_t path_told(uint32_t n, bool folded)
{
    return folded && n > FOLDED_PATH ? FOLDED_PATH : n;
}

void clv__json_capability(jsonw *w, const clv_cut *c, bool folded)
{
    const clv_capability_info *i = clv_cut_capability_info(c);
    const clv_graph *g = clv_profile_graph(clv_cut_profile(c));
    if (!i)
        return;
    json_support(w, c, i);
    jsonw_int(w, "minimum_subgraphs", i->minimum);
    jsonw_int(w, "accelerator_subgraphs", i->accelerator);
    jsonw_int(w, "crossing_bytes", i->crossing_bytes);
    if (folded)
        jsonw_int(w, "certificate_length", i->n_certificate[0]);
    json_path(w, "certificate", g, i->certificate[0],
              path_told(i->n_certificate[0], folded));
    json_path(w, "certificate_2", g, i->certificate[1],
              path_told(i->n_certificate[1], folded));
    json_path(w, "demoted", g, i->demoted, path_told(i->n_demoted, folded));
    jsonw_int(w, "demoted_flops", i->demoted_flops);
    jsonw_bool(w, "demotion_unproven", i->demotion_unproven);
    json_what_if(w, i);
}
