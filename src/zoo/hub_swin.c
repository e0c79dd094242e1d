/* hub_swin.c - Swin Transformer (Liu et al., 2021) as transformers has it.
 *
 * The network of swin.c with other names: queries, keys and values come from a
 * linear each, and the bias of offsets and the mask of rolled windows are added
 * up to one mask of attention. A map that one window covers is not rolled. */
#include "zoo/swin.h"
#include "zoo/transformer.h"

typedef struct hub_swin {
    int64_t width;
    int depth[4];
    int64_t heads[4];
    int64_t window;
} hub_swin;

/* What the blocks of a stage share. */
typedef struct hub_swin_stage {
    const hub_swin *v;
    int64_t heads;
    tensor index; /* row of the table of offsets for each pair of tokens */
    tensor mask;  /* of rolled windows; CLV_NONE: not made yet */
} hub_swin_stage;

enum { HUB_SWIN_PATCH = 4 };

/* (1,heads,n,n) for windows of n tokens. */
static tensor hub_swin_bias(builder *b, const hub_swin_stage *s)
{
    int64_t n = s->v->window * s->v->window, side = 2 * s->v->window - 1;
    enter(b, "relative_position_bias");
    tensor table =
        parameter(b, "relative_position_bias_table", side * side, s->heads);
    tensor x = embedding_of(b, "", table, s->index);
    x = permute(b, NULL, reshape(b, x, n, n, s->heads), 2, 0, 1);
    x = reshape(b, x, 1, s->heads, n, n);
    leave(b);
    return x;
}

/* The mask (windows,1,n,n) for each of several images. */
static tensor hub_swin_repeat(builder *b, tensor mask, int64_t images)
{
    int64_t windows = dim(b, mask, 0), n = dim(b, mask, 2);
    if (images == 1)
        return mask;
    mask = reshape(b, mask, 1, windows, 1, n, n);
    mask = expand(b, mask, images, windows, 1, n, n);
    return reshape(b, mask, images * windows, 1, n, n);
}

/* x (N*windows,n,C) */
static tensor hub_swin_attention(builder *b, const hub_swin_stage *s, tensor x,
                                 bool rolled)
{
    int64_t c = dim(b, x, 2);
    tensor q = linear(b, "q_proj", x, c), k = linear(b, "k_proj", x, c);
    tensor v = linear(b, "v_proj", x, c), bias = hub_swin_bias(b, s);
    if (rolled) {
        int64_t images = dim(b, x, 0) / dim(b, s->mask, 0);
        bias = add(b, bias, hub_swin_repeat(b, s->mask, images));
    }
    x = attend(b, q, k, v, .heads = s->heads, .mask = bias);
    return linear(b, "o_proj", x, c);
}

static swin_plan hub_swin_plan(builder *b, const hub_swin *v, tensor x,
                               bool odd)
{
    int64_t h = dim(b, x, 1), w = dim(b, x, 2), s = v->window;
    int64_t shift = odd && h > s && w > s ? s / 2 : 0;
    if (h < s || w < s)
        refuse(b, "a map of %lldx%lld: its windows are %lldx%lld", (long long)h,
               (long long)w, (long long)s, (long long)s);
    return (swin_plan){swin_round_up(h, s), swin_round_up(w, s), s, shift,
                       shift};
}

/* x (N,H,W,C) */
static tensor hub_swin_block(builder *b, hub_swin_stage *s, tensor x, bool odd)
{
    int64_t h = dim(b, x, 1), w = dim(b, x, 2), c = dim(b, x, 3);
    swin_plan p = hub_swin_plan(b, s->v, x, odd);
    bool rolled = p.shift_y > 0;
    if (rolled && s->mask == CLV_NONE)
        s->mask = swin_shift_mask(b, &p);
    tensor y = swin_cut(b, &p, layer_norm(b, "layernorm_before", x));
    enter(b, "attention");
    y = hub_swin_attention(b, s, y, rolled);
    leave(b);
    x = add(b, x, swin_join(b, &p, y, h, w));
    y = layer_norm(b, "layernorm_after", x);
    enter(b, "mlp");
    y = gelu(b, "activation_fn", linear(b, "fc1", y, 4 * c));
    y = linear(b, "fc2", y, c);
    leave(b);
    return add(b, y, x);
}

