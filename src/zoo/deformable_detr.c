/* deformable_detr.c - Deformable DETR (Zhu et al., 2020) as transformers has
 * it.
 *
 * A token does not compare itself with all others. It says where to look, four
 * points beside its own place on each of four maps and in each head, and how
 * much each of them weighs; the maps are sampled there. In the encoder a token
 * stands at the centre of its cell, in the decoder a query at a learned place.
 * With "box refine" every layer of the decoder moves it on to the box found so
 * far. Weights of the six heads are the same where the model ties them. */
#include "zoo/detr.h"

enum { DEFORM_POINTS = 4, DEFORM_LEVELS = 4, DEFORM_QUERIES = 300 };
enum { DEFORM_HIDDEN = 1024, DEFORM_LABELS = 91 };

typedef struct deform {
    int levels; /* maps: 4, or the last of the ResNet alone */
    bool refine, dilated;
} deform;

/* The maps as one sequence of tokens. */
typedef struct deform_maps {
    int n;
    int64_t h[DEFORM_LEVELS], w[DEFORM_LEVELS];
    tensor places;  /* of the tokens: sines and a vector per map (1,S,E) */
    tensor centres; /* x and y of the tokens, between 0 and 1 (1,S,1,1,1,2) */
    tensor sizes;   /* width and height of the maps (1,1,1,L,1,2) */
} deform_maps;

/* -- attention ------------------------------------------------------------*/

/* Where to look, (N,Q,heads,L,points,2) between 0 and 1. Offsets are in cells
 * beside a point, or in quarters of half a box (at has 4 numbers). */
static tensor deform_places(builder *b, const deform_maps *m, tensor offsets,
                            tensor at)
{
    if (dim(b, at, -1) == 2)
        return add(b, at, divide(b, offsets, m->sizes));
    offsets = scale(b, offsets, 0.5 / DEFORM_POINTS);
    offsets = mul(b, offsets, slice(b, at, -1, 2, 4));
    return add(b, slice(b, at, -1, 0, 2), offsets);
}

/* Samples values (N,S,E) at the places of each map: (N*heads,d,Q,points). */
static tensor deform_sample(builder *b, const deform_maps *m, tensor values,
                            tensor places)
{
    int64_t n = dim(b, values, 0), q = dim(b, places, 1), first = 0;
    int64_t d = DETR_WIDTH / DETR_HEADS;
    tensor found[DEFORM_LEVELS];
    places = shift(b, scale(b, places, 2), -1);
    for (int i = 0; i < m->n; i++) {
        int64_t cells = m->h[i] * m->w[i];
        tensor map = slice(b, values, 1, first, first + cells);
        map = reshape(b, transpose(b, map, 1, 2), n * DETR_HEADS, d, m->h[i],
                      m->w[i]);
        tensor grid = transpose(b, select_at(b, places, 3, i), 1, 2);
        grid = reshape(b, grid, n * DETR_HEADS, q, DEFORM_POINTS, 2);
        found[i] = zoo_call(b, CLV_OP_GRID_SAMPLE, "grid_sample",
                            TENSORS(map, grid), NO_ATTRS);
        first += cells;
    }
    return m->n > 1 ? cat(b, found, (uint32_t)m->n, 3) : found[0];
}

/* Attention `name` of queries (N,Q,E) at `at` to memory (N,S,E). */
static tensor deform_attention(builder *b, const char *name,
                               const deform_maps *m, tensor query, tensor at,
                               tensor memory)
{
    int64_t n = dim(b, query, 0), q = dim(b, query, 1);
    int64_t all = (int64_t)m->n * DEFORM_POINTS;
    enter(b, "%s", name);
    tensor values = linear(b, "value_proj", memory, DETR_WIDTH);
    tensor offsets = linear(b, "sampling_offsets", query, DETR_HEADS * all * 2);
    tensor share = linear(b, "attention_weights", query, DETR_HEADS * all);
    share = softmax(b, reshape(b, share, n, q, DETR_HEADS, all));
    offsets = reshape(b, offsets, n, q, DETR_HEADS, m->n, DEFORM_POINTS, 2);
    tensor x = deform_sample(b, m, values, deform_places(b, m, offsets, at));
    share = reshape(b, transpose(b, share, 1, 2), n * DETR_HEADS, 1, q, all);
    x = zoo_call(b, CLV_OP_SUM, "sum", TENSORS(mul(b, x, share)),
                 ATTRS(INTS(AXES, -1), INT(KEEPDIM, 0)));
    x = transpose(b, reshape(b, x, n, DETR_WIDTH, q), 1, 2);
    x = linear(b, "output_proj", x, DETR_WIDTH);
    leave(b);
    return x;
}

/* -- maps to tokens -------------------------------------------------------*/

