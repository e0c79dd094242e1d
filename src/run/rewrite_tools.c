/* rewrite_tools.c - what rules of rewrite.def look and change with. */
#include "run/rewrite.h"

#include <math.h>
#include <string.h>

/* Nodes that a rule looks through at most, so that long chains cost no more
 * than their length. */
enum { LOOK_BACK = 16 };

/* -- looking --------------------------------------------------------------*/

static uint32_t resolve(const rewriter *r, uint32_t v)
{
    while (v != CLV_NONE && r->instead[v] != v)
        v = r->instead[v];
    return v;
}

const clv_node *rw_node(const rewriter *r, uint32_t id)
{
    return &r->g->nodes[id];
}

clv_op rw_op(const rewriter *r, uint32_t id)
{
    const clv_node *n = &r->g->nodes[id];
    return n->counted_only ? CLV_OP_UNKNOWN : (clv_op)n->op;
}

uint32_t rw_in(const rewriter *r, uint32_t id, uint32_t i)
{
    const clv_node *n = rw_node(r, id);
    return i < n->n_in ? resolve(r, node_ins(r->g, n)[i]) : CLV_NONE;
}

uint32_t rw_out(const rewriter *r, uint32_t id)
{
    return node_outs(r->g, rw_node(r, id))[0];
}

uint32_t rw_maker(const rewriter *r, uint32_t v)
{
    return v == CLV_NONE ? CLV_NONE : r->g->values[v].producer;
}

uint32_t rw_made_by(const rewriter *r, uint32_t v, clv_op op)
{
    uint32_t id = rw_maker(r, v);
    return id != CLV_NONE && rw_op(r, id) == op && rw_out(r, id) == v
               ? id
               : CLV_NONE;
}

bool rw_once(const rewriter *r, uint32_t v)
{
    return r->uses[v] == 1 && !(r->g->values[v].flags & CLV_V_OUTPUT);
}

bool rw_is_static(const rewriter *r, uint32_t v)
{
    const clv_value *x = &r->g->values[v];
    return !(x->flags & (CLV_V_BOUND | CLV_V_FORM)) && x->rank != CLV_NO_RANK &&
           x->dtype != CLV_NODTYPE;
}

bool rw_is_float(const rewriter *r, uint32_t v)
{
    return v != CLV_NONE && rw_is_static(r, v) &&
           r->g->values[v].dtype == CLV_FLOAT32;
}

const clv_tensor *rw_known(const rewriter *r, uint32_t v)
{
    return v != CLV_NONE && r->tensor[v].data ? &r->tensor[v] : NULL;
}

bool rw_number(const rewriter *r, uint32_t v, double *x)
{
    const clv_tensor *t = rw_known(r, v);
    if (!t || t->dtype == CLV_STRING || clv_tensor_numel(t) != 1)
        return false;
    *x = get_f(t, 0);
    return true;
}

bool rw_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

bool rw_all(const rewriter *r, uint32_t v, double x)
{
    const clv_tensor *t = rw_known(r, v);
    int64_t n = t && t->dtype != CLV_STRING ? clv_tensor_numel(t) : 0;
    for (int64_t i = 0; i < n; i++)
        if (get_f(t, i) != x)
            return false;
    return n > 0;
}

uint32_t rw_rank(const rewriter *r, uint32_t v)
{
    return r->g->values[v].rank;
}

int64_t rw_dim(const rewriter *r, uint32_t v, int axis)
{
    const clv_value *x = &r->g->values[v];
    int at = axis < 0 ? axis + x->rank : axis;
    bool known = x->rank != CLV_NO_RANK && at >= 0 && at < x->rank;
    return known ? x->dims[at] : -1;
}

bool rw_same_shape(const rewriter *r, uint32_t a, uint32_t b)
{
    const clv_value *x = &r->g->values[a], *y = &r->g->values[b];
    return rw_is_static(r, a) && rw_is_static(r, b) && x->rank == y->rank &&
           (!x->rank || !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims));
}

bool rw_same_type(const rewriter *r, uint32_t a, uint32_t b)
{
    return r->g->values[a].dtype == r->g->values[b].dtype;
}

/* -- arithmetic -----------------------------------------------------------*/

