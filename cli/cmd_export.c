/* cmd_export.c - writes a model to a file, in the format of its ending.
 *
 * A format is a row of the table below: its ending and the function that fills
 * the file. */
#include "export.h"
#include "strategy.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

typedef clv_status export_fn(const options *o, const clv_graph *g,
                             const char *ending, clv_buf *out, clv_err *err);

/* -- pictures -------------------------------------------------------------*/

/* A picture with more boxes than MOST_BOXES is folded along modules, as deep as
 * MOST_FOLDED boxes allow and at most DEEPEST levels. */
enum { MOST_BOXES = 60, MOST_FOLDED = 40, DEEPEST = 16 };

static clv_status count_boxes(const clv_profile *p, uint32_t depth,
                              uint32_t *boxes, clv_err *err)
{
    clv_cut *c;
    clv_status s = clv_cut_modules(p, depth, &c, err);
    if (s == CLV_OK)
        clv_cut_subgraphs(c, boxes);
    clv_cut_free(c);
    return s;
}

/* Cuts along modules: at --depth, or as deep as MOST_FOLDED boxes allow. */
static clv_status export_fold(const options *o, const clv_profile *p,
                              clv_cut **cut, clv_err *err)
{
    uint32_t depth = 1, boxes = 0;
    clv_status s = CLV_OK;
    if (o->depth)
        depth = o->depth > UINT32_MAX ? UINT32_MAX : (uint32_t)o->depth;
    for (uint32_t d = 2; !o->depth && d <= DEEPEST && s == CLV_OK; d++) {
        s = count_boxes(p, d, &boxes, err);
        if (boxes > MOST_FOLDED)
            break;
        depth = d;
    }
    return s == CLV_OK ? clv_cut_modules(p, depth, cut, err) : s;
}

static clv_status cut_for_picture(const options *o, const clv_profile *p,
                                  clv_cut **cut, clv_err *err)
{
    uint32_t n;
    if (o->depth)
        return export_fold(o, p, cut, err);
    clv_status s = make_cut(o, "fusion", p, cut, err);
    if (s != CLV_OK || o->verbose)
        return s;
    clv_cut_subgraphs(*cut, &n);
    if (n <= MOST_BOXES)
        return CLV_OK;
    clv_cut_free(*cut);
    *cut = NULL;
    char text[100];
    snprintf(text, sizeof text,
             "%u subgraphs: folded along modules (--verbose draws them all)",
             n);
    if (!o->quiet)
        say("note: ", text);
    return export_fold(o, p, cut, err);
}

static clv_status draw_cut(const options *o, const clv_cut *cut, clv_buf *out,
                           clv_err *err)
{
    clv_concurrency_opts opts = {.size = sizeof opts, .dtype = o->dtype};
    clv_concurrency *a = NULL;
    clv_status s = CLV_OK;
    if (o->hardware.n)
        s = find_device(o, o->hardware.items[0], &opts.device, err);
    if (s == CLV_OK)
        s = clv_concurrency_new(cut, &opts, &a, err);
    if (s == CLV_OK)
        clv_report_dot(a, out);
    clv_concurrency_free(a);
    return s;
}

static clv_status export_dot(const options *o, const clv_graph *g,
                             const char *ending, clv_buf *out, clv_err *err)
{
    (void)ending;
    clv_profile *p;
    clv_cut *cut = NULL;
    clv_status s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK)
        s = cut_for_picture(o, p, &cut, err);
    if (s == CLV_OK)
        s = draw_cut(o, cut, out, err);
    clv_cut_free(cut);
    clv_profile_free(p);
    return s;
}

static clv_status export_picture(const options *o, const clv_graph *g,
                                 const char *ending, clv_buf *out, clv_err *err)
{
    clv_buf dot = {0};
    clv_status s = export_dot(o, g, ending, &dot, err);
    if (s == CLV_OK && dot.failed)
        s = fail(err, CLV_NOMEM, "out of memory");
    if (s == CLV_OK)
        s = graphviz(&dot, ending + 1, out, err);
    clv_buf_free(&dot);
    return s;
}

/* -- ONNX -----------------------------------------------------------------*/

