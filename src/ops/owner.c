/* owner.c - decides, once per graph, which node counts each weight.
 *
 * Rule: the elements of a weight are the parameters of exactly one node, the
 * first one that needs them when the model runs. A node that works on weights
 * alone runs when the model is loaded; it hands its weights on to the first
 * node that reads what it makes:
 *
 *      w -> Transpose -> MatMul     MatMul counts w; Transpose counts nothing.
 *      w -> MatMul, w -> Add        the earlier of the two counts w (tied).
 *
 * A node that asks for a size alone (Shape, Size) needs no elements. It counts
 * a weight only if all readers of the weight ask for its size. A node that
 * works on weights alone, and whose results no node needs, counts them itself.
 *
 * Reason: so the parameters of all nodes add up to the elements of all weights
 * that are read, whatever is tied and however much is computed beforehand.
 *
 * One walk over the nodes from last to first is enough: when it comes to a
 * node, all readers of what the node makes have been visited. Invariant:
 * counts[id] is the node that counts the weights which a visited node id
 * reads; it is id itself or a later node. */
#include "ops/ops.h"

static bool asks_size(const clv_node *n)
{
    return n->op == CLV_OP_SHAPE || n->op == CLV_OP_SIZE;
}

/* The first node that needs the elements of v; CLV_NONE: no node does. */
static uint32_t owner_of(const clv_graph *g, uint32_t v, const uint32_t *counts)
{
    uint32_t first = CLV_NONE, end = g->user_first[v + 1];
    for (uint32_t u = g->user_first[v]; u < end; u++) {
        uint32_t id = g->users[u];
        if (id >= first) /* readers are in order, none passes on backwards */
            break;
        if (asks_size(&g->nodes[id]))
            continue;
        first = counts[id] < first ? counts[id] : first;
    }
    return first;
}

/* Fills counts for all nodes. */
static void owner_walk(const clv_graph *g, uint32_t *counts)
{
    for (uint32_t id = g->n_nodes; id-- > 0;) {
        const clv_node *n = &g->nodes[id];
        uint32_t first = CLV_NONE;
        for (uint32_t i = 0; clv__node_is_fixed(g, n) && i < n->n_out; i++) {
            uint32_t by = owner_of(g, node_outs(g, n)[i], counts);
            first = by < first ? by : first;
        }
        counts[id] = first == CLV_NONE ? id : first;
    }
}

/* Adds the elements of each weight to its node. Without counts, no node works
 * on weights alone, and the first reader of a weight is the node. */
static void owner_add(clv_graph *g, const uint32_t *counts)
{
    for (uint32_t v = 0; v < g->n_values; v++) {
        const clv_value *value = &g->values[v];
        uint32_t reader = g->user_first[v];
        if (value->kind != CLV_VALUE_PARAM || value->rank == CLV_NO_RANK ||
            reader == g->user_first[v + 1])
            continue;
        uint32_t by = counts ? owner_of(g, v, counts) : CLV_NONE;
        int64_t *sum = &g->params[by == CLV_NONE ? g->users[reader] : by];
        *sum = sat_add(*sum, clv__numel(value));
    }
}

/* -- the type that weights are stored in ----------------------------------*/

/* True for a node that changes neither the number of elements nor what they
 * mean, only the type they are held in or their order. */
static bool owner_unpacks(const clv_graph *g, const clv_node *n)
{
    bool same = n->op == CLV_OP_DEQUANTIZE_LINEAR || n->op == CLV_OP_CAST ||
                clv__ops[n->op].cls == CLV_CLASS_VIEW;
    return same && clv__node_is_fixed(g, n) && node_in(g, n, 0);
}

static uint8_t owner_stored(const clv_graph *g, uint32_t v)
{
    uint8_t t = g->stored_as ? g->stored_as[v] : CLV_NODTYPE;
    return t != CLV_NODTYPE ? t : g->values[v].dtype;
}

/* Notes the type in which an unpacked weight is stored. Nodes are in
 * topological order, so that of the input is already known. */
static bool owner_note_types(clv_graph *g)
{
    for (uint32_t id = 0; g->has_fixed && id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        if (!owner_unpacks(g, n))
            continue;
        uint8_t t = owner_stored(g, node_ins(g, n)[0]);
        for (uint32_t i = 0; i < n->n_out; i++) {
            if (t == node_out(g, n, i)->dtype)
                continue;
            if (!g->stored_as)
                g->stored_as = arena_zalloc(&g->mem, g->n_values);
            if (!g->stored_as)
                return false;
            g->stored_as[node_outs(g, n)[i]] = t;
        }
    }
    return true;
}

int64_t clv__stored_bytes(const clv_graph *g, const clv_value *v)
{
    if (!(v->flags & CLV_V_FIXED))
        return clv__held_bytes(v);
    clv_value as = *v;
    as.dtype = owner_stored(g, (uint32_t)(v - g->values));
    return clv__bytes(&as);
}

clv_status clv__own_weights(clv_graph *g, clv_err *e)
{
    uint32_t *counts = NULL;
    clv__free(g->params);
    g->params = clv__zalloc(((size_t)g->n_nodes + 1) * sizeof *g->params);
    if (g->has_fixed)
        counts = clv__alloc(((size_t)g->n_nodes + 1) * sizeof *counts);
    bool ok = g->params && (counts || !g->has_fixed) && owner_note_types(g);
    if (ok && counts)
        owner_walk(g, counts);
    if (ok)
        owner_add(g, counts);
    clv__free(counts);
    return ok ? CLV_OK : clv__nomem(e);
}
