/* starving.c - a library for LD_PRELOAD: memory runs out for one module of a
 * process, at a request of the test's choice (tests/py/starved.py). */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* glibc's own, which these stand before. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static uintptr_t module_from, module_to; /* where its code lies */
static atomic_long requests, fail_at;    /* 0: none fails */

__attribute__((visibility("default"))) void starving_module(uintptr_t from,
                                                            uintptr_t to)
{
    module_from = from;
    module_to = to;
}

/* Lets request n of the module fail from now on; returns how many it made since
 * the last call. */
__attribute__((visibility("default"))) long starving_at(long n)
{
    atomic_store(&fail_at, n);
    return atomic_exchange(&requests, 0);
}

static int refuses(void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    return at >= module_from && at < module_to &&
           atomic_fetch_add(&requests, 1) + 1 == atomic_load(&fail_at);
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t size)
{
    return size && refuses(__builtin_return_address(0))
               ? NULL
               : __libc_realloc(p, size);
}
