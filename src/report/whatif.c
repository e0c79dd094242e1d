/* whatif.c - what a model costs beside what it would cost. */
#include "cleave/whatif.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

enum { IN_COUNTS, IN_BYTES, IN_SECONDS };

typedef struct whatif_row {
    const char *key, *title;
    int unit;
    double before, after;
} whatif_row;

enum { WHATIF_ROWS = 12, TIME_ROWS = 4 };

/* The rows; those of times come last. */
static void whatif_rows(const clv_whatif_report *r, whatif_row *rows)
{
    const clv_whatif *a = r->before, *b = r->after;
#define ROW(field, title, unit) \
    { \
#field, title, unit, (double)a->field, (double)b->field \
    }
    const whatif_row all[WHATIF_ROWS] = {
        ROW(params, "Parameters", IN_COUNTS),
        ROW(macs, "MACs", IN_COUNTS),
        ROW(flops, "FLOPs", IN_COUNTS),
        ROW(memory, "Bytes moved", IN_BYTES),
        ROW(bytes_in, "  read", IN_BYTES),
        ROW(bytes_weights, "  weights", IN_BYTES),
        ROW(bytes_out, "  written", IN_BYTES),
        ROW(crossing_bytes, "To and from the CPU", IN_BYTES),
        ROW(seconds, "Time", IN_SECONDS),
        ROW(device_seconds, "  on the device", IN_SECONDS),
        ROW(host_seconds, "  on the CPU", IN_SECONDS),
        ROW(transfer_seconds, "  between them", IN_SECONDS),
    };
#undef ROW
    for (int i = 0; i < WHATIF_ROWS; i++)
        rows[i] = all[i];
}

static void whatif_cell(table *t, const whatif_row *r, double x)
{
    char buf[TEXT_MAX];
    if (r->unit == IN_SECONDS)
        table_text(t, text_time(x, buf));
    else if (r->unit == IN_BYTES)
        table_bytes(t, (int64_t)x);
    else
        table_count(t, (int64_t)x);
}

static void whatif_text(const clv_whatif_report *r, const clv_report_opts *o,
                        clv_buf *out)
{
    static const table_col cols[] = {{"", TABLE_LEFT},
                                     {"As it is", TABLE_RIGHT},
                                     {"What if", TABLE_RIGHT},
                                     {"Times", TABLE_RIGHT}};
    const uint32_t *n = r->after->operators;
    whatif_row rows[WHATIF_ROWS];
    table t;
    whatif_rows(r, rows);
    text_heading(out, o, "What if: %s, batch %lld%s%s%s%s",
                 clv_graph_name(r->graph), (long long)r->batch_after,
                 *r->dtype ? ", " : "", r->dtype, r->device ? ", " : "",
                 r->device ? r->device->title : "");
    if (n[CLV_FATE_INT8] || n[CLV_FATE_CPU] || n[CLV_FATE_REMOVED])
        clv_buf_printf(out, "  %u operators in int8, %u on the CPU, %u gone\n",
                       n[CLV_FATE_INT8], n[CLV_FATE_CPU], n[CLV_FATE_REMOVED]);
    table_start(&t, cols, 4);
    t.margin = 2;
    for (int i = 0; i < WHATIF_ROWS; i++) {
        bool time = i >= WHATIF_ROWS - TIME_ROWS;
        if ((time && !r->device) ||
            (i >= 7 && rows[i].before == 0 && rows[i].after == 0))
            continue;
        table_text(&t, rows[i].title);
        whatif_cell(&t, &rows[i], rows[i].before);
        whatif_cell(&t, &rows[i], rows[i].after);
        if (rows[i].before > 0)
            table_printf(&t, "%.3fx", rows[i].after / rows[i].before);
        else
            table_text(&t, "-");
    }
    table_print(&t, o, out);
    if (r->after->cannot)
        clv_buf_printf(out,
                       "\n%u operators compute in a type their device has no "
                       "rate for: they take no time here.\n",
                       r->after->cannot);
}

static void whatif_side(jsonw *w, const char *key, const clv_whatif *x,
                        int64_t batch, bool times)
{
    jsonw_object(w, key);
    jsonw_int(w, "batch", batch);
    jsonw_int(w, "total_params", x->params);
    jsonw_int(w, "total_macs", x->macs);
    jsonw_int(w, "total_flops", x->flops);
    jsonw_int(w, "total_memory", x->memory);
    jsonw_int(w, "bytes_in", x->bytes_in);
    jsonw_int(w, "bytes_weights", x->bytes_weights);
    jsonw_int(w, "bytes_out", x->bytes_out);
    jsonw_int(w, "crossing_bytes", x->crossing_bytes);
    jsonw_int(w, "crossing_tensors", x->crossing_tensors);
    if (times) {
        jsonw_num(w, "seconds", x->seconds);
        jsonw_num(w, "device_seconds", x->device_seconds);
        jsonw_num(w, "host_seconds", x->host_seconds);
        jsonw_num(w, "transfer_seconds", x->transfer_seconds);
        jsonw_int(w, "cannot", x->cannot);
    }
    jsonw_end(w);
}

static void whatif_json(const clv_whatif_report *r, clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(r->graph));
    jsonw_str(&w, "dtype", r->dtype);
    jsonw_str(&w, "device", r->device ? r->device->name : NULL);
    jsonw_str(&w, "host", r->host ? r->host->name : NULL);
    jsonw_object_flat(&w, "operators");
    for (uint32_t i = 0; i < CLV_FATE_COUNT; i++)
        jsonw_int(&w, clv_fate_name((clv_fate)i), r->after->operators[i]);
    jsonw_end(&w);
    whatif_side(&w, "before", r->before, r->batch_before, r->device != NULL);
    whatif_side(&w, "after", r->after, r->batch_after, r->device != NULL);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void whatif_csv(const clv_whatif_report *r, clv_buf *out)
{
    static const char *const head[] = {"figure", "before", "after"};
    whatif_row rows[WHATIF_ROWS];
    whatif_rows(r, rows);
    csv_row(out, head, 3);
    for (int i = 0; i < WHATIF_ROWS - (r->device ? 0 : TIME_ROWS); i++) {
        csv_text(out, rows[i].key);
        csv_num(out, rows[i].before);
        csv_num(out, rows[i].after);
        csv_end(out);
    }
}

void clv_report_whatif(const clv_whatif_report *r, const clv_report_opts *opts,
                       clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        whatif_json(r, out);
    else if (opts->format == CLV_REPORT_CSV)
        whatif_csv(r, out);
    else
        whatif_text(r, opts, out);
}
