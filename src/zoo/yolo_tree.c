/* yolo_tree.c - modules as nodes of a pickle, and the layers of torch.nn.
 *
 * A module is an object whose state is a dict: its children under "_modules",
 * its tensors under "_parameters" and "_buffers", other members beside them. */
#include "zoo/yolo.h"

#include <stdio.h>
#include <string.h>

/* -- nodes ----------------------------------------------------------------*/

static pickle_node *tree_node(tree *t, pickle_kind kind)
{
    pickle_node *n = t->failed ? NULL : arena_alloc(t->mem, sizeof *n);
    if (n)
        *n = (pickle_node){.kind = kind};
    else
        t->failed = true;
    return n;
}

/* A name or text that outlives the tree. */
static pickle_node *tree_text(tree *t, pickle_kind kind, const char *text)
{
    pickle_node *n = tree_node(t, kind);
    if (n)
        n->u.s = text;
    return n;
}

static pickle_node *tree_number(tree *t, int64_t i)
{
    pickle_node *n = tree_node(t, PICKLE_INT);
    if (n)
        n->u.i = i;
    return n;
}

static void tree_append(tree *t, pickle_node *list, const pickle_node *item)
{
    enum { FIRST = 8 };
    if (t->failed || !list)
        return;
    if (list->n == list->cap) {
        uint32_t cap = list->cap ? 2 * list->cap : FIRST;
        pickle_node **items = arena_array(t->mem, cap, sizeof *items);
        if (!items) {
            t->failed = true;
            return;
        }
        if (list->n)
            memcpy(items, list->u.items, list->n * sizeof *items);
        list->u.items = items;
        list->cap = cap;
    }
    list->u.items[list->n++] = (pickle_node *)(uintptr_t)item;
}

static void tree_put(tree *t, pickle_node *dict, const char *key,
                     const pickle_node *value)
{
    tree_append(t, dict, tree_text(t, PICKLE_STRING, key));
    tree_append(t, dict, value);
}

static pickle_node *tree_tuple(tree *t, const int64_t *ints, uint32_t n)
{
    pickle_node *list = tree_node(t, PICKLE_TUPLE);
    for (uint32_t i = 0; i < n; i++)
        tree_append(t, list, tree_number(t, ints[i]));
    return list;
}

/* -- modules --------------------------------------------------------------*/

enum { TREE_CHILDREN = 1, TREE_PARAMS = 3, TREE_BUFFERS = 5 }; /* in state */

pickle_node *tree_module(tree *t, const char *cls)
{
    pickle_node *m = tree_node(t, PICKLE_OBJECT);
    pickle_node *of = tree_text(t, PICKLE_GLOBAL, cls);
    pickle_node *state = tree_node(t, PICKLE_DICT);
    tree_put(t, state, "_modules", tree_node(t, PICKLE_DICT));
    tree_put(t, state, "_parameters", tree_node(t, PICKLE_DICT));
    tree_put(t, state, "_buffers", tree_node(t, PICKLE_DICT));
    if (t->failed)
        return NULL;
    m->cls = of;
    m->state = state;
    return m;
}

static pickle_node *tree_state(const tree *t, const pickle_node *m)
{
    return t->failed || !m ? NULL : (pickle_node *)(uintptr_t)m->state;
}

static pickle_node *tree_part(const tree *t, const pickle_node *m, int part)
{
    pickle_node *state = tree_state(t, m);
    return state ? state->u.items[part] : NULL;
}

void tree_child(tree *t, pickle_node *m, const char *name,
                const pickle_node *child)
{
    tree_put(t, tree_part(t, m, TREE_CHILDREN), name, child);
}

void tree_int(tree *t, pickle_node *m, const char *name, int64_t i)
{
    tree_put(t, tree_state(t, m), name, tree_number(t, i));
}

void tree_flag(tree *t, pickle_node *m, const char *name, bool on)
{
    pickle_node *n = tree_node(t, PICKLE_BOOL);
    if (n)
        n->u.b = on;
    tree_put(t, tree_state(t, m), name, n);
}

void tree_ints(tree *t, pickle_node *m, const char *name, const int64_t *ints,
               uint32_t n)
{
    tree_put(t, tree_state(t, m), name, tree_tuple(t, ints, n));
}

static pickle_node *tree_tensor(tree *t, const int64_t *dims, uint32_t rank,
                                bool param)
{
    pickle_node *n = tree_node(t, PICKLE_SHAPE);
    int64_t *own = n ? arena_array(t->mem, rank, sizeof *own) : NULL;
    if (!own) {
        t->failed = true;
        return NULL;
    }
    memcpy(own, dims, rank * sizeof *own);
    n->u.dims = own;
    n->n = rank;
    n->cap = param;
    return n;
}

