/* diagnosis.c - what counts nothing, and what would explain a figure. */
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

/* -- text -----------------------------------------------------------------*/

static void diagnosis_put_types(const char *title, const clv_zero_type *types,
                                uint32_t n, const clv_report_opts *o,
                                clv_buf *out)
{
    static const table_col cols[] = {
        {"Type", TABLE_LEFT}, {"Count", TABLE_RIGHT}, {"Why", TABLE_WRAP}};
    table t;
    if (n == 0)
        return;
    text_heading(out, o, "%s", title);
    table_start(&t, cols, 3);
    t.margin = 2;
    for (uint32_t i = 0; i < n; i++) {
        table_text(&t, types[i].type);
        table_digits(&t, types[i].count);
        table_text(&t, types[i].why);
    }
    table_print(&t, o, out);
}

static void put_verdict(const clv_diagnosis_info *d, const clv_report_opts *o,
                        clv_buf *out)
{
    text_paint paint = d->low ? PAINT_RED : PAINT_GREEN;
    char sum[TEXT_MAX];
    clv_buf_printf(out, "\n%sVerdict:%s ", paint_on(o, paint),
                   paint_off(o, paint));
    if (d->low)
        clv_buf_printf(out, "far below what was expected\n");
    else if (!d->as_expected)
        clv_buf_printf(out, "%.2f %% %s what was expected\n",
                       d->percent < 0 ? -d->percent : d->percent,
                       d->percent < 0 ? "below" : "above");
    else
        clv_buf_printf(out, "as expected\n");
    for (uint32_t i = 0; i < d->n_explanations; i++)
        text_wrap(out, o, 2, "%s FLOPs (%+.2f %%): %s",
                  text_count(d->explanations[i].flops, sum),
                  d->explanations[i].percent, d->explanations[i].text);
    if (d->n_explanations == 0 && d->unknown_operators)
        text_wrap(out, o, 2, "%u unknown operators are counted as nothing",
                  d->unknown_operators);
    else if (d->n_explanations == 0)
        text_wrap(out, o, 2,
                  "no reading of this graph comes within 5 %% of it: compare "
                  "the input shape and the model itself");
}

static void diagnosis_text(const char *model, const clv_diagnosis_info *d,
                           const clv_report_opts *o, clv_buf *out)
{
    clv_buf_printf(out, "%s", paint_on(o, PAINT_BOLD));
    text_clean(out, model);
    clv_buf_printf(out, "%s\n", paint_off(o, PAINT_BOLD));
    text_field_count(out, "FLOPs:", d->flops);
    text_field_count(out, "MACs:", d->macs);
    if (d->expected) {
        text_field_count(out, "Expected FLOPs:", d->expected);
        text_field(out, "Difference:", "%+.2f %%", d->percent);
    }
    text_field(out, "Operators:", "%u", d->operators);
    text_field(out, "  convolutions:", "%u", d->convs);
    text_field(out, "  matrix products:", "%u", d->matmuls);
    text_field(out, "  counting nothing:", "%u", d->zero_operators);
    text_field(out, "  unknown:", "%u", d->unknown_operators);
    diagnosis_put_types("Zero-cost operators", d->zeros, d->n_zeros, o, out);
    diagnosis_put_types("Unknown operators", d->unknowns, d->n_unknowns, o,
                        out);
    if (d->expected)
        put_verdict(d, o, out);
}

/* -- JSON and CSV ---------------------------------------------------------*/

static void diagnosis_json_types(jsonw *w, const char *key,
                                 const clv_zero_type *types, uint32_t n)
{
    jsonw_array(w, key);
    for (uint32_t i = 0; i < n; i++) {
        jsonw_object_flat(w, NULL);
        jsonw_str(w, "type", types[i].type);
        jsonw_int(w, "count", types[i].count);
        jsonw_str(w, "why", types[i].why);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void json_expected(jsonw *w, const clv_diagnosis_info *d)
{
    jsonw_int(w, "expected_flops", d->expected);
    jsonw_num(w, "percent", d->percent);
    jsonw_bool(w, "low", d->low);
    jsonw_array(w, "explanations");
    for (uint32_t i = 0; i < d->n_explanations; i++) {
        jsonw_object_flat(w, NULL);
        jsonw_int(w, "flops", d->explanations[i].flops);
        jsonw_num(w, "percent", d->explanations[i].percent);
        jsonw_str(w, "text", d->explanations[i].text);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void diagnosis_json(const char *model, const clv_diagnosis_info *d,
                           clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", model);
    jsonw_int(&w, "flops", d->flops);
    jsonw_int(&w, "macs", d->macs);
    jsonw_int(&w, "operators", d->operators);
    jsonw_int(&w, "convs", d->convs);
    jsonw_int(&w, "matmuls", d->matmuls);
    jsonw_int(&w, "zero_operators", d->zero_operators);
    diagnosis_json_types(&w, "zeros", d->zeros, d->n_zeros);
    jsonw_int(&w, "unknown_operators", d->unknown_operators);
    diagnosis_json_types(&w, "unknowns", d->unknowns, d->n_unknowns);
    if (d->expected)
        json_expected(&w, d);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void diagnosis_csv(const clv_diagnosis_info *d, clv_buf *out)
{
    static const char *const head[] = {"type", "count", "why"};
    const clv_zero_type *lists[] = {d->zeros, d->unknowns};
    uint32_t counts[] = {d->n_zeros, d->n_unknowns};
    csv_row(out, head, 3);
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < counts[l]; i++) {
            csv_text(out, lists[l][i].type);
            csv_int(out, lists[l][i].count);
            csv_text(out, lists[l][i].why);
            csv_end(out);
        }
}

void clv_report_diagnosis(const char *model, const clv_diagnosis_info *d,
                          const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        diagnosis_json(model, d, out);
    else if (opts->format == CLV_REPORT_CSV)
        diagnosis_csv(d, out);
    else
        diagnosis_text(model, d, opts, out);
}
