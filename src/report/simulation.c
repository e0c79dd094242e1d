/* simulation.c - the schedule of a pipeline as a timeline: text, JSON, CSV, a
 * picture, a Chrome trace.
 *
 *     a/gpu0  00112233....
 *     b/gpu0  ..00112233..     a digit is the micro-batch that runs there
 */
#include "cleave/cluster.h"
#include "report/csv.h"
#include "report/svg.h"
#include "report/table.h"

#include "core/jsonw.h"

#include <stdio.h>
#include <string.h>

enum { LINE_COLUMNS = 64, LINE_ROWS = 20, PICTURE_ROWS = 200 };

static const char *simulation_model(const clv_cut *c)
{
    return clv_graph_name(clv_profile_graph(clv_cut_profile(c)));
}

static char simulation_digit(uint32_t micro_batch)
{
    return "0123456789abcdefghijklmnopqrstuvwxyz"[micro_batch % 36];
}

/* One line per device: what runs in the middle of each column. */
static void simulation_lines(const clv_cut *c, const clv_sim_info *s,
                             const clv_report_opts *o, clv_buf *out)
{
    uint32_t rows = s->n_devices < LINE_ROWS ? s->n_devices : LINE_ROWS;
    char cells[LINE_ROWS][LINE_COLUMNS + 1];
    memset(cells, '.', sizeof cells);
    for (uint64_t i = 0; i < s->n_spans && s->makespan > 0; i++) {
        const clv_sim_span *x = &s->spans[i];
        double scale = LINE_COLUMNS / s->makespan;
        for (int k = (int)(x->start * scale + 0.5);
             x->device < rows && k < x->end * scale - 0.5 + 1e-9 &&
             k < LINE_COLUMNS;
             k++)
            cells[x->device][k] = simulation_digit(x->micro_batch);
    }
    text_heading(out, o, "Timeline (the micro-batch that runs)");
    for (uint32_t d = 0; d < rows; d++)
        clv_buf_printf(out, "  %-20.20s %.*s %5.1f %%\n",
                       clv_cut_sim_device(c, d), LINE_COLUMNS, cells[d],
                       s->makespan > 0 ? 100 * s->busy[d] / s->makespan : 0);
    if (s->n_devices > rows)
        text_rest(out, o, s->n_devices - rows);
}

static void simulation_text(const clv_cut *c, const clv_sim_info *s,
                            const clv_report_opts *o, clv_buf *out)
{
    char a[TEXT_MAX];
    uint32_t stages;
    (void)clv_cut_subgraphs(c, &stages);
    clv_buf_printf(out, "%sSchedule of %s, %u stages on %u devices:%s\n",
                   paint_on(o, PAINT_BOLD), simulation_model(c), stages,
                   s->n_devices, paint_off(o, PAINT_BOLD));
    text_field(out, "Micro-batches:", "%llu, at most %u under way",
               (unsigned long long)(stages ? s->n_spans / stages : 0),
               s->alive);
    text_field(out, "Makespan:", "%s", text_time(s->makespan, a));
    text_field(out, "Lower bound:", "%s", text_time(s->bound, a));
    text_field(out, "Bubble:", "%.1f %%", 100 * s->bubble);
    simulation_lines(c, s, o, out);
}

