/* guard.c - files that shrink while they are mapped, and what must not be left
 * behind when a signal ends the process (cleave/service.h).
 *
 * A page of a mapping that lies behind the end of its file raises SIGBUS when
 * it is read. The handler puts a page of zeros there and marks the mapping, so
 * that the reader goes on, and the call that reads fails when it ends: readers
 * trust no byte of a file anyway. All other faults go to the handler that was
 * there before.
 *
 * Both lists are arrays of a fixed size, because a handler must find them as
 * they are at any moment. What finds no room is not guarded. */
#include "core/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARDED = 256, UNFINISHED = 64, UNFINISHED_PATH = 4096 };

/* -- mappings -------------------------------------------------------------*/

static struct {
    atomic_uintptr_t begin; /* 0: free; 1: being set */
    atomic_uintptr_t end;
    atomic_bool cut; /* its file became shorter */
} guarded[GUARDED];

static atomic_bool guarding;
static atomic_bool cut_short; /* the file of some mapping was */
static struct sigaction handler_before;

void clv__guard_add(const void *data, size_t size)
{
    for (int i = 0; atomic_load(&guarding) && i < GUARDED; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&guarded[i].begin, &none, 1))
            continue;
        atomic_store(&guarded[i].end, (uintptr_t)data + size);
        atomic_store(&guarded[i].cut, false);
        atomic_store(&guarded[i].begin, (uintptr_t)data);
        return;
    }
}

void clv__guard_remove(const void *data)
{
    for (int i = 0; atomic_load(&guarding) && i < GUARDED; i++)
        if (atomic_load(&guarded[i].begin) == (uintptr_t)data) {
            atomic_store(&guarded[i].begin, 0);
            return;
        }
}

/* Replaces the page around `at` by zeros, if it lies in a guarded mapping. */
static bool guard_replace(uintptr_t at)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < GUARDED; i++) {
        uintptr_t begin = atomic_load(&guarded[i].begin);
        if (begin < 2 || at < begin || at >= atomic_load(&guarded[i].end))
            continue;
        void *whole = (void *)(at / page * page);
        if (mmap(whole, page, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            return false;
        atomic_store(&guarded[i].cut, true);
        atomic_store(&cut_short, true);
        return true;
    }
    return false;
}

static void guard_handler(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    bool ours = guard_replace((uintptr_t)info->si_addr);
    errno = kept;
    if (ours)
        return;
    if (handler_before.sa_flags & SA_SIGINFO)
        handler_before.sa_sigaction(number, info, context);
    else if (handler_before.sa_handler != SIG_DFL &&
             handler_before.sa_handler != SIG_IGN)
        handler_before.sa_handler(number);
    else
        signal(number, SIG_DFL); /* it comes again, and ends the process */
}

void clv_guard_files(void)
{
    if (atomic_exchange(&guarding, true))
        return;
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = guard_handler;
    a.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&a.sa_mask);
    sigaction(SIGBUS, &a, &handler_before);
}

static clv_status guard_fail(clv_err *e)
{
    return clv__fail(e, CLV_IO, "a file became shorter while it was read");
}

clv_status clv__guard_check(const void *data, clv_err *e)
{
    for (int i = 0; data && atomic_load(&guarding) && i < GUARDED; i++)
        if (atomic_load(&guarded[i].begin) == (uintptr_t)data &&
            atomic_load(&guarded[i].cut))
            return guard_fail(e);
    return CLV_OK;
}

clv_status clv_files_intact(clv_err *err)
{
    clv__err_clear(err);
    return atomic_exchange(&cut_short, false) ? guard_fail(err) : CLV_OK;
}

/* -- what is not finished -------------------------------------------------*/

static struct {
    atomic_int state; /* 0: free; 1: being set; 2: a path; 3: a process */
    pid_t process;
    char path[UNFINISHED_PATH];
} unfinished[UNFINISHED];

/* Takes a free row, or returns -1. */
static int take_row(void)
{
    for (int i = 0; i < UNFINISHED; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&unfinished[i].state, &none, 1))
            return i;
    }
    return -1;
}

void clv_unfinished(const char *path)
{
    size_t n = strlen(path);
    int i = n < UNFINISHED_PATH ? take_row() : -1;
    if (i < 0)
        return;
    memcpy(unfinished[i].path, path, n + 1);
    atomic_store(&unfinished[i].state, 2);
}

void clv_finished(const char *path)
{
    for (int i = 0; i < UNFINISHED; i++)
        if (atomic_load(&unfinished[i].state) == 2 &&
            !strcmp(unfinished[i].path, path)) {
            atomic_store(&unfinished[i].state, 0);
            return;
        }
}

void clv__process_started(int64_t pid)
{
    int i = take_row();
    if (i < 0)
        return;
    unfinished[i].process = (pid_t)pid;
    atomic_store(&unfinished[i].state, 3);
}

void clv__process_ended(int64_t pid)
{
    for (int i = 0; i < UNFINISHED; i++)
        if (atomic_load(&unfinished[i].state) == 3 &&
            unfinished[i].process == (pid_t)pid)
            atomic_store(&unfinished[i].state, 0);
}

/* Empties a folder by system calls alone: a handler may not allocate. */
static void empty_folder(int folder)
{
#ifdef SYS_getdents64
    struct entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(8) char list[4096];
    long n;
    while ((n = syscall(SYS_getdents64, folder, list, sizeof list)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const void *)(list + at);
            at += e->length;
            if (strcmp(e->name, ".") && strcmp(e->name, ".."))
                unlinkat(folder, e->name, 0);
        }
#else
    (void)folder;
#endif
}

static void remove_path(const char *path)
{
    if (unlink(path) == 0)
        return;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    empty_folder(folder);
    close(folder);
    rmdir(path);
}

void clv_cleanup(void)
{
    int kept = errno;
    for (int i = 0; i < UNFINISHED; i++) {
        int state = atomic_load(&unfinished[i].state);
        if (state == 2)
            remove_path(unfinished[i].path);
        else if (state == 3)
            kill(-unfinished[i].process, SIGKILL);
    }
    errno = kept;
}
