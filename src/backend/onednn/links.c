/* links.c - what a chain does behind its anchor.
 *
 * What it does per channel (a batch norm, a constant that is added or
 * multiplied) goes into weights and bias; functions and a residual sum become
 * post-ops; views only change how the result is described. */
#include "backend/onednn/onednn.h"

#include <math.h>

static float number(const lowering *l, uint32_t v, int64_t i)
{
    float x; /* weights in a file may not be aligned */
    memcpy(&x, (const char *)l->s->tensor[v].data + i * 4, sizeof x);
    return x;
}

uint32_t dnn_result(const lowering *l, const chain *c, uint32_t n)
{
    return n ? c->link[n - 1].out : dnn_out(l, c->anchor);
}

/* -- constants per channel ------------------------------------------------*/

/* scale' = scale g, shift' = (shift - mean) g + bias, of a batch norm with
 * g = weight / sqrt(variance + eps) */
static void apply_norm(const lowering *l, uint32_t bn, dnn_affine *a, int64_t i)
{
    double eps = attr_float(&l->g->nodes[bn], CLV_A_EPSILON);
    double mean = number(l, dnn_in(l, bn, 3), i);
    double g = (double)number(l, dnn_in(l, bn, 1), i) /
               sqrt((double)number(l, dnn_in(l, bn, 4), i) + eps);
    a->scale[i] = (float)(a->scale[i] * g);
    a->shift[i] = (float)((a->shift[i] - mean) * g +
                          (double)number(l, dnn_in(l, bn, 2), i));
}

static void apply_link(const lowering *l, const link *k, dnn_affine *a)
{
    for (int64_t i = 0; i < a->n; i++) {
        if (k->kind == LINK_BN)
            apply_norm(l, k->node, a, i);
        if (k->kind == LINK_BIAS)
            a->shift[i] += number(l, k->other, i);
        if (k->kind == LINK_SCALE) {
            a->scale[i] *= number(l, k->other, i);
            a->shift[i] *= number(l, k->other, i);
        }
    }
}

bool dnn_is_affine(const link *k)
{
    return k->kind == LINK_BN || k->kind == LINK_BIAS || k->kind == LINK_SCALE;
}

clv_status dnn_affine_of(lowering *l, const chain *c, uint32_t n,
                         int64_t channels, uint32_t bias, dnn_affine *a)
{
    uint32_t links = 0, scales = 0;
    *a = (dnn_affine){.bias = bias, .n = channels};
    for (uint32_t i = 0; i < n; i++) {
        links += dnn_is_affine(&c->link[i]);
        scales += dnn_is_affine(&c->link[i]) && c->link[i].kind != LINK_BIAS;
    }
    if (!links)
        return CLV_OK;
    a->bias = CLV_NONE;
    a->scale = arena_array(&l->mem, (size_t)channels, sizeof *a->scale);
    a->shift = arena_array(&l->mem, (size_t)channels, sizeof *a->shift);
    if (!a->scale || !a->shift)
        return clv__nomem(l->e);
    for (int64_t i = 0; i < channels; i++) {
        a->scale[i] = 1;
        a->shift[i] = bias == CLV_NONE ? 0 : number(l, bias, i);
    }
    for (uint32_t i = 0; i < n; i++)
        apply_link(l, &c->link[i], a);
    if (!scales)
        a->scale = NULL;
    return CLV_OK;
}

bool dnn_has_bias(const dnn_affine *a)
{
    return a->shift || a->bias != CLV_NONE;
}

clv_status dnn_bias(lowering *l, const dnn_affine *a, uint32_t *slot)
{
    dnnl_memory_desc_t md;
    dnn_plain(&md, &a->n, 1);
    if (a->shift)
        return dnn_constant(l, a->shift, &md, &md, NULL, slot);
    return dnn_over(l, a->bias, &md, slot);
}

/* Weights in the layout that pd wants; `md` describes them as they are, with
 * `lead` axes for the output channels. */
static clv_status weight_slot(lowering *l, uint32_t w, const dnn_affine *a,
                              const dnnl_memory_desc_t *md, int lead,
                              const_dnnl_primitive_desc_t pd, uint32_t *slot)
{
    const dnnl_memory_desc_t *want = dnn_query(pd, dnnl_query_weights_md, 0);
    const dnn_scales scales = {a->scale, a->n, (1 << lead) - 1};
    uint32_t from;
    if (!a->scale && dnnl_memory_desc_equal(md, want))
        return dnn_over(l, w, md, slot);
    if (!dnn_const(l, w))
        return dnn_no(l, "weights that are computed");
    CLV_TRY(dnn_slot(l, w, &from));
    const buffer *b = &l->x->buffers[l->x->slots[from].buffer];
    return dnn_weight(l, w, b->data, md, want, a->scale ? &scales : NULL, slot);
}

/* -- post-ops -------------------------------------------------------------*/

