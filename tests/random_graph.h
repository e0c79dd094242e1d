/* random_graph.h - seeded random graphs that pass shape inference.
 *
 * Nodes are drawn from a mix of operators on images (N, C, H, W) whose channel
 * count is fixed, so that any two tensors of a size can meet in an add: conv,
 * batch norm, activations, add and mul (residuals, diamonds, the same operand
 * twice), softmax, matmul, cat with a slice back, dropout, squeeze and excite,
 * means of rows, casts down and up, running sums.
 * A node reads recent tensors mostly, old ones sometimes: long skips happen. */
#ifndef CLEAVE_TESTS_RANDOM_GRAPH_H
#define CLEAVE_TESTS_RANDOM_GRAPH_H

#include "graph/graph.h"

#include <stdlib.h>

typedef struct rng {
    uint64_t s;
} rng;

/* splitmix64; the state is the seed. */
static inline uint64_t rng_next(rng *r)
{
    uint64_t z = r->s += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t rng_below(rng *r, uint32_t n)
{
    return (uint32_t)(rng_next(r) % n);
}

enum { RANDOM_CHANNELS = 4, RANDOM_SIDE = 8 };

static inline uint32_t random_weight(clv_graph *g, uint32_t rank,
                                     const int64_t *dims)
{
    uint32_t v = clv__value_add(g, NULL, CLV_VALUE_PARAM, CLV_FLOAT32);
    if (v != CLV_NONE && !clv__value_set_shape(g, v, rank, dims))
        return CLV_NONE;
    return v;
}

/* One of the last `reach` tensors. */
static inline uint32_t random_pick(rng *r, const uint32_t *made, uint32_t n,
                                   uint32_t reach)
{
    uint32_t back = rng_below(r, 8) ? reach : n;
    return made[n - 1 - rng_below(r, back < n ? back : n)];
}

static inline uint32_t random_node(clv_graph *g, clv_op op, const uint32_t *in,
                                   uint32_t n_in)
{
    uint32_t id = clv__node_add(g, op, clv__op_name(op), 0, in, n_in, NULL, 1);
    return id == CLV_NONE ? CLV_NONE : node_outs(g, &g->nodes[id])[0];
}

static inline uint32_t random_conv(clv_graph *g, uint32_t x)
{
    const int64_t dims[] = {RANDOM_CHANNELS, RANDOM_CHANNELS, 1, 1};
    const uint32_t in[] = {x, random_weight(g, 4, dims)};
    return random_node(g, CLV_OP_CONV2D, in, 2);
}

static inline uint32_t random_norm(clv_graph *g, uint32_t x)
{
    const int64_t dims[] = {RANDOM_CHANNELS};
    const uint32_t in[] = {x, random_weight(g, 1, dims),
                           random_weight(g, 1, dims), random_weight(g, 1, dims),
                           random_weight(g, 1, dims)};
    return random_node(g, CLV_OP_BATCH_NORM, in, 5);
}

/* Cat along the batch, then a slice back to one image. */
static inline uint32_t random_join(clv_graph *g, uint32_t x, uint32_t y)
{
    static const clv_attr axis[] = {
        {.name = "axis", .key = CLV_A_AXIS, .type = CLV_ATTR_INT, .u.i = 0}};
    static const int64_t zero[] = {0}, one[] = {1};
    static const clv_attr slice[] = {
        {.name = "axes",
         .key = CLV_A_AXES,
         .type = CLV_ATTR_INTS,
         .n = 1,
         .u.ints = zero},
        {.name = "start",
         .key = CLV_A_START,
         .type = CLV_ATTR_INTS,
         .n = 1,
         .u.ints = zero},
        {.name = "end",
         .key = CLV_A_END,
         .type = CLV_ATTR_INTS,
         .n = 1,
         .u.ints = one},
    };
    const uint32_t in[] = {x, y};
    uint32_t v = random_node(g, CLV_OP_CAT, in, 2);
    g->nodes[g->n_nodes - 1].attrs = axis;
    g->nodes[g->n_nodes - 1].n_attrs = 1;
    v = random_node(g, CLV_OP_SLICE, &v, 1);
    g->nodes[g->n_nodes - 1].attrs = slice;
    g->nodes[g->n_nodes - 1].n_attrs = 3;
    return v;
}

/* Squeeze and excite: the mean of each channel decides how much of it stays. */
static inline uint32_t random_gate(clv_graph *g, uint32_t x)
{
    static const clv_attr one[] = {{.name = "output_size",
                                    .key = CLV_A_OUTPUT_SIZE,
                                    .type = CLV_ATTR_INT,
                                    .u.i = 1}};
    uint32_t s = random_node(g, CLV_OP_ADAPTIVE_AVG_POOL2D, &x, 1);
    g->nodes[g->n_nodes - 1].attrs = one;
    g->nodes[g->n_nodes - 1].n_attrs = 1;
    s = random_conv(g, s);
    s = random_node(g, CLV_OP_RELU, &s, 1);
    s = random_conv(g, s);
    s = random_node(g, CLV_OP_SIGMOID, &s, 1);
    const uint32_t in[] = {x, s};
    return random_node(g, CLV_OP_MUL, in, 2);
}

/* The node just added, with these attributes (which must stay where they are).
 */
static inline void random_attrs(clv_graph *g, const clv_attr *attrs, uint8_t n)
{
    g->nodes[g->n_nodes - 1].attrs = attrs;
    g->nodes[g->n_nodes - 1].n_attrs = n;
}

/* x less the mean of its rows. */
static inline uint32_t random_rows(clv_graph *g, uint32_t x)
{
    static const int64_t last[] = {-1};
    static const clv_attr attrs[] = {
        {.name = "axes",
         .key = CLV_A_AXES,
         .type = CLV_ATTR_INTS,
         .n = 1,
         .u.ints = last},
        {.name = "keepdim",
         .key = CLV_A_KEEPDIM,
         .type = CLV_ATTR_INT,
         .u.i = 1},
    };
    uint32_t mean = random_node(g, CLV_OP_MEAN, &x, 1);
    random_attrs(g, attrs, 2);
    const uint32_t in[] = {x, mean};
    return random_node(g, CLV_OP_SUB, in, 2);
}

/* To half precision and back: a narrow tensor between two wide ones. */
static inline uint32_t random_narrow(clv_graph *g, uint32_t x)
{
    static const clv_attr half[] = {{.name = "dtype",
                                     .key = CLV_A_DTYPE,
                                     .type = CLV_ATTR_INT,
                                     .u.i = CLV_FLOAT16}};
    static const clv_attr full[] = {{.name = "dtype",
                                     .key = CLV_A_DTYPE,
                                     .type = CLV_ATTR_INT,
                                     .u.i = CLV_FLOAT32}};
    uint32_t y = random_node(g, CLV_OP_CAST, &x, 1);
    random_attrs(g, half, 1);
    y = random_node(g, CLV_OP_CAST, &y, 1);
    random_attrs(g, full, 1);
    return y;
}

/* Running sums: an operator that fuses with nothing. */
static inline uint32_t random_scan(clv_graph *g, uint32_t x)
{
    static const clv_attr axis[] = {
        {.name = "axis", .key = CLV_A_AXIS, .type = CLV_ATTR_INT, .u.i = 1}};
    uint32_t y = random_node(g, CLV_OP_CUMSUM, &x, 1);
    random_attrs(g, axis, 1);
    return y;
}

static inline uint32_t random_op(clv_graph *g, rng *r, uint32_t x, uint32_t y)
{
    static const clv_op one[] = {CLV_OP_RELU,    CLV_OP_SIGMOID,
                                 CLV_OP_GELU,    CLV_OP_SOFTMAX,
                                 CLV_OP_DROPOUT, CLV_OP_CONTIGUOUS};
    static const clv_op two[] = {CLV_OP_ADD, CLV_OP_MUL, CLV_OP_MATMUL};
    const uint32_t in[] = {x, y};
    switch (rng_below(r, 13)) {
    case 0:
    case 1:
        return random_conv(g, x);
    case 2:
        return random_norm(g, x);
    case 3:
    case 4:
    case 5:
        return random_node(g, two[rng_below(r, 3)], in, 2);
    case 6:
        return random_join(g, x, y);
    case 7:
        return rng_below(r, 3) ? random_conv(g, x) : random_gate(g, x);
    case 8:
        return rng_below(r, 2) ? random_rows(g, x) : random_narrow(g, x);
    case 9:
        return rng_below(r, 4) ? random_conv(g, x) : random_scan(g, x);
    default:
        return random_node(g, one[rng_below(r, 6)], in, 1);
    }
}

/* A graph of about n_nodes nodes, inferred; NULL when something failed. The
 * caller frees it with clv_graph_free. */
static inline clv_graph *random_graph(uint64_t seed, uint32_t n_nodes)
{
    rng r = {seed};
    clv_graph *g;
    if (clv_graph_new("random", &g, NULL) != CLV_OK)
        return NULL;
    uint32_t *made = malloc((n_nodes + 4) * sizeof *made), n = 0;
    const int64_t dims[] = {1, RANDOM_CHANNELS, RANDOM_SIDE, RANDOM_SIDE};
    for (uint32_t i = 0, inputs = 1 + rng_below(&r, 2); made && i < inputs;
         i++) {
        const clv_value_arg in = {.size = sizeof in,
                                  .kind = CLV_VALUE_INPUT,
                                  .dtype = CLV_FLOAT32,
                                  .rank = 4,
                                  .dims = dims};
        if (clv_graph_add_value(g, &in, &made[n], NULL) == CLV_OK)
            n++;
    }
    uint32_t reach = 1 + rng_below(&r, 6);
    while (n && g->n_nodes < n_nodes) {
        uint32_t x = random_pick(&r, made, n, reach);
        made[n] = random_op(g, &r, x, random_pick(&r, made, n, reach));
        if (made[n++] == CLV_NONE)
            break;
    }
    bool ok = n && made[n - 1] != CLV_NONE;
    for (uint32_t i = n > 3 ? n - 3 : 0; ok && i < n; i += 1 + rng_below(&r, 3))
        ok = g->values[made[i]].producer == CLV_NONE ||
             clv_graph_add_output(g, made[i], NULL) == CLV_OK;
    free(made);
    if (ok && clv_graph_infer(g, NULL) == CLV_OK)
        return g;
    clv_graph_free(g);
    return NULL;
}

#endif
