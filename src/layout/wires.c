/* wires.c - draws one box: where values enter and leave, the wires between
 * items, sizes, and coordinates by a layered drawing.
 *
 * Sizes are for a type of about seven pixels a letter. */
#include "layout/boxes.h"
#include "layout/layered.h"

#include <stdlib.h>
#include <string.h>

enum {
    LETTER = 7,
    NODE_PADDING = 26,
    NODE_LEAST = 84,
    NODE_MOST = 240,
    NODE_HEIGHT = 40,
    BOX_HEIGHT = 52,
    BOX_LEAST = 110,
    PORT_WIDTH = 10,   /* inside a module: the end of a line */
    FOLD_LETTERS = 10, /* " x 250 000" */
    FOLD_PORTS = 64,   /* of a folded box; values after these share the last */
    FOLD_DENSE = 4, /* wires per item of a folded box, and FOLD_ALWAYS, above */
    FOLD_ALWAYS = 2000, /* which no more than FOLD_WIRES to an item are drawn */
    FOLD_WIRES = 8,
    ROOT_PORT_HEIGHT = 30
};

typedef struct box_drawing {
    box_maker *m;
    const box_part *box, *parts;
    uint32_t n_parts, mark;
    bool root;
    clv_item *items;
    uint32_t n;
    size_t cap;
    layered_edge *edges; /* net: the value */
    uint32_t n_edges;
    size_t cap_edges;
    uint32_t n_in, n_out, last_in, last_out; /* ports */
    uint32_t n_hidden;
} box_drawing;

static int32_t text_width(size_t letters, int32_t least)
{
    size_t w = letters * LETTER + NODE_PADDING;
    return w > NODE_MOST ? NODE_MOST : w < (size_t)least ? least : (int32_t)w;
}

/* Letters of a module's name below the module of its box. */
static size_t name_letters(const box_drawing *d, const box_part *p)
{
    const clv_scope *scopes = d->m->g->scopes;
    size_t above = strlen(scopes[d->box->scope].path);
    size_t all = strlen(scopes[p->scope].path);
    if (p->repeats) /* "0 ... 11, x 12", or what it holds */
        return p->folded ? 28 : 14;
    if (p->parts > 1) /* "rpn (part 1 of 3)" */
        all += d->m->like ? 22 : 15;
    return all - (above && above < all ? above + 1 : 0);
}

static bool add_item(box_drawing *d, clv_item_kind kind, uint32_t id, int32_t w,
                     int32_t h)
{
    if (!CLV_GROW(d->items, d->n, d->cap))
        return false;
    d->items[d->n++] = (clv_item){.kind = kind, .id = id, .w = w, .h = h};
    return true;
}

/* Letters of a shape: 1x64x56x56. */
static size_t shape_letters(const clv_value *v)
{
    size_t n = 0;
    for (uint32_t i = 0; v->rank != CLV_NO_RANK && i < v->rank; i++) {
        n++;
        for (int64_t d = v->dims[i]; d > 0; d /= 10)
            n++;
    }
    return n;
}

static size_t node_letters(const box_drawing *d, uint32_t node)
{
    const clv_node *n = &d->m->g->nodes[node];
    size_t op = strlen(clv__op_shown(n));
    size_t shape = n->n_out ? shape_letters(node_out(d->m->g, n, 0)) : 0;
    return op > shape ? op : shape;
}

/* Inputs and outputs of the model have a name and a shape: "in: x 1x3". */
static int32_t port_width(const box_drawing *d, uint32_t value)
{
    char buf[256];
    if (!d->root)
        return PORT_WIDTH;
    return text_width(strlen(clv__value_name(d->m->g, value, buf, sizeof buf)) +
                          shape_letters(&d->m->g->values[value]) + 5,
                      NODE_LEAST);
}

static bool add_parts(box_drawing *d, uint32_t first_box)
{
    size_t times = d->m->like ? FOLD_LETTERS : 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->n_parts; i++) {
        const box_part *p = &d->parts[i];
        if (p->scope == CLV_NONE)
            ok = add_item(
                d, CLV_ITEM_NODE, p->nodes[0],
                text_width(node_letters(d, p->nodes[0]) + times, NODE_LEAST),
                NODE_HEIGHT);
        else
            ok = add_item(d, CLV_ITEM_BOX, first_box++,
                          text_width(name_letters(d, p) + 4, BOX_LEAST),
                          BOX_HEIGHT);
    }
    return ok;
}

