/* bundle_onnx.c - checks that a partition's ONNX file is the partition.
 *
 * The file is read as any model is. Its inputs and outputs must be those of the
 * manifest, with the types and shapes that the partition's own file states; its
 * operators must be the same, one by one. */
#include "plan/bundle.h"

#include "graph/graph.h"
#include "ops/ops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct pair {
    const char *file;
    const json *part, *entry; /* its own file; its entry in the manifest */
    const clv_graph *g;       /* what the ONNX file holds */
} pair;

/* Returns what the partition's file says of value number id, or NULL. */
static const json *value_of(const pair *p, int64_t id)
{
    const json *values = json_get(p->part, "values");
    for (const json *v = values ? values->child : NULL; v; v = v->next)
        if (json_int(v, "id", -1) == id)
            return v;
    return NULL;
}

static bool bundle_onnx_same_type(const json *stated, const clv_value *v)
{
    const json *shape = json_get(stated, "shape");
    clv_dtype type = clv_dtype_find(json_string(stated, "dtype", ""));
    uint32_t i = 0;
    if (type != CLV_NODTYPE && v->dtype != CLV_NODTYPE && type != v->dtype)
        return false;
    if (!shape || shape->type != JSON_ARRAY)
        return true; /* not known there */
    if (v->rank == CLV_NO_RANK || shape->n != v->rank)
        return false;
    for (const json *d = shape->child; d; d = d->next, i++)
        if (d->type != JSON_INT || d->u.i != v->dims[i])
            return false;
    return true;
}

/* Whether a file may call the value that: of several with the same name all but
 * the first have "//" and a number behind it. */
static bool bundle_onnx_is_called(const char *stated, const char *name)
{
    size_t n = strlen(stated);
    if (strncmp(stated, name, n) != 0)
        return false;
    if (name[n] == '\0')
        return true;
    return !strncmp(name + n, "//", 2) && name[n + 2] &&
           strspn(name + n + 2, "0123456789") == strlen(name + n + 2);
}

/* Returns the value called `name` among the numbers of a list, or NULL. */
static const json *bundle_onnx_named(const pair *p, const json *ids,
                                     const char *name)
{
    for (const json *id = ids ? ids->child : NULL; id; id = id->next) {
        const json *v = id->type == JSON_INT ? value_of(p, id->u.i) : NULL;
        if (v && bundle_onnx_is_called(json_string(v, "name", ""), name))
            return v;
    }
    return NULL;
}

/* Checks that the inputs, or outputs, of the file are those of the entry's list
 * `key`. The entry also lists weights and constants, which the file itself
 * holds. */
static clv_status check_list(const pair *p, const char *key,
                             const uint32_t *list, uint32_t n, clv_err *e)
{
    char buf[512];
    const json *ids = json_get(p->entry, key);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = clv__value_name(p->g, list[i], buf, sizeof buf);
        const json *v = bundle_onnx_named(p, ids, name);
        if (!v)
            return clv__fail(e, CLV_LIMIT,
                             "%.80s: '%.80s' is not among the %s of its "
                             "partition",
                             p->file, name, key);
        if (!bundle_onnx_same_type(v, &p->g->values[list[i]]))
            return clv__fail(e, CLV_LIMIT,
                             "%.80s: '%.80s' has another type or shape than "
                             "in its partition",
                             p->file, name);
    }
    if (key[0] == 'i' || !ids || n == ids->n)
        return CLV_OK;
    return clv__fail(e, CLV_LIMIT, "%.80s has %u outputs, not %u", p->file, n,
                     ids->n);
}

static clv_status check_nodes(const pair *p, clv_err *e)
{
    const json *nodes = json_get(p->part, "nodes");
    uint32_t i = 0;
    for (const json *n = nodes->child; n; n = n->next, i++) {
        const char *op = json_string(n, "op", "");
        const char *is =
            i < p->g->n_nodes ? clv__ops[p->g->nodes[i].op].name : "nothing";
        if (strcmp(op, is) != 0)
            return clv__fail(e, CLV_LIMIT,
                             "%.80s: operator %u is %s, not %.40s '%.80s'",
                             p->file, i, is, op, json_string(n, "name", "?"));
    }
    return i == p->g->n_nodes
               ? CLV_OK
               : clv__fail(e, CLV_LIMIT, "%.80s has %u operators, not %u",
                           p->file, p->g->n_nodes, i);
}

clv_status clv__bundle_onnx(const char *dir, const char *file, const json *part,
                            const json *entry, clv_err *e)
{
    char path[4200];
    clv_graph *g;
    snprintf(path, sizeof path, "%.4000s/%.100s", dir, file);
    if (access(path, R_OK) != 0)
        return clv__fail(e, CLV_NOT_FOUND, "%.300s: %s", path, strerror(errno));
    CLV_TRY(clv_graph_open(path, NULL, &g, e));
    const pair p = {file, part, entry, g};
    clv_status s = check_list(&p, "inputs", g->inputs, g->n_inputs, e);
    if (s == CLV_OK)
        s = check_list(&p, "outputs", g->outputs, g->n_outputs, e);
    if (s == CLV_OK)
        s = check_nodes(&p, e);
    clv_graph_free(g);
    return s;
}
