/* tree.c - modules and operators as one tree in order of execution.
 *
 * Items are the modules, then the operators: item n_modules + i is operator i.
 * Walking the operators in order and hanging each, and every ancestor that has
 * no place yet, behind the last child of its parent gives all child lists in
 * order of first use; a walk without recursion then lists the rows. */
#include "analysis/tree.h"
#include "graph/graph.h"

#include <string.h>

typedef struct links {
    uint32_t *parent, *first, *last, *next; /* per item, CLV_NONE: none */
    uint32_t n_modules, n_items;
} links;

static void tree_hang(links *l, uint32_t item, uint32_t parent)
{
    l->parent[item] = parent;
    if (l->last[parent] == CLV_NONE)
        l->first[parent] = item;
    else
        l->next[l->last[parent]] = item;
    l->last[parent] = item;
}

/* For each module: is an operator in it a row of its own? */
static void find_mixed(const clv_profile *p, bool *mixed, uint32_t *seen)
{
    uint32_t n_layers, n_modules;
    const clv_graph *g = clv_profile_graph(p);
    const clv_layer *layers = clv_profile_layers(p, &n_layers);
    const clv_module_total *modules = clv_profile_modules(p, &n_modules);
    memset(mixed, 0, n_modules * sizeof *mixed);
    memset(seen, 0xff, n_modules * sizeof *seen);
    mixed[0] = true;
    for (uint32_t m = 1; m < n_modules; m++)
        mixed[modules[m].parent] = true;
    for (uint32_t i = 0; i < n_layers; i++) {
        uint32_t m = layers[i].module;
        if (mixed[m])
            continue;
        if (seen[m] == CLV_NONE)
            seen[m] = i;
        else if (g->nodes[i].op != g->nodes[seen[m]].op)
            mixed[m] = true;
    }
}

static void tree_build(const clv_profile *p, links *l, const bool *mixed)
{
    uint32_t n_layers, n_modules;
    const clv_layer *layers = clv_profile_layers(p, &n_layers);
    const clv_module_total *modules = clv_profile_modules(p, &n_modules);
    for (uint32_t i = 0; i < n_layers; i++) {
        uint32_t m = layers[i].module;
        for (uint32_t a = m; a != 0 && l->parent[a] == CLV_NONE;
             a = modules[a].parent)
            tree_hang(l, a, modules[a].parent);
        if (mixed[m])
            tree_hang(l, n_modules + i, m);
    }
}

static uint32_t tree_walk(const links *l, tree_row *rows)
{
    uint32_t n = 0, depth = 0;
    for (uint32_t at = 0; at != CLV_NONE;) {
        bool is_module = at < l->n_modules;
        rows[n++] = (tree_row){is_module ? at : l->parent[at],
                               is_module ? CLV_NONE : at - l->n_modules, depth};
        if (l->first[at] != CLV_NONE) {
            at = l->first[at];
            depth++;
            continue;
        }
        while (at != 0 && l->next[at] == CLV_NONE) {
            at = l->parent[at];
            depth--;
        }
        at = at == 0 ? CLV_NONE : l->next[at];
    }
    return n;
}

tree_row *clv__tree_rows(const clv_profile *p, uint32_t *count)
{
    uint32_t n_layers, n_modules;
    clv_profile_layers(p, &n_layers);
    clv_profile_modules(p, &n_modules);
    arena mem = {0};
    size_t n = (size_t)n_modules + n_layers;
    uint32_t *all = arena_array(&mem, 4 * n, sizeof *all);
    bool *mixed = arena_array(&mem, n_modules, sizeof *mixed);
    tree_row *rows = clv__alloc(n * sizeof *rows);
    *count = 0;
    if (all && mixed && rows) {
        find_mixed(p, mixed, all);
        memset(all, 0xff, 4 * n * sizeof *all);
        links l = {all,         all + n,   all + 2 * n,
                   all + 3 * n, n_modules, (uint32_t)n};
        tree_build(p, &l, mixed);
        *count = tree_walk(&l, rows);
    } else {
        clv__free(rows);
        rows = NULL;
    }
    arena_free(&mem);
    return rows;
}
