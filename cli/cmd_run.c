/* cmd_run.c - runs a model: inputs, the runs, outputs, a check against ref. */
#include "strategy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS_MAX = 4096, REPEATS_MAX = 1000000 };

/* The largest relative difference from ref that --verify accepts. */
static const double TOLERANCE = 1e-3;

/* A tensor that --input gives: for the input called `name`, or else for the one
 * at `place`. */
typedef struct given_input {
    const char *path;
    char name[256];
    uint32_t place;
    bool entry, read; /* of an archive that gives what it has; t is there */
    clv_tensor t;
    clv_err why; /* it is not */
} given_input;

/* Everything one command holds. */
typedef struct job {
    const options *o;
    clv_graph *g;
    clv_backend *backend, *oracle; /* oracle: that --verify compares with */
    clv_support *support;
    clv_profile *profile; /* of --strategy, as is cut */
    clv_cut *cut;
    clv_model *model, *ref;
    clv_context *context, *ref_context;
    given_input *given;
    size_t n_given;
    clv_tensor *in; /* per input */
    uint64_t seed, weight_seed;
    progress bar;
    int64_t runs, run; /* all runs, and those that are done */
    clv_tensor_stats *outputs;
    double *seconds, *part, *estimate, *error, *abs_error, *rel_error;
    clv_run_result result;
    bool made_folder; /* of --output */
} job;

/* -- inputs ---------------------------------------------------------------*/

static uint32_t find_input(const job *j, const char *name, size_t len)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(j->g, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *s = clv_graph_value(j->g, ids[i]).name;
        if (strlen(s) == len && !memcmp(s, name, len))
            return i;
    }
    return CLV_NONE;
}

static clv_status no_input(const job *j, const char *name, size_t len,
                           clv_err *err)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(j->g, &n);
    char text[300];
    size_t at = 0;
    for (uint32_t i = 0; i < n && at < sizeof text - 80; i++)
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s'%.60s'",
                             i ? ", " : "", clv_graph_value(j->g, ids[i]).name);
    return fail(err, CLV_NOT_FOUND, "no input '%.*s'; the model has %s",
                len > 60 ? 60 : (int)len, name, at ? text : "none");
}

/* Warns of NaNs, because backends need not agree on them: oneDNN's relu makes 0
 * of a NaN. */
static void warn_of_nans(const job *j, const char *name, const clv_tensor *t)
{
    int64_t nans = 0;
    for (int64_t k = clv_tensor_numel(t); k-- > 0 && !j->o->quiet;)
        nans += isnan(clv_tensor_get(t, k)) != 0;
    char text[160];
    snprintf(text, sizeof text, "input '%.60s' has %lld NaN", name,
             (long long)nans);
    if (nans)
        say("warning: ", text);
}

/* -- files ----------------------------------------------------------------*/

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

/* Room for one more tensor that was given. */
static given_input *add_given(job *j, clv_err *err)
{
    given_input *more = realloc(j->given, (j->n_given + 1) * sizeof *more);
    if (!more) {
        fail(err, CLV_NOMEM, "out of memory");
        return NULL;
    }
    j->given = more;
    more[j->n_given] = (given_input){.place = CLV_NONE};
    return &more[j->n_given++];
}

/* Reads a tensor. What does not work is kept: the input may be a sequence,
 * which is read when that is known, or nobody may ask for the entry. */
static void read_given(given_input *g)
{
    clv_status s = clv_tensor_read(
        g->path, ends_in(g->path, ".npz") ? g->name : NULL, &g->t, &g->why);
    g->read = s == CLV_OK;
}

/* Every entry of an archive, for the input of its name. */
static clv_status read_archive(job *j, const char *path, clv_err *err)
{
    clv_status s = CLV_OK;
    for (uint32_t i = 0; s == CLV_OK; i++) {
        given_input *g = add_given(j, err);
        if (!g)
            return err->code;
        g->path = path;
        g->entry = true;
        s = clv_tensor_entry(path, i, g->name, sizeof g->name, err);
        if (s != CLV_OK)
            j->n_given--;
        else
            read_given(g);
    }
    if (s != CLV_NOT_FOUND || j->n_given == 0)
        return s;
    *err = (clv_err){0};
    return CLV_OK;
}

