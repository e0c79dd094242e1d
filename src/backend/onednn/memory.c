/* memory.c - buffers, slots, reorders, operations. */
#include "backend/onednn/onednn.h"
#include "core/mapping.h"
#include "formats/external.h"

#include <limits.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

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

clv_status dnn_no(lowering *l, const char *why)
{
    return clv__fail(l->e, CLV_UNSUPPORTED, "oneDNN: %s", why);
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

void dnn_use_threads(uint32_t n)
{
    int limit = omp_get_thread_limit();
    int want = omp_get_max_threads(); /* OMP_NUM_THREADS may be anything */
    if (want > omp_get_num_procs())
        want = omp_get_num_procs();
    if (n && n < INT_MAX)
        want = (int)n;
    omp_set_dynamic(0);
    omp_set_num_threads(want < limit ? want : limit);
}

static bool can_map(size_t size)
{
    void *p = mmap(NULL, size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p != MAP_FAILED && munmap(p, size) == 0;
}

bool dnn_has_room(uint32_t primitives)
{
    const size_t least = (size_t)96 << 20, each = (size_t)1 << 20;
    const size_t most = (size_t)1 << 30, usual_stack = (size_t)8 << 20;
    struct rlimit stack;
    size_t threads = (size_t)omp_get_max_threads();
    size_t one = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < most
                     ? (size_t)stack.rlim_cur
                     : usual_stack;
    size_t size = least + (primitives < 1000 ? primitives : 1000) * each +
                  (threads < 1000 ? threads : 1000) * one;
    return can_map(size);
}

dnnl_status_t dnn_primitive(dnnl_primitive_t *p, const_dnnl_primitive_desc_t pd)
{
    const size_t code = (size_t)8 << 20; /* of all kernels of a primitive */
    return can_map(code) ? dnnl_primitive_create(p, pd) : dnnl_out_of_memory;
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

static bool has_layout(const dnnl_memory_desc_t *md, const int *order)
{
    const int64_t *strides = md->format_desc.blocking.strides;
    int64_t step = 1;
    if (md->format_desc.blocking.inner_nblks)
        return false;
    for (int i = md->ndims; i-- > 0;) {
        if (strides[order[i]] != step)
            return false;
        step *= md->dims[order[i]];
    }
    return true;
}

static bool memory_is_plain(const dnnl_memory_desc_t *md)
{
    int order[DNNL_MAX_NDIMS];
    for (int i = 0; i < md->ndims; i++)
        order[i] = i;
    return has_layout(md, order);
}

bool dnn_channels_last(const dnnl_memory_desc_t *md)
{
    int order[DNNL_MAX_NDIMS] = {0};
    if (md->ndims < 3)
        return false;
    for (int i = 1; i + 1 < md->ndims; i++)
        order[i] = i + 1;
    order[md->ndims - 1] = 1;
    return has_layout(md, order);
}

void dnn_last(dnnl_memory_desc_t *md, const clv_value *v)
{
    dnnl_dims_t dims, strides;
    int64_t step = v->dims[1];
    for (uint32_t i = v->rank; i-- > 2;) {
        strides[i] = step;
        step *= v->dims[i];
    }
    strides[0] = step;
    strides[1] = 1;
    memcpy(dims, v->dims, v->rank * sizeof *dims);
    dnnl_memory_desc_init_by_strides(md, v->rank, dims, dnnl_f32, strides);
}

static bool blocked_by_channels(const dnnl_memory_desc_t *md)
{
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int64_t all = 4;
    for (int i = 0; i < md->ndims; i++)
        all *= md->padded_dims[i];
    return b->inner_nblks == 1 && b->inner_idxs[0] == 1 &&
           dnnl_memory_desc_get_size(md) == (size_t)all;
}

void dnn_tidy(dnnl_memory_desc_t *md)
{
    dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    int64_t beyond = 1;
    for (int i = md->ndims; i-- > 0 && !b->inner_nblks;) {
        if (md->dims[i] == 1)
            b->strides[i] = beyond;
        else if (b->strides[i] * md->dims[i] > beyond)
            beyond = b->strides[i] * md->dims[i];
    }
}

const dnnl_memory_desc_t *dnn_query(const_dnnl_primitive_desc_t pd,
                                    dnnl_query_t what, int i)
{
    const dnnl_memory_desc_t *md = NULL;
    return dnnl_primitive_desc_query(pd, what, i, &md) == dnnl_success ? md
                                                                       : NULL;
}

bool dnn_is_slow(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return !name || strstr(name, "ref") || strstr(name, "simple");
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
    x->slots[x->n_slots++] = (dnn_place){.md = *md, .buffer = b, .value = v};
    return CLV_OK;
}

/* The buffer that v's concatenation shares with its parts. */
static clv_status home_buffer(lowering *l, uint32_t of, uint32_t *b)
{
    *b = l->home_buffer[of];
    if (*b != CLV_NONE)
        return CLV_OK;
    CLV_TRY(add_buffer(l,
                       (buffer){.bytes = clv__bytes(dnn_value(l, of)),
                                .value = CLV_NONE,
                                .shared = true},
                       b));
    l->home_buffer[of] = *b;
    return CLV_OK;
}

clv_status dnn_new(lowering *l, uint32_t v, const dnnl_memory_desc_t *md,
                   uint32_t *id)
{
    uint32_t b;
    int64_t bytes = (int64_t)dnnl_memory_desc_get_size(md), at = 0;
    bool home = v != CLV_NONE && l->home && l->home[v].of != CLV_NONE &&
                l->slot_of[v] == CLV_NONE &&
                bytes == clv__bytes(dnn_value(l, v));
    if (home) {
        at = l->home[v].at;
        CLV_TRY(home_buffer(l, l->home[v].of, &b));
    } else {
        CLV_TRY(add_buffer(l, (buffer){.bytes = bytes, .value = CLV_NONE}, &b));
    }
    CLV_TRY(add_slot(l, md, b, v, id));
    l->x->slots[*id].at = at;
    if (v != CLV_NONE)
        l->slot_of[v] = *id;
    return CLV_OK;
}

clv_status dnn_name(lowering *l, uint32_t from, uint32_t v,
                    const dnnl_memory_desc_t *md)
{
    uint32_t id, b = l->x->slots[from].buffer;
    bool shared = l->x->buffers[b].shared;
    CLV_TRY(dnn_alias(l, from, v, md, &id));
    l->x->buffers[b].shared = shared;
    return CLV_OK;
}

clv_status dnn_alias(lowering *l, uint32_t from, uint32_t v,
                     const dnnl_memory_desc_t *md, uint32_t *id)
{
    uint32_t b = l->x->slots[from].buffer;
    int64_t at = l->x->slots[from].at;
    CLV_TRY(add_slot(l, md, b, v, id));
    l->x->slots[*id].at = at;
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
    buffer fresh = {.bytes = clv__bytes(x), .value = v};
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

static dnnl_status_t scaled_attr(const dnn_scales *scales,
                                 dnnl_primitive_attr_t *attr)
{
    *attr = NULL;
    if (!scales)
        return dnnl_success;
    dnnl_status_t s = dnnl_primitive_attr_create(attr);
    return s == dnnl_success
               ? dnnl_primitive_attr_set_output_scales(
                     *attr, scales->n, scales->mask, scales->scale)
               : s;
}

enum { SMALL = 256 << 10 }; /* bytes that a second thread comes too late for */

static clv_status reorder_now(lowering *l, void *from,
                              const dnnl_memory_desc_t *md, void *to,
                              const dnnl_memory_desc_t *want,
                              const dnn_scales *scales)
{
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t p = NULL;
    dnnl_memory_t a = NULL, b = NULL;
    dnnl_stream_t stream = NULL;
    int threads = omp_get_max_threads();
    if (dnnl_memory_desc_get_size(want) < SMALL)
        omp_set_num_threads(1); /* the descriptor is made for as many */
    dnnl_status_t s = scaled_attr(scales, &attr);
    if (s == dnnl_success)
        s = dnnl_reorder_primitive_desc_create(&pd, md, l->engine, want,
                                               l->engine, attr);
    if (s == dnnl_success)
        s = dnn_primitive(&p, pd);
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
    omp_set_num_threads(threads);
    dnnl_stream_destroy(stream);
    dnnl_memory_destroy(a);
    dnnl_memory_destroy(b);
    dnnl_primitive_destroy(p);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return s == dnnl_success ? CLV_OK : dnn_fail(l, "reorder", s);
}

bool dnn_is_shared(const lowering *l, uint32_t v)
{
    const clv_subject *s = l->s;
    return s->family && v != CLV_NONE &&
           (!s->shared || (v < s->n_shared && s->shared[v]));
}

static clv_status add_constant(lowering *l, const dnnl_memory_desc_t *md,
                               size_t size, uint32_t v, void *data,
                               uint32_t *id)
{
    uint32_t b;
    const buffer fresh = {
        .bytes = (int64_t)size, .value = CLV_NONE, .data = l->dry ? l : data};
    CLV_TRY(add_buffer(l, fresh, &b));
    return add_slot(l, md, b, v, id);
}

void dnn_drop(const lowering *l, const void *data, size_t bytes)
{
    if (bytes < SMALL)
        return;
    clv__mapping_drop(l->g->file, l->g->file_size, data, bytes);
    if (l->s->files)
        clv__external_drop(l->s->files, data, bytes);
}

clv_status dnn_room(lowering *l, size_t bytes, void *data, uint32_t *id)
{
    dnnl_memory_desc_t md;
    const int64_t n = (int64_t)bytes / 4;
    dnn_plain(&md, &n, 1);
    return add_constant(l, &md, bytes, CLV_NONE, data, id);
}

/* What s is in its layout, made now if it is not there. */
static clv_status pack_constant(lowering *l, const dnn_source *s, bool shared,
                                const dnn_scales *scales, void **to)
{
    size_t size = dnnl_memory_desc_get_size(&s->want);
    void *from = (void *)(uintptr_t)s->data;
    if (shared && (*to = dnn_packs_find(l->x->packs, s)))
        return CLV_OK;
    if (!(*to = dnn_packs_room(l->x->packs, size)))
        return clv__nomem(l->e);
    if (!scales && dnnl_memory_desc_equal(&s->md, &s->want))
        memcpy(*to, from, size);
    else
        CLV_TRY(reorder_now(l, from, &s->md, *to, &s->want, scales));
    dnn_drop(l, from, dnnl_memory_desc_get_size(&s->md));
    return shared && !dnn_packs_add(l->x->packs, s, *to) ? clv__nomem(l->e)
                                                         : CLV_OK;
}

/* The slot is one of v; of_shared says whether the data stays where it is. */
static clv_status const_reorder(lowering *l, void *from, bool of_shared,
                                const dnnl_memory_desc_t *md,
                                const dnnl_memory_desc_t *want,
                                const dnn_scales *scales, uint32_t v,
                                uint32_t *id)
{
    void *to = NULL;
    dnn_source s = {.data = from, .md = *md, .want = *want};
    if (scales) {
        s.scale = scales->scale;
        s.n = scales->n;
        s.mask = scales->mask;
    }
    if (!l->dry)
        CLV_TRY(pack_constant(l, &s, of_shared, scales, &to));
    return add_constant(l, want, dnnl_memory_desc_get_size(want), v, to, id);
}

clv_status dnn_constant(lowering *l, void *data, const dnnl_memory_desc_t *md,
                        const dnnl_memory_desc_t *want,
                        const dnn_scales *scales, uint32_t *id)
{
    return const_reorder(l, data, false, md, want, scales, CLV_NONE, id);
}

clv_status dnn_weight(lowering *l, uint32_t w, void *data,
                      const dnnl_memory_desc_t *md,
                      const dnnl_memory_desc_t *want, const dnn_scales *scales,
                      uint32_t *id)
{
    return const_reorder(l, data, dnn_is_shared(l, w), md, want, scales,
                         CLV_NONE, id);
}

uint32_t dnn_found(const lowering *l, uint32_t v, const dnnl_memory_desc_t *md)
{
    const onednn_exec *x = l->x;
    for (size_t i = l->slot_of[v]; i < x->n_slots; i++)
        if (x->slots[i].value == v &&
            dnnl_memory_desc_equal(&x->slots[i].md, md))
            return (uint32_t)i;
    return CLV_NONE;
}

clv_status dnn_want(lowering *l, uint32_t v, const dnnl_memory_desc_t *md,
                    uint32_t *id)
{
    uint32_t from;
    CLV_TRY(dnn_slot(l, v, &from));
    onednn_exec *x = l->x;
    if ((*id = dnn_found(l, v, md)) != CLV_NONE)
        return CLV_OK;
    dnnl_memory_desc_t have = x->slots[from].md;
    if (have.ndims != md->ndims)
        return clv__fail(l->e, CLV_INTERNAL, "oneDNN: %d axes, wanted %d",
                         have.ndims, md->ndims);
    const buffer *b = &x->buffers[x->slots[from].buffer];
    if (b->data)
        return const_reorder(l, (char *)b->data + x->slots[from].at,
                             dnn_is_shared(l, v), &have, md, NULL, v, id);
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

/* A part of an image whose channels are last. */
static bool part_of_last(const dnnl_memory_desc_t *md)
{
    return md->ndims >= 3 && !md->format_desc.blocking.inner_nblks &&
           md->dims[1] > 1 && md->format_desc.blocking.strides[1] == 1;
}

clv_status dnn_dense(lowering *l, uint32_t v, uint32_t *id)
{
    dnnl_memory_desc_t want;
    const clv_value *x = dnn_value(l, v);
    CLV_TRY(dnn_slot(l, v, id));
    const dnnl_memory_desc_t *md = &l->x->slots[*id].md;
    if (memory_is_plain(md) || dnn_channels_last(md) || blocked_by_channels(md))
        return CLV_OK;
    if (part_of_last(md))
        dnn_last(&want, x);
    else
        dnn_plain(&want, x->dims, x->rank);
    return dnn_want(l, v, &want, id);
}

bool dnn_works_last(void)
{
    const dnnl_cpu_isa_t wide = dnnl_cpu_isa_avx512_core;
    return (dnnl_get_effective_cpu_isa() & wide) == wide;
}

clv_status dnn_dense_last(lowering *l, uint32_t v, uint32_t *id)
{
    enum { FEW_CHANNELS = 8 };
    dnnl_memory_desc_t want;
    const clv_value *x = dnn_value(l, v);
    CLV_TRY(dnn_dense(l, v, id));
    if (x->rank < 3 || x->dims[1] < FEW_CHANNELS || !dnn_works_last() ||
        !memory_is_plain(&l->x->slots[*id].md))
        return CLV_OK;
    dnn_last(&want, x);
    return dnn_want(l, v, &want, id);
}

clv_status dnn_over(lowering *l, uint32_t v, const dnnl_memory_desc_t *md,
                    uint32_t *id)
{
    dnnl_memory_desc_t plain;
    uint32_t from;
    const clv_value *x = dnn_value(l, v);
    dnn_plain(&plain, x->dims, x->rank);
    CLV_TRY(dnn_want(l, v, &plain, &from));
    return dnn_alias(l, from, CLV_NONE, md, id);
}

clv_status dnn_view(lowering *l, uint32_t v, const int64_t *dims, uint32_t rank,
                    uint32_t *id)
{
    dnnl_memory_desc_t md;
    dnn_plain(&md, dims, rank);
    return dnn_over(l, v, &md, id);
}

/* -- operations -----------------------------------------------------------*/

static clv_status add_step(lowering *l, dnn_step o, const int *args,
                           const uint32_t *slots, uint32_t n)
{
    onednn_exec *x = l->x;
    o.n_args = n;
    for (uint32_t i = 0; i < n; i++) {
        o.arg[i] = args[i];
        o.slot[i] = slots[i];
        x->buffers[x->slots[slots[i]].buffer].used = true;
    }
    if (!CLV_GROW(x->ops, x->n_ops, x->cap_ops)) {
        dnnl_primitive_desc_destroy(o.pd);
        return clv__nomem(l->e);
    }
    x->ops[x->n_ops++] = o;
    return CLV_OK;
}

static void need_scratchpad(onednn_exec *x, size_t size)
{
    if ((int64_t)size > x->scratchpad)
        x->scratchpad = (int64_t)size;
}

/* Whether oneDNN has no more than a plain loop for it: ours are faster. */
static bool is_plain_loop(dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0,
                                     (void *)&name) == dnnl_success &&
           name && !strncmp(name, "ref", 3);
}

clv_status dnn_op(lowering *l, dnnl_primitive_desc_t pd, const int *args,
                  const uint32_t *slots, uint32_t n)
{
    if (l->dry && is_plain_loop(pd)) {
        dnnl_primitive_desc_destroy(pd);
        return dnn_no(l, "no code for this machine in this form");
    }
    const dnnl_memory_desc_t *pad = dnn_query(pd, dnnl_query_scratchpad_md, 0);
    need_scratchpad(l->x, pad ? dnnl_memory_desc_get_size(pad) : 0);
    return add_step(l, (dnn_step){.pd = pd}, args, slots, n);
}

static dnnl_status_t make_primitive(dnn_step *o)
{
    if (!o->pd)
        return dnnl_success;
    dnnl_status_t s = dnn_primitive(&o->primitive, o->pd);
    dnnl_primitive_desc_destroy(o->pd);
    o->pd = NULL;
    return s;
}

clv_status dnn_create(lowering *l)
{
    onednn_exec *x = l->x;
    int failed = 0, starved = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : failed, starved)
    for (size_t i = 0; i < x->n_ops; i++) {
        dnnl_status_t s = make_primitive(&x->ops[i]);
        failed += s != dnnl_success;
        starved += s == dnnl_out_of_memory;
    }
    return failed ? dnn_fail(l, "primitive",
                             starved ? dnnl_out_of_memory : dnnl_unimplemented)
                  : CLV_OK;
}

clv_status dnn_own(lowering *l, const winograd *own, const int *args,
                   const uint32_t *slots, uint32_t n)
{
    need_scratchpad(l->x, winograd_scratch(own));
    return add_step(l, (dnn_step){.own = *own}, args, slots, n);
}
