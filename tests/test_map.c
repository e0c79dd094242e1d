/* test_map.c - roofline times worked out by hand, published ridge points
 * through the library, and what must hold for every device and model. */
#include "check.h"
#include "cleave.h"
#include "csv.h"

#include <stdlib.h>

/* 100 TOP/s in fp16, half of it in fp32, 1 TB/s, 100 units, 5 us a launch. */
static const clv_device made_up = {
    .name = "made-up",
    .fp32 = {50e12, "test"},
    .fp16 = {100e12, "test"},
    .bandwidth = {1e12, "test"},
    .units = {100, "test"},
    .launch = {5e-6, "test"},
};

static clv_roofline at(const clv_device *d, clv_dtype t, int64_t flops,
                       int64_t bytes, int64_t threads)
{
    const clv_cost c = {.flops = flops, .bytes_in = bytes};
    const clv_parallel p = {.total_threads = threads};
    return clv_device_roofline(d, t, &c, &p);
}

static void by_hand(void)
{
    static const struct {
        const char *name;
        clv_dtype dtype;
        int64_t flops, bytes, threads;
        double seconds, occupancy, share;
        clv_bound bound;
    } rows[] = {
        /* 1e9 / 100e12 = 10 us of work, 1e6 / 1e12 = 1 us of traffic */
        {"compute", CLV_FLOAT16, 1000000000, 1000000, 1000, 15e-6, 1, 10.0 / 15,
         CLV_BOUND_COMPUTE},
        {"half the rate", CLV_FLOAT32, 1000000000, 1000000, 1000, 25e-6, 1,
         20.0 / 25, CLV_BOUND_COMPUTE},
        /* 20e6 / 1e12 = 20 us of traffic */
        {"memory", CLV_FLOAT16, 1000000000, 20000000, 1000, 25e-6, 1, 20.0 / 25,
         CLV_BOUND_MEMORY},
        {"launch", CLV_FLOAT16, 1000000, 1000, 1000, 5.01e-6, 1, 0.01 / 5.01,
         CLV_BOUND_LAUNCH},
        /* 25 threads fill a quarter of 100 units: 40 us of work */
        {"occupancy", CLV_FLOAT16, 1000000000, 1000000, 25, 45e-6, 0.25,
         10.0 / 45, CLV_BOUND_COMPUTE},
        {"nothing", CLV_FLOAT16, 0, 0, 1000, 0, 1, 0, CLV_BOUND_NOTHING},
        /* no rate for bf16: fp16's is used */
        {"nearest rate", CLV_BFLOAT16, 1000000000, 0, 1000, 15e-6, 1, 10.0 / 15,
         CLV_BOUND_COMPUTE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(rows[i].name);
        clv_roofline r = at(&made_up, rows[i].dtype, rows[i].flops,
                            rows[i].bytes, rows[i].threads);
        CHECK_NEAR(r.seconds, rows[i].seconds, 1e-15);
        CHECK_NEAR(r.occupancy, rows[i].occupancy, 1e-12);
        CHECK_NEAR(r.share, rows[i].share, 1e-9);
        CHECK_EQ_INT(r.bound, rows[i].bound);
    }
}

static void what_is_unknown(void)
{
    const clv_device no_rate = {.name = "x", .int8 = {1e12, "test"}};
    clv_roofline r = at(&no_rate, CLV_FLOAT32, 1000, 1000, 1);
    CHECK(r.seconds < 0 && r.bound == CLV_BOUND_NOTHING);
    const clv_device no_bandwidth = {.name = "x", .fp32 = {1e12, "test"}};
    r = at(&no_bandwidth, CLV_FLOAT32, 0, 1000, 1);
    CHECK(r.seconds == 0 && r.attained == 0 && r.share == 0);
    r = at(&no_bandwidth, CLV_FLOAT32, 1000, 1000, 1);
    CHECK_NEAR(r.seconds, 1e-9, 1e-18);
    CHECK_NEAR(clv_device_ridge(&no_bandwidth, CLV_FLOAT32), 0, 0);
}

/* At the ridge both roofs take the same time. */
static void ridge_is_where_roofs_meet(void)
{
    for (uint32_t i = 0; clv_device_at(i); i++) {
        const clv_device *d = clv_device_at(i);
        double ridge = clv_device_ridge(d, CLV_FLOAT32);
        check_row(d->name);
        if (ridge <= 0)
            continue;
        int64_t bytes = 1000000000;
        clv_roofline r =
            at(d, CLV_FLOAT32, (int64_t)(ridge * 1e9), bytes, INT64_MAX);
        CHECK_NEAR(r.compute / r.memory, 1, 1e-6);
    }
}

/* More work, more bytes or fewer threads never take less time. */
static void monotone(void)
{
    for (uint32_t i = 0; clv_device_at(i); i++) {
        const clv_device *d = clv_device_at(i);
        check_row(d->name);
        for (int64_t f = 1; f < INT64_C(1) << 40; f *= 16)
            for (int64_t b = 1; b < INT64_C(1) << 40; b *= 16)
                for (int64_t t = 1; t < 1 << 20; t *= 16) {
                    double s = at(d, CLV_FLOAT16, f, b, t).seconds;
                    if (s < 0)
                        continue;
                    CHECK(at(d, CLV_FLOAT16, 2 * f, b, t).seconds >= s);
                    CHECK(at(d, CLV_FLOAT16, f, 2 * b, t).seconds >= s);
                    CHECK(at(d, CLV_FLOAT16, f, b, 2 * t).seconds <= s);
                    double share = at(d, CLV_FLOAT16, f, b, t).share;
                    CHECK(share >= 0 && share <= 1 + 1e-9);
                }
    }
}

/* Ridge points as others print them; a rate may be one that float32 or float16
 * models are not computed in (tf32), which has no dtype of its own here. */
static void published_ridges(void)
{
    csv t;
    int rows = 0;
    if (!csv_open(&t, "tests/data/ridge.csv"))
        return;
    while (csv_next(&t)) {
        const clv_device *d;
        const char *used, *key = csv_get(&t, "dtype");
        clv_dtype dtype = clv_dtype_find(key);
        double want = atof(csv_get(&t, "ridge"));
        check_row(csv_get(&t, "device"));
        if (dtype == CLV_NODTYPE)
            continue;
        if (!CHECK(clv_device_find(csv_get(&t, "device"), &d, NULL) == CLV_OK))
            continue;
        clv_device_peak(d, dtype, &used);
        CHECK_STR(used, key);
        CHECK_NEAR(clv_device_ridge(d, dtype), want, 0.05 * want);
        rows++;
    }
    CHECK(rows >= 10);
}

/* -- whole models ---------------------------------------------------------*/

typedef struct whole {
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    clv_map *m;
} whole;

static bool map_model(const char *model, int64_t batch, const char *device,
                      whole *w)
{
    const clv_open_opts opts = {.size = sizeof opts, .batch = batch};
    const clv_device *d;
    *w = (whole){0};
    return CHECK(clv_graph_open(model, &opts, &w->g, NULL) == CLV_OK) &&
           CHECK(clv_profile_new(w->g, NULL, &w->p, NULL) == CLV_OK) &&
           CHECK(clv_cut_op(w->p, &w->c, NULL) == CLV_OK) &&
           CHECK(clv_device_find(device, &d, NULL) == CLV_OK) &&
           CHECK(clv_map_new(w->c, d, &w->m, NULL) == CLV_OK);
}

static void drop(whole *w)
{
    clv_map_free(w->m);
    clv_cut_free(w->c);
    clv_profile_free(w->p);
    clv_graph_free(w->g);
}

static void check_totals(const whole *w)
{
    uint32_t n;
    const clv_roofline *r = clv_map_times(w->m, &n);
    const uint32_t *rank = clv_map_ranking(w->m);
    const clv_map_info *t = clv_map_get(w->m);
    double sum = 0, by_bound = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; k++) {
        sum += r[k].seconds > 0 ? r[k].seconds : 0;
        CHECK(k == 0 || r[rank[k - 1]].seconds >= r[rank[k]].seconds);
    }
    for (int b = 0; b < 4; b++) {
        by_bound += t->bound_seconds[b];
        count += t->bound[b];
    }
    CHECK_EQ_INT(count, n);
    CHECK_NEAR(t->seconds, sum, 1e-9 * sum);
    CHECK_NEAR(by_bound, sum, 1e-9 * sum);
    CHECK(t->critical_path <= t->seconds * (1 + 1e-12));
    CHECK(t->critical_path > 0 && t->share > 0 && t->share <= 1);
    CHECK_NEAR(t->throughput * t->seconds, (double)t->batch, 1e-9);
}

