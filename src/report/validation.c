/* validation.c - our count beside other tools', and where each differs. */
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <stdio.h>

enum { DETAIL_MODELS = 4 }; /* more: fvcore's differences only */

typedef struct validations {
    const clv_validation *const *all;
    const char *const *names;
    uint32_t n;
} validations;

static const clv_verdict *verdict_of(const clv_validation *v, clv_convention c)
{
    uint32_t n;
    return &clv_validation_verdicts(v, &n)[c];
}

/* -- text -----------------------------------------------------------------*/

static void put_signed(table *t, int64_t n)
{
    char buf[TEXT_MAX];
    table_printf(t, "%s%s", n > 0 ? "+" : "", text_count(n, buf));
}

static text_paint paint_of(double accuracy)
{
    if (accuracy >= 99)
        return PAINT_GREEN;
    return accuracy >= 90 ? PAINT_YELLOW : PAINT_RED;
}

static void put_comparison(const validations *v, const clv_report_opts *o,
                           clv_buf *out)
{
    static const table_col cols[] = {{"Model", TABLE_CUT},
                                     {"Our FLOPs", TABLE_RIGHT},
                                     {"fvcore FLOPs", TABLE_RIGHT},
                                     {"Difference", TABLE_RIGHT},
                                     {"Accuracy", TABLE_RIGHT}};
    table t;
    table_start(&t, cols, 5);
    for (uint32_t i = 0; i < v->n; i++) {
        const clv_verdict *d = verdict_of(v->all[i], CLV_CONVENTION_FVCORE);
        table_text(&t, v->names[i]);
        table_count(&t, clv_validation_ours(v->all[i])->flops);
        table_count(&t, d->flops);
        put_signed(&t, d->difference);
        table_color(&t, paint_of(d->accuracy));
        table_printf(&t, "%.2f %%", d->accuracy);
    }
    table_print(&t, o, out);
}

/* What each tool prints for the model, in its own unit. */
static void put_conventions(const validations *v, const clv_report_opts *o,
                            clv_buf *out)
{
    char heads[CLV_CONVENTION_COUNT][32];
    table t;
    text_heading(out, o, "What each tool prints");
    table_start(&t, NULL, 0);
    table_add_col(&t, "Model", TABLE_CUT);
    for (int c = 0; c < CLV_CONVENTION_COUNT; c++) {
        snprintf(heads[c], sizeof heads[c], "%s %ss",
                 clv_convention_name((clv_convention)c),
                 clv_convention_unit((clv_convention)c));
        table_add_col(&t, heads[c], TABLE_RIGHT);
    }
    for (uint32_t i = 0; i < v->n; i++) {
        table_text(&t, v->names[i]);
        for (int c = 0; c < CLV_CONVENTION_COUNT; c++)
            table_count(&t, verdict_of(v->all[i], (clv_convention)c)->total);
    }
    table_print(&t, o, out);
}

static void put_reasons(const char *model, const clv_verdict *d,
                        const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Type", TABLE_LEFT},
                                     {"Count", TABLE_RIGHT},
                                     {"Ours", TABLE_RIGHT | TABLE_DROP},
                                     {"Theirs", TABLE_RIGHT | TABLE_DROP},
                                     {"Difference", TABLE_RIGHT},
                                     {"Why", TABLE_WRAP}};
    table t;
    char sum[TEXT_MAX];
    text_heading(out, o, "%s against %s: %s%s FLOPs (%+.2f %%)", model, d->tool,
                 d->difference > 0 ? "+" : "", text_count(d->difference, sum),
                 d->percent);
    table_start(&t, cols, 6);
    t.margin = 2;
    for (uint32_t i = 0; i < d->n_differences; i++) {
        const clv_difference *x = &d->differences[i];
        table_text(&t, x->type);
        table_digits(&t, x->count);
        table_count(&t, x->ours);
        table_count(&t, x->theirs);
        put_signed(&t, x->difference);
        table_text(&t, x->reason);
    }
    table_print(&t, o, out);
}

