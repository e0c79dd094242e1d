/* index.c - taking and putting elements by index, tables, masks. */
#include "backend/kernel.h"

#include <string.h>

/* The product of dims[from..to). */
static int64_t product(const clv_tensor *t, uint32_t from, uint32_t to)
{
    int64_t p = 1;
    for (uint32_t i = from; i < to; i++)
        p *= t->dims[i];
    return p;
}

/* -- taking ---------------------------------------------------------------*/

/* The axes of index stand where `axis` of x was: whole slices are copied. */
static clv_status take_slices(kernel *k, const clv_tensor *x,
                              const clv_tensor *index, uint32_t axis)
{
    clv_tensor *y = &k->out[0];
    int64_t rows = product(x, 0, axis), run = product(x, axis + 1, x->rank);
    int64_t size = x->dims[axis], n = numel(index);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++) {
            int64_t at;
            CLV_TRY(checked(k, get_i(index, i), size, &at));
            copy_run(y, (r * n + i) * run, x, (r * size + at) * run, run);
        }
    return CLV_OK;
}

clv_status kernel_index_select(kernel *k)
{
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    return take_slices(k, k->in[0], k->in[1], axis);
}

/* weight (V,D), indices (..) -> (..,D) */
clv_status kernel_embedding(kernel *k)
{
    return take_slices(k, k->in[0], k->in[1], 0);
}

/* y[i][j] = x[index[i][j]][j] for axis 0, and so on. */
clv_status kernel_gather(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    clv_tensor *y = &k->out[0];
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    int64_t own[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    strides_of(x, own);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t at = 0, from;
        CLV_TRY(checked(k, get_i(index, i), x->rank ? x->dims[axis] : 1, &at));
        from = offset_of(idx, own, x->rank) +
               (x->rank ? (at - idx[axis]) * own[axis] : 0);
        copy_run(y, i, x, from, 1);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* The offset in x that the coordinates index[at..at+depth) name, after the
 * first `batch` axes. */
static clv_status nd_offset(const kernel *k, const clv_tensor *x,
                            const clv_tensor *index, int64_t at, int64_t depth,
                            uint32_t batch, int64_t *out)
{
    int64_t own[CLV_MAX_RANK];
    strides_of(x, own);
    *out = 0;
    for (int64_t d = 0; d < depth; d++) {
        int64_t i;
        uint32_t axis = batch + (uint32_t)d;
        CLV_TRY(checked(k, get_i(index, at + d), x->dims[axis], &i));
        *out += i * own[axis];
    }
    return CLV_OK;
}

clv_status kernel_gather_nd(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    uint32_t batch = (uint32_t)attr_int(k->n, CLV_A_BATCH_DIMS);
    int64_t depth = index->dims[index->rank - 1];
    int64_t run = product(x, batch + (uint32_t)depth, x->rank);
    int64_t batches = product(x, 0, batch);
    int64_t each = product(index, batch, index->rank - 1);
    int64_t block = product(x, batch, x->rank);
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < each; i++) {
            int64_t at;
            CLV_TRY(nd_offset(k, x, index, (b * each + i) * depth, depth, batch,
                              &at));
            copy_run(&k->out[0], (b * each + i) * run, x, b * block + at, run);
        }
    return CLV_OK;
}

/* -- putting --------------------------------------------------------------*/

/* What an update is combined by; NULL: it replaces what was there. */
static const clv_arith *reducer(const char *name)
{
    static const struct {
        const char *name;
        clv_op op;
    } table[] = {{"max", CLV_OP_MAXIMUM},
                 {"min", CLV_OP_MINIMUM},
                 {"mul", CLV_OP_MUL},
                 {"prod", CLV_OP_MUL}};
    if (!strcmp(name, "none"))
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return clv__arith(table[i].op);
    return clv__arith(CLV_OP_ADD);
}

/* y[at] = y[at] (op) u[i]; op is the attribute reduction. */
static void combine(clv_tensor *y, int64_t at, const clv_tensor *u, int64_t i,
                    const char *op)
{
    const clv_arith *row = reducer(op);
    if (row)
        put_arith(row, y, at, (element){y, at}, (element){u, i});
    else
        copy_run(y, at, u, i, 1);
}

static const char *reduction(const kernel *k)
{
    if (k->n->op == CLV_OP_SCATTER_ADD)
        return "add";
    return attr_str(k->n, CLV_A_REDUCTION);
}

/* x, indices, updates, element by element along `axis`. */
clv_status kernel_scatter(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1];
    const clv_tensor *u = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    scalar_arg value;
    uint32_t axis = 0;
    if (x->rank)
        CLV_TRY(axis_of(k, &axis));
    int64_t own[CLV_MAX_RANK], us[CLV_MAX_RANK] = {0}, idx[CLV_MAX_RANK] = {0};
    strides_of(x, own);
    if (u)
        strides_of(u, us);
    (void)scalar_at(k, CLV_A_VALUE, UINT32_MAX, &value);
    copy_run(y, 0, x, 0, numel(x));
    for (int64_t i = 0, n = numel(index); i < n; i++) {
        int64_t at, to;
        CLV_TRY(checked(k, get_i(index, i), x->rank ? x->dims[axis] : 1, &at));
        to = offset_of(idx, own, x->rank) +
             (x->rank ? (at - idx[axis]) * own[axis] : 0);
        if (u)
            combine(y, to, u, offset_of(idx, us, u->rank), reduction(k));
        else
            copy_run(y, to, &value.t, 0, 1);
        next_index(idx, index->dims, index->rank);
    }
    return CLV_OK;
}

