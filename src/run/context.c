/* context.c - one run at a time: inputs, the arena, the steps in order. */
#include "core/guard.h"
#include "core/limits.h"
#include "core/parallel.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

uint8_t clv__arena_fill;

static void point_outputs(clv_context *c)
{
    const clv_model *m = c->m;
    for (uint32_t v = 0; v < m->g->n_values; v++)
        if (m->place[v] == PLACE_ALIAS)
            c->tensor[v].data = c->tensor[m->root[v]].data;
}

clv_status clv_context_new(const clv_model *m, clv_context **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(m, err);
    clv_context *c = clv__zalloc(sizeof *c);
    if (!c)
        return clv__nomem(err);
    c->m = m;
    c->mem.plain = m->plain;
    c->mem.threads = m->threads ? m->threads : clv__processors();
    size_t nv = m->g->n_values;
    c->arena = clv__huge_alloc((size_t)m->info.arena_bytes + 64, &c->block);
    c->tensor = clv__zalloc((nv + 1) * sizeof *c->tensor);
    size_t times = (size_t)m->info.n_parts + m->n_steps + 1;
    c->times = clv__zalloc(times * sizeof *c->times);
    c->by_plain = clv__zalloc((size_t)m->n_steps + 1);
    if (!c->arena || !c->tensor || !c->times || !c->by_plain) {
        clv_context_free(c);
        return clv__nomem(err);
    }
    memset(c->arena, clv__arena_fill, (size_t)m->info.arena_bytes + 64);
    memcpy(c->tensor, m->tensor, nv * sizeof *c->tensor);
    for (uint32_t v = 0; v < nv; v++)
        if (m->place[v] == PLACE_ARENA)
            c->tensor[v].data = c->arena + m->offset[v];
        else if (m->place[v] == PLACE_DYNAMIC) /* even if it was folded */
            c->tensor[v].data = NULL;
    point_outputs(c);
    *out = c;
    return CLV_OK;
}

static void free_dynamic(clv_context *c)
{
    for (uint32_t v = 0; c->tensor && v < c->m->g->n_values; v++)
        if (c->m->place[v] == PLACE_DYNAMIC) {
            clv__free(c->tensor[v].data);
            c->tensor[v].data = NULL;
        }
}

void clv_context_free(clv_context *c)
{
    if (!c)
        return;
    free_dynamic(c);
    arena_free(&c->mem.scratch);
    arena_free(&c->mem.kept);
    clv__free(c->times);
    clv__free(c->by_plain);
    clv__free(c->tensor);
    clv__free(c->block);
    clv__free(c);
}

/* -- inputs ---------------------------------------------------------------*/

static const char *shape_text(const clv_tensor *t, char *buf, size_t size)
{
    clv_value v = {.dims = t->dims, .rank = (uint8_t)t->rank};
    return clv__shape_text(&v, buf, size);
}

static const char *context_form_name(clv_form form)
{
    static const char *const names[] = {"a tensor", "a sequence",
                                        "an optional"};
    return names[form];
}

clv_status clv_context_set(clv_context *c, uint32_t i, const clv_tensor *t,
                           clv_err *err)
{
    char name[128], a[160], b[160];
    clv__err_clear(err);
    CLV_NEED(c, err);
    CLV_NEED(t, err);
    const clv_graph *g = c->m->g;
    if (i >= g->n_inputs)
        return clv__fail(err, CLV_USAGE, "the model has %u inputs, not %u",
                         g->n_inputs, i + 1);
    const clv_value *v = &g->values[g->inputs[i]];
    const char *called = clv__value_name(g, g->inputs[i], name, sizeof name);
    clv_form form = v->flags & CLV_V_OPTIONAL   ? CLV_FORM_OPTIONAL
                    : v->flags & CLV_V_SEQUENCE ? CLV_FORM_SEQUENCE
                                                : CLV_FORM_TENSOR;
    if (t->form != form)
        return clv__fail(err, CLV_SHAPE, "input '%.80s': is %s, must be %s",
                         called, context_form_name(t->form),
                         context_form_name(form));
    bool empty = form != CLV_FORM_TENSOR && clv_tensor_numel(t) == 0;
    if (t->dtype != v->dtype && !empty)
        return clv__fail(err, CLV_SHAPE, "input '%.80s': is %s, must be %s",
                         called, clv_dtype_name(t->dtype),
                         clv_dtype_name((clv_dtype)v->dtype));
    if (form == CLV_FORM_TENSOR && v->rank != CLV_NO_RANK &&
        (t->rank != v->rank ||
         memcmp(t->dims, v->dims, t->rank * sizeof *t->dims)))
        return clv__about(err,
                          clv__fail(err, CLV_SHAPE,
                                    "input '%.80s': shape %s, must be %s",
                                    called, shape_text(t, a, sizeof a),
                                    clv__shape_text(v, b, sizeof b)),
                          CLV_SUBJECT_INPUT, called);
    if (!t->data)
        return clv__fail(err, CLV_USAGE, "input '%.80s' has no data", called);
    c->tensor[g->inputs[i]] = *t;
    return CLV_OK;
}

