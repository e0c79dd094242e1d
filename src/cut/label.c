/* label.c - finds the fewest blocks, proves it, and then moves fewer bytes.
 *
 * Rule: each node gets the lowest label it can have.
 *
 *     label(v) = the highest label of v's predecessors, plus one if v may not
 *                run on the device of that label
 *
 *     a (cpu) -> b (acc) -> c (acc) -> d (cpu)
 *        0          1          1          2       first device: the CPU
 *
 * Reason: a label must not be below that of a predecessor, and must be one of
 * an allowed device. By induction along the order, every labelling with the
 * same first device gives v at least this label. So the highest label is the
 * least possible for this first device, and trying both first devices gives the
 * minimum.
 *
 * Proof: walk back from the highest label, each time to the predecessor that
 * forced it. The devices along this path alternate at every new label. The path
 * is the certificate: no partition can have fewer blocks. */
#include "cut/label.h"

#include <string.h>

enum {
    SWEEPS_MAX = 8,
    TRIES = 16,       /* labels that a node tries in a sweep, and the highest */
    READERS_MAX = 64, /* a tensor with more readers does not count when a move
                       * is tried */
};

/* -- labels ---------------------------------------------------------------*/

bool clv__label(arena *a, const dag *d, const uint8_t *side, labels out[2])
{
    for (int s = 0; s < 2; s++) {
        out[s].of = arena_array(a, (size_t)d->n + 1, sizeof *out[s].of);
        out[s].first = s ? CLV_SIDE_ACCELERATOR : CLV_SIDE_CPU;
        out[s].n = 0;
        if (!out[s].of)
            return false;
    }
    uint32_t *c = out[0].of, *m = out[1].of, c_top = 0, m_top = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t x = 0, y = 0;
        for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++) {
            uint32_t u = d->pred[k];
            x = c[u] > x ? c[u] : x;
            y = m[u] > y ? m[u] : y;
        }
        /* Even labels are on the CPU in c and on the accelerator in m. */
        x += !(side[i] & (x & 1 ? CLV_SIDE_ACCELERATOR : CLV_SIDE_CPU));
        y += !(side[i] & (y & 1 ? CLV_SIDE_CPU : CLV_SIDE_ACCELERATOR));
        c[i] = x;
        m[i] = y;
        c_top = x > c_top ? x : c_top;
        m_top = y > m_top ? y : m_top;
    }
    out[0].n = d->n ? c_top + 1 : 0;
    out[1].n = d->n ? m_top + 1 : 0;
    return true;
}

uint32_t clv__label_accelerator(const labels *l)
{
    return l->first == CLV_SIDE_ACCELERATOR ? (l->n + 1) / 2 : l->n / 2;
}

uint32_t clv__label_best(const labels l[2], bool accelerator)
{
    uint32_t a0 = clv__label_accelerator(&l[0]);
    uint32_t a1 = clv__label_accelerator(&l[1]);
    if (accelerator && a0 != a1)
        return a1 < a0;
    return l[1].n < l[0].n;
}

/* -- the witness ----------------------------------------------------------*/

/* Returns the highest label of the predecessors of i. */
static uint32_t label_below(const dag *d, const labels *l, uint32_t i)
{
    uint32_t x = 0;
    for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
        x = l->of[d->pred[k]] > x ? l->of[d->pred[k]] : x;
    return x;
}

/* Returns the predecessor that forced the label of i: one with the highest
 * label, and one that has a full path behind it if there is any. */
static uint32_t forced_by(const dag *d, const labels *l, const uint8_t *full,
                          uint32_t i)
{
    uint32_t x = label_below(d, l, i), best = CLV_NONE;
    for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++) {
        uint32_t u = d->pred[k];
        if (l->of[u] == x && (best == CLV_NONE || full[u] > full[best]))
            best = u;
    }
    return best;
}

/* Sets full[i] when some path that forces the label of i has, at every label
 * from 0 on, a node that can run on no other device. */
static void mark_full(const dag *d, const uint8_t *side, const labels *l,
                      uint8_t *full)
{
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t from = forced_by(d, l, full, i);
        full[i] = (from != CLV_NONE && full[from]) ||
                  (l->of[i] == 0 && side[i] != CLV_SIDE_EITHER);
    }
}

static uint32_t label_highest(const dag *d, const labels *l,
                              const uint8_t *full)
{
    uint32_t best = CLV_NONE;
    for (uint32_t i = 0; i < d->n; i++)
        if (l->of[i] + 1 == l->n && (best == CLV_NONE || full[i] > full[best]))
            best = i;
    return best;
}

uint32_t clv__label_witness(arena *a, const dag *d, const uint8_t *side,
                            const labels *l, uint32_t *out)
{
    uint32_t n = 0;
    uint8_t *full = arena_zalloc(a, (size_t)d->n + 1);
    if (!full)
        return CLV_NONE;
    mark_full(d, side, l, full);
    for (uint32_t i = label_highest(d, l, full); i != CLV_NONE;
         i = forced_by(d, l, full, i)) {
        bool lifted = l->of[i] > label_below(d, l, i);
        bool base = l->of[i] == 0 && side[i] != CLV_SIDE_EITHER &&
                    (n == 0 || l->of[out[n - 1]] != 0);
        if (lifted || base)
            out[n++] = i;
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t t = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = t;
    }
    return n;
}

/* -- bytes between blocks -------------------------------------------------*/

