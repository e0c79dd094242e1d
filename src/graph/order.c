/* order.c - verifies, orders and indexes a graph once it is built.
 *
 *   1. structure: every edge names a value, every value has one producer
 *   2. order: nodes are put in topological order. Most builders deliver that
 *      already; then nothing moves. A cycle is an error that names a node of
 *      it.
 *   3. index: the readers of each value, in CSR form, and the inputs that a
 *      node reads more than once */
#include "graph/graph.h"

#include <string.h>

/* Checks the edges of node id, and sets made[v] for each of its outputs. */
static clv_status verify_node(const clv_graph *g, uint32_t id, bool *made,
                              clv_err *e)
{
    const clv_node *n = &g->nodes[id];
    if ((uint64_t)n->first_edge + n->n_in + n->n_out > g->n_edges)
        return clv__fail(e, CLV_INTERNAL, "node '%s': edges out of range",
                         n->name);
    if (n->op >= CLV_OP_COUNT || n->scope >= g->n_scopes)
        return clv__fail(e, CLV_INTERNAL, "node '%s': operator %u, scope %u",
                         n->name, n->op, n->scope);
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v != CLV_NONE && v >= g->n_values)
            return clv__fail(e, CLV_INTERNAL,
                             "node '%s': input %u is value %u of %u", n->name,
                             i, v, g->n_values);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t v = node_outs(g, n)[i];
        if (v >= g->n_values)
            return clv__fail(e, CLV_INTERNAL,
                             "node '%s': output %u is value %u of %u", n->name,
                             i, v, g->n_values);
        char buf[128];
        if (g->values[v].kind != CLV_VALUE_ACTIVATION)
            return clv__fail(e, CLV_FORMAT,
                             "node '%s': output %u writes the input or weight "
                             "'%s'",
                             n->name, i,
                             clv__value_name(g, v, buf, sizeof buf));
        if (g->values[v].producer != id || made[v])
            return clv__fail(e, CLV_FORMAT, "value '%s' has two producers",
                             clv__value_name(g, v, buf, sizeof buf));
        made[v] = true;
    }
    return CLV_OK;
}

static clv_status verify_values(const clv_graph *g, clv_err *e)
{
    char buf[128];
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t p = g->values[v].producer;
        if (p != CLV_NONE && p >= g->n_nodes)
            return clv__fail(e, CLV_INTERNAL, "value %u: producer %u of %u", v,
                             p, g->n_nodes);
        uint8_t rank = g->values[v].rank;
        if (rank != CLV_NO_RANK && rank > CLV_MAX_RANK)
            return clv__fail(e, CLV_SHAPE, "value '%s': rank %u, at most %d",
                             clv__value_name(g, v, buf, sizeof buf), rank,
                             CLV_MAX_RANK);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] >= g->n_values)
            return clv__fail(e, CLV_INTERNAL, "graph output %u out of range",
                             i);
    return CLV_OK;
}

/* Checks that every input of a node is made. *early becomes the first node that
 * runs before one of its inputs, CLV_NONE when all are in order. */
static clv_status verify_read(const clv_graph *g, uint32_t *early, clv_err *e)
{
    char buf[128];
    *early = CLV_NONE;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        for (uint32_t i = 0; i < n->n_in; i++) {
            const clv_value *v = node_in(g, n, i);
            if (!v)
                continue;
            if (v->kind == CLV_VALUE_ACTIVATION && v->producer == CLV_NONE)
                return clv__fail(
                    e, CLV_FORMAT, "node '%s': input '%s' is made by no node",
                    n->name,
                    clv__value_name(g, node_ins(g, n)[i], buf, sizeof buf));
            if (v->producer != CLV_NONE && v->producer >= id &&
                *early == CLV_NONE)
                *early = id;
        }
    }
    return CLV_OK;
}

/* Checks that nodes and values agree on who makes what. */
static clv_status verify_made(const clv_graph *g, bool *made, clv_err *e)
{
    for (uint32_t id = 0; id < g->n_nodes; id++)
        CLV_TRY(verify_node(g, id, made, e));
    for (uint32_t v = 0; v < g->n_values; v++)
        if (g->values[v].producer != CLV_NONE && !made[v])
            return clv__fail(e, CLV_INTERNAL,
                             "value %u is no output of node '%s'", v,
                             g->nodes[g->values[v].producer].name);
    return CLV_OK;
}

static clv_status verify_structure(const clv_graph *g, clv_err *e)
{
    CLV_TRY(verify_values(g, e));
    bool *made = clv__zalloc(g->n_values);
    clv_status s = made ? verify_made(g, made, e) : clv__nomem(e);
    clv__free(made);
    return s;
}

clv_status clv__need_inferred(const clv_graph *g, const char *who, clv_err *e)
{
    if (g->inferred)
        return CLV_OK;
    return clv__fail(e, CLV_USAGE, "%s: infer the graph '%s' before", who,
                     g->name);
}

clv_status clv_graph_verify(const clv_graph *g, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(g, err);
    uint32_t early;
    CLV_TRY(verify_structure(g, err));
    CLV_TRY(verify_read(g, &early, err));
    if (early == CLV_NONE)
        return CLV_OK;
    return clv__fail(err, CLV_INTERNAL, "node '%s' runs before its input",
                     g->nodes[early].name);
}

