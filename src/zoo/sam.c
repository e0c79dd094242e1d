/* sam.c - Segment Anything (Kirillov et al., 2023) as transformers has it.
 *
 *   image  -> vision encoder: a ViT whose blocks attend inside windows, four
 *             of them to everything -> a map (N,256,64,64)
 *   points -> prompt encoder: sines of random projections of x and y, and a
 *             learned vector for what a point means
 *   both   -> mask decoder: tokens and map attend to each other twice; each of
 *             four tokens becomes a mask, three of which are given, and a score
 *
 * One prompt of any number of points per image, no boxes, no masks: the weights
 * of those are there and not used. */
#include "zoo/swin.h"
#include "zoo/transformer.h"

#include <math.h>

typedef struct sam {
    block_sizes sizes; /* of the vision encoder */
    int wide;          /* every wide-th block attends to everything */
} sam;

enum { SAM_IMAGE = 1024, SAM_PATCH = 16, SAM_SIDE = SAM_IMAGE / SAM_PATCH };
enum { SAM_WINDOW = 14, SAM_WIDTH = 256, SAM_MASKS = 4 };

/* -- vision encoder -------------------------------------------------------*/

/* The vector of each pair of places on an axis: (side,side,d). */
static tensor sam_offsets(builder *b, const char *name, int64_t side, int64_t d)
{
    int64_t *at;
    tensor table = parameter(b, name, 2 * side - 1, d);
    tensor index = whole_table(b, "relative_coords", 2,
                               (const int64_t[]){side, side}, &at);
    for (int64_t i = 0; at && i < side * side; i++)
        at[i] = i / side - i % side + side - 1;
    return embedding_of(b, "", table, index);
}

/* What attention adds to its scores, (B,heads,n,n): the product of a query
 * (B,heads,n,d) with the vectors of its offsets in y, plus that in x. */
static tensor sam_bias(builder *b, tensor q, int64_t side)
{
    int64_t all = dim(b, q, 0), heads = dim(b, q, 1), n = dim(b, q, 2);
    int64_t d = dim(b, q, 3);
    tensor at = reshape(b, q, all * heads, side, side, d);
    tensor y = sam_offsets(b, "rel_pos_h", side, d);
    tensor x = sam_offsets(b, "rel_pos_w", side, d);
    y = zoo_call(b, CLV_OP_EINSUM, "einsum", TENSORS(at, y),
                 ATTRS(STRING(EQUATION, "bhwc,hkc->bhwk")));
    x = zoo_call(b, CLV_OP_EINSUM, "einsum", TENSORS(at, x),
                 ATTRS(STRING(EQUATION, "bhwc,wkc->bhwk")));
    y = reshape(b, y, all * heads, side, side, side, 1);
    x = reshape(b, x, all * heads, side, side, 1, side);
    return reshape(b, add(b, y, x), all, heads, n, n);
}

/* x (B,n,C), the tokens of a square */
static tensor sam_vision_attention(builder *b, int64_t heads, tensor x,
                                   int64_t side)
{
    int64_t all = dim(b, x, 0), n = dim(b, x, 1), c = dim(b, x, 2);
    enter(b, "attn");
    tensor qkv = linear(b, "qkv", x, 3 * c), part[3];
    qkv = reshape(b, qkv, all, n, 3, heads, c / heads);
    qkv = permute(b, NULL, qkv, 2, 0, 3, 1, 4);
    for (int i = 0; i < 3; i++)
        part[i] = select_at(b, qkv, 0, i);
    tensor bias = sam_bias(b, part[0], side);
    x = zoo_call(b, CLV_OP_SDPA, "attention",
                 TENSORS(part[0], part[1], part[2], bias), NO_ATTRS);
    x = linear(b, "proj", join_heads(b, x), c);
    leave(b);
    return x;
}

static tensor sam_mlp(builder *b, tensor x, int64_t hidden, clv_op act)
{
    int64_t c = dim(b, x, -1);
    enter(b, "mlp");
    x = zoo_module(b, act, "act", linear(b, "lin1", x, hidden), NO_ATTRS);
    x = linear(b, "lin2", x, c);
    leave(b);
    return x;
}

