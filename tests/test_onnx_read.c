/* test_onnx_read.c - what the ONNX reader makes of a file: options, symbols,
 * scopes, kinds of weights, old opsets, loops, declared shapes. */
#include "check.h"
#include "cleave.h"
#include "formats/formats.h"
#include "onnx_bytes.h"

#define DATA "tests/data/onnx/"

typedef struct opened {
    clv_graph *g;
    clv_profile *p;
    const clv_totals *t;
} opened;

static bool profile_of(opened *o, clv_status s, const clv_err *e)
{
    clv_err e2;
    return check_that(s == CLV_OK, __FILE__, __LINE__, "%s", e->msg) &&
           CHECK(clv_profile_new(o->g, NULL, &o->p, &e2) == CLV_OK) &&
           (o->t = clv_profile_totals(o->p)) != NULL;
}

static bool open_file(const char *path, const clv_open_opts *opts, opened *o)
{
    clv_err e;
    *o = (opened){0};
    return profile_of(o, clv_graph_open(path, opts, &o->g, &e), &e);
}

/* Takes m; the graph borrows nothing of it that is read later. */
static bool open_bytes(bytes m, const clv_open_opts *opts, opened *o)
{
    clv_mapping map = {.data = m.data, .size = m.size, .borrowed = true};
    clv_err e = {0};
    *o = (opened){0};
    clv_status s = clv__onnx_load(map, "test.onnx", opts, &o->g, &e);
    bool ok = profile_of(o, s, &e);
    free(m.data);
    return ok;
}

static void close_it(opened *o)
{
    clv_profile_free(o->p);
    clv_graph_free(o->g);
}

static bool warns(const clv_graph *g, const char *words)
{
    for (uint32_t i = 0; clv_graph_warning(g, i); i++)
        if (strstr(clv_graph_warning(g, i), words))
            return true;
    return false;
}

static clv_value_info output_of(const opened *o, uint32_t i)
{
    const uint32_t *ids = clv_graph_outputs(o->g, NULL);
    return clv_graph_value(o->g, ids[i]);
}

/* -- options --------------------------------------------------------------*/

static const int64_t one = 1814073344; /* MACs of resnet18 at batch 1 */

static void symbols(void)
{
    const char *file = DATA "resnet18-batch.legacy.onnx";
    opened o;
    if (open_file(file, NULL, &o)) {
        CHECK_EQ_INT(o.t->macs, one);
        CHECK(warns(o.g, "dimension 'batch' is taken as 1"));
    }
    close_it(&o);
    clv_dim_arg dim = {"batch", 8};
    if (open_file(file,
                  &(clv_open_opts){
                      .size = sizeof(clv_open_opts), .dims = &dim, .n_dims = 1},
                  &o)) {
        CHECK_EQ_INT(o.t->macs, 8 * one);
        CHECK(!clv_graph_warning(o.g, 0));
    }
    close_it(&o);
    if (open_file(file,
                  &(clv_open_opts){.size = sizeof(clv_open_opts), .batch = 4},
                  &o))
        CHECK_EQ_INT(o.t->macs, 4 * one);
    close_it(&o);
    int64_t dims[4] = {2, 3, 224, 224};
    clv_shape_arg shape = {NULL, dims, 4};
    if (open_file(file,
                  &(clv_open_opts){.size = sizeof(clv_open_opts),
                                   .shapes = &shape,
                                   .n_shapes = 1},
                  &o))
        CHECK_EQ_INT(o.t->macs, 2 * one);
    close_it(&o);
}

