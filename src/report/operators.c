/* operators.c - the registry of operators: as a matrix, one in detail, or as
 * the page docs/operators.md. */
#include "cleave/report.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <string.h>

/* "x, weight, [bias], ..." */
static void operators_inputs(const clv_operator_info *o, clv_buf *out)
{
    for (uint32_t i = 0; i < o->n_inputs; i++) {
        const clv_operator_input *in = &o->inputs[i];
        clv_buf_printf(out, "%s%s%s%s", i ? ", " : "",
                       in->required || in->many ? "" : "[", in->name,
                       in->many       ? "..."
                       : in->required ? ""
                                      : "]");
    }
}

/* "1", "required", "none: all axes" */
static void operators_default(const clv_operator_attr *a, clv_buf *out)
{
    if (a->required)
        clv_buf_printf(out, "required");
    else if (*a->absent && *a->value)
        clv_buf_printf(out, "%s, or %s", a->absent, a->value);
    else
        clv_buf_printf(out, "%s", *a->value ? a->value : a->absent);
}

/* "at least 1", "0 to 1", "a, b or c" */
static void operators_range(const clv_operator_attr *a, clv_buf *out)
{
    if (*a->choices)
        for (const char *c = a->choices; *c; c++)
            clv_buf_printf(out, *c == '|' ? ", " : "%c", *c);
    else if (a->bounded && a->most == INT64_MAX)
        clv_buf_printf(out, "at least %lld", (long long)a->least);
    else if (a->bounded)
        clv_buf_printf(out, "%lld to %lld", (long long)a->least,
                       (long long)a->most);
}

/* -- text -----------------------------------------------------------------*/

static void operators_names(const char *title, const char *const *names,
                            uint32_t n, clv_buf *out)
{
    if (n == 0)
        return;
    clv_buf_printf(out, "  %-9s", title);
    for (uint32_t i = 0; i < n; i++)
        clv_buf_printf(out, "%s%s", i ? ", " : "", names[i]);
    clv_buf_printf(out, "\n");
}

static void operators_table_attrs(const clv_operator_info *o,
                                  const clv_report_opts *opts, clv_buf *out)
{
    static const table_col cols[] = {{"Attribute", 0},
                                     {"Type", 0},
                                     {"When left out", TABLE_CUT},
                                     {"Range", TABLE_DROP}};
    table t;
    table_start(&t, cols, 4);
    for (uint32_t i = 0; i < o->n_attrs; i++) {
        const clv_operator_attr *a = &o->attrs[i];
        clv_buf absent = {0}, range = {0};
        operators_default(a, &absent);
        operators_range(a, &range);
        table_text(&t, a->name);
        table_text(&t, a->type);
        table_text(&t, absent.text ? absent.text : "");
        table_text(&t, range.text ? range.text : "");
        clv_buf_free(&absent);
        clv_buf_free(&range);
    }
    clv_buf_printf(out, "\n");
    table_print(&t, opts, out);
}

static void operators_one(const clv_operator_info *o,
                          const clv_report_opts *opts, clv_buf *out)
{
    clv_buf_printf(out, "%s (%s, %s)\n", o->name, o->category, o->kind);
    clv_buf_printf(out, "  %-9s", "inputs");
    operators_inputs(o, out);
    clv_buf_printf(out, "\n  %-9s%s\n", "FLOPs", o->flops);
    operators_names("ONNX", o->onnx, o->n_onnx, out);
    operators_names("torch", o->torch, o->n_torch, out);
    operators_names("TFLite", o->tflite, o->n_tflite, out);
    operators_names("HLO", o->stablehlo, o->n_stablehlo, out);
    clv_buf_printf(out, "  %-9s%s%s%s\n", "run by",
                   o->kernel ? "plain C" : "nobody", o->cpu ? ", fast C" : "",
                   o->onednn ? ", oneDNN" : "");
    if (*o->written)
        clv_buf_printf(out, "  %-9sONNX, %s\n", "written", o->written);
    for (int c = 1; c < CLV_CONVENTION_COUNT; c++)
        if (*o->counted[c])
            clv_buf_printf(out, "  %-9sby %s, as %s\n", "counted",
                           clv_convention_name((clv_convention)c),
                           o->counted[c]);
    clv_buf_printf(out, "  %-9s%s\n", "fused", o->fused);
    if (o->n_attrs)
        operators_table_attrs(o, opts, out);
}

