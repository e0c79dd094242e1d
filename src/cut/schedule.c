/* schedule.c - runs subgraphs on k streams: list scheduling.
 *
 * Time moves from one finish to the next. A free stream takes a ready subgraph,
 * one whose inputs are there: the one with the heaviest path to an end of the
 * graph (highest level first). Three heaps hold the ready subgraphs, the
 * running ones and the idle streams. */
#include "cut/concurrency.h"

#include "core/heap.h"

#include <string.h>

struct clv_schedule {
    arena mem;
    clv_schedule_info info;
    clv_slot *slots;
};

typedef struct state {
    const clv_concurrency *a;
    clv_schedule *s;
    uint32_t *first, *next;        /* readers of each subgraph, in CSR form */
    uint32_t *missing;             /* per subgraph: how many inputs it still
                                    * waits for */
    double *priority, *due, *rank; /* keys of the heaps */
    heap ready, running;           /* ready: heaviest path first; running:
                                    * earliest finish first */
    heap idle;                     /* idle streams, lowest number first */
} state;

static bool state_new(state *st, arena *m)
{
    const clv_cut *c = st->a->cut;
    size_t n = (size_t)c->n_subs + 2, edges = 1;
    for (uint32_t k = 0; k < c->n_subs; k++)
        edges += c->subs[k].n_depends_on;
    st->first = arena_zalloc(m, n * sizeof *st->first);
    st->next = arena_array(m, edges, sizeof *st->next);
    st->missing = arena_array(m, n, sizeof *st->missing);
    st->rank = arena_array(m, st->s->info.streams, sizeof *st->rank);
    st->idle.item = arena_array(m, st->s->info.streams, sizeof(uint32_t));
    st->idle.key = st->rank;
    st->priority = arena_array(m, n, sizeof *st->priority);
    st->due = arena_array(m, n, sizeof *st->due);
    st->ready = (heap){arena_array(m, n, sizeof(uint32_t)), 0, st->priority};
    st->running = (heap){arena_array(m, n, sizeof(uint32_t)), 0, st->due};
    return st->first && st->next && st->missing && st->rank && st->idle.item &&
           st->priority && st->due && st->ready.item && st->running.item;
}

static void list_readers(state *st)
{
    const clv_cut *c = st->a->cut;
    uint32_t *end = st->first + 1;
    for (uint32_t k = 0; k < c->n_subs; k++)
        for (uint32_t i = 0; i < c->subs[k].n_depends_on; i++)
            end[c->subs[k].depends_on[i] + 1]++;
    for (uint32_t k = 0; k < c->n_subs; k++)
        end[k + 1] += end[k];
    for (uint32_t k = 0; k < c->n_subs; k++)
        for (uint32_t i = 0; i < c->subs[k].n_depends_on; i++)
            st->next[end[c->subs[k].depends_on[i]]++] = k;
}

static void schedule_start(state *st, uint32_t k, double now)
{
    clv_slot *slot = &st->s->slots[k];
    slot->stream = heap_pop(&st->idle);
    slot->start = now;
    slot->finish = now + st->a->tasks[k].weight;
    st->due[k] = slot->finish;
    heap_push(&st->running, k);
}

static void schedule_finish(state *st, uint32_t k)
{
    heap_push(&st->idle, st->s->slots[k].stream);
    for (uint32_t i = st->first[k]; i < st->first[k + 1]; i++)
        if (--st->missing[st->next[i]] == 0)
            heap_push(&st->ready, st->next[i]);
}

static void schedule_simulate(state *st)
{
    const clv_cut *c = st->a->cut;
    double now = 0;
    for (uint32_t k = 0; k < c->n_subs; k++) {
        st->missing[k] = c->subs[k].n_depends_on;
        st->priority[k] = -(st->a->tasks[k].weight + st->a->behind[k]);
        if (!st->missing[k])
            heap_push(&st->ready, k);
    }
    for (uint32_t i = 0; i < st->s->info.streams; i++) {
        st->rank[i] = i;
        heap_push(&st->idle, i);
    }
    while (st->ready.n || st->running.n) {
        while (st->ready.n && st->idle.n)
            schedule_start(st, heap_pop(&st->ready), now);
        now = st->s->slots[st->running.item[0]].finish;
        while (st->running.n && st->s->slots[st->running.item[0]].finish <= now)
            schedule_finish(st, heap_pop(&st->running));
    }
    st->s->info.makespan = now;
}

static void sum_up(clv_schedule *s, const clv_concurrency_info *a)
{
    clv_schedule_info *t = &s->info;
    double shared = a->work / t->streams;
    t->slots = s->slots;
    t->lower_bound = a->span > shared ? a->span : shared;
    t->utilisation = t->makespan > 0 ? a->work / (t->makespan * t->streams) : 0;
    t->speedup = t->makespan > 0 ? a->work / t->makespan : 1;
}

clv_status clv_schedule_new(const clv_concurrency *a, uint32_t streams,
                            clv_schedule **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(a, err);
    if (streams == 0)
        return clv__fail(err, CLV_USAGE, "a schedule needs a stream");
    clv_schedule *s = clv__zalloc(sizeof *s);
    arena scratch = {0};
    state st = {.a = a, .s = s};
    bool ok = s != NULL;
    if (ok) {
        s->info.size = sizeof s->info;
        uint32_t most = a->info.subgraphs ? a->info.subgraphs : 1;
        s->info.streams = streams < most ? streams : most;
        s->slots = arena_zalloc(&s->mem, ((size_t)a->info.subgraphs + 1) *
                                             sizeof *s->slots);
        ok = s->slots && state_new(&st, &scratch);
    }
    if (ok) {
        list_readers(&st);
        schedule_simulate(&st);
        s->info.streams = streams;
        sum_up(s, &a->info);
    }
    arena_free(&scratch);
    if (!ok) {
        clv_schedule_free(s);
        return clv__nomem(err);
    }
    *out = s;
    return CLV_OK;
}

void clv_schedule_free(clv_schedule *s)
{
    if (!s)
        return;
    arena_free(&s->mem);
    clv__free(s);
}

const clv_schedule_info *clv_schedule_get(const clv_schedule *s)
{
    return &s->info;
}
