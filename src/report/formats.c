/* formats.c - the kinds of model files that are read and written. */
#include "cleave/files.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

static void formats_text(const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Format", 0},
                                     {"Files", TABLE_CUT},
                                     {"Read", TABLE_CUT},
                                     {"Written", 0}};
    const clv_file_kind *f;
    table t;
    table_start(&t, cols, 4);
    for (uint32_t i = 0; (f = clv_file_kind_at(i)); i++) {
        table_text(&t, f->text);
        table_text(&t, f->endings);
        table_text(&t, f->holds);
        table_text(&t, f->written ? "yes" : "no");
    }
    table_print(&t, o, out);
}

static void formats_json(clv_buf *out)
{
    const clv_file_kind *f;
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_array(&w, "formats");
    for (uint32_t i = 0; (f = clv_file_kind_at(i)); i++) {
        jsonw_object(&w, NULL);
        jsonw_str(&w, "name", f->name);
        jsonw_str(&w, "text", f->text);
        jsonw_str(&w, "endings", f->endings);
        jsonw_str(&w, "holds", f->holds);
        jsonw_bool(&w, "written", f->written);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void formats_csv(clv_buf *out)
{
    static const char *const head[] = {"name", "text", "endings", "holds",
                                       "written"};
    const clv_file_kind *f;
    csv_row(out, head, 5);
    for (uint32_t i = 0; (f = clv_file_kind_at(i)); i++) {
        csv_text(out, f->name);
        csv_text(out, f->text);
        csv_text(out, f->endings);
        csv_text(out, f->holds);
        csv_int(out, f->written);
        csv_end(out);
    }
}

void clv_report_formats(const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        formats_json(out);
    else if (opts->format == CLV_REPORT_CSV)
        formats_csv(out);
    else
        formats_text(opts, out);
}
