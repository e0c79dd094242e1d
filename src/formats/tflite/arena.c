/* arena.c - the memory that the interpreter plans for a model.
 *
 * The interpreter's own planner, without delegates, puts the tensors of a
 * subgraph and the scratch of its kernels into one block:
 *
 *   1. lifetimes   a tensor lives from the operator that makes it to the last
 *                  that reads it; inputs from the start and never overwritten,
 *                  outputs to the end; scratch while its operator runs
 *   2. sharing     some operators write their result over an input that nobody
 *                  else reads
 *   3. placing     what lives all the time comes first, then from the largest
 *                  to the smallest; each takes the tightest gap among the
 *                  placed ones that live at the same time, aligned to 64 bytes
 *
 * A second block holds what stays between runs: variables, and stored tensors
 * that are unpacked once. Stored tensors lie in the file. */
#include "formats/tflite/tflite.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARENA_ALIGN = 64,
    ARENA_MOST = 20000, /* items; placing compares each with all others */
    ARENA_SMALL = 4,    /* bytes of a tensor that is never shared */
    ARENA_FOREVER = INT32_MAX,
    ARENA_SCRATCH = 6, /* of one operator, at most */
    SUBGRAPH_OPERATORS = 3,
    TENSOR_IS_VARIABLE = 5
};

typedef struct arena_item {
    int64_t bytes, offset;
    uint32_t tensor;
    int32_t first, last; /* operators */
    bool kept;           /* between runs */
} arena_item;

/* An operator as its lists. */
typedef struct arena_op {
    const tfl_row *row;
    flat_table opts;
    flat_vector ins, outs;
} arena_op;

typedef struct arena_plan {
    tfl_scope *s;
    arena_op *ops;
    uint32_t n_ops;
    arena_item *items; /* by tensor; then scratch */
    uint32_t n_items;
    size_t cap_items;
    uint32_t *refs;  /* by tensor: readers, and one for an input or output */
    uint32_t *ports; /* by tensor: times that it is an input or output */
    uint32_t *as;    /* by tensor: the one in whose memory it lies */
} arena_plan;

/* -- tensors --------------------------------------------------------------*/

/* Sizes of tensor i in the file's order of axes; its rank, or CLV_NO_RANK. */
static uint32_t plan_dims(const tfl_scope *s, uint32_t i, int64_t *dims)
{
    const tfl_tensor *t = &s->tensors[i];
    bool first = t->value == CLV_NONE && t->first != CLV_NONE;
    uint32_t v = first ? t->first : t->value;
    if (v == CLV_NONE || s->g->values[v].rank == CLV_NO_RANK) {
        if (t->rank != CLV_NO_RANK)
            memcpy(dims, t->dims, sizeof t->dims);
        return t->rank;
    }
    const clv_value *value = &s->g->values[v];
    for (uint32_t k = 0; k < value->rank; k++)
        dims[k] = value->dims[first ? tfl_axis_first(k) : k];
    return value->rank;
}

static int64_t plan_count(const tfl_scope *s, uint32_t i)
{
    int64_t dims[CLV_MAX_RANK], n = 1;
    uint32_t rank = i < s->n_tensors ? plan_dims(s, i, dims) : CLV_NO_RANK;
    if (rank == CLV_NO_RANK)
        return 0;
    for (uint32_t k = 0; k < rank; k++)
        n = sat_mul(n, dims[k]);
    return n;
}

static int64_t plan_bytes(const tfl_scope *s, uint32_t i)
{
    int64_t n = plan_count(s, i);
    int64_t bytes = n == CLV_SAT ? -1 : clv_dtype_bytes(s->tensors[i].dtype, n);
    return bytes < 0 ? CLV_SAT : bytes;
}

static bool plan_is_made(arena_plan *p, uint32_t i)
{
    return p->items[i].first != ARENA_FOREVER;
}

/* -- operators ------------------------------------------------------------*/

static uint32_t op_in(arena_plan *p, const arena_op *o, uint32_t i)
{
    int64_t at = i < o->ins.n ? flat_i32_at(&p->s->m->f, o->ins, i) : -1;
    return at < 0 ? CLV_NONE : (uint32_t)at;
}

static uint32_t op_out(arena_plan *p, const arena_op *o, uint32_t i)
{
    int64_t at = i < o->outs.n ? flat_i32_at(&p->s->m->f, o->outs, i) : -1;
    return at < 0 ? CLV_NONE : (uint32_t)at;
}

