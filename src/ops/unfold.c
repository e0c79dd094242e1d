/* unfold.c - lays operators with bodies open, for analyses.
 *
 * An If, a Loop or a Scan is one node whose cost is that of its body. To see
 * where that cost lies, the nodes of the body stand in its place, in a graph
 * that is made for looking and counting and cannot be run:
 *
 *     If     the branch that a constant condition takes. Where data decide,
 *            both branches, of which the cheaper one runs no times: its weights
 *            are there, its work does not count
 *     Loop   the body once, run as often as there are trips. States come in
 *            from the node's inputs; results that are collected over the trips
 *            are an expanded view of the last one's
 *     Scan   the same; what is scanned comes in as a view of one slice
 *
 * A node says how often it runs (clv_node.times, a row of graph->times), and
 * whether that is a guess (CLV_N_GUESSED). So the sums over all nodes are what
 * the operators with bodies cost before. */
#include "ops/build.h"
#include "ops/control.h"

#include <string.h>

/* One graph being copied: the model's, or a body. */
typedef struct unfold_frame {
    const clv_graph *from;
    uint32_t *of;       /* per value of `from`: its number in the result */
    const char *prefix; /* of node names: "" or "loop/" */
    const char *path;   /* of scopes */
    int64_t times;
    bool guessed;
} unfold_frame;

typedef struct unfolding {
    clv_graph *to;
    arena mem;
    clv_err *e;
} unfolding;

static clv_status unfold_nodes(unfolding *u, unfold_frame *f);

/* -- values ---------------------------------------------------------------*/

/* Adds a copy of v, which is a value of some graph that is unfolded. */
static uint32_t unfold_copy(unfolding *u, const clv_value *v,
                            clv_value_kind kind)
{
    uint32_t id = clv__value_add(u->to, v->name, kind, (clv_dtype)v->dtype);
    if (id == CLV_NONE)
        return CLV_NONE;
    clv_value *own = &u->to->values[id];
    own->rank = v->rank;
    own->dims = v->dims;
    own->data = v->data;
    own->count = v->count;
    own->flags = v->flags & (uint8_t)~CLV_V_OUTPUT;
    return id;
}

/* The number of value v of the frame in the result; added when it is new. */
static uint32_t unfold_value(unfolding *u, unfold_frame *f, uint32_t v)
{
    if (v == CLV_NONE)
        return CLV_NONE;
    const clv_value *x = &f->from->values[v];
    if (f->of[v] == CLV_NONE)
        f->of[v] = unfold_copy(u, x, (clv_value_kind)x->kind);
    return f->of[v];
}

/* -- plain nodes ----------------------------------------------------------*/

/* Which row of graph->times says `times`; 0: once. */
static bool unfold_times(unfolding *u, int64_t times, uint16_t *row)
{
    clv_graph *g = u->to;
    *row = 0;
    if (times == 1)
        return true;
    for (uint32_t i = 0; i < g->n_times; i++)
        if (g->times[i] == times)
            return *row = (uint16_t)(i + 1), true;
    if (g->n_times == UINT16_MAX - 1)
        return false;
    int64_t *more = arena_array(&g->mem, g->n_times + 1u, sizeof *more);
    if (!more)
        return false;
    if (g->n_times)
        memcpy(more, g->times, g->n_times * sizeof *more);
    more[g->n_times] = times;
    g->times = more;
    *row = (uint16_t)++g->n_times;
    return true;
}

/* A node in the frame's scope, with the frame's name before its own. */
static uint32_t unfold_add(unfolding *u, const unfold_frame *f, clv_op op,
                           const char *name, const char *path,
                           const uint32_t *ins, uint32_t n_in,
                           const uint32_t *outs, uint32_t n_out)
{
    clv_graph *g = u->to;
    const char *own = arena_printf(&g->mem, "%s%s", f->prefix, name);
    const char *scope = !*f->path ? path
                        : *path ? arena_printf(&u->mem, "%s.%s", f->path, path)
                                : f->path;
    uint32_t at = !scope ? CLV_NONE : *scope ? clv__scope_path(g, scope) : 0;
    uint16_t times;
    if (!own || at == CLV_NONE || !unfold_times(u, f->times, &times))
        return CLV_NONE;
    uint32_t id = clv__node_add(g, op, own, at, ins, n_in, outs, n_out);
    if (id == CLV_NONE)
        return CLV_NONE;
    g->nodes[id].times = times;
    g->nodes[id].flags |= f->guessed ? CLV_N_GUESSED : 0;
    return id;
}

