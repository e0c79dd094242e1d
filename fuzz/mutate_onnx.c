/* mutate_onnx.c - see mutate_onnx.h.
 *
 * `changes` at the end is the table of what can happen to a model; each is a
 * function that looks for a place it fits, and says false when there is none.
 */
#include "mutate_onnx.h"

#include "formats/formats.h"
#include "formats/onnx/types.h"
#include "graph/schema.h"
#include "tree.h"

#include <string.h>

enum { MOST_CHANGES = 4, ONNX_TYPES = 27, FLOAT = 1, INT64 = 7 };

/* A message and the one that it is a field of. */
typedef struct place {
    tree *at, *in;
} place;

typedef struct mutation {
    arena *a;
    uint64_t state;
    tree *model, *other; /* other may be NULL */
    place *places[TREE_KINDS];
    uint32_t n[TREE_KINDS];
} mutation;

/* -- chance ---------------------------------------------------------------*/

static uint64_t chance_next(mutation *m)
{
    uint64_t z = m->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 to n - 1. */
static uint32_t below(mutation *m, uint32_t n)
{
    return n ? (uint32_t)(chance_next(m) % n) : 0;
}

static bool one_in(mutation *m, uint32_t n)
{
    return below(m, n) == 0;
}

#define ANY_OF(m, list) \
    ((list)[below(m, (uint32_t)(sizeof(list) / sizeof *(list)))])

/* A whole number: mostly a small one, as of an axis or a size. */
static int64_t number(mutation *m)
{
    static const int64_t odd[] = {
        INT64_MAX,  INT64_MIN, INT32_MAX,       INT32_MIN, UINT32_MAX,
        1LL << 31,  1LL << 32, INT64_MAX / 2,   1 << 16,   (1 << 16) - 1,
        1LL << 40,  1 << 20,   INT64_MIN + 1,   255,       256,
        -(1 << 20), 1000,      (1LL << 53) + 1, 127,       128,
    };
    if (one_in(m, 8))
        return ANY_OF(m, odd);
    return (int64_t)below(m, 12) - 4;
}

static float real_number(mutation *m)
{
    static const float odd[] = {0,      -0.0f, 1,      -1,     0.5f,  2,
                                1e-5f,  1e30f, -1e30f, 1e-40f, 65504, 3.5f,
                                1e-12f, 1e9f,  255,    -128};
    uint32_t not_finite = 0x7f800000u | (below(m, 3) << 31) | below(m, 2);
    float f;
    if (one_in(m, 16)) {
        memcpy(&f, &not_finite, sizeof f);
        return f;
    }
    if (one_in(m, 3))
        return ANY_OF(m, odd);
    return (float)below(m, 4001) / 1000 - 2;
}

/* -- the model at hand ----------------------------------------------------*/

static void count_places(mutation *m, tree *in)
{
    for (tree *t = in->child; t; t = t->next)
        if (t->kind != TREE_LEAF) {
            m->n[t->kind]++;
            count_places(m, t);
        }
}

static void fill_places(mutation *m, tree *in)
{
    for (tree *t = in->child; t; t = t->next)
        if (t->kind != TREE_LEAF) {
            m->places[t->kind][m->n[t->kind]++] = (place){t, in};
            fill_places(m, t);
        }
}

static void find_places(mutation *m)
{
    memset(m->n, 0, sizeof m->n);
    count_places(m, m->model);
    for (int k = 0; k < TREE_KINDS; k++)
        m->places[k] = tree_alloc(m->a, m->n[k] * sizeof(place));
    memset(m->n, 0, sizeof m->n);
    fill_places(m, m->model);
}

/* Any message of the kind; {NULL, NULL} when there is none. */
static place any_place(mutation *m, tree_kind kind)
{
    return m->n[kind] ? m->places[kind][below(m, m->n[kind])]
                      : (place){NULL, NULL};
}

static bool same_text(const tree *a, const tree *b)
{
    return a && b && a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* The field that holds the name of a value in this kind of graph's field. */
static uint32_t name_field(const tree *t)
{
    return t->kind == TREE_TENSOR ? PB_TENSOR_NAME
                                  : (uint32_t)PB_VALUE_INFO_NAME;
}

/* A name that graph g knows: of an input, a stored tensor or a result. NULL
 * when it knows none. */
static const tree *any_name(mutation *m, const tree *g)
{
    const tree *found = NULL;
    uint32_t seen = 0;
    if (one_in(m, 12) && m->n[TREE_GRAPH])
        g = any_place(m, TREE_GRAPH).at;
    for (const tree *t = g->child; t; t = t->next) {
        if (t->kind == TREE_NODE) {
            for (const tree *o = t->child; o; o = o->next)
                if (o->number == PB_NODE_OUTPUT && one_in(m, ++seen))
                    found = o;
        } else if (t->kind == TREE_TENSOR || t->kind == TREE_VALUE) {
            const tree *name = tree_find(t, name_field(t));
            if (name && one_in(m, ++seen))
                found = name;
        }
    }
    return found;
}

/* The rank that the file states for a value, or one that is often met. */
static uint32_t rank_of(mutation *m, const tree *name)
{
    for (uint32_t i = 0; name && i < m->n[TREE_TENSOR]; i++) {
        const tree *t = m->places[TREE_TENSOR][i].at;
        if (same_text(tree_find(t, PB_TENSOR_NAME), name))
            return tree_count(t, PB_TENSOR_DIMS);
    }
    for (uint32_t i = 0; name && i < m->n[TREE_VALUE]; i++) {
        const tree *t = m->places[TREE_VALUE][i].at;
        const tree *type = tree_find(t, PB_VALUE_INFO_TYPE);
        type = type ? tree_find(type, PB_TYPE_OF_TENSOR) : NULL;
        type = type ? tree_find(type, PB_TENSOR_TYPE_SHAPE) : NULL;
        if (type && same_text(tree_find(t, PB_VALUE_INFO_NAME), name))
            return tree_count(type, PB_SHAPE_DIM);
    }
    return 4;
}

static const char *text_of(mutation *m, const tree *t)
{
    return t ? arena_strndup(m->a, (const char *)t->bytes, t->size) : "";
}

/* The operator that a node is read as. */
static clv_op operator_of(mutation *m, const tree *node)
{
    const char *name = text_of(m, tree_find(node, PB_NODE_OP_TYPE));
    const char *domain, *row;
    clv_op op;
    for (size_t i = 0; clv__onnx_row(i, &domain, &row, &op); i++)
        if (!strcmp(row, name))
            return op;
    return CLV_OP_UNKNOWN;
}

static const char *fresh_name(mutation *m)
{
    return arena_printf(m->a, "m%x", below(m, 1u << 30));
}

/* -- tensors --------------------------------------------------------------*/

static uint32_t any_type(mutation *m)
{
    static const uint8_t often[] = {1, 1, 1, 7, 7, 6, 9, 10, 11, 2, 3, 16};
    return one_in(m, 4) ? below(m, ONNX_TYPES) : ANY_OF(m, often);
}

static int64_t any_size(mutation *m)
{
    return one_in(m, 24) ? number(m) : (int64_t)below(m, 6);
}

/* Contents of n elements of a type: floats and whole numbers that are often
 * met, of other types any bytes. */
static tree *contents(mutation *m, uint32_t type, int64_t n)
{
    enum { MOST = 1 << 12 };
    int64_t bytes = clv_dtype_bytes(onnx_dtype(type), n);
    size_t size = bytes < 0 || bytes > MOST ? MOST : (size_t)bytes;
    uint8_t *p = tree_alloc(m->a, size + 8);
    size_t step = type == FLOAT ? 4 : type == INT64 ? 8 : 1;
    for (size_t i = 0; i < size; i += step) {
        float f = real_number(m);
        int64_t whole = one_in(m, 6) ? number(m) : (int64_t)below(m, 4);
        memcpy(p + i, type == FLOAT ? (void *)&f : (void *)&whole, step);
    }
    return tree_bytes(m->a, PB_TENSOR_RAW_DATA, p, size);
}

static tree *new_tensor(mutation *m, uint32_t number_of_field, uint32_t type,
                        uint32_t rank)
{
    tree *t = tree_message(m->a, number_of_field, TREE_TENSOR);
    int64_t n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t size = one_in(m, 20) ? any_size(m) : 1 + (int64_t)below(m, 4);
        tree_add(t, tree_number(m->a, PB_TENSOR_DIMS, (uint64_t)size));
        n = sat_mul(n, size);
    }
    tree_add(t, tree_number(m->a, PB_TENSOR_DATA_TYPE, type));
    tree_add(t, contents(m, type, n < 0 ? 0 : n));
    return t;
}

/* Stores a new tensor in the graph; returns its name. */
static const tree *store(mutation *m, tree *graph, uint32_t type, uint32_t rank)
{
    tree *t = new_tensor(m, PB_GRAPH_INITIALIZER, type, rank);
    tree *name = tree_text(m->a, PB_TENSOR_NAME, fresh_name(m));
    tree_add(t, name);
    tree_add(graph, t);
    return name;
}

static int64_t numel(const tree *tensor)
{
    int64_t n = 1;
    for (const tree *t = tensor->child; t; t = t->next)
        if (t->number == PB_TENSOR_DIMS && t->type == WIRE_VARINT)
            n = sat_mul(n, (int64_t)t->value);
    return n < 0 ? 0 : n;
}

/* Gives a tensor other contents that fit its shape and type. */
static void refill(mutation *m, tree *t)
{
    static const uint32_t data[] = {
        PB_TENSOR_RAW_DATA,    PB_TENSOR_FLOAT_DATA,   PB_TENSOR_INT32_DATA,
        PB_TENSOR_STRING_DATA, PB_TENSOR_INT64_DATA,   PB_TENSOR_DOUBLE_DATA,
        PB_TENSOR_UINT64_DATA, PB_TENSOR_EXTERNAL_DATA};
    const tree *type = tree_find(t, PB_TENSOR_DATA_TYPE);
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        for (tree *f; (f = tree_find(t, data[i]));)
            tree_remove(t, f);
    tree_add(t, contents(m, type ? (uint32_t)type->value : 0, numel(t)));
}

static bool change_tensor(mutation *m)
{
    tree *t = any_place(m, TREE_TENSOR).at;
    if (!t)
        return false;
    tree *type = tree_find(t, PB_TENSOR_DATA_TYPE);
    tree *dim =
        tree_at(t, PB_TENSOR_DIMS, below(m, tree_count(t, PB_TENSOR_DIMS)));
    switch (below(m, 5)) {
    case 0:
        if (dim && dim->type == WIRE_VARINT)
            dim->value = (uint64_t)any_size(m);
        break;
    case 1:
        tree_add(t, tree_number(m->a, PB_TENSOR_DIMS, (uint64_t)any_size(m)));
        break;
    case 2:
        if (dim)
            tree_remove(t, dim);
        break;
    case 3:
        if (type)
            type->value = any_type(m);
        break;
    default:
        break;
    }
    if (!one_in(m, 6)) /* else contents that do not fit */
        refill(m, t);
    return true;
}

/* One element of the contents becomes another. */
static bool change_element(mutation *m)
{
    tree *t = any_place(m, TREE_TENSOR).at;
    tree *raw = t ? tree_find(t, PB_TENSOR_RAW_DATA) : NULL;
    const tree *type = t ? tree_find(t, PB_TENSOR_DATA_TYPE) : NULL;
    if (!raw || raw->type != WIRE_BYTES || raw->size < 8 || !type)
        return false;
    uint8_t *p = tree_alloc(m->a, raw->size);
    size_t step = type->value == FLOAT ? 4 : type->value == INT64 ? 8 : 1;
    size_t at = below(m, (uint32_t)(raw->size / step)) * step;
    float f = real_number(m);
    int64_t whole = number(m);
    memcpy(p, raw->bytes, raw->size);
    memcpy(p + at, step == 4 ? (void *)&f : (void *)&whole, step);
    raw->bytes = p;
    return true;
}

/* -- types of values ------------------------------------------------------*/

static bool change_dim(mutation *m)
{
    tree *d = any_place(m, TREE_DIM).at;
    if (!d)
        return false;
    d->child = NULL;
    if (one_in(m, 6))
        tree_add(d, tree_text(m->a, PB_DIM_PARAM, one_in(m, 2) ? "N" : ""));
    else
        tree_add(d, tree_number(m->a, PB_DIM_VALUE, (uint64_t)any_size(m)));
    return true;
}

static bool change_rank(mutation *m)
{
    tree *s = any_place(m, TREE_SHAPE).at;
    if (!s)
        return false;
    uint32_t n = tree_count(s, PB_SHAPE_DIM);
    if (n && one_in(m, 2)) {
        tree_remove(s, tree_at(s, PB_SHAPE_DIM, below(m, n)));
        return true;
    }
    tree *d = tree_message(m->a, PB_SHAPE_DIM, TREE_DIM);
    tree_add(d, tree_number(m->a, PB_DIM_VALUE, 1 + below(m, 4)));
    if (one_in(m, 2)) {
        tree_add(s, d);
    } else {
        d->next = s->child;
        s->child = d;
    }
    return true;
}

static bool change_element_type(mutation *m)
{
    tree *t = any_place(m, TREE_TENSOR_TYPE).at;
    tree *type = t ? tree_find(t, PB_TENSOR_TYPE_ELEM) : NULL;
    if (!type)
        return false;
    type->value = any_type(m);
    return true;
}

/* What a graph takes or gives loses its type, its shape, or is gone. */
static bool remove_value(mutation *m)
{
    place p = any_place(m, one_in(m, 2) ? TREE_VALUE : TREE_SHAPE);
    if (!p.at)
        return false;
    tree *type = tree_find(p.at, PB_VALUE_INFO_TYPE);
    if (p.at->kind == TREE_VALUE && type && one_in(m, 2))
        tree_remove(p.at, type);
    else
        tree_remove(p.in, p.at);
    return true;
}

/* -- attributes -----------------------------------------------------------*/

static const char *any_word(mutation *m)
{
    static const char *const words[] = {
        "NOTSET",
        "SAME_UPPER",
        "SAME_LOWER",
        "VALID",
        "constant",
        "reflect",
        "edge",
        "wrap",
        "nearest",
        "linear",
        "cubic",
        "bilinear",
        "bicubic",
        "floor",
        "ceil",
        "round_prefer_floor",
        "round_prefer_ceil",
        "half_pixel",
        "asymmetric",
        "align_corners",
        "pytorch_half_pixel",
        "tf_crop_and_resize",
        "output_half_pixel",
        "half_pixel_symmetric",
        "tf_half_pixel_for_nn",
        "DCR",
        "CRD",
        "forward",
        "reverse",
        "bidirectional",
        "Relu",
        "Tanh",
        "Sigmoid",
        "HardSigmoid",
        "Elu",
        "Affine",
        "LeakyRelu",
        "ThresholdedRelu",
        "none",
        "mean",
        "sum",
        "add",
        "mul",
        "max",
        "min",
        "tanh",
        "LEFT",
        "RIGHT",
        "LOGISTIC",
        "SOFTMAX",
        "PROBIT",
        "zeros",
        "border",
        "reflection",
        "gelu",
        "silu",
        "swiglu",
        "stretch",
        "not_larger",
        "not_smaller",
        "TF",
        "IDF",
        "TFIDF",
        "L1",
        "L2",
        "MAX",
        "i,j->ij",
        "ij,jk->ik",
        "bij,bjk->bik",
        "...ij->...ji",
        "ii->i",
        "a*b",
        "[a-z]+",
        "",
    };
    return ANY_OF(m, words);
}

/* One of the choices "a|b|c". */
static const char *any_choice(mutation *m, const char *choices)
{
    uint32_t n = 1;
    for (const char *s = choices; *s; s++)
        n += *s == '|';
    for (uint32_t i = below(m, n); i; i--)
        choices = strchr(choices, '|') + 1;
    return arena_strndup(m->a, choices, strcspn(choices, "|"));
}

static int64_t whole_for(mutation *m, const clv_attr_spec *s, uint32_t rank)
{
    if (s && s->bounded && !one_in(m, 4))
        return (int64_t)((uint64_t)s->lo + below(m, 5) - 1);
    if (s && s->kind == CLV_KIND_DTYPE)
        return any_type(m);
    if (one_in(m, 2))
        return (int64_t)below(m, 2 * rank + 3) - (int64_t)rank - 1;
    return number(m);
}

/* How many numbers a list gets: by the schema, or by the rank of the operand;
 * at times one more or one less. */
static uint32_t length_for(mutation *m, const clv_attr_spec *s, uint32_t rank)
{
    uint32_t axes = rank > 2 ? rank - 2 : 1;
    uint32_t by_rank[] = {rank, axes, 2 * axes, 1, 2, 2 * rank};
    uint32_t n = ANY_OF(m, by_rank);
    if (s && s->length == CLV_LENGTH_AXIS)
        n = axes;
    if (s && s->length == CLV_LENGTH_SIDE)
        n = 2 * axes;
    if (s && s->length == CLV_LENGTH_PAIR)
        n = 2;
    if (one_in(m, 5))
        n = n + below(m, 3) - (n > 0);
    return n < 20 ? n : 20;
}

static tree *real_field(mutation *m, uint32_t field)
{
    float f = real_number(m);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    tree *t = tree_number(m->a, field, bits);
    t->type = WIRE_FIXED32;
    return t;
}

static tree *word_field(mutation *m, uint32_t field, const clv_attr_spec *s)
{
    bool choose = s && s->choices && !one_in(m, 3);
    return tree_text(m->a, field,
                     choose ? any_choice(m, s->choices) : any_word(m));
}

/* A body: a copy of one of the file, or what returns its input. */
static tree *any_body(mutation *m)
{
    tree *g = any_place(m, TREE_GRAPH).at;
    if (!g || tree_count(g, PB_GRAPH_NODE) > 40)
        return tree_message(m->a, PB_ATTR_G, TREE_GRAPH);
    tree *body = tree_copy(m->a, g);
    body->number = PB_ATTR_G;
    return body;
}

/* Writes a value of an AttributeProto type to attribute a. */
static void put_value(mutation *m, tree *a, uint32_t type,
                      const clv_attr_spec *s, uint32_t rank)
{
    uint32_t n = type >= PB_TYPE_FLOATS ? length_for(m, s, rank) : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (type == PB_TYPE_FLOAT || type == PB_TYPE_FLOATS)
            tree_add(a, real_field(m, type == PB_TYPE_FLOAT ? PB_ATTR_F
                                                            : PB_ATTR_FLOATS));
        else if (type == PB_TYPE_INT || type == PB_TYPE_INTS)
            tree_add(a,
                     tree_number(m->a,
                                 type == PB_TYPE_INT ? PB_ATTR_I : PB_ATTR_INTS,
                                 (uint64_t)whole_for(m, s, rank)));
        else if (type == PB_TYPE_STRING || type == PB_TYPE_STRINGS)
            tree_add(a, word_field(m,
                                   type == PB_TYPE_STRING ? PB_ATTR_S
                                                          : PB_ATTR_STRINGS,
                                   s));
        else if (type == PB_TYPE_TENSOR)
            tree_add(a, new_tensor(m, PB_ATTR_T, any_type(m), below(m, 3)));
        else if (type == PB_TYPE_GRAPH)
            tree_add(a, any_body(m));
    }
    tree_add(a, tree_number(m->a, PB_ATTR_TYPE, type));
}

