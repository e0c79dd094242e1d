/* untold.c - what the arguments of a call say of its results.
 *
 * Rows of aten.def read some attributes off the result (`>shape`), since torch
 * has seen it: x.view(n, -1) has its shape there. Where nobody has
 * (TorchScript, a checkpoint, an exported program at other sizes) the arguments
 * tell the same with a little arithmetic, and this is it. */
#include "formats/aten/row.h"
#include "formats/torch/weights.h"

#include <math.h>
#include <string.h>

/* The value that argument i is; NULL when it is no tensor of known rank. */
static const clv_value *untold_tensor(const aten_reading *r, uint32_t i)
{
    const aten_arg *a = i < r->call->n_args ? &r->call->args[i] : NULL;
    if (!a || a->kind != ATEN_TENSOR)
        return NULL;
    const clv_value *v = &r->b->g->values[clv__aten_latest(r->b, a->u.value)];
    return v->rank == CLV_NO_RANK ? NULL : v;
}

static bool untold_int(const aten_arg *a, int64_t *out)
{
    *out = a && a->kind == ATEN_INT ? a->u.i : 0;
    return a && a->kind == ATEN_INT;
}

/* Sizes from place i on: a list, or all numbers that follow. -1 for none. */
static int untold_sizes(const aten_call *c, uint32_t i, const char *names,
                        int64_t *out)
{
    const aten_arg *a = clv__aten_arg(c, i, names);
    const aten_arg *items = a;
    uint32_t n = 0;
    if (a && a->kind == ATEN_LIST) {
        items = a->u.items;
        n = a->n;
    } else if (a && a->kind == ATEN_INT && i < c->n_args) {
        while (i + n < c->n_args && c->args[i + n].kind == ATEN_INT)
            n++;
    } else {
        return -1;
    }
    for (uint32_t k = 0; k < n; k++)
        if (k >= CLV_MAX_RANK || !untold_int(&items[k], &out[k]))
            return -1;
    return (int)n;
}

static int untold_copy(const clv_value *v, int64_t *dims)
{
    if (!v)
        return -1;
    if (v->rank)
        memcpy(dims, v->dims, v->rank * sizeof *dims);
    return v->rank;
}

/* -- shapes ---------------------------------------------------------------*/

/* Gives the one size that is -1 what the others leave of x. */
static int untold_solve(const clv_value *x, int n, int64_t *dims)
{
    int64_t known = 1, all = x ? clv__numel(x) : CLV_SAT;
    int open = -1;
    for (int i = 0; i < n; i++)
        if (dims[i] < 0)
            open = i;
        else
            known = sat_mul(known, dims[i]);
    if (open >= 0 && (all == CLV_SAT || known <= 0 || all % known))
        return -1;
    if (open >= 0)
        dims[open] = all / known;
    return n;
}

static int untold_reshape(const aten_reading *r, const char *plain,
                          int64_t *dims)
{
    const clv_value *x = untold_tensor(r, 0);
    if (!strcmp(plain, "view_as") || !strcmp(plain, "reshape_as"))
        return untold_copy(untold_tensor(r, 1), dims);
    if (!strcmp(plain, "ravel")) {
        dims[0] = -1;
        return untold_solve(x, 1, dims);
    }
    int n = untold_copy(x, dims);
    if (!strcmp(plain, "view_as_complex"))
        return n - 1;
    if (!strcmp(plain, "view_as_real") && n >= 0 && n < CLV_MAX_RANK) {
        dims[n] = 2;
        return n + 1;
    }
    if (!strcmp(plain, "real") || !strcmp(plain, "imag"))
        return n;
    n = untold_sizes(r->call, 1, "shape/size", dims);
    return n < 0 ? -1 : untold_solve(x, n, dims);
}

/* A size of -1 is that of x, axes counted from the last. */
static int untold_expand(const aten_reading *r, const char *plain,
                         int64_t *dims)
{
    const clv_value *x = untold_tensor(r, 0);
    if (!strcmp(plain, "expand_as"))
        return untold_copy(untold_tensor(r, 1), dims);
    int n = untold_sizes(r->call, 1, "size", dims);
    for (int i = 0; i < n; i++) {
        int at = x ? i - (n - x->rank) : -1;
        if (dims[i] < 0 && at < 0)
            return -1;
        if (dims[i] < 0)
            dims[i] = x->dims[at];
    }
    return n;
}

/* zeros(2, 3), x.new_zeros([2, 3]), full([2, 3], 0), scalar_tensor(1). */
static int untold_fill(const aten_reading *r, const char *plain, int64_t *dims)
{
    bool number = !strcmp(plain, "tensor") || !strcmp(plain, "scalar_tensor") ||
                  !strcmp(plain, "as_tensor");
    bool late = !strncmp(plain, "new_", 4) || !strcmp(plain, "randint");
    if (number)
        return r->call->n_args && r->call->args[0].kind == ATEN_LIST ? -1 : 0;
    int n = untold_sizes(r->call, late ? 1 : 0, "size", dims);
    if (n < 0 && !strcmp(plain, "randint"))
        n = untold_sizes(r->call, 2, "size", dims);
    return n;
}

