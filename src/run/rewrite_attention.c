/* rewrite_attention.c - attention that an exporter wrote as products.
 *
 *      scores = (a q) (b k)^T c  [+ mask]...      numbers a, b, c anywhere
 *      y = softmax(scores) v
 *
 * A mask may be added, or be a choice between the score and a number that is
 * -infinity or so low that no score comes near it. Several masks are added up
 * before, which makes one constant of constant ones. Keys that were repeated
 * for groups of queries are taken as they were before. In a second step, heads
 * that were moved before and behind it stay where they are. */
#include "run/rewrite.h"

#include <math.h>
#include <string.h>

typedef struct attention_form {
    uint32_t q, k, v; /* (B,H,S,D), (B,G,T,D), (B,G,T,E) */
    uint32_t mask;    /* CLV_NONE: none */
    double scale;
    bool guarded; /* what would be NaN is 0 */
} attention_form;

/* Where all of a row is masked by one low number, its weights are equal. That
 * number is LOW at most, or scores of common size might exceed it; added to a
 * score it becomes LOWEST, so that no score is left in the sum. */
static const double LOW = -1e8, LOWEST = -1e38;

/* -- softmax --------------------------------------------------------------*/

/* where(isnan(p), 0, p) -> p */
static uint32_t unguarded(const rewriter *r, uint32_t v, bool *guarded)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_WHERE);
    *guarded = false;
    if (id == CLV_NONE || !rw_once(r, v))
        return v;
    uint32_t p = rw_in(r, id, 2);
    uint32_t test = rw_made_by(r, rw_in(r, id, 0), CLV_OP_ISNAN);
    if (test == CLV_NONE || rw_in(r, test, 0) != p ||
        !rw_all(r, rw_in(r, id, 1), 0) || r->uses[p] != 2)
        return v;
    *guarded = true;
    return p;
}

/* The scores that v is the softmax of, over the last axis; CLV_NONE. */
static uint32_t softmax_input(const rewriter *r, uint32_t v)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_SOFTMAX), axis;
    if (id == CLV_NONE || r->g->values[v].flags & CLV_V_OUTPUT ||
        !rw_is_float(r, v) || !rw_is_float(r, rw_in(r, id, 0)) ||
        get_axis(rw_node(r, id), rw_rank(r, v), &axis, NULL) != CLV_OK ||
        axis + 1 != rw_rank(r, v))
        return CLV_NONE;
    return rw_once(r, rw_in(r, id, 0)) ? rw_in(r, id, 0) : CLV_NONE;
}

/* -- masks ----------------------------------------------------------------*/

enum { MASKS = 3 };

typedef struct score_walk {
    uint32_t v, mask[MASKS], n_masks;
    double scale;
    uint32_t rank; /* of the scores, where softmax sees them */
    bool alone;    /* no other mask may be added to the one that is there */
} score_walk;

static bool is_product_op(clv_op op)
{
    return op == CLV_OP_MATMUL || op == CLV_OP_BMM;
}

/* Whether v is scores: goes back through what is done to them. */
static bool leads_to_product(const rewriter *r, uint32_t v)
{
    for (int i = 0; i < 8; i++) {
        uint32_t id = rw_maker(r, v), x;
        double c;
        if (id == CLV_NONE)
            return false;
        if (is_product_op(rw_op(r, id)))
            return rw_once(r, v);
        if (!rw_once(r, v))
            return false;
        switch (rw_op(r, id)) {
        case CLV_OP_MUL:
        case CLV_OP_DIV:
            if (!rw_with_number(r, id, &x, &c))
                return false;
            v = x;
            break;
        case CLV_OP_ADD:
            if (rw_node(r, id)->n_in != 2)
                return false;
            v = rw_same_shape(r, rw_in(r, id, 0), v) &&
                        leads_to_product(r, rw_in(r, id, 0))
                    ? rw_in(r, id, 0)
                    : rw_in(r, id, 1);
            break;
        case CLV_OP_RESHAPE:
            v = rw_in(r, id, 0);
            break;
        default:
            return false;
        }
    }
    return false;
}

/* m, which is broadcast to scores with `extra` axes of one element more in
 * front, as a mask of rank 4 at most; CLV_NONE: it is none. */
