/* model.c - a graph becomes a model: weights, parts, steps.
 *
 * With a backend the graph is cut by what the backend supports and each of its
 * subgraphs is compiled. One that does not compile after all is demoted: its
 * nodes go to the CPU, the graph is cut again, and a note says so. A cut that
 * the caller gives is compiled as it is, subgraph by subgraph. */
#include "backend/cpu/cpu.h"
#include "core/limits.h"
#include "core/parallel.h"
#include "run/rewrite.h"

#include <stdio.h>
#include <string.h>

static clv_status note(clv_model *m, const char *text, clv_err *e)
{
    const char *own = arena_strndup(&m->mem, text, strlen(text));
    if (!own || !CLV_GROW(m->notes, m->info.n_notes, m->cap_notes))
        return clv__nomem(e);
    m->notes[m->info.n_notes++] = own;
    m->info.notes = m->notes;
    return CLV_OK;
}

/* -- who runs what --------------------------------------------------------*/

/* What nobody can run: the first of them for one message, the others to whoever
 * asked to be told. */
typedef struct refusals {
    const clv_model *m;
    char text[400];
    size_t len;
    uint32_t n;
} refusals;

static void refuse(refusals *r, const clv_node *n)
{
    const char *op = clv__op_at_source(n);
    const char *why = n->counted_only;
    if (r->n++ >= 3) {
        if (r->m->refuse)
            r->m->refuse(r->m->refuser, op, n->name, why ? why : "");
        return;
    }
    r->len += (size_t)snprintf(r->text + r->len, sizeof r->text - r->len,
                               "%s%.40s '%.40s'%s%.40s%s", r->len ? ", " : "",
                               op, n->name, why ? " (" : "", why ? why : "",
                               why ? ")" : "");
}

/* Bodies run in plain C, all of them. */
static void check_bodies(const clv_graph *g, refusals *r)
{
    clv_why why;
    for (uint32_t i = 0; i < g->n_bodies; i++) {
        const clv_graph *body = g->bodies[i];
        if (!body->inferred)
            continue;
        for (uint32_t id = 0; id < body->n_nodes; id++)
            if (!clv__ref_supports(body, id, &why))
                refuse(r, &body->nodes[id]);
        check_bodies(body, r);
    }
}

static clv_status check_runnable(const clv_model *m,
                                 const clv_support_info *support, clv_err *e)
{
    refusals r = {.m = m};
    clv_why why;
    for (uint32_t id = 0; id < m->g->n_nodes; id++) {
        if (clv__run_needless(m, id) ||
            (support && support->nodes[id].side == CLV_SIDE_ACCELERATOR) ||
            clv__ref_supports(m->g, id, &why))
            continue;
        refuse(&r, &m->g->nodes[id]);
    }
    check_bodies(m->g, &r);
    if (!r.n)
        return CLV_OK;
    char more[40] = "";
    if (r.n > 3)
        snprintf(more, sizeof more, " and %u more", r.n - 3);
    return clv__fail(e, CLV_UNSUPPORTED, "%u operator%s cannot run: %s%s", r.n,
                     r.n == 1 ? "" : "s", r.text, more);
}

/* A view that has to run goes to the CPU unless the backend said yes to it: an
 * analysis may place a view of which nothing was said, a run may not. */
static clv_status settle_views(clv_model *m, clv_support *s, clv_err *e)
{
    const clv_support_info *info = clv_support_get(s);
    for (uint32_t id = 0; id < m->g->n_nodes; id++) {
        const char *why;
        if (info->nodes[id].side != CLV_SIDE_EITHER || clv__run_needless(m, id))
            continue;
        if (clv__support_answer(s, id, &why) != CLV_YES)
            CLV_TRY(clv__support_demote(s, id, why, e));
    }
    return CLV_OK;
}

/* -- parts ----------------------------------------------------------------*/

static void release_execs(clv_model *m)
{
    for (uint32_t k = 0; m->execs && k < m->info.n_parts; k++)
        if (m->execs[k])
            m->backend->type->release(m->execs[k]);
    m->execs = NULL;
}

