/* compare.c - puts models side by side, and aligns two versions of one model.
 *
 * Types and modules are united by name, in order of first appearance; each has
 * a column per model. For the difference of two models, layers are paired by
 * name and by structure (analysis/align.c). The list follows the second model:
 * a layer with a partner is compared with it, a layer without one was added.
 * Layers of the first model without a partner were removed; they are listed
 * where they used to be. */
#include "cleave/compare.h"
#include "analysis/align.h"
#include "analysis/structure.h"
#include "plan/memory.h"

#include <math.h>
#include <string.h>

struct clv_compare {
    arena mem;
    clv_compare_info info;
    strmap names;        /* of the list being made */
    clv_compared *types; /* room for every type of every model */
    clv_compared *modules;
    clv_change *changes;
    alignment pairs; /* of two models */
};

/* -- types and modules ----------------------------------------------------*/

/* Returns the row called name, and adds it if it is new. Returns NULL when
 * memory ran out. */
static clv_compared *row_of(clv_compare *c, clv_compared *rows, uint32_t *n,
                            const char *name, uint32_t depth)
{
    size_t len = strlen(name), models = c->info.n;
    uint32_t at = strmap_get(&c->names, name, len);
    if (at != CLV_NONE)
        return &rows[at];
    bool *has = arena_zalloc(&c->mem, models * sizeof *has);
    int64_t *count = arena_zalloc(&c->mem, 4 * models * sizeof *count);
    if (!has || !count || !strmap_put(&c->names, name, len, *n))
        return NULL;
    rows[*n] = (clv_compared){.name = name,
                              .depth = depth,
                              .has = has,
                              .count = count,
                              .params = count + models,
                              .macs = count + 2 * models,
                              .flops = count + 3 * models};
    return &rows[(*n)++];
}

/* Fills one column of a row. Readers see the columns as const. */
static void compare_set(const clv_compared *row, uint32_t model, uint32_t count,
                        int64_t params, int64_t macs, int64_t flops)
{
    ((bool *)row->has)[model] = true;
    ((int64_t *)row->count)[model] = count;
    ((int64_t *)row->params)[model] = params;
    ((int64_t *)row->macs)[model] = macs;
    ((int64_t *)row->flops)[model] = flops;
}

static bool unite_types(clv_compare *c)
{
    for (uint32_t m = 0; m < c->info.n; m++) {
        uint32_t n;
        const clv_type_total *t = clv_profile_types(c->info.profiles[m], &n);
        for (uint32_t i = 0; i < n; i++) {
            clv_compared *row =
                row_of(c, c->types, &c->info.n_types, t[i].type, 0);
            if (!row)
                return false;
            compare_set(row, m, t[i].count, 0, t[i].macs, t[i].flops);
        }
    }
    return true;
}

static bool unite_modules(clv_compare *c)
{
    for (uint32_t m = 0; m < c->info.n; m++) {
        uint32_t n;
        const clv_module_total *t =
            clv_profile_modules(c->info.profiles[m], &n);
        for (uint32_t i = 1; i < n; i++) { /* 0 is the root */
            clv_compared *row = row_of(c, c->modules, &c->info.n_modules,
                                       t[i].path, t[i].depth);
            if (!row)
                return false;
            compare_set(row, m, t[i].operators, t[i].params, t[i].macs,
                        t[i].flops);
        }
    }
    return true;
}

/* What follows from the columns of a row. */
static void sum_rows(const clv_compare *c, clv_compared *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t m = 0; m < c->info.n; m++)
            rows[i].counted = rows[i].counted || rows[i].flops[m] != 0;
        if (c->info.n == 2)
            rows[i].difference = rows[i].flops[1] - rows[i].flops[0];
    }
}

static double compare_ratio(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : (double)NAN;
}

static bool fill_ratios(clv_compare *c)
{
    const clv_compare_info *i = &c->info;
    const clv_totals *a = clv_profile_totals(i->profiles[0]);
    clv_ratios *r = arena_array(&c->mem, i->n, sizeof *r);
    for (uint32_t m = 0; r && m < i->n; m++) {
        const clv_totals *b = clv_profile_totals(i->profiles[m]);
        r[m] = (clv_ratios){compare_ratio(b->params, a->params),
                            compare_ratio(b->macs, a->macs),
                            compare_ratio(b->flops, a->flops),
                            compare_ratio(b->memory, a->memory),
                            compare_ratio(b->weight_bytes, a->weight_bytes),
                            compare_ratio(i->peaks[m], i->peaks[0])};
    }
    c->info.ratios = r;
    return r != NULL;
}

/* -- two versions ---------------------------------------------------------*/

static bool same_output(const clv_graph *a, const clv_node *x,
                        const clv_graph *b, const clv_node *y)
{
    if (!x->n_out || !y->n_out)
        return x->n_out == y->n_out;
    const clv_value *u = node_out(a, x, 0), *v = node_out(b, y, 0);
    if (u->rank != v->rank || u->dtype != v->dtype)
        return false;
    return u->rank == CLV_NO_RANK || u->rank == 0 ||
           !memcmp(u->dims, v->dims, u->rank * sizeof *u->dims);
}

static unsigned compare_differences(const clv_profile *p, uint32_t i,
                                    const clv_profile *q, uint32_t j)
{
    const clv_layer *a = &p->layers[i], *b = &q->layers[j];
    const clv_node *x = &p->g->nodes[i], *y = &q->g->nodes[j];
    unsigned what = 0;
    if (x->op != y->op)
        what |= CLV_CHANGED_TYPE;
    else if (!clv__same_attributes(p->g, i, q->g, j))
        what |= CLV_CHANGED_ATTRIBUTES;
    if (!same_output(p->g, x, q->g, y))
        what |= CLV_CHANGED_SHAPE;
    if (a->cost.params != b->cost.params)
        what |= CLV_CHANGED_PARAMS;
    if (a->cost.macs != b->cost.macs)
        what |= CLV_CHANGED_MACS;
    if (a->cost.flops != b->cost.flops)
        what |= CLV_CHANGED_FLOPS;
    if (a->memory != b->memory)
        what |= CLV_CHANGED_MEMORY;
    return what;
}

