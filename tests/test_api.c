/* test_api.c - the public API as a program of another version, or one that
 * errs, meets it: sizes of structs, arguments, getters, operators of one's own.
 */
#include "check.h"
#include "cleave.h"

#include <stdlib.h>

static const char fancy[] = "tests/data/custom/fancy.onnx";

/* x (2,3) -> shape -> relu of x: a constant, an attribute, two nodes. */
static clv_graph *small(clv_err *e)
{
    static const int64_t dims[] = {2, 3};
    const clv_attr_arg axis = {.name = "axis", .type = CLV_ATTR_INT, .u.i = 1};
    const clv_value_arg in = {.size = sizeof in,
                              .name = "x",
                              .kind = CLV_VALUE_INPUT,
                              .dtype = CLV_FLOAT32,
                              .rank = 2,
                              .dims = dims};
    clv_graph *g = NULL;
    uint32_t x, out[2];
    if (clv_graph_new("small", &g, e) || clv_graph_add_value(g, &in, &x, e))
        return g;
    const clv_node_arg soft = {.size = sizeof soft,
                               .op = "softmax",
                               .inputs = &x,
                               .n_inputs = 1,
                               .attrs = &axis,
                               .n_attrs = 1};
    const clv_node_arg shape = {
        .size = sizeof shape, .op = "shape", .inputs = &x, .n_inputs = 1};
    CHECK(clv_graph_add_node(g, &soft, &out[0], e) == CLV_OK);
    CHECK(clv_graph_add_node(g, &shape, &out[1], e) == CLV_OK);
    CHECK(clv_graph_add_output(g, out[0], e) == CLV_OK);
    CHECK(clv_graph_add_output(g, out[1], e) == CLV_OK);
    CHECK(clv_graph_infer(g, e) == CLV_OK);
    return g;
}

/* -- sizes ----------------------------------------------------------------*/

/* What an older program does not have is not read, whatever lies there. */
static void older_options(void)
{
    clv_open_opts opts;
    clv_graph *g;
    clv_err e;
    memset(&opts, 0xa5, sizeof opts);
    memset(&opts, 0, offsetof(clv_open_opts, dtype));
    opts.size = offsetof(clv_open_opts, dtype);
    opts.batch = 4;
    CHECK_OR_RETURN(clv_graph_open("resnet18", &opts, &g, &e) == CLV_OK);
    CHECK_EQ_INT(clv_graph_value(g, clv_graph_inputs(g, NULL)[0]).dims[0], 4);
    clv_graph_free(g);
}

/* What a newer program has must be zero. */
static void newer_options(void)
{
    struct {
        clv_profile_opts now;
        int64_t later[3];
    } opts = {.now = {.size = sizeof opts, .convention = 1}};
    clv_err e;
    clv_graph *g = small(&e);
    clv_profile *p;
    CHECK_OR_RETURN(g);
    CHECK(clv_profile_new(g, &opts.now, &p, &e) == CLV_OK);
    CHECK_EQ_INT(clv_profile_convention(p), 1);
    clv_profile_free(p);
    opts.later[2] = 1;
    CHECK(clv_profile_new(g, &opts.now, &p, &e) == CLV_USAGE && !p);
    CHECK_HAS(e.msg, "clv_profile_opts: byte ");
    opts.now.size = 0;
    CHECK(clv_profile_new(g, &opts.now, &p, &e) == CLV_USAGE && !p);
    CHECK_STR(e.msg, "clv_profile_opts: size is 0; set it to "
                     "sizeof(clv_profile_opts)");
    clv_graph_free(g);
}

