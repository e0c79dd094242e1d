/* diagnose.c - finds what counts as nothing, and what would explain another
 * figure.
 *
 * An expected figure is explained by readings: the same graph counted by each
 * convention, in MACs or in FLOPs, for one or more samples. A reading within
 * NEAR percent of the figure is offered, the closest one first. */
#include "cleave/diagnose.h"
#include "analysis/profile.h"
#include "cleave/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLOSE = 2, /* percent within which a count is as expected, */
    NEAR = 5,  /* a reading is offered, */
    LOW = 20,  /* and below which a count is called low */
    MAX_READINGS = 4 * CLV_CONVENTION_COUNT,
    MAX_BATCH = 4096
};

struct clv_diagnosis {
    arena mem;
    clv_profile *ours;
    clv_validation *all;
    clv_diagnosis_info info;
    clv_explanation *readings;
    uint32_t n_readings;
    bool failed; /* memory ran out among the readings */
};

/* -- operators that count nothing -----------------------------------------*/

static const char *why_zero(clv_op op)
{
    if (op == CLV_OP_UNKNOWN)
        return "unknown operator";
    switch (clv__ops[op].cls) {
    case CLV_CLASS_VIEW:
        return "view: no work";
    case CLV_CLASS_MOVE:
        return "moves data only";
    default:
        return "nothing to compute at this shape";
    }
}

static int more_first(const void *a, const void *b)
{
    const clv_zero_type *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->type, y->type);
}

static bool find_zeros(clv_diagnosis *d)
{
    const clv_graph *g = d->ours->g;
    uint32_t count[CLV_OP_COUNT] = {0};
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        clv_op op = (clv_op)g->nodes[i].op;
        if (d->ours->layers[i].cost.flops == 0)
            count[op]++;
        d->info.convs += clv__ops[op].category == CLV_CAT_CONV;
        d->info.matmuls += clv__ops[op].category == CLV_CAT_MATMUL;
    }
    clv_zero_type *z = arena_array(&d->mem, CLV_OP_COUNT, sizeof *z);
    if (!z)
        return false;
    for (unsigned op = 0; op < CLV_OP_COUNT; op++) {
        if (count[op] == 0)
            continue;
        z[d->info.n_zeros++] =
            (clv_zero_type){clv__ops[op].name, count[op], why_zero((clv_op)op)};
        d->info.zero_operators += count[op];
    }
    qsort(z, d->info.n_zeros, sizeof *z, more_first);
    d->info.zeros = z;
    return true;
}

/* Lists the unknown operators by the names they had at their source. */
static bool find_unknowns(clv_diagnosis *d)
{
    const clv_graph *g = d->ours->g;
    strmap rows = {0};
    uint32_t n = 0, all = d->ours->totals.trust[CLV_TRUST_UNKNOWN];
    clv_zero_type *z = arena_array(&d->mem, all, sizeof *z);
    bool ok = z != NULL || all == 0;
    for (uint32_t i = 0; ok && i < g->n_nodes; i++) {
        if (d->ours->layers[i].cost.trust != CLV_TRUST_UNKNOWN)
            continue;
        const clv_node *node = &g->nodes[i];
        const char *name = clv__op_at_source(node);
        uint32_t row = strmap_get(&rows, name, strlen(name));
        if (row == CLV_NONE) {
            row = n++;
            z[row] = (clv_zero_type){name, 0,
                                     node->op == CLV_OP_UNKNOWN
                                         ? "unknown operator"
                                         : "its shapes are not known"};
            ok = strmap_put(&rows, name, strlen(name), row);
        }
        z[row].count++;
    }
    strmap_free(&rows);
    if (ok && n)
        qsort(z, n, sizeof *z, more_first);
    d->info.unknowns = z;
    d->info.n_unknowns = n;
    d->info.unknown_operators = all;
    return ok;
}

/* -- readings of the expected figure --------------------------------------*/

static double off_by(int64_t figure, int64_t expected)
{
    return 100.0 * ((double)figure - (double)expected) / (double)expected;
}

/* Offers a reading if it is near; a figure already offered stays as it is. */
static void diagnose_offer(clv_diagnosis *d, int64_t figure, const char *text)
{
    double percent = off_by(figure, d->info.expected);
    d->failed = d->failed || !text;
    if (!text || figure <= 0 || fabs(percent) > NEAR ||
        d->n_readings == MAX_READINGS)
        return;
    for (uint32_t i = 0; i < d->n_readings; i++)
        if (d->readings[i].flops == figure)
            return;
    d->readings[d->n_readings++] = (clv_explanation){figure, percent, text};
}

