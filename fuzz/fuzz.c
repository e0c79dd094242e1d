/* fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include "formats/formats.h"
#include "formats/onnx/fields.h"
#include "formats/onnx/proto.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- choices --------------------------------------------------------------*/

static uint32_t take(fuzz_choices *c)
{
    if (!c->n)
        return 0;
    c->n--;
    return *c->p++;
}

uint32_t fuzz_below(fuzz_choices *c, uint32_t n)
{
    uint32_t x = take(c);
    if (n > 256)
        x = x << 8 | take(c);
    return n ? x % n : 0;
}

int64_t fuzz_number(fuzz_choices *c)
{
    static const int64_t odd[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,
                                  1LL << 31, 1LL << 32, 1 << 20,   UINT32_MAX};
    uint32_t x = take(c);
    if (x >= 248)
        return odd[x - 248];
    return (int64_t)(x % 32) - 8;
}

double fuzz_real(fuzz_choices *c)
{
    static const double odd[] = {0, -0.0, 1e300, -1e300, 1e-300, 0.5, 1, -1};
    uint32_t x = take(c);
    return x >= 248 ? odd[x - 248] : ((double)x - 100) / 16;
}

const char *fuzz_text(fuzz_choices *c, char *buf, size_t most)
{
    size_t n = take(c) % (most + 1);
    for (size_t i = 0; i < n; i++)
        buf[i] = (char)take(c);
    buf[n] = '\0';
    return buf;
}

fuzz_choices fuzz_hashed(fuzz_hash *h, const uint8_t *data, size_t size)
{
    uint64_t x = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        x = (x ^ data[i]) * 0x100000001b3u;
    for (size_t i = 0; i < sizeof h->bytes; i++) {
        x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
        h->bytes[i] = (uint8_t)(x >> 56);
    }
    return (fuzz_choices){h->bytes, sizeof h->bytes};
}

/* -- models ---------------------------------------------------------------*/

clv_graph *fuzz_load(const uint8_t *data, size_t size)
{
    clv_mapping map = {.data = data, .size = size, .borrowed = true};
    clv_graph *g;
    return clv__onnx_load(map, "fuzz.onnx", NULL, &g, NULL) == CLV_OK ? g
                                                                      : NULL;
}

/* x (2,3) float, as an input or output of a graph. */
static void tiny_value(clv_buf *graph, int field, const char *name)
{
    clv_buf value = {0}, type = {0}, tensor = {0}, shape = {0};
    for (uint64_t i = 2; i <= 3; i++) {
        clv_buf dim = {0};
        pb_uint(&dim, PB_DIM_VALUE, i);
        pb_message(&shape, PB_SHAPE_DIM, &dim);
    }
    pb_uint(&tensor, PB_TENSOR_TYPE_ELEM, 1);
    pb_message(&tensor, PB_TENSOR_TYPE_SHAPE, &shape);
    pb_message(&type, PB_TYPE_OF_TENSOR, &tensor);
    pb_text(&value, PB_VALUE_INFO_NAME, name);
    pb_message(&value, PB_VALUE_INFO_TYPE, &type);
    pb_message(graph, field, &value);
}

/* w (3,3) float. */
static void tiny_weight(clv_buf *graph)
{
    static const float w[9] = {1, -2, 3, -4, 5, -6, 7, -8, 9};
    clv_buf tensor = {0};
    pb_uint(&tensor, PB_TENSOR_DIMS, 3);
    pb_uint(&tensor, PB_TENSOR_DIMS, 3);
    pb_uint(&tensor, PB_TENSOR_DATA_TYPE, 1);
    pb_text(&tensor, PB_TENSOR_NAME, "w");
    pb_bytes(&tensor, PB_TENSOR_RAW_DATA, w, sizeof w);
    pb_message(graph, PB_GRAPH_INITIALIZER, &tensor);
}

static void tiny_node(clv_buf *graph, const char *op, const char *from,
                      const char *with, const char *to)
{
    clv_buf node = {0};
    pb_text(&node, PB_NODE_INPUT, from);
    if (with)
        pb_text(&node, PB_NODE_INPUT, with);
    pb_text(&node, PB_NODE_OUTPUT, to);
    pb_text(&node, PB_NODE_OP_TYPE, op);
    if (!strcmp(op, "Fancy")) {
        clv_buf heads = {0};
        pb_text(&heads, PB_ATTR_NAME, "heads");
        pb_uint(&heads, PB_ATTR_I, 2);
        pb_uint(&heads, PB_ATTR_TYPE, PB_TYPE_INT);
        pb_message(&node, PB_NODE_ATTRIBUTE, &heads);
        pb_text(&node, PB_NODE_DOMAIN, "own");
    }
    pb_message(graph, PB_GRAPH_NODE, &node);
}

