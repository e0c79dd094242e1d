/* shuffle.c - elements moved by rules that no stride expresses: stacks, groups
 * of channels, repeats, grids, windows as columns, indices per axis. */
#include "backend/kernel.h"

#include <string.h>

static int64_t product(const clv_tensor *t, uint32_t from, uint32_t to)
{
    int64_t p = 1;
    for (uint32_t i = from; i < to; i++)
        p *= t->dims[i];
    return p;
}

/* Grows shape to hold t as well, aligned on the right. */
static void widen(clv_tensor *shape, const clv_tensor *t)
{
    clv_tensor wide = {.rank = shape->rank > t->rank ? shape->rank : t->rank};
    for (uint32_t i = 1; i <= wide.rank; i++) {
        int64_t a = i <= shape->rank ? shape->dims[shape->rank - i] : 1;
        int64_t b = i <= t->rank ? t->dims[t->rank - i] : 1;
        wide.dims[wide.rank - i] = a == 1 ? b : a;
    }
    *shape = wide;
}

/* Equal shapes along a new axis. */
clv_status kernel_stack(kernel *k)
{
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, k->e));
    int64_t run = product(y, axis + 1, y->rank), many = y->dims[axis];
    for (int64_t i = 0, n = numel(y); i < n; i++)
        copy_run(y, i, k->in[i / run % many], i / (run * many) * run + i % run,
                 1);
    return CLV_OK;
}

/* (N, g*c, ..) -> (N, c*g, ..): channels of the groups in turn */
clv_status kernel_channel_shuffle(kernel *k)
{
    const clv_tensor *x = k->in[0];
    int64_t groups = attr_int(k->n, CLV_A_GROUPS), channels = x->dims[1];
    int64_t run = product(x, 2, x->rank), each = channels / groups;
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        int64_t c = i / run % channels;
        int64_t from = c % groups * each + c / groups;
        copy_run(&k->out[0], i, x, i + (from - c) * run, 1);
    }
    return CLV_OK;
}

/* Each slice of an axis as often as `repeats` says. */
clv_status kernel_repeat_interleave(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    int_list times;
    uint32_t axis = 0;
    bool flat = !attr_get(k->n, CLV_A_AXIS) || !x->rank;
    CLV_TRY(list_of(k, CLV_A_REPEATS, 1, &times));
    if (!flat)
        CLV_TRY(axis_of(k, &axis));
    int64_t size = flat ? numel(x) : x->dims[axis], to = 0;
    int64_t run = flat ? 1 : product(x, axis + 1, x->rank);
    int64_t rows = flat ? 1 : product(x, 0, axis), room = numel(y);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < size; i++) {
            int64_t many = list_at(times.v, times.n, (uint32_t)i);
            for (int64_t t = 0; t < many; t++)
                for (int64_t j = 0; j < run && to < room; j++)
                    copy_run(y, to++, x, (r * size + i) * run + j, 1);
        }
    return CLV_OK;
}

/* Vectors, each repeated along the axes of the others. */
clv_status kernel_meshgrid(kernel *k)
{
    bool xy = k->n->n_in > 1 && attr_is(k->n, CLV_A_MODE, "xy");
    for (uint32_t o = 0; o < k->n->n_out && o < k->n->n_in; o++) {
        clv_tensor *y = output_of(k, o);
        uint32_t axis = xy && o < 2 ? 1 - o : o;
        for (int64_t i = 0; y && i < numel(y); i++)
            copy_run(y, i, k->in[o],
                     i / product(y, axis + 1, y->rank) % y->dims[axis], 1);
    }
    return CLV_OK;
}

/* An image (N,C,H,W) beside its windows, (N, C*kh*kw, places). */
typedef struct windows {
    uint32_t nd;
    int64_t image[CLV_MAX_RANK], across[CLV_MAX_RANK]; /* pixels, windows */
    int64_t places, taps;
    window w[CLV_MAX_RANK];
} windows;

static clv_status windows_of(const kernel *k, const clv_tensor *image,
                             const clv_tensor *columns, windows *w)
{
    uint32_t nk, first = columns->rank - 1;
    const int64_t *size = attr_ints(k->n, CLV_A_KERNEL, &nk);
    w->nd = image->rank - first;
    w->places = columns->dims[first];
    w->taps = 1;
    for (uint32_t i = 0; i < w->nd; i++) {
        w->image[i] = image->dims[first + i];
        CLV_TRY(get_window(k->n, i, w->nd, w->image[i], list_at(size, nk, i),
                           &w->w[i], k->e));
        CLV_TRY(window_out(&w->w[i], w->image[i], false, &w->across[i], k->e));
        w->taps *= w->w[i].kernel;
    }
    return CLV_OK;
}