static void add_change(clv_compare *c, const char *name, uint32_t before,
                       uint32_t after, unsigned what)
{
    clv_compare_info *t = &c->info;
    bool both = before != CLV_NONE && after != CLV_NONE;
    if (both && !what) {
        t->same++;
        return;
    }
    t->changed += both;
    t->added += before == CLV_NONE;
    t->removed += after == CLV_NONE;
    clv_change *x = &c->changes[t->n_changes++];
    *x = (clv_change){name, before, after, what, 0, 0};
    if (before != CLV_NONE) {
        x->params -= t->profiles[0]->layers[before].cost.params;
        x->flops -= t->profiles[0]->layers[before].cost.flops;
    }
    if (after != CLV_NONE) {
        x->params += t->profiles[1]->layers[after].cost.params;
        x->flops += t->profiles[1]->layers[after].cost.flops;
    }
}

static clv_status compare_align(clv_compare *c, clv_err *e)
{
    const clv_profile *p = c->info.profiles[0], *q = c->info.profiles[1];
    uint32_t na = p->g->n_nodes, nb = q->g->n_nodes, i = 0;
    c->changes = arena_array(&c->mem, (size_t)na + nb + 1, sizeof *c->changes);
    if (!c->changes)
        return clv__nomem(e);
    CLV_TRY(clv__align(p->g, q->g, true, &c->pairs, e));
    const uint32_t *partner = c->pairs.to, *first = c->pairs.from;
    for (uint32_t j = 0; j < nb; j++) {
        for (; first[j] != CLV_NONE && i <= first[j]; i++)
            if (partner[i] == CLV_NONE)
                add_change(c, p->g->nodes[i].name, i, CLV_NONE, 0);
        add_change(
            c, q->g->nodes[j].name, first[j], j,
            first[j] == CLV_NONE ? 0 : compare_differences(p, first[j], q, j));
    }
    for (; i < na; i++)
        if (partner[i] == CLV_NONE)
            add_change(c, p->g->nodes[i].name, i, CLV_NONE, 0);
    c->info.changes = c->changes;
    c->info.partners = first;
    c->info.aligned =
        c->pairs.sure > 0 && 2 * (uint64_t)c->pairs.sure >= (na < nb ? na : nb);
    return CLV_OK;
}

/* -- the whole ------------------------------------------------------------*/

static clv_status compare_find_peak(const clv_profile *p, int64_t *peak,
                                    clv_err *e)
{
    clv_cut *cut;
    clv_memory *m = NULL;
    CLV_TRY(clv_cut_op(p, &cut, e));
    clv_status s = clv_memory_new(cut, NULL, &m, e);
    if (s == CLV_OK)
        *peak = clv_memory_get(m)->peak;
    clv_memory_free(m);
    clv_cut_free(cut);
    return s;
}

static clv_status compare_fill(clv_compare *c,
                               const clv_profile *const *profiles, clv_err *e)
{
    size_t n = c->info.n, types = 1, modules = 1;
    const clv_profile **copy = arena_array(&c->mem, n, sizeof *copy);
    int64_t *peaks = arena_zalloc(&c->mem, n * sizeof *peaks);
    if (!copy || !peaks)
        return clv__nomem(e);
    for (uint32_t m = 0; m < n; m++) {
        uint32_t k;
        copy[m] = profiles[m];
        clv_profile_types(profiles[m], &k);
        types += k;
        clv_profile_modules(profiles[m], &k);
        modules += k;
        CLV_TRY(compare_find_peak(profiles[m], &peaks[m], e));
    }
    c->info.profiles = copy;
    c->info.peaks = peaks;
    c->types = arena_array(&c->mem, types, sizeof *c->types);
    c->modules = arena_array(&c->mem, modules, sizeof *c->modules);
    bool ok = c->types && c->modules && unite_types(c);
    strmap_free(&c->names);
    c->names = (strmap){0};
    if (!ok || !unite_modules(c) || !fill_ratios(c))
        return clv__nomem(e);
    sum_rows(c, c->types, c->info.n_types);
    sum_rows(c, c->modules, c->info.n_modules);
    c->info.types = c->types;
    c->info.modules = c->modules;
    return n == 2 ? compare_align(c, e) : CLV_OK;
}

clv_status clv_compare_new(const clv_profile *const *profiles, uint32_t n,
                           clv_compare **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(profiles, err);
    if (n == 0)
        return clv__fail(err, CLV_USAGE, "nothing to compare");
    for (uint32_t i = 0; i < n; i++)
        CLV_NEED(profiles[i], err);
    clv_compare *c = clv__zalloc(sizeof *c);
    if (!c)
        return clv__nomem(err);
    c->info.size = sizeof c->info;
    c->info.n = n;
    clv_status s = compare_fill(c, profiles, err);
    strmap_free(&c->names);
    c->names = (strmap){0};
    if (s != CLV_OK) {
        clv_compare_free(c);
        return s;
    }
    *out = c;
    return CLV_OK;
}

void clv_compare_free(clv_compare *c)
{
    if (!c)
        return;
    clv__align_free(&c->pairs);
    arena_free(&c->mem);
    clv__free(c);
}

const clv_compare_info *clv_compare_get(const clv_compare *c)
{
    return &c->info;
}
