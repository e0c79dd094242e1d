/* sort.c - the places of the largest: argmax, topk, sorted rows.
 *
 * A float becomes a number whose order is that of the floats, NaN the largest;
 * with its place behind it, equals keep their order. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

#include <stdatomic.h>

/* -- argmax ---------------------------------------------------------------*/

typedef struct most_job {
    const float *x;
    int64_t *y;
    int64_t n, step;
    float sign;      /* -1: the least */
    atomic_bool nan; /* one was seen: the plain kernel has to */
} most_job;

enum { LANES = 16, STRIP = 64 };

/* The first place of the largest of a row. */
static int64_t most_of_row(most_job *j, const float *x)
{
    float best[LANES], most;
    bool nan = false;
    int64_t i = 0;
    for (int l = 0; l < LANES; l++)
        best[l] = -INFINITY;
    for (; i + LANES <= j->n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float v = x[i + l] * j->sign;
            nan |= v != v;
            best[l] = v > best[l] ? v : best[l];
        }
    for (; i < j->n; i++) {
        float v = x[i] * j->sign;
        nan |= v != v;
        best[0] = v > best[0] ? v : best[0];
    }
    most = best[0];
    for (int l = 1; l < LANES; l++)
        most = best[l] > most ? best[l] : most;
    if (nan)
        atomic_store(&j->nan, true);
    for (i = 0; i < j->n && x[i] * j->sign != most; i++)
        continue;
    return i < j->n ? i : 0;
}

static void most_rows(void *ctx, int64_t from, int64_t to)
{
    most_job *j = ctx;
    for (int64_t r = from; r < to; r++)
        j->y[r] = most_of_row(j, j->x + r * j->n);
}

/* Items are strips of neighbouring columns. */
static void most_columns(void *ctx, int64_t from, int64_t to)
{
    most_job *j = ctx;
    int64_t strips = (j->step + STRIP - 1) / STRIP;
    for (int64_t item = from; item < to; item++) {
        int64_t first = item % strips * STRIP, r = item / strips;
        int64_t n = j->step - first < STRIP ? j->step - first : STRIP;
        const float *x = j->x + r * j->n * j->step + first;
        float most[STRIP];
        int32_t place[STRIP], nan = 0;
        for (int64_t c = 0; c < n; c++) {
            most[c] = x[c] * j->sign;
            nan |= most[c] != most[c];
            place[c] = 0;
        }
        for (int64_t i = 1; i < j->n; i++)
            for (int64_t c = 0; c < n; c++) {
                float v = x[i * j->step + c] * j->sign;
                bool more = v > most[c];
                nan |= v != v;
                most[c] = more ? v : most[c];
                place[c] = more ? (int32_t)i : place[c];
            }
        if (nan)
            atomic_store(&j->nan, true);
        for (int64_t c = 0; c < n; c++)
            j->y[r * j->step + first + c] = place[c];
    }
}

bool CPU_NAME(cpu_argmax)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    uint32_t axis = 0;
    most_job j = {.x = x->data,
                  .y = k->out[0].data,
                  .n = numel(x),
                  .step = 1,
                  .sign = k->n->op == CLV_OP_ARGMIN ? -1 : 1};
    if (x->dtype != CLV_FLOAT32 || k->out[0].dtype != CLV_INT64 ||
        attr_int(k->n, CLV_A_SELECT_LAST) != 0)
        return false;
    if (attr_get(k->n, CLV_A_AXIS)) {
        if (!x->rank || axis_of(k, &axis) != CLV_OK)
            return false;
        j.n = x->dims[axis];
        j.step = dims_product(x->dims, axis + 1, x->rank);
    }
    int64_t rows = numel(x) / (j.n * j.step);
    if (rows * j.step != numel(&k->out[0]) || j.n > INT32_MAX)
        return false;
    if (j.step == 1)
        clv__parallel(k->threads, rows, 1 + CPU_GRAIN / j.n, most_rows, &j);
    else
        clv__parallel(k->threads, rows * ((j.step + STRIP - 1) / STRIP),
                      1 + CPU_GRAIN / (j.n * STRIP), most_columns, &j);
    return !atomic_load(&j.nan);
}

/* -- sorting --------------------------------------------------------------*/

typedef struct sort_job {
    const float *x;
    float *values;   /* or NULL */
    int64_t *places; /* or NULL */
    uint64_t *room;  /* of a part */
    int64_t n, step, take, rows, parts;
    bool down;
} sort_job;

/* Falling orders are rising ones of the complement. */
static uint64_t sort_key(float x, int64_t place, bool down)
{
    uint32_t bits = v_bits(x + 0.0f);
    bits = x != x ? UINT32_MAX : bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t)(down ? ~bits : bits) << 32 | (uint64_t)place;
}

