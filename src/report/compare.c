/* compare.c - models side by side as tables, JSON and CSV. */
#include "cleave/compare.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>

enum { COLUMNS_MAX = 8 }; /* models beside each other in a table */

static const struct {
    unsigned flag;
    const char *name;
} differences[] = {
    {CLV_CHANGED_TYPE, "type"},
    {CLV_CHANGED_SHAPE, "shape"},
    {CLV_CHANGED_PARAMS, "params"},
    {CLV_CHANGED_MACS, "macs"},
    {CLV_CHANGED_FLOPS, "flops"},
    {CLV_CHANGED_MEMORY, "memory"},
    {CLV_CHANGED_ATTRIBUTES, "attributes"},
};

enum { N_DIFFERENCES = sizeof differences / sizeof *differences };

static const char *compare_model_name(const clv_compare_info *c, uint32_t i)
{
    return clv_graph_name(clv_profile_graph(c->profiles[i]));
}

/* "+1.20 M", "-3", "0". */
static const char *text_delta(int64_t n, char *buf)
{
    buf[0] = '+';
    text_count(n, n > 0 ? buf + 1 : buf);
    return buf;
}

/* -- text -----------------------------------------------------------------*/

static void compare_put_totals(const clv_compare_info *c,
                               const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Model", TABLE_CUT},
                                     {"Params", TABLE_RIGHT},
                                     {"MACs", TABLE_RIGHT},
                                     {"FLOPs", TABLE_RIGHT},
                                     {"Moved", TABLE_RIGHT},
                                     {"Weights", TABLE_RIGHT},
                                     {"Peak", TABLE_RIGHT},
                                     {"AI", TABLE_RIGHT},
                                     {"Ops", TABLE_RIGHT | TABLE_DROP}};
    table t;
    table_start(&t, cols, 9);
    for (uint32_t i = 0; i < c->n; i++) {
        const clv_totals *x = clv_profile_totals(c->profiles[i]);
        table_text(&t, compare_model_name(c, i));
        table_count(&t, x->params);
        table_count(&t, x->macs);
        table_count(&t, x->flops);
        table_bytes(&t, x->memory);
        table_bytes(&t, x->weight_bytes);
        table_bytes(&t, c->peaks[i]);
        table_num(&t, x->intensity);
        table_digits(&t, x->operators);
    }
    table_print(&t, o, out);
}

/* Shows how many times as much as the first model each other one takes. */
static void put_ratios(const clv_compare_info *c, const clv_report_opts *o,
                       clv_buf *out)
{
    static const table_col cols[] = {
        {"Model", TABLE_CUT},   {"Params", TABLE_RIGHT},
        {"MACs", TABLE_RIGHT},  {"FLOPs", TABLE_RIGHT},
        {"Moved", TABLE_RIGHT}, {"Weights", TABLE_RIGHT},
        {"Peak", TABLE_RIGHT}};
    table t;
    table_start(&t, cols, 7);
    for (uint32_t i = 1; i < c->n; i++) {
        const clv_ratios *r = &c->ratios[i];
        const double all[] = {r->params, r->macs,    r->flops,
                              r->memory, r->weights, r->peak};
        table_text(&t, compare_model_name(c, i));
        for (int k = 0; k < 6; k++)
            if (isnan(all[k]))
                table_text(&t, "-");
            else
                table_printf(&t, "%.3fx", all[k]);
    }
    text_heading(out, o, "Against %s", compare_model_name(c, 0));
    table_print(&t, o, out);
}

/* Shows the FLOPs of each model per row; rows without any are left out. */
static void compare_put_rows(const clv_compare_info *c,
                             const clv_compared *rows, uint32_t n,
                             uint32_t depth, const clv_report_opts *o,
                             clv_buf *out)
{
    static const table_col cols[] = {{"", TABLE_CUT}};
    char buf[TEXT_MAX + 1];
    table t;
    table_start(&t, cols, 1);
    t.margin = 2;
    for (uint32_t m = 0; m < c->n; m++)
        table_add_col(&t, compare_model_name(c, m), TABLE_RIGHT);
    if (c->n == 2)
        table_add_col(&t, "Difference", TABLE_RIGHT);
    for (uint32_t i = 0; i < n; i++) {
        if (!rows[i].counted || rows[i].depth > depth)
            continue;
        table_indent(&t, rows[i].depth > 1 ? rows[i].depth - 1 : 0);
        table_text(&t, rows[i].name);
        for (uint32_t m = 0; m < c->n; m++)
            if (rows[i].has[m])
                table_count(&t, rows[i].flops[m]);
            else
                table_text(&t, "-");
        if (c->n == 2)
            table_text(&t, text_delta(rows[i].difference, buf));
    }
    table_print(&t, o, out);
}

