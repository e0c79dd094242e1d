/* rtdetr_blocks.c - what the blocks of RT-DETR are made of, as yolo_blocks.c
 * says it for YOLO. What they compute is in formats/checkpoint/blocks.c and
 * rtdetr.c. */
#include "zoo/yolo.h"

#define BLOCK(name) "ultralytics.nn.modules.block " name
#define PART(name)  "ultralytics.nn.modules.transformer " name
#define RELU        "torch.nn.modules.activation ReLU"
#define IDENTITY    "torch.nn.modules.linear Identity"

enum { RTDETR_REPEATS = 32 };

/* -- backbones ------------------------------------------------------------*/

/* rest: channels in the middle */
pickle_node *rtdetr_stem(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("HGStem"));
    int64_t c = yolo_rest(a, 0, a->c2);
    tree_child(t, m, "stem1", CONV(t, a->c1, c, .k = 3, .s = 2, .act = RELU));
    tree_child(t, m, "stem2a",
               CONV(t, c, c / 2, .k = 2, .no_pad = true, .act = RELU));
    tree_child(t, m, "stem2b",
               CONV(t, c / 2, c, .k = 2, .no_pad = true, .act = RELU));
    tree_child(t, m, "stem3", CONV(t, 2 * c, c, .k = 3, .s = 2, .act = RELU));
    tree_child(t, m, "stem4", CONV(t, c, a->c2, .act = RELU));
    tree_child(t, m, "pool", tree_max_pool(t, 2, 1, 0));
    return m;
}

/* 1x1, then depthwise */
static pickle_node *rtdetr_light(tree *t, int64_t c1, int64_t c2, int64_t k)
{
    pickle_node *m = tree_module(t, "ultralytics.nn.modules.conv LightConv");
    tree_child(t, m, "conv1", CONV(t, c1, c2, .act = ""));
    tree_child(t, m, "conv2",
               yolo_depthwise(t, c2, c2, (tree_conv){.k = k, .act = RELU}));
    return m;
}

/* rest: channels in the middle, kernel, light, shortcut */
pickle_node *rtdetr_block(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("HGBlock")), *all[RTDETR_REPEATS];
    int64_t c = yolo_rest(a, 0, 0), k = yolo_rest(a, 1, 3), from = a->c1;
    int n = (int)(a->n < RTDETR_REPEATS ? a->n : RTDETR_REPEATS);
    for (int i = 0; i < n; i++, from = c)
        all[i] = yolo_rest(a, 2, 0) ? rtdetr_light(t, from, c, k)
                                    : CONV(t, from, c, .k = k, .act = RELU);
    tree_child(t, m, "m", tree_list(t, all, (uint32_t)n));
    tree_child(t, m, "sc", CONV(t, a->c1 + n * c, a->c2 / 2, .act = RELU));
    tree_child(t, m, "ec", CONV(t, a->c2 / 2, a->c2, .act = RELU));
    tree_flag(t, m, "add", yolo_rest(a, 3, 0) && a->c1 == a->c2);
    return m;
}

/* rest: kernel, stride */
pickle_node *rtdetr_down(tree *t, const yolo_args *a)
{
    return yolo_depthwise(t, a->c1, a->c2,
                          (tree_conv){.k = yolo_rest(a, 0, 1),
                                      .s = yolo_rest(a, 1, 1),
                                      .act = ""});
}

static pickle_node *rtdetr_bottleneck(tree *t, int64_t c1, int64_t c, int64_t s)
{
    pickle_node *m = tree_module(t, BLOCK("ResNetBlock"));
    tree_child(t, m, "cv1", CONV(t, c1, c, .k = 1));
    tree_child(t, m, "cv2", CONV(t, c, c, .k = 3, .s = s));
    tree_child(t, m, "cv3", CONV(t, c, 4 * c, .act = ""));
    tree_child(t, m, "shortcut",
               s != 1 || c1 != 4 * c
                   ? tree_list_of(t, CONV(t, c1, 4 * c, .s = s, .act = ""))
                   : tree_module(t, IDENTITY));
    return m;
}

