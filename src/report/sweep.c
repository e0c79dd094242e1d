/* sweep.c - totals at every point, how they grow, and their formulas. */
#include "cleave/sweep.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>

/* "3/2*batch*seq^2 + 48*seq"; "0" for none. */
static void put_formula(const clv_sweep_info *s, const clv_formula *f,
                        clv_buf *out)
{
    if (f->n == 0)
        clv_buf_printf(out, "0");
    for (uint32_t i = 0; i < f->n; i++) {
        const clv_term *t = &f->terms[i];
        int64_t num = t->num < 0 ? -t->num : t->num;
        bool plain = t->exponent[0] + t->exponent[1] == 0;
        bool one = num == 1 && t->den == 1 && !plain;
        const char *times = one ? "" : "*";
        clv_buf_printf(out, "%s",
                       t->num < 0 ? (i ? " - " : "-") : (i ? " + " : ""));
        if (!one)
            clv_buf_printf(out, "%lld", (long long)num);
        if (t->den != 1)
            clv_buf_printf(out, "/%lld", (long long)t->den);
        for (uint32_t v = 0; v < s->n_vary; v++) {
            if (!t->exponent[v])
                continue;
            clv_buf_printf(out, "%s%s", times, s->vary[v].name);
            if (t->exponent[v] > 1)
                clv_buf_printf(out, "^%d", t->exponent[v]);
            times = "*";
        }
    }
}

/* -- text -----------------------------------------------------------------*/

static void sweep_put_total(table *t, clv_metric m, int64_t n)
{
    if (m == CLV_METRIC_MEMORY || m == CLV_METRIC_PEAK)
        table_bytes(t, n);
    else
        table_count(t, n);
}

static void sweep_put_rows(const clv_sweep_info *s, const clv_report_opts *o,
                           clv_buf *out)
{
    static const table_col cols[] = {{"", TABLE_RIGHT}};
    table t;
    table_start(&t, cols, 0);
    for (uint32_t v = 0; v < s->n_vary; v++)
        table_add_col(&t, s->vary[v].name, TABLE_RIGHT);
    for (int m = 0; m < CLV_METRIC_COUNT; m++)
        table_add_col(&t, clv_metric_name((clv_metric)m), TABLE_RIGHT);
    table_add_col(&t, "FLOPs/byte", TABLE_RIGHT);
    for (uint32_t k = 0; k < s->n_rows; k++) {
        for (uint32_t v = 0; v < s->n_vary; v++)
            table_printf(&t, "%lld", (long long)s->rows[k].at[v]);
        for (int m = 0; m < CLV_METRIC_COUNT; m++)
            sweep_put_total(&t, (clv_metric)m, s->rows[k].total[m]);
        table_num(&t, s->rows[k].intensity);
    }
    if (s->n_vary == 1 && s->n_rows > 1) {
        table_text(&t, "grows as");
        for (int m = 0; m < CLV_METRIC_COUNT; m++)
            table_printf(&t, "^%.2f", fabs(s->exponent[m]));
        table_text(&t, "");
    }
    table_print(&t, o, out);
}

static void put_formulas(const clv_sweep_info *s, const clv_report_opts *o,
                         clv_buf *out)
{
    text_heading(out, o, "Formulas (exact; verified at %u further points)",
                 s->checked);
    for (uint32_t v = 0; v < s->n_vary; v++)
        if (s->first[v] != 1 || s->step[v] != 1)
            clv_buf_printf(out, "  for %s = %lld, %lld, %lld, ...\n",
                           s->vary[v].name, (long long)s->first[v],
                           (long long)(s->first[v] + s->step[v]),
                           (long long)(s->first[v] + 2 * s->step[v]));
    for (int m = 0; m < CLV_METRIC_COUNT; m++) {
        const clv_formula *f = &s->formulas[m];
        clv_buf_printf(out, "  %-12s ", clv_metric_name((clv_metric)m));
        if (f->exact) {
            clv_buf_printf(out, "= ");
            put_formula(s, f, out);
            clv_buf_printf(out, "\n");
            continue;
        }
        clv_buf_printf(out, "no formula:\n");
        text_wrap(out, o, 4, "%s", f->why);
    }
}

