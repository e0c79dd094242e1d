/* memory_svg.c - memory over time as a picture: above, the bytes alive at each
 * step with the peak marked; below, on the same axis, the arena: every tensor
 * is a box from its first step to its last, at its offset.
 *
 *     bytes |   __        peak
 *           |__|  |___
 *     addr. |[ a ][ c    ]
 *           |[  b   ] [d ]
 *           +--------------> step */
#include "report/svg.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

enum {
    LEFT = 86,
    WIDTH = 960,
    TOP = 58,
    HEIGHT = 210, /* of either panel */
    GAP = 46,
    BOTTOM = 50,
    COLUMNS_MAX = 1000,
    BOXES_MAX = 4000 /* more boxes than this nobody can tell apart */
};

typedef struct chart {
    const clv_memory *m;
    const clv_memory_info *t;
    const clv_graph *g;
    double step; /* pixels */
    clv_buf *out;
} chart;

static double memory_svg_x_of(const chart *c, double step)
{
    return LEFT + step * c->step;
}

/* Draws grid lines and labels for 0 to `most` bytes. Returns pixels per
 * byte. */
static double put_bytes_axis(const chart *c, double top, int64_t most,
                             const char *name)
{
    double step = svg_step((double)most, 4), foot = top + HEIGHT;
    double scale = most > 0 ? (HEIGHT - 14) / (double)most : 0;
    char text[TEXT_MAX];
    for (int i = 0; i * step <= (double)most * (1 + 1e-9) && i < 20; i++) {
        double y = foot - i * step * scale;
        svg_line(c->out, LEFT, y, LEFT + WIDTH, y, i ? "#e2e2e2" : "#777777");
        svg_text(c->out, LEFT - 8, y + 4, SVG_END, 11,
                 text_bytes((int64_t)(i * step), text));
    }
    svg_text_up(c->out, 16, top + HEIGHT / 2.0, 11, name);
    return scale;
}

static void put_steps_axis(const chart *c, double foot)
{
    double step = svg_step(c->t->steps, 10);
    char text[TEXT_MAX];
    step = step < 1 ? 1 : step;
    for (int i = 0; i * step <= c->t->steps && i < 40; i++) {
        double x = memory_svg_x_of(c, i * step);
        clv_format(text, sizeof text, "%.0f", i * step);
        svg_line(c->out, x, foot, x, foot + 4, "#777777");
        svg_text(c->out, x, foot + 17, SVG_MIDDLE, 11, text);
    }
    svg_text(c->out, LEFT + WIDTH / 2.0, foot + 36, SVG_MIDDLE, 11,
             "step (subgraphs in the order they run)");
}

/* Plots the largest value of each of at most COLUMNS_MAX spans of steps. */
static void memory_svg_put_timeline(const chart *c, double top)
{
    const int64_t *live = clv_memory_timeline(c->m);
    uint32_t n = c->t->steps < COLUMNS_MAX ? c->t->steps : COLUMNS_MAX;
    double scale = put_bytes_axis(c, top, c->t->peak, "bytes alive");
    double foot = top + HEIGHT, xy[4 * COLUMNS_MAX + 4];
    uint32_t at = 0;
    xy[at++] = LEFT;
    xy[at++] = foot;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = (uint64_t)i * c->t->steps / n;
        uint64_t to = ((uint64_t)i + 1) * c->t->steps / n;
        int64_t high = 0;
        for (uint64_t k = from; k < to; k++)
            high = live[k] > high ? live[k] : high;
        xy[at++] = memory_svg_x_of(c, (double)from);
        xy[at++] = foot - (double)high * scale;
        xy[at++] = memory_svg_x_of(c, (double)to);
        xy[at++] = foot - (double)high * scale;
    }
    xy[at++] = LEFT + WIDTH;
    xy[at++] = foot;
    svg_polyline(c->out, xy, at / 2, "#c9dff5", "#3f6fa8");
}