static uint32_t onnx_type_of(mutation *m, const clv_attr_spec *s)
{
    static const uint8_t types[] = {
        [CLV_KIND_INT] = PB_TYPE_INT,       [CLV_KIND_BOOL] = PB_TYPE_INT,
        [CLV_KIND_FLOAT] = PB_TYPE_FLOAT,   [CLV_KIND_NUMBER] = PB_TYPE_FLOAT,
        [CLV_KIND_STR] = PB_TYPE_STRING,    [CLV_KIND_INTS] = PB_TYPE_INTS,
        [CLV_KIND_FLOATS] = PB_TYPE_FLOATS, [CLV_KIND_STRS] = PB_TYPE_STRINGS,
        [CLV_KIND_DTYPE] = PB_TYPE_INT,     [CLV_KIND_BODY] = PB_TYPE_GRAPH};
    return s && !one_in(m, 16) ? types[s->kind] : 1 + below(m, 8);
}

/* ONNX's name of an attribute; of one that we know under no key, any. */
static const char *attr_name_for(mutation *m, clv_attr_key key)
{
    const char *name, *found = NULL;
    clv_attr_key of;
    uint32_t seen = 0;
    for (size_t i = 0; clv__onnx_attr_row(i, &name, &of); i++)
        if (of == key && one_in(m, ++seen))
            found = name;
    return found ? found : clv__attr_name(key);
}

