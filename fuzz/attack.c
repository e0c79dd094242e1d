/* attack.c - mutated files through every command of cleave.
 *
 *   attack [--count N] [--seed S] [--batch B] [--keep DIR] [--plain] SEED...
 *
 * SEED is a file or a folder of model files. Each of N times one is changed
 * (--plain: taken as it is, all in turn), a command and some of its flags are
 * drawn, and the command runs in a child. It must end by itself within ten
 * seconds with exit code 0 to 3 and, unless that is 0, one line of error; it
 * must leave no temporary file, no file at all when it fails, and take no more
 * than 100 MB and twenty times the file. What does not is kept in DIR with its
 * command line; the last line is the one tests/run counts.
 *
 * The child is forked off this process, which has the command linked in: that
 * is ten times as fast as starting it. Under sanitizers, where a process takes
 * long to begin and to end, a child takes B commands in turn and tells of each;
 * one that ends early is replaced, after the command that ended it. */
#define _GNU_SOURCE

#include "cli.h"
#include "mutate_onnx.h"
#include "wire_mutate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_SEEDS = 4096,
    LARGEST_SEED = 256 << 10,
    LARGEST_FILE = 1 << 20,
    MOST_WORDS = 40,
    WORD = 300,
    MOST_SECONDS = 10,
    BASE_MEMORY = 100, /* MB */
    TIMES_FILE = 20,
    MOST_BATCH = 1000,
};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

typedef struct seed_file {
    char *path;
    uint8_t *data;
    size_t size;
} seed_file;

static struct {
    seed_file seeds[MOST_SEEDS];
    size_t n_seeds;
    long count, first, batch;
    uint64_t seed;
    const char *keep;
    bool plain;
    char folder[64]; /* of the attack; the model and all outputs are in it */
    int err;         /* what children print on standard error */
    long ended[4];   /* by exit code */
    long failed, asked;
    double longest, seconds_all;
    long longest_at, most_at;
    double most; /* memory over what is allowed, as a share */
} all;

/* One run of a command. */
typedef struct shot {
    uint64_t state;
    long number;
    char word[MOST_WORDS][WORD];
    int n;
    char model[100], output[160]; /* "": none was asked for */
    size_t size;                  /* of the model */
    bool asks; /* for memory or time in proportion to a number of the flags, or
                * to run what it reads */
    int status;
    double seconds, megabytes;
} shot;

/* -- seeds ----------------------------------------------------------------*/

static void add_seed(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (f && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size > 0 && st.st_size <= LARGEST_SEED &&
        all.n_seeds < MOST_SEEDS) {
        seed_file *s = &all.seeds[all.n_seeds];
        s->data = malloc((size_t)st.st_size);
        s->size = s->data ? fread(s->data, 1, (size_t)st.st_size, f) : 0;
        s->path = strdup(path);
        all.n_seeds += s->size > 0;
    }
    if (f)
        fclose(f);
}

static int visit(const char *path, const struct stat *st, int type,
                 struct FTW *w)
{
    (void)st, (void)w;
    size_t n = strlen(path);
    bool model = n > 5 && !strcmp(path + n - 5, ".onnx");
    if (type == FTW_F && (model || strstr(path, "corpus/onnx/")))
        add_seed(path);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const seed_file *s = a, *t = b;
    return strcmp(s->path, t->path);
}

/* -- flags ----------------------------------------------------------------*/

static const char *pick(shot *s, const char *const *words, size_t n)
{
    return words[wire_below(&s->state, n)];
}

#define PICK(s, words) pick(s, words, sizeof(words) / sizeof *(words))

static const char *a_count(shot *s)
{
    static const char *const good[] = {"1", "2", "3", "4", "7", "13", "64"};
    static const char *const bad[] = {"0",
                                      "-1",
                                      "4294967295",
                                      "4294967296",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "1x",
                                      "",
                                      "1e3"};
    return wire_below(&s->state, 8) ? PICK(s, good) : PICK(s, bad);
}

