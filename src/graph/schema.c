/* schema.c - the tables of ops/schema.def, and the readers of attributes.
 *
 * The table is expanded several times: the inputs of each schema, its
 * attributes, their keys alone (a search reads one line of cache instead of a
 * line per attribute), the numbers of each, and the schemas themselves; ops.def
 * then gives each operator its schema. A
 * reader that asks an operator for an attribute its schema lacks is a bug of
 * ours: it gets zero, and clv__schema_misses tells the tests. */
#include "graph/schema.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
/* -- inputs ---------------------------------------------------------------*/

#define IN(name)   {#name, CLV_NEED_IN},
#define OPT(name)  {#name, CLV_NEED_OPT},
#define OR(name)   {#name, CLV_NEED_OR},
#define REST(name) {#name, CLV_NEED_REST},
#define MORE(name) {#name, CLV_NEED_MORE},
#define GIVES(n)
#define SCHEMA(name, inputs, attrs) \
    static const clv_input_spec inputs_##name[] = {inputs{NULL, CLV_NEED_IN}};
#include "ops/schema.def"
#undef SCHEMA
#undef IN
#undef OPT
#undef OR
#undef REST
#undef MORE

/* -- attributes -----------------------------------------------------------*/

#define REQUIRED      .presence = CLV_PRESENCE_REQUIRED
#define IS(x)         .presence = CLV_PRESENCE_DEFAULT, .whole = (x), .real = (double)(x)
#define REAL(x)       .presence = CLV_PRESENCE_DEFAULT, .real = (x)
#define TEXT(s)       .presence = CLV_PRESENCE_DEFAULT, .text = (s)
#define SAME_AS(k)    .presence = CLV_PRESENCE_SAME_AS, .other = CLV_A_##k
#define NONE(s)       .presence = CLV_PRESENCE_NONE, .text = (s)
#define ANY           .bounded = false
#define FROM(x)       .bounded = true, .lo = (x), .hi = INT64_MAX
#define WITHIN(a, b)  .bounded = true, .lo = (a), .hi = (b)
#define ONE_OF(s)     .choices = (s)
#define PER_AXIS      .length = CLV_LENGTH_AXIS
#define PER_SIDE      .length = CLV_LENGTH_SIDE
#define PAIR          .length = CLV_LENGTH_PAIR

/* One row of the table is one call of ATTRIBUTE, which differs below. */
#define INT(k, ...)     ATTRIBUTE(k, INT, __VA_ARGS__)
#define BOOL(k, p, r)   ATTRIBUTE(k, BOOL, p, WITHIN(0, 1))
#define FLOAT(k, ...)   ATTRIBUTE(k, FLOAT, __VA_ARGS__)
#define NUMBER(k, ...)  ATTRIBUTE(k, NUMBER, __VA_ARGS__)
#define STR(k, ...)     ATTRIBUTE(k, STR, __VA_ARGS__)
#define INTS(k, ...)    ATTRIBUTE(k, INTS, __VA_ARGS__)
#define FLOATS(k, ...)  ATTRIBUTE(k, FLOATS, __VA_ARGS__)
#define STRS(k, ...)    ATTRIBUTE(k, STRS, __VA_ARGS__)
#define KIND(k, ...)    ATTRIBUTE(k, DTYPE, __VA_ARGS__)
#define BODY(k, ...)    ATTRIBUTE(k, BODY, __VA_ARGS__)

#define ATTRIBUTE(k, t, ...) {.key = CLV_A_##k, .kind = CLV_KIND_##t, __VA_ARGS__},
#define SCHEMA(name, inputs, attrs) \
    static const clv_attr_spec attrs_##name[] = { \
        attrs{.key = CLV_A_OTHER}};
#include "ops/schema.def"
#undef SCHEMA
#undef ATTRIBUTE

#define ATTRIBUTE(k, ...) CLV_A_##k,
#define SCHEMA(name, inputs, attrs) \
    static const uint8_t keys_##name[] = {attrs CLV_A_OTHER};
#include "ops/schema.def"
#undef SCHEMA
#undef ATTRIBUTE

