/* fusion.c - groups nodes that run as one kernel, in one pass over the nodes.
 *
 * Rule: a node joins the group of one of its producers or begins a group. The
 * table `rules` says which class of node may join which kind of group, and
 * under which condition on sizes. If several groups may take the node, the one
 * that saves the most bytes takes it.
 *
 * Reason: a tensor that is made and read inside one group need not go to
 * memory. A node joins only if that saves bytes (or if it is a view, which is
 * free), so no step of the pass makes the traffic larger.
 *
 * A group must not wait for itself. Each group therefore has a level, and the
 * invariant is: every edge between two groups goes from a lower level to a
 * higher one, so the groups have an order in which they can run. A node may
 * join group G if G, raised above all other producers of the node, is still
 * below every group that already reads from G:
 *
 *        x (3) ----------------.        add joins conv2 (5): x is at 3, below.
 *          \                    v       add cannot join x: x would rise to 6,
 *           conv1 (4) -> conv2 (5) add  above conv1, which reads x.
 *
 * The pass does work in proportion to the edges: a node asks the groups of at
 * most CANDIDATES producers. A node with more inputs (a wide Cat) asks the
 * first ones. The cut stays valid; it may save a little less.
 *
 * A chain (chain.c) is matched ahead as a whole and then joins node by node. A
 * view joins its producer. */
#include "cut/fusion.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind {
    MAP,    /* elementwise and layout only */
    ANCHOR, /* a convolution or product and its epilogue */
    ROWS,   /* a reduction, what feeds it and what follows */
    ALONE,  /* opaque: takes nothing but views */
    KINDS
} kind;

/* The condition under which a node joins a group. */
typedef enum fit {
    NO,
    SOLE,   /* it is the only reader of the group and reads each element once */
    SAME,   /* it makes as many elements as the group works on */
    LAYOUT, /* it moves elements to places known in advance */
    PROLOGUE, /* it reduces what the group works on */
    EITHER,   /* like SAME, or as many as the group's rows */
    AGAIN     /* it reduces the same elements to as many rows */
} fit;

/* clang-format off */
static const fit rules[KINDS][CLV_FUSE_OPAQUE + 1] = {
    /*           anchor  eltwise  injective  reduce    opaque */
    [MAP]    = { SOLE,   SAME,    LAYOUT,    PROLOGUE, NO },
    [ANCHOR] = { NO,     SAME,    NO,        NO,       NO },
    [ROWS]   = { NO,     EITHER,  NO,        AGAIN,    NO },
    [ALONE]  = { NO,     NO,      NO,        NO,       NO },
};
static const kind begins[CLV_FUSE_OPAQUE + 1] = {
    [CLV_FUSE_ANCHOR] = ANCHOR, [CLV_FUSE_ELTWISE] = MAP,
    [CLV_FUSE_INJECTIVE] = MAP, [CLV_FUSE_REDUCE] = ROWS,
    [CLV_FUSE_OPAQUE] = ALONE,
};
/* clang-format on */

/* -- facts ----------------------------------------------------------------*/

static clv_fuse class_of(const fusion *f, uint32_t id)
{
    const clv_node *n = &f->g->nodes[id];
    bool known =
        f->p->layers[id].cost.trust != CLV_TRUST_UNKNOWN && n->n_out > 0;
    if (!known || (n->flags & CLV_N_STATEFUL))
        return CLV_FUSE_OPAQUE;
    return clv__ops[n->op].fuse;
}

static int64_t size_out(const fusion *f, uint32_t id)
{
    const clv_node *n = &f->g->nodes[id];
    return n->n_out ? clv__numel(node_out(f->g, n, 0)) : 0;
}

static int64_t size_in(const fusion *f, uint32_t id)
{
    const clv_value *x = node_in(f->g, &f->g->nodes[id], 0);
    return x ? clv__numel(x) : 0;
}

