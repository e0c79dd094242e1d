/* yolo_blocks.c - what the blocks and heads of YOLO networks are made of, one
 * function per kind. The names of their parts are those of the checkpoints;
 * what they compute is in formats/checkpoint/blocks.c and heads.c. */
#include "zoo/yolo.h"

#include <string.h>

#define BLOCK(name) "ultralytics.nn.modules.block " name

enum { BLOCK_REPEATS = 32 };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double rest_or(const yolo_args *a, int i, double otherwise)
{
    return i < a->n_rest ? a->rest[i] : otherwise;
}

int64_t yolo_rest(const yolo_args *a, int i, int64_t otherwise)
{
    return (int64_t)rest_or(a, i, (double)otherwise);
}

/* -- convolutions ---------------------------------------------------------*/

pickle_node *yolo_conv(tree *t, int64_t c1, int64_t c2, tree_conv a)
{
    pickle_node *m = tree_module(t, "ultralytics.nn.modules.conv Conv");
    tree_child(t, m, "conv", tree_conv2d(t, c1, c2, a));
    tree_child(t, m, "bn", tree_batch_norm(t, c2));
    if (a.act)
        tree_child(t, m, "act",
                   tree_module(t, *a.act ? a.act
                                         : "torch.nn.modules.linear "
                                           "Identity"));
    else
        tree_child(t, m, "act", t->act);
    return m;
}

static pickle_node *yolo_make_conv(tree *t, const yolo_args *a)
{
    return CONV(t, a->c1, a->c2, .k = yolo_rest(a, 0, 1),
                .s = yolo_rest(a, 1, 1), .p = yolo_rest(a, 2, 0));
}

static pickle_node *yolo_make_conv_transpose(tree *t, const yolo_args *a)
{
    return tree_conv_transpose(t, a->c1, a->c2, yolo_rest(a, 0, 2));
}

pickle_node *yolo_depthwise(tree *t, int64_t c1, int64_t c2, tree_conv a)
{
    int64_t g = c1, rest = c2;
    while (rest) {
        int64_t left = g % rest;
        g = rest;
        rest = left;
    }
    a.g = g;
    return yolo_conv(t, c1, c2, a);
}

static pickle_node *yolo_ghost_conv(tree *t, int64_t c1, int64_t c2,
                                    tree_conv a)
{
    pickle_node *m = tree_module(t, "ultralytics.nn.modules.conv GhostConv");
    tree_child(t, m, "cv1", yolo_conv(t, c1, c2 / 2, a));
    tree_child(t, m, "cv2",
               CONV(t, c2 / 2, c2 / 2, .k = 5, .g = c2 / 2, .act = a.act));
    return m;
}

static pickle_node *yolo_make_ghost_conv(tree *t, const yolo_args *a)
{
    return yolo_ghost_conv(
        t, a->c1, a->c2,
        (tree_conv){.k = yolo_rest(a, 0, 1), .s = yolo_rest(a, 1, 1)});
}

pickle_node *yolo_rep_conv(tree *t, int64_t c1, int64_t c2)
{
    pickle_node *m = tree_module(t, "ultralytics.nn.modules.conv RepConv");
    tree_child(t, m, "act", t->act);
    tree_child(t, m, "conv1", CONV(t, c1, c2, .k = 3, .act = ""));
    tree_child(t, m, "conv2", CONV(t, c1, c2, .act = ""));
    return m;
}

static pickle_node *yolo_make_sc_down(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("SCDown"));
    tree_child(t, m, "cv1", CONV(t, a->c1, a->c2, .k = 1));
    tree_child(t, m, "cv2",
               CONV(t, a->c2, a->c2, .k = yolo_rest(a, 0, 3),
                    .s = yolo_rest(a, 1, 2), .g = a->c2, .act = ""));
    return m;
}

/* -- residual blocks ------------------------------------------------------*/

typedef struct bottleneck {
    int64_t k1, k2;
    bool shortcut, rep, half; /* half: of the channels inside */
} bottleneck;

