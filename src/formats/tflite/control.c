/* control.c - operators that run subgraphs, and variables.
 *
 *   IF          an if
 *   WHILE       a loop. Ours computes the next condition in its body, so the
 *               condition's subgraph is read twice: before the loop, and at the
 *               end of the body on what the trip made
 *   CALL, COMPOSITE, CALL_ONCE   read in place
 *
 * A variable is what was last assigned to it, or the stored tensor that
 * CALL_ONCE assigned; what one run leaves for the next is not kept. */
#include "formats/tflite/tflite.h"

#include <string.h>

/* -- running a subgraph ---------------------------------------------------*/

/* Reads subgraph `index` into g with its inputs bound to args; `handles` are
 * the variables that they name. */
static bool control_run(tfl_scope *in, const tfl_call *c, clv_graph *g,
                        int64_t index, const uint32_t *args, uint32_t n)
{
    tfl_model *m = c->m;
    if (tfl_open(in, m, g, index, c->s->depth + 1) != CLV_OK)
        return false;
    uint32_t want = tfl_ports(in, false);
    if (want != n) {
        flat_fail(&m->f, in->is.at, "a subgraph takes %u tensors, %s has %u",
                  want, c->origin, n);
        return false;
    }
    for (uint32_t i = 0; i < n && !tfl_failed(m); i++) {
        uint32_t at = tfl_port(in, false, i);
        if (at != CLV_NONE)
            in->tensors[at].value = args[i];
    }
    return tfl_operators(in) == CLV_OK;
}

/* The operands from `from` on; NULL after a failure, and where one is a
 * variable. */
static uint32_t *control_args(tfl_call *c, uint32_t from, uint32_t *n)
{
    *n = c->ins.n > from ? c->ins.n - from : 0;
    uint32_t *args = arena_array(&c->m->mem, *n + 1u, sizeof *args);
    if (!args) {
        tfl_nomem(c->m);
        return NULL;
    }
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t at = tfl_at(c, from + i);
        if (at >= c->s->n_tensors || c->s->tensors[at].dtype == CLV_NODTYPE)
            return NULL;
        args[i] = tfl_codes(c, from + i);
    }
    return tfl_failed(c->m) ? NULL : args;
}

void tfl_inline(tfl_call *c, int64_t index, uint32_t from)
{
    tfl_scope in;
    uint32_t n, *args = control_args(c, from, &n);
    if (!args) {
        tfl_unknown(c);
        return;
    }
    if (!control_run(&in, c, c->g, index, args, n))
        return;
    uint32_t given = tfl_ports(&in, true);
    if (c->outs.n > given)
        flat_fail(&c->m->f, c->is.at, "%s has %u results, its subgraph %u",
                  c->origin, c->outs.n, given);
    for (uint32_t i = 0; i < c->outs.n && !tfl_failed(c->m); i++) {
        uint32_t at = tfl_port(&in, true, i);
        if (at != CLV_NONE)
            tfl_give_codes(c, i, tfl_value(&in, at), false);
    }
}

void lite_call(tfl_call *c)
{
    tfl_inline(c, flat_u32(&c->m->f, c->opts, 0), 0);
}

void lite_composite(tfl_call *c)
{
    tfl_inline(c, flat_i32(&c->m->f, c->opts, 1, 0), 0);
}

void lite_call_once(tfl_call *c)
{
    tfl_scope in;
    if (!control_run(&in, c, c->g, flat_i32(&c->m->f, c->opts, 0, 0), NULL, 0))
        return;
}

/* -- bodies ---------------------------------------------------------------*/

/* Adds inputs to a body, each like one of the outer values. */
static bool body_takes(tfl_call *c, clv_graph *body, const uint32_t *args,
                       uint32_t n, uint32_t *made)
{
    for (uint32_t i = 0; i < n; i++) {
        char *name = arena_printf(&body->mem, "in_%u", i);
        made[i] = name ? clv__value_add(body, name, CLV_VALUE_INPUT,
                                        tfl_type(c, args[i]))
                       : CLV_NONE;
        if (made[i] == CLV_NONE)
            return tfl_nomem(c->m);
        const clv_value *v = &c->g->values[args[i]];
        if (v->rank != CLV_NO_RANK &&
            !clv__value_set_shape(body, made[i], v->rank, v->dims))
            return tfl_nomem(c->m);
    }
    return true;
}

static bool body_output(tfl_call *c, clv_graph *body, uint32_t v)
{
    if (v == CLV_NONE) {
        flat_fail(&c->m->f, c->is.at, "%s: a result of a subgraph is missing",
                  c->origin);
        return false;
    }
    return clv__graph_output(body, v) || tfl_nomem(c->m);
}

/* A graph for the nodes of a body; NULL, and the first error stays, when the
 * file has been found bad already. */
