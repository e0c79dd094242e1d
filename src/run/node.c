/* node.c - one node: with places that are planned, or found while running.
 *
 * A node whose shapes depend on data is put into a graph of its own, with the
 * shapes and small contents that its inputs have now, and inferred again; the
 * rules of ops.def are all that is needed. Its kernel may still shrink what
 * only it can know (nonzero, NMS). */
#include "backend/cpu/cpu.h"
#include "core/limits.h"
#include "core/mapping.h"
#include "graph/schema.h"
#include "run/run.h"

#include <string.h>

enum { SMALL = 4096 }; /* elements whose contents a shape may depend on */

/* -- planned --------------------------------------------------------------*/

/* Zeroes the second and further outputs of an operator that has a few: not all
 * kernels write all of them in every form, and the memory is not new. */
static void clear_extras(const clv_node *n, clv_tensor *out)
{
    const uint8_t any_number = 255;
    if (n->n_out < 2 || clv__schema_of((clv_op)n->op)->max_out == any_number)
        return;
    for (uint32_t o = 1; o < n->n_out; o++) {
        int64_t bytes = out[o].data ? clv_tensor_bytes(&out[o]) : 0;
        if (bytes > 0)
            memset(out[o].data, 0, (size_t)bytes);
    }
}

/* Copies the inputs that do not lie where their type wants: a file may hold
 * weights at any address. Those that the fast kernel takes anyway are left
 * where they are, unless `all` are needed. */
static clv_status call_align(const clv_node *n, const clv_tensor **in,
                             const void *ready, bool all, arena *scratch,
                             clv_err *e)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!in[i] || clv__weight_is_aligned(in[i]) ||
            (!all && clv__cpu_any_address((clv_op)n->op, i, ready)))
            continue;
        size_t bytes = (size_t)clv_tensor_bytes(in[i]);
        clv_tensor *t = arena_alloc(scratch, sizeof *t);
        void *copy = arena_alloc(scratch, bytes + 1);
        if (!t || !copy)
            return clv__nomem(e);
        memcpy(copy, in[i]->data, bytes);
        *t = *in[i];
        t->data = copy;
        in[i] = t;
    }
    return CLV_OK;
}

static clv_status call(const clv_graph *g, const clv_node *n,
                       const clv_tensor **in, clv_tensor *out,
                       const void *ready, run_memory *mem, clv_err *e)
{
    arena_mark mark = arena_save(&mem->scratch);
    CLV_TRY(call_align(n, in, ready, mem->plain, &mem->scratch, e));
    kernel k = {.g = g,
                .n = n,
                .in = in,
                .out = out,
                .scratch = &mem->scratch,
                .e = e,
                .kept = &mem->kept,
                .threads = mem->threads,
                .ready = ready};
    clear_extras(n, out);
    bool done = !mem->plain && clv__cpu_run(&k);
    mem->used_plain = !done;
    clv_status s =
        done ? CLV_OK : call_align(n, in, ready, true, &mem->scratch, e);
    if (s == CLV_OK && !done)
        s = clv__kernel_of((clv_op)n->op)(&k);
    if (s == CLV_OK)
        s = clv__within(0, e); /* it leaves its loops when time is up */
    arena_rewind(&mem->scratch, mark);
    return s;
}

static const clv_tensor **inputs_of(const clv_graph *g, const clv_node *n,
                                    const clv_tensor *tensor, arena *scratch)
{
    const clv_tensor **in =
        arena_array(scratch, (size_t)n->n_in + 1, sizeof *in);
    for (uint32_t i = 0; in && i < n->n_in; i++) {
        uint32_t v = node_ins(g, n)[i];
        in[i] = v == CLV_NONE ? NULL : &tensor[v];
    }
    return in;
}

clv_status clv__run_node(const clv_graph *g, uint32_t id, const void *ready,
                         clv_tensor *tensor, run_memory *mem, clv_err *e)
{
    const clv_node *n = &g->nodes[id];
    CLV_TRY(clv__within(0, e));
    arena_mark mark = arena_save(&mem->scratch);
    const clv_tensor **in = inputs_of(g, n, tensor, &mem->scratch);
    clv_tensor *out =
        arena_array(&mem->scratch, (size_t)n->n_out + 1, sizeof *out);
    if (!in || !out)
        return clv__nomem(e);
    for (uint32_t o = 0; o < n->n_out; o++)
        out[o] = tensor[node_outs(g, n)[o]];
    clv_status s = call(g, n, in, out, ready, mem, e);
    arena_rewind(&mem->scratch, mark);
    if (s != CLV_OK)
        clv__err_prefix(e, "node '%s' (%s)", n->name, clv__ops[n->op].name);
    return s;
}

/* -- prepared -------------------------------------------------------------*/

