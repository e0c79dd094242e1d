/* read.c - StableHLO text: the way in.
 *
 * The function that is read is @main, or else the first that is public. Its
 * arguments are inputs and weights (weights.c), its results the outputs. What
 * it calls stands in place of the calls. */
#include "formats/formats.h"
#include "formats/stablehlo/args.h"

#include <string.h>

/* -- telling it -----------------------------------------------------------*/

static bool read_starts(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

/* A module or a function; comments and definitions of aliases may come
 * before. */
bool clv__stablehlo_knows(const clv_mapping *map, const char *path)
{
    const char *p = (const char *)map->data, *end = p + map->size;
    (void)path;
    while (p < end) {
        while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
            p++;
        const char *line = memchr(p, '\n', (size_t)(end - p));
        line = line ? line : end;
        bool alias = end - p > 1 && *p == '#' && clv__is_alnum(p[1]) &&
                     memchr(p, '=', (size_t)(line - p));
        if (!alias && !read_starts(p, end, "//"))
            break;
        p = line;
    }
    return read_starts(p, end, "module {") || read_starts(p, end, "module @") ||
           read_starts(p, end, "module attributes") ||
           read_starts(p, end, "builtin.module") ||
           read_starts(p, end, "\"builtin.module\"") ||
           read_starts(p, end, "func.func ");
}

/* -- arguments and results ------------------------------------------------*/

static clv_status read_arg(hlo_reader *r, hlo_scope *s, const hlo_arg *a,
                           clv_err *e)
{
    const mlir_type *t = a->is->type;
    clv_graph *g = r->g;
    uint32_t v = clv__value_add(g, a->name, a->kind,
                                clv__build_dtype(r->opts, t->dtype));
    if (v == CLV_NONE || !clv__value_set_shape(g, v, t->rank, a->dims))
        return clv__nomem(e);
    bool named = false;
    for (uint32_t i = 0; i < t->rank; i++)
        named |= a->dim_names[i] != NULL;
    if (named) {
        const char **names = arena_array(&g->mem, t->rank, sizeof *names);
        clv_payload *data = clv__value_data(g, v);
        if (!names || !data)
            return clv__nomem(e);
        memcpy(names, a->dim_names, t->rank * sizeof *names);
        data->dim_names = names;
    }
    return hlo_bind(s, a->is->name, &v, 1, e);
}

static clv_status read_args(hlo_reader *r, hlo_scope *s, const mlir_func *f,
                            clv_err *e)
{
    uint32_t n = f->body.n_args;
    hlo_arg *args = arena_zalloc(&r->mem, (n + 1u) * sizeof *args);
    if (!args)
        return clv__nomem(e);
    for (const mlir_arg *a = f->body.args; a; a = a->next)
        if (a->type->kind == MLIR_TUPLE || a->type->kind == MLIR_OTHER)
            return hlo_fail(s, e, "argument %%%.*s is no tensor",
                            (int)a->name.n, a->name.s);
    CLV_TRY(hlo_args_kinds(r, f, args, n, e));
    CLV_TRY(hlo_args_sizes(r, f, args, n, e));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t none = CLV_NONE;
        CLV_TRY(args[i].is->type->kind == MLIR_TOKEN
                    ? hlo_bind(s, args[i].is->name, &none, 1, e)
                    : read_arg(r, s, &args[i], e));
    }
    return CLV_OK;
}

/* An output is made by a node, and is no other output. */
static clv_status read_outputs(hlo_scope *s, const uint32_t *outs, uint32_t n,
                               clv_err *e)
{
    clv_graph *g = s->g;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = outs[i];
        if (v == CLV_NONE)
            continue;
        if (g->values[v].producer == CLV_NONE ||
            g->values[v].flags & CLV_V_OUTPUT) {
            s->name = "result";
            s->origin = s->source = NULL;
            s->at = 0;
            CLV_TRY(hlo_unary(s, "", CLV_OP_IDENTITY, v, &v, e));
        }
        if (!clv__graph_output(g, v))
            return clv__nomem(e);
    }
    return CLV_OK;
}

/* -- functions ------------------------------------------------------------*/

static clv_status read_index(hlo_reader *r, clv_err *e)
{
    const mlir_module *m = &r->module;
    uint32_t n = 0;
    r->func_list = arena_array(&r->mem, m->n_funcs + 1u, sizeof *r->func_list);
    if (!r->func_list)
        return clv__nomem(e);
    for (const mlir_func *f = m->funcs; f; f = f->next) {
        r->func_list[n] = f;
        if (!strmap_put(&r->funcs, f->name.s, f->name.n, n++))
            return clv__nomem(e);
    }
    return CLV_OK;
}

static const mlir_func *read_entry(const hlo_reader *r)
{
    uint32_t i = strmap_get(&r->funcs, "main", 4);
    if (i != CLV_NONE && !r->func_list[i]->declared)
        return r->func_list[i];
    for (const mlir_func *f = r->module.funcs; f; f = f->next)
        if (!f->is_private && !f->declared)
            return f;
    return NULL;
}

static clv_status read_text(hlo_reader *r, clv_err *e)
{
    uint32_t *outs, n;
    CLV_TRY(mlir_parse(&r->mem, r->text, r->size, &r->module, e));
    CLV_TRY(read_index(r, e));
    const mlir_func *f = read_entry(r);
    if (!f)
        return clv__fail(e, CLV_FORMAT, "there is no function in it");
    hlo_scope s;
    hlo_scope_open(&s, r, r->g, NULL, NULL);
    clv_status st = read_args(r, &s, f, e);
    if (st == CLV_OK)
        st = hlo_walk(&s, &f->body, &outs, &n, e);
    if (st == CLV_OK)
        st = read_outputs(&s, outs, n, e);
    hlo_scope_close(&s);
    CLV_TRY(st);
    return clv__build_finish(r->g, CLV_BUILT_INFERRED, e);
}

clv_status clv__stablehlo_load(clv_mapping map, const char *path,
                               const clv_open_opts *opts, clv_graph **out,
                               clv_err *e)
{
    clv_graph *g;
    hlo_reader r = {
        .opts = opts, .text = (const char *)map.data, .size = map.size};
    *out = NULL;
    CLV_TRY(clv__import_begin(map, path, "stablehlo", opts, &g, e));
    r.g = g;
    clv_status s = read_text(&r, e);
    mlir_free(&r.module);
    strmap_free(&r.funcs);
    arena_free(&r.mem);
    return clv__import_end(g, s, out, e);
}
