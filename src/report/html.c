/* html.c - one page with everything in it.
 *
 * The page is a built file (web/) with two marks in it, for the title and for
 * the data. Data are the JSON reports of the commands, byte for byte, each in a
 * block of its own that the page unpacks when a view needs it:
 *
 *     <script type="application/x-cleave" id="profile-0">eNrs...</script>
 *
 * (Profiles leave the parallelism of layers out, half of their bytes.) So no
 * number in the page is computed anywhere else. Base64 has no letter that
 * means something in HTML: names of a model cannot leave their block. */
#include "report/html.h"

#include "core/jsonw.h"
#include "report/pack.h"
#include "report/svg.h"

#include <string.h>

static const char TITLE_MARK[] = "<!-- title -->",
                  DATA_MARK[] = "<!-- data -->";

/* Packs `text`, which is freed, into a block called NAME-MODEL. */
static void html_block(clv_buf *out, const char *name, uint32_t model,
                       clv_buf *text)
{
    clv_buf_printf(out, "<script type=\"application/x-cleave\" id=\"%s-%u\">",
                   name, model);
    clv__pack(text, out);
    clv_buf_printf(out, "</script>\n");
    clv_buf_free(text);
}

/* Large models are told by the rows of their layout. */
static clv_report_opts html_json(const clv_html_model *m)
{
    return (clv_report_opts){.size = sizeof(clv_report_opts),
                             .format = CLV_REPORT_JSON,
                             .brief = true,
                             .fold = m ? m->layout : NULL};
}

static void html_cut(clv_buf *out, const char *name, uint32_t i,
                     const clv_cut *c, const clv_summary *s,
                     const clv_report_opts *o)
{
    clv_buf text = {0};
    if (!c || !s)
        return;
    clv_report_partition(c, s, o, &text);
    html_block(out, name, i, &text);
}

/* Every result of one model that there is. */
static void html_model(clv_buf *out, const clv_html_model *m, uint32_t i)
{
    const clv_graph *g = clv_profile_graph(m->profile);
    const clv_report_opts o = html_json(m);
    clv_buf text = {0};
    clv_report_profile(m->profile, &o, &text);
    html_block(out, "profile", i, &text);
    clv__html_layout(g, clv_layout_get(m->layout), &text);
    html_block(out, "layout", i, &text);
    clv__report_graph(g, clv_layout_get(m->layout), &text);
    html_block(out, "graph", i, &text);
    html_cut(out, "fusion", i, m->fusion, m->fusion_summary, &o);
    html_cut(out, "capability", i, m->capability, m->capability_summary, &o);
    html_cut(out, "placement", i, m->placement, m->placement_summary, &o);
    html_cut(out, "pipeline", i, m->pipeline, m->pipeline_summary, &o);
    if (m->memory) {
        clv_report_memory(m->memory, &o, &text);
        html_block(out, "memory", i, &text);
    }
    if (m->concurrency) {
        clv_report_concurrency(m->concurrency, 1, &o, &text);
        html_block(out, "concurrency", i, &text);
    }
    if (m->whatif) {
        clv__html_whatif(g, m->profile, m->whatif, &text);
        html_block(out, "whatif", i, &text);
    }
    if (m->n_maps) {
        clv_report_maps(m->maps, m->n_maps, &o, &text);
        html_block(out, "map", i, &text);
    }
}

/* Peaks in each type, for operators that compute in another than most. */
static void html_peaks(jsonw *w, const clv_device *d)
{
    const clv_figure_info *key;
    jsonw_object_flat(w, "peaks");
    for (uint32_t i = 0; (key = clv_figure_at(i)) != NULL; i++) {
        double peak = clv_device_figure(d, i)->value;
        if (!strcmp(key->unit, "op/s") && peak > 0)
            jsonw_num(w, key->key, peak);
    }
    jsonw_end(w);
}