static void models(void)
{
    static const char *const names[] = {"resnet50", "mobilenet_v2", "vit_b_16"};
    static const char *const devices[] = {"h100", "raspberry-pi-4", "t4"};
    for (int i = 0; i < 9; i++) {
        whole one, eight;
        check_row(names[i / 3]);
        bool ok = map_model(names[i / 3], 1, devices[i % 3], &one);
        if (map_model(names[i / 3], 8, devices[i % 3], &eight) && ok) {
            check_totals(&one);
            check_totals(&eight);
            const clv_map_info *a = clv_map_get(one.m);
            const clv_map_info *b = clv_map_get(eight.m);
            CHECK(b->seconds >= a->seconds && b->throughput >= a->throughput);
            CHECK(b->memory >= a->memory);
        }
        drop(&one);
        drop(&eight);
    }
}

static void memory_that_is_too_small(void)
{
    whole w;
    clv_device small = made_up;
    clv_map *m;
    small.memory = (clv_figure){1e6, "test"};
    if (map_model("resnet18", 1, "h100", &w) &&
        CHECK(clv_map_new(w.c, &small, &m, NULL) == CLV_OK)) {
        CHECK(clv_map_get(w.m)->fits);
        CHECK(!clv_map_get(m)->fits);
        clv_map_free(m);
    }
    drop(&w);
}

static const check_case cases[] = {
    {"by_hand", by_hand},
    {"what_is_unknown", what_is_unknown},
    {"ridge_is_where_roofs_meet", ridge_is_where_roofs_meet},
    {"monotone", monotone},
    {"published_ridges", published_ridges},
    {"models", models},
    {"memory_that_is_too_small", memory_that_is_too_small},
};
CHECK_MAIN(cases)