static int untold_eye(const aten_reading *r, int64_t *dims)
{
    if (!untold_int(clv__aten_arg(r->call, 0, "n"), &dims[0]))
        return -1;
    if (!untold_int(clv__aten_arg(r->call, 1, "m"), &dims[1]))
        dims[1] = dims[0];
    return 2;
}

static double untold_real(const aten_arg *a, double otherwise)
{
    return a && a->kind == ATEN_FLOAT ? a->u.f
           : a && a->kind == ATEN_INT ? (double)a->u.i
                                      : otherwise;
}

/* The size along one axis: floor(size * scale). */
static int untold_resize(const aten_reading *r, int64_t *dims)
{
    const clv_value *x = untold_tensor(r, 0);
    int n = untold_copy(x, dims);
    int64_t sizes[CLV_MAX_RANK];
    const aten_arg *scale =
        clv__aten_arg(r->call, r->call->n_args, "scale_factor/scale_factors");
    if (n < 3)
        return -1;
    int given = untold_sizes(r->call, 1, "output_size/size", sizes);
    for (int i = 0; given > 0 && i < n - 2; i++)
        dims[i + 2] = sizes[i < given ? i : given - 1];
    for (uint32_t i = 0; given <= 0 && i < r->n_attrs; i++)
        if (r->attrs[i].key == CLV_A_SCALES)
            given = 0;
    if (given > 0)
        return n;
    for (uint32_t i = r->call->n_args; !scale && i-- > 1;)
        if (r->call->args[i].kind == ATEN_LIST && r->call->args[i].n &&
            r->call->args[i].u.items[0].kind == ATEN_FLOAT)
            scale = &r->call->args[i];
    for (uint32_t i = 0; !scale && i < r->call->n_members; i++)
        if (!strcmp(r->call->members[i].name, "scale_factor"))
            scale = &r->call->members[i].value;
    for (int i = 0; scale && i < n - 2; i++) {
        bool list = scale->kind == ATEN_LIST && scale->n;
        const aten_arg *one =
            list ? &scale->u.items[(uint32_t)i < scale->n ? (uint32_t)i
                                                          : scale->n - 1]
                 : scale;
        dims[i + 2] = (int64_t)floor((double)dims[i + 2] * untold_real(one, 1));
    }
    return scale ? n : -1;
}

/* The number of elements in a range. */
static int untold_range(const aten_reading *r, int64_t *dims)
{
    const aten_call *c = r->call;
    uint32_t n = 0;
    while (n < c->n_args &&
           (c->args[n].kind == ATEN_INT || c->args[n].kind == ATEN_FLOAT))
        n++;
    double from = n > 1 ? untold_real(&c->args[0], 0) : 0;
    double to = n ? untold_real(&c->args[n > 1], 0) : 0;
    double step = n > 2 ? untold_real(&c->args[2], 1) : 1;
    double count = ceil((to - from) / step);
    if (n == 0 || !(count >= 0 && count < 9e15))
        return -1;
    dims[0] = (int64_t)count;
    return 1;
}

/* Widths of a recurrent layer's states, by its weights: those of the first
 * layer are (gates * hidden, input) and (gates * hidden, output). */
static int untold_states(const aten_reading *r, uint32_t i, int64_t *dims)
{
    const clv_graph *g = r->b->g;
    const aten_call *c = r->call;
    int64_t gates = r->op == CLV_OP_LSTM ? 4 : r->op == CLV_OP_GRU ? 3 : 1;
    const aten_arg *list = c->n_args > 2 ? &c->args[2] : NULL;
    if (!list || list->kind != ATEN_LIST || list->n < 2 ||
        list->u.items[1].kind != ATEN_TENSOR)
        return -1;
    const clv_value *w = &g->values[list->u.items[1].u.value];
    if (w->rank != 2)
        return -1;
    bool state = r->op == CLV_OP_LSTM && i == 2;
    dims[0] = dims[1] = 1;
    dims[2] = state || r->op != CLV_OP_LSTM ? w->dims[0] / gates : w->dims[1];
    return 3;
}

static int untold_shape(const aten_reading *r, const char *plain, uint32_t i,
                        int64_t *dims)
{
    if (r->op == CLV_OP_LSTM || r->op == CLV_OP_GRU || r->op == CLV_OP_RNN)
        return untold_states(r, i, dims);
    if (i > 0)
        return -1;
    switch (r->op) {
    case CLV_OP_RESHAPE:
        return untold_reshape(r, plain, dims);
    case CLV_OP_EXPAND:
        return untold_expand(r, plain, dims);
    case CLV_OP_ZEROS:
    case CLV_OP_ONES:
    case CLV_OP_FULL:
    case CLV_OP_RANDOM:
        return untold_fill(r, plain, dims);
    case CLV_OP_EYE:
        return untold_eye(r, dims);
    case CLV_OP_INTERPOLATE:
        return untold_resize(r, dims);
    case CLV_OP_RANGE:
        return untold_range(r, dims);
    case CLV_OP_LINSPACE:
        dims[0] = 1;
        return 1;
    default:
        return untold_copy(untold_tensor(r, 0), dims);
    }
}