/* [NAME=]FILE; without a name the inputs in order, or those that the entries of
 * an archive are called. */
static clv_status read_input(job *j, const char *arg, uint32_t turn,
                             clv_err *err)
{
    const char *eq = strchr(arg, '=');
    const char *path = eq ? eq + 1 : arg;
    if (!eq && ends_in(path, ".npz"))
        return read_archive(j, path, err);
    given_input *g = add_given(j, err);
    if (!g)
        return err->code;
    g->path = path;
    g->place = eq ? CLV_NONE : turn;
    if (eq)
        snprintf(g->name, sizeof g->name, "%.*s", (int)(eq - arg), arg);
    read_given(g);
    if (g->read || (g->why.code != CLV_IO && g->why.code != CLV_NOT_FOUND))
        return CLV_OK;
    *err = g->why;
    return err->code;
}

/* Opens the model for the inputs that were given. */
static clv_status open_for_inputs(job *j, clv_err *err)
{
    size_t n = 0;
    clv_data_arg *data = calloc(j->n_given + 1, sizeof *data);
    if (!data)
        return fail(err, CLV_NOMEM, "out of memory");
    for (size_t i = 0; i < j->n_given; i++) {
        const given_input *g = &j->given[i];
        if (g->read)
            data[n++] = (clv_data_arg){.name = *g->name ? g->name : NULL,
                                       .dims = g->t.dims,
                                       .rank = g->t.rank,
                                       .place = g->place};
    }
    options o = *j->o;
    o.data = data;
    o.n_data = n;
    o.folded = true;
    clv_status s = open_model(&o, o.args.items[0], &j->g, err);
    free(data);
    return s;
}

/* Which form input v is of. */
static clv_form form_of(const clv_value_info *v)
{
    return v->optional   ? CLV_FORM_OPTIONAL
           : v->sequence ? CLV_FORM_SEQUENCE
                         : CLV_FORM_TENSOR;
}

/* Hands a tensor to the input that it is for. */
static clv_status take_given(job *j, given_input *g, clv_err *err)
{
    uint32_t n, i = g->place;
    const uint32_t *ids = clv_graph_inputs(j->g, &n);
    if (i == CLV_NONE)
        i = find_input(j, g->name, strlen(g->name));
    if (i == CLV_NONE && g->entry)
        return CLV_OK;
    if (i == CLV_NONE)
        return no_input(j, g->name, strlen(g->name), err);
    if (i >= n)
        return fail(err, CLV_SHAPE, "%u inputs, the model has %u", i + 1, n);
    clv_value_info v = clv_graph_value(j->g, ids[i]);
    if (j->in[i].data)
        return g->entry
                   ? CLV_OK
                   : fail(err, CLV_SHAPE, "input '%s' is given twice", v.name);
    clv_form form = form_of(&v);
    if (form != CLV_FORM_TENSOR) {
        clv_tensor_free(&g->t);
        g->read = clv_tensor_read_as(g->path, *g->name ? g->name : NULL, form,
                                     &g->t, &g->why) == CLV_OK;
    }
    if (!g->read) {
        *err = g->why;
        return err->code;
    }
    j->in[i] = g->t;
    g->t.data = NULL;
    if (form == CLV_FORM_TENSOR)
        warn_of_nans(j, v.name, &j->in[i]);
    return CLV_OK;
}

/* An archive must hold something that the model asks for. */
static clv_status check_archives(const job *j, clv_err *err)
{
    for (size_t i = 0; i < j->n_given; i++) {
        bool used = !j->given[i].entry;
        for (size_t k = 0; k < j->n_given && !used; k++)
            used = j->given[k].path == j->given[i].path &&
                   find_input(j, j->given[k].name, strlen(j->given[k].name)) !=
                       CLV_NONE;
        if (!used)
            return no_input(j, j->given[i].name, strlen(j->given[i].name), err);
    }
    return CLV_OK;
}

