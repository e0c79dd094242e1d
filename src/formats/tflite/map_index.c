/* map_index.c - what reads and writes by indices. */
#include "formats/tflite/tflite.h"

#include "tensor/dtype.h"

#include <float.h>
#include <string.h>

/* Operand i as codes where result 0 has the same ones, else as numbers. */
static uint32_t index_in(tfl_call *c, uint32_t i)
{
    return tfl_same_codes(c, i, 0) ? tfl_codes(c, i) : tfl_in(c, i);
}

/* Rows of x along the axis behind those of a batch, chosen for each member. */
static void gather_batch(tfl_call *c, uint32_t x, uint32_t indices,
                         int64_t batch)
{
    int64_t last = -1;
    tfl_attrs wide = {0}, a = {0};
    tfl_ints(&wide, CLV_A_AXES, &last, 1);
    tfl_int(&a, CLV_A_BATCH_DIMS, batch);
    uint32_t ins[2] = {x, tfl_1(c, CLV_OP_UNSQUEEZE, indices, &wide)};
    tfl_give(c, 0, tfl_node(c, CLV_OP_GATHER_ND, ins, 2, 1, &a), false);
}

void lite_gather(tfl_call *c)
{
    flat *f = &c->m->f;
    uint32_t ins[2] = {index_in(c, 0), tfl_codes(c, 1)};
    int64_t axis = flat_i32(f, c->opts, 0, 0);
    int64_t batch = flat_i32(f, c->opts, 1, 0);
    if (axis < 0)
        axis += tfl_rank(c, ins[0]);
    if (batch < 0)
        batch += tfl_rank(c, ins[1]);
    if (batch > 0 && axis == batch) {
        gather_batch(c, ins[0], ins[1], batch);
        return;
    }
    if (batch > 0)
        c->why = "it gathers along another axis than the first of a member";
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, axis);
    tfl_give(c, 0, tfl_node(c, CLV_OP_INDEX_SELECT, ins, 2, 1, &a), false);
}

void lite_gather_nd(tfl_call *c)
{
    uint32_t ins[2] = {index_in(c, 0), tfl_codes(c, 1)};
    tfl_give(c, 0, tfl_node(c, CLV_OP_GATHER_ND, ins, 2, 1, NULL), false);
}

/* The places of what is not zero, one row each. */
void lite_where(tfl_call *c)
{
    tfl_give(c, 0, tfl_1(c, CLV_OP_NONZERO, tfl_codes(c, 0), NULL), false);
}

/* A tensor of one number, of the shape that operand i holds or that the file
 * states for the result. */
static uint32_t index_base(tfl_call *c, uint32_t i, clv_dtype t, double x)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t n = 0, at = tfl_out(c, 0);
    bool known = i != CLV_NONE && tfl_list(c, i, dims, &n, CLV_MAX_RANK);
    if (!known && i != CLV_NONE) {
        uint32_t ins[2] = {tfl_codes(c, i), tfl_scalar(c, t, x)};
        return tfl_node(c, CLV_OP_FULL, ins, 2, 1, NULL);
    }
    if (!known && at < c->s->n_tensors &&
        c->s->tensors[at].rank != CLV_NO_RANK) {
        n = c->s->tensors[at].rank;
        memcpy(dims, c->s->tensors[at].dims, n * sizeof *dims);
    }
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_SHAPE, dims, n);
    if (dtype_class_of(t) == CLASS_FLOAT)
        tfl_float(&a, CLV_A_VALUE, x);
    else
        tfl_int(&a, CLV_A_VALUE, (int64_t)x);
    tfl_int(&a, CLV_A_DTYPE, t);
    return tfl_node(c, CLV_OP_FULL, NULL, 0, 1, &a);
}

static uint32_t index_scatter(tfl_call *c, uint32_t base, uint32_t indices,
                              uint32_t updates, const char *how)
{
    uint32_t ins[3] = {base, indices, updates};
    tfl_attrs a = {0};
    tfl_str(&a, CLV_A_REDUCTION, how);
    return tfl_node(c, CLV_OP_SCATTER_ND, ins, 3, 1, &a);
}

/* Indices, updates, shape; what meets is added. */
void lite_scatter_nd(tfl_call *c)
{
    uint32_t updates = tfl_codes(c, 1);
    uint32_t base = index_base(c, 2, tfl_type(c, updates), 0);
    tfl_give(c, 0, index_scatter(c, base, tfl_codes(c, 0), updates, "add"),
             false);
}

