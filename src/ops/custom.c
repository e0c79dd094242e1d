/* custom.c - described operators: reading the file, evaluating expressions.
 *
 * Expressions are integers, names, + - * / % (division rounds down), brackets,
 * min(a, b) and max(a, b). Names are those the row gives the axes of its
 * inputs, in0.1 (an axis), in0.n (elements), in0.rank, out0.1, out0.n, and
 * attr.heads. They are checked when the file is read, evaluated per node. */
#include "ops/custom.h"

#include "core/json.h"
#include "core/mapping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct custom_row {
    const char *op;
    const json *spec; /* of the file, or NULL: */
    const clv_custom_op *call;
} custom_row;

struct clv_custom_ops {
    const char *path;
    custom_row *rows;
    uint32_t n;
};

/* -- expressions ----------------------------------------------------------*/

typedef struct eval {
    const char *p, *start;
    const json *spec;
    const clv_graph *g; /* NULL: only checked, every name is 1 */
    const clv_node *n;
    char bad[128]; /* the first failure */
    int depth;
} eval;

static int64_t custom_broken(eval *x, const char *what, const char *name)
{
    if (!x->bad[0])
        snprintf(x->bad, sizeof x->bad, "column %d: %s%s%.40s%s",
                 (int)(x->p - x->start) + 1, what, *name ? " '" : "", name,
                 *name ? "'" : "");
    return 1;
}

/* Finds the axis that a row's "inputs" call `name`, as input and axis. Returns
 * false when there is none. */
static bool named_axis(const json *spec, const char *name, uint32_t *input,
                       uint32_t *axis)
{
    const json *inputs = json_get(spec, "inputs");
    *input = 0;
    for (const json *in = inputs ? inputs->child : NULL; in;
         in = in->next, ++*input) {
        *axis = 0;
        for (const json *a = in->child; a; a = a->next, ++*axis)
            if (a->type == JSON_STRING && !strcmp(a->u.s, name))
                return true;
    }
    return false;
}

static int64_t dim_of(eval *x, const clv_value *v, uint32_t axis)
{
    if (!v || v->rank == CLV_NO_RANK || axis >= v->rank)
        return custom_broken(x, "the tensor has no such axis", "");
    return v->dims[axis];
}

/* in0.1, in0.n, in0.rank, out0.2 */
static int64_t custom_member(eval *x, const char *name)
{
    bool out = !strncmp(name, "out", 3);
    char *dot;
    unsigned long i = strtoul(name + (out ? 3 : 2), &dot, 10);
    if (*dot != '.' || i > 255)
        return custom_broken(x, "unknown name", name);
    if (!x->g)
        return 1;
    const clv_value *v =
        out ? (i < x->n->n_out ? node_out(x->g, x->n, (uint32_t)i) : NULL)
            : node_in(x->g, x->n, (uint32_t)i);
    if (!v || v->rank == CLV_NO_RANK)
        return custom_broken(x, "no such tensor, or its shape is unknown",
                             name);
    if (!strcmp(dot + 1, "n"))
        return clv__numel(v);
    if (!strcmp(dot + 1, "rank"))
        return v->rank;
    char *end;
    unsigned long axis = strtoul(dot + 1, &end, 10);
    if (end == dot + 1 || *end)
        return custom_broken(x, "unknown name", name);
    return dim_of(x, v, (uint32_t)axis);
}

static int64_t custom_attribute(eval *x, const char *name)
{
    for (uint32_t i = 0; x->g && i < x->n->n_attrs; i++) {
        const clv_attr *a = &x->n->attrs[i];
        if (!strcmp(a->name, name))
            return a->type == CLV_ATTR_INT     ? a->u.i
                   : a->type == CLV_ATTR_FLOAT ? (int64_t)a->u.f
                                               : 1;
    }
    return x->g ? custom_broken(x, "the node has no attribute", name) : 1;
}

static int64_t custom_variable(eval *x, const char *name)
{
    uint32_t input, axis;
    if (named_axis(x->spec, name, &input, &axis))
        return x->g ? dim_of(x, node_in(x->g, x->n, input), axis) : 1;
    if (!strncmp(name, "attr.", 5))
        return custom_attribute(x, name + 5);
    bool tensor = (!strncmp(name, "in", 2) && clv__is_digit(name[2])) ||
                  (!strncmp(name, "out", 3) && clv__is_digit(name[3]));
    return tensor ? custom_member(x, name)
                  : custom_broken(x, "unknown name", name);
}

