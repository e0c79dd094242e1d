/* graph.c - making graphs: values, nodes, scopes, and the public calls.
 *
 * A node's name is unique in its graph: the second "relu" becomes "relu_1".
 * The map of names therefore holds, for each base name, how often it was used.
 */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

clv_status clv_graph_new(const char *name, clv_graph **out, clv_err *err)
{
    *out = NULL;
    clv__err_clear(err);
    clv_graph *g = clv__zalloc(sizeof *g);
    if (!g)
        return clv__nomem(err);
    g->name = arena_strndup(&g->mem, name, strlen(name));
    g->format = "api";
    if (!g->name || clv__scope_add(g, CLV_NONE, "", 0) == CLV_NONE) {
        clv_graph_free(g);
        return clv__nomem(err);
    }
    *out = g;
    return CLV_OK;
}

void clv_graph_free(clv_graph *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->n_bodies; i++)
        clv_graph_free(g->bodies[i]);
    if (g->release)
        g->release(g->owner);
    strmap_free(&g->node_names);
    strmap_free(&g->scope_paths);
    strmap_free(&g->op_names);
    void *arrays[] = {g->nodes,  g->values,          g->scopes, g->edges,
                      g->inputs, g->outputs,         g->users,  g->user_first,
                      g->bodies, (void *)g->warnings};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        clv__free(arrays[i]);
    arena_free(&g->mem);
    clv__free(g);
}

/* -- values ---------------------------------------------------------------*/

uint32_t clv__value_add(clv_graph *g, const char *name, clv_value_kind kind,
                        clv_dtype dtype)
{
    if (g->n_values == CLV_NONE ||
        !CLV_GROW(g->values, g->n_values, g->cap_values))
        return CLV_NONE;
    if (kind == CLV_INPUT) {
        if (!CLV_GROW(g->inputs, g->n_inputs, g->cap_inputs))
            return CLV_NONE;
        g->inputs[g->n_inputs++] = g->n_values;
    }
    g->values[g->n_values] = (clv_value){.name = name,
                                         .producer = CLV_NONE,
                                         .view_of = CLV_NONE,
                                         .dtype = (uint8_t)dtype,
                                         .kind = (uint8_t)kind,
                                         .rank = CLV_NO_RANK};
    return g->n_values++;
}

bool clv__value_set_shape(clv_graph *g, uint32_t v, uint32_t rank,
                          const int64_t *dims)
{
    int64_t *copy = arena_array(&g->mem, rank, sizeof *copy);
    if (!copy)
        return false;
    if (rank)
        memcpy(copy, dims, rank * sizeof *copy);
    g->values[v].dims = copy;
    g->values[v].rank = (uint8_t)rank;
    return true;
}

clv_payload *clv__value_data(clv_graph *g, uint32_t v)
{
    clv_value *value = &g->values[v];
    if (!value->data)
        value->data = arena_zalloc(&g->mem, sizeof *value->data);
    return value->data;
}

/* -- scopes ---------------------------------------------------------------*/

uint32_t clv__scope_add(clv_graph *g, uint32_t parent, const char *name,
                        size_t len)
{
    const char *up = parent == CLV_NONE ? "" : g->scopes[parent].path;
    size_t n_up = strlen(up), dot = n_up ? 1 : 0;
    char *path = arena_alloc(&g->mem, n_up + dot + len + 1);
    if (!path)
        return CLV_NONE;
    memcpy(path, up, n_up);
    path[n_up] = '.';
    memcpy(path + n_up + dot, name, len);
    path[n_up + dot + len] = '\0';

    size_t n_path = n_up + dot + len;
    uint32_t old = strmap_get(&g->scope_paths, path, n_path);
    if (old != CLV_NONE)
        return old;
    if (!CLV_GROW(g->scopes, g->n_scopes, g->cap_scopes) ||
        !strmap_put(&g->scope_paths, path, n_path, g->n_scopes))
        return CLV_NONE;
    g->scopes[g->n_scopes] = (clv_scope){path + n_up + dot, path, parent};
    return g->n_scopes++;
}

uint32_t clv__scope_path(clv_graph *g, const char *path)
{
    uint32_t scope = 0;
    while (*path && scope != CLV_NONE) {
        size_t len = strcspn(path, ".");
        if (len)
            scope = clv__scope_add(g, scope, path, len);
        path += len + (path[len] == '.');
    }
    return scope;
}

/* -- nodes ----------------------------------------------------------------*/