/* Attributes that name a value of the old graph name one of the new. */
static bool unfold_attrs(unfolding *u, unfold_frame *f, const clv_node *n,
                         clv_node *to)
{
    bool any = false;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        any |= n->attrs[i].type == CLV_ATTR_TENSOR;
    to->attrs = n->attrs;
    to->n_attrs = n->n_attrs;
    if (!any)
        return true;
    clv_attr *own = arena_array(&u->to->mem, n->n_attrs, sizeof *own);
    for (uint32_t i = 0; own && i < n->n_attrs; i++) {
        own[i] = n->attrs[i];
        if (own[i].type == CLV_ATTR_TENSOR)
            own[i].u.value = unfold_value(u, f, own[i].u.value);
    }
    to->attrs = own;
    return own != NULL;
}

/* Notes whose storage an output shares, as it does in the old graph. */
static void unfold_view(unfolding *u, const unfold_frame *f, uint32_t v)
{
    uint32_t of = f->from->values[v].view_of;
    if (of == CLV_NONE || f->of[of] == CLV_NONE)
        return;
    uint32_t root = u->to->values[f->of[of]].view_of;
    u->to->values[f->of[v]].view_of = root == CLV_NONE ? f->of[of] : root;
}

static clv_status unfold_node(unfolding *u, unfold_frame *f, const clv_node *n)
{
    const clv_graph *g = f->from;
    uint32_t count = n->n_in + n->n_out;
    uint32_t *ids = arena_array(&u->mem, count + 1u, sizeof *ids);
    if (!ids)
        return clv__nomem(u->e);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = unfold_value(u, f, node_ins(g, n)[i]);
        if (ids[i] == CLV_NONE && node_ins(g, n)[i] != CLV_NONE)
            return clv__nomem(u->e);
    }
    uint32_t id =
        unfold_add(u, f, (clv_op)n->op, n->name, g->scopes[n->scope].path, ids,
                   n->n_in, ids + n->n_in, n->n_out);
    if (id == CLV_NONE)
        return clv__nomem(u->e);
    clv__node_label(&u->to->nodes[id], n);
    u->to->nodes[id].counted_only = n->counted_only;
    u->to->nodes[id].flags |= n->flags;
    u->to->nodes[id].custom = n->custom;
    if (!unfold_attrs(u, f, n, &u->to->nodes[id]))
        return clv__nomem(u->e);
    for (uint32_t o = 0; o < n->n_out; o++)
        unfold_view(u, f, node_outs(g, n)[o]);
    return CLV_OK;
}

/* -- bodies ---------------------------------------------------------------*/

/* Adds a view of value x that looks like `like`; it costs nothing. */
static clv_status unfold_look(unfolding *u, const unfold_frame *f, clv_op op,
                              const char *name, uint32_t x,
                              const clv_value *like, uint32_t *out)
{
    *out = unfold_copy(u, like, CLV_VALUE_ACTIVATION);
    if (*out == CLV_NONE ||
        unfold_add(u, f, op, name, "", &x, 1, out, 1) == CLV_NONE)
        return clv__nomem(u->e);
    uint32_t root = u->to->values[x].view_of;
    u->to->values[*out].view_of = root == CLV_NONE ? x : root;
    return CLV_OK;
}

/* A frame for the body of n, whose nodes lie in a scope of n's name. */
static clv_status unfold_open(unfolding *u, const unfold_frame *f,
                              const clv_node *n, const clv_graph *body,
                              const char *branch, unfold_frame *in)
{
    const char *path = f->from->scopes[n->scope].path;
    char *name = arena_strndup(&u->mem, n->name, strlen(n->name));
    *in = *f;
    in->from = body;
    in->of = arena_array(&u->mem, body->n_values + 1u, sizeof *in->of);
    if (!name || !in->of)
        return clv__nomem(u->e);
    memset(in->of, 0xff, (body->n_values + 1u) * sizeof *in->of);
    for (char *c = name; *c; c++) /* a dot parts modules */
        if (*c == '.' || *c == '/')
            *c = '_';
    in->prefix = arena_printf(&u->mem, "%s%s/%s%s", f->prefix, n->name, branch,
                              *branch ? "/" : "");
    in->path =
        arena_printf(&u->mem, "%s%s%s%s%s%s%s", f->path, *f->path ? "." : "",
                     path, *path ? "." : "", name, *branch ? "." : "", branch);
    return in->prefix && in->path ? CLV_OK : clv__nomem(u->e);
}

/* Body input i is a value of the result, or where there is none (the number of
 * the trip, a condition that is left out) one that comes from nowhere. */