/* An info is filled as far as the caller has room, and not beyond. */
static void infos_of_other_sizes(void)
{
    union {
        clv_node_info info;
        char bytes[sizeof(clv_node_info) + 16];
    } n;
    clv_err e;
    clv_graph *g = small(&e);
    memset(&n, 0xa5, sizeof n);
    n.info.size = offsetof(clv_node_info, module);
    CHECK(clv_graph_get_node(g, 0, &n.info, &e) == CLV_OK);
    CHECK_STR(n.info.op, "softmax");
    CHECK_EQ_INT(n.info.size, offsetof(clv_node_info, module));
    CHECK((unsigned char)n.bytes[offsetof(clv_node_info, module)] == 0xa5);
    n.info.size = sizeof n;
    CHECK(clv_graph_get_node(g, 0, &n.info, &e) == CLV_OK);
    CHECK_EQ_INT(n.info.n_attrs, 1);
    CHECK_EQ_INT(n.bytes[sizeof(clv_node_info)], 0);
    n.info.size = 0;
    CHECK(clv_graph_get_node(g, 0, &n.info, &e) == CLV_USAGE);
    clv_graph_free(g);
}

static void handed_out_infos_have_sizes(void)
{
    clv_err e;
    clv_graph *g = small(&e);
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_memory *m = NULL;
    clv_summary *s = NULL;
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK &&
                    clv_cut_op(p, &c, &e) == CLV_OK &&
                    clv_memory_new(c, NULL, &m, &e) == CLV_OK &&
                    clv_summary_new(c, &s, &e) == CLV_OK);
    CHECK_EQ_INT(clv_profile_totals(p)->size, sizeof(clv_totals));
    CHECK_EQ_INT(clv_memory_get(m)->size, sizeof(clv_memory_info));
    CHECK_EQ_INT(clv_summary_get(s)->size, sizeof(clv_summary_info));
    CHECK_EQ_INT(clv_budget_at(0)->size, sizeof(clv_budget_info));
    CHECK_EQ_INT(clv_figure_at(0)->size, sizeof(clv_figure_info));
    clv_summary_free(s);
    clv_memory_free(m);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

static void reports_check_their_options(void)
{
    clv_err e;
    clv_graph *g = small(&e);
    clv_profile *p = NULL;
    clv_report_opts none = {0};
    clv_buf text = {0}, again = {0};
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    clv_report_profile(p, NULL, &text);
    CHECK(!text.failed && text.len > 100);
    clv_report_profile(p, &none, &again);
    CHECK(again.failed);
    clv_buf_free(&text);
    clv_buf_free(&again);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- arguments ------------------------------------------------------------*/

#define REFUSED(call, text) \
    do { \
        CHECK((call) == CLV_USAGE); \
        CHECK_STR(e.msg, text); \
    } while (0)

static void null_arguments(void)
{
    clv_err e;
    clv_graph *g = small(&e), *none;
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_model *m = NULL;
    clv_backend *b = NULL;
    clv_device *d = NULL;
    clv_tensor t = {0};
    REFUSED(clv_graph_open(NULL, NULL, &none, &e),
            "clv_graph_open: 'model' is NULL");
    REFUSED(clv_graph_open("resnet18", NULL, NULL, &e),
            "clv_graph_open: 'out' is NULL");
    REFUSED(clv_graph_new(NULL, &none, &e), "clv_graph_new: 'name' is NULL");
    REFUSED(clv_graph_infer(NULL, &e), "clv_graph_infer: 'g' is NULL");
    REFUSED(clv_profile_new(NULL, NULL, &p, &e),
            "clv_profile_new: 'g' is NULL");
    REFUSED(clv_cut_op(NULL, &c, &e), "clv_cut_op: 'p' is NULL");
    REFUSED(clv_cut_pipeline(NULL, NULL, &c, &e),
            "clv_cut_pipeline: 'p' is NULL");
    REFUSED(clv_model_new(NULL, NULL, &m, &e), "clv_model_new: 'g' is NULL");
    REFUSED(clv_backend_open(NULL, NULL, &b, &e),
            "clv_backend_open: 'spec' is NULL");
    REFUSED(clv_device_load(NULL, &d, &e), "clv_device_load: 'path' is NULL");
    REFUSED(clv_context_set(NULL, 0, &t, &e), "clv_context_set: 'c' is NULL");
    REFUSED(clv_export_onnx(g, NULL, NULL, &e),
            "clv_export_onnx: 'path' is NULL");
    CHECK(clv_graph_open(NULL, NULL, &none, NULL) == CLV_USAGE);
    clv_graph_free(g);
}

static void ids_and_enums_out_of_range(void)
{
    clv_err e;
    clv_graph *g = small(&e), *raw;
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_node_info n = {.size = sizeof n};
    clv_value_info v = {.size = sizeof v};
    clv_profile_opts odd = {.size = sizeof odd,
                            .convention = (clv_convention)77};
    REFUSED(clv_graph_get_node(g, 2, &n, &e),
            "there is no node 2: there are 2");
    CHECK_STR(n.name, "");
    REFUSED(clv_graph_get_value(g, 9, &v, &e),
            "there is no value 9: there are 3");
    REFUSED(clv_profile_new(g, &odd, &p, &e),
            "there is no counting convention 77");
    CHECK_STR(clv_graph_node(g, 5).op, "");
    CHECK_EQ_INT(clv_graph_value(g, 5).rank, CLV_NONE);
    CHECK_STR(clv_convention_name((clv_convention)77), "?");
    CHECK_STR(clv_trust_name((clv_trust)-1), "?");
    CHECK_STR(clv_dtype_name((clv_dtype)99), "?");
    CHECK_EQ_INT(clv_dtype_bytes((clv_dtype)99, 4), -1);
    CHECK_EQ_INT(clv_status_exit((clv_status)99), 4);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK &&
                    clv_cut_op(p, &c, &e) == CLV_OK);
    CHECK_EQ_INT(clv_cut_subgraph_of(c, 99), CLV_NONE);
    clv_cut_free(c);
    clv_profile_free(p);
    CHECK_OR_RETURN(clv_graph_new("raw", &raw, &e) == CLV_OK);
    REFUSED(clv_profile_new(raw, NULL, &p, &e),
            "clv_profile_new: infer the graph 'raw' before");
    clv_graph_free(raw);
    clv_graph_free(g);
}