static const char *operators_yes(bool yes)
{
    return yes ? "yes" : "-";
}

static void operators_matrix(const clv_operator_info *const *ops, uint32_t n,
                             const clv_report_opts *opts, clv_buf *out)
{
    static const table_col cols[] = {{"Operator", TABLE_CUT},
                                     {"Class", TABLE_DROP},
                                     {"Attrs", TABLE_RIGHT},
                                     {"ONNX", TABLE_RIGHT},
                                     {"torch", TABLE_RIGHT},
                                     {"TFLite", TABLE_RIGHT},
                                     {"HLO", TABLE_RIGHT},
                                     {"Plain C", 0},
                                     {"Fast C", 0},
                                     {"oneDNN", 0},
                                     {"Written", 0},
                                     {"fvcore", TABLE_DROP},
                                     {"torch as", TABLE_DROP},
                                     {"thop", TABLE_DROP},
                                     {"Fused as", TABLE_DROP}};
    table t;
    table_start(&t, cols, 15);
    for (uint32_t i = 0; i < n; i++) {
        const clv_operator_info *o = ops[i];
        table_text(&t, o->name);
        table_text(&t, o->kind);
        table_printf(&t, "%u", o->n_attrs);
        table_printf(&t, "%u", o->n_onnx);
        table_printf(&t, "%u", o->n_torch);
        table_printf(&t, "%u", o->n_tflite);
        table_printf(&t, "%u", o->n_stablehlo);
        table_text(&t, operators_yes(o->kernel));
        table_text(&t, operators_yes(o->cpu));
        table_text(&t, operators_yes(o->onednn));
        table_text(&t, *o->written ? o->written : "-");
        table_text(&t, o->counted[CLV_CONVENTION_FVCORE]);
        table_text(&t, o->counted[CLV_CONVENTION_TORCH]);
        table_text(&t, o->counted[CLV_CONVENTION_THOP]);
        table_text(&t, o->fused);
    }
    table_print(&t, opts, out);
    clv_buf_printf(out, "\n%u operators\n", n);
}

/* -- JSON and CSV ---------------------------------------------------------*/

static void operators_json_attr(jsonw *w, const clv_operator_attr *a)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "name", a->name);
    jsonw_str(w, "type", a->type);
    jsonw_bool(w, "required", a->required);
    if (*a->value)
        jsonw_str(w, "default", a->value);
    if (*a->absent)
        jsonw_str(w, "absent", a->absent);
    if (a->bounded)
        jsonw_int(w, "min", a->least);
    if (a->bounded && a->most != INT64_MAX)
        jsonw_int(w, "max", a->most);
    if (*a->choices)
        jsonw_str(w, "choices", a->choices);
    jsonw_end(w);
}

static void operators_json_names(jsonw *w, const char *key,
                                 const char *const *names, uint32_t n)
{
    jsonw_array(w, key);
    for (uint32_t i = 0; i < n; i++)
        jsonw_str(w, NULL, names[i]);
    jsonw_end(w);
}

