/* concurrency_text.c - concurrency for people: the figures, the stages, the
 * critical path, batches, the schedule as bars, and what it all means. */
#include "report/concurrency.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct view {
    const clv_concurrency_report *r;
    const clv_concurrency_info *a;
    const clv_graph *g;
    const clv_subgraph *subs;
    const clv_report_opts *o;
    clv_buf *out;
} view;

static view view_of(const clv_concurrency_report *r, const clv_report_opts *o,
                    clv_buf *out)
{
    uint32_t n;
    const clv_cut *c = clv_concurrency_cut(r->analysis);
    return (view){.r = r,
                  .a = clv_concurrency_get(r->analysis),
                  .g = clv_profile_graph(clv_cut_profile(c)),
                  .subs = clv_cut_subgraphs(c, &n),
                  .o = o,
                  .out = out};
}

static const char *concurrency_text_name_of(const view *v, uint32_t k)
{
    return clv_graph_node(v->g, v->subs[k].nodes[0]).name;
}

const char *clv__weight_text(const char *of, double w, char *buf)
{
    static const struct {
        double below, scale;
        const char *unit;
    } times[] = {{1e-6, 1e9, "ns"},
                 {1e-3, 1e6, "us"},
                 {1, 1e3, "ms"},
                 {INFINITY, 1, "s"}};
    if (!(w > 0))
        return strcpy(buf, "0");
    if (strcmp(of, "s") != 0) {
        char n[TEXT_MAX];
        const char *prefix = strchr(text_count((int64_t)w, n), ' ');
        snprintf(buf, TEXT_MAX, "%.40s%s%s", n, prefix ? "" : " ", of);
        return buf;
    }
    int i = 0;
    while (w >= times[i].below)
        i++;
    clv_format(buf, TEXT_MAX, "%.2f %s", w * times[i].scale, times[i].unit);
    return buf;
}

static const char *text_weight(const view *v, double w, char *buf)
{
    return clv__weight_text(v->a->unit, w, buf);
}

/* -- figures --------------------------------------------------------------*/

static void put_figures(const view *v)
{
    const clv_concurrency_info *a = v->a;
    char x[TEXT_MAX], y[TEXT_MAX], z[TEXT_MAX];
    clv_buf_printf(v->out, "%sConcurrency of %s (%s):%s\n",
                   paint_on(v->o, PAINT_BOLD), clv_graph_name(v->g),
                   clv_cut_strategy(clv_concurrency_cut(v->r->analysis)),
                   paint_off(v->o, PAINT_BOLD));
    text_field(v->out, "Subgraphs:", "%u (%u share a stage, %u run alone)",
               a->subgraphs, a->independent, a->sequential);
    text_field(v->out, "Stages:", "%u", a->n_stages);
    text_field(v->out, "Max parallel:", "%u per stage", a->max_parallel);
    text_field(v->out, "Critical path:", "%u subgraph%s, %s (%s of all FLOPs)",
               a->n_critical, a->n_critical == 1 ? "" : "s",
               text_weight(v, a->span, x),
               text_percent(a->critical_flops, a->flops, y));
    text_field(v->out, "Work / span:", "%s / %s: at most %.2fx faster",
               text_weight(v, a->work, x), text_weight(v, a->span, y),
               a->speedup);
    text_field(v->out, "Threads:", "%s to %s per subgraph, %s on average",
               text_count(a->min_threads, x), text_count(a->max_threads, y),
               text_count((int64_t)a->avg_threads, z));
    text_field(v->out, "Batch:", "%lld", (long long)a->batch);
}

/* -- stages ---------------------------------------------------------------*/

/* "conv1, conv2 and 3 more" */
static const char *stage_names(const view *v, const clv_stage *s, char *buf,
                               size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < s->n; i++) {
        const char *name = concurrency_text_name_of(v, s->subgraphs[i]);
        if (i > 0 && (i >= 4 || len + strlen(name) + 24 > size)) {
            snprintf(buf + len, size - len, " and %u more", s->n - i);
            break;
        }
        len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : "",
                                name);
        if (len >= size)
            break;
    }
    return buf;
}