static uint32_t mask_of_rank(rewriter *r, uint32_t m, uint32_t rank)
{
    const clv_value *v = &r->g->values[m];
    uint32_t drop = v->rank > rank ? v->rank - rank : 0;
    for (uint32_t i = 0; i < drop; i++)
        if (v->dims[i] != 1)
            return CLV_NONE;
    if (!drop)
        return m;
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, m);
    rw_form_ints(r, &f, CLV_A_SHAPE, v->dims + drop, rank);
    return rw_known(r, m) ? rw_const_view(r, m, rank, v->dims + drop)
                          : rw_add(r, &f);
}

static bool take_mask(rewriter *r, score_walk *w, uint32_t m)
{
    if (w->n_masks == MASKS || m == CLV_NONE || !rw_is_static(r, m) ||
        w->scale != 1) /* the mask would be scaled too */
        return false;
    m = mask_of_rank(r, m, w->rank);
    if (m == CLV_NONE)
        return false;
    w->mask[w->n_masks++] = m;
    return true;
}

static uint32_t number_const(rewriter *r, double x)
{
    clv_tensor t;
    uint32_t v = rw_const(r, CLV_FLOAT32, 0, NULL, &t);
    if (v != CLV_NONE)
        put_f(&t, 0, x);
    return v;
}

/* The number that is added where a choice takes c. */
static uint32_t low_const(rewriter *r, score_walk *w, double c)
{
    w->alone = w->alone || c > LOWEST;
    return number_const(r, c > LOWEST ? LOWEST : c);
}

/* where(condition, a, b), of which one is the scores and one a low number */
static bool take_choice(rewriter *r, score_walk *w, uint32_t id)
{
    uint32_t cond = rw_in(r, id, 0), low, scores;
    bool when_true = leads_to_product(r, rw_in(r, id, 1));
    scores = rw_in(r, id, when_true ? 1 : 2);
    low = rw_in(r, id, when_true ? 2 : 1);
    double c;
    if (!leads_to_product(r, scores) || !rw_is_static(r, cond) ||
        !rw_same_shape(r, scores, w->v) || !rw_number(r, low, &c) || c > LOW)
        return false;
    rw_form f = {.op = CLV_OP_WHERE};
    uint32_t zero = number_const(r, 0), bottom = low_const(r, w, c);
    if (zero == CLV_NONE || bottom == CLV_NONE)
        return false;
    rw_form_input(&f, cond);
    rw_form_input(&f, when_true ? zero : bottom);
    rw_form_input(&f, when_true ? bottom : zero);
    uint32_t m = isinf(c) && when_true ? cond : rw_add(r, &f);
    if (!take_mask(r, w, m))
        return false;
    w->v = scores;
    return true;
}

/* masked_fill(scores, mask, low) */
static bool take_fill(rewriter *r, score_walk *w, uint32_t id)
{
    uint32_t x = rw_in(r, id, 0), m = rw_in(r, id, 1);
    double c = attr_float(rw_node(r, id), CLV_A_VALUE);
    if (rw_in(r, id, 2) != CLV_NONE && !rw_number(r, rw_in(r, id, 2), &c))
        return false;
    if (c > LOW || !leads_to_product(r, x) || !rw_same_shape(r, x, w->v))
        return false;
    rw_form f = {.op = CLV_OP_WHERE};
    uint32_t zero = number_const(r, 0), bottom = low_const(r, w, c);
    if (zero == CLV_NONE || bottom == CLV_NONE)
        return false;
    rw_form_input(&f, m);
    rw_form_input(&f, bottom);
    rw_form_input(&f, zero);
    if (!take_mask(r, w, rw_add(r, &f)))
        return false;
    w->v = x;
    return true;
}

/* scores + mask, on either side */
static bool take_sum(rewriter *r, score_walk *w, uint32_t id)
{
    if (rw_node(r, id)->n_in != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t x = rw_in(r, id, i), m = rw_in(r, id, !i);
        if (!rw_same_shape(r, x, w->v) || !leads_to_product(r, x) ||
            !rw_is_float(r, m))
            continue;
        if (!take_mask(r, w, m))
            return false;
        w->v = x;
        return true;
    }
    return false;
}