/* -- types ----------------------------------------------------------------*/

clv_dtype clv__aten_asked(const aten_call *c)
{
    for (uint32_t i = 0; i < c->n_args; i++)
        if (c->args[i].kind == ATEN_DTYPE)
            return (clv_dtype)c->args[i].u.i;
    for (uint32_t i = 0; i < c->n_named; i++)
        if (c->named[i].value.kind == ATEN_DTYPE)
            return (clv_dtype)c->named[i].value.u.i;
    return CLV_NODTYPE;
}

/* The type that a number has as a tensor. */
static clv_dtype untold_of_number(const aten_arg *a)
{
    return !a || a->kind == ATEN_FLOAT ? CLV_FLOAT32
           : a->kind == ATEN_BOOL      ? CLV_BOOL
           : a->kind == ATEN_INT       ? CLV_INT64
                                       : CLV_FLOAT32;
}

static clv_dtype untold_cast(const aten_reading *r, const char *plain)
{
    static const struct {
        const char *name;
        clv_dtype type;
    } names[] = {{"float", CLV_FLOAT32},     {"half", CLV_FLOAT16},
                 {"bfloat16", CLV_BFLOAT16}, {"double", CLV_FLOAT64},
                 {"int", CLV_INT32},         {"long", CLV_INT64},
                 {"bool", CLV_BOOL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(plain, names[i].name))
            return names[i].type;
    const clv_value *x = untold_tensor(r, 0), *other = untold_tensor(r, 1);
    int64_t code;
    for (uint32_t i = 1; i < r->call->n_args && i < 3; i++)
        if (untold_int(&r->call->args[i], &code))
            return clv__torch_dtype(code);
    return other ? (clv_dtype)other->dtype
           : x   ? (clv_dtype)x->dtype
                 : CLV_FLOAT32;
}

static clv_dtype untold_dtype(const aten_reading *r, const char *plain)
{
    const aten_call *c = r->call;
    clv_dtype asked = clv__aten_asked(c);
    const clv_value *x = untold_tensor(r, 0);
    bool whole = true;
    if (asked != CLV_NODTYPE)
        return asked;
    if (r->op == CLV_OP_CAST)
        return untold_cast(r, plain);
    if (x)
        return (clv_dtype)x->dtype;
    if (r->op == CLV_OP_FULL)
        return untold_of_number(clv__aten_arg(c, !strcmp(plain, "full") ? 1 : 0,
                                              "fill_value/s/data"));
    for (uint32_t i = 0; i < c->n_args; i++)
        whole = whole && c->args[i].kind != ATEN_FLOAT;
    return r->op == CLV_OP_RANGE && whole ? CLV_INT64 : CLV_FLOAT32;
}

/* -- entry ----------------------------------------------------------------*/

aten_type clv__aten_untold(const aten_reading *r, const char *plain, uint32_t i,
                           int64_t *dims)
{
    aten_type t = {.rank = CLV_NO_RANK, .dims = dims};
    bool wanted = r->row && r->row->asks_result;
    int n = wanted ? untold_shape(r, plain, i, dims) : -1;
    for (int k = 0; k < n; k++)
        if (dims[k] < 0)
            return t;
    if (n < 0)
        return t;
    t.rank = (uint32_t)n;
    t.dtype = untold_dtype(r, plain);
    return t;
}

/* -- how many -------------------------------------------------------------*/

static const clv_attr *untold_attr(const aten_reading *r, clv_attr_key key)
{
    for (uint32_t i = 0; i < r->n_attrs; i++)
        if (r->attrs[i].key == key)
            return &r->attrs[i];
    return NULL;
}

uint32_t clv__aten_count(const aten_reading *r)
{
    enum { MOST = 1 << 16 };
    const clv_attr *s = untold_attr(r, CLV_A_SECTIONS);
    const clv_attr *a = untold_attr(r, CLV_A_AXIS);
    const clv_value *x =
        r->n_ins && r->ins[0] != CLV_NONE ? &r->b->g->values[r->ins[0]] : NULL;
    if (r->op == CLV_OP_MESHGRID)
        return r->n_ins;
    bool parts = r->op == CLV_OP_CHUNK || r->op == CLV_OP_SPLIT;
    if ((!parts && r->op != CLV_OP_UNBIND) || !x || x->rank == CLV_NO_RANK)
        return 0;
    if (s && s->type == CLV_ATTR_INTS)
        return s->n;
    int64_t axis = a ? a->u.i : 0, n = s ? s->u.i : 1;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank || n < 1)
        return 0;
    int64_t size = x->dims[axis], each = n;
    if (r->op == CLV_OP_CHUNK)
        each = (size + n - 1) / n;
    int64_t count =
        r->op == CLV_OP_UNBIND || each == 0 ? size : (size + each - 1) / each;
    return count > 0 && count < MOST ? (uint32_t)count : 0;
}
