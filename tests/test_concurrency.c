/* test_concurrency.c - stages, slack, critical paths and schedules, against
 * networkx (tests/data/dags.txt) and brute force. */
#include "check.h"
#include "cleave/report.h"
#include "cut/concurrency.h"
#include "cut/fusion.h"
#include "random_graph.h"

enum { NODES = 64, EDGES = 1024 };

typedef struct dag_case {
    uint32_t n, m;
    long weight[NODES], edge[2 * EDGES], level[NODES], slack[NODES];
    long start[NODES], time[NODES], span[1];
} dag_case;

/* -- a graph with given edges -------------------------------------------- */

/* Every node adds up what it reads: its predecessors, or the input. */
static clv_graph *graph_of(const dag_case *d)
{
    clv_graph *g;
    uint32_t x, out[NODES];
    const clv_value_arg in = {.size = sizeof in,
                              .kind = CLV_VALUE_INPUT,
                              .dtype = CLV_FLOAT32,
                              .rank = 1,
                              .dims = (const int64_t[]){4}};
    if (clv_graph_new("dag", &g, NULL) != CLV_OK ||
        clv_graph_add_value(g, &in, &x, NULL) != CLV_OK)
        return NULL;
    for (uint32_t v = 0; v < d->n; v++) {
        uint32_t reads[NODES], n = 0;
        for (uint32_t i = 0; i < d->m; i++)
            if (d->edge[2 * i + 1] == (long)v)
                reads[n++] = out[d->edge[2 * i]];
        if (n == 0)
            reads[n++] = x;
        const clv_node_arg arg = {
            .size = sizeof arg, .op = "add_n", .inputs = reads, .n_inputs = n};
        if (clv_graph_add_node(g, &arg, &out[v], NULL) != CLV_OK)
            return NULL;
    }
    return clv_graph_infer(g, NULL) == CLV_OK ? g : NULL;
}

typedef struct made {
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    clv_concurrency *a;
    double weights[NODES];
} made;

static bool make(const dag_case *d, made *m)
{
    *m = (made){.g = graph_of(d)};
    for (uint32_t v = 0; v < d->n; v++)
        m->weights[v] = (double)d->weight[v];
    const clv_concurrency_opts o = {
        .size = sizeof o, .weights = m->weights, .unit = "t"};
    return m->g && clv_profile_new(m->g, NULL, &m->p, NULL) == CLV_OK &&
           clv_cut_op(m->p, &m->c, NULL) == CLV_OK &&
           clv_concurrency_new(m->c, &o, &m->a, NULL) == CLV_OK;
}

static void unmake(made *m)
{
    clv_concurrency_free(m->a);
    clv_cut_free(m->c);
    clv_profile_free(m->p);
    clv_graph_free(m->g);
}

/* -- schedules ------------------------------------------------------------ */

/* Respects dependencies, one at a time per stream, bounds hold. */
static void check_schedule(const clv_concurrency *a, uint32_t streams)
{
    clv_schedule *s;
    CHECK_OR_RETURN(clv_schedule_new(a, streams, &s, NULL) == CLV_OK);
    const clv_schedule_info *t = clv_schedule_get(s);
    const clv_concurrency_info *i = clv_concurrency_get(a);
    double end = 0, eps = 1e-9 * (i->work + 1);
    for (uint32_t k = 0; k < i->subgraphs; k++) {
        const clv_slot *x = &t->slots[k];
        const clv_subgraph *sub = &a->cut->subs[k];
        CHECK(x->stream < streams);
        CHECK_NEAR(x->finish - x->start, i->tasks[k].weight, eps);
        end = x->finish > end ? x->finish : end;
        for (uint32_t j = 0; j < sub->n_depends_on; j++)
            CHECK(t->slots[sub->depends_on[j]].finish <= x->start);
        for (uint32_t j = 0; j < k && i->subgraphs < 200; j++)
            CHECK(t->slots[j].stream != x->stream ||
                  t->slots[j].finish <= x->start ||
                  x->finish <= t->slots[j].start);
    }
    CHECK_NEAR(t->makespan, end, eps);
    CHECK(t->makespan >= t->lower_bound - eps);
    CHECK(t->makespan <=
          i->work / streams + (1 - 1.0 / streams) * i->span + eps);
    if (streams == 1)
        CHECK_NEAR(t->makespan, i->work, eps);
    if (streams >= i->subgraphs && i->subgraphs)
        CHECK_NEAR(t->makespan, i->span, eps);
    clv_schedule_free(s);
}

