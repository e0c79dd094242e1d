/* control.c - running bodies: If, Loop, Scan, SequenceMap (see ops/control.c
 * for how their inputs are laid out; search.c has those of beam search).
 *
 * A body runs node by node, every shape found while running, in a frame of its
 * own; a frame frees what it made when it ends. Iterations hand tensors on by
 * moving them: each is owned once.
 *
 * A file may ask for a loop without end, or for states without bound. A loop
 * ends with an error after LOOP_TRIPS trips, or after as many as its attribute
 * `trips` says (--loop) where it has no count of its own; and when its states
 * have grown by LOOP_GROWTH bytes. A service may set both (clv_limits). */
#include "run/control.h"
#include "core/limits.h"

#include <string.h>

static const int64_t LOOP_TRIPS = 1000000;
static const int64_t LOOP_GROWTH = INT64_C(256) << 20;

void clv__body_free(body_frame *f)
{
    for (uint32_t v = 0; f->t && f->owned && v < f->g->n_values; v++)
        if (f->owned[v])
            clv__free(f->t[v].data);
    clv__free(f->t);
    clv__free(f->owned);
}

clv_status clv__body_run(body_frame *f, const clv_graph *body,
                         const clv_tensor *const *in, uint32_t n_in,
                         const weight_store *w, run_memory *mem, clv_err *e)
{
    const clv_tensor *table = clv__weights_of(w, body);
    *f = (body_frame){.g = body};
    if (!table)
        return clv__fail(e, CLV_SHAPE, "the branch taken does not fit");
    f->t = clv__alloc(((size_t)body->n_values + 1) * sizeof *f->t);
    f->owned = clv__zalloc((size_t)body->n_values + 1);
    if (!f->t || !f->owned)
        return clv__nomem(e);
    memcpy(f->t, table, body->n_values * sizeof *f->t);
    for (uint32_t i = 0; i < body->n_inputs && i < n_in; i++)
        if (in[i])
            f->t[body->inputs[i]] = *in[i];
    for (uint32_t id = 0; id < body->n_nodes; id++) {
        const clv_node *n = &body->nodes[id];
        CLV_TRY(clv__run_dynamic(body, id, f->t, w, mem, e));
        for (uint32_t o = 0; o < n->n_out; o++)
            f->owned[node_outs(body, n)[o]] = true;
    }
    return CLV_OK;
}

clv_status clv__body_take(body_frame *f, uint32_t i, clv_tensor *out,
                          clv_err *e)
{
    if (i >= f->g->n_outputs)
        return clv__fail(e, CLV_FORMAT, "the body has no output %u", i);
    uint32_t v = f->g->outputs[i];
    if (!f->t[v].data)
        return clv__fail(e, CLV_UNSUPPORTED, "output %u of the body", i);
    if (!f->owned[v])
        return clv__tensor_copy(&f->t[v], out, e);
    for (uint32_t k = i + 1; k < f->g->n_outputs; k++)
        if (f->g->outputs[k] == v) /* given out again later */
            return clv__tensor_copy(&f->t[v], out, e);
    *out = f->t[v];
    f->owned[v] = false;
    return CLV_OK;
}

static const clv_graph *body_of(const clv_node *n, clv_attr_key key)
{
    const clv_attr *a = attr_get(n, key);
    return a && a->type == CLV_ATTR_GRAPH ? a->u.body : NULL;
}

static const clv_tensor *input(const clv_graph *g, const clv_node *n,
                               const clv_tensor *t, uint32_t i)
{
    return node_in(g, n, i) ? &t[node_ins(g, n)[i]] : NULL;
}

/* -- if -------------------------------------------------------------------*/

