/* einsum.c - sums of products over named axes.
 *
 * Every operand, and the result, is read with one stride per name: a name it
 * lacks has stride 0, one it has twice the sum of both (its diagonal). The
 * shape rule has checked the equation and the sizes. */
#include "backend/einsum.h"

#include <string.h>

enum { LETTERS = EINSUM_LETTERS };

static int einsum_letter_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static const char *term_end(const char *s)
{
    while (*s && *s != ',' && *s != '-')
        s++;
    return s;
}

/* How many letters a term has. */
static uint32_t einsum_named_axes(const char *s, const char *end)
{
    uint32_t n = 0;
    for (; s < end; s++)
        n += einsum_letter_of(*s) >= 0;
    return n;
}

/* Strides of t by name; sizes grow to the largest seen. */
static void read_axis(const clv_tensor *t, uint32_t axis, int name,
                      const int64_t *own, int64_t *strides, int64_t *size)
{
    if (axis >= t->rank)
        return;
    if (t->dims[axis] != 1)
        strides[name] += own[axis];
    if (size[name] < 0 || size[name] == 1)
        size[name] = t->dims[axis];
}

static void einsum_read_term(const char *s, const char *end,
                             const clv_tensor *t, int64_t *strides,
                             int64_t *size)
{
    int64_t own[CLV_MAX_RANK];
    uint32_t named = einsum_named_axes(s, end), axis = 0;
    uint32_t hidden = t->rank > named ? t->rank - named : 0;
    strides_of(t, own);
    memset(strides, 0, EINSUM_AXES * sizeof *strides);
    for (; s < end; s++) {
        if (einsum_letter_of(*s) >= 0)
            read_axis(t, axis++, einsum_letter_of(*s), own, strides, size);
        for (; *s == '.' && hidden; hidden--)
            read_axis(t, axis++, LETTERS + (int)hidden - 1, own, strides, size);
    }
}

/* The result when the equation names none: "..." and what occurs once. */
static void einsum_implied(const char *equation, char *result)
{
    int seen[LETTERS] = {0};
    if (strchr(equation, '.')) {
        memcpy(result, "...", 3);
        result += 3;
    }
    for (; *equation; equation++)
        if (einsum_letter_of(*equation) >= 0)
            seen[einsum_letter_of(*equation)]++;
    for (int i = 0; i < LETTERS; i++)
        if (seen[i] == 1)
            *result++ = (char)(i < 26 ? 'A' + i : 'a' + i - 26);
    *result = '\0';
}

static einsum_names einsum_choose(const int64_t *size, const int64_t *result)
{
    einsum_names c = {.n = 0};
    for (int summed = 0; summed < 2; summed++) {
        for (int i = 0; i < EINSUM_AXES; i++)
            if (size[i] >= 0 && size[i] != 1 && (result[i] == 0) == summed) {
                c.name[c.n] = i;
                c.dims[c.n++] = size[i];
            }
        if (!summed)
            c.n_result = c.n;
    }
    return c;
}

static int64_t einsum_offset(const einsum_names *c, const int64_t *idx,
                             const int64_t *strides)
{
    int64_t at = 0;
    for (uint32_t i = 0; i < c->n; i++)
        at += idx[i] * strides[c->name[i]];
    return at;
}

/* The sum of products for the result's place that idx holds. */
static dot_sum einsum_total(const kernel *k, const einsum_names *c,
                            int64_t *idx, const int64_t *strides)
{
    dot_sum sum = {0, 0};
    bool real = is_float(k->out[0].dtype);
    for (uint32_t i = c->n_result; i < c->n; i++)
        if (c->dims[i] == 0)
            return sum;
    do {
        double p = 1;
        uint64_t whole = 1;
        for (uint32_t t = 0; t < k->n->n_in; t++) {
            int64_t at = einsum_offset(c, idx, strides + t * EINSUM_AXES);
            if (real)
                p *= get_f(k->in[t], at);
            else
                whole *= (uint64_t)get_i(k->in[t], at);
        }
        sum.real += real ? p : 0;
        sum.whole += real ? 0 : whole;
    } while (clv__in_time(1) &&
             next_index(idx + c->n_result, c->dims + c->n_result,
                        c->n - c->n_result));
    return sum;
}

clv_status clv__einsum_read(kernel *k, einsum_names *c, int64_t **strides,
                            int64_t *result)
{
    const char *s = attr_str(k->n, CLV_A_EQUATION);
    char made[LETTERS + 4];
    int64_t size[EINSUM_AXES];
    *strides = arena_array(k->scratch, (size_t)k->n->n_in + 1,
                           EINSUM_AXES * sizeof **strides);
    if (!*strides)
        return clv__nomem(k->e);
    memset(size, -1, sizeof size);
    einsum_implied(s, made);
    for (uint32_t t = 0; t < k->n->n_in; t++) {
        const char *end = term_end(s);
        einsum_read_term(s, end, k->in[t], *strides + t * EINSUM_AXES, size);
        s = *end == ',' ? end + 1 : end;
    }
    s = !strncmp(s, "->", 2) ? s + 2 : made;
    einsum_read_term(s, s + strlen(s), &k->out[0], result, size);
    *c = einsum_choose(size, result);
    return CLV_OK;
}

clv_status kernel_einsum(kernel *k)
{
    clv_tensor *y = &k->out[0];
    int64_t result[EINSUM_AXES], idx[EINSUM_AXES] = {0}, *strides;
    einsum_names c;
    CLV_TRY(clv__einsum_read(k, &c, &strides, result));
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        put_affine(y, einsum_offset(&c, idx, result),
                   einsum_total(k, &c, idx, strides), (const double[]){1, 1},
                   (element){NULL, 0});
        next_index(idx, c.dims, c.n_result);
    }
    return CLV_OK;
}