static bool op_is(const arena_op *o, const char *name)
{
    return o->row && !strcmp(o->row->name, name);
}

static bool plan_read(arena_plan *p)
{
    flat *f = &p->s->m->f;
    flat_vector all = flat_list(f, p->s->is, SUBGRAPH_OPERATORS, 4);
    p->ops = arena_array(&p->s->m->mem, all.n + 1u, sizeof *p->ops);
    if (!p->ops)
        return tfl_nomem(p->s->m);
    for (p->n_ops = 0; p->n_ops < all.n; p->n_ops++) {
        flat_table t = flat_item(f, all, p->n_ops);
        flat_table code = flat_item(f, p->s->m->codes, flat_u32(f, t, 0));
        int64_t old = flat_i8(f, code, 0, 0), new = flat_i32(f, code, 3, 0);
        p->ops[p->n_ops] =
            (arena_op){tfl_row_of(old > new ? old : new), flat_sub(f, t, 4),
                       flat_list(f, t, 1, 4), flat_list(f, t, 2, 4)};
    }
    return f->status == CLV_OK;
}

/* -- scratch --------------------------------------------------------------*/

/* Rows of patches that a convolution lays out before it multiplies: 0 where
 * its window is one element. */
static int64_t scratch_patches(arena_plan *p, const arena_op *o,
                               int64_t *places)
{
    flat *f = &p->s->m->f;
    int64_t w[CLV_MAX_RANK], y[CLV_MAX_RANK];
    uint32_t weight = op_in(p, o, 1), out = op_out(p, o, 0);
    *places = 0;
    if (weight == CLV_NONE || out == CLV_NONE ||
        plan_dims(p->s, weight, w) != 4 || plan_dims(p->s, out, y) != 4)
        return 0;
    *places = sat_mul(sat_mul(y[0], y[1]), y[2]);
    bool point = w[1] == 1 && w[2] == 1 && flat_i32(f, o->opts, 1, 1) == 1 &&
                 flat_i32(f, o->opts, 2, 1) == 1 &&
                 flat_i32(f, o->opts, 4, 1) == 1 &&
                 flat_i32(f, o->opts, 5, 1) == 1;
    return point ? 0 : sat_mul(*places, sat_mul(sat_mul(w[1], w[2]), w[3]));
}

/* Real operands with stored codes for a weight: operands are rounded as the
 * model runs. */
static bool scratch_hybrid(arena_plan *p, const arena_op *o)
{
    uint32_t x = op_in(p, o, 0), w = op_in(p, o, 1);
    const tfl_tensor *t = p->s->tensors;
    return x != CLV_NONE && w != CLV_NONE && t[x].dtype == CLV_FLOAT32 &&
           (t[w].dtype == CLV_INT8 || t[w].dtype == CLV_UINT8 ||
            t[w].dtype == CLV_INT4);
}

static uint32_t scratch_conv(arena_plan *p, const arena_op *o, int64_t *out)
{
    enum { INT = 4 };
    uint32_t n = 0, x = op_in(p, o, 0), y = op_out(p, o, 0);
    int64_t places, patches = scratch_patches(p, o, &places);
    bool hybrid = scratch_hybrid(p, o);
    if (patches && x != CLV_NONE)
        out[n++] = sat_mul(
            patches, hybrid ? 1 : clv_dtype_bytes(p->s->tensors[x].dtype, 1));
    if (!hybrid || y == CLV_NONE)
        return n;
    out[n++] = plan_count(p->s, x);
    out[n++] = sat_mul(places, INT);
    out[n++] = sat_mul(plan_count(p->s, y), INT);
    out[n++] = sat_mul(places, INT);
    return n;
}

static uint32_t scratch_linear(arena_plan *p, const arena_op *o, int64_t *out)
{
    uint32_t x = op_in(p, o, 0), y = op_out(p, o, 0);
    if (!scratch_hybrid(p, o) || y == CLV_NONE)
        return 0;
    out[0] = plan_count(p->s, x);
    out[1] = sat_mul(plan_count(p->s, y), 4);
    return 2;
}

static uint32_t scratch_depthwise(arena_plan *p, const arena_op *o,
                                  int64_t *out)
{
    out[0] = plan_count(p->s, op_in(p, o, 0));
    return scratch_hybrid(p, o) ? 1 : 0;
}

