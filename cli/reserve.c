/* reserve.c - a reserve for a mapping that fails.
 *
 * libdnnl maps a buffer for each piece of code that it makes, and writes there
 * whether it got one or not: a mapping that fails is a write to address zero.
 * The backend looks for room before each primitive (dnn_primitive), but what is
 * there then may be gone a moment later. So the program has an mmap of its own,
 * which libdnnl finds before libc's: where the system has no such buffer, it
 * gives one of a few that were mapped with the first. The next primitive is
 * then refused for lack of room. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* or the function would be called mmap64 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CODE = 256 << 10, BUFFERS = 32 };

static void *system_map(void *at, size_t size, int access, int flags, int file,
                        off_t from)
{
    return (void *)(uintptr_t)syscall(SYS_mmap, at, size, access, flags, file,
                                      from);
}

/* A buffer for code: the system's, or one of the reserve. */
static void *map_code(int access, int flags)
{
    static char *_Atomic reserve; /* NULL: not yet mapped */
    static atomic_uint taken;
    if (!reserve) {
        char *none = NULL;
        char *all =
            system_map(NULL, (size_t)BUFFERS * CODE, access, flags, -1, 0);
        if (all != MAP_FAILED &&
            !atomic_compare_exchange_strong(&reserve, &none, all))
            munmap(all, (size_t)BUFFERS * CODE);
    }
    void *p = system_map(NULL, CODE, access, flags, -1, 0);
    if (p != MAP_FAILED || errno != ENOMEM || !reserve)
        return p;
    unsigned i = atomic_fetch_add(&taken, 1);
    return i < BUFFERS ? reserve + (size_t)i * CODE : MAP_FAILED;
}

void *mmap(void *at, size_t size, int access, int flags, int file, off_t from)
{
    bool code = !at && size == CODE && file == -1 &&
                access == (PROT_READ | PROT_WRITE) &&
                flags == (MAP_PRIVATE | MAP_ANONYMOUS);
    return code ? map_code(access, flags)
                : system_map(at, size, access, flags, file, from);
}