static char *unique_name(clv_graph *g, const char *name)
{
    size_t len = strlen(name);
    char *own = arena_strndup(&g->mem, name, len);
    if (!own)
        return NULL;
    uint32_t used = strmap_get(&g->node_names, own, len);
    if (used == CLV_NONE)
        return strmap_put(&g->node_names, own, len, 1) ? own : NULL;
    for (;; used++) { /* "x_1" may itself be taken */
        char *next = arena_printf(&g->mem, "%s_%u", name, used);
        if (!next)
            return NULL;
        size_t n = strlen(next);
        if (strmap_get(&g->node_names, next, n) != CLV_NONE)
            continue;
        bool ok = strmap_put(&g->node_names, next, n, 1) &&
                  strmap_put(&g->node_names, own, len, used + 1);
        return ok ? next : NULL;
    }
}

static bool edges_room(clv_graph *g, uint64_t more)
{
    if (g->n_edges + more >= CLV_NONE)
        return false;
    while (g->cap_edges < g->n_edges + more)
        if (!CLV_GROW(g->edges, g->cap_edges, g->cap_edges))
            return false;
    return true;
}

uint32_t clv__node_add(clv_graph *g, clv_op op, const char *name,
                       uint32_t scope, const uint32_t *ins, uint32_t n_in,
                       const uint32_t *outs, uint32_t n_out)
{
    char *own = unique_name(g, name);
    if (!own || g->n_nodes == CLV_NONE ||
        !edges_room(g, (uint64_t)n_in + n_out) ||
        !CLV_GROW(g->nodes, g->n_nodes, g->cap_nodes))
        return CLV_NONE;
    uint32_t *edge = g->edges + g->n_edges;
    for (uint32_t i = 0; i < n_in; i++)
        edge[i] = ins[i];
    for (uint32_t i = 0; i < n_out; i++) {
        uint32_t v = outs
                         ? outs[i]
                         : clv__value_add(g, NULL, CLV_ACTIVATION, CLV_NODTYPE);
        if (v == CLV_NONE)
            return CLV_NONE;
        edge[n_in + i] = v;
        g->values[v].producer = g->n_nodes;
    }
    g->nodes[g->n_nodes] = (clv_node){.name = own,
                                      .first_edge = g->n_edges,
                                      .n_in = n_in,
                                      .n_out = n_out,
                                      .scope = scope,
                                      .op = (uint16_t)op};
    g->n_edges += n_in + n_out;
    return g->n_nodes++;
}

bool clv__graph_output(clv_graph *g, uint32_t value)
{
    if (!CLV_GROW(g->outputs, g->n_outputs, g->cap_outputs))
        return false;
    g->outputs[g->n_outputs++] = value;
    g->values[value].flags |= CLV_V_OUTPUT;
    return true;
}

bool clv__graph_warn(clv_graph *g, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    char *own = arena_strndup(&g->mem, text, strlen(text));
    if (!own || !CLV_GROW(g->warnings, g->n_warnings, g->cap_warnings))
        return false;
    g->warnings[g->n_warnings++] = own;
    return true;
}

bool clv__graph_own_body(clv_graph *g, clv_graph *body)
{
    if (!CLV_GROW(g->bodies, g->n_bodies, g->cap_bodies))
        return false;
    g->bodies[g->n_bodies++] = body;
    return true;
}

/* -- the public way in ----------------------------------------------------*/

clv_status clv_graph_add_value(clv_graph *g, const clv_value_arg *arg,
                               uint32_t *value, clv_err *err)
{
    clv__err_clear(err);
    *value = CLV_NONE;
    const char *name = arg->name ? arg->name : "";
    if (g->inferred)
        return clv__fail(err, CLV_USAGE, "value '%s': the graph is read-only",
                         name);
    if (arg->rank > CLV_MAX_RANK)
        return clv__fail(err, CLV_SHAPE, "value '%s': rank %u, at most %d",
                         name, arg->rank, CLV_MAX_RANK);
    for (uint32_t i = 0; i < arg->rank; i++)
        if (arg->dims[i] < 0)
            return clv__fail(err, CLV_SHAPE, "value '%s': dimension %u is %lld",
                             name, i, (long long)arg->dims[i]);
    char *own = arg->name ? arena_strndup(&g->mem, name, strlen(name)) : NULL;
    uint32_t v = clv__value_add(g, own, arg->kind, arg->dtype);
    if ((arg->name && !own) || v == CLV_NONE ||
        !clv__value_set_shape(g, v, arg->rank, arg->dims))
        return clv__nomem(err);
    *value = v;
    return CLV_OK;
}

