/* onednn.c - the backend: asks oneDNN, compiles subgraphs, runs them.
 *
 * Built as a plugin of its own, so that the library does not depend on oneDNN.
 * Support is asked by making the primitive descriptor of the node alone. */
#include "backend/onednn/onednn.h"
#include "analysis/liveness.h"
#include "backend/plugin.h"

#include <fenv.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

/* -- executables ----------------------------------------------------------*/

static void memories_free(memories *m, size_t n_slots)
{
    for (size_t i = 0; m->of && i < n_slots; i++)
        if (m->of[i])
            dnnl_memory_destroy(m->of[i]);
    if (m->scratchpad)
        dnnl_memory_destroy(m->scratchpad);
    if (m->stream)
        dnnl_stream_destroy(m->stream);
    clv__free(m->of);
    clv__free(m);
}

static void release(clv_exec *base)
{
    onednn_exec *x = (onednn_exec *)base;
    while (x->idle) {
        memories *m = x->idle;
        x->idle = m->next;
        memories_free(m, x->n_slots);
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        dnnl_primitive_desc_destroy(x->ops[i].pd);
        dnnl_primitive_destroy(x->ops[i].primitive);
    }
    dnn_packs_give(x->packs);
    clv__free(x->buffers);
    clv__free(x->slots);
    clv__free(x->ops);
    pthread_mutex_destroy(&x->lock);
    clv__free(x);
}

static memories *memories_new(onednn_exec *x)
{
    memories *m = dnn_has_room(0) ? clv__zalloc(sizeof *m) : NULL;
    if (!m || !(m->of = clv__zalloc((x->n_slots + 1) * sizeof *m->of)))
        return clv__free(m), NULL;
    dnnl_status_t s =
        dnnl_stream_create(&m->stream, x->engine, dnnl_stream_default_flags);
    for (size_t i = 0; i < x->n_slots && s == dnnl_success; i++) {
        const buffer *b = &x->buffers[x->slots[i].buffer];
        if (b->used)
            s = dnnl_memory_create(&m->of[i], &x->slots[i].md, x->engine,
                                   b->data ? (char *)b->data + x->slots[i].at
                                           : NULL);
    }
    dnnl_memory_desc_t md;
    const dnnl_dims_t dims = {x->scratchpad + 1};
    dnnl_memory_desc_init_by_tag(&md, 1, dims, dnnl_u8, dnnl_a);
    if (s == dnnl_success)
        s = dnnl_memory_create(&m->scratchpad, &md, x->engine, NULL);
    if (s != dnnl_success)
        return memories_free(m, x->n_slots), NULL;
    return m;
}

static memories *memories_take(onednn_exec *x)
{
    pthread_mutex_lock(&x->lock);
    memories *m = x->idle;
    if (m)
        x->idle = m->next;
    pthread_mutex_unlock(&x->lock);
    return m ? m : memories_new(x);
}

static void memories_give(onednn_exec *x, memories *m)
{
    pthread_mutex_lock(&x->lock);
    m->next = x->idle;
    x->idle = m;
    pthread_mutex_unlock(&x->lock);
}

/* Where each slot lies in this run. */
static void point(const onednn_exec *x, memories *m, const clv_tensor *tensor,
                  char *workspace)
{
    bool moved = m->workspace != workspace;
    for (size_t i = 0; i < x->n_slots; i++) {
        const buffer *b = &x->buffers[x->slots[i].buffer];
        int64_t at = x->slots[i].at;
        if (!m->of[i] || b->data)
            continue;
        if (b->value != CLV_NONE)
            dnnl_memory_set_data_handle(m->of[i],
                                        (char *)tensor[b->value].data + at);
        else if (moved)
            dnnl_memory_set_data_handle(m->of[i], workspace + b->offset + at);
    }
    if (moved)
        dnnl_memory_set_data_handle(m->scratchpad,
                                    workspace + x->scratchpad_offset);
    m->workspace = workspace;
}

/* The memory of an argument, or NULL. */
static void *argument(const memories *m, const dnn_step *o, int arg)
{
    void *data = NULL;
    for (uint32_t i = 0; i < o->n_args; i++)
        if (o->arg[i] == arg)
            dnnl_memory_get_data_handle(m->of[o->slot[i]], &data);
    return data;
}