/* rest: channels inside, stride, whether it is the first, how many blocks */
pickle_node *rtdetr_resnet(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("ResNetLayer"));
    pickle_node *all[RTDETR_REPEATS];
    int64_t c = yolo_rest(a, 0, 64), n = yolo_rest(a, 3, 1);
    if (yolo_rest(a, 2, 0)) {
        pickle_node *first = CONV(t, a->c1, c, .k = 7, .s = 2);
        tree_child(t, m, "layer",
                   tree_list_of(t, first, tree_max_pool(t, 3, 2, 1)));
        return m;
    }
    for (int64_t i = 0; i < n && i < RTDETR_REPEATS; i++)
        all[i] = rtdetr_bottleneck(t, i ? 4 * c : a->c1, c,
                                   i ? 1 : yolo_rest(a, 1, 1));
    tree_child(t, m, "layer", tree_list(t, all, (uint32_t)n));
    return m;
}

/* -- the neck -------------------------------------------------------------*/

/* A convolution without activation. */
pickle_node *rtdetr_plain(tree *t, const yolo_args *a)
{
    return CONV(t, a->c1, a->c2, .act = "");
}

pickle_node *rtdetr_rep_c3(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, BLOCK("RepC3")), *all[RTDETR_REPEATS];
    int n = (int)(a->n < RTDETR_REPEATS ? a->n : RTDETR_REPEATS);
    for (int i = 0; i < n; i++)
        all[i] = yolo_rep_conv(t, a->c2, a->c2);
    tree_child(t, m, "cv1", CONV(t, a->c1, a->c2, .k = 1));
    tree_child(t, m, "cv2", CONV(t, a->c1, a->c2, .k = 1));
    tree_child(t, m, "m", tree_list(t, all, (uint32_t)n));
    tree_child(t, m, "cv3", tree_module(t, IDENTITY));
    return m;
}

/* rest: channels of the perceptron, heads */
pickle_node *rtdetr_aifi(tree *t, const yolo_args *a)
{
    pickle_node *m = tree_module(t, PART("AIFI"));
    int64_t c = a->c1, hidden = yolo_rest(a, 0, 2048);
    tree_child(t, m, "ma", tree_attention(t, c, yolo_rest(a, 1, 8), true));
    tree_child(t, m, "fc1", tree_linear(t, c, hidden));
    tree_child(t, m, "fc2", tree_linear(t, hidden, c));
    tree_child(t, m, "norm1", tree_layer_norm(t, c));
    tree_child(t, m, "norm2", tree_layer_norm(t, c));
    tree_child(t, m, "act", tree_module(t, "torch.nn.modules.activation GELU"));
    return m;
}

/* -- the decoder ----------------------------------------------------------*/

enum { RTDETR_WIDTH = 256, RTDETR_HEADS = 8, RTDETR_POINTS = 4 };
enum { RTDETR_LAYERS = 6, RTDETR_HIDDEN = 1024, RTDETR_QUERIES = 300 };

static pickle_node *rtdetr_mlp(tree *t, int64_t in, int64_t hidden, int64_t out,
                               int n)
{
    pickle_node *m = tree_module(t, PART("MLP")), *all[RTDETR_REPEATS];
    for (int i = 0; i < n; i++)
        all[i] = tree_linear(t, i ? hidden : in, i + 1 < n ? hidden : out);
    tree_child(t, m, "layers", tree_list(t, all, (uint32_t)n));
    tree_child(t, m, "act", tree_module(t, RELU));
    return m;
}

