/* map_svg.c - the roofline of a device as a picture.
 *
 *     ops/s |        ______________ peak
 *           |      /   o
 *           |    /  o     (o: a subgraph; larger: takes more time)
 *           |  /  o
 *           +----------|----------> operations per byte
 *                    ridge
 *
 * Both axes are logarithmic, in whole decades. Points lie below the roof by
 * the share that launches and idle units cost. */
#include "cleave/map.h"
#include "report/svg.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LEFT = 96,
    TOP = 84,
    WIDTH = 900,
    HEIGHT = 470,
    BOTTOM = 58,
    LABELS = 8
};

typedef struct chart {
    const clv_map *m;
    const clv_graph *g;
    const clv_subgraph *subs;
    const clv_roofline *times;
    uint32_t n;
    double peak, bandwidth;
    double x0, x1, y0, y1; /* exponents of ten */
    clv_buf *out;
} chart;

static double map_svg_x_of(const chart *c, double intensity)
{
    return LEFT + (log10(intensity) - c->x0) / (c->x1 - c->x0) * WIDTH;
}

static double y_of(const chart *c, double ops)
{
    return TOP + HEIGHT - (log10(ops) - c->y0) / (c->y1 - c->y0) * HEIGHT;
}

static bool map_svg_drawn(const chart *c, uint32_t k)
{
    return c->times[k].attained > 0 && c->subs[k].intensity > 0;
}

/* Chooses whole decades around the points, the ridge and the peak. */
static void find_range(chart *c)
{
    double ridge = clv_map_get(c->m)->ridge;
    double xmin = ridge > 0 ? ridge : 1, xmax = xmin;
    double ymin = c->peak, ymax = c->peak;
    for (uint32_t k = 0; k < c->n; k++) {
        if (!map_svg_drawn(c, k))
            continue;
        xmin = fmin(xmin, c->subs[k].intensity);
        xmax = fmax(xmax, c->subs[k].intensity);
        ymin = fmin(ymin, c->times[k].attained);
    }
    c->x0 = floor(log10(xmin) - 0.05);
    c->x1 = ceil(log10(xmax) + 0.25);
    c->y0 = floor(log10(ymin) - 0.05);
    c->y1 = ceil(log10(ymax) + 0.1);
}

/* -- axes -----------------------------------------------------------------*/

/* "10 GOP/s" for 10 to the power of e. */
static const char *rate_text(double e, char *buf)
{
    static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
    int unit = (int)(fmin(fmax(floor(e / 3), 0), 6));
    clv_format(buf, TEXT_MAX, "%g %sOP/s", pow(10, e - 3 * unit), units[unit]);
    return buf;
}

static void put_grid(const chart *c)
{
    char text[TEXT_MAX];
    double foot = TOP + HEIGHT;
    for (double e = c->x0; e <= c->x1; e++) {
        double x = map_svg_x_of(c, pow(10, e));
        svg_line(c->out, x, TOP, x, foot, "#e2e2e2");
        clv_format(text, sizeof text, "%g", pow(10, e));
        svg_text(c->out, x, foot + 18, SVG_MIDDLE, 11, text);
    }
    for (double e = c->y0; e <= c->y1; e++) {
        double y = y_of(c, pow(10, e));
        svg_line(c->out, LEFT, y, LEFT + WIDTH, y, "#e2e2e2");
        svg_text(c->out, LEFT - 8, y + 4, SVG_END, 11, rate_text(e, text));
    }
    svg_line(c->out, LEFT, foot, LEFT + WIDTH, foot, "#777777");
    svg_line(c->out, LEFT, TOP, LEFT, foot, "#777777");
    svg_text(c->out, LEFT + WIDTH / 2.0, foot + 40, SVG_MIDDLE, 12,
             "arithmetic intensity (operations per byte moved)");
    svg_text_up(c->out, 14, TOP + HEIGHT / 2.0, 12, "operations per second");
}

/* Draws the roofs. The slanted one enters the picture at its left or lower
 * edge. */
