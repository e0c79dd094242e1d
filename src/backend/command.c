/* command.c - asks an external command, such as a vendor's compiler.
 *
 * The command gets one configuration per line on its standard input and writes
 * one answer per line: {"supported": true} or {"supported": false, "reason":
 * "..."}. It is started without a shell; its standard error is left alone. What
 * goes wrong is an answer: a line that makes no sense is a "no" for its
 * configuration; silence, a crash or too few lines a "no" for all that are
 * left. Both directions go through one poll loop, so neither side can block the
 * other, and through sockets, because writing to one raises no SIGPIPE. */
#include "backend/backend.h"
#include "core/guard.h"
#include "core/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 65536 };

/* -- the command line -----------------------------------------------------*/

/* Splits at blanks; quotes ' and " group, a backslash takes what follows. */
static clv_status open_command(clv_backend *b, const char *line, clv_err *e)
{
    size_t len = strlen(line), n = 0;
    char *out = arena_alloc(&b->mem, len + 2);
    char **argv = arena_array(&b->mem, len / 2 + 3, sizeof *argv);
    if (!out || !argv)
        return clv__nomem(e);
    const char *p = line + strspn(line, " \t");
    while (*p) {
        char quote = 0;
        argv[n++] = out;
        for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
            if (quote ? *p == quote : *p == '"' || *p == '\'')
                quote = quote ? 0 : *p;
            else if (*p == '\\' && p[1] && quote != '\'')
                *out++ = *++p;
            else
                *out++ = *p;
        }
        if (quote)
            return clv__fail(e, CLV_USAGE,
                             "cmd: a quote is not closed in %.200s", line);
        *out++ = '\0';
        p += strspn(p, " \t");
    }
    if (!n)
        return clv__fail(e, CLV_USAGE, "cmd: needs a command");
    argv[n] = NULL;
    b->state = argv;
    return CLV_OK;
}

/* -- the conversation -----------------------------------------------------*/

typedef struct talk {
    pid_t pid;
    int fd;         /* one socket, both directions */
    uint32_t asked; /* queries written whole */
    size_t sent;    /* bytes of the query being written, newline included */
    uint32_t answered;
    char *line; /* bytes received and not yet taken */
    size_t n_line;
} talk;

/* Waits for the child to become the command: false, and errno, when it cannot.
 * The other end closes by itself when it does. */
static bool became(pid_t pid, int other)
{
    int why = 0;
    ssize_t n;
    do
        n = read(other, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(other);
    if (n <= 0)
        return true;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = why;
    return false;
}

static bool start(talk *t, char **argv)
{
    int pair[2], failed[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, failed) != 0) {
        close(pair[0]);
        close(pair[1]);
        return false;
    }
    t->pid = fork();
    if (t->pid == 0) {
        setpgid(0, 0);
#ifdef PR_SET_PDEATHSIG
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* not even SIGKILL leaves it */
#endif
        if (dup2(pair[1], 0) < 0 || dup2(pair[1], 1) < 0)
            _exit(127);
        if (pair[1] < 2) /* where standard input or output was closed */
            fcntl(pair[1], F_SETFD, 0);
        execvp(argv[0], argv);
        (void)!write(failed[1], &errno, sizeof errno);
        _exit(127);
    }
    close(pair[1]);
    close(failed[1]);
    if (t->pid < 0 || !became(t->pid, failed[0])) {
        if (t->pid < 0)
            close(failed[0]);
        close(pair[0]);
        return false;
    }
    setpgid(t->pid, t->pid); /* whoever comes first */
    clv__process_started(t->pid);
    t->fd = pair[0];
    return true;
}

