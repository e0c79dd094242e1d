/* rewrite_split.c - a product whose result is taken apart becomes products of
 * the parts of its weight.
 *
 *      x -> linear (N, 3 C) -> reshape (N, 3, H, D) -> permute -> part 0, 1, 2
 *      x -> linear (N, C) -> reshape (N, H, D) -> permute          three times
 *
 * So queries, keys and values of attention are each made where they are wanted
 * instead of being copied out of one tensor. It is done only where all readers
 * of the result take parts along one axis that no two of them share. */
#include "run/rewrite.h"

#include <string.h>

/* A product with a stored weight: y (.., F) = x (.., K) w + b */
typedef struct split_product {
    uint32_t x, w, bias; /* bias: CLV_NONE if there is none */
    bool by_rows;        /* w is (F,K), as in linear; else (K,F) */
    int64_t k, f;
} split_product;

/* How the parts lie in y: as reshaped to `dims`, then permuted by perm. */
typedef struct split_view {
    uint32_t whole; /* what the parts are taken from */
    uint32_t rank, axis, perm[CLV_MAX_RANK];
    int64_t dims[CLV_MAX_RANK];
    int64_t outer, inner; /* of the features, around the axis */
} split_view;

/* One result that is a part: places [from, from + n) along an axis of its
 * node's input, which stays or, for one place alone, goes. */
typedef struct split_part {
    uint32_t v, axis;
    int64_t from, n;
    bool dropped;
} split_part;

/* -- what a node takes ----------------------------------------------------*/

static bool split_known_int(const rewriter *r, uint32_t v, int64_t *x)
{
    double d;
    if (!rw_number(r, v, &d))
        return false;
    *x = get_i(rw_known(r, v), 0);
    return true;
}

/* Slice and select: one result. */
static bool part_single(const rewriter *r, uint32_t id, split_part *p)
{
    const clv_node *n = rw_node(r, id);
    uint32_t x = rw_in(r, id, 0), rank = rw_rank(r, x);
    int64_t at = 0, size;
    p->v = rw_out(r, id);
    if (n->op == CLV_OP_SLICE) {
        int_list from, axes, by;
        if (get_ints(r->g, n, CLV_A_START, 1, &from, NULL) != CLV_OK ||
            get_ints(r->g, n, CLV_A_AXES, 3, &axes, NULL) != CLV_OK ||
            get_ints(r->g, n, CLV_A_STEP, 4, &by, NULL) != CLV_OK ||
            from.n != 1 || (by.found && (by.n != 1 || by.v[0] != 1)) ||
            (axes.found && axes.n != 1) ||
            norm_axis(axes.found ? axes.v[0] : 0, rank, &p->axis, NULL) !=
                CLV_OK)
            return false;
        size = rw_dim(r, x, (int)p->axis);
        p->from = slice_start(size, from.v[0], 1);
        p->n = rw_dim(r, p->v, (int)p->axis);
        return p->n > 0 && p->from + p->n <= size;
    }
    if (n->op == CLV_OP_SELECT)
        at = attr_int(n, CLV_A_INDEX);
    else if (n->op != CLV_OP_INDEX_SELECT || rw_in(r, id, 1) == CLV_NONE ||
             rw_rank(r, rw_in(r, id, 1)) != 0 ||
             !split_known_int(r, rw_in(r, id, 1), &at))
        return false;
    if (get_axis(n, rank, &p->axis, NULL) != CLV_OK)
        return false;
    size = rw_dim(r, x, (int)p->axis);
    p->from = at < 0 ? at + size : at;
    p->n = 1;
    p->dropped = true;
    return p->from >= 0 && p->from < size;
}

enum { SPLIT_PARTS = 8 };