/* How many are required. */
#undef REQUIRED
#undef IS
#undef REAL
#undef TEXT
#undef SAME_AS
#undef NONE
#define REQUIRED   +1
#define IS(x)
#define REAL(x)
#define TEXT(s)
#define SAME_AS(k)
#define NONE(s)
#define ATTRIBUTE(k, t, p, ...) p
#define SCHEMA(name, inputs, attrs) SCHEMA_REQUIRED_##name = 0 attrs,
enum {
#include "ops/schema.def"
};
#undef SCHEMA
#undef ATTRIBUTE

/* -- schemas --------------------------------------------------------------*/

#define IN(name)   +1
#define OPT(name)
#define OR(name)
#define REST(name)
#define MORE(name)
#define SCHEMA(name, inputs, attrs) SCHEMA_MIN_##name = 0 inputs,
enum {
#include "ops/schema.def"
};
#undef SCHEMA
#undef OPT
#undef OR
#undef REST
#undef MORE
#define OPT(name)  +1
#define OR(name)   +1
#define REST(name) +255 /* any number */
#define MORE(name) +255
#define SCHEMA(name, inputs, attrs) SCHEMA_MAX_##name = 0 inputs,
enum {
#include "ops/schema.def"
};
#undef SCHEMA
#undef IN
#undef OPT
#undef OR
#undef REST
#undef MORE
#undef GIVES
#define IN(name)
#define OPT(name)
#define OR(name)
#define REST(name)
#define MORE(name)
#define ANY_NUMBER 255
#define GIVES(n) +(n) - 1
#define SCHEMA(name, inputs, attrs) SCHEMA_OUT_##name = 1 inputs,
enum {
#include "ops/schema.def"
};
#undef SCHEMA
#undef OR
#undef GIVES
#define OR(name) +SCHEMA_HAS_VALUE
#define GIVES(n)
#define SCHEMA(name, inputs, attrs) \
    SCHEMA_EITHER_##name = (0 inputs) ? SCHEMA_MIN_##name : 0,
enum {
    SCHEMA_HAS_VALUE = 1,
#include "ops/schema.def"
};
#undef SCHEMA
#undef IN
#undef OPT
#undef OR
#undef REST
#undef MORE
#undef GIVES

#define MOST(n) (uint8_t)((n) > 255 ? 255 : (n))
#define SCHEMA(name, inputs, attrs) \
    static const clv_schema schema_##name = { \
        inputs_##name, attrs_##name, keys_##name, SCHEMA_MIN_##name, \
        MOST(SCHEMA_MAX_##name), SCHEMA_OUT_##name, SCHEMA_EITHER_##name, \
        sizeof keys_##name - 1, SCHEMA_REQUIRED_##name};
#include "ops/schema.def"
#undef SCHEMA

static const clv_schema *const schemas[CLV_OP_COUNT] = {
#define OP(kind, name, cat, cls, fuse, schema, ...) \
    [CLV_OP_##kind] = &schema_##schema,
#include "ops/ops.def"
#undef OP
};

enum { OF_X = 100, OF_SIZE = 200 };
#define OF_INPUT(i)   (OF_X + (i))
#define AXES(kind, n) [CLV_OP_##kind] = (n),
static const uint8_t window_axes[CLV_OP_COUNT] = {
#include "ops/axes.def"
};
#undef AXES
/* clang-format on */

uint32_t clv__named_axes(clv_op op)
{
    return window_axes[op] < OF_X ? window_axes[op] : 0;
}

uint32_t clv__window_axes(const clv_graph *g, const clv_node *n)
{
    uint32_t told = window_axes[n->op];
    if (told < OF_X)
        return told;
    if (told == OF_SIZE) {
        const clv_attr *size = attr_get(n, CLV_A_OUTPUT_SIZE);
        return !size ? 0 : size->type == CLV_ATTR_INTS ? size->n : 1;
    }
    const clv_value *v = node_in(g, n, told - OF_X);
    return !v || v->rank == CLV_NO_RANK || v->rank < 3 ? 0 : v->rank - 2u;
}

const clv_schema *clv__schema_of(clv_op op)
{
    return schemas[op];
}

const clv_attr_spec *clv__attr_spec(clv_op op, clv_attr_key key)
{
    const clv_schema *s = schemas[op];
    for (uint32_t i = 0; i < s->n_attrs; i++)
        if (s->keys[i] == key)
            return &s->attrs[i];
    return NULL;
}

/* -- readers --------------------------------------------------------------*/

_Atomic uint32_t clv__schema_misses;

static const clv_attr_spec none_of_that_name = {.presence = CLV_PRESENCE_NONE};

/* Where the default of `key` is stated, followed through SAME_AS; *own is the
 * attribute that the node has of the other name, or NULL. */
static const clv_attr_spec *schema_stated(const clv_node *n, clv_attr_key key,
                                          const clv_attr **own)
{
    const clv_attr_spec *a = clv__attr_spec((clv_op)n->op, key);
    *own = NULL;
    if (!a) {
        clv__schema_misses++;
        return &none_of_that_name;
    }
    if (a->presence != CLV_PRESENCE_SAME_AS)
        return a;
    *own = attr_get(n, (clv_attr_key)a->other);
    a = clv__attr_spec((clv_op)n->op, (clv_attr_key)a->other);
    return a ? a : &none_of_that_name;
}

bool attr_exists(const clv_node *n, clv_attr_key key)
{
    return clv__attr_spec((clv_op)n->op, key) != NULL;
}

const clv_attr *attr_get(const clv_node *n, clv_attr_key key)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].key == key)
            return &n->attrs[i];
    return NULL;
}

