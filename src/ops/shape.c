/* shape.c - what shape rules are built from: outputs, broadcasting, axes,
 * lists that are attributes in one format and inputs in another, windows. */
#include "ops/ops.h"

#include <string.h>

static clv_status check_size(const clv_value *v, clv_err *e)
{
    if (v->rank != CLV_NO_RANK && clv__numel(v) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "the output's size does not fit 64 bits");
    return CLV_OK;
}

clv_status out_shape(clv_graph *g, clv_node *n, uint32_t i, clv_dtype dtype,
                     uint32_t rank, const int64_t *dims, clv_err *e)
{
    if (i >= n->n_out || node_outs(g, n)[i] == CLV_NONE)
        return CLV_OK; /* an optional output nobody asked for */
    if (rank > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "output of rank %u, at most %d", rank,
                         CLV_MAX_RANK);
    for (uint32_t k = 0; k < rank; k++)
        if (dims[k] < 0)
            return clv__fail(e, CLV_SHAPE, "output dimension %u would be %lld",
                             k, (long long)dims[k]);
    uint32_t v = node_outs(g, n)[i];
    g->values[v].dtype = (uint8_t)dtype;
    g->values[v].flags &= (uint8_t)~CLV_V_FORM;
    if (!clv__value_set_shape(g, v, rank, dims))
        return clv__nomem(e);
    return check_size(&g->values[v], e);
}

/* Both values share one array of dims: shapes are replaced, never changed. */
clv_status out_like(clv_graph *g, clv_node *n, uint32_t i, const clv_value *v,
                    clv_err *e)
{
    if (i >= n->n_out || node_outs(g, n)[i] == CLV_NONE)
        return CLV_OK;
    value_like(node_out(g, n, i), v);
    return check_size(v, e);
}

clv_status broadcast(const clv_value *a, const clv_value *b, int64_t *dims,
                     uint32_t *rank, clv_err *e)
{
    uint32_t ra = a->rank, rb = b->rank, r = ra > rb ? ra : rb;
    for (uint32_t k = 0; k < r; k++) { /* k counts from the last axis */
        int64_t x = k < ra ? a->dims[ra - 1 - k] : 1;
        int64_t y = k < rb ? b->dims[rb - 1 - k] : 1;
        if (x != y && x != 1 && y != 1) {
            char sa[256], sb[256];
            return clv__fail(e, CLV_SHAPE, "%s and %s do not broadcast",
                             clv__shape_text(a, sa, sizeof sa),
                             clv__shape_text(b, sb, sizeof sb));
        }
        dims[r - 1 - k] = x == 1 ? y : x;
    }
    *rank = r;
    return CLV_OK;
}

clv_status broadcast_from(const clv_graph *g, const clv_node *n, uint32_t from,
                          int64_t *dims, uint32_t *rank, clv_err *e)
{
    int64_t last[CLV_MAX_RANK];
    *rank = 0;
    for (uint32_t i = from; i < n->n_in; i++) {
        const clv_value *v = node_in(g, n, i);
        if (!v || v->rank == 0)
            continue;
        size_t bytes = v->rank * sizeof *dims;
        if (*rank == 0) { /* the first, or only numbers so far */
            memcpy(dims, v->dims, bytes);
            *rank = v->rank;
            continue;
        }
        if (v->rank == *rank && !memcmp(dims, v->dims, bytes))
            continue;
        memcpy(last, dims, *rank * sizeof *last);
        clv_value so_far = {.dims = last, .rank = (uint8_t)*rank};
        CLV_TRY(broadcast(&so_far, v, dims, rank, e));
    }
    return CLV_OK;
}

clv_status fits(const clv_value *a, const clv_value *b, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    CLV_TRY(broadcast(a, b, dims, &rank, e));
    if (rank == a->rank && !memcmp(dims, a->dims, rank * sizeof *dims))
        return CLV_OK;
    char sa[256], sb[256];
    return clv__fail(e, CLV_SHAPE, "%s does not fit %s",
                     clv__shape_text(b, sb, sizeof sb),
                     clv__shape_text(a, sa, sizeof sa));
}

