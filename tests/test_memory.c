/* test_memory.c - liveness, peaks and arena plans against a simulation that
 * keeps sets of tensors and looks every fact up anew, on every model of the
 * zoo and on random graphs.
 *
 * timeout: 600 */
#include "plan/memory.h"
#include "random_graph.h"
#include "starve.h"

#include <stdlib.h>

/* -- the simulation -------------------------------------------------------*/

/* A piece of memory and the storages that were put into it. */
typedef struct cell {
    int64_t bytes;
    uint32_t holds; /* the storage in it now */
} cell;

typedef struct sim {
    const clv_cut *c;
    const clv_graph *g;
    const uint32_t *step_of; /* per subgraph */
    uint32_t *cell_of;       /* per storage */
    cell *cells;
    bool *alive;
    uint32_t n_cells;
    bool inplace;
} sim;

/* Is storage r read, itself or through a view, at a step in [from, to]? */
static bool read_between(const sim *s, uint32_t r, uint32_t from, uint32_t to)
{
    const clv_graph *g = s->g;
    for (uint32_t k = 0; k < s->c->n_subs; k++) {
        const clv_subgraph *sub = &s->c->subs[k];
        if (s->step_of[k] < from || s->step_of[k] > to)
            continue;
        for (uint32_t i = 0; i < sub->n_nodes; i++) {
            const clv_node *n = &g->nodes[sub->nodes[i]];
            for (uint32_t j = 0; j < n->n_in; j++) {
                uint32_t v = node_ins(g, n)[j];
                if (v != CLV_NONE && clv__storage(g, v) == r)
                    return true;
            }
        }
    }
    return false;
}

static bool leaves_graph(const sim *s, uint32_t r)
{
    for (uint32_t i = 0; i < s->g->n_outputs; i++)
        if (clv__storage(s->g, s->g->outputs[i]) == r)
            return true;
    return false;
}

/* The last step that reads each storage, found once by walking all nodes; the
 * slow question above is asked for random graphs, this one for the zoo. */
static bool needed_after(const sim *s, const int64_t *last, uint32_t r,
                         uint32_t step)
{
    if (last)
        return leaves_graph(s, r) || last[r] > (int64_t)step;
    return leaves_graph(s, r) || read_between(s, r, step + 1, s->c->n_subs);
}

static bool never_read(const sim *s, uint32_t r)
{
    for (uint32_t i = 0; i < s->g->n_nodes; i++)
        for (uint32_t j = 0; j < s->g->nodes[i].n_in; j++)
            if (node_ins(s->g, &s->g->nodes[i])[j] == r)
                return false;
    return true;
}

static void put(sim *s, uint32_t r)
{
    int64_t bytes = clv__held_bytes(&s->g->values[r]);
    s->cell_of[r] = s->n_cells;
    s->alive[s->n_cells] = bytes != CLV_SAT;
    s->cells[s->n_cells++] = (cell){bytes == CLV_SAT ? 0 : bytes, r};
}

static bool may_run_in_place(const sim *s, const clv_subgraph *sub, uint32_t r)
{
    for (uint32_t i = 0; i < sub->n_nodes; i++) {
        const clv_node *n = &s->g->nodes[sub->nodes[i]];
        if (clv__ops[n->op].fuse != CLV_FUSE_ELTWISE || n->n_out != 1 ||
            clv__numel(node_out(s->g, n, 0)) != clv__numel(&s->g->values[r]))
            return false;
    }
    return s->inplace;
}

/* The first input whose memory r may take over. */
static uint32_t victim(const sim *s, const clv_subgraph *sub, uint32_t r,
                       uint32_t step, const int64_t *last)
{
    const clv_value *values = s->g->values;
    if (!may_run_in_place(s, sub, r))
        return CLV_NONE;
    for (uint32_t i = 0; i < sub->n_inputs; i++) {
        uint32_t v = sub->inputs[i], others = 0;
        if (values[v].view_of != CLV_NONE ||
            values[v].kind != CLV_VALUE_ACTIVATION ||
            needed_after(s, last, v, step) ||
            clv__numel(&values[v]) != clv__numel(&values[r]) ||
            clv__held_bytes(&values[v]) != clv__bytes(&values[r]) ||
            clv__held_bytes(&values[r]) == 0)
            continue;
        for (uint32_t j = 0; j < sub->n_inputs; j++)
            others += j != i && clv__storage(s->g, sub->inputs[j]) == v;
        if (!others)
            return v;
    }
    return CLV_NONE;
}