int64_t attr_int(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    const clv_attr_spec *s = a ? NULL : schema_stated(n, key, &a);
    if (a && a->type == CLV_ATTR_INT)
        return a->u.i;
    if (a && a->type == CLV_ATTR_INTS && a->n)
        return a->u.ints[0];
    return s ? s->whole : 0;
}

double attr_float(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    const clv_attr_spec *s = a ? NULL : schema_stated(n, key, &a);
    if (a && a->type == CLV_ATTR_FLOAT)
        return a->u.f;
    if (a && a->type == CLV_ATTR_INT)
        return (double)a->u.i;
    return s ? s->real : 0;
}

const char *attr_str(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    const clv_attr_spec *s = a ? NULL : schema_stated(n, key, &a);
    if (a)
        return a->type == CLV_ATTR_STRING ? a->u.s : "";
    return s->presence == CLV_PRESENCE_DEFAULT && s->text ? s->text : "";
}

bool attr_is(const clv_node *n, clv_attr_key key, const char *text)
{
    return !strcmp(attr_str(n, key), text);
}

const int64_t *attr_ints(const clv_node *n, clv_attr_key key, uint32_t *count)
{
    const clv_attr *a = attr_get(n, key);
    const clv_attr_spec *s = a ? NULL : schema_stated(n, key, &a);
    *count = 0;
    if (a && a->type == CLV_ATTR_INTS) {
        *count = a->n;
        return a->u.ints;
    }
    if (a && a->type == CLV_ATTR_INT) {
        *count = 1;
        return &a->u.i;
    }
    if (!s || s->presence != CLV_PRESENCE_DEFAULT)
        return NULL;
    *count = 1;
    return &s->whole;
}

bool clv__attr_default(const clv_node *n, clv_attr_key key, clv_attr *out)
{
    const clv_attr *a = NULL;
    if (!clv__attr_spec((clv_op)n->op, key))
        return false;
    const clv_attr_spec *s = schema_stated(n, key, &a);
    *out = a ? *a : (clv_attr){0};
    out->key = (uint8_t)key;
    out->name = clv__attr_name(key);
    if (a || s->presence != CLV_PRESENCE_DEFAULT)
        return a != NULL;
    switch ((clv_attr_kind)s->kind) {
    case CLV_KIND_INT:
    case CLV_KIND_BOOL:
        out->type = CLV_ATTR_INT;
        out->u.i = s->whole;
        return true;
    case CLV_KIND_FLOAT:
    case CLV_KIND_NUMBER:
        out->type = CLV_ATTR_FLOAT;
        out->u.f = s->real;
        return true;
    case CLV_KIND_STR:
    case CLV_KIND_DTYPE:
        out->type = CLV_ATTR_STRING;
        out->u.s = s->text;
        return s->text != NULL;
    case CLV_KIND_INTS:
        out->type = CLV_ATTR_INTS;
        out->n = 1;
        out->u.ints = &s->whole;
        return true;
    default:
        return false;
    }
}

bool attr_is_own(const clv_attr *a)
{
    return a && a->type == CLV_ATTR_STRING && !strcmp(a->u.s, "own");
}

