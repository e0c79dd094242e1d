/* builtin.c - functions of torch on numbers, texts and lists, which are
 * computed; and on tensors, which become nodes. */
#include "formats/torchscript/script.h"

#include <math.h>
#include <string.h>

typedef struct builtin_call {
    ts_machine *m;
    const char *name;
    ts_val *args;
    uint32_t n;
    const char *const *names;
    uint32_t results;
    ts_val *out;
    clv_err *e;
} builtin_call;

static const clv_value *builtin_tensor(const builtin_call *c, uint32_t i)
{
    if (i >= c->n || c->args[i].kind != TS_V_TENSOR)
        return NULL;
    aten_builder *b = &c->m->b;
    return &b->g->values[clv__aten_latest(b, c->args[i].u.value)];
}

static bool builtin_is_list(const ts_val *v)
{
    return v->kind == TS_V_LIST || v->kind == TS_V_TUPLE;
}

/* Whether no argument is a tensor, however deep. */
static bool builtin_plain(const ts_val *v, uint32_t n, int depth)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].kind == TS_V_TENSOR)
            return false;
        if (builtin_is_list(&v[i]) && depth < 8 &&
            !builtin_plain(v[i].u.items->v, v[i].u.items->n, depth + 1))
            return false;
    }
    return true;
}

/* -- sizes ----------------------------------------------------------------*/

static clv_status builtin_unshaped(const builtin_call *c)
{
    return ts_fail(c->m, CLV_UNSUPPORTED, c->e,
                   "the shape of a tensor is not known here");
}

static clv_status builtin_size(builtin_call *c)
{
    const clv_value *x = builtin_tensor(c, 0);
    int64_t axis;
    if (!x || x->rank == CLV_NO_RANK)
        return builtin_unshaped(c);
    if (c->n > 1 && ts_as_int(&c->args[1], &axis)) {
        axis += axis < 0 ? x->rank : 0;
        if (axis < 0 || axis >= x->rank)
            return ts_fail(c->m, CLV_SHAPE, c->e, "axis %lld of %u",
                           (long long)axis, x->rank);
        *c->out = ts_int(x->dims[axis]);
        return CLV_OK;
    }
    CLV_TRY(ts_new_items(c->m, TS_V_LIST, c->out, c->e));
    for (uint32_t i = 0; i < x->rank; i++)
        CLV_TRY(ts_append(c->m, c->out->u.items, ts_int(x->dims[i]), c->e));
    return CLV_OK;
}

/* Questions about a tensor that its type and shape answer. */
static clv_status builtin_ask(builtin_call *c, bool *known)
{
    const clv_value *x = builtin_tensor(c, 0);
    const char *name = c->name;
    *known = true;
    if (!strcmp(name, "size") || !strcmp(name, "shape"))
        return builtin_size(c);
    bool sized =
        !strcmp(name, "dim") || !strcmp(name, "numel") || !strcmp(name, "len");
    if (sized && x && x->rank == CLV_NO_RANK)
        return builtin_unshaped(c);
    if (!strcmp(name, "dim") && x)
        *c->out = ts_int(x->rank);
    else if (!strcmp(name, "numel") && x)
        *c->out = ts_int(clv__numel(x));
    else if (!strcmp(name, "len") && x)
        *c->out = ts_int(x->rank ? x->dims[0] : 0);
    else if (!strcmp(name, "dtype") && x) {
        int64_t code = -1;
        for (int64_t i = 0; i < 64 && code < 0; i++)
            if (clv__torch_dtype(i) == x->dtype)
                code = i;
        *c->out = ts_int(code);
    } else if (!strcmp(name, "is_floating_point") && x)
        *c->out = ts_bool(x->dtype == CLV_FLOAT32 || x->dtype == CLV_FLOAT16 ||
                          x->dtype == CLV_BFLOAT16 || x->dtype == CLV_FLOAT64);
    else if (!strcmp(name, "is_cuda") || !strcmp(name, "is_mkldnn") ||
             !strcmp(name, "is_sparse") || !strcmp(name, "is_quantized") ||
             !strcmp(name, "is_nested") || !strcmp(name, "is_meta") ||
             !strcmp(name, "is_xpu") || !strcmp(name, "is_mps") ||
             !strcmp(name, "requires_grad") ||
             !strcmp(name, "is_grad_enabled") ||
             !strcmp(name, "is_autocast_enabled") ||
             !strcmp(name, "is_scripting") || !strcmp(name, "is_tracing"))
        *c->out = ts_bool(!strcmp(name, "is_scripting"));
    else if (!strcmp(name, "device") || !strcmp(name, "layout"))
        c->out->kind = TS_V_OTHER;
    else
        *known = false;
    return CLV_OK;
}

