/* show.c - what was predicted and what was measured, as text or JSON. */
#include "rank.h"

#include "core/jsonw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the measured times of stages and links predict of a batch. */
typedef struct forecast {
    double batch, bound, bubble;
    /* Of the batch: all stages at their fastest, and messages at once; all
     * stages slow, and each message waits for the longest step of its maker. */
    double low, high;
    double formula; /* bubble of equal stages: (p - 1) / (m + p - 1) */
    double slowest; /* rank, per micro-batch */
} forecast;

/* Runs the schedule with these seconds per part; look: per part, seconds that
 * its messages wait before they move, or NULL. */
static clv_status show_simulate(const rank_world *w, const double *seconds,
                                const double *look, clv_sim_info *out,
                                clv_err *err)
{
    uint32_t n = w->plan->n_parts, n_links = 0;
    clv_sim *sim = NULL;
    clv_sim_stage *stages = calloc(n, sizeof *stages);
    clv_sim_link *links = calloc((size_t)w->n_links + 1, sizeof *links);
    if (!stages || !links) {
        free(stages);
        free(links);
        return rank_fail(err, CLV_NOMEM, "out of memory");
    }
    for (uint32_t k = 0; k < n; k++)
        stages[k] = (clv_sim_stage){seconds[k], (uint32_t)w->seat[k].rank,
                                    w->seat[k].replicas};
    for (uint32_t i = 0; i < w->n_links; i++) {
        const rank_link *l = &w->links[i];
        if (l->from == CLV_NONE || l->to == CLV_NONE)
            continue;
        double wait = look ? look[l->from] : 0;
        links[n_links++] = (clv_sim_link){
            .from = l->from, .to = l->to, .seconds = l->seconds + wait};
    }
    const clv_sim_opts o = {.size = sizeof o,
                            .stages = stages,
                            .links = links,
                            .n_stages = n,
                            .n_links = n_links,
                            .n_devices = (uint32_t)w->ranks,
                            .micro_batches = w->micro,
                            .window = w->window < w->micro ? w->window : 0};
    clv_status st = clv_sim_new(&o, &sim, err);
    if (st == CLV_OK)
        *out = *clv_sim_get(sim);
    clv_sim_free(sim);
    free(stages);
    free(links);
    return st;
}

static clv_status show_forecast(const rank_world *w, const rank_stats *s,
                                forecast *f, clv_err *err)
{
    clv_sim_info usual = {0}, low = {0}, high = {0};
    for (int r = 0; r < w->ranks; r++) {
        double each = 0; /* of a micro-batch, of all that the rank runs */
        for (uint32_t k = 0; k < w->plan->n_parts; k++)
            if (r >= w->seat[k].rank &&
                r < w->seat[k].rank + (int)w->seat[k].replicas)
                each += s->stage[k] / w->seat[k].replicas;
        f->slowest = each > f->slowest ? each : f->slowest;
    }
    clv_status st = show_simulate(w, s->stage, NULL, &usual, err);
    if (st == CLV_OK)
        st = show_simulate(w, s->least, NULL, &low, err);
    if (st == CLV_OK)
        st = show_simulate(w, s->slow, s->look, &high, err);
    f->batch = usual.makespan;
    f->bound = usual.bound;
    f->bubble = usual.bubble;
    f->low = low.makespan;
    f->high = high.makespan;
    f->formula =
        (double)(w->ranks - 1) / (double)(w->micro + (uint32_t)w->ranks - 1);
    return st;
}

/* Seconds the cut predicts for part k: of its device, or its share of the FLOPs
 * of what all parts took. */
static double show_predicted(const rank_world *w, const rank_stats *s,
                             uint32_t k)
{
    double flops = 0, seconds = 0;
    const clv_bundle_part *p = w->plan->parts;
    if (p[k].seconds > 0)
        return p[k].seconds;
    for (uint32_t i = 0; i < w->plan->n_parts; i++) {
        flops += (double)p[i].flops;
        seconds += s->stage[i];
    }
    return flops > 0 ? seconds * (double)p[k].flops / flops : 0;
}

static double show_bubble(const rank_world *w, const rank_stats *s,
                          double batch)
{
    double busy = 0;
    for (uint32_t k = 0; k < w->plan->n_parts; k++)
        busy += s->stage[k] * w->micro;
    double share = batch > 0 ? 1 - busy / (batch * w->ranks) : 0;
    return share > 0 ? share : 0;
}

