/* failing.h - runs a program whose n-th system call of a kind fails.
 *
 * The kernel asks us before each call of the kind (seccomp's user
 * notifications), of the program and of all it starts, statically linked or
 * not. Linux 5.5 and later. */
#ifndef CLEAVE_TESTS_FAILING_H
#define CLEAVE_TESTS_FAILING_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FAILING_CALLS = 6, FAILING_SECONDS = 300 };

typedef struct failing {
    long numbers[FAILING_CALLS]; /* of system calls, a 0 after the first ends
                                    them */
    long at;                     /* which of them fails; 0: none */
    int error;
    bool children; /* those of processes that it starts count, too */
    /* results */
    long calls; /* since main began */
    bool begun; /* main has */
    bool late;  /* it did not end in time and was killed */
} failing;

/* Installs the filter; returns the descriptor that tells of calls, or -1. */
static inline int failing_filter(const failing *f)
{
    struct sock_filter code[FAILING_CALLS + 6];
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, nr));
    unsigned kinds = 1; /* the first may be 0, which is read */
    while (kinds < FAILING_CALLS && f->numbers[kinds])
        kinds++;
    for (unsigned i = 0; i < kinds; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)f->numbers[i],
            (unsigned char)(kinds - i + 2), 0);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                             SYS_execve, 2, 0);
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                             SYS_rt_sigaction, 1, 0);
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Hands a descriptor to the other end of a socket, and takes it there. */
static inline void failing_send(int socket, int fd)
{
    char byte = fd >= 0, room[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec io = {&byte, 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = room;
        m.msg_controllen = sizeof room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    (void)!sendmsg(socket, &m, 0);
}

static inline int failing_take(int socket)
{
    char byte, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec io = {&byte, 1};
    struct msghdr m = {.msg_iov = &io,
                       .msg_iovlen = 1,
                       .msg_control = room,
                       .msg_controllen = sizeof room};
    int fd = -1;
    if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

/* Is this descriptor of a process a file? */
static inline bool failing_is_file(pid_t pid, uint64_t fd)
{
    char path[64], to[8] = "";
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
    return readlink(path, to, sizeof to - 1) > 0 && to[0] == '/';
}

/* Calls that do not fail: errors cannot be shown if standard error cannot be
 * written, and a socket that is "not closed" would stay open, which none
 * does. */
static inline bool failing_spares(const struct seccomp_notif *ask)
{
    const struct seccomp_data *call = &ask->data;
    return (call->nr == SYS_write && call->args[0] == STDERR_FILENO) ||
           (call->nr == SYS_close &&
            !failing_is_file((pid_t)ask->pid, call->args[0]));
}

/* The first thing that main does is to set handlers of signals: what comes
 * before is the C library's, which may end as it likes. */
static inline void failing_answer(int listener, pid_t program, failing *f)
{
    struct seccomp_notif ask = {0};
    struct seccomp_notif_resp answer = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) != 0)
        return;
    answer.id = ask.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    bool ours = f->children || ask.pid == (uint32_t)program;
    bool marks = ask.data.nr == SYS_rt_sigaction;
    f->begun |= marks;
    if (ask.data.nr == SYS_execve && !f->children) {
        if (ask.pid == (uint32_t)program)
            f->begun = false; /* another main */
        marks = true;
    }
    if (f->begun && ours && !marks && !failing_spares(&ask) &&
        ++f->calls == f->at) {
        answer.flags = 0;
        /* brk has no errors: it says where the heap ends */
        answer.error = ask.data.nr == SYS_brk ? 0 : -f->error;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static inline double failing_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs argv[0] in a child after `prepare`, which may redirect its files.
 * Returns what waitpid says, or -1 when the kernel cannot do it. */
static inline int failing_run(failing *f, char *const *argv,
                              void (*prepare)(void))
{
    int pair[2], status = 0;
    f->calls = 0;
    f->begun = f->late = false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        prepare();
        int listener = failing_filter(f);
        failing_send(pair[1], listener);
        /* closing would be asked for, too: it goes with the program */
        fcntl(listener, F_SETFD, FD_CLOEXEC);
        if (listener >= 0)
            execv(argv[0], argv);
        _exit(126);
    }
    close(pair[1]);
    int listener = failing_take(pair[0]);
    close(pair[0]);
    double start = failing_now();
    while (listener >= 0 && waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd p = {listener, POLLIN, 0};
        if (poll(&p, 1, 20) > 0 && (p.revents & POLLIN))
            failing_answer(listener, child, f);
        if (failing_now() - start < FAILING_SECONDS)
            continue;
        f->late = true;
        kill(-child, SIGKILL);
    }
    if (listener < 0)
        waitpid(child, &status, 0);
    else
        close(listener);
    kill(-child, SIGKILL); /* what it started and did not wait for */
    return listener < 0 ? -1 : status;
}

#endif