static clv_status unfold_bind(unfolding *u, unfold_frame *in, uint32_t i,
                              uint32_t value)
{
    uint32_t v = in->from->inputs[i];
    if (value == CLV_NONE)
        value = unfold_copy(u, &in->from->values[v], CLV_VALUE_CONST);
    in->of[v] = value;
    return value == CLV_NONE ? clv__nomem(u->e) : CLV_OK;
}

/* Output o of n is output k of the body. */
static clv_status unfold_give(unfolding *u, unfold_frame *f, unfold_frame *in,
                              const clv_node *n, uint32_t o, uint32_t k)
{
    uint32_t v = unfold_value(u, in, in->from->outputs[k]);
    f->of[node_outs(f->from, n)[o]] = v;
    return v == CLV_NONE ? clv__nomem(u->e) : CLV_OK;
}

/* The same for what is collected over the trips. */
static clv_status unfold_collect(unfolding *u, unfold_frame *f,
                                 unfold_frame *in, const clv_node *n,
                                 uint32_t o, uint32_t k)
{
    uint32_t v = unfold_value(u, in, in->from->outputs[k]), y;
    if (v == CLV_NONE)
        return clv__nomem(u->e);
    CLV_TRY(unfold_look(u, f, CLV_OP_EXPAND, n->name, v,
                        node_out(f->from, n, o), &y));
    f->of[node_outs(f->from, n)[o]] = y;
    return CLV_OK;
}

static clv_status unfold_branch(unfolding *u, unfold_frame *f,
                                const clv_node *n, const control_branch *b,
                                bool gives)
{
    unfold_frame in;
    if (!b->body->inferred)
        return CLV_OK;
    CLV_TRY(unfold_open(u, f, n, b->body, b->name, &in));
    in.times = gives ? f->times : 0;
    in.guessed = f->guessed || !b->decided;
    for (uint32_t i = 0; i < b->body->n_inputs; i++) {
        uint32_t from = node_ins(f->from, n)[b->first + i];
        CLV_TRY(unfold_bind(u, &in, i, unfold_value(u, f, from)));
    }
    CLV_TRY(unfold_nodes(u, &in));
    for (uint32_t o = 0; gives && o < n->n_out; o++)
        CLV_TRY(unfold_give(u, f, &in, n, o, o));
    return CLV_OK;
}

/* The branch that is taken comes last, after the one that is only shown. */
static clv_status unfold_if(unfolding *u, unfold_frame *f, const clv_node *n)
{
    control_branch taken, other;
    clv__if_branches(f->from, n, &taken, &other);
    if (!taken.decided && other.body->inferred &&
        !clv__graph_warn(u->to,
                         "if '%s': data decide; branch '%s', the dearer one, "
                         "is counted",
                         n->name, taken.name))
        return clv__nomem(u->e);
    if (!taken.decided)
        CLV_TRY(unfold_branch(u, f, n, &other, false));
    return unfold_branch(u, f, n, &taken, true);
}

static clv_status unfold_loop(unfolding *u, unfold_frame *f, const clv_node *n,
                              const clv_graph *body)
{
    unfold_frame in;
    bool scan = n->op == CLV_OP_SCAN;
    loop_trips trips = clv__body_trips(f->from, n);
    uint32_t lead = scan ? 0 : 2, held = scan ? 0 : 1;
    uint32_t states = scan ? (uint32_t)attr_int(n, CLV_A_STATES)
                           : (uint32_t)attr_int(n, CLV_A_OWN_INPUTS) - lead;
    uint32_t scans = scan ? (uint32_t)attr_int(n, CLV_A_SCANS) : 0;
    CLV_TRY(unfold_open(u, f, n, body, "", &in));
    in.times = sat_mul(f->times, trips.n);
    in.guessed = f->guessed || !trips.exact;
    for (uint32_t i = 0; i < body->n_inputs; i++) {
        uint32_t v = unfold_value(u, f, node_ins(f->from, n)[i]);
        if (i < lead)
            v = CLV_NONE;
        else if (i >= states && i < states + scans && v != CLV_NONE)
            CLV_TRY(unfold_look(u, &in, CLV_OP_SELECT, "slice", v,
                                &body->values[body->inputs[i]], &v));
        CLV_TRY(unfold_bind(u, &in, i, v));
    }
    CLV_TRY(unfold_nodes(u, &in));
    for (uint32_t o = 0; o < n->n_out; o++)
        CLV_TRY(o < states ? unfold_give(u, f, &in, n, o, o + held)
                           : unfold_collect(u, f, &in, n, o, o + held));
    return CLV_OK;
}

