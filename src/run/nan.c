/* nan.c - parts of a backend that takes NaN for a number.
 *
 * Such a backend gives a bound, 0 or infinity where a NaN goes in, so a part
 * that reads one is run by plain C kernels instead, for this run alone. What
 * enters a part is looked at before every run; a large stored weight is not,
 * as that would take longer than many a run. */
#include "run/run.h"

#include <string.h>

enum {
    NAN_STORED = 1 << 16, /* elements of a weight that is looked at, at most */
    NAN_BLOCK = 16        /* numbers that are looked at together */
};

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

static const clv_subgraph *nan_part(const clv_model *m, const step *s)
{
    uint32_t n;
    return m->cut ? &clv_cut_subgraphs(m->cut, &n)[s->part] : NULL;
}

bool clv__run_reads_nan(const clv_context *c, const step *s)
{
    const clv_subgraph *p = nan_part(c->m, s);
    for (uint32_t i = 0; p && i < p->n_inputs; i++) {
        uint32_t v = p->inputs[i];
        bool large = clv_tensor_numel(&c->tensor[v]) > NAN_STORED;
        if (!(c->m->place[v] == PLACE_WEIGHT && large) && nan_in(&c->tensor[v]))
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

clv_status clv__run_plain(clv_context *c, const step *s, clv_err *e)
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