/* The item at which a value enters the box; made when it is new. */
static uint32_t input_item(box_drawing *d, uint32_t value)
{
    box_maker *m = d->m;
    if (m->value_mark[value] == d->mark)
        return m->value_item[value];
    if (m->like && !d->root && d->n_in >= FOLD_PORTS)
        return d->last_in;
    if (!add_item(d, CLV_ITEM_INPUT, value, port_width(d, value),
                  d->root ? ROOT_PORT_HEIGHT : 0))
        return CLV_NONE;
    m->value_mark[value] = d->mark;
    d->n_in++;
    return m->value_item[value] = d->last_in = d->n - 1;
}

static bool add_wire(box_drawing *d, uint32_t from, uint32_t to, uint32_t value)
{
    if (from == to)
        return true;
    if (from == CLV_NONE || !CLV_GROW(d->edges, d->n_edges, d->cap_edges))
        return false;
    d->edges[d->n_edges++] = (layered_edge){from, to, value};
    return true;
}

static bool node_inside(const box_drawing *d, uint32_t node)
{
    return node != CLV_NONE && d->m->stamp[node] == d->mark;
}

/* Wires to the nodes of the box from what they read. */
static bool wire_inputs(box_drawing *d)
{
    const clv_graph *g = d->m->g;
    for (uint32_t i = 0; i < d->box->n; i++) {
        const clv_node *node = &g->nodes[d->box->nodes[i]];
        uint32_t to = d->m->item[d->box->nodes[i]];
        for (uint32_t k = 0; k < node->n_in; k++) {
            uint32_t v = node_ins(g, node)[k];
            if (v == CLV_NONE || value_is_weight(&g->values[v]))
                continue;
            uint32_t maker = g->values[v].producer;
            uint32_t from =
                node_inside(d, maker) ? d->m->item[maker] : input_item(d, v);
            if (!add_wire(d, from, to, v))
                return false;
        }
    }
    return true;
}

/* Whether something outside the box reads value v. */
static bool value_leaves(const box_drawing *d, uint32_t v)
{
    const clv_graph *g = d->m->g;
    if (g->values[v].flags & CLV_V_OUTPUT)
        return true;
    for (uint32_t k = g->user_first[v]; k < g->user_first[v + 1]; k++)
        if (!node_inside(d, g->users[k]))
            return true;
    return false;
}

static bool wire_output(box_drawing *d, uint32_t from, uint32_t v)
{
    if (d->m->like && !d->root && d->n_out >= FOLD_PORTS)
        return add_wire(d, from, d->last_out, v);
    d->n_out++;
    d->last_out = d->n;
    return add_item(d, CLV_ITEM_OUTPUT, v, port_width(d, v),
                    d->root ? ROOT_PORT_HEIGHT : 0) &&
           add_wire(d, from, d->n - 1, v);
}

static bool wire_outputs(box_drawing *d)
{
    const clv_graph *g = d->m->g;
    for (uint32_t i = 0; i < d->box->n; i++) {
        const clv_node *node = &g->nodes[d->box->nodes[i]];
        for (uint32_t k = 0; k < node->n_out; k++) {
            uint32_t v = node_outs(g, node)[k];
            if (value_leaves(d, v) &&
                !wire_output(d, d->m->item[d->box->nodes[i]], v))
                return false;
        }
    }
    /* Inputs of the model that are its outputs, and inputs nobody reads. */
    for (uint32_t i = 0; d->root && i < g->n_inputs; i++)
        if (!value_is_weight(&g->values[g->inputs[i]]) &&
            input_item(d, g->inputs[i]) == CLV_NONE)
            return false;
    for (uint32_t i = 0; d->root && i < g->n_outputs; i++) {
        uint32_t v = g->outputs[i];
        if (v != CLV_NONE && g->values[v].producer == CLV_NONE &&
            d->m->value_mark[v] == d->mark &&
            !wire_output(d, d->m->value_item[v], v))
            return false;
    }
    return true;
}

static int by_ends(const void *x, const void *y)
{
    const layered_edge *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1)
           : a->net != b->net ? (a->net < b->net ? -1 : 1)
           : a->to != b->to   ? (a->to < b->to ? -1 : 1)
                              : 0;
}

/* A value goes from one item to another once. */
static void unique_wires(box_drawing *d)
{
    uint32_t n = 0;
    if (d->n_edges)
        qsort(d->edges, d->n_edges, sizeof *d->edges, by_ends);
    for (uint32_t i = 0; i < d->n_edges; i++)
        if (n == 0 || by_ends(&d->edges[n - 1], &d->edges[i]))
            d->edges[n++] = d->edges[i];
    d->n_edges = n;
}

