/* flat.c - see flat.h. */
#include "formats/tflite/flat.h"

#include <stdio.h>
#include <string.h>

/* What may be visited: each byte of the file a few times, and for a small file
 * what a model with shared parts needs. */
enum { FLAT_VISITS = 8, FLAT_FREE = 1 << 20 };

flat flat_open(const clv_mapping *map, clv_err *e)
{
    return (flat){.data = map->data,
                  .size = map->size,
                  .map = map,
                  .left = (uint64_t)map->size * FLAT_VISITS + FLAT_FREE,
                  .e = e};
}

clv_status flat_fail(flat *f, size_t at, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (f->status != CLV_OK)
        return f->status;
    va_start(ap, fmt);
    clv_vformat(text, sizeof text, fmt, ap);
    va_end(ap);
    return f->status = clv__fail(f->e, CLV_FORMAT, "byte %zu: %s", at, text);
}

/* -- bytes ----------------------------------------------------------------*/

/* Whether n bytes at `at` lie in the file. */
static bool flat_has(const flat *f, size_t at, size_t n)
{
    return at <= f->size && n <= f->size - at;
}

/* n is 2, 4 or 8. */
static inline uint64_t flat_bits(const flat *f, size_t at, uint32_t n)
{
    bool copied = at >= f->near && at - f->near + n <= f->near_n;
    const uint8_t *p = copied ? f->window + (at - f->near) : f->data + at;
    uint64_t bits = (uint64_t)p[0] | (uint64_t)p[1] << 8;
    if (n > 2)
        bits |= (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    if (n > 4)
        bits |= (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
                (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
    return bits;
}

static bool flat_pay(flat *f, size_t at, uint64_t bytes)
{
    if (f->status != CLV_OK)
        return false;
    if (bytes > f->left) {
        flat_fail(f, at,
                  "parts are pointed at so often that the model is far "
                  "larger than its file");
        return false;
    }
    f->left -= bytes;
    return true;
}

/* -- tables ---------------------------------------------------------------*/

/* The table at byte `at`. */
static flat_table flat_table_at(flat *f, size_t at)
{
    enum { HEAD = 4, ENTRY = 2 };
    flat_table none = {0};
    if (!flat_pay(f, at, HEAD))
        return none;
    if (!flat_has(f, at, HEAD)) {
        flat_fail(f, at, "a table lies past the end of the file");
        return none;
    }
    int64_t back = (int32_t)(uint32_t)flat_bits(f, at, HEAD);
    int64_t vtable = (int64_t)at - back;
    if (vtable < 0 || !flat_has(f, (size_t)vtable, 2 * ENTRY)) {
        flat_fail(f, at, "the vtable of a table lies outside of the file");
        return none;
    }
    flat_table t = {.at = at, .vtable = (size_t)vtable};
    uint32_t size = (uint32_t)flat_bits(f, t.vtable, ENTRY);
    t.size = (uint32_t)flat_bits(f, t.vtable + ENTRY, ENTRY);
    if (size < 2 * ENTRY || size % ENTRY || !flat_has(f, t.vtable, size)) {
        flat_fail(f, t.vtable, "a vtable of %u bytes", size);
        return none;
    }
    if (t.size < HEAD || !flat_has(f, at, t.size)) {
        flat_fail(f, at, "a table of %u bytes", t.size);
        return none;
    }
    t.fields = size / ENTRY - 2;
    return t;
}

/* The byte where a field of `bytes` stands; 0 when it is left out. */
static size_t flat_place(flat *f, flat_table t, uint32_t field, uint32_t bytes)
{
    if (f->status != CLV_OK || !t.at || field >= t.fields)
        return 0;
    uint32_t in = (uint32_t)flat_bits(f, t.vtable + 4 + 2 * (size_t)field, 2);
    if (in && (in < 4 || in > t.size || bytes > t.size - in)) {
        flat_fail(f, t.vtable, "field %u lies at byte %u of a table of %u",
                  field, in, t.size);
        return 0;
    }
    return in ? t.at + in : 0;
}

/* Where the offset at byte `at` points to; 0 on failure. */
static size_t flat_follow(flat *f, size_t at)
{
    uint64_t by = flat_bits(f, at, 4);
    if (by == 0 || by > f->size - at) {
        flat_fail(f, at, "an offset of %llu bytes leads out of the file",
                  (unsigned long long)by);
        return 0;
    }
    return at + (size_t)by;
}

flat_table flat_root(flat *f)
{
    enum { HEAD = 8 };
    if (!flat_has(f, 0, HEAD)) {
        flat_fail(f, 0, "a file of %zu bytes", f->size);
        return (flat_table){0};
    }
    size_t at = flat_follow(f, 0);
    return at ? flat_table_at(f, at) : (flat_table){0};
}

flat_table flat_sub(flat *f, flat_table t, uint32_t field)
{
    size_t place = flat_place(f, t, field, 4);
    size_t at = place ? flat_follow(f, place) : 0;
    return at ? flat_table_at(f, at) : (flat_table){0};
}

/* -- vectors --------------------------------------------------------------*/

flat_vector flat_list(flat *f, flat_table t, uint32_t field, uint32_t each)
{
    flat_vector v = {0};
    size_t place = flat_place(f, t, field, 4);
    size_t at = place ? flat_follow(f, place) : 0;
    if (!at)
        return v;
    if (!flat_has(f, at, 4)) {
        flat_fail(f, at, "a vector lies past the end of the file");
        return v;
    }
    uint64_t n = flat_bits(f, at, 4);
    if (n * each > f->size - at - 4) {
        flat_fail(f, at,
                  "a vector of %llu elements lies past the end of the "
                  "file",
                  (unsigned long long)n);
        return v;
    }
    return (flat_vector){at + 4, (uint32_t)n};
}

flat_table flat_item(flat *f, flat_vector v, uint32_t i)
{
    if (f->status != CLV_OK || i >= v.n)
        return (flat_table){0};
    size_t at = flat_follow(f, v.at + 4 * (size_t)i);
    return at ? flat_table_at(f, at) : (flat_table){0};
}

flat_table flat_item_alone(flat *f, flat_vector v, uint32_t i)
{
    enum {
        BEFORE = FLAT_WINDOW / 4, /* the vtable often stands there */
        APART = 8192 /* a fault brings many that are closer together */
    };
    if (v.n && f->size / v.n < APART)
        return flat_item(f, v, i);
    if (f->status != CLV_OK || i >= v.n)
        return (flat_table){0};
    size_t at = flat_follow(f, v.at + 4 * (size_t)i);
    if (!at)
        return (flat_table){0};
    f->near = at > BEFORE ? at - BEFORE : 0;
    f->near_n = clv__mapping_peek(f->map, f->near, f->window, FLAT_WINDOW);
    return flat_table_at(f, at);
}

flat_text flat_string(flat *f, flat_table t, uint32_t field)
{
    flat_vector v = flat_list(f, t, field, 1);
    if (!v.at || !flat_pay(f, v.at, v.n))
        return (flat_text){"", 0};
    return (flat_text){(const char *)f->data + v.at, v.n};
}

/* -- numbers --------------------------------------------------------------*/

int64_t flat_i8(flat *f, flat_table t, uint32_t field, int64_t otherwise)
{
    size_t at = flat_place(f, t, field, 1);
    return at ? (int8_t)f->data[at] : otherwise;
}

int64_t flat_i32(flat *f, flat_table t, uint32_t field, int64_t otherwise)
{
    size_t at = flat_place(f, t, field, 4);
    return at ? (int32_t)(uint32_t)flat_bits(f, at, 4) : otherwise;
}

uint32_t flat_u32(flat *f, flat_table t, uint32_t field)
{
    size_t at = flat_place(f, t, field, 4);
    return at ? (uint32_t)flat_bits(f, at, 4) : 0;
}

int64_t flat_i64(flat *f, flat_table t, uint32_t field, int64_t otherwise)
{
    size_t at = flat_place(f, t, field, 8);
    return at ? (int64_t)flat_bits(f, at, 8) : otherwise;
}

static float flat_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

double flat_f32(flat *f, flat_table t, uint32_t field, double otherwise)
{
    size_t at = flat_place(f, t, field, 4);
    return at ? (double)flat_float(flat_bits(f, at, 4)) : otherwise;
}

int64_t flat_i32_at(const flat *f, flat_vector v, uint32_t i)
{
    return (int32_t)(uint32_t)flat_bits(f, v.at + 4 * (size_t)i, 4);
}

int64_t flat_i64_at(const flat *f, flat_vector v, uint32_t i)
{
    return (int64_t)flat_bits(f, v.at + 8 * (size_t)i, 8);
}

float flat_f32_at(const flat *f, flat_vector v, uint32_t i)
{
    return flat_float(flat_bits(f, v.at + 4 * (size_t)i, 4));
}