/* The body of a loop or scan that can be laid open, or NULL. */
static const clv_graph *unfold_body(const clv_node *n)
{
    const clv_attr *a = attr_get(n, CLV_A_BODY);
    bool loop = n->op == CLV_OP_LOOP || n->op == CLV_OP_SCAN;
    return loop && a && a->type == CLV_ATTR_GRAPH && a->u.body->inferred
               ? a->u.body
               : NULL;
}

static clv_status unfold_nodes(unfolding *u, unfold_frame *f)
{
    for (uint32_t id = 0; id < f->from->n_nodes; id++) {
        const clv_node *n = &f->from->nodes[id];
        const clv_graph *body = unfold_body(n);
        if (n->op == CLV_OP_IF)
            CLV_TRY(unfold_if(u, f, n));
        else if (body)
            CLV_TRY(unfold_loop(u, f, n, body));
        else
            CLV_TRY(unfold_node(u, f, n));
    }
    return CLV_OK;
}

/* -- the whole ------------------------------------------------------------*/

static bool unfold_needed(const clv_graph *g)
{
    for (uint32_t id = 0; id < g->n_nodes; id++)
        if (g->nodes[id].op == CLV_OP_IF || unfold_body(&g->nodes[id]))
            return true;
    return false;
}

/* Outputs keep their names; one that is an input or a weight now keeps its own.
 */
static clv_status unfold_outputs(unfolding *u, unfold_frame *f)
{
    char buf[512];
    for (uint32_t i = 0; i < f->from->n_outputs; i++) {
        uint32_t v = f->from->outputs[i], own = unfold_value(u, f, v);
        const char *name = clv__value_name(f->from, v, buf, sizeof buf);
        name = arena_strndup(&u->to->mem, name, strlen(name));
        if (!name || own == CLV_NONE || !clv__graph_output(u->to, own))
            return clv__nomem(u->e);
        if (u->to->values[own].kind == CLV_VALUE_ACTIVATION)
            u->to->values[own].name = name;
    }
    return CLV_OK;
}

static bool unfold_is_read(const clv_graph *g, uint32_t v)
{
    return v != CLV_NONE && g->user_first[v] != g->user_first[v + 1];
}

/* Weights that only a branch reads which is never taken. */
static void unfold_count_unused(unfolding *u, const unfold_frame *f)
{
    const clv_graph *g = f->from;
    u->to->unused_params = g->unused_params;
    for (uint32_t v = 0; v < g->n_values; v++) {
        const clv_value *x = &g->values[v];
        if (x->kind == CLV_VALUE_PARAM && x->rank != CLV_NO_RANK &&
            unfold_is_read(g, v) && !unfold_is_read(u->to, f->of[v]))
            u->to->unused_params = sat_add(u->to->unused_params, clv__numel(x));
    }
}

static clv_status unfold_fill(unfolding *u, const clv_graph *g)
{
    unfold_frame f = {.from = g, .prefix = "", .path = "", .times = 1};
    f.of = arena_array(&u->mem, g->n_values + 1u, sizeof *f.of);
    if (!f.of)
        return clv__nomem(u->e);
    memset(f.of, 0xff, (g->n_values + 1u) * sizeof *f.of);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (unfold_value(u, &f, g->inputs[i]) == CLV_NONE)
            return clv__nomem(u->e);
    CLV_TRY(unfold_nodes(u, &f));
    CLV_TRY(unfold_outputs(u, &f));
    CLV_TRY(clv__build_finish(u->to, CLV_BUILT_COPIED, u->e));
    unfold_count_unused(u, &f);
    return CLV_OK;
}

static void unfold_release(void *g)
{
    clv_graph_free(g);
}

clv_status clv_graph_unfold(clv_graph *g, clv_graph **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, __func__, err));
    if (!unfold_needed(g)) {
        *out = clv__graph_hold(g);
        return CLV_OK;
    }
    unfolding u = {.e = err};
    CLV_TRY(clv__build_part(g, &u.to, err));
    u.to->format = g->format;
    u.to->planned = g->planned;
    u.to->has_fixed = true;           /* in the model or in a body */
    u.to->owner = clv__graph_hold(g); /* its attributes and names are used */
    u.to->release = unfold_release;
    clv_status s = unfold_fill(&u, g);
    arena_free(&u.mem);
    if (s == CLV_OK)
        *out = u.to;
    else
        clv_graph_free(u.to);
    return s;
}
