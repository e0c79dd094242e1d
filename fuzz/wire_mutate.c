/* wire_mutate.c - changes protobuf messages without knowing their schema.
 *
 * A message is read into a tree of fields: bytes that read as a message are
 * taken for one. The tree is changed and written again with the lengths put
 * right, so that most of what comes out is still a message: a number becomes a
 * nasty one, a text another text of the file, a field goes, comes twice, moves,
 * or is replaced by one of another file. */
#include "wire_mutate.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_FIELDS = 20000,
    DEEPEST = 16,
    LARGEST_NUMBER = 64, /* of a field; more is no message of ONNX */
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct field {
    uint32_t number, type;
    uint64_t value;      /* not of BYTES */
    const uint8_t *data; /* of BYTES without fields */
    size_t size;
    struct field *first, *next; /* fields of a message */
    unsigned times;             /* it is written */
} field;

typedef struct tree {
    field *fields[MOST_FIELDS]; /* in the order of the file */
    size_t n;
    field *root;
} tree;

/* -- reading --------------------------------------------------------------*/

static int read_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t byte = *(*p)++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return 1;
    }
    return 0;
}

static int read_fixed(const uint8_t **p, const uint8_t *end, size_t size,
                      uint64_t *out)
{
    if ((size_t)(end - *p) < size)
        return 0;
    *out = 0;
    memcpy(out, *p, size);
    *p += size;
    return 1;
}

static field *new_field(tree *t, uint32_t number, uint32_t type)
{
    field *f = t->n < MOST_FIELDS ? calloc(1, sizeof *f) : NULL;
    if (!f)
        return NULL;
    f->number = number;
    f->type = type;
    f->times = 1;
    t->fields[t->n++] = f;
    return f;
}

/* Removes the fields that were read after the first n. */
static void drop_fields(tree *t, size_t n)
{
    while (t->n > n)
        free(t->fields[--t->n]);
}

static field *read_message(tree *t, const uint8_t *p, const uint8_t *end,
                           int depth, int *ok);

static void read_bytes(tree *t, field *f, const uint8_t *data, size_t size,
                       int depth)
{
    size_t before = t->n;
    int ok = size >= 2 && depth < DEEPEST;
    f->data = data;
    f->size = size;
    f->first = ok ? read_message(t, data, data + size, depth + 1, &ok) : NULL;
    if (!ok) {
        drop_fields(t, before);
        f->first = NULL;
    }
}

/* The fields between p and end; *ok is 0 when they are none. */
static field *read_message(tree *t, const uint8_t *p, const uint8_t *end,
                           int depth, int *ok)
{
    field *first = NULL, **last = &first;
    while (p < end) {
        uint64_t key, size = 0;
        field *f = NULL;
        if (read_varint(&p, end, &key) && key >> 3 &&
            key >> 3 <= LARGEST_NUMBER)
            f = new_field(t, (uint32_t)(key >> 3), key & 7);
        *ok = f != NULL;
        if (!*ok)
            return first;
        if (f->type == VARINT)
            *ok = read_varint(&p, end, &f->value);
        else if (f->type == FIXED64 || f->type == FIXED32)
            *ok = read_fixed(&p, end, f->type == FIXED64 ? 8 : 4, &f->value);
        else
            *ok = f->type == BYTES && read_varint(&p, end, &size) &&
                  size <= (size_t)(end - p);
        if (!*ok)
            return first;
        if (f->type == BYTES)
            read_bytes(t, f, p, (size_t)size, depth);
        p += size;
        *last = f;
        last = &f->next;
    }
    return first;
}

static int read_tree(tree *t, const uint8_t *data, size_t size)
{
    int ok = 1;
    t->n = 0;
    t->root = read_message(t, data, data + size, 0, &ok);
    return ok && t->n;
}

/* -- writing --------------------------------------------------------------*/

typedef struct sink {
    uint8_t *data;
    size_t size, max;
} sink;

static void add(sink *s, const void *data, size_t size)
{
    if (size > s->max - s->size)
        size = s->max - s->size;
    if (size)
        memcpy(s->data + s->size, data, size);
    s->size += size;
}

static void add_varint(sink *s, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        add(s, &byte, 1);
        v >>= 7;
    } while (v);
}

