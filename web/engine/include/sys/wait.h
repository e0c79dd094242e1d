/* sys/wait.h - a page starts no programs. */
#ifndef ENGINE_SYS_WAIT_H
#define ENGINE_SYS_WAIT_H

#include <errno.h>
#include <sys/types.h>

static inline pid_t fork(void)
{
    errno = ENOSYS;
    return -1;
}

static inline pid_t waitpid(pid_t pid, int *status, int flags)
{
    (void)pid, (void)status, (void)flags;
    errno = ECHILD;
    return -1;
}

#define execlp(...) ((void)0)
#define WIFEXITED(status) ((status) == 0)
#define WEXITSTATUS(status) (status)

#endif