/* Writes what the socket takes; false when the reader is gone. */
static bool write_some(talk *t, const char *const *query, uint32_t n)
{
    while (t->asked < n) {
        const char *q = query[t->asked];
        size_t len = strlen(q);
        const char *from = t->sent < len ? q + t->sent : "\n";
        size_t left = t->sent < len ? len - t->sent : 1;
        ssize_t k = send(t->fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
        t->sent += (size_t)k;
        if (t->sent == len + 1) {
            t->asked++;
            t->sent = 0;
        }
    }
    shutdown(t->fd, SHUT_WR);
    return true;
}

static void take_answer(const char *line, size_t len, clv_answer *answer,
                        clv_why *why)
{
    arena scratch = {0};
    const json *root, *yes = NULL;
    if (json_parse(&scratch, line, len, &root, NULL) == CLV_OK)
        yes = json_get(root, "supported");
    if (!yes || yes->type != JSON_BOOL) {
        size_t show = 0; /* as much as is plain text */
        while (show < len && show < 60 && line[show] >= ' ' &&
               line[show] <= '~')
            show++;
        *answer = CLV_NO;
        snprintf(why->text, sizeof why->text,
                 "the command answered nonsense: '%.*s'", (int)show, line);
    } else {
        *answer = yes->u.b ? CLV_YES : CLV_NO;
        if (!yes->u.b)
            snprintf(why->text, sizeof why->text, "%s",
                     json_string(root, "reason", "the command says no"));
    }
    arena_free(&scratch);
}

/* Reads what there is; false at the end of the command's output, or when a
 * line grows without end. */
static bool read_some(talk *t, uint32_t n, clv_answer *answer, clv_why *why)
{
    ssize_t k = recv(t->fd, t->line + t->n_line, LINE_MAX_BYTES - t->n_line,
                     MSG_DONTWAIT);
    if (k < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (k == 0)
        return false;
    t->n_line += (size_t)k;
    char *p = t->line, *end = t->line + t->n_line, *nl;
    while (t->answered < n && (nl = memchr(p, '\n', (size_t)(end - p)))) {
        take_answer(p, (size_t)(nl - p), &answer[t->answered],
                    &why[t->answered]);
        t->answered++;
        p = nl + 1;
    }
    t->n_line = (size_t)(end - p);
    memmove(t->line, p, t->n_line);
    return t->n_line < LINE_MAX_BYTES;
}

/* Until all is answered, the command ends, or it is silent too long (then
 * true). */
static bool converse(talk *t, double timeout, const char *const *query,
                     uint32_t n, clv_answer *answer, clv_why *why)
{
    double deadline = clv__now() + timeout;
    bool writing = true;
    while (t->answered < n) {
        double left = deadline - clv__now();
        struct pollfd p = {t->fd, POLLIN, 0};
        if (writing && t->asked < n)
            p.events |= POLLOUT;
        if (left <= 0)
            return true;
        if (poll(&p, 1, left > 60 ? 60000 : (int)(left * 1000) + 1) <= 0)
            continue;
        uint32_t before = t->answered;
        if (p.revents & POLLOUT)
            writing = write_some(t, query, n);
        if (p.revents & (POLLIN | POLLHUP | POLLERR) &&
            !read_some(t, n, answer, why))
            return false;
        if (t->answered != before)
            deadline = clv__now() + timeout;
    }
    return false;
}

/* Ends the command with all it started and says how it went. */
static void finish(talk *t, bool hung, double timeout, clv_why *how)
{
    int status = 0;
    pid_t got = 0;
    close(t->fd);
    for (int i = 0; i < 100 && !hung && got == 0; i++) {
        got = waitpid(t->pid, &status, WNOHANG);
        if (got == 0)
            nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(-t->pid, SIGKILL);
    if (got == 0) {
        kill(t->pid, SIGKILL);
        while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    clv__process_ended(t->pid);
    if (hung)
        clv_format(how->text, sizeof how->text,
                   "the command gave no answer within %g s", timeout);
    else if (got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(how->text, sizeof how->text, "the command cannot be run");
    else if (got > 0 && WIFSIGNALED(status))
        snprintf(how->text, sizeof how->text,
                 "the command died of signal %d after %u answers",
                 WTERMSIG(status), t->answered);
    else
        snprintf(how->text, sizeof how->text,
                 "the command ended after %u answers (exit code %d)",
                 t->answered, got > 0 ? WEXITSTATUS(status) : 0);
}

static clv_status ask_command(clv_backend *b, const char *const *query,
                              uint32_t n, clv_answer *answer, clv_why *why,
                              clv_err *e)
{
    talk t = {0};
    clv_why how = {{0}};
    if (!n)
        return CLV_OK;
    t.line = clv__alloc(LINE_MAX_BYTES);
    if (!t.line)
        return clv__nomem(e);
    if (!start(&t, b->state)) {
        clv__free(t.line);
        return clv__fail(e, errno == ENOENT ? CLV_NOT_FOUND : CLV_IO,
                         "cmd: cannot start '%.200s': %s",
                         ((char **)b->state)[0], strerror(errno));
    }
    bool hung = converse(&t, b->timeout, query, n, answer, why);
    finish(&t, hung, b->timeout, &how);
    for (uint32_t i = t.answered; i < n; i++) {
        answer[i] = CLV_NO;
        why[i] = how;
    }
    clv__free(t.line);
    return CLV_OK;
}

const clv_backend_type clv__command_type = {
    .name = "cmd",
    .about = "asks an external command: 'cmd:my-compiler ARGUMENTS'",
    .argument = CLV_ARGUMENT_MUST,
    .open = open_command,
    .ask = ask_command,
};