static pickle_node *yolo_bottleneck(tree *t, int64_t c1, int64_t c2,
                                    bottleneck a)
{
    pickle_node *m =
        tree_module(t, a.rep ? BLOCK("RepBottleneck") : BLOCK("Bottleneck"));
    int64_t c = a.half ? c2 / 2 : c2;
    tree_child(t, m, "cv1",
               a.rep ? yolo_rep_conv(t, c1, c) : CONV(t, c1, c, .k = a.k1));
    tree_child(t, m, "cv2", CONV(t, c, c2, .k = a.k2));
    tree_flag(t, m, "add", a.shortcut && c1 == c2);
    return m;
}

static pickle_node *yolo_make_bottleneck(tree *t, const yolo_args *a)
{
    return yolo_bottleneck(
        t, a->c1, a->c2,
        (bottleneck){
            .k1 = 3, .k2 = 3, .shortcut = rest_or(a, 0, 1) != 0, .half = true});
}

static pickle_node *yolo_ghost_bottleneck(tree *t, int64_t c)
{
    pickle_node *m = tree_module(t, BLOCK("GhostBottleneck"));
    pickle_node *same = tree_module(t, "torch.nn.modules.linear Identity");
    pickle_node *first = yolo_ghost_conv(t, c, c / 2, (tree_conv){0});
    pickle_node *last = yolo_ghost_conv(t, c / 2, c, (tree_conv){.act = ""});
    tree_child(t, m, "conv", tree_list_of(t, first, same, last));
    tree_child(t, m, "shortcut", same);
    return m;
}

/* v10's inverted block; `lk` has a 7x7 and a 3x3 convolution side by side. */
static pickle_node *yolo_cib(tree *t, int64_t c, bool shortcut, bool lk)
{
    pickle_node *m = tree_module(t, BLOCK("CIB")), *mid;
    if (lk) {
        mid = tree_module(t, BLOCK("RepVGGDW"));
        tree_child(t, mid, "conv",
                   CONV(t, 2 * c, 2 * c, .k = 7, .g = 2 * c, .act = ""));
        tree_child(t, mid, "conv1",
                   CONV(t, 2 * c, 2 * c, .k = 3, .g = 2 * c, .act = ""));
        tree_child(t, mid, "act", t->act);
    } else {
        mid = CONV(t, 2 * c, 2 * c, .k = 3, .g = 2 * c);
    }
    pickle_node *parts[5] = {
        CONV(t, c, c, .k = 3, .g = c), CONV(t, c, 2 * c, .k = 1), mid,
        CONV(t, 2 * c, c, .k = 1), CONV(t, c, c, .k = 3, .g = c)};
    tree_child(t, m, "cv1", tree_list(t, parts, 5));
    tree_flag(t, m, "add", shortcut);
    return m;
}

/* -- cross-stage blocks ---------------------------------------------------*/

/* A list of n equal blocks: the same node stands n times, since a block's
 * weights are named by where it stands. */
static pickle_node *yolo_times(tree *t, pickle_node *block, int64_t n)
{
    pickle_node *items[BLOCK_REPEATS];
    uint32_t count = (uint32_t)(n < BLOCK_REPEATS ? n : BLOCK_REPEATS);
    for (uint32_t i = 0; i < count; i++)
        items[i] = block;
    return tree_list(t, items, count);
}

/* C2f: halves of cv1, n blocks after the second, all joined by cv2. */
static pickle_node *yolo_c2f(tree *t, const char *cls, const yolo_args *a,
                             int64_t c, pickle_node *block)
{
    pickle_node *m = tree_module(t, cls);
    tree_child(t, m, "cv1", CONV(t, a->c1, 2 * c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, (2 + a->n) * c, a->c2, .k = 1));
    tree_child(t, m, "m", yolo_times(t, block, a->n));
    return m;
}

/* C3: n blocks after cv1, beside cv2, joined by cv3. */
static pickle_node *yolo_c3(tree *t, const char *cls, int64_t c1, int64_t c2,
                            pickle_node *blocks)
{
    pickle_node *m = tree_module(t, cls);
    int64_t c = c2 / 2;
    tree_child(t, m, "cv1", CONV(t, c1, c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, c1, c, .k = 1));
    tree_child(t, m, "cv3", CONV(t, 2 * c, c2, .k = 1));
    tree_child(t, m, "m", blocks);
    return m;
}

