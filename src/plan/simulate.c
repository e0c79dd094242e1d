/* simulate.c - the schedule of a pipeline as discrete events.
 *
 * A task is one stage at one micro-batch. An event is the time at which a task
 * has all that it reads, or at which a device is done. Events are taken from a
 * heap, the earliest first; those of one time in the order they were made, so
 * that the same input gives the same timeline.
 *
 *     stage 0   |0|1|2|3|              p stages of time t and m micro-batches
 *     stage 1     |0|1|2|3|            end at (m + p - 1) t: the bubble is
 *     stage 2       |0|1|2|3|          (p - 1) / (m + p - 1)                 */
#include "cleave/simulate.h"
#include "core/core.h"

#include <math.h>
#include <stdlib.h>

enum { SIM_TASKS_MAX = 1 << 28, SIM_WIRES_MAX = 1 << 24 };

typedef struct sim_event {
    double at;
    uint64_t turn; /* equal times keep the order in which they were made */
    uint32_t task; /* that is ready, or CLV_NONE: `device` is done */
    uint32_t device;
} sim_event;

struct clv_sim {
    arena mem;
    clv_sim_opts o;
    clv_sim_info info;
    uint32_t *first, *out;    /* links by the stage they leave */
    uint32_t *n_in;           /* links that a stage waits for */
    uint32_t *missing;        /* per task */
    double *link_free, *busy; /* per link, per device */
    uint32_t *next;           /* per task: the one behind it at its device */
    uint32_t *queue;          /* per device: the first that is ready */
    uint32_t *doing;          /* per device: its task, or CLV_NONE */
    uint32_t *left;           /* per micro-batch: stages to do */
    sim_event *heap;
    size_t n_heap, cap_heap;
    uint64_t turns;
    uint32_t released, finished;
    clv_sim_span *spans;
};

/* -- the heap -------------------------------------------------------------*/

static bool sim_before(const sim_event *a, const sim_event *b)
{
    return a->at < b->at || (a->at == b->at && a->turn < b->turn);
}

