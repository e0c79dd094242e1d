/* vit.c - An Image is Worth 16x16 Words (Dosovitskiy et al., 2020).
 *
 * The image is cut into patches, each a token of `width` numbers; a class token
 * goes in front and positions are added. Every layer: attention among the
 * tokens, then a perceptron on each, both around a shortcut. The class comes
 * from the first token. The table of positions is as long as the image asks. */
#include "zoo/transformer.h"

#include <math.h>

typedef struct vit {
    int64_t patch;
    int layers;
    int64_t heads, width, mlp;
} vit;

/* (S,N,E) -> (N*heads,S,E/heads) */
static tensor vit_split_heads(builder *b, tensor x, int64_t heads)
{
    int64_t s = dim(b, x, 0), n = dim(b, x, 1), e = dim(b, x, 2);
    x = reshape(b, x, s, n * heads, e / heads);
    return transpose(b, x, 0, 1);
}

/* nn.MultiheadAttention(batch_first=True) of x with itself, x (N,S,E): one
 * projection to queries, keys and values; softmax(q k' / sqrt(d)) v; another
 * projection. */
static tensor vit_self_attention(builder *b, const char *name, tensor x,
                                 int64_t heads)
{
    int64_t n = dim(b, x, 0), s = dim(b, x, 1), e = dim(b, x, 2);
    tensor qkv[3];
    b->whole = true;
    enter(b, "%s", name);
    x = transpose(b, x, 0, 1);
    x = linear_of(b, "in_proj", x, parameter(b, "in_proj_weight", 3 * e, e),
                  parameter(b, "in_proj_bias", 3 * e));
    chunk(b, x, 3, -1, qkv);
    for (int i = 0; i < 3; i++)
        qkv[i] = vit_split_heads(b, qkv[i], heads);
    tensor q = scale(b, qkv[0], 1 / sqrt((double)e / (double)heads));
    tensor scores = bmm(b, q, transpose(b, qkv[1], -2, -1));
    x = bmm(b, softmax(b, scores), qkv[2]);
    x = reshape(b, transpose(b, x, 0, 1), s, n, e);
    x = linear(b, "out_proj", x, e);
    x = transpose(b, x, 0, 1);
    leave(b);
    b->whole = false;
    return x;
}

static tensor vit_encoder_layer(builder *b, const vit *v, tensor x)
{
    tensor y = layer_norm(b, "ln_1", x);
    y = vit_self_attention(b, "self_attention", y, v->heads);
    y = dropout(b, "dropout", y);
    x = add(b, y, x);
    y = layer_norm(b, "ln_2", x);
    enter(b, "mlp");
    y = linear(b, "0", y, v->mlp);
    y = gelu(b, "1", y);
    y = dropout(b, "2", y);
    y = linear(b, "3", y, v->width);
    y = dropout(b, "4", y);
    leave(b);
    return add(b, x, y);
}

/* (N,3,H,W) -> (N,1+tokens,E) */
static tensor vit_embed(builder *b, const vit *v, tensor x)
{
    int64_t n = dim(b, x, 0), h = dim(b, x, 2), w = dim(b, x, 3);
    if (h != w)
        refuse(b, "an image of %lldx%lld: it takes squares", (long long)h,
               (long long)w);
    if (h % v->patch)
        refuse(b,
               "an image of %lldx%lld cannot be cut into patches of %lldx%lld",
               (long long)h, (long long)w, (long long)v->patch,
               (long long)v->patch);
    x = conv2d(b, "conv_proj", x, v->width, .kernel = v->patch,
               .stride = v->patch);
    x = reshape(b, x, n, v->width, dim(b, x, 2) * dim(b, x, 3));
    x = permute(b, NULL, x, 0, 2, 1);
    tensor token = parameter(b, "class_token", 1, 1, v->width);
    token = zoo_call(b, CLV_OP_EXPAND, "expand", TENSORS(token),
                     ATTRS(INTS(SHAPE, n, -1, -1)));
    return cat_of(b, 1, token, x);
}

static void vit_build(builder *b, const zoo_input *in, const void *variant)
{
    const vit *v = variant;
    check_heads(b, v->width, v->heads);
    b->norm_eps = 1e-6;
    tensor x = vit_embed(b, v, input(b, "x", in));
    enter(b, "encoder");
    x = add(b, x, parameter(b, "pos_embedding", 1, dim(b, x, 1), v->width));
    x = dropout(b, "dropout", x);
    enter(b, "layers");
    for (int i = 0; i < v->layers; i++) {
        enter(b, "encoder_layer_%d", i);
        x = vit_encoder_layer(b, v, x);
        leave(b);
    }
    leave(b);
    x = layer_norm(b, "ln", x);
    leave(b);
    x = zoo_call(b, CLV_OP_SELECT, "getitem", TENSORS(x),
                 ATTRS(INT(AXIS, 1), INT(INDEX, 0)));
    enter(b, "heads");
    x = linear(b, "head", x, 1000);
    leave(b);
    output(b, x);
}

const zoo_knobs clv__knobs_vit =
    ZOO_KNOBS(vit_build, vit, KNOB("patch", ZOO_INT64, vit, patch, 1, 512),
              KNOB("dim", ZOO_INT64, vit, width, 1, 65536),
              KNOB("depth", ZOO_INT, vit, layers, 1, 1000),
              KNOB("heads", ZOO_INT64, vit, heads, 1, 1024),
              KNOB_WITH("mlp", ZOO_INT64, vit, mlp, 1, 262144, "dim"));

#define VIT(name, ...) \
    { \
        {name, "vit", IMAGE(224), TORCHVISION("classification", 2020)}, \
            vit_build, &(const vit) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_vit[] = {
    VIT("vit_b_16", 16, 12, 12, 768, 3072),
    VIT("vit_b_32", 32, 12, 12, 768, 3072),
    VIT("vit_l_16", 16, 24, 16, 1024, 4096),
    VIT("vit_l_32", 32, 24, 16, 1024, 4096),
    VIT("vit_h_14", 14, 32, 16, 1280, 5120),
    ZOO_END,
};
