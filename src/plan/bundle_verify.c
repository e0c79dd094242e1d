/* bundle_verify.c - checks an exported cut from its files alone.
 *
 * Each partition's file says what its nodes read and make. From these alone
 * follows what the manifest must say: which nodes exist, what each partition
 * takes and gives, and that it runs after those it reads from. A stateful node
 * names the one before it (`after`): their order must be kept too. Partitions
 * that are there as ONNX are compared with these files (bundle_onnx.c). */
#include "core/mapping.h"
#include "plan/bundle.h"

#include <stdio.h>
#include <string.h>

enum { IDS_MAX = 1 << 26 };

typedef struct check {
    arena mem;
    const char *dir;
    uint32_t n_nodes, n_values; /* n_values: 1 + the highest number seen */
    uint32_t *node_in;          /* per node: partition + 1 that has it */
    uint32_t *turn;             /* per node: when it runs, from 1 on */
    uint32_t *waits;            /* per partition: the last partition (plus 1)
                                 * that waits for it */
    uint32_t *maker;            /* per value: partition + 1 that makes it */
    uint32_t *mark;             /* per value: the mark of the current pass */
    uint8_t *escapes; /* per value: read by another partition, or an output */
    const json **part;
    uint32_t n_parts, turns;
    size_t bytes; /* of all files: no more nodes or values than that */
} check;

static clv_status bundle_verify_load(check *c, const char *name,
                                     const json **root, clv_err *e)
{
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/%s", c->dir, name);
    if (len < 0 || (size_t)len >= sizeof path)
        return clv__fail(e, CLV_NOT_FOUND, "%.300s/%.100s: too long a name",
                         c->dir, name);
    clv_mapping map;
    CLV_TRY(clv__mapping_open(path, &map, e));
    clv_status s = json_parse(&c->mem, map.size ? (const char *)map.data : "",
                              map.size, root, e);
    if (s != CLV_OK)
        clv__err_prefix(e, "%.100s", name);
    c->bytes += map.size;
    clv__mapping_close(&map);
    return s;
}

/* -- lists of numbers -----------------------------------------------------*/

static clv_status bundle_verify_list(const json *of, const char *key,
                                     const char *file, const json **out,
                                     clv_err *e)
{
    *out = json_get(of, key);
    if (!*out || (*out)->type != JSON_ARRAY)
        return clv__fail(e, CLV_FORMAT, "%.100s: line %u: '%s' must be a list",
                         file, of->line, key);
    for (const json *v = (*out)->child; v; v = v->next)
        if (v->type != JSON_NULL && v->type != JSON_OBJECT &&
            (v->type != JSON_INT || v->u.i < 0 || v->u.i >= IDS_MAX))
            return clv__fail(e, CLV_FORMAT,
                             "%.100s: line %u: '%s' must hold numbers", file,
                             v->line, key);
    return CLV_OK;
}

static void bundle_verify_highest(check *c, const json *ids)
{
    for (const json *v = ids->child; v; v = v->next)
        if (v->type == JSON_INT && v->u.i >= c->n_values)
            c->n_values = (uint32_t)v->u.i + 1;
}

/* -- passes ---------------------------------------------------------------*/

/* Checks that every node of a partition's file has lists of inputs and
 * outputs. */
static clv_status bundle_verify_check_shape(check *c, const json *part,
                                            const char *file, clv_err *e)
{
    const json *nodes, *ids;
    CLV_TRY(bundle_verify_list(part, "nodes", file, &nodes, e));
    for (const json *n = nodes->child; n; n = n->next) {
        int64_t id = json_int(n, "id", -1);
        if (id < 0 || id >= c->n_nodes)
            return clv__fail(e, CLV_LIMIT, "%.100s: line %u: no node %lld",
                             file, n->line, (long long)id);
        CLV_TRY(bundle_verify_list(n, "inputs", file, &ids, e));
        bundle_verify_highest(c, ids);
        CLV_TRY(bundle_verify_list(n, "outputs", file, &ids, e));
        bundle_verify_highest(c, ids);
    }
    return CLV_OK;
}

