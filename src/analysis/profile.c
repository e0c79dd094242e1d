/* profile.c - costs every node, then sums by type and by module.
 *
 * Modules are the graph's scopes in tree order: a parent, then its children in
 * order of first appearance. The totals of a module include everything below
 * it. */
#include "analysis/profile.h"
#include "core/limits.h"

#include <string.h>

/* FLOPs per byte above which an operator is of a class, and those of the
 * two-way split when nobody says. */
enum { COMPUTE_ABOVE = 50, BALANCED_ABOVE = 10, MEMORY_ABOVE = 1, SPLIT = 10 };

clv_bottleneck clv__bottleneck_of(double intensity)
{
    if (intensity > COMPUTE_ABOVE)
        return CLV_BOTTLENECK_COMPUTE;
    if (intensity > BALANCED_ABOVE)
        return CLV_BOTTLENECK_BALANCED;
    return intensity > MEMORY_ABOVE ? CLV_BOTTLENECK_MEMORY
                                    : CLV_BOTTLENECK_BANDWIDTH;
}

static double per_byte(int64_t flops, int64_t bytes)
{
    return bytes > 0 ? (double)flops / (double)bytes : 0;
}

static int64_t profile_moved(const clv_cost *c)
{
    return sat_add(sat_add(c->bytes_in, c->bytes_weights), c->bytes_out);
}

/* -- layers ---------------------------------------------------------------*/

static void profile_parallelism(const clv_graph *g, const clv_node *n,
                                clv_parallel *p)
{
    *p = (clv_parallel){.num_groups = 1, .vectorizable_dim = ""};
    if (n->n_out == 0 || node_out(g, n, 0)->rank == CLV_NO_RANK)
        return;
    clv__ops[n->op].parallel(g, n, p);
    p->total_threads = sat_mul(p->batch, sat_mul(p->channels, p->spatial));
}

/* Returns the row of this kind. The array has room for every operator, and a
 * convention has fewer names than that. */
static clv_kind_total *kind_row(clv_profile *p, const char *kind)
{
    for (uint32_t i = 0; i < p->n_kinds; i++)
        if (!strcmp(p->kinds[i].kind, kind))
            return &p->kinds[i];
    p->kinds[p->n_kinds].kind = kind;
    return &p->kinds[p->n_kinds++];
}

static clv_unsupported *unsupported_row(clv_profile *p, const clv_node *n,
                                        const char *kind)
{
    bool known = kind && n->op != CLV_OP_UNKNOWN;
    const char *name = known ? kind : clv__op_shown(n);
    uint32_t i = strmap_get(&p->unsupported_names, name, strlen(name));
    if (i != CLV_NONE)
        return &p->unsupported[i];
    i = p->n_unsupported;
    if (!CLV_GROW(p->unsupported, i, p->cap_unsupported) ||
        !strmap_put(&p->unsupported_names, name, strlen(name), i))
        return NULL;
    p->unsupported[i] = (clv_unsupported){.op = name};
    p->n_unsupported++;
    return &p->unsupported[i];
}

/* Replaces our FLOPs by the convention's. Returns false when memory ran out. */
static bool profile_recount(clv_profile *p, const clv_node *n, clv_cost *c)
{
    clv_count count = clv__count(p->g, n, c, p->convention);
    c->flops = count.total;
    if (count.heed == CLV_HEED_COUNTED) {
        clv_kind_total *kind = kind_row(p, count.kind);
        kind->count++;
        kind->total = sat_add(kind->total, count.total);
    }
    if (count.heed != CLV_HEED_NONE || !clv_convention_warns(p->convention))
        return true;
    clv_unsupported *row = unsupported_row(p, n, count.kind);
    if (row)
        row->count++;
    return row != NULL;
}

static clv_status cost_layer(clv_profile *p, uint32_t id, clv_err *e)
{
    clv_layer *l = &p->layers[id];
    const clv_node *n = &p->g->nodes[id];
    l->node = id;
    l->dtype = clv__compute_type(p->g, n);
    CLV_TRY(clv__within(0, e));
    CLV_TRY(clv__cost_node(p->g, id, &l->cost, e));
    if (p->convention != CLV_CONVENTION_FULL &&
        !profile_recount(p, n, &l->cost))
        return clv__nomem(e);
    profile_parallelism(p->g, n, &l->parallel);
    l->memory = profile_moved(&l->cost);
    l->intensity = per_byte(l->cost.flops, l->memory);
    l->bottleneck = clv__bottleneck_of(l->intensity);
    return CLV_OK;
}

/* -- totals ---------------------------------------------------------------*/

/* Returns the bytes of all weights that are read, those of bodies included. A
 * body that never runs was not ordered and does not count. */
