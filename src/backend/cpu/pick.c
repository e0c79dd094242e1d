/* pick.c - where elements are not zero, and one-hot rows. */
#include "backend/cpu/cpu.h"

#include <string.h>

enum { BLOCK = 256 }; /* elements that are looked at together */

/* -- not zero -------------------------------------------------------------*/

/* count: how many of n are not zero. list: their places, and how many; `to`
 * has room for n + 1. */
typedef struct nonzero_loops {
    int64_t (*count)(const void *x, int64_t n);
    int64_t (*list)(const void *x, int64_t n, int64_t *to);
} nonzero_loops;

/* `bits` of an element are zero where it is: all, or all but a sign. */
#define NONZERO(name, T, bits) \
    static int64_t count_##name(const void *data, int64_t n) \
    { \
        const T *x = data; \
        int64_t found = 0; \
        for (int64_t at = 0; at < n; at += BLOCK) { \
            int64_t end = n - at < BLOCK ? n : at + BLOCK; \
            uint32_t some = 0; \
            for (int64_t i = at; i < end; i++) \
                some += (x[i] & (bits)) != 0; \
            found += some; \
        } \
        return found; \
    } \
    static int64_t list_##name(const void *data, int64_t n, int64_t *to) \
    { \
        const T *x = data; \
        int64_t found = 0; \
        for (int64_t i = 0; i < n; i++) { \
            to[found] = i; \
            found += (x[i] & (bits)) != 0; \
        } \
        return found; \
    }
NONZERO(w8, uint8_t, 0xff)
NONZERO(w16, uint16_t, 0xffff)
NONZERO(w32, uint32_t, 0xffffffff)
NONZERO(w64, uint64_t, UINT64_MAX)
NONZERO(half, uint16_t, 0x7fff)
NONZERO(f32, uint32_t, 0x7fffffff)
NONZERO(f64, uint64_t, INT64_MAX)

static nonzero_loops nonzero_of(clv_dtype t)
{
#define LOOPS(name) ((nonzero_loops){count_##name, list_##name})
    switch (t) {
    case CLV_BOOL:
    case CLV_INT8:
    case CLV_UINT8:
        return LOOPS(w8);
    case CLV_INT16:
    case CLV_UINT16:
        return LOOPS(w16);
    case CLV_INT32:
    case CLV_UINT32:
        return LOOPS(w32);
    case CLV_INT64:
    case CLV_UINT64:
        return LOOPS(w64);
    case CLV_FLOAT16:
    case CLV_BFLOAT16:
        return LOOPS(half);
    case CLV_FLOAT32:
        return LOOPS(f32);
    case CLV_FLOAT64:
        return LOOPS(f64);
    default:
        return (nonzero_loops){NULL, NULL};
    }
#undef LOOPS
}

/* Writes the places in the last axis that `at` names, all with the same
 * coordinates `idx` before it, from point `found` on. */
static void nonzero_put(const clv_tensor *x, clv_tensor *y, bool turned,
                        const int64_t *idx, const int64_t *at, int64_t n,
                        int64_t points, int64_t found)
{
    int64_t *to = y->data, rank = x->rank;
    for (int64_t a = 0; a < rank; a++) {
        int64_t *line =
            turned ? to + a * points + found : to + found * rank + a;
        int64_t step = turned ? 1 : rank;
        for (int64_t i = 0; i < n; i++)
            line[i * step] = a + 1 < rank ? idx[a] : at[i];
    }
}

/* Coordinates of what is not zero; the shape shrinks to their number. */
bool CPU_NAME(cpu_nonzero)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    clv_tensor *y = &k->out[0];
    nonzero_loops loops = nonzero_of(x->dtype);
    bool turned = attr_int(k->n, CLV_A_BY_AXIS) != 0;
    if (!loops.count || y->dtype != CLV_INT64 || !y->data || !x->rank ||
        y->rank != 2)
        return false;
    int64_t points = loops.count(x->data, numel(x)), found = 0;
    int64_t size = (int64_t)clv__element_bytes(x), row = x->dims[x->rank - 1];
    int64_t idx[CLV_MAX_RANK] = {0};
    int64_t *at = arena_array(k->scratch, (size_t)row + 1, sizeof *at);
    if (!at)
        return false;
    y->dims[turned ? 1 : 0] = points;
    for (int64_t r = 0, rows = numel(x) / row; r < rows && clv__in_time(row);
         r++) {
        const char *from = (const char *)x->data + r * row * size;
        int64_t n = loops.list(from, row, at);
        nonzero_put(x, y, turned, idx, at, n, points, found);
        found += n;
        next_index(idx, x->dims, x->rank - 1u);
    }
    return true;
}

/* -- one-hot --------------------------------------------------------------*/

typedef struct hot_job {
    char *y;
    const char *off; /* one element */
    int64_t size;
} hot_job;

static void hot_clear(void *ctx, int64_t from, int64_t to)
{
    const hot_job *j = ctx;
    char *y = j->y + from * j->size;
    int64_t bytes = (to - from) * j->size, done = j->size;
    memcpy(y, j->off, (size_t)j->size);
    while (done < bytes) { /* what is there is copied behind it */
        int64_t more = bytes - done < done ? bytes - done : done;
        more = more < CPU_GRAIN ? more : CPU_GRAIN;
        memcpy(y + done, y, (size_t)more);
        done += more;
    }
}

bool CPU_NAME(cpu_one_hot)(kernel *k)
{
    const clv_tensor *x = k->in[0], *values = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    if (!values || values->dtype != y->dtype || numel(values) != 2 ||
        !y->data || y->dtype == CLV_STRING ||
        norm_axis(attr_int(k->n, CLV_A_AXIS), y->rank, &axis, NULL) != CLV_OK)
        return false;
    int64_t depth = y->dims[axis];
    int64_t run = dims_product(y->dims, axis + 1, y->rank);
    hot_job j = {.y = y->data,
                 .off = values->data,
                 .size = (int64_t)clv__element_bytes(y)};
    if (numel(x) * depth != numel(y) || j.size < 1)
        return false;
    clv__parallel(k->threads, numel(y), CPU_GRAIN, hot_clear, &j);
    for (int64_t i = 0, n = numel(x); i < n && clv__in_time(1); i++) {
        int64_t hot = get_i(x, i);
        hot = hot < 0 ? hot + depth : hot;
        if (hot >= 0 && hot < depth)
            memcpy(j.y + (i / run * run * depth + hot * run + i % run) * j.size,
                   j.off + j.size, (size_t)j.size);
    }
    return true;
}
