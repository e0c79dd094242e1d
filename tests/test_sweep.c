/* test_sweep.c - formulas against counting at points they have not seen,
 * against hand-derived ones, and refused where there is none. */
#include "check.h"
#include "cleave.h"

#include <stdlib.h>

static const clv_formula *formula(const clv_sweep *s, clv_metric m)
{
    return &clv_sweep_get(s)->formulas[m];
}

static int64_t coefficient(const clv_formula *f, int a, int b)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->terms[i].exponent[0] == a && f->terms[i].exponent[1] == b)
            return f->terms[i].den == 1 ? f->terms[i].num : INT64_MIN;
    return 0;
}

/* The totals at one point, without the sweep. */
static bool count_at(const char *model, const clv_open_opts *o,
                     int64_t total[CLV_METRIC_COUNT])
{
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_memory *m = NULL;
    bool ok = CHECK(clv_graph_open(model, o, &g, NULL) == CLV_OK) &&
              CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK) &&
              CHECK(clv_cut_op(p, &c, NULL) == CLV_OK) &&
              CHECK(clv_memory_new(c, NULL, &m, NULL) == CLV_OK);
    if (ok) {
        const clv_totals *t = clv_profile_totals(p);
        total[CLV_METRIC_PARAMS] = t->params;
        total[CLV_METRIC_MACS] = t->macs;
        total[CLV_METRIC_FLOPS] = t->flops;
        total[CLV_METRIC_MEMORY] = t->memory;
        total[CLV_METRIC_PEAK] = clv_memory_get(m)->peak;
    }
    clv_memory_free(m);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
    return ok;
}

static const int64_t batches[] = {1, 2, 4};
static const clv_vary by_batch = {
    .kind = CLV_VARY_BATCH, .name = "batch", .values = batches, .n = 3};

/* MACs that the batch does not change: swin_v2 and some CoAtNets compute their
 * position biases from a table of coordinates, DeBERTa projects its distances,
 * XCiT, RT-DETR and SAM their waves, once for all. */
static bool counts_once(const clv_zoo_model *m)
{
    static const char *const families[] = {"deberta", "rtdetr", "sam", "xcit"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(m->family, families[i]))
            return true;
    return strstr(m->name, "swin_v2") || strstr(m->name, "coatnet_rmlp");
}

/* These compute tensors from weights alone. With a batch of one those are the
 * most bytes alive, with a large one others are: the peak is the larger of two
 * lines, and no polynomial. */
static bool peak_has_kink(const clv_zoo_model *m)
{
    static const char *const families[] = {
        "beit", "deberta", "hubert", "nfnet", "tiny_vit", "wav2vec2", "yolos"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(m->family, families[i]))
            return true;
    return false;
}

/* DLRM reads one row of each table per entry of the batch, and no more than the
 * table, of which some have three. */
static bool reads_small_tables(const clv_zoo_model *m)
{
    return !strcmp(m->family, "dlrm");
}

/* Models of the zoo: MACs, FLOPs and bytes are linear in the batch, and the
 * formula gives the totals at a batch far away. */
