/* boxes.c - which parts of a graph are drawn as one.
 *
 * The items of a box are the nodes of its module and the modules below it. Two
 * things may be in the way. Modules that feed each other in turn (one that is
 * called in several places) would make a cycle: they are split into runs of
 * the order in which nodes execute, and edges between runs go forward. And
 * modules that repeat are put in one box:
 *
 *      layers.0 -> layers.1 -> ... -> layers.11     =>     layers x 12     */
#include "layout/boxes.h"

#include "graph/hash.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_REPEATS = 3 };

/* -- what a part computes -------------------------------------------------*/

/* Numbers alone: text tells modules apart that compute the same. */
static uint64_t boxes_hash_attrs(uint64_t h, const clv_node *n)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const clv_attr *a = &n->attrs[i];
        h = clv__hash_word(h, (uint64_t)a->key << 32 | a->n);
        if (a->type == CLV_ATTR_INT)
            h = clv__hash_word(h, (uint64_t)a->u.i);
        for (uint32_t k = 0; a->type == CLV_ATTR_INTS && k < a->n; k++)
            h = clv__hash_word(h, (uint64_t)a->u.ints[k]);
    }
    return h;
}

uint64_t clv__box_node_hash(const clv_graph *g, uint32_t node)
{
    const clv_node *n = &g->nodes[node];
    const uint32_t *in = node_ins(g, n);
    uint64_t h = boxes_hash_attrs(clv__hash_word(CLV_HASH_START, n->op), n);
    for (uint32_t k = 0; k < n->n_out; k++)
        h = clv__hash_value(h, node_out(g, n, k));
    for (uint32_t k = 0; k < n->n_in; k++)
        h = in[k] == CLV_NONE ? clv__hash_word(h, k)
                              : clv__hash_value(h, &g->values[in[k]]);
    return h;
}

/* Operators, attributes and shapes in order, and which of its own nodes each
 * input comes from. */
static uint64_t part_hash(box_maker *m, const box_part *p)
{
    const clv_graph *g = m->g;
    uint64_t h = CLV_HASH_START;
    uint32_t mark = ++m->marks;
    for (uint32_t i = 0; i < p->n; i++) {
        const clv_node *n = &g->nodes[p->nodes[i]];
        const uint32_t *in = node_ins(g, n);
        m->index[p->nodes[i]] = i;
        m->index_mark[p->nodes[i]] = mark;
        h = boxes_hash_attrs(clv__hash_word(h, n->op), n);
        for (uint32_t k = 0; k < n->n_out; k++)
            h = clv__hash_value(h, node_out(g, n, k));
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (in[k] == CLV_NONE)
                continue;
            const clv_value *v = &g->values[in[k]];
            bool own =
                v->producer != CLV_NONE && m->index_mark[v->producer] == mark;
            h = own ? clv__hash_word(h, m->index[v->producer])
                    : clv__hash_value(clv__hash_word(h, UINT64_MAX), v);
        }
    }
    return h;
}

/* -- items ----------------------------------------------------------------*/

/* The module below `scope` that holds s; s itself lies below it. */
static uint32_t scope_below(const clv_graph *g, uint32_t scope, uint32_t s)
{
    while (g->scopes[s].parent != scope && g->scopes[s].parent != CLV_NONE)
        s = g->scopes[s].parent;
    return s;
}

/* Gives every node the item of its module, or one of its own. */
static bool split_by_module(box_maker *m, const box_part *box, box_part **items,
                            uint32_t *n)
{
    uint32_t mark = ++m->marks;
    box_part *list = arena_array(m->scratch, box->n, sizeof *list);
    if (!list)
        return false;
    *n = 0;
    for (uint32_t i = 0; i < box->n; i++) {
        uint32_t node = box->nodes[i];
        uint32_t s = m->home[node], at = *n;
        if (s != box->scope) {
            s = scope_below(m->g, box->scope, s);
            if (m->scope_mark[s] == mark)
                at = m->scope_item[s];
            m->scope_mark[s] = mark;
            m->scope_item[s] = at;
        } else {
            s = CLV_NONE;
        }
        if (at == *n)
            list[(*n)++] = (box_part){.scope = s, .parts = 1};
        list[at].n++;
        m->item[node] = at;
        m->stamp[node] = mark;
    }
    *items = list;
    return true;
}

/* Edges between items, by the item at one end. */
typedef struct item_edges {
    uint32_t n, *first, *to;
} item_edges;

