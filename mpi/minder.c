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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MINDER_LOOKS_MS = 100 };

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

static void minder_look(rank_pulse *p, int pipe_end, pid_t rank)
{
    struct pollfd fd = {.fd = pipe_end, .events = POLLIN};
    uint64_t last = p->beat;
    double since = rank_now();
    for (;;) {
        int n = poll(&fd, 1, MINDER_LOOKS_MS);
        if (n > 0) {
            char c;
            bool farewell = read(pipe_end, &c, 1) == 1;
            if (!farewell && p->state != RANK_STOPPING)
                minder_line(p, "was killed or crashed: all ranks end");
            if (!farewell)
                minder_clean(p);
            return;
        }
        if (n < 0 && errno != EINTR)
            return;
        double limit = p->timeout * (p->state == RANK_RUNNING ? 1 : 2);
        if (p->beat != last || p->state == RANK_STOPPING) {
            last = p->beat;
            since = rank_now();
        } else if (limit > 0 && rank_now() - since > limit) {
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

static int minder_farewell = -1;

/* A rank that ends by itself says so, with or without an error. */
static void minder_say_farewell(void)
{
    (void)!write(minder_farewell, "", 1);
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
    pid_t rank = getpid(), child = fork();
    if (child == 0) {
        close(ends[1]);
        setsid(); /* signals for the rank's group are not for the minder */
        signal(SIGPIPE, SIG_IGN);
        minder_rename(argc, argv);
        (void)!freopen("/dev/null", "r", stdin);
        close(1); /* who reads the rank's output waits for its end only */
        minder_look(p, ends[0], rank);
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
    signal(SIGTERM, minder_told_to_stop);
    return p;
}
