/* weights.c - which arguments of the function are weights.
 *
 * jax hands parameters over as arguments, so the text alone does not say what
 * was learned. In this order, the first that says anything counts:
 *
 *   the user    --params: how many come first, or patterns of names
 *   names       locations name arguments "params['Dense_0']['kernel']"
 *   use         an argument that is the kernel of a convolution, the second
 *               factor of a product without a batch, a table that is looked up
 *               in, or a vector that is spread over a tensor; through reshapes,
 *               casts and calls
 *
 * What was decided by use is said in a warning. */
#include "formats/stablehlo/args.h"

#include "formats/formats.h"
#include "tensor/dtype.h"

#include <stdlib.h>
#include <string.h>

/* -- names ----------------------------------------------------------------*/

/* "variables['params']['Dense_0']['kernel']" is variables.params.Dense_0.kernel
 * here. */
static char *weights_name(arena *mem, mlir_text t)
{
    char *out = arena_alloc(mem, t.n + 1u);
    uint32_t n = 0;
    for (uint32_t i = 0; out && i < t.n; i++) {
        char c = t.s[i];
        bool parts = c == '[' || c == '.' || c == '/';
        if (parts && n && out[n - 1] != '.')
            out[n++] = '.';
        else if (!parts && c != ']' && c != '\'' && c != '"' && c != '\\')
            out[n++] = c;
    }
    if (!out)
        return NULL;
    while (n && out[n - 1] == '.')
        n--;
    out[n] = '\0';
    clv__import_scrub(out, n);
    return out;
}

/* A word of the path that only weights have. Statistics are not learned. */
static clv_value_kind weights_kind_of(const char *name)
{
    static const char *const learned[] = {
        "params", "param", "kernel", "bias", "weight", "weights", "embedding"};
    static const char *const stored[] = {"batch_stats", "buffers",
                                         "running_mean", "running_var"};
    clv_value_kind kind = CLV_VALUE_INPUT;
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, ".");
        for (size_t i = 0; i < sizeof learned / sizeof *learned; i++)
            if (n == strlen(learned[i]) && !memcmp(p, learned[i], n) &&
                kind == CLV_VALUE_INPUT)
                kind = CLV_VALUE_PARAM;
        for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
            if (n == strlen(stored[i]) && !memcmp(p, stored[i], n))
                kind = CLV_VALUE_BUFFER;
        p += n + (p[n] == '.');
    }
    return kind;
}

static const mlir_func *weights_func(const hlo_reader *r, mlir_text name)
{
    uint32_t i = strmap_get(&r->funcs, name.s, name.n);
    return i == CLV_NONE ? NULL : r->func_list[i];
}

static bool weights_is_call(const mlir_op *op)
{
    return mlir_is(op->name, "call") || mlir_is(op->name, "func.call");
}

/* The name that a location gives the argument, here or where it is handed on
 * to. */
static mlir_text weights_loc(const hlo_reader *r, const mlir_func *f,
                             const mlir_arg *arg)
{
    mlir_text name = hlo_loc_name(&r->module, arg->loc);
    for (const mlir_op *op = f->body.ops; op && !name.n; op = op->next) {
        const mlir_func *to =
            weights_is_call(op) ? weights_func(r, op->callee) : NULL;
        const mlir_arg *a = to && to != f ? to->body.args : NULL;
        for (uint32_t i = 0; a && i < op->n_ins && !name.n; i++, a = a->next)
            if (mlir_same(op->ins[i].name, arg->name))
                name = hlo_loc_name(&r->module, a->loc);
    }
    return name;
}

/* -- use ------------------------------------------------------------------*/

enum { USE_DEPTH = 8 };

/* Values that show an argument, by name: its number. */
typedef struct use_scope {
    const hlo_reader *r;
    strmap shows;
    bool *weight;
    const mlir_arg **args; /* of the whole */
    int depth;
    bool failed;
} use_scope;

static uint32_t use_of(const use_scope *u, const mlir_op *op, uint32_t i)
{
    return i < op->n_ins && op->ins[i].index == 0
               ? strmap_get(&u->shows, op->ins[i].name.s, op->ins[i].name.n)
               : CLV_NONE;
}

