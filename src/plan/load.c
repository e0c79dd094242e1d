/* load.c - sweeps over a schedule in time, and adds up who runs and what lives.
 *
 *   1. every subgraph and every buffer becomes two events: it begins, it ends
 *   2. events are sorted by time
 *   3. one pass keeps the sums; all events of one time make one point */
#include "cleave/load.h"

#include "cut/concurrency.h"
#include "plan/memory.h"

#include <stdlib.h>

struct clv_load {
    arena mem;
    clv_load_point *points;
    uint32_t n;
};

/* What changes at a time. */
typedef struct load_event {
    double at;
    int64_t live;
    double flops, bytes;
    int running;    /* +1: a subgraph begins, -1: one ends */
    uint32_t order; /* among those of one time: sums are the same everywhere */
} load_event;

typedef struct load_span {
    double from, to;
} load_span;

typedef struct load_sweep {
    const clv_cut *c;
    const clv_schedule_info *s;
    const clv_memory *m;
    load_span *spans; /* per buffer */
    load_event *events;
    size_t n;
} load_sweep;

static void load_add(load_sweep *w, load_event e)
{
    e.order = (uint32_t)w->n;
    w->events[w->n++] = e;
}

/* A subgraph that takes no time has no rate. */
static void load_add_subgraphs(load_sweep *w)
{
    for (uint32_t k = 0; k < w->c->n_subs; k++) {
        const clv_slot *slot = &w->s->slots[k];
        double time = slot->finish - slot->start;
        load_event e = {.at = slot->start, .running = 1};
        if (time > 0) {
            e.flops = (double)w->c->subs[k].cost.flops / time;
            e.bytes = (double)w->c->subs[k].bytes_external / time;
        }
        load_add(w, e);
        load_add(w, (load_event){.at = slot->finish,
                                 .flops = -e.flops,
                                 .bytes = -e.bytes,
                                 .running = -1});
    }
}

static void load_stretch(load_span *s, double from, double to)
{
    s->from = from < s->from ? from : s->from;
    s->to = to > s->to ? to : s->to;
}

/* The time in which a value is needed. */
static void load_follow(load_sweep *w, uint32_t v, load_span *span)
{
    const clv_graph *g = w->c->p->g;
    uint32_t maker = g->values[v].producer;
    const clv_slot *slots = w->s->slots;
    if (maker == CLV_NONE)
        load_stretch(span, 0, 0);
    else
        load_stretch(span, slots[w->c->of[maker]].start,
                     slots[w->c->of[maker]].finish);
    for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1]; u++)
        load_stretch(span, span->from, slots[w->c->of[g->users[u]]].finish);
}

static void load_add_buffers(load_sweep *w)
{
    const clv_graph *g = w->c->p->g;
    for (uint32_t b = 0; b < w->m->n_buffers; b++)
        w->spans[b] = (load_span){w->s->makespan, 0};
    for (uint32_t v = 0; v < g->n_values; v++) {
        uint32_t b = clv_memory_buffer_of(w->m, v);
        if (b != CLV_NONE)
            load_follow(w, v, &w->spans[b]);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t b = clv_memory_buffer_of(w->m, g->outputs[i]);
        if (b != CLV_NONE)
            w->spans[b].to = w->s->makespan;
    }
    for (uint32_t b = 0; b < w->m->n_buffers; b++) {
        int64_t bytes = w->m->buffers[b].bytes;
        load_add(w, (load_event){.at = w->spans[b].from, .live = bytes});
        load_add(w, (load_event){.at = w->spans[b].to, .live = -bytes});
    }
}

static int load_by_time(const void *x, const void *y)
{
    const load_event *a = x, *b = y;
    int later = (a->at > b->at) - (a->at < b->at);
    return later ? later : (a->order > b->order) - (a->order < b->order);
}

/* Sums of rates lose digits: while nothing runs they are 0 again. */
static void load_sum(const load_sweep *w, clv_load *l)
{
    clv_load_point now = {0};
    int running = 0;
    for (size_t i = 0; i < w->n;) {
        now.at = w->events[i].at;
        for (; i < w->n && w->events[i].at <= now.at; i++) {
            now.live += w->events[i].live;
            now.flops += w->events[i].flops;
            now.bytes += w->events[i].bytes;
            running += w->events[i].running;
        }
        if (!running)
            now.flops = now.bytes = 0;
        l->points[l->n++] = now;
    }
}

static bool load_sweep_new(load_sweep *w, arena *scratch, clv_load *l)
{
    size_t most = 2 * ((size_t)w->c->n_subs + w->m->n_buffers) + 1;
    w->spans =
        arena_array(scratch, (size_t)w->m->n_buffers + 1, sizeof *w->spans);
    w->events = arena_array(scratch, most, sizeof *w->events);
    l->points = arena_array(&l->mem, most, sizeof *l->points);
    return w->spans && w->events && l->points;
}

clv_status clv_load_new(const clv_concurrency *a, const clv_schedule *s,
                        const clv_memory *m, clv_load **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(a, err);
    CLV_NEED(s, err);
    CLV_NEED(m, err);
    if (m->c != a->cut)
        return clv__fail(err, CLV_USAGE,
                         "the memory plan is of another cut than the schedule");
    clv_load *l = clv__zalloc(sizeof *l);
    arena scratch = {0};
    load_sweep w = {.c = a->cut, .s = clv_schedule_get(s), .m = m};
    bool ok = l && load_sweep_new(&w, &scratch, l);
    if (ok) {
        load_add_subgraphs(&w);
        load_add_buffers(&w);
        qsort(w.events, w.n, sizeof *w.events, load_by_time);
        load_sum(&w, l);
    }
    arena_free(&scratch);
    if (!ok) {
        clv_load_free(l);
        return clv__nomem(err);
    }
    *out = l;
    return CLV_OK;
}

void clv_load_free(clv_load *l)
{
    if (!l)
        return;
    arena_free(&l->mem);
    clv__free(l);
}

const clv_load_point *clv_load_points(const clv_load *l, uint32_t *count)
{
    clv__set_count(count, l->n);
    return l->points;
}
