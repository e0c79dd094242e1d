/* sandbox.c - what the command cannot do, whatever a file makes of it.
 *
 * A filter of system calls (seccomp), set before the model is opened and for
 * good: no sockets, no new programs or processes (threads are allowed), no
 * tracing of others. Files may be read. They may be written only where a flag
 * names an output, and then, where the kernel has landlock, only in the folder
 * of that output:
 *
 *     landlock   which paths      write in the output's folder
 *     seccomp    which calls      all else above; no output: no writing at all
 *
 * What is refused fails with EPERM, and the command says so. */
#define _GNU_SOURCE /* O_PATH, CLONE_THREAD */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#else
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#endif

/* -- calls ----------------------------------------------------------------*/

static const int never[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_kill,
    SYS_tkill,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_pivot_root,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_init_module,
    SYS_finit_module,
    SYS_keyctl,
    SYS_add_key,
    SYS_mknodat,
    SYS_symlinkat,
    SYS_linkat,
    SYS_fchownat,
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_openat2
    SYS_openat2,
#endif
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
    SYS_creat,
    SYS_mknod,
    SYS_symlink,
    SYS_link,
    SYS_chown,
    SYS_lchown,
#endif
};

/* Calls that change files, without an output. */
static const int writing[] = {
    SYS_unlinkat,  SYS_renameat2, SYS_mkdirat, SYS_fchmodat, SYS_truncate,
    SYS_ftruncate,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_unlink
    SYS_unlink,    SYS_rename,    SYS_mkdir,   SYS_rmdir,    SYS_chmod,
#endif
};

enum { CODE_MOST = 200 };

typedef struct filter {
    struct sock_filter code[CODE_MOST];
    unsigned short n;
} filter;

static void sandbox_put(filter *f, unsigned short op, uint32_t k, uint8_t yes,
                        uint8_t no)
{
    if (f->n < CODE_MOST)
        f->code[f->n++] = (struct sock_filter){op, yes, no, k};
}

static void put_load(filter *f, size_t offset)
{
    sandbox_put(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void put_return(filter *f, uint32_t what)
{
    sandbox_put(f, BPF_RET | BPF_K, what, 0, 0);
}

static const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;

static void put_never(filter *f, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sandbox_put(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        put_return(f, refuse);
    }
}

/* Refuses `call` when a bit of `bits` is set in argument `arg`, or, with
 * `must`, when none is. Loads the number of the call again behind it. */
static void put_bits(filter *f, int call, int arg, uint32_t bits, bool must)
{
    sandbox_put(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    put_load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)arg);
    sandbox_put(f, BPF_JMP | BPF_JSET | BPF_K, bits, must ? 1 : 0,
                must ? 0 : 1);
    put_return(f, refuse);
    put_return(f, SECCOMP_RET_ALLOW);
}

static void filter_make(filter *f, bool writes)
{
    const uint32_t to_write = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    put_load(f, offsetof(struct seccomp_data, arch));
    sandbox_put(f, BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0);
    put_return(f, refuse);
    put_load(f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    sandbox_put(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32 */
    put_return(f, refuse);
#endif
#ifdef SYS_clone3
    sandbox_put(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    put_return(f, SECCOMP_RET_ERRNO | ENOSYS); /* its flags lie in memory */
#endif
    put_never(f, never, sizeof never / sizeof *never);
    put_bits(f, SYS_clone, 0, CLONE_THREAD, true);
    if (!writes) {
        put_never(f, writing, sizeof writing / sizeof *writing);
        put_bits(f, SYS_openat, 2, to_write, false);
#ifdef SYS_open
        put_bits(f, SYS_open, 1, to_write, false);
#endif
    }
    put_return(f, SECCOMP_RET_ALLOW);
}

/* -- paths ----------------------------------------------------------------*/

/* Allows writing below `folder` alone; false, and errno, when it cannot. */
static bool only_below(const char *folder)
{
    struct landlock_ruleset_attr rules = {
        .handled_access_fs =
            LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
            LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM |
            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_CHAR};
    int set =
        (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    int below = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_path_beneath_attr path = {
        .allowed_access = rules.handled_access_fs, .parent_fd = below};
    bool ok = set >= 0 && below >= 0 &&
              syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH,
                      &path, 0) == 0 &&
              syscall(SYS_landlock_restrict_self, set, 0) == 0;
    int why = errno;
    if (set >= 0)
        close(set);
    if (below >= 0)
        close(below);
    errno = why;
    return ok;
}

/* The folder that a file is written in. */
static void folder_of(const char *path, char *folder, size_t size)
{
    snprintf(folder, size, "%s", path);
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        folder[--n] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash)
        snprintf(folder, size, ".");
    else
        slash[slash == folder] = '\0';
}

static clv_status sandbox_confine(const char *const *outputs, size_t n,
                                  clv_err *err)
{
    char folder[4096], other[4096];
    folder_of(outputs[0], folder, sizeof folder);
    for (size_t i = 1; i < n; i++) {
        folder_of(outputs[i], other, sizeof other);
        if (strcmp(folder, other) != 0)
            return fail(err, CLV_USAGE,
                        "--sandbox: outputs go to one folder, not to '%s' and "
                        "'%s'",
                        folder, other);
    }
    if (!only_below(folder) && errno != ENOSYS && errno != EOPNOTSUPP)
        return fail(err, CLV_IO, "--sandbox: '%s': %s", folder,
                    strerror(errno));
    return CLV_OK;
}

clv_status sandbox_enter(const options *o, clv_err *err)
{
    const char *const all[] = {o->output, o->output_dir, o->svg, o->trace};
    const char *outputs[sizeof all / sizeof *all];
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            outputs[n++] = all[i];
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail(err, CLV_IO, "--sandbox: %s", strerror(errno));
    if (n) {
        clv_status s = sandbox_confine(outputs, n, err);
        if (s != CLV_OK)
            return s;
    }
    filter f = {.n = 0};
    filter_make(&f, n > 0);
    struct sock_fprog program = {f.n, f.code};
    if (f.n == CODE_MOST ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return fail(err, CLV_IO, "--sandbox: the kernel has no filter: %s",
                    strerror(errno));
    return CLV_OK;
}

#else

clv_status sandbox_enter(const options *o, clv_err *err)
{
    (void)o;
    return fail(err, CLV_UNSUPPORTED,
                "--sandbox needs Linux on x86-64 or ARM64");
}

#endif