static int64_t alive_now(const sim *s)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n_cells; i++)
        sum += s->alive[i] ? s->cells[i].bytes : 0;
    return sum;
}

/* Runs one subgraph; returns the bytes alive while it runs. */
static int64_t step_once(sim *s, uint32_t k, uint32_t step, const int64_t *last)
{
    const clv_graph *g = s->g;
    const clv_subgraph *sub = &s->c->subs[k];
    bool taken = false;
    for (uint32_t i = 0; i < sub->n_nodes; i++) {
        const clv_node *n = &g->nodes[sub->nodes[i]];
        for (uint32_t o = 0; o < n->n_out; o++) {
            uint32_t r = node_outs(g, n)[o];
            if (g->values[r].view_of != CLV_NONE ||
                !(needed_after(s, last, r, step) || never_read(s, r)))
                continue;
            uint32_t v = taken ? CLV_NONE : victim(s, sub, r, step, last);
            if (v == CLV_NONE) {
                put(s, r);
                continue;
            }
            taken = true;
            s->cell_of[r] = s->cell_of[v];
            s->cells[s->cell_of[v]].holds = r;
        }
    }
    int64_t now = alive_now(s);
    for (uint32_t i = 0; i < s->n_cells; i++)
        s->alive[i] =
            s->alive[i] && needed_after(s, last, s->cells[i].holds, step);
    return now;
}

static int64_t *last_reads(const sim *s)
{
    int64_t *last = malloc(((size_t)s->g->n_values + 1) * sizeof *last);
    for (uint32_t v = 0; v < s->g->n_values; v++)
        last[v] = -1;
    for (uint32_t i = 0; i < s->g->n_nodes; i++)
        for (uint32_t j = 0; j < s->g->nodes[i].n_in; j++) {
            uint32_t v = node_ins(s->g, &s->g->nodes[i])[j];
            int64_t at = s->step_of[s->c->of[i]];
            if (v != CLV_NONE && at > last[clv__storage(s->g, v)])
                last[clv__storage(s->g, v)] = at;
        }
    return last;
}

/* Compares every step of m with the simulation. */
static void check_liveness(const clv_memory *m, bool inplace, bool slow)
{
    const clv_graph *g = m->c->p->g;
    size_t nv = (size_t)g->n_values + 1, n = m->c->n_subs;
    uint32_t *step_of = calloc(n + 1, sizeof *step_of);
    sim s = {.c = m->c, .g = g, .step_of = step_of, .inplace = inplace};
    s.cell_of = calloc(nv, sizeof *s.cell_of);
    s.cells = calloc(nv, sizeof *s.cells);
    s.alive = calloc(nv, sizeof *s.alive);
    for (uint32_t k = 0; k < n; k++)
        step_of[m->order[k]] = k;
    int64_t *last = slow ? NULL : last_reads(&s), peak = 0;
    uint32_t peak_step = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        put(&s, g->inputs[i]);
    for (uint32_t k = 0; k < n; k++) {
        int64_t now = step_once(&s, m->order[k], k, last);
        CHECK_EQ_INT(m->live[k], now);
        peak_step = now > peak ? k : peak_step;
        peak = now > peak ? now : peak;
    }
    CHECK_EQ_INT(m->totals.peak, peak);
    CHECK_EQ_INT(m->totals.peak_step, peak_step);
    free(last);
    free(s.alive);
    free(s.cells);
    free(s.cell_of);
    free(step_of);
}

/* -- plans ----------------------------------------------------------------*/

/* No two buffers that are alive at the same step share a byte. */
static void check_plan(const clv_memory *m, int64_t align)
{
    int64_t end = 0;
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        const clv_buffer *a = &m->buffers[i];
        CHECK(a->offset >= 0 && a->offset % align == 0);
        end = a->offset + a->bytes > end ? a->offset + a->bytes : end;
        for (uint32_t j = 0; j < i; j++) {
            const clv_buffer *b = &m->buffers[j];
            bool together = a->first <= b->last && b->first <= a->last;
            CHECK(!together || a->offset + a->bytes <= b->offset ||
                  b->offset + b->bytes <= a->offset);
        }
    }
    CHECK(end <= m->totals.arena && m->totals.arena < end + align);
    CHECK(m->totals.arena >= m->totals.arena_bound);
    CHECK(m->totals.arena_bound >= m->totals.peak);
}