static void use_mark(use_scope *u, uint32_t arg)
{
    const mlir_type *t = arg == CLV_NONE ? NULL : u->args[arg]->type;
    if (t && t->kind == MLIR_TENSOR && !dtype_is_integral(t->dtype))
        u->weight[arg] = true;
}

static uint32_t use_rank(const use_scope *u, uint32_t arg)
{
    return arg == CLV_NONE ? 0 : u->args[arg]->type->rank;
}

static bool use_has_batch(const mlir_op *op)
{
    const mlir_attr *dims =
        mlir_attr_of(op->attrs, "dot_dimension_numbers", NULL);
    const mlir_attr *batch =
        dims ? mlir_attr_of(dims->items, "lhs_batching_dimensions", NULL)
             : mlir_attr_of(op->attrs, "batching_dims", NULL);
    return batch && batch->items && (dims || batch->items->n);
}

static void use_walk(use_scope *u, const mlir_region *r);

/* The same in a function or region that is handed some of these values. */
static void use_inside(use_scope *u, const mlir_region *body, const mlir_op *op,
                       uint32_t first, bool sees)
{
    use_scope in = *u;
    in.shows = (strmap){0};
    in.depth = u->depth - 1;
    const mlir_arg *a = body->args;
    for (uint32_t i = first; a && i < op->n_ins; i++, a = a->next) {
        uint32_t arg = use_of(u, op, i);
        if (arg != CLV_NONE &&
            !strmap_put(&in.shows, a->name.s, a->name.n, arg))
            u->failed = true;
    }
    if (sees) { /* names around a region */
        for (const mlir_op *o = body->ops; o; o = o->next)
            for (uint32_t i = 0; i < o->n_ins; i++) {
                mlir_text n = o->ins[i].name;
                uint32_t arg = strmap_get(&u->shows, n.s, n.n);
                if (arg != CLV_NONE &&
                    strmap_get(&in.shows, n.s, n.n) == CLV_NONE &&
                    !strmap_put(&in.shows, n.s, n.n, arg))
                    u->failed = true;
            }
    }
    if (in.depth > 0)
        use_walk(&in, body);
    u->failed |= in.failed;
    strmap_free(&in.shows);
}

static void use_product(use_scope *u, const mlir_op *op)
{
    uint32_t a = use_of(u, op, 0), b = use_of(u, op, 1);
    if (use_has_batch(op))
        return;
    if (a != CLV_NONE && (b == CLV_NONE || use_rank(u, b) < use_rank(u, a)))
        use_mark(u, a);
    else
        use_mark(u, b);
}

static void use_one(use_scope *u, const mlir_op *op)
{
    const hlo_row *row = hlo_row_of(op->name);
    uint32_t a = use_of(u, op, 0);
    if (weights_is_call(op)) {
        const mlir_func *f = weights_func(u->r, op->callee);
        if (f)
            use_inside(u, &f->body, op, 0, false);
        return;
    }
    for (const mlir_region *r = op->regions; r; r = r->next)
        use_inside(u, r, op, 0, true);
    if (!row)
        return;
    bool spreads = row->map == hlo_map_broadcast_in_dim;
    if (row->map == hlo_map_convolution)
        use_mark(u, use_of(u, op, 1));
    else if (row->map == hlo_map_dot_general)
        use_product(u, op);
    else if (row->map == hlo_map_gather && use_rank(u, a) == 2)
        use_mark(u, a);
    else if (spreads && use_rank(u, a) == 1 && op->types && op->types->rank > 1)
        use_mark(u, a);
    bool shows = row->map == hlo_map_reshape || row->map == hlo_map_transpose ||
                 row->map == hlo_map_convert || row->map == hlo_map_same ||
                 spreads || row->map == hlo_map_reverse;
    if (shows && a != CLV_NONE && op->n_outs == 1 &&
        !strmap_put(&u->shows, op->outs->name.s, op->outs->name.n, a))
        u->failed = true;
}

static void use_walk(use_scope *u, const mlir_region *r)
{
    for (const mlir_op *op = r->ops; op; op = op->next)
        use_one(u, op);
}

