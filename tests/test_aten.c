/* test_aten.c - calls of torch through formats/aten, without Python: which row
 * a call has, how its arguments map, what it says when they do not.
 *
 * A case is a call and the node it becomes, as text:
 *     operator(inputs) attribute=value ... ! why it is counted only
 * Inputs are x (2,6,8,8), w (4,6,3,3), m (5,7), i (5) of int64, f (5,7) of
 * bool; a number made a constant is written as such, an absent input as -. */
#include "check.h"
#include "formats/aten/aten.h"
#include "starve.h"

enum { X, W, M, INDEX, FLAGS, N_VALUES };

#define NONE \
    { \
        .kind = ATEN_NONE \
    }
#define OTHER \
    { \
        .kind = ATEN_OTHER \
    }
#define ELLIPSIS \
    { \
        .kind = ATEN_ELLIPSIS \
    }
#define BOOL(v) \
    { \
        .kind = ATEN_BOOL, .u.b = v \
    }
#define INT(v) \
    { \
        .kind = ATEN_INT, .u.i = v \
    }
#define FLOAT(v) \
    { \
        .kind = ATEN_FLOAT, .u.f = v \
    }
#define TEXT(v) \
    { \
        .kind = ATEN_STRING, .u.s = v \
    }
#define TENSOR(v) \
    { \
        .kind = ATEN_TENSOR, .u.value = v \
    }
#define ITEMS(...) ((const aten_arg[]){__VA_ARGS__})
#define LIST(...) \
    { \
        .kind = ATEN_LIST, .n = sizeof ITEMS(__VA_ARGS__) / sizeof(aten_arg), \
        .u.items = ITEMS(__VA_ARGS__) \
    }
#define EMPTY \
    { \
        .kind = ATEN_LIST \
    }
#define SLICE(a, b, c) \
    { \
        .kind = ATEN_SLICE, .n = 3, .u.items = ITEMS(a, b, c) \
    }
#define ARGS(...) \
    .args = ITEMS(__VA_ARGS__), \
    .n_args = sizeof ITEMS(__VA_ARGS__) / sizeof(aten_arg)
#define NAMED(...) \
    .named = (const aten_named[]){__VA_ARGS__}, \
    .n_named = sizeof((const aten_named[]){__VA_ARGS__}) / sizeof(aten_named)
#define MEMBERS(...) \
    .module = true, .members = (const aten_named[]){__VA_ARGS__}, \
    .n_members = \
        sizeof((const aten_named[]){__VA_ARGS__}) / sizeof(aten_named)
#define DIMS(...) \
    CLV_FLOAT32, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
        (const int64_t[]) \
    { \
        __VA_ARGS__ \
    }
#define RESULTS(...) \
    .results = (const aten_type[]){__VA_ARGS__}, \
    .n_results = sizeof((const aten_type[]){__VA_ARGS__}) / sizeof(aten_type)

/* -- nodes as text --------------------------------------------------------*/

typedef struct text {
    char s[400];
    size_t n;
} text;

static void say(text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
}

static void say_value(text *t, const clv_graph *g, uint32_t v)
{
    const clv_payload *data = v == CLV_NONE ? NULL : g->values[v].data;
    if (v == CLV_NONE)
        say(t, "-");
    else if (v < N_VALUES)
        say(t, "%s", g->values[v].name);
    else if (data && data->ints)
        say(t, "%lld", (long long)data->ints[0]);
    else if (data && data->floats)
        say(t, "%g", data->floats[0]);
    else
        say(t, "v%u", v);
}

static void say_attr(text *t, const clv_attr *a)
{
    say(t, " %s=", a->name);
    if (a->type == CLV_ATTR_INT)
        say(t, "%lld", (long long)a->u.i);
    else if (a->type == CLV_ATTR_FLOAT)
        say(t, "%g", a->u.f);
    else if (a->type == CLV_ATTR_STRING)
        say(t, "%s", a->u.s);
    for (uint32_t i = 0; a->type == CLV_ATTR_INTS && i < a->n; i++)
        say(t, "%s%lld", i ? "," : "[", (long long)a->u.ints[i]);
    for (uint32_t i = 0; a->type == CLV_ATTR_FLOATS && i < a->n; i++)
        say(t, "%s%g", i ? "," : "[", a->u.floats[i]);
    if (a->type == CLV_ATTR_INTS || a->type == CLV_ATTR_FLOATS)
        say(t, "%s", a->n ? "]" : "[]");
}

