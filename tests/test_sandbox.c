/* test_sandbox.c - what is left after --sandbox (cli/sandbox.c), in children
 * that enter it. */
#include "check.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

clv_status fail(clv_err *err, clv_status code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    clv_vformat(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return code;
}

static void *nothing(void *p)
{
    return p;
}

static bool can_write(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool can_fork(void)
{
    pid_t p = fork();
    if (p == 0)
        _exit(0);
    if (p > 0)
        waitpid(p, NULL, 0);
    return p > 0;
}

/* What a child found it can do, as bits of its exit code. */
enum {
    SOCKET = 1,
    FORK = 2,
    EXEC = 4,
    INSIDE = 8,
    OUTSIDE = 16,
    READ = 32,
    THREAD = 64,
    REFUSED = 128
};

static int abilities(const char *output, const char *inside,
                     const char *outside)
{
    options o = {.output = output};
    clv_err e = {0};
    int can = 0;
    pthread_t t;
    if (sandbox_enter(&o, &e) != CLV_OK) {
        printf("# %s\n", e.msg);
        return REFUSED;
    }
    can |= socket(AF_INET, SOCK_STREAM, 0) >= 0 ? SOCKET : 0;
    can |= can_fork() ? FORK : 0;
    execl("/bin/true", "true", (char *)NULL);
    can |= errno == EPERM ? 0 : EXEC;
    can |= can_write(inside) ? INSIDE : 0;
    can |= can_write(outside) ? OUTSIDE : 0;
    int fd = open("/proc/self/status", O_RDONLY);
    can |= fd >= 0 ? READ : 0;
    if (pthread_create(&t, NULL, nothing, NULL) == 0) {
        pthread_join(t, NULL);
        can |= THREAD;
    }
    return can;
}

static int child(const char *output, const char *inside, const char *outside)
{
    int status = 0;
    fflush(stdout);
    pid_t p = fork();
    if (p == 0)
        _exit(abilities(output, inside, outside));
    waitpid(p, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void sandboxed(void)
{
    char in[] = "/tmp/cleave-in-XXXXXX", out[] = "/tmp/cleave-out-XXXXXX";
    char inside[64], outside[64];
    CHECK_OR_RETURN(mkdtemp(in) && mkdtemp(out));
    snprintf(inside, sizeof inside, "%s/x.json", in);
    snprintf(outside, sizeof outside, "%s/x.json", out);
    int can = child(NULL, inside, outside);
    if (can == REFUSED) {
        printf("SKIP the kernel has no filter of system calls\n");
    } else {
        CHECK_EQ_INT(can, READ | THREAD);
        can = child(inside, inside, outside);
        if (can & OUTSIDE)
            printf("SKIP the kernel has no landlock\n");
        CHECK_EQ_INT(can & ~OUTSIDE, READ | THREAD | INSIDE);
    }
    unlink(inside);
    unlink(outside);
    rmdir(in);
    rmdir(out);
}

static const check_case cases[] = {{"sandboxed", sandboxed}};
CHECK_MAIN(cases)