/* A view that only adds or drops axes of one element in front. */
static bool take_view(rewriter *r, score_walk *w, uint32_t id)
{
    uint32_t x = rw_in(r, id, 0);
    const clv_value *a = &r->g->values[w->v], *b = &r->g->values[x];
    const clv_value *wide = a->rank > b->rank ? a : b;
    const clv_value *slim = a->rank > b->rank ? b : a;
    uint32_t more = (uint32_t)(wide->rank - slim->rank);
    if (!rw_is_static(r, x) || !slim->rank)
        return false;
    for (uint32_t i = 0; i < wide->rank; i++)
        if (wide->dims[i] != (i < more ? 1 : slim->dims[i - more]))
            return false;
    w->v = x;
    return true;
}

/* Goes from the softmax back to the product. */
static bool walk_scores(rewriter *r, score_walk *w)
{
    for (int i = 0; i < 8; i++) {
        uint32_t id = rw_maker(r, w->v), x;
        double c;
        if (id == CLV_NONE || !rw_once(r, w->v) || !rw_is_float(r, w->v))
            return false;
        clv_op op = rw_op(r, id);
        bool ok = false;
        if (is_product_op(op))
            return true;
        if ((op == CLV_OP_MUL || op == CLV_OP_DIV) &&
            rw_with_number(r, id, &x, &c)) {
            w->scale = op == CLV_OP_MUL ? w->scale * c : w->scale / c;
            w->v = x;
            ok = true;
        } else if (op == CLV_OP_ADD) {
            ok = take_sum(r, w, id);
        } else if (op == CLV_OP_WHERE) {
            ok = take_choice(r, w, id);
        } else if (op == CLV_OP_MASKED_FILL) {
            ok = take_fill(r, w, id);
        } else if (op == CLV_OP_RESHAPE) {
            ok = take_view(r, w, id);
        }
        if (!ok)
            return false;
    }
    return false;
}

/* One mask of all; they are floats where there are several. */
static bool join_masks(rewriter *r, const score_walk *w, uint32_t *mask)
{
    *mask = w->n_masks ? w->mask[0] : CLV_NONE;
    if (w->alone && w->n_masks > 1)
        return false;
    for (uint32_t i = 1; i < w->n_masks; i++) {
        rw_form f = {.op = CLV_OP_ADD};
        if (!rw_is_float(r, *mask) || !rw_is_float(r, w->mask[i]))
            return false;
        rw_form_input(&f, *mask);
        rw_form_input(&f, w->mask[i]);
        *mask = rw_add(r, &f);
        if (*mask == CLV_NONE)
            return false;
    }
    return true;
}

/* -- operands -------------------------------------------------------------*/

/* v with its last two axes swapped. */
static uint32_t turned_keys(rewriter *r, uint32_t v)
{
    uint32_t rank = rw_rank(r, v), p[CLV_MAX_RANK], id = rw_maker(r, v);
    int64_t both[CLV_MAX_RANK];
    bool moved = id != CLV_NONE && rw_perm(r, id, p), same = true;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t to = i + 2 == rank ? i + 1 : i + 1 == rank ? i - 1 : i;
        both[i] = moved ? p[to] : to;
        same = same && both[i] == i;
    }
    if (moved && same)
        return rw_in(r, id, 0);
    rw_form f = {.op = CLV_OP_PERMUTE};
    rw_form_input(&f, moved ? rw_in(r, id, 0) : v);
    rw_form_ints(r, &f, CLV_A_PERM, both, rank);
    return rw_add(r, &f);
}

/* Keys as they were before each was repeated for a group of queries:
 * reshape(expand(x (B,G,1,T,D))) -> x as (B,G,T,D). */
static uint32_t ungrouped(rewriter *r, uint32_t v)
{
    uint32_t view = rw_made_by(r, v, CLV_OP_RESHAPE);
    if (view == CLV_NONE || rw_rank(r, v) != 4)
        return v;
    uint32_t wide = rw_in(r, view, 0), id = rw_made_by(r, wide, CLV_OP_EXPAND);
    if (id == CLV_NONE || rw_rank(r, wide) != 5)
        return v;
    uint32_t x = rw_in(r, id, 0);
    const clv_value *a = &r->g->values[x], *b = &r->g->values[wide];
    if (!rw_is_float(r, x) || a->rank != 5 || a->dims[2] != 1)
        return v;
    for (uint32_t i = 0; i < 5; i++)
        if (i != 2 && a->dims[i] != b->dims[i])
            return v;
    int64_t dims[4] = {a->dims[0], a->dims[1], a->dims[3], a->dims[4]};
    if (rw_dim(r, v, 0) != dims[0] || rw_dim(r, v, 2) != dims[2] ||
        rw_dim(r, v, 3) != dims[3])
        return v;
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, x);
    rw_form_ints(r, &f, CLV_A_SHAPE, dims, 4);
    uint32_t y = rw_add(r, &f);
    return y == CLV_NONE ? v : y;
}