/* Bytes of the fields from f on. */
static size_t measure(const field *f, int depth)
{
    sink length = {(uint8_t[10]){0}, 0, 10};
    size_t size = 0;
    for (; f && depth <= 2 * DEEPEST; f = f->next) {
        size_t one = f->type == FIXED64 ? 8 : f->type == FIXED32 ? 4 : f->size;
        if (f->first)
            one = measure(f->first, depth + 1);
        length.size = 0;
        add_varint(&length, (uint64_t)f->number << 3);
        size += length.size * f->times;
        length.size = 0;
        if (f->type == VARINT || f->type == BYTES)
            add_varint(&length, f->type == BYTES ? one : f->value);
        size += (length.size + (f->type == VARINT ? 0 : one)) * f->times;
    }
    return size;
}

static void write_message(sink *s, const field *f, int depth);

static void write_field(sink *s, const field *f, int depth)
{
    add_varint(s, (uint64_t)f->number << 3 | f->type);
    if (f->type == VARINT) {
        add_varint(s, f->value);
    } else if (f->type != BYTES) {
        add(s, &f->value, f->type == FIXED64 ? 8 : 4);
    } else if (!f->first) {
        add_varint(s, f->size);
        add(s, f->data, f->size);
    } else {
        add_varint(s, measure(f->first, depth + 1));
        write_message(s, f->first, depth + 1);
    }
}

static void write_message(sink *s, const field *f, int depth)
{
    for (; f && depth <= 2 * DEEPEST && s->size < s->max; f = f->next)
        for (unsigned i = 0; i < f->times; i++)
            write_field(s, f, depth);
}

/* -- changing -------------------------------------------------------------*/

static const uint64_t nasty[] = {
    0,          1,          2,          3,          7,
    8,          16,         127,        128,        255,
    256,        1000,       65535,      65536,      1000003,
    1u << 24,   INT32_MAX,  1u << 31,   UINT32_MAX, UINT64_C(1) << 32,
    INT64_MAX,  UINT64_MAX, 1ull << 63, 1ull << 62, UINT64_MAX - 1,
    1ull << 53, 1ull << 40, 3000000000, -5ull,      -1000003ull,
};

static uint64_t nasty_number(uint64_t *state, uint64_t old)
{
    switch (wire_below(state, 6)) {
    case 0:
        return old + 1;
    case 1:
        return old - 1;
    case 2:
        return wire_below(state, 32);
    case 3:
        return old * wire_below(state, 5);
    default:
        return nasty[wire_below(state, sizeof nasty / sizeof *nasty)];
    }
}

/* A field of this type, or NULL after some tries. */
static field *any_field(uint64_t *state, const tree *t, uint32_t type)
{
    for (int i = 0; i < 50; i++) {
        field *f = t->fields[wire_below(state, t->n)];
        if (f->type == type)
            return f;
    }
    return NULL;
}

static void change_number(uint64_t *state, tree *t)
{
    static const uint32_t types[] = {VARINT, VARINT, VARINT, FIXED32, FIXED64};
    field *f = any_field(state, t, types[wire_below(state, 5)]);
    if (f)
        f->value = nasty_number(state, f->value);
}

/* Another text of the same number in the tree, or in the other one. */
static void change_bytes(uint64_t *state, tree *t, const tree *other)
{
    static const uint8_t raw[64] = {0xff, 0xff, 0xff, 0x7f, 0,    0,
                                    0xc0, 0x7f, 0x80, 0,    0xff, 1};
    field *f = any_field(state, t, BYTES);
    for (int i = 0; f && f->first && i < 20; i++)
        f = any_field(state, t, BYTES);
    if (!f || f->first)
        return;
    const tree *from = other->n && wire_below(state, 4) == 0 ? other : t;
    field *g = any_field(state, from, BYTES);
    switch (wire_below(state, 5)) {
    case 0:
        f->size = wire_below(state, f->size + 1);
        break;
    case 1:
        f->data = raw;
        f->size = wire_below(state, sizeof raw);
        break;
    default:
        for (int i = 0; i < 50 && g && (g->first || g->number != f->number);
             i++)
            g = any_field(state, from, BYTES);
        if (g && !g->first) {
            f->data = g->data;
            f->size = g->size;
        }
    }
}

