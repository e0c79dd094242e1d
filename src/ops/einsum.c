/* einsum.c - sums of products written as an equation, "bij,bjk->bik".
 *
 * A letter is an axis; the same letter is the same size (or 1, which
 * broadcasts); "..." stands for further axes, aligned on the right. Letters
 * that the right side lacks are summed. Without a right side it is every
 * letter that occurs once, in alphabetical order.
 *
 * Operands are joined from left to right, as PyTorch does: a letter that only
 * the operand at hand has is summed first, then the two are multiplied, and
 * what no later operand and not the result needs is summed by that product. */
#include "ops/einsum.h"

#include <string.h>

enum { LETTERS = EINSUM_LETTERS };

static int letter_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Reads one term: letters in order (-1 for "..."), at most `max`. */
static clv_status read_term(const char **at, int *axes, uint32_t max,
                            uint32_t *count, clv_err *e)
{
    bool dots = false;
    *count = 0;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        int axis = letter_of(**at);
        if (**at == ' ')
            continue;
        if (axis < 0 && !dots && !strncmp(*at, "...", 3)) {
            dots = true;
            *at += 2;
        } else if (axis < 0) {
            return clv__fail(e, CLV_SHAPE, "einsum: unexpected '%c'", **at);
        }
        if (*count == max)
            return clv__fail(e, CLV_SHAPE, "einsum: a term of %u axes", max);
        axes[(*count)++] = axis;
    }
    return CLV_OK;
}

static clv_status set_size(einsum *s, uint32_t axis, int64_t size, clv_err *e)
{
    int64_t *have = &s->size[axis];
    if (*have >= 0 && *have != size && *have != 1 && size != 1)
        return clv__fail(e, CLV_SHAPE, "einsum: an axis of %lld and of %lld",
                         (long long)*have, (long long)size);
    if (*have < 0 || *have == 1)
        *have = size;
    if (axis < LETTERS)
        s->all.letters |= UINT64_C(1) << axis;
    else
        s->all.dots |= UINT32_C(1) << (axis - LETTERS);
    return CLV_OK;
}

/* Names the axes of operand v after its term; *own receives the set of its
 * axes. */
static clv_status read_operand(einsum *s, const clv_value *v, axis_set *own,
                               clv_err *e)
{
    int axes[CLV_MAX_RANK + 1];
    uint32_t count, k = 0;
    CLV_TRY(read_term(&s->term, axes, CLV_MAX_RANK + 1, &count, e));
    bool dots = false;
    for (uint32_t i = 0; i < count; i++)
        dots = dots || axes[i] < 0;
    uint32_t named = count - dots;
    if (v->rank < named || (!dots && v->rank != named))
        return clv__fail(e, CLV_SHAPE, "einsum: %u axes named of rank %u",
                         named, v->rank);
    uint32_t hidden = v->rank - named;
    *own = (axis_set){0, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (axes[i] >= 0) {
            own->letters |= UINT64_C(1) << axes[i];
            s->count[axes[i]]++;
            CLV_TRY(set_size(s, (uint32_t)axes[i], v->dims[k++], e));
        }
        for (uint32_t h = hidden; axes[i] < 0 && h > 0; h--) {
            own->dots |= UINT32_C(1) << (h - 1);
            CLV_TRY(set_size(s, LETTERS + h - 1, v->dims[k++], e));
        }
    }
    return CLV_OK;
}

/* Appends the axes of "...", the outermost first. */
static bool add_dots(const einsum *s, uint32_t *axes, uint32_t *rank)
{
    for (uint32_t h = CLV_MAX_RANK; h > 0; h--)
        if (s->all.dots >> (h - 1) & 1) {
            if (*rank == CLV_MAX_RANK)
                return false;
            axes[(*rank)++] = LETTERS + h - 1;
        }
    return true;
}

/* The axes of the result, in order. */
static clv_status read_result(const einsum *s, uint32_t *axes, uint32_t *rank,
                              clv_err *e)
{
    int named[CLV_MAX_RANK + 1];
    uint32_t count = 0;
    bool fits_in = true;
    *rank = 0;
    if (!strncmp(s->term, "->", 2)) {
        const char *at = s->term + 2;
        CLV_TRY(read_term(&at, named, CLV_MAX_RANK + 1, &count, e));
        if (*at)
            return clv__fail(e, CLV_SHAPE, "einsum: more after the result");
        for (uint32_t i = 0; i < count && fits_in; i++) {
            if (named[i] >= 0 && s->count[named[i]] == 0)
                return clv__fail(e, CLV_SHAPE,
                                 "einsum: the result has an axis of its own");
            if (named[i] < 0)
                fits_in = add_dots(s, axes, rank);
            else if ((fits_in = *rank < CLV_MAX_RANK))
                axes[(*rank)++] = (uint32_t)named[i];
        }
    } else {
        fits_in = add_dots(s, axes, rank);
        for (uint32_t i = 0; i < LETTERS && fits_in; i++)
            if (s->count[i] == 1 && (fits_in = *rank < CLV_MAX_RANK))
                axes[(*rank)++] = i;
    }
    for (uint32_t i = 0; i < *rank && fits_in; i++)
        for (uint32_t k = 0; k < i; k++)
            if (axes[i] == axes[k])
                return clv__fail(e, CLV_SHAPE, "einsum: an axis twice");
    return fits_in ? CLV_OK : clv__fail(e, CLV_SHAPE, "einsum: too many axes");
}

