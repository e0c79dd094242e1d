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

clv_status axis_of(const kernel *k, uint32_t *axis)
{
    return get_axis(k->n, k->in[0]->rank, axis, k->e);
}

clv_status lane_of(const kernel *k, lane *l)
{
    uint32_t axis;
    CLV_TRY(axis_of(k, &axis));
    *l = lanes(k->in[0], axis);
    l->rows *= l->step;
    return CLV_OK;
}

clv_status list_of(kernel *k, clv_attr_key key, uint32_t i, int_list *list)
{
    *list = (int_list){.found = attr_get(k->n, key) != NULL};
    list->v = attr_ints(k->n, key, &list->n);
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

double number_of(const kernel *k, clv_attr_key key, uint32_t i)
{
    const clv_tensor *in = input_of(k, i);
    if (!attr_get(k->n, key) && in && numel(in) > 0)
        return get_f(in, 0);
    return attr_float(k->n, key);
}

/* The first element that a constant of the graph holds. */
static void constant_number(const clv_payload *p, scalar_arg *out)
{
    if (!p || (!p->floats && !p->ints))
        return;
    out->t.dtype = p->floats ? CLV_FLOAT64 : CLV_INT64;
    if (p->floats) {
        out->f = p->floats[0];
        out->t.data = &out->f;
    } else {
        out->i = p->ints[0];
    }
}

bool scalar_at(const kernel *k, clv_attr_key key, uint32_t i, scalar_arg *out)
{
    const clv_attr *a = attr_get(k->n, key);
    const clv_tensor *in = input_of(k, i);
    *out = (scalar_arg){.t = {.dtype = CLV_INT64, .data = &out->i}};
    if (a && a->type == CLV_ATTR_INT) {
        out->i = a->u.i;
    } else if (a && a->type == CLV_ATTR_TENSOR) {
        constant_number(k->g->values[a->u.value].data, out);
    } else if (!a && in && numel(in) > 0) {
        out->t = *in;
    } else {
        out->f = attr_exists(k->n, key) ? attr_float(k->n, key) : 0;
        out->t = (clv_tensor){.dtype = CLV_FLOAT64, .data = &out->f};
        return a != NULL;
    }
    return true;
}

int64_t whole_of(const kernel *k, clv_attr_key key, uint32_t i)
{
    scalar_arg n;
    (void)scalar_at(k, key, i, &n);
    return get_i(&n.t, 0);
}

const clv_tensor *input_of(const kernel *k, uint32_t i)
{
    return i < k->n->n_in ? k->in[i] : NULL;
}

clv_tensor *output_of(const kernel *k, uint32_t i)
{
    return i < k->n->n_out && k->out[i].data ? &k->out[i] : NULL;
}