/* Adds the parts that node id takes to the list; false: it takes other ones. */
static bool parts_of(const rewriter *r, uint32_t id, split_part *list,
                     uint32_t *count)
{
    const clv_node *n = rw_node(r, id);
    bool unbind = n->op == CLV_OP_UNBIND;
    split_part p = {0};
    if (n->op != CLV_OP_SPLIT && n->op != CLV_OP_CHUNK && !unbind) {
        if (*count == SPLIT_PARTS || n->n_out != 1 || !part_single(r, id, &p))
            return false;
        list[(*count)++] = p;
        return true;
    }
    uint32_t rank = rw_rank(r, rw_in(r, id, 0));
    if (get_axis(n, rank, &p.axis, NULL) != CLV_OK)
        return false;
    p.dropped = unbind;
    for (uint32_t o = 0; o < n->n_out; o++) {
        p.v = node_outs(r->g, n)[o];
        p.n = unbind ? 1 : rw_dim(r, p.v, (int)p.axis);
        if (*count == SPLIT_PARTS || p.n < 1)
            return false;
        list[(*count)++] = p;
        p.from += p.n;
    }
    return true;
}

/* All readers of v take parts along one axis, no place twice. */
static bool all_parts(const rewriter *r, uint32_t v, split_part *list,
                      uint32_t *count)
{
    uint32_t readers = 0;
    int64_t sum = 0;
    *count = 0;
    if (r->g->values[v].flags & CLV_V_OUTPUT || r->uses[v] > SPLIT_PARTS)
        return false;
    for (uint32_t id = 0; id < r->g->n_nodes && readers < r->uses[v]; id++) {
        if (r->dead[id])
            continue;
        for (uint32_t i = 0; i < rw_node(r, id)->n_in; i++) {
            if (rw_in(r, id, i) != v)
                continue;
            readers++;
            if (i != 0 || !parts_of(r, id, list, count))
                return false;
        }
    }
    for (uint32_t i = 0; i < *count; i++) {
        sum += list[i].n;
        if (list[i].axis != list[0].axis || !rw_is_float(r, list[i].v) ||
            r->g->values[list[i].v].flags & CLV_V_OUTPUT)
            return false;
    }
    return *count > 1 && sum <= rw_dim(r, v, (int)list[0].axis);
}

/* -- the product ----------------------------------------------------------*/

/* v may have several readers if it is what the parts are taken from. */
static bool find_product(const rewriter *r, uint32_t v, bool shared,
                         split_product *p)
{
    uint32_t id = rw_maker(r, v);
    p->bias = CLV_NONE;
    if (id != CLV_NONE && rw_op(r, id) == CLV_OP_ADD &&
        (shared || rw_once(r, v)) && rw_node(r, id)->n_in == 2)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t b = rw_in(r, id, i);
            if (!rw_known(r, b) || !rw_is_float(r, b) || rw_rank(r, b) != 1)
                continue;
            p->bias = b;
            v = rw_in(r, id, !i);
            id = rw_maker(r, v);
            shared = false;
            break;
        }
    if (id == CLV_NONE || !(shared || rw_once(r, v)) || !rw_is_float(r, v))
        return false;
    p->by_rows = rw_op(r, id) == CLV_OP_LINEAR;
    if (!p->by_rows && rw_op(r, id) != CLV_OP_MATMUL)
        return false;
    p->x = rw_in(r, id, 0);
    p->w = rw_in(r, id, 1);
    if (p->by_rows && rw_in(r, id, 2) != CLV_NONE) {
        if (p->bias != CLV_NONE)
            return false;
        p->bias = rw_in(r, id, 2);
    }
    if (!rw_known(r, p->w) || !rw_is_float(r, p->w) || rw_rank(r, p->w) != 2 ||
        !rw_is_float(r, p->x))
        return false;
    p->f = rw_dim(r, p->w, p->by_rows ? 0 : 1);
    p->k = rw_dim(r, p->w, p->by_rows ? 1 : 0);
    return rw_dim(r, v, -1) == p->f &&
           (p->bias == CLV_NONE ||
            (rw_known(r, p->bias) && rw_dim(r, p->bias, 0) == p->f));
}

/* Goes from what is taken apart back to the product's result, and sees how the
 * axis lies in its features. */