/* -- numbers --------------------------------------------------------------*/

static int64_t builtin_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

static clv_status builtin_whole(builtin_call *c, int64_t a, int64_t b,
                                bool *known)
{
    const char *name = c->name;
    int64_t r = 0;
    bool divides = !strcmp(name, "floordiv") || !strcmp(name, "floor_divide") ||
                   !strcmp(name, "remainder");
    if (divides && b == 0)
        return ts_fail(c->m, CLV_FORMAT, c->e, "a division by zero");
    if (!strcmp(name, "add"))
        *known = !__builtin_add_overflow(a, b, &r);
    else if (!strcmp(name, "sub"))
        *known = !__builtin_sub_overflow(a, b, &r);
    else if (!strcmp(name, "rsub"))
        *known = !__builtin_sub_overflow(b, a, &r);
    else if (!strcmp(name, "mul"))
        *known = !__builtin_mul_overflow(a, b, &r);
    else if (!strcmp(name, "floordiv") || !strcmp(name, "floor_divide"))
        r = b == -1 ? -a : builtin_floor_div(a, b);
    else if (!strcmp(name, "remainder"))
        r = b == -1 ? 0 : a - builtin_floor_div(a, b) * b;
    else if (!strcmp(name, "max"))
        r = a > b ? a : b;
    else if (!strcmp(name, "min"))
        r = a < b ? a : b;
    else
        *known = false;
    if (*known)
        *c->out = ts_int(r);
    return CLV_OK;
}

static void builtin_real(builtin_call *c, double a, double b, bool *known)
{
    const char *name = c->name;
    double r = 0;
    if (!strcmp(name, "add"))
        r = a + b;
    else if (!strcmp(name, "sub"))
        r = a - b;
    else if (!strcmp(name, "rsub"))
        r = b - a;
    else if (!strcmp(name, "mul"))
        r = a * b;
    else if (!strcmp(name, "div"))
        r = a / b;
    else if (!strcmp(name, "floordiv") || !strcmp(name, "floor_divide"))
        r = floor(a / b);
    else if (!strcmp(name, "remainder"))
        r = a - floor(a / b) * b;
    else if (!strcmp(name, "pow"))
        r = pow(a, b);
    else if (!strcmp(name, "max"))
        r = a > b ? a : b;
    else if (!strcmp(name, "min"))
        r = a < b ? a : b;
    else
        *known = false;
    if (*known)
        *c->out = ts_float(r);
}

static void builtin_compare(builtin_call *c, double a, double b, bool *known)
{
    const char *name = c->name;
    bool r = false;
    if (!strcmp(name, "lt"))
        r = a < b;
    else if (!strcmp(name, "le"))
        r = a <= b;
    else if (!strcmp(name, "gt"))
        r = a > b;
    else if (!strcmp(name, "ge"))
        r = a >= b;
    else
        *known = false;
    if (*known)
        *c->out = ts_bool(r);
}