static bool commutes(clv_op op)
{
    return op == CLV_OP_ADD || op == CLV_OP_MUL || op == CLV_OP_MAXIMUM ||
           op == CLV_OP_MINIMUM;
}

bool rw_with_number(const rewriter *r, uint32_t id, uint32_t *x, double *c)
{
    const clv_node *n = rw_node(r, id);
    const clv_attr *value = attr_get(n, CLV_A_VALUE);
    uint32_t a = rw_in(r, id, 0), b = rw_in(r, id, 1), y = rw_out(r, id);
    *x = a;
    if (n->n_in == 1 && value)
        *c = attr_float(n, CLV_A_VALUE);
    else if (n->n_in != 2 || value)
        return false;
    else if (!rw_number(r, b, c)) {
        if (!commutes((clv_op)n->op) || !rw_number(r, a, c))
            return false;
        *x = b;
    }
    return rw_same_shape(r, *x, y) && rw_same_type(r, *x, y);
}

bool rw_made_with(const rewriter *r, uint32_t v, clv_op op, uint32_t *x,
                  double *c)
{
    uint32_t id = rw_made_by(r, v, op);
    return id != CLV_NONE && rw_with_number(r, id, x, c);
}

double rw_scaled(const rewriter *r, uint32_t v, uint32_t *x)
{
    double scale = 1, c;
    uint32_t next;
    for (int depth = 0;; depth++) {
        *x = v;
        if (depth == LOOK_BACK)
            return scale;
        uint32_t id = rw_maker(r, v);
        if (id == CLV_NONE || !rw_is_float(r, v))
            return scale;
        if (rw_op(r, id) == CLV_OP_NEG) {
            scale = -scale;
            v = rw_in(r, id, 0);
            continue;
        }
        bool mul = rw_op(r, id) == CLV_OP_MUL;
        bool div = rw_op(r, id) == CLV_OP_DIV &&
                   attr_is(rw_node(r, id), CLV_A_MODE, "none");
        if ((!mul && !div) || !rw_with_number(r, id, &next, &c) ||
            !isfinite(c) || c == 0)
            return scale;
        scale = mul ? scale * c : scale / c;
        v = next;
    }
}

/* -- layouts --------------------------------------------------------------*/

bool rw_perm(const rewriter *r, uint32_t id, uint32_t *perm)
{
    const clv_node *n = rw_node(r, id);
    uint32_t rank = rw_rank(r, rw_out(r, id)), count;
    if (n->counted_only ||
        (n->op != CLV_OP_PERMUTE && n->op != CLV_OP_TRANSPOSE))
        return false;
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = n->op == CLV_OP_TRANSPOSE ? i : rank - 1 - i;
    if (n->op == CLV_OP_TRANSPOSE) {
        const int64_t *axes = attr_ints(n, CLV_A_AXES, &count);
        uint32_t a, b;
        if (count != 2 || norm_axis(axes[0], rank, &a, NULL) != CLV_OK ||
            norm_axis(axes[1], rank, &b, NULL) != CLV_OK)
            return false;
        perm[a] = b;
        perm[b] = a;
        return true;
    }
    const int64_t *list = attr_ints(n, CLV_A_PERM, &count);
    for (uint32_t i = 0; list && i < rank; i++)
        if (count != rank || norm_axis(list[i], rank, &perm[i], NULL) != CLV_OK)
            return false;
    return true;
}

/* Nodes that hand on the same elements in the same order. */
static bool is_plain_view(const rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    uint32_t x = rw_in(r, id, 0), y = rw_out(r, id);
    return clv__kernel_of((clv_op)n->op) == kernel_copy &&
           n->op != CLV_OP_BITCAST && x != CLV_NONE && rw_is_static(r, x) &&
           rw_is_static(r, y) && rw_same_type(r, x, y) && n->n_out == 1 &&
           clv__numel(&r->g->values[x]) == clv__numel(&r->g->values[y]);
}

uint32_t rw_flat_root(const rewriter *r, uint32_t v)
{
    for (int depth = 0; depth < LOOK_BACK; depth++) {
        uint32_t id = rw_maker(r, v);
        if (id == CLV_NONE || !is_plain_view(r, id))
            break;
        v = rw_in(r, id, 0);
    }
    return v;
}