/* Shows the stages. Without --verbose it leaves out stages of one subgraph. */
static void put_stages(const view *v)
{
    static const table_col cols[] = {{"Stage", TABLE_RIGHT},
                                     {"Parallel", TABLE_RIGHT},
                                     {"FLOPs", TABLE_RIGHT},
                                     {"Subgraphs", TABLE_CUT}};
    uint32_t top = v->o->top ? v->o->top : 10, shown = 0;
    uint32_t wide = v->a->wide_stages;
    char names[512];
    table t;
    if (!v->o->verbose && wide == 0)
        return;
    text_heading(v->out, v->o, "%s",
                 v->o->verbose ? "Stages" : "Parallel stages");
    table_start(&t, cols, 4);
    t.margin = 2;
    for (uint32_t i = 0; i < v->a->n_stages; i++) {
        const clv_stage *s = &v->a->stages[i];
        if (!v->o->verbose && (s->n < 2 || shown == top))
            continue;
        shown++;
        table_digits(&t, i);
        table_digits(&t, s->n);
        table_count(&t, s->flops);
        table_text(&t, stage_names(v, s, names, sizeof names));
    }
    table_print(&t, v->o, v->out);
    if (!v->o->verbose && wide > shown)
        text_rest(v->out, v->o, wide - shown);
}

/* -- critical path --------------------------------------------------------*/

static void put_task(const view *v, table *t, uint32_t k)
{
    const clv_task *task = &v->a->tasks[k];
    char w[TEXT_MAX];
    table_digits(t, k);
    table_color(t, task->critical ? PAINT_BOLD : PAINT_NONE);
    table_text(t, concurrency_text_name_of(v, k));
    table_text(t, v->subs[k].pattern);
    table_digits(t, task->stage);
    table_digits(t, task->slack);
    table_text(t, text_weight(v, task->weight, w));
    table_printf(t, "%.2f %%", 100 * task->share);
    table_text(t, text_weight(v, task->slack_time, w));
    table_count(t, task->threads);
    table_printf(t, "%lld-%lld-%lld", (long long)task->min_units,
                 (long long)task->optimal_units, (long long)task->max_units);
}

static void start_tasks(table *t)
{
    static const table_col cols[] = {{"#", TABLE_RIGHT},
                                     {"Subgraph", TABLE_LEFT},
                                     {"Pattern", TABLE_LEFT},
                                     {"Stage", TABLE_RIGHT},
                                     {"Slack", TABLE_RIGHT},
                                     {"Weight", TABLE_RIGHT},
                                     {"Share", TABLE_RIGHT | TABLE_DROP},
                                     {"May wait", TABLE_RIGHT | TABLE_DROP},
                                     {"Threads", TABLE_RIGHT | TABLE_DROP},
                                     {"Units", TABLE_RIGHT | TABLE_DROP}};
    table_start(t, cols, sizeof cols / sizeof *cols);
    t->margin = 2;
}

/* Shows the heaviest subgraphs of the critical path, or every subgraph. */
static void put_tasks(const view *v)
{
    table t;
    uint32_t n = v->a->subgraphs;
    text_heading(v->out, v->o, "Subgraphs");
    start_tasks(&t);
    for (uint32_t k = 0; k < n; k++)
        put_task(v, &t, k);
    table_print(&t, v->o, v->out);
    text_wrap(v->out, v->o, 2,
              "Slack counts stages; 'May wait' is how much later it could "
              "start at no loss. Units: least, best (256 threads each) and "
              "most (32 each) that it can use.");
}

