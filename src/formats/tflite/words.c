/* words.c - the words that maps of operators are written in: nodes, operands,
 * results.
 *
 * After a failure every word does nothing and gives CLV_NONE, so that a map
 * reads as if nothing could fail. */
#include "formats/tflite/tflite.h"

#include "core/limits.h"
#include "tensor/dtype.h"

#include <string.h>

/* -- attributes -----------------------------------------------------------*/

static clv_attr *attr_new(tfl_attrs *a, clv_attr_key key, clv_attr_type type)
{
    clv_attr *at = &a->a[a->n < TFL_MAX_ATTRS ? a->n++ : TFL_MAX_ATTRS - 1];
    *at = (clv_attr){.name = clv__attr_name(key),
                     .key = (uint8_t)key,
                     .type = (uint8_t)type};
    return at;
}

void tfl_int(tfl_attrs *a, clv_attr_key key, int64_t i)
{
    attr_new(a, key, CLV_ATTR_INT)->u.i = i;
}

void tfl_float(tfl_attrs *a, clv_attr_key key, double x)
{
    attr_new(a, key, CLV_ATTR_FLOAT)->u.f = x;
}

void tfl_str(tfl_attrs *a, clv_attr_key key, const char *text)
{
    attr_new(a, key, CLV_ATTR_STRING)->u.s = text;
}

void tfl_ints(tfl_attrs *a, clv_attr_key key, const int64_t *list, uint32_t n)
{
    clv_attr *at = attr_new(a, key, CLV_ATTR_INTS);
    at->u.ints = list;
    at->n = n;
}

void tfl_strs(tfl_attrs *a, clv_attr_key key, const char *const *list,
              uint32_t n)
{
    clv_attr *at = attr_new(a, key, CLV_ATTR_STRINGS);
    at->u.strings = list;
    at->n = n;
}

void tfl_body(tfl_attrs *a, clv_attr_key key, clv_graph *body)
{
    attr_new(a, key, CLV_ATTR_GRAPH)->u.body = body;
}

/* Copies attributes and their lists into the graph. */
static const clv_attr *attrs_copy(clv_graph *g, const tfl_attrs *a)
{
    clv_attr *own = arena_array(&g->mem, a->n + 1u, sizeof *own);
    for (uint32_t i = 0; own && i < a->n; i++) {
        own[i] = a->a[i];
        if (own[i].type != CLV_ATTR_INTS)
            continue;
        int64_t *list = arena_array(&g->mem, own[i].n + 1u, sizeof *list);
        if (!list)
            return NULL;
        if (own[i].n)
            memcpy(list, a->a[i].u.ints, own[i].n * sizeof *list);
        own[i].u.ints = list;
    }
    return own;
}

/* -- nodes ----------------------------------------------------------------*/

/* Infers a node. One that its rule cannot follow is unknown, unless the sizes
 * that the user asked for do not fit. */
static bool words_infer(tfl_call *c, uint32_t id)
{
    clv_graph *g = c->g;
    clv_err why = {0};
    clv_status s = clv__infer_node(g, id, &why);
    if (s == CLV_OK)
        return true;
    if (clv__is_final(s) || (s == CLV_SHAPE && c->m->resized)) {
        tfl_fail(c->m, s, "%s", why.msg);
        return false;
    }
    g->nodes[id].op = CLV_OP_UNKNOWN;
    c->m->misfit |= s == CLV_SHAPE;
    return clv__graph_warn(g, "%s", why.msg) || tfl_nomem(c->m);
}

/* An operator is called as its result is; what is added to say it has the name
 * of what it does behind that. */
static const char *words_name(tfl_call *c, clv_op op)
{
    if (c->row && (c->row->op == op || op == CLV_OP_UNKNOWN))
        return c->name;
    const char *what = clv__op_name(op);
    size_t a = strlen(c->name), b = strlen(what);
    char *own = arena_alloc(&c->g->mem, a + b + 2);
    if (!own)
        return NULL;
    memcpy(own, c->name, a);
    own[a] = ':';
    memcpy(own + a + 1, what, b + 1);
    return own;
}