/* Adds an attribute to a node: one of its schema, seldom any. */
static void put_attr(mutation *m, tree *node, const clv_attr_spec *s)
{
    uint32_t rank = rank_of(m, tree_find(node, PB_NODE_INPUT));
    tree *a = tree_message(m->a, PB_NODE_ATTRIBUTE, TREE_ATTR);
    const char *name = attr_name_for(m, s ? s->key : CLV_A_OTHER);
    tree_add(a, tree_text(m->a, PB_ATTR_NAME, name));
    put_value(m, a, onnx_type_of(m, s), s, rank);
    tree_add(node, a);
}

static const clv_attr_spec *any_spec(mutation *m, clv_op op)
{
    const clv_schema *s = clv__schema_of(op);
    return s->n_attrs && !one_in(m, 8) ? &s->attrs[below(m, s->n_attrs)] : NULL;
}

static bool add_attr(mutation *m)
{
    tree *node = any_place(m, TREE_NODE).at;
    if (node)
        put_attr(m, node, any_spec(m, operator_of(m, node)));
    return node;
}

/* The key under which we know an attribute of this name. */
static clv_attr_key key_of(mutation *m, const tree *attr)
{
    const char *want = text_of(m, tree_find(attr, PB_ATTR_NAME)), *name;
    clv_attr_key key;
    for (size_t i = 0; clv__onnx_attr_row(i, &name, &key); i++)
        if (!strcmp(name, want))
            return key;
    return CLV_A_OTHER;
}