static clv_status run_if(const clv_graph *g, const clv_node *n,
                         clv_tensor *tensor, const weight_store *w,
                         run_memory *mem, clv_err *e)
{
    const clv_tensor *c = input(g, n, tensor, 0);
    if (!c || !c->data || numel(c) != 1)
        return clv__fail(e, CLV_SHAPE, "the condition is not one element");
    clv_attr_key key = get_f(c, 0) != 0 ? CLV_A_THEN : CLV_A_ELSE;
    uint32_t first = 1;
    for (uint32_t i = 0; i < n->n_attrs && n->attrs[i].key != key; i++)
        if (n->attrs[i].type == CLV_ATTR_GRAPH)
            first += n->attrs[i].u.body->n_inputs;
    const clv_graph *body = body_of(n, key);
    const clv_tensor **in =
        arena_array(&mem->scratch, (size_t)n->n_in + 1, sizeof *in);
    if (!body || !in)
        return body ? clv__nomem(e)
                    : clv__fail(e, CLV_FORMAT, "a branch is missing");
    uint32_t count = 0;
    for (; first + count < n->n_in && count < body->n_inputs; count++)
        in[count] = input(g, n, tensor, first + count);
    body_frame f;
    clv_status s = clv__body_run(&f, body, in, count, w, mem, e);
    for (uint32_t o = 0; o < n->n_out && s == CLV_OK; o++)
        s = clv__body_take(&f, o, &tensor[node_outs(g, n)[o]], e);
    clv__body_free(&f);
    return s;
}

/* -- what loops collect ---------------------------------------------------*/

/* Slices stacked along a new axis; kept as one growing block. */
typedef struct stack {
    clv_tensor slice; /* type and shape; no data */
    char *data;
    int64_t n;
    size_t size, cap;
} stack;

static clv_status push(stack *s, const clv_tensor *t, clv_err *e)
{
    size_t bytes = (size_t)clv_tensor_bytes(t);
    if (s->n == 0) {
        s->slice = *t;
        s->slice.data = NULL;
    } else if (t->rank != s->slice.rank ||
               memcmp(t->dims, s->slice.dims, t->rank * sizeof *t->dims)) {
        return clv__fail(e, CLV_SHAPE, "iterations give different shapes");
    }
    if (s->size + bytes > s->cap) {
        size_t cap = (s->size + bytes) * 2 + 64;
        char *grown = clv__realloc(s->data, cap);
        if (!grown)
            return clv__nomem(e);
        s->data = grown;
        s->cap = cap;
    }
    memcpy(s->data + s->size, t->data, bytes);
    s->size += bytes;
    s->n++;
    return CLV_OK;
}

/* The stack as a tensor, its new axis at `axis`; `like` shapes an empty one. */
static clv_status stacked(stack *s, uint32_t axis, bool reverse,
                          const clv_value *like, clv_tensor *out, clv_err *e)
{
    if (s->n == 0) {
        s->slice.dtype = (clv_dtype)like->dtype;
        s->slice.rank = like->rank == CLV_NO_RANK || !like->rank
                            ? 0
                            : (uint32_t)like->rank - 1;
        for (uint32_t i = 0; i < s->slice.rank; i++)
            s->slice.dims[i] = like->dims[i + 1];
    }
    if (s->slice.rank + 1 > CLV_MAX_RANK || axis > s->slice.rank)
        return clv__fail(e, CLV_SHAPE, "scan axis %u", axis);
    *out = s->slice;
    out->rank++;
    for (uint32_t i = 0, k = 0; i < out->rank; i++)
        out->dims[i] = i == axis ? s->n : s->slice.dims[k++];
    int64_t bytes = clv_tensor_bytes(out);
    if (bytes < 0 || !(out->data = clv__zalloc((size_t)bytes + 1)))
        return clv__nomem(e);
    int64_t inner = 1, outer = 1, size = (int64_t)clv__element_bytes(out);
    for (uint32_t i = axis; i < s->slice.rank; i++)
        inner *= s->slice.dims[i];
    for (uint32_t i = 0; i < axis; i++)
        outer *= s->slice.dims[i];
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t o = 0; o < outer; o++)
            memcpy((char *)out->data +
                       (o * s->n + (reverse ? s->n - 1 - i : i)) * inner * size,
                   s->data + (i * outer + o) * inner * size,
                   (size_t)(inner * size));
    return CLV_OK;
}

