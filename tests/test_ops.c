/* test_ops.c - every operator against tests/cases/ (see ops_case.h).
 *
 * The file ops.txt is written by tests/gen/ops.py from PyTorch and ONNX
 * Runtime; what only ONNX has is in onnx.txt. A row of ops.def without a case
 * fails, and so does one that docs/operators.md describes otherwise. */
#include "ops_case.h"

#include <ctype.h>

static bool seen[CLV_OP_COUNT];

/* -- checking -------------------------------------------------------------*/

static void check_outputs(const char *expected)
{
    const clv_node *n = &graph->nodes[0];
    char got[LINE] = "", shape[256], count[16];
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_value *v = node_out(graph, n, i);
        size_t len = strlen(got);
        clv_value each = *v;
        each.flags &= (uint8_t)~CLV_V_FORM;
        *count = '\0';
        if (v->flags & CLV_V_SEQUENCE && v->count == CLV_NONE)
            snprintf(count, sizeof count, "?*");
        else if (v->flags & CLV_V_SEQUENCE)
            snprintf(count, sizeof count, "%u*", v->count);
        snprintf(got + len, sizeof got - len, "%s%s%s%s%s", i ? " " : "", count,
                 clv_dtype_name((clv_dtype)v->dtype),
                 clv__shape_text(&each, shape, sizeof shape),
                 v->flags & CLV_V_BOUND ? "?" : "");
    }
    char *to = got; /* no blanks inside the brackets */
    for (const char *s = got; *s; s++)
        if (!(s[0] == ' ' && s > got && s[-1] == ','))
            *to++ = *s;
    *to = '\0';
    if (*expected)
        CHECK_STR(got, expected);
}

static void check_cost(const char *expected)
{
    clv_cost c;
    clv_parallel p = {.num_groups = 1};
    CHECK(clv__cost_node(graph, 0, &c, NULL) == CLV_OK);
    const clv_node *n = &graph->nodes[0];
    if (node_out(graph, n, 0)->rank != CLV_NO_RANK)
        clv__ops[n->op].parallel(graph, n, &p);
    CHECK(p.batch >= 0 && p.channels >= 0 && p.spatial >= 0);
    char key[16];
    long long want;
    int used;
    for (; sscanf(expected, " %15s %lld%n", key, &want, &used) == 2;
         expected += used) {
        int64_t bytes = c.bytes_in + c.bytes_weights + c.bytes_out;
        int64_t got = !strcmp(key, "macs")    ? c.macs
                      : !strcmp(key, "flops") ? c.flops
                                              : bytes;
        check_that(got == want, __FILE__, __LINE__, "%s: got %lld, want %lld",
                   key, (long long)got, want);
    }
}

static void run_block(block *b)
{
    clv_err err = {0};
    char name[120];
    snprintf(name, sizeof name, "%.110s", b->op);
    check_row(name);
    if (!CHECK(clv_graph_new("case", &graph, NULL) == CLV_OK))
        return;
    if (build(b)) {
        seen[graph->nodes[0].op] = true;
        clv_status s = clv_graph_infer(graph, &err);
        if (*b->fails) {
            CHECK(s != CLV_OK);
            CHECK_HAS(err.msg, b->fails);
        } else if (CHECK(s == CLV_OK)) {
            check_outputs(b->out);
            check_cost(b->cost);
        } else {
            printf("  %s\n", err.msg);
        }
    }
    clv_graph_free(graph);
}

static void cases_hold(void)
{
    for_each_case("tests/cases/ops.txt", run_block);
    for_each_case("tests/cases/onnx.txt", run_block);
    for_each_case("tests/cases/lists.txt", run_block);
}

static void every_row_has_a_case(void)
{
    for (int op = 0; op < CLV_OP_COUNT; op++)
        check_that(seen[op] || clv__ops[op].category == CLV_CAT_CONTROL,
                   __FILE__, __LINE__, "no case for %s", clv__ops[op].name);
}

static const check_case cases[] = {
    {"cases_hold", cases_hold},
    {"every_row_has_a_case", every_row_has_a_case},
};
CHECK_MAIN(cases)
