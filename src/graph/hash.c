/* hash.c - numbers for types and attributes. */
#include "graph/hash.h"

#include "graph/schema.h"

#include <string.h>

uint64_t clv__hash_text(uint64_t h, const char *text)
{
    while (text && *text)
        h = clv__hash_word(h, (unsigned char)*text++);
    return clv__hash_word(h, 0);
}

uint64_t clv__hash_value(uint64_t h, const clv_value *v)
{
    h = clv__hash_word(h, (uint64_t)v->dtype << 8 | v->rank);
    for (uint32_t i = 0; v->rank != CLV_NO_RANK && i < v->rank; i++)
        h = clv__hash_word(h, (uint64_t)v->dims[i]);
    return h;
}

/* Files keep numbers in single precision, programs in double. */
uint64_t clv__hash_real(uint64_t h, double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return clv__hash_word(h, bits);
}

/* One number may be given for all axes, and one per axis for both sides: a list
 * is as long as it must be. */
static uint32_t least_length(const clv_attr *a, const clv_attr_spec *spec)
{
    uint32_t n = a->n;
    bool equal = true;
    if (!spec ||
        (spec->length != CLV_LENGTH_AXIS && spec->length != CLV_LENGTH_SIDE))
        return n;
    for (uint32_t i = 0; spec->length == CLV_LENGTH_SIDE && i < n / 2; i++)
        equal = equal && a->u.ints[i] == a->u.ints[n / 2 + i];
    if (spec->length == CLV_LENGTH_SIDE && equal && n % 2 == 0)
        n /= 2;
    for (uint32_t i = 1; i < n; i++)
        if (a->u.ints[i] != a->u.ints[0])
            return n;
    return n ? 1 : 0;
}

static uint64_t hash_meaning(uint64_t h, const clv_attr *a,
                             const clv_attr_spec *spec)
{
    h = a->key == CLV_A_OTHER ? clv__hash_text(h, a->name)
                              : clv__hash_word(h, a->key);
    switch ((clv_attr_type)a->type) {
    case CLV_ATTR_INT:
        return clv__hash_word(h, (uint64_t)a->u.i);
    case CLV_ATTR_FLOAT:
        return clv__hash_real(h, a->u.f);
    case CLV_ATTR_STRING:
        return clv__hash_text(h, a->u.s);
    case CLV_ATTR_INTS:
        for (uint32_t i = 0, n = least_length(a, spec); i < n; i++)
            h = clv__hash_word(h, (uint64_t)a->u.ints[i]);
        return h;
    case CLV_ATTR_FLOATS:
        for (uint32_t i = 0; i < a->n; i++)
            h = clv__hash_real(h, a->u.floats[i]);
        return h;
    case CLV_ATTR_STRINGS:
        for (uint32_t i = 0; i < a->n; i++)
            h = clv__hash_text(h, a->u.strings[i]);
        return h;
    case CLV_ATTR_GRAPH:
        return clv__hash_word(h, a->u.body ? a->u.body->n_nodes : 0);
    case CLV_ATTR_TENSOR:
        return h;
    }
    return h;
}

/* Does the attribute say what something else says anyway? The kernel of a
 * convolution is the shape of its weight; how indices count matters only to
 * whom they are given. */
static bool is_idle(const clv_node *n, const clv_attr_spec *spec)
{
    if (n->op == CLV_OP_RESHAPE)
        return true; /* the shape of its result says it all */
    return (spec->key == CLV_A_KERNEL && spec->presence == CLV_PRESENCE_NONE) ||
           (spec->key == CLV_A_INDICES && n->n_out < 2);
}

uint64_t clv__hash_attrs(uint64_t h, const clv_node *n)
{
    const clv_schema *s = clv__schema_of((clv_op)n->op);
    for (uint32_t i = 0; i < s->n_attrs; i++) {
        const clv_attr_spec *spec = &s->attrs[i];
        const clv_attr *own = attr_get(n, (clv_attr_key)spec->key);
        clv_attr given;
        if (!is_idle(n, spec) &&
            (own || clv__attr_default(n, (clv_attr_key)spec->key, &given)))
            h = hash_meaning(h, own ? own : &given, spec);
    }
    for (uint32_t i = 0; n->op == CLV_OP_UNKNOWN && i < n->n_attrs; i++)
        h = hash_meaning(h, &n->attrs[i], NULL);
    return h;
}
