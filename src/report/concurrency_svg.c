/* concurrency_svg.c - a schedule as a picture: a lane per stream, a bar per
 * subgraph, coloured by bottleneck; the critical path has a dark border.
 *
 *     stream 0 |[conv1][bn1][relu]....[fc]
 *     stream 1 |          [downsample]
 *              +----+----+----+----+----> time */
#include "report/concurrency.h"
#include "report/svg.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

enum { LEFT = 80, TOP = 64, WIDTH = 1000, LANE = 30, BAR = 22, BOTTOM = 46 };

typedef struct chart {
    const clv_concurrency_info *a;
    const clv_schedule_info *s;
    const clv_graph *g;
    const clv_subgraph *subs;
    double scale; /* pixels per unit of weight */
    clv_buf *out;
} chart;

static void put_bar(const chart *c, uint32_t k)
{
    const clv_slot *slot = &c->s->slots[k];
    const clv_subgraph *s = &c->subs[k];
    const char *name = clv_graph_node(c->g, s->nodes[0]).name;
    char hint[256], w[TEXT_MAX];
    svg_box b = {LEFT + slot->start * c->scale, TOP + slot->stream * LANE + 4,
                 (slot->finish - slot->start) * c->scale, BAR};
    if (b.w < 0.05)
        return;
    snprintf(hint, sizeof hint, "%.80s (%.60s): stage %u, %s", name, s->pattern,
             c->a->tasks[k].stage,
             clv__weight_text(c->a->unit, slot->finish - slot->start, w));
    svg_rect(c->out, b, clv__bottleneck_fill(s->bottleneck),
             c->a->tasks[k].critical ? "#a4262c" : "#777777", hint);
    if (b.w > 6.2 * (double)strlen(name) + 6)
        svg_text(c->out, b.x + b.w / 2, b.y + 15, SVG_MIDDLE, 10.5, name);
}

static void put_axis(const chart *c)
{
    double end = c->s->makespan, step = svg_step(end, 8);
    double foot = TOP + c->s->streams * (double)LANE;
    char text[TEXT_MAX];
    for (uint32_t i = 0; i < c->s->streams; i++) {
        snprintf(text, sizeof text, "stream %u", i);
        svg_text(c->out, LEFT - 8, TOP + i * LANE + 19, SVG_END, 11, text);
    }
    for (int i = 0; end > 0 && i * step <= end * (1 + 1e-9); i++) {
        double x = LEFT + i * step * c->scale;
        svg_line(c->out, x, TOP, x, foot + 4, "#dddddd");
        svg_text(c->out, x, foot + 18, SVG_MIDDLE, 11,
                 clv__weight_text(c->a->unit, i * step, text));
    }
    svg_line(c->out, LEFT, foot, LEFT + WIDTH, foot, "#777777");
    svg_text(c->out, LEFT + WIDTH / 2.0, foot + 36, SVG_MIDDLE, 11,
             strcmp(c->a->unit, "s") ? "work done, in FLOPs"
                                     : "time (roofline estimate)");
}

static void concurrency_svg_put_head(const chart *c)
{
    char line[256], x[TEXT_MAX], y[TEXT_MAX];
    snprintf(line, sizeof line,
             "%.60s: %u subgraphs on %u stream%s, %s (no schedule is below %s)",
             clv_graph_name(c->g), c->a->subgraphs, c->s->streams,
             c->s->streams == 1 ? "" : "s",
             clv__weight_text(c->a->unit, c->s->makespan, x),
             clv__weight_text(c->a->unit, c->s->lower_bound, y));
    svg_text(c->out, LEFT, 22, SVG_START, 14, line);
    double at = LEFT;
    for (int i = 0; i < CLV_BOTTLENECK_COUNT; i++, at += 130) {
        svg_rect(c->out, (svg_box){at, 36, 14, 14},
                 clv__bottleneck_fill((clv_bottleneck)i), "#777777", NULL);
        svg_text(c->out, at + 20, 47, SVG_START, 11,
                 clv__bottleneck_words((clv_bottleneck)i));
    }
    svg_rect(c->out, (svg_box){at, 36, 14, 14}, "none", "#a4262c", NULL);
    svg_text(c->out, at + 20, 47, SVG_START, 11, "critical path");
}

void clv_report_schedule_svg(const clv_concurrency_report *r, clv_buf *out)
{
    uint32_t n;
    const clv_cut *cut = clv_concurrency_cut(r->analysis);
    chart c = {.a = clv_concurrency_get(r->analysis),
               .s = clv_schedule_get(r->schedule),
               .g = clv_profile_graph(clv_cut_profile(cut)),
               .subs = clv_cut_subgraphs(cut, &n),
               .out = out};
    c.scale = c.s->makespan > 0 ? WIDTH / c.s->makespan : 0;
    svg_start(out, LEFT + WIDTH + 40,
              TOP + c.s->streams * (double)LANE + BOTTOM, clv_graph_name(c.g));
    concurrency_svg_put_head(&c);
    put_axis(&c);
    for (uint32_t k = 0; k < n; k++)
        put_bar(&c, k);
    svg_end(out);
}
