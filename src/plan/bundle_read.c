/* bundle_read.c - reads the manifest of an exported cut, to run its parts.
 *
 * The manifest alone says which tensors pass between partitions, so whoever
 * runs one part need not read the others. Numbers of values in the file are
 * those of the whole model; here they become indices of one short list. */
#include "core/mapping.h"
#include "graph/graph.h"
#include "plan/bundle.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { BUNDLE_PARTS_MAX = 1 << 20 };

struct clv_bundle {
    arena mem;
    char *dir;
    clv_bundle_plan plan;
    int64_t *id;      /* per value: its number in the whole model, ascending */
    const char **why; /* per part: it has no ONNX file; "" when not said */
};

clv_status clv__bundle_sum(const char *path, int64_t *bytes, uint32_t *crc,
                           clv_err *e)
{
    clv_mapping map;
    CLV_TRY(clv__mapping_open(path, &map, e));
    *bytes = (int64_t)map.size;
    *crc = (uint32_t)crc32_z(0, map.size ? map.data : (const uint8_t *)"",
                             map.size);
    clv__mapping_close(&map);
    return CLV_OK;
}

static clv_status bundle_lacks(const json *at, const char *what, clv_err *e)
{
    return clv__fail(e, CLV_FORMAT,
                     "manifest.json: line %u: no '%s'; write the parts again "
                     "with this version of cleave",
                     at ? at->line : 1, what);
}

/* -- values ---------------------------------------------------------------*/

static clv_status bundle_read_value(clv_bundle *b, const json *v,
                                    clv_bundle_value *out, clv_err *e)
{
    const json *shape = json_get(v, "shape");
    const char *name = json_string(v, "name", "");
    *out = (clv_bundle_value){
        .name = arena_strndup(&b->mem, name, strlen(name)),
        .maker = CLV_NONE,
        .type.dtype = clv_dtype_find(json_string(v, "dtype", "")),
        .type.rank = CLV_NONE,
    };
    if (!out->name)
        return clv__nomem(e);
    if (!shape)
        return CLV_OK;
    if (shape->type != JSON_ARRAY || shape->n > CLV_MAX_RANK)
        return bundle_lacks(v, "shape", e);
    out->type.rank = 0;
    for (const json *d = shape->child; d; d = d->next) {
        if (d->type != JSON_INT || d->u.i < 0)
            return bundle_lacks(d, "shape", e);
        out->type.dims[out->type.rank++] = d->u.i;
    }
    return clv_tensor_bytes(&out->type) < 0 && out->type.dtype != CLV_STRING
               ? clv__fail(e, CLV_OVERFLOW,
                           "manifest.json: line %u: value '%.80s' is too large",
                           v->line, out->name)
               : CLV_OK;
}

/* Sorts the values by their numbers, which the file may have in any order. */
static void bundle_sort(clv_bundle *b, clv_bundle_value *values, uint32_t n)
{
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            int64_t id = b->id[i];
            clv_bundle_value v = values[i];
            uint32_t k = i;
            for (; k >= gap && b->id[k - gap] > id; k -= gap) {
                b->id[k] = b->id[k - gap];
                values[k] = values[k - gap];
            }
            b->id[k] = id;
            values[k] = v;
        }
}

static clv_status bundle_read_values(clv_bundle *b, const json *root,
                                     clv_bundle_value **out, clv_err *e)
{
    const json *list = json_get(root, "values");
    if (!list || list->type != JSON_ARRAY)
        return bundle_lacks(root, "values", e);
    uint32_t i = 0, n = list->n;
    clv_bundle_value *values =
        arena_array(&b->mem, (size_t)n + 1, sizeof *values);
    b->id = arena_array(&b->mem, (size_t)n + 1, sizeof *b->id);
    if (!values || !b->id)
        return clv__nomem(e);
    for (const json *v = list->child; v; v = v->next, i++) {
        b->id[i] = json_int(v, "id", -1);
        if (b->id[i] < 0)
            return bundle_lacks(v, "id", e);
        CLV_TRY(bundle_read_value(b, v, &values[i], e));
    }
    bundle_sort(b, values, n);
    b->plan.values = *out = values;
    b->plan.n_values = n;
    return CLV_OK;
}