static void put_roofs(const chart *c)
{
    double left = pow(10, c->x0), right = pow(10, c->x1);
    char label[96], a[TEXT_MAX];
    snprintf(label, sizeof label, "%s peak %sOP/s", clv_map_get(c->m)->rate,
             text_count((int64_t)c->peak, a));
    if (c->bandwidth <= 0) {
        svg_line(c->out, LEFT, y_of(c, c->peak), LEFT + WIDTH, y_of(c, c->peak),
                 "#a4262c");
        svg_text(c->out, LEFT + WIDTH - 6, y_of(c, c->peak) - 7, SVG_END, 12,
                 label);
        return;
    }
    double ridge = c->peak / c->bandwidth;
    if (left * c->bandwidth < pow(10, c->y0))
        left = pow(10, c->y0) / c->bandwidth;
    const double xy[] = {map_svg_x_of(c, left),  y_of(c, left * c->bandwidth),
                         map_svg_x_of(c, ridge), y_of(c, c->peak),
                         map_svg_x_of(c, right), y_of(c, c->peak)};
    svg_polyline(c->out, xy, 3, "none", "#a4262c");
    svg_text(c->out, LEFT + WIDTH - 6, y_of(c, c->peak) - 7, SVG_END, 12,
             label);
    svg_dashes(c->out, xy[2], xy[3], xy[2], TOP + HEIGHT, "#a4262c");
    clv_format(label, sizeof label, "ridge %.1f", ridge);
    svg_text(c->out, xy[2] + 6, TOP + HEIGHT - 8, SVG_START, 12, label);
    snprintf(label, sizeof label, "memory %s/s",
             text_bytes((int64_t)c->bandwidth, a));
    double at = sqrt(left * ridge);
    svg_text(c->out, map_svg_x_of(c, at) - 10, y_of(c, at * c->bandwidth) - 6,
             SVG_END, 12, label);
}

/* -- points ---------------------------------------------------------------*/

static double map_svg_radius(const chart *c, uint32_t k)
{
    double share = c->times[k].seconds / clv_map_get(c->m)->seconds;
    return 3 + 20 * sqrt(share);
}

static void put_point(const chart *c, uint32_t k)
{
    static const char *const fills[] = {"#4c9a6a", "#d99a1c", "#8a8a8a",
                                        "#8a8a8a"};
    const clv_roofline *r = &c->times[k];
    double share = r->seconds / clv_map_get(c->m)->seconds;
    char hint[256], time[TEXT_MAX];
    clv_format(hint, sizeof hint, "%.80s (%.60s): %s, %.2f %% of the time, %s",
               clv_graph_node(c->g, c->subs[k].nodes[0]).name,
               c->subs[k].pattern, text_time(r->seconds, time), 100 * share,
               clv_bound_name(r->bound));
    svg_circle(c->out, map_svg_x_of(c, c->subs[k].intensity),
               y_of(c, r->attained), map_svg_radius(c, k), fills[r->bound],
               "#ffffff", hint);
}

static bool map_svg_overlap(svg_box a, svg_box b)
{
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h &&
           b.y < a.y + a.h;
}

/* Returns the height of the roof above a point of the horizontal axis. */
static double roof_at(const chart *c, double x)
{
    double intensity = pow(10, c->x0 + (x - LEFT) / WIDTH * (c->x1 - c->x0));
    double ops = c->bandwidth > 0 ? intensity * c->bandwidth : c->peak;
    return y_of(c, fmin(ops, c->peak));
}

/* Returns true when a box lies inside the chart and touches no roof, point or
 * label. The roof rises from left to right. */
static bool map_svg_is_free(const chart *c, svg_box box, const svg_box *labels,
                            int n)
{
    if (box.x < LEFT || box.x + box.w > LEFT + WIDTH || box.y < TOP ||
        box.y + box.h > TOP + HEIGHT)
        return false;
    if (box.y < roof_at(c, box.x) && box.y + box.h > roof_at(c, box.x + box.w))
        return false;
    for (int i = 0; i < n; i++)
        if (map_svg_overlap(box, labels[i]))
            return false;
    for (uint32_t k = 0; k < c->n; k++) {
        double r = map_svg_radius(c, k);
        if (map_svg_drawn(c, k) &&
            map_svg_overlap(box,
                            (svg_box){map_svg_x_of(c, c->subs[k].intensity) - r,
                                      y_of(c, c->times[k].attained) - r, 2 * r,
                                      2 * r}))
            return false;
    }
    return true;
}

/* Writes the name of point k below, above, right or left of it, where there is
 * room. */
