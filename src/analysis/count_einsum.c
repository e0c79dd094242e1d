/* count_einsum.c - counts einsum as fvcore and thop do.
 *
 * fvcore knows two equations by heart. For the others it asks numpy.einsum_path
 * and reads the cost off the text that numpy prints, which has four significant
 * digits. numpy tries every order of pairs, and drops a pair whose result is
 * larger than every operand and than the final result. If no order gets to the
 * end, it takes the cheapest of the longest orders and contracts what is left
 * at once. */
#include "analysis/count_rules.h"
#include "core/decimal.h"
#include "ops/einsum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 }; /* operands: the search takes n!(n-1)!/2^(n-1) steps */

/* -- numpy's search -------------------------------------------------------*/

typedef struct search {
    const einsum *s;
    int64_t limit;
    int64_t cost[MOST];  /* cost of the cheapest way to contract i pairs; -1:
                          * there is none */
    int64_t whole[MOST]; /* cost of contracting all that is left after it */
} search;

/* Returns the cost of contracting terms a and b, or all terms. Axes that
 * neither the result nor a remaining term has are summed away. It counts a
 * product per term, and one more if there is a sum. */
static int64_t einsum_contraction(const search *f, axis_set in, axis_set kept,
                                  uint32_t terms)
{
    int64_t each = terms > 2 ? terms - 1 : 1;
    if (!is_empty(without(in, kept)))
        each++;
    return sat_mul(einsum_volume(f->s, in), each);
}

static axis_set union_of(const axis_set *terms, uint32_t n)
{
    axis_set u = {0, 0};
    for (uint32_t i = 0; i < n; i++)
        u = both(u, terms[i]);
    return u;
}

static void einsum_note(search *f, uint32_t done, int64_t cost,
                        const axis_set *terms, uint32_t n)
{
    if (f->cost[done] >= 0 && f->cost[done] <= cost)
        return;
    f->cost[done] = cost;
    f->whole[done] =
        n < 2 ? 0 : einsum_contraction(f, union_of(terms, n), f->s->result, n);
}

/* Replaces terms i < k of n by `made`, at the end. */
static void einsum_merge(const axis_set *terms, uint32_t n, uint32_t i,
                         uint32_t k, axis_set made, axis_set *out)
{
    uint32_t m = 0;
    for (uint32_t t = 0; t < n; t++)
        if (t != i && t != k)
            out[m++] = terms[t];
    out[m] = made;
}

static void try_pairs(search *f, uint32_t done, int64_t cost,
                      const axis_set *terms, uint32_t n)
{
    einsum_note(f, done, cost, terms, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++) {
            axis_set rest[MOST], in = both(terms[i], terms[k]);
            einsum_merge(terms, n, i, k, in, rest);
            axis_set kept = both(f->s->result, union_of(rest, n - 2));
            rest[n - 2] = common(in, kept);
            if (einsum_volume(f->s, rest[n - 2]) > f->limit)
                continue;
            try_pairs(f, done + 1,
                      sat_add(cost, einsum_contraction(f, in, kept, 2)), rest,
                      n - 1);
        }
}

static bool einsum_same(axis_set a, axis_set b)
{
    return a.letters == b.letters && a.dots == b.dots;
}

static int64_t numpy_cost(const einsum *s, uint32_t n)
{
    search f = {.s = s, .limit = einsum_volume(s, s->result)};
    memset(f.cost, -1, sizeof f.cost);
    if (n <= 2 || einsum_same(s->all, s->result))
        return einsum_contraction(&f, s->all, s->result, n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t size = einsum_volume(s, s->own[i]);
        f.limit = size > f.limit ? size : f.limit;
    }
    try_pairs(&f, 0, 0, s->own, n);
    uint32_t deepest = n - 1;
    while (f.cost[deepest] < 0)
        deepest--;
    return sat_add(f.cost[deepest], f.whole[deepest]);
}

/* -- fvcore ---------------------------------------------------------------*/

/* Renames the letters of an equation to a, b, c ... in order of appearance. */
static void einsum_renamed(const char *equation, char *out, size_t size)
{
    char to[256] = {0}, next = 'a';
    size_t n = 0;
    for (; *equation && n + 1 < size; equation++) {
        unsigned char c = (unsigned char)*equation;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (c == ' ')
            continue;
        if (letter && !to[c])
            to[c] = next++;
        out[n++] = letter ? to[c] : (char)c;
    }
    out[n] = '\0';
}

int64_t fvcore_einsum(subject *t)
{
    einsum s;
    char eq[128], text[32];
    const clv_value *b = node_in(t->g, t->n, 1);
    einsum_renamed(attr_str(t->n, CLV_A_EQUATION), eq, sizeof eq);
    if (!strcmp(eq, "abc,abd->acd"))
        return sat_mul(clv__numel(t->x), b->dims[2]);
    if (!strcmp(eq, "abc,adc->adb"))
        return sat_mul(clv__numel(t->x), b->dims[1]);
    if (t->n->n_in > MOST || !einsum_read(t->g, t->n, &s))
        return t->ours->macs; /* numpy's search would take too long; this is our
                               * own count */
    int64_t cost = sat_add(numpy_cost(&s, t->n->n_in), 1);
    if (cost == CLV_SAT)
        return CLV_SAT;
    clv_format(text, sizeof text, "%.3e", (double)cost);
    return (int64_t)floor(clv_text_double(text, NULL) / 2);
}

/* -- thop -----------------------------------------------------------------*/

/* thop counts two operands only: the axes that both have, or that the result
 * has. */
int64_t thop_einsum(subject *t)
{
    einsum s;
    if (t->n->n_in != 2 || !einsum_read(t->g, t->n, &s))
        return 0;
    return einsum_volume(&s, both(common(s.own[0], s.own[1]), s.result));
}
