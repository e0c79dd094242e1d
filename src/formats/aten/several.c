/* several.c - calls of torch that are several nodes here, or another call.
 *
 *   div(x, y, rounding_mode="floor")   floor_divide(x, y)
 *   div(x, y, rounding_mode="trunc")   trunc(div(x, y)) of floats; of integers
 *                                      it is one node
 *   diff(x, prepend, append)           z[1:] - z[:-1] of their cat z
 *
 * Each step is a call of its own. What is between them has types that are
 * worked out here, because torch saw the whole call only. */
#include "formats/aten/row.h"
#include "tensor/dtype.h"

#include <string.h>

enum { SEVERAL_ARGS = 4 };

typedef struct several {
    aten_builder *b;
    const aten_call *call;
    clv_err *e;
    bool done;
} several;

static aten_arg several_tensor(uint32_t v)
{
    return (aten_arg){ATEN_TENSOR, 0, {.value = v}};
}

static aten_arg several_int(int64_t i)
{
    return (aten_arg){ATEN_INT, 0, {.i = i}};
}

/* Makes one call with the results `type`; *out is what it made. */
static clv_status several_step(several *s, const char *target,
                               const aten_arg *args, uint32_t n,
                               const aten_type *type, uint32_t *out)
{
    aten_call one = *s->call;
    one.target = target;
    one.args = args;
    one.n_args = n;
    one.named = NULL;
    one.n_named = 0;
    one.results = type;
    one.n_results = 1;
    one.method = false;
    CLV_TRY(clv__aten_call(s->b, &one, s->e));
    clv_graph *g = s->b->g;
    if (s->b->node != CLV_NONE) {
        const char *from = s->call->target;
        g->nodes[s->b->node].origin =
            arena_strndup(&g->mem, from, strlen(from));
        if (!g->nodes[s->b->node].origin)
            return clv__nomem(s->e);
    }
    if (out)
        *out = s->b->n_made ? s->b->made[0] : CLV_NONE;
    return CLV_OK;
}

/* The value that an argument names; NULL when it is no tensor of known rank. */
static const clv_value *several_value(const several *s, const aten_arg *arg)
{
    if (!arg || arg->kind != ATEN_TENSOR)
        return NULL;
    const clv_value *v = &s->b->g->values[clv__aten_latest(s->b, arg->u.value)];
    return v->rank == CLV_NO_RANK || v->rank > CLV_MAX_RANK ? NULL : v;
}

static bool several_is_whole(const several *s, const aten_arg *arg)
{
    const clv_value *v = several_value(s, arg);
    return arg && (v ? dtype_is_integral((clv_dtype)v->dtype)
                     : arg->kind == ATEN_INT || arg->kind == ATEN_BOOL);
}

/* -- div ------------------------------------------------------------------*/

static clv_status several_div(several *s, bool in_place)
{
    const aten_call *c = s->call;
    const aten_arg *x = clv__aten_arg(c, 0, "input/self");
    const aten_arg *y = clv__aten_arg(c, 1, "other");
    const aten_arg *mode = clv__aten_arg(c, 2, "rounding_mode");
    if (!x || !y || !mode || mode->kind != ATEN_STRING)
        return CLV_OK;
    aten_arg args[2] = {*x, *y};
    const aten_type *type = c->n_results ? c->results : NULL;
    uint32_t v;
    s->done = !strcmp(mode->u.s, "floor");
    if (s->done)
        return several_step(
            s, in_place ? "aten.floor_divide_" : "aten.floor_divide", args, 2,
            type, NULL);
    if (several_is_whole(s, x) && several_is_whole(s, y))
        return CLV_OK;
    s->done = true;
    CLV_TRY(several_step(s, in_place ? "aten.div_" : "aten.div", args, 2, type,
                         &v));
    args[0] = in_place ? *x : several_tensor(v);
    return several_step(s, in_place ? "aten.trunc_" : "aten.trunc", args, 1,
                        type, NULL);
}