/* The shortest schedule: some list schedule is optimal, so try every order. */
static double try_orders(const made *m, uint32_t streams, uint32_t done,
                         double finish[], double best)
{
    uint32_t n = m->c->n_subs;
    if (done == (1u << n) - 1) {
        double end = 0;
        for (uint32_t k = 0; k < n; k++)
            end = finish[k] > end ? finish[k] : end;
        return end < best ? end : best;
    }
    for (uint32_t k = 0; k < n; k++) {
        double at = 0, busy[NODES], latest = 0;
        uint32_t n_busy = 0;
        bool ready = !(done >> k & 1);
        const clv_subgraph *s = &m->c->subs[k];
        for (uint32_t j = 0; j < s->n_depends_on; j++) {
            ready = ready && (done >> s->depends_on[j] & 1);
            if (ready && finish[s->depends_on[j]] > at)
                at = finish[s->depends_on[j]];
        }
        if (!ready)
            continue;
        /* Streams are interchangeable: wait until fewer than all are busy. */
        for (uint32_t j = 0; j < n; j++)
            if (done >> j & 1)
                busy[n_busy++] = finish[j];
        for (;;) {
            uint32_t after = 0;
            double next = INFINITY;
            for (uint32_t j = 0; j < n_busy; j++)
                if (busy[j] > at) {
                    after++;
                    next = busy[j] < next ? busy[j] : next;
                }
            if (after < streams)
                break;
            at = next;
        }
        latest = at + m->weights[k];
        if (latest >= best)
            continue;
        finish[k] = latest;
        best = try_orders(m, streams, done | 1u << k, finish, best);
    }
    return best;
}

static void check_optimum(const made *m, uint32_t streams)
{
    clv_schedule *s;
    double finish[NODES];
    const clv_concurrency_info *i = clv_concurrency_get(m->a);
    CHECK_OR_RETURN(clv_schedule_new(m->a, streams, &s, NULL) == CLV_OK);
    const clv_schedule_info *t = clv_schedule_get(s);
    double best = try_orders(m, streams, 0, finish, i->work + 1);
    CHECK(t->lower_bound <= best + 1e-9);
    CHECK(t->makespan >= best - 1e-9);
    CHECK(t->makespan <= (2 - 1.0 / streams) * best + 1e-9);
    clv_schedule_free(s);
}

/* -- against networkx ----------------------------------------------------- */

static void check_dag(const dag_case *d)
{
    made m;
    if (!CHECK(make(d, &m))) {
        unmake(&m);
        return;
    }
    const clv_concurrency_info *i = clv_concurrency_get(m.a);
    CHECK_EQ_INT(i->subgraphs, d->n);
    CHECK_EQ_INT(i->span, d->span[0]);
    double path = 0;
    for (uint32_t k = 0; k < d->n; k++) {
        const clv_task *t = &i->tasks[k];
        CHECK_EQ_INT(t->stage, d->level[k]);
        CHECK_EQ_INT(t->slack, d->slack[k]);
        CHECK_EQ_INT(t->start, d->start[k]);
        CHECK_EQ_INT(t->slack_time, d->time[k]);
        if (t->critical)
            CHECK_EQ_INT(d->time[k], 0);
    }
    for (uint32_t k = 0; k < i->n_critical; k++)
        path += i->tasks[i->critical[k]].weight;
    CHECK_EQ_INT(path, d->span[0]);
    for (uint32_t k = 1; k <= 5; k++)
        check_schedule(m.a, k);
    check_schedule(m.a, d->n);
    if (d->n <= 7)
        for (uint32_t k = 2; k <= 3; k++)
            check_optimum(&m, k);
    unmake(&m);
}

static bool read_numbers(FILE *f, const char *word, long *to, uint32_t n)
{
    char got[16];
    if (fscanf(f, " %15s", got) != 1 || strcmp(got, word))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (fscanf(f, "%ld", &to[i]) != 1)
            return false;
    return true;
}

