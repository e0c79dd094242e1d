/* validate.c - every convention's count of one graph, and the reconciliation.
 *
 * Each node is counted once under each convention; the difference to our own
 * count is summed by operator type, so the differences of a verdict always add
 * up to the whole difference. The reason is read off the two figures. */
#include "cleave/validate.h"
#include "analysis/profile.h"

#include <inttypes.h>
#include <stdlib.h>

struct clv_validation {
    arena mem;
    clv_profile *ours;
    clv_verdict verdicts[CLV_CONVENTION_COUNT];
};

/* The sums over all operators of one type. */
typedef struct tally {
    uint32_t count;
    int64_t ours, theirs, macs, elements;
    clv_heed heed;
} tally;

/* -- reasons --------------------------------------------------------------*/

static const char *not_counted(clv_validation *v, clv_heed heed,
                               clv_convention c)
{
    const char *name = clv_convention_name(c);
    if (heed == CLV_HEED_SILENT)
        return arena_printf(&v->mem, "on %s's list of operators taken as free",
                            name);
    if (clv_convention_warns(c))
        return arena_printf(&v->mem, "%s has no rule for it, and warns", name);
    if (clv__counts_products_only(c))
        return "only convolutions and matrix products are counted";
    return arena_printf(&v->mem, "%s counts nothing for it", name);
}

/* The multiply-adds agree; names what we count beside them. */
static const char *beside_products(clv_category category)
{
    switch (category) {
    case CLV_CAT_CONV:
    case CLV_CAT_MATMUL:
        return "multiply-adds agree; we also count the bias additions";
    case CLV_CAT_ATTENTION:
        return "multiply-adds agree; we also count scaling and softmax";
    default:
        return "multiply-adds agree; we also count the elementwise part";
    }
}

static const char *validate_reason(clv_validation *v, clv_op op, const tally *t,
                                   clv_convention c)
{
    if (t->theirs == 0)
        return not_counted(v, t->heed, c);
    if (t->macs > 0 && t->theirs == sat_mul(2, t->macs))
        return beside_products(clv__ops[op].category);
    if (t->macs > 0)
        return "the multiply-adds are counted by another formula";
    if (t->elements > 0 && t->ours % t->elements == 0 &&
        t->theirs % t->elements == 0)
        return arena_printf(&v->mem,
                            "per output element, we count %" PRId64
                            " and %s counts %" PRId64,
                            t->ours / t->elements, clv_convention_tool(c),
                            t->theirs / t->elements);
    return "counted by another formula";
}

/* -- one convention -------------------------------------------------------*/

static void tally_nodes(clv_validation *v, clv_verdict *w, tally *by_op)
{
    const clv_graph *g = v->ours->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const clv_node *n = &g->nodes[i];
        const clv_cost *cost = &v->ours->layers[i].cost;
        clv_count count = clv__count(g, n, cost, w->convention);
        tally *t = &by_op[n->op];
        t->count++;
        t->ours = sat_add(t->ours, cost->flops);
        t->theirs = sat_add(t->theirs, count.flops);
        t->macs = sat_add(t->macs, cost->macs);
        if (n->n_out && node_out(g, n, 0)->rank != CLV_NO_RANK)
            t->elements = sat_add(t->elements, clv__numel(node_out(g, n, 0)));
        t->heed = count.heed;
        w->total = sat_add(w->total, count.total);
        w->flops = sat_add(w->flops, count.flops);
    }
}

static int64_t size_of(int64_t x)
{
    return x < 0 ? -x : x;
}

static int validate_larger_first(const void *a, const void *b)
{
    const clv_difference *x = a, *y = b;
    int64_t dx = size_of(x->difference), dy = size_of(y->difference);
    if (dx != dy)
        return dx < dy ? 1 : -1;
    return x->type < y->type ? -1 : 1; /* rows of one table: its order */
}

static bool list_differences(clv_validation *v, clv_verdict *w,
                             const tally *by_op)
{
    clv_difference *d = arena_array(&v->mem, CLV_OP_COUNT, sizeof *d);
    if (!d)
        return false;
    uint32_t n = 0;
    for (unsigned op = 0; op < CLV_OP_COUNT; op++) {
        const tally *t = &by_op[op];
        if (t->ours == t->theirs)
            continue;
        d[n++] = (clv_difference){
            .type = clv__ops[op].name,
            .count = t->count,
            .ours = t->ours,
            .theirs = t->theirs,
            .difference = t->ours - t->theirs,
            .reason = validate_reason(v, (clv_op)op, t, w->convention),
        };
        if (!d[n - 1].reason)
            return false;
    }
    qsort(d, n, sizeof *d, validate_larger_first);
    w->differences = d;
    w->n_differences = n;
    return true;
}

static void validate_compare(clv_verdict *w, int64_t ours)
{
    w->difference = ours - w->flops;
    if (w->flops > 0)
        w->percent = 100.0 * (double)w->difference / (double)w->flops;
    else
        w->percent = ours > 0 ? 100 : 0;
    double off = w->percent < 0 ? -w->percent : w->percent;
    w->accuracy = off < 100 ? 100 - off : 0;
}

static clv_status validate_judge(clv_validation *v, clv_convention c,
                                 clv_err *e)
{
    clv_verdict *w = &v->verdicts[c];
    const clv_totals *ours = &v->ours->totals;
    *w = (clv_verdict){.convention = c,
                       .tool = clv_convention_tool(c),
                       .unit = clv_convention_unit(c)};
    if (c == CLV_CONVENTION_FULL) {
        w->total = w->flops = ours->flops;
        validate_compare(w, ours->flops);
        return CLV_OK;
    }
    tally *by_op = arena_zalloc(&v->mem, CLV_OP_COUNT * sizeof *by_op);
    if (!by_op)
        return clv__nomem(e);
    tally_nodes(v, w, by_op);
    if (w->flops == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW, "%s: the %s count overflows 64 bits",
                         v->ours->g->name, w->tool);
    validate_compare(w, ours->flops);
    return list_differences(v, w, by_op) ? CLV_OK : clv__nomem(e);
}

/* -- the validation -------------------------------------------------------*/

static clv_status judge_all(clv_validation *v, const clv_graph *g, clv_err *e)
{
    CLV_TRY(clv_profile_new(g, NULL, &v->ours, e));
    for (unsigned c = 0; c < CLV_CONVENTION_COUNT; c++)
        CLV_TRY(validate_judge(v, (clv_convention)c, e));
    return CLV_OK;
}

clv_status clv_validation_new(const clv_graph *g, clv_validation **out,
                              clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    clv_validation *v = clv__zalloc(sizeof *v);
    if (!v)
        return clv__nomem(err);
    clv_status s = judge_all(v, g, err);
    if (s != CLV_OK) {
        clv_validation_free(v);
        return s;
    }
    *out = v;
    return CLV_OK;
}

void clv_validation_free(clv_validation *v)
{
    if (!v)
        return;
    clv_profile_free(v->ours);
    arena_free(&v->mem);
    clv__free(v);
}

const clv_totals *clv_validation_ours(const clv_validation *v)
{
    return clv_profile_totals(v->ours);
}

const clv_verdict *clv_validation_verdicts(const clv_validation *v,
                                           uint32_t *count)
{
    clv__set_count(count, CLV_CONVENTION_COUNT);
    return v->verdicts;
}
