/* views.c - operators that look at memory in another way, and concatenations.
 *
 * A view is a slot of its own over the same buffer: other dims, other strides,
 * another beginning. Nothing is copied until somebody wants a layout that it
 * is not in. A concatenation of parts that lie side by side is a view as well:
 *
 *     home of a, b, c     | a | b  | c |     cat(a, b) and cat(a, b, c)
 *
 * so every part that may is made where the largest concatenation wants it. */
#include "backend/onednn/onednn.h"

typedef bool look_fn(const lowering *l, uint32_t node, uint32_t o,
                     const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y,
                     int64_t *at);

/* x with the dims of v, if no element has to move. */
static bool reshaped(const clv_value *v, const dnnl_memory_desc_t *x,
                     dnnl_memory_desc_t *y)
{
    dnnl_dims_t dims = {1};
    int rank = v->rank ? (int)v->rank : 1;
    for (uint32_t i = 0; i < v->rank; i++)
        dims[i] = v->dims[i];
    return dnnl_memory_desc_reshape(y, x, rank, dims) == dnnl_success;
}

static bool look_copy(const lowering *l, uint32_t node, uint32_t o,
                      const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y,
                      int64_t *at)
{
    const clv_value *from = dnn_value(l, dnn_in(l, node, 0));
    const clv_value *to = dnn_value(l, dnn_out(l, node));
    (void)o;
    *at = 0;
    *y = *x;
    return dnn_same_dims(from, to) ||
           (clv__numel(from) == clv__numel(to) && reshaped(to, x, y));
}

/* y's axis i is x's axis perm[i]. */
static bool permutation(const lowering *l, uint32_t node, uint32_t *perm)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t rank = dnn_value(l, dnn_in(l, node, 0))->rank, count, a, b;
    bool swap = n->op == CLV_OP_TRANSPOSE;
    const int64_t *list = attr_ints(n, swap ? CLV_A_AXES : CLV_A_PERM, &count);
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = swap ? i : rank - 1 - i;
    if (swap) {
        if (!list || count != 2 || norm_axis(list[0], rank, &a, NULL) ||
            norm_axis(list[1], rank, &b, NULL))
            return false;
        perm[a] = b;
        perm[b] = a;
        return true;
    }
    for (uint32_t i = 0; list && i < rank; i++)
        if (count != rank || norm_axis(list[i], rank, &perm[i], NULL))
            return false;
    return true;
}

static bool look_permute(const lowering *l, uint32_t node, uint32_t o,
                         const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y,
                         int64_t *at)
{
    uint32_t perm[CLV_MAX_RANK];
    int to[DNNL_MAX_NDIMS];
    (void)o;
    *at = 0;
    if (!permutation(l, node, perm))
        return false;
    for (int i = 0; i < x->ndims; i++)
        to[perm[i]] = i;
    return dnnl_memory_desc_permute_axes(y, x, to) == dnnl_success;
}

/* `many` indices of an axis, from `first` on; the dims are those of v. */
static bool part_of(const clv_value *v, uint32_t axis, int64_t first,
                    int64_t many, const dnnl_memory_desc_t *x,
                    dnnl_memory_desc_t *y, int64_t *at)
{
    dnnl_memory_desc_t part;
    dnnl_dims_t dims, from = {0};
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = many;
    from[axis] = first;
    if (dnnl_memory_desc_init_submemory(&part, x, dims, from) != dnnl_success)
        return false;
    *at = part.offset0 * 4;
    part.offset0 = 0;
    *y = part;
    return v->rank == x->ndims || reshaped(v, &part, y);
}

static bool look_split(const lowering *l, uint32_t node, uint32_t o,
                       const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y,
                       int64_t *at)
{
    const clv_node *n = &l->g->nodes[node];
    int64_t first = 0, many = 1;
    uint32_t axis;
    if (get_axis(n, (uint32_t)x->ndims, &axis, NULL))
        return false;
    for (uint32_t i = 0; i <= o; i++) {
        first += i ? many : 0;
        if (n->op != CLV_OP_UNBIND)
            many = dnn_value(l, node_outs(l->g, n)[i])->dims[axis];
    }
    return part_of(dnn_value(l, node_outs(l->g, n)[o]), axis, first, many, x, y,
                   at);
}