static int64_t stored_weights(const clv_graph *g)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_attrs; k++) {
            const clv_attr *a = &g->nodes[i].attrs[k];
            if (a->type == CLV_ATTR_GRAPH && a->u.body->inferred)
                bytes = sat_add(bytes, stored_weights(a->u.body));
        }
    for (uint32_t v = 0; v < g->n_values; v++)
        if (value_is_weight(&g->values[v]) &&
            g->user_first[v] != g->user_first[v + 1])
            bytes = sat_add(bytes, clv__bytes(&g->values[v]));
    return bytes;
}

static void add_layer(clv_totals *t, const clv_layer *l, double threshold)
{
    const clv_cost *c = &l->cost;
    t->params = sat_add(t->params, c->params);
    t->macs = sat_add(t->macs, c->macs);
    if (dtype_is_integral(l->dtype))
        t->integer_macs = sat_add(t->integer_macs, c->macs);
    t->flops = sat_add(t->flops, c->flops);
    t->bytes_in = sat_add(t->bytes_in, c->bytes_in);
    t->bytes_weights = sat_add(t->bytes_weights, c->bytes_weights);
    t->bytes_out = sat_add(t->bytes_out, c->bytes_out);
    t->trust[c->trust]++;
    t->bottleneck[l->bottleneck]++;
    int64_t *bound = &t->bottleneck_flops[l->bottleneck];
    *bound = sat_add(*bound, c->flops);
    bool above = l->intensity > threshold;
    int64_t *side =
        above ? &t->above_threshold_flops : &t->below_threshold_flops;
    *side = sat_add(*side, c->flops);
    *(above ? &t->above_threshold : &t->below_threshold) += 1;
}

static clv_status sum_totals(clv_profile *p, clv_err *e)
{
    const clv_graph *g = p->g;
    clv_totals *t = &p->totals;
    t->operators = g->n_nodes;
    t->graph_nodes = g->n_nodes + g->n_inputs + (g->n_outputs > 0);
    t->unused_params = g->unused_params;
    t->params = g->unused_params;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        add_layer(t, &p->layers[i], p->ai_threshold);
    t->memory = sat_add(sat_add(t->bytes_in, t->bytes_weights), t->bytes_out);
    t->weight_bytes = stored_weights(g);
    t->intensity = per_byte(t->flops, t->memory);
    if (t->flops == CLV_SAT || t->macs == CLV_SAT || t->memory == CLV_SAT ||
        t->params == CLV_SAT)
        return clv__fail(e, CLV_OVERFLOW, "%s: the totals do not fit 64 bits",
                         g->name);
    return CLV_OK;
}

static bool sum_types(clv_profile *p)
{
    uint32_t row[CLV_OP_COUNT];
    memset(row, 0xff, sizeof row);
    p->types = arena_array(&p->mem, CLV_OP_COUNT, sizeof *p->types);
    if (!p->types)
        return false;
    for (uint32_t i = 0; i < p->g->n_nodes; i++) {
        uint16_t op = p->g->nodes[i].op;
        if (row[op] == CLV_NONE) {
            row[op] = p->n_types++;
            p->types[row[op]] = (clv_type_total){.type = clv__ops[op].name};
        }
        clv_type_total *t = &p->types[row[op]];
        t->count++;
        t->flops += p->layers[i].cost.flops;
        t->macs += p->layers[i].cost.macs;
    }
    return true;
}

/* -- modules --------------------------------------------------------------*/

/* Puts the modules in tree order: chains the children of each in order of
 * creation, then walks the tree. */
static bool order_modules(clv_profile *p, uint32_t *module_of)
{
    const clv_graph *g = p->g;
    uint32_t n = g->n_scopes;
    uint32_t *child = arena_array(&p->mem, n, sizeof *child);
    uint32_t *next = arena_array(&p->mem, n, sizeof *next);
    p->modules = arena_array(&p->mem, n, sizeof *p->modules);
    if (!child || !next || !p->modules)
        return false;
    memset(child, 0xff, n * sizeof *child);
    for (uint32_t s = n; s-- > 1;) { /* backwards, so chains run forwards */
        next[s] = child[g->scopes[s].parent];
        child[g->scopes[s].parent] = s;
    }
    for (uint32_t s = 0; s != CLV_NONE;) {
        uint32_t up = g->scopes[s].parent;
        uint32_t parent = up == CLV_NONE ? CLV_NONE : module_of[up];
        module_of[s] = p->n_modules;
        p->modules[p->n_modules++] = (clv_module_total){
            .path = g->scopes[s].path,
            .name = g->scopes[s].name,
            .parent = parent,
            .depth = parent == CLV_NONE ? 0 : p->modules[parent].depth + 1,
            .last_node = CLV_NONE,
        };
        if (child[s] != CLV_NONE) {
            s = child[s];
            continue;
        }
        while (s != 0 && next[s] == CLV_NONE)
            s = g->scopes[s].parent;
        s = s == 0 ? CLV_NONE : next[s];
    }
    return true;
}

