/* walk.c - operations one after the other; calls and regions in place.
 *
 * What an operation gives is compared with the type that the text has for it:
 * a difference is an error, but for the element type, which is made to fit. */
#include "formats/stablehlo/hlo.h"

#include "formats/formats.h"

#include <string.h>

const mlir_type *hlo_type(const mlir_op *op, uint32_t i)
{
    const mlir_type *t = op->types;
    while (t && i--)
        t = t->next;
    return t;
}

/* -- results --------------------------------------------------------------*/

static bool walk_matches(const mlir_type *t, const clv_value *v)
{
    if (v->rank == CLV_NO_RANK)
        return true;
    bool same = v->rank == t->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = t->dims[i] < 0 || v->dims[i] < 0 || t->dims[i] == v->dims[i];
    return same;
}

static clv_status walk_check(hlo_scope *s, const mlir_op *op, uint32_t *outs,
                             clv_err *e)
{
    const mlir_type *t = op->types;
    for (uint32_t i = 0; i < op->n_results && t; i++, t = t->next) {
        if (t->kind != MLIR_TENSOR || outs[i] == CLV_NONE)
            continue;
        const clv_value *v = hlo_value(s, outs[i]);
        clv_value told = {.dims = t->dims, .rank = (uint8_t)t->rank};
        char a[256], b[256];
        if (!s->lifted && !walk_matches(t, v))
            return hlo_fail(s, e, "%.*s makes %s, its type says %s",
                            (int)op->name.n, op->name.s,
                            clv__shape_text(v, a, sizeof a),
                            clv__shape_text(&told, b, sizeof b));
        CLV_TRY(hlo_cast(s, outs[i], clv__build_dtype(s->r->opts, t->dtype),
                         &outs[i], e));
    }
    return CLV_OK;
}

/* Names of results: %a, %b:2 */
static clv_status walk_bind(hlo_scope *s, const mlir_op *op,
                            const uint32_t *outs, clv_err *e)
{
    uint32_t at = 0, k = 0;
    for (const mlir_arg *a = op->outs; a; a = a->next, k++) {
        CLV_TRY(hlo_bind(s, a->name, outs + at, op->n_of[k], e));
        at += op->n_of[k];
    }
    return CLV_OK;
}

/* -- unknown operations ---------------------------------------------------*/

clv_status hlo_unknown(hlo_scope *s, const mlir_op *op, uint32_t *outs,
                       clv_err *e)
{
    clv_graph *g = s->g;
    uint32_t *ins = arena_array(&s->r->mem, op->n_ins + 1u, sizeof *ins);
    char *origin = arena_strndup(&g->mem, op->name.s, op->name.n);
    if (origin && mlir_is(op->name, "stablehlo.custom_call"))
        origin = arena_printf(&g->mem, "custom_call.%.*s", (int)op->callee.n,
                              op->callee.s);
    if (!ins || !origin)
        return clv__nomem(e);
    clv__import_scrub(origin, strlen(origin));
    uint32_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < op->n_ins; i++) {
        CLV_TRY(hlo_find(s, &op->ins[i], &ins[n_in], e));
        n_in += ins[n_in] != CLV_NONE;
    }
    for (uint32_t i = 0; i < op->n_results; i++)
        n_out += hlo_type(op, i)->kind != MLIR_TOKEN;
    s->origin = origin;
    char *name = arena_strndup(&g->mem, s->name, strlen(s->name));
    uint32_t id = name ? clv__node_add(g, CLV_OP_UNKNOWN, name, s->at, ins,
                                       n_in, NULL, n_out)
                       : CLV_NONE;
    if (id == CLV_NONE)
        return clv__nomem(e);
    g->nodes[id].origin = origin;
    g->nodes[id].source = s->source;
    for (uint32_t i = 0, k = 0; i < op->n_results; i++) {
        const mlir_type *t = hlo_type(op, i);
        if (t->kind == MLIR_TOKEN) {
            outs[i] = CLV_NONE;
            continue;
        }
        outs[i] = node_outs(g, &g->nodes[id])[k++];
        g->values[outs[i]].dtype = (uint8_t)t->dtype;
        bool open = t->kind != MLIR_TENSOR;
        for (uint32_t d = 0; !open && d < t->rank; d++)
            open = t->dims[d] < 0;
        if (!open && !clv__value_set_shape(g, outs[i], t->rank, t->dims))
            return clv__nomem(e);
    }
    clv_err why = {0};
    clv_status st = clv__infer_node(g, id, &why);
    return st == CLV_OK ? CLV_OK : hlo_fail(s, e, "%s", why.msg);
}

/* -- calls ----------------------------------------------------------------*/

static clv_status walk_args(hlo_scope *in, const hlo_scope *s,
                            const mlir_region *region, const uint32_t *args,
                            uint32_t n_args, clv_err *e)
{
    uint32_t i = 0;
    if (region->n_args != n_args)
        return hlo_fail(s, e, "%u arguments for %u", n_args, region->n_args);
    for (const mlir_arg *a = region->args; a; a = a->next)
        CLV_TRY(hlo_bind(in, a->name, &args[i++], 1, e));
    return CLV_OK;
}

static clv_status walk_inside(hlo_scope *s, hlo_scope *in,
                              const mlir_region *region, const uint32_t *args,
                              uint32_t n_args, uint32_t **outs,
                              uint32_t *n_outs, clv_err *e)
{
    if (in->depth > HLO_MAX_DEPTH)
        return hlo_fail(s, e, "more than %d calls in each other",
                        HLO_MAX_DEPTH);
    CLV_TRY(walk_args(in, s, region, args, n_args, e));
    return hlo_walk(in, region, outs, n_outs, e);
}

