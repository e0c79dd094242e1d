/* trial.c - a process that compiles on trial, because an engine may crash.
 *
 * It is forked when it is first needed, before this process has started the
 * engine, and answers one model after the other: the length and the bytes come
 * in, a length and a message go out, which is empty when the model compiled.
 * One that dies, or is silent too long, is an answer too, with what it said
 * last on its standard error; the next model gets a new process. */
#define _GNU_SOURCE
#include "backend/ort/ort.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct trial_question {
    uint64_t size;
    uint32_t threads;
} trial_question;

/* -- both sides -----------------------------------------------------------*/

static bool trial_put(int fd, const void *data, size_t n)
{
    for (const char *p = data; n;) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Reads n bytes; false at the end, or once the clock has passed `until`, if
 * that is not 0. */
static bool trial_get(int fd, void *data, size_t n, double until)
{
    for (char *p = data; n;) {
        double left = until > 0 ? until - clv__now() : 1;
        struct pollfd ready = {fd, POLLIN, 0};
        if (left <= 0)
            return false;
        if (poll(&ready, 1, until > 0 ? (int)(left * 1000) + 1 : -1) <= 0)
            continue;
        ssize_t k = recv(fd, p, n, 0);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* -- the process ----------------------------------------------------------*/

static bool trial_answer(ort_engine *g, int fd)
{
    trial_question q;
    clv_err e = {0};
    ort_session *session;
    if (!trial_get(fd, &q, sizeof q, 0))
        return false;
    char *bytes = clv__alloc((size_t)q.size + 1);
    if (!bytes || !trial_get(fd, bytes, (size_t)q.size, 0))
        return false;
    if (ort_session_new(g, bytes, (size_t)q.size, q.threads, &session, &e) ==
        CLV_OK)
        g->api.ReleaseSession(session);
    clv__free(bytes);
    uint32_t n = (uint32_t)strlen(e.msg);
    return trial_put(fd, &n, sizeof n) && trial_put(fd, e.msg, n);
}

static void trial_child(ort_engine *g, int fd, int log)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, 0);
        dup2(nowhere, 1);
    }
    dup2(log >= 0 ? log : nowhere, 2);
    const int crashes[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                           SIGABRT, SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL);
    while (trial_answer(g, fd))
        ;
    _exit(0);
}

/* -- this side ------------------------------------------------------------*/

static void trial_forget(ort_trial *t)
{
    close(t->fd);
    if (t->log >= 0)
        close(t->log);
    t->pid = 0;
}

/* It ends with the thread that started it, which is no failure of a model. */
static void trial_look(ort_trial *t)
{
    if (t->pid > 0 && waitpid(t->pid, NULL, WNOHANG) != 0)
        trial_forget(t);
}

static clv_status trial_start(ort_engine *g, clv_err *e)
{
    ort_trial *t = &g->trial;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return clv__fail(e, CLV_IO, "cannot compile on trial: %s",
                         strerror(errno));
    t->log = memfd_create("cleave-trial", MFD_CLOEXEC);
    fflush(NULL); /* or the other process would write it too */
    t->pid = fork();
    if (t->pid == 0) {
        close(pair[0]);
        trial_child(g, pair[1], t->log);
    }
    close(pair[1]);
    t->fd = pair[0];
    if (t->pid > 0)
        return CLV_OK;
    int why = errno;
    t->pid = 0;
    close(t->fd);
    if (t->log >= 0)
        close(t->log);
    return clv__fail(e, CLV_IO, "cannot compile on trial: %s", strerror(why));
}

/* Ends the process and returns its status, or -1 when it had to be stopped. */
static int trial_stop(ort_trial *t)
{
    int status = 0;
    pid_t got = 0;
    close(t->fd);
    for (int i = 0; i < 100 && got == 0; i++) {
        got = waitpid(t->pid, &status, WNOHANG);
        if (got == 0)
            nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(-t->pid, SIGKILL);
    if (got == 0) {
        kill(t->pid, SIGKILL);
        while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    t->pid = 0;
    return got > 0 ? status : -1;
}

void ort_trial_end(ort_trial *t)
{
    if (t->pid <= 0)
        return;
    trial_stop(t);
    if (t->log >= 0)
        close(t->log);
}

/* The last line of the process's standard error that says something. */
static void trial_last_words(const ort_trial *t, char *out, size_t size)
{
    char text[2048];
    off_t end = t->log >= 0 ? lseek(t->log, 0, SEEK_END) : 0;
    off_t from =
        end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;
    ssize_t n = end > 0 ? pread(t->log, text, sizeof text - 1, from) : 0;
    out[0] = '\0';
    text[n > 0 ? n : 0] = '\0';
    for (char *save, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (line[strspn(line, " \t\r")])
            snprintf(out, size, ": %s", line);
}

static clv_status trial_died(ort_engine *g, bool late, clv_err *e)
{
    char words[200];
    int status = trial_stop(&g->trial);
    trial_last_words(&g->trial, words, sizeof words);
    if (g->trial.log >= 0)
        close(g->trial.log);
    if (late)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "the engine did not compile it within %.0f s%s",
                         g->patience, words);
    if (status >= 0 && WIFSIGNALED(status))
        return clv__fail(e, CLV_UNSUPPORTED,
                         "the engine died of signal %d while compiling%s",
                         WTERMSIG(status), words);
    return clv__fail(e, CLV_UNSUPPORTED,
                     "the engine ended while compiling (exit code %d)%s",
                     status >= 0 ? WEXITSTATUS(status) : -1, words);
}

clv_status ort_trial_run(ort_engine *g, const clv_buf *bytes, uint32_t threads,
                         clv_err *e)
{
    ort_trial *t = &g->trial;
    const trial_question q = {bytes->len, threads};
    uint32_t n = 0;
    char text[sizeof e->msg];
    trial_look(t);
    if (t->pid == 0)
        CLV_TRY(trial_start(g, e));
    if (!trial_put(t->fd, &q, sizeof q) ||
        !trial_put(t->fd, bytes->text, bytes->len))
        return trial_died(g, false, e);
    double until = clv__now() + g->patience;
    if (!trial_get(t->fd, &n, sizeof n, until) || n >= sizeof text ||
        !trial_get(t->fd, text, n, until))
        return trial_died(g, clv__now() >= until, e);
    text[n] = '\0';
    return n ? clv__fail(e, CLV_UNSUPPORTED, "%s", text) : CLV_OK;
}