static bool find_view(const rewriter *r, uint32_t v, uint32_t axis,
                      split_view *s, uint32_t *product)
{
    uint32_t id = rw_maker(r, v);
    s->whole = v;
    s->rank = rw_rank(r, v);
    for (uint32_t i = 0; i < s->rank; i++)
        s->perm[i] = i;
    if (id != CLV_NONE && rw_perm(r, id, s->perm)) {
        if (!rw_once(r, rw_in(r, id, 0)))
            return false;
        v = rw_in(r, id, 0);
    }
    s->axis = s->perm[axis];
    memcpy(s->dims, r->g->values[v].dims, s->rank * sizeof *s->dims);
    *product = v;
    for (uint32_t root = rw_flat_root(r, v); *product != root;) {
        if (*product != s->whole && !rw_once(r, *product))
            return false;
        *product = rw_in(r, rw_maker(r, *product), 0);
    }
    int64_t f = rw_dim(r, *product, -1);
    s->inner = dims_product(s->dims, s->axis + 1, s->rank);
    int64_t upto = s->inner * s->dims[s->axis];
    s->outer = 1;
    for (uint32_t i = s->axis; upto * s->outer < f && i-- > 0;)
        s->outer *= s->dims[i];
    return upto > 0 && upto * s->outer == f;
}

/* -- parts of weights -----------------------------------------------------*/

/* What was cut in this way before, CLV_NONE if nothing was. */
static uint32_t cut_before(const rewriter *r, const rw_cut *c)
{
    for (size_t i = 0; i < r->n_cuts; i++) {
        const rw_cut *o = &r->cuts[i];
        if (o->from == c->from && o->by_rows == c->by_rows &&
            o->first == c->first && o->run == c->run && o->every == c->every &&
            o->outer == c->outer)
            return o->made;
    }
    return CLV_NONE;
}

static void cut_keep(rewriter *r, rw_cut c)
{
    if (CLV_GROW(r->cuts, r->n_cuts, r->cap_cuts))
        r->cuts[r->n_cuts++] = c;
    else
        r->failed = true;
}

/* The features of a part, run by run: calls for each of `outer` runs. */
static uint32_t take_weight(rewriter *r, const split_product *p,
                            const split_view *s, const split_part *part)
{
    int64_t run = part->n * s->inner, every = s->dims[s->axis] * s->inner;
    int64_t f = s->outer * run, first = part->from * s->inner;
    int64_t dims[2] = {p->by_rows ? f : p->k, p->by_rows ? p->k : f};
    const char *from = r->tensor[p->w].data;
    rw_cut cut = {p->w, CLV_NONE, p->by_rows, first, run, every, s->outer};
    clv_tensor t;
    uint32_t c = cut_before(r, &cut);
    if (c != CLV_NONE)
        return c;
    c = rw_const(r, CLV_FLOAT32, 2, dims, &t);
    if (c == CLV_NONE)
        return c;
    char *to = t.data;
    size_t size = sizeof(float);
    for (int64_t o = 0; o < s->outer; o++) {
        if (p->by_rows)
            memcpy(to + (size_t)(o * run * p->k) * size,
                   from + (size_t)((o * every + first) * p->k) * size,
                   (size_t)(run * p->k) * size);
        for (int64_t i = 0; !p->by_rows && i < p->k; i++)
            memcpy(to + (size_t)(i * f + o * run) * size,
                   from + (size_t)(i * p->f + o * every + first) * size,
                   (size_t)run * size);
    }
    cut.made = c;
    cut_keep(r, cut);
    return c;
}

static uint32_t take_bias(rewriter *r, const split_product *p,
                          const split_view *s, const split_part *part)
{
    split_product as_rows = {.w = p->bias, .by_rows = true, .k = 1, .f = p->f};
    uint32_t c = take_weight(r, &as_rows, s, part);
    int64_t f = s->outer * part->n * s->inner;
    return c == CLV_NONE ? c : rw_const_view(r, c, 1, &f);
}

/* x times the part of the weight, with the part of the bias. */
static uint32_t part_product(rewriter *r, const split_product *p,
                             const split_view *s, const split_part *part)
{
    rw_form f = {.op = p->by_rows ? CLV_OP_LINEAR : CLV_OP_MATMUL};
    uint32_t w = take_weight(r, p, s, part), b = CLV_NONE;
    if (p->bias != CLV_NONE)
        b = take_bias(r, p, s, part);
    if (w == CLV_NONE || (p->bias != CLV_NONE && b == CLV_NONE))
        return CLV_NONE;
    rw_form_input(&f, p->x);
    rw_form_input(&f, w);
    if (p->by_rows && b != CLV_NONE)
        rw_form_input(&f, b);
    uint32_t y = rw_add(r, &f);
    if (p->by_rows || b == CLV_NONE || y == CLV_NONE)
        return y;
    rw_form sum = {.op = CLV_OP_ADD};
    rw_form_input(&sum, y);
    rw_form_input(&sum, b);
    return rw_add(r, &sum);
}

