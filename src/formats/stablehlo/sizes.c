/* sizes.c - sizes of arguments that the text leaves open.
 *
 * jax prints a symbolic size as `?`. Its name stands with an argument of the
 * function that the exported one calls, which is handed what
 * get_dimension_size says of the argument that has it; where two arguments
 * share a symbol, an assertion compares their sizes. A size that nobody gives
 * is its bound, or 1. */
#include "formats/stablehlo/args.h"

#include <string.h>

/* One open size of an argument. */
typedef struct open_size {
    uint32_t arg, axis;
    mlir_text value;  /* the name of what get_dimension_size made; "": none */
    const char *name; /* of the symbol, or NULL */
    uint32_t same_as; /* an earlier one of the same size, or itself */
    int64_t is;       /* -1: not known yet */
} open_size;

typedef struct open_sizes {
    open_size *list;
    uint32_t n;
} open_sizes;

static uint32_t sizes_root(const open_sizes *o, uint32_t i)
{
    while (o->list[i].same_as != i)
        i = o->list[i].same_as;
    return i;
}

static uint32_t sizes_named(const open_sizes *o, mlir_text value)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (o->list[i].value.n && mlir_same(o->list[i].value, value))
            return i;
    return CLV_NONE;
}

/* %0 = get_dimension_size %arg, dim = 0 */
static void sizes_note_value(open_sizes *o, const hlo_arg *args,
                             const mlir_op *op)
{
    const mlir_attr *axis = mlir_attr_of(op->attrs, "dimension", "dim");
    if (!axis || op->n_ins != 1 || op->n_outs != 1)
        return;
    for (uint32_t i = 0; i < o->n; i++)
        if (o->list[i].axis == axis->i && !o->list[i].value.n &&
            mlir_same(args[o->list[i].arg].is->name, op->ins[0].name))
            o->list[i].value = op->outs->name;
}

/* compare EQ, %0, %1 of two sizes */
static void sizes_note_equal(open_sizes *o, const mlir_op *op)
{
    const mlir_attr *way = mlir_attr_of(op->attrs, "comparison_direction", "");
    if (!way || !mlir_is(way->text, "EQ") || op->n_ins != 2)
        return;
    uint32_t a = sizes_named(o, op->ins[0].name);
    uint32_t b = sizes_named(o, op->ins[1].name);
    if (a == CLV_NONE || b == CLV_NONE)
        return;
    a = sizes_root(o, a);
    b = sizes_root(o, b);
    if (a < b)
        o->list[b].same_as = a;
    else
        o->list[a].same_as = b;
}

/* call @f(%0, ..) where f names its first argument as the symbol. */
static clv_status sizes_note_names(hlo_reader *r, open_sizes *o,
                                   const mlir_op *op, clv_err *e)
{
    uint32_t f = strmap_get(&r->funcs, op->callee.s, op->callee.n);
    const mlir_arg *a = f == CLV_NONE ? NULL : r->func_list[f]->body.args;
    for (uint32_t i = 0; a && i < op->n_ins; i++, a = a->next) {
        const mlir_attr *name =
            mlir_attr_of(a->attrs, "jax.global_constant", NULL);
        uint32_t at = sizes_named(o, op->ins[i].name);
        if (!name || at == CLV_NONE)
            continue;
        at = sizes_root(o, at);
        o->list[at].name =
            arena_strndup(&r->g->mem, name->text.s, name->text.n);
        if (!o->list[at].name)
            return clv__nomem(e);
    }
    return CLV_OK;
}

static clv_status sizes_note(hlo_reader *r, const mlir_func *f, open_sizes *o,
                             const hlo_arg *args, clv_err *e)
{
    for (const mlir_op *op = f->body.ops; op; op = op->next)
        if (mlir_is(op->name, "stablehlo.get_dimension_size"))
            sizes_note_value(o, args, op);
    for (const mlir_op *op = f->body.ops; op; op = op->next)
        if (mlir_is(op->name, "stablehlo.compare"))
            sizes_note_equal(o, op);
    for (const mlir_op *op = f->body.ops; op; op = op->next)
        if (mlir_is(op->name, "call") || mlir_is(op->name, "func.call"))
            CLV_TRY(sizes_note_names(r, o, op, e));
    return CLV_OK;
}

/* -- values ---------------------------------------------------------------*/