/* Where element i of the windows is in the image; -1: outside of it. */
static int64_t pixel_of(const windows *w, int64_t i)
{
    int64_t place = i % w->places, tap = i / w->places % w->taps;
    int64_t at = 0, step = 1;
    for (uint32_t a = w->nd; a-- > 0;) {
        const window *v = &w->w[a];
        int64_t p = place % w->across[a] * v->stride - v->before +
                    tap % v->kernel * v->dilation;
        if (p < 0 || p >= w->image[a])
            return -1;
        at += p * step;
        step *= w->image[a];
        place /= w->across[a];
        tap /= v->kernel;
    }
    return i / w->places / w->taps * step + at;
}

/* Outside the image is 0. */
clv_status kernel_unfold(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    windows w;
    CLV_TRY(windows_of(k, x, y, &w));
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t from = pixel_of(&w, i);
        if (from >= 0)
            copy_run(y, i, x, from, 1);
        else
            put_f(y, i, 0);
    }
    return CLV_OK;
}

/* The reverse: windows that overlap are added. */
clv_status kernel_fold(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    windows w;
    CLV_TRY(windows_of(k, y, x, &w));
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(x); i < n; i++) {
        int64_t to = pixel_of(&w, i);
        if (to >= 0)
            put_arith(clv__arith(CLV_OP_ADD), y, to, (element){y, to},
                      (element){x, i});
    }
    return CLV_OK;
}

/* Elements of x where the mask is true, both broadcast; the result shrinks. */
clv_status kernel_masked_select(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1];
    clv_tensor *y = &k->out[0], shape = {.rank = 0};
    int64_t sx[CLV_MAX_RANK], sm[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    int64_t found = 0;
    widen(&shape, x);
    widen(&shape, mask);
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

/* Of two axes, `offset` above the main diagonal: the last axis. */
clv_status kernel_diagonal(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t n, a, b, rank = 0;
    const int64_t *axes = attr_ints(k->n, CLV_A_AXES, &n);
    int64_t own[CLV_MAX_RANK], strides[CLV_MAX_RANK];
    int64_t offset = attr_int(k->n, CLV_A_OFFSET);
    CLV_TRY(norm_axis(n == 2 ? axes[0] : 0, x->rank, &a, k->e));
    CLV_TRY(norm_axis(n == 2 ? axes[1] : 1, x->rank, &b, k->e));
    strides_of(x, own);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != a && i != b)
            strides[rank++] = own[i];
    strides[rank] = own[a] + own[b];
    if (numel(&k->out[0]))
        copy_strided(&k->out[0], x,
                     offset > 0 ? offset * own[b] : -offset * own[a], strides);
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
static clv_status spread(kernel *k, const clv_tensor *t, int64_t size,
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
            widen(&p->shape, &index[axis + a]);
        }
        axis += takes;
        if (t) {
            p->any = true;
            p->last = axis;
        }
    }
    for (uint32_t a = 0; a < x->rank; a++)
        if (given[a])
            CLV_TRY(spread(k, &index[a], x->dims[a], &p->shape, &p->at[a]));
    return CLV_OK;
}

/* What x[indices] looks like: the axes kept before the indices, theirs, those
 * after; and where its elements lie in x. */
typedef struct picked {
    clv_tensor view;
    int64_t step[CLV_MAX_RANK]; /* in x; 0 along the indices' axes */
    uint32_t slot;              /* the first of these */
} picked;

static clv_status pick(const kernel *k, const places *p, picked *to)
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
static int64_t place_of(const clv_tensor *x, const places *p, const picked *to,
                        const int64_t *idx)
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
    CLV_TRY(pick(k, &p, &to));
    for (uint32_t i = 0; i < to.view.rank && i < y->rank; i++)
        y->dims[i] = to.view.dims[i]; /* masks know only now */
    for (int64_t i = 0, n = numel(&to.view); i < n; i++) {
        copy_run(y, i, x, place_of(x, &p, &to, idx), 1);
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
    CLV_TRY(pick(k, &p, &to));
    for (uint32_t i = 1; i <= v->rank; i++)
        if (i > to.view.rank ||
            (v->dims[v->rank - i] != 1 &&
             v->dims[v->rank - i] != to.view.dims[to.view.rank - i]))
            return clv__fail(k->e, CLV_SHAPE,
                             "the values do not fit where they go");
    broadcast_strides(v, to.view.rank, strides);
    copy_run(&k->out[0], 0, x, 0, numel(x));
    for (int64_t i = 0, n = numel(&to.view); i < n; i++) {
        copy_run(&k->out[0], place_of(x, &p, &to, idx), v,
                 offset_of(idx, strides, to.view.rank), 1);
        next_index(idx, to.view.dims, to.view.rank);
    }
    return CLV_OK;
}

/* -- questions about shapes -----------------------------------------------*/

clv_status kernel_shape(kernel *k)
{
    int64_t rank = k->in[0]->rank, from = attr_int(k->n, CLV_A_START);
    from = from < -rank ? 0 : from < 0 ? from + rank : from;
    for (int64_t i = 0, n = numel(&k->out[0]); i < n; i++)
        put_i(&k->out[0], i, k->in[0]->dims[from + i]);
    return CLV_OK;
}

clv_status kernel_size(kernel *k)
{
    put_i(&k->out[0], 0, numel(k->in[0]));
    return CLV_OK;
}