clv_dtype attr_dtype(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    if (!a)
        schema_stated(n, key, &a);
    if (a && a->type == CLV_ATTR_STRING)
        return clv_dtype_find(a->u.s);
    if (a && a->type == CLV_ATTR_INT && a->u.i > 0 && a->u.i < CLV_DTYPE_COUNT)
        return (clv_dtype)a->u.i;
    return CLV_NODTYPE;
}

/* -- for people -----------------------------------------------------------*/

const char *clv__attr_kind_text(clv_attr_kind kind)
{
    static const char *const names[CLV_KIND_BODY + 1] = {
        "integer", "0 or 1", "float",        "number", "text",
        "ints",    "floats", "list of text", "type",   "body"};
    return (unsigned)kind <= CLV_KIND_BODY ? names[kind] : "";
}

const char *clv__attr_default_text(const clv_attr_spec *a, char *buf,
                                   size_t size)
{
    *buf = '\0';
    if (a->presence == CLV_PRESENCE_SAME_AS)
        snprintf(buf, size, "as %s", clv__attr_name((clv_attr_key)a->other));
    else if (a->presence == CLV_PRESENCE_DEFAULT && a->text)
        snprintf(buf, size, "%s", a->text);
    else if (a->presence == CLV_PRESENCE_DEFAULT)
        clv_format(buf, size, "%.12g", a->real);
    return buf;
}

/* -- checking -------------------------------------------------------------*/

static clv_status schema_check_inputs(const clv_graph *g, const clv_node *n,
                                      const clv_schema *s, clv_err *e)
{
    if (n->n_in < s->min_in || (s->max_in != ANY_NUMBER && n->n_in > s->max_in))
        return clv__fail(e, CLV_SHAPE, "%u inputs, takes %u to %u", n->n_in,
                         s->min_in, s->max_in);
    const uint32_t *in = node_ins(g, n);
    uint32_t first = 0; /* one that is left out */
    if (s->either && (n->n_in <= s->either || in[s->either] == CLV_NONE) &&
        !attr_get(n, CLV_A_VALUE))
        return clv__fail(e, CLV_SHAPE, "input %u (%s) is missing", s->either,
                         s->inputs[s->either].name);
    while (first < n->n_in && in[first] != CLV_NONE)
        first++;
    if (first == n->n_in)
        return CLV_OK;
    const clv_input_spec *spec = s->inputs;
    for (uint32_t i = 0; i < n->n_in && spec->name; i++) {
        if ((spec->need == CLV_NEED_IN || spec->need == CLV_NEED_MORE) &&
            in[i] == CLV_NONE)
            return clv__fail(e, CLV_SHAPE, "input %u (%s) is missing", i,
                             spec->name);
        spec += spec->need < CLV_NEED_REST;
    }
    return CLV_OK;
}

static clv_status schema_check_outputs(const clv_node *n, const clv_schema *s,
                                       clv_err *e)
{
    if (s->max_out != ANY_NUMBER && n->n_out > s->max_out)
        return clv__fail(e, CLV_SHAPE, "%u outputs, gives at most %u", n->n_out,
                         s->max_out);
    return CLV_OK;
}

/* Whether an attribute of this type can be what the schema asks for. */
static bool type_fits(const clv_attr *a, const clv_attr_spec *s)
{
    switch ((clv_attr_kind)s->kind) {
    case CLV_KIND_INT:
    case CLV_KIND_BOOL:
        return a->type == CLV_ATTR_INT ||
               (a->type == CLV_ATTR_INTS && a->n == 1);
    case CLV_KIND_FLOAT:
    case CLV_KIND_NUMBER:
        return a->type == CLV_ATTR_FLOAT || a->type == CLV_ATTR_INT;
    case CLV_KIND_STR:
        return a->type == CLV_ATTR_STRING;
    case CLV_KIND_INTS:
        return a->type == CLV_ATTR_INTS || a->type == CLV_ATTR_INT;
    case CLV_KIND_FLOATS:
        return a->type == CLV_ATTR_FLOATS || a->type == CLV_ATTR_FLOAT ||
               a->type == CLV_ATTR_INTS || a->type == CLV_ATTR_INT;
    case CLV_KIND_STRS:
        return a->type == CLV_ATTR_STRINGS;
    case CLV_KIND_DTYPE:
        return a->type == CLV_ATTR_INT || a->type == CLV_ATTR_STRING;
    case CLV_KIND_BODY:
        return a->type == CLV_ATTR_GRAPH;
    }
    return false;
}