static text node_text(const clv_graph *g, uint32_t id)
{
    const clv_node *n = &g->nodes[id];
    const char *why = n->counted_only;
    text t = {"", 0};
    say(&t, "%s(", clv__op_name((clv_op)n->op));
    for (uint32_t i = 0; i < n->n_in; i++) {
        say(&t, "%s", i ? " " : "");
        say_value(&t, g, node_ins(g, n)[i]);
    }
    say(&t, ")");
    for (uint32_t i = 0; i < n->n_attrs; i++)
        say_attr(&t, &n->attrs[i]);
    if (why)
        say(&t, " ! %s", why);
    return t;
}

/* -- graphs ---------------------------------------------------------------*/

static clv_status new_graph(clv_graph **g, clv_err *e)
{
    static const struct {
        const char *name;
        clv_dtype dtype;
        uint32_t rank;
        int64_t dims[4];
    } values[N_VALUES] = {{"x", CLV_FLOAT32, 4, {2, 6, 8, 8}},
                          {"w", CLV_FLOAT32, 4, {4, 6, 3, 3}},
                          {"m", CLV_FLOAT32, 2, {5, 7}},
                          {"i", CLV_INT64, 1, {5}},
                          {"f", CLV_BOOL, 2, {5, 7}}};
    CLV_TRY(clv_graph_new("test", g, e));
    for (int i = 0; i < N_VALUES; i++) {
        uint32_t v = clv__value_add(*g, values[i].name, CLV_VALUE_INPUT,
                                    values[i].dtype);
        if (v == CLV_NONE ||
            !clv__value_set_shape(*g, v, values[i].rank, values[i].dims))
            return clv__nomem(e);
    }
    return CLV_OK;
}

typedef struct row {
    const char *want;
    aten_call call;
} row;

/* A graph of one call, as far as memory goes. */
static clv_status make_call(void *ctx, clv_err *e)
{
    clv_graph *g = NULL;
    clv_status s = new_graph(&g, e);
    aten_builder b = {.g = g};
    if (s == CLV_OK)
        s = clv__aten_call(&b, ctx, e);
    clv__aten_free(&b);
    clv_graph_free(g);
    return s;
}

/* The node of one call. */
static void check_call(const row *r)
{
    clv_graph *g = NULL;
    clv_err err = {0};
    aten_call call = r->call;
    call.name = call.name ? call.name : "one";
    check_row(r->want);
    CHECK_OR_RETURN(new_graph(&g, &err) == CLV_OK);
    aten_builder b = {.g = g};
    if (CHECK(clv__aten_call(&b, &call, &err) == CLV_OK) &&
        CHECK(b.node != CLV_NONE))
        CHECK_STR(node_text(g, b.node).s, r->want);
    clv__aten_free(&b);
    clv_graph_free(g);
    CHECK(starve(make_call, &call, 1) > 2);
}

static void check_calls(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_call(&rows[i]);
}

#define CHECK_CALLS(rows) check_calls(rows, sizeof rows / sizeof *rows)

/* -- arguments ------------------------------------------------------------*/

