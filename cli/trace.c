/* trace.c - schedules as Chrome traces with counters: for `cleave concurrency
 * --trace` and `cleave export -o x.trace.json`. */
#include "trace.h"

#include "strategy.h"

#include <string.h>

clv_status trace_load_new(const options *o, const clv_concurrency *a,
                          const clv_schedule *s, trace_load *out, clv_err *err)
{
    const clv_cut *cut = clv_concurrency_cut(a);
    clv_memory_opts opts = {.size = sizeof opts,
                            .no_inplace = clv_schedule_get(s)->streams > 1};
    *out = (trace_load){0};
    clv_status st = clv_memory_new(cut, &opts, &out->memory, err);
    if (st == CLV_SHAPE || st == CLV_UNSUPPORTED) {
        char text[600];
        snprintf(text, sizeof text, "the trace has no counters: %s", err->msg);
        if (!o->quiet)
            say("note: ", text);
        memset(err, 0, sizeof *err);
        return CLV_OK;
    }
    return st == CLV_OK ? clv_load_new(a, s, out->memory, &out->load, err) : st;
}

void trace_load_free(trace_load *t)
{
    clv_load_free(t->load);
    clv_memory_free(t->memory);
}

static clv_status trace_put(const options *o, const clv_concurrency *a,
                            const clv_device *device, clv_buf *out,
                            clv_err *err)
{
    clv_schedule *schedule = NULL;
    trace_load t = {0};
    uint32_t streams = o->streams > UINT32_MAX ? UINT32_MAX
                       : o->streams            ? (uint32_t)o->streams
                                               : 1;
    clv_status s = clv_schedule_new(a, streams, &schedule, err);
    if (s == CLV_OK)
        s = trace_load_new(o, a, schedule, &t, err);
    const clv_concurrency_report r = {
        .analysis = a, .schedule = schedule, .device = device, .load = t.load};
    if (s == CLV_OK)
        clv_report_trace(&r, out);
    trace_load_free(&t);
    clv_schedule_free(schedule);
    return s;
}

clv_status trace_write(const options *o, const clv_graph *g, clv_buf *out,
                       clv_err *err)
{
    clv_concurrency_opts opts = {.size = sizeof opts, .dtype = o->dtype};
    clv_profile *p = NULL;
    clv_cut *cut = NULL;
    clv_concurrency *a = NULL;
    clv_status s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK && o->hardware.n)
        s = find_device(o, o->hardware.items[0], &opts.device, err);
    if (s == CLV_OK)
        s = make_cut(o, "fusion", p, &cut, err);
    if (s == CLV_OK)
        s = clv_concurrency_new(cut, &opts, &a, err);
    if (s == CLV_OK)
        s = trace_put(o, a, opts.device, out, err);
    clv_concurrency_free(a);
    clv_cut_free(cut);
    clv_profile_free(p);
    return s;
}