/* Indices, shape, values, what is elsewhere. */
void lite_sparse_to_dense(tfl_call *c)
{
    double rest = 0;
    uint32_t places = tfl_codes(c, 0), values = tfl_codes(c, 2);
    if (tfl_failed(c->m))
        return;
    if (tfl_has(c, 3) && !tfl_number(c, 3, &rest))
        c->why = "what stands elsewhere is computed";
    int64_t last = -1, zero = 0;
    tfl_attrs a = {0}, b = {0};
    tfl_ints(&a, CLV_A_AXES, &last, 1);
    tfl_ints(&b, CLV_A_AXES, &zero, 1);
    if (tfl_rank(c, places) == 0)
        places = tfl_1(c, CLV_OP_UNSQUEEZE, places, &b);
    if (tfl_rank(c, places) == 1)
        places = tfl_1(c, CLV_OP_UNSQUEEZE, places, &a);
    int64_t rows = tfl_dim(c, places, 0);
    if (tfl_rank(c, values) == 0) {
        tfl_attrs e = {0};
        tfl_ints(&e, CLV_A_SHAPE, &rows, 1);
        values = tfl_1(c, CLV_OP_EXPAND, values, &e);
    }
    uint32_t base = index_base(c, 1, tfl_type(c, values), rest);
    tfl_give(c, 0, index_scatter(c, base, places, values, "none"), false);
}

/* How many segments ids that are in the file name: one more than the last,
 * which is the largest. */
static bool segment_count(tfl_call *c, int64_t *count)
{
    enum { MOST = 4096 };
    int64_t *ids = arena_array(&c->m->mem, MOST, sizeof *ids);
    uint32_t n;
    if (!ids || !tfl_list(c, 1, ids, &n, MOST) || n == 0 || ids[n - 1] < 0)
        return false;
    *count = ids[n - 1] + 1;
    return true;
}

/* Rows of x joined by the number of their segment. arg 0: a sum, of as many
 * segments as the file says; 1: product, 2: maximum, 3: minimum, 4: sum, of as
 * many as operand 2 says. */
void lite_segment(tfl_call *c)
{
    static const char *const how[] = {"add", "mul", "max", "min", "add"};
    uint32_t x = tfl_in(c, 0), ids = tfl_codes(c, 1);
    int64_t last = -1, segments = 0, dims[CLV_MAX_RANK];
    uint32_t n, rank = tfl_rank(c, x), arg = (uint32_t)c->row->arg;
    uint32_t inner = tfl_rank(c, ids);
    if (tfl_failed(c->m) || !rank || !inner || inner > rank) {
        tfl_unknown(c);
        return;
    }
    clv_dtype t = tfl_type(c, x);
    bool real = dtype_class_of(t) == CLASS_FLOAT;
    double least = real ? -FLT_MAX : INT32_MIN;
    double start = arg == 1 ? 1 : arg == 2 ? least : arg == 3 ? -least : 0;
    if (arg == 3 && !real)
        start = INT32_MAX;
    uint32_t base;
    bool counted = arg ? tfl_list(c, 2, &segments, &n, 1) && n == 1
                       : segment_count(c, &segments);
    if (!counted && !arg) { /* only running tells how many there are */
        tfl_unknown(c);
        return;
    }
    if (counted) {
        dims[0] = segments;
        for (uint32_t i = inner; i < rank; i++)
            dims[i - inner + 1] = tfl_dim(c, x, i);
        tfl_attrs a = {0};
        tfl_ints(&a, CLV_A_SHAPE, dims, rank - inner + 1);
        if (real)
            tfl_float(&a, CLV_A_VALUE, start);
        else
            tfl_int(&a, CLV_A_VALUE, (int64_t)start);
        tfl_int(&a, CLV_A_DTYPE, t);
        base = tfl_node(c, CLV_OP_FULL, NULL, 0, 1, &a);
    } else {
        base = index_base(c, CLV_NONE, t, start);
    }
    tfl_attrs b = {0};
    tfl_ints(&b, CLV_A_AXES, &last, 1);
    ids = tfl_1(c, CLV_OP_UNSQUEEZE, ids, &b);
    tfl_give(c, 0, index_scatter(c, base, ids, x, how[arg]), false);
}

/* -- a part in place ------------------------------------------------------*/

/* start + 0, 1, 2, .. along `axis`, as large as v. The start is moved back so
 * that all of v fits. */
static uint32_t update_places(tfl_call *c, uint32_t start, uint32_t v,
                              uint32_t axis, int64_t room)
{
    int64_t dims[CLV_MAX_RANK], shape[CLV_MAX_RANK];
    uint32_t rank = tfl_rank(c, v);
    int64_t n = tfl_dim(c, v, axis);
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = tfl_dim(c, v, i);
        shape[i] = i == axis ? n : 1;
    }
    tfl_attrs clamp = {0}, range = {0}, expand = {0};
    tfl_int(&clamp, CLV_A_MIN, 0);
    tfl_int(&clamp, CLV_A_MAX, room - n);
    start = tfl_1(c, CLV_OP_CLAMP, tfl_cast(c, start, CLV_INT64), &clamp);
    tfl_int(&range, CLV_A_START, 0);
    tfl_int(&range, CLV_A_END, n);
    tfl_int(&range, CLV_A_DTYPE, CLV_INT64);
    uint32_t steps = tfl_node(c, CLV_OP_RANGE, NULL, 0, 1, &range);
    steps = tfl_2(c, CLV_OP_ADD, steps, start);
    tfl_ints(&expand, CLV_A_SHAPE, dims, rank);
    return tfl_1(c, CLV_OP_EXPAND, tfl_reshape(c, steps, shape, rank), &expand);
}

