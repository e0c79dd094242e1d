/* modules.c - cuts along the module tree, for pictures and overviews.
 *
 * Operators of one module (at a given depth of the tree) that follow each
 * other become one subgraph. Runs of execution order cannot form a cycle, so a
 * module that is used twice simply appears twice. */
#include "cut/cut.h"

#include <string.h>

/* Finds, for each scope, the ancestor at `depth`, or itself if it is not
 * deeper. The root has depth 0. */
static bool fold_scopes(const clv_graph *g, uint32_t depth, arena *a,
                        uint32_t **out)
{
    uint32_t *up = arena_array(a, (size_t)g->n_scopes + 1, sizeof *up);
    uint32_t *at = arena_zalloc(a, ((size_t)g->n_scopes + 1) * sizeof *at);
    if (!up || !at)
        return false;
    for (uint32_t s = 0; s < g->n_scopes; s++) {
        uint32_t parent = g->scopes[s].parent;
        up[s] = s;
        if (parent == CLV_NONE)
            continue;
        at[s] = at[parent] + 1;
        if (at[s] > depth)
            up[s] = up[parent];
    }
    *out = up;
    return true;
}

static clv_status label_runs(const clv_graph *g, uint32_t depth, arena *a,
                             uint32_t *label, uint32_t *n, clv_err *e)
{
    uint32_t *up;
    if (!fold_scopes(g, depth, a, &up))
        return clv__nomem(e);
    *n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        bool same = i > 0 && up[g->nodes[i].scope] != 0 &&
                    up[g->nodes[i].scope] == up[g->nodes[i - 1].scope];
        label[i] = same ? label[i - 1] : (*n)++;
    }
    return CLV_OK;
}

/* Names each subgraph of several operators after its module. */
static void name_modules(clv_cut *c, uint32_t depth)
{
    const clv_graph *g = c->p->g;
    for (uint32_t k = 0; k < c->n_subs; k++) {
        const clv_node *n = &g->nodes[c->subs[k].nodes[0]];
        uint32_t s = n->scope, levels = 0;
        for (uint32_t up = s; g->scopes[up].parent != CLV_NONE;
             up = g->scopes[up].parent)
            levels++;
        for (; levels > depth; levels--)
            s = g->scopes[s].parent;
        c->subs[k].detail = s ? g->scopes[s].path : n->name;
        if (c->subs[k].n_nodes > 1)
            c->subs[k].pattern = "module";
    }
}

clv_status clv_cut_modules(const clv_profile *p, uint32_t depth, clv_cut **out,
                           clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    arena a = {0};
    uint32_t n = 0,
             *label = arena_array(&a, (size_t)p->g->n_nodes + 1, sizeof *label);
    clv_status s =
        label ? label_runs(p->g, depth, &a, label, &n, err) : clv__nomem(err);
    if (s == CLV_OK)
        s = clv__cut_make(p, "module", &(cut_labels){.of = label, .n = n}, out,
                          err);
    if (s == CLV_OK)
        name_modules(*out, depth);
    arena_free(&a);
    return s;
}

/* -- modules that repeat --------------------------------------------------*/

/* The same operator, with results of the same shapes. */
static bool same_node(const clv_graph *g, uint32_t a, uint32_t b)
{
    const clv_node *x = &g->nodes[a], *y = &g->nodes[b];
    if (x->op != y->op || x->n_out != y->n_out)
        return false;
    for (uint32_t i = 0; i < x->n_out; i++) {
        const clv_value *v = node_out(g, x, i), *w = node_out(g, y, i);
        if (v->rank != w->rank ||
            (v->rank != CLV_NO_RANK && v->rank &&
             memcmp(v->dims, w->dims, v->rank * sizeof *v->dims) != 0))
            return false;
    }
    return true;
}

bool clv__cut_repeats(const clv_cut *c, uint32_t k)
{
    const clv_subgraph *a = &c->subs[k - 1], *b = &c->subs[k];
    bool reads = false;
    if (a->n_nodes < 2 || a->n_nodes != b->n_nodes ||
        a->cost.flops != b->cost.flops)
        return false;
    for (uint32_t i = 0; i < b->n_depends_on; i++)
        reads = reads || b->depends_on[i] == k - 1;
    for (uint32_t i = 0; reads && i < a->n_nodes; i++)
        if (!same_node(c->p->g, a->nodes[i], b->nodes[i]))
            return false;
    return reads;
}