/* -- order ----------------------------------------------------------------*/

static bool build_users(clv_graph *g)
{
    clv__free(g->users);
    clv__free(g->user_first);
    g->users = clv__alloc(sizeof *g->users * ((size_t)g->n_edges + 1));
    g->user_first =
        clv__zalloc(sizeof *g->user_first * ((size_t)g->n_values + 2));
    if (!g->users || !g->user_first)
        return false;
    uint32_t *first = g->user_first + 1; /* shifted by one: first[v] ends as the
                                          * end of v */
    uint32_t *users = g->users;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const uint32_t *in = node_ins(g, &g->nodes[id]);
        for (const uint32_t *end = in + g->nodes[id].n_in; in < end; in++)
            if (*in != CLV_NONE)
                first[*in + 1]++;
    }
    for (uint32_t v = 0; v < g->n_values; v++)
        first[v + 1] += first[v];
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const uint32_t *in = node_ins(g, &g->nodes[id]);
        for (const uint32_t *end = in + g->nodes[id].n_in; in < end; in++)
            if (*in != CLV_NONE)
                users[first[*in]++] = id;
    }
    return true;
}

/* Readers are listed in order, so a node that reads a value twice stands beside
 * itself in the list of that value. */
static bool reads_twice(const clv_graph *g)
{
    for (uint32_t v = 0; v < g->n_values; v++)
        for (uint32_t k = g->user_first[v] + 1; k < g->user_first[v + 1]; k++)
            if (g->users[k] == g->users[k - 1])
                return true;
    return false;
}

/* Sets the bit of each input edge whose value the node has already read. */
static bool mark_repeats(clv_graph *g)
{
    clv__free(g->repeats);
    g->repeats = NULL;
    if (!reads_twice(g))
        return true;
    size_t size = ((size_t)g->n_values + 1) * sizeof(uint32_t);
    uint32_t *reader = clv__alloc(size); /* per value: its last reader */
    g->repeats = clv__zalloc((size_t)g->n_edges / 8 + 1);
    if (reader)
        memset(reader, 0xff, size);
    for (uint32_t id = 0; reader && g->repeats && id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++) {
            uint32_t edge = g->nodes[id].first_edge + i, v = g->edges[edge];
            if (v == CLV_NONE)
                continue;
            if (reader[v] == id)
                g->repeats[edge / 8] |= (uint8_t)(1u << edge % 8);
            reader[v] = id;
        }
    bool ok = reader && g->repeats;
    clv__free(reader);
    return ok;
}

/* Writes a topological order to `order` (Kahn's algorithm). The queue keeps the
 * given order where the edges allow it. */
static clv_status order_nodes(clv_graph *g, uint32_t *order, uint32_t *missing,
                              clv_err *e)
{
    uint32_t head = 0, tail = 0;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        missing[id] = 0;
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++) {
            const clv_value *v = node_in(g, &g->nodes[id], i);
            missing[id] += v && v->producer != CLV_NONE;
        }
        if (!missing[id])
            order[tail++] = id;
    }
    for (; head < tail; head++) {
        const clv_node *n = &g->nodes[order[head]];
        for (uint32_t o = 0; o < n->n_out; o++) {
            uint32_t v = node_outs(g, n)[o];
            for (uint32_t k = g->user_first[v]; k < g->user_first[v + 1]; k++)
                if (--missing[g->users[k]] == 0)
                    order[tail++] = g->users[k];
        }
    }
    for (uint32_t id = 0; tail < g->n_nodes && id < g->n_nodes; id++)
        if (missing[id])
            return clv__fail(e, CLV_FORMAT, "node '%s' is part of a cycle",
                             g->nodes[id].name);
    return CLV_OK;
}

static clv_status sort_nodes(clv_graph *g, clv_err *e)
{
    size_t n = g->n_nodes;
    uint32_t *order = clv__alloc(n * sizeof *order);
    uint32_t *missing = clv__alloc(n * sizeof *missing);
    clv_node *sorted = clv__alloc(n * sizeof *sorted);
    clv_status s = order && missing && sorted && build_users(g)
                       ? order_nodes(g, order, missing, e)
                       : clv__nomem(e);
    if (s == CLV_OK) {
        for (uint32_t i = 0; i < n; i++) {
            sorted[i] = g->nodes[order[i]];
            for (uint32_t o = 0; o < sorted[i].n_out; o++)
                node_out(g, &sorted[i], o)->producer = i;
        }
        memcpy(g->nodes, sorted, n * sizeof *sorted);
    }
    clv__free(sorted);
    clv__free(missing);
    clv__free(order);
    return s;
}

clv_status clv__graph_order(clv_graph *g, clv_err *e)
{
    uint32_t early;
    CLV_TRY(verify_structure(g, e));
    CLV_TRY(verify_read(g, &early, e));
    if (early != CLV_NONE)
        CLV_TRY(sort_nodes(g, e));
    return build_users(g) && mark_repeats(g) ? CLV_OK : clv__nomem(e);
}