clv_status norm_axis(int64_t axis, uint32_t rank, uint32_t *out, clv_err *e)
{
    int64_t a = axis < 0 ? axis + rank : axis;
    if (a < 0 || a >= (int64_t)rank)
        return clv__fail(e, CLV_SHAPE, "axis %lld of a rank-%u tensor",
                         (long long)axis, rank);
    *out = (uint32_t)a;
    return CLV_OK;
}

clv_status claim_axis(int64_t axis, uint32_t rank, bool *seen, uint32_t *out,
                      clv_err *e)
{
    CLV_TRY(norm_axis(axis, rank, out, e));
    if (seen[*out])
        return clv__fail(e, CLV_SHAPE, "axis %u twice", *out);
    seen[*out] = true;
    return CLV_OK;
}

clv_status get_axis(const clv_node *n, uint32_t rank, uint32_t *out, clv_err *e)
{
    return norm_axis(attr_int(n, CLV_A_AXIS), rank ? rank : 1, out, e);
}

clv_status get_ints(const clv_graph *g, const clv_node *n, clv_attr_key key,
                    uint32_t i, int_list *list, clv_err *e)
{
    *list = (int_list){.found = attr_get(n, key) != NULL};
    list->v = attr_ints(n, key, &list->n);
    const clv_value *in = node_in(g, n, i);
    if (list->found || !in)
        return CLV_OK;
    if (!in->data || !in->data->ints)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "%s (input %u) is computed from data",
                         clv__attr_name(key), i);
    *list = (int_list){in->data->ints, in->data->n, true};
    return CLV_OK;
}

clv_status get_int(const clv_graph *g, const clv_node *n, clv_attr_key key,
                   uint32_t i, int64_t *out, clv_err *e)
{
    int_list list;
    CLV_TRY(get_ints(g, n, key, i, &list, e));
    if (list.n == 0)
        return clv__fail(e, CLV_SHAPE, "no %s", clv__attr_name(key));
    *out = list.v[0];
    return CLV_OK;
}

/* Copies up to max numbers out of an attribute or a payload. */
static uint32_t copy_numbers(const int64_t *ints, const double *floats,
                             uint32_t n, double *out, uint32_t max)
{
    n = n < max ? n : max;
    for (uint32_t k = 0; k < n; k++)
        out[k] = floats ? floats[k] : (double)ints[k];
    return n;
}

clv_status get_floats(const clv_graph *g, const clv_node *n, clv_attr_key key,
                      uint32_t i, double *out, uint32_t max, uint32_t *count,
                      clv_err *e)
{
    const clv_attr *a = attr_get(n, key);
    const clv_value *in = node_in(g, n, i);
    *count = 0;
    if (a && a->type == CLV_ATTR_FLOATS)
        *count = copy_numbers(NULL, a->u.floats, a->n, out, max);
    else if (a && a->type == CLV_ATTR_FLOAT)
        *count = copy_numbers(NULL, &a->u.f, 1, out, max);
    else if (a && a->type == CLV_ATTR_INTS)
        *count = copy_numbers(a->u.ints, NULL, a->n, out, max);
    else if (a && a->type == CLV_ATTR_INT)
        *count = copy_numbers(&a->u.i, NULL, 1, out, max);
    else if (in && in->data && (in->data->ints || in->data->floats))
        *count = copy_numbers(in->data->ints, in->data->floats, in->data->n,
                              out, max);
    else if (in && clv__numel(in))
        return clv__fail(e, CLV_UNSUPPORTED,
                         "%s (input %u) is computed from data",
                         clv__attr_name(key), i);
    return CLV_OK;
}

void out_bound(clv_graph *g, const clv_node *n, uint32_t i)
{
    if (i < n->n_out && node_outs(g, n)[i] != CLV_NONE)
        node_out(g, n, i)->flags |= CLV_V_BOUND;
}

void reads_only(const clv_graph *g, const clv_node *n, uint32_t i,
                int64_t bytes, clv_cost *c)
{
    const clv_value *v = node_in(g, n, i);
    if (!v)
        return;
    int64_t all = clv__stored_bytes(g, v), own = clv__bytes(v);
    if (all < own && all > 0)
        bytes /= own / all;
    int64_t *sum = value_is_fixed(v) ? &c->bytes_weights : &c->bytes_in;
    if (bytes < all && all <= *sum && *sum != CLV_SAT)
        *sum -= all - bytes;
}

