/* flat.h - a FlatBuffer, read where it lies.
 *
 * A table begins with the distance back to its vtable; the vtable says at which
 * byte of the table each field stands, or 0 for a field that is left out:
 *
 *     vtable   u16 its size, u16 size of the table, u16 place of field 0, ...
 *     table    i32 distance back to the vtable, then the fields
 *     vector   u32 number of elements, then the elements
 *     offset   u32 distance forward to a table, vector or string
 *
 * Every place is checked against the file before it is read. Offsets point
 * forward, so nothing can be part of itself; but one part may be pointed at
 * again and again. Each visit is paid for out of a budget in proportion to the
 * file, so that a small file cannot stand for a huge model.
 *
 * The first failure sticks in `status`, with the byte in the message; later
 * reads give nothing. */
#ifndef CLV_FLAT_H
#define CLV_FLAT_H

#include "core/mapping.h"

enum { FLAT_WINDOW = 128 };

typedef struct flat {
    const uint8_t *data;
    size_t size;
    const clv_mapping *map;
    size_t near; /* where the bytes lie that `window` is a copy of */
    size_t near_n;
    uint8_t window[FLAT_WINDOW];
    uint64_t left; /* bytes that may still be visited */
    clv_status status;
    clv_err *e;
} flat;

/* at is 0 for a table that is not there: its fields have their defaults. */
typedef struct flat_table {
    size_t at, vtable;
    uint32_t fields, size; /* fields in the vtable; bytes of the table */
} flat_table;

typedef struct flat_vector {
    size_t at; /* of the first element */
    uint32_t n;
} flat_vector;

typedef struct flat_text {
    const char *s; /* not terminated; "" when it is not there */
    uint32_t n;
} flat_text;

/* Borrows map. */
flat flat_open(const clv_mapping *map, clv_err *e);
/* Says that the bytes at `at` are wrong; the first failure stays. */
clv_status flat_fail(flat *f, size_t at, const char *fmt, ...) CLV_PRINTF(3, 4);

/* The table that the offset at byte 0 of the file points to. */
flat_table flat_root(flat *f);
flat_table flat_sub(flat *f, flat_table t, uint32_t field);
/* Elements of `each` bytes. */
flat_vector flat_list(flat *f, flat_table t, uint32_t field, uint32_t each);
/* Element i of a vector of offsets to tables. */
flat_table flat_item(flat *f, flat_vector v, uint32_t i);
/* The same of a table that stands alone among weights: its surroundings are
 * copied, which costs less than a fault of their page. */
flat_table flat_item_alone(flat *f, flat_vector v, uint32_t i);
flat_text flat_string(flat *f, flat_table t, uint32_t field);

int64_t flat_i8(flat *f, flat_table t, uint32_t field, int64_t otherwise);
int64_t flat_i32(flat *f, flat_table t, uint32_t field, int64_t otherwise);
uint32_t flat_u32(flat *f, flat_table t, uint32_t field);
int64_t flat_i64(flat *f, flat_table t, uint32_t field, int64_t otherwise);
double flat_f32(flat *f, flat_table t, uint32_t field, double otherwise);

/* Elements of a vector, which has been checked; i < v.n. */
int64_t flat_i32_at(const flat *f, flat_vector v, uint32_t i);
int64_t flat_i64_at(const flat *f, flat_vector v, uint32_t i);
float flat_f32_at(const flat *f, flat_vector v, uint32_t i);

#endif
