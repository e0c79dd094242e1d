/* test_ops.c - every operator against tests/cases/ops.txt.
 *
 * A block of that file is one case:
 *
 *     conv2d stride=2 padding=[1,1]             operator and attributes
 *     < float32[1,3,8,8] float32[4,3,3,3] -     inputs; - is an absent one
 *     > float32[1,4,4,4]                        outputs; ? after one: a bound
 *     = macs 1728 flops 3456 bytes 1456         any of the three
 *
 * `int64[2]{7,8}` gives contents; `! text` expects a failure that says so. The
 * file is written by tests/gen/ops.py from PyTorch and ONNX Runtime; what only
 * ONNX has is in onnx.txt. A row of ops.def without a case fails. */
#include "check.h"
#include "ops/ops.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST = 24, LINE = 2000 };

static clv_graph *graph;
static bool seen[CLV_OP_COUNT];

typedef struct block {
    char op[LINE], in[LINE], out[LINE], cost[LINE], fails[LINE];
} block;

/* -- reading --------------------------------------------------------------*/

/* "[1,2]" or "{1,2}": numbers up to the closing bracket; -1 on a bad list. */
static int read_numbers(const char **at, char close, double *out)
{
    int n = 0;
    for (const char *s = *at + 1; n < MOST; n++) {
        if (*s == close) {
            *at = s + 1;
            return n;
        }
        char *end;
        out[n] = strtod(s, &end);
        if (end == s)
            return -1;
        s = end + (*end == ',');
    }
    return -1;
}

/* "float32[1,3]{..}" into a new value; "-" is CLV_NONE. */
static uint32_t read_value(const char **at)
{
    char type[32];
    size_t len = strcspn(*at, "[ \n");
    if (**at == '-') {
        ++*at;
        return CLV_NONE;
    }
    snprintf(type, sizeof type, "%.*s", (int)len, *at);
    clv_value_arg arg = {.kind = CLV_INPUT, .dtype = clv_dtype_find(type)};
    CHECK(arg.dtype != CLV_NODTYPE);
    double list[MOST];
    int64_t dims[MOST];
    uint32_t v = CLV_NONE;
    *at += len;
    int rank = read_numbers(at, ']', list);
    for (int i = 0; i < rank; i++)
        dims[i] = (int64_t)list[i];
    arg.rank = (uint32_t)rank;
    arg.dims = dims;
    CHECK(rank >= 0 && clv_graph_add_value(graph, &arg, &v, NULL) == CLV_OK);
    if (**at != '{' || v == CLV_NONE)
        return v;
    int n = read_numbers(at, '}', list);
    int64_t *ints = arena_array(&graph->mem, MOST, sizeof *ints);
    double *floats = arena_array(&graph->mem, MOST, sizeof *floats);
    clv_payload *data = clv__value_data(graph, v);
    for (int i = 0; i < n; i++) {
        ints[i] = (int64_t)list[i];
        floats[i] = list[i];
    }
    data->n = (uint32_t)n;
    if (dtype_is_integral(arg.dtype))
        data->ints = ints;
    else
        data->floats = floats;
    return v;
}

/* `name=value`: an int, a float (it has a point), a list, or "a string". */
static clv_attr_arg read_attr(char **at)
{
    clv_attr_arg a = {.name = *at};
    char *value = strchr(*at, '=');
    if (!CHECK(value))
        return a;
    *value++ = '\0';
    CHECK(clv__attr_find(a.name) != CLV_A_OTHER);
    if (*value == '"') {
        char *end = strchr(value + 1, '"');
        a.type = CLV_STRING_ATTR;
        a.u.s = value + 1;
        *end = '\0';
        *at = end + 1;
        return a;
    }
    size_t len = strcspn(value, " \n");
    bool is_float = memchr(value, '.', len);
    *at = value + len;
    if (*value != '[') {
        a.type = is_float ? CLV_FLOAT_ATTR : CLV_INT_ATTR;
        if (is_float)
            a.u.f = strtod(value, NULL);
        else
            a.u.i = strtoll(value, NULL, 10);
        return a;
    }
    double list[MOST];
    const char *s = value;
    int n = read_numbers(&s, ']', list);
    int64_t *ints = arena_array(&graph->mem, MOST, sizeof *ints);
    double *floats = arena_array(&graph->mem, MOST, sizeof *floats);
    for (int i = 0; i < n; i++) {
        ints[i] = (int64_t)list[i];
        floats[i] = list[i];
    }
    a.type = is_float ? CLV_FLOATS_ATTR : CLV_INTS_ATTR;
    a.n = (uint32_t)n;
    if (is_float)
        a.u.floats = floats;
    else
        a.u.ints = ints;
    return a;
}

static uint32_t count_outputs(const char *s)
{
    uint32_t n = 0;
    for (; (s = strchr(s, '[')); s++)
        n++;
    return n ? n : 1;
}