static clv_status whole(clv_model *m, clv_err *e)
{
    uint32_t *nodes =
        arena_array(&m->mem, (size_t)m->g->n_nodes + 1, sizeof *nodes);
    m->parts = arena_zalloc(&m->mem, sizeof *m->parts);
    m->execs = arena_zalloc(&m->mem, sizeof *m->execs);
    if (!nodes || !m->parts || !m->execs)
        return clv__nomem(e);
    for (uint32_t i = 0; i < m->g->n_nodes; i++)
        nodes[i] = i;
    m->parts[0] = (clv_part){"cpu", nodes, m->g->n_nodes};
    m->info.n_parts = m->g->n_nodes ? 1 : 0;
    return CLV_OK;
}

static clv_status take_cut(clv_model *m, const clv_cut *cut, clv_err *e)
{
    uint32_t n;
    const clv_subgraph *sub = clv_cut_subgraphs(cut, &n);
    m->cut = cut;
    m->parts = arena_zalloc(&m->mem, ((size_t)n + 1) * sizeof *m->parts);
    m->execs = arena_zalloc(&m->mem, ((size_t)n + 1) * sizeof *m->execs);
    if (!m->parts || !m->execs)
        return clv__nomem(e);
    for (uint32_t k = 0; k < n; k++)
        m->parts[k] = (clv_part){sub[k].device, sub[k].nodes, sub[k].n_nodes};
    m->info.n_parts = n;
    return CLV_OK;
}

/* Nothing to compile where all is known already. */
static bool idle(const clv_model *m, const clv_part *p)
{
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (!clv__run_needless(m, p->nodes[i]))
            return false;
    return true;
}

/* Compiles part k; `failed` says that it must run elsewhere. */
static clv_status model_compile(clv_model *m, uint32_t k, clv_support *support,
                                bool *failed, clv_err *e)
{
    uint32_t n;
    const clv_subgraph *sub = &clv_cut_subgraphs(m->cut, &n)[k];
    weight_store *root = m->weights;
    bool nan = false;
    while (root->like)
        root = root->like;
    clv_subject subject = {
        .g = m->g,
        .nodes = sub->nodes,
        .outputs = sub->outputs,
        .n_nodes = sub->n_nodes,
        .n_outputs = sub->n_outputs,
        .tensor = m->tensor,
        .threads = m->threads,
        .files = &m->weights->files,
        .look = m->backend->type->made_nan ? clv__run_look_for_nan : NULL,
        .looker = &nan,
        .family = root,
        .shared = m->weights->borrowed,
        .n_shared = m->user->n_values};
    clv_err why = {0};
    char text[700];
    if (!strcmp(m->parts[k].device, "cpu") || idle(m, &m->parts[k]))
        return CLV_OK;
    clv_status s =
        m->backend->type->compile(m->backend, &subject, &m->execs[k], &why);
    if (s == CLV_OK)
        return CLV_OK;
    if (nan) {
        m->parts[k].device = "cpu";
        return CLV_OK;
    }
    if (clv__is_final(s))
        return clv__fail(e, s, "%s", why.msg);
    *failed = true;
    snprintf(text, sizeof text,
             "a subgraph of %u operators from '%s' runs on the CPU: %s",
             sub->n_nodes, m->g->nodes[sub->nodes[0]].name, why.msg);
    CLV_TRY(note(m, text, e));
    for (uint32_t i = 0; i < sub->n_nodes; i++)
        CLV_TRY(clv__support_demote(support, sub->nodes[i], why.msg, e));
    return CLV_OK;
}

static clv_status cut_once(clv_model *m, clv_support *support,
                           const clv_capability_opts *opts, bool *again,
                           clv_err *e)
{
    *again = false;
    CLV_TRY(check_runnable(m, clv_support_get(support), e));
    CLV_TRY(clv_cut_capability(m->profile, clv_support_get(support), opts,
                               &m->own_cut, e));
    CLV_TRY(take_cut(m, m->own_cut, e));
    for (uint32_t k = 0; k < m->info.n_parts && !*again; k++)
        CLV_TRY(model_compile(m, k, support, again, e));
    if (!*again)
        return CLV_OK;
    release_execs(m);
    clv_cut_free(m->own_cut);
    m->own_cut = NULL;
    return CLV_OK;
}

