/* tree.c - see tree.h. */
#include "tree.h"

#include "formats/onnx/proto.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 24 }; /* what is nested deeper stays bytes */

/* Which fields of a message are messages. */
static const struct {
    tree_kind in;
    uint32_t number;
    tree_kind kind;
} nested[] = {
    {TREE_MODEL, PB_MODEL_GRAPH, TREE_GRAPH},
    {TREE_MODEL, PB_MODEL_OPSET_IMPORT, TREE_OPSET},
    {TREE_MODEL, PB_MODEL_FUNCTIONS, TREE_FUNCTION},
    {TREE_GRAPH, PB_GRAPH_NODE, TREE_NODE},
    {TREE_GRAPH, PB_GRAPH_INITIALIZER, TREE_TENSOR},
    {TREE_GRAPH, PB_GRAPH_SPARSE_INITIALIZER, TREE_SPARSE},
    {TREE_GRAPH, PB_GRAPH_INPUT, TREE_VALUE},
    {TREE_GRAPH, PB_GRAPH_OUTPUT, TREE_VALUE},
    {TREE_GRAPH, PB_GRAPH_VALUE_INFO, TREE_VALUE},
    {TREE_FUNCTION, PB_FUNCTION_NODE, TREE_NODE},
    {TREE_FUNCTION, PB_FUNCTION_OPSET_IMPORT, TREE_OPSET},
    {TREE_FUNCTION, PB_FUNCTION_ATTRIBUTE_PROTO, TREE_ATTR},
    {TREE_NODE, PB_NODE_ATTRIBUTE, TREE_ATTR},
    {TREE_ATTR, PB_ATTR_T, TREE_TENSOR},
    {TREE_ATTR, PB_ATTR_G, TREE_GRAPH},
    {TREE_ATTR, PB_ATTR_TP, TREE_TYPE},
    {TREE_ATTR, PB_ATTR_SPARSE, TREE_SPARSE},
    {TREE_SPARSE, PB_SPARSE_VALUES, TREE_TENSOR},
    {TREE_SPARSE, PB_SPARSE_INDICES, TREE_TENSOR},
    {TREE_VALUE, PB_VALUE_INFO_TYPE, TREE_TYPE},
    {TREE_TYPE, PB_TYPE_OF_TENSOR, TREE_TENSOR_TYPE},
    {TREE_TYPE, PB_TYPE_OF_SPARSE, TREE_TENSOR_TYPE},
    {TREE_TYPE, PB_TYPE_OF_SEQUENCE, TREE_LIST_TYPE},
    {TREE_TYPE, PB_TYPE_OF_OPTIONAL, TREE_LIST_TYPE},
    {TREE_LIST_TYPE, PB_ELEM_TYPE, TREE_TYPE},
    {TREE_TENSOR_TYPE, PB_TENSOR_TYPE_SHAPE, TREE_SHAPE},
    {TREE_SHAPE, PB_SHAPE_DIM, TREE_DIM},
};

static tree_kind kind_of(tree_kind in, uint32_t number)
{
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
        if (nested[i].in == in && nested[i].number == number)
            return nested[i].kind;
    return TREE_LEAF;
}

void *tree_alloc(arena *a, size_t size)
{
    void *p = arena_zalloc(a, size ? size : 1);
    if (!p)
        abort();
    return p;
}

/* Reads the fields of a message of this kind; false when it is none. */
static bool read_fields(arena *a, wire w, tree *message, int depth)
{
    tree **end = &message->child;
    while (wire_left(&w)) {
        wire_field f;
        if (wire_next(&w, &f, NULL) != CLV_OK)
            return false;
        tree *t = tree_alloc(a, sizeof *t);
        *t = (tree){.number = f.number, .type = f.type, .value = f.value};
        if (f.type == WIRE_BYTES) {
            t->bytes = f.bytes.cur;
            t->size = wire_left(&f.bytes);
            t->kind = kind_of(message->kind, f.number);
            if (t->kind != TREE_LEAF &&
                (depth == DEEPEST || !read_fields(a, f.bytes, t, depth + 1))) {
                t->kind = TREE_LEAF;
                t->child = NULL;
            }
        }
        *end = t;
        end = &t->next;
    }
    return true;
}