/* Where a reduction stands, its axes, and sums that are still growing. */
static uint32_t scratch_reduce(arena_plan *p, const arena_op *o, int64_t *out)
{
    int64_t dims[CLV_MAX_RANK];
    uint32_t x = op_in(p, o, 0), axes = op_in(p, o, 1), y = op_out(p, o, 0);
    if (x == CLV_NONE || axes == CLV_NONE || y == CLV_NONE)
        return 0;
    uint32_t rank = plan_dims(p->s, x, dims);
    out[0] = rank == CLV_NO_RANK ? 0 : 4 * (int64_t)rank;
    out[1] = sat_mul(plan_count(p->s, axes), 4);
    out[2] = sat_mul(plan_count(p->s, y), 4);
    return op_is(o, "SUM") || op_is(o, "MEAN") || op_is(o, "REDUCE_PROD") ? 3
                                                                          : 2;
}

/* A product turns its operands around first. */
static uint32_t scratch_product(arena_plan *p, const arena_op *o, int64_t *out)
{
    uint32_t x = op_in(p, o, 0), y = op_in(p, o, 1), n = 0;
    if (x != CLV_NONE && y != CLV_NONE) {
        out[n++] = plan_bytes(p->s, x);
        if (!p->s->tensors[y].stored)
            out[n++] = plan_bytes(p->s, y);
    }
    return n;
}

/* Sums before they are joined. */
static uint32_t scratch_sums(arena_plan *p, const arena_op *o, int64_t *out)
{
    uint32_t y = op_out(p, o, 0);
    out[0] = y == CLV_NONE ? 0 : plan_bytes(p->s, y);
    return 1;
}

/* The features of one step. */
static uint32_t scratch_features(arena_plan *p, const arena_op *o, int64_t *out)
{
    int64_t x[CLV_MAX_RANK], w[CLV_MAX_RANK];
    uint32_t in = op_in(p, o, 0), weight = op_in(p, o, 1);
    if (in == CLV_NONE || weight == CLV_NONE || plan_dims(p->s, in, x) != 2 ||
        plan_dims(p->s, weight, w) != 2)
        return 0;
    out[0] = sat_mul(4, sat_mul(x[0], w[0]));
    return 1;
}

/* The patches of a convolution over three axes, of weights (D,H,W,C,M). */
static uint32_t scratch_conv3d(arena_plan *p, const arena_op *o, int64_t *out)
{
    int64_t w[CLV_MAX_RANK], y[CLV_MAX_RANK];
    uint32_t weight = op_in(p, o, 1), made = op_out(p, o, 0);
    if (weight == CLV_NONE || made == CLV_NONE ||
        plan_dims(p->s, weight, w) != 5 || plan_dims(p->s, made, y) != 5)
        return 0;
    out[0] = 4;
    for (uint32_t i = 0; i < 4; i++)
        out[0] = sat_mul(out[0], sat_mul(w[i], y[i]));
    return 1;
}

static const struct {
    const char *name;
    uint32_t (*of)(arena_plan *p, const arena_op *o, int64_t *out);
} scratch_rows[] = {
    {"ADD_N", scratch_sums},
    {"CONV_2D", scratch_conv},
    {"CONV_3D", scratch_conv3d},
    {"DEPTHWISE_CONV_2D", scratch_depthwise},
    {"FULLY_CONNECTED", scratch_linear},
    {"BATCH_MATMUL", scratch_product},
    {"MEAN", scratch_reduce},
    {"SUM", scratch_reduce},
    {"REDUCE_PROD", scratch_reduce},
    {"REDUCE_MAX", scratch_reduce},
    {"REDUCE_MIN", scratch_reduce},
    {"REDUCE_ANY", scratch_reduce},
    {"REDUCE_ALL", scratch_reduce},
    {"SVDF", scratch_features},
};

