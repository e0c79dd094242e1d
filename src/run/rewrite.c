/* rewrite.c - the rules of rewrite.def, tried on a copy of a graph.
 *
 *   1. copy    nodes and values with their numbers; contents are borrowed
 *   2. try     each rule on each node, phase by phase, until none fits
 *   3. finish  what is left is put in order and closed like any graph
 *
 * The order of the user's nodes is kept: a new node comes right before the
 * first node that needs it, so that memory is used as before. */
#include "run/rewrite.h"

#include "core/parallel.h"
#include "ops/build.h"

#include <string.h>

typedef enum rewrite_phase {
    PHASE_CLEAN, /* what computes nothing */
    PHASE_HALF,  /* numbers of 16 bits */
    PHASE_QUANT, /* floats between integers */
    PHASE_NORM,  /* operators that were taken apart */
    PHASE_SPLIT, /* products that are taken apart */
    PHASE_FUSE,  /* what runs together */
    PHASE_LAST,  /* what that left behind */
    PHASE_COUNT
} rewrite_phase;

static const struct rewrite_rule {
    rewrite_phase phase;
    clv_op op;
    rewrite_fn *fn;
} rewrite_rules[] = {
#define REWRITE(id, phase, op, fn, pattern) {PHASE_##phase, CLV_OP_##op, fn},
#include "run/rewrite.def"
};

static const char *const rewrite_names[][2] = {
#define REWRITE(id, phase, op, fn, pattern) {#id, pattern},
#include "run/rewrite.def"
};

/* Sweeps over the nodes in one phase; each but the last changed something. */
enum { SWEEPS = 12 };

const char *clv__rewrite_name(uint32_t row)
{
    return rewrite_names[row][0];
}

const char *clv__rewrite_pattern(uint32_t row)
{
    return rewrite_names[row][1];
}

/* -- the copy -------------------------------------------------------------*/

static bool copy_arrays(clv_graph *to, const clv_graph *g)
{
    size_t edges = g->n_edges, ins = g->n_inputs, outs = g->n_outputs;
    if (!CLV_RESERVE(to->nodes, (size_t)g->n_nodes + 1, to->cap_nodes) ||
        !CLV_RESERVE(to->values, (size_t)g->n_values + 1, to->cap_values) ||
        !CLV_RESERVE(to->scopes, (size_t)g->n_scopes + 1, to->cap_scopes) ||
        !CLV_RESERVE(to->edges, edges + 1, to->cap_edges) ||
        !CLV_RESERVE(to->inputs, ins + 1, to->cap_inputs) ||
        !CLV_RESERVE(to->outputs, outs + 1, to->cap_outputs))
        return false;
    if (g->n_nodes)
        memcpy(to->nodes, g->nodes, g->n_nodes * sizeof *g->nodes);
    if (g->n_values)
        memcpy(to->values, g->values, g->n_values * sizeof *g->values);
    if (g->n_scopes)
        memcpy(to->scopes, g->scopes, g->n_scopes * sizeof *g->scopes);
    if (edges)
        memcpy(to->edges, g->edges, edges * sizeof *g->edges);
    if (ins)
        memcpy(to->inputs, g->inputs, ins * sizeof *g->inputs);
    if (outs)
        memcpy(to->outputs, g->outputs, outs * sizeof *g->outputs);
    to->n_nodes = g->n_nodes;
    to->n_values = g->n_values;
    to->n_scopes = g->n_scopes;
    to->n_edges = g->n_edges;
    to->n_inputs = g->n_inputs;
    to->n_outputs = g->n_outputs;
    return true;
}

/* A copy of g that borrows all contents, names and attributes from it. */
static clv_status rewrite_copy(const clv_graph *g, clv_graph **out, clv_err *e)
{
    clv_graph *to;
    CLV_TRY(clv__build_part(g, &to, e));
    bool ok = copy_arrays(to, g);
    for (uint32_t i = 0; ok && i < g->n_bodies; i++) {
        ok = clv__graph_own_body(to, clv__graph_hold(g->bodies[i]));
        if (!ok)
            clv_graph_free(g->bodies[i]);
    }
    if (!ok) {
        clv_graph_free(to);
        return clv__nomem(e);
    }
    to->format = g->format;
    to->file = g->file;
    to->file_size = g->file_size;
    to->has_fixed = g->has_fixed;
    *out = to;
    return CLV_OK;
}

static void count_uses(rewriter *r)
{
    const clv_graph *g = r->g;
    for (uint32_t id = 0; id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++) {
            uint32_t v = node_ins(g, &g->nodes[id])[i];
            if (v != CLV_NONE)
                r->uses[v]++;
        }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        r->uses[g->outputs[i]]++;
}