int64_t list_at(const int64_t *list, uint32_t n, uint32_t i)
{
    return n ? list[i < n ? i : n - 1] : 0;
}

int64_t log2_ceil(int64_t n)
{
    int64_t steps = 0;
    while (steps < 62 && (INT64_C(1) << steps) < n)
        steps++;
    return steps;
}

int64_t dims_product(const int64_t *dims, uint32_t from, uint32_t to)
{
    int64_t p = 1;
    for (uint32_t i = from; i < to; i++)
        p = sat_mul(p, dims[i]);
    return p;
}

/* -- windows --------------------------------------------------------------*/

/* "same" padding makes the output ceil(in / stride). */
static void same_padding(window *w, int64_t in, bool lower)
{
    int64_t out = (in + w->stride - 1) / w->stride;
    int64_t need =
        (out - 1) * w->stride + (w->kernel - 1) * w->dilation + 1 - in;
    if (need < 0)
        need = 0;
    w->before = lower ? need - need / 2 : need / 2;
    w->after = need - w->before;
}

void get_window_attrs(const clv_node *n, window_attrs *a)
{
    static const int64_t one = 1;
    *a = (window_attrs){.dilation = &one, .n_dilation = 1};
    a->stride = attr_ints(n, CLV_A_STRIDE, &a->n_stride);
    a->pad = attr_ints(n, CLV_A_PADDING, &a->n_pad);
    if (attr_exists(n, CLV_A_DILATION))
        a->dilation = attr_ints(n, CLV_A_DILATION, &a->n_dilation);
    if (attr_get(n, CLV_A_AUTO_PAD)) { /* without it, padding says all */
        const char *mode = attr_str(n, CLV_A_AUTO_PAD);
        a->lower = !strcmp(mode, "same_lower");
        a->same = a->lower || !strcmp(mode, "same");
    }
}

clv_status window_at(const window_attrs *a, uint32_t i, uint32_t nd, int64_t in,
                     int64_t kernel, window *w, clv_err *e)
{
    *w = (window){.kernel = kernel,
                  .stride = list_at(a->stride, a->n_stride, i),
                  .dilation = list_at(a->dilation, a->n_dilation, i)};
    const int64_t limit = INT64_C(1) << 40; /* sums below stay in range */
    if (w->stride < 1 || w->dilation < 1 || kernel < 1 || w->stride > limit ||
        w->dilation > limit || kernel > limit || in > limit)
        return clv__fail(e, CLV_SHAPE,
                         "kernel %lld, stride %lld, dilation %lld over %lld",
                         (long long)kernel, (long long)w->stride,
                         (long long)w->dilation, (long long)in);
    if (kernel > limit / w->dilation)
        return clv__fail(e, CLV_SHAPE, "kernel %lld with dilation %lld",
                         (long long)kernel, (long long)w->dilation);
    if (a->same) {
        same_padding(w, in, a->lower);
        return CLV_OK;
    }
    w->before = list_at(a->pad, a->n_pad, i);
    w->after = a->n_pad == 2 * nd ? a->pad[nd + i] : w->before;
    if (w->before > limit || w->after > limit || w->before < -limit ||
        w->after < -limit)
        return clv__fail(e, CLV_SHAPE, "padding %lld", (long long)w->before);
    return CLV_OK;
}

clv_status get_window(const clv_node *n, uint32_t i, uint32_t nd, int64_t in,
                      int64_t kernel, window *w, clv_err *e)
{
    window_attrs a;
    get_window_attrs(n, &a);
    return window_at(&a, i, nd, in, kernel, w, e);
}

clv_status window_out(const window *w, int64_t in, bool ceil, int64_t *out,
                      clv_err *e)
{
    int64_t span = (w->kernel - 1) * w->dilation + 1;
    int64_t room = in + w->before + w->after;
    int64_t extra = ceil ? w->stride - 1 : 0;
    if (room - span + extra < 0)
        return clv__fail(e, CLV_SHAPE,
                         "kernel of %lld is larger than the padded input of "
                         "%lld",
                         (long long)span, (long long)room);
    *out = (room - span + extra) / w->stride + 1;
    /* A last window must start inside the input or its left padding. */
    if (ceil && (*out - 1) * w->stride >= in + w->before)
        --*out;
    return CLV_OK;
}
