/* read.c - checkpoints of torch.save.
 *
 *   a YOLO model        its module tree is the graph: layer i reads the layers
 *                       that its member `f` names
 *   anything else       tensors by name, as one node per module that holds
 *                       them: parameters and bytes are known, what is computed
 *                       is not */
#include "formats/checkpoint/module.h"

#include "formats/formats.h"
#include "ops/build.h"

#include <stdio.h>
#include <string.h>

enum { READ_MAX_DEPTH = 48, READ_STEPS = 200000 };

/* -- what is in the file --------------------------------------------------*/

static bool read_is_module(const pickle_node *n)
{
    return n && n->kind == PICKLE_OBJECT && pickle_get(n, "_modules");
}

/* The module in a checkpoint: the averaged one of a training, or the model. */
static const pickle_node *read_module(const pickle_node *root)
{
    static const char *const keys[] = {"ema", "model", "net", "network",
                                       "module"};
    if (read_is_module(root))
        return root;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const pickle_node *n = pickle_get(root, keys[i]);
        if (read_is_module(n))
            return n;
    }
    return NULL;
}

/* -- the input ------------------------------------------------------------*/

static int64_t read_image_size(const pickle_node *root, const pickle_node *m)
{
    int64_t size[2];
    const pickle_node *places[] = {pickle_get(m, "args"),
                                   pickle_get(root, "train_args")};
    const char *task = pickle_text(pickle_get(m, "task"), "");
    for (size_t i = 0; i < 2; i++)
        if (pickle_ints(pickle_get(places[i], "imgsz"), size, 2) > 0 &&
            size[0] > 0)
            return size[0];
    bool classes =
        !strcmp(task, "classify") || strstr(pickle_class(m), "Classification");
    return classes ? 224 : 640;
}

/* Finds the first weight of a convolution below n: its input channels, and its
 * type. */