static void tiny_write(const char *name, bool fancy)
{
    clv_buf model = {0}, graph = {0}, opset = {0};
    tiny_value(&graph, PB_GRAPH_INPUT, "x");
    tiny_weight(&graph);
    tiny_node(&graph, "MatMul", "x", "w", "a");
    tiny_node(&graph, "Relu", "a", NULL, "b");
    tiny_node(&graph, fancy ? "Fancy" : "Softmax", "b", NULL, "c");
    tiny_node(&graph, "Add", "b", "x", "d");
    tiny_value(&graph, PB_GRAPH_OUTPUT, "c");
    tiny_value(&graph, PB_GRAPH_OUTPUT, "d");
    pb_uint(&opset, PB_OPSET_VERSION, 17);
    pb_uint(&model, PB_MODEL_IR_VERSION, 8);
    pb_message(&model, PB_MODEL_OPSET_IMPORT, &opset);
    pb_message(&model, PB_MODEL_GRAPH, &graph);
    fuzz_file(name, model.text, model.len);
    clv_buf_free(&model);
}

const char *fuzz_tiny_file(void)
{
    static char path[600];
    if (*path)
        return path;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), FUZZ_TINY);
    tiny_write(FUZZ_TINY, true);
    tiny_write(FUZZ_PLAIN, false);
    return path;
}

const clv_graph *fuzz_tiny(void)
{
    static clv_graph *g;
    if (!g && clv_graph_open(fuzz_tiny_file(), NULL, &g, NULL) != CLV_OK)
        abort();
    return g;
}

bool fuzz_is_small(const clv_graph *g)
{
    enum { LARGE = 1 << 20 }; /* numbers, and operations on them */
    clv_profile *p = NULL;
    if (clv_profile_new(g, NULL, &p, NULL) != CLV_OK)
        return false;
    const clv_totals *t = clv_profile_totals(p);
    bool small = t->flops < LARGE && t->memory < LARGE;
    clv_profile_free(p);
    for (uint32_t v = 0; v < clv_graph_num_values(g) && small; v++) {
        clv_value_info value = clv_graph_value(g, v);
        int64_t n = 1;
        uint32_t rank = value.rank == CLV_NONE ? 0 : value.rank;
        for (uint32_t i = 0; i < rank && n < LARGE; i++)
            n = value.dims[i] < LARGE ? n * value.dims[i] : LARGE;
        small = n < LARGE;
    }
    return small;
}

/* -- runs -----------------------------------------------------------------*/

clv_status fuzz_run_start(fuzz_run *r, const clv_graph *g, clv_backend *by)
{
    const clv_limits limits = {.size = sizeof limits,
                               .max_seconds = 2,
                               .max_trips = 200,
                               .max_growth = 1 << 20};
    const clv_model_opts opts = {
        .size = sizeof opts, .backend = by, .threads = 1, .memory = 64 << 20};
    clv_status s = clv_limits_set(&limits, NULL);
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &r->model, NULL);
    if (s == CLV_OK)
        s = clv_context_new(r->model, &r->context, NULL);
    if (s == CLV_OK)
        s = random_inputs_give(&r->inputs, g, r->context);
    if (s == CLV_OK)
        s = clv_context_run(r->context, NULL);
    return s;
}

void fuzz_run_free(fuzz_run *r)
{
    clv_context_free(r->context);
    clv_model_free(r->model);
    random_inputs_free(&r->inputs);
    (void)!clv_limits_set(NULL, NULL);
}

clv_backend *fuzz_plain(void)
{
    static clv_backend *b;
    if (!b && clv_backend_open("ref", NULL, &b, NULL) != CLV_OK)
        abort();
    return b;
}

/* -- files ----------------------------------------------------------------*/

static char folder[] = "/tmp/cleave-fuzz-XXXXXX";

static void clear(const char *path, bool all)
{
    DIR *d = opendir(path);
    char inner[1200];
    for (struct dirent *entry; d && (entry = readdir(d));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") ||
            (!all && (!strcmp(name, FUZZ_TINY) || !strcmp(name, FUZZ_PLAIN))))
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, name);
        if (unlink(inner) != 0) {
            clear(inner, true);
            rmdir(inner);
        }
    }
    if (d)
        closedir(d);
}

void fuzz_clear(void)
{
    clear(folder, false);
}

static void remove_folder(void)
{
    clear(folder, true);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    static bool made;
    if (!made && !mkdtemp(folder))
        abort();
    if (!made)
        atexit(remove_folder);
    made = true;
    return folder;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *f = fopen(path, "wb");
    bool ok = f && (!size || fwrite(data, 1, size, f) == size);
    if (!f || fclose(f) != 0 || !ok)
        abort();
    return path;
}

static int outside = -1;

void fuzz_enter(void)
{
    outside = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outside < 0 || chdir(fuzz_folder()) != 0)
        abort();
}

void fuzz_leave(void)
{
    if (fchdir(outside) != 0)
        abort();
    close(outside);
}