static void zoo_by_batch(void)
{
    const clv_zoo_model *info;
    for (uint32_t i = 0; (info = clv_zoo_at(i)); i += 5) {
        clv_sweep *s;
        clv_err err;
        int64_t want[CLV_METRIC_COUNT], got;
        const int64_t far[] = {97, 0};
        check_row(info->name);
        if (!CHECK(clv_sweep_new(info->name, NULL, &by_batch, 1, true, &s,
                                 &err) == CLV_OK))
            continue;
        if (count_at(
                info->name,
                &(clv_open_opts){.size = sizeof(clv_open_opts), .batch = 97},
                want))
            for (int m = 0; m < CLV_METRIC_COUNT; m++) {
                const clv_formula *f = formula(s, (clv_metric)m);
                if ((m == CLV_METRIC_PEAK && peak_has_kink(info)) ||
                    (m == CLV_METRIC_MEMORY && reads_small_tables(info)))
                    continue;
                CHECK(f->exact);
                CHECK(clv_formula_at(f, far, 1, &got) && got == want[m]);
            }
        const clv_formula *macs = formula(s, CLV_METRIC_MACS);
        int64_t once = coefficient(macs, 0, 0);
        CHECK(counts_once(info) == (once > 0));
        /* each text is compared with each image */
        int64_t pairs = coefficient(macs, 2, 0);
        CHECK(!strcmp(info->task, "text-image") == (pairs > 0));
        CHECK_EQ_INT(once + coefficient(macs, 1, 0) + pairs,
                     clv_sweep_get(s)->rows[0].total[CLV_METRIC_MACS]);
        CHECK_NEAR(clv_sweep_get(s)->exponent[CLV_METRIC_MACS], 1,
                   counts_once(info) ? 0.3
                   : pairs           ? 1e-5
                                     : 1e-9);
        CHECK_NEAR(clv_sweep_get(s)->exponent[CLV_METRIC_PARAMS], 0, 1e-9);
        clv_sweep_free(s);
    }
}

/* vgg11: a 3x3 convolution of c to k channels on h x h is 9*c*k*h^2 MACs;
 * with sides that are multiples of 32 the pools halve exactly. */
static void vgg_by_side(void)
{
    static const int64_t sides[] = {224, 256};
    static const int64_t shape[] = {1, 3, 224, 224};
    static const struct {
        int c, k, down;
    } convs[] = {{3, 64, 1},    {64, 128, 2},  {128, 256, 4},  {256, 256, 4},
                 {256, 512, 8}, {512, 512, 8}, {512, 512, 16}, {512, 512, 16}};
    const clv_shape_arg arg = {NULL, shape, 4};
    const clv_open_opts base = {
        .size = sizeof base, .shapes = &arg, .n_shapes = 1};
    const clv_vary v = {.kind = CLV_VARY_SHAPE,
                        .name = "side",
                        .axes = 4 | 8,
                        .values = sides,
                        .n = 2};
    clv_sweep *s;
    int64_t square = 0;
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++)
        square += (int64_t)9 * convs[i].c * convs[i].k * 256 / convs[i].down /
                  convs[i].down;
    CHECK_OR_RETURN(clv_sweep_new("vgg11", &base, &v, 1, true, &s, NULL) ==
                    CLV_OK);
    const clv_formula *f = formula(s, CLV_METRIC_MACS);
    CHECK(f->exact && f->n == 2);
    CHECK_EQ_INT(f->terms[0].num * 256, square * f->terms[0].den);
    CHECK_EQ_INT(f->terms[0].exponent[0], 2);
    CHECK_EQ_INT(coefficient(f, 0, 0),
                 INT64_C(25088) * 4096 + 4096 * 4096 + 4096 * 1000);
    CHECK_EQ_INT(clv_sweep_get(s)->step[0], 32);
    clv_sweep_free(s);
}

/* Attention: MACs of a transformer are quadratic in the sequence. Counted anew
 * at other lengths. */
static void bert_by_sequence(void)
{
    static const char model[] = "tests/data/onnx/bert_tiny-free.onnx";
    static const int64_t lengths[] = {16, 17};
    const clv_vary v[] = {
        by_batch,
        {.kind = CLV_VARY_DIM, .name = "sequence", .values = lengths, .n = 2}};
    clv_sweep *s;
    clv_err err;
    if (!CHECK(clv_sweep_new(model, NULL, v, 2, true, &s, &err) == CLV_OK))
        return;
    const clv_formula *f = formula(s, CLV_METRIC_MACS);
    CHECK(f->exact);
    CHECK(coefficient(f, 1, 2) > 0 && coefficient(f, 1, 1) > 0);
    CHECK_EQ_INT(f->n, 2);
    CHECK_EQ_INT(clv_sweep_get(s)->n_rows, 6);
    for (int64_t b = 1; b < 8; b += 3)
        for (int64_t n = 20; n < 120; n += 33) {
            const clv_dim_arg dim = {"sequence", n};
            const clv_open_opts o = {
                .size = sizeof o, .batch = b, .dims = &dim, .n_dims = 1};
            int64_t want[CLV_METRIC_COUNT], got, at[] = {b, n};
            if (count_at(model, &o, want))
                CHECK(clv_formula_at(f, at, 2, &got) &&
                      got == want[CLV_METRIC_MACS]);
        }
    clv_sweep_free(s);
}