static bool plan_scratch(arena_plan *p)
{
    for (uint32_t i = 0; i < p->n_ops; i++)
        for (size_t k = 0; k < sizeof scratch_rows / sizeof *scratch_rows;
             k++) {
            int64_t bytes[ARENA_SCRATCH];
            if (!op_is(&p->ops[i], scratch_rows[k].name))
                continue;
            uint32_t n = scratch_rows[k].of(p, &p->ops[i], bytes);
            for (uint32_t m = 0; m < n; m++) {
                if (!CLV_GROW(p->items, p->n_items, p->cap_items))
                    return tfl_nomem(p->s->m);
                p->items[p->n_items++] = (arena_item){.bytes = bytes[m],
                                                      .tensor = p->n_items,
                                                      .first = (int32_t)i,
                                                      .last = (int32_t)i};
            }
        }
    return true;
}

/* -- lifetimes ------------------------------------------------------------*/

/* Whether an operator unpacks a stored tensor, once for all runs. */
static bool plan_unpacks(arena_plan *p, const arena_op *o)
{
    uint32_t x = op_in(p, o, 0);
    return (op_is(o, "DEQUANTIZE") || op_is(o, "DENSIFY")) && x != CLV_NONE &&
           (p->s->tensors[x].stored || p->items[x].kept);
}

static void plan_made(arena_plan *p, uint32_t t, uint32_t op)
{
    if (t == CLV_NONE || p->s->tensors[t].stored || plan_is_made(p, t))
        return;
    p->items[t].kept = op < p->n_ops && plan_unpacks(p, &p->ops[op]);
    p->items[t].first = (int32_t)op;
    p->items[t].bytes = plan_bytes(p->s, t);
}

/* Inputs, then what operators make; how often each is read. */
static void plan_start(arena_plan *p)
{
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < tfl_ports(p->s, k); i++) {
            uint32_t t = tfl_port(p->s, k, i);
            if (t == CLV_NONE)
                continue;
            p->ports[t]++;
            if (k == 0)
                plan_made(p, t, 0);
        }
    for (uint32_t i = 0; i < p->n_ops; i++) {
        for (uint32_t k = 0; k < p->ops[i].outs.n; k++)
            plan_made(p, op_out(p, &p->ops[i], k), i);
        for (uint32_t k = 0; k < p->ops[i].ins.n; k++) {
            uint32_t t = op_in(p, &p->ops[i], k);
            if (t != CLV_NONE)
                p->refs[t]++;
        }
    }
    for (uint32_t t = 0; t < p->s->n_tensors; t++)
        p->refs[t] += p->ports[t];
}

static bool port_has(arena_plan *p, bool output, uint32_t t)
{
    for (uint32_t i = 0; p->ports[t] && i < tfl_ports(p->s, output); i++)
        if (tfl_port(p->s, output, i) == t)
            return true;
    return false;
}

/* Whether the operator may write tensor y over x. `same`: it changes nothing.
 */
static bool share_fits(arena_plan *p, uint32_t x, uint32_t y, bool same)
{
    if (x == CLV_NONE || y == CLV_NONE || !plan_is_made(p, x) ||
        port_has(p, false, x) || port_has(p, true, y))
        return false;
    return same || (p->items[x].bytes == p->items[y].bytes &&
                    p->items[x].bytes > ARENA_SMALL && p->refs[x] <= 1 &&
                    p->refs[p->as[x]] <= 1);
}

/* How a row shares: TFL_SHARE_SAME only renames; _FIRST, _BOTH: over its first
 * operand, or either. */
static void plan_share(arena_plan *p)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const arena_op *o = &p->ops[i];
        uint32_t y = op_out(p, o, 0), x = CLV_NONE;
        tfl_share how = o->row ? o->row->share : TFL_SHARE_NONE;
        for (uint32_t k = 0; how != TFL_SHARE_NONE && x == CLV_NONE &&
                             k < (how == TFL_SHARE_BOTH ? 2u : 1u);
             k++)
            if (share_fits(p, op_in(p, o, k), y, how == TFL_SHARE_SAME))
                x = op_in(p, o, k);
        if (x != CLV_NONE)
            p->as[y] = p->as[x];
    }
}

static void plan_end(arena_plan *p)
{
    memcpy(p->refs, p->ports, p->s->n_tensors * sizeof *p->refs);
    for (uint32_t i = 0; i < p->n_ops; i++)
        for (uint32_t k = 0; k < p->ops[i].ins.n; k++) {
            uint32_t t = op_in(p, &p->ops[i], k);
            if (t != CLV_NONE)
                p->refs[p->as[t]]++;
        }
    for (uint32_t i = 0; i < p->n_ops; i++)
        for (uint32_t k = 0; k < p->ops[i].ins.n; k++) {
            uint32_t t = op_in(p, &p->ops[i], k);
            if (t != CLV_NONE && --p->refs[p->as[t]] == 0)
                p->items[p->as[t]].last = (int32_t)i;
        }
}