static bool copy_attr(clv_graph *g, const clv_attr_arg *a, clv_attr *out)
{
    *out = (clv_attr){.key = (uint8_t)clv__attr_find(a->name),
                      .type = (uint8_t)a->type,
                      .n = a->n};
    out->name = out->key == CLV_A_OTHER
                    ? arena_strndup(&g->mem, a->name, strlen(a->name))
                    : clv__attr_name((clv_attr_key)out->key);
    size_t n = a->n;
    switch (a->type) {
    case CLV_STRING_ATTR:
        out->u.s = arena_strndup(&g->mem, a->u.s, strlen(a->u.s));
        return out->name && out->u.s;
    case CLV_INTS_ATTR: {
        int64_t *ints = arena_array(&g->mem, n, sizeof *ints);
        if (ints && n)
            memcpy(ints, a->u.ints, n * sizeof *ints);
        out->u.ints = ints;
        return out->name && ints;
    }
    case CLV_FLOATS_ATTR: {
        double *floats = arena_array(&g->mem, n, sizeof *floats);
        if (floats && n)
            memcpy(floats, a->u.floats, n * sizeof *floats);
        out->u.floats = floats;
        return out->name && floats;
    }
    case CLV_STRINGS_ATTR: {
        const char **strings = arena_array(&g->mem, n, sizeof *strings);
        for (size_t i = 0; strings && i < n; i++)
            strings[i] = arena_strndup(&g->mem, a->u.strings[i],
                                       strlen(a->u.strings[i]));
        for (size_t i = 0; strings && i < n; i++)
            if (!strings[i])
                return false;
        out->u.strings = strings;
        return out->name && strings;
    }
    default:
        if (a->type == CLV_FLOAT_ATTR)
            out->u.f = a->u.f;
        else
            out->u.i = a->u.i;
        return out->name != NULL;
    }
}

/* Known names are looked up in the table once per graph, then in a map. */
static clv_op find_op(clv_graph *g, const char *name)
{
    uint32_t known = strmap_get(&g->op_names, name, strlen(name));
    if (known != CLV_NONE)
        return (clv_op)known;
    clv_op op = clv__op_find(name);
    const char *key = clv__op_name(op);
    if (op != CLV_OP_UNKNOWN)
        strmap_put(&g->op_names, key, strlen(key), op); /* only a cache */
    return op;
}

static const char *own_text(clv_graph *g, const char *s, bool *ok)
{
    if (!s)
        return NULL;
    char *own = arena_strndup(&g->mem, s, strlen(s));
    *ok = *ok && own;
    return own;
}

clv_status clv_graph_add_node(clv_graph *g, const clv_node_arg *arg,
                              uint32_t *outputs, clv_err *err)
{
    clv__err_clear(err);
    const char *name = arg->name ? arg->name : arg->op;
    if (g->inferred)
        return clv__fail(err, CLV_USAGE, "node '%s': the graph is read-only",
                         name);
    for (uint32_t i = 0; i < arg->n_inputs; i++)
        if (arg->inputs[i] != CLV_NONE && arg->inputs[i] >= g->n_values)
            return clv__fail(err, CLV_USAGE,
                             "node '%s': input %u is value %u of %u", name, i,
                             arg->inputs[i], g->n_values);
    if (arg->n_attrs > UINT8_MAX)
        return clv__fail(err, CLV_USAGE,
                         "node '%s': %u attributes, at most 255", name,
                         arg->n_attrs);

    clv_op op = find_op(g, arg->op);
    uint32_t scope = clv__scope_path(g, arg->module ? arg->module : "");
    uint32_t n_out = arg->n_outputs ? arg->n_outputs : 1;
    clv_attr *attrs = arena_array(&g->mem, arg->n_attrs, sizeof *attrs);
    bool ok = attrs && scope != CLV_NONE;
    for (uint32_t i = 0; ok && i < arg->n_attrs; i++)
        ok = copy_attr(g, &arg->attrs[i], &attrs[i]);
    const char *origin = arg->origin;
    if (!origin && op == CLV_OP_UNKNOWN)
        origin = arg->op;
    origin = own_text(g, origin, &ok);
    const char *source = own_text(g, arg->source, &ok);
    uint32_t id = ok ? clv__node_add(g, op, name, scope, arg->inputs,
                                     arg->n_inputs, NULL, n_out)
                     : CLV_NONE;
    if (id == CLV_NONE)
        return clv__nomem(err);
    clv_node *n = &g->nodes[id];
    n->attrs = attrs;
    n->n_attrs = (uint8_t)arg->n_attrs;
    n->origin = origin;
    n->source = source;
    memcpy(outputs, node_outs(g, n), n_out * sizeof *outputs);
    return CLV_OK;
}

clv_status clv_graph_add_output(clv_graph *g, uint32_t value, clv_err *err)
{
    clv__err_clear(err);
    if (value >= g->n_values)
        return clv__fail(err, CLV_USAGE, "output is value %u of %u", value,
                         g->n_values);
    return clv__graph_output(g, value) ? CLV_OK : clv__nomem(err);
}