static void positional_and_named(void)
{
    const row rows[] = {
        {"conv2d(x w -) stride=[2,2] padding=[1,1] dilation=[1,1] groups=1",
         {"aten.conv2d.default",
          ARGS(TENSOR(X), TENSOR(W), NONE, LIST(INT(2), INT(2)),
               LIST(INT(1), INT(1)), LIST(INT(1), INT(1)), INT(1))}},
        {"conv2d(x w) stride=2 groups=1",
         {"conv2d", ARGS(TENSOR(X), TENSOR(W)),
          NAMED({"groups", INT(1)}, {"stride", INT(2)})}},
        {"conv2d(x w) auto_pad=same",
         {"conv2d", ARGS(TENSOR(X), TENSOR(W)),
          NAMED({"padding", TEXT("same")})}},
        {"relu(x)", {"relu", NAMED({"input", TENSOR(X)})}},
        {"sum(x) axes=[1,-1] keepdim=1",
         {"sum", ARGS(TENSOR(X), LIST(INT(1), INT(-1)), BOOL(true))}},
        {"sum(x) axes=2 keepdim=0",
         {"sum", ARGS(TENSOR(X)),
          NAMED({"keepdim", BOOL(false)}, {"axis", INT(2)})}},
        {"sum(x)",
         {"aten.sum.default", ARGS(TENSOR(X)), NAMED({"dtype", OTHER})}},
        {"transpose(m) axes=[0,1]",
         {"transpose", ARGS(TENSOR(M), INT(0), INT(1))}},
        {"transpose(m) axes=[1,0]",
         {"transpose", ARGS(TENSOR(M)),
          NAMED({"dim1", INT(0)}, {"dim0", INT(1)})}},
        {"permute(x) perm=[0,2,3,1]",
         {"permute", ARGS(TENSOR(X), INT(0), INT(2), INT(3), INT(1)),
          .method = true}},
        {"permute(x) perm=[3,2,1,0]",
         {"permute", ARGS(TENSOR(X), LIST(INT(3), INT(2), INT(1), INT(0)))}},
        {"pad(x) padding=[0,0,0,2,0,0,3,1] mode=reflect",
         {"pad", ARGS(TENSOR(X), LIST(INT(2), INT(1), INT(0), INT(3)),
                      TEXT("reflect"))}},
    };
    CHECK_CALLS(rows);
}

static void defaults_and_literals(void)
{
    const row rows[] = {
        {"avg_pool2d(x) kernel=2 count_include_pad=1",
         {"avg_pool2d", ARGS(TENSOR(X), INT(2))}},
        {"avg_pool2d(x) kernel=2 count_include_pad=0",
         {"avg_pool2d", ARGS(TENSOR(X), INT(2)),
          NAMED({"count_include_pad", BOOL(false)})}},
        {"rms_norm(x -) shape=[8] epsilon=1.19209e-07",
         {"rms_norm", ARGS(TENSOR(X), LIST(INT(8)), NONE, NONE)}},
        {"slice(x) axes=1 start=0 end=9223372036854775807",
         {"aten.slice.Tensor", ARGS(TENSOR(X), INT(1))}},
        {"transpose(m) axes=[0,1]", {"t", ARGS(TENSOR(M)), .method = true}},
        {"einsum(m m) equation=i,j->ij", {"outer", ARGS(TENSOR(M), TENSOR(M))}},
        {"grid_sample(x w) mode=nearest padding_mode=border align_corners=1",
         {"aten.grid_sampler.default",
          ARGS(TENSOR(X), TENSOR(W), INT(1), INT(1), BOOL(true))}},
        {"grid_sample(x w) ! argument 'interpolation_mode' is out of range",
         {"aten.grid_sampler.default",
          ARGS(TENSOR(X), TENSOR(W), INT(3), NONE, NONE)}},
        {"softmax(x) ! argument 'dim' is left to torch",
         {"softmax", ARGS(TENSOR(X))}},
        {"reshape(x) shape=[12,64]",
         {"view", ARGS(TENSOR(X), INT(12), INT(-1)), .method = true,
          RESULTS({DIMS(12, 64)})}},
        {"cast(i) dtype=1",
         {"to", ARGS(TENSOR(INDEX), OTHER), .method = true,
          RESULTS({DIMS(5)})}},
    };
    CHECK_CALLS(rows);
}