/* The group that makes input i of node n; CLV_NONE when none does (yet). */
static uint32_t maker_group(const fusion *f, const clv_node *n, uint32_t i)
{
    const clv_value *v = node_in(f->g, n, i);
    return v && v->producer != CLV_NONE ? f->of[v->producer] : CLV_NONE;
}

/* Returns true when the anchor n reads each element of its input at one place
 * only. Then the nodes before it can be computed while it reads. */
static bool is_pointwise(const clv_graph *g, const clv_node *n)
{
    clv_category cat = clv__ops[n->op].category;
    const clv_value *w = node_in(g, n, 1);
    if (cat != CLV_CAT_CONV || !w || w->rank == CLV_NO_RANK)
        return cat == CLV_CAT_MATMUL;
    for (uint32_t i = 2; i < w->rank; i++)
        if (w->dims[i] != 1)
            return false;
    return true;
}

/* Returns true when node id writes more bytes than it reads, as a
 * dequantisation or a cast to a wider type does. Such a node costs less inside
 * its reader. */
static bool fusion_widens(const fusion *f, uint32_t id)
{
    const clv_cost *c = &f->p->layers[id].cost;
    return c->bytes_in > 0 && c->bytes_out > c->bytes_in;
}

/* Returns true when anchor id is the only reader of group k, so that no tensor
 * of k leaves the group once id joins it. */
static bool is_sole(const fusion *f, const fuse_group *k, uint32_t id)
{
    const clv_graph *g = f->g;
    const clv_node *n = &g->nodes[id];
    uint32_t reads = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (f->reads[i] == 0)
            continue;
        uint32_t maker = g->values[clv__storage(g, node_ins(g, n)[i])].producer;
        reads += maker != CLV_NONE && f->of[maker] != CLV_NONE &&
                 &f->groups[f->of[maker]] == k;
    }
    return k->plain && reads == k->open &&
           ((k->widens && k->ops == 1) || is_pointwise(g, n));
}

static bool fusion_joins(const fusion *f, const fuse_group *k, uint32_t id,
                         clv_fuse cls)
{
    clv_category cat = clv__ops[f->g->nodes[id].op].category;
    switch (rules[k->kind][cls]) {
    case NO:
        return false;
    case SOLE:
        return is_sole(f, k, id);
    case SAME:
        return size_out(f, id) == k->size;
    case LAYOUT:
        return cat != CLV_CAT_INDEX;
    case PROLOGUE:
        return cat != CLV_CAT_POOL && size_in(f, id) == k->size;
    case EITHER:
        return size_out(f, id) == k->size || size_out(f, id) == k->rows;
    case AGAIN:
        return k->rows < k->size && size_in(f, id) == k->size &&
               size_out(f, id) == k->rows;
    }
    return false;
}

/* The level group k must have once node id is in it. */
static uint32_t level_with(const fusion *f, uint32_t k, uint32_t id)
{
    const clv_node *n = &f->g->nodes[id];
    uint32_t level = f->groups[k].level;
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t from = maker_group(f, n, i);
        if (from != CLV_NONE && from != k && f->groups[from].level >= level)
            level = f->groups[from].level + 1;
    }
    return level;
}

/* Returns the bytes that need not move when node id runs in group k: the bytes
 * it reads from k, and the bytes of tensors that nobody outside reads any more.
 * f->reads holds the bytes that id reads. */
static int64_t fusion_saving(const fusion *f, uint32_t k, uint32_t id)
{
    const clv_graph *g = f->g;
    const clv_node *n = &g->nodes[id];
    int64_t saved = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v == CLV_NONE || f->reads[i] == 0)
            continue;
        uint32_t root = clv__storage(g, v), maker = g->values[root].producer;
        if (maker == CLV_NONE || f->of[maker] != k)
            continue;
        saved = sat_add(saved, f->reads[i]);
        /* A maker that was folded at load writes nothing. */
        if (f->pending[root] == 1 && f->p->layers[maker].cost.bytes_out > 0)
            saved = sat_add(saved, clv__held_bytes(&g->values[root]));
    }
    return saved;
}