/* Shows the whole path, or both of its ends with dots between them. */
static void concurrency_text_put_path(const view *v)
{
    enum { ENDS = 8 };
    clv_buf line = {0};
    const clv_concurrency_info *a = v->a;
    for (uint32_t i = 0; i < a->n_critical; i++) {
        bool skip = !v->o->verbose && i >= ENDS && i + ENDS < a->n_critical;
        if (skip && i > ENDS)
            continue;
        clv_buf_printf(&line, "%s%s", i ? " > " : "",
                       skip ? "..."
                            : concurrency_text_name_of(v, a->critical[i]));
    }
    text_heading(v->out, v->o, "Critical path");
    text_wrap(v->out, v->o, 2, "%s", line.text ? line.text : "empty");
    v->out->failed = v->out->failed || line.failed;
    clv_buf_free(&line);
}

/* -- batches --------------------------------------------------------------*/

static void put_batches(const view *v)
{
    int64_t units = v->r->device ? (int64_t)v->r->device->units.value : 0;
    table t;
    if (v->r->n_batches == 0)
        return;
    text_heading(v->out, v->o, "Batches");
    table_start(&t, NULL, 0);
    t.margin = 2;
    table_add_col(&t, "Batch", TABLE_RIGHT);
    table_add_col(&t, "Speed-up", TABLE_RIGHT);
    table_add_col(&t, "Avg threads", TABLE_RIGHT);
    if (units)
        table_add_col(&t, "Units filled", TABLE_RIGHT);
    for (uint32_t i = 0; i < v->r->n_batches; i++) {
        clv_batch_row b = clv_concurrency_batch(v->a, v->r->batches[i], units);
        table_digits(&t, b.batch);
        table_printf(&t, "%lldx", (long long)b.speedup);
        table_count(&t, (int64_t)b.avg_threads);
        if (units)
            table_printf(&t, "%.1f %%", 100 * b.units_filled);
    }
    table_print(&t, v->o, v->out);
    text_wrap(v->out, v->o, 2,
              "Theoretical: subgraphs of the widest stage times samples, each "
              "on a unit of its own.");
    if (units)
        text_wrap(v->out, v->o, 2,
                  "%s has %lld compute units: batch %lld fills them, batch "
                  "%lld half of them.",
                  v->r->device->title, (long long)units,
                  (long long)clv_concurrency_fill(v->a, units, 1),
                  (long long)clv_concurrency_fill(v->a, units, 0.5));
}

/* -- schedule -------------------------------------------------------------*/

enum { BAR = 64, STREAMS_SHOWN = 16 };

/* Draws one stream. A cell shows the subgraph that holds most of it; neighbours
 * take turns between two shades. */
static void put_stream(const view *v, const clv_schedule_info *s,
                       uint32_t stream)
{
    double share[BAR] = {0}, cell = s->makespan / BAR;
    bool odd[BAR] = {0};
    uint32_t count = 0;
    for (uint32_t k = 0; k < v->a->subgraphs && cell > 0; k++) {
        const clv_slot *x = &s->slots[k];
        if (x->stream != stream || x->finish <= x->start)
            continue;
        count++;
        for (int i = (int)(x->start / cell); i < BAR && i * cell < x->finish;
             i++) {
            double from = x->start > i * cell ? x->start : i * cell;
            double to = x->finish < (i + 1) * cell ? x->finish : (i + 1) * cell;
            if (to - from > share[i]) {
                share[i] = to - from;
                odd[i] = count % 2;
            }
        }
    }
    clv_buf_printf(v->out, "  %3u ", stream);
    for (int i = 0; i < BAR; i++)
        clv_buf_printf(v->out, "%s",
                       !(share[i] > cell / 4) ? "\u00b7"
                       : odd[i]               ? "\u2588"
                                              : "\u2593");
    clv_buf_printf(v->out, "\n");
}

