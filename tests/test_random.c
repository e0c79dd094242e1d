/* test_random.c - operators that draw: their moments, and that the same seed
 * gives the same numbers.
 *
 * Mean and variance of 40000 draws lie within five standard errors of those of
 * the distribution, so a right kernel fails once in a million. */
#include "check.h"
#include "cleave.h"

#include <math.h>

enum { DRAWS = 40000, CLASSES = 4 };

typedef struct draw {
    const char *op, *origin;
    clv_attr_arg attrs[3];
    double in;                     /* every element of the input */
    double mean, variance, fourth; /* fourth central moment */
} draw;

#define F(n, v) \
    { \
        .name = n, .type = CLV_ATTR_FLOAT, .u.f = (v) \
    }

#define BELL \
    { \
        .name = "distribution", .type = CLV_ATTR_STRING, .u.s = "normal" \
    }

static const draw draws[] = {
    {"random_like", "RandomUniformLike", {{0}}, 0, 0.5, 1. / 12, 1. / 80},
    {"random_like",
     "RandomUniformLike",
     {F("low", -1), F("high", 3)},
     0,
     1,
     16. / 12,
     256. / 80},
    {"random_like", "RandomNormalLike", {BELL}, 0, 0, 1, 3},
    {"random_like",
     "RandomNormalLike",
     {F("mean", 5), F("scale", 2), BELL},
     0,
     5,
     4,
     48},
    {"bernoulli", "Bernoulli", {{0}}, 0.3, 0.3, 0.21, 0.0777},
    {"bernoulli", "Bernoulli", {F("seed", 0.5)}, 0.3, 0.3, 0.21, 0.0777},
    /* 1/4 of 4 stay, as 16 */
    {"dropout", "Dropout", {F("p", 0.75)}, 4, 4, 48, 5376},
};

/* A node's first output from these inputs (no data: left out), DRAWS numbers.
 */
static bool run(clv_node_arg *node, const clv_tensor *in, uint32_t n, double *y)
{
    clv_graph *g = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    uint32_t ins[3], out;
    bool ok = CHECK(clv_graph_new("draw", &g, NULL) == CLV_OK);
    for (uint32_t i = 0; i < n && ok; i++) {
        clv_value_arg v = {.size = sizeof v,
                           .kind = CLV_VALUE_INPUT,
                           .dtype = in[i].dtype,
                           .rank = in[i].rank,
                           .dims = in[i].dims};
        ins[i] = CLV_NONE;
        if (in[i].data)
            ok = CHECK(clv_graph_add_value(g, &v, &ins[i], NULL) == CLV_OK);
    }
    node->inputs = ins;
    node->n_inputs = n;
    ok = ok && CHECK(clv_graph_add_node(g, node, &out, NULL) == CLV_OK) &&
         CHECK(clv_graph_add_output(g, out, NULL) == CLV_OK) &&
         CHECK(clv_graph_infer(g, NULL) == CLV_OK) &&
         CHECK(clv_model_new(g, NULL, &m, NULL) == CLV_OK) &&
         CHECK(clv_context_new(m, &c, NULL) == CLV_OK);
    for (uint32_t i = 0, k = 0; i < n && ok; i++)
        if (in[i].data)
            ok = CHECK(clv_context_set(c, k++, &in[i], NULL) == CLV_OK);
    ok = ok && CHECK(clv_context_run(c, NULL) == CLV_OK);
    for (int i = 0; ok && i < DRAWS; i++)
        y[i] = clv_tensor_get(clv_context_output(c, 0), i);
    clv_context_free(c);
    clv_model_free(m);
    clv_graph_free(g);
    return ok;
}

/* Dropout is in training: its third input says so. */
static bool draw_as(const draw *d, const char *name, double *y)
{
    static float x[DRAWS];
    uint8_t yes = 1;
    clv_node_arg node = {.size = sizeof node,
                         .op = d->op,
                         .name = name,
                         .origin = d->origin,
                         .attrs = d->attrs};
    clv_tensor in[3] = {{CLV_FLOAT32, 1, {DRAWS}, x, 0},
                        {CLV_FLOAT32, 0, {0}, NULL, 0},
                        {CLV_BOOL, 0, {0}, &yes, 0}};
    while (node.n_attrs < 3 && d->attrs[node.n_attrs].name)
        node.n_attrs++;
    for (int i = 0; i < DRAWS; i++)
        x[i] = (float)d->in;
    return run(&node, in, strcmp(d->op, "dropout") ? 1 : 3, y);
}

static void moments(void)
{
    static double y[DRAWS], again[DRAWS], other[DRAWS];
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        const draw *d = &draws[i];
        bool seeded = d->attrs[0].name && !strcmp(d->attrs[0].name, "seed");
        check_row(d->origin);
        if (!draw_as(d, "a", y) || !draw_as(d, "a", again) ||
            !draw_as(d, "b", other))
            continue;
        CHECK(!memcmp(y, again, sizeof y));
        CHECK(seeded == !memcmp(y, other, sizeof y));
        double mean = 0, variance = 0;
        for (int k = 0; k < DRAWS; k++)
            mean += y[k] / DRAWS;
        for (int k = 0; k < DRAWS; k++)
            variance += (y[k] - d->mean) * (y[k] - d->mean) / DRAWS;
        CHECK_NEAR(mean, d->mean, 5 * sqrt(d->variance / DRAWS));
        CHECK_NEAR(variance, d->variance,
                   5 * sqrt((d->fourth - d->variance * d->variance) / DRAWS));
    }
}

/* Classes come as often as their weights say: 1, 2, 3 and 4 of 10, or their
 * logarithms. */
static void multinomial(void)
{
    static double y[DRAWS];
    for (int logs = 0; logs < 2; logs++) {
        float x[CLASSES];
        int count[CLASSES] = {0};
        clv_attr_arg attrs[2] = {
            {.name = "samples", .type = CLV_ATTR_INT, .u.i = DRAWS},
            {.name = "logits", .type = CLV_ATTR_INT, .u.i = logs}};
        clv_node_arg node = {.size = sizeof node,
                             .op = "multinomial",
                             .origin = logs ? "of logarithms" : "of weights",
                             .attrs = attrs,
                             .n_attrs = 2};
        clv_tensor in = {CLV_FLOAT32, 2, {1, CLASSES}, x, 0};
        for (int i = 0; i < CLASSES; i++)
            x[i] = logs ? logf((float)i + 1) : (float)i + 1;
        check_row(node.origin);
        if (!run(&node, &in, 1, y))
            continue;
        for (int i = 0; i < DRAWS; i++)
            count[(int)y[i]]++;
        for (int i = 0; i < CLASSES; i++) {
            double p = (i + 1) / 10.;
            CHECK_NEAR(count[i], p * DRAWS, 5 * sqrt(DRAWS * p * (1 - p)));
        }
    }
}

static const check_case cases[] = {{"moments", moments},
                                   {"multinomial", multinomial}};
CHECK_MAIN(cases)