static int64_t fusion_moved(const clv_cost *c)
{
    return sat_add(sat_add(c->bytes_in, c->bytes_weights), c->bytes_out);
}

/* The limit that node id would break in group k, or CLV_REASON_COUNT. */
static clv_reason broken_limit(const fusion *f, const fuse_group *k,
                               uint32_t id, int64_t saved)
{
    const clv_fusion_opts *l = &f->limit;
    const clv_cost *c = &f->p->layers[id].cost;
    if (node_is_view(&f->g->nodes[id]))
        return CLV_REASON_COUNT;
    if (l->max_ops && k->ops + 1 > l->max_ops)
        return CLV_REASON_COMPUTE_LIMIT;
    if (l->max_flops && sat_add(k->flops, c->flops) > l->max_flops)
        return CLV_REASON_COMPUTE_LIMIT;
    if (l->max_bytes &&
        sat_add(k->bytes, fusion_moved(c)) - saved > l->max_bytes)
        return CLV_REASON_MEMORY_LIMIT;
    return CLV_REASON_COUNT;
}

/* -- joining --------------------------------------------------------------*/

/* Moves into group k the floating nodes that node id reads. A view, or
 * arithmetic on weights alone, floats: it waits for its only reader and runs
 * there. */
static void take_floating(fusion *f, uint32_t k, uint32_t id)
{
    const clv_graph *g = f->g;
    const clv_node *n = &g->nodes[id];
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        while (v && v->producer != CLV_NONE && f->of[v->producer] == CLV_NONE) {
            f->of[v->producer] = k;
            v = node_in(g, &g->nodes[v->producer], 0);
        }
    }
}

static void mark_read(fusion *f, uint32_t k, uint32_t id)
{
    const clv_graph *g = f->g;
    const clv_node *n = &g->nodes[id];
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t from = maker_group(f, n, i);
        if (from == CLV_NONE)
            continue;
        fuse_group *p = &f->groups[from];
        if (from != k && p->next_level > f->groups[k].level)
            p->next_level = f->groups[k].level;
        uint32_t root = clv__storage(g, node_ins(g, n)[i]);
        uint32_t maker = g->values[root].producer;
        if (f->reads[i] && maker != CLV_NONE && f->of[maker] == k) {
            f->pending[root]--;
            f->groups[k].open--;
        }
    }
}

static void fusion_place(fusion *f, uint32_t k, uint32_t id, int64_t saved)
{
    fuse_group *to = &f->groups[k];
    const clv_node *n = &f->g->nodes[id];
    const clv_cost *c = &f->p->layers[id].cost;
    to->level = level_with(f, k, id);
    f->of[id] = k;
    take_floating(f, k, id);
    mark_read(f, k, id);
    for (uint32_t i = 0; i < n->n_out; i++)
        to->open += f->pending[node_outs(f->g, n)[i]];
    to->ops += !node_is_view(n);
    to->flops = sat_add(to->flops, c->flops);
    to->bytes = sat_add(to->bytes, fusion_moved(c)) - saved;
}

/* Updates the number of elements that group k works on, after node id of class
 * cls joined or began it. */
static void fusion_resize(const fusion *f, fuse_group *k, uint32_t id,
                          clv_fuse cls)
{
    bool pool = clv__ops[f->g->nodes[id].op].category == CLV_CAT_POOL;
    if (cls == CLV_FUSE_REDUCE) {
        k->kind = ROWS;
        k->size = pool ? size_out(f, id) : size_in(f, id);
        k->rows = size_out(f, id);
    } else if (k->kind != ROWS) {
        k->size = k->rows = size_out(f, id);
    }
    if (cls == CLV_FUSE_ANCHOR)
        k->kind = ANCHOR;
    k->plain = k->plain && cls == CLV_FUSE_ELTWISE;
}