/* -- forms ----------------------------------------------------------------*/

void rw_form_input(rw_form *f, uint32_t v)
{
    f->in[f->n_in++] = v;
}

static clv_attr *form_attr(rw_form *f, clv_attr_key key, clv_attr_type type)
{
    clv_attr *a = &f->attr[f->n_attr++];
    *a = (clv_attr){.name = clv__attr_name(key),
                    .key = (uint8_t)key,
                    .type = (uint8_t)type};
    return a;
}

void rw_form_int(rw_form *f, clv_attr_key key, int64_t x)
{
    form_attr(f, key, CLV_ATTR_INT)->u.i = x;
}

void rw_form_float(rw_form *f, clv_attr_key key, double x)
{
    form_attr(f, key, CLV_ATTR_FLOAT)->u.f = x;
}

void rw_form_str(rw_form *f, clv_attr_key key, const char *text)
{
    form_attr(f, key, CLV_ATTR_STRING)->u.s = text;
}

void rw_form_ints(rewriter *r, rw_form *f, clv_attr_key key, const int64_t *x,
                  uint32_t n)
{
    int64_t *own = arena_array(&r->g->mem, (size_t)n + 1, sizeof *own);
    if (!own) {
        r->failed = true;
        return;
    }
    if (n)
        memcpy(own, x, n * sizeof *own);
    clv_attr *a = form_attr(f, key, CLV_ATTR_INTS);
    a->u.ints = own;
    a->n = n;
}

void rw_form_attr(const rewriter *r, rw_form *f, uint32_t id, clv_attr_key key)
{
    const clv_attr *a = attr_get(rw_node(r, id), key);
    if (a)
        f->attr[f->n_attr++] = *a;
}

/* -- values ---------------------------------------------------------------*/

/* Room for what is known of values that were added. */
static bool grow_values(rewriter *r, uint32_t before)
{
    for (uint32_t v = before; v < r->g->n_values; v++) {
        if (!CLV_GROW(r->tensor, v, r->cap_tensor) ||
            !CLV_GROW(r->uses, v, r->cap_uses) ||
            !CLV_GROW(r->instead, v, r->cap_instead)) {
            r->failed = true;
            return false;
        }
        r->tensor[v] = (clv_tensor){0};
        r->uses[v] = 0;
        r->instead[v] = v;
    }
    return true;
}

static void note_type(rewriter *r, uint32_t v)
{
    const clv_value *x = &r->g->values[v];
    r->tensor[v] = (clv_tensor){.dtype = (clv_dtype)x->dtype, .rank = x->rank};
    if (x->rank && x->rank != CLV_NO_RANK)
        memcpy(r->tensor[v].dims, x->dims, x->rank * sizeof *x->dims);
}

/* -- nodes that come and go -----------------------------------------------*/

/* One reader of v less. Notes its maker where nobody reads it any more. */
static void unuse_one(rewriter *r, uint32_t v)
{
    if (v == CLV_NONE || --r->uses[v])
        return;
    uint32_t id = rw_maker(r, v);
    if (id == CLV_NONE || r->dead[id])
        return;
    const clv_node *n = rw_node(r, id);
    for (uint32_t o = 0; o < n->n_out; o++)
        if (r->uses[node_outs(r->g, n)[o]])
            return;
    if (!CLV_GROW(r->unread, r->n_unread, r->cap_unread))
        r->failed = true;
    else
        r->unread[r->n_unread++] = id;
}

static void bury(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    if (r->dead[id])
        return;
    r->dead[id] = true;
    if (id < r->from->n_nodes && id != r->at)
        r->home[id] = r->at;
    for (uint32_t o = 0; o < n->n_out; o++)
        r->g->values[node_outs(r->g, n)[o]].producer = CLV_NONE;
    for (uint32_t i = 0; i < n->n_in; i++)
        unuse_one(r, rw_in(r, id, i));
}

void rw_kill(rewriter *r, uint32_t id)
{
    bury(r, id);
    while (r->n_unread)
        bury(r, r->unread[--r->n_unread]);
}