static void operators_json_one(jsonw *w, const clv_operator_info *o)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "name", o->name);
    jsonw_str(w, "category", o->category);
    jsonw_str(w, "class", o->kind);
    jsonw_str(w, "flops", o->flops);
    jsonw_array(w, "inputs");
    for (uint32_t i = 0; i < o->n_inputs; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "name", o->inputs[i].name);
        jsonw_bool(w, "required", o->inputs[i].required);
        jsonw_bool(w, "many", o->inputs[i].many);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_array(w, "attributes");
    for (uint32_t i = 0; i < o->n_attrs; i++)
        operators_json_attr(w, &o->attrs[i]);
    jsonw_end(w);
    operators_json_names(w, "onnx", o->onnx, o->n_onnx);
    operators_json_names(w, "torch", o->torch, o->n_torch);
    operators_json_names(w, "tflite", o->tflite, o->n_tflite);
    operators_json_names(w, "stablehlo", o->stablehlo, o->n_stablehlo);
    jsonw_bool(w, "kernel", o->kernel);
    jsonw_bool(w, "cpu", o->cpu);
    jsonw_bool(w, "onednn", o->onednn);
    jsonw_str(w, "written", o->written);
    jsonw_object(w, "counted");
    for (int c = 0; c < CLV_CONVENTION_COUNT; c++)
        if (*o->counted[c])
            jsonw_str(w, clv_convention_name((clv_convention)c), o->counted[c]);
    jsonw_end(w);
    jsonw_str(w, "fused", o->fused);
    jsonw_end(w);
}

static void operators_json(const clv_operator_info *const *ops, uint32_t n,
                           clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_array(&w, "operators");
    for (uint32_t i = 0; i < n; i++)
        operators_json_one(&w, ops[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void operators_csv(const clv_operator_info *const *ops, uint32_t n,
                          clv_buf *out)
{
    static const char *const head[] = {
        "operator", "category", "class",    "attributes", "onnx",
        "torch",    "tflite",   "kernel",   "cpu",        "onednn",
        "written",  "fused",    "stablehlo"};
    csv_row(out, head, 13);
    for (uint32_t i = 0; i < n; i++) {
        const clv_operator_info *o = ops[i];
        csv_text(out, o->name);
        csv_text(out, o->category);
        csv_text(out, o->kind);
        csv_int(out, o->n_attrs);
        csv_int(out, o->n_onnx);
        csv_int(out, o->n_torch);
        csv_int(out, o->n_tflite);
        csv_int(out, o->kernel);
        csv_int(out, o->cpu);
        csv_int(out, o->onednn);
        csv_text(out, o->written);
        csv_text(out, o->fused);
        csv_int(out, o->n_stablehlo);
        csv_end(out);
    }
}

void clv_report_operators(const clv_operator_info *const *ops, uint32_t n,
                          const clv_report_opts *opts, clv_buf *out)
{
    if (opts->format == CLV_REPORT_JSON)
        operators_json(ops, n, out);
    else if (opts->format == CLV_REPORT_CSV)
        operators_csv(ops, n, out);
    else if (n == 1)
        operators_one(ops[0], opts, out);
    else
        operators_matrix(ops, n, opts, out);
}

/* -- the page -------------------------------------------------------------*/

static void operators_page_attrs(const clv_operator_info *o, clv_buf *out)
{
    for (uint32_t i = 0; i < o->n_attrs; i++) {
        const clv_operator_attr *a = &o->attrs[i];
        clv_buf_printf(out, "%s`%s` (", i ? "; " : "", a->name);
        operators_default(a, out);
        clv_buf_printf(out, ")");
    }
}

void clv_report_operators_page(const clv_operator_info *const *ops, uint32_t n,
                               clv_buf *out)
{
    clv_buf_printf(out,
                   "| operator | category | class | inputs | attributes "
                   "(when left out) | FLOPs |\n|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < n; i++) {
        const clv_operator_info *o = ops[i];
        clv_buf_printf(out, "| `%s` | %s | %s | ", o->name, o->category,
                       o->kind);
        operators_inputs(o, out);
        clv_buf_printf(out, " | ");
        operators_page_attrs(o, out);
        clv_buf_printf(out, " | %s |\n", o->flops);
    }
}