static void lists_and_numbers(void)
{
    const row rows[] = {
        {"cat(x x) axis=1", {"cat", ARGS(LIST(TENSOR(X), TENSOR(X)), INT(1))}},
        {"index(m - i)",
         {"aten.index.Tensor", ARGS(TENSOR(M), LIST(NONE, TENSOR(INDEX)))}},
        {"cat(m -) ! a list of more than tensors",
         {"cat", ARGS(LIST(TENSOR(M), INT(3)))}},
        {"add(x 3)", {"add", ARGS(TENSOR(X), INT(3))}},
        {"add(x 0.5)", {"add", ARGS(TENSOR(X), FLOAT(0.5))}},
        {"sub(2 x)", {"aten.rsub.Scalar", ARGS(TENSOR(X), INT(2))}},
        {"full_like(x) value=2.5 dtype=1",
         {"fill_", ARGS(TENSOR(X), FLOAT(2.5)), .method = true,
          RESULTS({DIMS(2, 6, 8, 8)})}},
        {"interpolate(x) scales=[1.5,2] mode=bilinear",
         {"interpolate",
          ARGS(TENSOR(X), NONE, LIST(FLOAT(1.5), INT(2)), TEXT("bilinear"))}},
        {"interpolate(x) scales=2 mode=bilinear",
         {"interpolate",
          ARGS(TENSOR(X), NONE, INT(2), TEXT("bilinear"), NONE)}},
        {"interpolate(x) scales=2 mode=bilinear coordinates=align_corners",
         {"interpolate",
          ARGS(TENSOR(X), NONE, INT(2), TEXT("bilinear"), BOOL(true))}},
        {"permute(m) perm=[]", {"permute", ARGS(TENSOR(M), EMPTY)}},
        {"sum(m)", {"sum", ARGS(TENSOR(M), EMPTY)}},
        {"norm(m) p=2 axes=1", {"norm", ARGS(TENSOR(M), TEXT("fro"), INT(1))}},
    };
    CHECK_CALLS(rows);
}

static void wrong_arguments(void)
{
    const row rows[] = {
        {"add(x x) ! argument 'alpha' is not 1",
         {"add", ARGS(TENSOR(X), TENSOR(X)), NAMED({"alpha", INT(3)})}},
        {"add(x -) ! argument 'other' is no tensor",
         {"add", ARGS(TENSOR(X), TEXT("one"))}},
        {"relu(x) ! argument 3 is not carried over",
         {"relu", ARGS(TENSOR(X), BOOL(false), INT(7))}},
        {"relu(x) ! argument 'slope' is not carried over",
         {"relu", ARGS(TENSOR(X)), NAMED({"slope", INT(7)})}},
        {"relu(x)", {"relu", ARGS(TENSOR(X)), NAMED({"slope", NONE})}},
        {"sum(x) ! argument 'axes' is not carried over",
         {"sum", ARGS(TENSOR(X), OTHER)}},
        {"sum(x) ! argument 'axes' is not carried over",
         {"sum", ARGS(TENSOR(X), LIST(INT(1), FLOAT(2)))}},
        {"sum(x m) ! argument 'axes' is not carried over",
         {"sum", ARGS(TENSOR(X), TENSOR(M))}},
        {"norm(m) ! argument 'p' is not carried over",
         {"norm", ARGS(TENSOR(M), TEXT("nuc"))}},
        {"norm(m) ! argument 'p' is not carried over",
         {"norm", ARGS(TENSOR(M), INT(0))}},
        {"pad(m) padding=[1,1,1,1,1,1] ! padding of 6 numbers",
         {"pad", ARGS(TENSOR(M),
                      LIST(INT(1), INT(1), INT(1), INT(1), INT(1), INT(1)))}},
        {"unknown(x m)", {"mystery", ARGS(TENSOR(X), INT(2), LIST(TENSOR(M)))}},
        {"unknown(x m)",
         {"mystery", ARGS(TENSOR(X)), NAMED({"mask", TENSOR(M)})}},
    };
    CHECK_CALLS(rows);
}

/* -- rows -----------------------------------------------------------------*/