static uint32_t maker_item(const box_maker *m, uint32_t value, uint32_t mark)
{
    if (value == CLV_NONE)
        return CLV_NONE;
    uint32_t maker = m->g->values[value].producer;
    return maker == CLV_NONE || m->stamp[maker] != mark ? CLV_NONE
                                                        : m->item[maker];
}

/* Counts the edges (fill false), or stores them. */
static void edges_pass(const box_maker *m, const box_part *box, bool back,
                       bool fill, item_edges *e)
{
    uint32_t mark = m->stamp[box->nodes[0]];
    for (uint32_t i = 0; i < box->n; i++) {
        const clv_node *node = &m->g->nodes[box->nodes[i]];
        uint32_t to = m->item[box->nodes[i]];
        for (uint32_t k = 0; k < node->n_in; k++) {
            uint32_t from = maker_item(m, node_ins(m->g, node)[k], mark);
            if (from == CLV_NONE || from == to)
                continue;
            uint32_t key = back ? to : from;
            if (fill)
                e->to[e->first[key + 1]++] = back ? from : to;
            else
                e->first[key + 2]++;
        }
    }
}

/* Edges from each item or, with `back`, to it. */
static bool edges_of_items(box_maker *m, const box_part *box, uint32_t n,
                           bool back, item_edges *e)
{
    size_t lines = 1;
    for (uint32_t i = 0; i < box->n; i++)
        lines += m->g->nodes[box->nodes[i]].n_in;
    e->n = n;
    e->first = arena_zalloc(m->scratch, ((size_t)n + 2) * sizeof *e->first);
    e->to = arena_array(m->scratch, lines, sizeof *e->to);
    if (!e->first || !e->to)
        return false;
    edges_pass(m, box, back, false, e);
    for (uint32_t i = 1; i <= n; i++)
        e->first[i + 1] += e->first[i];
    edges_pass(m, box, back, true, e);
    return true;
}

/* Takes items that no other leads to away, again and again, and clears their
 * mark in `on`. Returns how many are left, CLV_NONE when memory ran out. */
static uint32_t peel_items(box_maker *m, const item_edges *e, bool *on)
{
    uint32_t *queue = arena_array(m->scratch, (size_t)e->n + 1, sizeof *queue);
    uint32_t *in = arena_zalloc(m->scratch, ((size_t)e->n + 1) * sizeof *in);
    uint32_t head = 0, tail = 0, left = 0;
    if (!queue || !in)
        return CLV_NONE;
    for (uint32_t i = 0; i < e->n; i++) {
        left += on[i];
        for (uint32_t k = e->first[i]; on[i] && k < e->first[i + 1]; k++)
            in[e->to[k]]++;
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (on[i] && in[i] == 0)
            queue[tail++] = i;
    while (head < tail) {
        uint32_t i = queue[head++];
        on[i] = false;
        for (uint32_t k = e->first[i]; k < e->first[i + 1]; k++)
            if (--in[e->to[k]] == 0 && on[e->to[k]])
                queue[tail++] = e->to[k];
    }
    return left - tail;
}

uint32_t clv__box_cycles(box_maker *m, const box_part *box, uint32_t n,
                         bool **on)
{
    item_edges e;
    *on = arena_array(m->scratch, n, sizeof **on);
    if (!*on || !edges_of_items(m, box, n, false, &e))
        return CLV_NONE;
    for (uint32_t i = 0; i < n; i++)
        (*on)[i] = true;
    uint32_t left = peel_items(m, &e, *on);
    if (left == 0 || left == CLV_NONE)
        return left;
    return edges_of_items(m, box, n, true, &e) ? peel_items(m, &e, *on)
                                               : CLV_NONE;
}

/* Splits items on cycles into runs of the order. */
static bool split_cycles(box_maker *m, const box_part *box, box_part **items,
                         uint32_t *n)
{
    bool *on;
    uint32_t cyclic = clv__box_cycles(m, box, *n, &on);
    if (cyclic == 0 || cyclic == CLV_NONE)
        return cyclic == 0;
    box_part *list = arena_array(m->scratch, (size_t)box->n, sizeof *list);
    uint32_t *to = arena_array(m->scratch, *n, sizeof *to);
    uint32_t *parts = arena_zalloc(m->scratch, *n * sizeof *parts);
    uint32_t count = 0, last = CLV_NONE;
    if (!list || !to || !parts)
        return false;
    memset(to, 255, *n * sizeof *to);
    for (uint32_t i = 0; i < box->n; i++) {
        uint32_t old = m->item[box->nodes[i]];
        if (to[old] == CLV_NONE || (on[old] && last != old)) {
            to[old] = count;
            list[count++] =
                (box_part){.scope = (*items)[old].scope, .part = parts[old]++};
        }
        last = on[old] ? old : last;
        list[to[old]].n++;
        list[to[old]].parts = old;
        m->item[box->nodes[i]] = to[old];
    }
    for (uint32_t i = 0; i < count; i++)
        list[i].parts = parts[list[i].parts];
    *items = list;
    *n = count;
    return true;
}

/* Lists the nodes of every item. A module of one node is that node. */
static bool list_nodes(box_maker *m, const box_part *box, box_part *items,
                       uint32_t n)
{
    uint32_t *all = arena_array(m->mem, box->n, sizeof *all);
    if (!all)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        items[i].nodes = all;
        all += items[i].n;
        if (items[i].n == 1)
            items[i].scope = CLV_NONE;
        items[i].n = 0;
    }
    for (uint32_t i = 0; i < box->n; i++) {
        box_part *p = &items[m->item[box->nodes[i]]];
        p->nodes[p->n++] = box->nodes[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (items[i].scope != CLV_NONE)
            items[i].hash = part_hash(m, &items[i]);
    return true;
}

/* -- repeated modules -----------------------------------------------------*/

/* Whether item b reads what item a, the one before it, makes. */
static bool feeds_next(const box_maker *m, const box_part *b, uint32_t a)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const clv_node *node = &m->g->nodes[b->nodes[i]];
        for (uint32_t k = 0; k < node->n_in; k++)
            if (maker_item(m, node_ins(m->g, node)[k], m->stamp[b->nodes[0]]) ==
                a)
                return true;
    }
    return false;
}