static bool look_select(const lowering *l, uint32_t node, uint32_t o,
                        const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y,
                        int64_t *at)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t axis, index;
    (void)o;
    if (get_axis(n, (uint32_t)x->ndims, &axis, NULL) ||
        x->dims[axis] >= CLV_NONE ||
        norm_axis(attr_int(n, CLV_A_INDEX), (uint32_t)x->dims[axis], &index,
                  NULL))
        return false;
    return part_of(dnn_value(l, dnn_out(l, node)), axis, index, 1, x, y, at);
}

/* Every step-th index of an axis from `first` on: strides grow, so there must
 * be no blocks. A row may then seem to reach into the next one, which oneDNN
 * would not make a descriptor of; its elements do not. */
static bool stepped(dnnl_memory_desc_t *md, uint32_t axis, int64_t first,
                    int64_t many, int64_t step, int64_t *at)
{
    dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    if (b->inner_nblks || step < 1 ||
        __builtin_mul_overflow(b->strides[axis], step, &step))
        return false;
    *at += first * b->strides[axis] * 4;
    b->strides[axis] = step;
    md->dims[axis] = md->padded_dims[axis] = many;
    return true;
}

static bool look_slice(const lowering *l, uint32_t node, uint32_t o,
                       const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y,
                       int64_t *at)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *v = dnn_value(l, dnn_out(l, node));
    int_list start, axes, step;
    (void)o;
    if (get_ints(l->g, n, CLV_A_START, 1, &start, NULL) != CLV_OK ||
        get_ints(l->g, n, CLV_A_AXES, 3, &axes, NULL) != CLV_OK ||
        get_ints(l->g, n, CLV_A_STEP, 4, &step, NULL) != CLV_OK ||
        v->rank != x->ndims || (axes.n && axes.n < start.n) ||
        start.n > v->rank)
        return false;
    *at = 0;
    *y = *x;
    for (uint32_t i = 0; i < start.n; i++) {
        int64_t by = list_at(step.v, step.n, i), first, beyond;
        const dnnl_memory_desc_t from = *y;
        uint32_t a;
        if (norm_axis(axes.n ? axes.v[i] : (int64_t)i, v->rank, &a, NULL))
            return false;
        first = slice_start(x->dims[a], start.v[i], by);
        if (by != 1 ? !stepped(y, a, first, v->dims[a], by, at)
                    : !part_of(v, a, first, v->dims[a], &from, y, &beyond))
            return false;
        *at += by != 1 ? 0 : beyond;
    }
    return true;
}

static const struct {
    clv_op op;
    bool whole; /* all of the input is in the output */
    look_fn *look;
} views[] = {
    {CLV_OP_RESHAPE, true, look_copy},
    {CLV_OP_FLATTEN, true, look_copy},
    {CLV_OP_UNFLATTEN, true, look_copy},
    {CLV_OP_SQUEEZE, true, look_copy},
    {CLV_OP_UNSQUEEZE, true, look_copy},
    {CLV_OP_IDENTITY, true, look_copy},
    {CLV_OP_DROPOUT, true, look_copy},
    {CLV_OP_STOCHASTIC_DEPTH, true, look_copy},
    {CLV_OP_CONTIGUOUS, true, look_copy},
    {CLV_OP_EXPAND, true, look_copy},
    {CLV_OP_PERMUTE, true, look_permute},
    {CLV_OP_TRANSPOSE, true, look_permute},
    {CLV_OP_SPLIT, false, look_split},
    {CLV_OP_CHUNK, false, look_split},
    {CLV_OP_UNBIND, false, look_split},
    {CLV_OP_SELECT, false, look_select},
    {CLV_OP_SLICE, false, look_slice},
};

static int view_row(const lowering *l, uint32_t node)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (views[i].op == (clv_op)l->g->nodes[node].op)
            return (int)i;
    return -1;
}

bool dnn_is_view(const lowering *l, uint32_t node)
{
    int row = view_row(l, node);
    return row >= 0 && views[row].whole;
}