static pickle_node *yolo_make_c2f(tree *t, const yolo_args *a)
{
    int64_t c = a->c2 / 2;
    bottleneck b = {.k1 = 3, .k2 = 3, .shortcut = rest_or(a, 0, 0) != 0};
    return yolo_c2f(t, BLOCK("C2f"), a, c, yolo_bottleneck(t, c, c, b));
}

static pickle_node *yolo_make_c2(tree *t, const yolo_args *a)
{
    int64_t c = a->c2 / 2;
    bottleneck b = {.k1 = 3, .k2 = 3, .shortcut = rest_or(a, 0, 1) != 0};
    pickle_node *m = tree_module(t, BLOCK("C2"));
    tree_child(t, m, "cv1", CONV(t, a->c1, 2 * c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, 2 * c, a->c2, .k = 1));
    tree_child(t, m, "m", yolo_times(t, yolo_bottleneck(t, c, c, b), a->n));
    return m;
}

static pickle_node *yolo_make_c3(tree *t, const yolo_args *a)
{
    int64_t c = a->c2 / 2;
    bottleneck b = {.k1 = 1, .k2 = 3, .shortcut = rest_or(a, 0, 1) != 0};
    return yolo_c3(t, BLOCK("C3"), a->c1, a->c2,
                   yolo_times(t, yolo_bottleneck(t, c, c, b), a->n));
}

static pickle_node *yolo_make_c3_ghost(tree *t, const yolo_args *a)
{
    return yolo_c3(t, BLOCK("C3Ghost"), a->c1, a->c2,
                   yolo_times(t, yolo_ghost_bottleneck(t, a->c2 / 2), a->n));
}

static pickle_node *yolo_c3k(tree *t, int64_t c)
{
    bottleneck b = {.k1 = 3, .k2 = 3, .shortcut = true};
    return yolo_c3(t, BLOCK("C3k"), c, c,
                   yolo_times(t, yolo_bottleneck(t, c / 2, c / 2, b), 2));
}

static pickle_node *yolo_make_c2f_cib(tree *t, const yolo_args *a)
{
    int64_t c = a->c2 / 2;
    return yolo_c2f(
        t, BLOCK("C2fCIB"), a, c,
        yolo_cib(t, c, rest_or(a, 0, 0) != 0, rest_or(a, 1, 0) != 0));
}

static pickle_node *yolo_rep_csp(tree *t, int64_t c1, int64_t c2, int64_t n)
{
    bottleneck b = {.k1 = 3, .k2 = 3, .shortcut = true, .rep = true};
    pickle_node *one = yolo_bottleneck(t, c2 / 2, c2 / 2, b);
    return yolo_c3(t, BLOCK("RepCSP"), c1, c2, yolo_times(t, one, n));
}

static pickle_node *yolo_elan(tree *t, const char *cls, const yolo_args *a,
                              pickle_node *cv2, pickle_node *cv3)
{
    int64_t c3 = yolo_rest(a, 0, 0), c4 = yolo_rest(a, 1, 0);
    pickle_node *m = tree_module(t, cls);
    tree_child(t, m, "cv1", CONV(t, a->c1, c3, .k = 1));
    tree_child(t, m, "cv2", cv2);
    tree_child(t, m, "cv3", cv3);
    tree_child(t, m, "cv4", CONV(t, c3 + 2 * c4, a->c2, .k = 1));
    return m;
}

static pickle_node *yolo_make_elan4(tree *t, const yolo_args *a)
{
    int64_t half = yolo_rest(a, 0, 0) / 2, c = yolo_rest(a, 1, 0);
    int64_t n = yolo_rest(a, 2, 1);
    pickle_node *end = CONV(t, c, c, .k = 3);
    return yolo_elan(t, BLOCK("RepNCSPELAN4"), a,
                     tree_list_of(t, yolo_rep_csp(t, half, c, n), end),
                     tree_list_of(t, yolo_rep_csp(t, c, c, n), end));
}

static pickle_node *yolo_make_elan1(tree *t, const yolo_args *a)
{
    int64_t half = yolo_rest(a, 0, 0) / 2, c = yolo_rest(a, 1, 0);
    return yolo_elan(t, BLOCK("ELAN1"), a, CONV(t, half, c, .k = 3),
                     CONV(t, c, c, .k = 3));
}

/* -- pooling --------------------------------------------------------------*/

