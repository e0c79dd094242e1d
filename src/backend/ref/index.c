/* index.c - x[i, :, mask] as Python writes it: indices and masks per axis,
 * taken or put; and the elements that one mask keeps. */
#include "backend/kernel.h"

/* Grows shape to hold t as well, aligned on the right. */
static void index_widen(clv_tensor *shape, const clv_tensor *t)
{
    clv_tensor wide = {.rank = shape->rank > t->rank ? shape->rank : t->rank};
    for (uint32_t i = 1; i <= wide.rank; i++) {
        int64_t a = i <= shape->rank ? shape->dims[shape->rank - i] : 1;
        int64_t b = i <= t->rank ? t->dims[t->rank - i] : 1;
        wide.dims[wide.rank - i] = a == 1 ? b : a;
    }
    *shape = wide;
}

/* Elements of x where the mask is true, both broadcast; the result shrinks. */
clv_status kernel_masked_select(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1];
    clv_tensor *y = &k->out[0], shape = {.rank = 0};
    int64_t sx[CLV_MAX_RANK], sm[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    int64_t found = 0;
    index_widen(&shape, x);
    index_widen(&shape, mask);
    broadcast_strides(x, shape.rank, sx);
    broadcast_strides(mask, shape.rank, sm);
    for (int64_t i = 0, n = numel(&shape); i < n; i++) {
        if (get_i(mask, offset_of(idx, sm, shape.rank)))
            copy_run(y, found++, x, offset_of(idx, sx, shape.rank), 1);
        next_index(idx, shape.dims, shape.rank);
    }
    y->dims[0] = found;
    return CLV_OK;
}

/* -- x[i, :, mask] --------------------------------------------------------*/

/* For each axis of x the places it is read at, or NULL: kept whole. */
typedef struct places {
    int64_t *at[CLV_MAX_RANK];
    clv_tensor shape;     /* what the indices broadcast to */
    uint32_t first, last; /* indexed axes: from, to (exclusive) */
    bool apart, any;
} places;

/* The coordinates of a mask's hits, one vector per axis of it. */
static clv_status read_mask(kernel *k, const clv_tensor *m, int64_t **rows,
                            int64_t *hits)
{
    int64_t idx[CLV_MAX_RANK] = {0}, n = numel(m), found = 0;
    *hits = 0;
    for (int64_t i = 0; i < n; i++)
        *hits += get_i(m, i) != 0;
    for (uint32_t a = 0; a < m->rank; a++)
        if (!(rows[a] =
                  arena_array(k->scratch, (size_t)*hits + 1, sizeof(int64_t))))
            return clv__nomem(k->e);
    for (int64_t i = 0; i < n; i++) {
        for (uint32_t a = 0; get_i(m, i) && a < m->rank; a++)
            rows[a][found] = idx[a];
        found += get_i(m, i) != 0;
        next_index(idx, m->dims, m->rank);
    }
    return CLV_OK;
}

/* The places of t, spread over shape and checked against an axis. */
static clv_status index_spread(kernel *k, const clv_tensor *t, int64_t size,
                               const clv_tensor *shape, int64_t **out)
{
    int64_t n = numel(shape), idx[CLV_MAX_RANK] = {0}, s[CLV_MAX_RANK];
    *out = arena_array(k->scratch, (size_t)n + 1, sizeof **out);
    if (!*out)
        return clv__nomem(k->e);
    broadcast_strides(t, shape->rank, s);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = get_i(t, offset_of(idx, s, shape->rank));
        (*out)[i] = v < 0 ? v + size : v;
        if ((*out)[i] < 0 || (*out)[i] >= size)
            return clv__fail(k->e, CLV_SHAPE, "index %lld of an axis of %lld",
                             (long long)v, (long long)size);
        next_index(idx, shape->dims, shape->rank);
    }
    return CLV_OK;
}

/* Inputs 1 to `end` are the indices. */
static clv_status find_places(kernel *k, uint32_t end, places *p)
{
    const clv_tensor *x = k->in[0];
    clv_tensor index[CLV_MAX_RANK];
    bool given[CLV_MAX_RANK] = {false};
    uint32_t axis = 0;
    for (uint32_t i = 1; i < end; i++) {
        const clv_tensor *t = k->in[i];
        bool mask = t && t->dtype == CLV_BOOL;
        uint32_t takes = mask ? t->rank : 1;
        if (axis + takes > x->rank)
            return clv__fail(k->e, CLV_SHAPE, "more indices than %u axes",
                             x->rank);
        p->apart = p->apart || (t && p->any && p->last != axis);
        if (t && !p->any)
            p->first = axis;
        int64_t *rows[CLV_MAX_RANK], hits = 0;
        if (mask)
            CLV_TRY(read_mask(k, t, rows, &hits));
        for (uint32_t a = 0; t && a < takes; a++) {
            index[axis + a] = mask ? (clv_tensor){.dtype = CLV_INT64,
                                                  .rank = 1,
                                                  .dims = {hits},
                                                  .data = rows[a]}
                                   : *t;
            given[axis + a] = true;
            index_widen(&p->shape, &index[axis + a]);
        }
        axis += takes;
        if (t) {
            p->any = true;
            p->last = axis;
        }
    }
    for (uint32_t a = 0; a < x->rank; a++)
        if (given[a])
            CLV_TRY(
                index_spread(k, &index[a], x->dims[a], &p->shape, &p->at[a]));
    return CLV_OK;
}