static clv_status rewrite_start(rewriter *r, const clv_graph *g, clv_err *e)
{
    size_t nv = g->n_values, nn = g->n_nodes;
    CLV_TRY(rewrite_copy(g, &r->g, e));
    r->home = clv__alloc((nn + 1) * sizeof *r->home);
    if (!CLV_RESERVE(r->tensor, nv + 1, r->cap_tensor) ||
        !CLV_RESERVE(r->uses, nv + 1, r->cap_uses) ||
        !CLV_RESERVE(r->instead, nv + 1, r->cap_instead) ||
        !CLV_RESERVE(r->stands_for, nn + 1, r->cap_stands_for) ||
        !CLV_RESERVE(r->dead, nn + 1, r->cap_dead) || !r->home)
        return clv__nomem(e);
    memcpy(r->tensor, clv__weights_of(r->weights, g), nv * sizeof *r->tensor);
    memset(r->uses, 0, nv * sizeof *r->uses);
    memset(r->dead, 0, nn);
    for (uint32_t v = 0; v < nv; v++)
        r->instead[v] = v;
    for (uint32_t id = 0; id < nn; id++)
        r->home[id] = r->stands_for[id] = id;
    count_uses(r);
    return CLV_OK;
}

static void rewrite_release(rewriter *r)
{
    arena_free(&r->mem.scratch);
    arena_free(&r->mem.kept);
    clv_graph_free(r->g);
    clv__free(r->tensor);
    clv__free(r->uses);
    clv__free(r->instead);
    clv__free(r->stands_for);
    clv__free(r->dead);
    clv__free(r->home);
    clv__free(r->unread);
    clv__free(r->cuts);
    clv__free(r->seen);
}

/* -- trying ---------------------------------------------------------------*/

/* Drops the nodes that a rule made before it found that it does not fit. */
static void drop_since(rewriter *r, uint32_t before)
{
    for (uint32_t id = r->g->n_nodes; !r->failed && id-- > before;)
        if (!r->dead[id])
            rw_kill(r, id);
}

/* Tries the rules of a phase on one node, each until it fits no more. */
static bool try_node(rewriter *r, rewrite_phase phase, uint32_t id)
{
    bool any = false;
    clv_node *n = &r->g->nodes[id];
    for (uint32_t i = 0; i < n->n_in; i++)
        r->g->edges[n->first_edge + i] = rw_in(r, id, i);
    if (n->counted_only) /* it says more than we know */
        return false;
    for (uint32_t i = 0; i < REWRITE_COUNT && !r->dead[id] && !r->failed; i++) {
        const struct rewrite_rule *rule = &rewrite_rules[i];
        if (rule->phase != phase ||
            (rule->op != CLV_OP_UNKNOWN && rule->op != rw_op(r, id)))
            continue;
        uint32_t before = r->g->n_nodes;
        r->at = id;
        if (!rule->fn(r, id)) {
            drop_since(r, before);
            continue;
        }
        r->counts[i]++;
        any = true;
    }
    return any;
}

/* An empty table of what was computed, twice as large as it can get. */
static bool clear_seen(rewriter *r)
{
    size_t n = 16;
    while (n < 4 * (size_t)r->g->n_nodes)
        n *= 2;
    if (n > r->n_seen) {
        clv__free(r->seen);
        r->seen = clv__alloc(n * sizeof *r->seen);
        r->n_seen = r->seen ? n : 0;
    }
    if (r->seen)
        memset(r->seen, 0xff, r->n_seen * sizeof *r->seen);
    return r->seen;
}

static void try_phase(rewriter *r, rewrite_phase phase)
{
    bool any = true;
    for (int sweep = 0; any && sweep < SWEEPS && !r->failed; sweep++) {
        any = false;
        r->failed |= !clear_seen(r);
        for (uint32_t id = 0; id < r->g->n_nodes && !r->failed; id++)
            if (!r->dead[id])
                any |= try_node(r, phase, id);
    }
}

/* -- finishing ------------------------------------------------------------*/

typedef struct emission {
    rewriter *r;
    uint32_t *order, *stack, *place; /* place: per old node, its new number */
    uint32_t n;
} emission;

/* Puts node id into the order, behind all that makes its inputs. */
static void emit_node(emission *m, uint32_t id)
{
    rewriter *r = m->r;
    uint32_t depth = 0;
    m->stack[depth++] = id;
    while (depth) {
        uint32_t top = m->stack[depth - 1], missing = CLV_NONE;
        const clv_node *n = &r->g->nodes[top];
        for (uint32_t i = 0; i < n->n_in && missing == CLV_NONE; i++) {
            uint32_t v = rw_in(r, top, i);
            uint32_t p = v == CLV_NONE ? CLV_NONE : rw_maker(r, v);
            if (p != CLV_NONE && m->place[p] == CLV_NONE)
                missing = p;
        }
        if (missing != CLV_NONE) {
            m->stack[depth++] = missing;
            continue;
        }
        depth--;
        if (m->place[top] != CLV_NONE)
            continue;
        m->place[top] = m->n;
        m->order[m->n++] = top;
    }
}

