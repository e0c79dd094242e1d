/* graph.c - the nodes of a graph become calls.
 *
 * Arguments that have their default are not in the file; a row of aten.def
 * knows what a call without them means. Nodes without a tensor among their
 * results compute sizes or check them: the document has their values. */
#include "formats/pt2/pt2.h"

#include "core/limits.h"

#include <string.h>

/* -- results --------------------------------------------------------------*/

static clv_status outputs_add(pt2_reader *r, const json *tensor,
                              const char ***names, uint32_t *n, size_t *cap,
                              clv_err *e)
{
    const char *name = json_string(tensor, "name", NULL);
    if (!name)
        return clv__fail(e, CLV_FORMAT, "line %u: an output without a name",
                         tensor->line);
    if (*n == *cap) {
        size_t more = *cap ? 2 * *cap : 4;
        const char **list = arena_array(&r->mem, more, sizeof *list);
        if (!list)
            return clv__nomem(e);
        if (*n)
            memcpy(list, *names, *n * sizeof *list);
        *names = list;
        *cap = more;
    }
    (*names)[(*n)++] = name;
    return CLV_OK;
}

clv_status pt2_outputs(pt2_reader *r, const json *outputs, const char ***names,
                       uint32_t *n, clv_err *e)
{
    size_t cap = 0;
    *names = NULL;
    *n = 0;
    for (const json *o = outputs ? outputs->child : NULL; o; o = o->next) {
        const json *m = pt2_union(o);
        if (!m)
            continue;
        if (!strcmp(m->key, "as_tensor"))
            CLV_TRY(outputs_add(r, m, names, n, &cap, e));
        else if (!strcmp(m->key, "as_tensors"))
            for (const json *t = m->child; t; t = t->next)
                CLV_TRY(outputs_add(r, t, names, n, &cap, e));
    }
    return CLV_OK;
}

/* -- arguments ------------------------------------------------------------*/

/* Whether an argument goes by its name. Files before schema 8 do not say; there
 * these names are the ones that operators take by name alone. */
static bool call_by_name(const json *input)
{
    static const char *const names[] = {
        "dtype",       "layout", "device",     "pin_memory",
        "alpha",       "beta",   "generator",  "memory_format",
        "approximate", "value",  "scale",      "rounding_mode",
        "correction",  "stable", "enable_gqa", "non_blocking",
        "right",       "side",   "reduce",     "out_int32",
        "sorter",      "driver", "size_hint"};
    enum { POSITIONAL = 1, KEYWORD = 2 };
    int64_t kind = json_int(input, "kind", 0);
    const char *name = json_string(input, "name", "");
    bool yes = kind == KEYWORD;
    for (size_t i = 0; kind == 0 && !yes && i < sizeof names / sizeof *names;
         i++)
        yes = !strcmp(names[i], name);
    return yes;
}

static clv_status call_args(pt2_scope *s, const json *node, aten_call *call,
                            clv_err *e)
{
    const json *inputs = json_get(node, "inputs");
    uint32_t n = inputs ? inputs->n : 0;
    aten_arg *args = arena_array(&s->r->mem, n + 1u, sizeof *args);
    aten_named *named = arena_array(&s->r->mem, n + 1u, sizeof *named);
    if (!args || !named)
        return clv__nomem(e);
    for (const json *m = inputs ? inputs->child : NULL; m; m = m->next) {
        aten_arg a;
        CLV_TRY(pt2_arg(s, json_get(m, "arg"), &a, e));
        if (call_by_name(m))
            named[call->n_named++] =
                (aten_named){json_string(m, "name", ""), a};
        else
            args[call->n_args++] = a;
    }
    call->args = args;
    call->named = named;
    return CLV_OK;
}

/* -- calls ----------------------------------------------------------------*/

/* "torch.ops.aten.relu.default" is aten.relu.default. Namespaces whose
 * operators have rows of their own are left out; others stay, so that nobody's
 * operator is taken for one of torch's. */
static const char *call_target(const char *target)
{
    static const char *const skipped[] = {"torch.ops.", "torchvision.",
                                          "prims."};
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++) {
        size_t n = strlen(skipped[i]);
        if (!strncmp(target, skipped[i], n))
            target += n;
    }
    return target;
}

/* Results that nobody reads are called so. */
static bool call_is_unused(const char *name)
{
    return strstr(name, "_unused_") != NULL;
}