static bool change_attr(mutation *m)
{
    place p = any_place(m, TREE_ATTR);
    if (!p.at)
        return false;
    clv_attr_key key = key_of(m, p.at);
    const clv_attr_spec *s = p.in->kind == TREE_NODE && key != CLV_A_OTHER
                                 ? clv__attr_spec(operator_of(m, p.in), key)
                                 : NULL;
    const tree *type = tree_find(p.at, PB_ATTR_TYPE);
    const tree *name = tree_find(p.at, PB_ATTR_NAME);
    uint32_t kind = type ? (uint32_t)type->value : onnx_type_of(m, s);
    uint32_t rank = rank_of(m, tree_find(p.in, PB_NODE_INPUT));
    if (kind == PB_TYPE_GRAPH && !one_in(m, 6))
        return false;
    p.at->child = NULL;
    if (name)
        tree_add(p.at, tree_bytes(m->a, PB_ATTR_NAME, name->bytes, name->size));
    put_value(m, p.at, kind, s, rank);
    return true;
}

/* One number of a list changes, goes, or comes twice. */
static bool change_list(mutation *m)
{
    place p = any_place(m, TREE_ATTR);
    uint32_t n = p.at ? tree_count(p.at, PB_ATTR_INTS) : 0;
    tree *t = n ? tree_at(p.at, PB_ATTR_INTS, below(m, n)) : NULL;
    if (!t || t->type != WIRE_VARINT)
        return false;
    uint32_t what = below(m, 6);
    if (what == 0)
        tree_remove(p.at, t);
    else if (what == 1)
        tree_add(p.at, tree_copy(m->a, t));
    else if (what == 2)
        t->value = (uint64_t)number(m);
    else
        t->value += below(m, 5) - 2u;
    return true;
}