typedef struct placed {
    int64_t bytes, offset;
    uint32_t first, last, id;
} placed;

static int largest_first(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* Does x, put at offset, touch one of the first n? */
static bool collides(const placed *all, uint32_t n, const placed *x,
                     int64_t offset)
{
    for (uint32_t i = 0; i < n; i++)
        if (all[i].first <= x->last && x->first <= all[i].last &&
            all[i].offset < offset + x->bytes &&
            offset < all[i].offset + all[i].bytes)
            return true;
    return false;
}

/* Greedy by size as published: each, largest first, in the smallest gap that
 * holds it, else above. Gaps are found by trying every end of another. */
static int64_t greedy_by_size(const clv_memory *m, int64_t align)
{
    uint32_t n = m->n_buffers;
    placed *x = calloc((size_t)n + 1, sizeof *x);
    int64_t size = 0;
    for (uint32_t i = 0; i < n; i++)
        x[i] = (placed){(m->buffers[i].bytes + align - 1) / align * align, 0,
                        m->buffers[i].first, m->buffers[i].last, i};
    qsort(x, n, sizeof *x, largest_first);
    for (uint32_t i = 0; i < n; i++) {
        int64_t best = -1, slack = INT64_MAX;
        for (uint32_t j = 0; j <= i; j++) {
            int64_t at = j == i ? 0 : x[j].offset + x[j].bytes, next = -1;
            bool together =
                j == i || (x[j].first <= x[i].last && x[i].first <= x[j].last);
            if (!together || collides(x, i, &x[i], at))
                continue;
            for (uint32_t k = 0; k < i; k++)
                if (x[k].first <= x[i].last && x[i].first <= x[k].last &&
                    x[k].offset >= at && (next < 0 || x[k].offset < next))
                    next = x[k].offset;
            int64_t room = next < 0 ? INT64_MAX - 1 : next - at - x[i].bytes;
            if (room < slack || (room == slack && at < best)) {
                slack = room;
                best = at;
            }
        }
        x[i].offset = best;
        size = best + x[i].bytes > size ? best + x[i].bytes : size;
    }
    free(x);
    return size;
}

static void check_order(const clv_memory *m)
{
    uint32_t n = m->c->n_subs;
    uint32_t *at = malloc(((size_t)n + 1) * sizeof *at);
    memset(at, 0xff, ((size_t)n + 1) * sizeof *at);
    for (uint32_t k = 0; k < n; k++) {
        CHECK(m->order[k] < n && at[m->order[k]] == UINT32_MAX);
        at[m->order[k]] = k;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < m->c->subs[k].n_depends_on; i++)
            CHECK(at[m->c->subs[k].depends_on[i]] < at[k]);
    free(at);
}

/* -- every way to look at a graph -----------------------------------------*/

static double worst_gap; /* arena over its bound, in one graph */

static void check_memory(const clv_cut *c, int64_t align, unsigned how,
                         bool slow)
{
    const clv_memory_opts opts = {.size = sizeof opts,
                                  .no_inplace = how & 1,
                                  .reorder = how & 2,
                                  .align = align};
    clv_memory *m;
    clv_err err;
    if (!CHECK(clv_memory_new(c, &opts, &m, &err) == CLV_OK))
        return;
    int64_t a = align ? align : 64;
    check_liveness(m, !(how & 1), slow);
    check_order(m);
    check_plan(m, a);
    CHECK(m->totals.peak <= m->totals.order_peak);
    CHECK(how & 2 || m->totals.peak == m->totals.order_peak);
    CHECK(m->totals.arena <= greedy_by_size(m, a));
    double gap = m->totals.arena_bound
                     ? (double)m->totals.arena / (double)m->totals.arena_bound
                     : 1;
    worst_gap = gap > worst_gap ? gap : worst_gap;
    clv_memory_free(m);
}

static void check_graph(const clv_graph *g, int64_t align, bool slow)
{
    clv_profile *p;
    clv_cut *cuts[2] = {0};
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    CHECK(clv_cut_op(p, &cuts[0], NULL) == CLV_OK);
    CHECK(clv_cut_fusion(p, NULL, &cuts[1], NULL) == CLV_OK);
    for (int i = 0; i < 2; i++) {
        for (unsigned how = 0; cuts[i] && how < 4; how++)
            check_memory(cuts[i], align, how, slow);
        clv_cut_free(cuts[i]);
    }
    clv_profile_free(p);
}

static bool is_cnn(const char *family)
{
    static const char *const others[] = {"vit", "swin",  "maxvit",  "bert",
                                         "gpt", "llama", "electra", "sam"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(family, others[i]))
            return false;
    return true;
}

static void zoo(void)
{
    const clv_zoo_model *info;
    for (uint32_t i = 0; (info = clv_zoo_at(i)); i++) {
        clv_graph *g;
        check_row(info->name);
        if (!CHECK(clv_graph_open(info->name, NULL, &g, NULL) == CLV_OK))
            continue;
        worst_gap = 1;
        check_graph(g, 0, false);
        if (is_cnn(info->family))
            CHECK(worst_gap <= (strstr(info->family, "yolo") ? 1.07 : 1.05));
        clv_graph_free(g);
    }
}

static void random_graphs(void)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        clv_graph *g = random_graph(seed, 2 + (uint32_t)(seed % 41));
        if (!CHECK(g != NULL))
            continue;
        check_graph(g, 1 + (int64_t)(seed % 3) * 100, true);
        if (check_state.bad) {
            printf("   seed %llu\n", (unsigned long long)seed);
            clv_graph_free(g);
            return;
        }
        clv_graph_free(g);
    }
}

