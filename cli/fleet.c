/* fleet.c - one command over many models: --json-lines.
 *
 * The models are shared out to --jobs processes, which run the command on one
 * after another and hand back one line of JSON each. Lines are written in the
 * order of the models, each with one write, so that the same models give the
 * same bytes however many processes there are and the file of --output can be
 * continued (--resume). A model that fails is a line too; a process that
 * crashes fails its model alone.
 *
 *     parent --number--> worker --header, line--> parent --line--> output */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FLEET_JOBS_MAX = 1024, FLEET_AHEAD = 4096, FLEET_DEPTH_MAX = 64 };

typedef struct fleet_line {
    char *text; /* NULL: not there yet */
    size_t len;
} fleet_line;

typedef struct fleet_answer {
    uint32_t model;
    int32_t exit_code;
    uint64_t len;
} fleet_answer;

typedef struct fleet_worker {
    pid_t pid;
    int to, from;
    uint32_t model; /* that it works on; CLV_NONE: none */
} fleet_worker;

typedef struct fleet {
    const options *o;
    char **models;
    size_t n, cap;
    bool *done; /* by an earlier run */
    fleet_line *lines;
    size_t next, written; /* to be handed out; to be written */
    size_t failed, fresh;
    fleet_worker *workers;
    uint32_t n_workers;
    int out;
    double start, shown;
    bool terminal;
} fleet;

/* -- which models ---------------------------------------------------------*/

static clv_status fleet_add(fleet *f, const char *path, clv_err *err)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 256;
        char **more = realloc(f->models, cap * sizeof *more);
        if (!more)
            return fail(err, CLV_NOMEM, "out of memory");
        f->models = more;
        f->cap = cap;
    }
    f->models[f->n] = strdup(path);
    if (!f->models[f->n])
        return fail(err, CLV_NOMEM, "out of memory");
    f->n++;
    return CLV_OK;
}

/* Is it called like a file that holds a model? */
static bool fleet_is_model(const char *path)
{
    const char *dot = strrchr(path, '.');
    const clv_file_kind *k;
    size_t n = dot ? strlen(dot) : 0;
    for (uint32_t i = 0; dot && (k = clv_file_kind_at(i)); i++)
        for (const char *at = strstr(k->endings, dot); at;
             at = strstr(at + 1, dot))
            if (strchr(" ,", at[n]) || !at[n])
                return true;
    return false;
}

/* Adds the files below a folder: those of the pattern, or all models. */
static clv_status fleet_walk(fleet *f, const char *dir, const char *pattern,
                             int depth, clv_err *err)
{
    struct dirent **list;
    clv_status s = CLV_OK;
    int n = depth < FLEET_DEPTH_MAX
                ? scandir(*dir ? dir : ".", &list, NULL, alphasort)
                : 0;
    if (n < 0)
        return fail(err, CLV_IO, "cannot read folder '%s': %s", dir,
                    strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat st;
        const char *slash = !*dir || dir[strlen(dir) - 1] == '/' ? "" : "/";
        int len =
            snprintf(path, sizeof path, "%s%s%s", dir, slash, list[i]->d_name);
        bool fits = len > 0 && (size_t)len < sizeof path &&
                    list[i]->d_name[0] != '.' && lstat(path, &st) == 0;
        if (s == CLV_OK && fits && S_ISDIR(st.st_mode))
            s = fleet_walk(f, path, pattern, depth + 1, err);
        else if (s == CLV_OK && fits &&
                 (pattern ? !fnmatch(pattern, path, 0) : fleet_is_model(path)))
            s = fleet_add(f, path, err);
        free(list[i]);
    }
    if (depth < FLEET_DEPTH_MAX)
        free(list);
    return s;
}

/* A pattern that the shell left as it is: below the folder before its first
 * wildcard. A star crosses folders, as two do for a shell that knows them, and
 * two with a slash also stand for no folder at all. */