/* x, coordinates (..,depth), updates: slices. */
clv_status kernel_scatter_nd(kernel *k)
{
    const clv_tensor *x = k->in[0], *index = k->in[1], *u = k->in[2];
    clv_tensor *y = &k->out[0];
    int64_t depth = index->dims[index->rank - 1];
    int64_t run = product(x, (uint32_t)depth, x->rank);
    int64_t n = product(index, 0, index->rank - 1);
    copy_run(y, 0, x, 0, numel(x));
    for (int64_t i = 0; i < n; i++) {
        int64_t at;
        CLV_TRY(nd_offset(k, x, index, i * depth, depth, 0, &at));
        for (int64_t r = 0; r < run; r++)
            combine(y, at + r, u, i * run + r, reduction(k));
    }
    return CLV_OK;
}

/* -- masks ----------------------------------------------------------------*/

/* Coordinates of what is not zero; the shape shrinks to their number. */
clv_status kernel_nonzero(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool turned = attr_int(k->n, CLV_A_BY_AXIS);
    int64_t n = numel(x), points = 0, found = 0;
    for (int64_t i = 0; i < n; i++)
        points += get_f(x, i) != 0;
    y->dims[turned ? 1 : 0] = points;
    int64_t idx[CLV_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        if (get_f(x, i) != 0) {
            for (uint32_t a = 0; a < x->rank; a++)
                put_i(y, turned ? a * points + found : found * x->rank + a,
                      idx[a]);
            found++;
        }
        next_index(idx, x->dims, x->rank);
    }
    return CLV_OK;
}

/* Slices of an axis, or elements, where the vector is true. */
clv_status kernel_compress(kernel *k)
{
    const clv_tensor *x = k->in[0], *mask = k->in[1];
    clv_tensor *y = &k->out[0];
    uint32_t axis = 0;
    bool flat = !attr_get(k->n, CLV_A_AXIS);
    if (!flat)
        CLV_TRY(axis_of(k, &axis));
    int64_t size = flat ? numel(x) : x->dims[axis];
    int64_t rows = flat ? 1 : product(x, 0, axis);
    int64_t run = flat ? 1 : product(x, axis + 1, x->rank);
    int64_t n = numel(mask) < size ? numel(mask) : size, kept = 0, to = 0;
    for (int64_t i = 0; i < n; i++)
        kept += get_i(mask, i) != 0;
    y->dims[axis] = kept;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            if (get_i(mask, i)) {
                copy_run(y, to, x, (r * size + i) * run, run);
                to += run;
            }
    return CLV_OK;
}

clv_status kernel_one_hot(kernel *k)
{
    const clv_tensor *x = k->in[0];
    const clv_tensor *values = k->n->n_in > 2 ? k->in[2] : NULL;
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, k->e));
    int64_t depth = y->dims[axis], idx[CLV_MAX_RANK] = {0};
    int64_t run = product(y, axis + 1, y->rank);
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t from = i / (run * depth) * run + i % run;
        int64_t hot = get_i(x, from);
        bool on = (hot < 0 ? hot + depth : hot) == idx[axis];
        if (values)
            copy_run(y, i, values, on ? 1 : 0, 1);
        else
            put_i(y, i, on);
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

/* Keeps the triangle below (tril) or above (triu) diagonal `k`. */
clv_status kernel_triangle(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    bool upper = k->n->op == CLV_OP_TRIU;
    int64_t diagonal = (int64_t)number_of(k, CLV_A_DIAGONAL, 1);
    if (x->rank < 2)
        return clv__fail(k->e, CLV_SHAPE, "a triangle of rank %u", x->rank);
    int64_t cols = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    memset(y->data, 0, (size_t)clv_tensor_bytes(y));
    for (int64_t i = 0, n = numel(y); i < n; i++) {
        int64_t c = i % cols, r = i / cols % rows;
        if (upper ? c - r >= diagonal : c - r <= diagonal)
            copy_run(y, i, x, i, 1);
    }
    return CLV_OK;
}