static bool sim_push(clv_sim *s, sim_event e)
{
    if (s->n_heap == s->cap_heap) {
        size_t cap = s->cap_heap ? 2 * s->cap_heap : 1024;
        sim_event *more = clv__realloc(s->heap, cap * sizeof *more);
        if (!more)
            return false;
        s->heap = more;
        s->cap_heap = cap;
    }
    e.turn = s->turns++;
    size_t i = s->n_heap++;
    for (; i && sim_before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
    return true;
}

static sim_event sim_pop(clv_sim *s)
{
    sim_event top = s->heap[0], last = s->heap[--s->n_heap];
    size_t i = 0;
    for (size_t c = 1; c < s->n_heap; c = 2 * i + 1) {
        if (c + 1 < s->n_heap && sim_before(&s->heap[c + 1], &s->heap[c]))
            c++;
        if (!sim_before(&s->heap[c], &last))
            break;
        s->heap[i] = s->heap[c];
        i = c;
    }
    s->heap[i] = last;
    return top;
}

/* -- tasks ----------------------------------------------------------------*/

/* Task numbers grow with the micro-batch, and within it fall with the stage:
 * the lowest number is the first to run. */
static uint32_t sim_task(const clv_sim *s, uint32_t stage, uint32_t micro)
{
    return micro * s->o.n_stages + (s->o.n_stages - 1 - stage);
}

static uint32_t sim_stage(const clv_sim *s, uint32_t task)
{
    return s->o.n_stages - 1 - task % s->o.n_stages;
}

static uint32_t sim_device(const clv_sim *s, uint32_t task)
{
    const clv_sim_stage *t = &s->o.stages[sim_stage(s, task)];
    return t->device + task / s->o.n_stages % (t->replicas ? t->replicas : 1);
}

static bool sim_start(clv_sim *s, uint32_t d, double now)
{
    uint32_t task = s->queue[d];
    if (task == CLV_NONE || s->doing[d] != CLV_NONE)
        return true;
    double seconds = s->o.stages[sim_stage(s, task)].seconds;
    s->queue[d] = s->next[task];
    s->doing[d] = task;
    s->busy[d] += seconds;
    if (s->spans)
        s->spans[s->info.n_spans++] =
            (clv_sim_span){.stage = sim_stage(s, task),
                           .micro_batch = task / s->o.n_stages,
                           .device = d,
                           .start = now,
                           .end = now + seconds};
    return sim_push(
        s, (sim_event){.at = now + seconds, .task = CLV_NONE, .device = d});
}

static bool sim_ready(clv_sim *s, uint32_t task, double now)
{
    uint32_t d = sim_device(s, task);
    uint32_t *at = &s->queue[d];
    while (*at != CLV_NONE && *at < task)
        at = &s->next[*at];
    s->next[task] = *at;
    *at = task;
    return sim_start(s, d, now);
}

/* Lets as many micro-batches in as may be under way. */
static bool sim_release(clv_sim *s, double now)
{
    uint32_t window = s->o.window ? s->o.window : UINT32_MAX;
    while (s->released < s->o.micro_batches &&
           s->released - s->finished < window) {
        uint32_t micro = s->released++;
        for (uint32_t k = 0; k < s->o.n_stages; k++)
            if (!s->n_in[k] &&
                !sim_push(
                    s, (sim_event){.at = now, .task = sim_task(s, k, micro)}))
                return false;
    }
    uint32_t alive = s->released - s->finished;
    s->info.alive = alive > s->info.alive ? alive : s->info.alive;
    return true;
}

static bool sim_done(clv_sim *s, uint32_t d, double now)
{
    uint32_t task = s->doing[d], k = sim_stage(s, task);
    uint32_t micro = task / s->o.n_stages;
    s->doing[d] = CLV_NONE;
    s->info.makespan = now;
    for (uint32_t i = s->first[k]; i < s->first[k + 1]; i++) {
        const clv_sim_link *l = &s->o.links[s->out[i]];
        uint32_t wire = l->wire ? s->o.n_links + l->wire : s->out[i];
        double *free_at = &s->link_free[wire];
        double from = l->occupied > 0 && *free_at > now ? *free_at : now;
        uint32_t to = sim_task(s, l->to, micro);
        *free_at = from + l->occupied;
        /* The last to arrive makes the task ready, so each arrival is an
         * event of its own. */
        if (!sim_push(s, (sim_event){.at = from + l->seconds, .task = to}))
            return false;
    }
    if (--s->left[micro] == 0) {
        s->finished++;
        if (!sim_release(s, now))
            return false;
    }
    return sim_start(s, d, now);
}

static clv_status sim_run(clv_sim *s, clv_err *e)
{
    bool ok = sim_release(s, 0);
    while (ok && s->n_heap) {
        sim_event v = sim_pop(s);
        if (v.task == CLV_NONE)
            ok = sim_done(s, v.device, v.at);
        else if (s->missing[v.task] <= 1)
            ok = sim_ready(s, v.task, v.at);
        else
            s->missing[v.task]--;
    }
    return ok ? CLV_OK : clv__nomem(e);
}

/* -- before and after -----------------------------------------------------*/

static bool sim_time_ok(double t)
{
    return isfinite(t) && t >= 0;
}

static clv_status sim_check(const clv_sim_opts *o, clv_err *e)
{
    if (!o->n_stages || !o->micro_batches || !o->n_devices)
        return clv__fail(e, CLV_USAGE,
                         "a pipeline has stages, devices and micro-batches");
    if ((uint64_t)o->n_stages * o->micro_batches > SIM_TASKS_MAX)
        return clv__fail(e, CLV_EXCEEDED,
                         "%u stages of %u micro-batches are too many to "
                         "simulate",
                         o->n_stages, o->micro_batches);
    for (uint32_t k = 0; k < o->n_stages; k++) {
        const clv_sim_stage *t = &o->stages[k];
        uint64_t end = (uint64_t)t->device + (t->replicas ? t->replicas : 1);
        if (end > o->n_devices || !sim_time_ok(t->seconds))
            return clv__fail(e, CLV_USAGE,
                             "stage %u: no such device, or no such time", k);
    }
    for (uint32_t i = 0; i < o->n_links; i++) {
        const clv_sim_link *l = &o->links[i];
        if (l->from >= l->to || l->to >= o->n_stages ||
            l->wire > SIM_WIRES_MAX || !sim_time_ok(l->seconds) ||
            !sim_time_ok(l->occupied))
            return clv__fail(e, CLV_USAGE,
                             "link %u: from stage %u to %u, or no such time", i,
                             l->from, l->to);
    }
    return CLV_OK;
}

static void sim_links(clv_sim *s)
{
    const clv_sim_opts *o = &s->o;
    for (uint32_t i = 0; i < o->n_links; i++) {
        s->first[o->links[i].from + 1]++;
        s->n_in[o->links[i].to]++;
    }
    for (uint32_t k = 0; k < o->n_stages; k++)
        s->first[k + 1] += s->first[k];
    for (uint32_t i = o->n_links; i-- > 0;) {
        uint32_t k = o->links[i].from;
        uint32_t at = s->first[k];
        while (s->out[at] != CLV_NONE)
            at++;
        s->out[at] = i;
    }
}

static bool sim_prepare(clv_sim *s)
{
    const clv_sim_opts *o = &s->o;
    size_t tasks = (size_t)o->n_stages * o->micro_batches;
    arena *a = &s->mem;
    s->first = arena_zalloc(a, ((size_t)o->n_stages + 2) * sizeof *s->first);
    s->n_in = arena_zalloc(a, ((size_t)o->n_stages + 1) * sizeof *s->n_in);
    s->out = arena_array(a, (size_t)o->n_links + 1, sizeof *s->out);
    s->missing = arena_array(a, tasks, sizeof *s->missing);
    s->next = arena_array(a, tasks, sizeof *s->next);
    size_t wires = (size_t)o->n_links + 1, most = 0;
    for (uint32_t i = 0; i < o->n_links; i++)
        most = o->links[i].wire > most ? o->links[i].wire : most;
    s->link_free = arena_zalloc(a, (wires + most) * sizeof *s->link_free);
    s->busy = arena_zalloc(a, (size_t)o->n_devices * sizeof *s->busy);
    s->queue = arena_array(a, o->n_devices, sizeof *s->queue);
    s->doing = arena_array(a, o->n_devices, sizeof *s->doing);
    s->left = arena_array(a, o->micro_batches, sizeof *s->left);
    s->spans = o->spans ? arena_array(a, tasks, sizeof *s->spans) : NULL;
    if (!s->first || !s->n_in || !s->out || !s->missing || !s->next ||
        !s->link_free || !s->busy || !s->queue || !s->doing || !s->left ||
        (o->spans && !s->spans))
        return false;
    for (uint32_t i = 0; i < o->n_links; i++)
        s->out[i] = CLV_NONE;
    sim_links(s);
    for (uint32_t d = 0; d < o->n_devices; d++)
        s->queue[d] = s->doing[d] = CLV_NONE;
    for (uint32_t m = 0; m < o->micro_batches; m++) {
        s->left[m] = o->n_stages;
        for (uint32_t k = 0; k < o->n_stages; k++)
            s->missing[sim_task(s, k, m)] = s->n_in[k];
    }
    return true;
}

/* The longest way of one micro-batch, links included. */
static double sim_longest(clv_sim *s, double *ends)
{
    double longest = 0;
    for (uint32_t k = 0; k < s->o.n_stages; k++) {
        ends[k] += s->o.stages[k].seconds;
        longest = ends[k] > longest ? ends[k] : longest;
        for (uint32_t i = s->first[k]; i < s->first[k + 1]; i++) {
            const clv_sim_link *l = &s->o.links[s->out[i]];
            double there = ends[k] + l->seconds;
            ends[l->to] = there > ends[l->to] ? there : ends[l->to];
        }
    }
    return longest;
}

static clv_status sim_sum_up(clv_sim *s, clv_err *e)
{
    double *ends =
        arena_zalloc(&s->mem, ((size_t)s->o.n_stages + 1) * sizeof *ends);
    if (!ends)
        return clv__nomem(e);
    double all = 0, bound = sim_longest(s, ends);
    for (uint32_t d = 0; d < s->o.n_devices; d++) {
        all += s->busy[d];
        bound = s->busy[d] > bound ? s->busy[d] : bound;
    }
    s->info.bound = bound;
    s->info.busy = s->busy;
    s->info.n_devices = s->o.n_devices;
    s->info.spans = s->spans;
    if (s->info.makespan > 0)
        s->info.bubble = 1 - all / (s->info.makespan * s->o.n_devices);
    return CLV_OK;
}

clv_status clv_sim_new(const clv_sim_opts *opts, clv_sim **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(opts, err);
    clv_sim *s = clv__zalloc(sizeof *s);
    if (!s)
        return clv__nomem(err);
    s->info.size = sizeof s->info;
    clv_status st =
        clv__read_sized(opts, &s->o, sizeof s->o, "clv_sim_opts", err);
    if (st == CLV_OK)
        st = sim_check(&s->o, err);
    if (st == CLV_OK && !sim_prepare(s))
        st = clv__nomem(err);
    if (st == CLV_OK)
        st = sim_run(s, err);
    if (st == CLV_OK)
        st = sim_sum_up(s, err);
    clv__free(s->heap);
    s->heap = NULL;
    if (st != CLV_OK)
        clv_sim_free(s);
    else
        *out = s;
    return st;
}

void clv_sim_free(clv_sim *s)
{
    if (!s)
        return;
    clv__free(s->heap);
    arena_free(&s->mem);
    clv__free(s);
}

const clv_sim_info *clv_sim_get(const clv_sim *s)
{
    return &s->info;
}