static void put_schedule(const view *v)
{
    if (!v->r->schedule)
        return;
    const clv_schedule_info *s = clv_schedule_get(v->r->schedule);
    char x[TEXT_MAX], y[TEXT_MAX];
    text_heading(v->out, v->o, "Schedule on %u stream%s", s->streams,
                 s->streams == 1 ? "" : "s");
    text_field(v->out, "Makespan:", "%s (no schedule is below %s)",
               text_weight(v, s->makespan, x),
               text_weight(v, s->lower_bound, y));
    text_field(v->out, "Speed-up:", "%.2fx over one stream", s->speedup);
    text_field(v->out, "Streams busy:", "%.1f %%", 100 * s->utilisation);
    for (uint32_t i = 0; i < s->streams && i < STREAMS_SHOWN; i++)
        put_stream(v, s, i);
    if (s->streams > STREAMS_SHOWN)
        clv_buf_printf(v->out, "  and %u more streams\n",
                       s->streams - STREAMS_SHOWN);
}

/* -- in words -------------------------------------------------------------*/

static void concurrency_text_put_words(const view *v)
{
    const clv_concurrency_info *a = v->a;
    char x[TEXT_MAX];
    text_heading(v->out, v->o, "In words");
    if (a->subgraphs == 0) {
        text_wrap(v->out, v->o, 2, "The graph is empty: nothing runs.");
        return;
    }
    if (a->subgraphs == 1)
        text_wrap(v->out, v->o, 2,
                  "There is one subgraph: nothing runs beside it.");
    else if (a->max_parallel == 1)
        text_wrap(v->out, v->o, 2,
                  "Every subgraph needs the one before it: a single sample "
                  "runs strictly one after the other.");
    else
        text_wrap(v->out, v->o, 2,
                  "Up to %u subgraphs can run at the same time; %u of %u "
                  "share their stage with another.",
                  a->max_parallel, a->independent, a->subgraphs);
    if (a->max_parallel > 1)
        text_wrap(
            v->out, v->o, 2,
            "The critical path holds %s of all FLOPs, so running branches at "
            "the same time gains at most %.2fx%s.",
            text_percent(a->critical_flops, a->flops, x), a->speedup,
            a->speedup < 1.1 ? ", next to nothing" : "");
    text_wrap(v->out, v->o, 2,
              "Inside a subgraph there are %s threads on average: %s",
              text_count((int64_t)a->avg_threads, x),
              a->avg_threads >= 100000
                  ? "that is where a wide device finds its work, and a larger "
                    "batch adds to it."
                  : "few for a wide device; a larger batch multiplies them.");
}

/* -- one model, several models --------------------------------------------*/

void clv__concurrency_text(const clv_concurrency_report *r,
                           const clv_report_opts *o, clv_buf *out)
{
    view v = view_of(r, o, out);
    put_figures(&v);
    if (v.a->subgraphs == 0) {
        concurrency_text_put_words(&v);
        return;
    }
    put_stages(&v);
    concurrency_text_put_path(&v);
    if (o->verbose)
        put_tasks(&v);
    put_batches(&v);
    put_schedule(&v);
    concurrency_text_put_words(&v);
}

void clv__concurrency_compare(const clv_concurrency_report *r, uint32_t n,
                              const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {
        {"Model", TABLE_LEFT},
        {"Stages", TABLE_RIGHT},
        {"Max parallel", TABLE_RIGHT},
        {"Critical path", TABLE_RIGHT},
        {"Avg threads", TABLE_RIGHT},
        {"Speed-up", TABLE_RIGHT},
        {"Subgraphs", TABLE_RIGHT | TABLE_DROP},
        {"On the path", TABLE_RIGHT | TABLE_DROP},
    };
    table t;
    table_start(&t, cols, sizeof cols / sizeof *cols);
    for (uint32_t i = 0; i < n; i++) {
        view v = view_of(&r[i], o, out);
        table_text(&t, clv_graph_name(v.g));
        table_digits(&t, v.a->n_stages);
        table_digits(&t, v.a->max_parallel);
        table_digits(&t, v.a->n_critical);
        table_digits(&t, (int64_t)v.a->avg_threads);
        table_printf(&t, "%.2fx", v.a->speedup);
        table_digits(&t, v.a->subgraphs);
        table_percent(&t, v.a->critical_flops, v.a->flops);
    }
    table_print(&t, o, out);
}