uint32_t tfl_node(tfl_call *c, clv_op op, const uint32_t *ins, uint32_t n_in,
                  uint32_t n_out, const tfl_attrs *a)
{
    static const tfl_attrs none = {.n = 0};
    clv_graph *g = c->g;
    if (tfl_failed(c->m))
        return CLV_NONE;
    if (clv__within(g->n_nodes, c->m->f.e) != CLV_OK) {
        c->m->f.status = CLV_EXCEEDED;
        return CLV_NONE;
    }
    const clv_attr *attrs = attrs_copy(g, a ? a : &none);
    const char *name = words_name(c, op);
    uint32_t id = attrs && name ? clv__node_add(g, op, name, c->scope, ins,
                                                n_in, NULL, n_out)
                                : CLV_NONE;
    if (id == CLV_NONE) {
        tfl_nomem(c->m);
        return CLV_NONE;
    }
    clv_node *n = &g->nodes[id];
    n->attrs = attrs;
    n->n_attrs = (uint8_t)(a ? a->n : 0);
    n->origin = c->origin;
    n->counted_only = c->why;
    if (!words_infer(c, id))
        return CLV_NONE;
    return n_out ? node_outs(g, &g->nodes[id])[0] : CLV_NONE;
}

uint32_t tfl_1(tfl_call *c, clv_op op, uint32_t x, const tfl_attrs *a)
{
    return tfl_node(c, op, &x, 1, 1, a);
}

uint32_t tfl_2(tfl_call *c, clv_op op, uint32_t x, uint32_t y)
{
    uint32_t ins[2] = {x, y};
    return tfl_node(c, op, ins, 2, 1, NULL);
}

uint32_t tfl_permute(tfl_call *c, uint32_t x, const int64_t *perm, uint32_t n)
{
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_PERM, perm, n);
    return tfl_1(c, CLV_OP_PERMUTE, x, &a);
}

uint32_t tfl_reshape(tfl_call *c, uint32_t x, const int64_t *dims, uint32_t n)
{
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_SHAPE, dims, n);
    tfl_int(&a, CLV_A_ALLOWZERO, 1);
    return tfl_1(c, CLV_OP_RESHAPE, x, &a);
}

uint32_t tfl_cast(tfl_call *c, uint32_t x, clv_dtype t)
{
    tfl_attrs a = {0};
    if (tfl_failed(c->m) || x == CLV_NONE || c->g->values[x].dtype == t)
        return x;
    tfl_int(&a, CLV_A_DTYPE, t);
    return tfl_1(c, CLV_OP_CAST, x, &a);
}

uint32_t tfl_slice(tfl_call *c, uint32_t x, int64_t axis, int64_t from,
                   int64_t to, int64_t step)
{
    tfl_attrs a = {0};
    tfl_ints(&a, CLV_A_START, &from, 1);
    tfl_ints(&a, CLV_A_END, &to, 1);
    tfl_ints(&a, CLV_A_AXES, &axis, 1);
    tfl_ints(&a, CLV_A_STEP, &step, 1);
    return tfl_1(c, CLV_OP_SLICE, x, &a);
}

uint32_t tfl_scalar(tfl_call *c, clv_dtype t, double x)
{
    int64_t whole = (int64_t)x;
    bool real = dtype_class_of(t) == CLASS_FLOAT;
    if (tfl_failed(c->m))
        return CLV_NONE;
    return tfl_const(c->m, c->g, "constant", t, 0, NULL, real ? NULL : &whole,
                     real ? &x : NULL);
}

static uint32_t words_clip(tfl_call *c, uint32_t x, double lo, double hi)
{
    tfl_attrs a = {0};
    tfl_float(&a, CLV_A_MIN, lo);
    tfl_float(&a, CLV_A_MAX, hi);
    return tfl_1(c, CLV_OP_HARDTANH, x, &a);
}

