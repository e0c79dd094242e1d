/* limits.c - what the calls of one thread may take (cleave/service.h).
 *
 * Memory is counted where it is taken (mem.c), time and nodes are looked at by
 * clv__within, which everything calls that may go on for long: once per node
 * that is inferred or run, per trip of a loop, per step of a search. Without
 * limits that is one load and a branch. Kernels ask clv__in_time, and leave
 * their loops when it says no. */
#include "core/limits.h"

#include <string.h>

_Thread_local thread_budget clv__budget;

clv_status clv_limits_set(const clv_limits *limits, clv_err *err)
{
    clv__err_clear(err);
    clv_limits own;
    CLV_READ(clv_limits, limits, &own, err);
    if (own.max_memory < 0 || own.max_nodes < 0 || own.max_trips < 0 ||
        own.max_growth < 0 || own.memory_per_byte < 0 ||
        !(own.max_seconds >= 0))
        return clv__fail(err, CLV_USAGE, "clv_limits: a limit below zero");
    clv__budget = (thread_budget){.limits = own, .memory = own.max_memory};
    clv__budget.limited =
        own.max_memory > 0 || own.max_nodes > 0 || own.max_seconds > 0;
    if (own.max_seconds > 0)
        clv__budget.deadline = clv__now() + own.max_seconds;
    return CLV_OK;
}

void clv_limits_raise(int64_t max_memory)
{
    thread_budget *b = &clv__budget;
    if (b->limits.max_memory > 0 && b->memory < max_memory)
        b->memory = max_memory;
}

void clv__budget_file(size_t size)
{
    thread_budget *b = &clv__budget;
    int64_t more = (uint64_t)size < CLV_SAT ? (int64_t)size : CLV_SAT;
    b->memory = sat_add(b->memory, sat_mul(more, b->limits.memory_per_byte));
}

static clv_status limit_reached(clv_err *e, const char *which, clv_status s)
{
    return clv__about(e, s, CLV_SUBJECT_LIMIT, which);
}

clv_status clv__within_now(uint32_t nodes, clv_err *e)
{
    const clv_limits *l = &clv__budget.limits;
    if (l->max_nodes > 0 && nodes > l->max_nodes)
        return limit_reached(
            e, "nodes",
            clv__fail(e, CLV_EXCEEDED,
                      "more than %lld nodes, which is the limit",
                      (long long)l->max_nodes));
    if (l->max_seconds > 0 && clv__now() > clv__budget.deadline)
        return limit_reached(
            e, "seconds",
            clv__fail(e, CLV_EXCEEDED,
                      "not done after %lld ms, which is the limit",
                      (long long)(l->max_seconds * 1e3)));
    return CLV_OK;
}

bool clv__late_now(void)
{
    thread_budget *b = &clv__budget;
    b->late = b->late || clv__now() > b->deadline;
    return b->late;
}

/* -- plugins --------------------------------------------------------------*/

static limits_fn *library_limits; /* of a plugin; NULL: this is the library */

const thread_budget *clv__limits_own(void)
{
    return &clv__budget;
}

void clv__limits_from(limits_fn *library)
{
    library_limits = library;
}

void clv__limits_enter(void)
{
    const thread_budget *b = library_limits ? library_limits() : NULL;
    if (!b)
        return;
    clv__budget =
        (thread_budget){.limited = b->deadline > 0, .deadline = b->deadline};
    clv__budget.limits.max_seconds = b->limits.max_seconds;
}

/* -- memory ---------------------------------------------------------------*/

clv_status clv__nomem(clv_err *e)
{
    CLV_TRY(clv__within(0, e)); /* some callers know no other reason */
    const thread_budget *b = library_limits ? library_limits() : &clv__budget;
    if (!b->refused)
        return clv__fail(e, CLV_NOMEM, "out of memory");
    return limit_reached(
        e, "memory",
        clv__fail(e, CLV_EXCEEDED,
                  "needs more than %lld bytes of memory, which is "
                  "the limit",
                  (long long)b->memory));
}
