/* constant.c - dense constants.
 *
 *   dense<1.0>, dense<0xFF800000>    one number everywhere; hex are its bits
 *   dense<[[1, 2], [3, 4]]>          all numbers, in order
 *   dense<"0x0000803F...">           their bytes; of one element: everywhere
 *   dense_resource<name>             bytes in the resources at the file's end,
 *                                    behind four that give the alignment
 *
 * Floating constants of more than one number are weights; a number that stands
 * everywhere is not. */
#include "formats/stablehlo/hlo.h"
#include "ops/fold.h"
#include "tensor/tensor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool constant_is_complex(clv_dtype t)
{
    return t == CLV_COMPLEX64 || t == CLV_COMPLEX128;
}

static bool constant_is_float(clv_dtype t)
{
    return !dtype_is_integral(t) && !constant_is_complex(t);
}

/* -- numbers --------------------------------------------------------------*/

/* A number at p, which it goes past. Hexadecimals are the bits of one. */
static bool constant_one(const char **p, const char *end, clv_tensor *t,
                         int64_t i)
{
    char text[72];
    size_t n = 0;
    while (*p < end && n < sizeof text - 1 &&
           (clv__is_alnum(**p) || **p == '.' || **p == '-' || **p == '+'))
        text[n++] = *(*p)++;
    text[n] = '\0';
    char *rest = text;
    errno = 0;
    if (!n)
        return false;
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        put_i(t, i, text[0] == 't');
        return true;
    }
    if (text[0] == '0' && clv__lower(text[1]) == 'x') {
        uint64_t bits = strtoull(text, &rest, 16);
        int64_t size = clv_dtype_bytes(t->dtype, 1);
        if (size * 8 < 8 || clv_dtype_bytes(t->dtype, 2) != 2 * size)
            put_i(t, i, (int64_t)bits);
        else
            memcpy((char *)t->data + i * size, &bits, (size_t)size);
    } else if (!dtype_is_integral(t->dtype)) {
        put_f(t, i, clv_text_double(text, &rest));
    } else if (text[0] == '-') {
        put_i(t, i, strtoll(text, &rest, 10));
    } else {
        put_i(t, i, (int64_t)strtoull(text, &rest, 10));
    }
    return rest != text && !*rest;
}

/* Numbers between brackets, commas and spaces. */
static bool constant_numbers(mlir_text text, clv_tensor *t, int64_t count)
{
    const char *p = text.s, *end = p + text.n;
    int64_t i = 0;
    while (p < end) {
        if (*p == '[' || *p == ']' || *p == ',' || *p == ' ' || *p == '\n' ||
            *p == '(' || *p == ')')
            p++;
        else if (i == count || !constant_one(&p, end, t, i++))
            return false;
    }
    return i == count;
}