static const char *a_number(shot *s)
{
    static const char *const words[] = {"1",     "0.5",  "1e-300", "1e300",
                                        "10",    "0",    "-1",     "nan",
                                        "1e999", "0x10", ",",      "3.25"};
    return PICK(s, words);
}

static const char *a_text(shot *s)
{
    static const char *const words[] = {
        "x",     "",       "/",          "/dev/null", "%s%n", "a=b",
        "100MB", "random", "zeros,none", "ref",       "none", "\xff\x1b[2J"};
    return PICK(s, words);
}

/* A word of "a|b|c". */
static void a_choice(shot *s, const char *from, char *out)
{
    size_t n = 1;
    for (const char *c = from; *c; c++)
        n += *c == '|';
    for (uint64_t k = wire_below(&s->state, n); k; k--)
        from = strchr(from, '|') + 1;
    snprintf(out, WORD, "%.*s", (int)strcspn(from, "|"), from);
}

/* Words that some flags want; a flag without a row takes a_text. */
static const struct {
    const char *flag, *words;
} texts[] = {
    {"--backend", "ref|onednn|onednn|nvidia-dla|ethos-u55|edgetpu|null|"
                  "all-but:relu|cmd:/bin/true|./no.so|onednnx"},
    {"--hardware", "h100|t4|i7-12700k|h100,t4|jetson-agx-orin|none"},
    {"--host", "i7-12700k|h100|none"},
    {"--budget", "1MB|macs=1G|params=10,peak=1KB|x=1|=|100"},
    {"--weights", "random|zeros|none|random:7|random:x"},
    {"--stage-memory", "1MB|1KB|x|9999999999GB"},
    {"--memory", "1MB|256MB|0"},
    {"--max-memory", "1MB|64MB|1|1GB|1kB"},
    {"--cpu-ops", "relu|add,conv2d|*|aten::topk"},
    {"--cpu-nodes", "*|*a*|x.*|[|n?"},
    {"--max-seconds", "0.01|1|5|1e-9"},
    {"--model", "alexnet|x"},
    {"--models", "alexnet,x|alexnet"},
};

/* Flags that ask for what a bound on the file alone does not hold. */
static const char *const asking[] = {"--batch",   "--input-shape", "--dim",
                                     "--streams", "--threads",     "--loop",
                                     "--curve"};
/* Flags that are tried elsewhere: they take time, or read from other files. */
static const char *const left_out[] = {"--measure", "--model",   "--models",
                                       "--help",    "--timeout", "--open"};

