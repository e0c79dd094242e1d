/* hub_vit.c - ViT (Dosovitskiy et al., 2020), DeiT (Touvron et al., 2020) and
 * DINOv2 (Oquab et al., 2023) as transformers has them.
 *
 * Patches are tokens; a class token, and in distilled DeiT a second one, goes
 * in front; positions are added. DINOv2 scales its branches and has no
 * classifier, and stretches its table of positions to images of other sizes. */
#include "zoo/transformer.h"

typedef struct hub_vit {
    const block_words *words;
    const char *module; /* what is around all but the classifiers */
    const char *stack;
    int64_t patch;
    block_sizes sizes;
    double eps;
    bool distilled, features;
    int64_t image; /* size that positions are learned for */
} hub_vit;

static const block_words hub_vit_words = {
    .q = "attention.q_proj",
    .k = "attention.k_proj",
    .v = "attention.v_proj",
    .o = "attention.o_proj",
    .norm1 = "layernorm_before",
    .up = "mlp.fc1",
    .down = "mlp.fc2",
    .norm2 = "layernorm_after",
    .pre_norm = true,
    .act = CLV_OP_GELU,
};

static const block_words dinov2_words = {
    .q = "attention.q_proj",
    .k = "attention.k_proj",
    .v = "attention.v_proj",
    .o = "attention.o_proj",
    .norm1 = "norm1",
    .up = "mlp.fc1",
    .down = "mlp.fc2",
    .norm2 = "norm2",
    .scale1 = "layer_scale1.lambda1",
    .scale2 = "layer_scale2.lambda1",
    .pre_norm = true,
    .act = CLV_OP_GELU,
};

/* A learned token, once per image: (N,1,E). */
static tensor hub_vit_token(builder *b, const char *name, int64_t n, int64_t e)
{
    return zoo_call(b, CLV_OP_EXPAND, "expand",
                    TENSORS(parameter(b, name, 1, 1, e)),
                    ATTRS(INTS(SHAPE, n, -1, -1)));
}

/* The table (1,1 + side * side,E) resized to h x w patches. */
static tensor hub_vit_stretch(builder *b, tensor table, int64_t side, int64_t h,
                              int64_t w)
{
    int64_t e = dim(b, table, 2), rows = side * side;
    tensor first = slice(b, table, 1, 0, 1);
    tensor x = slice(b, table, 1, 1, 1 + rows);
    x = permute(b, NULL, reshape(b, x, 1, side, side, e), 0, 3, 1, 2);
    x = zoo_call(b, CLV_OP_INTERPOLATE, "interpolate", TENSORS(x),
                 ATTRS(INTS(SIZE, h, w), STRING(MODE, "bicubic")));
    x = reshape(b, permute(b, NULL, x, 0, 2, 3, 1), 1, h * w, e);
    return cat_of(b, 1, first, x);
}

/* Positions of the tokens of h x w patches. */
static tensor hub_vit_positions(builder *b, const hub_vit *v, int64_t h,
                                int64_t w)
{
    int64_t side = v->image / v->patch, tokens = side * side + 1;
    tensor table = parameter(b, "position_embeddings", 1, tokens + v->distilled,
                             v->sizes.width);
    return h == side && w == side ? table
                                  : hub_vit_stretch(b, table, side, h, w);
}

/* (N,3,H,W) -> (N,patches,E). DINOv2 leaves out what makes no whole patch. */
static tensor hub_vit_patches(builder *b, const hub_vit *v, tensor x,
                              int64_t *h, int64_t *w)
{
    if (!v->features)
        need_size(b, x, v->image, v->image);
    enter(b, "patch_embeddings");
    x = conv2d(b, "projection", x, v->sizes.width, .kernel = v->patch,
               .stride = v->patch);
    leave(b);
    *h = dim(b, x, 2);
    *w = dim(b, x, 3);
    return transpose(b, flatten(b, x, 2), 1, 2);
}

/* (N,3,H,W) -> (N,tokens,E) */
static tensor hub_vit_embed(builder *b, const hub_vit *v, tensor x)
{
    int64_t n = dim(b, x, 0), e = v->sizes.width, h, w;
    enter(b, "embeddings");
    tensor first = hub_vit_token(b, "cls_token", n, e);
    if (v->features)
        unused(b, "mask_token", 1, e);
    x = hub_vit_patches(b, v, x, &h, &w);
    x = v->distilled ? cat_of(b, 1, first,
                              hub_vit_token(b, "distillation_token", n, e), x)
                     : cat_of(b, 1, first, x);
    x = add(b, x, hub_vit_positions(b, v, h, w));
    leave(b);
    return x;
}