static bool remove_attr(mutation *m)
{
    place p = any_place(m, TREE_ATTR);
    if (p.at)
        tree_remove(p.in, p.at);
    return p.at;
}

/* -- nodes ----------------------------------------------------------------*/

static uint32_t table_size(void)
{
    static uint32_t n;
    const char *domain, *name;
    clv_op op;
    while (clv__onnx_row(n, &domain, &name, &op))
        n++;
    return n;
}

static void set_text(mutation *m, tree *node, uint32_t field, const char *text)
{
    for (tree *f; (f = tree_find(node, field));)
        tree_remove(node, f);
    if (*text)
        tree_add(node, tree_text(m->a, field, text));
}

/* Makes a node one of another operator; returns which. */
static clv_op name_node(mutation *m, tree *node)
{
    const char *domain, *name;
    clv_op op;
    clv__onnx_row(below(m, table_size()), &domain, &name, &op);
    set_text(m, node, PB_NODE_OP_TYPE, name);
    set_text(m, node, PB_NODE_DOMAIN, domain);
    return op;
}

static bool change_operator(mutation *m)
{
    tree *node = any_place(m, TREE_NODE).at;
    if (node)
        name_node(m, node);
    return node;
}

static const tree *any_operand(mutation *m, tree *graph, const char *input)
{
    static const char *const lists[] = {"axes",  "shape",   "starts",  "start",
                                        "ends",  "end",     "steps",   "sizes",
                                        "index", "indices", "repeats", "k",
                                        "axis",  "size",    "pads",    "split"};
    bool list = false;
    for (size_t i = 0; input && i < sizeof lists / sizeof *lists; i++)
        list = list || !strcmp(input, lists[i]);
    const tree *name = NULL;
    if (list && !one_in(m, 6))
        return store(m, graph, one_in(m, 6) ? 6 : INT64, one_in(m, 5) ? 0 : 1);
    if (!one_in(m, 4))
        name = any_name(m, graph);
    if (name)
        return name;
    return store(m, graph, any_type(m), below(m, 5));
}

