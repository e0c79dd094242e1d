/* explain.c - what a model says of itself: the rules by which its graph was
 * rewritten, and its steps, in terms of the user's graph. */
#include "run/rewrite.h"

#include <string.h>

static clv_status explain_rewrites(clv_model *m, clv_err *e)
{
    const rewritten *w = m->rewritten;
    clv_rewrite_count *list =
        arena_array(&m->mem, REWRITE_COUNT + 1, sizeof *list);
    if (!list)
        return clv__nomem(e);
    m->info.rewrites = list;
    m->info.nodes_before = m->user->n_nodes;
    m->info.nodes_after = m->g->n_nodes;
    for (uint32_t i = 0; w && i < REWRITE_COUNT; i++)
        if (w->counts[i])
            list[m->info.n_rewrites++] = (clv_rewrite_count){
                clv__rewrite_name(i), clv__rewrite_pattern(i), w->counts[i]};
    return CLV_OK;
}

/* How many of the user's nodes each node of the graph stands for. */
static uint32_t *explain_covered(const clv_model *m, arena *a)
{
    uint32_t *covered = arena_array(a, m->g->n_nodes + 1u, sizeof *covered);
    for (uint32_t id = 0; covered && id < m->g->n_nodes; id++)
        covered[id] = m->rewritten ? 0 : 1;
    for (uint32_t id = 0; covered && m->rewritten && id < m->user->n_nodes;
         id++)
        if (m->rewritten->home[id] != CLV_NONE)
            covered[m->rewritten->home[id]]++;
    return covered;
}

static clv_step explain_step(const clv_model *m, const step *s,
                             const uint32_t *covered)
{
    const clv_part *p = &m->parts[s->part];
    uint32_t first = s->exec ? p->nodes[0] : s->node, n = 0;
    for (uint32_t i = 0; s->exec && i < p->n_nodes; i++)
        n += covered[p->nodes[i]];
    bool one = !s->exec || p->n_nodes == 1;
    return (clv_step){
        .device = s->exec ? p->device : "cpu",
        .op = one ? clv__ops[m->g->nodes[first].op].name : "",
        .node = m->rewritten ? m->rewritten->stands_for[first] : first,
        .operators = s->exec ? n : covered[first],
        .why = !s->exec && m->why ? m->why[first] : "",
        .dynamic = s->dynamic,
    };
}

clv_status clv__run_explain(clv_model *m, clv_err *e)
{
    arena scratch = {0};
    CLV_TRY(explain_rewrites(m, e));
    clv_step *steps =
        arena_array(&m->mem, (size_t)m->n_steps + 1, sizeof *steps);
    uint32_t *covered = explain_covered(m, &scratch);
    if (!steps || !covered) {
        arena_free(&scratch);
        return clv__nomem(e);
    }
    for (uint32_t i = 0; i < m->n_steps; i++)
        steps[i] = explain_step(m, &m->steps[i], covered);
    m->info.steps = steps;
    m->info.n_steps = m->n_steps;
    arena_free(&scratch);
    return CLV_OK;
}