/* Remembers the first node that group k did not get. */
static void fusion_refuse(fusion *f, uint32_t k, uint32_t id, clv_reason why)
{
    if (k == CLV_NONE || f->groups[k].refused != CLV_NONE)
        return;
    f->groups[k].refused = id;
    f->groups[k].why = (uint8_t)why;
}

static uint32_t fusion_begin(fusion *f, uint32_t id, clv_fuse cls)
{
    const clv_node *n = &f->g->nodes[id];
    for (uint32_t i = 0; i < n->n_in; i++)
        fusion_refuse(f, maker_group(f, n, i), id, CLV_REASON_BOUNDARY);
    uint32_t k = f->n_groups++;
    f->groups[k] = (fuse_group){.next_level = CLV_NONE,
                                .refused = CLV_NONE,
                                .why = CLV_REASON_BOUNDARY,
                                .kind = (uint8_t)begins[cls],
                                .plain = true,
                                .widens = fusion_widens(f, id)};
    fusion_place(f, k, id, 0);
    fusion_resize(f, &f->groups[k], id, cls);
    return k;
}

/* Returns true when node id may join group k by size, level and limits. *saved
 * receives the bytes that this saves. */
static bool may_join(fusion *f, uint32_t k, uint32_t id, clv_fuse cls,
                     int64_t *saved)
{
    fuse_group *to = &f->groups[k];
    bool view = node_is_view(&f->g->nodes[id]);
    *saved = view ? 0 : fusion_saving(f, k, id);
    if (!view && !fusion_joins(f, to, id, cls)) {
        fusion_refuse(f, k, id,
                      cls == CLV_FUSE_ANCHOR ? CLV_REASON_BOUNDARY
                                             : CLV_REASON_INCOMPATIBLE);
        return false;
    }
    if (level_with(f, k, id) >= to->next_level) {
        fusion_refuse(f, k, id, CLV_REASON_CONSUMERS);
        return false;
    }
    clv_reason limit = broken_limit(f, to, id, *saved);
    if (limit != CLV_REASON_COUNT)
        fusion_refuse(f, k, id, limit);
    return limit == CLV_REASON_COUNT && (view || *saved > 0);
}

enum { CANDIDATES = 8 };

/* Returns the group that saves the most bytes by taking node id in, among the
 * groups of its first CANDIDATES producers. Returns CLV_NONE when none may. */
static uint32_t best_group(fusion *f, uint32_t id, clv_fuse cls, int64_t *saved)
{
    const clv_node *n = &f->g->nodes[id];
    uint32_t best = CLV_NONE;
    *saved = -1;
    uint32_t n_in = node_is_view(n) && n->n_in ? 1 : n->n_in;
    for (uint32_t i = 0; i < n_in && i < CANDIDATES; i++) {
        uint32_t k = maker_group(f, n, i);
        int64_t s;
        if (k == CLV_NONE || k == best || !may_join(f, k, id, cls, &s))
            continue;
        if (s > *saved ||
            (s == *saved && f->groups[k].level > f->groups[best].level)) {
            *saved = s;
            best = k;
        }
    }
    return best;
}

/* -- chains ---------------------------------------------------------------*/

static void begin_chain(fusion *f, uint32_t id, const chain *c)
{
    uint32_t k = fusion_begin(f, id, class_of(f, id));
    f->groups[k].chain = c->name;
    f->groups[k].chain_ops = 1;
    for (uint32_t i = 1; i < c->n; i++)
        f->chain_of[c->node[i]] = k;
}

/* Extends the chain of group k by node id. Returns false, and drops the chain,
 * when the node does not fit. */
