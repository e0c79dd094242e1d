/* session.c - a model at whatever shapes its inputs come in.
 *
 * A plan is a graph opened for one set of shapes, the model made of it and the
 * memory of a run. The first plan holds the weights; the others are like it
 * (clv_model_opts.like), so what is left to do for new shapes is inference,
 * planning and a backend's code. Plans are kept for shapes that come again, the
 * least recently used one gives way. */
#include "run/run.h"

#include <string.h>

enum { SESSION_PLANS = 16 };

typedef struct session_plan {
    clv_graph *g;
    clv_model *m;
    clv_context *c;
    clv_tensor *in; /* shapes and types of the inputs, without data */
    uint32_t n_in;
    uint64_t used; /* when it ran last */
} session_plan;

struct clv_session {
    char *model;
    char *backend_name; /* NULL: what is usual for the first shapes */
    clv_session_opts opts;
    clv_backend *backend;
    session_plan plan[SESSION_PLANS]; /* 0 holds the weights, and stays */
    uint32_t n_plans, at;             /* `at` ran last */
    uint64_t clock, made;
};

static char *session_text(const char *text)
{
    size_t n = strlen(text) + 1;
    char *own = clv__alloc(n);
    return own ? memcpy(own, text, n) : NULL;
}

static void session_drop(session_plan *p)
{
    clv_context_free(p->c);
    clv_model_free(p->m);
    clv_graph_free(p->g);
    clv__free(p->in);
    *p = (session_plan){0};
}

static bool session_fits(const session_plan *p, const clv_tensor *in,
                         uint32_t n)
{
    bool fits = p->n_in == n;
    for (uint32_t i = 0; fits && i < n; i++)
        fits =
            p->in[i].dtype == in[i].dtype && p->in[i].rank == in[i].rank &&
            !memcmp(p->in[i].dims, in[i].dims, in[i].rank * sizeof *in[i].dims);
    return fits;
}

/* Opens the model's graph for these inputs. */
static clv_status session_open(const clv_session *s, const clv_tensor *in,
                               uint32_t n, clv_graph **g, clv_err *e)
{
    clv_data_arg *data = clv__zalloc((n + 1) * sizeof *data);
    if (!data)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++)
        data[i] =
            (clv_data_arg){.dims = in[i].dims, .rank = in[i].rank, .place = i};
    const clv_open_opts open = {.size = sizeof open, .data = data, .n_data = n};
    clv_status st = clv_graph_open(s->model, &open, g, e);
    clv__free(data);
    return st;
}

static clv_status session_backend(clv_session *s, const clv_graph *g,
                                  clv_err *e)
{
    if (s->backend)
        return CLV_OK;
    return clv_backend_open(s->backend_name ? s->backend_name
                                            : clv_model_usual(g),
                            NULL, &s->backend, e);
}

static clv_status session_make(clv_session *s, const clv_tensor *in, uint32_t n,
                               session_plan *p, clv_err *e)
{
    CLV_TRY(session_open(s, in, n, &p->g, e));
    CLV_TRY(session_backend(s, p->g, e));
    const clv_model_opts o = {.size = sizeof o,
                              .backend = s->backend,
                              .threads = s->opts.threads,
                              .seed = s->opts.seed,
                              .draw_weights = s->opts.draw_weights,
                              .like = s->n_plans ? s->plan[0].m : NULL};
    CLV_TRY(clv_model_new(p->g, &o, &p->m, e));
    CLV_TRY(clv_context_new(p->m, &p->c, e));
    if (!(p->in = clv__zalloc((n + 1) * sizeof *p->in)))
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        p->in[i] = in[i];
        p->in[i].data = NULL;
    }
    p->n_in = n;
    return CLV_OK;
}

/* Where the next plan goes: a free place, or that of the one that ran least
 * recently, which is dropped. */
static uint32_t session_place(clv_session *s)
{
    uint32_t at = 1;
    if (s->n_plans < SESSION_PLANS)
        return s->n_plans++;
    for (uint32_t i = 2; i < SESSION_PLANS; i++)
        if (s->plan[i].used < s->plan[at].used)
            at = i;
    session_drop(&s->plan[at]);
    return at;
}

static clv_status session_find(clv_session *s, const clv_tensor *in, uint32_t n,
                               clv_err *e)
{
    for (s->at = 0; s->at < s->n_plans; s->at++)
        if (session_fits(&s->plan[s->at], in, n))
            return CLV_OK;
    session_plan fresh = {0};
    clv_status st = session_make(s, in, n, &fresh, e);
    if (st != CLV_OK) {
        s->at = 0;
        return session_drop(&fresh), st;
    }
    s->at = session_place(s);
    s->plan[s->at] = fresh;
    s->made++;
    return CLV_OK;
}

clv_status clv_session_new(const char *model, const clv_session_opts *opts,
                           clv_session **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(model, err);
    clv_session_opts own;
    CLV_READ(clv_session_opts, opts, &own, err);
    clv_session *s = clv__zalloc(sizeof *s);
    if (!s)
        return clv__nomem(err);
    s->opts = own;
    s->model = session_text(model);
    s->backend_name = own.backend ? session_text(own.backend) : NULL;
    if (!s->model || (own.backend && !s->backend_name)) {
        clv_session_free(s);
        return clv__nomem(err);
    }
    *out = s;
    return CLV_OK;
}

void clv_session_free(clv_session *s)
{
    if (!s)
        return;
    for (uint32_t i = s->n_plans; i-- > 0;) /* the weights' holder last */
        session_drop(&s->plan[i]);
    clv_backend_free(s->backend);
    clv__free(s->model);
    clv__free(s->backend_name);
    clv__free(s);
}

clv_status clv_session_run(clv_session *s, const clv_tensor *in, uint32_t n,
                           clv_err *err)
{
    clv__err_clear(err);
    CLV_NEED(s, err);
    CLV_TRY(session_find(s, in, n, err));
    session_plan *p = &s->plan[s->at];
    p->used = ++s->clock;
    for (uint32_t i = 0; i < n; i++)
        CLV_TRY(clv_context_set(p->c, i, &in[i], err));
    return clv_context_run(p->c, err);
}

const clv_tensor *clv_session_output(const clv_session *s, uint32_t i)
{
    return s->n_plans ? clv_context_output(s->plan[s->at].c, i) : NULL;
}

uint64_t clv_session_plans(const clv_session *s)
{
    return s->made;
}
