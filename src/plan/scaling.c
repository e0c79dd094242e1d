/* scaling.c - the cost of every operator as a polynomial in the batch.
 *
 * Three profiles give three points; forward differences are the coefficients
 * (whatif.h), in whole numbers. A fourth profile must agree. */
#include "cleave/whatif.h"

#include "analysis/profile.h"

#include <string.h>

enum { VALUES = CLV_SCALING_COLUMNS }; /* the column of tensors */

typedef struct scaling_type {
    clv_scaling_column columns[CLV_SCALING_COLUMNS + 1];
    const clv_profile *profile; /* for types */
} scaling_type;

struct clv_scaling {
    arena mem;
    scaling_type *types;
    uint32_t n_types, n_values, n_nodes;
    uint32_t n_all; /* values of the graph, fixed ones too */
    uint32_t *ids;
};

static const char *const column_names[] = {
    "flops", "macs", "bytes_in", "bytes_weights", "bytes_out", "threads"};

const char *clv_scaling_name(uint32_t column)
{
    return CLV_NAME(column_names, column);
}

static int64_t column_of(const clv_layer *l, uint32_t column)
{
    const int64_t all[] = {l->cost.flops,     l->cost.macs,
                           l->cost.bytes_in,  l->cost.bytes_weights,
                           l->cost.bytes_out, l->parallel.total_threads};
    return all[column];
}

static int64_t scaling_number(const clv_scaling *s, const clv_profile *p,
                              uint32_t column, uint32_t row)
{
    return column == VALUES ? clv__bytes(&p->g->values[s->ids[row]])
                            : column_of(&p->layers[row], column);
}

static int64_t scaling_at(const int64_t *d, int64_t n)
{
    return d[0] + d[1] * (n - 1) + d[2] * ((n - 1) * (n - 2) / 2);
}

static clv_status scaling_row(clv_scaling *s, const clv_scaling_type *t,
                              clv_scaling_column *c, uint32_t column,
                              uint32_t row, clv_err *e)
{
    const int64_t largest = INT64_C(1) << 53; /* what the page can count to */
    int64_t d[CLV_SCALING_POINTS] = {0};
    for (int i = 0; i < CLV_SCALING_POINTS; i++) {
        d[i] = scaling_number(s, t->at[t->extra ? i : 0], column, row);
        if (d[i] < 0 || d[i] > largest)
            return clv__fail(e, CLV_UNSUPPORTED, "a figure is too large");
    }
    d[2] += d[0] - 2 * d[1];
    d[1] -= d[0];
    if (t->extra && scaling_at(d, t->extra_batch) !=
                        scaling_number(s, t->extra, column, row))
        return clv__fail(
            e, CLV_UNSUPPORTED, "%s of '%s' is no polynomial in the batch",
            column == VALUES ? "size" : column_names[column],
            column == VALUES ? "a tensor" : t->at[0]->g->nodes[row].name);
    for (uint32_t i = 0; i < CLV_SCALING_POINTS; i++) {
        ((int64_t *)c->d[i])[row] = d[i];
        if (d[i] && i > c->degree)
            c->degree = i;
    }
    return CLV_OK;
}

static clv_status scaling_type_fill(clv_scaling *s, const clv_scaling_type *t,
                                    scaling_type *out, clv_err *e)
{
    out->profile = t->at[0];
    for (uint32_t k = 0; k <= CLV_SCALING_COLUMNS; k++) {
        clv_scaling_column *c = &out->columns[k];
        uint32_t rows = k == VALUES ? s->n_values : s->n_nodes;
        for (int i = 0; i < CLV_SCALING_POINTS; i++)
            if (!(c->d[i] = arena_zalloc(&s->mem,
                                         ((size_t)rows + 1) * sizeof(int64_t))))
                return clv__nomem(e);
        for (uint32_t row = 0; row < rows; row++)
            CLV_TRY(scaling_row(s, t, c, k, row, e));
    }
    return CLV_OK;
}

/* All profiles must be of one graph, whatever its sizes. */
static clv_status scaling_check(const clv_scaling_type *t, const clv_graph *g,
                                clv_err *e)
{
    for (int i = 0; i <= CLV_SCALING_POINTS; i++) {
        const clv_profile *p = i < CLV_SCALING_POINTS ? t->at[i] : t->extra;
        if (!t->extra && i > 0)
            break;
        CLV_NEED(p, e);
        if (p->g->n_nodes != g->n_nodes || p->g->n_values != g->n_values)
            return clv__fail(e, CLV_UNSUPPORTED,
                             "the graph changes with the batch or the type");
    }
    return CLV_OK;
}

static clv_status scaling_fill(clv_scaling *s, const clv_scaling_type *types,
                               clv_err *e)
{
    const clv_graph *g = types[0].at[0]->g;
    s->n_nodes = g->n_nodes;
    s->n_all = g->n_values;
    s->ids = arena_array(&s->mem, (size_t)g->n_values + 1, sizeof *s->ids);
    s->types = arena_zalloc(&s->mem, (s->n_types + 1) * sizeof *s->types);
    if (!s->ids || !s->types)
        return clv__nomem(e);
    for (uint32_t v = 0; v < g->n_values; v++)
        if (!value_is_fixed(&g->values[v]) &&
            clv__bytes(&g->values[v]) != CLV_SAT)
            s->ids[s->n_values++] = v;
    for (uint32_t i = 0; i < s->n_types; i++) {
        CLV_TRY(scaling_check(&types[i], g, e));
        CLV_TRY(scaling_type_fill(s, &types[i], &s->types[i], e));
    }
    return CLV_OK;
}

clv_status clv_scaling_new(const clv_scaling_type *types, uint32_t n_types,
                           clv_scaling **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(types, err);
    if (n_types == 0 || !types[0].at[0])
        return clv__fail(err, CLV_USAGE, "no profile to scale");
    clv_scaling *s = clv__zalloc(sizeof *s);
    if (!s)
        return clv__nomem(err);
    s->n_types = n_types;
    clv_status st = scaling_fill(s, types, err);
    if (st != CLV_OK) {
        clv_scaling_free(s);
        return st;
    }
    *out = s;
    return CLV_OK;
}

void clv_scaling_free(clv_scaling *s)
{
    if (!s)
        return;
    arena_free(&s->mem);
    clv__free(s);
}

uint32_t clv_scaling_types(const clv_scaling *s)
{
    return s->n_types;
}

clv_scaling_column clv_scaling_nodes(const clv_scaling *s, uint32_t type,
                                     uint32_t column)
{
    return s->types[type].columns[column];
}

clv_scaling_column clv_scaling_values(const clv_scaling *s, uint32_t type)
{
    return s->types[type].columns[VALUES];
}

bool clv_scaling_fits(const clv_scaling *s, const clv_graph *g)
{
    return s && g && s->n_nodes == g->n_nodes && s->n_all == g->n_values;
}

const uint32_t *clv_scaling_ids(const clv_scaling *s, uint32_t *count)
{
    clv__set_count(count, s->n_values);
    return s->ids;
}

clv_dtype clv_scaling_dtype(const clv_scaling *s, uint32_t type, uint32_t node)
{
    return s->types[type].profile->layers[node].dtype;
}