/* What a message is about is for programs; the text names no flags. */
static void subjects(void)
{
    clv_err e;
    clv_graph *g = NULL;
    const clv_dim_arg dims[] = {{"a", 1}, {"b", 2}, {"a", 3}};
    clv_open_opts opts = {.size = sizeof opts, .dims = dims, .n_dims = 3};
    const char *name;
    REFUSED(clv_graph_open("resnet18", &opts, &g, &e),
            "dimension 'a' is given as 1 and as 3");
    opts.n_dims = 1;
    CHECK(clv_graph_open("resnet18", &opts, &g, &e) == CLV_USAGE);
    CHECK(e.about == CLV_SUBJECT_DIM && !strcmp(e.subject, "a"));
    CHECK(clv_graph_open("none", NULL, &g, &e) == CLV_NOT_FOUND);
    CHECK(e.about == CLV_SUBJECT_MODEL && !strcmp(e.subject, "none"));
    CHECK_OR_RETURN(clv_graph_open("tests/data/onnx/resnet18-batch.legacy.onnx",
                                   NULL, &g, &e) == CLV_OK);
    CHECK(e.about == CLV_SUBJECT_NONE);
    CHECK_STR(clv_graph_warning(g, 0),
              "input 'x': dimension 'batch' is taken as 1");
    CHECK(clv_graph_warning_about(g, 0, &name) == CLV_SUBJECT_DIM);
    CHECK_STR(name, "batch");
    CHECK(clv_graph_warning_about(g, 99, &name) == CLV_SUBJECT_NONE);
    clv_graph_free(g);
}