static clv_status random_input(job *j, uint32_t i, clv_err *err)
{
    const uint32_t *ids = clv_graph_inputs(j->g, NULL);
    clv_value_info v = clv_graph_value(j->g, ids[i]);
    clv_tensor *t = &j->in[i];
    if (form_of(&v) != CLV_FORM_TENSOR || v.dtype == CLV_STRING)
        return fail(err, CLV_UNSUPPORTED,
                    "input '%s': %s are not drawn; --input %s=FILE gives them",
                    v.name, form_of(&v) ? "lists of tensors" : "texts", v.name);
    if (v.rank == CLV_NONE)
        return fail(err, CLV_SHAPE,
                    "input '%s' has no known shape; --input-shape gives one",
                    v.name);
    *t = (clv_tensor){.dtype = v.dtype, .rank = v.rank};
    if (v.rank)
        memcpy(t->dims, v.dims, v.rank * sizeof *t->dims);
    clv_status s = clv_tensor_alloc(t, err);
    if (s == CLV_OK)
        clv_tensor_random(t, j->seed + i);
    return s;
}

/* Reads the inputs that come from files, opens the model for them, and hands
 * each its own. All others need --random. */
static clv_status read_inputs(job *j, clv_err *err)
{
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < j->o->input.n && s == CLV_OK; i++)
        s = read_input(j, j->o->input.items[i], i, err);
    if (s == CLV_OK)
        s = open_for_inputs(j, err);
    if (s != CLV_OK)
        return s;
    limits_for_run(j->o, j->g);
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(j->g, &n);
    j->in = calloc((size_t)n + 1, sizeof *j->in);
    if (!j->in)
        return fail(err, CLV_NOMEM, "out of memory");
    for (size_t i = 0; i < j->n_given && s == CLV_OK; i++)
        s = take_given(j, &j->given[i], err);
    if (s == CLV_OK)
        s = check_archives(j, err);
    for (uint32_t i = 0; i < n && s == CLV_OK && !j->o->random; i++)
        if (!j->in[i].data)
            return fail(err, CLV_NOT_FOUND,
                        "input '%s' is missing: --input %s=FILE, or --random",
                        clv_graph_value(j->g, ids[i]).name,
                        clv_graph_value(j->g, ids[i]).name);
    return s;
}

/* Draws the random inputs. This comes after the plan, which says what does not
 * fit. */
static clv_status draw_inputs(job *j, clv_err *err)
{
    uint32_t n;
    clv_graph_inputs(j->g, &n);
    clv_status s = CLV_OK;
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        if (!j->in[i].data)
            s = random_input(j, i, err);
    return s;
}

/* -- running --------------------------------------------------------------*/

/* Returns the strategy that cuts the model. `o` becomes its options: most
 * strategies do not decide by --backend. */
static const char *strategy_of(const job *j, options *o)
{
    *o = *j->o;
    const char *name = o->strategy                 ? o->strategy
                       : o->backend || !o->measure ? "capability"
                                                   : "fusion";
    if (!strcmp(name, "op") || !strcmp(name, "fusion") ||
        !strcmp(name, "pipeline"))
        o->backend = NULL; /* the backend runs the parts but does not choose
                            * them */
    return name;
}

/* Makes the cut and the model. A capability cut is left to the model, which
 * cuts again when a part does not compile. Any other cut is made here. Without
 * a backend a cut matters only to what is measured, and is then the one of
 * `cleave map`. */
static clv_status run_cut_model(job *j, clv_err *err)
{
    options o;
    const char *name = strategy_of(j, &o);
    if (!strcmp(name, "capability") && (o.backend || !o.strategy))
        return CLV_OK;
    clv_status s = clv_profile_new(j->g, NULL, &j->profile, err);
    return s == CLV_OK
               ? make_cut_with(&o, name, j->profile, j->support, &j->cut, err)
               : s;
}

/* The backend of a run that names none, NULL for our own kernels. */
static const char *run_usual_backend(const job *j)
{
    const options *o = j->o;
    const char *name =
        o->strategy || o->measure || o->sandbox ? "cpu" : clv_model_usual(j->g);
    return strcmp(name, "cpu") ? name : NULL;
}

