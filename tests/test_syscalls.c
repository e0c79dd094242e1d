/* test_syscalls.c - every system call of every command that writes fails once.
 *
 * A row is a command; each kind of call fails with each of its errors, at the
 * first call, the second and so on, until the command passes without a failure.
 * It must end with exit code 0 and the same files as without a failure, or with
 * 1 to 3 and one line; then there is no new file under any name, and what was
 * there before is as it was. `make syscalls` tries every call; `make test` only
 * some of each kind.
 *
 * timeout: 3000 */
#include "check.h"
#include "cleave.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "failing.h"

#define MODEL "/tests/data/onnx_capability/branches.onnx"
#define INPUT "/tests/data/onnx_capability/branches.x.npy"

/* {R} is the root of the sources. Outputs go to `out`, which is empty, or holds
 * what a first run wrote. */
enum {
    PLAIN = 0,
    AGAIN = 1,   /* over outputs that are there */
    TIMES = 2,   /* its text tells times */
    ANSWERS = 4, /* of a command decide what comes out */
    PIPED = 8,   /* the model comes from a pipe */
    DOT = 16,    /* Graphviz draws */
};

static const struct row {
    const char *line;
    int is;
} rows[] = {
    {"profile {R}" MODEL, PLAIN},
    {"profile {R}" MODEL " -o out/p.json", PLAIN},
    {"profile {R}" MODEL " -o out/p.csv --json", AGAIN},
    {"profile - -o out/p.json", PIPED},
    {"profile {R}" MODEL " --sandbox -o out/p.txt", PLAIN},
    {"partition {R}" MODEL " -s fusion -o out/parts", PLAIN},
    {"partition {R}" MODEL " -o out/p.json", AGAIN},
    {"partition {R}" MODEL " -s capability --backend cmd:./answers -o "
     "out/p.json",
     ANSWERS},
    {"verify parts", PLAIN},
    {"export {R}" MODEL " -o out/m.onnx", AGAIN},
    {"export {R}" MODEL " -o out/m.json", PLAIN},
    {"export {R}" MODEL " -o out/m.dot", PLAIN},
    {"report {R}" MODEL " -o out/r.html", PLAIN},
    {"export {R}" MODEL " -o out/m.svg", DOT | ANSWERS},
    {"export squeezenet1_1 --weights zeros -o out/m.onnx", PLAIN},
    {"run {R}" MODEL " --input {R}" INPUT " -o out/y", TIMES},
    {"run {R}" MODEL " --random -o out/y.npz", AGAIN | TIMES},
    {"run {R}" MODEL " --random --backend onednn -o out/y.npz", TIMES},
    {"concurrency {R}" MODEL " --streams 2 --svg out/c.svg --trace out/t.json",
     PLAIN},
    {"memory {R}" MODEL " --svg out/m.svg -o out/m.csv", PLAIN},
    {"map {R}" MODEL " --hardware h100 --svg out/r.svg -o out/m.json", PLAIN},
    {"compare {R}" MODEL " alexnet -o out/c.json", PLAIN},
    {"sweep {R}" MODEL " --batch 1,2 -o out/s.json", PLAIN},
    {"hardware h100 -o out/h.json", PLAIN},
};

enum {
    MEMORY = 1,   /* a sanitizer does not go on without it */
    LEAVES = 2,   /* files that cannot be removed stay */
    CHILDREN = 4, /* of processes that are started, too */
};

static const struct kind {
    const char *name;
    long numbers[FAILING_CALLS];
    int errors[4];
    int is;
} kinds[] = {
#ifdef SYS_open
    {"open", {SYS_open, SYS_openat}, {EINTR, EMFILE, EIO, ENOSPC}, PLAIN},
#else
    {"open", {SYS_openat}, {EINTR, EMFILE, EIO, ENOSPC}, PLAIN},
#endif
    {"read", {SYS_read, SYS_pread64, SYS_readv}, {EINTR, EIO}, PLAIN},
    {"write",
     {SYS_write, SYS_pwrite64, SYS_writev, SYS_sendfile, SYS_copy_file_range},
     {EINTR, ENOSPC, EIO},
     PLAIN},
    {"close", {SYS_close}, {EINTR, EIO}, PLAIN},
    {"mmap", {SYS_mmap, SYS_brk, SYS_mremap}, {ENOMEM}, MEMORY},
    {"sync", {SYS_fsync, SYS_fdatasync}, {EIO, ENOSPC}, PLAIN},
    {"size", {SYS_ftruncate, SYS_fallocate}, {ENOSPC, EIO}, PLAIN},
#ifdef SYS_rename
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2}, {EIO, ENOSPC}, PLAIN},
    {"unlink", {SYS_unlink, SYS_unlinkat, SYS_rmdir}, {EIO}, LEAVES},
    {"mkdir", {SYS_mkdir, SYS_mkdirat}, {ENOSPC, EIO}, PLAIN},
    {"process",
     {SYS_fork, SYS_vfork, SYS_clone, SYS_clone3},
     {EAGAIN, ENOMEM},
     PLAIN},
    {"pipe", {SYS_pipe, SYS_pipe2, SYS_socketpair}, {EMFILE}, PLAIN},
    {"wait",
     {SYS_poll, SYS_ppoll, SYS_wait4, SYS_waitid, SYS_select},
     {EINTR},
     PLAIN},
    {"stat",
     {SYS_stat, SYS_lstat, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_access},
     {EIO, ENOMEM},
     PLAIN},
    {"mode",
     {SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_dup2, SYS_fcntl, SYS_lseek},
     {EIO, EINTR},
     PLAIN},