static void custom_space(eval *x)
{
    while (*x->p == ' ')
        x->p++;
}

static bool custom_take(eval *x, char c)
{
    custom_space(x);
    if (*x->p != c)
        return false;
    x->p++;
    return true;
}

static int64_t custom_sum(eval *x);

static int64_t custom_call(eval *x, bool most)
{
    int64_t a = custom_sum(x);
    if (!custom_take(x, ','))
        custom_broken(x, "expected ','", "");
    int64_t b = custom_sum(x);
    if (!custom_take(x, ')'))
        custom_broken(x, "expected ')'", "");
    return (a > b) == most ? a : b;
}

static int64_t custom_factor(eval *x)
{
    char name[64];
    size_t n = 0;
    custom_space(x);
    if (x->bad[0] || ++x->depth > 200)
        return custom_broken(x, "nested too deeply", "");
    if (custom_take(x, '(')) {
        int64_t v = custom_sum(x);
        if (!custom_take(x, ')'))
            custom_broken(x, "expected ')'", "");
        return v;
    }
    if (custom_take(x, '-'))
        return sat_mul(-1, custom_factor(x));
    if (clv__is_digit(*x->p)) {
        char *end;
        int64_t v = strtoll(x->p, &end, 10);
        x->p = end;
        return v;
    }
    while (n < sizeof name - 1 &&
           (clv__is_alnum(*x->p) || *x->p == '_' || *x->p == '.'))
        name[n++] = *x->p++;
    name[n] = '\0';
    if (n == 0)
        return custom_broken(x, "expected a number or a name", "");
    bool fn = !strcmp(name, "min") || !strcmp(name, "max");
    if (fn && custom_take(x, '('))
        return custom_call(x, name[1] == 'a');
    return custom_variable(x, name);
}

static int64_t custom_product(eval *x)
{
    int64_t v = custom_factor(x);
    for (;;) {
        if (custom_take(x, '*')) {
            v = sat_mul(v, custom_factor(x));
            continue;
        }
        bool divide = custom_take(x, '/');
        if (!divide && !custom_take(x, '%'))
            return v;
        int64_t by = custom_factor(x);
        if (by <= 0)
            return x->g ? custom_broken(x, "division by zero or less", "") : 1;
        v = divide ? v / by : v % by;
    }
}

static int64_t custom_sum(eval *x)
{
    int64_t v = custom_product(x);
    for (;;) {
        if (custom_take(x, '+'))
            v = sat_add(v, custom_product(x));
        else if (custom_take(x, '-'))
            v = sat_add(v, sat_mul(-1, custom_product(x)));
        else
            return v;
    }
}

/* Evaluates an expression, a JSON string or number, for node n. */
static clv_status custom_evaluate(const struct clv_custom_ops *c,
                                  const json *spec, const json *e,
                                  const clv_graph *g, const clv_node *n,
                                  int64_t *out, clv_err *err)
{
    if (e->type == JSON_INT) {
        *out = e->u.i;
        return CLV_OK;
    }
    if (e->type != JSON_STRING)
        return clv__fail(err, CLV_FORMAT,
                         "%s: line %u: expected an expression, not %s", c->path,
                         e->line, json_type_name(e->type));
    eval x = {.p = e->u.s, .start = e->u.s, .spec = spec, .g = g, .n = n};
    int64_t value = custom_sum(&x);
    custom_space(&x);
    if (*x.p)
        custom_broken(&x, "unexpected", x.p);
    if (x.bad[0])
        return clv__fail(err, CLV_FORMAT, "%s: line %u: '%s': %s", c->path,
                         e->line, e->u.s, x.bad);
    *out = value;
    return CLV_OK;
}

/* -- reading the file -----------------------------------------------------*/

static const char *const keys[] = {"inputs", "output", "outputs",
                                   "dtype",  "macs",   "flops"};

static clv_status custom_check_shape(const struct clv_custom_ops *c,
                                     const json *spec, const json *shape,
                                     clv_err *e)
{
    unsigned input;
    if (shape->type == JSON_STRING &&
        sscanf(shape->u.s, "same as input %u", &input) == 1)
        return CLV_OK;
    if (shape->type != JSON_ARRAY)
        return clv__fail(e, CLV_FORMAT,
                         "%s: line %u: a shape is a list of expressions or "
                         "\"same as input 0\"",
                         c->path, shape->line);
    int64_t v;
    for (const json *d = shape->child; d; d = d->next)
        CLV_TRY(custom_evaluate(c, spec, d, NULL, NULL, &v, e));
    return CLV_OK;
}