static void show_end(char *buf, size_t size, uint32_t part, const char *other)
{
    if (part == CLV_NONE)
        snprintf(buf, size, "%s", other);
    else
        snprintf(buf, size, "%u", part);
}

typedef struct page {
    const rank_world *w;
    const rank_stats *s;
    const rank_verdict *v;
    forecast f;
    clv_time_stats t;
    double samples; /* per batch */
} page;

static void show_text(const page *g, clv_buf *b)
{
    const rank_world *w = g->w;
    const clv_bundle_plan *p = w->plan;
    clv_buf_printf(b,
                   "%s: %u partitions on %d ranks, %s, %u micro-batch%s, %u "
                   "thread%s each\n\n",
                   p->model, p->n_parts, w->ranks,
                   w->window < w->micro ? "1f1b" : "gpipe", w->micro,
                   w->micro == 1 ? "" : "es", w->threads,
                   w->threads == 1 ? "" : "s");
    clv_buf_printf(b, "  Part  Ranks    Device      Predicted   Measured    "
                      "Weights\n");
    for (uint32_t k = 0; k < p->n_parts; k++) {
        char ranks[40];
        const rank_seat *s = &w->seat[k];
        snprintf(ranks, sizeof ranks, s->replicas > 1 ? "%d-%d" : "%d", s->rank,
                 s->rank + (int)s->replicas - 1);
        clv_buf_printf(
            b, "  %4u  %-7s  %-10.10s %8.3f ms%c %8.3f ms %7.1f MB\n", k, ranks,
            p->parts[k].device, 1e3 * show_predicted(w, g->s, k),
            p->parts[k].seconds > 0 ? ' ' : '*', 1e3 * g->s->stage[k],
            1e-6 * (double)p->parts[k].weight_bytes);
    }
    if (p->n_parts && !(p->parts[0].seconds > 0))
        clv_buf_printf(b,
                       "        * its share of all FLOPs; --hardware host at "
                       "the cut predicts seconds\n");
    clv_buf_printf(b,
                   "\n  Link                 Bytes        Time      Waited\n");
    for (uint32_t i = 0; i < w->n_links; i++) {
        const rank_link *l = &w->links[i];
        char from[20], to[20], both[44];
        show_end(from, sizeof from, l->from, "input");
        show_end(to, sizeof to, l->to, "output");
        snprintf(both, sizeof both, "%s -> %s", from, to);
        clv_buf_printf(b, "  %-16s %10lld %8.3f ms %8.3f ms\n", both,
                       (long long)l->bytes, 1e3 * l->seconds,
                       1e3 * l->wait / w->batches);
    }
    clv_buf_printf(
        b,
        "\n  Batch       %.3f ms, 95th percentile %.3f ms, of %u\n"
        "  Predicted   %.3f ms by the schedule of the measured "
        "stages and links (%.2f of it reached);\n"
        "              %.3f to %.3f ms by their fastest, and by slow "
        "times (95 of 100) and late messages\n"
        "  Throughput  %.1f samples/s; bound %.1f (%.3f ms in the "
        "busiest rank)\n"
        "  Bubble      %.1f %%; schedule %.1f %%; equal stages "
        "(p-1)/(m+p-1) %.1f %%\n"
        "  Under way   %u micro-batches at most\n",
        1e3 * g->t.median, 1e3 * g->t.p95, g->t.runs, 1e3 * g->f.batch,
        g->t.median > 0 ? g->f.batch / g->t.median : 0, 1e3 * g->f.low,
        1e3 * g->f.high, g->t.median > 0 ? g->samples / g->t.median : 0,
        g->f.bound > 0 ? g->samples / (g->f.slowest * w->micro) : 0,
        1e3 * g->f.slowest, 100 * show_bubble(w, g->s, g->t.median),
        100 * g->f.bubble, 100 * g->f.formula, g->s->alive);
    if (g->v->done)
        clv_buf_printf(b,
                       "  Verified    %s one process, which takes %.3f ms: "
                       "%.2fx\n",
                       g->v->equal ? "equal, bit for bit, to" : "NOT equal to",
                       1e3 * g->v->alone,
                       g->t.median > 0 ? g->v->alone / g->t.median : 0);
    if (g->v->against)
        clv_buf_printf(b, "  Whole       %s differs by %.3g relative\n",
                       g->v->against, g->v->largest);
}