/* -- loop and scan --------------------------------------------------------*/

typedef struct loop {
    const clv_graph *g, *body;
    const clv_node *n;
    const weight_store *w;
    run_memory *mem;
    const clv_tensor **given; /* inputs of the node */
    clv_tensor *result;       /* outputs of the node, owned */
    int64_t most;             /* slices that a scan takes at most */
    uint32_t states;          /* carried from one iteration to the next */
    uint32_t first;           /* body input of the first state */
    uint32_t first_out;       /* body output of the first state */
    clv_tensor *state;        /* owned */
    int64_t begun;            /* bytes of the states before the first trip */
    stack *collected;         /* per scanned output */
    const clv_tensor **in;    /* of the body */
    clv_err *e;
} loop;

static int64_t state_bytes(const loop *l)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < l->states; i++)
        sum = sat_add(sum, clv_tensor_bytes(&l->state[i]));
    return sum;
}

static clv_status loop_begin(loop *l)
{
    size_t n = (size_t)l->n->n_in + l->n->n_out + l->body->n_inputs + 1;
    l->state = arena_zalloc(&l->mem->scratch, n * sizeof *l->state);
    l->collected = arena_zalloc(&l->mem->scratch, n * sizeof *l->collected);
    l->in = arena_zalloc(&l->mem->scratch, n * sizeof *l->in);
    if (!l->state || !l->collected || !l->in)
        return clv__nomem(l->e);
    for (uint32_t i = 0; i < l->body->n_inputs && i < l->n->n_in; i++)
        l->in[i] = l->given[i];
    for (uint32_t i = 0; i < l->states; i++) {
        const clv_tensor *t = l->given[l->first + i];
        if (!t || !t->data)
            return clv__fail(l->e, CLV_SHAPE, "state %u is missing", i);
        CLV_TRY(clv__tensor_copy(t, &l->state[i], l->e));
    }
    l->begun = state_bytes(l);
    return CLV_OK;
}

/* Fails when the loop is about to pass a limit; `i` trips are done. */
static clv_status loop_limits(const loop *l, int64_t i, int64_t most)
{
    const clv_limits *own = &clv__budget.limits;
    int64_t growth = own->max_growth ? own->max_growth : LOOP_GROWTH;
    CLV_TRY(clv__within(0, l->e));
    if (i >= most)
        return clv__fail(l->e, CLV_UNSUPPORTED,
                         "goes on after %lld trips, the limit of a loop",
                         (long long)most);
    if (state_bytes(l) - l->begun > growth)
        return clv__fail(l->e, CLV_UNSUPPORTED,
                         "its states grew by more than %lld MB in %lld trips, "
                         "the limit of a loop",
                         (long long)(growth >> 20), (long long)i);
    return CLV_OK;
}

/* One iteration: states move on, scanned outputs are collected. */
static clv_status iterate(loop *l, bool *go_on)
{
    for (uint32_t i = 0; i < l->states; i++)
        l->in[l->first + i] = &l->state[i];
    body_frame f;
    clv_status s = clv__body_run(&f, l->body, l->in, l->body->n_inputs, l->w,
                                 l->mem, l->e);
    if (s == CLV_OK && go_on) {
        const clv_tensor *c = &f.t[l->body->outputs[0]];
        *go_on = c->data && numel(c) == 1 ? get_f(c, 0) != 0 : true;
    }
    clv_tensor *next =
        s == CLV_OK
            ? arena_zalloc(&l->mem->scratch, (l->states + 1u) * sizeof *next)
            : NULL;
    if (s == CLV_OK && !next)
        s = clv__nomem(l->e);
    for (uint32_t i = 0; i < l->states && s == CLV_OK; i++)
        s = clv__body_take(&f, l->first_out + i, &next[i], l->e);
    for (uint32_t o = l->states; o < l->n->n_out && s == CLV_OK; o++) {
        uint32_t at = l->first_out + o;
        if (at >= l->body->n_outputs || !f.t[l->body->outputs[at]].data)
            s = clv__fail(l->e, CLV_UNSUPPORTED, "output %u of the body", at);
        else
            s = push(&l->collected[o - l->states], &f.t[l->body->outputs[at]],
                     l->e);
    }
    for (uint32_t i = 0; i < l->states && next; i++) {
        if (s == CLV_OK) {
            clv__free(l->state[i].data);
            l->state[i] = next[i];
        } else {
            clv__free(next[i].data);
        }
    }
    clv__body_free(&f);
    return s;
}