static void put_operands(mutation *m, tree *node, tree *graph, clv_op op)
{
    const clv_schema *s = clv__schema_of(op);
    const clv_input_spec *in = s->inputs;
    uint32_t least = s->min_in, most = s->max_in == 255 ? least + 3 : s->max_in;
    uint32_t n = least + below(m, most - least + 1);
    if (one_in(m, 16))
        n = below(m, most + 2);
    for (uint32_t i = 0; i < n; i++) {
        const char *input = in && in->name ? in->name : NULL;
        bool left_out = input && in->need == CLV_NEED_OPT && one_in(m, 3);
        const tree *name = left_out ? NULL : any_operand(m, graph, input);
        tree_add(node,
                 tree_bytes(m->a, PB_NODE_INPUT, name ? name->bytes : NULL,
                            name ? name->size : 0));
        if (input && in->need != CLV_NEED_REST && in->need != CLV_NEED_MORE)
            in++;
    }
}

/* An output of the graph without a stated type. */
static void give_out(mutation *m, tree *graph, const tree *name)
{
    tree *v = tree_message(m->a, PB_GRAPH_OUTPUT, TREE_VALUE);
    tree *type = tree_message(m->a, PB_VALUE_INFO_TYPE, TREE_TYPE);
    tree *of = tree_message(m->a, PB_TYPE_OF_TENSOR, TREE_TENSOR_TYPE);
    tree_add(of, tree_number(m->a, PB_TENSOR_TYPE_ELEM, FLOAT));
    tree_add(type, of);
    tree_add(v, tree_bytes(m->a, PB_VALUE_INFO_NAME, name->bytes, name->size));
    tree_add(v, type);
    tree_add(graph, v);
}