static void show_json(const page *g, clv_buf *b)
{
    const rank_world *w = g->w;
    const clv_bundle_plan *p = w->plan;
    jsonw j;
    jsonw_start(&j, b, JSONW_LINES);
    jsonw_object(&j, NULL);
    jsonw_int(&j, "schema", 1);
    jsonw_str(&j, "model", p->model);
    jsonw_str(&j, "strategy", p->strategy);
    jsonw_int(&j, "ranks", w->ranks);
    jsonw_int(&j, "micro_batches", w->micro);
    jsonw_str(&j, "schedule", w->window < w->micro ? "1f1b" : "gpipe");
    jsonw_int(&j, "threads", w->threads);
    jsonw_array(&j, "partitions");
    for (uint32_t k = 0; k < p->n_parts; k++) {
        jsonw_object(&j, NULL);
        jsonw_int(&j, "id", k);
        jsonw_int(&j, "rank", w->seat[k].rank);
        jsonw_int(&j, "replicas", w->seat[k].replicas);
        jsonw_str(&j, "device", p->parts[k].device);
        jsonw_num(&j, "predicted_seconds", show_predicted(w, g->s, k));
        jsonw_num(&j, "measured_seconds", g->s->stage[k]);
        jsonw_num(&j, "fastest_seconds", g->s->least[k]);
        jsonw_int(&j, "weight_bytes", p->parts[k].weight_bytes);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_array(&j, "links");
    for (uint32_t i = 0; i < w->n_links; i++) {
        const rank_link *l = &w->links[i];
        jsonw_object(&j, NULL);
        if (l->from == CLV_NONE)
            jsonw_null(&j, "from");
        else
            jsonw_int(&j, "from", l->from);
        if (l->to == CLV_NONE)
            jsonw_null(&j, "to");
        else
            jsonw_int(&j, "to", l->to);
        jsonw_int(&j, "bytes", l->bytes);
        jsonw_num(&j, "seconds", l->seconds);
        jsonw_num(&j, "waited_seconds", l->wait / w->batches);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_num(&j, "batch_seconds", g->t.median);
    jsonw_num(&j, "batch_seconds_p95", g->t.p95);
    jsonw_num(&j, "batch_seconds_fastest", g->s->batch[0]);
    jsonw_num(&j, "predicted_batch_seconds", g->f.batch);
    jsonw_num(&j, "predicted_batch_seconds_low", g->f.low);
    jsonw_num(&j, "predicted_batch_seconds_high", g->f.high);
    jsonw_num(&j, "samples_per_second",
              g->t.median > 0 ? g->samples / g->t.median : 0);
    jsonw_num(&j, "bound_samples_per_second",
              g->f.slowest > 0 ? g->samples / (g->f.slowest * w->micro) : 0);
    jsonw_num(&j, "bubble", show_bubble(w, g->s, g->t.median));
    jsonw_num(&j, "predicted_bubble", g->f.bubble);
    jsonw_int(&j, "under_way", g->s->alive);
    if (g->v->done) {
        jsonw_bool(&j, "equal", g->v->equal);
        jsonw_num(&j, "one_process_seconds", g->v->alone);
    }
    if (g->v->against)
        jsonw_num(&j, "relative_difference", g->v->largest);
    jsonw_end(&j);
    jsonw_finish(&j);
}

clv_status rank_show(const rank_world *w, const rank_stats *s,
                     const rank_verdict *v, clv_err *err)
{
    page g = {.w = w, .s = s, .v = v};
    clv_buf b = {0};
    clv_status st = show_forecast(w, s, &g.f, err);
    if (st != CLV_OK)
        return st;
    g.t = clv_time_stats_of(s->batch, (uint32_t)w->o.repeat);
    int64_t each = 1;
    if (w->plan->n_inputs) {
        const clv_tensor *t = &w->plan->values[w->plan->inputs[0]].type;
        each = t->rank ? t->dims[0] : 1;
    }
    g.samples = (double)each * w->micro;
    if (w->o.json)
        show_json(&g, &b);
    else
        show_text(&g, &b);
    st = clv_buf_check(&b, err);
    if (st == CLV_OK && !(w->o.quiet && !w->o.json) &&
        fwrite(b.text, 1, b.len, stdout) != b.len)
        st = rank_fail(err, CLV_IO, "cannot write to standard output");
    clv_buf_free(&b);
    return st;
}