/* Numbers of ActivationFunctionType, and one that only an operator has. */
enum {
    ACT_NONE,
    ACT_RELU,
    ACT_RELU_N1_TO_1,
    ACT_RELU6,
    ACT_TANH,
    ACT_SIGN_BIT,
    ACT_RELU_0_TO_1
};

uint32_t tfl_activate(tfl_call *c, uint32_t x, int64_t act)
{
    switch (act) {
    case ACT_NONE:
        return x;
    case ACT_RELU:
        return tfl_1(c, CLV_OP_RELU, x, NULL);
    case ACT_RELU_N1_TO_1:
        return words_clip(c, x, -1, 1);
    case ACT_RELU6:
        return tfl_1(c, CLV_OP_RELU6, x, NULL);
    case ACT_TANH:
        return tfl_1(c, CLV_OP_TANH, x, NULL);
    case ACT_RELU_0_TO_1:
        return words_clip(c, x, 0, 1);
    default:
        c->why = "its fused activation is not known";
        return tfl_1(c, CLV_OP_IDENTITY, x, NULL);
    }
}

/* -- operands -------------------------------------------------------------*/

bool tfl_has(const tfl_call *c, uint32_t i)
{
    return i < c->ins.n && flat_i32_at(&c->m->f, c->ins, i) >= 0;
}

uint32_t tfl_at(tfl_call *c, uint32_t i)
{
    return tfl_has(c, i) ? (uint32_t)flat_i32_at(&c->m->f, c->ins, i)
                         : CLV_NONE;
}

/* Tensor i of the operands, which must be there. */
static uint32_t words_need(tfl_call *c, uint32_t i)
{
    uint32_t at = tfl_at(c, i);
    if (at == CLV_NONE && !tfl_failed(c->m))
        flat_fail(&c->m->f, c->is.at, "%s has %u inputs, needs input %u",
                  c->origin, c->ins.n, i);
    return at;
}

uint32_t tfl_codes(tfl_call *c, uint32_t i)
{
    uint32_t at = words_need(c, i);
    return at == CLV_NONE ? CLV_NONE : tfl_value(c->s, at);
}

uint32_t tfl_codes_first(tfl_call *c, uint32_t i)
{
    uint32_t at = words_need(c, i);
    return at == CLV_NONE ? CLV_NONE : tfl_first(c->s, at);
}

uint32_t tfl_in(tfl_call *c, uint32_t i)
{
    uint32_t at = words_need(c, i);
    return at == CLV_NONE ? CLV_NONE : tfl_real(c->s, at);
}

uint32_t tfl_in_first(tfl_call *c, uint32_t i)
{
    uint32_t at = words_need(c, i);
    return at == CLV_NONE ? CLV_NONE : tfl_real_first(c->s, at);
}

bool tfl_is_first(tfl_call *c, uint32_t i)
{
    uint32_t at = tfl_at(c, i);
    return at < c->s->n_tensors && c->s->tensors[at].first != CLV_NONE;
}

bool tfl_list(tfl_call *c, uint32_t i, int64_t *out, uint32_t *n, uint32_t max)
{
    uint32_t v = tfl_has(c, i) ? tfl_codes(c, i) : CLV_NONE;
    *n = 0;
    if (v == CLV_NONE)
        return false;
    const clv_value *value = &c->g->values[v];
    if (!value->data || !value->data->ints || value->rank == CLV_NO_RANK ||
        clv__numel(value) != (int64_t)value->data->n || value->data->n > max)
        return value->rank != CLV_NO_RANK && clv__numel(value) == 0;
    *n = value->data->n;
    memcpy(out, value->data->ints, *n * sizeof *out);
    return true;
}

bool tfl_number(tfl_call *c, uint32_t i, double *out)
{
    uint32_t v = tfl_has(c, i) ? tfl_in(c, i) : CLV_NONE;
    if (v == CLV_NONE)
        return false;
    const clv_payload *data = c->g->values[v].data;
    if (!data || data->n != 1 || (!data->ints && !data->floats))
        return false;
    *out = data->ints ? (double)data->ints[0] : data->floats[0];
    return true;
}

