/* reserve.c - a reserve for a mapping that fails.
 *
 * libdnnl maps a buffer for each piece of code that it makes, and writes there
 * whether it got one or not: a mapping that fails is a write to address zero.
 * The backend looks for room before each primitive (dnn_primitive), but what is
 * there then may be gone a moment later. So the program has an mmap of its own,
 * which libdnnl finds before libc's: where the system has no such buffer, it
 * gives one of a few that lie in the program. The next primitive is then
 * refused for lack of room. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* or the function would be called mmap64 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CODE = 256 << 10, BUFFERS = 32, PAGE = 4096 };

static _Alignas(PAGE) char reserve[BUFFERS][CODE];

static void *reserve_take(void)
{
    static atomic_uint taken;
    unsigned i = atomic_fetch_add(&taken, 1);
    return i < BUFFERS ? reserve[i] : MAP_FAILED;
}

void *mmap(void *at, size_t size, int access, int flags, int file, off_t from)
{
    void *p = (void *)(uintptr_t)syscall(SYS_mmap, at, size, access, flags,
                                         file, from);
    bool code = !at && size == CODE && file == -1 &&
                access == (PROT_READ | PROT_WRITE) &&
                flags == (MAP_PRIVATE | MAP_ANONYMOUS);
    return p == MAP_FAILED && errno == ENOMEM && code ? reserve_take() : p;
}