static clv_status open_backend(job *j, clv_err *err)
{
    const options *o = j->o;
    const char *name = o->backend ? o->backend : run_usual_backend(j);
    if (!name)
        return CLV_OK;
    /* OpenMP's threads wait some 100 us before they sleep, not milliseconds:
     * on a busy machine they would take the time that others need to arrive. */
    setenv("GOMP_SPINCOUNT", "10000", 0);
    const clv_backend_opts opts = {.size = sizeof opts, .timeout = o->timeout};
    clv_status s = clv_backend_open(name, &opts, &j->backend, err);
    if (s == CLV_OK)
        s = clv_support_new(j->backend, j->g, &j->support, err);
    return s == CLV_OK ? force_sides(o, j->support, err) : s;
}

/* Warns of the nodes that the error message, which is one line, has no room
 * for. */
static void run_refused(void *ctx, const char *op, const char *node,
                        const char *reason)
{
    const job *j = ctx;
    char text[420];
    snprintf(text, sizeof text, "cannot run %.100s '%.200s'%s%.80s", op, node,
             *reason ? ": " : "", reason);
    if (!j->o->quiet)
        say("warning: ", text);
}

static clv_status run_compile(job *j, clv_err *err)
{
    const options *o = j->o;
    clv_capability_opts limits = capability_options(o);
    if (o->threads > THREADS_MAX)
        return fail(err, CLV_USAGE, "--threads of at most %d", THREADS_MAX);
    options cut_by;
    const char *name = strategy_of(j, &cut_by);
    clv_status s = check_strategy(&cut_by, name, err);
    if (s == CLV_OK)
        s = open_backend(j, err);
    if (s == CLV_OK)
        s = run_cut_model(j, err);
    clv_model_opts opts = {.size = sizeof opts,
                           .backend = j->backend,
                           .support = j->support,
                           .cut = j->cut,
                           .limits = &limits,
                           .seed = j->weight_seed,
                           .draw_weights = o->weights != NULL,
                           .threads = (uint32_t)o->threads,
                           .as_is = o->measure,
                           .refuse = run_refused,
                           .refuser = j};
    double before = seconds_now();
    if (s == CLV_OK)
        s = clv_model_new(j->g, &opts, &j->model, err);
    j->result.compiled = seconds_now() - before;
    return s == CLV_OK ? clv_context_new(j->model, &j->context, err) : s;
}

static clv_status run_set_inputs(job *j, clv_context *c, clv_err *err)
{
    uint32_t n;
    clv_status s = CLV_OK;
    clv_graph_inputs(j->g, &n);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        s = clv_context_set(c, i, &j->in[i], err);
    return s;
}

static void run_show(void *ctx, uint32_t done, uint32_t total)
{
    job *j = ctx;
    double share = (double)j->run + (double)done / total;
    progress_show(&j->bar, "running", share / (double)j->runs);
}

static clv_status run_once(job *j, clv_context *c, clv_err *err)
{
    clv_status s = clv_context_run(c, err);
    j->run++;
    return s;
}

static clv_status run_all(job *j, clv_err *err)
{
    int64_t repeat = j->o->repeat ? j->o->repeat : 1;
    uint32_t parts = clv_model_get(j->model)->n_parts;
    if (repeat > REPEATS_MAX)
        return fail(err, CLV_USAGE, "--repeat of at most a million");
    if (j->o->warmup > REPEATS_MAX)
        return fail(err, CLV_USAGE, "--warmup of at most a million");
    j->seconds = calloc((size_t)repeat, sizeof *j->seconds);
    j->part = calloc((size_t)parts + 1, sizeof *j->part);
    if (!j->seconds || !j->part)
        return fail(err, CLV_NOMEM, "out of memory");
    clv_status s = run_set_inputs(j, j->context, err);
    j->runs = repeat + j->o->warmup + j->o->verify;
    progress_start(&j->bar, j->o);
    clv_context_watch(j->context, run_show, j);
    for (int64_t i = 0; i < j->o->warmup && s == CLV_OK; i++)
        s = run_once(j, j->context, err);
    for (int64_t i = 0; i < repeat && s == CLV_OK; i++) {
        double before = seconds_now();
        s = run_once(j, j->context, err);
        j->seconds[i] = seconds_now() - before;
        for (uint32_t k = 0; k < parts; k++) {
            double t = clv_context_times(j->context)[k] / (double)repeat;
            j->part[k] += t;
            j->part[parts] += t;
        }
    }
    if (s == CLV_OK)
        j->result.times = clv_time_stats_of(j->seconds, (uint32_t)repeat);
    return s;
}