#endif
    {"send", {SYS_sendto, SYS_recvfrom}, {EINTR, EIO}, PLAIN},
    {"list", {SYS_getdents64}, {EIO, ENOMEM}, PLAIN},
    {"exec", {SYS_execve}, {ENOENT, ENOMEM}, CHILDREN},
};

enum { MOST_WORDS = 32, MOST_TEXT = 1 << 16 };

static char folder[] = "/tmp/cleave-syscalls-XXXXXX";
static char program[1100], sources[1024];
static long failures; /* that were made, of all rows */

/* -- the folder -----------------------------------------------------------*/

static void shell(const char *fmt, ...)
{
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    CHECK(system(line) == 0);
}

/* Calls `each` for every file of a folder and its folders, with its path from
 * there; stops when that returns false, and returns it. */
static bool walk(const char *top, const char *from,
                 bool (*each)(const char *path))
{
    char path[800];
    bool ok = true;
    snprintf(path, sizeof path, "%s/%s/%s", folder, top, from);
    DIR *d = opendir(path);
    for (struct dirent *e; ok && d && (e = readdir(d));) {
        struct stat st;
        char inner[600];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(inner, sizeof inner, "%s%s%s", from, *from ? "/" : "",
                 e->d_name);
        snprintf(path, sizeof path, "%s/%s/%s", folder, top, inner);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            ok = walk(top, inner, each);
        else
            ok = each(inner);
    }
    if (d)
        closedir(d);
    return ok;
}

/* Are the file of `top` and that of `out` the same, or both not there? */
static bool same_as(const char *top, const char *path)
{
    char name[700];
    snprintf(name, sizeof name, "%s/%s/%s", folder, top, path);
    FILE *a = fopen(name, "rb");
    snprintf(name, sizeof name, "%s/out/%s", folder, path);
    FILE *b = fopen(name, "rb");
    bool same = !a == !b;
    for (int c = 0; same && a && c != EOF;)
        same = (c = getc(a)) == getc(b);
    if (a)
        fclose(a);
    if (b)
        fclose(b);
    return same;
}

static const char *start; /* the folder that `out` began as */

static bool is_before(const char *path)
{
    return same_as(start, path);
}

static bool is_after(const char *path)
{
    return same_as("done", path);
}

static bool is_whole(const char *path)
{
    return is_before(path) || is_after(path);
}

/* Every output is there and as it should be. */
static bool outputs_done(void)
{
    return walk("out", "", is_after) && walk("done", "", is_after);
}

/* Every output is as it was before, or as it should be: none is half a one. */
static bool outputs_whole(void)
{
    return walk("out", "", is_whole) && walk(start, "", is_whole);
}

static bool remove_output(const char *path)
{
    char name[700];
    snprintf(name, sizeof name, "%s/out/%s", folder, path);
    return unlink(name) == 0;
}

static bool copy_before(const char *path)
{
    char name[700], bytes[100];
    snprintf(name, sizeof name, "%s/%s/%s", folder, start, path);
    FILE *a = fopen(name, "rb");
    snprintf(name, sizeof name, "%s/out/%s", folder, path);
    FILE *b = fopen(name, "wb");
    size_t n = a && b ? fread(bytes, 1, sizeof bytes, a) : 0;
    bool ok = n && fwrite(bytes, 1, n, b) == n;
    if (a)
        fclose(a);
    return b && fclose(b) == 0 && ok;
}

static void reset_outputs(void)
{
    char path[100];
    walk("out", "", remove_output);
    snprintf(path, sizeof path, "%s/out/parts", folder);
    rmdir(path);
    snprintf(path, sizeof path, "%s/out/y", folder);
    rmdir(path);
    CHECK(walk(start, "", copy_before));
}

/* What standard output got, as a number. */
static uint64_t text_sum(void)
{
    char path[100];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "%s/stdout", folder);
    FILE *f = fopen(path, "rb");
    for (int c; f && (c = getc(f)) != EOF;)
        sum = (sum ^ (uint8_t)c) * UINT64_C(1099511628211);
    if (f)
        fclose(f);
    return sum;
}