/* Puts `key` in place of the largest of a heap of n, and the heap in order. */
static void sort_sift(uint64_t *heap, int64_t n, uint64_t key)
{
    int64_t at = 0;
    for (int64_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && heap[child + 1] > heap[child];
        if (heap[child] <= key)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = key;
}

/* Makes a heap of n keys, the largest first. */
static void sort_heap(uint64_t *heap, int64_t n)
{
    for (int64_t first = n / 2; first-- > 0;) {
        int64_t at = first;
        uint64_t key = heap[at];
        for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
            child += child + 1 < n && heap[child + 1] > heap[child];
            if (heap[child] <= key)
                break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = key;
    }
}

/* Sorts n keys, which are in order of their low halves, by the high ones: a
 * byte at a time. `room` holds as many. */
static void sort_by_bytes(uint64_t *keys, uint64_t *room, int64_t n)
{
    for (int shift = 32; shift < 64; shift += 8) {
        int64_t count[257] = {0};
        for (int64_t i = 0; i < n; i++)
            count[(keys[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++)
            count[i + 1] += count[i];
        for (int64_t i = 0; i < n; i++)
            room[count[keys[i] >> shift & 255]++] = keys[i];
        uint64_t *t = keys;
        keys = room;
        room = t;
    }
}

enum { SELECT = 16 }; /* a row this many times longer than what is taken */

/* The first `take` keys of a row, in order, at room[0]. */
static void sort_row(const sort_job *j, const float *x, uint64_t *room)
{
    int64_t n = j->n, take = j->take;
    if (take > n / SELECT) {
        for (int64_t i = 0; i < n; i++)
            room[i] = sort_key(x[i * j->step], i, j->down);
        sort_by_bytes(room, room + n, n);
        return;
    }
    for (int64_t i = 0; i < take; i++)
        room[i] = sort_key(x[i * j->step], i, j->down);
    sort_heap(room, take);
    for (int64_t i = take; i < n; i++) {
        uint64_t key = sort_key(x[i * j->step], i, j->down);
        if (key < room[0])
            sort_sift(room, take, key);
    }
    for (int64_t left = take; left > 1; left--) {
        uint64_t last = room[left - 1];
        room[left - 1] = room[0];
        sort_sift(room, left - 1, last);
    }
}

static void sort_part(void *ctx, int64_t from, int64_t to)
{
    const sort_job *j = ctx;
    for (int64_t p = from; p < to; p++)
        for (int64_t r = j->rows * p / j->parts;
             r < j->rows * (p + 1) / j->parts; r++) {
            uint64_t *room = j->room + p * 2 * j->n;
            int64_t outer = r / j->step, s = r % j->step;
            const float *x = j->x + outer * j->n * j->step + s;
            sort_row(j, x, room);
            for (int64_t i = 0; i < j->take; i++) {
                int64_t place = (int64_t)(room[i] & UINT32_MAX);
                int64_t at = (outer * j->take + i) * j->step + s;
                if (j->values)
                    j->values[at] = x[place * j->step];
                if (j->places)
                    j->places[at] = place;
            }
        }
}

/* topk, sort, argsort */
bool CPU_NAME(cpu_sort)(kernel *k)
{
    const clv_tensor *x = k->in[0];
    bool only = k->n->op == CLV_OP_ARGSORT;
    clv_tensor *values = only ? NULL : output_of(k, 0);
    clv_tensor *places = output_of(k, only ? 0 : 1);
    const clv_tensor *shape = &k->out[0];
    uint32_t axis;
    if (x->dtype != CLV_FLOAT32 || !x->rank || axis_of(k, &axis) != CLV_OK ||
        (values && values->dtype != CLV_FLOAT32) ||
        (places && places->dtype != CLV_INT64) || shape->rank != x->rank)
        return false;
    sort_job j = {.x = x->data,
                  .values = values ? values->data : NULL,
                  .places = places ? places->data : NULL,
                  .n = x->dims[axis],
                  .step = dims_product(x->dims, axis + 1, x->rank),
                  .take = shape->dims[axis],
                  .down = attr_int(k->n, CLV_A_LARGEST) != 0};
    j.rows = numel(x) / j.n;
    if (j.take < 1 || j.take > j.n || j.n > INT32_MAX ||
        (places && numel(places) != j.rows * j.take) ||
        (values && numel(values) != j.rows * j.take))
        return false;
    j.parts = (int64_t)k->threads < j.rows ? (int64_t)k->threads : j.rows;
    j.room =
        arena_array(k->scratch, (size_t)(j.parts * 2 * j.n), sizeof *j.room);
    if (!j.room)
        return false;
    clv__parallel(numel(x) < CPU_GRAIN / 4 ? 1 : k->threads, j.parts, 1,
                  sort_part, &j);
    return true;
}