static bool cpu_only_on(const json *node, const char *device)
{
    return strcmp(device, "cpu") != 0 &&
           strcmp(json_string(node, "side", "either"), "cpu") == 0;
}

/* Checks that each node occurs once and is on a device that may have it, and
 * notes which partition makes which value. */
static clv_status place_nodes(check *c, const json *entry, uint32_t k,
                              clv_err *e)
{
    const json *nodes = json_get(c->part[k], "nodes");
    const char *device = json_string(entry, "device", "");
    const json *stated;
    uint32_t count = 0;
    CLV_TRY(bundle_verify_list(entry, "nodes", "manifest.json", &stated, e));
    for (const json *n = nodes->child; n; n = n->next, count++) {
        uint32_t id = (uint32_t)json_int(n, "id", 0);
        if (c->node_in[id])
            return clv__fail(e, CLV_LIMIT,
                             "node %u is in partition %u and in %u", id,
                             c->node_in[id] - 1, k);
        c->node_in[id] = k + 1;
        c->turn[id] = ++c->turns;
        if (cpu_only_on(n, device))
            return clv__fail(e, CLV_LIMIT,
                             "node '%.80s' is on %.40s, which does not support "
                             "it",
                             json_string(n, "name", "?"), device);
        for (const json *v = json_get(n, "outputs")->child; v; v = v->next) {
            if (v->type != JSON_INT)
                continue;
            if (c->maker[v->u.i])
                return clv__fail(e, CLV_LIMIT, "value %u is made twice",
                                 (unsigned)v->u.i);
            c->maker[v->u.i] = k + 1;
        }
    }
    for (const json *v = stated->child; v; v = v->next)
        if (v->type != JSON_INT || v->u.i >= c->n_nodes ||
            c->node_in[v->u.i] != k + 1)
            return clv__fail(e, CLV_LIMIT,
                             "partition %u lists a node its file does not have",
                             k);
    return stated->n == count
               ? CLV_OK
               : clv__fail(e, CLV_LIMIT, "partition %u lists %u nodes of %u", k,
                           stated->n, count);
}

/* Checks that the stated inputs are exactly the values that its nodes read and
 * it does not make, and that partitions before it make them. */
static clv_status bundle_verify_check_inputs(check *c, const json *entry,
                                             uint32_t k, clv_err *e)
{
    const json *stated;
    uint32_t stamp = 2 * k + 1;
    CLV_TRY(bundle_verify_list(entry, "inputs", "manifest.json", &stated, e));
    for (const json *v = stated->child; v; v = v->next) {
        if (v->type != JSON_INT || v->u.i >= c->n_values ||
            c->mark[v->u.i] == stamp)
            return clv__fail(e, CLV_LIMIT, "partition %u: input %lld", k,
                             (long long)(v->type == JSON_INT ? v->u.i : -1));
        c->mark[v->u.i] = stamp;
    }
    uint32_t read = 0;
    for (const json *n = json_get(c->part[k], "nodes")->child; n; n = n->next)
        for (const json *v = json_get(n, "inputs")->child; v; v = v->next) {
            if (v->type != JSON_INT || c->maker[v->u.i] == k + 1)
                continue;
            uint32_t id = (uint32_t)v->u.i;
            if (c->maker[id] > k + 1)
                return clv__fail(e, CLV_LIMIT,
                                 "partition %u reads value %u of partition %u, "
                                 "which runs later",
                                 k, id, c->maker[id] - 1);
            if (c->mark[id] != stamp && c->mark[id] != stamp + 1)
                return clv__fail(e, CLV_LIMIT,
                                 "partition %u reads value %u, which is not "
                                 "among its inputs",
                                 k, id);
            read += c->mark[id] == stamp;
            c->mark[id] = stamp + 1;
            c->escapes[id] = 1;
        }
    return read == stated->n
               ? CLV_OK
               : clv__fail(e, CLV_LIMIT,
                           "partition %u states %u inputs and reads %u", k,
                           stated->n, read);
}