static clv_status cut_model(clv_model *m, const clv_model_opts *o,
                            clv_support *support, clv_err *e)
{
    clv_capability_opts opts;
    CLV_READ(clv_capability_opts, o->limits, &opts, e);
    opts.no_what_if = true;
    CLV_TRY(clv_profile_new(m->g, NULL, &m->profile, e));
    for (bool again = true; again;)
        CLV_TRY(cut_once(m, support, &opts, &again, e));
    return CLV_OK;
}

/* -- a cut that is given --------------------------------------------------*/

static bool all_supported(const clv_model *m, const clv_part *p,
                          const clv_support_info *info)
{
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (info->nodes[p->nodes[i]].side == CLV_SIDE_CPU &&
            !clv__run_needless(m, p->nodes[i]))
            return false;
    return true;
}

/* A subgraph is compiled whole or stays on the CPU whole. */
static clv_status give_part(clv_model *m, uint32_t k, clv_support *support,
                            clv_err *e)
{
    clv_part *p = &m->parts[k];
    bool failed = false;
    if (strcmp(p->device, "cpu") != 0 &&
        all_supported(m, p, clv_support_get(support)))
        p->device = m->backend->name;
    else
        p->device = "cpu";
    CLV_TRY(model_compile(m, k, support, &failed, e));
    if (failed)
        p->device = "cpu";
    for (uint32_t i = 0; i < p->n_nodes && !strcmp(p->device, "cpu"); i++)
        CLV_TRY(clv__support_demote(support, p->nodes[i],
                                    "its subgraph runs on the CPU", e));
    return CLV_OK;
}

static clv_status give_cut(clv_model *m, const clv_cut *cut,
                           clv_support *support, clv_err *e)
{
    if (clv_profile_graph(clv_cut_profile(cut)) != m->g)
        return clv__fail(e, CLV_USAGE, "the cut is of another graph");
    CLV_TRY(take_cut(m, cut, e));
    for (uint32_t k = 0; k < m->info.n_parts; k++)
        if (support)
            CLV_TRY(give_part(m, k, support, e));
        else
            m->parts[k].device = "cpu";
    return check_runnable(m, support ? clv_support_get(support) : NULL, e);
}

/* -- all of it ------------------------------------------------------------*/

/* Why nodes stay on the CPU; nodes of one configuration share the text. */
static clv_status keep_reasons(clv_model *m, const clv_support *support,
                               clv_err *e)
{
    const clv_support_info *info = clv_support_get(support);
    const char *last = NULL, *own = "";
    m->why = arena_array(&m->mem, m->g->n_nodes + 1u, sizeof *m->why);
    if (!m->why)
        return clv__nomem(e);
    for (uint32_t id = 0; id < m->g->n_nodes; id++) {
        const char *text = info->nodes[id].reason;
        if (text && text != last &&
            !(own = arena_strndup(&m->mem, text, strlen(text))))
            return clv__nomem(e);
        last = text;
        m->why[id] = text ? own : "";
    }
    return CLV_OK;
}

static clv_status with_backend(clv_model *m, const clv_model_opts *o,
                               clv_err *e)
{
    clv_support *asked = NULL;
    clv_status s = CLV_OK;
    if (!o->support)
        s = clv_support_new(o->backend, m->g, &asked, e);
    clv_support *support = o->support ? o->support : asked;
    if (s == CLV_OK)
        s = settle_views(m, support, e);
    if (s == CLV_OK)
        s = o->cut ? give_cut(m, o->cut, support, e)
                   : cut_model(m, o, support, e);
    if (s == CLV_OK)
        s = keep_reasons(m, support, e);
    clv_support_free(asked);
    return s;
}

static clv_status without_backend(clv_model *m, const clv_model_opts *o,
                                  clv_err *e)
{
    if (o->cut)
        return give_cut(m, o->cut, NULL, e);
    CLV_TRY(check_runnable(m, NULL, e));
    return whole(m, e);
}

/* -- the model ------------------------------------------------------------*/

/* Weights that kernels read must be aligned; a backend copies its own, and what
 * was packed, or is only moved, stays where it is. */
