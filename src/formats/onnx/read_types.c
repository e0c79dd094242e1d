/* read_types.c - ValueInfoProto: types, shapes and symbolic dimensions.
 *
 * A dimension is a number, a name ("batch"), or nothing. Names get their
 * number from the options: their own, else that of the batch or a given shape
 * at their place, else that of the data which the input will get; one that
 * nobody gives is chosen (read_sizes.c) and said so. The name stays beside the
 * number. */
#include "formats/onnx/read.h"

#include <string.h>

/* -- reading --------------------------------------------------------------*/

/* Writers that know no name put "?" or "-1" there, for any axis. */
static bool type_is_name(text t)
{
    for (size_t i = 0; i < t.n; i++) {
        unsigned char c = (unsigned char)t.s[i];
        if (((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c >= 0x80)
            return true;
    }
    return false;
}

static clv_status type_dim(wire w, int64_t *dim, text *symbol, clv_err *e)
{
    *dim = -1;
    *symbol = (text){NULL, 0};
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_DIM_VALUE && f.type == WIRE_VARINT)
            *dim = (int64_t)f.value < 0 ? -1 : (int64_t)f.value;
        else if (f.number == PB_DIM_PARAM && f.type == WIRE_BYTES)
            *symbol = text_of(f.bytes);
    }
    if (!type_is_name(*symbol))
        *symbol = (text){NULL, 0};
    return CLV_OK;
}

static clv_status type_shape(wire w, onnx_type *t, clv_err *e)
{
    uint32_t rank = 0;
    while (wire_left(&w)) {
        wire_field f;
        wire at = w;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number != PB_SHAPE_DIM || f.type != WIRE_BYTES)
            continue;
        if (rank == CLV_MAX_RANK)
            return wire_fail(&at, e, "a shape of more than 16 axes");
        CLV_TRY(type_dim(f.bytes, &t->dims[rank], &t->symbols[rank], e));
        rank++;
    }
    t->rank = (uint8_t)rank;
    return CLV_OK;
}

static clv_status type_tensor(wire w, onnx_type *t, clv_err *e)
{
    t->tensor = true;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_TENSOR_TYPE_ELEM && f.type == WIRE_VARINT)
            t->dtype = onnx_dtype(f.value);
        else if (f.number == PB_TENSOR_TYPE_SHAPE && f.type == WIRE_BYTES)
            CLV_TRY(type_shape(f.bytes, t, e));
    }
    return CLV_OK;
}

/* A tensor, or a sequence or an optional of such, whose message
 * holds the type of the elements. */
static clv_status type_read(wire w, onnx_type *t, int depth, clv_err *e)
{
    while (wire_left(&w)) {
        wire_field f;
        wire at = w;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.type != WIRE_BYTES)
            continue;
        if (f.number == PB_TYPE_OF_TENSOR || f.number == PB_TYPE_OF_SPARSE)
            CLV_TRY(type_tensor(f.bytes, t, e));
        if (f.number != PB_TYPE_OF_SEQUENCE && f.number != PB_TYPE_OF_OPTIONAL)
            continue;
        if (depth == 0)
            return clv__fail(e, CLV_FORMAT,
                             "byte %zu: a type nested deeper than %d",
                             (size_t)(at.cur - at.file), ONNX_MAX_TYPE);
        t->form |=
            f.number == PB_TYPE_OF_SEQUENCE ? CLV_V_SEQUENCE : CLV_V_OPTIONAL;
        for (wire in = f.bytes; wire_left(&in);) {
            CLV_TRY(wire_next(&in, &f, e));
            if (f.number == PB_ELEM_TYPE && f.type == WIRE_BYTES)
                CLV_TRY(type_read(f.bytes, t, depth - 1, e));
        }
    }
    return CLV_OK;
}

clv_status onnx_type_read(wire w, onnx_type *t, clv_err *e)
{
    *t = (onnx_type){.rank = CLV_NO_RANK};
    return type_read(w, t, ONNX_MAX_TYPE, e);
}