static clv_graph *body_new(tfl_call *c)
{
    clv_graph *body;
    flat *f = &c->m->f;
    if (tfl_failed(c->m))
        return NULL;
    f->status = clv__build_body(c->g, c->origin, &body, f->e);
    return f->status == CLV_OK ? body : NULL;
}

static bool body_finish(tfl_call *c, clv_graph *body)
{
    if (!tfl_failed(c->m))
        c->m->f.status = clv__build_finish(body, CLV_BUILT_INFERRED, c->m->f.e);
    return !tfl_failed(c->m);
}

/* A subgraph as the body of an if. */
static clv_graph *body_branch(tfl_call *c, int64_t index, const uint32_t *args,
                              uint32_t n)
{
    tfl_scope in;
    clv_graph *body = body_new(c);
    uint32_t *own = arena_array(&c->m->mem, n + 1u, sizeof *own);
    if (!body || !own) {
        if (!own)
            tfl_nomem(c->m);
        return NULL;
    }
    if (!body_takes(c, body, args, n, own) ||
        !control_run(&in, c, body, index, own, n))
        return NULL;
    for (uint32_t i = 0; i < tfl_ports(&in, true); i++) {
        uint32_t at = tfl_port(&in, true, i);
        uint32_t v = at == CLV_NONE ? CLV_NONE : tfl_value(&in, at);
        if (!body_output(c, body, v))
            return NULL;
    }
    return body_finish(c, body) ? body : NULL;
}

/* Hands on n results, of which `first` is the first. */
static void control_results(tfl_call *c, uint32_t first, uint32_t n)
{
    if (c->outs.n > n && !tfl_failed(c->m))
        flat_fail(&c->m->f, c->is.at, "%s has %u results, its subgraph %u",
                  c->origin, c->outs.n, n);
    for (uint32_t i = 0; i < c->outs.n && !tfl_failed(c->m); i++)
        tfl_give_codes(c, i, first + i, false);
}

void lite_if(tfl_call *c)
{
    flat *f = &c->m->f;
    uint32_t n, *args = control_args(c, 1, &n);
    if (!args) {
        tfl_unknown(c);
        return;
    }
    clv_graph *yes = body_branch(c, flat_i32(f, c->opts, 0, 0), args, n);
    clv_graph *no =
        yes ? body_branch(c, flat_i32(f, c->opts, 1, 0), args, n) : NULL;
    uint32_t *ins = arena_array(&c->m->mem, 2u * n + 1u, sizeof *ins);
    if (!yes || !no)
        return;
    if (!ins) {
        tfl_nomem(c->m);
        return;
    }
    ins[0] = tfl_codes(c, 0);
    memcpy(ins + 1, args, n * sizeof *ins);
    memcpy(ins + 1 + n, args, n * sizeof *ins);
    tfl_attrs a = {0};
    tfl_body(&a, CLV_A_THEN, yes);
    tfl_body(&a, CLV_A_ELSE, no);
    uint32_t y = tfl_node(c, CLV_OP_IF, ins, 2 * n + 1, c->outs.n, &a);
    control_results(c, y, c->outs.n);
}

/* -- loops ----------------------------------------------------------------*/

/* A loop's body counts its trips and is handed the condition. */
static bool loop_inputs(tfl_call *c, clv_graph *g)
{
    uint32_t trip = clv__value_add(g, "trip", CLV_VALUE_INPUT, CLV_INT64);
    uint32_t go = clv__value_add(g, "condition", CLV_VALUE_INPUT, CLV_BOOL);
    return (trip != CLV_NONE && go != CLV_NONE &&
            clv__value_set_shape(g, trip, 0, NULL) &&
            clv__value_set_shape(g, go, 0, NULL)) ||
           tfl_nomem(c->m);
}

/* What the condition's subgraph says of args, as a value of g without axes. */
static uint32_t loop_condition(tfl_call *c, clv_graph *g, const uint32_t *args,
                               uint32_t n)
{
    tfl_scope in;
    if (!control_run(&in, c, g, flat_i32(&c->m->f, c->opts, 0, 0), args, n))
        return CLV_NONE;
    uint32_t at = tfl_port(&in, true, 0);
    uint32_t v = at == CLV_NONE ? CLV_NONE : tfl_value(&in, at);
    if (v == CLV_NONE) {
        flat_fail(&c->m->f, c->is.at, "%s: its condition gives nothing",
                  c->origin);
        return CLV_NONE;
    }
    tfl_call own = *c;
    own.g = g;
    own.s = &in;
    own.scope = 0;
    return tfl_rank(&own, v) ? tfl_reshape(&own, v, NULL, 0) : v;
}