static int constant_hex(char c)
{
    c = clv__lower(c);
    return clv__is_digit(c)       ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* Bytes of hexadecimal text without 0x, into out. */
static bool constant_bytes(mlir_text hex, uint8_t *out)
{
    for (uint32_t i = 0; i + 1 < hex.n; i += 2) {
        int hi = constant_hex(hex.s[i]), lo = constant_hex(hex.s[i + 1]);
        if (hi < 0 || lo < 0)
            return false;
        out[i / 2] = (uint8_t)(hi << 4 | lo);
    }
    return hex.n % 2 == 0;
}

/* -- contents -------------------------------------------------------------*/

/* Contents of few elements are known while sizes are computed. */
static bool constant_list(hlo_scope *s, clv_payload *data, clv_tensor *t,
                          int64_t n)
{
    bool real = constant_is_float(t->dtype);
    if (n > (real ? FOLD_MAX_FLOATS : FOLD_MAX) ||
        constant_is_complex(t->dtype))
        return true;
    void *list = arena_array(&s->g->mem, (size_t)n + 1, 8);
    if (!list)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (real)
            ((double *)list)[i] = get_f(t, i);
        else
            ((int64_t *)list)[i] = get_i(t, i);
    if (real)
        data->floats = list;
    else
        data->ints = list;
    data->n = (uint32_t)n;
    return true;
}

/* One number everywhere. `one` holds it. */
static clv_status constant_fill(hlo_scope *s, uint32_t v, clv_tensor *one,
                                clv_err *e)
{
    clv_payload *data = clv__value_data(s->g, v);
    if (!data)
        return clv__nomem(e);
    int64_t n = clv__numel(&s->g->values[v]);
    if (n == 1)
        return constant_list(s, data, one, 1) ? CLV_OK : clv__nomem(e);
    double *fill = arena_alloc(&s->g->mem, sizeof *fill);
    if (!fill)
        return clv__nomem(e);
    *fill = get_f(one, 0);
    data->fill = fill;
    if (n > FOLD_MAX || n < 1 || !dtype_is_integral(one->dtype))
        return CLV_OK;
    int64_t *list = arena_array(&s->g->mem, (size_t)n, sizeof *list);
    if (!list)
        return clv__nomem(e);
    for (int64_t i = 0; i < n; i++)
        list[i] = get_i(one, 0);
    data->ints = list;
    data->n = (uint32_t)n;
    data->fill = NULL;
    return CLV_OK;
}

static clv_status constant_bad(hlo_scope *s, clv_err *e, const char *why)
{
    return hlo_fail(s, e, "a constant %s", why);
}

/* All elements; `bits` is set where bools are packed. */
static clv_status constant_all(hlo_scope *s, uint32_t v, mlir_text text,
                               bool hex, clv_err *e)
{
    clv_value *value = &s->g->values[v];
    int64_t n = clv__numel(value);
    int64_t size = clv_dtype_bytes((clv_dtype)value->dtype, n);
    clv_payload *data = clv__value_data(s->g, v);
    /* a number takes at least a character and a comma, a byte two */
    if (n == CLV_SAT || size < 0 || n / 8 > (int64_t)text.n + 1)
        return constant_bad(s, e, "of fewer numbers than its type has");
    if (hex && value->dtype != CLV_BOOL && (int64_t)text.n != size * 2)
        return constant_bad(s, e, "of another size than its type");
    uint8_t *bytes = arena_zalloc(&s->g->mem, (size_t)size + 8);
    if (!bytes || !data)
        return clv__nomem(e);
    clv_tensor t = {.dtype = (clv_dtype)value->dtype,
                    .rank = 1,
                    .dims = {n},
                    .data = bytes};
    if (hex && value->dtype == CLV_BOOL) {
        uint8_t *packed = arena_zalloc(&s->r->mem, text.n / 2 + 1u);
        if (!packed)
            return clv__nomem(e);
        if ((int64_t)text.n / 2 != (n + 7) / 8 || !constant_bytes(text, packed))
            return constant_bad(s, e, "of another size than its type");
        for (int64_t i = 0; i < n; i++)
            bytes[i] = packed[i / 8] >> i % 8 & 1;
    } else if (hex ? !constant_bytes(text, bytes)
                   : !constant_numbers(text, &t, n))
        return constant_bad(s, e, "whose numbers do not fit its type");
    data->bytes = bytes;
    data->size = (uint64_t)size;
    return constant_list(s, data, &t, n) ? CLV_OK : clv__nomem(e);
}

/* Numbers of two parts. */
static clv_status constant_complex(hlo_scope *s, uint32_t v, mlir_text text,
                                   clv_err *e)
{
    clv_value *value = &s->g->values[v];
    bool wide = value->dtype == CLV_COMPLEX128;
    bool one = !memchr(text.s, '[', text.n);
    int64_t n = clv__numel(value);
    if (one && n != 1)
        return CLV_OK; /* not known: the same everywhere */
    if (n == CLV_SAT || n / 4 > (int64_t)text.n)
        return constant_bad(s, e, "of fewer numbers than its type has");
    clv_payload *data = clv__value_data(s->g, v);
    size_t size = (size_t)n * (wide ? 16 : 8);
    clv_tensor t = {.dtype = wide ? CLV_FLOAT64 : CLV_FLOAT32,
                    .rank = 1,
                    .dims = {2 * n},
                    .data = arena_zalloc(&s->g->mem, size + 8)};
    if (!data || !t.data)
        return clv__nomem(e);
    if (!constant_numbers(text, &t, 2 * n))
        return constant_bad(s, e, "whose numbers do not fit its type");
    data->bytes = t.data;
    data->size = size;
    return CLV_OK;
}

/* Contents as text between the brackets of dense<..>. */
static clv_status constant_dense(hlo_scope *s, uint32_t v, mlir_text text,
                                 bool *everywhere, clv_err *e)
{
    clv_value *value = &s->g->values[v];
    while (text.n && text.s[0] == ' ')
        text = (mlir_text){text.s + 1, text.n - 1};
    uint8_t place[16] = {0};
    clv_tensor one = {.dtype = (clv_dtype)value->dtype, .data = place};
    int64_t n = clv__numel(value), size = clv_dtype_bytes(one.dtype, 1);
    bool hex = text.n >= 4 && !memcmp(text.s, "\"0x", 3);
    *everywhere = false;
    if (n == 0)
        return CLV_OK;
    if (one.dtype == CLV_NODTYPE || one.dtype == CLV_STRING ||
        (text.n && text.s[0] == '"' && !hex))
        return CLV_OK; /* contents that are not read */
    if (constant_is_complex(one.dtype) && !hex)
        return constant_complex(s, v, text, e);
    if (hex)
        text = (mlir_text){text.s + 3, text.n - 4};
    bool single = hex ? (int64_t)text.n == 2 * size && n != 1 &&
                            (one.dtype != CLV_BOOL || n > 8)
                      : text.n && text.s[0] != '[';
    if (!single)
        return constant_all(s, v, text, hex, e);
    *everywhere = n != 1;
    if (hex ? !constant_bytes(text, place) : !constant_numbers(text, &one, 1))
        return constant_bad(s, e, "that is no number of its type");
    return constant_is_complex(one.dtype) ? CLV_OK
                                          : constant_fill(s, v, &one, e);
}

static clv_status constant_resource(hlo_scope *s, uint32_t v, mlir_text name,
                                    clv_err *e)
{
    enum { ALIGNMENT = 8 }; /* hexadecimal digits before the contents */
    const mlir_module *m = &s->r->module;
    uint32_t i = strmap_get(&m->resource_places, name.s, name.n);
    if (i == CLV_NONE)
        return CLV_OK; /* left out by whoever printed it */
    mlir_text hex = m->resource_list[i]->attr->text;
    if (hex.n < 2 + ALIGNMENT || !mlir_starts(hex, "0x"))
        return constant_bad(s, e, "in a resource of another form");
    hex = (mlir_text){hex.s + 2 + ALIGNMENT, hex.n - 2 - ALIGNMENT};
    return constant_all(s, v, hex, true, e);
}

clv_status hlo_constant(hlo_scope *s, const mlir_attr *a, const mlir_type *type,
                        mlir_text name, uint32_t *v, clv_err *e)
{
    clv_graph *g = s->g;
    if (!a || !type || type->kind != MLIR_TENSOR)
        return hlo_fail(s, e, "a constant without a type");
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->dims[i] < 0)
            return hlo_fail(s, e, "a constant of unknown size");
    char *own = arena_strndup(&g->mem, name.s, name.n);
    clv_dtype t = clv__build_dtype(s->r->opts, type->dtype);
    bool everywhere = true;
    *v = own ? clv__value_add(g, own, CLV_VALUE_CONST, type->dtype) : CLV_NONE;
    if (*v == CLV_NONE || !clv__value_set_shape(g, *v, type->rank, type->dims))
        return clv__nomem(e);
    if (a->kind == MLIR_DENSE)
        CLV_TRY(constant_dense(s, *v, a->text, &everywhere, e));
    else if (a->kind == MLIR_RESOURCE) {
        everywhere = false;
        CLV_TRY(constant_resource(s, *v, a->text, e));
    } else if (a->kind == MLIR_INT || a->kind == MLIR_FLOAT ||
               a->kind == MLIR_BOOL) {
        uint8_t place[16] = {0};
        clv_tensor one = {.dtype = type->dtype, .data = place};
        put_f(&one, 0, a->kind == MLIR_FLOAT ? a->f : (double)a->i);
        if (dtype_is_integral(type->dtype))
            put_i(&one, 0, a->i);
        CLV_TRY(constant_fill(s, *v, &one, e));
    }
    clv_value *value = &g->values[*v];
    if (constant_is_float((clv_dtype)value->dtype) && !everywhere &&
        clv__numel(value) > 1)
        value->kind = CLV_VALUE_PARAM;
    if (t != type->dtype) { /* counted in another type than it is stored in */
        value->dtype = (uint8_t)t;
        if (value->data && value->data->bytes)
            value->data->held = (uint8_t)type->dtype;
    }
    return CLV_OK;
}

