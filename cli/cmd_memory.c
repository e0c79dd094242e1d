/* cmd_memory.c - which tensors are alive when, and the memory that takes. */
#include "strategy.h"

static void memory_report(const void *m, const clv_report_opts *o, clv_buf *out)
{
    clv_report_memory(m, o, out);
}

static clv_status read_budget(const options *o, int64_t *budget, clv_err *err)
{
    *budget = 0;
    if (o->budget.n == 0)
        return CLV_OK;
    if (o->budget.n > 1 || !parse_quantity(o->budget.items[0], budget))
        return fail(err, CLV_USAGE,
                    "--budget takes a size such as 100MB, not '%s'",
                    o->budget.items[o->budget.n - 1]);
    return CLV_OK;
}

static clv_status memory_within(const clv_memory *m, clv_err *err)
{
    const clv_memory_info *t = clv_memory_get(m);
    if (t->over_budget == 0)
        return CLV_OK;
    return fail(err, CLV_LIMIT,
                "%lld bytes of weights and live tensors exceed the budget of "
                "%lld by %lld",
                (long long)t->total, (long long)t->budget,
                (long long)t->over_budget);
}

static clv_status memory_draw(const options *o, const clv_memory *m,
                              clv_err *err)
{
    clv_buf text = {0};
    clv_report_memory_svg(m, &text);
    clv_status s = write_file(o->svg, &text, err);
    clv_buf_free(&text);
    return s;
}

clv_status cmd_memory(const options *o, clv_err *err)
{
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_memory *m = NULL;
    clv_memory_opts opts = {.size = sizeof opts,
                            .no_inplace = o->no_inplace,
                            .reorder = o->reorder};
    clv_status s = read_budget(o, &opts.budget, err);
    if (s == CLV_OK)
        s = open_profile(o, &g, &p, err);
    if (s == CLV_OK)
        s = make_cut(o, "op", p, &c, err);
    if (s == CLV_OK)
        s = clv_memory_new(c, &opts, &m, err);
    if (s == CLV_OK && o->svg)
        s = memory_draw(o, m, err);
    if (s == CLV_OK)
        s = emit(o, memory_report, m, err);
    if (s == CLV_OK)
        s = memory_within(m, err);
    clv_memory_free(m);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}