bool dnn_look(const lowering *l, uint32_t node, uint32_t o,
              const dnnl_memory_desc_t *x, dnnl_memory_desc_t *y, int64_t *at)
{
    int row = view_row(l, node);
    if (row < 0 || !views[row].look(l, node, o, x, y, at))
        return false;
    dnn_tidy(y);
    return true;
}

clv_status dnn_lower_view(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *x = dnn_value(l, dnn_in(l, node, 0));
    uint32_t from, to;
    for (uint32_t o = 0; o < n->n_out; o++) {
        uint32_t v = node_outs(l->g, n)[o];
        dnnl_memory_desc_t plain, md;
        int64_t at;
        if (l->g->user_first[v] == l->g->user_first[v + 1] && !l->leaves[v])
            continue;
        CLV_TRY(dnn_slot(l, dnn_in(l, node, 0), &from));
        if (!dnn_look(l, node, o, &l->x->slots[from].md, &md, &at)) {
            dnn_plain(&plain, x->dims, x->rank);
            CLV_TRY(dnn_want(l, dnn_in(l, node, 0), &plain, &from));
            if (!dnn_look(l, node, o, &plain, &md, &at))
                return dnn_no(l, "no such view");
        }
        CLV_TRY(dnn_alias(l, from, v, &md, &to));
        l->x->slots[to].at += at;
    }
    return CLV_OK;
}

/* -- concatenation --------------------------------------------------------*/

/* Parts of y along `axis` lie one behind the other in memory. */
static bool side_by_side(const lowering *l, uint32_t node, uint32_t *axis)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    if (get_axis(n, y->rank, axis, NULL))
        return false;
    for (uint32_t i = 0; i < *axis; i++)
        if (y->dims[i] != 1)
            return false;
    return true;
}

clv_status dnn_find_homes(lowering *l)
{
    size_t nv = (size_t)l->g->n_values + 1;
    l->home = arena_array(&l->mem, nv, sizeof *l->home);
    if (!l->home)
        return clv__nomem(l->e);
    memset(l->home, 0xff, nv * sizeof *l->home);
    for (uint32_t k = l->s->n_nodes; k-- > 0;) {
        uint32_t node = l->s->nodes[k], axis;
        const clv_node *n = &l->g->nodes[node];
        if (n->op != CLV_OP_CAT || !l->inside[node] ||
            !side_by_side(l, node, &axis))
            continue;
        dnn_home at = {dnn_out(l, node), 0};
        if (l->home[at.of].of != CLV_NONE)
            at = l->home[at.of];
        for (uint32_t i = 0; i < n->n_in; i++) {
            uint32_t v = dnn_in(l, node, i);
            if (l->home[v].of == CLV_NONE && !dnn_const(l, v))
                l->home[v] = at;
            at.at += clv__bytes(dnn_value(l, v));
        }
    }
    return CLV_OK;
}

/* The parts already lie where the result has them. */
static bool in_place(const lowering *l, const uint32_t *slots, uint32_t n,
                     const dnnl_memory_desc_t *y)
{
    const dnn_place *first = &l->x->slots[slots[0]];
    int64_t at = first->at;
    const dnnl_blocking_desc_t *b = &y->format_desc.blocking;
    for (uint32_t i = 0; i < n; i++) {
        const dnn_place *p = &l->x->slots[slots[i]];
        const dnnl_blocking_desc_t *q = &p->md.format_desc.blocking;
        if (p->buffer != first->buffer || p->at != at ||
            q->inner_nblks != b->inner_nblks ||
            (b->inner_nblks && q->inner_blks[0] != b->inner_blks[0]))
            return false;
        for (int k = 1; k < y->ndims; k++)
            if (q->strides[k] != b->strides[k])
                return false;
        at += (int64_t)dnnl_memory_desc_get_size(&p->md);
    }
    return at - first->at == (int64_t)dnnl_memory_desc_get_size(y);
}

/* Parts of several layouts get one, for which oneDNN has more than a loop:
 * channels last if one of them is so, else row-major. */