static clv_status schema_check_range(const clv_attr *a, const clv_attr_spec *s,
                                     clv_err *e)
{
    bool one = a->type == CLV_ATTR_INT;
    uint32_t n = one ? 1 : a->type == CLV_ATTR_INTS ? a->n : 0;
    for (uint32_t i = 0; s->bounded && i < n; i++) {
        int64_t x = one ? a->u.i : a->u.ints[i];
        if (x >= s->lo && x <= s->hi)
            continue;
        if (s->hi == INT64_MAX)
            return clv__fail(e, CLV_SHAPE, "%s is %lld, must be at least %lld",
                             a->name, (long long)x, (long long)s->lo);
        return clv__fail(e, CLV_SHAPE, "%s is %lld, must be %lld to %lld",
                         a->name, (long long)x, (long long)s->lo,
                         (long long)s->hi);
    }
    return CLV_OK;
}

static clv_status schema_check_length(const clv_graph *g, const clv_node *n,
                                      const clv_attr *a, const clv_attr_spec *s,
                                      clv_err *e)
{
    uint32_t has = a->type == CLV_ATTR_INTS ? a->n : 1;
    if (s->length == CLV_LENGTH_PAIR)
        return has == 2 ? CLV_OK
                        : clv__fail(e, CLV_SHAPE, "%s has %u entries, needs 2",
                                    a->name, has);
    uint32_t axes = clv__window_axes(g, n);
    if (!axes || has == 1 || has == axes ||
        (s->length == CLV_LENGTH_SIDE && has == 2 * axes))
        return CLV_OK;
    return clv__fail(e, CLV_SHAPE, "%s has %u entries, its window %u ax%ss",
                     a->name, has, axes, axes == 1 ? "i" : "e");
}

/* Whether `word` is one of "a|b|c". */
static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = choices;; at++) {
        size_t len = strcspn(at, "|");
        if (len == n && !memcmp(at, word, n))
            return true;
        at += len;
        if (!*at)
            return false;
    }
}

static clv_status check_attr(const clv_graph *g, const clv_node *n,
                             const clv_attr *a, clv_err *e)
{
    const clv_attr_spec *s =
        clv__attr_spec((clv_op)n->op, (clv_attr_key)a->key);
    if (!s)
        return clv__fail(e, CLV_SHAPE, "has no attribute '%s'", a->name);
    if (!type_fits(a, s))
        return clv__fail(e, CLV_SHAPE, "%s must be %s%s", a->name,
                         s->kind == CLV_KIND_INT ? "an " : "",
                         clv__attr_kind_text((clv_attr_kind)s->kind));
    if (s->choices && !is_choice(s->choices, a->u.s))
        return clv__fail(e, CLV_SHAPE, "%s is '%s', must be one of %s", a->name,
                         a->u.s, s->choices);
    if (s->kind == CLV_KIND_DTYPE && !attr_is_own(a) &&
        attr_dtype(n, (clv_attr_key)a->key) == CLV_NODTYPE)
        return clv__fail(e, CLV_SHAPE, "%s is not a type", a->name);
    if (s->length)
        CLV_TRY(schema_check_length(g, n, a, s, e));
    return schema_check_range(a, s, e);
}

clv_status clv__schema_check(const clv_graph *g, const clv_node *n, clv_err *e)
{
    const clv_schema *s = schemas[n->op];
    CLV_TRY(schema_check_inputs(g, n, s, e));
    CLV_TRY(schema_check_outputs(n, s, e));
    for (uint32_t i = 0; i < n->n_attrs && n->op != CLV_OP_UNKNOWN; i++)
        if (n->attrs[i].key != CLV_A_OTHER)
            CLV_TRY(check_attr(g, n, &n->attrs[i], e));
    for (uint32_t i = 0; s->n_required && i < s->n_attrs; i++)
        if (s->attrs[i].presence == CLV_PRESENCE_REQUIRED &&
            !attr_get(n, (clv_attr_key)s->attrs[i].key))
            return clv__fail(e, CLV_SHAPE, "attribute '%s' is missing",
                             clv__attr_name((clv_attr_key)s->attrs[i].key));
    return CLV_OK;
}
