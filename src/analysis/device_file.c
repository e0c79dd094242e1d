/* device_file.c - a device from a file of the user's own.
 *
 * The format is what `cleave hardware NAME --json` prints, so that a device
 * can be taken from there, changed and read again. */
#include "analysis/device.h"
#include "core/json.h"
#include "core/mapping.h"

#include <string.h>

static clv_status read_kind(const json *j, clv_device *d, clv_err *e)
{
    const char *kind = json_string(j, "kind", "CPU");
    for (int k = CLV_DEVICE_GPU; k <= CLV_DEVICE_FPGA; k++)
        if (!strcmp(kind, clv_device_kind_name((clv_device_kind)k))) {
            d->kind = (clv_device_kind)k;
            return CLV_OK;
        }
    return clv__fail(e, CLV_FORMAT, "no kind of device is called '%.40s'",
                     kind);
}

static clv_status read_figures(const json *j, clv_device *d, clv_err *e)
{
    for (uint32_t i = 0; clv_figure_at(i); i++) {
        const char *key = clv_figure_at(i)->key;
        const json *f = json_get(j, key);
        clv_figure *to = (clv_figure *)(uintptr_t)clv_device_figure(d, i);
        if (!f)
            continue;
        *to = (clv_figure){json_number(f, "value", 0),
                           json_string(f, "source", "")};
        if (!(to->value > 0))
            return clv__fail(e, CLV_FORMAT,
                             "line %u: '%s' has no value above 0", f->line,
                             key);
    }
    return CLV_OK;
}

static clv_status read_device(own_device *l, const char *text, size_t len,
                              clv_err *e)
{
    const json *root, *list;
    clv_device *d = &l->device;
    CLV_TRY(json_parse(&l->mem, text, len, &root, e));
    list = json_get(root, "devices");
    if (!list || list->type != JSON_ARRAY || !list->child)
        return clv__fail(e, CLV_FORMAT, "no list 'devices' with a device");
    const json *j = list->child;
    d->name = json_string(j, "name", NULL);
    if (!d->name || !*d->name)
        return clv__fail(e, CLV_FORMAT, "line %u: a device without a name",
                         j->line);
    d->title = json_string(j, "title", d->name);
    d->alias = json_string(j, "alias", NULL);
    int64_t year = json_int(j, "year", 0);
    d->year = year >= 0 && year < 10000 ? (int)year : 0;
    CLV_TRY(read_kind(j, d, e));
    return read_figures(j, d, e);
}

clv_status clv_device_load(const char *path, clv_device **out, clv_err *err)
{
    clv_mapping map;
    CLV_BEGIN(out, err);
    CLV_NEED(path, err);
    CLV_TRY(clv__mapping_open(path, &map, err));
    own_device *l = clv__zalloc(sizeof *l);
    clv_status s = CLV_NOMEM;
    if (!l)
        s = clv__nomem(err);
    else if ((s = read_device(l, map.data ? (const char *)map.data : "",
                              map.size, err)))
        clv__err_prefix(err, "%s", path);
    clv__mapping_close(&map);
    if (s == CLV_OK)
        *out = &l->device;
    else if (l)
        clv_device_free(&l->device);
    return s;
}

void clv_device_free(clv_device *d)
{
    own_device *l = (own_device *)d;
    if (!l)
        return;
    arena_free(&l->mem);
    clv__free(l);
}