/* x (N,H,W,C) */
static tensor sam_vision_block(builder *b, const sam *v, tensor x, bool wide)
{
    int64_t n = dim(b, x, 0), side = wide ? SAM_SIDE : SAM_WINDOW;
    int64_t padded = swin_round_up(SAM_SIDE, side);
    swin_plan p = {padded, padded, side, 0, 0};
    tensor y = layer_norm(b, "layer_norm1", x);
    y = wide ? reshape(b, y, n, side * side, v->sizes.width)
             : swin_cut(b, &p, y);
    y = sam_vision_attention(b, v->sizes.heads, y, side);
    y = wide ? reshape(b, y, n, side, side, v->sizes.width)
             : swin_join(b, &p, y, SAM_SIDE, SAM_SIDE);
    x = add(b, x, y);
    y = layer_norm(b, "layer_norm2", x);
    return add(b, x, sam_mlp(b, y, v->sizes.hidden, CLV_OP_GELU));
}

/* A layer norm over the channels of (N,C,H,W). */
static tensor sam_channel_norm(builder *b, const char *name, tensor x)
{
    x = layer_norm(b, name, permute(b, NULL, x, 0, 2, 3, 1));
    return permute(b, NULL, x, 0, 3, 1, 2);
}

/* (N,3,1024,1024) -> (N,256,64,64) */
static tensor sam_vision(builder *b, const sam *v, tensor x)
{
    enter(b, "vision_encoder");
    enter(b, "patch_embed");
    x = conv2d(b, "projection", x, v->sizes.width, .kernel = SAM_PATCH,
               .stride = SAM_PATCH);
    leave(b);
    x = permute(b, NULL, x, 0, 2, 3, 1);
    x = add(b, x,
            parameter(b, "pos_embed", 1, SAM_SIDE, SAM_SIDE, v->sizes.width));
    enter(b, "layers");
    for (int i = 0; i < v->sizes.layers; i++) {
        enter(b, "%d", i);
        x = sam_vision_block(b, v, x, (i + 1) % v->wide == 0);
        leave(b);
    }
    leave(b);
    x = permute(b, NULL, x, 0, 3, 1, 2);
    enter(b, "neck");
    x = conv2d(b, "conv1", x, SAM_WIDTH, .no_bias = true);
    x = sam_channel_norm(b, "layer_norm1", x);
    x = conv2d(b, "conv2", x, SAM_WIDTH, .kernel = 3, .padding = 1,
               .no_bias = true);
    x = sam_channel_norm(b, "layer_norm2", x);
    leave(b);
    leave(b);
    return x;
}

/* -- prompt encoder -------------------------------------------------------*/

/* Points (..,2) of the unit square as (..,256): sines and cosines of their
 * projections by `table`. */
static tensor sam_places(builder *b, tensor table, tensor points)
{
    tensor x = shift(b, scale(b, points, 2), -1);
    x = scale(b, matmul(b, x, table), 2 * acos(-1));
    return cat_of(b, -1, unary(b, CLV_OP_SIN, x), unary(b, CLV_OP_COS, x));
}

/* The places of all cells of the map, (1,cells,256). */
static tensor sam_map_places(builder *b, tensor table)
{
    int64_t cells = SAM_SIDE * SAM_SIDE;
    tensor grid =
        weight(b, "grid", CLV_VALUE_CONST, 3, (const int64_t[]){1, cells, 2});
    float *at = constant_bytes(b, grid, CLV_FLOAT32);
    for (int64_t i = 0; at && i < cells; i++) {
        *at++ = ((float)(i % SAM_SIDE) + 0.5f) / SAM_SIDE;
        *at++ = ((float)(i / SAM_SIDE) + 0.5f) / SAM_SIDE;
    }
    return sam_places(b, table, grid);
}

/* An embedding of one row. */
static tensor sam_vector(builder *b, const char *path)
{
    enter_path(b, path);
    tensor w = parameter(b, "weight", 1, SAM_WIDTH);
    leave_path(b, path);
    return w;
}

/* `yes` where the label of a point is `label`, `no` elsewhere. */
static tensor sam_where(builder *b, tensor labels, int64_t label, tensor yes,
                        tensor no)
{
    tensor is = zoo_call(b, CLV_OP_EQ, "eq",
                         TENSORS(labels, whole_number(b, label)), NO_ATTRS);
    return zoo_call(b, CLV_OP_WHERE, "where", TENSORS(is, yes, no), NO_ATTRS);
}

/* Points in pixels (N,1,K,2) and their labels (N,1,K), which are 1 for the
 * object, 0 for what is not it, -1 for no point, -10 to be left out. One that
 * is no point is added: (N,K+1,256). */