static clv_status align_weights(clv_model *m, clv_err *e)
{
    for (uint32_t i = 0; i < m->n_steps; i++) {
        const clv_node *n = &m->g->nodes[m->steps[i].node];
        for (uint32_t k = 0; !m->steps[i].exec && k < n->n_in; k++) {
            uint32_t v = node_ins(m->g, n)[k];
            bool any = !m->plain && !m->steps[i].dynamic &&
                       clv__cpu_any_address((clv_op)n->op, k,
                                            m->steps[i].ready != NULL);
            if (v != CLV_NONE && !any && m->place[m->root[v]] == PLACE_WEIGHT)
                CLV_TRY(
                    clv__weight_align(m->weights, &m->tensor[m->root[v]], e));
        }
    }
    return CLV_OK;
}

/* Views of weights lie where these do. */
static void point_aliases(clv_model *m)
{
    for (uint32_t v = 0; v < m->g->n_values; v++)
        if (m->place[v] == PLACE_ALIAS && m->tensor[m->root[v]].data)
            m->tensor[v].data = m->tensor[m->root[v]].data;
}

/* The user chose the side of some node. */
static bool model_forced(const clv_support *s)
{
    const clv_support_info *info = s ? clv_support_get(s) : NULL;
    for (uint32_t i = 0; info && i < info->n_nodes; i++)
        if (info->nodes[i].forced)
            return true;
    return false;
}

/* A graph is rewritten unless the user speaks of its nodes: by a cut, by
 * choosing sides, or by asking for the oracle. */
static bool model_rewrites(const clv_model *m, const clv_model_opts *o)
{
    return !m->plain && !o->as_is && !o->cut && !model_forced(o->support);
}

static clv_status model_rewrite(clv_model *m, clv_err *e)
{
    rewritten *w = arena_zalloc(&m->mem, sizeof *w);
    if (!w)
        return clv__nomem(e);
    CLV_TRY(clv__rewrite(m->g, m->weights, m->backend, m->threads, w, e));
    m->rewritten = w;
    m->g = w->g;
    m->tensor = w->tensor;
    return CLV_OK;
}

/* The part that does the work of each of the user's nodes, CLV_NONE: none. */
static uint32_t *parts_of_nodes(clv_model *m)
{
    const rewritten *w = m->rewritten;
    size_t nodes = m->user->n_nodes;
    uint32_t *part = arena_array(&m->mem, m->g->n_nodes + 1u, sizeof *part);
    uint32_t *of = arena_array(&m->mem, nodes + 1, sizeof *of);
    if (!part || !of)
        return NULL;
    for (uint32_t k = 0; k < m->info.n_parts; k++)
        for (uint32_t i = 0; i < m->parts[k].n_nodes; i++)
            part[m->parts[k].nodes[i]] = k;
    for (uint32_t id = 0; id < nodes; id++)
        of[id] = w->home[id] == CLV_NONE ? CLV_NONE : part[w->home[id]];
    return of;
}

/* The parts in nodes of the user's graph: those whose work a part does, or the
 * one that its first node stands for. */
static clv_status show_parts(clv_model *m, clv_err *e)
{
    size_t n = m->info.n_parts, nodes = m->user->n_nodes, at = 0;
    clv_part *shown = arena_zalloc(&m->mem, (n + 1) * sizeof *shown);
    uint32_t *list = arena_array(&m->mem, nodes + n + 1, sizeof *list);
    uint32_t *first = arena_zalloc(&m->mem, (n + 1) * sizeof *first);
    uint32_t *of = parts_of_nodes(m);
    if (!shown || !list || !first || !of)
        return clv__nomem(e);
    for (uint32_t id = 0; id < nodes; id++)
        if (of[id] != CLV_NONE)
            shown[of[id]].n_nodes++;
    for (uint32_t k = 0; k < n; k++) {
        shown[k].device = m->parts[k].device;
        shown[k].nodes = list + at;
        first[k] = (uint32_t)at;
        if (!shown[k].n_nodes) { /* new nodes alone */
            list[at] = m->rewritten->stands_for[m->parts[k].nodes[0]];
            shown[k].n_nodes = 1;
        }
        at += shown[k].n_nodes;
    }
    for (uint32_t id = 0; id < nodes; id++)
        if (of[id] != CLV_NONE)
            list[first[of[id]]++] = id;
    m->info.parts = shown;
    return CLV_OK;
}