static void names_and_overloads(void)
{
    const row rows[] = {
        {"batch_norm(m x w i f) epsilon=0.1",
         {"aten.batch_norm.default",
          ARGS(TENSOR(M), TENSOR(X), TENSOR(W), TENSOR(INDEX), TENSOR(FLAGS),
               BOOL(false), FLOAT(0.2), FLOAT(0.1), BOOL(true))}},
        {"batch_norm(m x w i f)", /* torch.nn.functional has another order */
         {"batch_norm",
          ARGS(TENSOR(M), TENSOR(INDEX), TENSOR(FLAGS), TENSOR(X), TENSOR(W))}},
        {"var(m) correction=0",
         {"aten.var.default", ARGS(TENSOR(M), BOOL(false))}},
        {"unfold(x) kernel=3", {"unfold", ARGS(TENSOR(X), INT(3))}},
        {"sliding_window(x) axis=2 size=3 step=1",
         {"unfold", ARGS(TENSOR(X), INT(2), INT(3), INT(1)), .method = true}},
        {"max(x)", {"max", ARGS(TENSOR(X))}},
        {"maximum(x x)", {"max", ARGS(TENSOR(X), TENSOR(X))}},
        {"max(x) axes=1", {"max", ARGS(TENSOR(X), INT(1))}},
        {"max(x) axes=-1", {"max", ARGS(TENSOR(X)), NAMED({"dim", INT(-1)})}},
        {"max(x) axes=0 keepdim=1",
         {"aten.max.dim", ARGS(TENSOR(X), INT(0), BOOL(true))}},
        {"median(m)", {"aten.median.default", ARGS(TENSOR(M))}},
        {"median(m) axis=1 keepdim=0",
         {"aten.median.dim", ARGS(TENSOR(M), INT(1), BOOL(false))}},
        {"bucketize(m w)", {"searchsorted", ARGS(TENSOR(W), TENSOR(M))}},
        {"embedding_bag(w i m) mode=max",
         {"aten.embedding_bag.default",
          ARGS(TENSOR(W), TENSOR(INDEX), TENSOR(M), BOOL(false), INT(2))}},
        {"range() end=7 dtype=1", {"arange", ARGS(INT(7)), RESULTS({DIMS(7)})}},
        {"range() start=1 end=7 dtype=1",
         {"arange", ARGS(INT(1), INT(7)), RESULTS({DIMS(6)})}},
        {"add(x x)", {"aten.add_.Tensor", ARGS(TENSOR(X), TENSOR(X))}},
        {"bitwise_and(i i)", {"and_", ARGS(TENSOR(INDEX), TENSOR(INDEX))}},
        {"roi_align(x m) spatial_scale=0.5 output_size=[3,2] sampling=2 "
         "aligned=1",
         {"roi_align.default", ARGS(TENSOR(X), TENSOR(M), FLOAT(0.5), INT(3),
                                    INT(2), INT(2), BOOL(true))}},
    };
    CHECK_CALLS(rows);
}

static void leaf_modules(void)
{
    const row rows[] = {
        {"conv2d(x w) stride=[2,2] padding=[0,0] groups=1",
         {"Conv2d", .path = "a.conv", ARGS(TENSOR(X)),
          MEMBERS({"weight", TENSOR(W)}, {"bias", NONE},
                  {"stride", LIST(INT(2), INT(2))},
                  {"padding", LIST(INT(0), INT(0))}, {"groups", INT(1)},
                  {"padding_mode", TEXT("zeros")})}},
        {"conv2d(x w) ! argument 'padding_mode' is not zeros",
         {"Conv2d", .path = "conv", ARGS(TENSOR(X)),
          MEMBERS({"weight", TENSOR(W)}, {"padding_mode", TEXT("reflect")})}},
        {"embedding(m i)",
         {"Embedding", .path = "e", ARGS(TENSOR(INDEX)),
          MEMBERS({"weight", TENSOR(M)}, {"max_norm", NONE})}},
        {"embedding_bag(m i w) mode=sum",
         {"EmbeddingBag", .path = "e", ARGS(TENSOR(INDEX), TENSOR(W)),
          MEMBERS({"weight", TENSOR(M)}, {"mode", TEXT("sum")})}},
        {"embedding_bag(m i w) mode=sum ! argument 2 is absent",
         {"EmbeddingBag", .path = "e", ARGS(TENSOR(INDEX), NONE, TENSOR(W)),
          MEMBERS({"weight", TENSOR(M)}, {"mode", TEXT("sum")})}},
        {"relu(x) ! argument 2 is not carried over",
         {"ReLU", .path = "r", ARGS(TENSOR(X), INT(3)),
          MEMBERS({"inplace", BOOL(false)})}},
        {"lstm(x) hidden=3 layers=1 layout=batch ! it has no kernel that takes "
         "its arguments",
         {"LSTM", .path = "l", ARGS(TENSOR(X)),
          MEMBERS({"hidden_size", INT(3)}, {"num_layers", INT(1)},
                  {"batch_first", BOOL(true)})}},
        {"unknown(x)",
         {"MyBlock", .path = "b", ARGS(TENSOR(X)), .module = true}},
    };
    CHECK_CALLS(rows);
}

