/* verify.c - the same batch in one process: all parts, one after another, with
 * the same kernels; and, if it is named, the model that was cut. */
#include "rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest relative difference from the whole model that is accepted. */
static const double VERIFY_TOLERANCE = 1e-3;

typedef struct alone {
    rank_world *w;
    rank_data *d;
    rank_part *parts;
    clv_tensor *value; /* per value of the plan: what it holds now */
    bool *own;
} alone;

/* Sets the inputs of the model to micro-batch b. */
static void alone_feed(alone *a, uint32_t b)
{
    const clv_bundle_plan *p = a->w->plan;
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        uint32_t v = p->inputs[i];
        a->value[v] = p->values[v].type;
        a->value[v].data =
            rank_data_slice(a->w, &a->d->in[i], v, b, a->d->fed_again[i]);
    }
}

static clv_status alone_part(alone *a, uint32_t k, clv_err *err)
{
    const clv_bundle_part *info = &a->w->plan->parts[k];
    clv_context *c = a->parts[k].context;
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < info->n_inputs && s == CLV_OK; i++)
        s = clv_context_set(c, i, &a->value[info->inputs[i]], err);
    if (s == CLV_OK)
        s = clv_context_run(c, err);
    rank_beat(a->w);
    for (uint32_t i = 0; i < info->n_outputs && s == CLV_OK; i++)
        a->value[info->outputs[i]] = *clv_context_output(c, i);
    return s;
}

/* Runs a batch; `equal` becomes false when an output is not, bit for bit, what
 * the ranks made. */
static clv_status alone_batch(alone *a, bool *equal, clv_err *err)
{
    const clv_bundle_plan *p = a->w->plan;
    clv_status s = CLV_OK;
    for (uint32_t b = 0; b < a->w->micro && s == CLV_OK; b++) {
        alone_feed(a, b);
        for (uint32_t k = 0; k < p->n_parts && s == CLV_OK; k++)
            s = alone_part(a, k, err);
        for (uint32_t i = 0; i < p->n_outputs && s == CLV_OK && equal; i++) {
            uint32_t v = p->outputs[i];
            if (memcmp(a->value[v].data,
                       rank_data_slice(a->w, &a->d->out[i], v, b, false),
                       (size_t)rank_value_bytes(a->w, v)))
                *equal = false;
        }
    }
    return s;
}

static clv_status alone_run(alone *a, rank_verdict *v, clv_err *err)
{
    uint32_t n = a->w->plan->n_parts;
    clv_status s = CLV_OK;
    a->parts = calloc(n, sizeof *a->parts);
    a->value = calloc((size_t)a->w->plan->n_values + 1, sizeof *a->value);
    if (!a->parts || !a->value)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t k = 0; k < n && s == CLV_OK; k++)
        s = rank_part_open(a->w, k, &a->parts[k], err);
    v->equal = true;
    if (s == CLV_OK)
        s = alone_batch(a, &v->equal, err);
    double before = rank_now();
    if (s == CLV_OK)
        s = alone_batch(a, NULL, err);
    v->alone = rank_now() - before;
    v->done = s == CLV_OK;
    return s;
}

/* -- the whole model ------------------------------------------------------*/

static double whole_differs(alone *a, clv_context *c, uint32_t b)
{
    const clv_bundle_plan *p = a->w->plan;
    double worst = 0;
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        uint32_t v = p->outputs[i];
        clv_tensor mine = p->values[v].type;
        double absolute, relative = INFINITY;
        const clv_tensor *theirs = clv_context_output(c, i);
        mine.data = rank_data_slice(a->w, &a->d->out[i], v, b, false);
        if (theirs && clv_tensor_bytes(theirs) == clv_tensor_bytes(&mine))
            clv_tensor_diff(&mine, theirs, &absolute, &relative);
        worst = relative > worst ? relative : worst;
    }
    return worst;
}

static clv_status whole_run(alone *a, clv_graph *g, clv_context *c,
                            rank_verdict *v, clv_err *err)
{
    uint32_t n_in, n_out;
    clv_status s = CLV_OK;
    clv_graph_inputs(g, &n_in);
    clv_graph_outputs(g, &n_out);
    if (n_in != a->w->plan->n_inputs || n_out != a->w->plan->n_outputs)
        return rank_fail(
            err, CLV_LIMIT,
            "--verify=%.100s: it has %u inputs and %u outputs, the "
            "parts have %u and %u",
            a->w->o.verify, n_in, n_out, a->w->plan->n_inputs,
            a->w->plan->n_outputs);
    for (uint32_t b = 0; b < a->w->micro && s == CLV_OK; b++) {
        alone_feed(a, b);
        for (uint32_t i = 0; i < n_in && s == CLV_OK; i++)
            s = clv_context_set(c, i, &a->value[a->w->plan->inputs[i]], err);
        if (s == CLV_OK)
            s = clv_context_run(c, err);
        rank_beat(a->w);
        double x = s == CLV_OK ? whole_differs(a, c, b) : 0;
        v->largest = x > v->largest ? x : v->largest;
    }
    return s;
}

static clv_status whole_verify(alone *a, rank_verdict *v, clv_err *err)
{
    const clv_bundle_plan *p = a->w->plan;
    clv_shape_arg *shapes = calloc((size_t)p->n_inputs + 1, sizeof *shapes);
    clv_graph *g = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    if (!shapes)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const clv_bundle_value *x = &p->values[p->inputs[i]];
        shapes[i] = (clv_shape_arg){x->name, x->type.dims, x->type.rank};
    }
    const clv_open_opts open = {
        .size = sizeof open, .shapes = shapes, .n_shapes = p->n_inputs};
    const clv_model_opts opts = {.size = sizeof opts, .threads = a->w->threads};
    clv_status s = clv_graph_open(a->w->o.verify, &open, &g, err);
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &m, err);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, err);
    if (s == CLV_OK)
        s = whole_run(a, g, c, v, err);
    v->against = a->w->o.verify;
    clv_context_free(c);
    clv_model_free(m);
    clv_graph_free(g);
    free(shapes);
    return s;
}

clv_status rank_verify(rank_world *w, rank_data *d, rank_verdict *v,
                       clv_err *err)
{
    alone a = {.w = w, .d = d};
    clv_status s = alone_run(&a, v, err);
    if (s == CLV_OK && *w->o.verify)
        s = whole_verify(&a, v, err);
    for (uint32_t k = 0; a.parts && k < w->plan->n_parts; k++)
        rank_part_close(&a.parts[k]);
    free(a.parts);
    free(a.value);
    if (s == CLV_OK && !v->equal)
        s = rank_fail(err, CLV_LIMIT,
                      "the outputs are not those of one process");
    if (s == CLV_OK && !(v->largest <= VERIFY_TOLERANCE))
        s = rank_fail(err, CLV_LIMIT,
                      "the outputs differ from %.100s by %.3g relative",
                      w->o.verify, v->largest);
    return s;
}