static pickle_node *yolo_make_spp(tree *t, const yolo_args *a)
{
    int64_t c = a->c1 / 2;
    pickle_node *m = tree_module(t, BLOCK("SPP"));
    tree_child(t, m, "cv1", CONV(t, a->c1, c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, 4 * c, a->c2, .k = 1));
    tree_child(t, m, "m",
               tree_list_of(t, tree_max_pool(t, 5, 1, 2),
                            tree_max_pool(t, 9, 1, 4),
                            tree_max_pool(t, 13, 1, 6)));
    return m;
}

/* Rows that say how often to pool are YOLO26's: no activation after cv1. */
static pickle_node *yolo_make_sppf(tree *t, const yolo_args *a)
{
    int64_t c = a->c1 / 2, k = yolo_rest(a, 0, 5), n = yolo_rest(a, 1, 3);
    pickle_node *m = tree_module(t, BLOCK("SPPF"));
    tree_child(t, m, "cv1",
               CONV(t, a->c1, c, .k = 1, .act = a->n_rest > 1 ? "" : NULL));
    tree_child(t, m, "cv2", CONV(t, (n + 1) * c, a->c2, .k = 1));
    tree_child(t, m, "m", tree_max_pool(t, k, 1, k / 2));
    tree_int(t, m, "n", n);
    tree_flag(t, m, "add", rest_or(a, 2, 0) != 0 && a->c1 == a->c2);
    return m;
}

static pickle_node *yolo_make_spp_elan(tree *t, const yolo_args *a)
{
    int64_t c = yolo_rest(a, 0, 1);
    pickle_node *m = tree_module(t, BLOCK("SPPELAN"));
    pickle_node *pool = tree_max_pool(t, 5, 1, 2);
    tree_child(t, m, "cv1", CONV(t, a->c1, c, .k = 1));
    tree_child(t, m, "cv2", pool);
    tree_child(t, m, "cv3", pool);
    tree_child(t, m, "cv4", pool);
    tree_child(t, m, "cv5", CONV(t, 4 * c, a->c2, .k = 1));
    return m;
}

static pickle_node *yolo_make_aconv(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("AConv"));
    tree_child(t, m, "cv1", CONV(t, a->c1, a->c2, .k = 3, .s = 2));
    return m;
}

static pickle_node *yolo_make_adown(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("ADown"));
    int64_t c1 = a->c1 / 2, c = a->c2 / 2;
    tree_child(t, m, "cv1", CONV(t, c1, c, .k = 3, .s = 2));
    tree_child(t, m, "cv2", CONV(t, c1, c, .k = 1));
    return m;
}

/* -- attention ------------------------------------------------------------*/

static pickle_node *yolo_attention(tree *t, int64_t c)
{
    pickle_node *m = tree_module(t, BLOCK("Attention"));
    int64_t heads = larger(c / 64, 1), head = c / heads, key = head / 2;
    tree_int(t, m, "num_heads", heads);
    tree_int(t, m, "head_dim", head);
    tree_int(t, m, "key_dim", key);
    tree_child(t, m, "qkv", CONV(t, c, c + 2 * key * heads, .k = 1, .act = ""));
    tree_child(t, m, "proj", CONV(t, c, c, .k = 1, .act = ""));
    tree_child(t, m, "pe", CONV(t, c, c, .k = 3, .g = c, .act = ""));
    return m;
}

static pickle_node *yolo_perceptron(tree *t, int64_t c, int64_t hidden)
{
    pickle_node *first = CONV(t, c, hidden, .k = 1);
    return tree_list_of(t, first, CONV(t, hidden, c, .k = 1, .act = ""));
}

static pickle_node *yolo_psa_block(tree *t, int64_t c)
{
    pickle_node *m = tree_module(t, BLOCK("PSABlock"));
    tree_child(t, m, "attn", yolo_attention(t, c));
    tree_child(t, m, "ffn", yolo_perceptron(t, c, 2 * c));
    tree_flag(t, m, "add", true);
    return m;
}

static pickle_node *yolo_make_psa(tree *t, const yolo_args *a)
{
    int64_t c = a->c1 / 2;
    pickle_node *m = tree_module(t, BLOCK("PSA"));
    tree_child(t, m, "cv1", CONV(t, a->c1, 2 * c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, 2 * c, a->c1, .k = 1));
    tree_child(t, m, "attn", yolo_attention(t, c));
    tree_child(t, m, "ffn", yolo_perceptron(t, c, 2 * c));
    return m;
}