/* Reads the left side: sizes, and the axes of each operand. */
static clv_status einsum_parse(const clv_graph *g, const clv_node *n, einsum *s,
                               clv_err *e)
{
    *s = (einsum){.term = attr_str(n, CLV_A_EQUATION)};
    memset(s->size, -1, sizeof s->size);
    for (uint32_t i = 0; i < n->n_in; i++) {
        axis_set mine;
        if (!node_in(g, n, i))
            return clv__fail(e, CLV_SHAPE, "einsum: operand %u is absent", i);
        if (i && *s->term++ != ',')
            return clv__fail(e, CLV_SHAPE, "einsum: %u operands, %u terms",
                             n->n_in, i);
        CLV_TRY(read_operand(s, node_in(g, n, i), &mine, e));
        if (i < EINSUM_OPERANDS)
            s->own[i] = mine;
    }
    if (*s->term && strncmp(s->term, "->", 2))
        return clv__fail(e, CLV_SHAPE, "einsum: more terms than operands");
    return CLV_OK;
}

clv_status infer_einsum(clv_graph *g, clv_node *n, clv_err *e)
{
    einsum s;
    uint32_t axes[CLV_MAX_RANK], rank;
    CLV_TRY(einsum_parse(g, n, &s, e));
    CLV_TRY(read_result(&s, axes, &rank, e));
    int64_t dims[CLV_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = s.size[axes[i]];
    clv_dtype t = (clv_dtype)node_in(g, n, 0)->dtype;
    return out_shape(g, n, 0, t, rank, dims, e);
}

/* -- cost -----------------------------------------------------------------*/

bool einsum_read(const clv_graph *g, const clv_node *n, einsum *s)
{
    uint32_t axes[CLV_MAX_RANK], rank;
    if (n->n_in > EINSUM_OPERANDS || einsum_parse(g, n, s, NULL) != CLV_OK ||
        read_result(s, axes, &rank, NULL) != CLV_OK)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (axes[i] < LETTERS)
            s->result.letters |= UINT64_C(1) << axes[i];
        else
            s->result.dots |= UINT32_C(1) << (axes[i] - LETTERS);
    return true;
}

int64_t einsum_volume(const einsum *s, axis_set a)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < LETTERS; i++)
        if (a.letters >> i & 1)
            size = sat_mul(size, s->size[i]);
    for (uint32_t h = 0; h < CLV_MAX_RANK; h++)
        if (a.dots >> h & 1)
            size = sat_mul(size, s->size[LETTERS + h]);
    return size;
}

/* Sums away the axes that only `a` has, at one addition per element. */
static axis_set sum_alone(const einsum *s, axis_set a, axis_set needed,
                          clv_cost *c)
{
    axis_set alone = without(a, needed);
    if (is_empty(alone))
        return a;
    c->flops = sat_add(c->flops, einsum_volume(s, a));
    return without(a, alone);
}

/* Contracts a and b: a matrix product if an axis is summed, else one
 * multiplication per element. */
static axis_set einsum_join(const einsum *s, axis_set a, axis_set b,
                            axis_set needed, clv_cost *c)
{
    a = sum_alone(s, a, both(b, needed), c);
    b = sum_alone(s, b, both(a, needed), c);
    axis_set summed = without(common(a, b), needed);
    int64_t work = einsum_volume(s, both(a, b));
    if (!is_empty(summed)) {
        c->macs = sat_add(c->macs, work);
        work = sat_mul(2, work);
    }
    c->flops = sat_add(c->flops, work);
    return without(both(a, b), summed);
}

void cost_einsum(const clv_graph *g, const clv_node *n, clv_cost *c)
{
    einsum s;
    uint32_t last = n->n_in - 1;
    if (!einsum_read(g, n, &s)) {
        c->trust = CLV_TRUST_UNKNOWN;
        return;
    }
    axis_set so_far = s.own[0];
    if (last == 0)
        sum_alone(&s, so_far, s.result, c);
    for (uint32_t i = 1; i <= last; i++) {
        axis_set needed = s.result;
        for (uint32_t k = i + 1; k <= last; k++)
            needed = both(needed, s.own[k]);
        so_far = einsum_join(&s, so_far, s.own[i], needed, c);
    }
}