static clv_status loop_end(loop *l, clv_status s)
{
    bool scan = l->n->op == CLV_OP_SCAN;
    uint32_t count = 0;
    const int64_t *axes =
        scan ? attr_ints(l->n, CLV_A_OUTPUT_AXES, &count) : NULL;
    const clv_attr *flip = attr_get(l->n, CLV_A_OUTPUT_REVERSED);
    for (uint32_t o = 0; o < l->n->n_out && s == CLV_OK; o++) {
        clv_tensor *out = &l->result[o];
        uint32_t k = o - l->states, axis = 0;
        if (o < l->states) {
            *out = l->state[o];
            l->state[o].data = NULL;
            continue;
        }
        uint32_t rank = l->collected[k].slice.rank + 1;
        if (k < count)
            s = norm_axis(axes[k], rank, &axis, l->e);
        bool reverse = flip && flip->type == CLV_ATTR_INTS && k < flip->n &&
                       flip->u.ints[k];
        if (s == CLV_OK)
            s = stacked(&l->collected[k], axis, reverse,
                        node_out(l->g, l->n, o), out, l->e);
    }
    for (uint32_t o = 0; l->collected && o < l->n->n_out; o++)
        clv__free(l->collected[o].data);
    for (uint32_t i = 0; l->state && i < l->states; i++)
        clv__free(l->state[i].data);
    return s;
}

/* trip count, condition, states ..., captured ... */
static clv_status run_loop(loop *l)
{
    const clv_tensor *m = l->given[0], *c = l->given[1];
    bool counted = m && m->data && get_i(m, 0) < INT32_MAX;
    int64_t trips = m && m->data ? get_i(m, 0) : INT64_MAX, i = 0;
    int64_t limit = clv__budget.limits.max_trips;
    int64_t most = !counted && attr_get(l->n, CLV_A_TRIPS)
                       ? attr_int(l->n, CLV_A_TRIPS)
                   : limit ? limit
                           : LOOP_TRIPS;
    uint8_t cond = !c || !c->data || get_f(c, 0) != 0;
    clv_tensor index = {.dtype = CLV_INT64, .data = &i, .dims = {1}};
    clv_tensor flag = {.dtype = CLV_BOOL, .data = &cond, .dims = {1}};
    index.rank = l->body->values[l->body->inputs[0]].rank == 1;
    flag.rank = l->body->values[l->body->inputs[1]].rank == 1;
    bool go_on = cond;
    clv_status s = loop_begin(l);
    for (; s == CLV_OK && go_on && i < trips; i++) {
        arena_mark mark = arena_save(&l->mem->scratch);
        l->in[0] = &index;
        l->in[1] = &flag;
        s = loop_limits(l, i, most);
        if (s == CLV_OK)
            s = iterate(l, &go_on);
        cond = go_on;
        arena_rewind(&l->mem->scratch, mark);
    }
    return loop_end(l, s);
}

/* Slice i of t along axis, in fresh memory. */
static clv_status slice_at(const clv_tensor *t, int64_t axis, int64_t i,
                           clv_tensor *out, clv_err *e)
{
    uint32_t a, k = 0;
    CLV_TRY(norm_axis(axis, t->rank, &a, e));
    int64_t inner = 1, outer = 1, size = (int64_t)clv__element_bytes(t);
    *out = (clv_tensor){.dtype = t->dtype, .rank = t->rank - 1};
    for (uint32_t d = 0; d < t->rank; d++) {
        if (d < a)
            outer *= t->dims[d];
        if (d > a)
            inner *= t->dims[d];
        if (d != a)
            out->dims[k++] = t->dims[d];
    }
    if (!(out->data = clv__alloc((size_t)clv_tensor_bytes(out) + 1)))
        return clv__nomem(e);
    for (int64_t o = 0; o < outer; o++)
        memcpy((char *)out->data + o * inner * size,
               (const char *)t->data + (o * t->dims[a] + i) * inner * size,
               (size_t)(inner * size));
    return CLV_OK;
}

