/* body.c - operators that call graphs.
 *
 *   cond        an if; where the program fixes the condition, the branch taken
 *   while_loop  a loop. Ours computes the next condition in its body, so the
 *               condition's graph is read twice: before the loop, and at the
 *               end of the body on what the trip made
 *   scan, map   a scan
 *   wrap_..     regions that change how, not what: read in place
 *
 * Graphs take all they need as arguments; those that are tensors become inputs
 * of the body, in turn. */
#include "formats/pt2/pt2.h"

#include <string.h>

/* A higher-order node taken apart. */
typedef struct hop {
    const json *node;
    const char *target;
    const json *graphs[2];
    aten_arg condition;    /* of a cond */
    const aten_arg *lists; /* arguments behind the graphs */
    uint32_t n_graphs, n_lists;
    const char **outs;
    uint32_t n_outs;
    uint32_t *operands; /* tensors in `lists`, in turn */
    aten_arg *args;     /* the same as arguments, numbers between them */
    uint32_t n_operands, n_args;
} hop;

/* -- taking a node apart --------------------------------------------------*/

static clv_status hop_read_args(pt2_scope *s, hop *h, clv_err *e)
{
    const json *inputs = json_get(h->node, "inputs");
    uint32_t n = inputs ? inputs->n : 0;
    aten_arg *lists = arena_array(&s->r->mem, n + 1u, sizeof *lists);
    if (!lists)
        return clv__nomem(e);
    for (const json *m = inputs ? inputs->child : NULL; m; m = m->next) {
        const json *arg = json_get(m, "arg"),
                   *graph = json_get(arg, "as_graph");
        if (graph && h->n_graphs < 2) {
            h->graphs[h->n_graphs++] = json_get(graph, "graph");
            continue;
        }
        aten_arg a;
        CLV_TRY(pt2_arg(s, arg, &a, e));
        if (h->n_graphs)
            lists[h->n_lists++] = a;
        else
            h->condition = a;
    }
    h->lists = lists;
    return pt2_outputs(s->r, json_get(h->node, "outputs"), &h->outs, &h->n_outs,
                       e);
}

static void hop_operand(hop *h, const aten_arg *a)
{
    if (a->kind == ATEN_STRING) /* the name of a region */
        return;
    h->args[h->n_args++] = *a;
    if (a->kind == ATEN_TENSOR)
        h->operands[h->n_operands++] = a->u.value;
}

static clv_status hop_flatten(pt2_scope *s, hop *h, clv_err *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n_lists; i++)
        n += h->lists[i].kind == ATEN_LIST ? h->lists[i].n : 1;
    h->operands = arena_array(&s->r->mem, 2u * n + 4u, sizeof *h->operands);
    h->args = arena_array(&s->r->mem, n + 1u, sizeof *h->args);
    if (!h->operands || !h->args)
        return clv__nomem(e);
    for (uint32_t i = 0; i < h->n_lists; i++) {
        const aten_arg *a = &h->lists[i];
        if (a->kind != ATEN_LIST)
            hop_operand(h, a);
        for (uint32_t k = 0; a->kind == ATEN_LIST && k < a->n; k++)
            hop_operand(h, &a->u.items[k]);
    }
    return CLV_OK;
}

/* Tensors among the items of list i. */
static uint32_t hop_tensors(const hop *h, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0;
         i < h->n_lists && h->lists[i].kind == ATEN_LIST && k < h->lists[i].n;
         k++)
        n += h->lists[i].u.items[k].kind == ATEN_TENSOR;
    return n;
}

/* -- bodies ---------------------------------------------------------------*/