static clv_status run_summarise(job *j, clv_err *err)
{
    uint32_t n;
    clv_graph_outputs(j->g, &n);
    j->outputs = calloc((size_t)n + 1, sizeof *j->outputs);
    if (!j->outputs)
        return fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        j->outputs[i] = clv_tensor_stats_of(clv_context_output(j->context, i));
    return CLV_OK;
}

/* -- measured against estimated -------------------------------------------*/

/* Fills the lists of times. Each has one more element: the sum. */
static void run_compare(job *j, const clv_roofline *times, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        j->estimate[k] = times[k].seconds > 0 ? times[k].seconds : 0;
        j->estimate[n] += j->estimate[k];
    }
    for (uint32_t k = 0; k <= n; k++)
        j->error[k] = j->part[k] > 0 ? j->estimate[k] / j->part[k] - 1 : 0;
}

/* --measure: the roofline of the parts, on this machine if it is known. */
static clv_status run_estimate(job *j, clv_err *err)
{
    const options *o = j->o;
    const char *name = o->hardware.n ? o->hardware.items[0] : "host";
    const clv_cut *cut = clv_model_cut(j->model);
    const clv_device *d;
    clv_map *map = NULL;
    clv_err why = {0};
    uint32_t n = clv_model_get(j->model)->n_parts;
    if (o->hardware.n > 1)
        return fail(err, CLV_USAGE, "--measure compares with one --hardware");
    if (find_device(o, name, &d, &why) != CLV_OK) {
        if (o->hardware.n || why.code != CLV_NOT_FOUND)
            return fail(err, why.code, "%s", why.msg);
        if (!o->quiet)
            say_hinted("note: ", &why);
        return CLV_OK;
    }
    j->estimate = calloc((size_t)n + 1, sizeof *j->estimate);
    j->error = calloc((size_t)n + 1, sizeof *j->error);
    if (!j->estimate || !j->error)
        return fail(err, CLV_NOMEM, "out of memory");
    clv_status s = clv_map_new(cut, d, &map, err);
    if (s == CLV_OK)
        run_compare(j, clv_map_times(map, &n), n);
    clv_map_free(map);
    j->result.device = d;
    return s;
}

/* -- checking -------------------------------------------------------------*/

static clv_status run_verify(job *j, clv_err *err)
{
    uint32_t n;
    clv_graph_outputs(j->g, &n);
    clv_status s = clv_backend_open("ref", NULL, &j->oracle, err);
    clv_model_opts opts = {.size = sizeof opts,
                           .backend = j->oracle,
                           .seed = j->weight_seed,
                           .draw_weights = j->o->weights != NULL,
                           .like = j->model};
    j->abs_error = calloc((size_t)n + 1, sizeof *j->abs_error);
    j->rel_error = calloc((size_t)n + 1, sizeof *j->rel_error);
    if (!j->abs_error || !j->rel_error)
        return fail(err, CLV_NOMEM, "out of memory");
    if (s == CLV_OK)
        s = clv_model_new(j->g, &opts, &j->ref, err);
    if (s == CLV_OK)
        s = clv_context_new(j->ref, &j->ref_context, err);
    if (s == CLV_OK)
        s = run_set_inputs(j, j->ref_context, err);
    if (s == CLV_OK) {
        clv_context_watch(j->ref_context, run_show, j);
        s = run_once(j, j->ref_context, err);
    }
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        clv_tensor_diff(clv_context_output(j->context, i),
                        clv_context_output(j->ref_context, i), &j->abs_error[i],
                        &j->rel_error[i]);
    return s;
}