static bool add_node(mutation *m)
{
    tree *graph = any_place(m, TREE_GRAPH).at;
    if (!graph)
        return false;
    tree *node = tree_message(m->a, PB_GRAPH_NODE, TREE_NODE);
    clv_op op = name_node(m, node);
    const clv_schema *s = clv__schema_of(op);
    put_operands(m, node, graph, op);
    for (uint32_t i = 0; i < s->n_attrs; i++)
        if (s->attrs[i].presence == CLV_PRESENCE_REQUIRED || one_in(m, 4))
            put_attr(m, node, &s->attrs[i]);
    uint32_t most = s->max_out == 255 ? 3 : s->max_out ? s->max_out : 1;
    for (uint32_t n = 1 + below(m, most); n; n--) {
        tree *out = tree_text(m->a, PB_NODE_OUTPUT, fresh_name(m));
        tree_add(node, out);
        if (!one_in(m, 4))
            give_out(m, graph, out);
    }
    tree_add(graph, node);
    return true;
}

static bool remove_node(mutation *m)
{
    place p = any_place(m, TREE_NODE);
    if (p.at)
        tree_remove(p.in, p.at);
    return p.at;
}

static bool repeat_node(mutation *m)
{
    place p = any_place(m, TREE_NODE);
    if (!p.at)
        return false;
    tree *copy = tree_copy(m->a, p.at);
    for (tree *t = copy->child; t; t = t->next)
        if (t->number == PB_NODE_OUTPUT) {
            *t = (tree){.next = t->next,
                        .number = PB_NODE_OUTPUT,
                        .type = WIRE_BYTES,
                        .bytes = (const uint8_t *)fresh_name(m)};
            t->size = strlen((const char *)t->bytes);
        }
    tree_add(p.in, copy);
    return true;
}

/* -- wires ----------------------------------------------------------------*/

static bool change_input(mutation *m)
{
    place p = any_place(m, TREE_NODE);
    uint32_t n = p.at ? tree_count(p.at, PB_NODE_INPUT) : 0;
    if (!n || p.in->kind != TREE_GRAPH)
        return false;
    tree *t = tree_at(p.at, PB_NODE_INPUT, below(m, n));
    const tree *name = NULL;
    switch (below(m, 8)) {
    case 0:
        tree_remove(p.at, t);
        break;
    case 1:
        t->size = 0;
        break;
    case 2:
        tree_add(p.at, tree_copy(m->a, t));
        break;
    default:
        name = any_operand(m, p.in, NULL);
        t->bytes = name->bytes;
        t->size = name->size;
        break;
    }
    return true;
}

static bool add_input(mutation *m)
{
    place p = any_place(m, TREE_NODE);
    if (!p.at || p.in->kind != TREE_GRAPH)
        return false;
    const clv_schema *s = clv__schema_of(operator_of(m, p.at));
    uint32_t n = tree_count(p.at, PB_NODE_INPUT);
    const char *input = NULL;
    for (uint32_t i = 0; i <= n && s->inputs && s->inputs[i].name; i++)
        input = i == n ? s->inputs[i].name : NULL;
    if (n >= s->max_in && !one_in(m, 8))
        return false;
    const tree *name = any_operand(m, p.in, input);
    tree_add(p.at, tree_bytes(m->a, PB_NODE_INPUT, name->bytes, name->size));
    return true;
}

static bool change_output(mutation *m)
{
    place p = any_place(m, TREE_NODE);
    uint32_t n = p.at ? tree_count(p.at, PB_NODE_OUTPUT) : 0;
    if (!p.at)
        return false;
    tree *t = n ? tree_at(p.at, PB_NODE_OUTPUT, below(m, n)) : NULL;
    if (t && one_in(m, 3)) {
        tree_remove(p.at, t);
    } else if (t && one_in(m, 3)) {
        t->size = 0;
    } else {
        tree *out = tree_text(m->a, PB_NODE_OUTPUT, fresh_name(m));
        tree_add(p.at, out);
        if (p.in->kind == TREE_GRAPH && one_in(m, 2))
            give_out(m, p.in, out);
    }
    return true;
}

/* An input or output of a graph (a body too) takes the name of another value,
 * or comes twice. */
