/* memory.c - buffers, slots, reorders, operations. */
#include "backend/onednn/onednn.h"

#include <string.h>

clv_status dnn_fail(lowering *l, const char *what, dnnl_status_t s)
{
    size_t n = strcspn(what, "(");
    if (s == dnnl_out_of_memory)
        return clv__nomem(l->e);
    return clv__fail(l->e, CLV_UNSUPPORTED, "oneDNN: %.*s says %s",
                     (int)(n > 60 ? 60 : n), what,
                     s == dnnl_unimplemented       ? "unimplemented"
                     : s == dnnl_invalid_arguments ? "invalid arguments"
                                                   : "no");
}

const clv_value *dnn_value(const lowering *l, uint32_t v)
{
    return &l->g->values[v];
}

bool dnn_const(const lowering *l, uint32_t v)
{
    if (!l->dry)
        return l->s->tensor[v].data != NULL;
    const clv_value *x = dnn_value(l, v);
    return value_is_weight(x) ||
           (x->data && (x->data->ints || x->data->floats));
}

bool dnn_scalar(const lowering *l, uint32_t v, float *x)
{
    const clv_value *value = dnn_value(l, v);
    bool whole = value->dtype == CLV_INT64;
    int64_t i = 1;
    if ((value->dtype != CLV_FLOAT32 && !whole) || clv__numel(value) != 1 ||
        !dnn_const(l, v))
        return false;
    *x = 1;
    if (l->dry && value->data && value->data->floats)
        *x = (float)value->data->floats[0];
    if (!l->dry && !whole)
        memcpy(x, l->s->tensor[v].data, sizeof *x);
    if (!l->dry && whole)
        memcpy(&i, l->s->tensor[v].data, sizeof i);
    if (whole)
        *x = (float)i;
    return true;
}

/* -- layouts --------------------------------------------------------------*/

void dnn_plain(dnnl_memory_desc_t *md, const int64_t *dims, uint32_t rank)
{
    dnnl_dims_t d = {1}, strides = {1};
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        d[i] = dims[i];
        strides[i] = step;
        step *= dims[i];
    }
    dnnl_memory_desc_init_by_strides(md, rank ? (int)rank : 1, d, dnnl_f32,
                                     strides);
}

void dnn_any(dnnl_memory_desc_t *md, const int64_t *dims, uint32_t rank)
{
    dnnl_dims_t d = {1};
    for (uint32_t i = 0; i < rank; i++)
        d[i] = dims[i];
    dnnl_memory_desc_init_by_tag(md, rank ? (int)rank : 1, d, dnnl_f32,
                                 dnnl_format_tag_any);
}

bool dnn_is_plain(const dnnl_memory_desc_t *md)
{
    dnnl_memory_desc_t p;
    dnn_plain(&p, md->dims, (uint32_t)md->ndims);
    return dnnl_memory_desc_equal(&p, md);
}

const dnnl_memory_desc_t *dnn_query(const_dnnl_primitive_desc_t pd,
                                    dnnl_query_t what, int i)
{
    const dnnl_memory_desc_t *md = NULL;
    return dnnl_primitive_desc_query(pd, what, i, &md) == dnnl_success ? md
                                                                       : NULL;
}

/* -- slots ----------------------------------------------------------------*/

static clv_status add_buffer(lowering *l, buffer b, uint32_t *id)
{
    onednn_exec *x = l->x;
    if (!CLV_GROW(x->buffers, x->n_buffers, x->cap_buffers))
        return clv__nomem(l->e);
    *id = (uint32_t)x->n_buffers;
    x->buffers[x->n_buffers++] = b;
    return CLV_OK;
}

static clv_status add_slot(lowering *l, const dnnl_memory_desc_t *md,
                           uint32_t b, uint32_t v, uint32_t *id)
{
    onednn_exec *x = l->x;
    if (!CLV_GROW(x->slots, x->n_slots, x->cap_slots))
        return clv__nomem(l->e);
    *id = (uint32_t)x->n_slots;
    x->slots[x->n_slots++] = (dnn_place){*md, b, v};
    return CLV_OK;
}

clv_status dnn_new(lowering *l, uint32_t v, const dnnl_memory_desc_t *md,
                   uint32_t *id)
{
    uint32_t b;
    CLV_TRY(add_buffer(l,
                       (buffer){.bytes = (int64_t)dnnl_memory_desc_get_size(md),
                                .first = CLV_NONE,
                                .value = CLV_NONE},
                       &b));
    CLV_TRY(add_slot(l, md, b, v, id));
    if (v != CLV_NONE)
        l->slot_of[v] = *id;
    return CLV_OK;
}

clv_status dnn_alias(lowering *l, uint32_t from, uint32_t v,
                     const dnnl_memory_desc_t *md, uint32_t *id)
{
    uint32_t b = l->x->slots[from].buffer;
    CLV_TRY(add_slot(l, md, b, v, id));
    if (v != CLV_NONE) {
        l->slot_of[v] = *id;
        l->x->buffers[b].shared = true;
    }
    return CLV_OK;
}

clv_status dnn_slot(lowering *l, uint32_t v, uint32_t *id)
{
    dnnl_memory_desc_t md;
    uint32_t b;
    *id = l->slot_of[v];
    if (*id != CLV_NONE)
        return CLV_OK;
    const clv_value *x = dnn_value(l, v);
    buffer fresh = {.bytes = clv__bytes(x), .first = CLV_NONE, .value = v};
    if (dnn_const(l, v)) {
        fresh.value = CLV_NONE;
        fresh.data = l->dry ? l : l->s->tensor[v].data;
    }
    dnn_plain(&md, x->dims, x->rank);
    CLV_TRY(add_buffer(l, fresh, &b));
    CLV_TRY(add_slot(l, &md, b, v, id));
    l->slot_of[v] = *id;
    return CLV_OK;
}