static const pickle_node *read_first_conv(const pickle_node *n, int depth)
{
    uint32_t count;
    if (depth > 8 || !read_is_module(n))
        return NULL;
    if (!strncmp(pickle_class(n), "Conv", 4) && m_member(n, "weight"))
        return n;
    pickle_node *const *c = m_children(n, &count);
    for (uint32_t i = 0; i < count; i++) {
        const pickle_node *found = read_first_conv(c[2 * i + 1], depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

static int64_t read_most_stride(module_walk *w, const pickle_node *m)
{
    torch_tensor t;
    int64_t most = 32;
    if (!pickle_tensor(w->file, m_member(m, "stride"), &t) || t.rank != 1)
        return most;
    return t.dims[0] > 3 ? 64 : most;
}

static clv_status read_check_stride(module_walk *w, const pickle_node *m,
                                    const clv_build_input *in, clv_err *e)
{
    int64_t stride = read_most_stride(w, m);
    bool classes = strstr(pickle_class(m), "Classification") != NULL;
    for (uint32_t i = 2; !classes && i < in->rank; i++)
        if (in->dims[i] % stride)
            return clv__fail(e, CLV_SHAPE,
                             "input '%s': %lld is no multiple of %lld, the "
                             "model's stride",
                             in->name, (long long)in->dims[i],
                             (long long)stride);
    return CLV_OK;
}

static clv_status read_image_input(module_walk *w, const pickle_node *root,
                                   const pickle_node *m, m_val *x, clv_err *e)
{
    clv_graph *g = w->b.g;
    torch_tensor t = {.dtype = CLV_FLOAT32};
    const pickle_node *conv = read_first_conv(m, 0);
    int64_t groups = m_int(conv, "groups", 1), size = read_image_size(root, m);
    clv_build_input in = {.name = "images",
                          .name_len = 6,
                          .first = true,
                          .rank = 4,
                          .dims = {1, 3, size, size}};
    if (conv && pickle_tensor(w->file, m_member(conv, "weight"), &t) &&
        t.rank == 4)
        in.dims[1] = sat_mul(t.dims[1], groups);
    CLV_TRY(clv__build_shape(w->weights.opts, &in, e));
    CLV_TRY(read_check_stride(w, m, &in, e));
    uint32_t v = clv__value_add(g, in.name, CLV_VALUE_INPUT,
                                clv__build_dtype(w->weights.opts, t.dtype));
    if (v == CLV_NONE || !clv__value_set_shape(g, v, in.rank, in.dims))
        return clv__nomem(e);
    if (clv__bytes(&g->values[v]) == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW,
                         "input '%s': its size does not fit 64 bits", in.name);
    w->side[0] = in.dims[2];
    w->side[1] = in.dims[3];
    *x = m_one(v);
    return CLV_OK;
}

/* -- YOLO -----------------------------------------------------------------*/

static clv_status read_yolo(module_walk *w, const pickle_node *root,
                            const pickle_node *m, clv_err *e)
{
    m_val image;
    CLV_TRY(read_image_input(w, root, m, &image, e));
    CLV_TRY(module_network(w, m, image));
    return clv__aten_finish(&w->b, e);
}

/* -- tensors by name ------------------------------------------------------*/

/* Tensors of one module, so far. */
typedef struct read_tables {
    module_walk *w;
    strmap modules; /* path: place in list */
    struct read_table {
        const char *path;
        uint32_t *values, n;
        size_t cap;
    } * list;
    uint32_t n;
    size_t cap;
} read_tables;

static struct read_table *tables_at(read_tables *t, const char *name,
                                    size_t len)
{
    uint32_t i = strmap_get(&t->modules, name, len);
    if (i != CLV_NONE)
        return &t->list[i];
    char *path = arena_strndup(&t->w->mem, name, len);
    if (!path || !CLV_GROW(t->list, t->n, t->cap) ||
        !strmap_put(&t->modules, path, len, t->n))
        return NULL;
    t->list[t->n] = (struct read_table){.path = path};
    return &t->list[t->n++];
}

/* A state dict does not tell what is learned. */
static bool tables_is_buffer(const char *name, clv_dtype t)
{
    bool number = t == CLV_FLOAT32 || t == CLV_FLOAT16 || t == CLV_BFLOAT16 ||
                  t == CLV_FLOAT64 || t >= CLV_FLOAT8E4M3;
    return !number || clv__import_is_buffer(name, strlen(name));
}

static clv_status tables_add(read_tables *t, const char *name,
                             const torch_tensor *tensor, int param, clv_err *e)
{
    const char *dot = strrchr(name, '.');
    bool buffer = param < 0 ? tables_is_buffer(name, tensor->dtype) : !param;
    uint32_t v, before = t->w->b.g->n_values;
    CLV_TRY(clv__torch_weight(&t->w->weights, name,
                              buffer ? CLV_VALUE_BUFFER : CLV_VALUE_PARAM,
                              tensor, &v, e));
    struct read_table *m = tables_at(t, name, dot ? (size_t)(dot - name) : 0);
    if (!m)
        return clv__nomem(e);
    if (v < before) /* tied to one that some module has */
        return CLV_OK;
    if (!CLV_GROW(m->values, m->n, m->cap))
        return clv__nomem(e);
    m->values[m->n++] = v;
    return CLV_OK;
}

static clv_status tables_walk(read_tables *t, const pickle_node *n, int depth,
                              int param, clv_err *e);

/* Takes all tensors in what a dict has under the key. */
static clv_status tables_member(read_tables *t, const pickle_node *name,
                                const pickle_node *n, int depth, int param,
                                clv_err *e)
{
    module_walk *w = t->w;
    const char *key = pickle_text(name, NULL);
    size_t len = strlen(w->path);
    if (!key || len + strlen(key) + 2 > sizeof w->path)
        return CLV_OK;
    snprintf(w->path + len, sizeof w->path - len, "%s%s", len ? "." : "", key);
    CLV_TRY(tables_walk(t, n, depth + 1, param, e));
    w->path[len] = '\0';
    return CLV_OK;
}

/* Python 2 writes an ordered dict as a call with a list of its pairs. */
static pickle_node *const *tables_listed(const pickle_node *n, uint32_t *count)
{
    bool dict = !strcmp(pickle_class_path(n), "collections OrderedDict");
    pickle_node *const *args = pickle_items(dict ? n->args : NULL, count);
    return pickle_items(*count == 1 ? args[0] : NULL, count);
}

/* Takes all tensors in a dict, in dicts in it, and in modules; names are joined
 * by dots. */
static clv_status tables_walk(read_tables *t, const pickle_node *n, int depth,
                              int param, clv_err *e)
{
    static const struct {
        const char *part;
        int param;
    } parts[] = {{"_parameters", 1}, {"_buffers", 0}, {"_modules", -1}};
    module_walk *w = t->w;
    torch_tensor tensor;
    uint32_t count;
    if (!n || depth > READ_MAX_DEPTH || w->steps == 0)
        return CLV_OK;
    w->steps--;
    if (pickle_tensor(w->file, n, &tensor))
        return tables_add(t, w->path, &tensor,
                          param < 0 && pickle_is_parameter(n) ? 1 : param, e);
    if (read_is_module(n)) {
        for (int i = 0; i < 3; i++)
            CLV_TRY(tables_walk(t, pickle_get(n, parts[i].part), depth + 1,
                                parts[i].param, e));
        return CLV_OK;
    }
    pickle_node *const *pairs = pickle_pairs(n, &count);
    for (uint32_t i = 0; i < count; i++)
        CLV_TRY(
            tables_member(t, pairs[2 * i], pairs[2 * i + 1], depth, param, e));
    pickle_node *const *listed = tables_listed(n, &count);
    for (uint32_t i = 0; i < count && w->steps; i++) {
        uint32_t two;
        pickle_node *const *pair = pickle_items(listed[i], &two);
        w->steps--;
        if (two == 2)
            CLV_TRY(tables_member(t, pair[0], pair[1], depth, param, e));
    }
    return CLV_OK;
}

static clv_status tables_build(read_tables *t, clv_err *e)
{
    clv_graph *g = t->w->b.g;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct read_table *m = &t->list[i];
        uint32_t scope = clv__scope_path(g, m->path);
        const char *path = *m->path ? m->path : "weights";
        char *name = arena_strndup(&g->mem, path, strlen(path));
        uint32_t id = name && scope != CLV_NONE && m->n
                          ? clv__node_add(g, CLV_OP_UNKNOWN, name, scope,
                                          m->values, m->n, NULL, 1)
                          : CLV_NONE;
        if (id == CLV_NONE && m->n)
            return clv__nomem(e);
        if (m->n)
            g->nodes[id].origin = "weights";
    }
    return CLV_OK;
}

/* The part of a checkpoint that names tensors: a dict in it, or all. */
static const pickle_node *tables_root(const pickle_node *root)
{
    static const char *const keys[] = {
        "state_dict", "model_state_dict", "model_state", "model",
        "ema",        "params",           "net",         "module"};
    uint32_t n;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const pickle_node *part = pickle_get(root, keys[i]);
        pickle_pairs(part, &n);
        if (n && !pickle_is_parameter(part))
            return part;
    }
    return root;
}

static clv_status read_tables_of(module_walk *w, const pickle_node *root,
                                 clv_err *e)
{
    read_tables t = {.w = w};
    clv_graph *g = w->b.g;
    clv_status s = tables_walk(&t, root, 0, -1, e);
    if (s == CLV_OK)
        s = tables_build(&t, e);
    if (s == CLV_OK && g->n_values == 0)
        s = clv__fail(e, CLV_FORMAT, "it holds neither a model nor tensors");
    if (s == CLV_OK &&
        !clv__graph_warn(g, "it holds weights and no graph: parameters are "
                            "exact, costs are not known"))
        s = clv__nomem(e);
    for (uint32_t i = 0; i < t.n; i++)
        clv__free(t.list[i].values);
    clv__free(t.list);
    strmap_free(&t.modules);
    return s == CLV_OK ? clv__aten_finish(&w->b, e) : s;
}

/* -- the way in -----------------------------------------------------------*/

static clv_status read_all(module_walk *w, const pickle_file *f, clv_err *e)
{
    const pickle_node *m = read_module(f->root);
    if (m && module_is_network(m))
        return read_yolo(w, f->root, m, e);
    return read_tables_of(w, m ? m : tables_root(f->root), e);
}

bool clv__checkpoint_knows(const clv_mapping *map, const char *path)
{
    (void)path;
    return clv__archive_has(map->data, map->size, "data.pkl") ||
           pickle_is_old(map->data, map->size);
}

clv_status clv__checkpoint_load(clv_mapping map, const char *path,
                                const clv_open_opts *opts, clv_graph **out,
                                clv_err *e)
{
    clv_graph *g;
    pickle_file f = {0};
    CLV_TRY(clv__import_begin(map, path, "pt", opts, &g, e));
    module_walk w = {.file = &f,
                     .b = {.g = g, .infer = true},
                     .weights = {.g = g, .opts = opts, .allowed = map.size},
                     .e = e,
                     .steps = READ_STEPS};
    clv_status s = pickle_open(map.data, map.size, &f, e);
    if (s == CLV_OK)
        s = read_all(&w, &f, e);
    clv__aten_free(&w.b);
    clv__torch_weights_free(&w.weights);
    arena_free(&w.mem);
    pickle_close(&f);
    return clv__import_end(g, s, out, e);
}
