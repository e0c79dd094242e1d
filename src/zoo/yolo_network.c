/* yolo_network.c - a network of yolo.h: its rows become a tree of modules, as a
 * checkpoint holds it, and that is read as a checkpoint is. */
#include "zoo/yolo.h"

#include <string.h>

/* Makes sources from 0 on, for layer i; returns how many there are. */
static int yolo_sources(const int *from, int i, int64_t *out)
{
    int n = 0;
    for (; from[n]; n++)
        out[n] = from[n] == YOLO_FIRST ? 0
                 : from[n] < 0         ? i + from[n]
                                       : from[n];
    if (!n)
        out[n++] = i - 1;
    return n;
}

enum { YOLO_MOST_LAYERS = 64 };

typedef struct yolo_walk {
    const yolo *y;
    tree *t;
    pickle_node *layers[YOLO_MOST_LAYERS];
    int64_t channels[YOLO_MOST_LAYERS];
} yolo_walk;

/* Channels of what layer i reads, first and all. */
static void yolo_read(const yolo_walk *w, int i, const int64_t *from, int n,
                      yolo_args *a)
{
    enum { COLOURS = 3 };
    a->n_ch = n;
    for (int k = 0; k < n && k < YOLO_LEVELS; k++)
        a->ch[k] = i ? w->channels[from[k]] : COLOURS;
    a->c1 = a->ch[0];
}

static int64_t yolo_width(const yolo *y, double channels)
{
    enum { MULTIPLE = 8 };
    if (y->most && channels > (double)y->most)
        channels = (double)y->most;
    int64_t c = (int64_t)(channels * y->width);
    c += (double)c < channels * y->width;
    return (c + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

/* Which group of CBLinear's channels a CBFuse adds, one for each source. */
static void yolo_choose(tree *t, pickle_node *m, const yolo_row *r, int n)
{
    int64_t idx[YOLO_LEVELS];
    for (int i = 0; i + 1 < n; i++)
        idx[i] = (int64_t)r->args[1];
    tree_ints(t, m, "idx", idx, (uint32_t)(n - 1));
}

static void yolo_layer(yolo_walk *w, int i)
{
    const yolo *y = w->y;
    const yolo_row *r = &y->body->rows[i];
    const yolo_kind *kind = yolo_kind_named(r->kind);
    int64_t from[8];
    int n = yolo_sources(r->from, i, from);
    yolo_args a = {.n = r->n,
                   .large = strchr("mlx", *y->size) && *y->size,
                   .largest = strchr("lx", *y->size) && *y->size};
    yolo_read(w, i, from, n, &a);
    if (r->n > 1 && kind->scaled) {
        a.n = (int64_t)(r->n * y->depth + 0.5);
        a.n = a.n > 0 ? a.n : 1;
    }
    a.n_rest = r->n_args - 1;
    for (int k = 0; k < a.n_rest; k++)
        a.rest[k] = r->args[k + 1];
    a.c2 = kind->scaled ? yolo_width(y, r->args[0]) : a.ch[n - 1];
    if (!kind->scaled && n > 1 && !strcmp(r->kind, "Concat"))
        for (int k = 0; k + 1 < n; k++)
            a.c2 += a.ch[k];
    pickle_node *m;
    if (kind->repeats || a.n == 1) {
        m = kind->make(w->t, &a);
    } else {
        pickle_node *all[YOLO_MOST_LAYERS];
        for (int k = 0; k < a.n && k < YOLO_MOST_LAYERS; k++) {
            all[k] = kind->make(w->t, &a);
            a.c1 = a.c2;
        }
        m = tree_list(w->t, all, (uint32_t)a.n);
    }
    if (!strcmp(r->kind, "CBFuse"))
        yolo_choose(w->t, m, r, n);
    tree_ints(w->t, m, "f", i ? from : (int64_t[]){-1}, (uint32_t)n);
    w->layers[i] = m;
    w->channels[i] = a.c2;
}

/* The whole network as a module with one child, "model". */
static pickle_node *yolo_network(const yolo *y, tree *t)
{
    yolo_walk w = {.y = y, .t = t};
    int n = (int)y->body->n_rows;
    int64_t from[8], strides[8];
    for (int i = 0; i < n; i++)
        yolo_layer(&w, i);
    yolo_args a = {0};
    int levels = yolo_sources(y->body->heads, n, from);
    for (int i = 0; i < levels; i++) /* pixels between two cells */
        strides[i] = y->body->stride >> (levels - 1 - i);
    yolo_read(&w, n, from, levels, &a);
    yolo_head h = *y->head;
    h.protos = yolo_width(y, (double)h.protos);
    w.layers[n] = yolo_make_head(t, &h, &a);
    tree_ints(t, w.layers[n], "f", from, (uint32_t)levels);
    tree_ints(t, w.layers[n], "stride", strides, (uint32_t)levels);
    pickle_node *m = tree_module(t, "ultralytics.nn.tasks DetectionModel");
    tree_child(t, m, "model", tree_list(t, w.layers, y->body->n_rows + 1));
    return m;
}

/* Maps that do not meet say little: gives the rule that the image breaks. Some
 * sizes that break it happen to meet, and are taken. */
static void yolo_say_rule(builder *b, const yolo *y, const zoo_input *in)
{
    int64_t h = in->dims[2], w = in->dims[3], stride = y->body->stride;
    if (b->status != CLV_SHAPE || (h % stride == 0 && w % stride == 0))
        return;
    clv__err_clear(b->e);
    b->status = CLV_OK;
    refuse(b,
           "an image of %lldx%lld: its sides must be multiples of %lld, the "
           "model's stride",
           (long long)h, (long long)w, (long long)stride);
}

void yolo_build(builder *b, const zoo_input *in, const void *variant)
{
    const yolo *y = variant;
    tensor x = input(b, "images", in);
    if (b->status != CLV_OK)
        return;
    enum { STEPS = 100000 };
    clv_open_opts opts = {.size = sizeof opts, .dtype = b->dtype};
    pickle_file none = {0};
    module_walk w = {.file = &none,
                     .b = {.g = b->g, .infer = true},
                     .weights = {.g = b->g, .opts = &opts},
                     .e = b->e,
                     .steps = STEPS,
                     .side = {in->dims[2], in->dims[3]}};
    tree t = {.mem = &w.mem};
    t.act = tree_module(&t, y->body->relu ? "torch.nn.modules.activation ReLU"
                                          : "torch.nn.modules.activation SiLU");
    const pickle_node *m = yolo_network(y, &t);
    b->status = t.failed ? clv__nomem(b->e) : module_network(&w, m, m_one(x));
    clv__aten_free(&w.b);
    clv__torch_weights_free(&w.weights);
    arena_free(&w.mem);
    yolo_say_rule(b, y, in);
}