static clv_status call_results(pt2_scope *s, const char **names, uint32_t n,
                               aten_call *call, clv_err *e)
{
    aten_type *types = arena_array(&s->r->mem, n + 1u, sizeof *types);
    if (!types)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        CLV_TRY(pt2_result(s, names[i], &types[i], e));
        call->others_used |= i > 0 && !call_is_unused(names[i]);
    }
    call->results = types;
    call->n_results = n;
    return CLV_OK;
}

static clv_status call_bind(pt2_scope *s, const char **names, uint32_t n,
                            clv_err *e)
{
    for (uint32_t i = 0; i < n && i < s->b->n_made; i++)
        if (!strmap_put(&s->values, names[i], strlen(names[i]), s->b->made[i]))
            return clv__nomem(e);
    return CLV_OK;
}

static clv_status graph_call(pt2_scope *s, const json *node, const char *target,
                             clv_err *e)
{
    const char **names;
    uint32_t n;
    CLV_TRY(pt2_outputs(s->r, json_get(node, "outputs"), &names, &n, e));
    if (n == 0)
        return CLV_OK;
    aten_call call = {.target = call_target(target)};
    call.name = json_string(node, "name", names[0]);
    CLV_TRY(call_args(s, node, &call, e));
    CLV_TRY(call_results(s, names, n, &call, e));
    CLV_TRY(pt2_place(s->r, node, &call, e));
    CLV_TRY(clv__aten_call(s->b, &call, e));
    return call_bind(s, names, n, e);
}

static clv_status graph_node(pt2_scope *s, const json *node, clv_err *e)
{
    const char *target = json_string(node, "target", NULL);
    bool known = false;
    if (!target)
        return clv__fail(e, CLV_FORMAT, "line %u: a node without a target",
                         node->line);
    CLV_TRY(clv__within(s->b->g->n_nodes, e));
    if (!strncmp(target, "torch.ops.higher_order.", 23))
        CLV_TRY(pt2_higher_order(s, node, target + 23, &known, e));
    return known ? CLV_OK : graph_call(s, node, target, e);
}

clv_status pt2_nodes(pt2_scope *s, clv_err *e)
{
    const json *nodes = json_get(s->graph, "nodes");
    for (const json *n = nodes ? nodes->child : NULL; n; n = n->next)
        CLV_TRY(graph_node(s, n, e));
    return CLV_OK;
}

/* -- graphs in place of calls ---------------------------------------------*/

/* Binds the tensors among the inputs of inner to those among args, in turn. */
static clv_status inline_bind(pt2_scope *inner, const aten_arg *args,
                              uint32_t n_args, clv_err *e)
{
    const json *inputs = json_get(inner->graph, "inputs");
    uint32_t i = 0;
    for (const json *m = inputs ? inputs->child : NULL; m; m = m->next, i++) {
        const json *t = json_get(m, "as_tensor");
        const char *name = json_string(t, "name", NULL);
        if (!name)
            continue;
        if (i >= n_args || args[i].kind != ATEN_TENSOR)
            return clv__fail(e, CLV_FORMAT,
                             "line %u: the call hands over no tensor for '%s'",
                             m->line, name);
        if (!strmap_put(&inner->values, name, strlen(name), args[i].u.value))
            return clv__nomem(e);
    }
    return CLV_OK;
}

static clv_status inline_read(pt2_scope *s, pt2_scope *inner,
                              const aten_arg *args, uint32_t n_args,
                              const char **outs, uint32_t n_outs, clv_err *e)
{
    const char **names;
    uint32_t n, v;
    CLV_TRY(inline_bind(inner, args, n_args, e));
    CLV_TRY(pt2_nodes(inner, e));
    CLV_TRY(
        pt2_outputs(s->r, json_get(inner->graph, "outputs"), &names, &n, e));
    for (uint32_t i = 0; i < n && i < n_outs; i++) {
        CLV_TRY(pt2_value(inner, names[i], &v, e));
        if (v == CLV_NONE)
            return clv__fail(e, CLV_FORMAT, "output '%s' is not defined",
                             names[i]);
        if (!strmap_put(&s->values, outs[i], strlen(outs[i]), v))
            return clv__nomem(e);
    }
    return CLV_OK;
}

clv_status pt2_inline(pt2_scope *s, const json *graph, const aten_arg *args,
                      uint32_t n_args, const char **outs, uint32_t n_outs,
                      clv_err *e)
{
    pt2_scope inner;
    clv_status st = pt2_scope_open(&inner, s->r, s->b, graph, s->depth + 1, e);
    if (st == CLV_OK)
        st = inline_read(s, &inner, args, n_args, outs, n_outs, e);
    pt2_scope_close(&inner);
    return st;
}