static bool read_dag(FILE *f, dag_case *d)
{
    long size[2];
    if (!read_numbers(f, "dag", size, 2) || size[0] > NODES || size[1] > EDGES)
        return false;
    d->n = (uint32_t)size[0];
    d->m = (uint32_t)size[1];
    return read_numbers(f, "weight", d->weight, d->n) &&
           read_numbers(f, "edge", d->edge, 2 * d->m) &&
           read_numbers(f, "level", d->level, d->n) &&
           read_numbers(f, "slack", d->slack, d->n) &&
           read_numbers(f, "start", d->start, d->n) &&
           read_numbers(f, "time", d->time, d->n) &&
           read_numbers(f, "span", d->span, 1);
}

static void networkx_dags(void)
{
    FILE *f = fopen("tests/data/dags.txt", "r");
    dag_case d;
    char name[32];
    int n = 0;
    CHECK_OR_RETURN(f != NULL);
    CHECK(fscanf(f, "#%*[^\n]") == 0);
    for (; read_dag(f, &d); n++) {
        snprintf(name, sizeof name, "dag %d", n);
        check_row(name);
        check_dag(&d);
    }
    CHECK(feof(f) && n >= 200);
    fclose(f);
}

/* -- on models ------------------------------------------------------------ */

/* Stage of a subgraph is the number of edges of the longest path to it; the
 * stages partition the subgraphs; a stage has no dependency inside. */
static void check_cut(const clv_cut *c)
{
    clv_concurrency *a;
    CHECK_OR_RETURN(clv_concurrency_new(c, NULL, &a, NULL) == CLV_OK);
    const clv_concurrency_info *i = clv_concurrency_get(a);
    uint32_t listed = 0, widest = 0, longest = 0;
    for (uint32_t s = 0; s < i->n_stages; s++) {
        CHECK(i->stages[s].n > 0);
        listed += i->stages[s].n;
        widest = i->stages[s].n > widest ? i->stages[s].n : widest;
        for (uint32_t j = 0; j < i->stages[s].n; j++)
            CHECK_EQ_INT(i->tasks[i->stages[s].subgraphs[j]].stage, s);
    }
    for (uint32_t k = 0; k < i->subgraphs; k++) {
        uint32_t want = 0;
        for (uint32_t j = 0; j < c->subs[k].n_depends_on; j++) {
            uint32_t d = i->tasks[c->subs[k].depends_on[j]].stage + 1;
            want = d > want ? d : want;
        }
        CHECK_EQ_INT(i->tasks[k].stage, want);
        CHECK(i->tasks[k].latest < i->n_stages);
        longest = want + 1 > longest ? want + 1 : longest;
    }
    CHECK_EQ_INT(listed, i->subgraphs);
    CHECK_EQ_INT(widest, i->max_parallel);
    CHECK_EQ_INT(longest, i->n_stages);
    CHECK_EQ_INT(i->independent + i->sequential, i->subgraphs);
    CHECK(i->critical_flops <= i->flops);
    CHECK_EQ_INT(i->span, i->critical_flops);
    CHECK(i->speedup >= 1);
    check_schedule(a, 1);
    check_schedule(a, 2);
    check_schedule(a, 4);
    clv_concurrency_free(a);
}

static void check_graph(const clv_graph *g)
{
    clv_profile *p;
    clv_cut *c;
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    if (CHECK(clv_cut_op(p, &c, NULL) == CLV_OK)) {
        check_cut(c);
        clv_cut_free(c);
    }
    if (CHECK(clv_cut_fusion(p, NULL, &c, NULL) == CLV_OK)) {
        check_cut(c);
        clv_cut_free(c);
    }
    clv_profile_free(p);
}

static void zoo_models(void)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)) != NULL; i++) {
        clv_graph *g;
        check_row(m->name);
        if (!CHECK(clv_graph_open(m->name, NULL, &g, NULL) == CLV_OK))
            continue;
        check_graph(g);
        clv_graph_free(g);
    }
}

static void random_graphs(void)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        clv_graph *g = random_graph(seed, 2 + (uint32_t)(seed % 70));
        CHECK_OR_RETURN(g != NULL);
        check_graph(g);
        clv_graph_free(g);
    }
}