/* Marks the peak with a dot and a label, which stays inside the picture. */
static void put_peak(const chart *c, double top)
{
    double x = memory_svg_x_of(c, c->t->peak_step + 0.5), y = top + 14;
    uint32_t n;
    const clv_subgraph *s = clv_cut_subgraphs(clv_memory_cut(c->m), &n);
    char line[160], bytes[TEXT_MAX];
    if (c->t->peak_step >= n)
        return;
    snprintf(line, sizeof line, "peak %s at step %u (%.60s)",
             text_bytes(c->t->peak, bytes), c->t->peak_step,
             clv_graph_node(c->g,
                            s[clv_memory_order(c->m)[c->t->peak_step]].nodes[0])
                 .name);
    svg_dashes(c->out, x, y, x, top + 2 * HEIGHT + GAP, "#a4262c");
    svg_circle(c->out, x, y, 4, "#a4262c", "none", line);
    svg_text(c->out, x < LEFT + WIDTH / 2.0 ? x + 10 : x - 10, top + 4,
             x < LEFT + WIDTH / 2.0 ? SVG_START : SVG_END, 12, line);
}

static void put_boxes(const chart *c, double top)
{
    static const char *const fills[] = {"#b7dfc4", "#c9dff5", "#fbe3a3",
                                        "#f4c7c3", "#dcd0ee", "#d9d9d9"};
    double scale = put_bytes_axis(c, top, c->t->arena, "arena offset");
    double foot = top + HEIGHT;
    uint32_t n;
    const clv_buffer *b = clv_memory_buffers(c->m, &n);
    char hint[200], bytes[TEXT_MAX];
    for (uint32_t i = 0; i < n && i < BOXES_MAX; i++) {
        const char *name = clv_graph_value(c->g, b[i].value).name;
        svg_box box = {memory_svg_x_of(c, b[i].first),
                       foot - (double)(b[i].offset + b[i].bytes) * scale,
                       (b[i].last + 1.0 - b[i].first) * c->step,
                       (double)b[i].bytes * scale};
        snprintf(hint, sizeof hint, "%.80s: %s, steps %u to %u", name,
                 text_bytes(b[i].bytes, bytes), b[i].first, b[i].last);
        svg_rect(c->out, box, fills[i % 6],
                 box.h < 4 ? fills[(i + 1) % 6] : "#777777", hint);
        if (box.h > 13 && box.w > 6.4 * text_width(name, strlen(name)) + 6)
            svg_text(c->out, box.x + box.w / 2, box.y + box.h / 2 + 4,
                     SVG_MIDDLE, 10, name);
    }
    if (n > BOXES_MAX) {
        snprintf(hint, sizeof hint, "%u more tensors are not drawn",
                 n - BOXES_MAX);
        svg_text(c->out, LEFT, foot - HEIGHT - 6, SVG_START, 10, hint);
    }
}

void clv_report_memory_svg(const clv_memory *m, clv_buf *out)
{
    const clv_cut *cut = clv_memory_cut(m);
    chart c = {.m = m,
               .t = clv_memory_get(m),
               .g = clv_profile_graph(clv_cut_profile(cut)),
               .out = out};
    char line[256], weights[TEXT_MAX], size[TEXT_MAX];
    double second = TOP + HEIGHT + GAP;
    c.step = c.t->steps ? (double)WIDTH / c.t->steps : 0;
    svg_start(out, LEFT + WIDTH + 34, second + HEIGHT + BOTTOM,
              clv_graph_name(c.g));
    snprintf(line, sizeof line,
             "%.60s: activations alive over %u steps (%s cut); weights take %s "
             "more; arena %s (%s)",
             clv_graph_name(c.g), c.t->steps, clv_cut_strategy(cut),
             text_bytes(c.t->weights, weights), text_bytes(c.t->arena, size),
             c.t->planner);
    svg_text(out, LEFT, 24, SVG_START, 14, line);
    memory_svg_put_timeline(&c, TOP);
    put_boxes(&c, second);
    put_peak(&c, TOP);
    put_steps_axis(&c, second + HEIGHT);
    svg_end(out);
}
