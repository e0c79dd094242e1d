/* test_onnx_schema.c - every version of every operator of ONNX.
 *
 * tests/data/onnx_schema, written by tests/gen/onnx_schema.py, has one file per
 * opset, and per version of ai.onnx.ml, with a node per case, and in
 * outputs.csv the type and shape that ONNX Runtime, or ONNX's own inference,
 * gives each output. The files declare nothing of their outputs: all must be
 * inferred. Where a size depends on data ours is a bound, and must not be
 * less. */
#include "check.h"
#include "cleave.h"
#include "csv.h"
#include "graph/graph.h"

#include <stdlib.h>

static const clv_value *output_named(const clv_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!strcmp(clv_graph_value(g, g->outputs[i]).name, name))
            return &g->values[g->outputs[i]];
    return NULL;
}

/* "sequence of float32", as the table has it. */
static void type_text(const clv_value *v, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s",
             v->flags & CLV_V_OPTIONAL ? "optional of " : "",
             v->flags & CLV_V_SEQUENCE ? "sequence of " : "",
             clv_dtype_name((clv_dtype)v->dtype));
}

/* Whether the shape, such as 2x3, is v's or fits into it. "?" is not told. */
static bool shape_fits(const clv_value *v, const char *shape)
{
    if (*shape == '?')
        return true;
    uint32_t rank = 0;
    for (; *shape; rank++) {
        char *end;
        long long want = strtoll(shape, &end, 10);
        if (rank >= v->rank || v->rank == CLV_NO_RANK)
            return false;
        bool bound = v->flags & CLV_V_BOUND;
        if (bound ? v->dims[rank] < want : v->dims[rank] != want)
            return false;
        shape = *end == 'x' ? end + 1 : end;
    }
    return rank == v->rank;
}

static void check_output(const clv_graph *g, const csv *t)
{
    char got[100], type[60];
    const char *name = csv_get(t, "output"), *shape = csv_get(t, "shape");
    const clv_value *v = output_named(g, name);
    check_row(name);
    CHECK_OR_RETURN(v != NULL);
    type_text(v, type, sizeof type);
    CHECK_STR(type, csv_get(t, "type"));
    clv__shape_text(v, got, sizeof got);
    if (!shape_fits(v, shape))
        CHECK_STR(got, shape);
}

static clv_graph *open_file(const char *name)
{
    char path[64];
    clv_graph *g = NULL;
    clv_err e = {0};
    snprintf(path, sizeof path, "tests/data/onnx_schema/%s.onnx", name);
    check_row(path);
    clv_status s = clv_graph_open(path, NULL, &g, &e);
    CHECK_STR(s == CLV_OK ? "" : e.msg, "");
    return g;
}

static void schema(void)
{
    csv t;
    clv_graph *g = NULL;
    char open[16] = "";
    int n = 0;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/onnx_schema/outputs.csv"));
    while (csv_next(&t)) {
        if (strcmp(open, csv_get(&t, "file")) != 0) {
            snprintf(open, sizeof open, "%s", csv_get(&t, "file"));
            clv_graph_free(g);
            g = open_file(open);
        }
        if (g)
            check_output(g, &t);
        n++;
    }
    CHECK(n > 5000);
    clv_graph_free(g);
}

static const check_case cases[] = {{"schema", schema}};
CHECK_MAIN(cases)