/* Arithmetic on two numbers. */
static clv_status builtin_arithmetic(builtin_call *c, bool *known)
{
    double a, b;
    int64_t i, k;
    bool tensor = c->args[0].number || c->args[1].number;
    *known = ts_as_number(&c->args[0], &a) && ts_as_number(&c->args[1], &b);
    if (!*known)
        return CLV_OK;
    builtin_compare(c, a, b, known);
    if (*known)
        return CLV_OK;
    *known = true;
    bool whole = ts_as_int(&c->args[0], &i) && ts_as_int(&c->args[1], &k) &&
                 strcmp(c->name, "div") && strcmp(c->name, "pow");
    if (whole)
        CLV_TRY(builtin_whole(c, i, k, known));
    else
        builtin_real(c, a, b, known);
    if (!strcmp(c->name, "pow") && ts_as_int(&c->args[0], &i) &&
        ts_as_int(&c->args[1], &k) && k >= 0)
        *c->out = ts_int((int64_t)c->out->u.f);
    c->out->number = tensor;
    return CLV_OK;
}

/* torch.clamp of a number; either limit may be None. */
static void builtin_clamp(builtin_call *c, bool *known)
{
    double x, limit;
    *known = ts_as_number(&c->args[0], &x);
    *c->out = c->args[0];
    for (uint32_t i = 1; *known && i < c->n && i < 3; i++) {
        if (c->args[i].kind == TS_V_NONE)
            continue;
        *known = ts_as_number(&c->args[i], &limit) && ts_as_number(c->out, &x);
        if (i == 1 ? x < limit : x > limit)
            *c->out = c->args[i];
    }
    c->out->number = c->args[0].number;
}

/* Functions of one number. */
static void builtin_one(builtin_call *c, bool *known)
{
    const char *name = c->name;
    int64_t i;
    double a;
    bool whole = ts_as_int(&c->args[0], &i);
    bool tensor = c->args[0].number;
    *known = ts_as_number(&c->args[0], &a);
    if (!*known)
        return;
    if (!strcmp(name, "neg"))
        *c->out = whole ? ts_int(-i) : ts_float(-a);
    else if (!strcmp(name, "int") || !strcmp(name, "Int") ||
             !strcmp(name, "IntImplicit") || !strcmp(name, "trunc"))
        *c->out = ts_int(whole ? i : (int64_t)a);
    else if (!strcmp(name, "float") || !strcmp(name, "Float") ||
             !strcmp(name, "FloatImplicit"))
        *c->out = ts_float(a);
    else if (!strcmp(name, "bool") || !strcmp(name, "Bool"))
        *c->out = ts_bool(a < 0 || a > 0);
    else if (!strcmp(name, "ceil"))
        *c->out = ts_int((int64_t)ceil(a));
    else if (!strcmp(name, "floor"))
        *c->out = ts_int((int64_t)floor(a));
    else if (!strcmp(name, "round"))
        *c->out = whole ? ts_int(i) : ts_float(nearbyint(a));
    else if (!strcmp(name, "sqrt"))
        *c->out = ts_float(sqrt(a));
    else if (!strcmp(name, "exp"))
        *c->out = ts_float(exp(a));
    else if (!strcmp(name, "log"))
        *c->out = ts_float(log(a));
    else if (!strcmp(name, "abs"))
        *c->out = whole ? ts_int(i < 0 ? -i : i) : ts_float(fabs(a));
    else if (!strcmp(name, "NumToTensor") || !strcmp(name, "tensor") ||
             !strcmp(name, "ScalarImplicit") || !strcmp(name, "item") ||
             !strcmp(name, "detach") || !strcmp(name, "to") ||
             !strcmp(name, "scalar_tensor") || !strcmp(name, "as_tensor") ||
             !strcmp(name, "range")) {
        *c->out = c->args[0];
        tensor = strcmp(name, "item") && strcmp(name, "ScalarImplicit") &&
                 strcmp(name, "range");
        c->out->number = tensor;
        return;
    } else
        *known = false;
    if (*known && strcmp(name, "neg") && strcmp(name, "floor") &&
        strcmp(name, "ceil"))
        tensor = false;
    c->out->number = tensor && *known;
}