/* states ..., scanned ..., captured ..., and `trips` slices */
static clv_status scan_step(loop *l, uint32_t scans, int64_t i, int64_t trips)
{
    uint32_t count;
    const int64_t *axes = attr_ints(l->n, CLV_A_INPUT_AXES, &count);
    const clv_attr *way = attr_get(l->n, CLV_A_INPUT_REVERSED);
    clv_tensor *slice =
        arena_zalloc(&l->mem->scratch, (scans + 1u) * sizeof *slice);
    clv_status s = slice ? CLV_OK : clv__nomem(l->e);
    for (uint32_t k = 0; k < scans && s == CLV_OK; k++) {
        const clv_tensor *t = l->given[l->states + k];
        bool back =
            way && way->type == CLV_ATTR_INTS && k < way->n && way->u.ints[k];
        s = slice_at(t, k < count ? axes[k] : 0, back ? trips - 1 - i : i,
                     &slice[k], l->e);
        l->in[l->states + k] = &slice[k];
    }
    if (s == CLV_OK)
        s = iterate(l, NULL);
    for (uint32_t k = 0; slice && k < scans; k++)
        clv__free(slice[k].data);
    return s;
}

/* Slices of zeros, where a scan stopped before its last. */
static clv_status fill_up(loop *l, int64_t trips)
{
    for (uint32_t o = l->states; o < l->n->n_out; o++) {
        stack *c = &l->collected[o - l->states];
        clv_tensor zeros = c->slice;
        zeros.data = arena_zalloc(&l->mem->scratch,
                                  (size_t)clv_tensor_bytes(&zeros) + 1);
        if (!zeros.data)
            return clv__nomem(l->e);
        while (c->n < trips)
            CLV_TRY(push(c, &zeros, l->e));
    }
    return CLV_OK;
}

static clv_status run_scan(loop *l)
{
    uint32_t scans = (uint32_t)attr_int(l->n, CLV_A_SCANS), count, a;
    const int64_t *axes = attr_ints(l->n, CLV_A_INPUT_AXES, &count);
    int64_t trips = 0;
    for (uint32_t k = 0; k < scans; k++) {
        const clv_tensor *t = l->given[l->states + k];
        if (!t || !t->data || !t->rank)
            return clv__fail(l->e, CLV_SHAPE, "scanned input %u", k);
        CLV_TRY(norm_axis(k < count ? axes[k] : 0, t->rank, &a, l->e));
        if (k && t->dims[a] != trips)
            return clv__fail(l->e, CLV_SHAPE,
                             "scanned inputs of %lld and %lld slices",
                             (long long)trips, (long long)t->dims[a]);
        trips = t->dims[a];
    }
    int64_t taken = trips < l->most ? trips : l->most;
    clv_status s = loop_begin(l);
    for (int64_t i = 0; s == CLV_OK && i < taken; i++) {
        arena_mark mark = arena_save(&l->mem->scratch);
        s = clv__within(0, l->e);
        if (s == CLV_OK)
            s = scan_step(l, scans, i, taken);
        arena_rewind(&l->mem->scratch, mark);
    }
    if (s == CLV_OK && taken < trips)
        s = fill_up(l, trips);
    return loop_end(l, s);
}

/* -- scan of a batch, before opset 9 --------------------------------------*/

