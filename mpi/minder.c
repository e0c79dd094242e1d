/* minder.c - a small process beside each rank that says why it ended.
 *
 * A rank that is killed cannot speak, and its launcher, which ends all others,
 * need not name it. The minder holds the far end of a pipe: when that closes
 * without a farewell the rank has died. It also watches a counter in shared
 * memory that the rank raises while it computes and while it waits: when that
 * stands still for too long the rank hangs, and the minder ends it, so that the
 * launcher ends the others. */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    MINDER_LOOKS_MS = 100,
    MINDER_LATE_MS = 300,
    MINDER_STAYS_S = 2,
    MINDER_FILES = 1024,
    LEAVE_SECONDS = 3
};

static rank_pulse *minder_pulse;

/* The launcher ends this rank because of another: that one is named. */
static void minder_told_to_stop(int sig)
{
    (void)sig;
    minder_pulse->state = RANK_STOPPING;
    _exit(143);
}

static void minder_line(const rank_pulse *p, const char *what)
{
    char text[300];
    int rank = p->rank, n;
    if (rank >= 0)
        n = snprintf(text, sizeof text, "cleave-mpi: rank %d %s\n", rank, what);
    else
        n = snprintf(text, sizeof text, "cleave-mpi: a rank %s\n", what);
    if (n > 0)
        (void)!write(2, text, (size_t)n);
}

/* Removes a file, or a folder of files, that was being written. */
static void minder_clean(const rank_pulse *p)
{
    const char *path = p->unfinished;
    if (!*path)
        return;
    clv_unfinished(path);
    clv_cleanup();
}

/* Takes a name that ranks of one launcher on this machine share; -1: somebody
 * has it. The system frees it when its holder ends, however that ends. */
static int minder_take(pid_t launcher, const char *what, int rank)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1,
                     "cleave-mpi/%ld/%ld/%s/%d", (long)getuid(), (long)launcher,
                     what, rank);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                                 (size_t)(n > 0 ? n : 0));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, size) != 0 &&
        errno == EADDRINUSE) {
        close(fd);
        return -1;
    }
    return fd < 0 ? MINDER_FILES : fd; /* without sockets everybody speaks */
}

void rank_meet(rank_pulse *p, const int *pids, int n)
{
    if (!p)
        return;
    for (int i = 0; i < n && i < RANK_NEAR_MAX; i++)
        p->near[i] = pids[i];
    p->n_near = n < RANK_NEAR_MAX ? n : RANK_NEAR_MAX;
}

/* A set of all ranks on this machine, in which they show up in the order in
 * which they end, however late one looks. -1: the system has none. */
static int minder_watch(const rank_pulse *p)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < p->n_near && set >= 0; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.fd = p->near[i]};
        int fd = (int)syscall(SYS_pidfd_open, p->near[i], 0);
        if (fd < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) != 0) {
            close(set);
            return -1;
        }
    }
    return set;
}

/* Is this the first rank of the job to end on this machine? MPICH's launcher
 * then ends the others by SIGKILL, and they shall not be named. */
static bool minder_first(int set, pid_t rank, pid_t launcher)
{
    struct epoll_event e;
    if (set >= 0 && epoll_wait(set, &e, 1, MINDER_LATE_MS) == 1)
        return e.data.fd == rank;
    return minder_take(launcher, "ended", 0) >= 0;
}

/* Adds up the seconds for which the rank gave no sign. Time in which this
 * process did not run either, because the machine was paused or has too much to
 * do, counts as one look. */
static double minder_silence(const rank_pulse *p, double silent, double look)
{
    const double most = 2e-3 * MINDER_LOOKS_MS;
    static uint64_t last;
    uint64_t beat = p->beat;
    bool lives = beat != last || p->state == RANK_STOPPING;
    last = beat;
    return lives ? 0 : silent + (look < most ? look : most);
}

static void minder_look(rank_pulse *p, int pipe_end, pid_t rank, pid_t launcher)
{
    struct pollfd fd = {.fd = pipe_end, .events = POLLIN};
    double silent = 0, looked = rank_now();
    int set = -1;
    bool watched = false;
    for (;;) {
        int n = poll(&fd, 1, MINDER_LOOKS_MS);
        if (!watched && p->n_near && n == 0) {
            set = minder_watch(p);
            watched = true;
        }
        if (n > 0) {
            char c;
            bool farewell = read(pipe_end, &c, 1) == 1;
            bool died = !farewell && p->state != RANK_STOPPING;
            bool first = died && minder_first(set, rank, launcher);
            if (first)
                minder_line(p, "was killed or crashed: all ranks end");
            if (!farewell)
                minder_clean(p);
            close(2); /* the launcher waits until nobody can write there */
            if (first)
                sleep(MINDER_STAYS_S);
            return;
        }
        if (n < 0 && errno != EINTR)
            return;
        double limit = p->timeout * (p->state == RANK_RUNNING ? 1 : 2);
        double now = rank_now();
        silent = minder_silence(p, silent, now - looked);
        looked = now;
        if (limit > 0 && silent > limit) {
            char text[200];
            snprintf(text, sizeof text,
                     "hangs: no sign of life for %g s (--timeout): all ranks "
                     "end",
                     limit);
            minder_line(p, text);
            p->state = RANK_STOPPING;
            kill(rank, SIGKILL);
        }
    }
}

/* Gives the minder a name of its own, so that nobody takes it for a rank. */
static void minder_rename(int argc, char **argv)
{
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    size_t room = (size_t)(end - argv[0]);
    memset(argv[0], 0, room);
    snprintf(argv[0], room, "clv-minder");
    prctl(PR_SET_NAME, "clv-minder");
}

/* Closes what the rank had open: by the end of its files MPICH's launcher knows
 * that it has ended. */
static void minder_close(int but)
{
    close(1); /* who reads the rank's output waits for its end only */
    for (int fd = 3; fd < MINDER_FILES; fd++)
        if (fd != but)
            close(fd);
}

static int minder_farewell = -1;

/* A rank that ends by itself says so, with or without an error. */
static void minder_say_farewell(void)
{
    (void)!write(minder_farewell, "", 1);
}

static int leave_code;

static void leave_now(int sig)
{
    (void)sig;
    minder_say_farewell();
    _exit(leave_code);
}

/* All ranks have agreed on the end, and what was asked for is written. Over TCP
 * UCX may hang here (openucx/ucx#8738): nobody needs to wait for it. */
void rank_leave(int code)
{
    leave_code = code;
    fflush(NULL);
    signal(SIGALRM, leave_now);
    alarm(LEAVE_SECONDS);
    MPI_Finalize();
    alarm(0);
}

rank_pulse *rank_mind(int argc, char **argv)
{
    int ends[2];
    rank_pulse *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    p->rank = -1;
    const char *known[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof known / sizeof *known && p->rank < 0; i++)
        if (getenv(known[i]))
            p->rank = atoi(getenv(known[i]));
    minder_pulse = p;
    if (pipe(ends) != 0)
        return p;
    signal(SIGTERM, minder_told_to_stop);
    pid_t rank = getpid(), launcher = getppid(), child = fork();
    if (child == 0) {
        setsid(); /* signals for the rank's group are not for the minder */
        signal(SIGTERM, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        minder_rename(argc, argv);
        (void)!freopen("/dev/null", "r", stdin);
        minder_close(ends[0]);
        minder_look(p, ends[0], rank, launcher);
        _exit(0);
    }
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        return p;
    }
    minder_farewell = ends[1];
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    atexit(minder_say_farewell);
    return p;
}