/* -- lists and texts ------------------------------------------------------*/

static clv_status builtin_join(builtin_call *c)
{
    CLV_TRY(ts_new_items(c->m, TS_V_LIST, c->out, c->e));
    for (uint32_t a = 0; a < 2; a++)
        for (uint32_t i = 0; i < c->args[a].u.items->n; i++)
            CLV_TRY(ts_append(c->m, c->out->u.items, c->args[a].u.items->v[i],
                              c->e));
    return CLV_OK;
}

static clv_status builtin_repeat(builtin_call *c, int64_t times)
{
    const ts_items *from = c->args[0].u.items;
    CLV_TRY(ts_new_items(c->m, TS_V_LIST, c->out, c->e));
    for (int64_t k = 0; k < times; k++)
        for (uint32_t i = 0; i < from->n; i++) {
            if (c->m->steps == 0)
                return ts_fail(c->m, CLV_UNSUPPORTED, c->e, "a list too long");
            c->m->steps--;
            CLV_TRY(ts_append(c->m, c->out->u.items, from->v[i], c->e));
        }
    return CLV_OK;
}

static int64_t builtin_bound(const builtin_call *c, uint32_t i,
                             int64_t otherwise, int64_t n)
{
    int64_t at;
    if (i >= c->n || !ts_as_int(&c->args[i], &at))
        at = otherwise;
    at += at < 0 ? n : 0;
    return at < 0 ? 0 : at > n ? n : at;
}

static clv_status builtin_slice(builtin_call *c)
{
    const ts_items *from = c->args[0].u.items;
    int64_t start = builtin_bound(c, 1, 0, from->n), step = 1;
    int64_t end = builtin_bound(c, 2, from->n, from->n);
    if (c->n > 3)
        ts_as_int(&c->args[3], &step);
    CLV_TRY(ts_new_items(c->m, TS_V_LIST, c->out, c->e));
    for (int64_t i = start; step > 0 && i < end; i += step)
        CLV_TRY(ts_append(c->m, c->out->u.items, from->v[i], c->e));
    return CLV_OK;
}

static clv_status builtin_sum(builtin_call *c, bool *known)
{
    const ts_items *from = c->args[0].u.items;
    double all = 0, x;
    bool whole = true;
    for (uint32_t i = 0; *known && i < from->n; i++) {
        *known = ts_as_number(&from->v[i], &x);
        whole = whole && from->v[i].kind != TS_V_FLOAT;
        all += x;
    }
    *c->out = whole ? ts_int((int64_t)all) : ts_float(all);
    return CLV_OK;
}

/* prim.max and prim.min of a list. */
static void builtin_extreme(builtin_call *c, bool *known)
{
    const ts_items *from = c->args[0].u.items;
    bool most = !strcmp(c->name, "max");
    *known = from->n > 0;
    for (uint32_t i = 0; *known && i < from->n; i++) {
        double a, b = 0;
        *known = ts_as_number(&from->v[i], &a) &&
                 (i == 0 || ts_as_number(c->out, &b));
        if (i == 0 || (most ? a > b : a < b))
            *c->out = from->v[i];
    }
}

/* Whether all, or any, of a list hold. */
static void builtin_hold(builtin_call *c)
{
    const ts_items *from = c->args[0].u.items;
    bool all = !strcmp(c->name, "all"), yes = all, told;
    for (uint32_t i = 0; i < from->n; i++)
        if (ts_truth(c->m, &from->v[i], &told) != all)
            yes = !all;
    *c->out = ts_bool(yes);
}