static clv_status fleet_pattern(fleet *f, const char *arg, clv_err *err)
{
    char dir[4096], pattern[4096];
    size_t n = strcspn(arg, "*?["), k = 0;
    while (n && arg[n - 1] != '/')
        n--;
    if (strlen(arg) >= sizeof pattern)
        return fail(err, CLV_NOT_FOUND, "'%.60s...': too long a pattern", arg);
    snprintf(dir, sizeof dir, "%.*s", (int)n, arg);
    for (const char *c = arg; *c; c++) {
        if (!strncmp(c, "**/", 3)) {
            pattern[k++] = '*';
            c += 2;
        } else {
            pattern[k++] = *c;
        }
    }
    pattern[k] = '\0';
    return fleet_walk(f, dir, pattern, 0, err);
}

static clv_status fleet_list(fleet *f, clv_err *err)
{
    clv_status s = CLV_OK;
    for (size_t i = 0; i < f->o->args.n && s == CLV_OK; i++) {
        const char *arg = f->o->args.items[i];
        struct stat st;
        bool there = stat(arg, &st) == 0;
        size_t before = f->n;
        if (there && S_ISDIR(st.st_mode))
            s = fleet_walk(f, arg, NULL, 0, err);
        else if (!there && strpbrk(arg, "*?["))
            s = fleet_pattern(f, arg, err);
        else
            s = fleet_add(f, arg, err);
        if (s == CLV_OK && f->n == before)
            s = fail(err, CLV_NOT_FOUND, "'%s': no model is there", arg);
    }
    return s;
}

static bool fleet_of_ranks(const options *o)
{
    return o->shard && !strcmp(o->shard, "mpi");
}