/* The start along one axis: element `axis` of operand 2, or operand 2 + axis.
 */
static uint32_t update_start(tfl_call *c, uint32_t axis)
{
    if (c->row->arg)
        return tfl_codes(c, 2 + axis);
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, 0);
    tfl_int(&a, CLV_A_INDEX, axis);
    return tfl_1(c, CLV_OP_SELECT, tfl_codes(c, 2), &a);
}

/* An update as large as x but along one axis is scattered along that. arg 1:
 * a start per operand. */
void lite_update_slice(tfl_call *c)
{
    uint32_t x = tfl_codes(c, 0), v = tfl_codes(c, 1), rank = tfl_rank(c, x);
    uint32_t differ = 0, axis = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (tfl_dim(c, x, i) != tfl_dim(c, v, i)) {
            differ++;
            axis = i;
        }
    if (differ > 1 || rank != tfl_rank(c, v)) {
        tfl_unknown(c);
        return;
    }
    if (!differ) {
        tfl_give_codes(c, 0, tfl_1(c, CLV_OP_IDENTITY, v, NULL), false);
        return;
    }
    uint32_t ins[3] = {
        x,
        update_places(c, update_start(c, axis), v, axis, tfl_dim(c, x, axis)),
        v};
    tfl_attrs a = {0};
    tfl_int(&a, CLV_A_AXIS, axis);
    tfl_give_codes(c, 0, tfl_node(c, CLV_OP_SCATTER_ELEMENTS, ins, 3, 1, &a),
                   false);
}

/* Elements of x `step` apart, with a number between them. */
void lite_dilate(tfl_call *c)
{
    int64_t steps[CLV_MAX_RANK];
    uint32_t n, x = tfl_codes(c, 0), rank = tfl_rank(c, x);
    double value = 0;
    if (!tfl_list(c, 1, steps, &n, CLV_MAX_RANK) || n != rank) {
        tfl_unknown(c);
        return;
    }
    if (tfl_has(c, 2) && !tfl_number(c, 2, &value))
        c->why = "what it fills with is computed";
    /* (.., N, ..) -> (.., N, 1, ..) padded to (.., N, step, ..), joined, cut.
     */
    for (uint32_t i = 0; i < rank && !tfl_failed(c->m); i++) {
        int64_t size = tfl_dim(c, x, i), dims[CLV_MAX_RANK + 1];
        int64_t pads[2 * CLV_MAX_RANK] = {0};
        if (steps[i] <= 1 || rank >= CLV_MAX_RANK)
            continue;
        for (uint32_t k = 0; k <= rank; k++)
            dims[k] = k <= i       ? tfl_dim(c, x, k)
                      : k == i + 1 ? 1
                                   : tfl_dim(c, x, k - 1);
        uint32_t y = tfl_reshape(c, x, dims, rank + 1);
        pads[rank + 1 + i + 1] = steps[i] - 1;
        tfl_attrs a = {0};
        tfl_ints(&a, CLV_A_PADDING, pads, 2 * (rank + 1));
        if (dtype_class_of(tfl_type(c, x)) == CLASS_FLOAT)
            tfl_float(&a, CLV_A_VALUE, value);
        else
            tfl_int(&a, CLV_A_VALUE, (int64_t)value);
        y = tfl_1(c, CLV_OP_PAD, y, &a);
        for (uint32_t k = 0; k < rank; k++)
            dims[k] = k == i ? sat_mul(size, steps[i]) : tfl_dim(c, x, k);
        y = tfl_reshape(c, y, dims, rank);
        x = tfl_slice(c, y, i, 0, sat_mul(size - 1, steps[i]) + 1, 1);
    }
    tfl_give_codes(c, 0, x, false);
}

/* A transform of real images whose results are complex. */
void lite_rfft2d(tfl_call *c)
{
    int64_t shape[CLV_MAX_RANK], axes[2] = {-2, -1}, size[2];
    uint32_t n, x = tfl_in(c, 0), rank = tfl_rank(c, x);
    if (!tfl_list(c, 1, size, &n, 2) || n != 2 || rank < 2) {
        tfl_unknown(c);
        return;
    }
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = tfl_dim(c, x, i);
    shape[rank - 2] = size[0];
    shape[rank - 1] = size[1] / 2 + 1;
    c->why = "kernels have no complex numbers";
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_AXES, axes, 2);
    tfl_ints(&a, CLV_A_SHAPE, shape, rank);
    uint32_t y = tfl_1(c, CLV_OP_FFT, x, &a);
    if (!tfl_failed(c->m))
        c->g->values[y].dtype = CLV_COMPLEX64;
    tfl_give_codes(c, 0, y, false);
}
