/* starve.h - runs something while memory runs out at every possible moment.
 *
 * An allocator that fails its n-th request, for every n until none fails: each
 * time the work must succeed or say CLV_NOMEM, agree with its clv_err, and give
 * back every block it took. (A request that only serves a cache may fail
 * unnoticed.) */
#ifndef CLEAVE_TESTS_STARVE_H
#define CLEAVE_TESTS_STARVE_H

#include "check.h"
#include "cleave.h"

#include <stdlib.h>

static struct {
    long requests; /* so far */
    long fail_at;  /* this one fails; 0: none */
    long live;     /* blocks not yet freed */
} starved;

static inline void *starve_realloc(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (size == 0) {
        starved.live -= p != NULL;
        free(p);
        return NULL;
    }
    if (++starved.requests == starved.fail_at)
        return NULL;
    void *q = realloc(p, size);
    starved.live += p == NULL && q;
    return q;
}

/* Does the work once with the n-th request failing (0: none). */
static inline clv_status
starve_at(long n, clv_status (*work)(void *, clv_err *), void *ctx)
{
    clv_err err = {0};
    starved.requests = starved.live = 0;
    starved.fail_at = n;
    clv_set_allocator(&(clv_allocator){starve_realloc, NULL});
    clv_status s = work(ctx, &err);
    clv_set_allocator(NULL);
    CHECK_EQ_INT(starved.live, 0);
    CHECK_EQ_INT(err.code, s);
    if (s != CLV_OK) {
        CHECK_EQ_INT(s, CLV_NOMEM);
        CHECK_STR(err.msg, "out of memory");
    }
    return s;
}

/* Every `step`-th request in turn; returns how many times the work failed. */
static inline long starve(clv_status (*work)(void *, clv_err *), void *ctx,
                          long step)
{
    long failures = 0, n = 1;
    do {
        failures += starve_at(n, work, ctx) != CLV_OK;
        n += step;
    } while (starved.requests >= starved.fail_at);
    return failures;
}

/* Of long work, about `tries` requests, evenly spread over all that it makes
 * when none fails; of short work every one. */
static inline long starve_spread(clv_status (*work)(void *, clv_err *),
                                 void *ctx, long tries)
{
    CHECK(starve_at(0, work, ctx) == CLV_OK);
    return starve(work, ctx, 1 + starved.requests / tries);
}

#endif