/* --shard R/N keeps every N-th model, from R on; `mpi` asks the launcher. */
static clv_status fleet_shard(fleet *f, clv_err *err)
{
    static const char *const known[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"}};
    const char *text = f->o->shard;
    char *end = NULL;
    unsigned long r = 0, n = 0;
    if (!text)
        return CLV_OK;
    for (size_t i = 0; i < 3 && !strcmp(text, "mpi") && !n; i++)
        if (getenv(known[i][0]) && getenv(known[i][1])) {
            r = strtoul(getenv(known[i][0]), NULL, 10);
            n = strtoul(getenv(known[i][1]), &end, 10);
        }
    if (!strcmp(text, "mpi") && !n)
        return fail(err, CLV_USAGE,
                    "--shard mpi: not started by mpirun or srun, which say "
                    "which rank this is");
    if (strcmp(text, "mpi")) {
        r = strtoul(text, &end, 10);
        n = end != text && *end == '/' ? strtoul(end + 1, &end, 10) : 0;
    }
    if (!n || r >= n || *end)
        return fail(err, CLV_USAGE,
                    "--shard takes mpi, or R/N with R from 0 to N-1, not '%s'",
                    text);
    size_t kept = 0;
    for (size_t i = 0; i < f->n; i++)
        if (i % n == r)
            f->models[kept++] = f->models[i];
        else
            free(f->models[i]);
    f->n = kept;
    return CLV_OK;
}

/* -- a line ---------------------------------------------------------------*/

static void fleet_put_text(clv_buf *b, const char *text)
{
    clv_buf_add(b, "\"", 1);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            clv_buf_printf(b, "\\%c", *c);
        else if (*c < 0x20)
            clv_buf_printf(b, "\\u%04x", *c);
        else
            clv_buf_add(b, (const char *)c, 1);
    clv_buf_add(b, "\"", 1);
}

/* JSON on several lines as one: line ends are never inside of texts. */
static void fleet_put_flat(clv_buf *b, const clv_buf *json)
{
    for (size_t i = 0; i < json->len;) {
        size_t n = i;
        while (n < json->len && json->text[n] != '\n')
            n++;
        clv_buf_add(b, json->text + i, n - i);
        while (n < json->len && strchr("\n ", json->text[n]))
            n++;
        i = n;
    }
}

static void fleet_put_line(clv_buf *line, const char *model, int code,
                           const clv_buf *json, const char *error)
{
    clv_buf_printf(line, "{\"file\": ");
    fleet_put_text(line, model);
    clv_buf_printf(line, ", \"exit\": %d", code);
    if (error) {
        clv_buf_printf(line, ", \"error\": ");
        fleet_put_text(line, error);
    }
    if (json && json->len) {
        clv_buf_printf(line, ", \"result\": ");
        fleet_put_flat(line, json);
    }
    clv_buf_add(line, "}\n", 2);
}

/* -- a worker -------------------------------------------------------------*/

static bool fleet_io(int fd, void *data, size_t len, bool reading)
{
    char *at = data;
    while (len) {
        ssize_t n = reading ? read(fd, at, len) : write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static void fleet_one(const fleet *f, uint32_t model, int to)
{
    clv_buf json = {0}, line = {0};
    clv_err err = {0};
    const char *name = f->models[model];
    cli_session session = *f->o->session;
    options o = *f->o;
    session.out = &json;
    o.session = &session;
    o.json = o.quiet = true;
    o.output = NULL;
    o.args.items = &name;
    o.args.n = 1;
    clv_status s = limits_begin(&o, &err);
    if (s == CLV_OK)
        s = o.cmd->run(&o, &err);
    limits_end();
    int code = clv_status_exit(s);
    fleet_put_line(&line, name, code, &json, s == CLV_OK ? NULL : err.msg);
    fleet_answer a = {model, code, line.len};
    if (line.failed || !fleet_io(to, &a, sizeof a, false) ||
        !fleet_io(to, line.text, line.len, false))
        _exit(clv_status_exit(CLV_NOMEM));
    clv_buf_free(&json);
    clv_buf_free(&line);
}

static clv_status fleet_start(fleet *f, fleet_worker *w, clv_err *err)
{
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0)
        return fail(err, CLV_IO, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return fail(err, CLV_IO, "cannot start a process: %s", strerror(errno));
    if (pid == 0) {
        uint32_t model;
        close(down[1]);
        close(up[0]);
        for (uint32_t i = 0; i < f->n_workers; i++)
            if (f->workers[i].pid > 0 && &f->workers[i] != w) {
                close(f->workers[i].to); /* else it would not see our end */
                close(f->workers[i].from);
            }
        while (fleet_io(down[0], &model, sizeof model, true))
            fleet_one(f, model, up[1]);
        _exit(0);
    }
    close(down[0]);
    close(up[1]);
    *w = (fleet_worker){pid, down[1], up[0], CLV_NONE};
    return CLV_OK;
}

static void fleet_stop(fleet_worker *w, int *status)
{
    close(w->to);
    close(w->from);
    while (waitpid(w->pid, status, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
}

/* -- the parent -----------------------------------------------------------*/

static void fleet_progress(fleet *f, bool last)
{
    double t = seconds_now();
    size_t done = 0;
    if (!f->terminal || (!last && t - f->shown < 0.1))
        return;
    f->shown = t;
    for (size_t i = f->written; i < f->next; i++)
        done += f->lines[i].text != NULL;
    done += f->written;
    double rate = (double)f->fresh / (t - f->start + 1e-9);
    fprintf(
        stderr,
        "\r%zu of %zu models, %zu failed, %lld a second, %lld s left\033[K%s",
        done, f->n, f->failed, (long long)rate,
        rate > 0 ? (long long)((double)(f->n - done) / rate) : 0,
        last ? "\n" : "");
    fflush(stderr);
}

/* Hands the next model to an idle worker. */
static void fleet_hand_out(fleet *f, fleet_worker *w)
{
    while (f->next < f->n && f->done[f->next])
        f->next++;
    if (f->next == f->n || f->next - f->written >= FLEET_AHEAD)
        return;
    w->model = (uint32_t)f->next++;
    (void)fleet_io(w->to, &w->model, sizeof w->model, false);
}

static clv_status fleet_crashed(fleet *f, fleet_worker *w, clv_err *err)
{
    int status = 0;
    char why[100];
    clv_buf line = {0};
    uint32_t model = w->model;
    fleet_stop(w, &status);
    if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "ended by signal %d", WTERMSIG(status));
    else
        snprintf(why, sizeof why, "ended before it had an answer");
    int code = WIFEXITED(status) && WEXITSTATUS(status)
                   ? WEXITSTATUS(status)
                   : clv_status_exit(CLV_INTERNAL);
    if (model == CLV_NONE)
        return fail(err, CLV_INTERNAL, "an idle process %s", why);
    fleet_put_line(&line, f->models[model], code, NULL, why);
    if (line.failed)
        return fail(err, CLV_NOMEM, "out of memory");
    f->lines[model] = (fleet_line){line.text, line.len};
    f->failed++;
    f->fresh++;
    return fleet_start(f, w, err);
}

static clv_status fleet_take(fleet *f, fleet_worker *w, clv_err *err)
{
    fleet_answer a;
    if (!fleet_io(w->from, &a, sizeof a, true) || a.model != w->model)
        return fleet_crashed(f, w, err);
    fleet_line l = {malloc(a.len + 1), a.len};
    if (!l.text)
        return fail(err, CLV_NOMEM, "out of memory");
    if (!fleet_io(w->from, l.text, l.len, true)) {
        free(l.text);
        return fleet_crashed(f, w, err);
    }
    f->lines[w->model] = l;
    f->failed += a.exit_code != 0;
    f->fresh++;
    w->model = CLV_NONE;
    return CLV_OK;
}

/* Writes what is there, in order. */
static clv_status fleet_write(fleet *f, clv_err *err)
{
    for (; f->written < f->n; f->written++) {
        fleet_line *l = &f->lines[f->written];
        if (f->done[f->written])
            continue;
        if (!l->text)
            return CLV_OK;
        if (!fleet_io(f->out, l->text, l->len, false))
            return fail(err, CLV_IO, "cannot write the lines: %s",
                        strerror(errno));
        free(l->text);
        l->text = NULL;
    }
    return CLV_OK;
}

static clv_status fleet_loop(fleet *f, clv_err *err)
{
    clv_status s = CLV_OK;
    struct pollfd *fds = calloc(f->n_workers, sizeof *fds);
    if (!fds)
        return fail(err, CLV_NOMEM, "out of memory");
    while (s == CLV_OK && f->written < f->n) {
        uint32_t busy = 0;
        for (uint32_t i = 0; i < f->n_workers; i++) {
            if (f->workers[i].model == CLV_NONE)
                fleet_hand_out(f, &f->workers[i]);
            bool works = f->workers[i].model != CLV_NONE;
            busy += works;
            fds[i] = (struct pollfd){.fd = works ? f->workers[i].from : -1,
                                     .events = POLLIN};
        }
        if (busy && poll(fds, f->n_workers, 1000) < 0 && errno != EINTR)
            s = fail(err, CLV_IO, "poll: %s", strerror(errno));
        for (uint32_t i = 0; i < f->n_workers && s == CLV_OK && busy; i++)
            if (fds[i].fd >= 0 && fds[i].revents)
                s = fleet_take(f, &f->workers[i], err);
        if (s == CLV_OK)
            s = fleet_write(f, err);
        fleet_progress(f, false);
    }
    free(fds);
    return s;
}

/* -- the file of --output -------------------------------------------------*/

/* The model of a line that fleet_put_line wrote, in place; NULL: no such. */
static char *fleet_line_model(char *line)
{
    static const char begin[] = "{\"file\": \"";
    char *at = line + sizeof begin - 1, *to = at, *start = at;
    if (strncmp(line, begin, sizeof begin - 1))
        return NULL;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1] == 'u' && strlen(at) > 5) {
            char hex[5] = {at[2], at[3], at[4], at[5], 0};
            *to++ = (char)strtoul(hex, NULL, 16);
            at += 5;
        } else {
            at += *at == '\\' && at[1];
            *to++ = *at;
        }
    }
    *to = '\0';
    return start;
}

static int fleet_by_name(const void *a, const void *b)
{
    return strcmp(**(char ***)a, **(char ***)b);
}

/* Marks the models that the file has a whole line for; *keep is how long those
 * lines are. */
static clv_status fleet_resume(fleet *f, FILE *file, long *keep, clv_err *err)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    char ***by_name = calloc(f->n + 1, sizeof *by_name);
    if (!by_name)
        return fail(err, CLV_NOMEM, "out of memory");
    for (size_t i = 0; i < f->n; i++)
        by_name[i] = &f->models[i];
    qsort(by_name, f->n, sizeof *by_name, fleet_by_name);
    *keep = 0;
    while ((n = getline(&line, &cap, file)) > 0 && line[n - 1] == '\n') {
        char *model = fleet_line_model(line);
        char **key = &model;
        char ***hit =
            model ? bsearch(&key, by_name, f->n, sizeof *by_name, fleet_by_name)
                  : NULL;
        if (hit)
            f->done[*hit - f->models] = true;
        *keep += n;
    }
    free(line);
    free(by_name);
    return CLV_OK;
}

