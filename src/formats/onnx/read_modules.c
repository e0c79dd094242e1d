/* read_modules.c - modules from the names of weights, for files that say
 * nothing else of them.
 *
 * "layer1.0.conv1.weight" is read by a node of the module layer1.0.conv1. A
 * node without weights lies in the module around the last one before it that
 * has some:
 *
 *     layer1.0.bn1 -> relu -> layer1.0.conv2        relu is of layer1.0 */
#include "formats/onnx/read.h"

#include <string.h>

enum { MODULES_DEEP = 32 };

/* The module of a weight's name; CLV_NONE: it is no path, or memory ran out. */
static uint32_t modules_of_name(clv_graph *g, const char *name)
{
    const char *last = name ? strrchr(name, '.') : NULL;
    int dots = 0;
    for (const char *s = name; last && s < last; s++) {
        dots += *s == '.';
        if (*s == '/' || *s == ':' || dots > MODULES_DEEP)
            return CLV_NONE;
    }
    if (!last || last == name)
        return CLV_NONE;
    uint32_t scope = 0;
    for (const char *s = name; s < last && scope != CLV_NONE;) {
        size_t len = strcspn(s, ".");
        if (len)
            scope = clv__scope_add(g, scope, s, len);
        s += len + 1;
    }
    return scope;
}

/* By its weights, or what is made of them beforehand; else CLV_NONE. */
static uint32_t modules_own(clv_graph *g, const clv_node *n,
                            const uint32_t *own)
{
    uint32_t scope = CLV_NONE;
    for (uint32_t i = 0; i < n->n_in && scope == CLV_NONE; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || !value_is_fixed(v))
            continue;
        if (v->producer != CLV_NONE)
            scope = own[v->producer];
        else if (v->kind != CLV_VALUE_CONST)
            scope = modules_of_name(g, v->name);
    }
    return scope;
}

static bool modules_inside(const clv_graph *g, uint32_t scope, uint32_t outer)
{
    while (scope != CLV_NONE && scope != outer)
        scope = g->scopes[scope].parent;
    return scope == outer;
}

/* The module around the last node before that has weights; where several come
 * together, one around another. */
static uint32_t modules_around(const clv_graph *g, const clv_node *n)
{
    uint32_t last = CLV_NONE;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (v && v->producer != CLV_NONE &&
            (last == CLV_NONE || v->producer > last))
            last = v->producer;
    }
    uint32_t scope = last == CLV_NONE ? 0 : g->nodes[last].scope;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        uint32_t other =
            v && v->producer != CLV_NONE ? g->nodes[v->producer].scope : 0;
        if (other && modules_inside(g, scope, other))
            scope = other;
    }
    return scope;
}

clv_status onnx_modules(clv_graph *g, clv_err *e)
{
    if (g->n_scopes > 1 || g->n_nodes == 0)
        return CLV_OK;
    uint32_t *own = clv__alloc(g->n_nodes * sizeof *own);
    if (!own)
        return clv__nomem(e);
    for (uint32_t id = 0; id < g->n_nodes; id++)
        own[id] = modules_own(g, &g->nodes[id], own);
    /* while a node is looked at, those before it have the module around them */
    for (uint32_t id = 0; id < g->n_nodes && g->n_scopes > 1; id++)
        g->nodes[id].scope = own[id] == CLV_NONE
                                 ? modules_around(g, &g->nodes[id])
                                 : g->scopes[own[id]].parent;
    for (uint32_t id = 0; id < g->n_nodes; id++)
        if (own[id] != CLV_NONE)
            g->nodes[id].scope = own[id];
    clv__free(own);
    return CLV_OK;
}