/* Makes the graph of one node; false when the case itself is malformed. */
static bool build(block *b)
{
    uint32_t ins[MOST], outs[MOST], n_in = 0, n_attrs = 0;
    clv_attr_arg attrs[MOST];
    for (const char *s = b->in; *s && n_in < MOST; s += *s == ' ')
        ins[n_in++] = read_value(&s);
    char *at = b->op + strcspn(b->op, " ");
    if (*at)
        *at++ = '\0';
    while (*at && n_attrs < MOST) {
        attrs[n_attrs++] = read_attr(&at);
        at += *at == ' ';
    }
    clv_node_arg arg = {.op = b->op,
                        .inputs = ins,
                        .n_inputs = n_in,
                        .n_outputs = count_outputs(b->out),
                        .attrs = attrs,
                        .n_attrs = n_attrs};
    clv_op op = clv__op_find(b->op);
    CHECK(op != CLV_OP_UNKNOWN || !strcmp(b->op, "unknown"));
    seen[op] = true;
    return CHECK(clv_graph_add_node(graph, &arg, outs, NULL) == CLV_OK) &&
           CHECK(clv_graph_add_output(graph, outs[0], NULL) == CLV_OK);
}

/* -- checking -------------------------------------------------------------*/

static void check_outputs(const char *expected)
{
    const clv_node *n = &graph->nodes[0];
    char got[LINE] = "", shape[256];
    for (uint32_t i = 0; i < n->n_out; i++) {
        const clv_value *v = node_out(graph, n, i);
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s%s%s%s", i ? " " : "",
                 clv_dtype_name((clv_dtype)v->dtype),
                 clv__shape_text(v, shape, sizeof shape),
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
    check_row(b->op);
    if (!CHECK(clv_graph_new("case", &graph, NULL) == CLV_OK))
        return;
    if (build(b)) {
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

/* The part of the block that a line belongs to, by its first character. */
static char *part_of(block *b, char first)
{
    switch (first) {
    case '<':
        return b->in;
    case '>':
        return b->out;
    case '=':
        return b->cost;
    case '!':
        return b->fails;
    default:
        return b->op;
    }
}

static void file_holds(const char *path)
{
    FILE *f = fopen(path, "r");
    CHECK_OR_RETURN(f);
    static block b;
    char line[LINE];
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#')
            continue;
        if (*line == '\0') {
            if (*b.op)
                run_block(&b);
            b = (block){0};
            continue;
        }
        bool marked = strchr("<>=!", *line);
        snprintf(part_of(&b, *line), LINE, "%s", line + (marked ? 2 : 0));
    }
    if (*b.op)
        run_block(&b);
    fclose(f);
}

static void cases_hold(void)
{
    file_holds("tests/cases/ops.txt");
    file_holds("tests/cases/onnx.txt");
}

static void every_row_has_a_case(void)
{
    for (int op = 0; op < CLV_OP_COUNT; op++)
        check_that(seen[op] || clv__ops[op].category == CLV_CAT_CONTROL,
                   __FILE__, __LINE__, "no case for %s", clv__ops[op].name);
}

/* -- docs/operators.md ----------------------------------------------------*/

typedef struct row {
    const char *name, *category, *cls, *cost;
    int lo, hi, unit;
} row;

static const row rows[] = {
#define OP(kind, name, cat, cls, fuse, lo, hi, unit, infer, cost, par, fold) \
    {name, #cat, #cls, #cost, lo, hi, unit},
#include "ops/ops.def"
#undef OP
};

/* How the line of an operator begins, up to its attributes. */
static void row_text(const row *r, char *text, size_t size)
{
    char inputs[16];
    if (r->hi == MANY)
        snprintf(inputs, sizeof inputs, "%d+", r->lo);
    else if (r->hi == r->lo)
        snprintf(inputs, sizeof inputs, "%d", r->lo);
    else
        snprintf(inputs, sizeof inputs, "%d-%d", r->lo, r->hi);
    snprintf(text, size, "| `%s` | %s | %s | %s |", r->name, r->category,
             r->cls, inputs);
    for (char *c = text + strlen(r->name) + 4; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* Its figure, where that is one number per element. */
static void unit_text(const row *r, char *text, size_t size)
{
    bool by_output = !strcmp(r->cost, "cost_eltwise");
    bool by_input = !strcmp(r->cost, "cost_reduce");
    *text = '\0';
    if (r->unit && (by_output || by_input))
        snprintf(text, size, "| %d per %s element |", r->unit,
                 by_output ? "output" : "input");
}

static void manual_is_in_step(void)
{
    static char manual[100000];
    FILE *f = fopen("docs/operators.md", "r");
    CHECK_OR_RETURN(f);
    manual[fread(manual, 1, sizeof manual - 1, f)] = '\0';
    fclose(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[160], unit[40], line[600];
        row_text(&rows[i], text, sizeof text);
        unit_text(&rows[i], unit, sizeof unit);
        const char *at = strstr(manual, text);
        if (!check_that(at != NULL, __FILE__, __LINE__, "no line %s", text))
            continue;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        CHECK_HAS(line, unit);
    }
}

static const check_case cases[] = {
    {"cases_hold", cases_hold},
    {"every_row_has_a_case", every_row_has_a_case},
    {"manual_is_in_step", manual_is_in_step},
};
CHECK_MAIN(cases)
