/* limits.h - what the calls of this thread may take, and have taken. */
#ifndef CLV_LIMITS_H
#define CLV_LIMITS_H

#include "cleave/service.h"
#include "core/core.h"

typedef struct clv_budget {
    clv_limits limits;
    bool limited;   /* there is a limit at all */
    bool refused;   /* memory was refused for the limit's sake */
    int64_t held;   /* bytes, since the limits were set */
    int64_t memory; /* that may be held: max_memory, and what files add */
    double deadline;
} clv_budget;

extern _Thread_local clv_budget clv__budget;

CLV_MUST clv_status clv__within_now(uint32_t nodes, clv_err *e);

/* Fails with CLV_EXCEEDED when time is up, or when a graph of so many nodes is
 * too large. */
CLV_MUST static inline clv_status clv__within(uint32_t nodes, clv_err *e)
{
    return clv__budget.limited ? clv__within_now(nodes, e) : CLV_OK;
}

/* Bytes of a file that is read: memory may grow in proportion. */
void clv__budget_file(size_t size);

/* True for failures that no other way of doing it would avoid. */
static inline bool clv__is_final(clv_status s)
{
    return s == CLV_NOMEM || s == CLV_EXCEEDED;
}

#endif