static clv_status builtin_list(builtin_call *c, bool *known)
{
    ts_items *list = c->args[0].u.items;
    const char *name = c->name;
    int64_t i;
    bool two = c->n > 1;
    *known = true;
    if (!strcmp(name, "len"))
        *c->out = ts_int(list->n);
    else if (!strcmp(name, "all") || !strcmp(name, "any"))
        builtin_hold(c);
    else if (!strcmp(name, "append") && two)
        return ts_append(c->m, list, c->args[1], c->e);
    else if ((!strcmp(name, "add") || !strcmp(name, "extend") ||
              !strcmp(name, "add_")) &&
             two && builtin_is_list(&c->args[1])) {
        CLV_TRY(builtin_join(c));
        if (strcmp(name, "add"))
            *list = *c->out->u.items;
    } else if (!strcmp(name, "mul") && two && ts_as_int(&c->args[1], &i))
        return builtin_repeat(c, i);
    else if (!strcmp(name, "slice"))
        return builtin_slice(c);
    else if (!strcmp(name, "copy") || !strcmp(name, "list") ||
             !strcmp(name, "tuple")) {
        c->n = 1;
        return builtin_slice(c);
    } else if (!strcmp(name, "sum"))
        return builtin_sum(c, known);
    else if ((!strcmp(name, "max") || !strcmp(name, "min")) && !two)
        builtin_extreme(c, known);
    else if (!strcmp(name, "select") || !strcmp(name, "__getitem__")) {
        i = -1;
        *known = two && ts_as_int(&c->args[1], &i);
        i += i < 0 ? list->n : 0;
        *known = *known && i >= 0 && i < list->n;
        if (*known)
            *c->out = list->v[i];
    } else if (!strcmp(name, "_set_item") && c->n == 3 &&
               ts_as_int(&c->args[1], &i)) {
        i += i < 0 ? list->n : 0;
        *known = i >= 0 && i < list->n;
        if (*known)
            list->v[i] = c->args[2];
    } else if (!strcmp(name, "reverse")) {
        for (uint32_t k = 0; k < list->n / 2; k++) {
            ts_val v = list->v[k];
            list->v[k] = list->v[list->n - 1 - k];
            list->v[list->n - 1 - k] = v;
        }
    } else if (!strcmp(name, "pop") && list->n)
        *c->out = list->v[--list->n];
    else
        *known = false;
    return CLV_OK;
}

/* Values that are dicts. */
static clv_status builtin_dict(builtin_call *c, bool *known)
{
    ts_items *d = c->args[0].u.items;
    *known = true;
    bool keys = !strcmp(c->name, "keys"), values = !strcmp(c->name, "values");
    if (!strcmp(c->name, "_set_item") && c->n == 3) {
        for (uint32_t i = 0; i + 1 < d->n; i += 2)
            if (ts_same(&d->v[i], &c->args[1])) {
                d->v[i + 1] = c->args[2];
                return CLV_OK;
            }
        CLV_TRY(ts_append(c->m, d, c->args[1], c->e));
        return ts_append(c->m, d, c->args[2], c->e);
    }
    if (keys || values) {
        CLV_TRY(ts_new_items(c->m, TS_V_LIST, c->out, c->e));
        for (uint32_t i = 0; i + 1 < d->n; i += 2)
            CLV_TRY(ts_append(c->m, c->out->u.items, d->v[i + values], c->e));
        return CLV_OK;
    }
    if (!strcmp(c->name, "len"))
        *c->out = ts_int(d->n / 2);
    else if (!strcmp(c->name, "__contains__") && c->n == 2) {
        *c->out = ts_bool(false);
        for (uint32_t i = 0; i + 1 < d->n; i += 2)
            if (ts_same(&d->v[i], &c->args[1]))
                *c->out = ts_bool(true);
    } else
        *known = false;
    return CLV_OK;
}

/* -- what holds for all values --------------------------------------------*/