static void unuse(rewriter *r, uint32_t v)
{
    unuse_one(r, v);
    while (r->n_unread)
        bury(r, r->unread[--r->n_unread]);
}

static void use_all(rewriter *r, const uint32_t *in, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (in[i] != CLV_NONE)
            r->uses[in[i]]++;
}

/* Copies what f says into the graph's memory. */
static const clv_attr *keep_attrs(rewriter *r, const rw_form *f)
{
    clv_attr *own = arena_array(&r->g->mem, f->n_attr + 1u, sizeof *own);
    if (!own)
        r->failed = true;
    else
        memcpy(own, f->attr, f->n_attr * sizeof *own);
    return own;
}

static bool keep_edges(rewriter *r, const rw_form *f, const uint32_t *outs,
                       uint32_t n_out, uint32_t *first)
{
    clv_graph *g = r->g;
    size_t need = (size_t)g->n_edges + f->n_in + n_out;
    size_t room = need > 2 * g->cap_edges ? need : 2 * g->cap_edges;
    if (need >= CLV_NONE ||
        (need > g->cap_edges && !CLV_RESERVE(g->edges, room, g->cap_edges))) {
        r->failed = true;
        return false;
    }
    *first = g->n_edges;
    memcpy(g->edges + g->n_edges, f->in, f->n_in * sizeof *f->in);
    memcpy(g->edges + g->n_edges + f->n_in, outs, n_out * sizeof *outs);
    g->n_edges += f->n_in + n_out;
    return true;
}

/* Whether the rule of node id still gives its result type and shape `was`. */
static bool infers_as(rewriter *r, uint32_t id, const clv_value *was)
{
    uint32_t v = rw_out(r, id);
    clv_err untold = {0};
    r->g->values[v].view_of = CLV_NONE;
    bool same = clv__infer_node(r->g, id, &untold) == CLV_OK;
    const clv_value *is = &r->g->values[v];
    same = same && is->dtype == was->dtype && is->rank == was->rank &&
           (!is->rank ||
            !memcmp(is->dims, was->dims, is->rank * sizeof *is->dims));
    clv_value keep = *was; /* contents and flags are as they were */
    keep.view_of = is->view_of;
    r->g->values[v] = keep;
    return same;
}

bool rw_become(rewriter *r, uint32_t id, const rw_form *f)
{
    clv_node old = *rw_node(r, id);
    uint32_t y = rw_out(r, id), first;
    clv_value was = r->g->values[y];
    const clv_attr *attrs = keep_attrs(r, f);
    for (uint32_t o = 1; o < old.n_out; o++)
        if (r->uses[node_outs(r->g, &old)[o]])
            return false;
    if (!attrs || !rw_is_static(r, y) || !keep_edges(r, f, &y, 1, &first))
        return false;
    clv_node *n = &r->g->nodes[id];
    *n = (clv_node){.name = old.name,
                    .attrs = attrs,
                    .n_attrs = f->n_attr,
                    .first_edge = first,
                    .n_in = f->n_in,
                    .n_out = 1,
                    .scope = old.scope,
                    .op = (uint16_t)f->op};
    clv__node_label(n, &old);
    if (!infers_as(r, id, &was)) {
        r->g->nodes[id] = old;
        return false;
    }
    for (uint32_t o = 1; o < old.n_out; o++)
        r->g->values[node_outs(r->g, &old)[o]].producer = CLV_NONE;
    use_all(r, f->in, f->n_in);
    for (uint32_t i = 0; i < old.n_in; i++)
        unuse(r, resolve(r, node_ins(r->g, &old)[i]));
    return true;
}

bool rw_reads(rewriter *r, uint32_t id, const rw_form *f)
{
    enum { MOST = 8 };
    clv_node old = *rw_node(r, id);
    uint32_t outs[MOST], first;
    if (old.n_out > MOST)
        return false;
    memcpy(outs, node_outs(r->g, &old), old.n_out * sizeof *outs);
    if (!keep_edges(r, f, outs, old.n_out, &first))
        return false;
    clv_node *n = &r->g->nodes[id];
    n->first_edge = first;
    n->n_in = f->n_in;
    use_all(r, f->in, f->n_in);
    for (uint32_t i = 0; i < old.n_in; i++)
        unuse(r, resolve(r, node_ins(r->g, &old)[i]));
    return true;
}

