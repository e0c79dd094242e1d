/* posix.c - see include/engine_posix.h. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int chmod(const char *path, mode_t mode)
{
    (void)path, (void)mode;
    return 0; /* there are no modes */
}

int fchmod(int fd, mode_t mode)
{
    (void)fd, (void)mode;
    return 0;
}

mode_t umask(mode_t mask)
{
    (void)mask;
    return 0;
}

static int posix_refuse(void)
{
    errno = ENOSYS;
    return -1;
}

int dup(int fd)
{
    (void)fd;
    return posix_refuse();
}

int dup2(int from, int to)
{
    (void)from, (void)to;
    return posix_refuse();
}

int mkstemp(char *path)
{
    (void)path;
    return posix_refuse();
}

char *mkdtemp(char *path)
{
    (void)path;
    posix_refuse();
    return NULL;
}

FILE *engine_tmpfile(void)
{
    posix_refuse();
    return NULL;
}

/* Debian's builtins are compiled with a stack protector, which wasi-libc has
 * not: the stack grows downwards, away from what it would guard. */
uintptr_t __stack_chk_guard;
void __stack_chk_fail(void);
void __stack_chk_fail(void)
{
    abort();
}
