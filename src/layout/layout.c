/* layout.c - all boxes of a graph, from the root down. */
#include "layout/boxes.h"

/* Modules nested deeper than this are drawn flat in the one at this depth. */
enum { MOST_NESTED = 64 };

struct clv_layout {
    arena mem;
    clv_layout_info info;
};

typedef struct box_list {
    clv_box *boxes;
    box_part *parts; /* what each of them holds */
    uint32_t n;
    size_t cap, cap_parts;
    strmap forms;
    uint32_t n_forms;
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
    m->scope = arena_zalloc(m->scratch, scopes);
    m->scope_mark = arena_zalloc(m->scratch, scopes);
    m->scope_item = arena_zalloc(m->scratch, scopes);
    m->value_mark = arena_zalloc(m->scratch, values);
    m->value_item = arena_zalloc(m->scratch, values);
    return m->item && m->stamp && m->index && m->index_mark && m->scope &&
           m->scope_mark && m->scope_item && m->value_mark && m->value_item;
}

/* Parents have lower numbers than what is below them. */
static bool find_scopes(box_maker *m)
{
    const clv_graph *g = m->g;
    uint32_t *depth =
        arena_zalloc(m->scratch, ((size_t)g->n_scopes + 1) * sizeof *depth);
    if (!depth)
        return false;
    for (uint32_t s = 1; s < g->n_scopes; s++) {
        uint32_t up = g->scopes[s].parent;
        depth[s] = depth[up] + 1;
        m->scope[s] = depth[s] <= MOST_NESTED ? s : m->scope[up];
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
                               .nodes = p->n};
    return l->boxes[l->n++].form != CLV_NONE;
}

static bool add_root(box_list *l, box_maker *m)
{
    const clv_graph *g = m->g;
    box_part root = {.n = g->n_nodes, .parts = 1};
    root.nodes =
        arena_array(m->mem, (size_t)g->n_nodes + 1, sizeof *root.nodes);
    for (uint32_t i = 0; root.nodes && i < g->n_nodes; i++)
        root.nodes[i] = i;
    return root.nodes && add_box(l, m, &root, CLV_NONE);
}

/* Splits box i and draws it; the boxes inside join the list. */
static bool do_box(box_list *l, box_maker *m, uint32_t i,
                   clv_layout_info *total)
{
    box_part part = l->parts[i], *items = NULL;
    uint32_t n = 0, first = l->n;
    if (part.n && !clv__box_split(m, &part, &items, &n))
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (items[k].scope != CLV_NONE && !add_box(l, m, &items[k], i))
            return false;
    l->boxes[i].module = m->g->scopes[part.scope].path;
    return clv__box_draw(m, &part, items, n, first, &l->boxes[i], total);
}

static bool do_all(box_list *l, box_maker *m, clv_layout *out)
{
    if (!maker_alloc(m) || !find_scopes(m) || !add_root(l, m))
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
    return boxes != NULL;
}

clv_status clv_layout_new(const clv_graph *g, clv_layout **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(g, err);
    CLV_TRY(clv__need_inferred(g, "clv_layout_new", err));
    clv_layout *l = clv__zalloc(sizeof *l);
    if (!l)
        return clv__nomem(err);
    l->info.size = sizeof l->info;
    arena scratch = {0};
    box_maker m = {.g = g, .mem = &l->mem, .scratch = &scratch};
    box_list list = {0};
    bool ok = do_all(&list, &m, l);
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