static clv_status model_build(clv_model *m, const clv_model_opts *o, clv_err *e)
{
    weight_store *like = o->like ? o->like->weights : NULL;
    clv_model_opts own = *o;
    if (!m->g->inferred)
        return clv__fail(e, CLV_USAGE, "the graph is not inferred");
    if (m->backend && !m->backend->type->compile)
        return clv__fail(e, CLV_USAGE,
                         "backend '%s' says what it supports, but runs nothing",
                         o->backend->name);
    CLV_TRY(clv__weights_new(m->g, o, like, &m->weights, e));
    if (model_rewrites(m, o)) {
        CLV_TRY(model_rewrite(m, e));
        own.support = NULL; /* it is asked of the new nodes */
    } else {
        m->tensor =
            arena_array(&m->mem, (size_t)m->g->n_values + 1, sizeof *m->tensor);
        if (!m->tensor)
            return clv__nomem(e);
        memcpy(m->tensor, clv__weights_of(m->weights, m->g),
               m->g->n_values * sizeof *m->tensor);
    }
    CLV_TRY(m->backend ? with_backend(m, &own, e)
                       : without_backend(m, &own, e));
    m->info.parts = m->parts;
    if (m->rewritten)
        CLV_TRY(show_parts(m, e));
    CLV_TRY(clv__run_plan(m, o->memory, e));
    point_aliases(m);
    int64_t packed = clv__run_prepare(m);
    CLV_TRY(align_weights(m, e));
    point_aliases(m);
    CLV_TRY(clv__run_explain(m, e));
    m->info.weight_bytes = m->weights->bytes + packed;
    return CLV_OK;
}

clv_status clv_model_new(const clv_graph *g, const clv_model_opts *opts,
                         clv_model **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, __func__, err));
    clv_model_opts own;
    CLV_READ(clv_model_opts, opts, &own, err);
    const clv_model_opts *o = &own;
    clv_model *m = clv__zalloc(sizeof *m);
    if (!m)
        return clv__nomem(err);
    m->g = m->user = g;
    m->info.size = sizeof m->info;
    m->plain = o->backend && o->backend->type == &clv__ref_type;
    if (o->backend && !m->plain && o->backend->type != &clv__cpu_type)
        m->backend = o->backend; /* without one, our own kernels run all */
    if (m->backend && m->backend->type->team)
        clv__parallel_use(m->backend->type->team);
    m->seed = o->seed;
    m->threads = o->threads;
    m->refuse = o->refuse;
    m->refuser = o->refuser;
    clv_status s = model_build(m, o, err);
    if (s != CLV_OK) {
        clv_model_free(m);
        return s;
    }
    *out = m;
    return CLV_OK;
}

void clv_model_free(clv_model *m)
{
    if (!m)
        return;
    release_execs(m);
    clv_cut_free(m->own_cut);
    clv_profile_free(m->profile);
    if (m->rewritten) {
        clv_graph_free(m->rewritten->g);
        arena_free(&m->rewritten->mem);
    }
    clv__weights_free(m->weights);
    clv__free(m->notes);
    arena_free(&m->mem);
    clv__free(m);
}

/* Multiply-adds from which oneDNN's code is worth the milliseconds that loading
 * it and compiling take. */
#define ONEDNN_PAYS 50e6

const char *clv_model_usual(const clv_graph *g)
{
    clv_profile *p = NULL;
    clv_backend *b = NULL;
    if (!g || clv_profile_new(g, NULL, &p, NULL) != CLV_OK)
        return "cpu";
    bool large = (double)clv_profile_totals(p)->macs >= ONEDNN_PAYS;
    clv_profile_free(p);
    if (!large || clv_backend_open("onednn", NULL, &b, NULL) != CLV_OK)
        return "cpu";
    clv_backend_free(b);
    return "onednn";
}

const clv_model_info *clv_model_get(const clv_model *m)
{
    return &m->info;
}

const clv_cut *clv_model_cut(const clv_model *m)
{
    return m->rewritten ? NULL : m->cut;
}
