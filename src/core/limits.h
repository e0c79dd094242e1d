/* limits.h - what the calls of this thread may take, and have taken. */
#ifndef CLV_LIMITS_H
#define CLV_LIMITS_H

#include "cleave/service.h"
#include "core/core.h"

typedef struct thread_budget {
    clv_limits limits;
    bool limited;    /* there is a limit at all */
    bool refused;    /* memory was refused for the limit's sake */
    int64_t held;    /* bytes, since the limits were set */
    int64_t memory;  /* that may be held: max_memory, and what files add */
    double deadline; /* 0: none; of a thread of a loop: that of its caller */
    int64_t work;    /* since the clock was last looked at */
    bool late;       /* the deadline is over */
} thread_budget;

extern _Thread_local thread_budget clv__budget;

CLV_MUST clv_status clv__within_now(uint32_t nodes, clv_err *e);

/* Fails with CLV_EXCEEDED when time is up, or when a graph of so many nodes is
 * too large. */
CLV_MUST static inline clv_status clv__within(uint32_t nodes, clv_err *e)
{
    return clv__budget.limited ? clv__within_now(nodes, e) : CLV_OK;
}

bool clv__late_now(void);

/* Whether the time of this thread is up. A long loop then drops what is left of
 * its work; the caller of the kernel fails by clv__within. Looks at the clock:
 * for pieces of work of microseconds. */
static inline bool clv__late(void)
{
    return clv__budget.deadline > 0 && clv__late_now();
}

/* The same for small pieces: `work` is the steps of the next one, some
 * nanoseconds each, and the clock is looked at once in a while. */
static inline bool clv__in_time(int64_t work)
{
    enum { LOOK_AFTER = 1 << 16 };
    thread_budget *b = &clv__budget;
    if (!(b->deadline > 0) || b->late)
        return !b->late;
    if ((b->work += work) < LOOK_AFTER)
        return true;
    b->work = 0;
    return !clv__late_now();
}

/* Bytes of a file that is read: memory may grow in proportion. */
void clv__budget_file(size_t size);

/* A plugin has budgets of its own. It gets the library's by limits_from, once,
 * and takes over the time of its thread with limits_enter, in each call. */
typedef const thread_budget *limits_fn(void);
const thread_budget *clv__limits_own(void);
void clv__limits_from(limits_fn *library);
void clv__limits_enter(void);

/* True for failures that no other way of doing it would avoid. */
static inline bool clv__is_final(clv_status s)
{
    return s == CLV_NOMEM || s == CLV_EXCEEDED;
}

#endif
