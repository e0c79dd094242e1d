/* sequence.c - lists of tensors: sequences, and optionals.
 *
 * A list is an array of tensors (cleave/tensor.h). Lists are never changed: a
 * new one has tensors of the old one and its own. What they hold lies in the
 * memory that a run keeps, so that a list is copied without what it holds.
 * These kernels make their outputs, whose number and shapes no rule knows. */
#include "backend/kernel.h"

#include <string.h>

clv_status make_output(kernel *k, uint32_t o, const clv_tensor *like)
{
    clv_tensor *y = &k->out[o];
    *y = *like;
    int64_t bytes = clv_tensor_bytes(y);
    y->data = bytes < 0 ? NULL : clv__zalloc((size_t)bytes + 1);
    return y->data ? CLV_OK : clv__nomem(k->e);
}

static clv_status make_list(kernel *k, clv_form form, clv_dtype dtype,
                            int64_t n)
{
    clv_tensor list = {.form = form, .dtype = dtype, .rank = 1, .dims = {n}};
    return make_output(k, 0, &list);
}

/* Output 0, a list under way. */
static clv_tensor *sequence_items(const kernel *k)
{
    return k->out[0].data;
}

/* A copy of t that stays until the next run. */
static clv_status keep_tensor(kernel *k, const clv_tensor *t, clv_tensor *out)
{
    int64_t bytes = clv_tensor_bytes(t);
    *out = *t;
    out->data = bytes < 0 ? NULL : arena_alloc(k->kept, (size_t)bytes + 1);
    if (!out->data)
        return clv__nomem(k->e);
    if (bytes)
        memcpy(out->data, t->data, (size_t)bytes);
    return CLV_OK;
}

/* Input 0, which must be a sequence. */
static clv_status sequence_in(const kernel *k, const clv_tensor **s)
{
    *s = input_of(k, 0);
    if (*s && (*s)->form == CLV_FORM_SEQUENCE)
        return CLV_OK;
    return clv__fail(k->e, CLV_SHAPE, "input 0 is no sequence");
}

/* A place in n from input i, negative ones from the end. */
static clv_status place_in(const kernel *k, uint32_t i, int64_t n,
                           int64_t otherwise, int64_t *place)
{
    const clv_tensor *t = input_of(k, i);
    *place = otherwise;
    if (t && (t->form != CLV_FORM_TENSOR || numel(t) != 1))
        return clv__fail(k->e, CLV_SHAPE, "the place is not one number");
    if (t)
        *place = get_i(t, 0);
    if (*place < 0)
        *place += n;
    if (*place < 0 || *place > n)
        return clv__fail(k->e, CLV_SHAPE, "place %lld of %lld tensors",
                         (long long)*place, (long long)n);
    return CLV_OK;
}

/* -- making and changing --------------------------------------------------*/

clv_status kernel_sequence_construct(kernel *k)
{
    const clv_tensor *x = input_of(k, 0);
    CLV_TRY(make_list(k, CLV_FORM_SEQUENCE, x->dtype, k->n->n_in));
    for (uint32_t i = 0; i < k->n->n_in; i++) {
        if (!k->in[i] || k->in[i]->dtype != x->dtype)
            return clv__fail(k->e, CLV_SHAPE,
                             "tensors of different types in one sequence");
        CLV_TRY(keep_tensor(k, k->in[i], &sequence_items(k)[i]));
    }
    return CLV_OK;
}

clv_status kernel_sequence_empty(kernel *k)
{
    return make_list(k, CLV_FORM_SEQUENCE, asked_type(k->n, CLV_FLOAT32), 0);
}

clv_status kernel_sequence_insert(kernel *k)
{
    const clv_tensor *s, *x = input_of(k, 1);
    int64_t n, at;
    CLV_TRY(sequence_in(k, &s));
    n = numel(s);
    CLV_TRY(place_in(k, 2, n, n, &at));
    if (n && x->dtype != s->dtype)
        return clv__fail(k->e, CLV_SHAPE, "a tensor of %s in a sequence of %s",
                         clv_dtype_name(x->dtype), clv_dtype_name(s->dtype));
    CLV_TRY(make_list(k, CLV_FORM_SEQUENCE, x->dtype, n + 1));
    const clv_tensor *old = s->data;
    clv_tensor *items = sequence_items(k);
    memcpy(items, old, (size_t)at * sizeof *items);
    memcpy(items + at + 1, old + at, (size_t)(n - at) * sizeof *items);
    return keep_tensor(k, x, &items[at]);
}