static void validation_put_text(const validations *v, const clv_report_opts *o,
                                clv_buf *out)
{
    bool detail = o->verbose || v->n <= DETAIL_MODELS;
    put_comparison(v, o, out);
    put_conventions(v, o, out);
    for (uint32_t i = 0; i < v->n; i++)
        for (int c = 0; c < CLV_CONVENTION_COUNT; c++) {
            const clv_verdict *d = verdict_of(v->all[i], (clv_convention)c);
            if (d->n_differences && (detail || c == CLV_CONVENTION_FVCORE))
                put_reasons(v->names[i], d, o, out);
        }
    clv_buf_printf(out, "\n");
    text_wrap(out, o, 0,
              "A multiply-add is two FLOPs on both sides; what a tool counts "
              "per element stays as it is.%s%s%s",
              detail || !o->more ? "" : " ", detail || !o->more ? "" : o->more,
              detail || !o->more ? "" : " explains every tool.");
}

/* -- JSON and CSV ---------------------------------------------------------*/

static void json_verdict(jsonw *w, const clv_verdict *d)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "convention", clv_convention_name(d->convention));
    jsonw_str(w, "tool", d->tool);
    jsonw_str(w, "unit", d->unit);
    jsonw_int(w, "total", d->total);
    jsonw_int(w, "flops", d->flops);
    jsonw_int(w, "difference", d->difference);
    jsonw_num(w, "percent", d->percent);
    jsonw_num(w, "accuracy", d->accuracy);
    jsonw_array(w, "differences");
    for (uint32_t i = 0; i < d->n_differences; i++) {
        const clv_difference *x = &d->differences[i];
        jsonw_object_flat(w, NULL);
        jsonw_str(w, "type", x->type);
        jsonw_int(w, "count", x->count);
        jsonw_int(w, "ours", x->ours);
        jsonw_int(w, "theirs", x->theirs);
        jsonw_int(w, "difference", x->difference);
        jsonw_str(w, "reason", x->reason);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void put_json(const validations *v, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_array(&w, "models");
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t n;
        const clv_verdict *d = clv_validation_verdicts(v->all[i], &n);
        jsonw_object(&w, NULL);
        jsonw_str(&w, "model", v->names[i]);
        jsonw_int(&w, "our_flops", clv_validation_ours(v->all[i])->flops);
        jsonw_int(&w, "our_macs", clv_validation_ours(v->all[i])->macs);
        jsonw_array(&w, "conventions");
        for (uint32_t c = 0; c < n; c++)
            json_verdict(&w, &d[c]);
        jsonw_end(&w);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void put_csv(const validations *v, clv_buf *out)
{
    static const char *const head[] = {
        "model", "convention", "tool",       "unit",    "total",
        "flops", "our_flops",  "difference", "percent", "accuracy"};
    csv_row(out, head, 10);
    for (uint32_t i = 0; i < v->n; i++)
        for (int c = 0; c < CLV_CONVENTION_COUNT; c++) {
            const clv_verdict *d = verdict_of(v->all[i], (clv_convention)c);
            csv_text(out, v->names[i]);
            csv_text(out, clv_convention_name(d->convention));
            csv_text(out, d->tool);
            csv_text(out, d->unit);
            csv_int(out, d->total);
            csv_int(out, d->flops);
            csv_int(out, clv_validation_ours(v->all[i])->flops);
            csv_int(out, d->difference);
            csv_num(out, d->percent);
            csv_num(out, d->accuracy);
            csv_end(out);
        }
}

void clv_report_validation(const clv_validation *const *all,
                           const char *const *names, uint32_t n,
                           const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    validations v = {all, names, n};
    if (opts->format == CLV_REPORT_JSON)
        put_json(&v, out);
    else if (opts->format == CLV_REPORT_CSV)
        put_csv(&v, out);
    else
        validation_put_text(&v, opts, out);
}