static void put_change(table *t, const clv_compare_info *c, const clv_change *x)
{
    char what[96] = "", a[TEXT_MAX + 1], b[TEXT_MAX + 1];
    size_t len = 0;
    bool added = x->before == CLV_NONE, removed = x->after == CLV_NONE;
    for (int i = 0; i < N_DIFFERENCES; i++)
        if (x->what & differences[i].flag)
            len += (size_t)snprintf(what + len, sizeof what - len, "%s%s",
                                    len ? " " : "", differences[i].name);
    table_color(t, added ? PAINT_GREEN : removed ? PAINT_RED : PAINT_YELLOW);
    table_text(t, added ? "+" : removed ? "-" : "~");
    table_text(t, x->name);
    table_text(
        t, added
               ? clv_graph_node(clv_profile_graph(c->profiles[1]), x->after).op
           : removed
               ? clv_graph_node(clv_profile_graph(c->profiles[0]), x->before).op
               : what);
    table_text(t, text_delta(x->params, a));
    table_text(t, text_delta(x->flops, b));
}

static void put_changes(const clv_compare_info *c, const clv_report_opts *o,
                        clv_buf *out)
{
    static const table_col cols[] = {{"", TABLE_LEFT},
                                     {"Layer", TABLE_CUT},
                                     {"What", TABLE_LEFT},
                                     {"Params", TABLE_RIGHT},
                                     {"FLOPs", TABLE_RIGHT}};
    uint32_t rows = o->verbose ? c->n_changes : o->top ? o->top : 10;
    table t;
    text_heading(out, o, "Layers");
    clv_buf_printf(out, "  %u the same, %u changed, %u added, %u removed\n",
                   c->same, c->changed, c->added, c->removed);
    if (!c->n_changes)
        return;
    table_start(&t, cols, 5);
    t.margin = 2;
    for (uint32_t i = 0; i < c->n_changes && i < rows; i++)
        put_change(&t, c, &c->changes[i]);
    table_print(&t, o, out);
    if (rows < c->n_changes)
        text_rest(out, o, c->n_changes - rows);
}

static void compare_text(const clv_compare_info *c, const clv_report_opts *o,
                         clv_buf *out)
{
    compare_put_totals(c, o, out);
    if (c->n > 1)
        put_ratios(c, o, out);
    if (c->n <= COLUMNS_MAX) {
        text_heading(out, o, "FLOPs by type");
        compare_put_rows(c, c->types, c->n_types, 0, o, out);
    }
    if (c->n <= COLUMNS_MAX && c->n_modules) {
        text_heading(out, o, "FLOPs by module");
        compare_put_rows(c, c->modules, c->n_modules, o->depth ? o->depth : 1,
                         o, out);
    }
    if (c->n > COLUMNS_MAX)
        clv_buf_printf(out,
                       "\nFLOPs by type and by module: for up to %d models, or "
                       "as JSON.\n",
                       COLUMNS_MAX);
    if (c->n == 2 && c->aligned)
        put_changes(c, o, out);
    else if (c->n == 2)
        clv_buf_printf(out, "\nFew layers are in the same place in both: they "
                            "are not aligned.\n");
}

/* -- JSON and CSV ---------------------------------------------------------*/

static void put_model(jsonw *w, const clv_compare_info *c, uint32_t i)
{
    const clv_totals *x = clv_profile_totals(c->profiles[i]);
    jsonw_object(w, NULL);
    jsonw_str(w, "model", compare_model_name(c, i));
    jsonw_int(w, "operators", x->operators);
    jsonw_int(w, "total_params", x->params);
    jsonw_int(w, "total_macs", x->macs);
    jsonw_int(w, "total_flops", x->flops);
    jsonw_int(w, "total_memory", x->memory);
    jsonw_int(w, "weight_bytes", x->weight_bytes);
    jsonw_int(w, "peak_bytes", c->peaks[i]);
    jsonw_num(w, "arithmetic_intensity", x->intensity);
    jsonw_end(w);
}