static clv_status builtin_any(builtin_call *c, bool *known)
{
    const char *name = c->name;
    bool told = true;
    *known = true;
    if (!strcmp(name, "__is__") && c->n == 2)
        *c->out = ts_bool(ts_same(&c->args[0], &c->args[1]));
    else if (!strcmp(name, "__isnot__") && c->n == 2)
        *c->out = ts_bool(!ts_same(&c->args[0], &c->args[1]));
    else if (!strcmp(name, "__not__") && c->n == 1) {
        *c->out = ts_bool(!ts_truth(c->m, &c->args[0], &told));
        if (!told)
            return ts_fail(c->m, CLV_UNSUPPORTED, c->e,
                           "a condition that depends on the data");
    } else if (!strcmp(name, "dict") && c->n == 0)
        return ts_new_items(c->m, TS_V_DICT, c->out, c->e);
    else if (!strcmp(name, "len") && c->n == 1 && c->args[0].kind == TS_V_STR)
        *c->out = ts_int((int64_t)strlen(c->args[0].u.s));
    else if (!strcmp(name, "type") && c->n == 1 &&
             c->args[0].kind == TS_V_OTHER) /* of a device */
        *c->out = ts_str("cpu");
    else if (!strcmp(name, "RaiseException"))
        return ts_fail(c->m, CLV_SHAPE, c->e, "the model raises: %.120s",
                       c->n && c->args[0].kind == TS_V_STR ? c->args[0].u.s
                                                           : "an exception");
    else if (!strcmp(name, "warn") || !strcmp(name, "Print") ||
             !strcmp(name, "format") || !strcmp(name, "str") ||
             !strcmp(name, "_record_function_enter"))
        *c->out = ts_str("");
    else if (!strcmp(name, "unchecked_unwrap_optional") ||
             !strcmp(name, "_unwrap_optional") || !strcmp(name, "data") ||
             !strcmp(name, "unchecked_cast"))
        *c->out = c->n ? c->args[0] : ts_none();
    else
        *known = false;
    return CLV_OK;
}

static clv_status builtin_contains(builtin_call *c)
{
    *c->out = ts_bool(false);
    for (uint32_t i = 0; i < c->args[0].u.items->n; i++)
        if (ts_same(&c->args[0].u.items->v[i], &c->args[1]))
            *c->out = ts_bool(true);
    return CLV_OK;
}

/* Where some argument is a number that tracing made of a size, tensors without
 * axes that are known become numbers too. */
static clv_status builtin_unwrap(builtin_call *c)
{
    bool sized = false, all = c->n > 0;
    for (uint32_t i = 0; i < c->n; i++)
        sized |= c->args[i].number;
    if (!sized || builtin_plain(c->args, c->n, 0))
        return CLV_OK;
    ts_val *own = arena_array(&c->m->mem, c->n, sizeof *own);
    if (!own)
        return clv__nomem(c->e);
    memcpy(own, c->args, c->n * sizeof *own);
    for (uint32_t i = 0; i < c->n; i++)
        if (own[i].kind == TS_V_TENSOR)
            all = all && ts_to_number(c->m, &own[i]);
    if (all)
        c->args = own;
    return CLV_OK;
}