/* How many equal modules follow each other from item i on. */
static uint32_t row_length(const box_maker *m, const box_part *items,
                           uint32_t n, uint32_t i)
{
    uint32_t k = i + 1;
    if (items[i].scope == CLV_NONE)
        return 1;
    while (k < n && items[k].scope != CLV_NONE &&
           items[k].hash == items[i].hash && items[k].n == items[i].n &&
           feeds_next(m, &items[k], k - 1))
        k++;
    return k - i;
}

static int by_node_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* Puts rows of equal modules in boxes, unless that makes a cycle. */
static bool group_repeats(box_maker *m, const box_part *box, box_part **items,
                          uint32_t *n)
{
    box_part *list = arena_array(m->scratch, *n, sizeof *list);
    uint32_t *before = arena_array(m->scratch, box->n, sizeof *before);
    uint32_t count = 0;
    bool *on;
    if (!list || !before)
        return false;
    for (uint32_t i = 0; i < box->n; i++)
        before[i] = m->item[box->nodes[i]];
    for (uint32_t i = 0; i < *n;) {
        uint32_t row = row_length(m, *items, *n, i);
        bool group = row >= LEAST_REPEATS && row < *n;
        list[count] = (*items)[i];
        if (group) {
            /* The nodes of one item follow those of the one before it. */
            list[count].n = row * (*items)[i].n;
            list[count].scope = box->scope;
            list[count].repeats = row;
            list[count].part = 0;
            list[count].parts = 1;
            list[count].hash = clv__hash_word(list[count].hash, row);
        }
        count++;
        i += group ? row : 1;
    }
    if (count == *n)
        return true;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < list[i].n; k++)
            m->item[list[i].nodes[k]] = i;
    uint32_t cyclic = clv__box_cycles(m, box, count, &on);
    if (cyclic == CLV_NONE)
        return false;
    if (cyclic) {
        for (uint32_t i = 0; i < box->n; i++)
            m->item[box->nodes[i]] = before[i];
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        if (list[i].repeats) /* they are in execution order again */
            qsort(list[i].nodes, list[i].n, sizeof *list[i].nodes,
                  by_node_number);
    *items = list;
    *n = count;
    return true;
}

bool clv__box_split(box_maker *m, box_part *box, box_part **items, uint32_t *n)
{
    do { /* a module that holds one module alone is drawn as that one */
        if (!split_by_module(m, box, items, n))
            return false;
        if (*n == 1 && (*items)[0].scope != CLV_NONE)
            box->scope = (*items)[0].scope;
    } while (*n == 1 && (*items)[0].scope != CLV_NONE);
    if (!split_cycles(m, box, items, n) || !list_nodes(m, box, *items, *n))
        return false;
    if (m->like)
        return clv__box_fold(m, box, items, n);
    return box->repeats || group_repeats(m, box, items, n);
}