/* -- reorders -------------------------------------------------------------*/

static clv_status reorder_now(lowering *l, void *from,
                              const dnnl_memory_desc_t *md, void *to,
                              const dnnl_memory_desc_t *want)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t p = NULL;
    dnnl_memory_t a = NULL, b = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t s = dnnl_reorder_primitive_desc_create(&pd, md, l->engine,
                                                         want, l->engine, NULL);
    if (s == dnnl_success)
        s = dnnl_primitive_create(&p, pd);
    if (s == dnnl_success)
        s = dnnl_memory_create(&a, md, l->engine, from);
    if (s == dnnl_success)
        s = dnnl_memory_create(&b, want, l->engine, to);
    if (s == dnnl_success)
        s = dnnl_stream_create(&stream, l->engine, dnnl_stream_default_flags);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}};
    if (s == dnnl_success)
        s = dnnl_primitive_execute(p, stream, 2, args);
    if (s == dnnl_success)
        s = dnnl_stream_wait(stream);
    dnnl_stream_destroy(stream);
    dnnl_memory_destroy(a);
    dnnl_memory_destroy(b);
    dnnl_primitive_destroy(p);
    dnnl_primitive_desc_destroy(pd);
    return s == dnnl_success ? CLV_OK : dnn_fail(l, "reorder", s);
}

static clv_status const_reorder(lowering *l, void *from,
                                const dnnl_memory_desc_t *md,
                                const dnnl_memory_desc_t *want, uint32_t v,
                                uint32_t *id)
{
    uint32_t b;
    size_t size = dnnl_memory_desc_get_size(want);
    buffer fresh = {.bytes = (int64_t)size,
                    .first = CLV_NONE,
                    .value = CLV_NONE,
                    .data = l};
    if (!l->dry) {
        fresh.owned = true;
        fresh.data = clv__zalloc(size + 64);
        if (!fresh.data)
            return clv__nomem(l->e);
        clv_status s = reorder_now(l, from, md, fresh.data, want);
        if (s != CLV_OK)
            return clv__free(fresh.data), s;
    }
    CLV_TRY(add_buffer(l, fresh, &b));
    return add_slot(l, want, b, v, id);
}

clv_status dnn_constant(lowering *l, void *data, const dnnl_memory_desc_t *md,
                        const dnnl_memory_desc_t *want, uint32_t *id)
{
    clv_status s = const_reorder(l, data, md, want, CLV_NONE, id);
    clv__free(data);
    return s;
}

clv_status dnn_want(lowering *l, uint32_t v, const dnnl_memory_desc_t *md,
                    uint32_t *id)
{
    uint32_t from;
    CLV_TRY(dnn_slot(l, v, &from));
    onednn_exec *x = l->x;
    for (uint32_t i = from; i < x->n_slots; i++)
        if (x->slots[i].value == v &&
            dnnl_memory_desc_equal(&x->slots[i].md, md))
            return *id = i, CLV_OK;
    dnnl_memory_desc_t have = x->slots[from].md;
    if (have.ndims != md->ndims)
        return clv__fail(l->e, CLV_INTERNAL, "oneDNN: %d axes, wanted %d",
                         have.ndims, md->ndims);
    const buffer *b = &x->buffers[x->slots[from].buffer];
    if (b->data)
        return const_reorder(l, b->data, &have, md, v, id);
    dnnl_primitive_desc_t pd;
    DNN(l, dnnl_reorder_primitive_desc_create(&pd, &have, l->engine, md,
                                              l->engine, l->attr));
    uint32_t keep = l->slot_of[v];
    clv_status s = dnn_new(l, v, md, id);
    l->slot_of[v] = keep;
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    const int args[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const uint32_t slots[] = {from, *id};
    return dnn_op(l, pd, args, slots, 2);
}

clv_status dnn_view(lowering *l, uint32_t v, const int64_t *dims, uint32_t rank,
                    uint32_t *id)
{
    dnnl_memory_desc_t plain, view;
    uint32_t from;
    const clv_value *x = dnn_value(l, v);
    dnn_plain(&plain, x->dims, x->rank);
    CLV_TRY(dnn_want(l, v, &plain, &from));
    dnn_plain(&view, dims, rank);
    return dnn_alias(l, from, CLV_NONE, &view, id);
}

/* -- operations -----------------------------------------------------------*/

static void touch(onednn_exec *x, uint32_t s)
{
    buffer *b = &x->buffers[x->slots[s].buffer];
    uint32_t at = (uint32_t)x->n_ops;
    if (b->first == CLV_NONE)
        b->first = at;
    b->last = at;
}

clv_status dnn_op(lowering *l, dnnl_primitive_desc_t pd, const int *args,
                  const uint32_t *slots, uint32_t n)
{
    onednn_exec *x = l->x;
    dnn_step o = {.n_args = n};
    const dnnl_memory_desc_t *pad = dnn_query(pd, dnnl_query_scratchpad_md, 0);
    int64_t size = pad ? (int64_t)dnnl_memory_desc_get_size(pad) : 0;
    if (size > x->scratchpad)
        x->scratchpad = size;
    dnnl_status_t s =
        l->dry ? dnnl_success : dnnl_primitive_create(&o.primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    if (s != dnnl_success)
        return dnn_fail(l, "primitive", s);
    for (uint32_t i = 0; i < n; i++) {
        o.arg[i] = args[i];
        o.slot[i] = slots[i];
        touch(x, slots[i]);
    }
    if (!CLV_GROW(x->ops, x->n_ops, x->cap_ops)) {
        dnnl_primitive_destroy(o.primitive);
        return clv__nomem(l->e);
    }
    x->ops[x->n_ops++] = o;
    return CLV_OK;
}