/* Entry b: a scan of its own, over as many slices as its length says. */
static clv_status scan_entry(loop *l, const clv_tensor *const *whole,
                             const clv_tensor *lengths, int64_t b)
{
    uint32_t n = l->states + (uint32_t)attr_int(l->n, CLV_A_SCANS);
    clv_tensor *part = arena_zalloc(&l->mem->scratch, (n + 1u) * sizeof *part);
    clv_status s = part ? CLV_OK : clv__nomem(l->e);
    l->most = lengths ? get_i(lengths, b) : INT64_MAX;
    if (l->most < 1)
        return clv__fail(l->e, CLV_SHAPE, "a sequence of %lld slices",
                         (long long)l->most);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++) {
        s = slice_at(whole[i], 0, b, &part[i], l->e);
        l->given[i] = &part[i];
    }
    if (s == CLV_OK)
        s = run_scan(l);
    for (uint32_t i = 0; part && i < n; i++)
        clv__free(part[i].data);
    return s;
}

/* Every input has its batch first, and what all entries give is stacked. The
 * lengths of the sequences come after all that the body takes. */
static clv_status run_batch(loop *l)
{
    uint32_t at = l->body->n_inputs, n = l->n->n_in;
    const clv_tensor *lengths = at < n ? l->given[at] : NULL, *x = NULL;
    const clv_tensor **whole =
        arena_array(&l->mem->scratch, (size_t)n + 1, sizeof *whole);
    stack *all =
        arena_zalloc(&l->mem->scratch, (l->n->n_out + 1u) * sizeof *all);
    if (!whole || !all)
        return clv__nomem(l->e);
    memcpy(whole, l->given, n * sizeof *whole);
    for (uint32_t i = 0; i < l->states + (uint32_t)attr_int(l->n, CLV_A_SCANS);
         i++) {
        if (!whole[i] || !whole[i]->data || !whole[i]->rank ||
            (i && whole[i]->dims[0] != x->dims[0]))
            return clv__fail(l->e, CLV_SHAPE, "the batch of input %u", i);
        x = whole[0];
    }
    if (!x || (lengths && numel(lengths) < x->dims[0]))
        return clv__fail(l->e, CLV_SHAPE, "too few lengths of sequences");
    clv_status s = CLV_OK;
    for (int64_t b = 0; b < x->dims[0] && s == CLV_OK; b++) {
        arena_mark mark = arena_save(&l->mem->scratch);
        s = scan_entry(l, whole, lengths, b);
        for (uint32_t o = 0; o < l->n->n_out; o++) {
            if (s == CLV_OK)
                s = push(&all[o], &l->result[o], l->e);
            clv__free(l->result[o].data);
            l->result[o].data = NULL;
        }
        arena_rewind(&l->mem->scratch, mark);
    }
    for (uint32_t o = 0; o < l->n->n_out; o++) {
        if (s == CLV_OK)
            s = stacked(&all[o], 0, false, node_out(l->g, l->n, o),
                        &l->result[o], l->e);
        clv__free(all[o].data);
    }
    return s;
}

/* -- map ------------------------------------------------------------------*/

/* How often the body runs: the length of all sequences. */
static clv_status map_length(const clv_node *n, const clv_tensor *const *given,
                             int64_t *trips, clv_err *e)
{
    *trips = -1;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!given[i] || given[i]->form != CLV_FORM_SEQUENCE)
            continue;
        if (*trips >= 0 && numel(given[i]) != *trips)
            return clv__fail(e, CLV_SHAPE, "sequences of %lld and %lld tensors",
                             (long long)*trips, (long long)numel(given[i]));
        *trips = numel(given[i]);
    }
    return *trips < 0 ? clv__fail(e, CLV_SHAPE, "no input is a sequence")
                      : CLV_OK;
}