/* -- lists ----------------------------------------------------------------*/

static clv_status list_dense(hlo_scope *s, const mlir_attr *a, int64_t *out,
                             uint32_t max, uint32_t *n, clv_err *e)
{
    int64_t count = 1;
    for (uint32_t i = 0; a->type && i < a->type->rank; i++)
        count = sat_mul(count, a->type->dims[i]);
    if (count > max || count < 0)
        return hlo_fail(s, e, "a list of %lld numbers", (long long)count);
    clv_tensor t = {
        .dtype = CLV_INT64, .rank = 1, .dims = {count}, .data = out};
    clv_tensor one = {.dtype = CLV_INT64, .data = out};
    *n = (uint32_t)count;
    bool splat = a->text.n && a->text.s[0] != '[' && count > 0;
    if (count == 0)
        return CLV_OK;
    bool hex = a->text.n > 4 && !memcmp(a->text.s, "\"0x", 3);
    bool ok;
    if (hex)
        ok = (int64_t)a->text.n - 4 == 16 * count &&
             constant_bytes((mlir_text){a->text.s + 3, a->text.n - 4},
                            (uint8_t *)out);
    else
        ok = splat ? constant_numbers(a->text, &one, 1)
                   : constant_numbers(a->text, &t, count);
    for (int64_t i = 1; ok && !hex && splat && i < count; i++)
        out[i] = out[0];
    return ok ? CLV_OK : hlo_fail(s, e, "a list that is not of integers");
}

static clv_status list_nested(hlo_scope *s, const mlir_attr *a, int64_t *out,
                              uint32_t max, uint32_t *n, clv_err *e)
{
    for (const mlir_attr *i = a->items; i; i = i->next) {
        if (i->kind == MLIR_LIST) {
            CLV_TRY(list_nested(s, i, out, max, n, e));
            continue;
        }
        if (i->kind != MLIR_INT && i->kind != MLIR_BOOL)
            return hlo_fail(s, e, "a list that is not of integers");
        if (*n == max)
            return hlo_fail(s, e, "a list of more than %u numbers", max);
        out[(*n)++] = i->i;
    }
    return CLV_OK;
}

clv_status hlo_list(hlo_scope *s, const mlir_attr *a, int64_t *out,
                    uint32_t max, uint32_t *n, clv_err *e)
{
    *n = 0;
    if (!a)
        return CLV_OK;
    if (a->kind == MLIR_DENSE)
        return list_dense(s, a, out, max, n, e);
    if (a->kind == MLIR_INT && max) {
        out[(*n)++] = a->i;
        return CLV_OK;
    }
    if (a->kind != MLIR_LIST)
        return hlo_fail(s, e, "a list was expected");
    return list_nested(s, a, out, max, n, e);
}