/* none, zeros, random or random:SEED */
static clv_status read_weights(const options *o, clv_onnx_opts *opts,
                               clv_err *err)
{
    const char *w = o->weights ? o->weights : "random";
    char *end = "";
    opts->draw_weights = o->weights != NULL;
    if (!strcmp(w, "none"))
        opts->weights = CLV_WEIGHTS_NONE;
    else if (!strcmp(w, "zeros"))
        opts->weights = CLV_WEIGHTS_ZEROS;
    else if (!strncmp(w, "random:", 7) && w[7])
        opts->seed = strtoull(w + 7, &end, 10);
    else if (strcmp(w, "random"))
        end = "x";
    return *end ? fail(err, CLV_USAGE,
                       "--weights takes none, zeros, random or random:SEED, "
                       "not '%s'",
                       w)
                : CLV_OK;
}

static clv_status export_onnx(const options *o, const clv_graph *g,
                              clv_err *err)
{
    clv_onnx_opts opts = {.size = sizeof opts, .opset = o->opset};
    clv_status s = read_weights(o, &opts, err);
    return s == CLV_OK ? clv_export_onnx(g, o->output, &opts, err) : s;
}

/* -- JSON -----------------------------------------------------------------*/

static clv_status export_netron(const options *o, const clv_graph *g,
                                clv_buf *out, clv_err *err)
{
    (void)o;
    clv_profile *p;
    clv_status s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK)
        clv_report_netron(p, out);
    clv_profile_free(p);
    return s;
}

static clv_status export_explorer(const options *o, const clv_graph *g,
                                  clv_buf *out, clv_err *err)
{
    (void)o;
    clv_profile *p;
    clv_status s = clv_profile_new(g, NULL, &p, err);
    if (s == CLV_OK)
        clv_report_explorer(p, out);
    clv_profile_free(p);
    return s;
}

/* For viewers of others, by the end of the name. */
static const struct overlay {
    const char *ending;
    clv_status (*write)(const options *o, const clv_graph *g, clv_buf *out,
                        clv_err *err);
} overlays[] = {
    {".netron.json", export_netron},
    {".explorer.json", export_explorer},
    {".trace.json", trace_write},
};

static const struct overlay *overlay_of(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof overlays / sizeof *overlays; i++) {
        size_t tail = strlen(overlays[i].ending);
        if (n >= tail && same_word(path + n - tail, overlays[i].ending))
            return &overlays[i];
    }
    return NULL;
}

/* Any other .json is the graph itself. */
static clv_status export_json(const options *o, const clv_graph *g,
                              const char *ending, clv_buf *out, clv_err *err)
{
    const struct overlay *x = overlay_of(o->output);
    (void)ending;
    if (x)
        return x->write(o, g, out, err);
    clv_report_graph(g, out);
    return CLV_OK;
}

/* -- formats --------------------------------------------------------------*/

static const struct format {
    const char *ending;
    export_fn *write; /* NULL: ONNX, which streams its weights */
} formats[] = {
    {".onnx", NULL},          {".json", export_json},
    {".dot", export_dot},     {".svg", export_picture},
    {".png", export_picture}, {".pdf", export_picture},
};

enum { N_FORMATS = sizeof formats / sizeof *formats };

static const struct format *find_format(const char *path, clv_err *err)
{
    const char *end = strrchr(path, '.');
    char known[128] = "";
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (end && same_word(end, formats[i].ending))
            return &formats[i];
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
                 formats[i].ending);
    }
    fail(err, CLV_USAGE, "export writes %s files, not '%s'", known, path);
    return NULL;
}

clv_status cmd_export(const options *o, clv_err *err)
{
    clv_graph *g = NULL;
    clv_buf out = {0};
    if (!o->output)
        return fail(err, CLV_USAGE, "export needs a file: --output FILE");
    const struct format *f = find_format(o->output, err);
    if (!f)
        return CLV_USAGE;
    options own = *o;
    own.folded = !f->write; /* ONNX has operators with bodies too */
    clv_status s = open_model(&own, o->args.items[0], &g, err);
    if (s == CLV_OK && !f->write)
        s = export_onnx(o, g, err);
    else if (s == CLV_OK)
        s = f->write(o, g, f->ending, &out, err);
    if (s == CLV_OK && f->write)
        s = write_file(o->output, &out, err);
    clv_buf_free(&out);
    clv_graph_free(g);
    return s;
}
