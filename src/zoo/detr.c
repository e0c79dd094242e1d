/* detr.c - DETR (Carion et al., 2020) as transformers has it.
 *
 * The last map of a ResNet is a sequence of tokens. Its positions, sines of x
 * and y, are added again in every block, to queries and keys but not to
 * values. The decoder starts from zeros: what tells one of its 100 queries
 * from another is a learned position. Each ends as a class and a box. "dc5"
 * dilates the last stage of the ResNet instead of halving its map. */
#include "zoo/detr.h"

typedef struct detr {
    int third; /* depth of the third stage: 6 in ResNet-50, 23 in 101 */
    bool dilated;
} detr;

enum { DETR_HIDDEN = 2048, DETR_QUERIES = 100, DETR_LABELS = 91 };

tensor detr_sum(builder *b, const char *name, tensor x, tensor y)
{
    x = add(b, x, y);
    enter(b, "%s_layer_norm", name);
    x = layer_norm(b, NULL, x);
    leave(b);
    return x;
}

tensor detr_attends(builder *b, const char *name, tensor x, tensor query,
                    tensor key, tensor value)
{
    enter(b, "%s", name);
    tensor q = linear(b, "q_proj", query, DETR_WIDTH);
    tensor k = linear(b, "k_proj", key, DETR_WIDTH);
    tensor v = linear(b, "v_proj", value, DETR_WIDTH);
    tensor y = attend(b, q, k, v, .heads = DETR_HEADS);
    y = linear(b, "o_proj", y, DETR_WIDTH);
    leave(b);
    return detr_sum(b, name, x, y);
}

tensor detr_thinks(builder *b, tensor x, int64_t hidden)
{
    enter(b, "mlp");
    tensor y = linear(b, "fc1", x, hidden);
    y = linear(b, "fc2", relu(b, "activation_fn", y), DETR_WIDTH);
    leave(b);
    return layer_norm(b, "final_layer_norm", add(b, x, y));
}

static tensor detr_encoder(builder *b, tensor x, tensor places)
{
    enter_path(b, "encoder.layers");
    for (int i = 0; i < DETR_LAYERS; i++) {
        enter(b, "%d", i);
        tensor at = add(b, x, places);
        x = detr_attends(b, "self_attn", x, at, at, x);
        x = detr_thinks(b, x, DETR_HIDDEN);
        leave(b);
    }
    leave_path(b, "encoder.layers");
    return x;
}

/* (N,S,E) -> (N,queries,E) */
static tensor detr_decoder(builder *b, tensor memory, tensor places)
{
    int64_t n = dim(b, memory, 0);
    enter(b, "query_position_embeddings");
    tensor own = parameter(b, "weight", DETR_QUERIES, DETR_WIDTH);
    leave(b);
    own = expand(b, own, n, DETR_QUERIES, DETR_WIDTH);
    tensor x = expand(b, number(b, 0), n, DETR_QUERIES, DETR_WIDTH);
    enter(b, "decoder");
    enter(b, "layers");
    for (int i = 0; i < DETR_LAYERS; i++) {
        enter(b, "%d", i);
        tensor at = add(b, x, own);
        x = detr_attends(b, "self_attn", x, at, at, x);
        x = detr_attends(b, "encoder_attn", x, add(b, x, own),
                         add(b, memory, places), memory);
        x = detr_thinks(b, x, DETR_HIDDEN);
        leave(b);
    }
    leave(b);
    x = layer_norm(b, "layernorm", x);
    leave(b);
    return x;
}

static void detr_build(builder *b, const zoo_input *in, const void *variant)
{
    const detr *v = variant;
    tensor x = input(b, "pixel_values", in), stages[4];
    int64_t n = dim(b, x, 0);
    enter(b, "model");
    enter_path(b, "backbone.model");
    b->frozen = true;
    timm_resnet(b, v->third, v->dilated, x, stages);
    leave_path(b, "backbone.model");
    int64_t h = dim(b, stages[3], 2), w = dim(b, stages[3], 3);
    x = conv2d(b, "input_projection", stages[3], DETR_WIDTH, .kernel = 1);
    x = transpose(b, flatten(b, x, 2), 1, 2);
    enter(b, "position_embedding");
    tensor places = sine_map(b, h, w, DETR_WIDTH, 0);
    places = reshape(b, places, 1, h * w, DETR_WIDTH);
    places = expand(b, places, n, h * w, DETR_WIDTH);
    leave(b);
    tensor memory = detr_encoder(b, x, places);
    x = detr_decoder(b, memory, places);
    leave(b);
    output(b, linear(b, "class_labels_classifier", x, DETR_LABELS + 1));
    output(b, sigmoid(b, NULL,
                      perceptron(b, "bbox_predictor", x, 3, DETR_WIDTH, 4)));
    output(b, x);
    output(b, memory);
}

#define DETR(name, ...) \
    { \
        {name, \
         "detr", \
         .rank = 4, \
         .input = {1, 3, 800, 1066}, \
         HOME("detection", "transformers", 2020), \
         .input_name = "pixel_values"}, \
            detr_build, &(const detr) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_detr[] = {
    DETR("detr-resnet-50", 6, false),
    DETR("detr-resnet-101", 23, false),
    DETR("detr-resnet-50-dc5", 6, true),
    DETR("detr-resnet-101-dc5", 23, true),
    ZOO_END,
};