static void members_of_rows(void)
{
    aten_builder b = {0};
    const char *names[ATEN_MAX_MEMBERS];
    uint32_t n;
    CHECK(clv__aten_members(&b, "Embedding", names, &n));
    CHECK_EQ_INT(n, 2);
    CHECK_STR(names[0], "weight");
    CHECK_STR(names[1], "max_norm");
    CHECK(clv__aten_members(&b, "NoSuchModule", names, &n));
    CHECK_EQ_INT(n, 0);
    static const char *const all[] = {
#define FN(name, op, args)
#define MODULE(name, op, args) name,
#include "formats/aten/aten.def"
#undef FN
#undef MODULE
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK(clv__aten_members(&b, all[i], names, &n));
        CHECK(n < ATEN_MAX_MEMBERS); /* so none was left out */
    }
    clv__aten_free(&b);
}

/* -- indices --------------------------------------------------------------*/

#define WHOLE SLICE(NONE, NONE, NONE)

static void indices(void)
{
    const row rows[] = {
        {"select(x) axis=1 index=-1",
         {"getitem", ARGS(TENSOR(X), LIST(WHOLE, INT(-1)))}},
        {"select(x) axis=3 index=0",
         {"getitem", ARGS(TENSOR(X), LIST(ELLIPSIS, INT(0)))}},
        {"slice(x) start=[1,0] end=[9223372036854775807,5] step=[1,2] "
         "axes=[0,2]",
         {"getitem", ARGS(TENSOR(X), LIST(SLICE(INT(1), NONE, NONE), WHOLE,
                                          SLICE(NONE, INT(5), INT(2))))}},
        {"unsqueeze(x) axes=[0,2]",
         {"getitem", ARGS(TENSOR(X), LIST(NONE, WHOLE, NONE))}},
        {"index(m - i)",
         {"getitem", ARGS(TENSOR(M), LIST(WHOLE, TENSOR(INDEX)))}},
        {"index(m f)", {"getitem", ARGS(TENSOR(M), LIST(TENSOR(FLAGS)))}},
        {"identity(x)", {"getitem", ARGS(TENSOR(X), LIST(WHOLE))}},
        {"slice(x) ! several ways to index at once",
         {"getitem", ARGS(TENSOR(X), LIST(INT(1), NONE))}},
        {"slice(x) ! several ways to index at once",
         {"getitem", ARGS(TENSOR(X), LIST(LIST(INT(0), INT(1))))}},
        {"slice(m) ! several ways to index at once",
         {"getitem", ARGS(TENSOR(M), LIST(WHOLE, WHOLE, WHOLE))}},
        {"slice(m) ! several ways to index at once",
         {"getitem", ARGS(TENSOR(M), LIST(BOOL(true)))}},
        {"slice(m) ! several ways to index at once",
         {"getitem", ARGS(TENSOR(M), LIST(SLICE(NONE, NONE, INT(-1))))}},
        {"slice(m i) ! several ways to index at once",
         {"getitem", ARGS(TENSOR(M), LIST(WHOLE, WHOLE, TENSOR(INDEX)))}},
    };
    CHECK_CALLS(rows);
}

/* x[1] and x[1:] of a list of results are values it has. */
static void picked_results(void)
{
    clv_graph *g = NULL;
    clv_err err = {0};
    CHECK_OR_RETURN(new_graph(&g, &err) == CLV_OK);
    aten_builder b = {.g = g};
    const aten_call split = {
        "chunk", "c", ARGS(TENSOR(X), INT(3), INT(1)),
        RESULTS({DIMS(2, 2, 8, 8)}, {DIMS(2, 2, 8, 8)}, {DIMS(2, 2, 8, 8)})};
    CHECK(clv__aten_call(&b, &split, &err) == CLV_OK);
    CHECK_EQ_INT(b.n_made, 3);
    uint32_t v = b.made[0];
    const aten_call last = {
        "getitem", "l",
        ARGS(LIST(TENSOR(v), TENSOR(v + 1), TENSOR(v + 2)), LIST(INT(-1)))};
    CHECK(clv__aten_call(&b, &last, &err) == CLV_OK);
    CHECK_EQ_U64(b.node, CLV_NONE);
    CHECK(b.n_made == 1 && b.made[0] == v + 2);
    const aten_call rest = {"getitem", "r",
                            ARGS(LIST(TENSOR(v), TENSOR(v + 1), TENSOR(v + 2)),
                                 LIST(SLICE(INT(1), NONE, NONE)))};
    CHECK(clv__aten_call(&b, &rest, &err) == CLV_OK);
    CHECK(b.n_made == 2 && b.made[0] == v + 1 && b.made[1] == v + 2);
    CHECK_EQ_INT(g->n_nodes, 1);
    clv__aten_free(&b);
    clv_graph_free(g);
}