static void put_columns(jsonw *w, const char *key, const clv_compared *r,
                        const int64_t *values, uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t m = 0; m < n; m++)
        if (r->has[m])
            jsonw_int(w, NULL, values[m]);
        else
            jsonw_null(w, NULL);
    jsonw_end(w);
}

static void put_list(jsonw *w, const char *key, const char *name,
                     const clv_compared *rows, uint32_t n_rows, uint32_t n,
                     bool params)
{
    jsonw_array(w, key);
    for (uint32_t i = 0; i < n_rows; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, name, rows[i].name);
        put_columns(w, "count", &rows[i], rows[i].count, n);
        if (params)
            put_columns(w, "params", &rows[i], rows[i].params, n);
        put_columns(w, "macs", &rows[i], rows[i].macs, n);
        put_columns(w, "flops", &rows[i], rows[i].flops, n);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void compare_put_node(jsonw *w, const char *key, const clv_profile *p,
                             uint32_t node)
{
    uint32_t n;
    if (node == CLV_NONE) {
        jsonw_null(w, key);
        return;
    }
    const clv_layer *l = &clv_profile_layers(p, &n)[node];
    jsonw_object_flat(w, key);
    jsonw_int(w, "id", node);
    jsonw_str(w, "name", clv_graph_node(clv_profile_graph(p), node).name);
    jsonw_str(w, "type", clv_graph_node(clv_profile_graph(p), node).op);
    jsonw_int(w, "params", l->cost.params);
    jsonw_int(w, "macs", l->cost.macs);
    jsonw_int(w, "flops", l->cost.flops);
    jsonw_int(w, "memory", l->memory);
    jsonw_end(w);
}

static void put_diff(jsonw *w, const clv_compare_info *c)
{
    jsonw_bool(w, "aligned", c->aligned);
    jsonw_int(w, "same", c->same);
    jsonw_int(w, "changed", c->changed);
    jsonw_int(w, "added", c->added);
    jsonw_int(w, "removed", c->removed);
    jsonw_array(w, "changes");
    for (uint32_t i = 0; i < c->n_changes; i++) {
        const clv_change *x = &c->changes[i];
        jsonw_object(w, NULL);
        jsonw_str(w, "name", x->name);
        jsonw_str(w, "change",
                  x->before == CLV_NONE  ? "added"
                  : x->after == CLV_NONE ? "removed"
                                         : "changed");
        jsonw_array_flat(w, "what");
        for (int k = 0; k < N_DIFFERENCES; k++)
            if (x->what & differences[k].flag)
                jsonw_str(w, NULL, differences[k].name);
        jsonw_end(w);
        compare_put_node(w, "before", c->profiles[0], x->before);
        compare_put_node(w, "after", c->profiles[1], x->after);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void compare_json(const clv_compare_info *c, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_array(&w, "models");
    for (uint32_t i = 0; i < c->n; i++)
        put_model(&w, c, i);
    jsonw_end(&w);
    put_list(&w, "types", "type", c->types, c->n_types, c->n, false);
    put_list(&w, "modules", "module", c->modules, c->n_modules, c->n, true);
    if (c->n == 2)
        put_diff(&w, c);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void compare_csv(const clv_compare_info *c, clv_buf *out)
{
    static const char *const head[] = {
        "model",        "operators",   "total_params",
        "total_macs",   "total_flops", "total_memory",
        "weight_bytes", "peak_bytes",  "arithmetic_intensity"};
    csv_row(out, head, 9);
    for (uint32_t i = 0; i < c->n; i++) {
        const clv_totals *x = clv_profile_totals(c->profiles[i]);
        csv_text(out, compare_model_name(c, i));
        csv_int(out, x->operators);
        csv_int(out, x->params);
        csv_int(out, x->macs);
        csv_int(out, x->flops);
        csv_int(out, x->memory);
        csv_int(out, x->weight_bytes);
        csv_int(out, c->peaks[i]);
        csv_num(out, x->intensity);
        csv_end(out);
    }
}

void clv_report_compare(const clv_compare *c, const clv_report_opts *opts,
                        clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    const clv_compare_info *info = clv_compare_get(c);
    if (opts->format == CLV_REPORT_JSON)
        compare_json(info, out);
    else if (opts->format == CLV_REPORT_CSV)
        compare_csv(info, out);
    else
        compare_text(info, opts, out);
}