clv_status kernel_sequence_erase(kernel *k)
{
    const clv_tensor *s;
    int64_t n, at;
    CLV_TRY(sequence_in(k, &s));
    n = numel(s);
    CLV_TRY(place_in(k, 1, n, n - 1, &at));
    if (at >= n)
        return clv__fail(k->e, CLV_SHAPE, "place %lld of %lld tensors",
                         (long long)at, (long long)n);
    CLV_TRY(make_list(k, CLV_FORM_SEQUENCE, s->dtype, n - 1));
    const clv_tensor *old = s->data;
    clv_tensor *items = sequence_items(k);
    memcpy(items, old, (size_t)at * sizeof *items);
    memcpy(items + at, old + at + 1, (size_t)(n - at - 1) * sizeof *items);
    return CLV_OK;
}

clv_status kernel_sequence_at(kernel *k)
{
    const clv_tensor *s;
    int64_t at;
    CLV_TRY(sequence_in(k, &s));
    CLV_TRY(place_in(k, 1, numel(s), 0, &at));
    if (!clv_tensor_item(s, at))
        return clv__fail(k->e, CLV_SHAPE, "place %lld of %lld tensors",
                         (long long)at, (long long)numel(s));
    return clv__tensor_copy(clv_tensor_item(s, at), &k->out[0], k->e);
}

clv_status kernel_sequence_length(kernel *k)
{
    const clv_tensor *s;
    CLV_TRY(sequence_in(k, &s));
    CLV_TRY(make_output(k, 0, &(clv_tensor){.dtype = CLV_INT64}));
    put_i(&k->out[0], 0, numel(s));
    return CLV_OK;
}

/* -- to and from tensors --------------------------------------------------*/

/* Copies `n` slices of x along `axis`, from slice `from` on, to slice `to` of
 * y, which has another size there and else the same. */
static void copy_slices(clv_tensor *y, int64_t to, const clv_tensor *x,
                        int64_t from, uint32_t axis, int64_t n)
{
    int64_t inner = 1, outer = 1;
    for (uint32_t i = 0; i < y->rank; i++) {
        outer *= i < axis ? y->dims[i] : 1;
        inner *= i > axis ? y->dims[i] : 1;
    }
    int64_t rows = inner && outer ? numel(x) / (outer * inner) : 0;
    for (int64_t o = 0; o < outer; o++)
        copy_run(y, (o * y->dims[axis] + to) * inner, x,
                 (o * rows + from) * inner, n * inner);
}

/* The size of part i: a list, one size for all but the last, or ones. */
static int64_t part_size(const clv_tensor *sizes, int64_t i, int64_t left)
{
    int64_t size = !sizes ? 1 : sizes->rank ? get_i(sizes, i) : get_i(sizes, 0);
    return sizes && sizes->rank ? size : size < left ? size : left;
}

static clv_status count_parts(const kernel *k, const clv_tensor *sizes,
                              int64_t all, int64_t *count)
{
    int64_t sum = 0;
    for (*count = 0; sum < all || (sizes && sizes->rank); ++*count) {
        if (sizes && sizes->rank && *count == numel(sizes))
            break;
        int64_t size = part_size(sizes, *count, all - sum);
        if (size < (sizes && sizes->rank ? 0 : 1) || size > all - sum)
            return clv__fail(k->e, CLV_SHAPE, "a part of size %lld of %lld",
                             (long long)size, (long long)all);
        sum += size;
    }
    if (sum != all)
        return clv__fail(k->e, CLV_SHAPE, "parts of %lld in all, not %lld",
                         (long long)sum, (long long)all);
    return CLV_OK;
}