clv_status hlo_inline(hlo_scope *s, const mlir_region *region,
                      const uint32_t *args, uint32_t n_args, uint32_t **outs,
                      uint32_t *n_outs, clv_err *e)
{
    hlo_scope in;
    hlo_scope_open(&in, s->r, s->g, s, s);
    clv_status st = walk_inside(s, &in, region, args, n_args, outs, n_outs, e);
    hlo_scope_close(&in);
    return st;
}

clv_status hlo_call(hlo_scope *s, mlir_text callee, const uint32_t *args,
                    uint32_t n_args, uint32_t **outs, uint32_t *n_outs,
                    clv_err *e)
{
    uint32_t f = strmap_get(&s->r->funcs, callee.s, callee.n);
    if (f == CLV_NONE || s->r->func_list[f]->declared)
        return hlo_fail(s, e, "there is no function @%.*s", (int)callee.n,
                        callee.s);
    hlo_scope in;
    hlo_scope_open(&in, s->r, s->g, NULL, s);
    in.path = s->g->scopes[s->at].path;
    clv_status st = walk_inside(s, &in, &s->r->func_list[f]->body, args, n_args,
                                outs, n_outs, e);
    hlo_scope_close(&in);
    return st;
}

/* The operands of op, tokens and all. */
static clv_status walk_operands(hlo_scope *s, const mlir_op *op,
                                uint32_t **values, clv_err *e)
{
    *values = arena_array(&s->r->mem, op->n_ins + 1u, sizeof **values);
    if (!*values)
        return clv__nomem(e);
    for (uint32_t i = 0; i < op->n_ins; i++)
        CLV_TRY(hlo_find(s, &op->ins[i], &(*values)[i], e));
    return CLV_OK;
}

static clv_status walk_call(hlo_scope *s, const mlir_op *op, uint32_t *outs,
                            clv_err *e)
{
    uint32_t *args, *results, n;
    CLV_TRY(walk_operands(s, op, &args, e));
    CLV_TRY(hlo_call(s, op->callee, args, op->n_ins, &results, &n, e));
    s->op = op;
    if (n < op->n_results)
        return hlo_fail(s, e, "@%.*s gives %u values, not %u",
                        (int)op->callee.n, op->callee.s, n, op->n_results);
    memcpy(outs, results, op->n_results * sizeof *outs);
    return CLV_OK;
}

/* -- operations -----------------------------------------------------------*/

static bool walk_is(mlir_text name, const char *word)
{
    return mlir_is(name, word) ||
           (mlir_starts(name, "func.") &&
            mlir_is((mlir_text){name.s + 5, name.n - 5}, word)) ||
           (mlir_starts(name, "stablehlo.") &&
            mlir_is((mlir_text){name.s + 10, name.n - 10}, word)) ||
           (mlir_starts(name, "mhlo.") &&
            mlir_is((mlir_text){name.s + 5, name.n - 5}, word));
}

/* Whether an operand has no shape that is known: what an unknown operation made
 * of open sizes. Nothing can be said of what reads it. */
static clv_status walk_shapeless(hlo_scope *s, const mlir_op *op, bool *is,
                                 clv_err *e)
{
    *is = false;
    for (uint32_t i = 0; i < op->n_ins; i++) {
        uint32_t v;
        CLV_TRY(hlo_find(s, &op->ins[i], &v, e));
        *is |= v != CLV_NONE && hlo_value(s, v)->rank == CLV_NO_RANK;
    }
    return CLV_OK;
}

static clv_status walk_one(hlo_scope *s, const mlir_op *op, clv_err *e)
{
    uint32_t *outs = arena_array(&s->r->mem, op->n_results + 1u, sizeof *outs);
    if (!outs)
        return clv__nomem(e);
    for (uint32_t i = 0; i <= op->n_results; i++)
        outs[i] = CLV_NONE;
    if (s->r->done++ >= HLO_MAX_OPS)
        return hlo_fail(s, e, "more than %d operations with all calls done",
                        HLO_MAX_OPS);
    CLV_TRY(hlo_place(s, op, e));
    if (walk_is(op->name, "call")) {
        CLV_TRY(walk_call(s, op, outs, e));
        return walk_bind(s, op, outs, e);
    }
    const hlo_row *row = hlo_row_of(op->name);
    s->origin = row ? row->origin : NULL;
    if (row && (row->map == hlo_map_tuple || row->map == hlo_map_tuple_element))
        return row->map(s, row, op, outs, e);
    bool shapeless;
    CLV_TRY(walk_shapeless(s, op, &shapeless, e));
    if (shapeless)
        row = NULL;
    if (row)
        CLV_TRY(row->map(s, row, op, outs, e));
    bool token = op->types && op->types->kind == MLIR_TOKEN;
    if (!row ? true : op->n_results && outs[0] == CLV_NONE && !token)
        CLV_TRY(hlo_unknown(s, op, outs, e));
    CLV_TRY(walk_check(s, op, outs, e));
    return walk_bind(s, op, outs, e);
}

clv_status hlo_walk(hlo_scope *s, const mlir_region *region, uint32_t **outs,
                    uint32_t *n_outs, clv_err *e)
{
    for (const mlir_op *op = region->ops; op; op = op->next) {
        if (walk_is(op->name, "return")) {
            s->op = op;
            *n_outs = op->n_ins;
            return walk_operands(s, op, outs, e);
        }
        CLV_TRY(walk_one(s, op, e));
    }
    return hlo_fail(s, e, "a region without a return");
}
