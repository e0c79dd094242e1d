/* unique.c - the different elements of a tensor, or slices of an axis.
 *
 * Slices are sorted by content, equal ones by place; each run of equals is one
 * result, known by its first place. */
#include "backend/kernel.h"

#include <stdlib.h>

/* A slice along the axis: outer * n + i, runs of `run` elements. */
typedef struct slices {
    const clv_tensor *x;
    int64_t n, outer, run;
} slices;

static int unique_compare(const slices *s, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t r = 0; r < s->run; r++) {
            int64_t x = order_key(s->x, (o * s->n + a) * s->run + r);
            int64_t y = order_key(s->x, (o * s->n + b) * s->run + r);
            if (x != y)
                return x < y ? -1 : 1;
        }
    return 0;
}

/* Merges order[from..mid) and order[mid..to), both sorted. */
static void unique_merge(const slices *s, int64_t *order, int64_t *room,
                         int64_t from, int64_t mid, int64_t to)
{
    int64_t a = from, b = mid;
    for (int64_t i = from; i < to; i++) {
        bool left =
            b >= to || (a < mid && unique_compare(s, order[a], order[b]) <= 0);
        room[i] = left ? order[a++] : order[b++];
    }
    for (int64_t i = from; i < to; i++)
        order[i] = room[i];
}

static void sort_slices(const slices *s, int64_t *order, int64_t *room)
{
    for (int64_t i = 0; i < s->n; i++)
        order[i] = i;
    for (int64_t w = 1; w < s->n; w *= 2)
        for (int64_t i = 0; i + w < s->n; i += 2 * w)
            unique_merge(s, order, room, i, i + w,
                         i + 2 * w < s->n ? i + 2 * w : s->n);
}

typedef struct group {
    int64_t first, count, rank; /* rank: its number when sorted */
} group;

static int by_place(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Runs of equals; in[i] is the run that slice i belongs to. */
static int64_t find_groups(const slices *s, const int64_t *order, group *groups,
                           int64_t *in)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (i == 0 || unique_compare(s, order[i - 1], order[i])) {
            groups[n] = (group){order[i], 0, n};
            n++;
        }
        groups[n - 1].count++;
        in[order[i]] = n - 1;
    }
    return n;
}

static void write_values(const slices *s, const group *groups, int64_t n,
                         clv_tensor *y)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t g = 0; g < n; g++)
            for (int64_t r = 0; r < s->run; r++) {
                int64_t from = (o * s->n + groups[g].first) * s->run + r;
                int64_t to = (o * n + g) * s->run + r;
                copy_run(y, to, s->x, from, 1);
            }
}

/* values, first places, the group of every slice, how many of each */
clv_status kernel_unique(kernel *k)
{
    const clv_tensor *x = k->in[0];
    slices s = {x, numel(x), 1, 1};
    uint32_t axis = 0;
    if (attr_get(k->n, CLV_A_AXIS)) {
        CLV_TRY(axis_of(k, &axis));
        s.n = x->dims[axis];
        for (uint32_t i = 0; i < axis; i++)
            s.outer *= x->dims[i];
        for (uint32_t i = axis + 1; i < x->rank; i++)
            s.run *= x->dims[i];
    }
    size_t size = (size_t)s.n + 1;
    int64_t *order = arena_array(k->scratch, size, sizeof *order);
    int64_t *in = arena_array(k->scratch, size, sizeof *in);
    int64_t *to = arena_array(k->scratch, size, sizeof *to);
    group *groups = arena_array(k->scratch, size, sizeof *groups);
    if (!order || !in || !to || !groups)
        return clv__nomem(k->e);
    sort_slices(&s, order, to);
    int64_t n = find_groups(&s, order, groups, in);
    if (!attr_int(k->n, CLV_A_SORTED))
        qsort(groups, (size_t)n, sizeof *groups, by_place);
    for (int64_t g = 0; g < n; g++)
        to[groups[g].rank] = g;
    k->out[0].dims[axis] = n;
    if (k->out[0].data)
        write_values(&s, groups, n, &k->out[0]);
    for (uint32_t o = 1; o < k->n->n_out && o < 4; o++) {
        clv_tensor *y = &k->out[o];
        y->dims[0] = o == 2 ? s.n : n;
        for (int64_t i = 0; y->data && i < y->dims[0]; i++)
            put_i(y, i,
                  o == 1   ? groups[i].first
                  : o == 2 ? to[in[i]]
                           : groups[i].count);
    }
    return CLV_OK;
}
