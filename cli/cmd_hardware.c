/* cmd_hardware.c - the devices known, or one with the source of each figure;
 * with --measure, this machine becomes one. */
#include "cli.h"

#include <fnmatch.h>
#include <stdlib.h>

typedef struct listing {
    const clv_device **items;
    uint32_t n;
} listing;

static void hardware_report(const void *result, const clv_report_opts *o,
                            clv_buf *out)
{
    const listing *l = result;
    clv_report_devices(l->items, l->n, o, out);
}

/* -- measuring ------------------------------------------------------------*/

static void hardware_show(void *ctx, const char *what, uint32_t done,
                          uint32_t total)
{
    progress_show(ctx, what, (double)done / total);
}

/* Measures this machine. It makes the file's folder first, so that nobody waits
 * for figures that cannot be kept. */
static clv_status hardware_measure(const options *o, clv_err *err)
{
    char path[1024], text[1100];
    progress bar;
    clv_backend *b = NULL;
    clv_device *d = NULL;
    if (o->args.n)
        return fail(err, CLV_USAGE, "--measure takes no names of devices");
    if (o->threads > 1024)
        return fail(err, CLV_USAGE, "--threads of at most 1024");
    clv_status s = device_place("host", path, sizeof path, err);
    if (s == CLV_OK)
        s = clv_backend_open("onednn", NULL, &b, err);
    progress_start(&bar, o);
    const clv_measure_opts opts = {
        .size = sizeof opts, b, (uint32_t)o->threads, hardware_show, &bar};
    if (s == CLV_OK)
        s = clv_device_measure(&opts, &d, err);
    progress_end(&bar);
    if (s == CLV_OK)
        s = save_device(d, path, err);
    const clv_device *const_d = d;
    const listing l = {&const_d, 1};
    if (s == CLV_OK)
        s = emit(o, hardware_report, &l, err);
    if (s == CLV_OK && !o->quiet) {
        snprintf(text, sizeof text, "saved in %s", path);
        say("note: ", text);
    }
    clv_device_free(d);
    clv_backend_free(b);
    return s;
}

/* -- listing --------------------------------------------------------------*/

static bool hardware_selected(const options *o, const clv_device *d)
{
    for (size_t i = 0; i < o->args.n; i++)
        if (fnmatch(o->args.items[i], d->name, 0) == 0 ||
            (d->alias && fnmatch(o->args.items[i], d->alias, 0) == 0))
            return true;
    return o->args.n == 0;
}

/* Returns the i-th device: first those of the library, then the user's. */
static const clv_device *device_at(const options *o, uint32_t i,
                                   uint32_t built_in)
{
    return i < built_in ? clv_device_at(i) : own_device_at(o, i - built_in);
}

clv_status cmd_hardware(const options *o, clv_err *err)
{
    uint32_t built_in = 0, n;
    if (o->measure)
        return hardware_measure(o, err);
    clv_status s = own_devices(o, err);
    while (clv_device_at(built_in))
        built_in++;
    for (n = built_in; device_at(o, n, built_in);)
        n++;
    listing l = {malloc((n + 1) * sizeof *l.items), 0};
    if (s == CLV_OK && !l.items)
        s = fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        if (hardware_selected(o, device_at(o, i, built_in)))
            l.items[l.n++] = device_at(o, i, built_in);
    if (s == CLV_OK && !l.n) /* a file, or a name with a suggestion */
        s = find_device(o, o->args.items[0], &l.items[l.n++], err);
    if (s == CLV_OK)
        s = emit(o, hardware_report, &l, err);
    free(l.items);
    return s;
}