static tensor sam_points(builder *b, tensor table, tensor points, tensor labels)
{
    int64_t n = dim(b, points, 0), k = dim(b, points, 2);
    tensor x = reshape(b, shift(b, points, 0.5), n, k, 2);
    x = cat_of(b, 1, x, expand(b, number(b, 0), n, 1, 2));
    x = sam_places(b, table, scale(b, x, 1.0 / SAM_IMAGE));
    labels = reshape(b, labels, n, k, 1);
    labels = cat_of(b, 1, labels, expand(b, whole_number(b, -1), n, 1, 1));
    x = sam_where(b, labels, -1, sam_vector(b, "not_a_point_embed"), x);
    x = sam_where(b, labels, -10, number(b, 0), x);
    x = sam_where(b, labels, 0, add(b, x, sam_vector(b, "point_embed.0")), x);
    return sam_where(b, labels, 1, add(b, x, sam_vector(b, "point_embed.1")),
                     x);
}

/* What boxes and masks would need. */
static void sam_unused(builder *b)
{
    static const int64_t width[] = {4, 16, SAM_WIDTH}, kernel[] = {2, 2, 1};
    zoo_unused(b, sam_vector(b, "point_embed.2"));
    zoo_unused(b, sam_vector(b, "point_embed.3"));
    enter(b, "mask_embed");
    for (int i = 0; i < 3; i++) {
        enter(b, "conv%d", i + 1);
        unused(b, "weight", width[i], i ? width[i - 1] : 1, kernel[i],
               kernel[i]);
        unused(b, "bias", width[i]);
        leave(b);
        if (i == 2)
            break;
        enter(b, "layer_norm%d", i + 1);
        unused(b, "weight", width[i]);
        unused(b, "bias", width[i]);
        leave(b);
    }
    leave(b);
}

/* -- mask decoder ---------------------------------------------------------*/

static tensor sam_attention(builder *b, const char *name, tensor query,
                            tensor key, tensor value, int64_t inner)
{
    enter(b, "%s", name);
    tensor q = linear(b, "q_proj", query, inner);
    tensor k = linear(b, "k_proj", key, inner);
    tensor v = linear(b, "v_proj", value, inner);
    tensor x = attend(b, q, k, v, .heads = 8);
    x = linear(b, "out_proj", x, SAM_WIDTH);
    leave(b);
    return x;
}

/* Tokens attend to themselves and to the map, then the map to them. The first
 * block has no places and no sum in its self-attention. */
static void sam_two_way(builder *b, tensor *tokens, tensor *map, tensor own,
                        tensor places, bool first)
{
    tensor x = *tokens, y = *map, at = first ? x : add(b, x, own);
    tensor z = sam_attention(b, "self_attn", at, at, x, SAM_WIDTH);
    x = layer_norm(b, "layer_norm1", first ? z : add(b, x, z));
    z = sam_attention(b, "cross_attn_token_to_image", add(b, x, own),
                      add(b, y, places), y, SAM_WIDTH / 2);
    x = layer_norm(b, "layer_norm2", add(b, x, z));
    x = layer_norm(b, "layer_norm3",
                   add(b, x, sam_mlp(b, x, 2048, CLV_OP_RELU)));
    z = sam_attention(b, "cross_attn_image_to_token", add(b, y, places),
                      add(b, x, own), x, SAM_WIDTH / 2);
    *tokens = x;
    *map = layer_norm(b, "layer_norm4", add(b, y, z));
}

static void sam_transformer(builder *b, tensor *tokens, tensor *map,
                            tensor places)
{
    tensor own = *tokens;
    enter(b, "transformer");
    enter(b, "layers");
    for (int i = 0; i < 2; i++) {
        enter(b, "%d", i);
        sam_two_way(b, tokens, map, own, places, i == 0);
        leave(b);
    }
    leave(b);
    tensor x =
        sam_attention(b, "final_attn_token_to_image", add(b, *tokens, own),
                      add(b, *map, places), *map, SAM_WIDTH / 2);
    b->norm_eps = 1e-5;
    *tokens = layer_norm(b, "layer_norm_final_attn", add(b, *tokens, x));
    b->norm_eps = 1e-6;
    leave(b);
}