static void arguments_of_nodes(void)
{
    clv_err e;
    clv_graph *g;
    uint32_t id;
    const int64_t dims[] = {2};
    clv_value_arg value = {.size = sizeof value,
                           .kind = CLV_VALUE_INPUT,
                           .dtype = CLV_FLOAT32,
                           .rank = 1};
    clv_attr_arg text = {.name = "mode", .type = CLV_ATTR_STRING};
    clv_node_arg node = {.size = sizeof node, .name = "n"};
    CHECK_OR_RETURN(clv_graph_new("g", &g, &e) == CLV_OK);
    REFUSED(clv_graph_add_value(g, &value, &id, &e), "value '': dims is NULL");
    value.dims = dims;
    CHECK(clv_graph_add_value(g, &value, &id, &e) == CLV_OK);
    REFUSED(clv_graph_add_node(g, &node, &id, &e),
            "clv_graph_add_node: 'arg->op' is NULL");
    node.op = "relu";
    node.n_inputs = 1;
    REFUSED(clv_graph_add_node(g, &node, &id, &e), "node 'n': inputs is NULL");
    node.inputs = &id;
    node.n_attrs = 1;
    REFUSED(clv_graph_add_node(g, &node, &id, &e), "node 'n': attrs is NULL");
    node.attrs = &text;
    REFUSED(clv_graph_add_node(g, &node, &id, &e),
            "node 'n': attribute 'mode' has type 2 and no such contents");
    clv_graph_free(g);
}

/* -- getters --------------------------------------------------------------*/

static void attributes_and_constants(void)
{
    clv_err e;
    clv_graph *g = small(&e);
    clv_attr_info a = {.size = sizeof a};
    clv_constant_info k = {.size = sizeof k};
    uint32_t n;
    const uint32_t *out = clv_graph_outputs(g, &n);
    CHECK_EQ_INT(n, 2);
    CHECK(clv_graph_attr(g, 0, "axis", &a, &e) == CLV_OK);
    CHECK(a.type == CLV_ATTR_INT && a.u.i == 1);
    CHECK(clv_graph_attr_at(g, 0, 0, &a, &e) == CLV_OK);
    CHECK_STR(a.name, "axis");
    CHECK(clv_graph_attr(g, 1, "start", &a, &e) == CLV_OK); /* left out */
    CHECK(a.type == CLV_ATTR_INT && a.u.i == 0);
    CHECK(clv_graph_attr(g, 0, "axes", &a, &e) == CLV_NOT_FOUND);
    CHECK_STR(e.msg, "node 'softmax' (softmax) has no attribute 'axes'");
    REFUSED(clv_graph_attr_at(g, 0, 1, &a, &e),
            "there is no attribute 1: there are 1");
    REFUSED(clv_graph_attr(g, 7, "axis", &a, &e),
            "there is no node 7: there are 2");
    CHECK(clv_graph_constant(g, out[1], &k, &e) == CLV_OK);
    CHECK(k.ints && k.n == 2 && k.ints[0] == 2 && k.ints[1] == 3 && !k.floats);
    CHECK(clv_graph_constant(g, out[0], &k, &e) == CLV_NOT_FOUND);
    CHECK_STR(e.msg, "value 'softmax' is not known here");
    clv_graph_free(g);
}

/* -- an operator of one's own ---------------------------------------------*/

/* As docs/custom-ops.md shows it. x (N,S,D) -> y (N,S,2D) */
static clv_status fancy_shape(void *ctx, const clv_graph *g, uint32_t node,
                              uint32_t output, clv_dtype *dtype, uint32_t *rank,
                              int64_t *dims)
{
    (void)ctx, (void)output;
    const clv_value_info x =
        clv_graph_value(g, clv_graph_node(g, node).inputs[0]);
    *dtype = x.dtype;
    *rank = x.rank;
    memcpy(dims, x.dims, x.rank * sizeof *dims);
    dims[2] *= 2;
    return CLV_OK;
}

static clv_status fancy_cost(void *ctx, const clv_graph *g, uint32_t node,
                             int64_t *macs, int64_t *flops)
{
    const clv_value_info x =
        clv_graph_value(g, clv_graph_node(g, node).inputs[0]);
    const int64_t n = x.dims[0], s = x.dims[1], d = x.dims[2];
    clv_attr_info heads = {.size = sizeof heads};
    clv_status found = clv_graph_attr(g, node, "heads", &heads, NULL);
    if (found != CLV_OK)
        return found;
    ++*(int *)ctx;
    *macs = 2 * n * s * s * d;
    *flops = 4 * n * s * s * d + 5 * n * heads.u.i * s * s;
    return CLV_OK;
}