/* All that is computed at once. */
static clv_status builtin_computed(builtin_call *c, bool *known)
{
    CLV_TRY(builtin_unwrap(c));
    CLV_TRY(builtin_any(c, known));
    if (!*known)
        CLV_TRY(builtin_ask(c, known));
    if (*known || !c->n)
        return CLV_OK;
    if (c->args[0].kind == TS_V_DICT)
        return builtin_dict(c, known);
    if (!strcmp(c->name, "__contains__") && c->n == 2 &&
        builtin_is_list(&c->args[0])) {
        *known = true;
        return builtin_contains(c);
    }
    bool same = !strcmp(c->name, "eq") || !strcmp(c->name, "ne");
    bool both = same && c->n == 2 && builtin_plain(c->args, 2, 0);
    if (both) {
        *known = true;
        *c->out = ts_bool(ts_same(&c->args[0], &c->args[1]) ==
                          !strcmp(c->name, "eq"));
        return CLV_OK;
    }
    if (builtin_is_list(&c->args[0])) {
        bool mutates =
            !strcmp(c->name, "append") || !strcmp(c->name, "extend") ||
            !strcmp(c->name, "len") || !strcmp(c->name, "_set_item") ||
            !strcmp(c->name, "slice") || !strcmp(c->name, "add") ||
            !strcmp(c->name, "add_") || !strcmp(c->name, "copy") ||
            !strcmp(c->name, "list") || !strcmp(c->name, "reverse") ||
            !strcmp(c->name, "pop") || !strcmp(c->name, "mul") ||
            !strcmp(c->name, "__getitem__");
        if (mutates || builtin_plain(c->args, c->n, 0))
            return builtin_list(c, known);
        return CLV_OK;
    }
    if (!builtin_plain(c->args, c->n, 0))
        return CLV_OK;
    if (!strcmp(c->name, "clamp"))
        builtin_clamp(c, known);
    else if (c->n >= 2)
        CLV_TRY(builtin_arithmetic(c, known));
    if (!*known)
        builtin_one(c, known);
    if (!*known &&
        (!strcmp(c->name, "__and__") || !strcmp(c->name, "__or__")) &&
        c->n == 2) {
        bool told, a = ts_truth(c->m, &c->args[0], &told),
                   b = ts_truth(c->m, &c->args[1], &told);
        *c->out = ts_bool(c->name[2] == 'a' ? a && b : a || b);
        *known = true;
    }
    return CLV_OK;
}

/* -- operators ------------------------------------------------------------*/

static clv_status builtin_arg(builtin_call *c, const ts_val *v, int depth,
                              aten_arg *out)
{
    *out = (aten_arg){.kind = ATEN_OTHER};
    switch (v->kind) {
    case TS_V_NONE:
        out->kind = ATEN_NONE;
        break;
    case TS_V_BOOL:
        *out = (aten_arg){ATEN_BOOL, 0, {.b = v->u.b}};
        break;
    case TS_V_INT:
        *out = (aten_arg){ATEN_INT, 0, {.i = v->u.i}};
        break;
    case TS_V_FLOAT:
        *out = (aten_arg){ATEN_FLOAT, 0, {.f = v->u.f}};
        break;
    case TS_V_STR:
        *out = (aten_arg){ATEN_STRING, 0, {.s = v->u.s}};
        break;
    case TS_V_TENSOR:
        *out = (aten_arg){ATEN_TENSOR, 0, {.value = v->u.value}};
        break;
    case TS_V_LIST:
    case TS_V_TUPLE: {
        aten_arg *items =
            arena_array(&c->m->mem, v->u.items->n + 1u, sizeof *items);
        if (!items)
            return clv__nomem(c->e);
        for (uint32_t i = 0; i < v->u.items->n && depth < 8; i++)
            CLV_TRY(builtin_arg(c, &v->u.items->v[i], depth + 1, &items[i]));
        *out = (aten_arg){ATEN_LIST, v->u.items->n, {.items = items}};
        break;
    }
    default:
        break;
    }
    return CLV_OK;
}

/* Operators that give several tensors when called so. */
static uint32_t builtin_results(const builtin_call *c)
{
    static const struct {
        const char *name;
        uint32_t n, args; /* results; arguments from which on it has them */
    } several[] = {{"max", 2, 2},
                   {"min", 2, 2},
                   {"topk", 2, 1},
                   {"sort", 2, 1},
                   {"median", 2, 2},
                   {"kthvalue", 2, 1},
                   {"cummax", 2, 1},
                   {"cummin", 2, 1},
                   {"lstm", 3, 1},
                   {"gru", 2, 1},
                   {"rnn_tanh", 2, 1},
                   {"rnn_relu", 2, 1},
                   {"std_mean", 2, 1},
                   {"var_mean", 2, 1},
                   {"max_pool2d_with_indices", 2, 1},
                   {"native_layer_norm", 3, 1}};
    if (c->results > 1)
        return c->results;
    bool pair = c->n > 1 && c->args[1].kind == TS_V_TENSOR;
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        if (!strcmp(several[i].name, c->name) && c->n >= several[i].args &&
            !pair)
            return several[i].n;
    return 1;
}