static bool continue_chain(fusion *f, uint32_t k, uint32_t id)
{
    fuse_group *to = &f->groups[k];
    int64_t saved = fusion_saving(f, k, id);
    clv_reason limit = broken_limit(f, to, id, saved);
    if (!to->chain || limit != CLV_REASON_COUNT ||
        level_with(f, k, id) >= to->next_level) {
        fusion_refuse(f, k, id,
                      limit != CLV_REASON_COUNT ? limit : CLV_REASON_CONSUMERS);
        to->chain = NULL;
        return false;
    }
    fusion_place(f, k, id, saved);
    to->chain_ops += !node_is_view(&f->g->nodes[id]);
    to->kind = ANCHOR;
    to->size = to->rows = size_out(f, id);
    return true;
}

/* -- the pass -------------------------------------------------------------*/

/* Returns true when node id floats, that is, waits for its only reader. A view
 * of a weight, of a graph input or of a floating value floats. Arithmetic on
 * weights alone floats too, unless there are limits: limits do not see it, so
 * it then stands alone. */
static bool fusion_floats(const fusion *f, uint32_t id, clv_fuse cls)
{
    const clv_graph *g = f->g;
    const clv_node *n = &g->nodes[id];
    const clv_fusion_opts *l = &f->limit;
    bool view = node_is_view(n),
         limited = l->max_ops || l->max_bytes || l->max_flops;
    if (n->n_out != 1 || n->n_in == 0 || (limited && !view) ||
        (cls != CLV_FUSE_ELTWISE && cls != CLV_FUSE_INJECTIVE))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        bool made = v && v->producer != CLV_NONE;
        if (made && (!view || i > 0 || f->of[v->producer] != CLV_NONE))
            return false;
        if (v && !view && !value_is_weight(v))
            return false;
    }
    uint32_t v = node_outs(g, n)[0];
    return g->user_first[v + 1] - g->user_first[v] == 1 &&
           !(g->values[v].flags & CLV_V_OUTPUT);
}

/* Begins a chain at node id. Returns false when no chain begins there, or when
 * the node is already part of one. */
static bool try_chain(fusion *f, uint32_t id)
{
    chain c;
    if (f->chain_of[id] != CLV_NONE || !clv__chain_match(f->p, id, &c))
        return false;
    begin_chain(f, id, &c);
    return true;
}

/* Gives a stateful node a group of its own. Stateful nodes keep their order:
 * each is placed above the one before, as if it read its result. */
static void begin_stateful(fusion *f, uint32_t id)
{
    uint32_t before = f->stateful, k = fusion_begin(f, id, CLV_FUSE_OPAQUE);
    f->stateful = k;
    if (before == CLV_NONE)
        return;
    if (f->groups[k].level <= f->groups[before].level)
        f->groups[k].level = f->groups[before].level + 1;
    if (f->groups[before].next_level > f->groups[k].level)
        f->groups[before].next_level = f->groups[k].level;
}

/* Returns true for a widening node whose only reader is an anchor. It begins a
 * group of its own, which the anchor joins, so that memory holds the narrow
 * tensor. */
static bool waits_for_anchor(const fusion *f, uint32_t id, clv_fuse cls)
{
    const clv_graph *g = f->g;
    if (cls != CLV_FUSE_ELTWISE || !fusion_widens(f, id))
        return false;
    uint32_t v = node_outs(g, &g->nodes[id])[0];
    return g->user_first[v + 1] - g->user_first[v] == 1 &&
           class_of(f, g->users[g->user_first[v]]) == CLV_FUSE_ANCHOR;
}

/* Puts node id into a group. An elementwise operator prefers the epilogue of
 * its producer to beginning a chain; any other operator prefers the chain. */
