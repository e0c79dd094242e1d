/* test_simulate.c - the simulator against formulas and recurrences. */
#include "check.h"
#include "cleave.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 40 };

/* p equal stages without transfer end at (m + p - 1) t. */
static void test_formula(void)
{
    for (uint32_t p = 1; p <= 8; p++)
        for (uint32_t m = 1; m <= 20; m++) {
            clv_sim_stage stages[8];
            clv_sim_link links[8];
            for (uint32_t k = 0; k < p; k++) {
                stages[k] = (clv_sim_stage){.seconds = 0.5, .device = k};
                links[k] = (clv_sim_link){.from = k, .to = k + 1};
            }
            const clv_sim_opts o = {.size = sizeof o,
                                    .stages = stages,
                                    .links = links,
                                    .n_stages = p,
                                    .n_links = p - 1,
                                    .n_devices = p,
                                    .micro_batches = m,
                                    .spans = true};
            clv_sim *s;
            clv_err err;
            CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
            const clv_sim_info *i = clv_sim_get(s);
            CHECK(fabs(i->makespan - 0.5 * (m + p - 1)) < 1e-9);
            CHECK(fabs(i->bubble - (p - 1.0) / (m + p - 1.0)) < 1e-9);
            CHECK(i->n_spans == (uint64_t)p * m && i->makespan >= i->bound);
            clv_sim_free(s);
        }
}

static double drawn(void)
{
    return (double)rand() / RAND_MAX;
}

/* One stage per device, any links: start = max(end of the micro-batch before,
 * arrival of all that is read). */
static void test_recurrence(void)
{
    srand(1);
    for (int turn = 0; turn < 300; turn++) {
        uint32_t p = 1 + (uint32_t)rand() % 6, m = 1 + (uint32_t)rand() % 6;
        uint32_t n = 0;
        clv_sim_stage stages[6];
        clv_sim_link links[MOST];
        double end[6] = {0}, last = 0;
        for (uint32_t k = 0; k < p; k++) {
            stages[k] = (clv_sim_stage){.seconds = drawn(), .device = k};
            for (uint32_t f = 0; f < k; f++)
                if (rand() % 2)
                    links[n++] =
                        (clv_sim_link){.from = f, .to = k, .seconds = drawn()};
        }
        for (uint32_t i = 0; i < m; i++)
            for (uint32_t k = 0; k < p; k++) {
                double start = end[k]; /* end[f] is of micro-batch i already */
                for (uint32_t l = 0; l < n; l++)
                    if (links[l].to == k)
                        start =
                            fmax(start, end[links[l].from] + links[l].seconds);
                end[k] = start + stages[k].seconds;
                last = fmax(last, end[k]);
            }
        const clv_sim_opts o = {.size = sizeof o,
                                .stages = stages,
                                .links = links,
                                .n_stages = p,
                                .n_links = n,
                                .n_devices = p,
                                .micro_batches = m};
        clv_sim *s;
        clv_err err;
        CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
        CHECK(fabs(clv_sim_get(s)->makespan - last) < 1e-9);
        clv_sim_free(s);
    }
}

/* A chain of unlike stages and links: the way of one micro-batch, and for each
 * further one the slowest stage or link. */
static void test_chain(void)
{
    srand(2);
    for (int turn = 0; turn < 300; turn++) {
        uint32_t p = 1 + (uint32_t)rand() % 6, m = 1 + (uint32_t)rand() % 9;
        clv_sim_stage stages[6];
        clv_sim_link links[6];
        double sum = 0, slowest = 0;
        for (uint32_t k = 0; k < p; k++) {
            stages[k] = (clv_sim_stage){.seconds = drawn(), .device = k};
            links[k] = (clv_sim_link){.from = k, .to = k + 1};
            links[k].seconds = links[k].occupied = drawn();
            sum += stages[k].seconds + (k + 1 < p ? links[k].seconds : 0);
            slowest = fmax(slowest, stages[k].seconds);
            slowest = fmax(slowest, k + 1 < p ? links[k].occupied : 0);
        }
        const clv_sim_opts o = {.size = sizeof o,
                                .stages = stages,
                                .links = links,
                                .n_stages = p,
                                .n_links = p - 1,
                                .n_devices = p,
                                .micro_batches = m};
        clv_sim *s;
        clv_err err;
        CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
        CHECK(fabs(clv_sim_get(s)->makespan - sum - (m - 1) * slowest) < 1e-9);
        clv_sim_free(s);
    }
}

/* Two messages over one wire, 1 s each, follow each other. */
static void test_wire(void)
{
    const clv_sim_stage stages[] = {{.seconds = 1, .device = 0},
                                    {.seconds = 1, .device = 1},
                                    {.seconds = 1, .device = 2}};
    clv_sim_link links[] = {
        {.from = 0, .to = 1, .seconds = 1, .occupied = 1, .wire = 3},
        {.from = 0, .to = 2, .seconds = 1, .occupied = 1, .wire = 3}};
    const clv_sim_opts o = {.size = sizeof o,
                            .stages = stages,
                            .links = links,
                            .n_stages = 3,
                            .n_links = 2,
                            .n_devices = 3,
                            .micro_batches = 1};
    clv_sim *s;
    clv_err err;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
    CHECK(clv_sim_get(s)->makespan == 4);
    clv_sim_free(s);
    links[1].wire = 4;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
    CHECK(clv_sim_get(s)->makespan == 3);
    clv_sim_free(s);
}

/* Replicas, and the window of 1F1B. */
static void test_replicas_and_window(void)
{
    const clv_sim_stage stages[] = {{.seconds = 1, .device = 0},
                                    {.seconds = 2, .device = 1, .replicas = 2}};
    const clv_sim_link link = {.from = 0, .to = 1};
    clv_sim_opts o = {.size = sizeof o,
                      .stages = stages,
                      .links = &link,
                      .n_stages = 2,
                      .n_links = 1,
                      .n_devices = 3,
                      .micro_batches = 10};
    clv_sim *s;
    clv_err err;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
    CHECK(clv_sim_get(s)->makespan == 12 && clv_sim_get(s)->alive == 10);
    clv_sim_free(s);
    o.window = 1;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_OK);
    CHECK(clv_sim_get(s)->makespan == 30 && clv_sim_get(s)->alive == 1);
    clv_sim_free(s);
}

static void test_refused(void)
{
    const clv_sim_stage stage = {.seconds = 1, .device = 1};
    const clv_sim_stage never = {.seconds = NAN};
    const clv_sim_link back = {.from = 0, .to = 0};
    clv_sim_opts o = {.size = sizeof o,
                      .stages = &stage,
                      .n_stages = 1,
                      .n_devices = 1,
                      .micro_batches = 1};
    clv_sim *s;
    clv_err err;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_USAGE && !s);
    o.stages = &never;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_USAGE && !s);
    o.n_devices = 2;
    o.stages = &stage;
    o.links = &back;
    o.n_links = 1;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_USAGE && !s);
    o.n_links = 0;
    o.micro_batches = 0;
    CHECK(clv_sim_new(&o, &s, &err) == CLV_USAGE && !s);
}

static const check_case cases[] = {
    {"formula", test_formula},
    {"recurrence", test_recurrence},
    {"chain", test_chain},
    {"wire", test_wire},
    {"replicas_and_window", test_replicas_and_window},
    {"refused", test_refused},
};
CHECK_MAIN(cases)