static void simulation_json(const clv_cut *c, const clv_sim_info *s,
                            clv_buf *out)
{
    jsonw w;
    uint32_t stages;
    (void)clv_cut_subgraphs(c, &stages);
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", simulation_model(c));
    jsonw_int(&w, "stages", stages);
    jsonw_int(&w, "micro_batches", stages ? (int64_t)s->n_spans / stages : 0);
    jsonw_int(&w, "under_way", s->alive);
    jsonw_num(&w, "makespan", s->makespan);
    jsonw_num(&w, "lower_bound", s->bound);
    jsonw_num(&w, "bubble", s->bubble);
    jsonw_array(&w, "devices");
    for (uint32_t d = 0; d < s->n_devices; d++) {
        jsonw_object_flat(&w, NULL);
        jsonw_str(&w, "name", clv_cut_sim_device(c, d));
        jsonw_num(&w, "busy", s->busy[d]);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_array(&w, "spans");
    for (uint64_t i = 0; i < s->n_spans; i++) {
        const clv_sim_span *x = &s->spans[i];
        jsonw_object_flat(&w, NULL);
        jsonw_int(&w, "stage", x->stage);
        jsonw_int(&w, "micro_batch", x->micro_batch);
        jsonw_int(&w, "device", x->device);
        jsonw_num(&w, "start", x->start);
        jsonw_num(&w, "end", x->end);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

static void simulation_csv(const clv_sim_info *s, clv_buf *out)
{
    clv_buf_printf(out, "stage,micro_batch,device,start,end\n");
    for (uint64_t i = 0; i < s->n_spans; i++) {
        const clv_sim_span *x = &s->spans[i];
        clv_buf_printf(out, "%u,%u,%u,%.9g,%.9g\n", x->stage, x->micro_batch,
                       x->device, x->start, x->end);
    }
}

void clv_report_simulation(const clv_cut *c, const clv_sim *sim,
                           const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    const clv_sim_info *s = clv_sim_get(sim);
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        simulation_json(c, s, out);
    else if (opts->format == CLV_REPORT_CSV)
        simulation_csv(s, out);
    else
        simulation_text(c, s, opts, out);
}

void clv_report_simulation_trace(const clv_cut *c, const clv_sim *sim,
                                 clv_buf *out)
{
    const clv_sim_info *s = clv_sim_get(sim);
    jsonw w;
    char name[64];
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "displayTimeUnit", "ns");
    jsonw_array(&w, "traceEvents");
    for (uint32_t d = 0; d < s->n_devices; d++) {
        jsonw_object_flat(&w, NULL);
        jsonw_str(&w, "name", "thread_name");
        jsonw_str(&w, "ph", "M");
        jsonw_int(&w, "pid", 0);
        jsonw_int(&w, "tid", d);
        jsonw_object_flat(&w, "args");
        jsonw_str(&w, "name", clv_cut_sim_device(c, d));
        jsonw_end(&w);
        jsonw_end(&w);
    }
    for (uint64_t i = 0; i < s->n_spans; i++) {
        const clv_sim_span *x = &s->spans[i];
        snprintf(name, sizeof name, "stage %u, micro-batch %u", x->stage,
                 x->micro_batch);
        jsonw_object_flat(&w, NULL);
        jsonw_str(&w, "name", name);
        jsonw_str(&w, "ph", "X");
        jsonw_int(&w, "pid", 0);
        jsonw_int(&w, "tid", x->device);
        jsonw_num(&w, "ts", 1e6 * x->start);
        jsonw_num(&w, "dur", 1e6 * (x->end - x->start));
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
}

void clv_report_simulation_svg(const clv_cut *c, const clv_sim *sim,
                               clv_buf *out)
{
    enum { LEFT = 160, TOP = 40, WIDTH = 1000, LANE = 24, BAR = 18 };
    static const char *fills[] = {"#b7dfc4", "#bcd4ee", "#f3d9b1", "#e3c2e6"};
    const clv_sim_info *s = clv_sim_get(sim);
    uint32_t rows = s->n_devices < PICTURE_ROWS ? s->n_devices : PICTURE_ROWS;
    double scale = s->makespan > 0 ? WIDTH / s->makespan : 0;
    char text[200], a[TEXT_MAX];
    svg_start(out, LEFT + WIDTH + 40, TOP + rows * (double)LANE + 40,
              simulation_model(c));
    snprintf(text, sizeof text, "%.60s: %s, bubble %.1f %%; %u of %u devices",
             simulation_model(c), text_time(s->makespan, a), 100 * s->bubble,
             rows, s->n_devices);
    svg_text(out, LEFT, 22, SVG_START, 14, text);
    for (uint32_t d = 0; d < rows; d++)
        svg_text(out, LEFT - 8, TOP + d * LANE + 15, SVG_END, 11,
                 clv_cut_sim_device(c, d));
    for (uint64_t i = 0; i < s->n_spans; i++) {
        const clv_sim_span *x = &s->spans[i];
        svg_box b = {LEFT + x->start * scale, TOP + x->device * (double)LANE,
                     (x->end - x->start) * scale, BAR};
        if (x->device >= rows || b.w < 0.05)
            continue;
        snprintf(text, sizeof text, "stage %u, micro-batch %u: %s", x->stage,
                 x->micro_batch, text_time(x->end - x->start, a));
        svg_rect(out, b, fills[x->micro_batch % 4], "#777777", text);
    }
    svg_line(out, LEFT, TOP + rows * (double)LANE, LEFT + WIDTH,
             TOP + rows * (double)LANE, "#777777");
    svg_text(out, LEFT + WIDTH, TOP + rows * (double)LANE + 18, SVG_END, 11,
             text_time(s->makespan, a));
    svg_end(out);
}
