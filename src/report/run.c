/* run.c - a run: its parts, outputs, differences and times. */
#include "core/jsonw.h"
#include "report/table.h"

#include <string.h>

enum { LISTED = 5 }; /* texts, and tensors of a list, that are shown */

static const char *output_name(const clv_run_result *r, uint32_t i)
{
    const uint32_t *ids = clv_graph_outputs(r->g, NULL);
    return clv_graph_value(r->g, ids[i]).name;
}

static uint32_t n_outputs(const clv_run_result *r)
{
    uint32_t n;
    clv_graph_outputs(r->g, &n);
    return n;
}

/* The keys of an output that stands for maps, one per column; false for any
 * other output. */
static bool output_labels(const clv_run_result *r, uint32_t i,
                          clv_attr_info *labels)
{
    const uint32_t *ids = clv_graph_outputs(r->g, NULL);
    uint32_t node = clv_graph_value(r->g, ids[i]).producer;
    *labels = (clv_attr_info){.size = sizeof *labels};
    if (node == CLV_NONE || strcmp(clv_graph_node(r->g, node).op, "zip_map"))
        return false;
    return (clv_graph_attr(r->g, node, "label_texts", labels, NULL) == CLV_OK &&
            labels->type == CLV_ATTR_STRINGS) ||
           (clv_graph_attr(r->g, node, "labels", labels, NULL) == CLV_OK &&
            labels->type == CLV_ATTR_INTS);
}

/* -- text -----------------------------------------------------------------*/

static void put_map_keys(clv_buf *out, const clv_attr_info *labels)
{
    clv_buf_printf(out, "    maps, a row each; the keys of its columns:");
    for (uint32_t k = 0; k < labels->n && k < LISTED; k++)
        if (labels->type == CLV_ATTR_STRINGS)
            clv_buf_printf(out, "%s %.40s", k ? "," : "", labels->u.strings[k]);
        else
            clv_buf_printf(out, "%s %lld", k ? "," : "",
                           (long long)labels->u.ints[k]);
    clv_buf_printf(out, labels->n > LISTED ? ", ...\n" : "\n");
}

/* What it is besides a tensor; "" for one. */
static const char *form_name(const clv_tensor *t)
{
    static const char *const names[] = {"", "sequence", "optional"};
    return names[t->form];
}

