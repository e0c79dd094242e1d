/* cmd_ops.c - the operators that are known: what each takes, which names lead
 * to it, who runs, writes and counts it. */
#include "cli.h"

#include <fnmatch.h>
#include <stdlib.h>

typedef struct ops_listing {
    const clv_operator_info **items;
    uint32_t n;
} ops_listing;

static void ops_report(const void *result, const clv_report_opts *o,
                       clv_buf *out)
{
    const ops_listing *l = result;
    clv_report_operators(l->items, l->n, o, out);
}

/* By its name here, or by one that a format has for it. */
static bool ops_called(const clv_operator_info *op, const char *pattern)
{
    bool yes = fnmatch(pattern, op->name, 0) == 0;
    for (uint32_t i = 0; !yes && i < op->n_onnx; i++)
        yes = fnmatch(pattern, op->onnx[i], 0) == 0;
    for (uint32_t i = 0; !yes && i < op->n_torch; i++)
        yes = fnmatch(pattern, op->torch[i], 0) == 0;
    for (uint32_t i = 0; !yes && i < op->n_stablehlo; i++)
        yes = fnmatch(pattern, op->stablehlo[i], 0) == 0;
    return yes;
}

static bool ops_selected(const options *o, const clv_operator_info *op)
{
    for (size_t i = 0; i < o->args.n; i++)
        if (ops_called(op, o->args.items[i]))
            return true;
    return o->args.n == 0;
}

static clv_status ops_none_match(const clv_registry *r, uint32_t n,
                                 const char *word, clv_err *err)
{
    const char **names = malloc(n * sizeof *names);
    char near[160];
    if (!names)
        return fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        names[i] = clv_registry_at(r, i)->name;
    bool any = clv_suggest(word, names, n, near, sizeof near);
    free(names);
    if (any)
        return fail(err, CLV_NOT_FOUND,
                    "no operator matches '%s'; did you mean %s?", word, near);
    return fail(err, CLV_NOT_FOUND,
                "no operator matches '%s'; 'cleave ops' lists them all", word);
}

static clv_status ops_emit(const options *o, const ops_listing *l, clv_err *err)
{
    if (!o->markdown)
        return emit(o, ops_report, l, err);
    clv_buf page = {0};
    clv_report_operators_page(l->items, l->n, &page);
    clv_status s = emit_text(o, &page, err);
    clv_buf_free(&page);
    return s;
}

clv_status cmd_ops(const options *o, clv_err *err)
{
    clv_registry *r;
    uint32_t n = 0;
    clv_status s = clv_registry_new(&r, err);
    if (s != CLV_OK)
        return s;
    while (clv_registry_at(r, n))
        n++;
    ops_listing l = {malloc((n + 1) * sizeof *l.items), 0};
    if (!l.items)
        s = fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; s == CLV_OK && i < n; i++)
        if (ops_selected(o, clv_registry_at(r, i)))
            l.items[l.n++] = clv_registry_at(r, i);
    if (s == CLV_OK && l.n == 0)
        s = ops_none_match(r, n, o->args.items[0], err);
    if (s == CLV_OK)
        s = ops_emit(o, &l, err);
    free(l.items);
    clv_registry_free(r);
    return s;
}