static int by_target(const void *x, const void *y)
{
    const layered_edge *a = x, *b = y;
    return a->to != b->to       ? (a->to < b->to ? -1 : 1)
           : a->from != b->from ? (a->from > b->from ? -1 : 1)
           : a->net != b->net   ? (a->net < b->net ? -1 : 1)
                                : 0;
}

/* In a folded drawing one wire goes from an item to another. */
static void single_wires(box_drawing *d)
{
    uint32_t n = 0;
    if (d->n_edges)
        qsort(d->edges, d->n_edges, sizeof *d->edges, by_target);
    for (uint32_t i = 0; i < d->n_edges; i++) {
        const layered_edge *last = n ? &d->edges[n - 1] : NULL;
        if (!last || last->to != d->edges[i].to ||
            last->from != d->edges[i].from)
            d->edges[n++] = d->edges[i];
    }
    d->n_edges = n;
}

/* Where there are very many, those to one item from the nearest before it. */
static void fewer_wires(box_drawing *d)
{
    uint32_t n = 0, here = 0, to = CLV_NONE;
    if (d->n_edges <= FOLD_DENSE * d->n + FOLD_ALWAYS)
        return;
    for (uint32_t i = 0; i < d->n_edges; i++) {
        here = d->edges[i].to == to ? here + 1 : 0;
        to = d->edges[i].to;
        if (here < FOLD_WIRES)
            d->edges[n++] = d->edges[i];
    }
    d->n_hidden = d->n_edges - n;
    d->n_edges = n;
}

static bool place_items(box_drawing *d, layered *l)
{
    arena *s = d->m->scratch;
    int32_t *w = arena_array(s, (size_t)d->n + 1, sizeof *w);
    int32_t *h = arena_array(s, (size_t)d->n + 1, sizeof *h);
    uint8_t *pin = arena_zalloc(s, (size_t)d->n + 1);
    if (!w || !h || !pin)
        return false;
    for (uint32_t i = 0; i < d->n; i++) {
        w[i] = d->items[i].w;
        h[i] = d->items[i].h;
        pin[i] = d->items[i].kind == CLV_ITEM_INPUT    ? LAYERED_TOP
                 : d->items[i].kind == CLV_ITEM_OUTPUT ? LAYERED_BOTTOM
                                                       : LAYERED_FREE;
    }
    const layered_graph g = {d->n, w, h, pin, d->edges, d->n_edges};
    return clv__layered_make(d->m->mem, s, &g, l);
}

static bool keep_box(const box_drawing *d, const layered *l, clv_box *b)
{
    arena *a = d->m->mem;
    clv_item *items = arena_array(a, (size_t)d->n + 1, sizeof *items);
    clv_wire *wires = arena_array(a, (size_t)d->n_edges + 1, sizeof *wires);
    uint32_t n_bends = l->bend_first[d->n_edges];
    clv_point *bends = arena_array(a, (size_t)n_bends + 1, sizeof *bends);
    if (!items || !wires || !bends)
        return false;
    for (uint32_t i = 0; i < n_bends; i++)
        bends[i] = (clv_point){l->bends[i].x, l->bends[i].y};
    for (uint32_t i = 0; i < d->n; i++) {
        items[i] = d->items[i];
        items[i].rank = l->rank[i];
        items[i].x = l->center[i].x;
        items[i].y = l->center[i].y;
    }
    for (uint32_t i = 0; i < d->n_edges; i++)
        wires[i] = (clv_wire){d->edges[i].from, d->edges[i].to, d->edges[i].net,
                              bends + l->bend_first[i],
                              l->bend_first[i + 1] - l->bend_first[i]};
    b->items = items;
    b->n_items = d->n;
    b->wires = wires;
    b->n_wires = d->n_edges;
    b->width = l->width;
    b->height = l->height;
    return true;
}

bool clv__box_draw(box_maker *m, const box_part *box, const box_part *items,
                   uint32_t n, uint32_t first_box, clv_box *b,
                   clv_layout_info *total)
{
    box_drawing d = {.m = m,
                     .box = box,
                     .parts = items,
                     .n_parts = n,
                     .mark = box->n ? m->stamp[box->nodes[0]] : ++m->marks,
                     .root = b->parent == CLV_NONE};
    layered l;
    bool ok = add_parts(&d, first_box) && wire_inputs(&d) && wire_outputs(&d);
    if (ok && m->like) {
        single_wires(&d);
        fewer_wires(&d);
    }
    if (ok)
        unique_wires(&d);
    ok = ok && place_items(&d, &l) && keep_box(&d, &l, b);
    if (ok) {
        total->crossings += l.crossings;
        total->n_straight += l.n_straight;
        total->n_hidden += d.n_hidden;
    }
    clv__free(d.items);
    clv__free(d.edges);
    return ok;
}