clv_status onnx_value_info(wire w, text *name, onnx_type *t, clv_err *e)
{
    *name = (text){NULL, 0};
    *t = (onnx_type){.rank = CLV_NO_RANK};
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_VALUE_INFO_NAME && f.type == WIRE_BYTES)
            *name = text_of(f.bytes);
        else if (f.number == PB_VALUE_INFO_TYPE && f.type == WIRE_BYTES)
            CLV_TRY(onnx_type_read(f.bytes, t, e));
    }
    return CLV_OK;
}

/* -- symbols --------------------------------------------------------------*/

static clv_status type_bind_symbol(reader *r, text name, int64_t value,
                                   clv_err *e)
{
    if (!CLV_GROW(r->bound, r->n_symbols, r->cap_symbols) ||
        !strmap_put(&r->symbols, name.s, name.n, (uint32_t)r->n_symbols))
        return clv__nomem(e);
    r->bound[r->n_symbols++] = (onnx_symbol){value, false};
    return CLV_OK;
}

/* -1 when nobody has bound it. */
static int64_t type_symbol_value(const reader *r, text name)
{
    uint32_t i = name.n ? strmap_get(&r->symbols, name.s, name.n) : CLV_NONE;
    if (i == CLV_NONE)
        return -1;
    r->bound[i].used = true;
    return r->bound[i].value;
}

/* Gives a number to the symbols of an input that stand where the options have
 * one. A shape that does not fit is refused when the input is bound. */
static clv_status type_learn_input(reader *r, text name, const onnx_type *t,
                                   bool first, clv_err *e)
{
    clv_build_input in = {name.s, name.n, first, t->rank, {0}};
    for (uint32_t i = 0; i < CLV_MAX_RANK; i++)
        in.dims[i] = -1;
    if (t->rank == CLV_NO_RANK ||
        clv__build_shape(r->opts, &in, NULL) != CLV_OK)
        return CLV_OK;
    for (uint32_t i = 0; i < in.rank; i++)
        if (type_symbol_value(r, t->symbols[i]) < 0 && in.dims[i] >= 0 &&
            t->symbols[i].n)
            CLV_TRY(type_bind_symbol(r, t->symbols[i], in.dims[i], e));
    return CLV_OK;
}

/* The data for an input, or NULL. */
static const clv_data_arg *type_data(const reader *r, text name, uint32_t place)
{
    for (size_t i = 0; i < r->opts->n_data; i++) {
        const clv_data_arg *d = &r->opts->data[i];
        if (d->name ? text_is(name, d->name) : d->place == place)
            return d;
    }
    return NULL;
}

/* Gives a number to the symbols that the data of an input tell. Data of another
 * rank or with another number is refused when it is set. */
static clv_status type_learn_data(reader *r, text name, const onnx_type *t,
                                  uint32_t place, clv_err *e)
{
    const clv_data_arg *d = type_data(r, name, place);
    if (!d || t->form || t->rank != d->rank)
        return CLV_OK;
    for (uint32_t i = 0; i < d->rank; i++) {
        if (t->dims[i] >= 0 || !t->symbols[i].n)
            continue;
        int64_t known = type_symbol_value(r, t->symbols[i]);
        if (known < 0)
            CLV_TRY(type_bind_symbol(r, t->symbols[i], d->dims[i], e));
        else if (known != d->dims[i])
            return clv__fail(e, CLV_SHAPE,
                             "input '%.*s': axis %u has %lld elements, but its "
                             "dimension '%.*s' is %lld",
                             TEXT(name), i, (long long)d->dims[i],
                             TEXT(t->symbols[i]), (long long)known);
    }
    return CLV_OK;
}

