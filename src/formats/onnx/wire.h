/* wire.h - protobuf's wire format, read where it lies.
 *
 * A message is a span of bytes holding fields: a key (number and wire type),
 * then a varint, four or eight bytes, or a length and that many bytes. A
 * length-delimited field comes back as a span of the same memory; its bytes
 * are not looked at, so a weight of a gigabyte costs one varint. */
#ifndef CLV_WIRE_H
#define CLV_WIRE_H

#include "core/core.h"

/* Bytes of the file not yet read. `file` is its first byte, for offsets. */
typedef struct wire {
    const uint8_t *cur, *end, *file;
} wire;

typedef enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
} wire_type;

typedef struct wire_field {
    uint32_t number;
    wire_type type;
    uint64_t value; /* of a varint or fixed field */
    wire bytes;     /* of a length-delimited field */
} wire_field;

static inline wire wire_over(const void *data, size_t size)
{
    const uint8_t *p = data;
    return (wire){p, size ? p + size : p, p};
}

static inline size_t wire_left(const wire *w)
{
    return (size_t)(w->end - w->cur);
}

/* Reads the next field; the caller stops when nothing is left. Fails with
 * CLV_FORMAT and the byte offset on a truncated or impossible field. */
CLV_MUST clv_status wire_next_any(wire *w, wire_field *f, clv_err *e);

/* The same; a text or a message of less than 16 KB, which most fields are,
 * without a call. */
CLV_MUST static inline clv_status wire_next(wire *w, wire_field *f, clv_err *e)
{
    const uint8_t *p = w->cur;
    size_t left = wire_left(w);
    if (left < 3 || p[0] < 8 || (p[0] & 0x87) != WIRE_BYTES)
        return wire_next_any(w, f, e);
    size_t size = p[1], head = 2;
    if (size >= 0x80) {
        size = (size & 0x7f) | (size_t)p[2] << 7;
        head = 3;
    }
    if (p[head - 1] >= 0x80 || size > left - head)
        return wire_next_any(w, f, e);
    w->cur = p + head + size;
    *f = (wire_field){p[0] >> 3, WIRE_BYTES, 0, {p + head, w->cur, w->file}};
    return CLV_OK;
}

CLV_MUST clv_status wire_varint(wire *w, uint64_t *value, clv_err *e);
/* Raises CLV_FORMAT "byte N: what" for the place w stands at. */
clv_status wire_fail(const wire *w, clv_err *e, const char *what);

CLV_MUST clv_status wire_wrong_type(const wire *w, const wire_field *f,
                                    clv_err *e);

/* Fails unless f has the wire type. */
CLV_MUST static inline clv_status
wire_expect(const wire *w, const wire_field *f, wire_type type, clv_err *e)
{
    return f->type == type ? CLV_OK : wire_wrong_type(w, f, e);
}

/* Walks the elements of a repeated number, packed or not: appends those of
 * field f to out[*n], up to `max`; *n counts all, also what did not fit. */
CLV_MUST clv_status wire_ints(const wire_field *f, int64_t *out, size_t max,
                              size_t *n, clv_err *e);
/* The same for float (4 bytes) and double (8) fields. */
CLV_MUST clv_status wire_floats(const wire_field *f, double *out, size_t max,
                                size_t *n, clv_err *e);
CLV_MUST clv_status wire_doubles(const wire_field *f, double *out, size_t max,
                                 size_t *n, clv_err *e);

#endif
