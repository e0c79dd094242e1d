/* layout.c - all boxes of a graph, from the root down.
 *
 * A folded layout is made twice: once to see how much there is to draw, and
 * once to draw it, with the boxes shut that are too much. */
#include "layout/boxes.h"

#include <string.h>

/* Modules nested deeper than this are drawn flat in the one at this depth. */
enum { MOST_NESTED = 64 };

struct clv_layout {
    arena mem;
    clv_layout_info info;
};

/* Which boxes of a folded layout are shut. */
typedef struct fold_plan {
    bool *shut;
    uint32_t *first; /* of box i: the first box inside it */
} fold_plan;

typedef struct box_list {
    clv_box *boxes;
    box_part *parts; /* what each of them holds */
    uint32_t n;
    size_t cap, cap_parts;
    strmap forms;
    uint32_t n_forms;
    fold_plan plan;
} box_list;

static bool maker_alloc(box_maker *m)
{
    const clv_graph *g = m->g;
    size_t nodes = ((size_t)g->n_nodes + 1) * sizeof(uint32_t);
    size_t scopes = ((size_t)g->n_scopes + 1) * sizeof(uint32_t);
    size_t values = ((size_t)g->n_values + 1) * sizeof(uint32_t);
    m->item = arena_zalloc(m->scratch, nodes);
    m->stamp = arena_zalloc(m->scratch, nodes);
    m->index = arena_zalloc(m->scratch, nodes);
    m->index_mark = arena_zalloc(m->scratch, nodes);
    m->home = arena_zalloc(m->scratch, nodes);
    m->scope_mark = arena_zalloc(m->scratch, scopes);
    m->scope_item = arena_zalloc(m->scratch, scopes);
    m->value_mark = arena_zalloc(m->scratch, values);
    m->value_item = arena_zalloc(m->scratch, values);
    return m->item && m->stamp && m->index && m->index_mark && m->home &&
           m->scope_mark && m->scope_item && m->value_mark && m->value_item;
}

/* The module tree without what is too deep to be a box. */
typedef struct scope_tree {
    uint32_t *box;   /* per scope: itself, or its ancestor that is a box */
    uint32_t *depth; /* per scope */
} scope_tree;

/* Parents have lower numbers than what is below them. */
static bool find_scopes(const box_maker *m, scope_tree *t)
{
    const clv_graph *g = m->g;
    size_t scopes = ((size_t)g->n_scopes + 1) * sizeof(uint32_t);
    t->box = arena_zalloc(m->scratch, scopes);
    t->depth = arena_zalloc(m->scratch, scopes);
    if (!t->box || !t->depth)
        return false;
    for (uint32_t s = 1; s < g->n_scopes; s++) {
        uint32_t up = g->scopes[s].parent;
        t->depth[s] = t->depth[up] + 1;
        t->box[s] = t->depth[s] <= MOST_NESTED ? s : t->box[up];
    }
    return true;
}

/* The innermost module that holds both a and b. */
static uint32_t scope_of_both(const clv_graph *g, const scope_tree *t,
                              uint32_t a, uint32_t b)
{
    while (a != b) {
        uint32_t *deeper = t->depth[a] > t->depth[b] ? &a : &b;
        *deeper = g->scopes[*deeper].parent;
    }
    return a;
}

/* The innermost module that holds all readers of a node's outputs. CLV_NONE:
 * the node makes something that depends on more than weights, or that nobody
 * in the graph reads. */
static uint32_t scope_of_readers(const box_maker *m, const scope_tree *t,
                                 const clv_node *n)
{
    const clv_graph *g = m->g;
    uint32_t scope = CLV_NONE;
    for (uint32_t k = 0; k < n->n_out; k++) {
        const clv_value *v = node_out(g, n, k);
        uint32_t id = (uint32_t)(v - g->values);
        if (!(v->flags & CLV_V_FIXED) || v->flags & CLV_V_OUTPUT)
            return CLV_NONE;
        for (uint32_t i = g->user_first[id]; i < g->user_first[id + 1]; i++) {
            uint32_t reader = m->home[g->users[i]];
            scope =
                scope == CLV_NONE ? reader : scope_of_both(g, t, scope, reader);
        }
    }
    return scope;
}

