/* onnx_bytes.h - writes ONNX messages by hand, good and hostile ones. */
#ifndef CLEAVE_TESTS_ONNX_BYTES_H
#define CLEAVE_TESTS_ONNX_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    uint8_t *data;
    size_t size, cap;
} bytes;

static inline void put(bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->cap) {
        b->cap = 2 * (b->size + size);
        b->data = realloc(b->data, b->cap);
    }
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_varint(bytes *b, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        v >>= 7;
    } while (v);
}

static inline void put_int(bytes *b, uint32_t number, uint64_t v)
{
    put_varint(b, (uint64_t)number << 3);
    put_varint(b, v);
}

static inline void put_field(bytes *b, uint32_t number, const void *data,
                             size_t size)
{
    put_varint(b, (uint64_t)number << 3 | 2);
    put_varint(b, size);
    put(b, data, size);
}

static inline void put_text(bytes *b, uint32_t number, const char *words)
{
    put_field(b, number, words, strlen(words));
}

/* Adds message m as field `number` of b, and frees it. */
static inline void put_message(bytes *b, uint32_t number, bytes m)
{
    put_field(b, number, m.data, m.size);
    free(m.data);
}

/* NodeProto: lists of names are separated by spaces. */
static inline bytes node_of(const char *op, const char *ins, const char *outs)
{
    bytes n = {0};
    for (uint32_t number = 1; number <= 2; number++) {
        const char *p = number == 1 ? ins : outs;
        while (*p) {
            size_t len = strcspn(p, " ");
            put_field(&n, number, p, len);
            p += len + (p[len] == ' ');
        }
    }
    put_text(&n, 4, op);
    return n;
}

/* ValueInfoProto of a float tensor; rank 0xff: no shape. */
static inline bytes value_of(const char *name, uint32_t rank,
                             const int64_t *dims)
{
    bytes v = {0}, type = {0}, tensor = {0}, shape = {0};
    for (uint32_t i = 0; i < rank && rank != 0xff; i++) {
        bytes dim = {0};
        put_int(&dim, 1, (uint64_t)dims[i]);
        put_message(&shape, 1, dim);
    }
    put_int(&tensor, 1, 1);
    if (rank != 0xff)
        put_message(&tensor, 2, shape);
    else
        free(shape.data);
    put_message(&type, 1, tensor);
    put_text(&v, 1, name);
    put_message(&v, 2, type);
    return v;
}

/* A graph with one input x [2,3] and one output y. */
static inline bytes graph_of(void)
{
    static const int64_t dims[2] = {2, 3};
    bytes g = {0};
    put_message(&g, 11, value_of("x", 2, dims));
    put_message(&g, 12, value_of("y", 0xff, NULL));
    return g;
}

/* ModelProto of opset 17 around graph g. */
static inline bytes model_of(bytes g)
{
    bytes m = {0}, opset = {0};
    put_int(&m, 1, 8);
    put_message(&m, 7, g);
    put_int(&opset, 2, 17);
    put_message(&m, 8, opset);
    return m;
}

static inline bytes bytes_of_file(const char *path)
{
    bytes b = {0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return b;
    fseek(f, 0, SEEK_END);
    b.size = b.cap = (size_t)ftell(f);
    rewind(f);
    b.data = malloc(b.size ? b.size : 1);
    if (fread(b.data, 1, b.size, f) != b.size)
        b.size = 0;
    fclose(f);
    return b;
}

#endif
