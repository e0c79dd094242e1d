/* stdin.c - a model from standard input.
 *
 * Models are mapped, and some commands open theirs more than once. A pipe can
 * do neither, so what it brings is put into an unnamed temporary file that
 * takes its place; a redirected file is used as it is. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool copy_all(FILE *to)
{
    char chunk[1 << 16];
    for (;;) {
        ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 && fflush(to) == 0;
        if (fwrite(chunk, 1, (size_t)n, to) != (size_t)n)
            return false;
    }
}

clv_status stdin_as_file(const char **path, clv_err *err)
{
    struct stat st;
    *path = "/dev/stdin";
    if (isatty(STDIN_FILENO))
        return fail(err, CLV_USAGE,
                    "'-' reads a model from standard input, "
                    "which is a terminal here");
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return CLV_OK;
    FILE *copy = tmpfile();
    bool ok = copy && copy_all(copy) && dup2(fileno(copy), STDIN_FILENO) >= 0;
    int why = errno;
    if (copy)
        fclose(copy);
    return ok ? CLV_OK : fail(err, CLV_IO, "standard input: %s", strerror(why));
}