/* Gives every node the module it is drawn in: its own. What prepares weights,
 * such as taking them out of int8, moves inward to the module that reads them:
 * exporters leave all of it outside of the modules, a hundred in a row. */
static bool find_homes(box_maker *m)
{
    const clv_graph *g = m->g;
    scope_tree t;
    if (!find_scopes(m, &t))
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        m->home[i] = t.box[g->nodes[i].scope];
    for (uint32_t i = g->n_nodes; i-- > 0;) { /* readers first */
        uint32_t to = scope_of_readers(m, &t, &g->nodes[i]);
        if (to != CLV_NONE &&
            scope_of_both(g, &t, to, m->home[i]) == m->home[i])
            m->home[i] = to;
    }
    return true;
}

/* The number of a form, the same for equal hashes. */
static uint32_t box_form(box_list *l, arena *mem, uint64_t hash)
{
    char *key = arena_strndup(mem, (const char *)&hash, sizeof hash);
    bool added;
    uint32_t *form =
        key ? strmap_add(&l->forms, key, sizeof hash, l->n_forms, &added)
            : NULL;
    if (!form)
        return CLV_NONE;
    l->n_forms += added;
    return *form;
}

static bool add_box(box_list *l, box_maker *m, const box_part *p,
                    uint32_t parent)
{
    if (!CLV_GROW(l->boxes, l->n, l->cap) ||
        !CLV_GROW(l->parts, l->n, l->cap_parts))
        return false;
    l->parts[l->n] = *p;
    l->boxes[l->n] = (clv_box){.parent = parent,
                               .part = p->part,
                               .parts = p->parts,
                               .repeats = p->repeats,
                               .form = box_form(l, m->mem, p->hash),
                               .nodes = p->total ? p->total : p->n,
                               .folded = p->folded};
    return l->boxes[l->n++].form != CLV_NONE;
}

static bool make_root(box_maker *m, box_part *root)
{
    const clv_graph *g = m->g;
    *root = (box_part){.n = g->n_nodes, .parts = 1};
    root->nodes =
        arena_array(m->mem, (size_t)g->n_nodes + 1, sizeof *root->nodes);
    for (uint32_t i = 0; root->nodes && i < g->n_nodes; i++)
        root->nodes[i] = i;
    return root->nodes != NULL;
}

/* Splits box i and draws it; the boxes inside join the list. */
static bool do_box(box_list *l, box_maker *m, uint32_t i,
                   clv_layout_info *total)
{
    box_part part = l->parts[i], *items = NULL;
    uint32_t n = 0, first = l->n, inner = 0;
    if (l->plan.shut && l->plan.shut[part.plan]) {
        l->boxes[i].module = m->g->scopes[part.scope].path;
        return clv__box_shut(m, &part, &l->boxes[i]);
    }
    if (part.n && !clv__box_split(m, &part, &items, &n))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        if (items[k].scope == CLV_NONE)
            continue;
        if (l->plan.first)
            items[k].plan = l->plan.first[part.plan] + inner++;
        if (!add_box(l, m, &items[k], i))
            return false;
    }
    l->boxes[i].module = m->g->scopes[part.scope].path;
    return clv__box_draw(m, &part, items, n, first, &l->boxes[i], total);
}

/* The boxes that there would be if none were shut. */
typedef struct plan_boxes {
    box_part *parts;
    uint32_t *items, *first, n;
    size_t cap, cap_items, cap_first;
} plan_boxes;

static bool plan_add(plan_boxes *b, const box_part *p)
{
    if (!CLV_GROW(b->parts, b->n, b->cap) ||
        !CLV_GROW(b->items, b->n, b->cap_items) ||
        !CLV_GROW(b->first, b->n + 1, b->cap_first))
        return false;
    b->parts[b->n++] = *p;
    return true;
}

static bool plan_box(plan_boxes *b, box_maker *m, uint32_t i)
{
    box_part part = b->parts[i], *items = NULL;
    uint32_t n = 0;
    b->first[i] = b->n;
    if (part.n && !clv__box_split(m, &part, &items, &n))
        return false;
    b->items[i] = n;
    for (uint32_t k = 0; k < n; k++)
        if (items[k].scope != CLV_NONE && !plan_add(b, &items[k]))
            return false;
    b->first[i + 1] = b->n;
    return true;
}

