/* concurrency.h - the analysis as the schedule sees it. */
#ifndef CLV_CONCURRENCY_H
#define CLV_CONCURRENCY_H

#include "cleave/concurrency.h"
#include "cut/cut.h"

struct clv_concurrency {
    arena mem;
    const clv_cut *cut;
    clv_concurrency_info info;
    clv_task *tasks;
    clv_stage *stages;
    double *behind; /* the heaviest path after a subgraph, itself left out */
};

#endif
