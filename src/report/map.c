/* map.c - a model on one device in detail, or on several side by side. */
#include "cleave/map.h"
#include "core/jsonw.h"
#include "layout/folded.h"
#include "report/csv.h"
#include "report/table.h"

static const clv_graph *map_graph_of(const clv_map *m)
{
    return clv_profile_graph(clv_cut_profile(clv_map_cut(m)));
}

static const char *sub_name(const clv_map *m, uint32_t k)
{
    uint32_t n;
    const clv_subgraph *s = clv_cut_subgraphs(clv_map_cut(m), &n);
    return clv_graph_node(map_graph_of(m), s[k].nodes[0]).name;
}

/* -- text -----------------------------------------------------------------*/

static void map_put_summary(const clv_map *m, clv_buf *out)
{
    const clv_map_info *t = clv_map_get(m);
    const clv_device *d = clv_map_device(m);
    char a[TEXT_MAX], b[TEXT_MAX];
    uint32_t n;
    clv_map_times(m, &n);
    text_field(out, "Latency", "%s (an estimate: launch + the larger roof)",
               text_time(t->seconds, a));
    text_field(out, "Critical path", "%s", text_time(t->critical_path, a));
    text_field(out, "Launches", "%s of it, %u subgraph%s (%s cut)",
               text_time(t->launch, a), n, n == 1 ? "" : "s",
               clv_cut_strategy(clv_map_cut(m)));
    text_field(out, "Throughput", "%.1f inputs/s at batch %lld", t->throughput,
               (long long)t->batch);
    text_field(out, "Attained", "%s%sOP/s, %.2f %% of the %s peak",
               text_count((int64_t)t->attained, a),
               t->attained < 1000 ? " " : "", 100 * t->share, t->rate);
    if (t->ridge > 0)
        text_field(out, "Ridge point", "%.1f operations per byte", t->ridge);
    else
        text_field(out, "Ridge point", "unknown: no bandwidth is published");
    if (d->memory.value > 0)
        text_field(out, "Memory", "%s of %s: %s", text_bytes(t->memory, a),
                   text_bytes((int64_t)d->memory.value, b),
                   t->fits ? "✓ fits" : "✗ does not fit");
    if (t->cannot)
        text_field(out, "Cannot run", "%u subgraphs: no rate for their type",
                   t->cannot);
}

static void put_bounds(const clv_map *m, const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Bound by", TABLE_LEFT},
                                     {"Subgraphs", TABLE_RIGHT},
                                     {"Time", TABLE_RIGHT},
                                     {"", TABLE_LEFT}};
    const clv_map_info *t = clv_map_get(m);
    char buf[TEXT_MAX];
    table tab;
    table_start(&tab, cols, 4);
    tab.margin = 2;
    for (int b = 0; b < 4; b++) {
        table_text(&tab, clv_bound_name((clv_bound)b));
        table_digits(&tab, t->bound[b]);
        table_text(&tab, text_time(t->bound_seconds[b], buf));
        table_bar(&tab, t->bound_seconds[b], t->seconds, 16);
    }
    text_heading(out, o, "Where the time goes");
    table_print(&tab, o, out);
}