static clv_status run_agree(const job *j, clv_err *err)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_outputs(j->g, &n);
    for (uint32_t i = 0; j->abs_error && i < n; i++)
        if (!(j->rel_error[i] <= TOLERANCE))
            return fail(err, CLV_LIMIT,
                        "output '%s' differs from ref by %.3g relative",
                        clv_graph_value(j->g, ids[i]).name, j->rel_error[i]);
    return CLV_OK;
}

/* -- outputs --------------------------------------------------------------*/

static char run_plain(char c)
{
    return strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                  "0123456789_-",
                  c)
               ? c
               : '_';
}

enum { NAME_MOST = 200 }; /* bytes of a name; systems take 255 in all */

static bool same_file(const char *a, const char *b)
{
    int n = 0;
    while (*a && *b && n < NAME_MOST && run_plain(*a) == run_plain(*b))
        a++, b++, n++;
    return n == NAME_MOST || *a == *b;
}

/* Makes a file name of an output's name. Characters that are not plain become
 * '_', and the number of the output follows if an earlier one has the same
 * name. */
static void file_name(const job *j, uint32_t i, const char *kind, char *path,
                      size_t size)
{
    const uint32_t *ids = clv_graph_outputs(j->g, NULL);
    const char *name = clv_graph_value(j->g, ids[i]).name;
    bool taken = false;
    for (uint32_t k = 0; k < i && !taken; k++)
        taken = same_file(clv_graph_value(j->g, ids[k]).name, name);
    size_t n = (size_t)snprintf(path, size, "%s/", j->o->output_dir);
    for (int k = 0; k < NAME_MOST && name[k] && n + 20 < size; k++)
        path[n++] = run_plain(name[k]);
    if (taken)
        n += (size_t)snprintf(path + n, size - n, ".%u", i);
    snprintf(path + n, size - n, ".%s", kind);
}

/* Makes the folder before anything runs, so that it does not fail at the
 * end. */
static clv_status make_folder(job *j, clv_err *err)
{
    const char *folder = j->o->output_dir;
    struct stat st;
    j->made_folder = mkdir(folder, 0777) == 0;
    if (!j->made_folder && errno != EEXIST)
        return fail(err, CLV_IO, "cannot make '%s': %s", folder,
                    strerror(errno));
    if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        return fail(err, CLV_IO, "'%s' is not a folder", folder);
    char path[1200];
    snprintf(path, sizeof path, "%s/.cleave-XXXXXX", folder);
    int fd = mkstemp(path); /* root may write anywhere, but not to /proc */
    if (fd < 0)
        return fail(err, CLV_IO, "cannot write to '%s': %s", folder,
                    strerror(errno));
    close(fd);
    unlink(path);
    return CLV_OK;
}

/* --output FILE.npz: all of them in one archive. */
static clv_status run_save_archive(const job *j, clv_err *err)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_outputs(j->g, &n);
    const clv_tensor **t = calloc((size_t)n + 1, sizeof(void *));
    const char **names = calloc((size_t)n + 1, sizeof(void *));
    clv_buf file = {0};
    clv_status s = t && names ? CLV_OK : fail(err, CLV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < n && s == CLV_OK; i++) {
        t[i] = clv_context_output(j->context, i);
        names[i] = clv_graph_value(j->g, ids[i]).name;
    }
    if (s == CLV_OK)
        s = clv_tensor_npz(t, names, n, &file, err);
    if (s == CLV_OK)
        s = write_file(j->o->output_dir, &file, err);
    clv_buf_free(&file);
    free(t);
    free(names);
    return s;
}