static pickle_node *rtdetr_deform(tree *t, int64_t levels)
{
    pickle_node *m = tree_module(t, PART("MSDeformAttn"));
    int64_t c = RTDETR_WIDTH, all = RTDETR_HEADS * levels * RTDETR_POINTS;
    tree_int(t, m, "n_heads", RTDETR_HEADS);
    tree_int(t, m, "n_levels", levels);
    tree_int(t, m, "n_points", RTDETR_POINTS);
    tree_child(t, m, "sampling_offsets", tree_linear(t, c, 2 * all));
    tree_child(t, m, "attention_weights", tree_linear(t, c, all));
    tree_child(t, m, "value_proj", tree_linear(t, c, c));
    tree_child(t, m, "output_proj", tree_linear(t, c, c));
    return m;
}

static pickle_node *rtdetr_layer(tree *t, int64_t levels)
{
    int64_t c = RTDETR_WIDTH;
    pickle_node *m = tree_module(t, PART("DeformableTransformerDecoderLayer"));
    tree_child(t, m, "self_attn", tree_attention(t, c, RTDETR_HEADS, false));
    tree_child(t, m, "norm1", tree_layer_norm(t, c));
    tree_child(t, m, "cross_attn", rtdetr_deform(t, levels));
    tree_child(t, m, "norm2", tree_layer_norm(t, c));
    tree_child(t, m, "linear1", tree_linear(t, c, RTDETR_HIDDEN));
    tree_child(t, m, "act", tree_module(t, RELU));
    tree_child(t, m, "linear2", tree_linear(t, RTDETR_HIDDEN, c));
    tree_child(t, m, "norm3", tree_layer_norm(t, c));
    return m;
}

/* What the head makes of queries: classes and boxes after each layer, and those
 * of the tokens that queries are chosen from. */
static void rtdetr_scores(tree *t, pickle_node *m, int64_t classes)
{
    int64_t c = RTDETR_WIDTH;
    pickle_node *scores[RTDETR_LAYERS], *boxes[RTDETR_LAYERS];
    pickle_node *seen = tree_linear(t, c, c);
    tree_child(t, m, "query_pos_head", rtdetr_mlp(t, 4, 2 * c, c, 2));
    tree_child(t, m, "enc_output",
               tree_list_of(t, seen, tree_layer_norm(t, c)));
    tree_child(t, m, "enc_score_head", tree_linear(t, c, classes));
    tree_child(t, m, "enc_bbox_head", rtdetr_mlp(t, c, c, 4, 3));
    for (int i = 0; i < RTDETR_LAYERS; i++) {
        scores[i] = tree_linear(t, c, classes);
        boxes[i] = rtdetr_mlp(t, c, c, 4, 3);
    }
    tree_child(t, m, "dec_score_head", tree_list(t, scores, RTDETR_LAYERS));
    tree_child(t, m, "dec_bbox_head", tree_list(t, boxes, RTDETR_LAYERS));
}

pickle_node *rtdetr_make_head(tree *t, const yolo_head *h, const yolo_args *a)
{
    pickle_node *m = tree_module(t, h->cls), *in[YOLO_LEVELS];
    pickle_node *decoder = tree_module(t, PART("DeformableTransformerDecoder"));
    pickle_node *layers[RTDETR_LAYERS];
    for (int i = 0; i < a->n_ch; i++) {
        in[i] = tree_conv2d(t, a->ch[i], RTDETR_WIDTH, (tree_conv){0});
        in[i] = tree_list_of(t, in[i], tree_batch_norm(t, RTDETR_WIDTH));
    }
    for (int i = 0; i < RTDETR_LAYERS; i++)
        layers[i] = rtdetr_layer(t, a->n_ch);
    tree_child(t, m, "input_proj", tree_list(t, in, (uint32_t)a->n_ch));
    tree_child(t, decoder, "layers", tree_list(t, layers, RTDETR_LAYERS));
    tree_child(t, m, "decoder", decoder);
    pickle_node *noise = tree_module(t, "torch.nn.modules.sparse Embedding");
    tree_param(t, noise, "weight", (int64_t[]){h->classes, RTDETR_WIDTH}, 2);
    tree_child(t, m, "denoising_class_embed", noise);
    tree_int(t, m, "num_queries", RTDETR_QUERIES);
    rtdetr_scores(t, m, h->classes);
    return m;
}