static uint32_t bundle_index(const clv_bundle *b, int64_t id)
{
    uint32_t lo = 0, hi = b->plan.n_values;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->id[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < b->plan.n_values && b->id[lo] == id ? lo : CLV_NONE;
}

static clv_status bundle_read_ids(clv_bundle *b, const json *of,
                                  const char *key, const uint32_t **out,
                                  uint32_t *n, clv_err *e)
{
    const json *list = json_get(of, key);
    if (!list || list->type != JSON_ARRAY)
        return bundle_lacks(of, key, e);
    uint32_t *ids = arena_array(&b->mem, (size_t)list->n + 1, sizeof *ids);
    if (!ids)
        return clv__nomem(e);
    *out = ids;
    *n = 0;
    for (const json *v = list->child; v; v = v->next, (*n)++) {
        ids[*n] = v->type == JSON_INT ? bundle_index(b, v->u.i) : CLV_NONE;
        if (ids[*n] == CLV_NONE)
            return clv__fail(e, CLV_FORMAT,
                             "manifest.json: line %u: '%s' names a value that "
                             "is not among 'values'",
                             v->line, key);
    }
    return CLV_OK;
}

/* -- partitions -----------------------------------------------------------*/

static clv_status bundle_text(clv_bundle *b, const json *of, const char *key,
                              const char **out, clv_err *e)
{
    const char *text = json_string(of, key, "");
    *out = arena_strndup(&b->mem, text, strlen(text));
    return *out ? CLV_OK : clv__nomem(e);
}

static clv_status bundle_read_part(clv_bundle *b, const json *p, uint32_t k,
                                   clv_bundle_part *out,
                                   clv_bundle_value *values, clv_err *e)
{
    CLV_TRY(bundle_text(b, p, "onnx", &out->onnx, e));
    CLV_TRY(bundle_text(b, p, "device", &out->device, e));
    CLV_TRY(bundle_text(b, p, "no_onnx", &b->why[k], e));
    if (strchr(out->onnx, '/'))
        return clv__fail(e, CLV_FORMAT,
                         "manifest.json: line %u: '%.80s' is not in the folder",
                         p->line, out->onnx);
    if (!*out->onnx)
        out->onnx = NULL;
    CLV_TRY(bundle_read_ids(b, p, "feeds", &out->inputs, &out->n_inputs, e));
    CLV_TRY(
        bundle_read_ids(b, p, "outputs", &out->outputs, &out->n_outputs, e));
    out->seconds = json_number(p, "seconds", 0);
    out->flops = json_int(p, "flops", 0);
    out->weight_bytes = json_int(p, "weight_bytes", 0);
    out->file_bytes = json_int(p, "file_bytes", 0);
    out->crc = (uint32_t)json_int(p, "crc32", 0);
    for (uint32_t i = 0; i < out->n_inputs; i++) {
        const clv_bundle_value *v = &values[out->inputs[i]];
        bool fed = v->maker != CLV_NONE;
        for (uint32_t x = 0; x < b->plan.n_inputs && !fed; x++)
            fed = b->plan.inputs[x] == out->inputs[i];
        if (!fed)
            return clv__fail(e, CLV_FORMAT,
                             "manifest.json: line %u: partition %u takes "
                             "'%.80s', which no partition before it makes",
                             p->line, k, v->name);
    }
    for (uint32_t i = 0; i < out->n_outputs; i++) {
        clv_bundle_value *v = &values[out->outputs[i]];
        if (v->maker != CLV_NONE)
            return clv__fail(e, CLV_FORMAT,
                             "manifest.json: line %u: '%.80s' is made twice",
                             p->line, v->name);
        v->maker = k;
    }
    return CLV_OK;
}

static clv_status bundle_read(clv_bundle *b, const json *root, clv_err *e)
{
    clv_bundle_plan *plan = &b->plan;
    clv_bundle_value *values = NULL;
    const json *list = json_get(root, "partitions");
    if (!list || list->type != JSON_ARRAY || list->n > BUNDLE_PARTS_MAX)
        return bundle_lacks(root, "partitions", e);
    CLV_TRY(bundle_text(b, root, "model", &plan->model, e));
    CLV_TRY(bundle_text(b, root, "strategy", &plan->strategy, e));
    CLV_TRY(bundle_text(b, root, "cleave", &plan->version, e));
    CLV_TRY(bundle_read_values(b, root, &values, e));
    CLV_TRY(
        bundle_read_ids(b, root, "inputs", &plan->inputs, &plan->n_inputs, e));
    CLV_TRY(bundle_read_ids(b, root, "outputs", &plan->outputs,
                            &plan->n_outputs, e));
    clv_bundle_part *parts =
        arena_zalloc(&b->mem, ((size_t)list->n + 1) * sizeof *parts);
    b->why = arena_zalloc(&b->mem, ((size_t)list->n + 1) * sizeof *b->why);
    if (!parts || !b->why)
        return clv__nomem(e);
    plan->parts = parts;
    for (const json *p = list->child; p; p = p->next, plan->n_parts++)
        CLV_TRY(bundle_read_part(b, p, plan->n_parts, &parts[plan->n_parts],
                                 values, e));
    return CLV_OK;
}

static clv_status bundle_load(clv_bundle *b, clv_err *e)
{
    char path[4096];
    clv_mapping map;
    const json *root;
    int n = snprintf(path, sizeof path, "%s/manifest.json", b->dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return clv__fail(e, CLV_NOT_FOUND, "%.300s: too long a name", b->dir);
    CLV_TRY(clv__mapping_open(path, &map, e));
    const char *text = map.size ? (const char *)map.data : "";
    b->plan.crc = (uint32_t)crc32_z(0, (const uint8_t *)text, map.size);
    arena mem = {0};
    clv_status s = json_parse(&mem, text, map.size, &root, e);
    if (s == CLV_OK)
        s = bundle_read(b, root, e);
    else
        clv__err_prefix(e, "manifest.json");
    arena_free(&mem);
    clv__mapping_close(&map);
    return s;
}

clv_status clv_bundle_open(const char *dir, clv_bundle **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(dir, err);
    clv_bundle *b = clv__zalloc(sizeof *b);
    if (!b)
        return clv__nomem(err);
    b->plan.size = sizeof b->plan;
    b->dir = arena_strndup(&b->mem, dir, strlen(dir));
    clv_status s = b->dir ? bundle_load(b, err) : clv__nomem(err);
    if (s != CLV_OK)
        clv_bundle_free(b);
    else
        *out = b;
    return s;
}

void clv_bundle_free(clv_bundle *b)
{
    if (!b)
        return;
    arena_free(&b->mem);
    clv__free(b);
}

const clv_bundle_plan *clv_bundle_get(const clv_bundle *b)
{
    return &b->plan;
}

/* -- a part ---------------------------------------------------------------*/

/* Compares a list of the graph with what the manifest says of it. */
static clv_status bundle_compare(const clv_bundle *b, const clv_graph *g,
                                 const char *file, const char *what,
                                 const uint32_t *stated, uint32_t n,
                                 const uint32_t *ids, uint32_t n_ids,
                                 clv_err *e)
{
    bool same = n == n_ids;
    for (uint32_t i = 0; i < n && same; i++) {
        const clv_bundle_value *v = &b->plan.values[stated[i]];
        const clv_value *x = &g->values[ids[i]];
        char buf[512];
        const char *name = clv__value_name(g, ids[i], buf, sizeof buf);
        same = !strcmp(v->name, name) && v->type.dtype == (clv_dtype)x->dtype;
        if (v->type.rank != CLV_NONE && x->rank != CLV_NO_RANK)
            same = same && v->type.rank == x->rank &&
                   !memcmp(v->type.dims, x->dims, x->rank * sizeof *x->dims);
    }
    return same ? CLV_OK
                : clv__fail(e, CLV_FORMAT,
                            "%.200s: its %s are not those of manifest.json: "
                            "a part of another model",
                            file, what);
}

clv_status clv_bundle_part_open(const clv_bundle *b, uint32_t k,
                                clv_graph **out, clv_err *err)
{
    char path[4200];
    int64_t bytes = 0;
    uint32_t crc = 0;
    CLV_BEGIN(out, err);
    CLV_NEED(b, err);
    if (k >= b->plan.n_parts)
        return clv__fail(err, CLV_USAGE, "no partition %u", k);
    const clv_bundle_part *p = &b->plan.parts[k];
    if (!p->onnx)
        return clv__fail(
            err, CLV_UNSUPPORTED, "partition %u has no ONNX file: %.300s", k,
            *b->why[k] ? b->why[k] : "an operator of it has no form there");
    snprintf(path, sizeof path, "%s/%s", b->dir, p->onnx);
    CLV_TRY(clv__bundle_sum(path, &bytes, &crc, err));
    if (bytes != p->file_bytes || crc != p->crc)
        return clv__fail(err, CLV_FORMAT,
                         "%.300s is not the file that manifest.json was "
                         "written with: a part of another cut",
                         path);
    CLV_TRY(clv_graph_open(path, NULL, out, err));
    const clv_graph *g = *out;
    clv_status s = bundle_compare(b, g, path, "inputs", p->inputs, p->n_inputs,
                                  g->inputs, g->n_inputs, err);
    if (s == CLV_OK)
        s = bundle_compare(b, g, path, "outputs", p->outputs, p->n_outputs,
                           g->outputs, g->n_outputs, err);
    if (s != CLV_OK) {
        clv_graph_free(*out);
        *out = NULL;
    }
    return s;
}