static pickle_node *yolo_make_c2psa(tree *t, const yolo_args *a)
{
    int64_t c = a->c1 / 2;
    pickle_node *m = tree_module(t, BLOCK("C2PSA"));
    tree_child(t, m, "cv1", CONV(t, a->c1, 2 * c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, 2 * c, a->c1, .k = 1));
    tree_child(t, m, "m", yolo_times(t, yolo_psa_block(t, c), a->n));
    return m;
}

/* rest: c3k, the share of channels inside, attention. The sizes m, l and x use
 * c3k in every row. */
static pickle_node *yolo_make_c3k2(tree *t, const yolo_args *a)
{
    int64_t c = (int64_t)((double)a->c2 * rest_or(a, 1, 0.5));
    bool c3k = a->large || rest_or(a, 0, 0) != 0;
    bottleneck b = {.k1 = 3, .k2 = 3, .shortcut = true, .half = true};
    pickle_node *one;
    if (rest_or(a, 2, 0) != 0) {
        pickle_node *first = yolo_bottleneck(t, c, c, b);
        one = tree_list_of(t, first, yolo_psa_block(t, c));
    } else {
        one = c3k ? yolo_c3k(t, c) : yolo_bottleneck(t, c, c, b);
    }
    return yolo_c2f(t, BLOCK("C3k2"), a, c, one);
}

static pickle_node *yolo_area(tree *t, int64_t c, double mlp, int64_t area)
{
    pickle_node *m = tree_module(t, BLOCK("ABlock"));
    pickle_node *attn = tree_module(t, BLOCK("AAttn"));
    enum { HEAD = 32 };
    tree_int(t, attn, "area", area);
    tree_int(t, attn, "num_heads", c / HEAD);
    tree_int(t, attn, "head_dim", HEAD);
    tree_child(t, attn, "qkv", CONV(t, c, 3 * c, .k = 1, .act = ""));
    tree_child(t, attn, "proj", CONV(t, c, c, .k = 1, .act = ""));
    tree_child(t, attn, "pe", CONV(t, c, c, .k = 7, .g = c, .act = ""));
    tree_child(t, m, "attn", attn);
    tree_child(t, m, "mlp", yolo_perceptron(t, c, (int64_t)((double)c * mlp)));
    return m;
}

/* rest: attention or C3k, area. The sizes l and x have a scaled shortcut. */
static pickle_node *yolo_make_a2c2f(tree *t, const yolo_args *a)
{
    int64_t c = a->c2 / 2;
    bool attends = rest_or(a, 0, 1) != 0;
    pickle_node *m = tree_module(t, BLOCK("A2C2f")), *one;
    tree_child(t, m, "cv1", CONV(t, a->c1, c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, (1 + a->n) * c, a->c2, .k = 1));
    if (attends && a->largest)
        tree_param(t, m, "gamma", &a->c2, 1);
    if (attends) {
        one = yolo_area(t, c, a->largest ? 1.2 : 2.0, yolo_rest(a, 1, 1));
        one = tree_list_of(t, one, one);
    } else {
        one = yolo_c3k(t, c);
    }
    tree_child(t, m, "m", yolo_times(t, one, a->n));
    return m;
}

/* -- joins ----------------------------------------------------------------*/

static pickle_node *yolo_make_concat(tree *t, const yolo_args *a)
{
    (void)a;
    pickle_node *m = tree_module(t, "ultralytics.nn.modules.conv Concat");
    tree_int(t, m, "d", 1);
    return m;
}

static pickle_node *yolo_make_upsample(tree *t, const yolo_args *a)
{
    (void)a;
    return tree_upsample(t, 2);
}

static pickle_node *yolo_make_max_pool(tree *t, const yolo_args *a)
{
    return tree_max_pool(t, 2, yolo_rest(a, 0, 2), 0);
}

static pickle_node *yolo_make_zero_pad(tree *t, const yolo_args *a)
{
    (void)a;
    pickle_node *m = tree_module(t, "torch.nn.modules.padding ZeroPad2d");
    tree_ints(t, m, "padding", (int64_t[]){0, 1, 0, 1}, 4);
    return m;
}