static clv_status run_save(const job *j, clv_err *err)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_outputs(j->g, &n);
    clv_status s = CLV_OK;
    if (ends_in(j->o->output_dir, ".npz"))
        return run_save_archive(j, err);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++) {
        char path[1200];
        clv_buf text = {0};
        const clv_tensor *t = clv_context_output(j->context, i);
        bool npy = clv_tensor_fits_npy(t);
        file_name(j, i, npy ? "npy" : "pb", path, sizeof path);
        s = npy ? clv_tensor_npy(t, &text, err)
                : clv_tensor_pb(t, clv_graph_value(j->g, ids[i]).name, &text,
                                err);
        if (s == CLV_OK)
            s = write_file(path, &text, err);
        clv_buf_free(&text);
    }
    return s;
}

/* -- the command ----------------------------------------------------------*/

static void run_report(const void *result, const clv_report_opts *o,
                       clv_buf *out)
{
    clv_report_run(result, o, out);
}

/* The seeds of inputs, and of weights that no file holds. */
static clv_status read_seeds(job *j, clv_err *err)
{
    const char *from = j->o->random && *j->o->random ? j->o->random : "0";
    const char *weights = j->o->weights ? j->o->weights : "random";
    char *end;
    j->seed = j->weight_seed = strtoull(from, &end, 10);
    if (*end || *from == '-')
        return fail(err, CLV_USAGE, "--random=%s: a seed is a whole number",
                    from);
    if (!strncmp(weights, "random:", 7) && weights[7])
        j->weight_seed = strtoull(weights + 7, &end, 10);
    else if (strcmp(weights, "random"))
        end = "x";
    return *end ? fail(err, CLV_USAGE,
                       "--weights takes random or random:SEED here, not '%s'",
                       weights)
                : CLV_OK;
}

static clv_status run_run(job *j, clv_err *err)
{
    const options *o = j->o;
    clv_status s = read_seeds(j, err);
    if (s == CLV_OK)
        s = read_inputs(j, err);
    if (s == CLV_OK)
        s = run_compile(j, err);
    if (s == CLV_OK)
        s = draw_inputs(j, err);
    if (s == CLV_OK && o->output_dir && !ends_in(o->output_dir, ".npz"))
        s = make_folder(j, err);
    if (s == CLV_OK)
        s = run_all(j, err);
    if (s == CLV_OK)
        s = run_summarise(j, err);
    if (s == CLV_OK && o->verify)
        s = run_verify(j, err);
    progress_end(&j->bar);
    if (s == CLV_OK && o->measure)
        s = run_estimate(j, err);
    if (s == CLV_OK && o->output_dir)
        s = run_save(j, err);
    if (s != CLV_OK)
        return s;
    clv_run_result *r = &j->result;
    r->size = sizeof *r;
    r->g = j->g;
    r->m = j->model;
    r->c = j->context;
    r->backend = j->backend ? clv_backend_name(j->backend) : "cpu";
    r->outputs = j->outputs;
    r->part = o->measure ? j->part : NULL;
    r->estimate = j->estimate;
    r->error = j->error;
    r->abs_error = j->abs_error;
    r->rel_error = j->rel_error;
    r->explain = o->explain;
    s = emit(o, run_report, r, err);
    return s == CLV_OK ? run_agree(j, err) : s;
}

clv_status cmd_run(const options *o, clv_err *err)
{
    job j = {.o = o};
    uint32_t n = 0;
    clv_status s = run_run(&j, err);
    if (s != CLV_OK && j.made_folder)
        rmdir(o->output_dir); /* when it is empty */
    if (j.in)
        clv_graph_inputs(j.g, &n);
    for (uint32_t i = 0; i < n; i++)
        clv_tensor_free(&j.in[i]);
    free(j.in);
    for (size_t i = 0; i < j.n_given; i++)
        clv_tensor_free(&j.given[i].t);
    free(j.given);
    free(j.seconds);
    free(j.outputs);
    free(j.part);
    free(j.estimate);
    free(j.error);
    free(j.abs_error);
    free(j.rel_error);
    clv_context_free(j.ref_context);
    clv_model_free(j.ref);
    clv_context_free(j.context);
    clv_model_free(j.model);
    clv_support_free(j.support);
    clv_backend_free(j.backend);
    clv_backend_free(j.oracle);
    clv_cut_free(j.cut);
    clv_profile_free(j.profile);
    clv_graph_free(j.g);
    return s;
}
