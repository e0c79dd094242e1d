/* knobs.c - a model of a parametric family with some of its numbers changed.
 *
 * A family's table says where each number lies in its variant, and within which
 * range it may be. The variant of the row is copied and the numbers are set in
 * the copy; what is not given stays as the row has it, or in proportion to
 * another number: a perceptron is as many times as wide as its layer. */
#include "zoo/zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double knob_get(const zoo_knob *k, const void *variant)
{
    const void *at = (const char *)variant + k->offset;
    return k->type == ZOO_INT     ? *(const int *)at
           : k->type == ZOO_INT64 ? (double)*(const int64_t *)at
                                  : *(const double *)at;
}

static void knob_set(const zoo_knob *k, void *variant, double value)
{
    void *at = (char *)variant + k->offset;
    if (k->type == ZOO_INT)
        *(int *)at = (int)value;
    else if (k->type == ZOO_INT64)
        *(int64_t *)at = (int64_t)value;
    else
        *(double *)at = value;
}

uint32_t clv_zoo_knob(const clv_zoo_model *model, uint32_t i,
                      clv_zoo_number *out)
{
    const zoo_model *m = (const zoo_model *)(const void *)model;
    const zoo_knobs *knobs = m ? clv__zoo_knobs(m) : NULL;
    uint32_t n = knobs ? knobs->n : 0;
    if (i < n && out) {
        const zoo_knob *k = &knobs->list[i];
        *out = (clv_zoo_number){k->name, k->low, k->high,
                                knob_get(k, m->variant), k->type != ZOO_DOUBLE};
    }
    return n;
}

/* "patch (1 to 64), dim (1 to 16384)" */
static void knob_list(const zoo_knobs *knobs, char *text, size_t size)
{
    size_t at = 0;
    *text = 0;
    for (uint32_t i = 0; i < knobs->n && at < size; i++) {
        const zoo_knob *k = &knobs->list[i];
        int n = clv_format(text + at, size - at, "%s%s (%g to %g)",
                           i ? ", " : "", k->name, k->low, k->high);
        at += n > 0 ? (size_t)n : 0;
    }
}

/* A variant that is being changed. */
typedef struct knob_turn {
    const zoo_model *m;
    void *variant;
    uint64_t given; /* a bit per knob */
} knob_turn;

/* A knob from `text`, "patch=16" with n characters. */
static clv_status knob_read(knob_turn *t, const char *text, size_t n,
                            clv_err *e)
{
    const zoo_model *m = t->m;
    char word[64], known[512], *end;
    const char *equals = memchr(text, '=', n);
    size_t len = equals ? (size_t)(equals - text) : n;
    if (n >= sizeof word || !equals || !len || len + 1 == n)
        return clv__fail(e, CLV_USAGE, "%s: '%.*s' is not NAME=NUMBER",
                         m->info.name, (int)(n < 80 ? n : 80), text);
    memcpy(word, text, n);
    word[n] = word[len] = 0;
    double value = clv_text_double(word + len + 1, &end);
    if (*end || !isfinite(value))
        return clv__fail(e, CLV_USAGE, "%s: %s takes a number, not '%s'",
                         m->info.name, word, word + len + 1);
    const zoo_knobs *knobs = clv__zoo_knobs(m);
    for (uint32_t i = 0; i < knobs->n; i++) {
        const zoo_knob *k = &knobs->list[i];
        if (strcmp(k->name, word) != 0)
            continue;
        bool whole = k->type != ZOO_DOUBLE;
        if (value < k->low || value > k->high ||
            (whole && value != floor(value)))
            return clv__fail(
                e, CLV_USAGE, "%s: %s takes %s from %g to %g, not %s",
                m->info.name, word, whole ? "a whole number" : "a number",
                k->low, k->high, word + len + 1);
        knob_set(k, t->variant, value);
        t->given |= UINT64_C(1) << i;
        return CLV_OK;
    }
    knob_list(knobs, known, sizeof known);
    return clv__fail(e, CLV_USAGE, "%s has no '%s'; it has %s", m->info.name,
                     word, known);
}

/* All of a list that commas separate. */
static clv_status knob_read_list(knob_turn *t, const char *text, clv_err *e)
{
    while (*text) {
        size_t n = strcspn(text, ",");
        CLV_TRY(knob_read(t, text, n, e));
        text += n + (text[n] == ',');
    }
    return CLV_OK;
}

/* Sets the numbers that were not given and go with one that was. */
static void knob_follow(knob_turn *t, const zoo_knobs *knobs)
{
    for (uint32_t i = 0; i < knobs->n; i++)
        for (uint32_t k = 0; k < knobs->n && knobs->list[i].with; k++) {
            const zoo_knob *own = &knobs->list[i], *with = &knobs->list[k];
            if (strcmp(own->with, with->name) != 0 || t->given >> i & 1 ||
                !(t->given >> k & 1))
                continue;
            double times =
                knob_get(own, t->m->variant) / knob_get(with, t->m->variant);
            knob_set(own, t->variant, times * knob_get(with, t->variant));
        }
}

clv_status clv__zoo_turn(const zoo_model *m, const char *text,
                         const clv_open_opts *opts, void *variant, clv_err *e)
{
    const zoo_knobs *knobs = clv__zoo_knobs(m);
    if (!knobs && (text || opts->n_args))
        return clv__fail(e, CLV_USAGE, "%s has no numbers that can be set",
                         m->info.name);
    if (!knobs)
        return CLV_OK;
    memcpy(variant, m->variant, knobs->size);
    knob_turn t = {m, variant, 0};
    if (text)
        CLV_TRY(knob_read_list(&t, text, e));
    for (size_t i = 0; i < opts->n_args; i++)
        CLV_TRY(knob_read_list(&t, opts->args[i], e));
    knob_follow(&t, knobs);
    return CLV_OK;
}