/* Looks at every input that is no initializer, by options or by data. */
static clv_status type_learn(reader *r, const frame *f, wire w, bool data,
                             clv_err *e)
{
    uint32_t place = 0;
    while (wire_left(&w)) {
        wire_field field;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number != PB_GRAPH_INPUT || field.type != WIRE_BYTES)
            continue;
        text name;
        onnx_type t;
        CLV_TRY(onnx_value_info(field.bytes, &name, &t, e));
        if (strmap_get(&f->names, name.s, name.n) != CLV_NONE)
            continue;
        CLV_TRY(data ? type_learn_data(r, name, &t, place, e)
                     : type_learn_input(r, name, &t, place == 0, e));
        place++;
    }
    return CLV_OK;
}

clv_status onnx_learn_symbols(reader *r, const frame *f, wire w, clv_err *e)
{
    for (size_t i = 0; i < r->opts->n_dims; i++) {
        const clv_dim_arg *d = &r->opts->dims[i];
        CLV_TRY(
            type_bind_symbol(r, (text){d->name, strlen(d->name)}, d->value, e));
    }
    CLV_TRY(type_learn(r, f, w, false, e));
    return r->opts->n_data ? type_learn(r, f, w, true, e) : CLV_OK;
}

/* The names of the inputs' dimensions, each once. */
static const char **type_input_dims(arena *mem, const clv_graph *g,
                                    size_t *count)
{
    *count = 0;
    strmap seen = {0};
    const char **names =
        arena_array(mem, (size_t)g->n_inputs * CLV_MAX_RANK + 1, sizeof *names);
    for (uint32_t i = 0; names && i < g->n_inputs; i++) {
        const clv_value *v = &g->values[g->inputs[i]];
        bool named = v->data && v->data->dim_names;
        for (uint32_t k = 0; named && k < v->rank; k++) {
            const char *name = v->data->dim_names[k];
            bool added = false;
            if (name && strmap_add(&seen, name, strlen(name), 0, &added) &&
                added)
                names[(*count)++] = name;
        }
    }
    strmap_free(&seen);
    return names;
}

static clv_status type_no_dim(const char *name, const clv_graph *g, clv_err *e)
{
    size_t n;
    char near[160];
    arena mem = {0};
    const char **names = type_input_dims(&mem, g, &n);
    bool like = names && clv_suggest(name, names, n, near, sizeof near);
    clv_status s =
        like ? clv__fail(e, CLV_USAGE,
                         "no input has a dimension '%s'; did you mean %s?",
                         name, near)
        : n  ? clv__fail(e, CLV_USAGE,
                         "no input has a dimension '%s'; there is '%s'", name,
                         names[0])
             : clv__fail(e, CLV_USAGE,
                         "no input has a dimension '%s', nor any named one",
                         name);
    arena_free(&mem);
    return s;
}

clv_status onnx_check_dims(const reader *r, const clv_graph *g, clv_err *e)
{
    for (size_t i = 0; i < r->opts->n_dims; i++) {
        const char *name = r->opts->dims[i].name;
        uint32_t at = strmap_get(&r->symbols, name, strlen(name));
        if (at != CLV_NONE && !r->bound[at].used)
            return type_no_dim(name, g, e);
    }
    return CLV_OK;
}

/* -- graph inputs ---------------------------------------------------------*/

static clv_status type_keep_symbols(clv_graph *g, uint32_t v,
                                    const onnx_type *t, clv_err *e)
{
    bool any = false;
    for (uint32_t i = 0; i < t->rank; i++)
        any |= t->symbols[i].n > 0;
    if (!any)
        return CLV_OK;
    const char **names = arena_zalloc(&g->mem, t->rank * sizeof *names);
    clv_payload *data = clv__value_data(g, v);
    if (!names || !data)
        return clv__nomem(e);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->symbols[i].n) {
            names[i] = arena_strndup(&g->mem, t->symbols[i].s, t->symbols[i].n);
            if (!names[i])
                return clv__nomem(e);
        }
    data->dim_names = names;
    return CLV_OK;
}