tree *tree_read(arena *a, const uint8_t *data, size_t size)
{
    tree *t = tree_alloc(a, sizeof *t);
    t->kind = TREE_MODEL;
    t->type = WIRE_BYTES;
    return read_fields(a, wire_over(data, size), t, 0) ? t : NULL;
}

static void write_fixed(clv_buf *out, const tree *t, size_t size)
{
    char bytes[8];
    memcpy(bytes, &t->value, size);
    pb_varint(out, (uint64_t)t->number << 3 | (uint64_t)t->type);
    clv_buf_add(out, bytes, size);
}

void tree_write(const tree *message, clv_buf *out)
{
    for (const tree *t = message->child; t; t = t->next) {
        clv_buf inner = {0};
        switch (t->type) {
        case WIRE_VARINT:
            pb_uint(out, (int)t->number, t->value);
            break;
        case WIRE_FIXED64:
            write_fixed(out, t, 8);
            break;
        case WIRE_FIXED32:
            write_fixed(out, t, 4);
            break;
        case WIRE_BYTES:
            if (t->kind == TREE_LEAF) {
                pb_bytes(out, (int)t->number, t->bytes, t->size);
                break;
            }
            tree_write(t, &inner);
            pb_message(out, (int)t->number, &inner);
            break;
        }
    }
}

tree *tree_copy(arena *a, const tree *t)
{
    tree *copy = tree_alloc(a, sizeof *copy);
    *copy = *t;
    copy->next = copy->child = NULL;
    tree **end = &copy->child;
    for (const tree *c = t->child; c; c = c->next) {
        *end = tree_copy(a, c);
        end = &(*end)->next;
    }
    return copy;
}

tree *tree_at(const tree *message, uint32_t number, uint32_t i)
{
    for (tree *t = message->child; t; t = t->next)
        if (t->number == number && i-- == 0)
            return t;
    return NULL;
}

tree *tree_find(const tree *message, uint32_t number)
{
    return tree_at(message, number, 0);
}

uint32_t tree_count(const tree *message, uint32_t number)
{
    uint32_t n = 0;
    for (const tree *t = message->child; t; t = t->next)
        n += t->number == number;
    return n;
}

void tree_add(tree *message, tree *field)
{
    tree **end = &message->child;
    while (*end)
        end = &(*end)->next;
    *end = field;
    field->next = NULL;
}

void tree_remove(tree *message, const tree *field)
{
    for (tree **t = &message->child; *t; t = &(*t)->next)
        if (*t == field) {
            *t = field->next;
            return;
        }
}

tree *tree_number(arena *a, uint32_t number, uint64_t value)
{
    tree *t = tree_alloc(a, sizeof *t);
    *t = (tree){.number = number, .type = WIRE_VARINT, .value = value};
    return t;
}

tree *tree_bytes(arena *a, uint32_t number, const void *p, size_t n)
{
    tree *t = tree_alloc(a, sizeof *t);
    uint8_t *bytes = tree_alloc(a, n);
    if (n)
        memcpy(bytes, p, n);
    *t =
        (tree){.number = number, .type = WIRE_BYTES, .bytes = bytes, .size = n};
    return t;
}

tree *tree_text(arena *a, uint32_t number, const char *text)
{
    return tree_bytes(a, number, text, strlen(text));
}

tree *tree_message(arena *a, uint32_t number, tree_kind kind)
{
    tree *t = tree_alloc(a, sizeof *t);
    *t = (tree){.number = number, .type = WIRE_BYTES, .kind = kind};
    return t;
}