/* -- JSON and CSV ---------------------------------------------------------*/

static void put_terms(jsonw *w, const clv_sweep_info *s, const clv_formula *f)
{
    jsonw_array(w, "terms");
    for (uint32_t i = 0; i < f->n; i++) {
        jsonw_object(w, NULL);
        jsonw_int(w, "num", f->terms[i].num);
        jsonw_int(w, "den", f->terms[i].den);
        jsonw_array_flat(w, "exponents");
        for (uint32_t v = 0; v < s->n_vary; v++)
            jsonw_int(w, NULL, f->terms[i].exponent[v]);
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void json_formulas(jsonw *w, const clv_sweep_info *s)
{
    jsonw_int(w, "verified_points", s->checked);
    jsonw_ints(w, "first", s->first, s->n_vary);
    jsonw_ints(w, "step", s->step, s->n_vary);
    jsonw_object(w, "formulas");
    for (int m = 0; m < CLV_METRIC_COUNT; m++) {
        const clv_formula *f = &s->formulas[m];
        clv_buf text = {0};
        jsonw_object(w, clv_metric_key((clv_metric)m));
        jsonw_bool(w, "exact", f->exact);
        if (f->exact) {
            put_formula(s, f, &text);
            jsonw_str(w, "text", text.text);
            put_terms(w, s, f);
        } else {
            jsonw_str(w, "why", f->why);
        }
        w->out->failed = w->out->failed || text.failed;
        clv_buf_free(&text);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void sweep_json(const clv_sweep_info *s, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", s->model);
    jsonw_array_flat(&w, "variables");
    for (uint32_t v = 0; v < s->n_vary; v++)
        jsonw_str(&w, NULL, s->vary[v].name);
    jsonw_end(&w);
    jsonw_array(&w, "points");
    for (uint32_t k = 0; k < s->n_rows; k++) {
        jsonw_object(&w, NULL);
        jsonw_ints(&w, "at", s->rows[k].at, s->n_vary);
        for (int m = 0; m < CLV_METRIC_COUNT; m++)
            jsonw_int(&w, clv_metric_key((clv_metric)m), s->rows[k].total[m]);
        jsonw_num(&w, "arithmetic_intensity", s->rows[k].intensity);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_object_flat(&w, "exponents");
    for (int m = 0; m < CLV_METRIC_COUNT; m++)
        jsonw_num(&w, clv_metric_key((clv_metric)m), s->exponent[m]);
    jsonw_end(&w);
    if (s->formulas)
        json_formulas(&w, s);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void sweep_csv(const clv_sweep_info *s, clv_buf *out)
{
    for (uint32_t v = 0; v < s->n_vary; v++)
        csv_text(out, s->vary[v].name);
    for (int m = 0; m < CLV_METRIC_COUNT; m++)
        csv_text(out, clv_metric_key((clv_metric)m));
    csv_text(out, "arithmetic_intensity");
    csv_end(out);
    for (uint32_t k = 0; k < s->n_rows; k++) {
        for (uint32_t v = 0; v < s->n_vary; v++)
            csv_int(out, s->rows[k].at[v]);
        for (int m = 0; m < CLV_METRIC_COUNT; m++)
            csv_int(out, s->rows[k].total[m]);
        csv_num(out, s->rows[k].intensity);
        csv_end(out);
    }
}

void clv_report_sweep(const clv_sweep *sweep, const clv_report_opts *opts,
                      clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    const clv_sweep_info *s = clv_sweep_get(sweep);
    if (opts->format == CLV_REPORT_JSON) {
        sweep_json(s, out);
    } else if (opts->format == CLV_REPORT_CSV) {
        sweep_csv(s, out);
    } else {
        sweep_put_rows(s, opts, out);
        if (s->formulas)
            put_formulas(s, opts, out);
    }
}
