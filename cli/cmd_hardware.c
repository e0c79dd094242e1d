/* cmd_hardware.c - the devices known, or one with the source of each figure. */
#include "cli.h"

#include <fnmatch.h>
#include <stdlib.h>

typedef struct listing {
    const clv_device **items;
    uint32_t n;
} listing;

static void report(const void *result, const clv_report_opts *o, clv_buf *out)
{
    const listing *l = result;
    clv_report_devices(l->items, l->n, o, out);
}

static bool selected(const options *o, const clv_device *d)
{
    for (size_t i = 0; i < o->args.n; i++)
        if (fnmatch(o->args.items[i], d->name, 0) == 0 ||
            (d->alias && fnmatch(o->args.items[i], d->alias, 0) == 0))
            return true;
    return o->args.n == 0;
}

clv_status cmd_hardware(const options *o, clv_err *err)
{
    uint32_t n = 0;
    while (clv_device_at(n))
        n++;
    listing l = {malloc((n + 1) * sizeof *l.items), 0};
    if (!l.items)
        return fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        if (selected(o, clv_device_at(i)))
            l.items[l.n++] = clv_device_at(i);
    const clv_device *none;
    clv_status s = l.n ? emit(o, report, &l, err)
                       : clv_device_find(o->args.items[0], &none, err);
    free(l.items);
    return s;
}
