/* reason.c - why a subgraph ends where it does, and what it could run with. */
#include "cut/fusion.h"

#include <string.h>

/* Finds up to two subgraphs other than k that read what k makes. Stores the
 * names of their first readers and returns their number. */
static uint32_t reason_readers(const clv_cut *c, uint32_t k, uint32_t first[2])
{
    const clv_graph *g = c->p->g;
    const clv_subgraph *s = &c->subs[k];
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_outputs && n < 2; i++) {
        uint32_t v = s->outputs[i];
        for (uint32_t u = g->user_first[v]; u < g->user_first[v + 1] && n < 2;
             u++) {
            uint32_t to = c->of[g->users[u]];
            if (to != k && (n == 0 || to != c->of[first[0]]))
                first[n++] = g->users[u];
        }
    }
    return n;
}

/* Returns the text `before` 'name' `after`, or NULL when memory ran out. It
 * avoids printf because it runs once per subgraph, of which there may be a
 * million. */
static const char *reason_say(arena *a, const char *before, const char *name,
                              const char *after)
{
    size_t n[3] = {strlen(before), strlen(name), strlen(after)};
    char *text = arena_alloc(a, n[0] + n[1] + n[2] + 3);
    if (!text)
        return NULL;
    char *end = memcpy(text, before, n[0]);
    end += n[0];
    *end++ = '\'';
    memcpy(end, name, n[1]);
    end += n[1];
    *end++ = '\'';
    memcpy(end, after, n[2] + 1);
    return text;
}

/* Returns the reason in words, with the name of the node that did not join. */
static const char *reason_explain(clv_cut *c, uint32_t k, const fuse_group *by)
{
    const clv_graph *g = c->p->g;
    clv_subgraph *s = &c->subs[k];
    uint32_t first[2];
    uint32_t n = reason_readers(c, k, first);
    if (n == 0) {
        s->reason = CLV_REASON_BOUNDARY;
        return "nothing reads it: the end of the graph";
    }
    const char *next = by->refused != CLV_NONE ? g->nodes[by->refused].name
                                               : g->nodes[first[0]].name;
    s->reason = (clv_reason)by->why;
    switch (s->reason) {
    case CLV_REASON_MEMORY_LIMIT:
    case CLV_REASON_COMPUTE_LIMIT:
        return reason_say(&c->mem, "", next, " would break the limit");
    case CLV_REASON_INCOMPATIBLE:
        if (n == 1)
            return reason_say(&c->mem, "", next, " cannot run in it");
        break;
    default:
        break;
    }
    if (n > 1) {
        s->reason = CLV_REASON_CONSUMERS;
        return arena_printf(&c->mem, "read by '%s' and '%s'",
                            g->nodes[first[0]].name, g->nodes[first[1]].name);
    }
    if (by->refused == CLV_NONE) {
        s->reason = CLV_REASON_FUSION;
        return reason_say(&c->mem, "", next,
                          " could join, saves more elsewhere");
    }
    return reason_say(&c->mem, "", next, " begins its own");
}

clv_status clv__fusion_describe(clv_cut *c, const fusion *f,
                                const uint32_t *of_group, clv_err *e)
{
    pattern_names names = {.mem = &c->mem};
    bool ok = true;
    for (uint32_t i = 0; i < f->n_groups && ok; i++) {
        const fuse_group *k = &f->groups[i];
        clv_subgraph *s = &c->subs[of_group[i]];
        s->pattern = clv__pattern(&names, f->g, s->nodes, s->n_nodes, k->chain,
                                  k->chain ? k->chain_ops : 0);
        s->detail = reason_explain(c, of_group[i], k);
        ok = s->pattern && s->detail;
    }
    clv__patterns_free(&names);
    return ok ? CLV_OK : clv__nomem(e);
}

/* -- one by one, and what each could run with ----------------------------*/

/* Returns the first reader of node id that fusion would run with it, or
 * CLV_NONE. */
static uint32_t reason_partner(const fusion *f, uint32_t id)
{
    const clv_node *n = &f->g->nodes[id];
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t v = node_outs(f->g, n)[i];
        for (uint32_t u = f->g->user_first[v]; u < f->g->user_first[v + 1]; u++)
            if (f->of[f->g->users[u]] == f->of[id])
                return f->g->users[u];
    }
    return CLV_NONE;
}

static clv_status reason_suggest(clv_cut *c, arena *a, clv_err *e)
{
    fusion f = {.p = c->p, .g = c->p->g};
    CLV_TRY(clv__fuse(&f, a, e));
    for (uint32_t k = 0; k < c->n_subs; k++) {
        clv_subgraph *s = &c->subs[k];
        uint32_t with = reason_partner(&f, s->nodes[0]);
        s->detail = with != CLV_NONE
                        ? reason_say(&c->mem, "could run with ",
                                     f.g->nodes[with].name, "")
                        : reason_explain(c, k, &f.groups[f.of[s->nodes[0]]]);
        if (!s->detail)
            return clv__nomem(e);
        if (with != CLV_NONE)
            s->reason = CLV_REASON_FUSION;
    }
    return CLV_OK;
}

clv_status clv__cut_suggest(clv_cut *c, clv_err *e)
{
    arena a = {0};
    clv_status s = reason_suggest(c, &a, e);
    arena_free(&a);
    return s;
}