static const struct row *entered; /* whose files are opened */

/* A pipe that holds the whole model. */
static int model_pipe(void)
{
    char path[1100], bytes[1 << 15];
    int ends[2];
    snprintf(path, sizeof path, "%s" MODEL, sources);
    int model = open(path, O_RDONLY);
    ssize_t n = read(model, bytes, sizeof bytes);
    if (n <= 0 || n == sizeof bytes || pipe(ends) != 0 ||
        write(ends[1], bytes, (size_t)n) != n)
        _exit(126);
    close(model);
    close(ends[1]);
    return ends[0];
}

static void enter(void)
{
    (void)!chdir(folder);
    int in = entered->is & PIPED ? model_pipe() : open("/dev/null", O_RDONLY);
    int out = open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int err = open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    close(in);
    close(out);
    close(err);
}

/* -- one command ----------------------------------------------------------*/

typedef struct words {
    char text[2048];
    char *argv[MOST_WORDS + 1];
} words;

static void split(const char *line, words *w)
{
    size_t n = 0;
    for (const char *s = line; *s && n < sizeof w->text - 1100;) {
        if (!strncmp(s, "{R}", 3)) {
            n += (size_t)sprintf(w->text + n, "%s", sources);
            s += 3;
        } else {
            w->text[n++] = *s++;
        }
    }
    w->text[n] = '\0';
    int k = 0;
    w->argv[k++] = program;
    for (char *s = strtok(w->text, " "); s && k < MOST_WORDS;
         s = strtok(NULL, " "))
        w->argv[k++] = s;
    w->argv[k] = NULL;
}

/* Lines on standard error that are no warnings; the last of them. */
static int lines_said(char *last, size_t size)
{
    char path[100], line[2000];
    int n = 0;
    snprintf(path, sizeof path, "%s/stderr", folder);
    FILE *f = fopen(path, "r");
    *last = '\0';
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "cleave: warning: ", 17) != 0 &&
            strncmp(line, "cleave: note: ", 14) != 0) {
            snprintf(last, size, "%s", line);
            n++;
        }
    if (f)
        fclose(f);
    return n;
}

typedef struct sweep {
    const struct row *row;
    const struct kind *kind;
    words w;
    uint64_t text;
} sweep;

/* Ends that are not ours: the loader of shared libraries and OpenMP, when it
 * gets no thread, have their own words and exit codes. */
static bool is_theirs(int status, const char *said)
{
    return WIFEXITED(status) &&
           ((WEXITSTATUS(status) == 127 &&
             strstr(said, "error while loading shared libraries")) ||
            (WEXITSTATUS(status) == 1 &&
             strstr(said, "libgomp: Thread creation failed")));
}

static void judge(const sweep *s, const failing *f, int status)
{
    char said[2000];
    int lines = lines_said(said, sizeof said);
    bool ok = !f->late && WIFEXITED(status) && WEXITSTATUS(status) <= 3;
    bool done = ok && WEXITSTATUS(status) == 0;
    if (!f->late && is_theirs(status, said))
        return;
    if (done && ((s->row->is & ANSWERS) || (s->kind->is & LEAVES)))
        ok = true; /* a "no" of a command that was disturbed, or more files */
    else if (done)
        ok = outputs_done() && ((s->row->is & TIMES) || text_sum() == s->text);
    else if (ok)
        ok = lines == 1 && ((s->kind->is & LEAVES) || outputs_whole());
    check_that(ok, __FILE__, __LINE__,
               "%s: %s number %ld, errno %d: status 0x%x%s, %d lines: %s%s",
               s->row->line, s->kind->name, f->at, f->error, (unsigned)status,
               f->late ? " (late)" : "", lines, said,
               done              ? " (other output)"
               : outputs_whole() ? ""
                                 : " (files are left)");
}

/* Runs the command undisturbed and keeps what it wrote in `done`. Counts its
 * calls; false when the kernel does not tell of them. */
static bool run_whole(sweep *s, failing *f)
{
    f->at = 0;
    reset_outputs();
    int status = failing_run(f, s->w.argv, enter);
    if (status == -1)
        return false;
    CHECK_EQ_INT(status, 0);
    s->text = text_sum();
    shell("rm -rf %s/done && cp -r %s/out %s/done", folder, folder, folder);
    return true;
}

static void fail_one(const sweep *s, failing *f, long at, int error)
{
    f->at = at;
    f->error = error;
    reset_outputs();
    int status = failing_run(f, s->w.argv, enter);
    judge(s, f, status);
    failures++;
}