static pickle_node *yolo_make_identity(tree *t, const yolo_args *a)
{
    (void)a;
    return tree_module(t, "torch.nn.modules.linear Identity");
}

/* n groups of channels: 64, 128, .. */
static pickle_node *yolo_make_cb_linear(tree *t, const yolo_args *a)
{
    enum { GROUPS = 5 };
    int64_t sizes[GROUPS], sum = 0;
    uint32_t n = (uint32_t)(a->n < GROUPS ? a->n : GROUPS);
    pickle_node *m = tree_module(t, BLOCK("CBLinear"));
    for (uint32_t i = 0; i < n; i++)
        sum += sizes[i] = INT64_C(64) << i;
    tree_child(t, m, "conv",
               tree_conv2d(t, a->c1, sum, (tree_conv){.bias = 1}));
    tree_ints(t, m, "c2s", sizes, n);
    return m;
}

static pickle_node *yolo_make_cb_fuse(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("CBFuse"));
    tree_int(t, m, "idx", yolo_rest(a, 0, 0));
    return m;
}

/* -- heads ----------------------------------------------------------------*/

static pickle_node *yolo_head_plain(tree *t, int64_t c1, int64_t c, int64_t out)
{
    pickle_node *first = CONV(t, c1, c, .k = 3);
    pickle_node *second = CONV(t, c, c, .k = 3);
    return tree_list_of(t, first, second,
                        tree_conv2d(t, c, out, (tree_conv){.bias = true}));
}

static pickle_node *yolo_head_light(tree *t, int64_t c1, int64_t c, int64_t out)
{
    pickle_node *wide = yolo_depthwise(t, c1, c1, (tree_conv){.k = 3});
    pickle_node *first = tree_list_of(t, wide, CONV(t, c1, c, .k = 1));
    pickle_node *deep = yolo_depthwise(t, c, c, (tree_conv){.k = 3});
    pickle_node *second = tree_list_of(t, deep, CONV(t, c, c, .k = 1));
    return tree_list_of(t, first, second,
                        tree_conv2d(t, c, out, (tree_conv){.bias = true}));
}

/* One branch for each level, and a copy of it for end-to-end heads. */
static void yolo_head_branch(tree *t, pickle_node *m, const char *name,
                             const char *again, pickle_node *const *levels,
                             const yolo_head *h, int n)
{
    pickle_node *list = tree_list(t, levels, (uint32_t)n);
    tree_child(t, m, name, list);
    if (h->end2end)
        tree_child(t, m, again, list);
}

static pickle_node *yolo_head_proto(tree *t, const char *cls, int64_t c1,
                                    int64_t c, int64_t masks)
{
    pickle_node *m = tree_module(t, cls);
    tree_child(t, m, "cv1", CONV(t, c1, c, .k = 3));
    tree_child(t, m, "upsample", tree_conv_transpose(t, c, c, 2));
    tree_child(t, m, "cv2", CONV(t, c, c, .k = 3));
    tree_child(t, m, "cv3", CONV(t, c, masks, .k = 1));
    return m;
}

/* 26 adds up all levels first. `semseg` is for training. */
static pickle_node *yolo_head_proto26(tree *t, const yolo_head *h,
                                      const yolo_args *a, int64_t masks)
{
    int64_t c = h->protos;
    pickle_node *refine[YOLO_LEVELS];
    pickle_node *m = yolo_head_proto(t, BLOCK("Proto26"), c, c, masks);
    for (int i = 1; i < a->n_ch; i++)
        refine[i - 1] = CONV(t, a->ch[i], a->ch[0], .k = 1);
    tree_child(t, m, "feat_refine",
               tree_list(t, refine, (uint32_t)(a->n_ch - 1)));
    tree_child(t, m, "feat_fuse", CONV(t, a->ch[0], c, .k = 3));
    pickle_node *first = CONV(t, a->ch[0], c, .k = 3);
    pickle_node *second = CONV(t, c, c, .k = 3);
    tree_child(
        t, m, "semseg",
        tree_list_of(t, first, second,
                     tree_conv2d(t, c, h->classes, (tree_conv){.bias = true})));
    return m;
}

enum { HEAD_MASKS = 32, HEAD_POINTS = 17, HEAD_POINT_DIMS = 3 };