/* -- by hand --------------------------------------------------------------*/

typedef struct hand {
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    clv_memory *m;
} hand;

static uint32_t input(clv_graph *g, int64_t n)
{
    uint32_t v = CLV_NONE;
    const clv_value_arg arg = {
        .size = sizeof arg, NULL, CLV_VALUE_INPUT, CLV_FLOAT32, 1, &n};
    CHECK(clv_graph_add_value(g, &arg, &v, NULL) == CLV_OK);
    return v;
}

static uint32_t node(clv_graph *g, const char *op, uint32_t a, uint32_t b)
{
    const uint32_t in[] = {a, b};
    uint32_t y = CLV_NONE;
    const clv_node_arg arg = {.size = sizeof arg,
                              .op = op,
                              .inputs = in,
                              .n_inputs = b == CLV_NONE ? 1 : 2};
    CHECK(clv_graph_add_node(g, &arg, &y, NULL) == CLV_OK);
    return y;
}

static bool finish(hand *h)
{
    return CHECK(clv_graph_infer(h->g, NULL) == CLV_OK) &&
           CHECK(clv_profile_new(h->g, NULL, &h->p, NULL) == CLV_OK) &&
           CHECK(clv_cut_op(h->p, &h->c, NULL) == CLV_OK) &&
           CHECK(clv_memory_new(h->c, NULL, &h->m, NULL) == CLV_OK);
}

static void drop(hand *h)
{
    clv_memory_free(h->m);
    clv_cut_free(h->c);
    clv_profile_free(h->p);
    clv_graph_free(h->g);
}

/* softmax makes 400 bytes beside its input; relu writes over them; both
 * outputs of the graph stay. */
static void outputs_are_kept(void)
{
    hand h = {0};
    CHECK_OR_RETURN(clv_graph_new("hand", &h.g, NULL) == CLV_OK);
    uint32_t x = node(h.g, "softmax", input(h.g, 100), CLV_NONE);
    uint32_t y = node(h.g, "relu", x, CLV_NONE);
    CHECK(clv_graph_add_output(h.g, x, NULL) == CLV_OK);
    CHECK(clv_graph_add_output(h.g, y, NULL) == CLV_OK);
    if (finish(&h)) {
        CHECK_EQ_INT(h.m->live[0], 800);
        CHECK_EQ_INT(h.m->live[1], 800);
        CHECK(clv_memory_buffer_of(h.m, x) != clv_memory_buffer_of(h.m, y));
    }
    drop(&h);
}