static void exchange(field *f, field *g)
{
    field *next_f = f->next, *next_g = g->next, kept = *f;
    *f = *g;
    *g = kept;
    f->next = next_f;
    g->next = next_g;
}

/* Is g f itself, or one of the fields in it? */
static int holds(const field *f, const field *g)
{
    if (f == g)
        return 1;
    for (const field *c = f->first; c; c = c->next)
        if (holds(c, g))
            return 1;
    return 0;
}

/* Two fields change places: neighbours, or any of the same number. */
static void change_places(uint64_t *state, tree *t)
{
    field *f = t->fields[wire_below(state, t->n)], *g = f->next;
    for (int i = 0; i < 50 && (!g || g->number != f->number); i++)
        g = t->fields[wire_below(state, t->n)];
    if (g && !holds(f, g) && !holds(g, f))
        exchange(f, g);
}

/* A field of the other file, with all that is in it. */
static void change_graft(uint64_t *state, tree *t, const tree *other)
{
    field *f = t->fields[wire_below(state, t->n)];
    for (int i = 0; other->n && i < 50; i++) {
        const field *g = other->fields[wire_below(state, other->n)];
        if (g->number != f->number || g->type != f->type)
            continue;
        field *next = f->next;
        *f = *g;
        f->next = next;
        return;
    }
}

static void change_once(uint64_t *state, tree *t, const tree *other)
{
    field *f = t->fields[wire_below(state, t->n)];
    switch (wire_below(state, 12)) {
    case 0:
        f->times = 0;
        break;
    case 1:
        f->times =
            1 + (unsigned)wire_below(state, wire_below(state, 8) ? 3 : 200);
        break;
    case 2:
    case 3:
        change_places(state, t);
        break;
    case 4:
        change_graft(state, t, other);
        break;
    case 5:
    case 6:
    case 7:
        change_bytes(state, t, other);
        break;
    default:
        change_number(state, t);
    }
}

size_t byte_mutate(uint64_t *state, const uint8_t *a, size_t n, uint8_t *out,
                   size_t max)
{
    size_t size = n < max ? n : max;
    memmove(out, a, size);
    for (uint64_t i = 1 + wire_below(state, 4); i-- && size;) {
        size_t at = (size_t)wire_below(state, size);
        size_t len = (size_t)wire_below(state, size - at < 64 ? size - at : 64);
        switch (wire_below(state, 5)) {
        case 0:
            out[at] ^= (uint8_t)(1 << wire_below(state, 8));
            break;
        case 1:
            out[at] = (uint8_t)wire_random(state);
            break;
        case 2: /* a piece goes */
            memmove(out + at, out + at + len, size - at - len);
            size -= len;
            break;
        case 3: /* a piece comes twice */
            if (len > max - size)
                len = max - size;
            memmove(out + at + len, out + at, size - at);
            size += len;
            break;
        default: /* a piece comes from elsewhere */
            memmove(out + at, out + wire_below(state, size - len), len);
        }
    }
    return wire_below(state, 20) ? size : (size_t)wire_below(state, size + 1);
}

size_t wire_mutate(uint64_t *state, const uint8_t *a, size_t n,
                   const uint8_t *b, size_t n_b, uint8_t *out, size_t max)
{
    tree *t = malloc(sizeof *t), *other = malloc(sizeof *other);
    sink s = {out, 0, max};
    if (t)
        t->n = 0;
    if (other)
        other->n = 0;
    int ok = t && other && wire_below(state, 20) && read_tree(t, a, n);
    if (ok) {
        if (!read_tree(other, b, n_b))
            drop_fields(other, 0);
        for (uint64_t i = 1 + wire_below(state, 1 + wire_below(state, 4)); i--;)
            change_once(state, t, other);
        write_message(&s, t->root, 0);
        drop_fields(other, 0);
    }
    if (t)
        drop_fields(t, 0);
    free(t);
    free(other);
    if (!ok)
        return byte_mutate(state, a, n, out, max);
    if (wire_below(state, 16))
        return s.size;
    return byte_mutate(state, out, s.size, out, max);
}