/* Points of 26: two convolutions, then one for the points and one for how sure
 * they are. That one and a flow over it are for training. */
static void yolo_head_points26(tree *t, pickle_node *m, const yolo_head *h,
                               const yolo_args *a)
{
    enum { FLOWS = 6, WIDE = 64 };
    static const int64_t two = 2;
    int64_t all = HEAD_POINTS * HEAD_POINT_DIMS, sure = HEAD_POINTS * 2;
    int64_t c = larger(a->ch[0] / 4, all + sure);
    pickle_node *body[YOLO_LEVELS], *at[YOLO_LEVELS], *sigma[YOLO_LEVELS];
    const tree_conv biased = {.bias = true};
    for (int i = 0; i < a->n_ch; i++) {
        pickle_node *first = CONV(t, a->ch[i], c, .k = 3);
        body[i] = tree_list_of(t, first, CONV(t, c, c, .k = 3));
        at[i] = tree_conv2d(t, c, all, biased);
        sigma[i] = tree_conv2d(t, c, sure, biased);
    }
    yolo_head_branch(t, m, "cv4", "one2one_cv4", body, h, a->n_ch);
    yolo_head_branch(t, m, "cv4_kpts", "one2one_cv4_kpts", at, h, a->n_ch);
    yolo_head_branch(t, m, "cv4_sigma", "one2one_cv4_sigma", sigma, h, a->n_ch);
    pickle_node *flow = tree_module(t, BLOCK("RealNVP")), *nets[FLOWS];
    tree_buffer(t, flow, "loc", &two, 1);
    tree_buffer(t, flow, "cov", (int64_t[]){2, 2}, 2);
    tree_buffer(t, flow, "mask", (int64_t[]){FLOWS, 2}, 2);
    for (int i = 0; i < FLOWS; i++) {
        pickle_node *in = tree_linear(t, 2, WIDE);
        pickle_node *act = tree_module(t, "torch.nn.modules.activation SiLU");
        pickle_node *mid = tree_linear(t, WIDE, WIDE);
        nets[i] = tree_list_of(t, in, act, mid, act, tree_linear(t, WIDE, 2));
    }
    tree_child(t, flow, "s", tree_list(t, nets, FLOWS));
    tree_child(t, flow, "t", tree_list(t, nets, FLOWS));
    tree_child(t, m, "flow_model", flow);
}

/* What the task predicts beside boxes and classes; 0: nothing. */
static int64_t yolo_head_extra(yolo_task task)
{
    return task == YOLO_SEGMENT ? HEAD_MASKS
           : task == YOLO_POSE  ? HEAD_POINTS * HEAD_POINT_DIMS
           : task == YOLO_OBB   ? 1
                                : 0;
}

static pickle_node *yolo_head_classify(tree *t, const yolo_head *h,
                                       const yolo_args *a)
{
    enum { WIDE = 1280 };
    pickle_node *m = tree_module(t, h->cls);
    pickle_node *pool =
        tree_module(t, "torch.nn.modules.pooling AdaptiveAvgPool2d");
    tree_int(t, pool, "output_size", 1);
    tree_child(t, m, "conv", CONV(t, a->c1, WIDE, .k = 1));
    tree_child(t, m, "pool", pool);
    tree_child(t, m, "drop",
               tree_module(t, "torch.nn.modules.dropout Dropout"));
    tree_child(t, m, "linear", tree_linear(t, WIDE, h->classes));
    return m;
}