static int64_t value_bytes(const clv_value *v)
{
    return v->rank == CLV_NO_RANK ? 0 : clv__held_bytes(v);
}

int64_t clv__crossing_bytes(const clv_graph *g, const uint32_t *of, uint32_t n)
{
    int64_t sum = 0;
    uint32_t *seen = clv__zalloc(((size_t)n + 1) * sizeof *seen);
    if (!seen)
        return -1;
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t maker = g->values[v].producer;
        if (maker == CLV_NONE)
            continue;
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++) {
            uint32_t k = of[g->users[u]];
            if (k == of[maker] || seen[k] == v + 1)
                continue;
            seen[k] = v + 1;
            sum = sat_add(sum, value_bytes(&g->values[v]));
        }
    }
    clv__free(seen);
    return sum;
}

/* -- sweeps ---------------------------------------------------------------*/

typedef struct sweep {
    const clv_graph *g;
    const dag *d;
    const uint8_t *side;
    labels *l;
} sweep;

/* Returns true when a reader of v other than `but` has this label. */
static bool read_at(const sweep *s, uint32_t v, uint32_t label, uint32_t but)
{
    const clv_graph *g = s->g;
    for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
        if (g->users[u] != but && s->l->of[g->users[u]] == label)
            return true;
    return false;
}

static bool label_too_many(const clv_graph *g, uint32_t v)
{
    return g->user_first[v + 1] - g->user_first[v] > READERS_MAX;
}

/* Returns by how much the crossing bytes change if node i moves to label
 * `to`. */
static int64_t label_change(const sweep *s, uint32_t i, uint32_t to)
{
    const clv_graph *g = s->g;
    const clv_node *n = &g->nodes[i];
    uint32_t from = s->l->of[i];
    int64_t sum = 0;
    for (uint32_t k = 0; k < n->n_in; k++) {
        uint32_t v = node_ins(g, n)[k];
        if (v == CLV_NONE || g->values[v].producer == CLV_NONE ||
            label_too_many(g, v))
            continue;
        uint32_t maker = s->l->of[g->values[v].producer];
        int64_t bytes = input_repeats(g, n, k) ? 0 : value_bytes(&g->values[v]);
        if (from != maker && !read_at(s, v, from, i))
            sum -= bytes;
        if (to != maker && !read_at(s, v, to, i))
            sum = sat_add(sum, bytes);
    }
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint32_t v = node_outs(g, n)[k];
        if (label_too_many(g, v))
            continue;
        int64_t bytes = value_bytes(&g->values[v]);
        if (read_at(s, v, from, i))
            sum = sat_add(sum, bytes);
        if (read_at(s, v, to, i))
            sum -= bytes;
    }
    return sum;
}

/* Finds the range of labels that node i may have: from the highest label of its
 * predecessors to the lowest of its successors, on a device where it may
 * run. */
static void label_room(const sweep *s, uint32_t i, uint32_t *low,
                       uint32_t *high)
{
    const dag *d = s->d;
    const uint32_t *of = s->l->of;
    *low = 0;
    *high = s->l->n - 1;
    for (uint32_t k = d->pred_first[i]; k < d->pred_first[i + 1]; k++)
        *low = of[d->pred[k]] > *low ? of[d->pred[k]] : *low;
    for (uint32_t k = d->succ_first[i]; k < d->succ_first[i + 1]; k++)
        *high = of[d->succ[k]] < *high ? of[d->succ[k]] : *high;
    *low += !(s->side[i] & label_side(s->l, *low));
    *high -= !(s->side[i] & label_side(s->l, *high));
}

static bool label_move(const sweep *s, uint32_t i)
{
    uint32_t low, high, best = s->l->of[i];
    int64_t gain = 0;
    label_room(s, i, &low, &high);
    if (low >= high)
        return false;
    uint32_t step = s->side[i] == CLV_SIDE_EITHER ? 1 : 2;
    for (uint32_t to = low; to <= high && to < low + TRIES; to += step) {
        int64_t c = to == s->l->of[i] ? 0 : label_change(s, i, to);
        if (c < gain) {
            gain = c;
            best = to;
        }
    }
    if (high >= low + TRIES && label_change(s, i, high) < gain)
        best = high;
    if (best == s->l->of[i])
        return false;
    s->l->of[i] = best;
    return true;
}

bool clv__label_sweep(const clv_graph *g, const dag *d, const uint8_t *side,
                      labels *l)
{
    sweep s = {g, d, side, l};
    if (l->n < 2)
        return true;
    int64_t before = clv__crossing_bytes(g, l->of, l->n), after = -1;
    uint32_t *old = clv__alloc(((size_t)d->n + 1) * sizeof *old);
    if (old && before >= 0) {
        bool any = true;
        memcpy(old, l->of, d->n * sizeof *old);
        for (int pass = 0; pass < SWEEPS_MAX && any; pass++) {
            any = false;
            for (uint32_t k = d->n; k-- > 0;)
                any = label_move(&s, k) || any;
            for (uint32_t k = 0; k < d->n; k++)
                any = label_move(&s, k) || any;
        }
        after = clv__crossing_bytes(g, l->of, l->n);
        if (after > before) /* the sweep ignored widely read tensors, which did
                             * get worse */
            memcpy(l->of, old, d->n * sizeof *old);
    }
    clv__free(old);
    return after >= 0;
}
