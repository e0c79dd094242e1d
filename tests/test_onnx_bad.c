/* test_onnx_bad.c - hostile ONNX files: one clear line, exit 3, in bounded time
 * and memory. */
#include "check.h"
#include "cleave.h"
#include "formats/formats.h"
#include "formats/onnx/wire.h"
#include "onnx_bytes.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static clv_status profiled(clv_mapping map, clv_totals *totals, clv_err *e)
{
    clv_graph *g = NULL;
    *e = (clv_err){0};
    clv_status s = clv__onnx_load(map, "bad.onnx", NULL, &g, e);
    clv_profile *p = NULL;
    if (s == CLV_OK)
        s = clv_profile_new(g, NULL, &p, e);
    if (s == CLV_OK)
        *totals = *clv_profile_totals(p);
    clv_profile_free(p);
    clv_graph_free(g);
    return s;
}

static clv_status load(const uint8_t *data, size_t size, clv_err *e)
{
    /* An allocation of exactly this size: sanitizers see one byte too far. */
    uint8_t *copy = malloc(size ? size : 1);
    if (size)
        memcpy(copy, data, size);
    clv_mapping map = {.data = copy, .size = size, .borrowed = true};
    clv_totals totals;
    clv_status s = profiled(map, &totals, e);
    free(copy);
    return s;
}

/* Refused with exit 3 and a single line. */
static void check_refused(clv_status s, const clv_err *e)
{
    CHECK_EQ_INT(clv_status_exit(s), 3);
    CHECK(e->msg[0] && !strchr(e->msg, '\n'));
}

/* Takes m. */
static void refused(const char *name, bytes m, const char *message)
{
    clv_err e;
    check_row(name);
    check_refused(load(m.data, m.size, &e), &e);
    CHECK_HAS(e.msg, message);
    free(m.data);
}

static void accepted(const char *name, bytes m)
{
    clv_err e;
    check_row(name);
    check_that(load(m.data, m.size, &e) == CLV_OK, __FILE__, __LINE__, "%s",
               e.msg);
    free(m.data);
}

/* -- damaged files --------------------------------------------------------*/

static const char *const small_files[] = {
    "tests/data/onnx/functions.onnx",
    "tests/data/onnx/control_flow.onnx",
    "tests/data/onnx/gru.onnx",
};
enum { FILES = sizeof small_files / sizeof *small_files };

/* A file that ends early may end between two fields; else it is refused. */
static void truncated(void)
{
    for (int i = 0; i < FILES; i++) {
        bytes b = bytes_of_file(small_files[i]);
        CHECK_OR_RETURN(b.size > 0);
        for (size_t n = 0; n < b.size; n++) {
            clv_err e;
            clv_status s = load(b.data, n, &e);
            if (s != CLV_OK)
                check_refused(s, &e);
        }
        free(b.data);
    }
}

static void flipped(void)
{
    static const uint8_t masks[] = {0xff, 0x01, 0x80, 0x08};
    for (int i = 0; i < FILES; i++) {
        bytes b = bytes_of_file(small_files[i]);
        for (size_t n = 0; n < 4 * b.size; n++) {
            clv_err e;
            b.data[n / 4] ^= masks[n % 4];
            clv_status s = load(b.data, b.size, &e);
            b.data[n / 4] ^= masks[n % 4];
            if (s != CLV_OK)
                check_refused(s, &e);
        }
        free(b.data);
    }
}

/* -- heads between weights ------------------------------------------------*/

/* A model with all its weights: b, also in a file, open for writing. */
typedef struct on_disk {
    char path[64];
    int fd;
    bytes b;
} on_disk;

static bool write_model(const char *model, on_disk *d)
{
    const clv_onnx_opts zeros = {.size = sizeof zeros,
                                 .weights = CLV_WEIGHTS_ZEROS};
    clv_err e = {0};
    clv_graph *g = NULL;
    *d = (on_disk){.path = "/tmp/cleave-bad-XXXXXX"};
    close(mkstemp(d->path));
    bool ok = clv_graph_open(model, NULL, &g, &e) == CLV_OK &&
              clv_export_onnx(g, d->path, &zeros, &e) == CLV_OK;
    CHECK_STR(e.msg, "");
    clv_graph_free(g);
    d->fd = open(d->path, O_RDWR);
    d->b = bytes_of_file(d->path);
    return ok && d->fd >= 0;
}