static void put_ranking(const clv_map *m, const clv_report_opts *o,
                        clv_buf *out)
{
    static const table_col cols[] = {
        {"Subgraph", TABLE_CUT}, {"Pattern", TABLE_LEFT},
        {"Time", TABLE_RIGHT},   {"Share", TABLE_RIGHT},
        {"Bound", TABLE_LEFT},   {"Of roof", TABLE_RIGHT},
        {"AI", TABLE_RIGHT},     {"Occupancy", TABLE_RIGHT | TABLE_DROP}};
    uint32_t n;
    const clv_roofline *r = clv_map_times(m, &n);
    const clv_subgraph *subs = clv_cut_subgraphs(clv_map_cut(m), &n);
    const uint32_t *rank = clv_map_ranking(m);
    uint32_t rows = o->verbose ? n : o->top ? o->top : 10;
    char buf[TEXT_MAX];
    table t;
    table_start(&t, cols, 8);
    t.margin = 2;
    for (uint32_t i = 0; i < n && i < rows; i++) {
        uint32_t k = rank[i];
        table_text(&t, sub_name(m, k));
        table_text(&t, subs[k].pattern);
        table_text(&t, text_time(r[k].seconds, buf));
        table_printf(&t, "%.2f %%", 100 * r[k].of_total);
        table_text(&t, clv_bound_name(r[k].bound));
        table_printf(&t, "%.1f %%", 100 * r[k].share);
        table_num(&t, subs[k].intensity);
        table_printf(&t, "%.0f %%", 100 * r[k].occupancy);
    }
    text_heading(out, o, "Slowest first (fix these)");
    table_print(&t, o, out);
}

static void put_devices(const clv_map *const *maps, uint32_t n,
                        const clv_report_opts *o, clv_buf *out)
{
    static const table_col cols[] = {{"Device", TABLE_LEFT},
                                     {"Batch", TABLE_RIGHT},
                                     {"Rate", TABLE_LEFT},
                                     {"Latency", TABLE_RIGHT},
                                     {"Inputs/s", TABLE_RIGHT},
                                     {"Of peak", TABLE_RIGHT},
                                     {"Ridge", TABLE_RIGHT | TABLE_DROP},
                                     {"Compute", TABLE_RIGHT | TABLE_DROP},
                                     {"Memory", TABLE_RIGHT | TABLE_DROP},
                                     {"Launch", TABLE_RIGHT | TABLE_DROP},
                                     {"Fits", TABLE_LEFT}};
    table t;
    char buf[TEXT_MAX];
    table_start(&t, cols, 11);
    for (uint32_t i = 0; i < n; i++) {
        const clv_map_info *m = clv_map_get(maps[i]);
        table_text(&t, clv_map_device(maps[i])->name);
        table_digits(&t, m->batch);
        table_text(&t, m->rate);
        table_text(&t, m->cannot ? "cannot" : text_time(m->seconds, buf));
        table_printf(&t, "%.1f", m->throughput);
        table_printf(&t, "%.1f %%", 100 * m->share);
        table_num(&t, m->ridge);
        for (int b = 0; b < 3; b++)
            table_digits(&t, m->bound[b]);
        table_text(&t, m->fits ? "yes" : "no");
    }
    table_print(&t, o, out);
    clv_buf_printf(out, "\nCompute, Memory, Launch: subgraphs bound by each. "
                        "All times are estimates.\n");
}

static void maps_text(const clv_map *const *maps, uint32_t n,
                      const clv_report_opts *o, clv_buf *out)
{
    text_heading(out, o, "Roofline: %s", clv_graph_name(map_graph_of(maps[0])));
    if (n > 1) {
        put_devices(maps, n, o, out);
        return;
    }
    clv_buf_printf(out, "  on %s\n", clv_map_device(maps[0])->title);
    map_put_summary(maps[0], out);
    put_bounds(maps[0], o, out);
    put_ranking(maps[0], o, out);
}

/* -- JSON and CSV ---------------------------------------------------------*/