static clv_status check_inputs(const clv_context *c, clv_err *e)
{
    const clv_graph *g = c->m->g;
    char name[128];
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        uint32_t v = g->inputs[i];
        if (clv__is_read(g, v) && !c->tensor[v].data)
            return clv__fail(e, CLV_USAGE, "input '%.200s' is missing",
                             clv__value_name(g, v, name, sizeof name));
    }
    return CLV_OK;
}

/* -- running --------------------------------------------------------------*/

/* A value found while running may differ from what was planned. */
static bool as_planned(const clv_context *c, uint32_t id)
{
    const clv_graph *g = c->m->g;
    const clv_node *n = &g->nodes[id];
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = node_ins(g, n)[i];
        if (v == CLV_NONE || c->m->place[v] != PLACE_DYNAMIC)
            continue;
        const clv_tensor *a = &c->tensor[v], *b = &c->m->tensor[v];
        if (a->rank != b->rank || a->form != CLV_FORM_TENSOR ||
            memcmp(a->dims, b->dims, a->rank * sizeof *a->dims))
            return false;
    }
    return true;
}

static clv_status context_run_step(clv_context *c, const step *s, clv_err *e)
{
    const clv_model *m = c->m;
    if (s->exec)
        return m->backend->type->made_nan
                   ? clv__run_without_nan(c, s, e)
                   : m->backend->type->run(s->exec, c->tensor,
                                           c->arena + s->offset, e);
    if (s->dynamic)
        return clv__run_dynamic(m->g, s->node, c->tensor, m->weights, &c->mem,
                                e);
    if (!as_planned(c, s->node))
        return clv__fail(e, CLV_SHAPE,
                         "node '%s': its inputs have other shapes than "
                         "inferred",
                         m->g->nodes[s->node].name);
    return clv__run_node(m->g, s->node, s->ready, c->tensor, &c->mem, e);
}

clv_status clv_context_run(clv_context *c, clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(c, err);
    const clv_model *m = c->m;
    CLV_TRY(check_inputs(c, err));
    free_dynamic(c);
    arena_free(&c->mem.kept);
    point_outputs(c);
    memset(c->times, 0, m->info.n_parts * sizeof *c->times);
    double before = clv__now();
    for (uint32_t i = 0; i < m->n_steps; i++) {
        CLV_TRY(clv__within(0, err));
        c->mem.used_plain = false;
        CLV_TRY(context_run_step(c, &m->steps[i], err));
        double after = clv__now();
        c->times[m->steps[i].part] += after - before;
        c->times[m->info.n_parts + i] = after - before;
        c->by_plain[i] = c->mem.used_plain;
        before = after;
        if (c->watch)
            c->watch(c->watcher, i + 1, m->n_steps);
    }
    return clv__guard_check(m->g->file, err);
}

void clv_context_watch(clv_context *c, clv_watch_fn *fn, void *ctx)
{
    c->watch = fn;
    c->watcher = ctx;
}

bool clv_context_place(clv_context *c, uint32_t i, void *data)
{
    const clv_model *m = c->m;
    if (i >= m->g->n_outputs)
        return false;
    uint32_t v = m->g->outputs[i], root = m->root[v];
    if (m->place[root] != PLACE_ARENA ||
        clv_tensor_bytes(&c->tensor[v]) != clv_tensor_bytes(&c->tensor[root]))
        return false;
    void *own = c->arena + m->offset[root];
    if (data && c->tensor[root].data != own)
        return false;
    c->tensor[root].data = data ? data : own;
    return true;
}

const clv_tensor *clv_context_output(const clv_context *c, uint32_t i)
{
    return i < c->m->g->n_outputs ? &c->tensor[c->m->g->outputs[i]] : NULL;
}

double clv_context_step(const clv_context *c, uint32_t i, bool *plain)
{
    bool known = i < c->m->n_steps;
    if (plain)
        *plain = known && c->by_plain[i];
    return known ? c->times[c->m->info.n_parts + i] : 0;
}

const double *clv_context_times(const clv_context *c)
{
    return c->times;
}
