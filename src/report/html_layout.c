/* html_layout.c - a layout as the page reads it: lists of numbers.
 *
 *     {"boxes": [{"module": "layer1", "parent": 0, ...,
 *                 "items": [kind, id, x, y, w, h, ...],
 *                 "wires": [from, to, value, bends, x, y, ...]}, ...],
 *      "values": [id, bytes, ...]}                                          */
#include "core/jsonw.h"
#include "graph/graph.h"
#include "report/html.h"

static void layout_items(jsonw *w, const clv_layout_info *l, const clv_box *b)
{
    jsonw_array_flat(w, "items");
    for (uint32_t i = 0; i < b->n_items; i++) {
        const clv_item *t = &b->items[i];
        jsonw_int(w, NULL, t->kind);
        jsonw_int(w, NULL,
                  l->n_rows && t->kind == CLV_ITEM_NODE ? l->row[t->id]
                                                        : t->id);
        jsonw_int(w, NULL, t->x);
        jsonw_int(w, NULL, t->y);
        jsonw_int(w, NULL, t->w);
        jsonw_int(w, NULL, t->h);
    }
    jsonw_end(w);
}

static void layout_wires(jsonw *w, const clv_box *b)
{
    jsonw_array_flat(w, "wires");
    for (uint32_t i = 0; i < b->n_wires; i++) {
        const clv_wire *e = &b->wires[i];
        jsonw_int(w, NULL, e->from);
        jsonw_int(w, NULL, e->to);
        jsonw_int(w, NULL, e->value);
        jsonw_int(w, NULL, e->n_bends);
        for (uint32_t k = 0; k < e->n_bends; k++) {
            jsonw_int(w, NULL, e->bends[k].x);
            jsonw_int(w, NULL, e->bends[k].y);
        }
    }
    jsonw_end(w);
}

static void layout_box(jsonw *w, const clv_layout_info *l, const clv_box *b)
{
    jsonw_object_flat(w, NULL);
    jsonw_str(w, "module", b->module);
    if (b->parent != CLV_NONE)
        jsonw_int(w, "parent", b->parent);
    if (b->parts > 1) {
        jsonw_int(w, "part", b->part);
        jsonw_int(w, "parts", b->parts);
    }
    if (b->repeats)
        jsonw_int(w, "repeats", b->repeats);
    if (b->folded)
        jsonw_bool(w, "folded", true);
    if (b->shut)
        jsonw_bool(w, "shut", true);
    jsonw_int(w, "form", b->form);
    jsonw_int(w, "nodes", b->nodes);
    jsonw_int(w, "w", b->width);
    jsonw_int(w, "h", b->height);
    layout_items(w, l, b);
    layout_wires(w, b);
    jsonw_end(w);
}

/* Marks the values of wires. NULL when memory ran out. */
static uint8_t *layout_wired(const clv_graph *g, const clv_layout_info *l)
{
    uint8_t *on = clv__zalloc((size_t)g->n_values + 1);
    for (uint32_t i = 0; on && i < l->n_boxes; i++)
        for (uint32_t k = 0; k < l->boxes[i].n_wires; k++)
            on[l->boxes[i].wires[k].value] = 1;
    return on;
}

/* Values that nodes make or the model is given; -1: bytes are not known. Of a
 * folded layout, those of its wires. */
static void layout_values(jsonw *w, const clv_graph *g,
                          const clv_layout_info *l)
{
    uint8_t *on = l->n_rows ? layout_wired(g, l) : NULL;
    w->out->failed = w->out->failed || (l->n_rows && !on);
    jsonw_array_flat(w, "values");
    for (uint32_t v = 0; v < g->n_values; v++) {
        if (value_is_weight(&g->values[v]) || (on && !on[v]))
            continue;
        int64_t bytes = clv__bytes(&g->values[v]);
        jsonw_int(w, NULL, v);
        jsonw_int(w, NULL, bytes == CLV_SAT ? -1 : bytes);
    }
    jsonw_end(w);
    clv__free(on);
}

void clv__html_layout(const clv_graph *g, const clv_layout_info *l,
                      clv_buf *out)
{
    jsonw w;
    jsonw_start(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_array(&w, "boxes");
    for (uint32_t i = 0; i < l->n_boxes; i++)
        layout_box(&w, l, &l->boxes[i]);
    jsonw_end(&w);
    layout_values(&w, g, l);
    jsonw_int(&w, "straight", l->n_straight);
    jsonw_int(&w, "crossings", l->crossings);
    if (l->n_rows) {
        jsonw_int(&w, "rows", l->n_rows);
        jsonw_int(&w, "hidden", l->n_hidden);
    }
    jsonw_end(&w);
    jsonw_finish(&w);
}
