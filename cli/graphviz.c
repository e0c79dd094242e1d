/* graphviz.c - runs Graphviz's `dot` as a child process.
 *
 * Its input and output are unnamed temporary files: no pipe can fill up, and
 * nothing is left behind. */
#include "export.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_DOT = 127 };

static void run_child(const char *format, FILE *in, FILE *out)
{
    char kind[16];
    snprintf(kind, sizeof kind, "-T%s", format);
    if (dup2(fileno(in), STDIN_FILENO) < 0 ||
        dup2(fileno(out), STDOUT_FILENO) < 0)
        _exit(NO_DOT);
    execlp("dot", "dot", kind, (char *)NULL);
    _exit(NO_DOT);
}

static clv_status wait_child(pid_t child, clv_err *err)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail(err, CLV_IO, "waiting for dot: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CLV_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DOT)
        return fail(err, CLV_UNSUPPORTED,
                    "pictures need Graphviz: install it ('dot' is not found), "
                    "or write a .dot file");
    return fail(err, CLV_IO, "dot failed; a .dot file shows what it was given");
}

static clv_status read_back(FILE *from, clv_buf *to, clv_err *err)
{
    char chunk[4096];
    size_t n;
    if (fseek(from, 0, SEEK_SET) != 0)
        return fail(err, CLV_IO, "reading from dot: %s", strerror(errno));
    while ((n = fread(chunk, 1, sizeof chunk, from)) > 0)
        clv_buf_add(to, chunk, n);
    return CLV_OK;
}

static clv_status graphviz_draw(const clv_buf *dot, const char *format,
                                FILE *in, FILE *out, clv_buf *picture,
                                clv_err *err)
{
    if (fwrite(dot->text, 1, dot->len, in) != dot->len || fflush(in) != 0 ||
        fseek(in, 0, SEEK_SET) != 0)
        return fail(err, CLV_IO, "writing to dot: %s", strerror(errno));
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return fail(err, CLV_IO, "starting dot: %s", strerror(errno));
    if (child == 0)
        run_child(format, in, out);
    clv_status s = wait_child(child, err);
    return s == CLV_OK ? read_back(out, picture, err) : s;
}

clv_status graphviz(const clv_buf *dot, const char *format, clv_buf *picture,
                    clv_err *err)
{
    FILE *in = tmpfile(), *out = tmpfile();
    clv_status s =
        in && out ? graphviz_draw(dot, format, in, out, picture, err)
                  : fail(err, CLV_IO, "no temporary file: %s", strerror(errno));
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return s;
}