/* The body on tensor i of each sequence; what it gives is kept. */
static clv_status map_trip(const loop *l, int64_t i)
{
    body_frame f;
    for (uint32_t k = 0; k < l->body->n_inputs && k < l->n->n_in; k++) {
        const clv_tensor *t = l->given[k];
        bool list = t && t->form == CLV_FORM_SEQUENCE;
        l->in[k] = list ? clv_tensor_item(t, i) : t;
    }
    clv_status s = clv__body_run(&f, l->body, l->in, l->body->n_inputs, l->w,
                                 l->mem, l->e);
    for (uint32_t o = 0; o < l->n->n_out && s == CLV_OK; o++) {
        clv_tensor t;
        s = clv__body_take(&f, o, &t, l->e);
        if (s != CLV_OK)
            break;
        clv_tensor *item = (clv_tensor *)l->result[o].data + i;
        *item = t;
        size_t bytes = (size_t)clv_tensor_bytes(&t);
        item->data = arena_alloc(&l->mem->kept, bytes + 1);
        if (item->data)
            memcpy(item->data, t.data, bytes);
        else
            s = clv__nomem(l->e);
        clv__free(t.data);
        l->result[o].dtype = t.dtype;
    }
    clv__body_free(&f);
    return s;
}

static clv_status run_map(loop *l)
{
    int64_t trips;
    size_t n = (size_t)l->body->n_inputs + 1;
    CLV_TRY(map_length(l->n, l->given, &trips, l->e));
    l->in = arena_zalloc(&l->mem->scratch, n * sizeof *l->in);
    if (!l->in)
        return clv__nomem(l->e);
    for (uint32_t o = 0; o < l->n->n_out; o++) {
        l->result[o] =
            (clv_tensor){.form = CLV_FORM_SEQUENCE, .rank = 1, .dims = {trips}};
        l->result[o].dtype = (clv_dtype)node_out(l->g, l->n, o)->dtype;
        l->result[o].data = clv__zalloc((size_t)trips * sizeof(clv_tensor) + 1);
        if (!l->result[o].data)
            return clv__nomem(l->e);
    }
    for (int64_t i = 0; i < trips; i++) {
        arena_mark mark = arena_save(&l->mem->scratch);
        CLV_TRY(map_trip(l, i));
        arena_rewind(&l->mem->scratch, mark);
    }
    return CLV_OK;
}

static clv_status run_repeated(loop *l)
{
    const clv_node *n = l->n;
    bool scan = n->op == CLV_OP_SCAN;
    l->body = body_of(n, CLV_A_BODY);
    if (!l->body)
        return clv__fail(l->e, CLV_FORMAT, "the body is missing");
    if (n->op == CLV_OP_SEQUENCE_MAP)
        return run_map(l);
    if (n->op == CLV_OP_BEAM_SEARCH)
        return clv__run_search(n, l->given, l->result, l->w, l->mem, l->e);
    l->states = (uint32_t)(scan ? attr_int(n, CLV_A_STATES)
                                : attr_int(n, CLV_A_OWN_INPUTS) - 2);
    l->first = scan ? 0 : 2;
    l->first_out = scan ? 0 : 1;
    if (l->states > n->n_in || l->states > n->n_out)
        return clv__fail(l->e, CLV_FORMAT, "%u states", l->states);
    if (!scan)
        return run_loop(l);
    return attr_int(n, CLV_A_BATCHED) ? run_batch(l) : run_scan(l);
}

clv_status clv__run_control(const clv_graph *g, uint32_t id, clv_tensor *tensor,
                            const weight_store *w, run_memory *mem, clv_err *e)
{
    const clv_node *n = &g->nodes[id];
    if (n->op == CLV_OP_IF)
        return run_if(g, n, tensor, w, mem, e);
    loop l = {.g = g, .n = n, .w = w, .mem = mem, .most = INT64_MAX};
    l.e = e;
    l.given = arena_array(&mem->scratch, (size_t)n->n_in + 2, sizeof *l.given);
    l.result = arena_zalloc(&mem->scratch, (n->n_out + 1u) * sizeof *l.result);
    if (!l.given || !l.result)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n->n_in + 2u; i++)
        l.given[i] = i < n->n_in ? input(g, n, tensor, i) : NULL;
    clv_status s = run_repeated(&l);
    for (uint32_t o = 0; o < n->n_out; o++)
        if (s == CLV_OK)
            tensor[node_outs(g, n)[o]] = l.result[o];
        else
            clv__free(l.result[o].data);
    return s;
}