static void put_shape(clv_buf *out, const clv_tensor *t)
{
    const clv_tensor *x = clv_tensor_item(t, 0);
    if (t->form != CLV_FORM_TENSOR) {
        clv_buf_printf(out, "%s of %lld", form_name(t),
                       (long long)clv_tensor_numel(t));
        if (x)
            clv_buf_printf(out, ": ");
        for (int64_t i = 0; i < LISTED && (x = clv_tensor_item(t, i)); i++) {
            clv_buf_printf(out, "%s", i ? ", " : "");
            put_shape(out, x);
        }
        clv_buf_printf(out, clv_tensor_numel(t) > LISTED ? ", ..." : "");
        return;
    }
    clv_buf_printf(out, "%s [", clv_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++)
        clv_buf_printf(out, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
    clv_buf_printf(out, "]");
}

/* The first texts; what is no plain character is shown as a point. */
static void put_texts(clv_buf *out, const clv_tensor *t)
{
    enum { LONGEST = 40 };
    int64_t n = clv_tensor_numel(t);
    for (int64_t i = 0; i < n && i < LISTED; i++) {
        clv_text x = clv_tensor_text(t, i);
        clv_buf_printf(out, "%s\"", i ? ", " : "  ");
        for (size_t k = 0; k < x.n && k < LONGEST; k++)
            clv_buf_printf(out, "%c",
                           (unsigned char)x.s[k] < ' ' ? '.' : x.s[k]);
        clv_buf_printf(out, "%s\"", x.n > LONGEST ? "..." : "");
    }
    clv_buf_printf(out, n > LISTED ? ", ..." : "");
}

static void put_output(const clv_run_result *r, uint32_t i, clv_buf *out)
{
    const clv_tensor *t = clv_context_output(r->c, i);
    const clv_tensor_stats *s = &r->outputs[i];
    clv_attr_info labels;
    clv_buf_printf(out, "  %s  ", output_name(r, i));
    put_shape(out, t);
    bool tensor = t->form == CLV_FORM_TENSOR;
    if (tensor && t->dtype == CLV_STRING) {
        put_texts(out, t);
    } else if (tensor && clv_tensor_numel(t) > 0) {
        clv_buf_printf(out, "  min %.4g, mean %.4g, max %.4g", s->min, s->mean,
                       s->max);
        if (s->nans)
            clv_buf_printf(out, ", %lld NaN", (long long)s->nans);
    }
    clv_buf_printf(out, "\n");
    if (s->n_top) {
        clv_buf_printf(out, "    top %u:", s->n_top);
        for (uint32_t k = 0; k < s->n_top; k++)
            clv_buf_printf(out, "%s class %lld (%.4f)", k ? "," : "",
                           (long long)s->top[k], clv_tensor_get(t, s->top[k]));
        clv_buf_printf(out, "\n");
    }
    if (output_labels(r, i, &labels))
        put_map_keys(out, &labels);
    if (r->abs_error)
        clv_buf_printf(out, "    against ref: max abs %.3g, max rel %.3g\n",
                       r->abs_error[i], r->rel_error[i]);
}

static void put_times(table *tab, const clv_run_result *r, uint32_t k)
{
    if (r->part)
        table_printf(tab, "%.3f", r->part[k] * 1e3);
    if (r->part && r->estimate) {
        table_printf(tab, "%.3f", r->estimate[k] * 1e3);
        table_printf(tab, "%+.1f %%", r->error[k] * 100);
    }
}

static void put_parts(const clv_run_result *r, const clv_report_opts *o,
                      clv_buf *out)
{
    static const table_col cols[] = {{"#", TABLE_RIGHT},
                                     {"Device", TABLE_LEFT},
                                     {"Operators", TABLE_RIGHT},
                                     {"From", TABLE_CUT}};
    const clv_model_info *info = clv_model_get(r->m);
    uint32_t shown = o->top ? o->top : r->part ? info->n_parts : 10;
    table tab;
    table_start(&tab, cols, 4);
    if (r->part)
        table_add_col(&tab, "Measured ms", TABLE_RIGHT);
    if (r->part && r->estimate) {
        table_add_col(&tab, "Roofline ms", TABLE_RIGHT);
        table_add_col(&tab, "Error", TABLE_RIGHT);
    }
    tab.margin = 2;
    for (uint32_t k = 0; k < info->n_parts && k < shown; k++) {
        const clv_part *p = &info->parts[k];
        table_digits(&tab, k);
        table_text(&tab, p->device);
        table_digits(&tab, p->n_nodes);
        table_text(&tab, clv_graph_node(r->g, p->nodes[0]).name);
        put_times(&tab, r, k);
    }
    if (r->part) {
        table_text(&tab, "");
        table_text(&tab, "all");
        table_text(&tab, "");
        table_text(&tab, "");
        put_times(&tab, r, info->n_parts);
    }
    text_heading(out, o, "Parts");
    table_print(&tab, o, out);
    if (info->n_parts > shown)
        clv_buf_printf(out, "  ... %u more\n", info->n_parts - shown);
    if (r->part && r->estimate)
        clv_buf_printf(out,
                       "  Roofline of %s (%s); error: of the estimate, "
                       "against what was measured\n",
                       r->device->name, r->device->title);
}

/* -- what became of the graph ----------------------------------------------*/

/* Who computes a step: a backend, a fast kernel, a plain one. */
static const char *step_how(const clv_run_result *r, const clv_step *s,
                            uint32_t i, double *seconds)
{
    bool plain;
    *seconds = clv_context_step(r->c, i, &plain);
    if (strcmp(s->device, "cpu") != 0)
        return "compiled";
    return plain ? "plain C" : "fast C";
}

static void put_rewrites(const clv_run_result *r, const clv_report_opts *o,
                         clv_buf *out)
{
    static const table_col cols[] = {
        {"Times", TABLE_RIGHT}, {"Rule", TABLE_LEFT}, {"What", TABLE_LEFT}};
    const clv_model_info *info = clv_model_get(r->m);
    table tab;
    text_heading(out, o, "Rewritten: %u operators, %u before",
                 info->nodes_after, info->nodes_before);
    table_start(&tab, cols, 3);
    tab.margin = 2;
    for (uint32_t i = 0; i < info->n_rewrites; i++) {
        table_digits(&tab, info->rewrites[i].count);
        table_text(&tab, info->rewrites[i].name);
        table_text(&tab, info->rewrites[i].pattern);
    }
    table_print(&tab, o, out);
}

static void put_steps(const clv_run_result *r, const clv_report_opts *o,
                      clv_buf *out)
{
    static const table_col cols[] = {
        {"#", TABLE_RIGHT},         {"Device", TABLE_LEFT},
        {"How", TABLE_LEFT},        {"Operator", TABLE_LEFT},
        {"Operators", TABLE_RIGHT}, {"ms", TABLE_RIGHT},
        {"Node", TABLE_CUT},        {"Why not elsewhere", TABLE_LEFT}};
    const clv_model_info *info = clv_model_get(r->m);
    table tab;
    text_heading(out, o, "Steps");
    table_start(&tab, cols, 8);
    tab.margin = 2;
    for (uint32_t i = 0; i < info->n_steps; i++) {
        const clv_step *s = &info->steps[i];
        double seconds;
        const char *how = step_how(r, s, i, &seconds);
        table_digits(&tab, i);
        table_text(&tab, s->device);
        table_text(&tab, how);
        table_text(&tab, *s->op ? s->op : "(a part)");
        table_digits(&tab, s->operators);
        table_printf(&tab, "%.3f", seconds * 1e3);
        table_text(&tab, clv_graph_node(r->g, s->node).name);
        table_text(&tab,
                   s->dynamic ? "shapes are found while running" : s->why);
    }
    table_print(&tab, o, out);
}

static void json_explain(jsonw *w, const clv_run_result *r)
{
    const clv_model_info *info = clv_model_get(r->m);
    jsonw_object(w, "explain");
    jsonw_int(w, "operators_before", info->nodes_before);
    jsonw_int(w, "operators_after", info->nodes_after);
    jsonw_array(w, "rewrites");
    for (uint32_t i = 0; i < info->n_rewrites; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "rule", info->rewrites[i].name);
        jsonw_str(w, "pattern", info->rewrites[i].pattern);
        jsonw_int(w, "count", info->rewrites[i].count);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_array(w, "steps");
    for (uint32_t i = 0; i < info->n_steps; i++) {
        const clv_step *s = &info->steps[i];
        double seconds;
        const char *how = step_how(r, s, i, &seconds);
        jsonw_object(w, NULL);
        jsonw_str(w, "device", s->device);
        jsonw_str(w, "how", how);
        jsonw_str(w, "operator", s->op);
        jsonw_int(w, "operators", s->operators);
        jsonw_str(w, "node", clv_graph_node(r->g, s->node).name);
        jsonw_str(w, "why", s->why);
        jsonw_bool(w, "dynamic", s->dynamic);
        jsonw_num(w, "seconds", seconds);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void run_text(const clv_run_result *r, const clv_report_opts *o,
                     clv_buf *out)
{
    const clv_model_info *info = clv_model_get(r->m);
    char a[TEXT_MAX], b[TEXT_MAX];
    text_heading(out, o, "Run: %s", clv_graph_name(r->g));
    text_field(out, "Backend", "%s", r->backend);
    text_field(out, "Memory", "%s of weights held, %s of activations",
               text_bytes(info->weight_bytes, a),
               text_bytes(info->arena_bytes, b));
    text_field(out, "Compiled in", "%.1f ms", r->compiled * 1e3);
    for (uint32_t i = 0; i < info->n_notes; i++)
        text_field(out, "Note", "%s", info->notes[i]);
    if (info->n_parts > 1 || r->part)
        put_parts(r, o, out);
    if (r->explain) {
        put_rewrites(r, o, out);
        put_steps(r, o, out);
    }
    text_heading(out, o, "Outputs");
    for (uint32_t i = 0; i < n_outputs(r); i++)
        put_output(r, i, out);
    text_heading(out, o, "Time");
    if (r->times.runs == 1)
        clv_buf_printf(out, "  %.3f ms\n", r->times.median * 1e3);
    else
        clv_buf_printf(out, "  median %.3f ms, p95 %.3f ms of %u runs\n",
                       r->times.median * 1e3, r->times.p95 * 1e3,
                       r->times.runs);
}

/* -- JSON -----------------------------------------------------------------*/

static void json_labels(jsonw *w, const clv_attr_info *labels)
{
    jsonw_array(w, "labels");
    for (uint32_t k = 0; k < labels->n; k++)
        if (labels->type == CLV_ATTR_STRINGS)
            jsonw_str(w, NULL, labels->u.strings[k]);
        else
            jsonw_int(w, NULL, labels->u.ints[k]);
    jsonw_end(w);
}

static void json_output(jsonw *w, const clv_run_result *r, uint32_t i)
{
    const clv_tensor *t = clv_context_output(r->c, i);
    clv_attr_info labels;
    const clv_tensor_stats *s = &r->outputs[i];
    jsonw_object(w, NULL);
    jsonw_str(w, "name", output_name(r, i));
    if (t->form != CLV_FORM_TENSOR)
        jsonw_str(w, "form", form_name(t));
    jsonw_str(w, "dtype", clv_dtype_name(t->dtype));
    jsonw_ints(w, "shape", t->dims, t->rank);
    jsonw_num(w, "min", s->min);
    jsonw_num(w, "mean", s->mean);
    jsonw_num(w, "max", s->max);
    jsonw_int(w, "nans", s->nans);
    if (s->n_top)
        jsonw_ints(w, "top", s->top, s->n_top);
    if (output_labels(r, i, &labels))
        json_labels(w, &labels);
    if (r->abs_error) {
        jsonw_num(w, "max_abs_error", r->abs_error[i]);
        jsonw_num(w, "max_rel_error", r->rel_error[i]);
    }
    jsonw_end(w);
}

static void json_parts(jsonw *w, const clv_run_result *r)
{
    const clv_model_info *info = clv_model_get(r->m);
    jsonw_array(w, "parts");
    for (uint32_t k = 0; k < info->n_parts; k++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "device", info->parts[k].device);
        jsonw_int(w, "operators", info->parts[k].n_nodes);
        jsonw_str(w, "first",
                  clv_graph_node(r->g, info->parts[k].nodes[0]).name);
        if (r->part)
            jsonw_num(w, "seconds", r->part[k]);
        if (r->part && r->estimate) {
            jsonw_num(w, "estimate", r->estimate[k]);
            jsonw_num(w, "error", r->error[k]);
        }
        jsonw_end(w);
    }
    jsonw_end(w);
    if (r->part)
        jsonw_num(w, "measured_seconds", r->part[info->n_parts]);
    if (r->part && r->estimate) {
        jsonw_str(w, "estimate_device", r->device->name);
        jsonw_num(w, "estimate_seconds", r->estimate[info->n_parts]);
        jsonw_num(w, "estimate_error", r->error[info->n_parts]);
    }
    jsonw_array(w, "notes");
    for (uint32_t i = 0; i < info->n_notes; i++)
        jsonw_str(w, NULL, info->notes[i]);
    jsonw_end(w);
}

static void run_json(const clv_run_result *r, clv_buf *out)
{
    const clv_model_info *info = clv_model_get(r->m);
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(r->g));
    jsonw_str(&w, "backend", r->backend);
    jsonw_int(&w, "weight_bytes_held", info->weight_bytes);
    jsonw_int(&w, "arena_bytes", info->arena_bytes);
    jsonw_num(&w, "compile_seconds", r->compiled);
    jsonw_int(&w, "runs", r->times.runs);
    jsonw_num(&w, "median_seconds", r->times.median);
    jsonw_num(&w, "p95_seconds", r->times.p95);
    jsonw_array(&w, "outputs");
    for (uint32_t i = 0; i < n_outputs(r); i++)
        json_output(&w, r, i);
    jsonw_end(&w);
    json_parts(&w, r);
    if (r->explain)
        json_explain(&w, r);
    jsonw_end(&w);
    jsonw_finish(&w);
}

void clv_report_run(const clv_run_result *r, const clv_report_opts *opts,
                    clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    clv_run_result result;
    if (clv__read_sized(r, &result, sizeof result, "clv_run_result", NULL)) {
        out->failed = true;
        return;
    }
    r = &result;
    if (opts->format == CLV_REPORT_JSON)
        run_json(r, out);
    else
        run_text(r, opts, out);
}