static bool in_list(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

#define IN(name, list) in_list(name, list, sizeof(list) / sizeof *(list))

static char *new_word(shot *s)
{
    return s->word[s->n < MOST_WORDS - 1 ? s->n++ : MOST_WORDS - 1];
}

static void set_word(shot *s, const char *text)
{
    snprintf(new_word(s), WORD, "%s", text);
}

/* Where outputs go: in the folder, under an ending that says what they are. */
static void add_output(shot *s, const char *ending)
{
    snprintf(s->output, sizeof s->output, "%s/out%s", all.folder, ending);
    set_word(s, "--output");
    set_word(s, s->output);
}

/* The ending that a flag names, FILE.svg, or one that commands may know. */
static const char *an_ending(shot *s, const flag *f)
{
    static const char *const ends[] = {".json", ".csv", ".txt", ".onnx",
                                       "",      ".npz", "/",    "/a/b"};
    return !strncmp(f->arg, "FILE.", 5) ? f->arg + 4 : PICK(s, ends);
}

static void add_value(shot *s, const flag *f)
{
    switch (f->kind) {
    case KIND_COUNT:
    case KIND_COUNTS:
        set_word(s, a_count(s));
        break;
    case KIND_NUMBER:
        set_word(s, a_number(s));
        break;
    case KIND_CHOICE:
    case KIND_DTYPE:
        a_choice(s, f->arg, new_word(s));
        break;
    case KIND_SHAPES:
        snprintf(new_word(s), WORD, "%s,%s", a_count(s), a_count(s));
        break;
    case KIND_DIMS:
        snprintf(new_word(s), WORD, "N=%s", a_count(s));
        break;
    default:
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (!strcmp(texts[i].flag, f->name)) {
                a_choice(s, texts[i].words, new_word(s));
                return;
            }
        set_word(s, a_text(s));
    }
}

static void add_flag(shot *s, const flag *f)
{
    bool output = !strcmp(f->name, "--output") || !strcmp(f->name, "--svg") ||
                  !strcmp(f->name, "--trace");
    if (IN(f->name, left_out) || (output && *s->output))
        return;
    if (SANITIZED && !strcmp(f->name, "--sandbox"))
        return; /* the search for leaks traces */
    s->asks |= IN(f->name, asking);
    if (output) {
        add_output(s, an_ending(s, f));
        strcpy(s->word[s->n - 2], f->name);
        return;
    }
    set_word(s, f->name);
    if (f->kind != KIND_SWITCH && f->kind != KIND_OPTION)
        add_value(s, f);
    if (!strcmp(f->name, "--repeat") || !strcmp(f->name, "--warmup"))
        strcpy(s->word[s->n - 1], "2");
}

/* -- files ----------------------------------------------------------------*/

static bool write_whole(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size;
    return fd >= 0 && close(fd) == 0 && ok;
}

static bool draw_model(shot *s)
{
    static uint8_t bytes[LARGEST_FILE];
    const seed_file *a = &all.seeds[wire_below(&s->state, all.n_seeds)];
    const seed_file *b = &all.seeds[wire_below(&s->state, all.n_seeds)];
    snprintf(s->model, sizeof s->model, "%s/model.onnx", all.folder);
    if (all.plain) {
        a = &all.seeds[(size_t)s->number % all.n_seeds];
        s->size = a->size;
        return write_whole(s->model, a->data, a->size);
    }
    s->size = wire_below(&s->state, 2)
                  ? onnx_mutate(a->data, a->size, b->data, b->size, bytes,
                                sizeof bytes, wire_random(&s->state))
                  : 0;
    if (!s->size)
        s->size = wire_mutate(&s->state, a->data, a->size, b->data, b->size,
                              bytes, sizeof bytes);
    return write_whole(s->model, bytes, s->size);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *w)
{
    (void)st, (void)type;
    if (w->level > 0)
        remove(path);
    return 0;
}

static void empty_folder(void)
{
    nftw(all.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int n_left; /* files and folders beside the model */

static int count_one(const char *path, const struct stat *st, int type,
                     struct FTW *w)
{
    (void)st, (void)type;
    n_left += w->level > 0 && strcmp(path + w->base, "model.onnx") != 0;
    return 0;
}

static int files_left(void)
{
    n_left = 0;
    nftw(all.folder, count_one, 16, FTW_PHYS);
    return n_left;
}

/* -- one shot -------------------------------------------------------------*/

/* What commands do not go without. */
static const struct {
    const char *verb, *flag, *words;
} needed[] = {
    {"map", "--hardware", "h100|t4|i7-12700k|h100,t4"},
    {"check", "--budget", "macs=1G|peak=1KB|params=10,peak=1GB"},
};
static const char *const exports[] = {".onnx", ".onnx", ".onnx",       ".dot",
                                      ".json", ".svg",  ".netron.json"};

/* A command that reads a model, and flags of it. */
static void draw_command(shot *s)
{
    const command *c;
    size_t n = 0;
    while (cli_commands[n].verb)
        n++;
    do
        c = &cli_commands[wire_below(&s->state, n)];
    while (strncmp(c->args, "MODEL", 5) != 0);
    set_word(s, "cleave");
    set_word(s, c->verb);
    set_word(s, s->model);
    s->asks = !strcmp(c->verb, "run");
    if (s->asks && wire_below(&s->state, 8))
        set_word(s, "--random");
    if (s->asks && SANITIZED) {
        set_word(s, "--max-seconds");
        set_word(s, "2");
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!strcmp(c->verb, needed[i].verb)) {
            set_word(s, needed[i].flag);
            a_choice(s, needed[i].words, new_word(s));
        }
    if (!strcmp(c->verb, "compare"))
        set_word(s, wire_below(&s->state, 2) ? s->model : "alexnet");
    if (!strcmp(c->verb, "export"))
        add_output(s, PICK(s, exports));
    if (!strcmp(c->verb, "report")) /* else it writes where it stands */
        add_output(s, ".html");
    for (n = 0; c->flags[n] != NO_FLAG; n++) {
    }
    uint64_t most = wire_below(&s->state, 5); /* most often none */
    for (uint64_t k = most > 2 ? wire_below(&s->state, most) : 0; k--;)
        add_flag(s, &cli_flags[c->flags[wire_below(&s->state, n)]]);
}

static int shoot(const shot *s)
{
    char *argv[MOST_WORDS + 1] = {0};
    cli_session session = {0};
    for (int i = 0; i < s->n; i++)
        argv[i] = (char *)(uintptr_t)s->word[i];
    return cli_main(s->n, argv, &session);
}

/* What a child does first. */
static void become_child(void)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(all.err, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    clean_on_signals();
    clv_guard_files();
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits for the child; returns false when it had to be killed. */
static bool wait_for(pid_t child, shot *s)
{
    struct rusage use = {0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    double start = now();
    bool late = false;
    while (wait4(child, &s->status, WNOHANG, &use) == 0) {
        late = now() - start > 20 * MOST_SECONDS; /* the machine may be busy */
        if (late)
            kill(child, SIGKILL);
        sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = 200000000});
    }
    s->seconds = (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    s->megabytes = (double)use.ru_maxrss / 1024;
    return !late;
}

/* Lines of standard error that are neither warnings nor notes. */
static int error_lines(char *text, size_t size)
{
    ssize_t n = pread(all.err, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    int lines = 0;
    for (char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        lines += strncmp(line, "cleave: warning: ", 17) != 0 &&
                 strncmp(line, "cleave: note: ", 14) != 0;
        line += len + (line[len] == '\n');
    }
    return lines;
}

/* What is wrong with how the shot ended; NULL: nothing. `left` is the number of
 * files beside the model. */
static const char *judge(shot *s, bool in_time, int lines, int left)
{
    double allowed = BASE_MEMORY + TIMES_FILE * (double)s->size / (1 << 20);
    if (!in_time || (WIFSIGNALED(s->status) && s->seconds > MOST_SECONDS - 1))
        return "hang";
    if (WIFSIGNALED(s->status))
        return "signal";
    int code = WEXITSTATUS(s->status);
    if (code > 3)
        return "exit";
    if (lines != (code != 0))
        return "lines";
    if (code > 1 && left)
        return "left";
    if (!SANITIZED && s->megabytes > allowed)
        return s->asks ? "asked" : "memory";
    return NULL;
}

static void keep(const shot *s, const char *what, const char *text)
{
    char path[400];
    printf("FAIL %s, file %ld:", what, s->number);
    for (int i = 1; i < s->n; i++)
        printf(" '%s'", s->word[i]);
    printf("\n     status 0x%x, %.1f s, %.0f MB; %.300s\n", (unsigned)s->status,
           s->seconds, s->megabytes, text);
    if (!all.keep)
        return;
    snprintf(path, sizeof path, "%s/%s-%ld.onnx", all.keep, what, s->number);
    FILE *from = fopen(s->model, "rb"), *to = fopen(path, "wb");
    for (int c; from && to && (c = getc(from)) != EOF;)
        putc(c, to);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    snprintf(path, sizeof path, "%s/%s-%ld.txt", all.keep, what, s->number);
    to = fopen(path, "w");
    for (int i = 0; to && i < s->n; i++)
        fprintf(to, "'%s' ", s->word[i]);
    if (to) {
        fprintf(to, "\n%s\n", text);
        fclose(to);
    }
}

static void count_shot(const shot *s, const char *wrong)
{
    double allowed = BASE_MEMORY + TIMES_FILE * (double)s->size / (1 << 20);
    bool asked = wrong && !strcmp(wrong, "asked");
    all.asked += asked;
    if (!wrong || asked)
        all.ended[WEXITSTATUS(s->status)]++;
    else
        all.failed++;
    all.seconds_all += s->seconds;
    if (s->seconds > all.longest) {
        all.longest = s->seconds;
        all.longest_at = s->number;
    }
    if (!s->asks && s->megabytes / allowed > all.most) {
        all.most = s->megabytes / allowed;
        all.most_at = s->number;
    }
}

static void count_and_keep(const shot *s, const char *wrong, const char *text)
{
    if (wrong)
        keep(s, wrong, text);
    count_shot(s, wrong);
}

/* Draws the model, which is written, and the command. */
static void prepare(shot *s, long number)
{
    *s = (shot){.number = number,
                .state = all.seed * UINT64_C(1000003) + (uint64_t)number};
    if (!draw_model(s) || ftruncate(all.err, 0) != 0 ||
        lseek(all.err, 0, SEEK_SET) != 0) {
        printf("FAIL cannot write %s: %s\n", s->model, strerror(errno));
        exit(2);
    }
    draw_command(s);
}

static void attack(long number)
{
    static char text[1 << 16];
    static shot s;
    prepare(&s, number);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const rlim_t seconds = SANITIZED ? 10 * MOST_SECONDS : MOST_SECONDS;
        become_child();
        if (!SANITIZED)
            setrlimit(RLIMIT_AS,
                      &(struct rlimit){UINT64_C(6) << 30, UINT64_C(6) << 30});
        setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
        exit(shoot(&s));
    }
    bool in_time = child > 0 && wait_for(child, &s);
    int lines = error_lines(text, sizeof text);
    count_and_keep(&s, judge(&s, in_time, lines, files_left()), text);
    if (*s.output)
        empty_folder();
}

/* -- many shots of one child ----------------------------------------------*/

/* What a child tells of a shot that ended by itself. */
typedef struct told {
    int code, lines, left;
    double seconds;
} told;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void batch_child(long number, long count, int tell)
{
    static char text[1 << 16];
    static shot s;
    const struct itimerval most = {.it_value = {10 * MOST_SECONDS, 0}};
    become_child();
    for (long i = 0; i < count; i++) {
        prepare(&s, number + i);
        setitimer(ITIMER_PROF, &most, NULL); /* SIGPROF ends it */
        double before = cpu_seconds();
        told t = {.code = shoot(&s)};
        fflush(stdout);
        t.seconds = cpu_seconds() - before;
        t.lines = error_lines(text, sizeof text);
        t.left = t.code > 1 ? files_left() : 0;
        if (write(tell, &t, sizeof t) != sizeof t)
            _exit(99);
        if (t.left || *s.output)
            empty_folder();
    }
    if (ftruncate(all.err, 0) != 0)
        _exit(99);
    exit(0); /* and the search for leaks */
}

/* A child that says nothing for so long is ended. */
static bool batch_next(int from, pid_t child, told *t)
{
    struct pollfd p = {.fd = from, .events = POLLIN};
    if (poll(&p, 1, 40 * MOST_SECONDS * 1000) <= 0)
        kill(child, SIGKILL);
    return read(from, t, sizeof *t) == sizeof *t;
}

/* The command that the child did not survive. An alarm may have ended it. */
static void batch_died(long number, int status)
{
    static char text[1 << 16];
    static shot s;
    int lines = error_lines(text, sizeof text);
    int left = files_left();
    prepare(&s, number);
    s.status = status;
    bool hang = WIFSIGNALED(status) &&
                (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGKILL);
    const char *wrong = judge(&s, !hang, lines, left);
    if (!wrong && WEXITSTATUS(status) != 3)
        wrong = "exit";
    count_and_keep(&s, wrong, text);
    empty_folder();
}

/* Counts what the child told; what is wrong is drawn again and kept, once the
 * child no longer writes to the folder. */
static void batch_judge(long number, const told *t, bool again)
{
    static shot s;
    s = (shot){.number = number, .seconds = t->seconds};
    if (again)
        prepare(&s, number);
    s.status = t->code << 8;
    const char *wrong = judge(&s, true, t->lines, t->left);
    if (again == (wrong != NULL))
        count_and_keep(&s, wrong, "");
}

/* Up to `count` shots from `number` on; returns how many were made. */
static long attack_batch(long number, long count)
{
    static told all_told[MOST_BATCH];
    static char text[1 << 16];
    int ends[2], status = 0;
    long n = 0;
    fflush(stdout);
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0)
        exit(2);
    if (child == 0) {
        close(ends[0]);
        batch_child(number, count, ends[1]);
    }
    close(ends[1]);
    while (n < count && batch_next(ends[0], child, &all_told[n]))
        n++;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (n == count && status) {
        error_lines(text, sizeof text);
        printf("FAIL at the end of files %ld to %ld: %.2000s\n", number,
               number + n - 1, text);
        all.failed++;
    }
    long whole = n;
    if (n < count)
        batch_died(number + n++, status);
    for (long i = 0; i < 2 * whole; i++)
        batch_judge(number + i / 2, &all_told[i / 2], i % 2);
    return n;
}

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

static void parse(int argc, char **argv)
{
    all.count = 1000;
    all.batch = SANITIZED ? 50 : 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (!strcmp(argv[i], "--plain"))
            all.plain = true;
        else if (strncmp(argv[i], "--", 2) != 0)
            nftw(argv[i], visit, 16, FTW_PHYS);
        else if (++i && !strcmp(argv[i - 1], "--count"))
            all.count = atol(value);
        else if (!strcmp(argv[i - 1], "--batch"))
            all.batch = atol(value) < MOST_BATCH ? atol(value) : MOST_BATCH;
        else if (!strcmp(argv[i - 1], "--first"))
            all.first = atol(value);
        else if (!strcmp(argv[i - 1], "--seed"))
            all.seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i - 1], "--keep"))
            all.keep = value;
    }
    qsort(all.seeds, all.n_seeds, sizeof *all.seeds, by_path);
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    sigset_t set;
    parse(argc, argv);
    snprintf(all.folder, sizeof all.folder, "%s/cleave-attack-XXXXXX",
             tmp ? tmp : "/tmp");
    all.err = memfd_create("err", MFD_CLOEXEC);
    if (!all.n_seeds || !mkdtemp(all.folder) || all.err < 0) {
        printf("FAIL no seeds, or no place for files\n");
        return 2;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (all.keep)
        mkdir(all.keep, 0755);
    const long end = all.first + all.count;
    long i = all.first;
    signal(SIGTERM, on_stop); /* the summary tells how far it came */
    while (i < end && !stopped)
        if (all.batch > 1)
            i += attack_batch(i, end - i < all.batch ? end - i : all.batch);
        else
            attack(i++);
    empty_folder();
    unlink(all.folder);
    rmdir(all.folder);
    printf("%ld files of %zu seeds: exit 0 %ld, 1 %ld, 2 %ld, 3 %ld; "
           "%.1f s of work, longest %.2f s (%ld), most memory %.2f of what is "
           "allowed (%ld), more in %ld that asked for it\n",
           i - all.first, all.n_seeds, all.ended[0], all.ended[1], all.ended[2],
           all.ended[3], all.seconds_all, all.longest, all.longest_at, all.most,
           all.most_at, all.asked);
    printf("# %ld passed, %ld failed, 0 skipped\n", i - all.first - all.failed,
           all.failed);
    return all.failed ? 1 : 0;
}