static clv_graph *loop_body(tfl_call *c, const uint32_t *args, uint32_t n)
{
    tfl_scope in;
    clv_graph *body = body_new(c);
    uint32_t *own = arena_array(&c->m->mem, n + 1u, sizeof *own);
    uint32_t *made = arena_array(&c->m->mem, n + 1u, sizeof *made);
    if (!body || !own || !made) {
        if (!own || !made)
            tfl_nomem(c->m);
        return NULL;
    }
    if (!loop_inputs(c, body) || !body_takes(c, body, args, n, own) ||
        !control_run(&in, c, body, flat_i32(&c->m->f, c->opts, 1, 0), own, n))
        return NULL;
    if (tfl_ports(&in, true) != n) {
        flat_fail(&c->m->f, in.is.at, "a loop's body takes %u and gives %u", n,
                  tfl_ports(&in, true));
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        made[i] = tfl_value(&in, tfl_port(&in, true, i));
    if (tfl_failed(c->m) ||
        !body_output(c, body, loop_condition(c, body, made, n)))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!body_output(c, body, made[i]))
            return NULL;
    return body_finish(c, body) ? body : NULL;
}

void lite_while(tfl_call *c)
{
    uint32_t n, *args = control_args(c, 0, &n);
    if (!args) {
        tfl_unknown(c);
        return;
    }
    uint32_t *ins = arena_array(&c->m->mem, n + 2u, sizeof *ins);
    if (!ins) {
        tfl_nomem(c->m);
        return;
    }
    uint32_t go = loop_condition(c, c->g, args, n);
    clv_graph *body = go == CLV_NONE ? NULL : loop_body(c, args, n);
    if (!body)
        return;
    ins[0] = CLV_NONE;
    ins[1] = go;
    memcpy(ins + 2, args, n * sizeof *ins);
    tfl_attrs a = {0};
    tfl_body(&a, CLV_A_BODY, body);
    tfl_int(&a, CLV_A_OWN_INPUTS, 2 + (int64_t)n);
    if (c->m->opts && c->m->opts->loop > 0)
        tfl_int(&a, CLV_A_TRIPS, c->m->opts->loop);
    uint32_t y = tfl_node(c, CLV_OP_LOOP, ins, n + 2, n, &a);
    control_results(c, y, n);
}

/* -- variables ------------------------------------------------------------*/

/* The variable of that name, made when it is new. */
static uint32_t variable_named(tfl_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_variables; i++)
        if (!strcmp(m->variables[i].name, name))
            return i;
    if (!CLV_GROW(m->variables, m->n_variables, m->cap_variables)) {
        tfl_nomem(m);
        return CLV_NONE;
    }
    m->variables[m->n_variables] =
        (tfl_variable){.name = name, .value = CLV_NONE};
    return m->n_variables++;
}

void lite_var_handle(tfl_call *c)
{
    flat_text name = flat_string(&c->m->f, c->opts, 1);
    char *own = arena_strndup(&c->m->mem, name.s, name.n);
    uint32_t at = tfl_out(c, 0);
    uint32_t v = own ? variable_named(c->m, own) : CLV_NONE;
    if (v != CLV_NONE && at < c->s->n_tensors)
        c->s->tensors[at].handle = v + 1;
}

/* The variable that operand 0 names; NULL when it names none. */
static tfl_variable *variable_at(tfl_call *c)
{
    uint32_t at = tfl_at(c, 0);
    uint32_t handle = at < c->s->n_tensors ? c->s->tensors[at].handle : 0;
    return handle ? &c->m->variables[handle - 1] : NULL;
}

void lite_assign_variable(tfl_call *c)
{
    tfl_variable *var = variable_at(c);
    uint32_t v = var ? tfl_codes(c, 1) : CLV_NONE;
    if (v == CLV_NONE)
        return;
    const tfl_tensor *t = &c->s->tensors[tfl_at(c, 1)];
    if (t->stored) {
        var->start = *t;
        var->starts = true;
    }
    var->value = v;
    var->g = c->g;
}

void lite_read_variable(tfl_call *c)
{
    tfl_variable *var = variable_at(c);
    uint32_t at = tfl_out(c, 0), v = CLV_NONE;
    if (!var || at >= c->s->n_tensors) {
        tfl_unknown(c);
        return;
    }
    if (var->g == c->g) {
        v = var->value;
    } else if (var->starts) {
        tfl_tensor own = var->start;
        tfl_scope s = {.m = c->m, .g = c->g, .tensors = &own, .n_tensors = 1};
        own.value = own.first = own.real = own.real_first = CLV_NONE;
        v = tfl_value(&s, 0);
        if (v != CLV_NONE) /* it is not learned */
            c->g->values[v].kind = CLV_VALUE_BUFFER;
    } else {
        c->s->tensors[at].variable = true;
        v = tfl_value(c->s, at);
    }
    tfl_give_codes(c, 0, v, false);
}