static void chain_runs_in_place(void)
{
    hand h = {0};
    CHECK_OR_RETURN(clv_graph_new("hand", &h.g, NULL) == CLV_OK);
    uint32_t x = node(h.g, "softmax", input(h.g, 100), CLV_NONE);
    uint32_t y = node(h.g, "relu", x, CLV_NONE);
    uint32_t z = node(h.g, "sigmoid", y, CLV_NONE);
    CHECK(clv_graph_add_output(h.g, z, NULL) == CLV_OK);
    if (finish(&h)) {
        uint32_t n;
        clv_memory_buffers(h.m, &n);
        CHECK_EQ_INT(n, 2);
        CHECK_EQ_INT(h.m->live[0], 800);
        CHECK_EQ_INT(h.m->live[1], 400);
        CHECK_EQ_INT(h.m->live[2], 400);
        CHECK_EQ_INT(clv_memory_get(h.m)->arena, 448 + 448);
    }
    drop(&h);
}

/* x[4,1] > y[1,4] makes 16 bools, as many bytes as x has; x is read for each
 * row and must not be overwritten. */
static void broadcast_is_not_in_place(void)
{
    hand h = {0};
    const int64_t col[] = {4, 1}, row[] = {1, 4};
    const clv_value_arg a = {
        .size = sizeof a, "a", CLV_VALUE_INPUT, CLV_FLOAT32, 2, col};
    const clv_value_arg b = {
        .size = sizeof b, "b", CLV_VALUE_INPUT, CLV_FLOAT32, 2, row};
    uint32_t x, y;
    CHECK_OR_RETURN(clv_graph_new("hand", &h.g, NULL) == CLV_OK);
    CHECK(clv_graph_add_value(h.g, &a, &x, NULL) == CLV_OK);
    CHECK(clv_graph_add_value(h.g, &b, &y, NULL) == CLV_OK);
    x = node(h.g, "softmax", x, CLV_NONE);
    uint32_t z = node(h.g, "gt", x, y);
    CHECK(clv_graph_add_output(h.g, z, NULL) == CLV_OK);
    if (finish(&h)) {
        CHECK_EQ_INT(clv__bytes(&h.g->values[z]), 16);
        CHECK_EQ_INT(h.m->live[1], 48);
    }
    drop(&h);
}

/* Two wide branches: depth first needs one of them at a time. */
static void reorder_helps(void)
{
    hand h = {0};
    clv_memory *m;
    CHECK_OR_RETURN(clv_graph_new("hand", &h.g, NULL) == CLV_OK);
    uint32_t x = input(h.g, 10), wide[4], sum = CLV_NONE;
    const int64_t reps[] = {100};
    const clv_attr_arg attr = {
        .name = "repeats", .type = CLV_ATTR_INTS, .n = 1, .u.ints = reps};
    for (int i = 0; i < 4; i++) {
        const clv_node_arg arg = {.size = sizeof arg,
                                  .op = "repeat",
                                  .inputs = &x,
                                  .n_inputs = 1,
                                  .attrs = &attr,
                                  .n_attrs = 1};
        CHECK(clv_graph_add_node(h.g, &arg, &wide[i], NULL) == CLV_OK);
    }
    for (int i = 0; i < 4; i++) {
        uint32_t y = node(h.g, "sum", wide[i], CLV_NONE);
        sum = sum == CLV_NONE ? y : node(h.g, "add", sum, y);
    }
    CHECK(clv_graph_add_output(h.g, sum, NULL) == CLV_OK);
    if (finish(&h)) {
        const clv_memory_opts opts = {.size = sizeof opts, .reorder = true};
        CHECK(h.m->totals.peak > 3 * 4000);
        if (CHECK(clv_memory_new(h.c, &opts, &m, NULL) == CLV_OK)) {
            CHECK(m->totals.peak < 2 * 4000);
            CHECK_EQ_INT(m->totals.order_peak, h.m->totals.peak);
            clv_memory_free(m);
        }
    }
    drop(&h);
}

/* Inputs that nobody reads, as large as int64_t allows. */
static void sums_that_overflow(void)
{
    hand h = {0};
    CHECK_OR_RETURN(clv_graph_new("hand", &h.g, NULL) == CLV_OK);
    for (int i = 0; i < 6; i++)
        input(h.g, INT64_C(1) << 60);
    uint32_t y = node(h.g, "relu", input(h.g, 8), CLV_NONE);
    CHECK(clv_graph_add_output(h.g, y, NULL) == CLV_OK);
    clv_err err;
    if (CHECK(clv_graph_infer(h.g, NULL) == CLV_OK) &&
        CHECK(clv_profile_new(h.g, NULL, &h.p, NULL) == CLV_OK) &&
        CHECK(clv_cut_op(h.p, &h.c, NULL) == CLV_OK)) {
        CHECK(clv_memory_new(h.c, NULL, &h.m, &err) == CLV_OVERFLOW);
        CHECK_HAS(err.msg, "64 bits");
    }
    drop(&h);
}