static clv_status cat_agree(lowering *l, uint32_t node, uint32_t *slots)
{
    const clv_node *n = &l->g->nodes[node];
    uint32_t last = 0, rows = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const dnnl_memory_desc_t *md = &l->x->slots[slots[i]].md;
        dnnl_memory_desc_t plain;
        dnn_plain(&plain, md->dims, (uint32_t)md->ndims);
        bool both = dnnl_memory_desc_equal(md, &plain);
        rows += both;
        last += !both && dnn_channels_last(md);
    }
    if (rows == n->n_in || last == n->n_in || (!rows && !last))
        return CLV_OK;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *x = dnn_value(l, dnn_in(l, node, i));
        dnnl_memory_desc_t md;
        if (last)
            dnn_last(&md, x);
        else
            dnn_plain(&md, x->dims, x->rank);
        CLV_TRY(dnn_want(l, dnn_in(l, node, i), &md, &slots[i]));
    }
    return CLV_OK;
}

/* Elements of a part that lie side by side in the result: oneDNN starts afresh
 * for each such run. */
enum { SHORT_RUN = 16 };

static bool short_runs(const lowering *l, uint32_t node, uint32_t axis)
{
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    int64_t longest = 0;
    for (uint32_t i = 0; i < l->g->nodes[node].n_in; i++) {
        const clv_value *x = dnn_value(l, dnn_in(l, node, i));
        int64_t run = dims_product(x->dims, axis, x->rank);
        longest = run > longest ? run : longest;
    }
    return longest < SHORT_RUN && dims_product(y->dims, 0, axis) > SHORT_RUN;
}

clv_status dnn_lower_cat(lowering *l, uint32_t node)
{
    const clv_node *n = &l->g->nodes[node];
    const clv_value *y = dnn_value(l, dnn_out(l, node));
    uint32_t axis, slots[33];
    int args[33];
    dnnl_memory_desc_t md[32], first, dst;
    dnnl_primitive_desc_t pd;
    if (n->n_in > 32)
        return dnn_no(l, "more than 32 parts");
    bool near = side_by_side(l, node, &axis);
    CLV_TRY(get_axis(n, y->rank, &axis, l->e));
    bool plain = axis != 1 || y->rank < 3;
    if (plain && short_runs(l, node, axis))
        return dnn_no(l, "parts of a few elements at a time");
    for (uint32_t i = 0; i < n->n_in; i++) {
        const clv_value *x = dnn_value(l, dnn_in(l, node, i));
        if (x->rank != y->rank || clv__numel(x) == 0)
            return dnn_no(l, "an empty part");
        CLV_TRY(dnn_dense(l, dnn_in(l, node, i), &slots[i]));
        if (plain) {
            dnn_plain(&first, x->dims, x->rank);
            CLV_TRY(dnn_want(l, dnn_in(l, node, i), &first, &slots[i]));
        }
        args[i] = DNNL_ARG_MULTIPLE_SRC + (int)i;
    }
    if (!plain)
        CLV_TRY(cat_agree(l, node, slots));
    for (uint32_t i = 0; i < n->n_in; i++)
        md[i] = l->x->slots[slots[i]].md;
    dnn_plain(&dst, y->dims, y->rank);
    DNN(l, dnnl_concat_primitive_desc_create(&pd, plain ? &dst : NULL,
                                             (int)n->n_in, (int)axis, md,
                                             l->attr, l->engine));
    dst = *dnn_query(pd, dnnl_query_dst_md, 0);
    args[n->n_in] = DNNL_ARG_DST;
    if (near && in_place(l, slots, n->n_in, &dst)) {
        dnnl_primitive_desc_destroy(pd);
        return dnn_alias(l, slots[0], dnn_out(l, node), &dst, &slots[32]);
    }
    if (l->home)
        l->home[dnn_out(l, node)].of = CLV_NONE; /* some parts may lie there */
    clv_status s = dnn_new(l, dnn_out(l, node), &dst, &slots[n->n_in]);
    if (s != CLV_OK)
        return dnnl_primitive_desc_destroy(pd), s;
    return dnn_op(l, pd, args, slots, n->n_in + 1);
}
