/* test_registry.c - the tables about operators, checked against each other: a
 * row that no importer reaches, a default outside its own range, an attribute
 * that no operator has, a schema that a rule does not keep to. */
#include "analysis/count.h"
#include "check.h"
#include "cleave.h"
#include "graph/schema.h"
#include "ops/ops.h"

#include <string.h>

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if ((at == words || at[-1] == '|') && (at[n] == '|' || !at[n]))
            return true;
    return false;
}

/* Only rewriting a model makes these (run/rewrite.def). */
static bool is_made_by_rewriting(const char *op)
{
    return !strcmp(op, "qlinear_add") || !strcmp(op, "qlinear_mul") ||
           !strcmp(op, "byte_table");
}

/* Control flow is reached from ONNX, everything else from ONNX or torch. */
static void every_row_is_reached(void)
{
    clv_registry *r;
    CHECK_OR_RETURN(clv_registry_new(&r, NULL) == CLV_OK);
    for (uint32_t i = 1; clv_registry_at(r, i); i++) {
        const clv_operator_info *o = clv_registry_at(r, i);
        check_that(o->n_onnx + o->n_torch > 0 || is_made_by_rewriting(o->name),
                   __FILE__, __LINE__, "no importer reaches %s", o->name);
        check_that(*o->flops != '\0', __FILE__, __LINE__,
                   "no formula for what %s costs", o->name);
    }
    CHECK_STR(clv_registry_at(r, 0)->name, "unknown");
    clv_registry_free(r);
}

static void check_default(const clv_attr_spec *a, const char *op)
{
    const char *name = clv__attr_name((clv_attr_key)a->key);
    bool number = a->kind == CLV_KIND_INT || a->kind == CLV_KIND_INTS ||
                  a->kind == CLV_KIND_BOOL;
    if (a->presence != CLV_PRESENCE_DEFAULT)
        return;
    if (a->choices)
        check_that(has_word(a->choices, a->text), __FILE__, __LINE__,
                   "%s of %s is '%s' by default, not one of %s", name, op,
                   a->text, a->choices);
    if (number && a->bounded)
        check_that(a->whole >= a->lo && a->whole <= a->hi, __FILE__, __LINE__,
                   "%s of %s is out of range by default", name, op);
    if (number)
        check_that(a->text == NULL && a->real == (double)a->whole, __FILE__,
                   __LINE__, "%s of %s has two defaults", name, op);
}

static void schemas_are_sound(void)
{
    bool used[CLV_A_OTHER] = {false};
    for (int op = 0; op < CLV_OP_COUNT; op++) {
        const clv_schema *s = clv__schema_of((clv_op)op);
        uint32_t required = 0;
        for (uint32_t i = 0; i < s->n_attrs; i++) {
            const clv_attr_spec *a = &s->attrs[i];
            used[a->key] = true;
            required += a->presence == CLV_PRESENCE_REQUIRED;
            check_default(a, clv__ops[op].name);
            CHECK(clv__attr_spec((clv_op)op, (clv_attr_key)a->key) == a);
            if (a->presence == CLV_PRESENCE_SAME_AS)
                CHECK(clv__attr_spec((clv_op)op, (clv_attr_key)a->other));
        }
        CHECK_EQ_INT(s->n_required, required);
    }
    for (int key = 0; key < CLV_A_OTHER; key++)
        check_that(used[key], __FILE__, __LINE__, "no operator has '%s'",
                   clv__attr_name((clv_attr_key)key));
}

/* The order of attrs.def is what the search by halves relies on. */
static void attributes_are_found_by_name(void)
{
    for (int key = 0; key < CLV_A_OTHER; key++) {
        const char *name = clv__attr_name((clv_attr_key)key);
        check_that(clv__attr_find(name) == (clv_attr_key)key, __FILE__,
                   __LINE__, "attribute '%s' is not found", name);
    }
    CHECK(clv__attr_find("") == CLV_A_OTHER);
    CHECK(clv__attr_find("zzz") == CLV_A_OTHER);
}