static bool sum_modules(clv_profile *p)
{
    const clv_graph *g = p->g;
    uint32_t *module_of = arena_array(&p->mem, g->n_scopes, sizeof *module_of);
    if (!module_of || !order_modules(p, module_of))
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t module = module_of[g->nodes[i].scope];
        clv_module_total *m = &p->modules[module];
        const clv_cost *c = &p->layers[i].cost;
        p->layers[i].module = module;
        m->operators++;
        m->params += c->params;
        m->macs += c->macs;
        m->flops += c->flops;
        m->memory += p->layers[i].memory;
        m->last_node = i;
    }
    for (uint32_t i = p->n_modules; i-- > 1;) { /* children before parents */
        const clv_module_total *m = &p->modules[i];
        clv_module_total *up = &p->modules[m->parent];
        up->operators += m->operators;
        up->params += m->params;
        up->macs += m->macs;
        up->flops += m->flops;
        up->memory += m->memory;
        if (m->last_node != CLV_NONE &&
            (up->last_node == CLV_NONE || up->last_node < m->last_node))
            up->last_node = m->last_node;
    }
    return true;
}

/* -- the profile ----------------------------------------------------------*/

static clv_status profile_fill(clv_profile *p, clv_err *e)
{
    p->layers = clv__alloc((size_t)p->g->n_nodes * sizeof *p->layers);
    p->kinds = arena_zalloc(&p->mem, CLV_OP_COUNT * sizeof *p->kinds);
    if (!p->layers || !p->kinds)
        return clv__nomem(e);
    for (uint32_t i = 0; i < p->g->n_nodes; i++)
        CLV_TRY(cost_layer(p, i, e));
    CLV_TRY(sum_totals(p, e));
    return sum_types(p) && sum_modules(p) ? CLV_OK : clv__nomem(e);
}

clv_status clv_profile_new(const clv_graph *g, const clv_profile_opts *opts,
                           clv_profile **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, __func__, err));
    clv_profile_opts o;
    CLV_READ(clv_profile_opts, opts, &o, err);
    if ((unsigned)o.convention >= CLV_CONVENTION_COUNT)
        return clv__fail(err, CLV_USAGE, "there is no counting convention %u",
                         (unsigned)o.convention);
    clv_profile *p = clv__zalloc(sizeof *p);
    if (!p)
        return clv__nomem(err);
    p->g = g;
    p->totals.size = sizeof p->totals;
    p->convention = o.convention;
    p->ai_threshold = o.ai_threshold > 0 ? o.ai_threshold : SPLIT;
    clv_status s = profile_fill(p, err);
    if (s != CLV_OK) {
        clv_profile_free(p);
        return s;
    }
    *out = p;
    return CLV_OK;
}

void clv_profile_free(clv_profile *p)
{
    if (!p)
        return;
    arena_free(&p->mem);
    strmap_free(&p->unsupported_names);
    clv__free(p->layers);
    clv__free(p->unsupported);
    clv__free(p);
}

/* -- reading --------------------------------------------------------------*/

const clv_graph *clv_profile_graph(const clv_profile *p)
{
    return p->g;
}

clv_convention clv_profile_convention(const clv_profile *p)
{
    return p->convention;
}

const clv_totals *clv_profile_totals(const clv_profile *p)
{
    return &p->totals;
}

const clv_layer *clv_profile_layers(const clv_profile *p, uint32_t *count)
{
    clv__set_count(count, p->g->n_nodes);
    return p->layers;
}

const clv_type_total *clv_profile_types(const clv_profile *p, uint32_t *count)
{
    clv__set_count(count, p->n_types);
    return p->types;
}

const clv_kind_total *clv_profile_kinds(const clv_profile *p, uint32_t *count)
{
    clv__set_count(count, p->n_kinds);
    return p->kinds;
}

const clv_unsupported *clv_profile_unsupported(const clv_profile *p,
                                               uint32_t *count)
{
    clv__set_count(count, p->n_unsupported);
    return p->unsupported;
}

const clv_module_total *clv_profile_modules(const clv_profile *p,
                                            uint32_t *count)
{
    clv__set_count(count, p->n_modules);
    return p->modules;
}

const char *clv_trust_name(clv_trust t)
{
    static const char *const names[] = {"exact", "estimated", "free", "given",
                                        "unknown"};
    return CLV_NAME(names, t);
}

const char *clv_bottleneck_name(clv_bottleneck b)
{
    static const char *const names[] = {"compute_bound", "balanced",
                                        "memory_bound", "bandwidth_bound"};
    return CLV_NAME(names, b);
}
