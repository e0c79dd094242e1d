/* rewrite_layout.c - moves that cancel, or that need not be made. */
#include "run/rewrite.h"

#include <string.h>

/* A view of a view is a view of the first. */
bool rewrite_views(rewriter *r, uint32_t id)
{
    uint32_t y = rw_out(r, id);
    if (rw_node(r, id)->n_out != 1 || rw_flat_root(r, y) == y)
        return false;
    uint32_t x = rw_in(r, id, 0), root = rw_flat_root(r, x);
    if (root == x || clv__numel(&r->g->values[y]) < 1)
        return false;
    if (rw_same_shape(r, root, y))
        return rw_forward(r, id, root);
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, root);
    rw_form_ints(r, &f, CLV_A_SHAPE, r->g->values[y].dims, rw_rank(r, y));
    return !r->failed && rw_become(r, id, &f);
}

/* A permutation of a permutation is one. */
bool rewrite_permutes(rewriter *r, uint32_t id)
{
    uint32_t p[CLV_MAX_RANK], q[CLV_MAX_RANK];
    uint32_t before = rw_maker(r, rw_in(r, id, 0));
    int64_t both[CLV_MAX_RANK];
    if (before == CLV_NONE || !rw_is_static(r, rw_out(r, id)) ||
        !rw_perm(r, id, p) || !rw_perm(r, before, q))
        return false;
    uint32_t rank = rw_rank(r, rw_out(r, id));
    for (uint32_t i = 0; i < rank; i++)
        both[i] = q[p[i]];
    rw_form f = {.op = CLV_OP_PERMUTE};
    rw_form_input(&f, rw_in(r, before, 0));
    rw_form_ints(r, &f, CLV_A_PERM, both, rank);
    return !r->failed && rw_become(r, id, &f);
}

/* A permutation that moves axes of one element alone is a reshape. */
bool rewrite_permute_ones(rewriter *r, uint32_t id)
{
    uint32_t p[CLV_MAX_RANK], y = rw_out(r, id), x = rw_in(r, id, 0);
    int64_t last = -1;
    if (!rw_is_static(r, y) || !rw_is_static(r, x) || !rw_perm(r, id, p) ||
        clv__numel(&r->g->values[y]) < 1)
        return false;
    for (uint32_t i = 0; i < rw_rank(r, y); i++) {
        if (rw_dim(r, y, (int)i) == 1)
            continue;
        if ((int64_t)p[i] < last)
            return false;
        last = p[i];
    }
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, x);
    rw_form_ints(r, &f, CLV_A_SHAPE, r->g->values[y].dims, rw_rank(r, y));
    return !r->failed && rw_become(r, id, &f);
}

/* reshape(permute(reshape(x, (N, g, C/g, ..)), swap 1 and 2), x's shape) */
bool rewrite_channel_shuffle(rewriter *r, uint32_t id)
{
    uint32_t y = rw_out(r, id), v = rw_in(r, id, 0), p[CLV_MAX_RANK];
    uint32_t move = rw_maker(r, v);
    if (move == CLV_NONE || !rw_is_static(r, y) || rw_flat_root(r, y) == y ||
        rw_rank(r, y) < 3 || !rw_perm(r, move, p))
        return false;
    uint32_t wide = rw_in(r, move, 0), x = rw_flat_root(r, wide);
    uint32_t rank = rw_rank(r, y);
    if (rw_rank(r, wide) != rank + 1 || !rw_same_shape(r, x, y) ||
        rw_dim(r, wide, 0) != rw_dim(r, y, 0))
        return false;
    for (uint32_t i = 0; i <= rank; i++)
        if (p[i] != (i == 1   ? 2
                     : i == 2 ? 1
                              : i) ||
            (i > 2 && rw_dim(r, wide, (int)i) != rw_dim(r, y, (int)i - 1)))
            return false;
    rw_form f = {.op = CLV_OP_CHANNEL_SHUFFLE};
    rw_form_input(&f, x);
    rw_form_int(&f, CLV_A_GROUPS, rw_dim(r, wide, 1));
    return rw_become(r, id, &f);
}

/* Which axes of a stay when only axes of one element are dropped to get b. Of
 * several that may be, the first are dropped. */
static bool drops_ones(const clv_value *a, const clv_value *b, bool *stays)
{
    uint32_t left = b->rank;
    for (uint32_t i = a->rank; i-- > 0;) {
        stays[i] = left > 0 && a->dims[i] == b->dims[left - 1];
        left -= stays[i];
        if (!stays[i] && a->dims[i] != 1)
            return false;
    }
    return left == 0 && b->rank < a->rank;
}

/* squeeze(permute(x)) -> permute(squeeze(x)), so that the permutation is the
 * last and may be absorbed by what reads it. */
bool rewrite_squeeze_permute(rewriter *r, uint32_t id)
{
    uint32_t y = rw_out(r, id), v = rw_in(r, id, 0), p[CLV_MAX_RANK];
    bool stays[CLV_MAX_RANK], kept[CLV_MAX_RANK];
    if (rw_node(r, id)->n_out != 1 || rw_flat_root(r, y) == y || !rw_once(r, v))
        return false;
    uint32_t move = rw_maker(r, v), n = 0, m = 0, new[CLV_MAX_RANK];
    if (move == CLV_NONE || !rw_perm(r, move, p) ||
        !drops_ones(&r->g->values[v], &r->g->values[y], stays))
        return false;
    int64_t dims[CLV_MAX_RANK], perm[CLV_MAX_RANK];
    uint32_t x = rw_in(r, move, 0), rank = rw_rank(r, v);
    for (uint32_t i = 0; i < rank; i++)
        kept[p[i]] = stays[i];
    for (uint32_t i = 0; i < rank; i++) {
        new[i] = n;
        if (kept[i])
            dims[n++] = rw_dim(r, x, (int)i);
    }
    for (uint32_t i = 0; i < rank; i++)
        if (stays[i])
            perm[m++] = new[p[i]];
    rw_form view = {.op = CLV_OP_RESHAPE}, f = {.op = CLV_OP_PERMUTE};
    rw_form_input(&view, x);
    rw_form_ints(r, &view, CLV_A_SHAPE, dims, n);
    rw_form_input(&f, rw_add(r, &view));
    rw_form_ints(r, &f, CLV_A_PERM, perm, m);
    return !r->failed && f.in[0] != CLV_NONE && rw_become(r, id, &f);
}