void tree_param(tree *t, pickle_node *m, const char *name, const int64_t *dims,
                uint32_t rank)
{
    tree_put(t, tree_part(t, m, TREE_PARAMS), name,
             tree_tensor(t, dims, rank, true));
}

void tree_buffer(tree *t, pickle_node *m, const char *name, const int64_t *dims,
                 uint32_t rank)
{
    tree_put(t, tree_part(t, m, TREE_BUFFERS), name,
             tree_tensor(t, dims, rank, false));
}

pickle_node *tree_list(tree *t, pickle_node *const *items, uint32_t n)
{
    enum { DIGITS = 12 };
    pickle_node *m = tree_module(t, "torch.nn.modules.container Sequential");
    for (uint32_t i = 0; i < n; i++) {
        char *name = arena_alloc(t->mem, DIGITS);
        if (!name) {
            t->failed = true;
            return NULL;
        }
        snprintf(name, DIGITS, "%u", i);
        tree_child(t, m, name, items[i]);
    }
    return m;
}

/* -- layers ---------------------------------------------------------------*/

static int64_t tree_or(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

pickle_node *tree_conv2d(tree *t, int64_t c1, int64_t c2, tree_conv a)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.conv Conv2d");
    int64_t k = tree_or(a.k, 1), g = tree_or(a.g, 1);
    int64_t p = a.no_pad ? 0 : tree_or(a.p, k / 2);
    tree_param(t, m, "weight", (int64_t[]){c2, c1 / g, k, k}, 4);
    if (a.bias)
        tree_param(t, m, "bias", &c2, 1);
    tree_int(t, m, "stride", tree_or(a.s, 1));
    tree_int(t, m, "padding", p);
    tree_int(t, m, "dilation", 1);
    tree_int(t, m, "groups", g);
    return m;
}

pickle_node *tree_conv_transpose(tree *t, int64_t c1, int64_t c2, int64_t k)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.conv ConvTranspose2d");
    tree_param(t, m, "weight", (int64_t[]){c1, c2, k, k}, 4);
    tree_param(t, m, "bias", &c2, 1);
    tree_int(t, m, "stride", k);
    tree_int(t, m, "padding", 0);
    tree_int(t, m, "output_padding", 0);
    tree_int(t, m, "groups", 1);
    tree_int(t, m, "dilation", 1);
    return m;
}

pickle_node *tree_linear(tree *t, int64_t c1, int64_t c2)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.linear Linear");
    tree_param(t, m, "weight", (int64_t[]){c2, c1}, 2);
    tree_param(t, m, "bias", &c2, 1);
    return m;
}

pickle_node *tree_layer_norm(tree *t, int64_t c)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.normalization LayerNorm");
    tree_param(t, m, "weight", &c, 1);
    tree_param(t, m, "bias", &c, 1);
    tree_ints(t, m, "normalized_shape", &c, 1);
    return m;
}

pickle_node *tree_attention(tree *t, int64_t c, int64_t heads, bool batch_first)
{
    pickle_node *m =
        tree_module(t, "torch.nn.modules.activation MultiheadAttention");
    int64_t all = 3 * c;
    tree_param(t, m, "in_proj_weight", (int64_t[]){all, c}, 2);
    tree_param(t, m, "in_proj_bias", &all, 1);
    tree_child(t, m, "out_proj", tree_linear(t, c, c));
    tree_int(t, m, "num_heads", heads);
    tree_flag(t, m, "batch_first", batch_first);
    return m;
}

pickle_node *tree_batch_norm(tree *t, int64_t c)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.batchnorm BatchNorm2d");
    pickle_node *eps = tree_node(t, PICKLE_FLOAT);
    tree_param(t, m, "weight", &c, 1);
    tree_param(t, m, "bias", &c, 1);
    tree_buffer(t, m, "running_mean", &c, 1);
    tree_buffer(t, m, "running_var", &c, 1);
    if (eps)
        eps->u.f = 1e-3; /* as ultralytics sets it for the whole network */
    tree_put(t, tree_state(t, m), "eps", eps);
    return m;
}

pickle_node *tree_max_pool(tree *t, int64_t k, int64_t s, int64_t p)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.pooling MaxPool2d");
    tree_int(t, m, "kernel_size", k);
    tree_int(t, m, "stride", s);
    tree_int(t, m, "padding", p);
    tree_int(t, m, "dilation", 1);
    tree_flag(t, m, "ceil_mode", false);
    return m;
}

pickle_node *tree_upsample(tree *t, int64_t by)
{
    pickle_node *m = tree_module(t, "torch.nn.modules.upsampling Upsample");
    pickle_node *factor = tree_node(t, PICKLE_FLOAT);
    if (factor)
        factor->u.f = (double)by;
    tree_put(t, tree_state(t, m), "scale_factor", factor);
    tree_put(t, tree_state(t, m), "mode",
             tree_text(t, PICKLE_STRING, "nearest"));
    return m;
}