static tensor hub_vit_token_at(builder *b, tensor x, int64_t i)
{
    return zoo_call(b, CLV_OP_SELECT, "getitem", TENSORS(x),
                    ATTRS(INT(AXIS, 1), INT(INDEX, i)));
}

static void hub_vit_classify(builder *b, const hub_vit *v, tensor x)
{
    tensor first = hub_vit_token_at(b, x, 0);
    if (v->features) {
        output(b, x);
        output(b, first);
        return;
    }
    if (!v->distilled) {
        output(b, linear(b, "classifier", first, 1000));
        return;
    }
    tensor one = linear(b, "cls_classifier", first, 1000);
    tensor two =
        linear(b, "distillation_classifier", hub_vit_token_at(b, x, 1), 1000);
    output(b, scale(b, add(b, one, two), 0.5));
    output(b, one);
    output(b, two);
}

static void hub_vit_build(builder *b, const zoo_input *in, const void *variant)
{
    const hub_vit *v = variant;
    b->norm_eps = v->eps;
    tensor x = input(b, "pixel_values", in);
    enter_path(b, v->module);
    x = hub_vit_embed(b, v, x);
    x = transformer_stack(b, v->stack, v->words, &v->sizes, x);
    x = layer_norm(b, "layernorm", x);
    leave_path(b, v->module);
    hub_vit_classify(b, v, x);
}

#define HUB_VIT(name, family, size, task, year, ...) \
    { \
        {name, family, IMAGE(size), HOME(task, "transformers", year), \
         .input_name = "pixel_values"}, \
            hub_vit_build, &(const hub_vit) \
        { \
            __VA_ARGS__, .image = size \
        } \
    }
#define VIT(name, family, size, patch_, year, ...) \
    HUB_VIT(name, family, size, "classification", year, \
            .words = &hub_vit_words, .module = "vit", .stack = "layers", \
            .patch = patch_, .eps = 1e-12, .sizes = {__VA_ARGS__})
#define DEIT(name, size, ...) \
    HUB_VIT(name, "deit", size, "classification", 2020, \
            .words = &hub_vit_words, .module = "deit", .stack = "layers", \
            .patch = 16, .eps = 1e-12, .distilled = true, \
            .sizes = {__VA_ARGS__})
#define DINOV2(name, ...) \
    HUB_VIT(name, "dinov2", 518, "features", 2023, .words = &dinov2_words, \
            .module = "", .stack = "encoder.layer", .patch = 14, .eps = 1e-6, \
            .features = true, .sizes = {__VA_ARGS__})

/* sizes: layers, heads, width, hidden */
const zoo_model clv__zoo_hub_vit[] = {
    VIT("vit-base-patch16-224", "vit", 224, 16, 2020, 12, 12, 768, 3072),
    VIT("vit-base-patch16-384", "vit", 384, 16, 2020, 12, 12, 768, 3072),
    VIT("vit-base-patch32-384", "vit", 384, 32, 2020, 12, 12, 768, 3072),
    VIT("vit-large-patch16-224", "vit", 224, 16, 2020, 24, 16, 1024, 4096),
    VIT("vit-large-patch16-384", "vit", 384, 16, 2020, 24, 16, 1024, 4096),
    VIT("vit-large-patch32-384", "vit", 384, 32, 2020, 24, 16, 1024, 4096),
    VIT("deit-tiny-patch16-224", "deit", 224, 16, 2020, 12, 3, 192, 768),
    VIT("deit-small-patch16-224", "deit", 224, 16, 2020, 12, 6, 384, 1536),
    VIT("deit-base-patch16-224", "deit", 224, 16, 2020, 12, 12, 768, 3072),
    DEIT("deit-tiny-distilled-patch16-224", 224, 12, 3, 192, 768),
    DEIT("deit-small-distilled-patch16-224", 224, 12, 6, 384, 1536),
    DEIT("deit-base-distilled-patch16-224", 224, 12, 12, 768, 3072),
    DEIT("deit-base-distilled-patch16-384", 384, 12, 12, 768, 3072),
    DINOV2("dinov2-small", 12, 6, 384, 1536),
    DINOV2("dinov2-base", 12, 12, 768, 3072),
    DINOV2("dinov2-large", 24, 16, 1024, 4096),
    ZOO_END,
};