uint32_t tfl_rank(const tfl_call *c, uint32_t v)
{
    return v == CLV_NONE || c->g->values[v].rank == CLV_NO_RANK
               ? 0
               : c->g->values[v].rank;
}

int64_t tfl_dim(const tfl_call *c, uint32_t v, int64_t axis)
{
    uint32_t rank = tfl_rank(c, v);
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? c->g->values[v].dims[axis] : 0;
}

clv_dtype tfl_type(const tfl_call *c, uint32_t v)
{
    return v == CLV_NONE ? CLV_NODTYPE : (clv_dtype)c->g->values[v].dtype;
}

int64_t tfl_axis_first(int64_t axis)
{
    static const int64_t to[] = {0, 2, 3, 1};
    return axis >= 0 && axis < 4 ? to[axis] : axis;
}

/* -- results --------------------------------------------------------------*/

uint32_t tfl_out(tfl_call *c, uint32_t i)
{
    int64_t at = i < c->outs.n ? flat_i32_at(&c->m->f, c->outs, i) : -1;
    return at < 0 ? CLV_NONE : (uint32_t)at;
}

/* Whether the file states all sizes of a tensor, at the sizes that its inputs
 * have in the file. */
static bool words_is_fixed(tfl_call *c, const tfl_tensor *t)
{
    enum { TENSOR_SIGNATURE = 7 };
    flat *f = &c->m->f;
    flat_vector open = flat_list(f, t->is, TENSOR_SIGNATURE, 4);
    bool fixed = t->rank != CLV_NO_RANK && !c->m->resized;
    for (uint32_t i = 0; fixed && i < open.n; i++)
        fixed = flat_i32_at(f, open, i) >= 0;
    return fixed;
}

void tfl_give_codes(tfl_call *c, uint32_t i, uint32_t v, bool first)
{
    uint32_t at = tfl_out(c, i);
    if (tfl_failed(c->m) || at == CLV_NONE || v == CLV_NONE)
        return;
    if (at >= c->s->n_tensors) {
        flat_fail(&c->m->f, c->is.at, "%s makes tensor %u of %u", c->origin, at,
                  c->s->n_tensors);
        return;
    }
    tfl_tensor *t = &c->s->tensors[at];
    clv_value *value = &c->g->values[v];
    bool guess = value->rank == CLV_NO_RANK || value->flags & CLV_V_BOUND;
    if (guess && !first && value->kind == CLV_VALUE_ACTIVATION &&
        words_is_fixed(c, t)) {
        if (!clv__value_set_shape(c->g, v, t->rank, t->dims)) {
            tfl_nomem(c->m);
            return;
        }
        value->flags &= (uint8_t)~CLV_V_BOUND;
    }
    t->value = first ? CLV_NONE : v;
    t->first = first ? v : CLV_NONE;
    t->real = t->real_first = CLV_NONE;
    if (!tfl_quantised(c->s, at))
        t->real = t->value, t->real_first = t->first;
}

/* What the file says result i is made of. */
static clv_dtype words_told(tfl_call *c, uint32_t at)
{
    return at < c->s->n_tensors
               ? clv__build_dtype(c->m->opts, c->s->tensors[at].dtype)
               : CLV_NODTYPE;
}

void tfl_give(tfl_call *c, uint32_t i, uint32_t v, bool first)
{
    uint32_t at = tfl_out(c, i);
    if (tfl_failed(c->m) || at == CLV_NONE || v == CLV_NONE)
        return;
    clv_dtype told = words_told(c, at), made = tfl_type(c, v);
    if (at < c->s->n_tensors && tfl_quantised(c->s, at) &&
        dtype_class_of(made) == CLASS_FLOAT)
        v = tfl_quantise(c->s, at, v);
    else if (told != CLV_NODTYPE && made != CLV_NODTYPE)
        v = tfl_cast(c, v, told);
    tfl_give_codes(c, i, v, first);
}

/* The codes that an activation lets through; false when it lets all through.
 */