static dnnl_status_t run_own(const memories *m, const dnn_step *o)
{
    void *scratch = NULL;
    dnnl_memory_get_data_handle(m->scratchpad, &scratch);
    const winograd_args a = {
        .src = argument(m, o, DNNL_ARG_SRC),
        .weights = argument(m, o, DNNL_ARG_WEIGHTS),
        .bias = argument(m, o, DNNL_ARG_BIAS),
        .residual = argument(m, o, DNNL_ARG_SRC_1),
        .dst = argument(m, o, DNNL_ARG_DST),
        .scratch = scratch,
    };
    winograd_run(&o->own, &a);
    return dnnl_success;
}

static dnnl_status_t onednn_run_step(const memories *m, const dnn_step *o)
{
    dnnl_exec_arg_t args[OP_ARGS + 1];
    if (!o->primitive)
        return run_own(m, o);
    for (uint32_t k = 0; k < o->n_args; k++)
        args[k] = (dnnl_exec_arg_t){o->arg[k], m->of[o->slot[k]]};
    args[o->n_args] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, m->scratchpad};
    return dnnl_primitive_execute(o->primitive, m->stream, (int)o->n_args + 1,
                                  args);
}

static clv_status onednn_run(clv_exec *base, const clv_tensor *tensor,
                             void *workspace, clv_err *e)
{
    onednn_exec *x = (onednn_exec *)base;
    if (x->threads > 1 && omp_in_parallel())
        return clv__fail(e, CLV_UNSUPPORTED,
                         "oneDNN: made for %u threads, but called from a "
                         "parallel region of OpenMP; make it for one",
                         x->threads);
    memories *m = memories_take(x);
    if (!m)
        return clv__nomem(e);
    dnn_use_threads(x->threads);
    point(x, m, tensor, workspace);
    dnnl_status_t s = dnnl_success;
    clv__limits_enter();
    for (size_t i = 0; i < x->n_ops && s == dnnl_success && !clv__late(); i++)
        s = onednn_run_step(m, &x->ops[i]);
    if (s == dnnl_success)
        s = dnnl_stream_wait(m->stream);
    memories_give(x, m);
    CLV_TRY(clv__within(0, e));
    return s == dnnl_success
               ? CLV_OK
               : clv__fail(e, CLV_INTERNAL, "oneDNN: a primitive failed");
}

/* The processor keeps a flag per thread that stays up once an operation on
 * numbers had none as its result: 0/0, the root of a negative number, the
 * difference of infinities. */
static bool onednn_made_nan(const clv_exec *base)
{
    bool made = false;
    dnn_use_threads(((const onednn_exec *)base)->threads);
#pragma omp parallel reduction(|| : made)
    {
        made = fetestexcept(FE_INVALID) != 0;
        if (made)
            feclearexcept(FE_INVALID);
    }
    return made;
}

/* OpenMP's threads, on which oneDNN runs, look out for work for a while. What
 * raised their flag in work of ours is nothing that onednn_made_nan asks about;
 * the first thread is the caller's, whose flag is the caller's affair. */
static void onednn_team(uint32_t threads, void (*work)(void *ctx), void *ctx)
{
#pragma omp parallel num_threads((int)threads)
    {
        work(ctx);
        if (omp_get_thread_num() != 0 && fetestexcept(FE_INVALID))
            feclearexcept(FE_INVALID);
    }
}

/* -- compiling ------------------------------------------------------------*/