static bool map_svg_put_label(const chart *c, uint32_t k, const svg_box *labels,
                              int n, svg_box *box)
{
    double x = map_svg_x_of(c, c->subs[k].intensity),
           r = map_svg_radius(c, k) + 4;
    double y = y_of(c, c->times[k].attained);
    char name[64];
    snprintf(name, sizeof name, "%.40s",
             clv_graph_node(c->g, c->subs[k].nodes[0]).name);
    double w = 6.3 * text_width(name, strlen(name)), h = 13;
    const svg_box tries[] = {
        {x + r, y - h / 2, w, h},      {x - r - w, y - h / 2, w, h},
        {x - w / 2, y + r, w, h},      {x - w / 2, y - r - h, w, h},
        {x - w / 2, y + r + 14, w, h}, {x - w / 2, y + r + 28, w, h}};
    for (int i = 0; i < 6; i++) {
        *box = tries[i];
        if (!map_svg_is_free(c, *box, labels, n))
            continue;
        if (i >= 4)
            svg_line(c->out, x, y + r - 4, x, box->y, "#aaaaaa");
        svg_rect(c->out, *box, "#ffffff", "none", NULL); /* hides the grid */
        svg_text(c->out, box->x + w / 2, box->y + 10, SVG_MIDDLE, 11, name);
        return true;
    }
    return false;
}

/* Names the slowest few subgraphs, one in each neighbourhood. */
static void put_labels(const chart *c)
{
    const uint32_t *rank = clv_map_ranking(c->m);
    double at[LABELS + 1][2];
    svg_box labels[LABELS + 1] = {{LEFT + WIDTH - 170, y_of(c, c->peak) - 20,
                                   170, 16}}; /* the label of the peak */
    int n = 1;
    for (uint32_t i = 0; i < c->n && i < 40 && n <= LABELS; i++) {
        bool near = !map_svg_drawn(c, rank[i]);
        double x = near ? 0 : map_svg_x_of(c, c->subs[rank[i]].intensity);
        double y = near ? 0 : y_of(c, c->times[rank[i]].attained);
        for (int j = 1; j < n; j++)
            near = near || hypot(at[j][0] - x, at[j][1] - y) < 30;
        if (near || !map_svg_put_label(c, rank[i], labels, n, &labels[n]))
            continue;
        at[n][0] = x;
        at[n++][1] = y;
    }
}

static void map_svg_put_head(const chart *c)
{
    static const struct {
        const char *fill, *text;
    } keys[] = {{"#4c9a6a", "bound by compute"},
                {"#d99a1c", "by memory"},
                {"#8a8a8a", "by launch"}};
    const clv_map_info *t = clv_map_get(c->m);
    char line[256], a[TEXT_MAX];
    clv_format(
        line, sizeof line,
        "%.60s on %.80s: %s at batch %lld (an estimate), %.1f %% of peak",
        clv_graph_name(c->g), clv_map_device(c->m)->title,
        text_time(t->seconds, a), (long long)t->batch, 100 * t->share);
    svg_text(c->out, LEFT, 24, SVG_START, 14, line);
    double x = LEFT + 6;
    for (int i = 0; i < 3; i++) {
        svg_circle(c->out, x, 46, 5, keys[i].fill, "#ffffff", NULL);
        svg_text(c->out, x + 10, 50, SVG_START, 11, keys[i].text);
        x += i ? 92 : 132;
    }
    snprintf(line, sizeof line,
             "one point per subgraph (%s cut); its area is its share of the "
             "time",
             clv_cut_strategy(clv_map_cut(c->m)));
    svg_text(c->out, x, 50, SVG_START, 11, line);
}

void clv_report_map_svg(const clv_map *m, clv_buf *out)
{
    const clv_cut *cut = clv_map_cut(m);
    chart c = {.m = m,
               .g = clv_profile_graph(clv_cut_profile(cut)),
               .out = out,
               .bandwidth = clv_map_device(m)->bandwidth.value};
    c.subs = clv_cut_subgraphs(cut, &c.n);
    c.times = clv_map_times(m, &c.n);
    c.peak = clv_map_get(m)->peak;
    svg_start(out, LEFT + WIDTH + 34, TOP + HEIGHT + BOTTOM,
              clv_graph_name(c.g));
    map_svg_put_head(&c);
    if (c.peak > 0) {
        const uint32_t *rank = clv_map_ranking(m);
        find_range(&c);
        put_grid(&c);
        put_roofs(&c);
        for (uint32_t i = 0; i < c.n; i++) /* largest first, small on top */
            if (map_svg_drawn(&c, rank[i]))
                put_point(&c, rank[i]);
        put_labels(&c);
    }
    svg_end(out);
}