/* Files and memory give the same: model, or complaint. */
static void same_either_way(const on_disk *d)
{
    clv_mapping file, memory = {d->b.data, d->b.size, .borrowed = true};
    clv_totals a = {0}, b = {0};
    clv_err in_file, in_memory;
    CHECK_OR_RETURN(clv__mapping_open(d->path, &file, &in_file) == CLV_OK);
    CHECK_EQ_INT(profiled(file, &a, &in_file),
                 profiled(memory, &b, &in_memory));
    CHECK_STR(in_file.msg, in_memory.msg);
    CHECK_EQ_INT(a.params, b.params);
    CHECK_EQ_INT(a.macs, b.macs);
}

static void flip(on_disk *d, size_t at, uint8_t mask)
{
    d->b.data[at] ^= mask;
    CHECK(pwrite(d->fd, &d->b.data[at], 1, (off_t)at) == 1);
}

/* The heads of weights are read from copies of a few bytes: each byte of some
 * of them is damaged. */
static void heads(void)
{
    static const uint8_t masks[] = {0xff, 0x01, 0x80, 0x08};
    on_disk d;
    CHECK_OR_RETURN(write_model("squeezenet1_1", &d));
    same_either_way(&d);
    wire w = wire_over(d.b.data, d.b.size);
    wire_field f = {0};
    while (f.number != 7)
        CHECK_OR_RETURN(wire_next(&w, &f, NULL) == CLV_OK);
    w = f.bytes;
    for (int tensors = 0; wire_left(&w);) {
        size_t head = (size_t)(w.cur - w.file);
        CHECK_OR_RETURN(wire_next(&w, &f, NULL) == CLV_OK);
        if (f.number != 5 || tensors++ % 8)
            continue;
        for (size_t i = 0; i < 4 * 48; i++) {
            flip(&d, head + i / 4, masks[i % 4]);
            same_either_way(&d);
            flip(&d, head + i / 4, masks[i % 4]);
        }
    }
    close(d.fd);
    unlink(d.path);
    free(d.b.data);
}

/* -- names ----------------------------------------------------------------*/

static bytes with_nodes(int n, const char *const (*nodes)[3])
{
    bytes g = graph_of();
    for (int i = 0; i < n; i++)
        put_message(&g, 1, node_of(nodes[i][0], nodes[i][1], nodes[i][2]));
    return model_of(g);
}
#define NODES(...) \
    with_nodes(sizeof((const char *const[][3]){__VA_ARGS__}) / \
                   sizeof(const char *const[3]), \
               (const char *const[][3]){__VA_ARGS__})

static void names(void)
{
    accepted("plain", NODES({"Relu", "x", "y"}));
    accepted("out of order", NODES({"Relu", "a", "y"}, {"Abs", "x", "a"}));
    accepted("unknown operator", NODES({"NoSuchOp", "x", "y"}));
    refused("cycle",
            NODES({"Add", "x b", "a"}, {"Relu", "a", "b"}, {"Abs", "a", "y"}),
            "cycle");
    refused("itself", NODES({"Add", "x y", "y"}), "cycle");
    refused("undefined input", NODES({"Add", "x nothing", "y"}),
            "input 'nothing' is not defined");
    refused("undefined output", NODES({"Relu", "x", "z"}),
            "output 'y' is not defined");
    refused("defined twice", NODES({"Relu", "x", "y"}, {"Abs", "x", "y"}),
            "'y' is defined twice");
    refused("overwrites its input", NODES({"Relu", "x", "x"}),
            "'x' is defined twice");
    refused("no operator", NODES({"", "x", "y"}), "a node without an operator");
    refused("empty", (bytes){0}, "the file is empty");
    bytes no_graph = {0};
    put_int(&no_graph, 1, 8);
    refused("no graph", no_graph, "no graph");
}