/* Whether the anchor reads the buffer of slot s: what it writes there would
 * change what it still has to read, as in x + conv(x). */
static bool anchor_reads(const lowering *l, uint32_t anchor, uint32_t other,
                         uint32_t s)
{
    for (uint32_t i = 0; i < l->g->nodes[anchor].n_in; i++) {
        uint32_t v = dnn_in(l, anchor, i);
        uint32_t at = v == CLV_NONE ? CLV_NONE : l->slot_of[v];
        if (v == other ||
            (at != CLV_NONE && l->x->slots[at].buffer == l->x->slots[s].buffer))
            return true;
    }
    return false;
}

/* The residual may be overwritten: nobody reads it again, nor does the anchor
 * while it runs. */
bool dnn_may_overwrite(const lowering *l, uint32_t anchor, const link *add,
                       uint32_t s)
{
    const buffer *b = &l->x->buffers[l->x->slots[s].buffer];
    uint32_t v = add->other;
    if (l->leaves[v] || b->value != CLV_NONE || b->data || b->shared ||
        anchor_reads(l, anchor, v, s))
        return false;
    for (uint32_t i = l->g->user_first[v]; i < l->g->user_first[v + 1]; i++)
        if (l->g->users[i] > add->node)
            return false;
    return true;
}

static clv_status append(lowering *l, const link *k, dnnl_post_ops_t post,
                         const dnnl_memory_desc_t *operand, dnn_epilogue *e)
{
    int at = dnnl_post_ops_len(post);
    if (k->kind == LINK_ELTWISE)
        DNN(l,
            dnnl_post_ops_append_eltwise(post, 1, k->alg, k->alpha, k->beta));
    if (k->kind != LINK_ADD)
        return CLV_OK;
    e->add = k;
    e->onto = e->onto && at == 0;
    e->arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1;
    if (e->onto)
        DNN(l, dnnl_post_ops_append_sum(post, 1));
    else
        DNN(l, dnnl_post_ops_append_binary(post, dnnl_binary_add, operand));
    return CLV_OK;
}

/* `operand` is the layout of what is added, as the primitive sees it; `onto`
 * says that it may be overwritten. */
clv_status dnn_epilogue_of(lowering *l, const chain *c, uint32_t n,
                           const dnnl_memory_desc_t *operand, bool onto,
                           dnn_epilogue *e)
{
    dnnl_post_ops_t post = NULL;
    clv_status s = CLV_OK;
    *e = (dnn_epilogue){.onto = onto};
    DNN(l, dnnl_primitive_attr_clone(&e->attr, l->attr));
    if (dnnl_post_ops_create(&post) != dnnl_success)
        s = clv__nomem(l->e);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        s = append(l, &c->link[i], post, operand, e);
    if (s == CLV_OK &&
        dnnl_primitive_attr_set_post_ops(e->attr, post) != dnnl_success)
        s = dnn_fail(l, "post-ops", dnnl_unimplemented);
    dnnl_post_ops_destroy(post);
    return s;
}

const link *dnn_find_add(const chain *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (c->link[i].kind == LINK_ADD)
            return &c->link[i];
    return NULL;
}

/* -- one primitive --------------------------------------------------------*/

clv_status dnn_fetch(lowering *l, uint32_t w, const dnn_affine *a,
                     const dnnl_memory_desc_t *md, int lead,
                     const_dnnl_primitive_desc_t pd, dnn_operands *o)
{
    CLV_TRY(weight_slot(l, w, a, md, lead, pd, &o->weight));
    return dnn_has_bias(a) ? dnn_bias(l, a, &o->bias) : CLV_OK;
}

clv_status dnn_target(lowering *l, const dnnl_memory_desc_t *md, uint32_t onto,
                      uint32_t v, uint32_t *slot)
{
    if (onto == CLV_NONE)
        return dnn_new(l, v, md, slot);
    l->x->slots[onto].value = CLV_NONE; /* it is gone from here on */
    return dnn_alias(l, onto, CLV_NONE, md, slot);
}

clv_status dnn_finish(lowering *l, dnnl_primitive_desc_t pd,
                      const dnn_operands *o, const dnn_epilogue *e, uint32_t v)
{
    const dnnl_memory_desc_t md = *dnn_query(pd, dnnl_query_dst_md, 0);
    int arg[5] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    uint32_t slot[5] = {o->src, o->weight}, n = 3;
    bool onto = e->add && e->onto;
    clv_status s =
        dnn_target(l, &md, onto ? o->residual : CLV_NONE, v, &slot[2]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    if (o->bias != CLV_NONE) {
        arg[n] = DNNL_ARG_BIAS;
        slot[n++] = o->bias;
    }
    if (e->add && !e->onto) {
        arg[n] = e->arg;
        slot[n++] = o->residual;
    }
    CLV_TRY(dnn_op(l, pd, arg, slot, n));
    return dnn_name(l, slot[2], v, &md);
}
