/* models.c - the list of built-in models. */
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

static void models_text(const clv_model_cost *models, uint32_t n,
                        const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {
        {"Model", TABLE_CUT},  {"Family", TABLE_DROP},  {"Task", TABLE_DROP},
        {"Input", TABLE_DROP}, {"Params", TABLE_RIGHT}, {"GMACs", TABLE_RIGHT}};
    table t;
    table_start(&t, cols, 6);
    for (uint32_t i = 0; i < n; i++) {
        const clv_zoo_model *m = models[i].info;
        clv_value_info v = {.rank = m->rank, .dims = m->input};
        table_text(&t, m->name);
        table_text(&t, m->family);
        table_text(&t, m->task);
        table_shape(&t, &v);
        table_count(&t, models[i].params);
        table_printf(&t, "%.3f", (double)models[i].macs / 1e9);
    }
    table_print(&t, o, out);
    clv_buf_printf(out, "\n%u model%s\n", n, n == 1 ? "" : "s");
}

/* The numbers of a model that can be set. */
static void models_json_knobs(const clv_zoo_model *m, jsonw *w)
{
    clv_zoo_number k;
    uint32_t n = clv_zoo_knob(m, 0, NULL);
    if (!n)
        return;
    jsonw_array(w, "knobs");
    for (uint32_t i = 0; i < n; i++) {
        clv_zoo_knob(m, i, &k);
        jsonw_object_flat(w, NULL);
        jsonw_str(w, "name", k.name);
        jsonw_num(w, "low", k.low);
        jsonw_num(w, "high", k.high);
        jsonw_num(w, "default", k.otherwise);
        jsonw_bool(w, "whole", k.whole);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void models_json(const clv_model_cost *models, uint32_t n, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_array(&w, "models");
    for (uint32_t i = 0; i < n; i++) {
        const clv_zoo_model *m = models[i].info;
        jsonw_object(&w, NULL);
        jsonw_str(&w, "name", m->name);
        jsonw_str(&w, "family", m->family);
        jsonw_str(&w, "task", m->task);
        jsonw_str(&w, "source", m->source);
        jsonw_int(&w, "year", m->year);
        jsonw_ints(&w, "input_shape", m->input, m->rank);
        jsonw_int(&w, "params", models[i].params);
        jsonw_int(&w, "macs", models[i].macs);
        models_json_knobs(m, &w);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void models_csv(const clv_model_cost *models, uint32_t n, clv_buf *out)
{
    static const char *const head[] = {"name",   "family", "task",
                                       "source", "year",   "input_shape",
                                       "params", "macs"};
    csv_row(out, head, 8);
    for (uint32_t i = 0; i < n; i++) {
        const clv_zoo_model *m = models[i].info;
        csv_text(out, m->name);
        csv_text(out, m->family);
        csv_text(out, m->task);
        csv_text(out, m->source);
        csv_int(out, m->year);
        csv_shape(out, m->rank, m->input);
        csv_int(out, models[i].params);
        csv_int(out, models[i].macs);
        csv_end(out);
    }
}

void clv_report_models(const clv_model_cost *models, uint32_t n,
                       const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        models_json(models, n, out);
    else if (opts->format == CLV_REPORT_CSV)
        models_csv(models, n, out);
    else
        models_text(models, n, opts, out);
}