/* -- diff -----------------------------------------------------------------*/

/* Puts the tensors of prepend, x and append end to end, where there are
 * several. Sets the type of the whole, whose dims have room. */
static clv_status several_join(several *s, const aten_arg *parts[3],
                               int64_t axis, int64_t *dims, aten_type *type,
                               uint32_t *out)
{
    aten_arg items[3], args[2];
    uint32_t n = 0;
    int64_t len = 0;
    for (int i = 0; i < 3; i++) {
        const clv_value *v = several_value(s, parts[i]);
        if (v) {
            items[n++] = *parts[i];
            len += v->dims[axis];
        }
    }
    dims[axis] = len;
    *out = parts[1]->u.value;
    if (n == 1)
        return CLV_OK;
    args[0] = (aten_arg){ATEN_LIST, n, {.items = items}};
    args[1] = several_int(axis);
    return several_step(s, "aten.cat", args, 2, type, out);
}

/* x without its first or its last along an axis. */
static clv_status several_part(several *s, uint32_t x, int64_t axis, bool last,
                               const aten_type *type, uint32_t *out)
{
    int64_t n = type->dims[axis];
    aten_arg args[SEVERAL_ARGS] = {several_tensor(x), several_int(axis),
                                   several_int(last), several_int(n + last)};
    return several_step(s, "aten.slice", args, SEVERAL_ARGS, type, out);
}

/* Whether a part of a diff has the rank of the whole. */
static bool several_fits(const several *s, const aten_arg *arg, uint32_t rank)
{
    const clv_value *v = several_value(s, arg);
    return !arg || arg->kind == ATEN_NONE || (v && v->rank == rank);
}

static clv_status several_diff(several *s)
{
    const aten_call *c = s->call;
    const aten_arg *parts[3] = {clv__aten_arg(c, 3, "prepend"),
                                clv__aten_arg(c, 0, "input/self"),
                                clv__aten_arg(c, 4, "append")};
    const aten_arg *times = clv__aten_arg(c, 1, "n");
    const aten_arg *along = clv__aten_arg(c, 2, "dim");
    const clv_value *x = several_value(s, parts[1]);
    int64_t dims[CLV_MAX_RANK];
    if (!x || x->rank == 0 || !several_fits(s, parts[0], x->rank) ||
        !several_fits(s, parts[2], x->rank) ||
        (times && (times->kind != ATEN_INT || times->u.i != 1)))
        return CLV_OK;
    int64_t axis = along && along->kind == ATEN_INT ? along->u.i : -1;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank)
        return CLV_OK;
    aten_type type = {(clv_dtype)x->dtype, x->rank, dims};
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    const char *minus = x->dtype == CLV_BOOL ? "aten.logical_xor" : "aten.sub";
    uint32_t all, later, sooner;
    s->done = true;
    CLV_TRY(several_join(s, parts, axis, dims, &type, &all));
    dims[axis] -= dims[axis] > 0;
    CLV_TRY(several_part(s, all, axis, true, &type, &later));
    CLV_TRY(several_part(s, all, axis, false, &type, &sooner));
    aten_arg args[2] = {several_tensor(later), several_tensor(sooner)};
    return several_step(s, minus, args, 2, &type, NULL);
}

clv_status clv__aten_several(aten_builder *b, const aten_call *call, bool *done,
                             clv_err *e)
{
    char plain[32];
    several s = {b, call, e, false};
    clv_status st = CLV_OK;
    clv__aten_plain(call->target, plain, sizeof plain);
    bool in_place = strstr(call->target, "div_") != NULL ||
                    strstr(call->target, "divide_") != NULL;
    if (!strcmp(plain, "diff"))
        st = several_diff(&s);
    else if (!strcmp(plain, "div") || !strcmp(plain, "divide"))
        st = several_div(&s, in_place);
    *done = s.done;
    return st;
}
