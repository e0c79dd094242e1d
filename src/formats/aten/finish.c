/* finish.c - the graph of a torch program, whole: our shapes against torch's,
 * and operators in place.
 *
 * Every node's shape rule is run and compared with what torch saw. Where they
 * differ, torch is right about this program and our node means something else:
 * a view or a move keeps torch's shape and is counted only; anything else
 * becomes unknown, and says so. */
#include "core/limits.h"
#include "formats/aten/row.h"
#include "ops/build.h"

#include <string.h>

bool clv__aten_set_attrs(clv_graph *g, clv_node *n, const clv_attr *from,
                         uint32_t count, const char *why)
{
    clv_attr *attrs = arena_array(&g->mem, count + 1u, sizeof *attrs);
    const char *own = arena_strndup(&g->mem, why, strlen(why));
    if (!attrs || !own)
        return false;
    if (count)
        memcpy(attrs, from, count * sizeof *attrs);
    if (*own)
        n->counted_only = own;
    n->attrs = attrs;
    n->n_attrs = (uint8_t)count;
    return true;
}

static bool finish_count_only(clv_graph *g, clv_node *n, const char *why)
{
    return n->counted_only ||
           clv__aten_set_attrs(g, n, n->attrs, n->n_attrs, why);
}

/* -- shapes ---------------------------------------------------------------*/

static bool finish_same_shape(const clv_value *v, const clv_value *told)
{
    return v->rank == told->rank &&
           !memcmp(v->dims, told->dims, v->rank * sizeof *v->dims);
}

/* Whether torch's shape is within ours, which is the largest there can be where
 * it depends on data. */
static bool finish_within(const clv_value *v, const clv_value *told)
{
    bool within = v->flags & CLV_V_BOUND && v->rank == told->rank;
    for (uint32_t d = 0; within && d < v->rank; d++)
        within = told->dims[d] <= v->dims[d];
    return within;
}

/* Drops contents that inference found for a node it knows only half of. */
static void finish_forget(clv_graph *g, const clv_node *n)
{
    for (uint32_t i = 0; n->counted_only && i < n->n_out; i++)
        node_out(g, n, i)->data = NULL;
}

/* A node whose rule cannot follow torch; y is its first result. `known` says
 * that only data could tell its shape. */
static bool finish_differing(clv_graph *g, clv_node *n, clv_value *y,
                             bool known, const clv_err *err)
{
    n->flags &= (uint8_t)~CLV_N_UNSHAPED;
    if (clv__ops[n->op].cls == CLV_CLASS_VIEW && node_in(g, n, 0)) {
        uint32_t src = node_ins(g, n)[0], root = g->values[src].view_of;
        y->view_of = root == CLV_NONE ? src : root;
    } else if (clv__ops[n->op].cls != CLV_CLASS_MOVE && !known) {
        n->op = CLV_OP_UNKNOWN;
        return clv__graph_warn(g, "%s", err->code ? err->msg : n->name);
    }
    y->data = NULL;
    return finish_count_only(
        g, n, err->code ? err->msg : "torch makes another shape");
}

static bool finish_node(clv_graph *g, uint32_t id)
{
    clv_node *n = &g->nodes[id];
    clv_value *y = n->n_out ? node_out(g, n, 0) : NULL;
    clv_value told = y ? *y : (clv_value){0};
    clv_err err = {0};
    if (clv__is_final(clv__infer_node(g, id, &err)))
        return false;
    finish_forget(g, n);
    if (!y || told.rank == CLV_NO_RANK)
        return true;
    bool same = err.code == CLV_OK && finish_same_shape(y, &told);
    bool within = err.code == CLV_OK && finish_within(y, &told);
    bool view = clv__ops[n->op].cls == CLV_CLASS_VIEW;
    bool retyped = view && told.dtype != y->dtype;
    y->rank = told.rank;
    y->dims = told.dims;
    y->dtype = told.dtype;
    return (same && !retyped) || finish_differing(g, n, y, within, &err);
}

/* -- in place -------------------------------------------------------------*/

static uint32_t finish_root(const clv_graph *g, uint32_t v)
{
    return g->values[v].view_of == CLV_NONE ? v : g->values[v].view_of;
}

/* An operator in place is one that makes a new tensor, as long as nobody reads
 * the old one afterwards: a view of it would show what was written. One that
 * changes nothing (a dropout when nobody trains) writes what was there. Parts
 * were put back when they were written (call.c); whoever still reads memory
 * after a write to it is counted only. */
static bool finish_writes(aten_builder *b)
{
    clv_graph *g = b->g;
    uint32_t *first =
        b->n_writes ? clv__alloc((g->n_values + 1u) * sizeof *first) : NULL;
    bool ok = first || !b->n_writes;
    if (first)
        memset(first, 0xff, (g->n_values + 1u) * sizeof *first);
    for (uint32_t i = 0; first && i < b->n_writes; i++) {
        uint32_t node = b->writes[i].node;
        uint32_t *at = &first[finish_root(g, b->writes[i].value)];
        if (clv__ops[g->nodes[node].op].cls != CLV_CLASS_VIEW && node < *at)
            *at = node;
    }
    for (uint32_t id = 0; ok && first && id < g->n_nodes; id++)
        for (uint32_t i = 0; ok && i < g->nodes[id].n_in; i++)
            if (node_in(g, &g->nodes[id], i) &&
                id > first[finish_root(g, node_ins(g, &g->nodes[id])[i])])
                ok = finish_count_only(
                    g, &g->nodes[id],
                    "it reads memory that was written to in place");
    clv__free(first);
    return ok;
}

static clv_status finish_settle(clv_graph *g, uint32_t id, void *ctx,
                                clv_err *e)
{
    (void)ctx;
    return finish_node(g, id) ? CLV_OK : clv__nomem(e);
}

clv_status clv__aten_finish(aten_builder *b, clv_err *e)
{
    CLV_TRY(
        clv__build_finish_by(b->g, b->infer ? NULL : finish_settle, NULL, e));
    return finish_writes(b) ? CLV_OK : clv__nomem(e);
}
