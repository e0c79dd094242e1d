/* arguments.c - what kernels ask of a node: attributes that may come as inputs,
 * inputs that may be left out, sizes that must fit. */
#include "backend/kernel.h"

clv_status checked(const kernel *k, int64_t i, int64_t size, int64_t *out)
{
    *out = i < 0 ? i + size : i;
    if (*out < 0 || *out >= size)
        return clv__fail(k->e, CLV_SHAPE, "index %lld of an axis of %lld",
                         (long long)i, (long long)size);
    return CLV_OK;
}

clv_status sized(const kernel *k, uint32_t i, uint32_t rank,
                 const int64_t *dims)
{
    const clv_tensor *t = input_of(k, i);
    bool fits = !t || t->rank == rank;
    for (uint32_t a = 0; t && fits && a < rank; a++)
        fits = t->dims[a] == dims[a];
    return fits ? CLV_OK
                : clv__fail(k->e, CLV_SHAPE, "input %u does not fit", i);
}

clv_status axis_of(const kernel *k, int64_t otherwise, uint32_t *axis)
{
    uint32_t rank = k->in[0]->rank;
    return norm_axis(attr_int(k->n, CLV_A_AXIS, otherwise), rank ? rank : 1,
                     axis, k->e);
}

clv_status list_of(kernel *k, clv_attr_key key, uint32_t i, int_list *list)
{
    *list = (int_list){0};
    list->v = attr_ints(k->n, key, &list->n);
    list->found = attr_get(k->n, key) != NULL;
    if (list->found || i >= k->n->n_in || !k->in[i])
        return CLV_OK;
    int64_t n = numel(k->in[i]);
    int64_t *v = arena_array(k->scratch, (size_t)n + 1, sizeof *v);
    if (!v || n > UINT32_MAX)
        return clv__nomem(k->e);
    for (int64_t j = 0; j < n; j++)
        v[j] = get_i(k->in[i], j);
    *list = (int_list){v, (uint32_t)n, true};
    return CLV_OK;
}

double number_of(const kernel *k, clv_attr_key key, uint32_t i,
                 double otherwise)
{
    if (attr_get(k->n, key))
        return attr_float(k->n, key, otherwise);
    if (i < k->n->n_in && k->in[i] && numel(k->in[i]) > 0)
        return get_f(k->in[i], 0);
    return otherwise;
}

const clv_tensor *input_of(const kernel *k, uint32_t i)
{
    return i < k->n->n_in ? k->in[i] : NULL;
}

clv_tensor *output_of(const kernel *k, uint32_t i)
{
    return i < k->n->n_out && k->out[i].data ? &k->out[i] : NULL;
}