static void offer_conventions(clv_diagnosis *d)
{
    uint32_t n;
    const clv_verdict *v = clv_validation_verdicts(d->all, &n);
    diagnose_offer(d, d->info.flops, "our own count");
    diagnose_offer(d, d->info.macs,
                   "multiply-adds counted once: MACs, which many call FLOPs");
    diagnose_offer(
        d, sat_mul(2, d->info.macs),
        "multiply-adds alone, as two FLOPs: no bias, norm or activation");
    for (uint32_t i = 1; i < n; i++) {
        diagnose_offer(d, v[i].total,
                       arena_printf(&d->mem, "what %s counts", v[i].tool));
        if (!strcmp(v[i].unit, "MAC"))
            diagnose_offer(
                d, sat_mul(2, v[i].total),
                arena_printf(&d->mem, "twice what %s counts", v[i].tool));
    }
}

static int64_t diagnose_batch_of(const clv_graph *g)
{
    if (g->n_inputs == 0)
        return 1;
    const clv_value *x = &g->values[g->inputs[0]];
    return x->rank > 0 && x->rank != CLV_NO_RANK ? x->dims[0] : 1;
}

/* A whole multiple of our figure is another batch. */
static void offer_batch(clv_diagnosis *d, int64_t figure, const char *what)
{
    if (figure <= 0)
        return;
    int64_t batch = diagnose_batch_of(d->ours->g);
    double ratio = (double)d->info.expected / ((double)figure / (double)batch);
    double samples = floor(ratio + 0.5);
    if (samples < 1 || samples > MAX_BATCH || (int64_t)samples == batch)
        return;
    int64_t other = sat_mul(figure / batch, (int64_t)samples);
    diagnose_offer(
        d, other,
        arena_printf(&d->mem, "%s at batch %d instead of %lld%s", what,
                     (int)samples, (long long)batch,
                     (int64_t)samples == 3 * batch
                         ? ", or a training step: about 3 forward passes"
                         : ""));
}

static int closer_first(const void *a, const void *b)
{
    double x = fabs(((const clv_explanation *)a)->percent);
    double y = fabs(((const clv_explanation *)b)->percent);
    return (x > y) - (x < y);
}

static bool diagnose_explain(clv_diagnosis *d)
{
    if (d->info.expected == 0)
        return true;
    d->readings = arena_array(&d->mem, MAX_READINGS, sizeof *d->readings);
    if (!d->readings)
        return false;
    offer_conventions(d);
    offer_batch(d, d->info.flops, "FLOPs");
    offer_batch(d, d->info.macs, "MACs");
    qsort(d->readings, d->n_readings, sizeof *d->readings, closer_first);
    d->info.explanations = d->readings;
    d->info.n_explanations = d->n_readings;
    d->info.percent = off_by(d->info.flops, d->info.expected);
    d->info.low = d->info.percent < -LOW;
    d->info.as_expected = fabs(d->info.percent) <= CLOSE;
    return !d->failed;
}

/* -- the diagnosis --------------------------------------------------------*/

static clv_status diagnose_fill(clv_diagnosis *d, const clv_graph *g,
                                clv_err *e)
{
    CLV_TRY(clv_profile_new(g, NULL, &d->ours, e));
    CLV_TRY(clv_validation_new(g, &d->all, e));
    const clv_totals *t = clv_profile_totals(d->ours);
    d->info.flops = t->flops;
    d->info.macs = t->macs;
    d->info.operators = t->operators;
    return find_zeros(d) && find_unknowns(d) && diagnose_explain(d)
               ? CLV_OK
               : clv__nomem(e);
}

clv_status clv_diagnosis_new(const clv_graph *g, int64_t expected_flops,
                             clv_diagnosis **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    if (expected_flops < 0)
        return clv__fail(err, CLV_USAGE, "expected FLOPs below zero");
    clv_diagnosis *d = clv__zalloc(sizeof *d);
    if (!d)
        return clv__nomem(err);
    d->info.size = sizeof d->info;
    d->info.expected = expected_flops;
    clv_status s = diagnose_fill(d, g, err);
    if (s != CLV_OK) {
        clv_diagnosis_free(d);
        return s;
    }
    *out = d;
    return CLV_OK;
}

void clv_diagnosis_free(clv_diagnosis *d)
{
    if (!d)
        return;
    clv_profile_free(d->ours);
    clv_validation_free(d->all);
    arena_free(&d->mem);
    clv__free(d);
}

const clv_diagnosis_info *clv_diagnosis_get(const clv_diagnosis *d)
{
    return &d->info;
}
