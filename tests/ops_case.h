/* ops_case.h - reads the cases of tests/cases/: one block, one node.
 *
 *     conv2d stride=2 padding=[1,1]             operator and attributes
 *     < float32[1,3,8,8] float32[4,3,3,3] -     inputs; - is an absent one
 *     > float32[1,4,4,4]                        outputs; ? after one: a bound
 *     = macs 1728 flops 3456 bytes 1456         any of the three
 *
 * `int64[2]{7,8}` gives contents; `3*float32[2]` is a sequence of three such,
 * `?*float32[2]` one of any number; `! text` expects a failure that says so. */
#ifndef CLEAVE_TESTS_OPS_CASE_H
#define CLEAVE_TESTS_OPS_CASE_H

#include "check.h"
#include "ops/ops.h"

#include <stdlib.h>

enum { MOST = 160, LINE = 4000 };

static clv_graph *graph;

typedef struct block {
    char op[LINE], in[LINE], out[LINE], cost[LINE], fails[LINE];
} block;

/* -- reading --------------------------------------------------------------*/

/* An integer of 64 bits, signed or not, or what a fraction is cut to. */
static int64_t read_integer(const char *s, double value)
{
    size_t digits = strspn(s + (*s == '-'), "0123456789");
    if (!digits || memchr(".eE", s[(*s == '-') + digits], 3))
        return (int64_t)value;
    return *s == '-' ? strtoll(s, NULL, 10) : (int64_t)strtoull(s, NULL, 10);
}

/* "[1,2]" or "{1,2}": numbers up to the closing bracket; -1 on a bad list. */
static int read_numbers(const char **at, char close, double *out, int64_t *ints)
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
        ints[n] = read_integer(s, out[n]);
        s = end + (*end == ',');
    }
    return -1;
}

/* "3*" or "?*"; false when it is a tensor. */
static bool read_count(const char **at, uint32_t *count)
{
    size_t len = strspn(*at, "0123456789?");
    if ((*at)[len] != '*')
        return false;
    *count = **at == '?' ? CLV_NONE : (uint32_t)strtoul(*at, NULL, 10);
    *at += len + 1;
    return true;
}

/* "float32[1,3]{..}" into a new value; "-" is CLV_NONE. */
static uint32_t read_value(const char **at)
{
    char type[32];
    uint32_t count = 0;
    bool sequence = read_count(at, &count);
    size_t len = strcspn(*at, "[ \n");
    if (**at == '-') {
        ++*at;
        return CLV_NONE;
    }
    snprintf(type, sizeof type, "%.*s", (int)len, *at);
    clv_value_arg arg = {.size = sizeof arg,
                         .kind = CLV_VALUE_INPUT,
                         .dtype = clv_dtype_find(type)};
    CHECK(arg.dtype != CLV_NODTYPE);
    double list[MOST];
    int64_t dims[MOST];
    uint32_t v = CLV_NONE;
    *at += len;
    int rank = read_numbers(at, ']', list, dims);
    arg.rank = (uint32_t)rank;
    arg.dims = dims;
    CHECK(rank >= 0 && clv_graph_add_value(graph, &arg, &v, NULL) == CLV_OK);
    if (sequence && v != CLV_NONE) {
        graph->values[v].flags |= CLV_V_SEQUENCE;
        graph->values[v].count = count;
    }
    if (**at != '{' || v == CLV_NONE)
        return v;
    int64_t *ints = arena_array(&graph->mem, MOST, sizeof *ints);
    double *floats = arena_array(&graph->mem, MOST, sizeof *floats);
    int n = read_numbers(at, '}', floats, ints);
    clv_payload *data = clv__value_data(graph, v);
    data->n = (uint32_t)n;
    if (dtype_is_integral(arg.dtype))
        data->ints = ints;
    else
        data->floats = floats;
    return v;
}

/* ["a","b"] */
static const char **read_strings(char **at, uint32_t *n)
{
    const char **list = arena_array(&graph->mem, MOST, sizeof *list);
    *n = 0;
    while (**at == '[' || **at == ',') {
        char *end = strchr(*at + 2, '"');
        list[(*n)++] = *at + 2;
        *end = '\0';
        *at = end + 1;
    }
    ++*at;
    return list;
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
        a.type = CLV_ATTR_STRING;
        a.u.s = value + 1;
        *end = '\0';
        *at = end + 1;
        return a;
    }
    if (value[0] == '[' && value[1] == '"') {
        *at = value;
        a.type = CLV_ATTR_STRINGS;
        a.u.strings = read_strings(at, &a.n);
        return a;
    }
    size_t len = strcspn(value, " \n");
    bool is_float = memchr(value, '.', len);
    *at = value + len;
    if (*value != '[') {
        a.type = is_float ? CLV_ATTR_FLOAT : CLV_ATTR_INT;
        if (is_float)
            a.u.f = strtod(value, NULL);
        else
            a.u.i = strtoll(value, NULL, 10);
        return a;
    }
    const char *s = value;
    int64_t *ints = arena_array(&graph->mem, MOST, sizeof *ints);
    double *floats = arena_array(&graph->mem, MOST, sizeof *floats);
    int n = read_numbers(&s, ']', floats, ints);
    a.type = is_float ? CLV_ATTR_FLOATS : CLV_ATTR_INTS;
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
    clv_node_arg arg = {.size = sizeof arg,
                        .op = b->op,
                        .inputs = ins,
                        .n_inputs = n_in,
                        .n_outputs = count_outputs(b->out),
                        .attrs = attrs,
                        .n_attrs = n_attrs};
    clv_op op = clv__op_find(b->op);
    CHECK(op != CLV_OP_UNKNOWN || !strcmp(b->op, "unknown"));
    return CHECK(clv_graph_add_node(graph, &arg, outs, NULL) == CLV_OK) &&
           CHECK(clv_graph_add_output(graph, outs[0], NULL) == CLV_OK);
}

/* -- files ----------------------------------------------------------------*/

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

/* Calls `run` with every block of a file. */
static void for_each_case(const char *path, void (*run)(block *))
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
                run(&b);
            b = (block){0};
            continue;
        }
        bool marked = strchr("<>=!", *line);
        snprintf(part_of(&b, *line), LINE, "%s", line + (marked ? 2 : 0));
    }
    if (*b.op)
        run(&b);
    b = (block){0};
    fclose(f);
}

#endif