static bool words_bounds(tfl_call *c, uint32_t at, int64_t act, int64_t *lo,
                         int64_t *hi)
{
    double scale, top = act == ACT_RELU6 ? 6 : 1;
    int64_t zero;
    clv_dtype t = c->s->tensors[at].dtype;
    int64_t min = t == CLV_INT8 ? -128 : t == CLV_INT16 ? -32768 : 0;
    int64_t max = t == CLV_INT8 ? 127 : t == CLV_INT16 ? 32767 : 255;
    if (!tfl_scale(c->s, at, &scale, &zero))
        return false;
    double below = act == ACT_RELU_N1_TO_1 ? -1 : 0;
    double from = (double)zero + below / scale, to = (double)zero + top / scale;
    *lo = from < (double)min ? min : (int64_t)(from + (from < 0 ? -0.5 : 0.5));
    *hi = act == ACT_RELU || to > (double)max
              ? max
              : (int64_t)(to + (to < 0 ? -0.5 : 0.5));
    return *lo > min || *hi < max;
}

/* Quantised results are rounded first and cut off as codes, as the interpreter
 * does; where the codes reach no further than the activation, that is all. */
void tfl_give_act(tfl_call *c, uint32_t i, uint32_t v, bool first, int64_t act)
{
    uint32_t at = tfl_out(c, i);
    int64_t lo, hi;
    bool codes = at < c->s->n_tensors && tfl_quantised(c->s, at) &&
                 act != ACT_TANH && act != ACT_SIGN_BIT;
    if (act == ACT_NONE || !codes) {
        tfl_give(c, i, tfl_activate(c, v, act), first);
        return;
    }
    v = tfl_quantise(c->s, at, v);
    if (words_bounds(c, at, act, &lo, &hi)) {
        tfl_attrs a = {0};
        tfl_int(&a, CLV_A_MIN, lo);
        tfl_int(&a, CLV_A_MAX, hi);
        v = tfl_1(c, CLV_OP_CLAMP, v, &a);
    }
    tfl_give_codes(c, i, v, first);
}

bool tfl_same_codes(tfl_call *c, uint32_t i, uint32_t o)
{
    uint32_t x = tfl_at(c, i), y = tfl_out(c, o);
    double sx, sy;
    int64_t zx, zy;
    if (x >= c->s->n_tensors || y >= c->s->n_tensors)
        return false;
    bool from = tfl_quantised(c->s, x), to = tfl_quantised(c->s, y);
    if (!from && !to)
        return true;
    return from && to && tfl_scale(c->s, x, &sx, &zx) &&
           tfl_scale(c->s, y, &sy, &zy) && sx == sy && zx == zy;
}

void tfl_unknown(tfl_call *c)
{
    uint32_t n = 0, *ins = arena_array(&c->m->mem, c->ins.n + 1u, sizeof *ins);
    if (!ins) {
        tfl_nomem(c->m);
        return;
    }
    for (uint32_t i = 0; i < c->ins.n && !tfl_failed(c->m); i++) {
        uint32_t at = tfl_at(c, i);
        bool state =
            at < c->s->n_tensors && c->s->tensors[at].dtype == CLV_NODTYPE;
        if (at != CLV_NONE && !state)
            ins[n++] = tfl_codes(c, i);
    }
    uint32_t v = tfl_node(c, CLV_OP_UNKNOWN, ins, n, c->outs.n, NULL);
    for (uint32_t i = 0; i < c->outs.n && !tfl_failed(c->m); i++) {
        uint32_t at = tfl_out(c, i);
        if (at >= c->s->n_tensors)
            continue;
        clv_value *y = &c->g->values[v + i];
        y->dtype = (uint8_t)words_told(c, at);
        const tfl_tensor *t = &c->s->tensors[at];
        if (t->rank != CLV_NO_RANK &&
            !clv__value_set_shape(c->g, v + i, t->rank, t->dims))
            tfl_nomem(c->m);
        tfl_give_codes(c, i, v + i, false);
    }
}