/* What other tools count has a row here, whose MACs or FLOPs they take. */
static void conventions_count_known_operators(void)
{
    for (int op = 0; op < CLV_OP_COUNT; op++)
        for (int c = CLV_CONVENTION_FULL + 1; c < CLV_CONVENTION_COUNT; c++)
            CHECK(clv__counted_as((clv_op)op, (clv_convention)c) != NULL);
    CHECK_STR(clv__counted_as(CLV_OP_CONV2D, CLV_CONVENTION_FVCORE), "conv");
    CHECK_STR(clv__counted_as(CLV_OP_RELU, CLV_CONVENTION_TORCH), "");
}

/* -- schema violations ----------------------------------------------------*/

static void refuse(const char *op, const clv_attr_arg *attr, clv_status code,
                   const char *message)
{
    clv_graph *g;
    clv_err err;
    uint32_t x, y;
    const int64_t dims[] = {1, 4, 8, 8};
    clv_value_arg in = {.size = sizeof in,
                        .name = "x",
                        .kind = CLV_VALUE_INPUT,
                        .dtype = CLV_FLOAT32,
                        .rank = 4,
                        .dims = dims};
    clv_node_arg node = {.size = sizeof node,
                         .op = op,
                         .name = "n",
                         .inputs = &x,
                         .n_inputs = 1,
                         .attrs = attr,
                         .n_attrs = attr ? 1 : 0};
    check_row(message);
    CHECK_OR_RETURN(clv_graph_new("g", &g, NULL) == CLV_OK);
    clv_status s = clv_graph_add_value(g, &in, &x, &err);
    if (s == CLV_OK)
        s = clv_graph_add_node(g, &node, &y, &err);
    if (s == CLV_OK)
        s = clv_graph_infer(g, &err);
    CHECK_EQ_INT(s, code);
    CHECK_STR(err.msg, message);
    clv_graph_free(g);
}

static void violations_are_one_line(void)
{
    const int64_t none[] = {0, 1};
    refuse("max_pool2d", NULL, CLV_SHAPE,
           "node 'n' (max_pool2d): attribute 'kernel' is missing");
    refuse("relu",
           &(clv_attr_arg){.name = "alpha", .type = CLV_ATTR_FLOAT, .u.f = 1},
           CLV_USAGE, "node 'n' (relu): has no attribute 'alpha'");
    refuse("max_pool2d",
           &(clv_attr_arg){.name = "kernal", .type = CLV_ATTR_INT, .u.i = 2},
           CLV_USAGE,
           "node 'n' (max_pool2d): has no attribute 'kernal'; did you mean "
           "'kernel'?");
    refuse("max_pool2d",
           &(clv_attr_arg){
               .name = "kernel", .type = CLV_ATTR_INTS, .n = 2, .u.ints = none},
           CLV_SHAPE, "node 'n' (max_pool2d): kernel is 0, must be at least 1");
    refuse("gelu",
           &(clv_attr_arg){
               .name = "approximate", .type = CLV_ATTR_STRING, .u.s = "tan"},
           CLV_SHAPE,
           "node 'n' (gelu): approximate is 'tan', must be one of none|tanh");
    refuse(
        "softmax",
        &(clv_attr_arg){.name = "axis", .type = CLV_ATTR_STRING, .u.s = "last"},
        CLV_SHAPE, "node 'n' (softmax): axis must be an integer");
}

static const check_case cases[] = {
    {"every_row_is_reached", every_row_is_reached},
    {"schemas_are_sound", schemas_are_sound},
    {"attributes_are_found_by_name", attributes_are_found_by_name},
    {"conventions_count_known_operators", conventions_count_known_operators},
    {"violations_are_one_line", violations_are_one_line},
};
CHECK_MAIN(cases)