/* v of rank 3 or more as one of rank 4: the axes before the heads are one. */
static uint32_t of_rank_4(rewriter *r, uint32_t v)
{
    const clv_value *x = &r->g->values[v];
    uint32_t rank = x->rank;
    if (rank == 4)
        return v;
    int64_t dims[4] = {1, 1, x->dims[rank - 2], x->dims[rank - 1]};
    if (rank > 2)
        dims[1] = x->dims[rank - 3];
    for (uint32_t i = 0; i + 3 < rank; i++)
        dims[0] *= x->dims[i];
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, v);
    rw_form_ints(r, &f, CLV_A_SHAPE, dims, 4);
    return rw_add(r, &f);
}

/* q, k and v agree in all axes before the last two. */
static bool same_leads(const rewriter *r, uint32_t a, uint32_t b)
{
    const clv_value *x = &r->g->values[a], *y = &r->g->values[b];
    return x->rank == y->rank && x->rank >= 2 &&
           !memcmp(x->dims, y->dims, (x->rank - 2u) * sizeof *x->dims);
}

/* Finds all operands of node id, the product with the values. */
static bool attention_find(rewriter *r, uint32_t id, attention_form *f)
{
    uint32_t p = unguarded(r, rw_in(r, id, 0), &f->guarded), y = rw_out(r, id);
    uint32_t scores = softmax_input(r, p);
    if (scores == CLV_NONE || !rw_is_float(r, y) ||
        (!f->guarded && !rw_once(r, p)) || rw_rank(r, y) < 2)
        return false;
    score_walk w = {.v = scores, .scale = 1, .rank = rw_rank(r, scores)};
    if (!walk_scores(r, &w))
        return false;
    uint32_t m = rw_maker(r, w.v), a = rw_in(r, m, 0), b = rw_in(r, m, 1);
    f->v = rw_in(r, id, 1);
    if (!rw_is_float(r, a) || !rw_is_float(r, b) || !rw_is_float(r, f->v) ||
        !same_leads(r, a, b) || !same_leads(r, a, f->v) ||
        clv__numel(&r->g->values[y]) < 1 || (rw_rank(r, a) > 4 && w.n_masks))
        return false;
    f->scale = w.scale * rw_scaled(r, a, &f->q);
    f->scale *= rw_scaled(r, b, &b);
    uint32_t flat = rw_maker(r, b);
    uint32_t perm[CLV_MAX_RANK];
    if (flat != CLV_NONE && rw_perm(r, flat, perm)) { /* scaled, then turned */
        uint32_t inner;
        double s = rw_scaled(r, rw_in(r, flat, 0), &inner);
        if (s != 1) {
            rw_form t = {.op = CLV_OP_PERMUTE};
            int64_t list[CLV_MAX_RANK];
            for (uint32_t i = 0; i < rw_rank(r, b); i++)
                list[i] = perm[i];
            rw_form_input(&t, inner);
            rw_form_ints(r, &t, CLV_A_PERM, list, rw_rank(r, b));
            b = rw_add(r, &t);
            f->scale *= s;
        }
    }
    if (b == CLV_NONE || !isfinite(f->scale) || f->scale == 0)
        return false;
    f->k = turned_keys(r, b);
    if (f->k == CLV_NONE || !join_masks(r, &w, &f->mask))
        return false;
    f->k = ungrouped(r, f->k);
    f->v = ungrouped(r, f->v);
    return true;
}

/* -- by heads -------------------------------------------------------------*/

static void attention_attrs(rw_form *n, double scale, bool empty_nan)
{
    rw_form_float(n, CLV_A_SCALE, scale);
    if (empty_nan)
        rw_form_int(n, CLV_A_EMPTY_NAN, 1);
}

