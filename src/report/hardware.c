/* hardware.c - the devices known: one line each, or one with its sources. */
#include "cleave/hardware.h"
#include "core/jsonw.h"
#include "report/csv.h"
#include "report/table.h"

#include <stdio.h>

/* "989.40 T", or "-" when nobody says. */
static void put_figure(table *t, const clv_figure *f)
{
    if (f->value <= 0)
        table_text(t, "-");
    else
        table_count(t, (int64_t)f->value);
}

static void list_text(const clv_device *const *devices, uint32_t n,
                      const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Device", TABLE_LEFT},
                                     {"Kind", TABLE_LEFT},
                                     {"fp32", TABLE_RIGHT},
                                     {"fp16", TABLE_RIGHT},
                                     {"bf16", TABLE_RIGHT | TABLE_DROP},
                                     {"int8", TABLE_RIGHT},
                                     {"Bandwidth", TABLE_RIGHT},
                                     {"Memory", TABLE_RIGHT},
                                     {"Units", TABLE_RIGHT},
                                     {"TDP", TABLE_RIGHT | TABLE_DROP},
                                     {"Title", TABLE_CUT | TABLE_DROP}};
    table t;
    table_start(&t, cols, sizeof cols / sizeof *cols);
    for (uint32_t i = 0; i < n; i++) {
        const clv_device *d = devices[i];
        table_text(&t, d->name);
        table_text(&t, clv_device_kind_name(d->kind));
        put_figure(&t, &d->fp32);
        put_figure(&t, &d->fp16);
        put_figure(&t, &d->bf16);
        put_figure(&t, &d->int8);
        put_figure(&t, &d->bandwidth);
        put_figure(&t, &d->memory);
        put_figure(&t, &d->units);
        put_figure(&t, &d->tdp);
        table_text(&t, d->title);
    }
    table_print(&t, o, out);
    clv_buf_printf(out,
                   "\n%u device%s; operations per second (a multiply-add "
                   "is two), bytes, watts\n",
                   n, n == 1 ? "" : "s");
}

/* One device: every figure with the document it is from. */
static void one_text(const clv_device *d, const clv_report_opts *o,
                     clv_buf *out)
{
    text_heading(out, o, "%s (%s, %s, %d)", d->title, d->name,
                 clv_device_kind_name(d->kind), d->year);
    for (uint32_t i = 0; clv_figure_at(i); i++) {
        const clv_figure_info *info = clv_figure_at(i);
        const clv_figure *f = clv_device_figure(d, i);
        if (f->source)
            clv_buf_printf(out, "  %-12s %-10.4g %-5s %s\n", info->key,
                           f->value, info->unit, f->source);
    }
    double ridge = clv_device_ridge(d, CLV_FLOAT16);
    if (ridge > 0)
        clv_buf_printf(out, "  %-12s %-10.4g %-5s peak of %s over bandwidth\n",
                       "ridge", ridge, "op/B",
                       d->fp16.source ? "fp16" : "fp32");
}

static void put_device(jsonw *w, const clv_device *d)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "name", d->name);
    jsonw_str(w, "alias", d->alias);
    jsonw_str(w, "title", d->title);
    jsonw_str(w, "kind", clv_device_kind_name(d->kind));
    jsonw_int(w, "year", d->year);
    for (uint32_t i = 0; clv_figure_at(i); i++) {
        const clv_figure *f = clv_device_figure(d, i);
        if (!f->source)
            continue;
        jsonw_object_flat(w, clv_figure_at(i)->key);
        jsonw_num(w, "value", f->value);
        jsonw_str(w, "unit", clv_figure_at(i)->unit);
        jsonw_str(w, "source", f->source);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void devices_json(const clv_device *const *devices, uint32_t n,
                         clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_array(&w, "devices");
    for (uint32_t i = 0; i < n; i++)
        put_device(&w, devices[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void devices_csv(const clv_device *const *devices, uint32_t n,
                        clv_buf *out)
{
    static const char *const head[] = {"device", "kind", "year", "title"};
    for (uint32_t i = 0; i < 4; i++)
        csv_text(out, head[i]);
    for (uint32_t i = 0; clv_figure_at(i); i++)
        csv_text(out, clv_figure_at(i)->key);
    csv_end(out);
    for (uint32_t k = 0; k < n; k++) {
        csv_text(out, devices[k]->name);
        csv_text(out, clv_device_kind_name(devices[k]->kind));
        csv_int(out, devices[k]->year);
        csv_text(out, devices[k]->title);
        for (uint32_t i = 0; clv_figure_at(i); i++) {
            const clv_figure *f = clv_device_figure(devices[k], i);
            if (f->source)
                csv_num(out, f->value);
            else
                csv_text(out, "");
        }
        csv_end(out);
    }
}

void clv_report_devices(const clv_device *const *devices, uint32_t n,
                        const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        devices_json(devices, n, out);
    else if (opts->format == CLV_REPORT_CSV)
        devices_csv(devices, n, out);
    else if (n == 1)
        one_text(devices[0], opts, out);
    else
        list_text(devices, n, opts, out);
}
