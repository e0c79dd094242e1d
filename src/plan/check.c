/* check.c - checks whether a model suits a device, and whether it keeps
 * budgets.
 *
 * The analyses that the checks need are made once. Every check is then one
 * comparison of two numbers, and keeps both. */
#include "cleave/check.h"
#include "cleave/concurrency.h"
#include "cleave/map.h"
#include "plan/memory.h"

#include <stdio.h>

enum { SUITABILITY = 3 };

struct clv_check {
    const clv_cut *c;
    const clv_device *device;
    uint32_t n_items, n_failed;
    clv_check_item items[]; /* room for SUITABILITY and every budget */
};

/* What the checks are about. */
typedef struct facts {
    const clv_cut *c;
    const clv_memory_info *memory;
    const clv_concurrency_info *concurrency;
    double latency; /* seconds; negative: the device cannot run the model */
    double intensity;
    int64_t traffic;
} facts;

static const clv_budget_info budgets[] = {
#define CLV_X(code, key, unit, what) \
    {sizeof(clv_budget_info), key, CLV_UNIT_##unit, what},
    CLV_BUDGET_TABLE(CLV_X)
#undef CLV_X
};

const clv_budget_info *clv_budget_at(uint32_t key)
{
    return key < CLV_BUDGET_COUNT ? &budgets[key] : NULL;
}

static double actual_of(const facts *f, clv_budget_key key)
{
    const clv_totals *t = &f->c->p->totals;
    switch (key) {
    case CLV_BUDGET_PARAMS:
        return (double)t->params;
    case CLV_BUDGET_MACS:
        return (double)t->macs;
    case CLV_BUDGET_FLOPS:
        return (double)t->flops;
    case CLV_BUDGET_OPERATORS:
        return t->operators;
    case CLV_BUDGET_SUBGRAPHS:
        return f->c->n_subs;
    case CLV_BUDGET_UNKNOWN:
        return t->trust[CLV_TRUST_UNKNOWN];
    case CLV_BUDGET_WEIGHTS:
        return (double)t->weight_bytes;
    case CLV_BUDGET_PEAK:
        return (double)f->memory->peak;
    case CLV_BUDGET_MEMORY:
        return (double)f->memory->total;
    case CLV_BUDGET_ARENA:
        return (double)f->memory->arena;
    case CLV_BUDGET_TRAFFIC:
        return (double)f->traffic;
    case CLV_BUDGET_LATENCY:
        return f->latency;
    case CLV_BUDGET_COUNT:
        break;
    }
    return 0;
}

static clv_check_item *check_add(clv_check *k, clv_check_item item)
{
    item.passed = item.at_least ? item.actual >= item.limit
                                : item.actual >= 0 && item.actual <= item.limit;
    k->n_failed += !item.passed;
    k->items[k->n_items] = item;
    return &k->items[k->n_items++];
}

/* -- suitability ----------------------------------------------------------*/

static void check_memory(clv_check *k, const facts *f, double room)
{
    if (room > 0)
        check_add(k, (clv_check_item){
                         .key = "memory_fits",
                         .what = "Memory fits",
                         .unit = CLV_UNIT_BYTES,
                         .actual = actual_of(f, CLV_BUDGET_MEMORY),
                         .limit = room,
                         .note = "weights and peak",
                     });
}

/* Checks that at least half of the units have work when each unit runs one
 * subgraph of one sample. */
static void check_units(clv_check *k, const facts *f, double units)
{
    const clv_concurrency_info *a = f->concurrency;
    if (units <= 0)
        return;
    clv_check_item *x =
        check_add(k, (clv_check_item){
                         .key = "can_use_hardware",
                         .what = "Can use half of the units",
                         .unit = CLV_UNIT_COUNTED,
                         .actual = (double)a->max_parallel * (double)a->batch,
                         .limit = units / 2,
                         .at_least = true,
                     });
    int64_t enough = clv_concurrency_fill(a, (int64_t)units, 0.5);
    if (x->passed || enough <= a->batch || !a->max_parallel)
        snprintf(x->note, sizeof x->note, "%u parallel x batch %lld",
                 a->max_parallel, (long long)a->batch);
    else
        snprintf(x->note, sizeof x->note, "batch %lld would do",
                 (long long)enough);
}

static void check_intensity(clv_check *k, const facts *f, double least,
                            const clv_device *d)
{
    bool given = least > 0;
    const clv_graph *g = f->c->p->g;
    clv_dtype dtype =
        g->n_inputs ? (clv_dtype)g->values[g->inputs[0]].dtype : CLV_FLOAT32;
    double ridge = d ? clv_device_ridge(d, dtype) : 0;
    if (!given)
        least = ridge / 2;
    if (least <= 0)
        return;
    clv_check_item *x = check_add(k, (clv_check_item){
                                         .key = "intensity_suitable",
                                         .what = "Arithmetic intensity suits",
                                         .unit = CLV_UNIT_RATIO,
                                         .actual = f->intensity,
                                         .limit = least,
                                         .at_least = true,
                                         .note = "FLOPs/byte",
                                     });
    if (!given)
        snprintf(x->note, sizeof x->note, "FLOPs/byte; ridge %.1f", ridge);
}

/* -- budgets --------------------------------------------------------------*/

static void check_budget(clv_check *k, const facts *f, const clv_budget *b)
{
    const clv_budget_info *info = &budgets[b->key];
    clv_check_item *x = check_add(k, (clv_check_item){
                                         .key = info->key,
                                         .what = info->what,
                                         .unit = info->unit,
                                         .actual = actual_of(f, b->key),
                                         .limit = b->limit,
                                         .is_budget = true,
                                     });
    if (x->actual < 0)
        snprintf(x->note, sizeof x->note,
                 "the device has no rate for the model's type");
}

/* -- the whole ------------------------------------------------------------*/

static clv_status check_estimate(const clv_check_opts *o, facts *f, clv_err *e)
{
    clv_map *m;
    f->latency = -1;
    if (!o->device)
        return CLV_OK;
    CLV_TRY(clv_map_new(f->c, o->device, &m, e));
    if (clv_map_get(m)->cannot == 0)
        f->latency = clv_map_get(m)->seconds;
    clv_map_free(m);
    return CLV_OK;
}

static void run_checks(clv_check *k, const facts *f, const clv_check_opts *o)
{
    const clv_device *d = o->device;
    check_memory(k, f, o->memory > 0 ? o->memory : d ? d->memory.value : 0);
    check_units(k, f,
                o->compute_units > 0 ? o->compute_units
                : d                  ? d->units.value
                                     : 0);
    check_intensity(k, f, o->min_intensity, d);
    for (uint32_t i = 0; i < o->n_budgets; i++)
        check_budget(k, f, &o->budgets[i]);
}

static clv_status check_fill(clv_check *k, const clv_check_opts *o, clv_err *e)
{
    clv_memory *m = NULL;
    clv_concurrency *a = NULL;
    facts f = {.c = k->c};
    int64_t flops = k->c->p->totals.flops;
    clv_status s = clv_memory_new(k->c, NULL, &m, e);
    if (s == CLV_OK)
        s = clv_concurrency_new(k->c, NULL, &a, e);
    if (s == CLV_OK)
        s = check_estimate(o, &f, e);
    for (uint32_t i = 0; i < k->c->n_subs; i++) {
        const clv_cost *x = &k->c->subs[i].cost;
        f.traffic = sat_add(f.traffic, sat_add(x->bytes_in, x->bytes_weights));
        f.traffic = sat_add(f.traffic, x->bytes_out);
    }
    if (s == CLV_OK) {
        f.memory = clv_memory_get(m);
        f.concurrency = clv_concurrency_get(a);
        f.intensity = f.traffic ? (double)flops / (double)f.traffic : 0;
        run_checks(k, &f, o);
    }
    clv_concurrency_free(a);
    clv_memory_free(m);
    return s;
}

static clv_status check_opts(const clv_check_opts *o, clv_err *e)
{
    bool any = o->device || o->memory > 0 || o->compute_units > 0 ||
               o->min_intensity > 0 || o->n_budgets;
    if (!any)
        return clv__fail(e, CLV_USAGE,
                         "nothing to check: give a device, figures of one, or "
                         "budgets");
    for (uint32_t i = 0; i < o->n_budgets; i++) {
        if ((unsigned)o->budgets[i].key >= CLV_BUDGET_COUNT)
            return clv__fail(e, CLV_USAGE, "budget %u is unknown", i);
        if (o->budgets[i].key == CLV_BUDGET_LATENCY && !o->device)
            return clv__fail(e, CLV_USAGE,
                             "a budget of latency needs a device");
    }
    return CLV_OK;
}

clv_status clv_check_new(const clv_cut *c, const clv_check_opts *opts,
                         clv_check **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(c, err);
    clv_check_opts own;
    CLV_READ(clv_check_opts, opts, &own, err);
    opts = &own;
    CLV_TRY(check_opts(opts, err));
    size_t n = (size_t)opts->n_budgets + SUITABILITY;
    clv_check *k = clv__zalloc(sizeof *k + n * sizeof *k->items);
    if (!k)
        return clv__nomem(err);
    k->c = c;
    k->device = opts->device;
    clv_status s = check_fill(k, opts, err);
    if (s != CLV_OK) {
        clv_check_free(k);
        return s;
    }
    *out = k;
    return CLV_OK;
}

void clv_check_free(clv_check *k)
{
    clv__free(k);
}

const clv_check_item *clv_check_items(const clv_check *k, uint32_t *count)
{
    clv__set_count(count, k->n_items);
    return k->items;
}

uint32_t clv_check_failed(const clv_check *k)
{
    return k->n_failed;
}

const clv_cut *clv_check_cut(const clv_check *k)
{
    return k->c;
}

const clv_device *clv_check_device(const clv_check *k)
{
    return k->device;
}