/* The plain tensor that leaves: written in place where that is possible. */
static clv_status deliver(lowering *l, uint32_t v)
{
    onednn_exec *x = l->x;
    const clv_value *value = dnn_value(l, v);
    uint32_t s = l->slot_of[v], to;
    dnnl_memory_desc_t plain;
    if (s == CLV_NONE)
        return clv__fail(l->e, CLV_INTERNAL, "oneDNN: an output nobody made");
    dnn_plain(&plain, value->dims, value->rank);
    buffer *b = &x->buffers[x->slots[s].buffer];
    if (b->value == CLV_NONE && !b->data && !b->shared && b->used &&
        x->slots[s].at == 0 &&
        dnnl_memory_desc_equal(&x->slots[s].md, &plain)) {
        b->value = v;
        return CLV_OK;
    }
    dnnl_primitive_desc_t pd;
    DNN(l, dnnl_reorder_primitive_desc_create(&pd, &x->slots[s].md, l->engine,
                                              &plain, l->engine, l->attr));
    clv_status st = dnn_new(l, CLV_NONE, &plain, &to);
    if (st != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), st;
    x->buffers[x->slots[to].buffer].value = v;
    const int args[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const uint32_t slots[] = {s, to};
    return dnn_op(l, pd, args, slots, 2);
}

/* Offsets for all buffers of the workspace: they are alive from the first op
 * that has a slot in them to the last. */
static clv_status plan(lowering *l)
{
    onednn_exec *x = l->x;
    liveness live;
    arena_layout layout;
    uint32_t n = 0, ops = (uint32_t)x->n_ops;
    clv_buffer *b = arena_array(&l->mem, x->n_buffers + 1, sizeof *b);
    if (!b || !clv__live_start(&live, &l->mem, (uint32_t)x->n_buffers, ops))
        return clv__nomem(l->e);
    for (uint32_t i = 0; i < ops; i++)
        for (uint32_t k = 0; k < x->ops[i].n_args; k++)
            clv__live_touch(&live, x->slots[x->ops[i].slot[k]].buffer, i);
    for (uint32_t i = 0; i < x->n_buffers; i++) {
        const buffer *f = &x->buffers[i];
        if (f->used && f->value == CLV_NONE && !f->data && f->bytes > 0)
            b[n++] = clv__live_buffer(&live, i, f->bytes);
    }
    CLV_TRY(clv__arena_plan(b, n, 64, ops, &layout, l->e));
    for (uint32_t i = 0; i < n; i++)
        x->buffers[b[i].value].offset = b[i].offset;
    x->scratchpad_offset = (layout.size + 63) / 64 * 64;
    x->base.workspace = x->scratchpad_offset + x->scratchpad + 64;
    return CLV_OK;
}

static bool onednn_prepare(lowering *l)
{
    size_t nv = (size_t)l->g->n_values + 1, nn = (size_t)l->g->n_nodes + 1;
    l->slot_of = arena_array(&l->mem, nv, sizeof *l->slot_of);
    l->leaves = arena_zalloc(&l->mem, nv);
    l->inside = arena_zalloc(&l->mem, nn);
    l->taken = arena_zalloc(&l->mem, nn);
    l->emit = arena_zalloc(&l->mem, nn * sizeof *l->emit);
    l->home_buffer = arena_array(&l->mem, nv, sizeof *l->home_buffer);
    if (!l->home_buffer || !l->slot_of || !l->leaves || !l->inside ||
        !l->taken || !l->emit)
        return false;
    memset(l->slot_of, 0xff, nv * sizeof *l->slot_of);
    memset(l->home_buffer, 0xff, nv * sizeof *l->home_buffer);
    for (uint32_t i = 0; i < l->s->n_nodes; i++)
        l->inside[l->s->nodes[i]] = 1;
    for (uint32_t i = 0; i < l->s->n_outputs; i++)
        l->leaves[l->s->outputs[i]] = 1;
    return true;
}

static bool known(const lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    for (uint32_t o = 0; o < n->n_out; o++) {
        uint32_t v = node_outs(l->g, n)[o];
        bool read =
            l->g->user_first[v] != l->g->user_first[v + 1] || l->leaves[v];
        if (read && !l->s->tensor[v].data)
            return false;
    }
    return true;
}

/* Shows what the node reads of weights to whoever wants to see it. */
static clv_status onednn_look(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    for (uint32_t i = 0; i < n->n_in && !l->dry && l->s->look; i++) {
        uint32_t v = node_ins(l->g, n)[i];
        if (v != CLV_NONE && l->s->tensor[v].data &&
            !l->s->look(l->s->looker, &l->s->tensor[v]))
            return dnn_no(l, "a weight that it cannot compute with");
    }
    return CLV_OK;
}

static clv_status lower(lowering *l)
{
    if (!onednn_prepare(l))
        return clv__nomem(l->e);
    for (uint32_t i = 0; i < l->s->n_nodes; i++)
        if (!l->dry && known(l, l->s->nodes[i]))
            l->inside[l->s->nodes[i]] = 0;
    if (!l->dry) {
        CLV_TRY(dnn_find_chains(l));
        CLV_TRY(dnn_find_homes(l));
    }
    for (uint32_t i = 0; i < l->s->n_nodes; i++) {
        uint32_t node = l->s->nodes[i];
        clv_status s = onednn_look(l, node);
        if (s == CLV_OK && l->emit[node])
            s = dnn_emit(l, l->emit[node]);
        else if (s == CLV_OK && l->inside[node] && !l->taken[node])
            s = dnn_node(l, node);
        if (s != CLV_OK) {
            clv__err_prefix(l->e, "'%s'", l->g->nodes[node].name);
            return s;
        }
    }
    for (uint32_t i = 0; i < l->s->n_outputs; i++)
        if (l->dry || !l->s->tensor[l->s->outputs[i]].data)
            CLV_TRY(deliver(l, l->s->outputs[i]));
    if (!l->dry)
        CLV_TRY(dnn_create(l));
    return plan(l);
}

static clv_status lower_all(clv_backend *b, const clv_subject *s, bool dry,
                            onednn_exec **out, clv_err *e)
{
    *out = NULL;
    onednn_exec *x = dnn_has_room(s->n_nodes) ? clv__zalloc(sizeof *x) : NULL;
    if (!x)
        return clv__nomem(e);
    pthread_mutex_init(&x->lock, NULL);
    x->engine = b->state;
    x->threads = (uint32_t)omp_get_max_threads();
    lowering l = {.s = s, .g = s->g, .x = x, .engine = b->state, .dry = dry};
    l.e = e;
    clv_status st = CLV_UNSUPPORTED;
    if (!dry && !(x->packs = dnn_packs_take(s->family)))
        return release(&x->base), clv__nomem(e);
    dnn_packs_lock(x->packs);
    if (dnnl_primitive_attr_create(&l.attr) == dnnl_success &&
        dnnl_primitive_attr_set_scratchpad_mode(
            l.attr, dnnl_scratchpad_mode_user) == dnnl_success)
        st = lower(&l);
    dnn_packs_unlock(x->packs);
    if (l.attr)
        dnnl_primitive_attr_destroy(l.attr);
    arena_free(&l.mem);
    if (st != CLV_OK)
        return release(&x->base), st;
    *out = x;
    return CLV_OK;
}

static clv_status onednn_compile(clv_backend *b, const clv_subject *s,
                                 clv_exec **out, clv_err *e)
{
    onednn_exec *x;
    dnn_use_threads(s->threads);
    clv_status st = lower_all(b, s, false, &x, e);
    *out = st == CLV_OK ? &x->base : NULL;
    return st;
}

/* -- the backend ----------------------------------------------------------*/

static clv_answer supports(clv_backend *b, const clv_graph *g, uint32_t node,
                           clv_why *why)
{
    clv_err e = {0};
    onednn_exec *x;
    const clv_subject s = {.g = g,
                           .nodes = &node,
                           .outputs = node_outs(g, &g->nodes[node]),
                           .n_nodes = 1,
                           .n_outputs = 1,
                           .threads = 1};
    if (lower_all(b, &s, true, &x, &e) == CLV_OK) {
        release(&x->base);
        return CLV_YES;
    }
    if (e.code == CLV_NOMEM || e.code == CLV_EXCEEDED)
        return CLV_NO_ANSWER;
    const char *text = strstr(e.msg, "oneDNN: ");
    snprintf(why->text, sizeof why->text, "%.200s", text ? text + 8 : e.msg);
    return CLV_NO;
}

static clv_status open_engine(clv_backend *b, const char *argument, clv_err *e)
{
    dnnl_engine_t engine;
    (void)argument;
    if (!dnn_has_room(0))
        return clv__nomem(e);
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        return clv__fail(e, CLV_UNSUPPORTED, "oneDNN has no engine here");
    b->state = engine;
    return CLV_OK;
}

static void close_engine(clv_backend *b)
{
    if (b->state)
        dnnl_engine_destroy(b->state);
}

static const clv_backend_type onednn_type = {
    .name = "onednn",
    .about = "oneDNN: a JIT compiler for this machine's vector units",
    .open = open_engine,
    .supports = supports,
    .compile = onednn_compile,
    .run = onednn_run,
    .made_nan = onednn_made_nan,
    .release = release,
    .product = dnn_product,
    .close = close_engine,
    .team = onednn_team,
};

CLV_PLUGIN(onednn_type);