/* -- results and names ----------------------------------------------------*/

static void first_result_only(void)
{
    const row rows[] = {
        {"max_pool2d(x) kernel=2",
         {"aten.max_pool2d_with_indices.default", ARGS(TENSOR(X), INT(2)),
          RESULTS({DIMS(2, 6, 4, 4)}, {DIMS(2, 6, 4, 4)})}},
        {"max_pool2d(x) kernel=2 ! only its first result can be made",
         {"aten.max_pool2d_with_indices.default", ARGS(TENSOR(X), INT(2)),
          RESULTS({DIMS(2, 6, 4, 4)}, {DIMS(2, 6, 4, 4)}),
          .others_used = true}},
    };
    CHECK_CALLS(rows);
}

static void names_and_scopes(void)
{
    static const struct {
        const char *path, *cls, *want;
    } rows[] = {
        {"", "", "relu_1"},
        {NULL, NULL, "relu_1"},
        {"block.act", "torch.nn.modules.activation.ReLU", "block.act"},
        {"block", "my.Block", "block.relu"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_graph *g = NULL;
        clv_err err = {0};
        check_row(rows[i].want);
        CHECK_OR_RETURN(new_graph(&g, &err) == CLV_OK);
        aten_builder b = {.g = g};
        const aten_call call = {"aten.relu.default", "relu_1",
                                rows[i].path,        rows[i].cls,
                                "model.py:3",        ARGS(TENSOR(X))};
        CHECK(clv__aten_call(&b, &call, &err) == CLV_OK);
        CHECK_STR(g->nodes[0].name, rows[i].want);
        CHECK_STR(g->nodes[0].origin, "aten.relu.default");
        CHECK_STR(g->nodes[0].source, "model.py:3");
        CHECK_STR(g->scopes[g->nodes[0].scope].path,
                  rows[i].path ? rows[i].path : "");
        clv__aten_free(&b);
        clv_graph_free(g);
    }
    char path[] = "L['self']._modules['layer1'][0].conv";
    clv__aten_path(path);
    CHECK_STR(path, "layer1.0.conv");
}

/* -- in place, and shapes -------------------------------------------------*/

/* y = relu(x); x.add_(1); z = relu(x): z reads what add_ wrote. */
static clv_status write_in_place(void *view_first, clv_err *e)
{
    const bool view = view_first != NULL;
    const aten_type like_x = {DIMS(2, 6, 8, 8)}, flat = {DIMS(768)};
    clv_graph *g = NULL;
    clv_status s = new_graph(&g, e);
    aten_builder b = {.g = g};
    const aten_call flatten = {"flatten", "v", ARGS(TENSOR(X)),
                               .results = &flat, .n_results = 1};
    const aten_call add = {"aten.add_.Tensor", "a", ARGS(TENSOR(X), INT(1)),
                           .results = &like_x, .n_results = 1};
    const aten_call relu = {"relu", "z", ARGS(TENSOR(view ? N_VALUES : X)),
                            .results = view ? &flat : &like_x, .n_results = 1};
    if (s == CLV_OK && view)
        s = clv__aten_call(&b, &flatten, e);
    if (s == CLV_OK)
        s = clv__aten_call(&b, &add, e);
    uint32_t made = s == CLV_OK ? b.made[0] : CLV_NONE;
    if (s == CLV_OK)
        s = clv__aten_call(&b, &relu, e);
    if (s == CLV_OK && !clv__graph_output(g, b.made[0]))
        s = clv__nomem(e);
    if (s == CLV_OK)
        s = clv__aten_finish(&b, e);
    if (s == CLV_OK) {
        CHECK_EQ_U64(clv__aten_latest(&b, X), made);
        const clv_node *last = &g->nodes[g->n_nodes - 1];
        CHECK_EQ_U64(node_ins(g, last)[0], view ? N_VALUES : made);
        const char *why = last->counted_only;
        if (view)
            CHECK_STR(why, "it reads memory that was written to in place");
        else
            CHECK(!why);
    }
    clv__aten_free(&b);
    clv_graph_free(g);
    return s;
}

static void in_place(void)
{
    clv_err err = {0};
    int view = 1;
    CHECK_EQ_INT(write_in_place(NULL, &err), CLV_OK);
    CHECK_EQ_INT(write_in_place(&view, &err), CLV_OK);
}

static void without_memory(void)
{
    int view = 1;
    CHECK(starve(write_in_place, NULL, 1) > 5);
    CHECK(starve(write_in_place, &view, 1) > 5);
}

/* What torch saw stays; a node that means something else does not run. */
static void shapes_that_differ(void)
{
    static const struct {
        const char *target;
        clv_op op;
        bool counted, warned;
    } rows[] = {{"relu", CLV_OP_UNKNOWN, false, true},
                {"contiguous", CLV_OP_CONTIGUOUS, true, false},
                {"detach", CLV_OP_IDENTITY, true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_graph *g = NULL;
        clv_err err = {0};
        check_row(rows[i].target);
        CHECK_OR_RETURN(new_graph(&g, &err) == CLV_OK);
        aten_builder b = {.g = g};
        const aten_call call = {rows[i].target, "n", ARGS(TENSOR(M)),
                                RESULTS({DIMS(35)})};
        CHECK(clv__aten_call(&b, &call, &err) == CLV_OK);
        CHECK(clv__graph_output(g, b.made[0]));
        CHECK(clv__aten_finish(&b, &err) == CLV_OK);
        const clv_value *y = node_out(g, &g->nodes[0], 0);
        CHECK(y->rank == 1 && y->dims[0] == 35);
        CHECK_EQ_INT(g->nodes[0].op, rows[i].op);
        CHECK_EQ_INT(g->nodes[0].counted_only != NULL, rows[i].counted);
        CHECK_EQ_INT(g->n_warnings > 0, rows[i].warned);
        clv__aten_free(&b);
        clv_graph_free(g);
    }
}

static void ids_out_of_range(void)
{
    clv_graph *g = NULL;
    clv_err err = {0};
    CHECK_OR_RETURN(new_graph(&g, &err) == CLV_OK);
    aten_builder b = {.g = g};
    const aten_call call = {"cat", "c", ARGS(LIST(TENSOR(X), TENSOR(99)))};
    CHECK_EQ_INT(clv__aten_call(&b, &call, &err), CLV_FORMAT);
    CHECK_STR(err.msg, "cat 'c' reads no value of the graph");
    clv__aten_free(&b);
    clv_graph_free(g);
}

static void operators_reached(void)
{
    const char *name;
    clv_op op;
    uint32_t convs = 0, loops = 0;
    for (size_t i = 0; clv__aten_row(i, &name, &op); i++) {
        convs += op == CLV_OP_CONV2D; /* a function, and a module */
        loops += op == CLV_OP_LOOP || op == CLV_OP_UNKNOWN;
    }
    CHECK(convs >= 2);
    CHECK_EQ_INT(loops, 0);
}

static const check_case cases[] = {
    {"positional_and_named", positional_and_named},
    {"defaults_and_literals", defaults_and_literals},
    {"lists_and_numbers", lists_and_numbers},
    {"wrong_arguments", wrong_arguments},
    {"names_and_overloads", names_and_overloads},
    {"leaf_modules", leaf_modules},
    {"members_of_rows", members_of_rows},
    {"indices", indices},
    {"picked_results", picked_results},
    {"first_result_only", first_result_only},
    {"names_and_scopes", names_and_scopes},
    {"in_place", in_place},
    {"without_memory", without_memory},
    {"shapes_that_differ", shapes_that_differ},
    {"ids_out_of_range", ids_out_of_range},
    {"operators_reached", operators_reached},
};

CHECK_MAIN(cases)