/* Splits everything once, to find out how much there is to draw. */
static bool plan_make(box_list *l, box_maker *m, uint32_t most)
{
    arena own = {0}, *mem = m->mem;
    plan_boxes b = {0};
    box_part root;
    m->mem = &own;
    bool ok = make_root(m, &root) && plan_add(&b, &root);
    for (uint32_t i = 0; ok && i < b.n; i++) {
        arena_mark mark = arena_save(m->scratch);
        ok = plan_box(&b, m, i);
        arena_rewind(m->scratch, mark);
    }
    size_t n = (size_t)b.n + 2;
    l->plan.shut = arena_zalloc(m->scratch, n * sizeof *l->plan.shut);
    l->plan.first = arena_array(m->scratch, n, sizeof *l->plan.first);
    ok = ok && l->plan.shut && l->plan.first &&
         clv__boxes_to_shut(&own, b.items, b.first, b.n, most, l->plan.shut);
    if (ok)
        memcpy(l->plan.first, b.first, ((size_t)b.n + 1) * sizeof *b.first);
    clv__free(b.parts);
    clv__free(b.items);
    clv__free(b.first);
    arena_free(&own);
    m->mem = mem;
    return ok;
}

/* Every node stands for itself at first. */
static bool fold_start(box_maker *m)
{
    uint32_t n = m->g->n_nodes;
    m->like = arena_array(m->scratch, (size_t)n + 1, sizeof *m->like);
    for (uint32_t i = 0; m->like && i < n; i++)
        m->like[i] = i;
    return m->like != NULL;
}

/* With `most` above 0 the layout is folded. */
static bool do_all(box_list *l, box_maker *m, uint32_t most, clv_layout *out)
{
    box_part root;
    if (!maker_alloc(m) || !find_homes(m))
        return false;
    if (most && (!fold_start(m) || !plan_make(l, m, most)))
        return false;
    if (!make_root(m, &root) || !add_box(l, m, &root, CLV_NONE))
        return false;
    for (uint32_t i = 0; i < l->n; i++) {
        arena_mark mark = arena_save(m->scratch);
        if (!do_box(l, m, i, &out->info))
            return false;
        arena_rewind(m->scratch, mark);
    }
    clv_box *boxes = arena_array(&out->mem, l->n, sizeof *boxes);
    for (uint32_t i = 0; boxes && i < l->n; i++)
        boxes[i] = l->boxes[i];
    out->info.boxes = boxes;
    out->info.n_boxes = l->n;
    return boxes && (!most || clv__fold_rows(m, &out->mem, &out->info));
}

static clv_status layout_make(const clv_graph *g, uint32_t most,
                              clv_layout **out, clv_err *err)
{
    clv_layout *l = clv__zalloc(sizeof *l);
    if (!l)
        return clv__nomem(err);
    l->info.size = sizeof l->info;
    arena scratch = {0};
    box_maker m = {.g = g, .mem = &l->mem, .scratch = &scratch};
    box_list list = {0};
    bool ok = do_all(&list, &m, most, l);
    clv__free(list.boxes);
    clv__free(list.parts);
    strmap_free(&list.forms);
    arena_free(&scratch);
    if (!ok) {
        clv_layout_free(l);
        return clv__nomem(err);
    }
    *out = l;
    return CLV_OK;
}

clv_status clv_layout_new(const clv_graph *g, clv_layout **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, "clv_layout_new", err));
    return layout_make(g, 0, out, err);
}

clv_status clv_layout_folded(const clv_graph *g, uint32_t most,
                             clv_layout **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, "clv_layout_folded", err));
    return layout_make(g, most ? most : 1, out, err);
}

void clv_layout_free(clv_layout *l)
{
    if (!l)
        return;
    arena_free(&l->mem);
    clv__free(l);
}

const clv_layout_info *clv_layout_get(const clv_layout *l)
{
    return &l->info;
}