/* A shape given for one input binds its symbols for the others. */
static void symbols_are_shared(void)
{
    int64_t dims[2] = {2, 16};
    clv_shape_arg shape = {NULL, dims, 2};
    clv_open_opts opts = {.size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    opened o;
    if (open_file(DATA "bert_tiny-free.onnx", &opts, &o)) {
        CHECK_EQ_INT(o.t->macs, 2 * INT64_C(6422528));
        uint32_t n;
        const uint32_t *ids = clv_graph_inputs(o.g, &n);
        CHECK_EQ_INT(n, 2);
        CHECK_EQ_INT(clv_graph_value(o.g, ids[1]).dims[0], 2);
    }
    close_it(&o);
}

static void bad_shape(void)
{
    int64_t dims[2] = {2, 16};
    clv_shape_arg shape = {NULL, dims, 2};
    clv_open_opts opts = {.size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    clv_graph *g;
    clv_err e;
    CHECK(clv_graph_open(DATA "alexnet.legacy.onnx", &opts, &g, &e) ==
          CLV_SHAPE);
    CHECK_HAS(e.msg, "has 4 axes, the given shape has 2");
}

/* The batch is the first axis of every input, one with a given shape too. */
static void batch_of_given_shape(void)
{
    int64_t dims[2] = {1, 16};
    clv_shape_arg shape = {"input_ids", dims, 2};
    clv_open_opts opts = {
        .size = sizeof opts, .shapes = &shape, .n_shapes = 1, .batch = 2};
    opened o;
    if (open_file(DATA "bert_tiny-free.onnx", &opts, &o))
        CHECK_EQ_INT(o.t->macs, 2 * INT64_C(6422528));
    close_it(&o);
}

/* Options that contradict themselves, or speak of an input that is not there:
 * what is given again with the same value is fine. */
static void bad_options(void)
{
    static const int64_t a[2] = {1, 16}, b[2] = {1, 32};
    static const struct {
        const char *name;
        clv_dim_arg dims[3];
        clv_shape_arg shapes[2];
        clv_status want;
        const char *says;
    } rows[] = {
        {"dimension again",
         {{"batch", 1}, {"sequence", 16}, {"batch", 1}},
         {{"input_ids", a, 2}, {"input_ids", a, 2}},
         CLV_OK,
         ""},
        {"dimension twice",
         {{"batch", 1}, {"sequence", 16}, {"batch", 3}},
         {{"input_ids", a, 2}, {"input_ids", a, 2}},
         CLV_USAGE,
         "dimension 'batch' is given as 1 and as 3"},
        {"negative",
         {{"batch", 1}, {"sequence", -2}, {"batch", 1}},
         {{"input_ids", a, 2}, {"input_ids", a, 2}},
         CLV_USAGE,
         "dimension 'sequence' is given as -2"},
        {"shape twice",
         {{"batch", 1}, {"sequence", 16}, {"batch", 1}},
         {{"input_ids", a, 2}, {"input_ids", b, 2}},
         CLV_USAGE,
         "the shape of input 'input_ids' is given as [1, 16] and as [1, 32]"},
        {"no such input",
         {{"batch", 1}, {"sequence", 16}, {"batch", 1}},
         {{"input_ids", a, 2}, {"input_idx", a, 2}},
         CLV_USAGE,
         "has no input 'input_idx'; it has 'input_ids'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_open_opts opts = {.size = sizeof opts,
                              .dims = rows[i].dims,
                              .n_dims = 3,
                              .shapes = rows[i].shapes,
                              .n_shapes = 2};
        clv_graph *g;
        clv_err e;
        check_row(rows[i].name);
        CHECK_EQ_INT(clv_graph_open(DATA "bert_tiny-free.onnx", &opts, &g, &e),
                     rows[i].want);
        CHECK_HAS(e.msg, rows[i].says);
        clv_graph_free(g);
    }
}

static void counted_type(void)
{
    opened full, half;
    clv_open_opts opts = {.size = sizeof opts, .dtype = CLV_FLOAT16};
    if (open_file(DATA "resnet18.legacy.onnx", NULL, &full) &&
        open_file(DATA "resnet18.legacy.onnx", &opts, &half)) {
        CHECK_EQ_INT(full.t->macs, half.t->macs);
        CHECK_EQ_INT(full.t->weight_bytes, 2 * half.t->weight_bytes);
        CHECK_EQ_INT(full.t->memory, 2 * half.t->memory);
    }
    close_it(&full);
    close_it(&half);
}

/* -- scopes ---------------------------------------------------------------*/

static void check_module(const char *file, const char *path, int64_t params)
{
    opened o;
    uint32_t n;
    bool found = false;
    check_row(file);
    if (open_file(file, NULL, &o)) {
        const clv_module_total *m = clv_profile_modules(o.p, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (strcmp(m[i].path, path))
                continue;
            found = true;
            CHECK_EQ_INT(m[i].params, params);
        }
        CHECK(found);
    }
    close_it(&o);
}

/* The same path from all three ways torch writes it. */
static void modules(void)
{
    check_module(DATA "resnet18.legacy.onnx", "layer1.0.conv1", 36864);
    check_module(DATA "resnet50.dynamo.onnx", "layer1.0.bn1",
                 4096 + 64); /* the norm is folded, its scope stays */
    check_module(DATA "alexnet.dynamo.onnx", "features.0", 23296);
    check_module(DATA "alexnet.legacy.onnx", "features.0", 23296);
    check_module(DATA "squeezenet1_0.dynamo.onnx", "features.3.expand3x3",
                 9280);
}

/* A file whose nodes name no modules has them from the names of its weights:
 * parameters and MACs of each are those of the zoo's. */
static void modules_by_weights(void)
{
    opened zoo, file;
    uint32_t n, of_file, at = 0;
    bool both = open_file("resnet18", NULL, &zoo);
    both = open_file(DATA "resnet18.dynamo.onnx", NULL, &file) && both;
    const clv_module_total *want = clv_profile_modules(zoo.p, &n);
    const clv_module_total *got = clv_profile_modules(file.p, &of_file);
    for (uint32_t i = 1; i < n && CHECK(both); i++) {
        if (want[i].params == 0)
            continue;
        for (at = 0; at < of_file && strcmp(got[at].path, want[i].path);)
            at++;
        check_row(want[i].path);
        if (!CHECK(at < of_file))
            continue;
        CHECK_EQ_INT(got[at].params, want[i].params);
        CHECK_EQ_INT(got[at].macs, want[i].macs);
    }
    close_it(&zoo);
    close_it(&file);
}

/* -- weights --------------------------------------------------------------*/

/* Running statistics are stored, but are no parameters. */
static void kinds(void)
{
    opened o;
    int64_t count[CLV_VALUE_CONST + 1] = {0};
    if (open_file(DATA "resnet18.legacy.onnx", NULL, &o))
        for (uint32_t i = 0; i < clv_graph_num_values(o.g); i++) {
            clv_value_info v = clv_graph_value(o.g, i);
            int64_t n = 1;
            for (uint32_t k = 0; v.rank != CLV_NONE && k < v.rank; k++)
                n *= v.dims[k];
            count[v.kind] += n;
        }
    CHECK_EQ_INT(count[CLV_VALUE_PARAM], 11689512);
    CHECK_EQ_INT(count[CLV_VALUE_BUFFER], 9600);
    close_it(&o);
}

/* Quantised weights are read as bytes, also through DequantizeLinear. */
static void quantised(void)
{
    static const char *const files[] = {DATA "mobilenet_v2-qdq.onnx",
                                        DATA "mobilenet_v2-qoperator.onnx",
                                        DATA "mobilenet_v2-dynamic.onnx"};
    for (int i = 0; i < 3; i++) {
        opened o;
        check_row(files[i]);
        if (open_file(files[i], NULL, &o)) {
            CHECK_EQ_INT(o.t->params, 3487816);
            /* one byte each, and biases, scales, zero points */
            CHECK(o.t->bytes_weights > 3400000);
            CHECK(o.t->bytes_weights < 4200000);
        }
        close_it(&o);
    }
}

/* The next layer from i on that multiplies, or n. */
static uint32_t next_product(const clv_layer *l, uint32_t i, uint32_t n)
{
    while (i < n && l[i].cost.macs == 0)
        i++;
    return i;
}

/* The same model by the same quantiser, as operators between quantise and
 * dequantise and as operators on integers: products equal one by one. */
static void compare_formats(const opened *a, const opened *b, double near)
{
    uint32_t na, nb, i = 0, k = 0;
    const clv_layer *x = clv_profile_layers(a->p, &na);
    const clv_layer *y = clv_profile_layers(b->p, &nb);
    while ((i = next_product(x, i, na)) < na &&
           (k = next_product(y, k, nb)) < nb) {
        CHECK_EQ_INT(x[i].cost.macs, y[k].cost.macs);
        CHECK_EQ_INT(x[i].cost.params, y[k].cost.params);
        CHECK_EQ_INT(x[i].cost.bytes_in, y[k].cost.bytes_in);
        CHECK_EQ_INT(x[i].cost.bytes_out, y[k].cost.bytes_out);
        CHECK_STR(clv_dtype_name(x[i].dtype), clv_dtype_name(y[k].dtype));
        CHECK_STR(clv_dtype_name(x[i].dtype), "int8");
        i++, k++;
    }
    CHECK(next_product(x, i, na) == na && next_product(y, k, nb) == nb);
    CHECK_EQ_INT(a->t->params, b->t->params);
    CHECK_EQ_INT(a->t->integer_macs, a->t->macs);
    CHECK_EQ_INT(b->t->integer_macs, a->t->macs);
    double ratio = (double)a->t->memory / (double)b->t->memory;
    CHECK(ratio > 1 - near && ratio < 1 + near);
}

/* Operators on integers also read scales and zero points. Of bert, the sums
 * after products are on integers in one file and not in the other. */
static void formats(void)
{
    static const struct {
        const char *qdq, *qoperator;
        double near;
    } rows[] = {
        {DATA "mobilenet_v2-qdq.onnx", DATA "mobilenet_v2-qoperator.onnx", .01},
        {DATA "squeezenet1_1-qdq.onnx", DATA "squeezenet1_1-qoperator.onnx",
         .01},
        {DATA "bert_tiny-qdq.onnx", DATA "bert_tiny-qoperator.onnx", .05}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        opened a, b;
        check_row(rows[i].qdq);
        bool both = open_file(rows[i].qdq, NULL, &a);
        both = open_file(rows[i].qoperator, NULL, &b) && both;
        if (CHECK(both))
            compare_formats(&a, &b, rows[i].near);
        close_it(&a);
        close_it(&b);
    }
}

/* -- old opsets -----------------------------------------------------------*/

static bytes old_model(bytes g, uint64_t version)
{
    bytes m = {0}, opset = {0};
    put_int(&m, 1, 3);
    put_message(&m, 7, g);
    put_int(&opset, 2, version);
    put_message(&m, 8, opset);
    return m;
}

static bytes int_attr(const char *name, uint64_t i)
{
    bytes a = {0};
    put_text(&a, 1, name);
    put_int(&a, 3, i);
    put_int(&a, 20, 2);
    return a;
}

static bytes ints_attr(const char *name, const int64_t *v, int n)
{
    bytes a = {0};
    put_text(&a, 1, name);
    for (int i = 0; i < n; i++)
        put_int(&a, 8, (uint64_t)v[i]);
    put_int(&a, 20, 7);
    return a;
}

static void check_dims(const opened *o, uint32_t rank, const int64_t *dims)
{
    clv_value_info v = output_of(o, 0);
    CHECK_EQ_INT(v.rank, rank);
    for (uint32_t i = 0; i < rank && i < v.rank && v.rank != CLV_NONE; i++)
        CHECK_EQ_INT(v.dims[i], dims[i]);
}

/* x [2,3,4] + b [3] along axis 1, as before opset 7. */
static void old_broadcast(void)
{
    static const int64_t x[3] = {2, 3, 4}, b[1] = {3};
    bytes g = {0}, n = node_of("Add", "x b", "y");
    put_message(&n, 5, int_attr("axis", 1));
    put_message(&n, 5, int_attr("broadcast", 1));
    put_message(&g, 1, n);
    put_message(&g, 11, value_of("x", 3, x));
    put_message(&g, 11, value_of("b", 1, b));
    put_message(&g, 12, value_of("y", 0xff, NULL));
    opened o;
    if (open_bytes(old_model(g, 6), NULL, &o))
        check_dims(&o, 3, x);
    close_it(&o);
}

/* axes of Unsqueeze and starts of Slice as attributes. */
static void old_attributes(void)
{
    static const int64_t x[2] = {2, 3}, want[3] = {1, 2, 2};
    static const int64_t zero[1] = {0}, last[1] = {1}, two[1] = {2};
    bytes g = {0}, a = node_of("Unsqueeze", "x", "a");
    bytes s = node_of("Slice", "a", "y");
    put_message(&a, 5, ints_attr("axes", zero, 1));
    put_message(&s, 5, ints_attr("axes", two, 1));
    put_message(&s, 5, ints_attr("starts", last, 1));
    put_message(&s, 5, ints_attr("ends", (const int64_t[]){INT64_MAX}, 1));
    put_message(&g, 1, a);
    put_message(&g, 1, s);
    put_message(&g, 11, value_of("x", 2, x));
    put_message(&g, 12, value_of("y", 0xff, NULL));
    opened o;
    if (open_bytes(old_model(g, 7), NULL, &o))
        check_dims(&o, 3, want);
    close_it(&o);
}

/* -- what the file declares -----------------------------------------------*/

static void declared_shapes(void)
{
    static const int64_t wrong[2] = {2, 4}, right[2] = {2, 3};
    bytes g = graph_of();
    put_message(&g, 1, node_of("Relu", "x", "a"));
    put_message(&g, 1, node_of("Mystery", "a", "y"));
    put_message(&g, 13, value_of("a", 2, wrong));
    opened o;
    if (open_bytes(model_of(g), NULL, &o)) {
        CHECK(warns(o.g, "node 'Relu': the file says [2, 4], inferred [2, 3]"));
        CHECK_EQ_INT(o.t->trust[CLV_TRUST_UNKNOWN], 1);
        CHECK_EQ_INT(output_of(&o, 0).rank, CLV_NONE);
        CHECK_STR(clv_graph_node(o.g, 1).origin, "Mystery");
    }
    close_it(&o);
    g = (bytes){0};
    put_message(&g, 11, value_of("x", 2, right));
    put_message(&g, 12, value_of("y", 2, right));
    put_message(&g, 1, node_of("Mystery", "x", "y"));
    if (open_bytes(model_of(g), NULL, &o))
        check_dims(&o, 2, right); /* an unknown operator's, from the file */
    close_it(&o);
}

/* Scales in half precision behind a Cast, as converters store them: the size of
 * the Resize is known all the same. */
static void scales_behind_a_cast(void)
{
    static const int64_t x[4] = {1, 2, 5, 7}, want[4] = {1, 2, 10, 21};
    static const uint8_t scales[8] = {0, 0x3c, 0, 0x3c, 0, 0x40, 0, 0x42};
    bytes g = {0}, t = {0}, cast = node_of("Cast", "half", "s");
    put_int(&t, 1, 4);
    put_int(&t, 2, 10);
    put_text(&t, 8, "half");
    put_field(&t, 9, scales, sizeof scales);
    put_message(&cast, 5, int_attr("to", 1));
    put_message(&g, 1, cast);
    put_message(&g, 1, node_of("Resize", "x  s", "y"));
    put_message(&g, 5, t);
    put_message(&g, 11, value_of("x", 4, x));
    put_message(&g, 12, value_of("y", 0xff, NULL));
    opened o;
    if (open_bytes(model_of(g), NULL, &o))
        check_dims(&o, 4, want);
    close_it(&o);
}

static void newer_versions(void)
{
    bytes g = graph_of();
    put_message(&g, 1, node_of("Relu", "x", "y"));
    opened o;
    if (open_bytes(old_model(g, 99), NULL, &o))
        CHECK(warns(o.g, "opset 99 is newer than"));
    close_it(&o);
}

/* -- loops ----------------------------------------------------------------*/

/* Five trips of a loop in the file; then an if whose branch data decides. */
static void loops(void)
{
    opened o;
    uint32_t n;
    if (open_file(DATA "control_flow.onnx", NULL, &o)) {
        const clv_layer *l = clv_profile_layers(o.p, &n);
        CHECK_EQ_INT(o.t->macs, 5120);
        CHECK_EQ_INT(o.t->params, 272);
        bool loop = false, branch = false;
        for (uint32_t i = 0; i < n; i++) {
            const char *op = clv_graph_node(o.g, l[i].node).op;
            loop |= !strcmp(op, "loop") && l[i].cost.trust == CLV_TRUST_EXACT;
            branch |=
                !strcmp(op, "if") && l[i].cost.trust == CLV_TRUST_ESTIMATED;
        }
        CHECK(loop && branch);
    }
    close_it(&o);
}

/* -- a graph in pieces ----------------------------------------------------*/

/* Protobuf allows a message in pieces: they add up. */
static void pieces(void)
{
    static const int64_t x[2] = {2, 3}, y[2] = {3, 2};
    bytes first = {0}, second = {0}, m = {0}, opset = {0};
    put_message(&first, 11, value_of("x", 2, x));
    put_message(&first, 1, node_of("Relu", "x", "r"));
    put_message(&second, 1, node_of("Transpose", "r", "y"));
    put_message(&second, 12, value_of("y", 0xff, NULL));
    put_int(&m, 1, 8);
    put_message(&m, 7, first);
    put_int(&opset, 2, 17);
    put_message(&m, 8, opset);
    put_message(&m, 7, second);
    opened o;
    if (open_bytes(m, NULL, &o))
        check_dims(&o, 2, y);
    close_it(&o);
}

/* -- no limits on chains --------------------------------------------------*/

/* TensorProto of which the file holds no data. */
static bytes weight_of(const char *name, int dtype, uint32_t rank,
                       const int64_t *dims)
{
    bytes t = {0};
    for (uint32_t i = 0; i < rank; i++)
        put_int(&t, 1, (uint64_t)dims[i]);
    put_int(&t, 2, (uint64_t)dtype);
    put_text(&t, 8, name);
    return t;
}

/* A batch norm whose mean comes through a hundred views: it is a buffer still,
 * as the variance is, and only scale and bias are parameters. */
static void many_views(void)
{
    static const char *const names[] = {"scale", "bias", "m0", "var"};
    static const int64_t three[1] = {3};
    bytes g = graph_of();
    for (int i = 0; i < 4; i++)
        put_message(&g, 5, weight_of(names[i], 1, 1, three));
    for (int i = 0; i < 100; i++) {
        char from[16], to[16];
        snprintf(from, sizeof from, "m%d", i);
        snprintf(to, sizeof to, "m%d", i + 1);
        put_message(&g, 1, node_of("Transpose", from, to));
    }
    put_message(&g, 1,
                node_of("BatchNormalization", "x scale bias m100 var", "y"));
    opened o;
    if (open_bytes(model_of(g), NULL, &o)) {
        CHECK_EQ_INT(o.t->params, 6);
        CHECK(!clv_graph_warning(o.g, 0));
    }
    close_it(&o);
}

static void check_deep(const opened *o, const char *what)
{
    const char *first = clv_graph_warning(o->g, 0);
    if (CHECK(first != NULL)) {
        CHECK(strstr(first, "weights behind more than 64") != NULL);
        CHECK(strstr(first, what) != NULL);
        CHECK(!clv_graph_warning(o->g, 1));
    }
}

/* Rows of rows of a quantised table are followed one by one, up to a limit that
 * is told. */
static void more_views(void)
{
    static const int64_t table[2] = {4, 3}, three[1] = {3};
    bytes g = graph_of();
    put_message(&g, 5, weight_of("t0", 3, 2, table));
    put_message(&g, 5, weight_of("rows", 7, 1, three));
    put_message(&g, 5, weight_of("scale", 1, 0, NULL));
    for (int i = 0; i < 100; i++) {
        char ins[32], to[16];
        snprintf(ins, sizeof ins, "t%d rows", i);
        snprintf(to, sizeof to, "t%d", i + 1);
        put_message(&g, 1, node_of("Gather", ins, to));
    }
    put_message(&g, 1, node_of("DequantizeLinear", "t100 scale", "y"));
    opened o;
    if (open_bytes(model_of(g), NULL, &o))
        check_deep(&o, "views");
    close_it(&o);
}

/* Integer weights that are joined of parts, joined of parts, ... */
static bytes parts_of(int parts)
{
    static const int64_t column[2] = {3, 1};
    bytes g = graph_of();
    put_message(&g, 5, weight_of("w0", 2, 2, column));
    for (int i = 1; i < parts; i++) {
        char part[16], ins[32], to[16];
        snprintf(part, sizeof part, "p%d", i);
        snprintf(ins, sizeof ins, "w%d p%d", i - 1, i);
        snprintf(to, sizeof to, "w%d", i);
        bytes n = node_of("Concat", ins, to), axis = {0};
        put_text(&axis, 1, "axis");
        put_int(&axis, 3, 1);
        put_int(&axis, 20, 2);
        put_message(&n, 5, axis);
        put_message(&g, 5, weight_of(part, 2, 2, column));
        put_message(&g, 1, n);
    }
    put_message(&g, 1, node_of("DynamicQuantizeLinear", "x", "q scale zero"));
    char ins[32];
    snprintf(ins, sizeof ins, "q w%d", parts - 1);
    put_message(&g, 1, node_of("MatMulInteger", ins, "y"));
    return model_of(g);
}

static void many_parts(void)
{
    opened o;
    if (open_bytes(parts_of(20), NULL, &o))
        CHECK_EQ_INT(o.t->params, 3 * 20);
    close_it(&o);
}

static void more_parts(void)
{
    opened o;
    if (open_bytes(parts_of(80), NULL, &o))
        check_deep(&o, "Concat");
    close_it(&o);
}

/* The table of attributes is searched by halves: its rows are in order. */
static void attribute_rows(void)
{
    const char *name, *before = "";
    clv_attr_key key;
    for (size_t i = 0; clv__onnx_attr_row(i, &name, &key); i++) {
        check_row(name);
        CHECK(strcmp(before, name) < 0);
        before = name;
    }
    CHECK(*before);
}

static const check_case cases[] = {
    {"symbols", symbols},
    {"symbols_are_shared", symbols_are_shared},
    {"bad_shape", bad_shape},
    {"batch_of_given_shape", batch_of_given_shape},
    {"attribute_rows", attribute_rows},
    {"bad_options", bad_options},
    {"counted_type", counted_type},
    {"modules", modules},
    {"modules_by_weights", modules_by_weights},
    {"kinds", kinds},
    {"quantised", quantised},
    {"formats", formats},
    {"old_broadcast", old_broadcast},
    {"old_attributes", old_attributes},
    {"declared_shapes", declared_shapes},
    {"scales_behind_a_cast", scales_behind_a_cast},
    {"newer_versions", newer_versions},
    {"loops", loops},
    {"pieces", pieces},
    {"many_views", many_views},
    {"more_views", more_views},
    {"many_parts", many_parts},
    {"more_parts", more_parts},
};
CHECK_MAIN(cases)