/* Warns of a size that was chosen here, and says why it is that. */
static bool type_warn_open(clv_graph *g, const char *input, uint32_t axis,
                           const open_size *s)
{
    static const char *const why[] = {
        [SIZE_ONE] = "",
        [SIZE_STATED] = ", as its metadata say",
        [SIZE_GUESSED] = ", as is usual",
        [SIZE_SUM] = "",
        [SIZE_SMALLEST] = ", the smallest that fits",
    };
    if (!s->symbol.n)
        return clv__graph_warn_about(
            g, CLV_SUBJECT_SIZES, input,
            "input '%s': axis %u has no size and is taken as %lld%s", input,
            axis, (long long)s->value, why[s->how]);
    char *own = arena_strndup(&g->mem, s->symbol.s, s->symbol.n);
    return own && clv__graph_warn_about(
                      g, CLV_SUBJECT_DIM, own,
                      "input '%s': dimension '%s' is taken as %lld%s", input,
                      own, (long long)s->value, why[s->how]);
}

static clv_status type_unbound(reader *r, clv_graph *g, uint32_t v,
                               uint32_t axis, const onnx_type *t, int64_t *size,
                               clv_err *e)
{
    const char *name = g->values[v].name;
    const open_size *s;
    CLV_TRY(onnx_open_size(r, t, (text){name, strlen(name)}, axis, &s, e));
    *size = s->value;
    if (!type_warn_open(g, name, axis, s))
        return clv__nomem(e);
    return s->symbol.n ? type_bind_symbol(r, t->symbols[axis], s->value, e)
                       : CLV_OK;
}

/* `what` is what a message calls the value. */
static clv_status type_set_shape(clv_graph *g, uint32_t v, const char *what,
                                 uint32_t rank, const int64_t *dims, clv_err *e)
{
    const char *name = g->values[v].name;
    if (!clv__value_set_shape(g, v, rank, dims))
        return clv__nomem(e);
    if (clv__bytes(&g->values[v]) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "%s '%s': its size does not fit 64 bits", what,
                         name ? name : "");
    return CLV_OK;
}

/* A sequence or an optional: its tensors have a shape where the file has a
 * number for every axis. A name may stand for another size in each. */
static clv_status type_declare_form(const reader *r, clv_graph *g, uint32_t v,
                                    const onnx_type *t, clv_err *e)
{
    int64_t dims[CLV_MAX_RANK];
    g->values[v].flags |= t->form;
    g->values[v].count = CLV_NONE;
    if (t->rank == CLV_NO_RANK)
        return CLV_OK;
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i] =
            t->dims[i] < 0 ? type_symbol_value(r, t->symbols[i]) : t->dims[i];
        if (dims[i] < 0)
            return CLV_OK;
    }
    return type_set_shape(g, v, "value", t->rank, dims, e);
}

clv_status onnx_bind_input(reader *r, clv_graph *g, uint32_t v,
                           const onnx_type *t, clv_err *e)
{
    const char *name = g->values[v].name;
    if (t->form)
        return type_declare_form(r, g, v, t, e);
    clv_build_input in = {name, strlen(name), g->n_inputs == 1, t->rank, {0}};
    memcpy(in.dims, t->dims, sizeof in.dims);
    CLV_TRY(clv__build_shape(r->opts, &in, e));
    const clv_data_arg *d =
        type_data(r, (text){name, strlen(name)}, g->n_inputs - 1);
    if (in.rank == CLV_NO_RANK && d)
        memset(in.dims, -1, sizeof in.dims), in.rank = d->rank;
    if (in.rank == CLV_NO_RANK)
        return CLV_OK;
    for (uint32_t i = 0; i < in.rank; i++) {
        if (in.dims[i] < 0 && t->rank != CLV_NO_RANK)
            in.dims[i] = type_symbol_value(r, t->symbols[i]);
        if (in.dims[i] < 0 && d && d->rank == in.rank)
            in.dims[i] = d->dims[i];
        if (in.dims[i] < 0)
            CLV_TRY(type_unbound(r, g, v, i, t, &in.dims[i], e));
    }
    CLV_TRY(type_set_shape(g, v, "input", in.rank, in.dims, e));
    return t->rank == CLV_NO_RANK ? CLV_OK : type_keep_symbols(g, v, t, e);
}