/* Moves the nodes that are left to their places, and names what they read. */
static bool emit_all(rewriter *r, emission *m)
{
    clv_graph *g = r->g;
    clv_node *sorted = clv__alloc(((size_t)g->n_nodes + 1) * sizeof *sorted);
    uint32_t *stands_for =
        clv__alloc(((size_t)g->n_nodes + 1) * sizeof *stands_for);
    if (!sorted || !stands_for) {
        clv__free(sorted);
        clv__free(stands_for);
        return false;
    }
    for (uint32_t id = 0; id < g->n_nodes; id++)
        for (uint32_t i = 0; i < g->nodes[id].n_in; i++)
            g->edges[g->nodes[id].first_edge + i] = rw_in(r, id, i);
    for (uint32_t i = 0; i < m->n; i++) {
        sorted[i] = g->nodes[m->order[i]];
        stands_for[i] = r->stands_for[m->order[i]];
        for (uint32_t o = 0; o < sorted[i].n_out; o++)
            node_out(g, &sorted[i], o)->producer = i;
    }
    memcpy(g->nodes, sorted, m->n * sizeof *sorted);
    memcpy(r->stands_for, stands_for, m->n * sizeof *stands_for);
    g->n_nodes = m->n;
    clv__free(sorted);
    clv__free(stands_for);
    return true;
}

static bool rewrite_order(rewriter *r)
{
    size_t n = (size_t)r->g->n_nodes + 1;
    emission m = {.r = r,
                  .order = clv__alloc(n * sizeof *m.order),
                  .stack = clv__alloc(n * sizeof *m.stack),
                  .place = clv__alloc(n * sizeof *m.place)};
    bool ok = m.order && m.stack && m.place;
    if (ok)
        memset(m.place, 0xff, n * sizeof *m.place);
    for (uint32_t id = 0; ok && id < r->from->n_nodes; id++)
        if (!r->dead[id])
            emit_node(&m, id);
    ok = ok && emit_all(r, &m);
    for (uint32_t id = 0; ok && id < r->from->n_nodes; id++)
        if (r->home[id] != CLV_NONE)
            r->home[id] = m.place[r->home[id]];
    clv__free(m.order);
    clv__free(m.stack);
    clv__free(m.place);
    return ok;
}

/* A node that died did its work for the node that was looked at then, which may
 * have died since. */
static void settle_homes(rewriter *r)
{
    for (uint32_t id = 0; id < r->from->n_nodes; id++) {
        uint32_t h = r->home[id], steps = 0;
        while (h != CLV_NONE && r->dead[h] && steps++ < r->g->n_nodes)
            h = h < r->from->n_nodes && r->home[h] != h ? r->home[h] : CLV_NONE;
        r->home[id] = h != CLV_NONE && r->dead[h] ? CLV_NONE : h;
    }
}

static clv_status rewrite_finish(rewriter *r, rewritten *out, clv_err *e)
{
    size_t nv = r->g->n_values, nn = r->from->n_nodes;
    settle_homes(r);
    if (!rewrite_order(r))
        return clv__nomem(e);
    out->tensor = arena_array(&out->mem, nv + 1, sizeof *out->tensor);
    out->stands_for = arena_array(&out->mem, (size_t)r->g->n_nodes + 1,
                                  sizeof *out->stands_for);
    out->home = arena_array(&out->mem, nn + 1, sizeof *out->home);
    if (!out->tensor || !out->stands_for || !out->home)
        return clv__nomem(e);
    memcpy(out->tensor, r->tensor, nv * sizeof *out->tensor);
    memcpy(out->stands_for, r->stands_for,
           r->g->n_nodes * sizeof *out->stands_for);
    memcpy(out->home, r->home, nn * sizeof *out->home);
    memcpy(out->counts, r->counts, sizeof out->counts);
    CLV_TRY(clv__build_finish(r->g, CLV_BUILT_COPIED, e));
    out->g = r->g;
    r->g = NULL;
    return CLV_OK;
}

clv_status clv__rewrite(const clv_graph *g, weight_store *w, bool backend,
                        uint32_t threads, rewritten *out, clv_err *e)
{
    rewriter r = {.from = g, .weights = w, .backend = backend, .e = e};
    r.mem.threads = threads ? threads : clv__processors();
    *out = (rewritten){0};
    clv_status s = rewrite_start(&r, g, e);
    for (int phase = 0; phase < PHASE_COUNT && s == CLV_OK; phase++) {
        try_phase(&r, (rewrite_phase)phase);
        if (r.failed)
            s = clv__nomem(e);
    }
    if (s == CLV_OK)
        s = rewrite_finish(&r, out, e);
    rewrite_release(&r);
    if (s != CLV_OK)
        arena_free(&out->mem);
    return s;
}