/* Sizes of the maps, and centres of their cells. */
static void deform_grid(builder *b, deform_maps *m)
{
    int64_t all = 0;
    for (int i = 0; i < m->n; i++)
        all += m->h[i] * m->w[i];
    m->sizes = weight(b, "spatial_shapes", CLV_VALUE_CONST, 6,
                      (const int64_t[]){1, 1, 1, m->n, 1, 2});
    m->centres = weight(b, "reference_points", CLV_VALUE_CONST, 6,
                        (const int64_t[]){1, all, 1, 1, 1, 2});
    float *size = constant_bytes(b, m->sizes, CLV_FLOAT32);
    float *at = constant_bytes(b, m->centres, CLV_FLOAT32);
    for (int i = 0; i < m->n && size && at; i++) {
        *size++ = (float)m->w[i];
        *size++ = (float)m->h[i];
        for (int64_t k = 0; k < m->h[i] * m->w[i]; k++) {
            *at++ = ((float)(k % m->w[i]) + 0.5f) / (float)m->w[i];
            *at++ = ((float)(k / m->w[i]) + 0.5f) / (float)m->h[i];
        }
    }
}

/* The last maps of the ResNet, and one half as large: (N,S,E). */
static tensor deform_tokens(builder *b, deform_maps *m, const tensor stages[4])
{
    tensor tokens[DEFORM_LEVELS], places[DEFORM_LEVELS];
    tensor vectors = parameter(b, "level_embed", m->n, DETR_WIDTH);
    for (int i = 0; i < m->n; i++) {
        bool extra = i == 3;
        tensor x = stages[m->n == 1 || extra ? 3 : i + 1];
        enter(b, "input_proj");
        enter(b, "%d", i);
        x = conv2d(b, "0", x, DETR_WIDTH, .kernel = extra ? 3 : 1,
                   .stride = extra ? 2 : 1, .padding = extra);
        x = group_norm(b, "1", x, 32);
        leave(b);
        leave(b);
        m->h[i] = dim(b, x, 2);
        m->w[i] = dim(b, x, 3);
        tokens[i] = transpose(b, flatten(b, x, 2), 1, 2);
        enter(b, "position_embedding");
        x = sine_map(b, m->h[i], m->w[i], DETR_WIDTH, 0.5);
        x = reshape(b, x, 1, m->h[i] * m->w[i], DETR_WIDTH);
        leave(b);
        places[i] = add(b, x, select_at(b, vectors, 0, i));
    }
    deform_grid(b, m);
    m->places = cat(b, places, (uint32_t)m->n, 1);
    return cat(b, tokens, (uint32_t)m->n, 1);
}

static tensor deform_encoder(builder *b, const deform_maps *m, tensor x)
{
    enter_path(b, "encoder.layers");
    for (int i = 0; i < DETR_LAYERS; i++) {
        enter(b, "%d", i);
        tensor y = deform_attention(b, "self_attn", m, add(b, x, m->places),
                                    m->centres, x);
        x = detr_sum(b, "self_attn", x, y);
        x = detr_thinks(b, x, DEFORM_HIDDEN);
        leave(b);
    }
    leave_path(b, "encoder.layers");
    return x;
}

/* -- decoder and heads ----------------------------------------------------*/

/* log(x / (1 - x)), with both kept away from 0. */
static tensor deform_logit(builder *b, tensor x)
{
    const double least = 1e-5;
    x = zoo_call(b, CLV_OP_CLAMP, "clamp", TENSORS(x),
                 ATTRS(FLOAT(MIN, 0), FLOAT(MAX, 1)));
    tensor rest =
        zoo_call(b, CLV_OP_CLAMP, "clamp", TENSORS(sub(b, number(b, 1), x)),
                 ATTRS(FLOAT(MIN, least)));
    x = zoo_call(b, CLV_OP_CLAMP, "clamp", TENSORS(x),
                 ATTRS(FLOAT(MIN, least)));
    return unary(b, CLV_OP_LOG, divide(b, x, rest));
}

/* The box that a query at `at`, a point or a box, ends as. */
static tensor deform_box(builder *b, const char *path, tensor x, tensor at)
{
    tensor by = perceptron(b, path, x, 3, DETR_WIDTH, 4);
    at = deform_logit(b, at);
    if (dim(b, at, -1) == 4)
        by = add(b, by, at);
    else
        by = cat_of(b, -1, add(b, slice(b, by, -1, 0, 2), at),
                    slice(b, by, -1, 2, 4));
    return sigmoid(b, NULL, by);
}

/* Query states and places: before the first layer in [0], after layer i in
 * [i + 1]. */
typedef struct deform_queries {
    tensor state[DETR_LAYERS + 1], at[DETR_LAYERS + 1];
} deform_queries;