/* -- what the file says of other values -----------------------------------*/

/* Declared shapes stand until a rule infers them. A size that is not known is
 * taken as 1, but not where it is another one for each tensor. */
static clv_status type_assume(const reader *r, unit *u, uint32_t v,
                              const onnx_type *t, clv_err *e)
{
    clv_graph *g = u->g;
    int64_t dims[CLV_MAX_RANK];
    bool guess = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        dims[i] =
            t->dims[i] < 0 ? type_symbol_value(r, t->symbols[i]) : t->dims[i];
        guess |= dims[i] < 0;
        if (dims[i] < 0)
            dims[i] = 1;
    }
    if (guess && u->each)
        return CLV_OK;
    CLV_TRY(type_set_shape(g, v, "value", t->rank, dims, e));
    if (guess)
        g->values[v].flags |= CLV_V_BOUND;
    return CLV_OK;
}

clv_status onnx_declare(reader *r, unit *u, uint32_t v, const onnx_type *t,
                        clv_err *e)
{
    clv_graph *g = u->g;
    if (g->values[v].kind != CLV_VALUE_ACTIVATION || !t->tensor)
        return CLV_OK;
    clv_dtype dtype = onnx_counted(r, t->dtype);
    g->values[v].dtype = (uint8_t)dtype;
    if (t->form)
        return type_declare_form(r, g, v, t, e);
    if (t->rank == CLV_NO_RANK)
        return CLV_OK;
    CLV_TRY(type_assume(r, u, v, t, e));
    if (!CLV_GROW(u->declared, u->n_declared, u->cap_declared))
        return clv__nomem(e);
    int64_t *dims = arena_array(&r->mem, t->rank, sizeof *dims);
    if (!dims)
        return clv__nomem(e);
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] =
            t->dims[i] < 0 ? type_symbol_value(r, t->symbols[i]) : t->dims[i];
    u->declared[u->n_declared++] = (declared){v, (uint8_t)dtype, t->rank, dims};
    return CLV_OK;
}

static bool type_agrees(const clv_value *v, const declared *d)
{
    if (v->rank == CLV_NO_RANK || v->flags & CLV_V_BOUND)
        return true;
    if (v->rank != d->rank)
        return false;
    for (uint32_t i = 0; i < d->rank; i++)
        if (d->dims[i] >= 0 && d->dims[i] != v->dims[i])
            return false;
    return true;
}

clv_status onnx_compare(unit *u, uint32_t *differ_out, clv_err *e)
{
    enum { SHOWN = 5 };
    uint32_t differ = 0;
    bool ok = true;
    for (size_t i = 0; i < u->n_declared; i++) {
        const declared *d = &u->declared[i];
        const clv_value *v = &u->g->values[d->value];
        if (type_agrees(v, d) || differ++ >= SHOWN)
            continue;
        clv_value said = {.dims = d->dims, .rank = d->rank};
        char a[256], b[256];
        ok = ok &&
             clv__graph_warn(
                 u->g, "node '%s': the file says %s, inferred %s",
                 v->producer == CLV_NONE ? "?" : u->g->nodes[v->producer].name,
                 clv__shape_text(&said, a, sizeof a),
                 clv__shape_text(v, b, sizeof b));
    }
    if (differ > SHOWN)
        ok = ok && clv__graph_warn(u->g, "%u more shapes differ from the file",
                                   differ - SHOWN);
    *differ_out = differ;
    return ok ? CLV_OK : clv__nomem(e);
}