/* 2*2*16*16*64 MACs; 4*2*16*16*64 + 5*2*4*16*16 FLOPs, as the file of
 * tests/cli/custom_ops.sh says in words. */
static void operator_of_ones_own(void)
{
    int calls = 0;
    const struct {
        clv_custom_op now;
        void *later; /* of a newer program */
    } ops[2] = {
        {.now = {.size = sizeof *ops, .op = "Nowhere"}},
        {.now = {.size = sizeof *ops,
                 .op = "FancyAttention",
                 .ctx = &calls,
                 .shape = fancy_shape,
                 .cost = fancy_cost}},
    };
    const clv_open_opts opts = {
        .size = sizeof opts, .custom = &ops[0].now, .n_custom = 2};
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err e;
    CHECK_OR_RETURN(clv_graph_open(fancy, &opts, &g, &e) == CLV_OK &&
                    clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    const clv_layer *layer = clv_profile_layers(p, NULL);
    CHECK_EQ_INT(layer->cost.macs, 65536);
    CHECK_EQ_INT(layer->cost.flops, 141312);
    CHECK(layer->cost.trust == CLV_TRUST_GIVEN && calls > 0);
    clv_profile_free(p);
    clv_graph_free(g);
}

/* -- warnings -------------------------------------------------------------*/

/* A node whose shape depends on data. */
static clv_graph *unshaped(bool with_err)
{
    static const int64_t dims[] = {4}, shape_dims[] = {1};
    const clv_value_arg x = {.size = sizeof x,
                             .name = "x",
                             .kind = CLV_VALUE_INPUT,
                             .dtype = CLV_FLOAT32,
                             .rank = 1,
                             .dims = dims};
    const clv_value_arg to = {.size = sizeof to,
                              .name = "to",
                              .kind = CLV_VALUE_INPUT,
                              .dtype = CLV_INT64,
                              .rank = 1,
                              .dims = shape_dims};
    clv_graph *g = NULL;
    clv_err e;
    uint32_t in[2], y;
    CHECK(clv_graph_new("g", &g, &e) == CLV_OK &&
          clv_graph_add_value(g, &x, &in[0], &e) == CLV_OK &&
          clv_graph_add_value(g, &to, &in[1], &e) == CLV_OK);
    const clv_node_arg reshape = {
        .size = sizeof reshape, .op = "reshape", .inputs = in, .n_inputs = 2};
    CHECK(clv_graph_add_node(g, &reshape, &y, &e) == CLV_OK &&
          clv_graph_add_output(g, y, &e) == CLV_OK);
    CHECK(clv_graph_infer(g, with_err ? &e : NULL) == CLV_OK);
    return g;
}

static void warnings_without_err(void)
{
    clv_graph *with = unshaped(true), *without = unshaped(false);
    const char *want = clv_graph_warning(with, 0);
    CHECK_OR_RETURN(want && clv_graph_warning(without, 0));
    CHECK_STR(clv_graph_warning(without, 0), want);
    CHECK(want[strlen(want) - 1] != ' '); /* it says why */
    clv_graph_free(with);
    clv_graph_free(without);
}

static const check_case cases[] = {
    {"older options", older_options},
    {"newer options", newer_options},
    {"infos of other sizes", infos_of_other_sizes},
    {"handed-out infos have sizes", handed_out_infos_have_sizes},
    {"reports check their options", reports_check_their_options},
    {"NULL arguments", null_arguments},
    {"ids and enums out of range", ids_and_enums_out_of_range},
    {"subjects", subjects},
    {"arguments of nodes", arguments_of_nodes},
    {"attributes and constants", attributes_and_constants},
    {"an operator of one's own", operator_of_ones_own},
    {"warnings without err", warnings_without_err},
};

CHECK_MAIN(cases)