static void put_map(jsonw *w, const clv_map *m, const folded_cut *f)
{
    const clv_map_info *t = clv_map_get(m);
    uint32_t n;
    const clv_roofline *r = clv_map_times(m, &n);
    const clv_subgraph *subs = clv_cut_subgraphs(clv_map_cut(m), &n);
    jsonw_object(w, NULL);
    jsonw_str(w, "device", clv_map_device(m)->name);
    jsonw_int(w, "batch", t->batch);
    jsonw_str(w, "rate", t->rate);
    jsonw_bool(w, "estimate", true);
    jsonw_num(w, "seconds", t->seconds);
    jsonw_num(w, "critical_path_seconds", t->critical_path);
    jsonw_num(w, "launch_seconds", t->launch);
    jsonw_num(w, "throughput", t->throughput);
    jsonw_num(w, "attained_ops", t->attained);
    jsonw_num(w, "peak_share", t->share);
    jsonw_num(w, "joules", t->joules);
    jsonw_num(w, "ridge", t->ridge);
    jsonw_int(w, "memory_bytes", t->memory);
    jsonw_bool(w, "fits", t->fits);
    jsonw_int(w, "cannot", t->cannot);
    jsonw_object_flat(w, "bound");
    for (int b = 0; b < 4; b++)
        jsonw_int(w, clv_bound_name((clv_bound)b), t->bound[b]);
    jsonw_end(w);
    jsonw_array(w, "subgraphs");
    for (uint32_t k = 0; k < n; k++) {
        if (clv__folded_number(f, k) == CLV_NONE)
            continue;
        jsonw_object(w, NULL);
        jsonw_int(w, "id", clv__folded_number(f, k));
        if (clv__folded_times(f, k) > 1)
            jsonw_int(w, "folded", clv__folded_times(f, k));
        jsonw_str(w, "name", sub_name(m, k));
        jsonw_str(w, "pattern", subs[k].pattern);
        jsonw_num(w, "seconds", r[k].seconds);
        jsonw_num(w, "compute_seconds", r[k].compute);
        jsonw_num(w, "memory_seconds", r[k].memory);
        jsonw_str(w, "bound", clv_bound_name(r[k].bound));
        jsonw_num(w, "occupancy", r[k].occupancy);
        jsonw_num(w, "roof_share", r[k].share);
        jsonw_num(w, "arithmetic_intensity", subs[k].intensity);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void maps_json(const clv_map *const *maps, uint32_t n,
                      const clv_layout *fold, clv_buf *out)
{
    folded_cut f;
    jsonw w;
    if (!clv__folded_cut_make(fold, clv_map_cut(maps[0]), &f)) {
        out->failed = true;
        return;
    }
    jsonw_start(&w, out, JSONW_LINES);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "model", clv_graph_name(map_graph_of(maps[0])));
    jsonw_str(&w, "strategy", clv_cut_strategy(clv_map_cut(maps[0])));
    jsonw_array(&w, "devices");
    for (uint32_t i = 0; i < n; i++)
        put_map(&w, maps[i], &f);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
    clv__folded_cut_free(&f);
}

static void maps_csv(const clv_map *const *maps, uint32_t n, clv_buf *out)
{
    static const char *const head[] = {
        "device",  "batch",  "id",    "name",      "pattern",   "seconds",
        "compute", "memory", "bound", "occupancy", "roof_share"};
    csv_row(out, head, 11);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t count;
        const clv_roofline *r = clv_map_times(maps[i], &count);
        const clv_subgraph *subs =
            clv_cut_subgraphs(clv_map_cut(maps[i]), &count);
        for (uint32_t k = 0; k < count; k++) {
            csv_text(out, clv_map_device(maps[i])->name);
            csv_int(out, clv_map_get(maps[i])->batch);
            csv_int(out, k);
            csv_text(out, sub_name(maps[i], k));
            csv_text(out, subs[k].pattern);
            csv_num(out, r[k].seconds);
            csv_num(out, r[k].compute);
            csv_num(out, r[k].memory);
            csv_text(out, clv_bound_name(r[k].bound));
            csv_num(out, r[k].occupancy);
            csv_num(out, r[k].share);
            csv_end(out);
        }
    }
}

void clv_report_maps(const clv_map *const *maps, uint32_t n,
                     const clv_report_opts *opts, clv_buf *out)
{
    clv_report_opts own;
    if (!(opts = clv__report_opts(opts, &own, out)))
        return;
    if (opts->format == CLV_REPORT_JSON)
        maps_json(maps, n, opts->fold, out);
    else if (opts->format == CLV_REPORT_CSV)
        maps_csv(maps, n, out);
    else
        maps_text(maps, n, opts, out);
}
