/* report_whatif.c - what the page of `cleave report` answers "what if" with: a
 * model in several types at several batches, and the polynomials through them.
 */
#include "report_whatif.h"

#include <stdlib.h>
#include <string.h>

/* The type as it is, and those that --dtype takes. */
static const clv_dtype whatif_types[WHATIF_TYPES] = {CLV_NODTYPE, CLV_FLOAT16,
                                                     CLV_BFLOAT16, CLV_INT8};

/* A batch that the polynomials must predict, and the operators above which a
 * page leaves all this out. */
enum {
    EXTRA_BATCH = 7,
    MOST_OPERATORS = 8000,
    N_POINTS = CLV_SCALING_POINTS + 1
};

typedef struct whatif_points {
    clv_graph *g[WHATIF_TYPES][N_POINTS];
    clv_profile *p[WHATIF_TYPES][N_POINTS];
} whatif_points;

static clv_status open_point(const options *o, const char *model,
                             clv_dtype dtype, int64_t batch, clv_graph **g,
                             clv_profile **p, clv_err *err)
{
    clv_profile_opts opts = {.size = sizeof opts};
    options own = *o;
    own.quiet = true;
    if (dtype != CLV_NODTYPE)
        own.dtype = dtype;
    if (batch) {
        own.batch.items = &batch;
        own.batch.n = 1;
    }
    if (o->count)
        opts.convention = clv_convention_find(o->count);
    clv_status s = open_model(&own, model, g, err);
    return s == CLV_OK ? clv_profile_new(*g, &opts, p, err) : s;
}

/* Opens the model in every type, at 1, 2, 3 and EXTRA_BATCH, or as it is. */
static clv_status open_points(const options *o, const char *model, bool batches,
                              whatif_points *all, clv_err *err)
{
    clv_status s = CLV_OK;
    for (int t = 0; t < WHATIF_TYPES; t++)
        for (int i = 0; s == CLV_OK && i < (batches ? N_POINTS : 1); i++) {
            int64_t batch = i == CLV_SCALING_POINTS ? EXTRA_BATCH : i + 1;
            s = open_point(o, model, whatif_types[t], batches ? batch : 0,
                           &all->g[t][i], &all->p[t][i], err);
        }
    return s;
}

static void free_points(whatif_points *all)
{
    for (int t = 0; t < WHATIF_TYPES; t++)
        for (int i = 0; i < N_POINTS; i++) {
            clv_profile_free(all->p[t][i]);
            clv_graph_free(all->g[t][i]);
        }
    memset(all, 0, sizeof *all);
}

/* In some types a model is another graph: operators are gone, or more. */
static bool same_graph(const clv_graph *a, const clv_graph *b)
{
    return clv_graph_num_nodes(a) == clv_graph_num_nodes(b) &&
           clv_graph_num_values(a) == clv_graph_num_values(b);
}

/* Sets w->scaling and w->dtypes, without the types of another graph. */
static clv_status whatif_scale(const options *o, const char *model,
                               bool batches, whatif_points *all,
                               report_whatif *w, clv_err *err)
{
    clv_scaling_type types[WHATIF_TYPES] = {0};
    uint32_t n = 0;
    clv_status s = open_points(o, model, batches, all, err);
    for (int t = 0; s == CLV_OK && t < WHATIF_TYPES; t++) {
        if (!same_graph(all->g[t][0], all->g[0][0]))
            continue;
        clv_dtype type = t ? whatif_types[t] : o->dtype;
        for (int i = 0; i < CLV_SCALING_POINTS; i++)
            types[n].at[i] = all->p[t][i];
        types[n].extra = all->p[t][CLV_SCALING_POINTS];
        types[n].extra_batch = EXTRA_BATCH;
        w->dtypes[n++] = type == CLV_NODTYPE ? "" : clv_dtype_name(type);
    }
    return s == CLV_OK ? clv_scaling_new(types, n, &w->scaling, err) : s;
}

/* A word of a shell. */
static void put_word(clv_buf *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU"
        "VWXYZ0123456789_-./:=,@+%";
    if (*text && text[strspn(text, plain)] == '\0') {
        clv_buf_printf(out, "%s", text);
        return;
    }
    clv_buf_add(out, "'", 1);
    for (; *text; text++)
        if (*text == '\'')
            clv_buf_add(out, "'\\''", 4);
        else
            clv_buf_add(out, text, 1);
    clv_buf_add(out, "'", 1);
}

void report_words(const options *o, const char *model, clv_buf *out)
{
    put_word(out, model);
    for (size_t i = 0; i < o->input_shape.n; i++) {
        const clv_shape_arg *x = &o->input_shape.items[i];
        clv_buf_printf(out, " --input-shape ");
        if (x->name) {
            put_word(out, x->name);
            clv_buf_printf(out, "=");
        }
        for (uint32_t k = 0; k < x->rank; k++)
            clv_buf_printf(out, "%s%lld", k ? "," : "", (long long)x->dims[k]);
    }
    for (size_t i = 0; i < o->dim.n; i++) {
        clv_buf_printf(out, " --dim ");
        put_word(out, o->dim.items[i].name);
        clv_buf_printf(out, "=%lld", (long long)o->dim.items[i].value);
    }
    if (o->loop)
        clv_buf_printf(out, " --loop %lld", (long long)o->loop);
    if (o->ops) {
        clv_buf_printf(out, " --ops ");
        put_word(out, o->ops);
    }
    if (o->count)
        clv_buf_printf(out, " --count %s", o->count);
}

clv_status report_whatif_new(const options *o, const char *model,
                             const clv_graph *g, report_whatif *w, clv_err *err)
{
    whatif_points *all = calloc(1, sizeof *all);
    if (!all)
        return fail(err, CLV_NOMEM, "out of memory");
    clv_status s =
        find_device(o, o->host ? o->host : USUAL_HOST, &w->host, err);
    w->batch = batch_of(g);
    w->batches = o->batch.n == 0;
    if (s == CLV_OK && clv_graph_num_nodes(g) > MOST_OPERATORS)
        s = fail(err, CLV_UNSUPPORTED,
                 "left out: the model has more than %d operators",
                 MOST_OPERATORS);
    if (s == CLV_OK) {
        s = w->batches ? whatif_scale(o, model, true, all, w, err)
                       : CLV_UNSUPPORTED;
        if (s == CLV_OK && !clv_scaling_fits(w->scaling, g)) {
            clv_scaling_free(w->scaling);
            w->scaling = NULL;
            s = fail(err, CLV_UNSUPPORTED, "the graph changes with the batch");
        }
        bool other =
            s != CLV_OK && s != CLV_NOMEM && s != CLV_EXCEEDED && s != CLV_IO;
        if (other) { /* of no batch but its own */
            snprintf(w->why, sizeof w->why, "%s",
                     w->batches ? err->msg : "the page is of one batch");
            memset(err, 0, sizeof *err);
            free_points(all);
            w->batches = false;
            s = whatif_scale(o, model, false, all, w, err);
        }
    }
    report_words(o, model, &w->words);
    if (o->batch.n)
        clv_buf_printf(&w->words, " --batch %lld",
                       (long long)o->batch.items[0]);
    w->points = all;
    return s;
}

void report_whatif_free(report_whatif *w)
{
    clv_scaling_free(w->scaling);
    if (w->points)
        free_points(w->points);
    free(w->points);
    clv_buf_free(&w->words);
}