/* Graphs without nodes, with one, in two parts. */
static void small_graphs(void)
{
    static const struct {
        const char *name;
        uint32_t n, m;
        long edge[4];
        uint32_t stages, widest, critical;
    } rows[] = {
        {"empty", 0, 0, {0}, 0, 0, 0},
        {"single", 1, 0, {0}, 1, 1, 1},
        {"two parts", 4, 2, {0, 2, 1, 3}, 2, 2, 2},
        {"chain", 3, 2, {0, 1, 1, 2}, 3, 1, 3},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        dag_case d = {.n = rows[r].n, .m = rows[r].m, .weight = {1, 1, 1, 1}};
        made m;
        memcpy(d.edge, rows[r].edge, sizeof rows[r].edge);
        check_row(rows[r].name);
        if (CHECK(make(&d, &m))) {
            const clv_concurrency_info *i = clv_concurrency_get(m.a);
            CHECK_EQ_INT(i->n_stages, rows[r].stages);
            CHECK_EQ_INT(i->max_parallel, rows[r].widest);
            CHECK_EQ_INT(i->n_critical, rows[r].critical);
            check_schedule(m.a, 2);
        }
        unmake(&m);
    }
}

/* Seed of the batch questions: at which batch are 132 units full, or half? */
static void batches(void)
{
    const clv_concurrency_info two = {
        .max_parallel = 2, .batch = 1, .avg_threads = 100};
    CHECK_EQ_INT(clv_concurrency_fill(&two, 132, 1), 66);
    CHECK_EQ_INT(clv_concurrency_fill(&two, 132, 0.5), 33);
    CHECK_EQ_INT(clv_concurrency_fill(&two, 133, 1), 67);
    CHECK_EQ_INT(clv_concurrency_fill(&two, 1, 1), 1);
    clv_batch_row r = clv_concurrency_batch(&two, 32, 132);
    CHECK_EQ_INT(r.speedup, 64);
    CHECK_NEAR(r.units_filled, 64.0 / 132, 1e-12);
    CHECK_NEAR(r.avg_threads, 3200, 1e-9);
}

/* Names come from model files; pictures must stay well-formed. */
static void hostile_names(void)
{
    clv_graph *g;
    uint32_t x, y;
    clv_profile *p;
    clv_cut *c;
    clv_concurrency *a;
    clv_schedule *s;
    const clv_value_arg in = {.size = sizeof in,
                              .kind = CLV_VALUE_INPUT,
                              .dtype = CLV_FLOAT32,
                              .rank = 1,
                              .dims = (const int64_t[]){4}};
    CHECK_OR_RETURN(clv_graph_new("m<&>\"", &g, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_graph_add_value(g, &in, &x, NULL) == CLV_OK);
    const clv_node_arg arg = {.size = sizeof arg,
                              .op = "relu",
                              .name = "a\"b\\<c>\n\x01\xff",
                              .inputs = &x,
                              .n_inputs = 1};
    CHECK_OR_RETURN(clv_graph_add_node(g, &arg, &y, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_graph_infer(g, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_cut_op(p, &c, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_concurrency_new(c, NULL, &a, NULL) == CLV_OK);
    CHECK_OR_RETURN(clv_schedule_new(a, 1, &s, NULL) == CLV_OK);
    clv_buf dot = {0}, svg = {0};
    clv_report_dot(a, &dot);
    clv_report_schedule_svg(
        &(clv_concurrency_report){.analysis = a, .schedule = s}, &svg);
    CHECK_HAS(dot.text, "digraph \"m<&>\\\"\"");
    CHECK_HAS(dot.text, "<b>m&lt;&amp;&gt;\"</b>");
    CHECK_HAS(dot.text, "label=\"a\\\"b\\\\<c>\ufffd\\nrelu");
    CHECK_HAS(svg.text, "<title>m&lt;&amp;&gt;\"</title>");
    CHECK_HAS(svg.text, "a\"b\\&lt;c&gt;\ufffd");
    clv_buf_free(&svg);
    clv_buf_free(&dot);
    clv_schedule_free(s);
    clv_concurrency_free(a);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"networkx_dags", networkx_dags},
    {"zoo_models", zoo_models},
    {"random_graphs", random_graphs},
    {"small_graphs", small_graphs},
    {"batches", batches},
    {"hostile_names", hostile_names},
};
CHECK_MAIN(cases)