/* Three linears. */
static tensor sam_feed_forward(builder *b, const char *path, tensor x,
                               int64_t out)
{
    enter_path(b, path);
    x = relu(b, "activation", linear(b, "proj_in", x, SAM_WIDTH));
    enter(b, "layers");
    x = linear(b, "0", x, SAM_WIDTH);
    leave(b);
    x = linear(b, "proj_out", relu(b, "activation", x), out);
    leave_path(b, path);
    return x;
}

/* The map at four times its side, (N,32,256*256). */
static tensor sam_upscale(builder *b, tensor map)
{
    int64_t n = dim(b, map, 0);
    tensor x =
        reshape(b, transpose(b, map, 1, 2), n, SAM_WIDTH, SAM_SIDE, SAM_SIDE);
    x = conv_transpose2d(b, "upscale_conv1", x, SAM_WIDTH / 4, .kernel = 2,
                         .stride = 2);
    x = gelu(b, "activation", sam_channel_norm(b, "upscale_layer_norm", x));
    x = conv_transpose2d(b, "upscale_conv2", x, SAM_WIDTH / 8, .kernel = 2,
                         .stride = 2);
    return flatten(b, gelu(b, "activation", x), 2);
}

/* Scores and masks of the tokens (N,T,256) and the map (N,cells,256). */
static void sam_decode(builder *b, tensor prompt, tensor map, tensor places)
{
    int64_t n = dim(b, prompt, 0);
    tensor kernels[SAM_MASKS];
    enter(b, "mask_decoder");
    tensor score = sam_vector(b, "iou_token");
    enter(b, "mask_tokens");
    tensor tokens = parameter(b, "weight", SAM_MASKS, SAM_WIDTH);
    leave(b);
    tokens = cat_of(b, 0, score, tokens);
    tokens = expand(b, tokens, n, SAM_MASKS + 1, SAM_WIDTH);
    tokens = cat_of(b, 1, tokens, prompt);
    sam_transformer(b, &tokens, &map, places);
    for (int i = 0; i < SAM_MASKS; i++) {
        enter(b, "output_hypernetworks_mlps");
        kernels[i] = sam_feed_forward(
            b, nth(i), slice(b, tokens, 1, i + 1, i + 2), SAM_WIDTH / 8);
        leave(b);
    }
    tensor masks =
        matmul(b, cat(b, kernels, SAM_MASKS, 1), sam_upscale(b, map));
    score = sam_feed_forward(b, "iou_prediction_head",
                             slice(b, tokens, 1, 0, 1), SAM_MASKS);
    leave(b);
    output(b, slice(b, score, 2, 1, SAM_MASKS));
    masks = reshape(b, masks, n, 1, SAM_MASKS, 4 * SAM_SIDE, 4 * SAM_SIDE);
    output(b, slice(b, masks, 2, 1, SAM_MASKS));
}

static void sam_build(builder *b, const zoo_input *in, const void *variant)
{
    b->norm_eps = 1e-6;
    tensor x = input(b, "pixel_values", in);
    int64_t n = dim(b, x, 0);
    need_size(b, x, SAM_IMAGE, SAM_IMAGE);
    tensor points = further(b, "input_points", n, 1, 1, 2);
    tensor labels = further_ids(b, "input_labels", n, 1, dim(b, points, 2));
    x = sam_vision(b, variant, x);
    enter(b, "shared_image_embedding");
    tensor table = parameter(b, "positional_embedding", 2, SAM_WIDTH / 2);
    tensor places = sam_map_places(b, table);
    leave(b);
    enter(b, "prompt_encoder");
    tensor prompt = sam_points(b, table, points, labels);
    tensor dense = reshape(b, sam_vector(b, "no_mask_embed"), 1, -1, 1, 1);
    sam_unused(b);
    leave(b);
    x = transpose(b, flatten(b, add(b, x, dense), 2), 1, 2);
    sam_decode(b, prompt, x, places);
}

#define SAM(name, wide, ...) \
    { \
        {name, "sam", IMAGE(1024), HOME("segmentation", "transformers", 2023), \
         .input_name = "pixel_values"}, \
            sam_build, &(const sam) \
        { \
            {__VA_ARGS__}, wide \
        } \
    }

/* layers, heads, width, hidden */
const zoo_model clv__zoo_sam[] = {
    SAM("sam-vit-base", 3, 12, 12, 768, 3072),
    SAM("sam-vit-large", 6, 24, 16, 1024, 4096),
    SAM("sam-vit-huge", 8, 32, 16, 1280, 5120),
    ZOO_END,
};
