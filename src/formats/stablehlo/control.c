/* control.c - while, if, case; composites and custom calls.
 *
 * The condition of a `while` is read twice: before the loop, and at the end of
 * its body on what the trip made (as our loop wants it). A `case` is an if for
 * its first branch, with the others in its else. A branch that constants decide
 * is read in place. */
#include "formats/stablehlo/hlo.h"

#include <string.h>

/* -- bodies ---------------------------------------------------------------*/

static clv_status body_input(hlo_scope *in, const clv_value *like,
                             mlir_text name, clv_err *e)
{
    clv_graph *g = in->g;
    char *own = arena_strndup(&g->mem, name.s, name.n);
    uint32_t v =
        own ? clv__value_add(g, own, CLV_VALUE_INPUT, (clv_dtype)like->dtype)
            : CLV_NONE;
    if (v == CLV_NONE || (like->rank != CLV_NO_RANK &&
                          !clv__value_set_shape(g, v, like->rank, like->dims)))
        return clv__nomem(e);
    return hlo_bind(in, name, &v, 1, e);
}

static clv_status body_results(hlo_scope *in, const uint32_t *outs, uint32_t n,
                               clv_err *e)
{
    for (uint32_t i = 0; i < n; i++) {
        if (outs[i] == CLV_NONE)
            return hlo_fail(in, e, "a token comes out of a region");
        if (!clv__graph_output(in->g, outs[i]))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* Opens a scope whose nodes go to a new body. */
static clv_status body_open(hlo_scope *s, hlo_scope *in, const char *name,
                            clv_graph **body, clv_err *e)
{
    CLV_TRY(clv__build_body(s->g, name, body, e));
    hlo_scope_open(in, s->r, *body, s, s);
    return in->depth > HLO_MAX_DEPTH
               ? hlo_fail(s, e, "more than %d regions in each other",
                          HLO_MAX_DEPTH)
               : CLV_OK;
}

/* Captured values behind the inputs that a node has of its own. */
static clv_status body_captured(hlo_scope *s, const hlo_scope *in,
                                const uint32_t *own, uint32_t n, uint32_t **ins,
                                uint32_t *n_ins, clv_err *e)
{
    *n_ins = n + in->n_captured;
    *ins = arena_array(&s->r->mem, *n_ins + 1u, sizeof **ins);
    if (!*ins)
        return clv__nomem(e);
    if (n)
        memcpy(*ins, own, n * sizeof *own);
    if (in->n_captured)
        memcpy(*ins + n, in->captured, in->n_captured * sizeof *own);
    return CLV_OK;
}

/* -- while ----------------------------------------------------------------*/

/* The body: trip, condition, states; the next condition and the states. */
static clv_status while_fill(hlo_scope *s, hlo_scope *in, const mlir_op *op,
                             const uint32_t *states, clv_err *e)
{
    static const clv_dtype own[] = {CLV_INT64, CLV_BOOL};
    static const char *const names[] = {"trip", "condition"};
    const mlir_region *cond = op->regions, *body = cond->next;
    uint32_t *outs, *go, n, n_go, i = 0;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t v = clv__value_add(in->g, names[k], CLV_VALUE_INPUT, own[k]);
        if (v == CLV_NONE || !clv__value_set_shape(in->g, v, 0, NULL))
            return clv__nomem(e);
    }
    for (const mlir_arg *a = body->args; a; a = a->next)
        CLV_TRY(body_input(in, &s->g->values[states[i++]], a->name, e));
    CLV_TRY(hlo_walk(in, body, &outs, &n, e));
    if (n != op->n_ins)
        return hlo_fail(in, e, "%u values for %u that are carried", n,
                        op->n_ins);
    CLV_TRY(hlo_inline(in, cond, outs, n, &go, &n_go, e));
    if (n_go != 1)
        return hlo_fail(in, e, "a condition of %u values", n_go);
    CLV_TRY(body_results(in, go, 1, e));
    CLV_TRY(body_results(in, outs, n, e));
    return clv__build_finish(in->g, CLV_BUILT_INFERRED, e);
}

clv_status hlo_map_while(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                         uint32_t *outs, clv_err *e)
{
    uint32_t n = op->n_ins, *own, *ins, n_ins, *go, n_go;
    own = arena_array(&s->r->mem, n + 3u, sizeof *own);
    if (!own)
        return clv__nomem(e);
    if (op->n_regions != 2 || op->regions->n_args != n ||
        op->regions->next->n_args != n || op->n_results > n)
        return hlo_fail(s, e, "a loop without condition, body or values");
    for (uint32_t i = 0; i < n; i++)
        CLV_TRY(hlo_in(s, i, &own[2 + i], e));
    CLV_TRY(hlo_inline(s, op->regions, own + 2, n, &go, &n_go, e));
    CLV_TRY(hlo_place(s, op, e));
    if (n_go != 1 || go[0] == CLV_NONE)
        return hlo_fail(s, e, "a condition of %u values", n_go);
    own[0] = CLV_NONE;
    own[1] = go[0];
    hlo_scope in;
    clv_graph *body;
    clv_status st = body_open(s, &in, "while", &body, e);
    if (st == CLV_OK)
        st = while_fill(s, &in, op, own + 2, e);
    if (st == CLV_OK)
        st = body_captured(s, &in, own, n + 2, &ins, &n_ins, e);
    hlo_scope_close(&in);
    CLV_TRY(st);
    clv_attr a[3] = {hlo_body(CLV_A_BODY, body),
                     hlo_int(CLV_A_OWN_INPUTS, 2 + (int64_t)n)};
    uint32_t n_attrs = 2;
    if (s->r->opts && s->r->opts->loop > 0)
        a[n_attrs++] = hlo_int(CLV_A_TRIPS, s->r->opts->loop);
    s->origin = row->origin;
    return hlo_emit(s, "", row->op, ins, n_ins, a, n_attrs, outs, op->n_results,
                    e);
}

/* -- if, case -------------------------------------------------------------*/

static const mlir_region *control_region(const mlir_op *op, uint32_t i)
{
    const mlir_region *r = op->regions;
    while (r && i--)
        r = r->next;
    return r;
}

static clv_status case_from(hlo_scope *s, const mlir_op *op, uint32_t first,
                            const mlir_use *index, uint32_t *outs, clv_err *e);

/* Region i of op, or (`rest`) the case over it and those behind it. */
static clv_status branch_fill(hlo_scope *in, const mlir_op *op, uint32_t i,
                              bool rest, const mlir_use *index, clv_err *e)
{
    uint32_t *outs, n = op->n_results;
    in->op = op;
    if (rest) {
        outs = arena_array(&in->r->mem, n + 1u, sizeof *outs);
        if (!outs)
            return clv__nomem(e);
        CLV_TRY(hlo_place(in, op, e));
        CLV_TRY(case_from(in, op, i, index, outs, e));
    } else {
        CLV_TRY(hlo_walk(in, control_region(op, i), &outs, &n, e));
    }
    if (n != op->n_results)
        return hlo_fail(in, e, "a branch of %u values, not %u", n,
                        op->n_results);
    CLV_TRY(body_results(in, outs, n, e));
    return clv__build_finish(in->g, CLV_BUILT_INFERRED, e);
}

/* An if between region i and what is behind it, or the other way around. */
static clv_status control_if(hlo_scope *s, const mlir_op *op, uint32_t cond,
                             uint32_t yes, uint32_t no, bool rest,
                             const mlir_use *index, uint32_t *outs, clv_err *e)
{
    hlo_scope in[2];
    clv_graph *body[2];
    uint32_t *ins = &cond, n_ins = 1;
    for (uint32_t k = 0; k < 2; k++) {
        clv_status st = body_open(s, &in[k], k ? "else" : "then", &body[k], e);
        if (st == CLV_OK)
            st = branch_fill(&in[k], op, k ? no : yes, k && rest, index, e);
        if (st == CLV_OK)
            st = body_captured(s, &in[k], ins, n_ins, &ins, &n_ins, e);
        hlo_scope_close(&in[k]);
        CLV_TRY(st);
    }
    s->origin =
        mlir_is(op->name, "stablehlo.if") ? "stablehlo.if" : "stablehlo.case";
    s->op = op;
    clv_attr a[2] = {hlo_body(CLV_A_THEN, body[0]),
                     hlo_body(CLV_A_ELSE, body[1])};
    return hlo_emit(s, "", CLV_OP_IF, ins, n_ins, a, 2, outs, op->n_results, e);
}

/* The branch that is known to be taken, in place. */
static clv_status control_taken(hlo_scope *s, const mlir_op *op, uint32_t i,
                                uint32_t *outs, clv_err *e)
{
    uint32_t *results, n;
    CLV_TRY(hlo_inline(s, control_region(op, i), NULL, 0, &results, &n, e));
    s->op = op;
    if (n != op->n_results)
        return hlo_fail(s, e, "a branch of %u values, not %u", n,
                        op->n_results);
    if (n)
        memcpy(outs, results, n * sizeof *outs);
    return CLV_OK;
}

clv_status hlo_map_if(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                      uint32_t *outs, clv_err *e)
{
    uint32_t cond, n;
    (void)row;
    CLV_TRY(hlo_in(s, 0, &cond, e));
    if (op->n_regions != 2)
        return hlo_fail(s, e, "an if of %u branches", op->n_regions);
    const int64_t *known = hlo_known(s, cond, &n);
    if (known && n == 1)
        return control_taken(s, op, known[0] ? 0 : 1, outs, e);
    return control_if(s, op, cond, 0, 1, false, NULL, outs, e);
}

/* The case over branch `first` and those behind it; the last one stands for
 * every other index. */
static clv_status case_from(hlo_scope *s, const mlir_op *op, uint32_t first,
                            const mlir_use *index, uint32_t *outs, clv_err *e)
{
    uint32_t at, number, cond;
    bool rest = first + 2 < op->n_regions;
    CLV_TRY(hlo_find(s, index, &at, e));
    CLV_TRY(hlo_const_int(s, (clv_dtype)hlo_value(s, at)->dtype, first, &number,
                          e));
    CLV_TRY(hlo_binary(s, "is", CLV_OP_EQ, at, number, &cond, e));
    return control_if(s, op, cond, first, first + 1, rest, index, outs, e);
}

clv_status hlo_map_case(hlo_scope *s, const hlo_row *row, const mlir_op *op,
                        uint32_t *outs, clv_err *e)
{
    uint32_t at, n;
    (void)row;
    CLV_TRY(hlo_in(s, 0, &at, e));
    if (op->n_regions == 0)
        return hlo_fail(s, e, "a case without branches");
    const int64_t *known = hlo_known(s, at, &n);
    uint32_t last = op->n_regions - 1;
    if (op->n_regions == 1)
        return control_taken(s, op, 0, outs, e);
    if (known && n == 1)
        return control_taken(
            s, op, known[0] < 0 || known[0] > last ? last : (uint32_t)known[0],
            outs, e);
    return case_from(s, op, 0, &op->ins[0], outs, e);
}

/* -- calls of other kinds -------------------------------------------------*/

/* What a composite is made of stands in a function. */
clv_status hlo_map_composite(hlo_scope *s, const hlo_row *row,
                             const mlir_op *op, uint32_t *outs, clv_err *e)
{
    const mlir_attr *f = mlir_attr_of(op->attrs, "decomposition", NULL);
    uint32_t *ins = arena_array(&s->r->mem, op->n_ins + 1u, sizeof *ins);
    uint32_t *results, n;
    (void)row;
    if (!ins)
        return clv__nomem(e);
    mlir_text callee = f ? f->text : op->callee;
    uint32_t at = strmap_get(&s->r->funcs, callee.s, callee.n);
    if (at == CLV_NONE || s->r->func_list[at]->declared)
        return CLV_OK;
    for (uint32_t i = 0; i < op->n_ins; i++)
        CLV_TRY(hlo_find(s, &op->ins[i], &ins[i], e));
    CLV_TRY(hlo_call(s, callee, ins, op->n_ins, &results, &n, e));
    s->op = op;
    if (n < op->n_results)
        return hlo_fail(s, e, "@%.*s gives %u values, not %u", (int)callee.n,
                        callee.s, n, op->n_results);
    memcpy(outs, results, op->n_results * sizeof *outs);
    return CLV_OK;
}

/* Calls that change nothing, or only check; all others are not known. */
clv_status hlo_map_custom_call(hlo_scope *s, const hlo_row *row,
                               const mlir_op *op, uint32_t *outs, clv_err *e)
{
    static const char *const same[] = {"Sharding",
                                       "SPMDFullToShardShape",
                                       "SPMDShardToFullShape",
                                       "annotate_device_placement",
                                       "xla.sdy.GlobalToLocalShape",
                                       "xla.sdy.LocalToGlobalShape",
                                       "xla.sdy.FuncResultSharding",
                                       "mark_tensor",
                                       "LayoutConstraint"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (mlir_is(op->callee, same[i]) && op->n_ins >= op->n_results)
            return hlo_map_same(s, row, op, outs, e);
    if (mlir_is(op->callee, "mhlo.erf") && op->n_ins == 1) {
        uint32_t x;
        CLV_TRY(hlo_in(s, 0, &x, e));
        return hlo_unary(s, "", CLV_OP_ERF, x, outs, e);
    }
    return CLV_OK;
}
