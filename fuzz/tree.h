/* tree.h - an ONNX file as a tree of messages that can be changed.
 *
 * Unknown fields and those that are no messages are leaves, kept as they came.
 * A field that should be a message and cannot be read as one is a leaf too, so
 * any bytes that are protobuf can be read, changed and written. */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include "formats/onnx/fields.h"
#include "formats/onnx/wire.h"

typedef enum tree_kind {
    TREE_LEAF,
    TREE_MODEL,
    TREE_OPSET,
    TREE_GRAPH,
    TREE_FUNCTION,
    TREE_NODE,
    TREE_ATTR,
    TREE_TENSOR,
    TREE_SPARSE,
    TREE_VALUE,
    TREE_TYPE,
    TREE_TENSOR_TYPE,
    TREE_LIST_TYPE,
    TREE_SHAPE,
    TREE_DIM,
    TREE_KINDS
} tree_kind;

/* One field: a number, bytes, or a message. `kind` says which message; its
 * fields are the list that begins with `child`. The file is such a message. */
typedef struct tree {
    struct tree *next, *child;
    uint32_t number;
    tree_kind kind;
    wire_type type;
    uint64_t value;
    const uint8_t *bytes; /* of a leaf; borrowed */
    size_t size;
} tree;

/* Reads a model; NULL when it is no protobuf at all. Borrows data. */
tree *tree_read(arena *a, const uint8_t *data, size_t size);
/* Appends the message's fields to out. */
void tree_write(const tree *message, clv_buf *out);

/* A deep copy; bytes are shared. */
tree *tree_copy(arena *a, const tree *t);
/* The first field with this number, or NULL; how many there are; the i-th. */
tree *tree_find(const tree *message, uint32_t number);
uint32_t tree_count(const tree *message, uint32_t number);
tree *tree_at(const tree *message, uint32_t number, uint32_t i);
/* Adds a field at the end. */
void tree_add(tree *message, tree *field);
void tree_remove(tree *message, const tree *field);
/* A new field that is not in any message yet. */
tree *tree_number(arena *a, uint32_t number, uint64_t value);
tree *tree_bytes(arena *a, uint32_t number, const void *p, size_t n);
tree *tree_text(arena *a, uint32_t number, const char *text);
tree *tree_message(arena *a, uint32_t number, tree_kind kind);

/* arena_zalloc for programs that end when memory does. */
void *tree_alloc(arena *a, size_t size);

#endif