bool rewrite_attention(rewriter *r, uint32_t id)
{
    attention_form f;
    uint32_t y = rw_out(r, id);
    if (!attention_find(r, id, &f))
        return false;
    rw_form n = {.op = CLV_OP_ATTENTION};
    rw_form_input(&n, of_rank_4(r, f.q));
    rw_form_input(&n, of_rank_4(r, f.k));
    rw_form_input(&n, of_rank_4(r, f.v));
    if (f.mask != CLV_NONE)
        rw_form_input(&n, f.mask);
    for (uint32_t i = 0; i < 3; i++)
        if (n.in[i] == CLV_NONE)
            return false;
    attention_attrs(&n, f.scale, !f.guarded);
    if (rw_rank(r, y) == 4)
        return rw_become(r, id, &n);
    uint32_t made = rw_add(r, &n);
    rw_form back = {.op = CLV_OP_RESHAPE};
    if (made == CLV_NONE)
        return false;
    rw_form_input(&back, made);
    rw_form_ints(r, &back, CLV_A_SHAPE, r->g->values[y].dims, rw_rank(r, y));
    return rw_become(r, id, &back);
}

/* -- in rows of all heads -------------------------------------------------*/

static bool swaps_heads(const rewriter *r, uint32_t id)
{
    uint32_t p[CLV_MAX_RANK];
    return id != CLV_NONE && rw_rank(r, rw_out(r, id)) == 4 &&
           rw_perm(r, id, p) && p[0] == 0 && p[1] == 2 && p[2] == 1 &&
           p[3] == 3;
}

/* (B,H,S,D) as (B,S,H*D): what it was before its heads were moved, or moved
 * back. *moves counts the copies that this adds. */
static uint32_t as_rows(rewriter *r, uint32_t v, int *moves, bool make)
{
    uint32_t id = rw_maker(r, v), x = CLV_NONE;
    const int64_t *d = r->g->values[v].dims;
    int64_t rows[3] = {d[0], d[2], d[1] * d[3]}, perm[4] = {0, 2, 1, 3};
    if (swaps_heads(r, id))
        x = rw_in(r, id, 0);
    else
        *moves += d[1] != 1 && d[2] != 1;
    if (!make)
        return CLV_NONE;
    if (x == CLV_NONE) {
        rw_form p = {.op = CLV_OP_PERMUTE};
        rw_form_input(&p, v);
        rw_form_ints(r, &p, CLV_A_PERM, perm, 4);
        x = rw_add(r, &p);
    }
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, x);
    rw_form_ints(r, &f, CLV_A_SHAPE, rows, 3);
    return x == CLV_NONE ? CLV_NONE : rw_add(r, &f);
}

/* permute(attention(by heads)) -> attention in rows, where fewer copies are
 * needed. The result is (B,S,H,D), a view of (B,S,H*D). */
bool rewrite_attention_rows(rewriter *r, uint32_t id)
{
    uint32_t v = rw_in(r, id, 0), at = rw_made_by(r, v, CLV_OP_ATTENTION);
    if (at == CLV_NONE || !rw_once(r, v) || !swaps_heads(r, id) ||
        rw_rank(r, rw_in(r, at, 0)) != 4 || rw_node(r, at)->n_in > 4)
        return false;
    int moves = -1;
    for (uint32_t i = 0; i < 3; i++)
        as_rows(r, rw_in(r, at, i), &moves, false);
    if (moves > 0)
        return false;
    rw_form n = {.op = CLV_OP_ATTENTION};
    for (uint32_t i = 0; i < 3; i++) {
        rw_form_input(&n, as_rows(r, rw_in(r, at, i), &moves, true));
        if (n.in[i] == CLV_NONE)
            return false;
    }
    if (rw_in(r, at, 3) != CLV_NONE)
        rw_form_input(&n, rw_in(r, at, 3));
    rw_form_int(&n, CLV_A_HEADS, rw_dim(r, rw_in(r, at, 0), 1));
    rw_form_int(&n, CLV_A_KV_HEADS, rw_dim(r, rw_in(r, at, 1), 1));
    rw_form_attr(r, &n, at, CLV_A_SCALE);
    rw_form_attr(r, &n, at, CLV_A_EMPTY_NAN);
    uint32_t y = rw_out(r, id), made = rw_add(r, &n);
    rw_form back = {.op = CLV_OP_RESHAPE};
    if (made == CLV_NONE)
        return false;
    rw_form_input(&back, made);
    rw_form_ints(r, &back, CLV_A_SHAPE, r->g->values[y].dims, 4);
    return rw_become(r, id, &back);
}