/* Figures of the devices that the roofs are drawn with. */
static void html_devices(clv_buf *out, const clv_html_model *m)
{
    clv_buf text = {0};
    jsonw w;
    jsonw_start(&w, &text, JSONW_COMPACT);
    jsonw_array(&w, NULL);
    for (uint32_t i = 0; i < m->n_maps; i++) {
        const clv_device *d = clv_map_device(m->maps[i]);
        const clv_map_info *info = clv_map_get(m->maps[i]);
        jsonw_object(&w, NULL);
        jsonw_str(&w, "device", d->name);
        jsonw_str(&w, "title", d->title);
        jsonw_num(&w, "peak", info->peak);
        html_peaks(&w, d);
        jsonw_num(&w, "bandwidth", d->bandwidth.value);
        jsonw_num(&w, "memory", d->memory.value);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_finish(&w);
    html_block(out, "devices", 0, &text);
}

static void html_meta(clv_buf *out, const clv_html *h)
{
    clv_buf text = {0};
    jsonw w;
    jsonw_start(&w, &text, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_int(&w, "schema", 1);
    jsonw_str(&w, "version", clv_version());
    jsonw_str(&w, "command", h->command ? h->command : "");
    jsonw_int(&w, "models", h->n_models);
    jsonw_array(&w, "notes");
    for (uint32_t i = 0; i < h->n_notes; i++)
        jsonw_str(&w, NULL, h->notes[i]);
    jsonw_end(&w);
    jsonw_array(&w, "warnings");
    for (uint32_t m = 0; m < h->n_models; m++) {
        const clv_graph *g = clv_profile_graph(h->models[m].profile);
        const char *text_of;
        for (uint32_t i = 0; (text_of = clv_graph_warning(g, i)) != NULL; i++)
            jsonw_str(&w, NULL, text_of);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_finish(&w);
    html_block(out, "meta", 0, &text);
}

static void html_title(clv_buf *out, const clv_html *h)
{
    for (uint32_t i = 0; i < h->n_models; i++) {
        if (i)
            clv_buf_printf(out, " and ");
        svg_escape(out,
                   clv_graph_name(clv_profile_graph(h->models[i].profile)));
    }
    clv_buf_printf(out, " - cleave report");
}

static void html_ids(jsonw *w, const char *key, const uint32_t *ids, uint32_t n)
{
    jsonw_array_flat(w, key);
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == CLV_NONE)
            jsonw_int(w, NULL, -1);
        else
            jsonw_int(w, NULL, ids[i]);
    jsonw_end(w);
}

/* Both models as one graph, which the page takes for a third model: what its
 * layers cost is in the profiles of the two. */
static void html_merged(clv_buf *out, const clv_html *h)
{
    const clv_graph *g = clv_merged_graph(h->merged);
    uint32_t n = clv_graph_num_nodes(g), third = h->n_models;
    clv_buf text = {0};
    jsonw w;
    clv__html_layout(g, clv_layout_get(h->merged_layout), &text);
    html_block(out, "layout", third, &text);
    clv_report_graph(g, &text);
    html_block(out, "graph", third, &text);
    jsonw_start(&w, &text, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    html_ids(&w, "before", clv_merged_before(h->merged), n);
    html_ids(&w, "after", clv_merged_after(h->merged), n);
    jsonw_end(&w);
    jsonw_finish(&w);
    html_block(out, "both", 0, &text);
}

static void html_data(clv_buf *out, const clv_html *h)
{
    html_meta(out, h);
    html_devices(out, &h->models[0]);
    for (uint32_t i = 0; i < h->n_models; i++)
        html_model(out, &h->models[i], i);
    if (h->compare) {
        const clv_report_opts o = html_json(NULL);
        clv_buf text = {0};
        clv_report_compare(h->compare, &o, &text);
        html_block(out, "compare", 0, &text);
    }
    if (h->merged && h->merged_layout)
        html_merged(out, h);
}

void clv_report_html(const clv_html *given, clv_buf *out)
{
    clv_html own;
    const clv_page_file *page = &clv__page_files[0];
    const char *title = strstr(page->text, TITLE_MARK);
    const char *data = strstr(page->text, DATA_MARK);
    if (clv__read_sized(given, &own, sizeof own, "clv_html", NULL) != CLV_OK ||
        own.n_models == 0 || !title || !data) {
        out->failed = true;
        return;
    }
    clv_buf_add(out, page->text, (size_t)(title - page->text));
    html_title(out, &own);
    title += sizeof TITLE_MARK - 1;
    clv_buf_add(out, title, (size_t)(data - title));
    html_data(out, &own);
    data += sizeof DATA_MARK - 1;
    clv_buf_add(out, data, page->size - (size_t)(data - page->text));
}