static void fuse_node(fusion *f, uint32_t id)
{
    clv_fuse cls = class_of(f, id);
    int64_t saved;
    clv__node_reads(f->g, &f->g->nodes[id], &f->p->layers[id].cost, f->reads);
    if (f->g->nodes[id].flags & CLV_N_STATEFUL) {
        begin_stateful(f, id);
        return;
    }
    if (f->chain_of[id] != CLV_NONE && continue_chain(f, f->chain_of[id], id))
        return;
    if (fusion_floats(f, id, cls) ||
        (cls != CLV_FUSE_ELTWISE && try_chain(f, id)))
        return;
    uint32_t k = waits_for_anchor(f, id, cls) ? CLV_NONE
                                              : best_group(f, id, cls, &saved);
    if (k == CLV_NONE) {
        if (cls != CLV_FUSE_ELTWISE || !try_chain(f, id))
            fusion_begin(f, id, cls);
        return;
    }
    fusion_place(f, k, id, saved);
    if (!node_is_view(&f->g->nodes[id]))
        fusion_resize(f, &f->groups[k], id, cls);
}

/* Counts, per storage, the reads by nodes that are not views. A graph output
 * counts as one more read, by nobody. */
static void count_pending(fusion *f)
{
    const clv_graph *g = f->g;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        f->pending[clv__storage(g, g->outputs[i])]++;
    for (uint32_t id = 0; id < g->n_nodes; id++) {
        const clv_node *n = &g->nodes[id];
        clv__node_reads(g, n, &f->p->layers[id].cost, f->reads);
        for (uint32_t i = 0; i < n->n_in; i++)
            if (f->reads[i])
                f->pending[clv__storage(g, node_ins(g, n)[i])]++;
    }
}

static bool fusion_new(fusion *f, arena *a)
{
    const clv_graph *g = f->g;
    size_t n = (size_t)g->n_nodes + 1;
    uint32_t most_in = 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        most_in = g->nodes[i].n_in > most_in ? g->nodes[i].n_in : most_in;
    f->groups = arena_array(a, n, sizeof *f->groups);
    f->of = arena_array(a, n, sizeof *f->of);
    f->chain_of = arena_array(a, n, sizeof *f->chain_of);
    f->pending =
        arena_zalloc(a, ((size_t)g->n_values + 1) * sizeof *f->pending);
    f->reads = arena_array(a, most_in, sizeof *f->reads);
    if (!f->groups || !f->of || !f->chain_of || !f->pending || !f->reads)
        return false;
    f->stateful = CLV_NONE;
    memset(f->of, 0xff, n * sizeof *f->of);
    memset(f->chain_of, 0xff, n * sizeof *f->chain_of);
    return true;
}

clv_status clv__fuse(fusion *f, arena *a, clv_err *e)
{
    if (!fusion_new(f, a))
        return clv__nomem(e);
    count_pending(f);
    for (uint32_t id = 0; id < f->g->n_nodes; id++)
        fuse_node(f, id);
    for (uint32_t id = 0; id < f->g->n_nodes; id++)
        if (f->of[id] == CLV_NONE) /* it still floats because its reader floats
                                    * too */
            fusion_begin(f, id, class_of(f, id));
    return CLV_OK;
}

/* -- the cut --------------------------------------------------------------*/

static clv_status fusion_make(fusion *f, arena *a, clv_cut **out, clv_err *e)
{
    CLV_TRY(clv__fuse(f, a, e));
    uint32_t *of_group =
        arena_array(a, (size_t)f->n_groups + 1, sizeof *of_group);
    if (!of_group)
        return clv__nomem(e);
    const cut_labels l = {f->of, f->n_groups, of_group, NULL, 0};
    CLV_TRY(clv__cut_make(f->p, "fusion", &l, out, e));
    return clv__fusion_describe(*out, f, of_group, e);
}

clv_status clv_cut_fusion(const clv_profile *p, const clv_fusion_opts *opts,
                          clv_cut **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(p, err);
    fusion f = {.p = p, .g = p->g};
    CLV_READ(clv_fusion_opts, opts, &f.limit, err);
    arena a = {0};
    clv_status s = fusion_make(&f, &a, out, err);
    arena_free(&a);
    if (s != CLV_OK) {
        clv_cut_free(*out);
        *out = NULL;
    }
    return s;
}
