/* binary.c - elementwise over two inputs or any number of them, by the rows of
 * ops/arith.c. */
#include "backend/kernel.h"

/* The type in which integers a and b are compared and divided: uint64 if one
 * is and the other has no sign. */
static clv_dtype whole_type(const clv_tensor *a, const clv_tensor *b)
{
    bool wide = a->dtype == CLV_UINT64 || b->dtype == CLV_UINT64;
    return wide && !is_signed(a->dtype) && !is_signed(b->dtype) ? CLV_UINT64
                                                                : CLV_INT64;
}

/* An operand of an integer operation, in the type of its result: of types that
 * differ, PyTorch converts operands first. Yes or no is an answer of its own.
 */
static int64_t operand(element x, clv_dtype type)
{
    int64_t room = 0;
    clv_tensor t = {.dtype = type, .data = &room};
    if (x.t->dtype == type || type == CLV_BOOL)
        return get_i(x.t, x.i);
    put_i(&t, 0, get_i(x.t, x.i));
    return get_i(&t, 0);
}

void put_arith(const clv_arith *row, clv_tensor *y, int64_t at, element a,
               element b)
{
    bool real = is_float(a.t->dtype) || is_float(b.t->dtype) ||
                is_float(y->dtype) || !row->i;
    if (real && row->f)
        put_f(y, at, row->f(get_f(a.t, a.i), get_f(b.t, b.i)));
    else if (!real)
        put_i(y, at,
              clv__arith_int(row, whole_type(a.t, b.t))(operand(a, y->dtype),
                                                        operand(b, y->dtype)));
}

/* y = f(a, b) over y's shape, both broadcast to it. */
static clv_status binary_apply(kernel *k, const clv_arith *row,
                               const clv_tensor *a, const clv_tensor *b,
                               clv_tensor *y)
{
    int64_t sa[CLV_MAX_RANK], sb[CLV_MAX_RANK], idx[CLV_MAX_RANK] = {0};
    bool whole = !is_float(a->dtype) && !is_float(b->dtype) && row->i &&
                 !is_float(y->dtype);
    if (!whole && !row->f)
        return clv__fail(k->e, CLV_UNSUPPORTED, "no such operation on %s",
                         clv_dtype_name(a->dtype));
    broadcast_strides(a, y->rank, sa);
    broadcast_strides(b, y->rank, sb);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t ia = offset_of(idx, sa, y->rank);
        int64_t ib = offset_of(idx, sb, y->rank);
        put_arith(row, y, i, (element){a, ia}, (element){b, ib});
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}

clv_status kernel_binary(kernel *k)
{
    const clv_arith *row = clv__arith((clv_op)k->n->op);
    const clv_tensor *b = input_of(k, 1);
    const clv_attr *value = attr_get(k->n, CLV_A_VALUE);
    bool extreme = k->n->op == CLV_OP_MAXIMUM || k->n->op == CLV_OP_MINIMUM;
    double number = attr_float(k->n, CLV_A_VALUE);
    clv_tensor scalar = {.dtype = CLV_FLOAT64, .data = &number};
    int64_t whole = attr_int(k->n, CLV_A_VALUE);
    if (value && value->type == CLV_ATTR_INT)
        scalar = (clv_tensor){
            .dtype = k->in[0]->dtype == CLV_UINT64 ? CLV_UINT64 : CLV_INT64,
            .data = &whole};
    if (!b && value)
        b = &scalar;
    if (!b && extreme)
        b = k->in[0]; /* the largest of one */
    if (!b || !row)
        return clv__fail(k->e, CLV_SHAPE, "no second operand");
    CLV_TRY(binary_apply(k, row, k->in[0], b, &k->out[0]));
    for (uint32_t i = 2; i < k->n->n_in; i++)
        CLV_TRY(binary_apply(k, row, &k->out[0], k->in[i], &k->out[0]));
    return CLV_OK;
}

/* Sum or mean of any number of tensors, broadcast together. */
clv_status kernel_add_n(kernel *k)
{
    clv_tensor *y = &k->out[0];
    int64_t idx[CLV_MAX_RANK] = {0}, strides[CLV_MAX_RANK];
    bool mean = k->n->op == CLV_OP_MEAN_N;
    bool real = !dtype_is_integral(y->dtype);
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        dot_sum sum = {0, 0};
        for (uint32_t t = 0; t < k->n->n_in; t++) {
            broadcast_strides(k->in[t], y->rank, strides);
            int64_t at = offset_of(idx, strides, y->rank);
            if (real)
                sum.real += get_f(k->in[t], at);
            else
                sum.whole += (uint64_t)get_i(k->in[t], at);
        }
        if (mean)
            put_mean(y, i, y, sum, k->n->n_in);
        else
            put_sum(y, i, sum, (element){NULL, 0});
        next_index(idx, y->dims, y->rank);
    }
    return CLV_OK;
}