/* -- placing --------------------------------------------------------------*/

static bool item_stays(const arena_item *x)
{
    return x->first == 0 && x->last == ARENA_FOREVER;
}

static int item_order(const void *a, const void *b)
{
    const arena_item *x = a, *y = b;
    bool sx = item_stays(x), sy = item_stays(y);
    if (sx != sy)
        return sx ? -1 : 1;
    if (!sx && x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (!sx && x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->tensor < y->tensor ? -1 : (int)(x->tensor > y->tensor);
}

static int64_t place_align(int64_t at)
{
    return sat_add(at, ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* Places x among the n placed ones, which are sorted by offset. */
static int64_t place_one(arena_item *const *placed, uint32_t n,
                         const arena_item *x)
{
    int64_t at = 0, best = -1, tight = CLV_SAT;
    for (uint32_t i = 0; i < n; i++) {
        const arena_item *p = placed[i];
        if (p->last < x->first || p->first > x->last)
            continue;
        int64_t from = place_align(at);
        if (sat_add(from, x->bytes) <= p->offset && p->offset - from < tight) {
            best = from;
            tight = p->offset - at;
        }
        int64_t end = sat_add(p->offset, p->bytes);
        at = end > at ? end : at;
    }
    return best >= 0 ? best : place_align(at);
}

static bool plan_place(arena_plan *p, int64_t *bytes)
{
    uint32_t n = 0, k = 0;
    int64_t kept = 0;
    for (uint32_t i = 0; i < p->n_items; i++) {
        arena_item *x = &p->items[i];
        bool own =
            i >= p->s->n_tensors || (plan_is_made(p, i) && p->as[i] == i);
        if (!own || x->bytes <= 0 || x->bytes == CLV_SAT)
            continue;
        if (x->kept)
            kept = sat_add(kept, place_align(x->bytes));
        else
            p->items[n++] = *x;
    }
    arena_item **placed = clv__alloc((n + 1u) * sizeof *placed);
    if (!placed)
        return tfl_nomem(p->s->m);
    if (n)
        qsort(p->items, n, sizeof *p->items, item_order);
    for (uint32_t i = 0; i < n && n <= ARENA_MOST; i++) {
        arena_item *x = &p->items[i];
        x->offset = place_one(placed, k, x);
        uint32_t at = k++;
        for (; at > 0 && placed[at - 1]->offset > x->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = x;
        int64_t end = sat_add(x->offset, x->bytes);
        *bytes = end > *bytes ? end : *bytes;
    }
    clv__free(placed);
    *bytes = sat_add(*bytes, kept);
    return true;
}

/* -- the way in -----------------------------------------------------------*/

static bool plan_room(arena_plan *p)
{
    size_t n = p->s->n_tensors + 1u;
    arena *mem = &p->s->m->mem;
    p->refs = arena_zalloc(mem, n * sizeof *p->refs);
    p->ports = arena_zalloc(mem, n * sizeof *p->ports);
    p->as = arena_array(mem, n, sizeof *p->as);
    if (!p->refs || !p->ports || !p->as ||
        !CLV_RESERVE(p->items, n, p->cap_items))
        return tfl_nomem(p->s->m);
    for (uint32_t i = 0; i < p->s->n_tensors; i++) {
        p->items[i] = (arena_item){
            .tensor = i, .first = ARENA_FOREVER, .last = ARENA_FOREVER};
        p->as[i] = i;
        p->s->tensors[i].stored |= flat_i8(&p->s->m->f, p->s->tensors[i].is,
                                           TENSOR_IS_VARIABLE, 0) != 0;
    }
    p->n_items = p->s->n_tensors;
    return true;
}

clv_status tfl_arena(tfl_scope *s, int64_t *bytes)
{
    arena_plan p = {.s = s};
    *bytes = 0;
    if (plan_read(&p) && plan_room(&p)) {
        plan_start(&p);
        plan_share(&p);
        plan_end(&p);
        if (plan_scratch(&p) && !plan_place(&p, bytes))
            *bytes = 0;
    }
    clv__free(p.items);
    return s->m->f.status;
}
