/* graph.c - builds graphs: values, nodes, scopes, and the public calls.
 *
 * A node's name is unique in its graph: the second "relu" becomes "relu_1". The
 * map of names holds, for each name that was asked for, how often that
 * happened. The number n means that "relu_1" to "relu_<n-1>" are taken too;
 * those are not in the map. */
#include "graph/schema.h"

#include <stdio.h>
#include <string.h>

clv_status clv_graph_new(const char *name, clv_graph **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(name, err);
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

bool clv__graph_reserve(clv_graph *g, size_t nodes, size_t values)
{
    return strmap_reserve(&g->node_names, nodes) &&
           CLV_RESERVE(g->nodes, nodes, g->cap_nodes) &&
           CLV_RESERVE(g->values, values, g->cap_values);
}

clv_graph *clv__graph_hold(clv_graph *g)
{
    atomic_fetch_add(&g->holders, 1);
    return g;
}

void clv_graph_free(clv_graph *g)
{
    if (!g || atomic_fetch_sub(&g->holders, 1) > 0)
        return;
    for (uint32_t i = 0; i < g->n_bodies; i++)
        clv_graph_free(g->bodies[i]);
    if (g->release)
        g->release(g->owner);
    strmap_free(&g->node_names);
    strmap_free(&g->scope_paths);
    strmap_free(&g->op_names);
    void *arrays[] = {g->nodes,  g->values,   g->scopes,  g->edges,
                      g->inputs, g->outputs,  g->users,   g->user_first,
                      g->bodies, g->warnings, g->repeats, g->params};
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
    if (kind == CLV_VALUE_INPUT) {
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

/* Adds the scope whose path is `up`, a dot, and `name`; it must be new. */
static uint32_t new_scope(clv_graph *g, uint32_t parent, const char *path,
                          size_t len, size_t n_up)
{
    char *own = arena_strndup(&g->mem, path, len);
    if (!own || !CLV_GROW(g->scopes, g->n_scopes, g->cap_scopes) ||
        !strmap_put(&g->scope_paths, own, len, g->n_scopes))
        return CLV_NONE;
    g->scopes[g->n_scopes] = (clv_scope){own + n_up, own, parent};
    return g->n_scopes++;
}

uint32_t clv__scope_add(clv_graph *g, uint32_t parent, const char *name,
                        size_t len)
{
    const char *up = parent == CLV_NONE ? "" : g->scopes[parent].path;
    size_t n_up = strlen(up);
    char small[256], *path = small;
    arena_mark mark = arena_save(&g->mem);
    if (n_up + len + 2 > sizeof small)
        path = arena_alloc(&g->mem, n_up + len + 2);
    if (!path)
        return CLV_NONE;
    memcpy(path, up, n_up);
    if (n_up)
        path[n_up++] = '.';
    memcpy(path + n_up, name, len);

    uint32_t scope = strmap_get(&g->scope_paths, path, n_up + len);
    if (scope == CLV_NONE)
        return new_scope(g, parent, path, n_up + len, n_up);
    arena_rewind(&g->mem, mark);
    return scope;
}

uint32_t clv__scope_path(clv_graph *g, const char *path)
{
    /* The scope is mostly that of the node before, else one that is known. */
    uint32_t scope = g->n_nodes ? g->nodes[g->n_nodes - 1].scope : 0;
    if (!strcmp(g->scopes[scope].path, path))
        return scope;
    size_t known = strlen(path); /* how much of the path is known */
    while (known &&
           (scope = strmap_get(&g->scope_paths, path, known)) == CLV_NONE)
        while (known && path[--known] != '.')
            continue;
    if (!known)
        scope = 0;
    path += known;
    while (*path && scope != CLV_NONE) {
        size_t len = strcspn(path, ".");
        if (len)
            scope = clv__scope_add(g, scope, path, len);
        path += len + (path[len] == '.');
    }
    return scope;
}

/* -- nodes ----------------------------------------------------------------*/

/* True for "relu_3" when "relu" was asked for more than three times. */
static bool is_numbered(const clv_graph *g, const char *name, size_t len)
{
    size_t digits = 0;
    uint64_t k = 0, unit = 1;
    if (!g->renamed)
        return false;
    for (; digits < len && digits < 10; digits++, unit *= 10) {
        unsigned c = (unsigned char)name[len - 1 - digits] - (unsigned)'0';
        if (c > 9)
            break;
        k += unit * c;
    }
    size_t base = len - digits;
    if (!digits || !base || name[base] == '0' || name[base - 1] != '_')
        return false;
    uint32_t used = strmap_get(&g->node_names, name, base - 1);
    return used != CLV_NONE && k < used;
}

/* Returns name followed by "_<k>", in the arena. */
static char *graph_numbered(clv_graph *g, const char *name, size_t len,
                            uint32_t k)
{
    char digits[10];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + k % 10);
    while (k /= 10);
    char *own = arena_alloc(&g->mem, len + n + 2);
    if (!own)
        return NULL;
    memcpy(own, name, len);
    own[len] = '_';
    for (size_t i = 0; i < n; i++)
        own[len + 1 + i] = digits[n - 1 - i];
    own[len + 1 + n] = '\0';
    return own;
}

/* Returns a name that no node has: `name` itself, or the first free "name_k".
 * The map knows, of each name that was asked for, the k to try next. */
static const char *unique_name(clv_graph *g, const char *name)
{
    size_t len = strlen(name);
    bool added = false, taken = is_numbered(g, name, len);
    arena_mark mark = arena_save(&g->mem);
    char *own = arena_strndup(&g->mem, name, len);
    uint32_t *next =
        own ? strmap_add(&g->node_names, own, len, 1, &added) : NULL;
    if (!next || (added && !taken))
        return next ? own : NULL;
    if (!added)
        arena_rewind(&g->mem, mark);
    g->renamed = true;
    do
        own = graph_numbered(g, name, len, (*next)++);
    while (own && strmap_get(&g->node_names, own, strlen(own)) != CLV_NONE);
    return own;
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
    const char *own = unique_name(g, name);
    if (!own || g->n_nodes == CLV_NONE ||
        !edges_room(g, (uint64_t)n_in + n_out) ||
        !CLV_GROW(g->nodes, g->n_nodes, g->cap_nodes))
        return CLV_NONE;
    uint32_t *edge = g->edges + g->n_edges;
    for (uint32_t i = 0; i < n_in; i++)
        edge[i] = ins[i];
    for (uint32_t i = 0; i < n_out; i++) {
        uint32_t v =
            outs ? outs[i]
                 : clv__value_add(g, NULL, CLV_VALUE_ACTIVATION, CLV_NODTYPE);
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

static bool add_warning(clv_graph *g, clv_subject_kind about,
                        const char *subject, const char *fmt, va_list ap)
{
    char text[512];
    clv_vformat(text, sizeof text, fmt, ap);
    const clv_warning w = {arena_strndup(&g->mem, text, strlen(text)),
                           arena_strndup(&g->mem, subject, strlen(subject)),
                           about};
    if (!w.text || !w.subject ||
        !CLV_GROW(g->warnings, g->n_warnings, g->cap_warnings))
        return false;
    g->warnings[g->n_warnings++] = w;
    return true;
}

bool clv__graph_warn(clv_graph *g, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool ok = add_warning(g, CLV_SUBJECT_NONE, "", fmt, ap);
    va_end(ap);
    return ok;
}

bool clv__graph_warn_about(clv_graph *g, clv_subject_kind about,
                           const char *subject, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool ok = add_warning(g, about, subject, fmt, ap);
    va_end(ap);
    return ok;
}

bool clv__graph_own_body(clv_graph *g, clv_graph *body)
{
    if (!CLV_GROW(g->bodies, g->n_bodies, g->cap_bodies))
        return false;
    g->bodies[g->n_bodies++] = body;
    return true;
}

/* -- the public way in ----------------------------------------------------*/

/* The fields of a value that have limits. */
static clv_status check_value(const clv_value_arg *arg, const char *name,
                              clv_err *err)
{
    if ((unsigned)arg->kind > CLV_VALUE_CONST ||
        (unsigned)arg->dtype >= CLV_DTYPE_COUNT)
        return clv__fail(err, CLV_USAGE, "value '%s': kind %u, type %u", name,
                         (unsigned)arg->kind, (unsigned)arg->dtype);
    if (arg->rank > CLV_MAX_RANK)
        return clv__fail(err, CLV_SHAPE, "value '%s': rank %u, at most %d",
                         name, arg->rank, CLV_MAX_RANK);
    if (arg->rank && !arg->dims)
        return clv__fail(err, CLV_USAGE, "value '%s': dims is NULL", name);
    for (uint32_t i = 0; i < arg->rank; i++)
        if (arg->dims[i] < 0)
            return clv__fail(err, CLV_SHAPE, "value '%s': dimension %u is %lld",
                             name, i, (long long)arg->dims[i]);
    return CLV_OK;
}

clv_status clv_graph_add_value(clv_graph *g, const clv_value_arg *arg,
                               uint32_t *value, clv_err *err)
{
    clv_value_arg own_arg;
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(arg, err);
    CLV_NEED(value, err);
    CLV_READ(clv_value_arg, arg, &own_arg, err);
    arg = &own_arg;
    *value = CLV_NONE;
    const char *name = arg->name ? arg->name : "";
    if (g->inferred)
        return clv__fail(err, CLV_USAGE, "value '%s': the graph is read-only",
                         name);
    CLV_TRY(check_value(arg, name, err));
    char *own = arg->name ? arena_strndup(&g->mem, name, strlen(name)) : NULL;
    uint32_t v = clv__value_add(g, own, arg->kind, arg->dtype);
    if ((arg->name && !own) || v == CLV_NONE ||
        !clv__value_set_shape(g, v, arg->rank, arg->dims))
        return clv__nomem(err);
    *value = v;
    return CLV_OK;
}

static bool copy_attr(clv_graph *g, const clv_attr_arg *a, clv_attr_key key,
                      clv_attr *out)
{
    *out = (clv_attr){.key = (uint8_t)key, .type = (uint8_t)a->type, .n = a->n};
    out->name = out->key == CLV_A_OTHER
                    ? arena_strndup(&g->mem, a->name, strlen(a->name))
                    : clv__attr_name((clv_attr_key)out->key);
    size_t n = a->n;
    switch (a->type) {
    case CLV_ATTR_STRING:
        out->u.s = arena_strndup(&g->mem, a->u.s, strlen(a->u.s));
        return out->name && out->u.s;
    case CLV_ATTR_INTS: {
        int64_t *ints = arena_array(&g->mem, n, sizeof *ints);
        if (ints && n)
            memcpy(ints, a->u.ints, n * sizeof *ints);
        out->u.ints = ints;
        return out->name && ints;
    }
    case CLV_ATTR_FLOATS: {
        double *floats = arena_array(&g->mem, n, sizeof *floats);
        if (floats && n)
            memcpy(floats, a->u.floats, n * sizeof *floats);
        out->u.floats = floats;
        return out->name && floats;
    }
    case CLV_ATTR_STRINGS: {
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
        if (a->type == CLV_ATTR_FLOAT)
            out->u.f = a->u.f;
        else
            out->u.i = a->u.i;
        return out->name != NULL;
    }
}

/* Finds an operator by name. A name is looked up in the table once per graph,
 * and then in a map. */
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

static const char *attr_name_at(const void *ctx, uint32_t i)
{
    const clv_schema *takes = ctx;
    return clv__attr_name((clv_attr_key)takes->attrs[i].key);
}

static clv_status no_such_attr(const clv_node_arg *arg, clv_op op,
                               const char *node, const char *name, clv_err *err)
{
    const clv_schema *takes = clv__schema_of(op);
    uint32_t near = clv__closest(name, takes->n_attrs, attr_name_at, takes);
    if (near == CLV_NONE)
        return clv__fail(err, CLV_USAGE,
                         "node '%s' (%s): has no attribute '%.80s'", node,
                         arg->op, name);
    return clv__fail(err, CLV_USAGE,
                     "node '%s' (%s): has no attribute '%.80s'; did you mean "
                     "'%s'?",
                     node, arg->op, name, attr_name_at(takes, near));
}

/* Copies the attributes of arg. An operator that is known has the attributes of
 * its schema and no others. */
static clv_status copy_attrs(clv_graph *g, const clv_node_arg *arg, clv_op op,
                             const char *node, clv_attr **attrs, clv_err *err)
{
    *attrs = NULL;
    if (!arg->n_attrs)
        return CLV_OK;
    *attrs = arena_array(&g->mem, arg->n_attrs, sizeof **attrs);
    if (!*attrs)
        return clv__nomem(err);
    for (uint32_t i = 0; i < arg->n_attrs; i++) {
        const clv_attr_arg *a = &arg->attrs[i];
        clv_attr_key key = clv__attr_find(a->name);
        if (op != CLV_OP_UNKNOWN &&
            (key == CLV_A_OTHER || !clv__attr_spec(op, key)))
            return no_such_attr(arg, op, node, a->name, err);
        if (!copy_attr(g, a, key, *attrs + i))
            return clv__nomem(err);
    }
    return CLV_OK;
}

/* Whether an attribute is of a type that callers give, and has its text and
 * its list. */
static bool attr_is_whole(const clv_attr_arg *a)
{
    if (!a->name || (unsigned)a->type > CLV_ATTR_STRINGS)
        return false;
    if (a->type == CLV_ATTR_STRING)
        return a->u.s;
    if (a->type < CLV_ATTR_INTS || !a->n)
        return true;
    bool whole = a->u.ints; /* every list is a pointer */
    for (uint32_t i = 0; whole && a->type == CLV_ATTR_STRINGS && i < a->n; i++)
        whole = a->u.strings[i];
    return whole;
}

static clv_status check_node(const clv_graph *g, const clv_node_arg *arg,
                             const char *name, clv_err *err)
{
    if (g->inferred)
        return clv__fail(err, CLV_USAGE, "node '%s': the graph is read-only",
                         name);
    if ((arg->n_inputs && !arg->inputs) || (arg->n_attrs && !arg->attrs))
        return clv__fail(err, CLV_USAGE, "node '%s': %s is NULL", name,
                         arg->n_inputs && !arg->inputs ? "inputs" : "attrs");
    for (uint32_t i = 0; i < arg->n_inputs; i++)
        if (arg->inputs[i] != CLV_NONE && arg->inputs[i] >= g->n_values)
            return clv__fail(err, CLV_USAGE,
                             "node '%s': input %u is value %u of %u", name, i,
                             arg->inputs[i], g->n_values);
    if (arg->n_attrs > UINT8_MAX)
        return clv__fail(err, CLV_USAGE,
                         "node '%s': %u attributes, at most 255", name,
                         arg->n_attrs);
    for (uint32_t i = 0; i < arg->n_attrs; i++)
        if (!attr_is_whole(&arg->attrs[i]))
            return clv__fail(err, CLV_USAGE,
                             "node '%s': attribute '%s' has type %u and no "
                             "such contents",
                             name, arg->attrs[i].name ? arg->attrs[i].name : "",
                             (unsigned)arg->attrs[i].type);
    return CLV_OK;
}

clv_status clv_graph_add_node(clv_graph *g, const clv_node_arg *arg,
                              uint32_t *outputs, clv_err *err)
{
    clv_node_arg own_arg;
    clv__err_clear(err);
    CLV_NEED(g, err);
    CLV_NEED(arg, err);
    CLV_NEED(outputs, err);
    CLV_READ(clv_node_arg, arg, &own_arg, err);
    arg = &own_arg;
    CLV_NEED(arg->op, err);
    const char *name = arg->name ? arg->name : arg->op;
    CLV_TRY(check_node(g, arg, name, err));
    clv_op op = find_op(g, arg->op);
    clv_attr *attrs;
    CLV_TRY(copy_attrs(g, arg, op, name, &attrs, err));
    uint32_t scope = clv__scope_path(g, arg->module ? arg->module : "");
    uint32_t n_out = arg->n_outputs ? arg->n_outputs : 1;
    bool ok = scope != CLV_NONE;
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
    n->flags = arg->stateful ? CLV_N_STATEFUL : 0;
    memcpy(outputs, node_outs(g, n), n_out * sizeof *outputs);
    return CLV_OK;
}

clv_status clv_graph_add_output(clv_graph *g, uint32_t value, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(g, err);
    if (g->inferred)
        return clv__fail(err, CLV_USAGE, "output %u: the graph is read-only",
                         value);
    if (value >= g->n_values)
        return clv__fail(err, CLV_USAGE, "output is value %u of %u", value,
                         g->n_values);
    return clv__graph_output(g, value) ? CLV_OK : clv__nomem(err);
}