/* What is packed of one weight alone, and so is the same for every model of a
 * network; other nodes have no key and are packed each for itself. */
static struct weight_pack pack_key(const clv_node *n, const clv_tensor **in)
{
    bool product = n->op == CLV_OP_LINEAR || n->op == CLV_OP_MATMUL ||
                   n->op == CLV_OP_BMM || n->op == CLV_OP_GEMM;
    struct weight_pack key = {.op = n->op};
    if (product && n->n_in > 1 && in[1])
        key.data = in[1]->data;
    key.turned = n->op == CLV_OP_GEMM && attr_int(n, CLV_A_TRANS_B);
    return key;
}

static const void *pack_found(const weight_store *w, struct weight_pack key)
{
    for (; key.data && w; w = w->like)
        for (size_t i = 0; i < w->n_packs; i++)
            if (w->packs[i].data == key.data && w->packs[i].op == key.op &&
                w->packs[i].turned == key.turned)
                return w->packs[i].ready;
    return NULL;
}

/* Packs what k reads, unless that was done; *fresh says that it was not. */
static const void *pack_step(clv_model *m, kernel *k, const clv_tensor **in,
                             bool *fresh)
{
    weight_store *w = m->weights;
    struct weight_pack key = pack_key(k->n, in);
    key.ready = pack_found(w, key);
    *fresh = !key.ready;
    if (key.ready || !clv__cpu_packs((clv_op)k->n->op) ||
        call_align(k->n, in, NULL, true, k->scratch, NULL) != CLV_OK)
        return key.ready;
    key.ready = clv__cpu_prepare(k, &w->mem);
    if (key.ready && key.data && CLV_GROW(w->packs, w->n_packs, w->cap_packs))
        w->packs[w->n_packs++] = key;
    return key.ready;
}

int64_t clv__run_prepare(clv_model *m)
{
    run_memory mem = {.threads = m->threads ? m->threads : clv__processors()};
    int64_t packed = 0;
    for (uint32_t i = 0; i < m->n_steps && !m->plain; i++) {
        step *s = &m->steps[i];
        const clv_node *n = &m->g->nodes[s->node];
        const clv_tensor **in = NULL;
        arena_mark mark = arena_save(&mem.scratch);
        if (!s->exec && !s->dynamic)
            in = inputs_of(m->g, n, m->tensor, &mem.scratch);
        if (!in)
            continue;
        kernel k = {.g = m->g,
                    .n = n,
                    .in = in,
                    .scratch = &mem.scratch,
                    .threads = mem.threads};
        bool fresh;
        s->ready = pack_step(m, &k, in, &fresh);
        for (uint32_t j = 0; s->ready && fresh && j < n->n_in; j++)
            if (node_ins(m->g, n)[j] != CLV_NONE)
                packed += clv__weight_drop(m->weights, m->g,
                                           &m->tensor[node_ins(m->g, n)[j]]);
        arena_rewind(&mem.scratch, mark);
    }
    arena_free(&mem.scratch);
    return packed;
}

/* -- found while running --------------------------------------------------*/

/* Adds t to the graph of one node, with its contents if they are few. */
static clv_status show(clv_graph *g, const clv_tensor *t, uint32_t *id,
                       clv_err *e)
{
    *id = clv__value_add(g, "", CLV_VALUE_INPUT, t->dtype);
    if (*id == CLV_NONE || !clv__value_set_shape(g, *id, t->rank, t->dims))
        return clv__nomem(e);
    int64_t n = clv_tensor_numel(t);
    if (n > SMALL || n < 0 || !t->data || t->dtype == CLV_STRING)
        return CLV_OK;
    clv_payload *p = clv__value_data(g, *id);
    int64_t *list = arena_array(&g->mem, (size_t)n + 1, sizeof *list);
    if (!p || !list)
        return clv__nomem(e);
    double *floats = (double *)(void *)list;
    bool real = is_float(t->dtype);
    for (int64_t i = 0; i < n; i++)
        if (real)
            floats[i] = get_f(t, i);
        else
            list[i] = get_i(t, i);
    p->n = (uint32_t)n;
    p->ints = real ? NULL : list;
    p->floats = real ? floats : NULL;
    return CLV_OK;
}

/* Attributes that name a value of the old graph name one of the new. */
static clv_status take_attrs(clv_graph *one, const clv_node *n,
                             const clv_tensor *tensor, clv_node *to, clv_err *e)
{
    clv_attr *attrs = arena_array(&one->mem, n->n_attrs + 1u, sizeof *attrs);
    if (!attrs)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        attrs[i] = n->attrs[i];
        if (attrs[i].type == CLV_ATTR_TENSOR)
            CLV_TRY(
                show(one, &tensor[n->attrs[i].u.value], &attrs[i].u.value, e));
    }
    to->attrs = attrs;
    to->n_attrs = n->n_attrs;
    return CLV_OK;
}

