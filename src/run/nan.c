/* nan.c - parts of a backend that takes NaN for a number.
 *
 * Such a backend gives a bound, 0 or infinity where a NaN goes in. So a part
 * is run by plain C kernels instead
 *
 *   always          when a weight that it reads holds a NaN
 *   for this run    when another value that it reads holds one, and
 *                   when the backend says that it made one of numbers: then
 *                   what the part gave is computed again
 *
 * A part does not write over what it reads, so it can be run twice. */
#include "run/run.h"

#include <fenv.h>
#include <string.h>

enum { NAN_BLOCK = 64 }; /* numbers that are looked at together */

static bool nan_among(const float *x, int64_t n)
{
    uint32_t bits[NAN_BLOCK] = {0}, found = 0;
    memcpy(bits, x, (size_t)n * sizeof *x);
    for (int i = 0; i < NAN_BLOCK; i++)
        found |= (bits[i] & 0x7fffffff) > 0x7f800000;
    return found;
}

static bool nan_in(const clv_tensor *t)
{
    const float *x = t->data;
    int64_t n = t->dtype == CLV_FLOAT32 && x ? clv_tensor_numel(t) : 0, i = 0;
    bool found = false;
    for (; i + NAN_BLOCK <= n && !found; i += NAN_BLOCK)
        found = nan_among(x + i, NAN_BLOCK);
    return found || (i < n && nan_among(x + i, n - i));
}

bool clv__run_look_for_nan(void *found, const clv_tensor *t)
{
    if (nan_in(t))
        *(bool *)found = true;
    return !*(bool *)found;
}

/* Some value that the part of s reads, and that is made or given anew for each
 * run, holds a NaN. */
static bool nan_is_read(const clv_context *c, const step *s)
{
    uint32_t n;
    const clv_subgraph *p = &clv_cut_subgraphs(c->m->cut, &n)[s->part];
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        uint32_t v = p->inputs[i];
        if (c->m->place[v] != PLACE_WEIGHT && nan_in(&c->tensor[v]))
            return true;
    }
    return false;
}

/* Memory for results of a node that have no place, as no other part reads
 * them. */
static clv_status nan_room(clv_context *c, const clv_node *n, clv_err *e)
{
    for (uint32_t o = 0; o < n->n_out; o++) {
        clv_tensor *t = &c->tensor[node_outs(c->m->g, n)[o]];
        if (t->data)
            continue;
        t->data = clv__zalloc((size_t)clv_tensor_bytes(t) + 1);
        if (!t->data)
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* Runs the nodes of the part of s by plain C kernels. */
static clv_status nan_run_plain(clv_context *c, const step *s, clv_err *e)
{
    const clv_model *m = c->m;
    const clv_part *p = &m->parts[s->part];
    clv_status st = CLV_OK;
    for (uint32_t k = 0; k < p->n_nodes && st == CLV_OK; k++) {
        if (clv__run_needless(m, p->nodes[k]))
            continue;
        st = nan_room(c, &m->g->nodes[p->nodes[k]], e);
        if (st == CLV_OK)
            st = clv__run_node(m->g, p->nodes[k], NULL, c->tensor, &c->mem, e);
    }
    for (uint32_t k = 0; k < p->n_nodes; k++) {
        const clv_node *n = &m->g->nodes[p->nodes[k]];
        for (uint32_t o = 0; o < n->n_out; o++) {
            uint32_t v = node_outs(m->g, n)[o];
            if (m->place[v] != PLACE_NONE)
                continue;
            clv__free(c->tensor[v].data);
            c->tensor[v].data = NULL;
        }
    }
    return st;
}

clv_status clv__run_without_nan(clv_context *c, const step *s, clv_err *e)
{
    const clv_backend_type *t = c->m->backend->type;
    fexcept_t before;
    if (nan_is_read(c, s))
        return nan_run_plain(c, s, e);
    fegetexceptflag(&before, FE_INVALID);
    feclearexcept(FE_INVALID);
    clv_status st = t->run(s->exec, c->tensor, c->arena + s->offset, e);
    bool made = t->made_nan(s->exec);
    fesetexceptflag(&before, FE_INVALID);
    return st == CLV_OK && made ? nan_run_plain(c, s, e) : st;
}