/* Lets the calls of a kind fail: all with every error, or an early one. */
static bool sweep_kind(sweep *s, bool all, unsigned turn)
{
    failing f = {.children = (s->kind->is & CHILDREN) != 0};
    unsigned errors = 0;
    memcpy(f.numbers, s->kind->numbers, sizeof f.numbers);
    while (errors < 4 && s->kind->errors[errors])
        errors++;
    if (!all) {
        fail_one(s, &f, 1 + turn / errors % 4, s->kind->errors[turn % errors]);
        return true;
    }
    if (!run_whole(s, &f))
        return false;
    long calls = f.calls;
    for (unsigned i = 0; i < errors; i++)
        for (long at = 1; at <= calls; at++)
            fail_one(s, &f, at, s->kind->errors[i]);
    return true;
}

static bool has_onednn(void)
{
    clv_backend *b = NULL;
    bool has = clv_backend_open("onednn", NULL, &b, NULL) == CLV_OK;
    clv_backend_free(b);
    return has;
}

/* A folder to verify, a command that answers, folders to start from. */
static void prepare(void)
{
    shell(
        "cd %s && mkdir empty again out && printf '#!/bin/sh\\nwhile read l; "
        "do "
        "echo \"{\\\\\"supported\\\\\": true}\"; done\\n' >answers && chmod +x "
        "answers && %s partition %s" MODEL " -s fusion -o parts >/dev/null",
        folder, program, sources);
    shell("cd %s && for f in p.csv p.json m.onnx y.npz; do echo before "
          ">again/$f; done",
          folder);
}

static void every_call(bool sanitized)
{
    const char *all = getenv("CLEAVE_SWEEP");
    bool dot = system("dot -V >/dev/null 2>&1") == 0;
    bool onednn = has_onednn();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((strstr(rows[i].line, "onednn") && !onednn) ||
            ((rows[i].is & DOT) && !dot))
            continue;
        if (all && *all && !strstr(rows[i].line, all))
            continue;
        sweep s = {.row = &rows[i]};
        split(rows[i].line, &s.w);
        check_row(rows[i].line);
        entered = &rows[i];
        start = rows[i].is & AGAIN ? "again" : "empty";
        failing f = {.numbers = {SYS_reboot}};
        if (!run_whole(&s, &f)) {
            check_skip("the kernel does not tell of system calls");
            continue;
        }
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            s.kind = &kinds[k];
            if ((kinds[k].is & MEMORY) && sanitized)
                continue;
            sweep_kind(&s, all != NULL, (unsigned)(3 * i + k));
        }
    }
}

/* -- little memory --------------------------------------------------------*/

static rlim_t space; /* that a program may have, in bytes */

static void enter_small(void)
{
    enter();
    setrlimit(RLIMIT_AS, &(struct rlimit){space, space});
}

/* The same under a limit of address space, from where the program can start to
 * where it has enough. */
static void little_memory(void)
{
    static const struct row small[] = {
        {"profile {R}" MODEL, PLAIN},
        {"partition {R}" MODEL " -s fusion -o out/parts", PLAIN},
        {"export {R}" MODEL " -o out/m.onnx", PLAIN},
        {"run {R}" MODEL " --random -o out/y.npz", TIMES},
        {"run {R}" MODEL " --random --backend onednn -o out/y.npz", TIMES},
    };
    static const struct kind none = {"limit of memory", {SYS_reboot}, {0}, 0};
    const double grows = getenv("CLEAVE_SWEEP") ? 1.02 : 1.6;
    start = "empty";
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        sweep s = {.row = entered = &small[i], .kind = &none};
        failing f = {.numbers = {SYS_reboot}};
        if (strstr(small[i].line, "onednn") && !has_onednn())
            continue;
        check_row(small[i].line);
        split(small[i].line, &s.w);
        if (!run_whole(&s, &f)) {
            check_skip("the kernel does not tell of system calls");
            continue;
        }
        for (double mb = 8; mb < 500; mb *= grows) {
            space = (rlim_t)(mb * (1 << 20));
            f.at = (long)mb;
            reset_outputs();
            int status = failing_run(&f, s.w.argv, enter_small);
            judge(&s, &f, status);
        }
    }
}

static void every_failure(void)
{
    bool sanitized = false;
#ifdef __SANITIZE_ADDRESS__
    sanitized = true;
#endif
    const char *build = getenv("CLEAVE_BUILD");
    CHECK_OR_RETURN(mkdtemp(folder) != NULL && getcwd(sources, sizeof sources));
    snprintf(program, sizeof program, "%s%s%s/cli/cleave", build ? "" : sources,
             build ? "" : "/", build ? build : "build");
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    prepare();
    every_call(sanitized);
    if (!sanitized)
        little_memory();
    shell("rm -rf %s", folder);
    printf("%ld calls failed, one in each run\n", failures);
}

static const check_case cases[] = {{"every_failure", every_failure}};
CHECK_MAIN(cases)