uint32_t rw_add(rewriter *r, const rw_form *f)
{
    uint32_t before = r->g->n_values;
    const clv_node *at = rw_node(r, r->at);
    const clv_attr *attrs = keep_attrs(r, f);
    uint32_t id = attrs ? clv__node_add(r->g, f->op, at->name, at->scope, f->in,
                                        f->n_in, NULL, 1)
                        : CLV_NONE;
    if (id == CLV_NONE || !grow_values(r, before) ||
        !CLV_GROW(r->stands_for, id, r->cap_stands_for) ||
        !CLV_GROW(r->dead, id, r->cap_dead)) {
        r->failed = true;
        return CLV_NONE;
    }
    r->g->nodes[id].attrs = attrs;
    r->g->nodes[id].n_attrs = f->n_attr;
    r->stands_for[id] = r->stands_for[r->at];
    r->dead[id] = false;
    use_all(r, f->in, f->n_in);
    uint32_t y = rw_out(r, id);
    clv_err untold = {0};
    if (clv__infer_node(r->g, id, &untold) != CLV_OK || !rw_is_static(r, y)) {
        rw_kill(r, id);
        return CLV_NONE;
    }
    note_type(r, y);
    return y;
}

bool rw_forward(rewriter *r, uint32_t id, uint32_t v)
{
    uint32_t y = rw_out(r, id);
    if (r->g->values[y].flags & CLV_V_OUTPUT || v == y)
        return false;
    for (uint32_t o = 1; o < rw_node(r, id)->n_out; o++)
        if (r->uses[node_outs(r->g, rw_node(r, id))[o]])
            return false;
    r->uses[v] += r->uses[y];
    r->uses[y] = 0;
    r->instead[y] = v;
    rw_kill(r, id);
    if (id < r->from->n_nodes)
        r->home[id] = CLV_NONE;
    return true;
}

void rw_forward_value(rewriter *r, uint32_t y, uint32_t v)
{
    uint32_t id = rw_maker(r, y), left = 0;
    r->uses[v] += r->uses[y];
    r->uses[y] = 0;
    r->instead[y] = v;
    for (uint32_t o = 0; id != CLV_NONE && o < rw_node(r, id)->n_out; o++)
        left += r->uses[node_outs(r->g, rw_node(r, id))[o]];
    if (id != CLV_NONE && !left)
        rw_kill(r, id);
}

/* -- constants ------------------------------------------------------------*/

static uint32_t const_value(rewriter *r, clv_dtype dtype, uint32_t rank,
                            const int64_t *dims)
{
    uint32_t before = r->g->n_values;
    uint32_t v = clv__value_add(r->g, "constant", CLV_VALUE_CONST, dtype);
    if (v == CLV_NONE || !clv__value_set_shape(r->g, v, rank, dims) ||
        !grow_values(r, before)) {
        r->failed = true;
        return CLV_NONE;
    }
    note_type(r, v);
    return v;
}

uint32_t rw_const_view(rewriter *r, uint32_t v, uint32_t rank,
                       const int64_t *dims)
{
    void *data = r->tensor[v].data;
    uint32_t c = const_value(r, r->tensor[v].dtype, rank, dims);
    if (c != CLV_NONE)
        r->tensor[c].data = data;
    return c;
}

uint32_t rw_const(rewriter *r, clv_dtype dtype, uint32_t rank,
                  const int64_t *dims, clv_tensor *t)
{
    uint32_t c = const_value(r, dtype, rank, dims);
    if (c == CLV_NONE)
        return CLV_NONE;
    if (clv__weight_own(r->weights, &r->tensor[c], NULL) != CLV_OK) {
        r->failed = true;
        return CLV_NONE;
    }
    *t = r->tensor[c];
    return c;
}

void rw_settle(rewriter *r, uint32_t id, uint32_t o, void *data)
{
    uint32_t v = node_outs(r->g, rw_node(r, id))[o];
    r->tensor[v].data = data;
    r->g->values[v].kind = CLV_VALUE_CONST;
    r->g->values[v].producer = CLV_NONE;
}