/* Processor time of loading a chain of n nodes with names of one prefix. */
static double load_chain(const char *prefix, int n)
{
    bytes g = graph_of();
    char from[40] = "x", to[40];
    for (int i = 0; i < n; i++) {
        snprintf(to, sizeof to, "%s%08d", prefix, i);
        put_message(&g, 1, node_of("Relu", from, i + 1 < n ? to : "y"));
        memcpy(from, to, sizeof from);
    }
    bytes m = model_of(g);
    clv_err e;
    clock_t start = clock();
    check_that(load(m.data, m.size, &e) == CLV_OK, __FILE__, __LINE__, "%s",
               e.msg);
    free(m.data);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Names that collide under a key that somebody guessed (test_graph.c shows that
 * they do) load as fast as others: the key is drawn. */
static void crafted(void)
{
    double plain = load_chain("ordinary", 30000);
    double made = load_chain("guessed!", 30000);
    CHECK(made < 4 * plain + 0.1);
}

/* -- functions ------------------------------------------------------------*/

/* Function `name` of domain "f": x -> y through `calls` calls of `callee`. */
static bytes function_of(const char *name, const char *callee, int calls)
{
    bytes f = {0}, opset = {0};
    put_text(&f, 1, name);
    put_text(&f, 4, "x");
    put_text(&f, 5, "y");
    for (int i = 0; i < calls; i++) {
        char in[20], out[20];
        snprintf(in, sizeof in, i ? "v%d" : "x", i);
        snprintf(out, sizeof out, i + 1 < calls ? "v%d" : "y", i + 1);
        bytes n = node_of(callee, in, out);
        put_text(&n, 7, *callee == 'f' ? "f" : "");
        put_message(&f, 7, n);
    }
    put_int(&opset, 2, 17);
    put_message(&f, 9, opset);
    put_text(&f, 10, "f");
    return f;
}

static bytes calls_f0(void)
{
    bytes g = graph_of(), n = node_of("f0", "x", "y");
    put_text(&n, 7, "f");
    put_message(&g, 1, n);
    return model_of(g);
}

static void functions(void)
{
    bytes m = calls_f0();
    put_message(&m, 25, function_of("f0", "Relu", 3));
    accepted("three calls", m);
    m = calls_f0();
    put_message(&m, 25, function_of("f0", "f0", 1));
    refused("recursive", m, "function 'f0' calls itself");
    m = calls_f0();
    put_message(&m, 25, function_of("f0", "f1", 1));
    put_message(&m, 25, function_of("f1", "f0", 1));
    refused("recursive over two", m, "function 'f0' calls itself");
    m = calls_f0();
    for (int i = 0; i < 20; i++) {
        char name[20], callee[20];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(callee, sizeof callee, i < 19 ? "f%d" : "Relu", i + 1);
        put_message(&m, 25, function_of(name, callee, 10));
    }
    refused("ten to the twenty", m, "expand without measure");
}

/* -- bodies ---------------------------------------------------------------*/

/* A graph whose one node is an If around `inner`, or a Relu. */
static bytes branch_of(bytes inner, bool leaf)
{
    bytes g = {0};
    bytes n = node_of(leaf ? "Relu" : "If", leaf ? "x" : "x", "y");
    for (int i = 0; i < 2 && !leaf; i++) {
        bytes a = {0};
        put_text(&a, 1, i ? "else_branch" : "then_branch");
        put_field(&a, 6, inner.data, i ? 0 : inner.size);
        put_int(&a, 20, 5);
        put_message(&n, 5, a);
    }
    free(inner.data);
    put_message(&g, 1, n);
    put_message(&g, 12, value_of("y", 0xff, NULL));
    return g;
}

static void bodies(void)
{
    bytes g = branch_of((bytes){0}, true);
    for (int i = 0; i < 10000; i++)
        g = branch_of(g, false);
    static const int64_t dims[1] = {1};
    put_message(&g, 11, value_of("x", 1, dims));
    refused("nested 10000 deep", model_of(g), "nested deeper than 64");
}

/* -- sizes ----------------------------------------------------------------*/

static bytes with_initializer(const int64_t *dims, uint32_t rank,
                              const char *location, size_t raw)
{
    bytes g = graph_of(), t = {0};
    for (uint32_t i = 0; i < rank; i++)
        put_int(&t, 1, (uint64_t)dims[i]);
    put_int(&t, 2, 1);
    put_text(&t, 8, "w");
    if (raw) {
        uint8_t zeros[64] = {0};
        put_field(&t, 9, zeros, raw);
    }
    if (location) {
        bytes entry = {0};
        put_text(&entry, 1, "location");
        put_text(&entry, 2, location);
        put_message(&t, 13, entry);
        put_int(&t, 14, 1);
    }
    put_message(&g, 5, t);
    put_message(&g, 1, node_of("Add", "x w", "y"));
    return model_of(g);
}

static void sizes(void)
{
    static const int64_t huge[4] = {INT64_C(1) << 40, INT64_C(1) << 40, 2, 3};
    static const int64_t large[3] = {INT64_C(1) << 40, 2, 3};
    static const int64_t negative[2] = {-2, 3}, plain[2] = {2, 3};
    static const int64_t many[20] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    accepted("2^40 rows without data", with_initializer(large, 3, NULL, 0));
    accepted("as it should be", with_initializer(plain, 2, NULL, 24));
    refused("product overflows", with_initializer(huge, 4, NULL, 0),
            "does not fit 64 bits");
    refused("2^40 rows of 24 bytes", with_initializer(large, 3, NULL, 24),
            "tensor 'w' has 24 bytes of data");
    refused("negative", with_initializer(negative, 2, NULL, 0), "dimension -2");
    refused("twenty axes", with_initializer(many, 20, NULL, 0),
            "more than 16 axes");
    bytes g = {0};
    put_message(&g, 11, value_of("x", 4, huge));
    put_message(&g, 12, value_of("y", 0xff, NULL));
    put_message(&g, 1, node_of("Relu", "x", "y"));
    refused("input overflows", model_of(g), "does not fit 64 bits");
}

static void external_data(void)
{
    static const int64_t dims[2] = {2, 3};
    static const char *const outside[] = {
        "/etc/passwd", "../weights.bin", "a/../../b", "..",
        "a/..",        "a\\..\\b",       "",
    };
    accepted("beside the model", with_initializer(dims, 2, "w.bin", 0));
    accepted("in a folder", with_initializer(dims, 2, "a/b..c/w.bin", 0));
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        refused(outside[i], with_initializer(dims, 2, outside[i], 0),
                "outside the model's folder");
}

/* -- windows --------------------------------------------------------------*/

typedef struct window_row {
    const char *op, *attr;
    uint32_t n;          /* entries of the attribute, all of them 3 */
    const char *message; /* NULL: accepted */
} window_row;

/* x (1,3,9,9), a kernel of 3 by 3, and one attribute more. */
static bytes with_window(const window_row *r)
{
    static const int64_t x[4] = {1, 3, 9, 9}, w[4] = {3, 3, 3, 3};
    bytes g = {0}, n = node_of(r->op, *r->op == 'C' ? "x w" : "x", "y");
    const char *names[2] = {"kernel_shape", r->attr};
    bool own = !strcmp(r->attr, "kernel_shape");
    for (int i = own ? 1 : 0; i < 2; i++) {
        bytes a = {0};
        put_text(&a, 1, names[i]);
        for (uint32_t k = 0; k < (i ? r->n : 2); k++)
            put_int(&a, 8, 3);
        put_int(&a, 20, 7);
        put_message(&n, 5, a);
    }
    put_message(&g, 1, n);
    put_message(&g, 11, value_of("x", 4, x));
    put_message(&g, 11, value_of("w", 4, w));
    put_message(&g, 12, value_of("y", 0xff, NULL));
    return model_of(g);
}

/* ONNX has one entry per axis, and two of padding: none stands for all. */
static void windows(void)
{
    static const window_row rows[] = {
        {"MaxPool", "strides", 2, NULL},
        {"MaxPool", "pads", 4, NULL},
        {"MaxPool", "kernel_shape", 3, "kernel has 3 entries, must have 2"},
        {"MaxPool", "kernel_shape", 1, "kernel has 1 entries, must have 2"},
        {"MaxPool", "strides", 1, "stride has 1 entries, must have 2"},
        {"AveragePool", "pads", 2, "padding has 2 entries, must have 4"},
        {"LpPool", "dilations", 3, "dilation has 3 entries, must have 2"},
        {"Conv", "strides", 2, NULL},
        {"Conv", "kernel_shape", 3, "kernel has 3 entries, must have 2"},
        {"Conv", "pads", 3, "padding has 3 entries, must have 4"},
        {"ConvTranspose", "output_padding", 1, "must have 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].message)
            refused(rows[i].attr, with_window(&rows[i]), rows[i].message);
        else
            accepted(rows[i].attr, with_window(&rows[i]));
    }
}

static const check_case cases[] = {
    {"truncated", truncated},
    {"flipped", flipped},
    {"heads", heads},
    {"names", names},
    {"crafted", crafted},
    {"functions", functions},
    {"bodies", bodies},
    {"sizes", sizes},
    {"external_data", external_data},
    {"windows", windows},
};
CHECK_MAIN(cases)