static bool change_formal(mutation *m)
{
    place p = any_place(m, TREE_VALUE);
    tree *t = p.at ? tree_find(p.at, PB_VALUE_INFO_NAME) : NULL;
    const tree *name = t ? any_name(m, p.in) : NULL;
    if (!name)
        return false;
    if (one_in(m, 3)) {
        tree_add(p.in, tree_copy(m->a, p.at));
        return true;
    }
    t->bytes = name->bytes;
    t->size = name->size;
    return true;
}

/* -- the file -------------------------------------------------------------*/

static bool change_opset(mutation *m)
{
    tree *o = any_place(m, TREE_OPSET).at;
    tree *version = o ? tree_find(o, PB_OPSET_VERSION) : NULL;
    if (!version)
        return false;
    version->value = one_in(m, 8) ? (uint64_t)number(m) : 1 + below(m, 27);
    return true;
}

/* Takes nodes of the other model, with all that it stores. */
static bool take_over(mutation *m)
{
    tree *graph = m->n[TREE_GRAPH] ? m->places[TREE_GRAPH][0].at : NULL;
    tree *from = m->other ? tree_find(m->other, PB_MODEL_GRAPH) : NULL;
    if (!graph || !from || from->kind != TREE_GRAPH)
        return false;
    uint32_t n = tree_count(from, PB_GRAPH_NODE);
    uint32_t first = below(m, n), last = first + below(m, 4), i = 0;
    for (const tree *t = from->child; t; t = t->next) {
        bool node = t->kind == TREE_NODE;
        if (node ? (i >= first && i <= last) : t->kind != TREE_LEAF)
            tree_add(graph, tree_copy(m->a, t));
        i += node;
    }
    return true;
}

/* Any leaf: a number changes, or a byte. */
static bool change_leaf(mutation *m)
{
    static const tree_kind in[] = {TREE_TENSOR, TREE_NODE,  TREE_ATTR,
                                   TREE_VALUE,  TREE_OPSET, TREE_SPARSE};
    tree *t = any_place(m, ANY_OF(m, in)).at;
    uint32_t n = 0;
    tree *leaf = NULL;
    for (tree *f = t ? t->child : NULL; f; f = f->next)
        if (f->kind == TREE_LEAF && one_in(m, ++n))
            leaf = f;
    if (!leaf)
        return false;
    if (leaf->type != WIRE_BYTES) {
        leaf->value = (uint64_t)number(m);
    } else if (leaf->size) {
        uint8_t *p = tree_alloc(m->a, leaf->size);
        memcpy(p, leaf->bytes, leaf->size);
        p[below(m, (uint32_t)leaf->size)] ^= (uint8_t)(1u << below(m, 8));
        leaf->bytes = p;
        leaf->size -= one_in(m, 8) ? below(m, (uint32_t)leaf->size) : 0;
    }
    return true;
}

static const struct {
    bool (*change)(mutation *m);
    uint32_t weight;
} changes[] = {
    {change_tensor, 8}, {change_element, 8},      {change_dim, 6},
    {change_rank, 4},   {change_element_type, 4}, {remove_value, 2},
    {add_attr, 8},      {change_attr, 10},        {change_list, 8},
    {remove_attr, 3},   {change_operator, 6},     {add_node, 14},
    {remove_node, 2},   {repeat_node, 2},         {change_input, 8},
    {add_input, 5},     {change_output, 4},       {change_formal, 3},
    {change_opset, 3},  {take_over, 4},           {change_leaf, 3},
};

static bool change_something(mutation *m)
{
    uint32_t total = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        total += changes[i].weight;
    uint32_t at = below(m, total);
    for (size_t i = 0;; i++) {
        if (at < changes[i].weight)
            return changes[i].change(m);
        at -= changes[i].weight;
    }
}

size_t onnx_mutate(const uint8_t *data, size_t size, const uint8_t *other,
                   size_t other_size, uint8_t *out, size_t room, uint64_t seed)
{
    enum { TRIES = 40 };
    arena a = {0};
    clv_buf text = {0};
    mutation m = {.a = &a, .state = seed};
    m.model = tree_read(&a, data, size);
    m.other = other ? tree_read(&a, other, other_size) : NULL;
    size_t written = 0;
    if (m.model) {
        uint32_t want = 1 + (one_in(&m, 2) ? below(&m, MOST_CHANGES) : 0);
        for (int i = 0; i < TRIES && want; i++) {
            find_places(&m);
            want -= change_something(&m);
        }
        tree_write(m.model, &text);
        if (!text.failed && text.len <= room) {
            memcpy(out, text.text, text.len);
            written = text.len;
        }
    }
    clv_buf_free(&text);
    arena_free(&a);
    return written;
}