/* The product of a part, in the shape and order that the part had. */
static uint32_t part_result(rewriter *r, const split_product *p,
                            const split_view *s, const split_part *part)
{
    int64_t dims[CLV_MAX_RANK], perm[CLV_MAX_RANK];
    uint32_t rank = 0, n = 0;
    bool moved = false;
    for (uint32_t i = 0; i < s->rank; i++)
        if (i != s->axis || !part->dropped)
            dims[rank++] = i == s->axis ? part->n : s->dims[i];
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->perm[i] == s->axis && part->dropped)
            continue;
        perm[n] = s->perm[i] - (part->dropped && s->perm[i] > s->axis);
        moved = moved || perm[n] != n;
        n++;
    }
    rw_form f = {.op = CLV_OP_RESHAPE};
    rw_form_input(&f, part_product(r, p, s, part));
    if (f.in[0] == CLV_NONE)
        return CLV_NONE;
    rw_form_ints(r, &f, CLV_A_SHAPE, dims, rank);
    uint32_t y = rw_add(r, &f);
    if (!moved || y == CLV_NONE)
        return y;
    rw_form t = {.op = CLV_OP_PERMUTE};
    rw_form_input(&t, y);
    rw_form_ints(r, &t, CLV_A_PERM, perm, n);
    return rw_add(r, &t);
}

bool rewrite_split_product(rewriter *r, uint32_t id)
{
    split_part parts[SPLIT_PARTS];
    uint32_t count, product, made[SPLIT_PARTS];
    split_product p;
    split_view s;
    if (!rw_node(r, id)->n_in || rw_in(r, id, 0) == CLV_NONE ||
        !rw_is_float(r, rw_in(r, id, 0)))
        return false;
    split_part mine[SPLIT_PARTS];
    uint32_t v = rw_in(r, id, 0), own = 0;
    if (!parts_of(r, id, mine, &own) || !own ||
        !find_view(r, v, mine[0].axis, &s, &product) ||
        !find_product(r, product, product == v, &p) ||
        !all_parts(r, v, parts, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        made[i] = part_result(r, &p, &s, &parts[i]);
        if (made[i] == CLV_NONE || !rw_same_shape(r, made[i], parts[i].v))
            return false;
    }
    for (uint32_t i = 0; i < count; i++)
        rw_forward_value(r, parts[i].v, made[i]);
    clv__weight_drop(r->weights, r->from, &r->tensor[p.w]);
    return true;
}

/* -- rolls ----------------------------------------------------------------*/

/* cat(x[s:], x[:s]) along one axis is x rolled by -s. */
bool rewrite_roll(rewriter *r, uint32_t id)
{
    split_part a = {0}, b = {0};
    uint32_t axis, y = rw_out(r, id);
    uint32_t first = rw_made_by(r, rw_in(r, id, 0), CLV_OP_SLICE);
    uint32_t second = rw_made_by(r, rw_in(r, id, 1), CLV_OP_SLICE);
    if (rw_node(r, id)->n_in != 2 || first == CLV_NONE || second == CLV_NONE ||
        !rw_is_static(r, y) || rw_in(r, first, 0) != rw_in(r, second, 0) ||
        !rw_is_static(r, rw_in(r, first, 0)) ||
        get_axis(rw_node(r, id), rw_rank(r, y), &axis, NULL) != CLV_OK ||
        !part_single(r, first, &a) || !part_single(r, second, &b))
        return false;
    int64_t size = rw_dim(r, rw_in(r, first, 0), (int)axis);
    if (a.axis != axis || b.axis != axis || b.from != 0 || a.from != b.n ||
        a.n + b.n != size)
        return false;
    int64_t shift = -b.n, along = axis;
    rw_form f = {.op = CLV_OP_ROLL};
    rw_form_input(&f, rw_in(r, first, 0));
    rw_form_ints(r, &f, CLV_A_SHIFTS, &shift, 1);
    rw_form_ints(r, &f, CLV_A_AXES, &along, 1);
    return !r->failed && rw_become(r, id, &f);
}