static void no_nodes(void)
{
    hand h = {0};
    CHECK_OR_RETURN(clv_graph_new("empty", &h.g, NULL) == CLV_OK);
    CHECK(clv_graph_add_output(h.g, input(h.g, 8), NULL) == CLV_OK);
    if (finish(&h)) {
        CHECK_EQ_INT(h.m->totals.steps, 0);
        CHECK_EQ_INT(h.m->totals.peak, 0);
    }
    drop(&h);
}

/* -- planners on their own ------------------------------------------------*/

/* Random lifetimes: by_time alone (what huge graphs get), and all planners. */
static void planners(void)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        rng r = {seed};
        clv_buffer b[120];
        uint32_t n = 1 + rng_below(&r, 119);
        arena_layout plan;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = rng_below(&r, 100);
            b[i] = (clv_buffer){i, first, first + rng_below(&r, 20),
                                1 + rng_below(&r, 1000), -1};
        }
        clv_memory m = {.buffers = b, .n_buffers = n};
        CHECK(clv__arena_plan(b, n, 8, 120, &plan, NULL) == CLV_OK);
        m.totals.arena = plan.size;
        check_plan(&m, 8);
        CHECK(m.totals.arena <= greedy_by_size(&m, 8));
    }
}

/* More buffers than the quadratic planners take: a wide graph with holes. */
static void many_buffers(void)
{
    enum { N = 30000 };
    clv_buffer *b = calloc(N, sizeof *b);
    rng r = {7};
    arena_layout plan;
    int64_t live[N] = {0}, peak = 0, now = 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t last = i + rng_below(&r, i % 7 ? 50 : 20000);
        last = last < N ? last : N - 1;
        b[i] = (clv_buffer){i, i, last, 64 * (1 + rng_below(&r, 100)), -1};
        live[i] += b[i].bytes;
        if (last + 1 < N)
            live[last + 1] -= b[i].bytes;
    }
    for (uint32_t i = 0; i < N; i++) {
        now += live[i];
        peak = now > peak ? now : peak;
    }
    clv_memory m = {.buffers = b, .n_buffers = N};
    CHECK(clv__arena_plan(b, N, 64, N, &plan, NULL) == CLV_OK);
    m.totals.arena = plan.size;
    m.totals.arena_bound = m.totals.peak = peak;
    CHECK_EQ_INT(plan.bound, peak);
    CHECK_STR(plan.planner, "by_time");
    check_plan(&m, 64);
    CHECK((double)m.totals.arena < 1.3 * (double)peak);
    free(b);
}

/* -- memory runs out ------------------------------------------------------*/

typedef struct {
    const clv_cut *cut;
    const clv_device *device;
} mapped;

static clv_status plan_and_map(void *ctx, clv_err *err)
{
    const mapped *on = ctx;
    const clv_memory_opts opts = {.size = sizeof opts, .reorder = true};
    clv_memory *m;
    clv_map *map = NULL;
    clv_status s = clv_memory_new(on->cut, &opts, &m, err);
    if (s == CLV_OK)
        s = clv_map_new(on->cut, on->device, &map, err);
    clv_map_free(map);
    clv_memory_free(m);
    return s;
}

static void out_of_memory(void)
{
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    const clv_device *d;
    CHECK_OR_RETURN(clv_graph_open("googlenet", NULL, &g, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_cut_op(p, &c, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_device_find("h100", &d, NULL) == CLV_OK);
    CHECK(starve(plan_and_map, &(mapped){c, d}, 1) > 10);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"outputs_are_kept", outputs_are_kept},
    {"chain_runs_in_place", chain_runs_in_place},
    {"broadcast_is_not_in_place", broadcast_is_not_in_place},
    {"reorder_helps", reorder_helps},
    {"sums_that_overflow", sums_that_overflow},
    {"no_nodes", no_nodes},
    {"planners", planners},
    {"many_buffers", many_buffers},
    {"out_of_memory", out_of_memory},
    {"random_graphs", random_graphs},
    {"zoo", zoo},
};
CHECK_MAIN(cases)