static clv_status fleet_open(fleet *f, clv_err *err)
{
    char path[4096];
    const options *o = f->o;
    f->out = STDOUT_FILENO;
    if (!o->output)
        return o->resume ? fail(err, CLV_USAGE, "--resume needs --output FILE")
                         : CLV_OK;
    /* Ranks write files of their own: out.jsonl.0, out.jsonl.1. */
    const char *r = fleet_of_ranks(o) ? getenv("OMPI_COMM_WORLD_RANK") : NULL;
    r = fleet_of_ranks(o) && !r ? getenv("PMI_RANK") : r;
    r = fleet_of_ranks(o) && !r ? getenv("SLURM_PROCID") : r;
    snprintf(path, sizeof path, r ? "%s.%s" : "%s", o->output, r ? r : "");
    FILE *file = o->resume ? fopen(path, "rb") : NULL;
    long keep = 0;
    clv_status s = file ? fleet_resume(f, file, &keep, err) : CLV_OK;
    if (file)
        fclose(file);
    if (s != CLV_OK)
        return s;
    f->out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (f->out < 0 || ftruncate(f->out, keep) != 0 ||
        lseek(f->out, keep, SEEK_SET) < 0)
        return fail(err, CLV_IO, "cannot write '%s': %s", path,
                    strerror(errno));
    return CLV_OK;
}