/* Checks that stateful nodes of partition k run after the nodes they name. */
static clv_status check_turns(check *c, const json *n, uint32_t k,
                              uint32_t *needed, clv_err *e)
{
    int64_t after = json_int(n, "after", -1);
    uint32_t id = (uint32_t)json_int(n, "id", 0);
    if (after < 0)
        return CLV_OK;
    if (after >= c->n_nodes || c->turn[after] >= c->turn[id])
        return clv__fail(e, CLV_LIMIT,
                         "node %u must run after node %lld, and does not", id,
                         (long long)after);
    uint32_t *waits = &c->waits[c->node_in[after] - 1];
    *needed += c->node_in[after] != k + 1 && *waits != k + 1;
    if (c->node_in[after] != k + 1)
        *waits = k + 1;
    return CLV_OK;
}

/* Checks that the stated dependencies are exactly those of its inputs and its
 * stateful nodes. */
static clv_status check_depends(check *c, const json *entry, uint32_t k,
                                clv_err *e)
{
    const json *stated;
    uint32_t needed = 0;
    CLV_TRY(
        bundle_verify_list(entry, "depends_on", "manifest.json", &stated, e));
    for (const json *v = json_get(entry, "inputs")->child; v; v = v->next) {
        uint32_t maker = v->type == JSON_INT ? c->maker[v->u.i] : 0;
        if (!maker || c->waits[maker - 1] == k + 1)
            continue;
        c->waits[maker - 1] = k + 1;
        needed++;
    }
    for (const json *n = json_get(c->part[k], "nodes")->child; n; n = n->next)
        CLV_TRY(check_turns(c, n, k, &needed, e));
    for (const json *v = stated->child; v; v = v->next)
        if (v->type != JSON_INT || v->u.i >= c->n_parts ||
            c->waits[v->u.i] != k + 1)
            return clv__fail(e, CLV_LIMIT,
                             "partition %u depends on %lld for no reason", k,
                             (long long)(v->type == JSON_INT ? v->u.i : -1));
    return stated->n == needed
               ? CLV_OK
               : clv__fail(e, CLV_LIMIT,
                           "partition %u states %u dependencies, %u are needed",
                           k, stated->n, needed);
}

/* Checks that the stated outputs are exactly the values it makes that others,
 * or the caller, need. */
static clv_status bundle_verify_check_outputs(check *c, const json *entry,
                                              uint32_t k, clv_err *e)
{
    const json *stated;
    uint32_t needed = 0;
    CLV_TRY(bundle_verify_list(entry, "outputs", "manifest.json", &stated, e));
    for (const json *v = stated->child; v; v = v->next)
        if (v->type != JSON_INT || v->u.i >= c->n_values ||
            c->maker[v->u.i] != k + 1 || !c->escapes[v->u.i])
            return clv__fail(e, CLV_LIMIT,
                             "partition %u states an output nobody needs", k);
    for (const json *n = json_get(c->part[k], "nodes")->child; n; n = n->next)
        for (const json *v = json_get(n, "outputs")->child; v; v = v->next)
            needed += v->type == JSON_INT && c->escapes[v->u.i];
    return needed == stated->n
               ? CLV_OK
               : clv__fail(e, CLV_LIMIT,
                           "partition %u states %u outputs, %u are needed", k,
                           stated->n, needed);
}

/* Checks the ONNX file of the partition, if the manifest names one. */
static clv_status check_onnx(check *c, const json *entry, uint32_t k,
                             clv_err *e)
{
    const char *file = json_string(entry, "onnx", "");
    if (!*file)
        return CLV_OK;
    if (strchr(file, '/'))
        return clv__fail(e, CLV_FORMAT,
                         "manifest.json: line %u: 'onnx' must be a name",
                         entry->line);
    return clv__bundle_onnx(c->dir, file, c->part[k], entry, e);
}

/* -- the whole ------------------------------------------------------------*/