static void deform_start(builder *b, int64_t n, deform_queries *q, tensor *own)
{
    enter(b, "query_position_embeddings");
    tensor table = parameter(b, "weight", DEFORM_QUERIES, 2 * DETR_WIDTH);
    leave(b);
    *own = expand(b, slice(b, table, 1, 0, DETR_WIDTH), n, DEFORM_QUERIES,
                  DETR_WIDTH);
    q->state[0] = expand(b, slice(b, table, 1, DETR_WIDTH, 2 * DETR_WIDTH), n,
                         DEFORM_QUERIES, DETR_WIDTH);
    q->at[0] = sigmoid(b, NULL, linear(b, "reference_points", *own, 2));
}

static void deform_decoder(builder *b, const deform *v, const deform_maps *m,
                           tensor memory, deform_queries *q)
{
    int64_t n = dim(b, memory, 0);
    tensor own;
    deform_start(b, n, q, &own);
    enter(b, "decoder");
    for (int i = 0; i < DETR_LAYERS; i++) {
        tensor x = q->state[i], key = add(b, x, own), at = q->at[i];
        enter(b, "layers");
        enter(b, "%d", i);
        x = detr_attends(b, "self_attn", x, key, key, x);
        tensor place =
            reshape(b, at, n, DEFORM_QUERIES, 1, 1, 1, dim(b, at, -1));
        tensor y = deform_attention(b, "encoder_attn", m, add(b, x, own), place,
                                    memory);
        x = detr_sum(b, "encoder_attn", x, y);
        q->state[i + 1] = detr_thinks(b, x, DEFORM_HIDDEN);
        leave(b);
        leave(b);
        if (v->refine) {
            enter(b, "bbox_embed");
            at = deform_box(b, nth(i), q->state[i + 1], at);
            leave(b);
        }
        q->at[i + 1] = at;
    }
    leave(b);
}

/* n tensors (N,Q,c) as one (N,n,Q,c). */
static tensor deform_stack(builder *b, const tensor *of)
{
    tensor each[DETR_LAYERS];
    for (int i = 0; i < DETR_LAYERS; i++)
        each[i] = reshape(b, of[i], dim(b, of[i], 0), 1, DEFORM_QUERIES,
                          dim(b, of[i], 2));
    return cat(b, each, DETR_LAYERS, 1);
}

/* Classes and boxes after every layer; those after the last are given. */
static void deform_heads(builder *b, const deform *v, const deform_queries *q)
{
    tensor classes[DETR_LAYERS], boxes[DETR_LAYERS];
    char path[48];
    b->shared = true;
    for (int i = 0; i < DETR_LAYERS; i++) {
        classes[i] =
            linear_at(b, "class_embed.0", q->state[i + 1], DEFORM_LABELS, true);
        clv_format(path, sizeof path, "%sbbox_embed.%d",
                   v->refine ? "model.decoder." : "", v->refine ? i : 0);
        boxes[i] = deform_box(b, path, q->state[i + 1], q->at[i]);
    }
    b->shared = false;
    output(b, select_at(b, deform_stack(b, classes), 1, DETR_LAYERS - 1));
    output(b, select_at(b, deform_stack(b, boxes), 1, DETR_LAYERS - 1));
}

static void deform_build(builder *b, const zoo_input *in, const void *variant)
{
    const deform *v = variant;
    deform_maps m = {.n = v->levels};
    deform_queries q;
    tensor x = input(b, "pixel_values", in), stages[4];
    enter(b, "model");
    enter_path(b, "backbone.model");
    b->frozen = true;
    timm_resnet(b, 6, v->dilated, x, stages);
    leave_path(b, "backbone.model");
    x = deform_tokens(b, &m, stages);
    tensor memory = deform_encoder(b, &m, x);
    deform_decoder(b, v, &m, memory, &q);
    leave(b);
    deform_heads(b, v, &q);
    output(b, q.state[DETR_LAYERS]);
    output(b, memory);
    output(b, q.at[0]);
    output(b, deform_stack(b, q.state + 1));
    output(b, deform_stack(b, q.at + 1));
}

#define DEFORM(name, ...) \
    { \
        {name, \
         "deformable_detr", \
         .rank = 4, \
         .input = {1, 3, 800, 1066}, \
         HOME("detection", "transformers", 2020), \
         .input_name = "pixel_values"}, \
            deform_build, &(const deform) \
        { \
            __VA_ARGS__ \
        } \
    }

const zoo_model clv__zoo_deformable_detr[] = {
    DEFORM("deformable-detr", 4, false, false),
    DEFORM("deformable-detr-single-scale", 1, false, false),
    DEFORM("deformable-detr-single-scale-dc5", 1, false, true),
    DEFORM("deformable-detr-with-box-refine", 4, true, false),
    ZOO_END,
};