/* Adds an input of the body for every tensor that the graph takes. */
static clv_status body_inputs(pt2_scope *in, uint32_t want, clv_err *e)
{
    const json *inputs = json_get(in->graph, "inputs");
    clv_graph *g = in->b->g;
    uint32_t n = 0;
    for (const json *m = inputs ? inputs->child : NULL; m; m = m->next) {
        const char *name = json_string(json_get(m, "as_tensor"), "name", NULL);
        aten_type t;
        if (!name)
            continue;
        CLV_TRY(pt2_result(in, name, &t, e));
        char *own = arena_strndup(&g->mem, name, strlen(name));
        uint32_t v =
            own ? clv__value_add(g, own, CLV_VALUE_INPUT, t.dtype) : CLV_NONE;
        if (v == CLV_NONE ||
            (t.rank != CLV_NO_RANK &&
             !clv__value_set_shape(g, v, t.rank, t.dims)) ||
            !strmap_put(&in->values, name, strlen(name), v))
            return clv__nomem(e);
        n++;
    }
    return n == want ? CLV_OK
                     : clv__fail(e, CLV_FORMAT,
                                 "a graph takes %u tensors, its node has %u", n,
                                 want);
}

static clv_status body_outputs(pt2_scope *in, clv_err *e)
{
    const char **names;
    uint32_t n, v;
    CLV_TRY(pt2_outputs(in->r, json_get(in->graph, "outputs"), &names, &n, e));
    for (uint32_t i = 0; i < n; i++) {
        CLV_TRY(pt2_value(in, names[i], &v, e));
        if (v == CLV_NONE)
            return clv__fail(e, CLV_FORMAT, "output '%s' is not defined",
                             names[i]);
        if (!clv__graph_output(in->b->g, clv__aten_latest(in->b, v)))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* The next condition of a while_loop, as the first output of its body. */
static clv_status body_condition(pt2_scope *in, const hop *h, uint32_t carried,
                                 clv_err *e)
{
    static const char *const out = " condition";
    const char **names;
    uint32_t n, v, n_args = 0;
    const clv_graph *g = in->b->g;
    aten_arg *args = arena_array(&in->r->mem, h->n_operands + 1u, sizeof *args);
    if (!args)
        return clv__nomem(e);
    CLV_TRY(pt2_outputs(in->r, json_get(in->graph, "outputs"), &names, &n, e));
    for (uint32_t i = 0; i < n && n_args < carried; i++) {
        CLV_TRY(pt2_value(in, names[i], &v, e));
        if (v != CLV_NONE)
            args[n_args++] = (aten_arg){.kind = ATEN_TENSOR, .u.value = v};
    }
    for (uint32_t i = 2 + carried; i < g->n_inputs; i++)
        args[n_args++] =
            (aten_arg){.kind = ATEN_TENSOR, .u.value = g->inputs[i]};
    CLV_TRY(
        pt2_inline(in, h->graphs[0], args, n_args, (const char **)&out, 1, e));
    v = strmap_get(&in->values, out, strlen(out));
    if (v == CLV_NONE)
        return clv__fail(e, CLV_FORMAT, "the condition has no output");
    return clv__graph_output(in->b->g, v) ? CLV_OK : clv__nomem(e);
}

/* A loop's body counts its trips and is handed the condition. */
static bool body_loop_inputs(clv_graph *g)
{
    uint32_t trip = clv__value_add(g, "trip", CLV_VALUE_INPUT, CLV_INT64);
    uint32_t go = clv__value_add(g, "condition", CLV_VALUE_INPUT, CLV_BOOL);
    return trip != CLV_NONE && go != CLV_NONE &&
           clv__value_set_shape(g, trip, 0, NULL) &&
           clv__value_set_shape(g, go, 0, NULL);
}

static clv_status body_fill(pt2_scope *in, const hop *h, uint32_t want,
                            const uint32_t *carried, clv_err *e)
{
    CLV_TRY(body_inputs(in, want, e));
    CLV_TRY(pt2_nodes(in, e));
    if (carried)
        CLV_TRY(body_condition(in, h, *carried, e));
    CLV_TRY(body_outputs(in, e));
    return clv__aten_finish(in->b, e);
}

/* Reads graph i of the node as a body with `want` inputs; `carried` is not NULL
 * for a while_loop. */
static clv_status hop_body(pt2_scope *s, const hop *h, uint32_t i,
                           uint32_t want, const uint32_t *carried,
                           clv_graph **body, clv_err *e)
{
    pt2_scope in;
    CLV_TRY(clv__build_body(s->b->g, h->target, body, e));
    aten_builder b = {.g = *body};
    if (carried && !body_loop_inputs(*body))
        return clv__nomem(e);
    clv_status st =
        pt2_scope_open(&in, s->r, &b, h->graphs[i], s->depth + 1, e);
    if (st == CLV_OK)
        st = body_fill(&in, h, want, carried, e);
    pt2_scope_close(&in);
    clv__aten_free(&b);
    return st;
}

/* -- nodes ----------------------------------------------------------------*/

static clv_attr hop_attr(clv_attr_key key, clv_attr_type type)
{
    return (clv_attr){.name = clv__attr_name(key),
                      .key = (uint8_t)key,
                      .type = (uint8_t)type};
}

static clv_attr hop_body_attr(clv_attr_key key, clv_graph *body)
{
    clv_attr a = hop_attr(key, CLV_ATTR_GRAPH);
    a.u.body = body;
    return a;
}

static clv_attr hop_int_attr(clv_attr_key key, int64_t i)
{
    clv_attr a = hop_attr(key, CLV_ATTR_INT);
    a.u.i = i;
    return a;
}

/* Adds the node, its results typed as the program says, and binds them. */
static clv_status hop_add(pt2_scope *s, const hop *h, clv_op op,
                          const uint32_t *ins, uint32_t n_in,
                          const clv_attr *attrs, uint32_t n_attrs, clv_err *e)
{
    clv_graph *g = s->b->g;
    aten_call call = {0};
    CLV_TRY(pt2_place(s->r, h->node, &call, e));
    uint32_t scope = clv__scope_path(g, call.path);
    const char *own = json_string(h->node, "name", h->target);
    char *name = arena_strndup(&g->mem, own, strlen(own));
    clv_attr *copy = arena_array(&g->mem, n_attrs, sizeof *copy);
    if (!name || !copy || scope == CLV_NONE)
        return clv__nomem(e);
    memcpy(copy, attrs, n_attrs * sizeof *copy);
    uint32_t id = clv__node_add(g, op, name, scope, ins, n_in, NULL, h->n_outs);
    if (id == CLV_NONE)
        return clv__nomem(e);
    clv_node *n = &g->nodes[id];
    n->attrs = copy;
    n->n_attrs = (uint8_t)n_attrs;
    n->origin = arena_printf(&g->mem, "higher_order.%s", h->target);
    if (call.source)
        n->source = arena_strndup(&g->mem, call.source, strlen(call.source));
    for (uint32_t i = 0; i < h->n_outs; i++) {
        uint32_t v = node_outs(g, &g->nodes[id])[i];
        aten_type t;
        CLV_TRY(pt2_result(s, h->outs[i], &t, e));
        g->values[v].dtype = (uint8_t)t.dtype;
        if ((t.rank != CLV_NO_RANK &&
             !clv__value_set_shape(g, v, t.rank, t.dims)) ||
            !strmap_put(&s->values, h->outs[i], strlen(h->outs[i]), v))
            return clv__nomem(e);
    }
    return n->origin ? CLV_OK : clv__nomem(e);
}

static clv_status hop_if(pt2_scope *s, const hop *h, clv_err *e)
{
    clv_graph *yes, *no;
    uint32_t n = h->n_operands;
    CLV_TRY(hop_body(s, h, 0, n, NULL, &yes, e));
    CLV_TRY(hop_body(s, h, 1, n, NULL, &no, e));
    uint32_t *ins = arena_array(&s->r->mem, 2u * n + 1u, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    ins[0] = clv__aten_latest(s->b, h->condition.u.value);
    memcpy(ins + 1, h->operands, n * sizeof *ins);
    memcpy(ins + 1 + n, h->operands, n * sizeof *ins);
    clv_attr attrs[2] = {hop_body_attr(CLV_A_THEN, yes),
                         hop_body_attr(CLV_A_ELSE, no)};
    return hop_add(s, h, CLV_OP_IF, ins, 2 * n + 1, attrs, 2, e);
}

/* A condition that is no tensor is decided: by its value, or else true, and
 * said so. */
static clv_status hop_cond(pt2_scope *s, const hop *h, clv_err *e)
{
    const aten_arg *c = &h->condition;
    if (c->kind == ATEN_TENSOR)
        return hop_if(s, h, e);
    bool told = c->kind == ATEN_BOOL || c->kind == ATEN_INT;
    bool yes = !told || (c->kind == ATEN_BOOL ? c->u.b : c->u.i != 0);
    if (!told &&
        !clv__graph_warn(s->b->g, "'%s': a condition on sizes is taken to hold",
                         json_string(h->node, "name", "cond")))
        return clv__nomem(e);
    return pt2_inline(s, h->graphs[yes ? 0 : 1], h->args, h->n_args, h->outs,
                      h->n_outs, e);
}

static clv_status hop_while(pt2_scope *s, const hop *h, clv_err *e)
{
    static const char *const out = " condition";
    clv_graph *body;
    uint32_t n = h->n_operands, carried = hop_tensors(h, 0);
    CLV_TRY(pt2_inline(s, h->graphs[0], h->args, h->n_args, (const char **)&out,
                       1, e));
    CLV_TRY(hop_body(s, h, 1, n, &carried, &body, e));
    uint32_t *ins = arena_array(&s->r->mem, n + 2u, sizeof *ins);
    if (!ins)
        return clv__nomem(e);
    ins[0] = CLV_NONE;
    ins[1] = strmap_get(&s->values, out, strlen(out));
    memcpy(ins + 2, h->operands, n * sizeof *ins);
    clv_attr attrs[3] = {hop_body_attr(CLV_A_BODY, body),
                         hop_int_attr(CLV_A_OWN_INPUTS, 2 + (int64_t)carried)};
    uint32_t n_attrs = 2;
    if (s->r->opts && s->r->opts->loop > 0)
        attrs[n_attrs++] = hop_int_attr(CLV_A_TRIPS, s->r->opts->loop);
    return hop_add(s, h, CLV_OP_LOOP, ins, n + 2, attrs, n_attrs, e);
}

static clv_status hop_scan(pt2_scope *s, const hop *h, uint32_t states,
                           uint32_t scans, clv_err *e)
{
    clv_graph *body;
    CLV_TRY(hop_body(s, h, 0, h->n_operands, NULL, &body, e));
    clv_attr attrs[3] = {hop_body_attr(CLV_A_BODY, body),
                         hop_int_attr(CLV_A_STATES, states),
                         hop_int_attr(CLV_A_SCANS, scans)};
    return hop_add(s, h, CLV_OP_SCAN, h->operands, h->n_operands, attrs, 3, e);
}

/* -- the way in -----------------------------------------------------------*/

static bool hop_is_region(const char *target)
{
    static const char *const names[] = {"wrap_with_set_grad_enabled",
                                        "wrap_with_autocast",
                                        "wrap",
                                        "strict_mode",
                                        "invoke_subgraph",
                                        "tag_activation_checkpoint",
                                        "hints_wrapper",
                                        "wrap_activation_checkpoint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], target))
            return true;
    return false;
}

clv_status pt2_higher_order(pt2_scope *s, const json *node, const char *target,
                            bool *known, clv_err *e)
{
    hop h = {.node = node, .target = target};
    CLV_TRY(hop_read_args(s, &h, e));
    CLV_TRY(hop_flatten(s, &h, e));
    *known = true;
    bool whole = true; /* bodies take nothing but tensors */
    for (uint32_t i = 0; i < h.n_args; i++)
        whole = whole && h.args[i].kind == ATEN_TENSOR;
    if (hop_is_region(target) && h.n_graphs)
        return pt2_inline(s, h.graphs[0], h.args, h.n_args, h.outs, h.n_outs,
                          e);
    if (!strcmp(target, "cond") && h.n_graphs == 2)
        return hop_cond(s, &h, e);
    if (!strcmp(target, "while_loop") && h.n_graphs == 2 && whole)
        return hop_while(s, &h, e);
    if (!strcmp(target, "scan") && h.n_graphs == 1 && h.n_lists >= 2 && whole)
        return hop_scan(s, &h, hop_tensors(&h, 0), hop_tensors(&h, 1), e);
    if (!strcmp(target, "map_impl") && h.n_graphs == 1 && whole)
        return hop_scan(s, &h, 0, hop_tensors(&h, 0), e);
    *known = false;
    return CLV_OK;
}