/* Marks the arguments that are used as weights are. */
static clv_status weights_by_use(hlo_reader *r, const mlir_func *f,
                                 hlo_arg *args, uint32_t n, clv_err *e)
{
    use_scope u = {.r = r, .depth = USE_DEPTH};
    u.weight = arena_zalloc(&r->mem, n + 1u);
    u.args = arena_array(&r->mem, n + 1u, sizeof *u.args);
    if (!u.weight || !u.args)
        return clv__nomem(e);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        u.args[i] = args[i].is;
        u.failed |=
            !strmap_put(&u.shows, args[i].is->name.s, args[i].is->name.n, i);
    }
    use_walk(&u, &f->body);
    strmap_free(&u.shows);
    if (u.failed)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++)
        found += u.weight[i];
    if (found == n && n) { /* something is computed on */
        u.weight[n - 1] = false;
        found--;
    }
    for (uint32_t i = 0; i < n; i++)
        if (u.weight[i])
            args[i].kind = CLV_VALUE_PARAM;
    if (found &&
        !clv__graph_warn_about(r->g, CLV_SUBJECT_WEIGHTS, "",
                               "%u of %u arguments are taken for weights by "
                               "how they are used",
                               found, n))
        return clv__nomem(e);
    return CLV_OK;
}

/* -- what the user says ---------------------------------------------------*/

/* Whether one of the patterns, split at commas, has the name. */
static bool weights_match(hlo_reader *r, const char *patterns, const char *name)
{
    for (const char *p = patterns; *p;) {
        size_t n = strcspn(p, ",");
        char *one = arena_strndup(&r->mem, p, n);
        if (one && (clv__glob(one, name)))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

/* A number: so many come first. `none`, `all`, or patterns. */
static clv_status weights_by_user(hlo_reader *r, const char *params,
                                  hlo_arg *args, uint32_t n, clv_err *e)
{
    char *end;
    long first = strtol(params, &end, 10);
    bool number = end != params && !*end;
    uint32_t found = 0;
    if (number && (first < 0 || (uint64_t)first > n))
        return clv__fail(e, CLV_USAGE, "weights '%s': there are %u arguments",
                         params, n);
    for (uint32_t i = 0; i < n; i++) {
        bool is = number                   ? (long)i < first
                  : !strcmp(params, "all") ? true
                  : !strcmp(params, "none")
                      ? false
                      : weights_match(r, params, args[i].name);
        args[i].kind = is ? CLV_VALUE_PARAM : CLV_VALUE_INPUT;
        found += is;
    }
    if (!found && !number && strcmp(params, "none") && strcmp(params, "all"))
        return clv__fail(e, CLV_USAGE,
                         "weights '%s': no argument is called so; the first is "
                         "'%s'",
                         params, n ? args[0].name : "");
    return CLV_OK;
}

clv_status hlo_args_kinds(hlo_reader *r, const mlir_func *f, hlo_arg *args,
                          uint32_t n, clv_err *e)
{
    strmap seen = {0};
    bool weights = false, ok = true;
    uint32_t i = 0;
    for (const mlir_arg *a = f->body.args; a && ok; a = a->next, i++) {
        mlir_text name = weights_loc(r, f, a);
        args[i].is = a;
        args[i].kind = CLV_VALUE_INPUT;
        args[i].name = weights_name(&r->g->mem, name.n ? name : a->name);
        args[i].named = name.n != 0;
        bool added = true;
        ok = args[i].name &&
             strmap_add(&seen, args[i].name, strlen(args[i].name), i, &added);
        if (ok && (!added || !*args[i].name)) { /* the same name twice */
            args[i].name = arena_strndup(&r->g->mem, a->name.s, a->name.n);
            ok = args[i].name != NULL;
        }
        clv_value_kind kind = ok && args[i].named
                                  ? weights_kind_of(args[i].name)
                                  : CLV_VALUE_INPUT;
        args[i].kind = kind;
        weights |= kind != CLV_VALUE_INPUT;
    }
    strmap_free(&seen);
    if (!ok)
        return clv__nomem(e);
    if (r->opts && r->opts->params)
        return weights_by_user(r, r->opts->params, args, n, e);
    return weights ? CLV_OK : weights_by_use(r, f, args, n, e);
}