/* What x[indices] looks like: the axes kept before the indices, theirs, those
 * after; and where its elements lie in x. */
typedef struct picked {
    clv_tensor view;
    int64_t step[CLV_MAX_RANK]; /* in x; 0 along the indices' axes */
    uint32_t slot;              /* the first of these */
} picked;

static clv_status index_pick(const kernel *k, const places *p, picked *to)
{
    const clv_tensor *x = k->in[0];
    int64_t own[CLV_MAX_RANK];
    uint32_t rank = 0, front = p->apart ? 0 : p->first;
    strides_of(x, own);
    for (uint32_t a = 0; a <= x->rank; a++) {
        if (a == front) {
            to->slot = rank;
            for (uint32_t i = 0; i < p->shape.rank; i++) {
                if (rank == CLV_MAX_RANK)
                    return clv__fail(k->e, CLV_SHAPE, "too many axes");
                to->step[rank] = 0;
                to->view.dims[rank++] = p->shape.dims[i];
            }
        }
        if (a < x->rank && !p->at[a]) {
            if (rank == CLV_MAX_RANK)
                return clv__fail(k->e, CLV_SHAPE, "too many axes");
            to->step[rank] = own[a];
            to->view.dims[rank++] = x->dims[a];
        }
    }
    to->view.rank = rank;
    return CLV_OK;
}

/* Where in x the element idx of the view lies. */
static int64_t index_place_of(const clv_tensor *x, const places *p,
                              const picked *to, const int64_t *idx)
{
    int64_t own[CLV_MAX_RANK], which = 0;
    int64_t at = offset_of(idx, to->step, to->view.rank);
    strides_of(x, own);
    for (uint32_t i = 0; i < p->shape.rank; i++)
        which = which * p->shape.dims[i] + idx[to->slot + i];
    for (uint32_t a = 0; a < x->rank; a++)
        if (p->at[a])
            at += p->at[a][which] * own[a];
    return at;
}

clv_status kernel_index(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    places p = {.any = false};
    picked to = {.slot = 0};
    int64_t idx[CLV_MAX_RANK] = {0};
    CLV_TRY(find_places(k, k->n->n_in, &p));
    CLV_TRY(index_pick(k, &p, &to));
    for (uint32_t i = 0; i < to.view.rank && i < y->rank; i++)
        y->dims[i] = to.view.dims[i]; /* masks know only now */
    for (int64_t i = 0, n = numel(&to.view); i < n && clv__in_time(1); i++) {
        copy_run(y, i, x, index_place_of(x, &p, &to, idx), 1);
        next_index(idx, to.view.dims, to.view.rank);
    }
    return CLV_OK;
}

/* x, indices, values: x with x[indices] = values. */
clv_status kernel_index_put(kernel *k)
{
    const clv_tensor *x = k->in[0], *v = k->in[k->n->n_in - 1];
    places p = {.any = false};
    picked to = {.slot = 0};
    int64_t idx[CLV_MAX_RANK] = {0}, strides[CLV_MAX_RANK];
    if (!v)
        return clv__fail(k->e, CLV_SHAPE, "no values to put");
    CLV_TRY(find_places(k, k->n->n_in - 1, &p));
    CLV_TRY(index_pick(k, &p, &to));
    for (uint32_t i = 1; i <= v->rank; i++)
        if (i > to.view.rank ||
            (v->dims[v->rank - i] != 1 &&
             v->dims[v->rank - i] != to.view.dims[to.view.rank - i]))
            return clv__fail(k->e, CLV_SHAPE,
                             "the values do not fit where they go");
    broadcast_strides(v, to.view.rank, strides);
    copy_run(&k->out[0], 0, x, 0, numel(x));
    for (int64_t i = 0, n = numel(&to.view); i < n && clv__in_time(1); i++) {
        copy_run(&k->out[0], index_place_of(x, &p, &to, idx), v,
                 offset_of(idx, strides, to.view.rank), 1);
        next_index(idx, to.view.dims, to.view.rank);
    }
    return CLV_OK;
}