/* Odd sides: pools round, and there is no polynomial. */
static void refused(void)
{
    static const int64_t sides[] = {224, 225};
    static const int64_t shape[] = {1, 3, 224, 224};
    const clv_shape_arg arg = {NULL, shape, 4};
    const clv_open_opts base = {
        .size = sizeof base, .shapes = &arg, .n_shapes = 1};
    const clv_vary v = {.kind = CLV_VARY_SHAPE,
                        .name = "side",
                        .axes = 4 | 8,
                        .values = sides,
                        .n = 2};
    clv_sweep *s;
    CHECK_OR_RETURN(clv_sweep_new("resnet18", &base, &v, 1, true, &s, NULL) ==
                    CLV_OK);
    CHECK(!formula(s, CLV_METRIC_MACS)->exact);
    CHECK_HAS(formula(s, CLV_METRIC_MACS)->why, "polynomial");
    CHECK(formula(s, CLV_METRIC_PARAMS)->exact);
    clv_sweep_free(s);
}

static void evaluated(void)
{
    const clv_formula half = {
        .exact = true, .n = 2, .terms = {{1, 2, {2, 0}}, {1, 2, {1, 0}}}};
    int64_t got;
    for (int64_t x = 1; x < 50; x++)
        CHECK(clv_formula_at(&half, &x, 1, &got) && got == x * (x + 1) / 2);
    const clv_formula large = {
        .exact = true, .n = 1, .terms = {{INT64_MAX, 1, {4, 0}}}};
    const int64_t huge = INT64_MAX, one = 1;
    CHECK(!clv_formula_at(&large, &huge, 1, &got));
    CHECK(clv_formula_at(&large, &one, 1, &got) && got == INT64_MAX);
}

static void bad_arguments(void)
{
    static const int64_t down[] = {2, 1}, zero[] = {0};
    clv_vary v = by_batch;
    clv_sweep *s;
    clv_err err;
    CHECK(clv_sweep_new("resnet18", NULL, &v, 0, false, &s, &err) == CLV_USAGE);
    CHECK(clv_sweep_new("resnet18", NULL, &v, 3, false, &s, &err) == CLV_USAGE);
    v.values = down;
    v.n = 2;
    CHECK(clv_sweep_new("resnet18", NULL, &v, 1, false, &s, &err) == CLV_USAGE);
    v.values = zero;
    v.n = 1;
    CHECK(clv_sweep_new("resnet18", NULL, &v, 1, false, &s, &err) == CLV_USAGE);
    v = by_batch;
    v.kind = CLV_VARY_SHAPE;
    CHECK(clv_sweep_new("resnet18", NULL, &v, 1, false, &s, &err) == CLV_USAGE);
    CHECK(clv_sweep_new("resnet19", NULL, &by_batch, 1, false, &s, &err) ==
          CLV_NOT_FOUND);
    CHECK(s == NULL);
}

static const check_case cases[] = {
    {"zoo_by_batch", zoo_by_batch},
    {"vgg_by_side", vgg_by_side},
    {"bert_by_sequence", bert_by_sequence},
    {"refused", refused},
    {"evaluated", evaluated},
    {"bad_arguments", bad_arguments},
};
CHECK_MAIN(cases)