static clv_status check_row(const struct clv_custom_ops *c, const json *row,
                            clv_err *e)
{
    if (row->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT,
                         "%s: line %u: '%s' is %s, not an object", c->path,
                         row->line, row->key, json_type_name(row->type));
    for (const json *m = row->child; m; m = m->next) {
        size_t i = 0;
        while (i < sizeof keys / sizeof *keys && strcmp(m->key, keys[i]))
            i++;
        if (i == sizeof keys / sizeof *keys)
            return clv__fail(e, CLV_FORMAT,
                             "%s: line %u: unknown key '%s'; there are inputs, "
                             "output, outputs, dtype, macs, flops",
                             c->path, m->line, m->key);
        int64_t v;
        if (!strcmp(m->key, "macs") || !strcmp(m->key, "flops"))
            CLV_TRY(custom_evaluate(c, row, m, NULL, NULL, &v, e));
        if (!strcmp(m->key, "output"))
            CLV_TRY(custom_check_shape(c, row, m, e));
        for (const json *s = m->child; s && !strcmp(m->key, "outputs");
             s = s->next)
            CLV_TRY(custom_check_shape(c, row, s, e));
        if (!strcmp(m->key, "dtype") &&
            (m->type != JSON_STRING || !clv_dtype_find(m->u.s)))
            return clv__fail(e, CLV_FORMAT, "%s: line %u: no such data type",
                             c->path, m->line);
    }
    return CLV_OK;
}

static clv_status read_file(clv_graph *g, struct clv_custom_ops *c,
                            const json **root, clv_err *e)
{
    clv_mapping map;
    clv_status opened = clv__mapping_open(c->path, &map, e);
    if (opened != CLV_OK) /* the file of operators, not the model, is missing */
        return opened == CLV_NOT_FOUND ? CLV_IO : opened;
    clv_status s =
        json_parse(&g->mem, (const char *)map.data, map.size, root, e);
    clv__mapping_close(&map);
    if (s != CLV_OK) {
        clv__err_prefix(e, "%s", c->path);
        return s;
    }
    if ((*root)->type != JSON_OBJECT)
        return clv__fail(e, CLV_FORMAT,
                         "%s: line 1: expected an object of operators",
                         c->path);
    return CLV_OK;
}

clv_status clv__custom_load(clv_graph *g, const clv_open_opts *opts, clv_err *e)
{
    if (!opts || (!opts->ops_file && !opts->n_custom))
        return CLV_OK;
    struct clv_custom_ops *c = arena_zalloc(&g->mem, sizeof *c);
    const json *root = NULL;
    if (!c)
        return clv__nomem(e);
    if (opts->ops_file) {
        c->path =
            arena_strndup(&g->mem, opts->ops_file, strlen(opts->ops_file));
        if (!c->path)
            return clv__nomem(e);
        CLV_TRY(read_file(g, c, &root, e));
    }
    size_t n = opts->n_custom + (root ? root->n : 0);
    if (n >= UINT16_MAX)
        return clv__fail(e, CLV_USAGE, "%zu custom operators, at most %u", n,
                         UINT16_MAX - 1u);
    c->rows = arena_array(&g->mem, n + 1, sizeof *c->rows);
    if (!c->rows)
        return clv__nomem(e);
    const char *given = (const char *)opts->custom;
    for (size_t i = 0; i < opts->n_custom; i++) {
        clv_custom_op *own = arena_alloc(&g->mem, sizeof *own);
        if (!own)
            return clv__nomem(e);
        CLV_READ(clv_custom_op, given, own, e);
        if (!own->op)
            return clv__fail(e, CLV_USAGE, "custom operator %zu has no name",
                             i);
        given += opts->custom->size; /* as large as the caller has them */
        c->rows[c->n++] = (custom_row){own->op, NULL, own};
    }
    for (const json *row = root ? root->child : NULL; row; row = row->next) {
        CLV_TRY(check_row(c, row, e));
        c->rows[c->n++] = (custom_row){row->key, row, NULL};
    }
    g->custom = c;
    return CLV_OK;
}

/* -- using it -------------------------------------------------------------*/

uint16_t clv__custom_row(const clv_graph *g, const char *name)
{
    const char *dot = strrchr(name, '.');
    for (uint32_t i = 0; g->custom && i < g->custom->n; i++) {
        const char *op = g->custom->rows[i].op;
        if (!strcmp(op, name) || (dot && !strcmp(op, dot + 1)))
            return (uint16_t)(i + 1);
    }
    return 0;
}

