/* check.c - checks as lines of ✓ and ✗ with both numbers, and the verdict. */
#include "cleave/check.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <stdio.h>

static const char *check_number(clv_unit unit, double x, char *buf)
{
    switch (unit) {
    case CLV_UNIT_BYTES:
        return text_bytes((int64_t)x, buf);
    case CLV_UNIT_SECONDS:
        return text_time(x, buf);
    case CLV_UNIT_COUNTED:
        if (x < 1000) {
            clv_format(buf, TEXT_MAX, "%g", x);
            return buf;
        }
        return text_count((int64_t)x, buf);
    case CLV_UNIT_RATIO:
        break;
    }
    clv_format(buf, TEXT_MAX, "%.2f", x);
    return buf;
}

static const clv_graph *check_graph_of(const clv_check *k)
{
    return clv_profile_graph(clv_cut_profile(clv_check_cut(k)));
}

static void check_put_text(const clv_check *k, const clv_report_opts *o,
                           clv_buf *out)
{
    static const table_col cols[] = {
        {"", TABLE_LEFT},       {"Check", TABLE_LEFT},
        {"Is", TABLE_RIGHT},    {"", TABLE_LEFT},
        {"Limit", TABLE_RIGHT}, {"", TABLE_LEFT | TABLE_WRAP}};
    const clv_device *d = clv_check_device(k);
    uint32_t n, failed = clv_check_failed(k);
    const clv_check_item *x = clv_check_items(k, &n);
    char a[TEXT_MAX], b[TEXT_MAX];
    table t;
    table_start(&t, cols, 6);
    t.margin = 2;
    for (uint32_t i = 0; i < n; i++) {
        table_color(&t, x[i].passed ? PAINT_GREEN : PAINT_RED);
        table_text(&t, x[i].passed ? "✓" : "✗");
        table_text(&t, x[i].what);
        table_text(&t, check_number(x[i].unit, x[i].actual, a));
        table_text(&t, x[i].at_least ? ">=" : "<=");
        table_text(&t, check_number(x[i].unit, x[i].limit, b));
        table_text(&t, x[i].note);
    }
    text_heading(out, o, "Check: %s%s%s (%s cut)",
                 clv_graph_name(check_graph_of(k)), d ? " on " : "",
                 d ? d->title : "", clv_cut_strategy(clv_check_cut(k)));
    table_print(&t, o, out);
    bool budgets = n && x[0].is_budget; /* budgets come last, so if the first is
                                         * one, all are */
    clv_buf_printf(out, "\nOverall: %s%s%s",
                   paint_on(o, failed ? PAINT_RED : PAINT_GREEN),
                   !failed   ? budgets ? "✓ WITHIN BUDGET" : "✓ SUITABLE"
                   : budgets ? "✗ OVER BUDGET"
                             : "✗ NOT SUITABLE",
                   paint_off(o, failed ? PAINT_RED : PAINT_GREEN));
    clv_buf_printf(out, " (%u of %u checks passed)\n", n - failed, n);
}

static void check_json(const clv_check *k, clv_buf *out)
{
    const clv_device *d = clv_check_device(k);
    uint32_t n;
    const clv_check_item *x = clv_check_items(k, &n);
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(check_graph_of(k)));
    jsonw_str(&w, "strategy", clv_cut_strategy(clv_check_cut(k)));
    jsonw_str(&w, "device", d ? d->name : NULL);
    jsonw_bool(&w, "passed", clv_check_failed(k) == 0);
    jsonw_int(&w, "failed", clv_check_failed(k));
    jsonw_array(&w, "checks");
    for (uint32_t i = 0; i < n; i++) {
        jsonw_object(&w, NULL);
        jsonw_str(&w, "key", x[i].key);
        jsonw_bool(&w, "passed", x[i].passed);
        jsonw_num(&w, "actual", x[i].actual);
        jsonw_num(&w, "limit", x[i].limit);
        jsonw_bool(&w, "at_least", x[i].at_least);
        jsonw_str(&w, "note", x[i].note);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void check_csv(const clv_check *k, clv_buf *out)
{
    static const char *const head[] = {"key", "passed", "actual", "limit",
                                       "at_least"};
    uint32_t n;
    const clv_check_item *x = clv_check_items(k, &n);
    csv_row(out, head, 5);
    for (uint32_t i = 0; i < n; i++) {
        csv_text(out, x[i].key);
        csv_bool(out, x[i].passed);
        csv_num(out, x[i].actual);
        csv_num(out, x[i].limit);
        csv_bool(out, x[i].at_least);
        csv_end(out);
    }
}

void clv_report_check(const clv_check *k, const clv_report_opts *opts,
                      clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        check_json(k, out);
    else if (opts->format == CLV_REPORT_CSV)
        check_csv(k, out);
    else
        check_put_text(k, opts, out);
}