clv_status kernel_split_to_sequence(kernel *k)
{
    const clv_tensor *x = input_of(k, 0), *sizes = input_of(k, 1);
    uint32_t axis;
    int64_t n, at = 0;
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), x->rank, &axis, k->e));
    bool drop = !sizes && !attr_int(k->n, CLV_A_KEEPDIM);
    CLV_TRY(count_parts(k, sizes, x->dims[axis], &n));
    CLV_TRY(make_list(k, CLV_FORM_SEQUENCE, x->dtype, n));
    for (int64_t i = 0; i < n; i++) {
        clv_tensor part = *x, *item = &sequence_items(k)[i];
        part.dims[axis] = part_size(sizes, i, x->dims[axis] - at);
        part.data = arena_alloc(k->kept, (size_t)clv_tensor_bytes(&part) + 1);
        if (!part.data)
            return clv__nomem(k->e);
        copy_slices(&part, 0, x, at, axis, part.dims[axis]);
        at += part.dims[axis];
        *item = part;
        if (drop)
            memmove(item->dims + axis, item->dims + axis + 1,
                    (--item->rank - axis) * sizeof *item->dims);
    }
    return CLV_OK;
}

/* The shape of the tensors joined along `axis`, or stacked there. */
static clv_status joined_shape(const kernel *k, const clv_tensor *s, bool stack,
                               uint32_t *axis, clv_tensor *y)
{
    const clv_tensor *x = clv_tensor_item(s, 0);
    if (!x)
        return clv__fail(k->e, CLV_SHAPE, "an empty sequence cannot be joined");
    *y = *x;
    y->rank += stack;
    if (y->rank > CLV_MAX_RANK)
        return clv__fail(k->e, CLV_SHAPE, "more than %d axes", CLV_MAX_RANK);
    CLV_TRY(norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, axis, k->e));
    if (stack)
        memmove(y->dims + *axis + 1, y->dims + *axis,
                (x->rank - *axis) * sizeof *y->dims);
    y->dims[*axis] = 0;
    for (int64_t i = 0; (x = clv_tensor_item(s, i)); i++) {
        for (uint32_t d = 0, e = 0; d < y->rank; d++) {
            if (stack && d == *axis)
                continue;
            bool fits = e < x->rank && (d == *axis || x->dims[e] == y->dims[d]);
            if (!fits || x->rank + stack != y->rank || x->dtype != y->dtype)
                return clv__fail(k->e, CLV_SHAPE,
                                 "tensor %lld does not fit the first",
                                 (long long)i);
            e++;
        }
        y->dims[*axis] += stack ? 1 : x->dims[*axis];
    }
    return CLV_OK;
}

clv_status kernel_concat_from_sequence(kernel *k)
{
    const clv_tensor *s, *x;
    bool stack = attr_int(k->n, CLV_A_NEW_AXIS) != 0;
    uint32_t axis;
    clv_tensor shape;
    CLV_TRY(sequence_in(k, &s));
    CLV_TRY(joined_shape(k, s, stack, &axis, &shape));
    CLV_TRY(make_output(k, 0, &shape));
    int64_t at = 0;
    for (int64_t i = 0; (x = clv_tensor_item(s, i)); i++) {
        int64_t n = stack ? 1 : x->dims[axis];
        copy_slices(&k->out[0], at, x, 0, axis, n);
        at += n;
    }
    return CLV_OK;
}

/* -- optionals ------------------------------------------------------------*/

clv_status kernel_optional(kernel *k)
{
    const clv_tensor *x = input_of(k, 0);
    clv_dtype dtype = x ? x->dtype : CLV_NODTYPE;
    CLV_TRY(make_list(k, CLV_FORM_OPTIONAL, dtype, x != NULL));
    return x ? keep_tensor(k, x, &sequence_items(k)[0]) : CLV_OK;
}

clv_status kernel_optional_get(kernel *k)
{
    const clv_tensor *x = input_of(k, 0);
    if (x && x->form == CLV_FORM_OPTIONAL)
        x = clv_tensor_item(x, 0);
    if (!x)
        return clv__fail(k->e, CLV_SHAPE, "the optional holds nothing");
    return clv__tensor_copy(x, &k->out[0], k->e);
}

clv_status kernel_optional_has(kernel *k)
{
    const clv_tensor *x = input_of(k, 0);
    bool has = x && (x->form != CLV_FORM_OPTIONAL || numel(x) > 0);
    CLV_TRY(make_output(k, 0, &(clv_tensor){.dtype = CLV_BOOL}));
    put_i(&k->out[0], 0, has);
    return CLV_OK;
}