static const custom_row *custom_find(const clv_graph *g, const clv_node *n)
{
    return n->custom && g->custom ? &g->custom->rows[n->custom - 1] : NULL;
}

static clv_status set_output(clv_graph *g, clv_node *n, uint32_t i,
                             const json *spec, const json *shape, clv_err *e)
{
    const clv_value *x = node_in(g, n, 0);
    const char *given = json_string(spec, "dtype", NULL);
    clv_dtype t = given ? clv_dtype_find(given)
                  : x   ? (clv_dtype)x->dtype
                        : CLV_FLOAT32;
    unsigned input;
    if (shape->type == JSON_STRING &&
        sscanf(shape->u.s, "same as input %u", &input) == 1) {
        const clv_value *v = node_in(g, n, input);
        if (!v)
            return clv__fail(e, CLV_SHAPE, "has no input %u", input);
        if (v->rank == CLV_NO_RANK)
            return CLV_OK;
        return out_shape(g, n, i, given ? t : (clv_dtype)v->dtype, v->rank,
                         v->dims, e);
    }
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank = 0;
    if (shape->n > CLV_MAX_RANK)
        return clv__fail(e, CLV_SHAPE, "output of rank %u", shape->n);
    for (const json *d = shape->child; d; d = d->next)
        CLV_TRY(custom_evaluate(g->custom, spec, d, g, n, &dims[rank++], e));
    return out_shape(g, n, i, t, rank, dims, e);
}

/* Computes the cost of a node from its row. FLOPs are twice the MACs if the row
 * does not say. */
static clv_status custom_cost_of(const clv_graph *g, const clv_node *n,
                                 const json *spec, int64_t *macs,
                                 int64_t *flops, clv_err *e)
{
    const json *m = json_get(spec, "macs"), *f = json_get(spec, "flops");
    if (m)
        CLV_TRY(custom_evaluate(g->custom, spec, m, g, n, macs, e));
    *flops = sat_mul(2, *macs);
    return f ? custom_evaluate(g->custom, spec, f, g, n, flops, e) : CLV_OK;
}

clv_status clv__custom_infer(clv_graph *g, clv_node *n, clv_err *e)
{
    const custom_row *row = custom_find(g, n);
    if (!row)
        return CLV_OK;
    if (row->call) {
        uint32_t id = (uint32_t)(n - g->nodes);
        for (uint32_t i = 0; row->call->shape && i < n->n_out; i++) {
            int64_t dims[CLV_MAX_RANK];
            uint32_t rank = 0;
            clv_dtype t = CLV_FLOAT32;
            CLV_TRY(
                row->call->shape(row->call->ctx, g, id, i, &t, &rank, dims));
            CLV_TRY(out_shape(g, n, i, t, rank, dims, e));
        }
        return CLV_OK;
    }
    const json *one = json_get(row->spec, "output");
    const json *many = json_get(row->spec, "outputs");
    const json *shape = many ? many->child : one;
    for (uint32_t i = 0; shape && i < n->n_out; i++) {
        CLV_TRY(set_output(g, n, i, row->spec, shape, e));
        shape = many ? shape->next : NULL;
    }
    int64_t macs = 0, flops = 0; /* this reports what cannot be evaluated */
    return custom_cost_of(g, n, row->spec, &macs, &flops, e);
}

bool clv__custom_cost(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    const custom_row *row = custom_find(g, n);
    if (!row)
        return false;
    if (row->call) {
        uint32_t id = (uint32_t)(n - g->nodes);
        if (!row->call->cost ||
            row->call->cost(row->call->ctx, g, id, &c->macs, &c->flops))
            return false;
    } else if (custom_cost_of(g, n, row->spec, &c->macs, &c->flops, NULL)) {
        return false;
    }
    if (c->macs < 0 || c->flops < 0)
        return false;
    c->trust = CLV_TRUST_GIVEN;
    return true;
}

/* -- costs of single nodes ------------------------------------------------*/

bool clv__give_cost(clv_graph *g, uint32_t id, const char *kind, int64_t macs,
                    int64_t flops)
{
    if (!g->given)
        g->given = arena_zalloc(&g->mem, g->n_nodes * sizeof *g->given);
    const char *name = arena_strndup(&g->mem, kind, strlen(kind));
    if (!g->given || !name)
        return false;
    g->given[id] = (clv_given){name, macs, flops};
    return true;
}