static clv_status load_parts(check *c, const json *parts, clv_err *e)
{
    uint32_t k = 0;
    c->n_parts = parts->n;
    c->part = arena_array(&c->mem, (size_t)parts->n + 1, sizeof *c->part);
    if (!c->part)
        return clv__nomem(e);
    for (const json *p = parts->child; p; p = p->next, k++) {
        const char *file = json_string(p, "file", "");
        if (!*file || strchr(file, '/'))
            return clv__fail(e, CLV_FORMAT,
                             "manifest.json: line %u: 'file' must be a name",
                             p->line);
        CLV_TRY(bundle_verify_load(c, file, &c->part[k], e));
        CLV_TRY(bundle_verify_check_shape(c, c->part[k], file, e));
    }
    return CLV_OK;
}

static clv_status bundle_verify_cover(check *c, clv_err *e)
{
    for (uint32_t i = 0; i < c->n_nodes; i++)
        if (!c->node_in[i])
            return clv__fail(e, CLV_LIMIT, "node %u is in no partition", i);
    return CLV_OK;
}

typedef clv_status part_fn(check *c, const json *entry, uint32_t k, clv_err *e);

static clv_status over_parts(check *c, const json *parts, part_fn *fn,
                             clv_err *e)
{
    uint32_t k = 0;
    for (const json *p = parts->child; p; p = p->next)
        CLV_TRY(fn(c, p, k++, e));
    return CLV_OK;
}

static clv_status bundle_verify_run(check *c, clv_err *e)
{
    const json *root, *parts, *outputs;
    CLV_TRY(bundle_verify_load(c, "manifest.json", &root, e));
    CLV_TRY(bundle_verify_list(root, "partitions", "manifest.json", &parts, e));
    CLV_TRY(bundle_verify_list(root, "outputs", "manifest.json", &outputs, e));
    int64_t n = json_int(root, "nodes", -1);
    if (n < 0 || n >= IDS_MAX)
        return clv__fail(e, CLV_FORMAT,
                         "manifest.json: 'nodes' must be a "
                         "number");
    c->n_nodes = (uint32_t)n;
    bundle_verify_highest(c, outputs);
    CLV_TRY(load_parts(c, parts, e));
    size_t values = (size_t)c->n_values + 1;
    if ((size_t)n > c->bytes || values > c->bytes)
        return clv__fail(e, CLV_FORMAT,
                         "manifest.json: %lld nodes and %zu values in files of "
                         "%zu bytes",
                         (long long)n, values, c->bytes);
    c->node_in = arena_zalloc(&c->mem, ((size_t)n + 1) * sizeof *c->node_in);
    c->turn = arena_zalloc(&c->mem, ((size_t)n + 1) * sizeof *c->turn);
    c->waits =
        arena_zalloc(&c->mem, ((size_t)c->n_parts + 1) * sizeof *c->waits);
    c->maker = arena_zalloc(&c->mem, values * sizeof *c->maker);
    c->mark = arena_zalloc(&c->mem, values * sizeof *c->mark);
    c->escapes = arena_zalloc(&c->mem, values);
    if (!c->node_in || !c->turn || !c->waits || !c->maker || !c->mark ||
        !c->escapes)
        return clv__nomem(e);
    CLV_TRY(over_parts(c, parts, place_nodes, e));
    CLV_TRY(bundle_verify_cover(c, e));
    CLV_TRY(over_parts(c, parts, bundle_verify_check_inputs, e));
    CLV_TRY(over_parts(c, parts, check_depends, e));
    for (const json *v = outputs->child; v; v = v->next)
        if (v->type == JSON_INT)
            c->escapes[v->u.i] = 1;
    CLV_TRY(over_parts(c, parts, bundle_verify_check_outputs, e));
    return over_parts(c, parts, check_onnx, e);
}

clv_status clv_bundle_verify(const char *dir, clv_bundle_info *info,
                             clv_err *err)
{
    check c = {.dir = dir};
    clv__err_clear(err);
    CLV_NEED(dir, err);
    clv_status s = bundle_verify_run(&c, err);
    const clv_bundle_info full = {.partitions = c.n_parts, .nodes = c.n_nodes};
    if (s == CLV_OK && info)
        s = clv__fill_sized(info, &full, sizeof full, "clv_bundle_info", err);
    arena_free(&c.mem);
    return s;
}