pickle_node *yolo_make_head(tree *t, const yolo_head *h, const yolo_args *a)
{
    enum { FEWEST = 16, MOST_CLASSES = 100 };
    if (h->task == YOLO_CLASSIFY)
        return yolo_head_classify(t, h, a);
    if (h->task == YOLO_QUERIES)
        return rtdetr_make_head(t, h, a);
    bool v26 = h->bins == 1;
    pickle_node *m = tree_module(t, h->cls), *boxes[YOLO_LEVELS],
                *scores[YOLO_LEVELS], *more[YOLO_LEVELS];
    int64_t sides = 4 * h->bins, extra = yolo_head_extra(h->task);
    int64_t few = h->classes < MOST_CLASSES ? h->classes : MOST_CLASSES;
    int64_t c2 = larger(larger(FEWEST, a->ch[0] / 4), sides);
    int64_t c3 = larger(a->ch[0], few), c4 = larger(a->ch[0] / 4, extra);
    for (int i = 0; i < a->n_ch; i++) {
        boxes[i] = yolo_head_plain(t, a->ch[i], c2, sides);
        scores[i] = (h->light ? yolo_head_light
                              : yolo_head_plain)(t, a->ch[i], c3, h->classes);
        more[i] = extra ? yolo_head_plain(t, a->ch[i], c4, extra) : NULL;
    }
    yolo_head_branch(t, m, "cv2", "one2one_cv2", boxes, h, a->n_ch);
    yolo_head_branch(t, m, "cv3", "one2one_cv3", scores, h, a->n_ch);
    if (h->task == YOLO_POSE && v26)
        yolo_head_points26(t, m, h, a);
    else if (extra)
        yolo_head_branch(t, m, "cv4", "one2one_cv4", more, h, a->n_ch);
    if (h->bins > 1) {
        pickle_node *dfl = tree_module(t, BLOCK("DFL"));
        tree_int(t, dfl, "c1", h->bins);
        tree_child(t, dfl, "conv", tree_conv2d(t, h->bins, 1, (tree_conv){0}));
        tree_child(t, m, "dfl", dfl);
    }
    if (h->task == YOLO_SEGMENT)
        tree_child(t, m, "proto",
                   v26 ? yolo_head_proto26(t, h, a, HEAD_MASKS)
                       : yolo_head_proto(t, BLOCK("Proto"), a->ch[0], h->protos,
                                         HEAD_MASKS));
    tree_ints(t, m, "kpt_shape", (int64_t[]){HEAD_POINTS, HEAD_POINT_DIMS}, 2);
    tree_flag(t, m, "_end2end", h->end2end);
    return m;
}

/* -- the table ------------------------------------------------------------*/

static const yolo_kind yolo_kinds[] = {
    {"Conv", yolo_make_conv, true, false},
    {"ConvTranspose2d", yolo_make_conv_transpose, true, false},
    {"GhostConv", yolo_make_ghost_conv, true, false},
    {"Bottleneck", yolo_make_bottleneck, true, false},
    {"SPP", yolo_make_spp, true, false},
    {"SPPF", yolo_make_sppf, true, false},
    {"C2", yolo_make_c2, true, true},
    {"C2f", yolo_make_c2f, true, true},
    {"C3", yolo_make_c3, true, true},
    {"C3Ghost", yolo_make_c3_ghost, true, true},
    {"C3k2", yolo_make_c3k2, true, true},
    {"C2fCIB", yolo_make_c2f_cib, true, true},
    {"C2PSA", yolo_make_c2psa, true, true},
    {"A2C2f", yolo_make_a2c2f, true, true},
    {"PSA", yolo_make_psa, true, false},
    {"SCDown", yolo_make_sc_down, true, false},
    {"RepNCSPELAN4", yolo_make_elan4, true, false},
    {"ELAN1", yolo_make_elan1, true, false},
    {"SPPELAN", yolo_make_spp_elan, true, false},
    {"AConv", yolo_make_aconv, true, false},
    {"ADown", yolo_make_adown, true, false},
    {"CBLinear", yolo_make_cb_linear, false, true},
    {"CBFuse", yolo_make_cb_fuse, false, false},
    {"Concat", yolo_make_concat, false, false},
    {"Upsample", yolo_make_upsample, false, false},
    {"MaxPool2d", yolo_make_max_pool, false, false},
    {"ZeroPad2d", yolo_make_zero_pad, false, false},
    {"Identity", yolo_make_identity, false, false},
    {"HGStem", rtdetr_stem, true, false},
    {"HGBlock", rtdetr_block, true, true},
    {"DWConv", rtdetr_down, true, false},
    {"ConvPlain", rtdetr_plain, true, false},
    {"RepC3", rtdetr_rep_c3, true, true},
    {"ResNetLayer", rtdetr_resnet, true, false},
    {"AIFI", rtdetr_aifi, false, false},
};

const yolo_kind *yolo_kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof yolo_kinds / sizeof *yolo_kinds; i++)
        if (!strcmp(yolo_kinds[i].name, name))
            return &yolo_kinds[i];
    return NULL;
}