/* -- the command ----------------------------------------------------------*/

static clv_status fleet_prepare(fleet *f, clv_err *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t jobs = f->o->jobs ? f->o->jobs : cores > 0 ? cores : 1;
    if (jobs > FLEET_JOBS_MAX)
        return fail(err, CLV_USAGE, "--jobs of at most %d", FLEET_JOBS_MAX);
    clv_status s = fleet_list(f, err);
    if (s == CLV_OK)
        s = fleet_shard(f, err);
    if (s != CLV_OK)
        return s;
    if (jobs > (int64_t)f->n)
        jobs = f->n ? (int64_t)f->n : 1;
    f->done = calloc(f->n + 1, sizeof *f->done);
    f->lines = calloc(f->n + 1, sizeof *f->lines);
    f->workers = calloc((size_t)jobs, sizeof *f->workers);
    if (!f->done || !f->lines || !f->workers)
        return fail(err, CLV_NOMEM, "out of memory");
    s = fleet_open(f, err);
    for (int64_t i = 0; i < jobs && s == CLV_OK; i++, f->n_workers++)
        s = fleet_start(f, &f->workers[i], err);
    return s;
}

clv_status fleet_run(const options *o, clv_err *err)
{
    fleet f = {.o = o, .start = seconds_now(), .out = -1};
    f.terminal = !o->quiet && isatty(STDERR_FILENO);
    if (o->session->out)
        return fail(err, CLV_USAGE, "--json-lines is of the command alone");
    clv_status s = fleet_prepare(&f, err);
    if (s == CLV_OK)
        s = fleet_loop(&f, err);
    fleet_progress(&f, true);
    for (uint32_t i = 0; i < f.n_workers; i++)
        if (f.workers[i].pid > 0)
            fleet_stop(&f.workers[i], &(int){0});
    for (size_t i = 0; i < f.n; i++) {
        free(f.models[i]);
        if (f.lines)
            free(f.lines[i].text);
    }
    if (f.out > STDERR_FILENO)
        close(f.out);
    free(f.models);
    free(f.done);
    free(f.lines);
    free(f.workers);
    if (s != CLV_OK || !f.failed)
        return s;
    /* mpirun ends all ranks when one ends with a code: a rank has done its
     * share even if models failed. */
    if (fleet_of_ranks(o)) {
        char text[120];
        snprintf(text, sizeof text,
                 "%zu of %zu models of this rank failed; their lines say why",
                 f.failed, f.fresh);
        if (!o->quiet)
            say("note: ", text);
        return CLV_OK;
    }
    return fail(err, CLV_LIMIT, "%zu of %zu models failed; their lines say why",
                f.failed, f.fresh);
}