/* A graph of this node alone, inferred. */
static clv_status infer_one(const clv_graph *g, const clv_node *n,
                            const clv_tensor *tensor, clv_graph *one,
                            clv_err *e)
{
    uint32_t *ins = arena_array(&one->mem, (size_t)n->n_in + 1, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = node_ins(g, n)[i];
        ins[i] = CLV_NONE;
        if (v != CLV_NONE)
            CLV_TRY(show(one, &tensor[v], &ins[i], e));
    }
    uint32_t id = clv__node_add(one, (clv_op)n->op, n->name, 0, ins, n->n_in,
                                NULL, n->n_out);
    if (id == CLV_NONE)
        return clv__nomem(e);
    clv__node_label(&one->nodes[id], n);
    CLV_TRY(take_attrs(one, n, tensor, &one->nodes[id], e));
    for (uint32_t o = 0; o < n->n_out; o++)
        node_out(one, &one->nodes[id], o)->dtype = node_out(g, n, o)->dtype;
    return clv__infer_node(one, id, e);
}

static clv_status make_room(const clv_graph *one, clv_tensor *out, clv_err *e)
{
    const clv_node *n = &one->nodes[0];
    for (uint32_t o = 0; o < n->n_out; o++) {
        const clv_value *v = node_out(one, n, o);
        out[o] = (clv_tensor){.dtype = (clv_dtype)v->dtype, .rank = v->rank};
        if (v->rank == CLV_NO_RANK || v->dtype == CLV_NODTYPE)
            return clv__fail(e, CLV_UNSUPPORTED,
                             "type or shape of output %u cannot be told", o);
        if (v->rank)
            memcpy(out[o].dims, v->dims, v->rank * sizeof *out[o].dims);
        int64_t bytes = clv_tensor_bytes(&out[o]);
        if (bytes < 0)
            return clv__fail(e, CLV_OVERFLOW, "output %u does not fit", o);
        if (!(out[o].data = clv__zalloc((size_t)bytes + 1)))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* Infers a node with what its inputs are now, and runs it. */
static clv_status run_inferred(const clv_graph *g, const clv_node *n,
                               const clv_tensor *tensor, const clv_tensor **in,
                               clv_tensor *out, run_memory *mem, clv_err *e)
{
    clv_graph *one = NULL;
    if (clv_graph_new("node", &one, NULL) != CLV_OK)
        return clv__nomem(e);
    clv_status s = infer_one(g, n, tensor, one, e);
    if (s == CLV_OK)
        s = make_room(one, out, e);
    if (s == CLV_OK)
        s = call(one, &one->nodes[0], in, out, NULL, mem, e);
    clv_graph_free(one);
    return s;
}

static bool takes_list(const clv_node *n, const clv_tensor *const *in)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (in[i] && in[i]->form != CLV_FORM_TENSOR)
            return true;
    return false;
}

static clv_status run_one(const clv_graph *g, const clv_node *n,
                          clv_tensor *tensor, run_memory *mem, clv_err *e)
{
    arena *scratch = &mem->scratch;
    const clv_tensor **in = inputs_of(g, n, tensor, scratch);
    clv_tensor *out = arena_array(scratch, (size_t)n->n_out + 1, sizeof *out);
    if (!in || !out)
        return clv__nomem(e);
    memset(out, 0, n->n_out * sizeof *out);
    clv_status s;
    if (clv__kernel_makes((clv_op)n->op))
        s = call(g, n, in, out, NULL, mem, e);
    else if (!takes_list(n, in))
        s = run_inferred(g, n, tensor, in, out, mem, e);
    else if (n->op == CLV_OP_IDENTITY)
        s = clv__tensor_copy(in[0], &out[0], e);
    else
        s = clv__fail(e, CLV_SHAPE, "an input is a list of tensors");
    for (uint32_t o = 0; o < n->n_out; o++) {
        if (s == CLV_OK)
            tensor[node_outs(g, n)[o]] = out[o];
        else
            clv__free(out[o].data);
    }
    return s;
}

clv_status clv__run_dynamic(const clv_graph *g, uint32_t id, clv_tensor *tensor,
                            const weight_store *w, run_memory *mem, clv_err *e)
{
    const clv_node *n = &g->nodes[id];
    arena_mark mark = arena_save(&mem->scratch);
    clv_status s = clv__ops[n->op].category == CLV_CAT_CONTROL
                       ? clv__run_control(g, id, tensor, w, mem, e)
                       : run_one(g, n, tensor, mem, e);
    arena_rewind(&mem->scratch, mark);
    if (s != CLV_OK)
        clv__err_prefix(e, "node '%s' (%s)", n->name, clv__ops[n->op].name);
    return s;
}
