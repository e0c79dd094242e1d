/* wire.c - a bounds-checked reader of protobuf's wire format. */
#include "formats/onnx/wire.h"

#include <string.h>

clv_status wire_fail(const wire *w, clv_err *e, const char *what)
{
    return clv__fail(e, CLV_FORMAT, "byte %zu: %s", (size_t)(w->cur - w->file),
                     what);
}

clv_status wire_varint(wire *w, uint64_t *value, clv_err *e)
{
    uint64_t v = 0;
    const uint8_t *p = w->cur;
    if (p < w->end && *p < 0x80) { /* most keys and lengths */
        *value = *p;
        w->cur = p + 1;
        return CLV_OK;
    }
    for (unsigned shift = 0; p < w->end; shift += 7, p++) {
        if (shift == 70)
            return wire_fail(w, e, "a number of more than ten bytes");
        if (shift < 64)
            v |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p & 0x80)) {
            w->cur = p + 1;
            *value = v;
            return CLV_OK;
        }
    }
    return wire_fail(w, e, "the file ends inside a number");
}

static clv_status wire_fixed(wire *w, size_t size, uint64_t *value, clv_err *e)
{
    if (wire_left(w) < size)
        return wire_fail(w, e, "the file ends inside a number");
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)w->cur[i] << (8 * i);
    w->cur += size;
    *value = v;
    return CLV_OK;
}

static clv_status wire_bytes(wire *w, wire *bytes, clv_err *e)
{
    const uint8_t *at = w->cur;
    uint64_t size;
    CLV_TRY(wire_varint(w, &size, e));
    if (size > wire_left(w))
        return clv__fail(
            e, CLV_FORMAT, "byte %zu: a field of %llu bytes where %zu are left",
            (size_t)(at - w->file), (unsigned long long)size, wire_left(w));
    *bytes = (wire){w->cur, w->cur + size, w->file};
    w->cur += size;
    return CLV_OK;
}

clv_status wire_next_any(wire *w, wire_field *f, clv_err *e)
{
    const uint8_t *p = w->cur;
    if (wire_left(w) > 1 && p[0] >= 8 && (p[0] & 0x87) == WIRE_VARINT &&
        p[1] < 0x80) { /* most numbers */
        w->cur = p + 2;
        *f =
            (wire_field){p[0] >> 3, WIRE_VARINT, p[1], {p + 1, p + 1, w->file}};
        return CLV_OK;
    }
    wire start = *w;
    uint64_t key;
    CLV_TRY(wire_varint(w, &key, e));
    *f = (wire_field){.number = (uint32_t)(key >> 3),
                      .type = (wire_type)(key & 7),
                      .bytes = {w->cur, w->cur, w->file}};
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return wire_fail(&start, e, "not a field of a protobuf message");
    switch (f->type) {
    case WIRE_VARINT:
        return wire_varint(w, &f->value, e);
    case WIRE_FIXED64:
        return wire_fixed(w, 8, &f->value, e);
    case WIRE_FIXED32:
        return wire_fixed(w, 4, &f->value, e);
    case WIRE_BYTES:
        return wire_bytes(w, &f->bytes, e);
    }
    return wire_fail(&start, e, "not a field of a protobuf message");
}

clv_status wire_wrong_type(const wire *w, const wire_field *f, clv_err *e)
{
    return clv__fail(e, CLV_FORMAT, "byte %zu: field %u has wire type %u",
                     (size_t)(w->cur - w->file), f->number, f->type);
}

/* -- repeated numbers -----------------------------------------------------*/

clv_status wire_ints(const wire_field *f, int64_t *out, size_t max, size_t *n,
                     clv_err *e)
{
    if (f->type != WIRE_BYTES) {
        CLV_TRY(wire_expect(&f->bytes, f, WIRE_VARINT, e));
        if (*n < max)
            out[*n] = (int64_t)f->value;
        ++*n;
        return CLV_OK;
    }
    for (wire w = f->bytes; wire_left(&w);) {
        uint64_t v = 0;
        CLV_TRY(wire_varint(&w, &v, e));
        if (*n < max)
            out[*n] = (int64_t)v;
        ++*n;
    }
    return CLV_OK;
}

static double wire_as_double(uint64_t bits, size_t size)
{
    if (size == 8) {
        double d;
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return (double)x;
}

static clv_status wire_fixed_list(const wire_field *f, size_t size, double *out,
                                  size_t max, size_t *n, clv_err *e)
{
    if (f->type != WIRE_BYTES) {
        CLV_TRY(wire_expect(&f->bytes, f,
                            size == 8 ? WIRE_FIXED64 : WIRE_FIXED32, e));
        if (*n < max)
            out[*n] = wire_as_double(f->value, size);
        ++*n;
        return CLV_OK;
    }
    wire w = f->bytes;
    if (wire_left(&w) % size)
        return wire_fail(&w, e, "a list of numbers ends inside one");
    size_t count = wire_left(&w) / size;
    for (size_t i = 0; i < count && *n + i < max; i++) {
        uint64_t v = 0;
        CLV_TRY(wire_fixed(&w, size, &v, e));
        out[*n + i] = wire_as_double(v, size);
    }
    *n += count;
    return CLV_OK;
}

clv_status wire_floats(const wire_field *f, double *out, size_t max, size_t *n,
                       clv_err *e)
{
    return wire_fixed_list(f, 4, out, max, n, e);
}

clv_status wire_doubles(const wire_field *f, double *out, size_t max, size_t *n,
                        clv_err *e)
{
    return wire_fixed_list(f, 8, out, max, n, e);
}