/* The shape that the user has for an argument; rank CLV_NO_RANK: none. */
static clv_status sizes_asked(hlo_reader *r, const hlo_arg *a, uint32_t place,
                              clv_build_input *in, clv_err *e)
{
    const clv_open_opts *opts = r->opts;
    uint32_t rank = a->is->type->rank;
    *in = (clv_build_input){.name = a->name,
                            .name_len = strlen(a->name),
                            .first = place == 0,
                            .rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        in->dims[i] = a->dims[i];
    for (size_t i = 0; opts && i < opts->n_data; i++) {
        const clv_data_arg *d = &opts->data[i];
        bool mine = d->name ? !strcmp(d->name, a->name) : d->place == place;
        for (uint32_t k = 0; mine && d->rank == rank && k < rank; k++)
            if (in->dims[k] < 0)
                in->dims[k] = d->dims[k];
    }
    return clv__build_shape(opts, in, e);
}

static clv_status sizes_fixed(const hlo_arg *a, const clv_build_input *in,
                              clv_err *e)
{
    for (uint32_t i = 0; i < in->rank; i++) {
        if (a->dims[i] < 0 || a->dims[i] == in->dims[i])
            continue;
        return clv__about(
            e,
            clv__fail(e, CLV_SHAPE,
                      "input '%s': the file has %lld for axis %u, not %lld; "
                      "sizes stay open with jax.export.symbolic_shape",
                      a->name, (long long)a->dims[i], i,
                      (long long)in->dims[i]),
            CLV_SUBJECT_INPUT, a->name);
    }
    return CLV_OK;
}

/* Sizes from shapes and data, then from symbols. */
static clv_status sizes_take(hlo_reader *r, open_sizes *o, hlo_arg *args,
                             uint32_t n, clv_err *e)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < n; i++) {
        clv_build_input in;
        if (args[i].kind != CLV_VALUE_INPUT)
            continue;
        CLV_TRY(sizes_asked(r, &args[i], place++, &in, e));
        CLV_TRY(sizes_fixed(&args[i], &in, e));
        for (uint32_t k = 0; k < o->n; k++) {
            open_size *at = &o->list[sizes_root(o, k)];
            int64_t is = o->list[k].arg == i ? in.dims[o->list[k].axis] : -1;
            if (is >= 0 && at->is >= 0 && at->is != is)
                return clv__fail(e, CLV_SHAPE,
                                 "input '%s': axis %u is %lld, and %lld where "
                                 "it must be the same",
                                 args[i].name, o->list[k].axis, (long long)is,
                                 (long long)at->is);
            at->is = is >= 0 ? is : at->is;
        }
    }
    for (size_t d = 0; r->opts && d < r->opts->n_dims; d++) {
        bool known = false;
        for (uint32_t k = 0; k < o->n; k++) {
            open_size *at = &o->list[k];
            if (!at->name || strcmp(at->name, r->opts->dims[d].name))
                continue;
            at->is = r->opts->dims[d].value;
            known = true;
        }
        if (!known)
            return clv__about(e,
                              clv__fail(e, CLV_USAGE,
                                        "no dimension is called '%s'",
                                        r->opts->dims[d].name),
                              CLV_SUBJECT_DIM, r->opts->dims[d].name);
    }
    return CLV_OK;
}

/* Sizes that nobody gave. */
static clv_status sizes_default(hlo_reader *r, open_sizes *o,
                                const hlo_arg *args, clv_err *e)
{
    for (uint32_t k = 0; k < o->n; k++) {
        open_size *at = &o->list[k];
        const mlir_type *t = args[at->arg].is->type;
        const char *input = args[at->arg].name;
        if (at->same_as != k || at->is >= 0)
            continue;
        bool bound = t->bounds && t->bounds[at->axis] > 0;
        at->is = bound ? t->bounds[at->axis] : 1;
        bool ok =
            at->name
                ? clv__graph_warn_about(
                      r->g, CLV_SUBJECT_DIM, at->name,
                      "input '%s': dimension '%s' is taken as %lld%s", input,
                      at->name, (long long)at->is, bound ? ", its bound" : "")
                : clv__graph_warn_about(
                      r->g, CLV_SUBJECT_SIZES, input,
                      "input '%s': axis %u has no size and is taken as %lld%s",
                      input, at->axis, (long long)at->is,
                      bound ? ", its bound" : "");
        if (!ok)
            return clv__nomem(e);
    }
    return CLV_OK;
}

clv_status hlo_args_sizes(hlo_reader *r, const mlir_func *f, hlo_arg *args,
                          uint32_t n, clv_err *e)
{
    open_sizes o = {0};
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most += args[i].is->type->rank;
    o.list = arena_array(&r->mem, most + 1u, sizeof *o.list);
    if (!o.list)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        const mlir_type *t = args[i].is->type;
        memcpy(args[i].dims, t->dims, t->rank * sizeof *t->dims);
        for (uint32_t k = 0; k < t->rank; k++)
            if (t->dims[k] < 0) {
                o.list[o.n] =
                    (open_size){.arg = i, .axis = k, .same_as = o.n, .is = -1};
                o.n++;
            }
    }
    if (o.n)
        CLV_TRY(sizes_note(r, f, &o, args, e));
    CLV_TRY(sizes_take(r, &o, args, n, e));
    CLV_TRY(sizes_default(r, &o, args, e));
    for (uint32_t k = 0; k < o.n; k++) {
        const open_size *root = &o.list[sizes_root(&o, k)];
        hlo_arg *a = &args[o.list[k].arg];
        a->dims[o.list[k].axis] = root->is;
        a->dim_names[o.list[k].axis] = root->name;
    }
    return CLV_OK;
}