static tensor hub_swin_embed(builder *b, const hub_swin *v, tensor x)
{
    int64_t down = swin_round_up(dim(b, x, 2), HUB_SWIN_PATCH) - dim(b, x, 2);
    int64_t right = swin_round_up(dim(b, x, 3), HUB_SWIN_PATCH) - dim(b, x, 3);
    enter(b, "embeddings");
    enter(b, "patch_embeddings");
    if (down || right)
        x = zoo_call(b, CLV_OP_PAD, "pad", TENSORS(x),
                     ATTRS(INTS(PADDING, 0, 0, 0, 0, 0, 0, down, right)));
    x = conv2d(b, "projection", x, v->width, .kernel = HUB_SWIN_PATCH,
               .stride = HUB_SWIN_PATCH);
    leave(b);
    x = layer_norm(b, "norm", permute(b, NULL, x, 0, 2, 3, 1));
    leave(b);
    return x;
}

static tensor hub_swin_stages(builder *b, const hub_swin *v, tensor x)
{
    int64_t rows = v->window * v->window * v->window * v->window;
    hub_swin_stage s = {.v = v};
    s.index = weight(b, "relative_position_index", CLV_VALUE_CONST, 1, &rows);
    constant_ints(b, s.index, offset_rows(b, v->window), (uint32_t)rows);
    for (int i = 0; i < 4; i++) {
        int64_t c = dim(b, x, 3);
        s.heads = v->heads[i];
        s.mask = CLV_NONE;
        enter(b, "%d", i);
        for (int k = 0; k < v->depth[i]; k++) {
            enter(b, "blocks");
            enter(b, "%d", k);
            x = hub_swin_block(b, &s, x, k % 2);
            leave(b);
            leave(b);
        }
        if (i < 3) {
            enter(b, "downsample");
            x = layer_norm(b, "norm", swin_corners(b, x));
            x = linear_no_bias(b, "reduction", x, 2 * c);
            leave(b);
        }
        leave(b);
    }
    return x;
}

static void hub_swin_build(builder *b, const zoo_input *in, const void *variant)
{
    const hub_swin *v = variant;
    tensor x = input(b, "pixel_values", in);
    enter(b, "swin");
    x = hub_swin_embed(b, v, x);
    enter_path(b, "encoder.layers");
    x = hub_swin_stages(b, v, x);
    leave_path(b, "encoder.layers");
    x = permute(b, NULL, layer_norm(b, "layernorm", x), 0, 3, 1, 2);
    x = adaptive_avg_pool2d(b, "pooler", x, 1);
    leave(b);
    output(b, linear(b, "classifier", flatten(b, x, 1), 1000));
}

#define HUB_SWIN(name, size, ...) \
    { \
        {name, "swin", IMAGE(size), \
         HOME("classification", "transformers", 2021), \
         .input_name = "pixel_values"}, \
            hub_swin_build, &(const hub_swin) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_hub_swin[] = {
    HUB_SWIN("swin-tiny-patch4-window7-224", 224, 96, {2, 2, 6, 2},
             {3, 6, 12, 24}, 7),
    HUB_SWIN("swin-small-patch4-window7-224", 224, 96, {2, 2, 18, 2},
             {3, 6, 12, 24}, 7),
    HUB_SWIN("swin-base-patch4-window7-224", 224, 128, {2, 2, 18, 2},
             {4, 8, 16, 32}, 7),
    HUB_SWIN("swin-base-patch4-window12-384", 384, 128, {2, 2, 18, 2},
             {4, 8, 16, 32}, 12),
    HUB_SWIN("swin-large-patch4-window7-224", 224, 192, {2, 2, 18, 2},
             {6, 12, 24, 48}, 7),
    HUB_SWIN("swin-large-patch4-window12-384", 384, 192, {2, 2, 18, 2},
             {6, 12, 24, 48}, 12),
    ZOO_END,
};