static clv_status builtin_made(builtin_call *c, bool list)
{
    const aten_builder *b = &c->m->b;
    if (b->n_made == 1 && !list) {
        *c->out = ts_tensor(b->made[0]);
        return CLV_OK;
    }
    CLV_TRY(ts_new_items(c->m, TS_V_LIST, c->out, c->e));
    for (uint32_t i = 0; i < b->n_made; i++)
        CLV_TRY(ts_append(c->m, c->out->u.items, ts_tensor(b->made[i]), c->e));
    return CLV_OK;
}

static bool builtin_gives_list(const char *name)
{
    static const char *const names[] = {"chunk",    "split",
                                        "unbind",   "split_with_sizes",
                                        "meshgrid", "tensor_split"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* A keyword that names a type holds torch's number of it. */
static void builtin_name_dtype(aten_named *a)
{
    if (!strcmp(a->name, "dtype") && a->value.kind == ATEN_INT)
        a->value =
            (aten_arg){ATEN_DTYPE, 0, {.i = clv__torch_dtype(a->value.u.i)}};
}

static clv_status builtin_node(builtin_call *c)
{
    enum { MOST = 64 };
    aten_arg args[MOST];
    aten_named named[MOST];
    aten_call call = {.args = args, .named = named};
    for (uint32_t i = 0; i < c->n; i++) {
        aten_arg a;
        CLV_TRY(builtin_arg(c, &c->args[i], 0, &a));
        if (c->names && c->names[i]) {
            named[call.n_named] = (aten_named){c->names[i], a};
            builtin_name_dtype(&named[call.n_named++]);
        } else {
            args[call.n_args++] = a;
        }
    }
    const char *name = c->name;
    if (!strcmp(name, "copy_") && call.n_args >= 2 &&
        args[1].kind != ATEN_TENSOR) {
        name = "fill_"; /* a number is copied to every element */
        call.n_args = 2;
    }
    bool whole = (!strcmp(name, "var") || !strcmp(name, "std")) &&
                 call.n_args == 2 && args[1].kind == ATEN_BOOL;
    char *target =
        arena_printf(&c->m->mem, "aten.%s%s", name, whole ? ".default" : "");
    if (!target)
        return clv__nomem(c->e);
    call.target = target;
    call.name = name;
    call.path = c->m->path;
    call.cls = c->m->cls;
    call.n_results = builtin_results(c);
    /* its weights are no tensor where a row of ours says that it runs */
    call.others_used =
        call.n_results > 1 && strcmp(name, "_native_multi_head_attention") != 0;
    bool list = builtin_gives_list(name);
    if (list)
        call.n_results = c->results;
    clv_status s = clv__aten_call(&c->m->b, &call, c->e);
    if (s != CLV_OK) {
        clv__err_prefix(c->e, "%s, line %u", c->m->where ? c->m->where : "code",
                        c->m->line);
        return s;
    }
    return builtin_made(c, list);
}

clv_status ts_builtin(ts_machine *m, const char *name, ts_val *args, uint32_t n,
                      const char *const *names, uint32_t results, ts_val *out,
                      clv_err *e)
{
    const char *dot = strrchr(name, '.');
    builtin_call c = {.m = m,
                      .name = dot ? dot + 1 : name,
                      .args = args,
                      .n = n,
                      .names = names,
                      .results = results,
                      .out = out,
                      .e = e};
    bool known = false;
    *out = ts_none();
    CLV_TRY(builtin_computed(&c, &known));
    if (!known)
        CLV_TRY(ts_fused(m, c.name, args, n, &known, out, e));
    return known ? CLV_OK : builtin_node(&c);
}
