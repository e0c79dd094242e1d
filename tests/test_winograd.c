/* test_winograd.c - 3x3 convolutions by Winograd's way, against the sum that
 * defines a convolution, in double precision. */
#include "backend/cpu/features.h"
#include "backend/onednn/winograd.h"
#include "check.h"

#include <stdlib.h>

static uint64_t state;

static int64_t pick(int64_t low, int64_t high)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1));
}

static float *floats(int64_t n)
{
    float *p = malloc((size_t)(n + 1) * sizeof *p);
    for (int64_t i = 0; p && i < n; i++)
        p[i] = (float)pick(-1000, 1000) / 1000;
    return p;
}

static bool has_avx2(void)
{
#ifdef __x86_64__
    return CPU_HAS(AVX2, "avx2") && CPU_HAS(FMA, "fma");
#else
    return true;
#endif
}

/* Everything one convolution reads and writes; what may be absent is NULL. */
typedef struct trial {
    winograd k;
    float *src, *plain, *scale, *bias, *residual, *dst, *packed, *scratch;
} trial;

static float at(const winograd *k, const float *p, int64_t channels, int64_t h,
                int64_t w, int64_t n, int64_t c, int64_t y, int64_t x)
{
    if (k->last)
        return p[((n * h + y) * w + x) * channels + c];
    return p[(((n * channels / 8 + c / 8) * h + y) * w + x) * 8 + c % 8];
}

static double expected(const trial *t, int64_t n, int64_t o, int64_t y,
                       int64_t x)
{
    const winograd *k = &t->k;
    double sum = 0;
    for (int64_t c = 0; c < k->in; c++)
        for (int64_t i = 0; i < 9; i++) {
            int64_t yy = y + i / 3 - k->pad_y, xx = x + i % 3 - k->pad_x;
            if (yy >= 0 && yy < k->h && xx >= 0 && xx < k->w)
                sum += (double)t->plain[(o * k->in + c) * 9 + i] *
                       (double)at(k, t->src, k->in, k->h, k->w, n, c, yy, xx);
        }
    sum *= t->scale ? (double)t->scale[o] : 1;
    sum += t->bias ? (double)t->bias[o] : 0;
    sum += t->residual
               ? (double)at(k, t->residual, k->out, k->oh, k->ow, n, o, y, x)
               : 0;
    return fmin(fmax(sum, (double)k->low), (double)k->high);
}

static double worst(const trial *t)
{
    const winograd *k = &t->k;
    double worst = 0;
    for (int64_t n = 0; n < k->batch; n++)
        for (int64_t o = 0; o < k->out; o++)
            for (int64_t i = 0; i < k->oh * k->ow; i++) {
                int64_t y = i / k->ow, x = i % k->ow;
                double d =
                    (double)at(k, t->dst, k->out, k->oh, k->ow, n, o, y, x) -
                    expected(t, n, o, y, x);
                worst = fabs(d) > worst ? fabs(d) : worst;
            }
    return worst;
}

static void make(trial *t)
{
    winograd *k = &t->k;
    int64_t in = k->batch * k->in * k->h * k->w;
    int64_t out = k->batch * k->out * k->oh * k->ow;
    t->src = floats(in);
    t->plain = floats(k->in * k->out * 9);
    t->scale = pick(0, 1) ? floats(k->out) : NULL;
    t->bias = pick(0, 1) ? floats(k->out) : NULL;
    t->residual = pick(0, 1) ? floats(out) : NULL;
    t->dst = floats(out);
    t->packed = malloc(winograd_weights(k));
    t->scratch = malloc(winograd_scratch(k));
}

static void run(const trial *t)
{
    const winograd_args a = {(const char *)t->src,  (const char *)t->packed,
                             (const char *)t->bias, (const char *)t->residual,
                             (char *)t->dst,        (char *)t->scratch};
    winograd_pack(&t->k, (const char *)t->plain, t->scale, (char *)t->packed);
    winograd_run(&t->k, &a);
}

static void drop(trial *t)
{
    float *all[] = {t->src,      t->plain, t->scale,  t->bias,
                    t->residual, t->dst,   t->packed, t->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void set_sizes(winograd *k)
{
    *k = (winograd){.batch = pick(1, 3),
                    .in = pick(4, 8) * 8,
                    .out = pick(2, 4) * 16,
                    .h = pick(1, 19),
                    .w = pick(1, 19),
                    .pad_y = pick(0, 2),
                    .pad_x = pick(0, 2),
                    .low = pick(0, 1) ? 0 : -INFINITY,
                    .high = pick(0, 1) ? 1 : INFINITY,
                    .last = pick(0, 1)};
    k->oh = k->h + 2 * k->pad_y - 2;
    k->ow = k->w + k->pad_x + pick(0, 2) - 2;
}

static void equals_the_sum(void)
{
    if (!has_avx2()) {
        check_skip("no AVX2 here");
        return;
    }
    state = 1;
    for (int i = 0; i < 150; i++) {
        trial t = {.src = NULL};
        do
            set_sizes(&t.k);
        while (t.k.oh < 1 || t.k.ow < 1);
        CHECK(winograd_choose(&t.k));
        if (i % 3) { /* other tiles and chunks than it would choose */
            t.k.tile = i % 3 == 1 ? 2 : 4;
            t.k.chunk = pick(1, 13);
        }
        make(&t);
        run(&t);
        double most = worst(&t);
        CHECK(most < (t.k.tile == 2 ? 1e-4 : 1e-3));
        drop(&t);
    }
}

/* The result may lie where the residual was; NaN comes through. */
static void over_the_residual(void)
{
    if (!has_avx2()) {
        check_skip("no AVX2 here");
        return;
    }
    state = 2;
    trial t = {.k = {.batch = 1,
                     .in = 32,
                     .out = 32,
                     .h = 9,
                     .w = 9,
                     .oh = 9,
                     .ow = 9,
                     .pad_y = 1,
                     .pad_x = 1,
                     .low = 0,
                     .high = 6}};
    CHECK(winograd_choose(&t.k));
    make(&t);
    free(t.residual);
    t.residual = floats(32 * 81);
    memcpy(t.dst, t.residual, 32 * 81 * sizeof(float));
    float *mine = t.residual;
    t.residual = t.dst;
    run(&t);
    t.residual = mine;
    CHECK(worst(&t) < 1e-3);
    for (int i = 0; i < 32 * 81; i++)
        t.src[i] = NAN;
    run(&t);
    CHECK(isnan(t.dst[0]) && isnan(t.dst[32 * 81 - 1]));
    drop(&t);
}

static void what_it_leaves(void)
{
    const winograd good = {.batch = 1, .in = 64, .out = 64, .oh = 8, .ow = 8};
    winograd k = good;
    CHECK(winograd_choose(&k) && k.tile == 2);
    k = good, k.oh = k.ow = 56;
    CHECK(winograd_choose(&k) && k.tile == 4 && k.chunk <= 196);
    k = good, k.in = 60;
    CHECK(!winograd_choose(&k));
    k = good, k.out = 72;
    CHECK(!winograd_choose(&k));
    k = good, k.in = 16;
    CHECK(!winograd_choose(&k));
    k = good, k.batch = 0;
    CHECK(!winograd_choose(&k));
}

static const check_case cases[] = {
    {"equals_the_sum", equals_the_sum},
    {"over_the_residual", over_the_residual},
    {"what_it_leaves", what_it_leaves},
};
CHECK_MAIN(cases)
