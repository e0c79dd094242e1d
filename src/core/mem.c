/* mem.c - the one way to memory, and the arena.
 *
 * An arena is a list of chunks, newest first; each is at least twice the one
 * before, up to 256 KB, so that a small graph costs one malloc and a large one
 * a few thousand. Rewinding to a mark frees the chunks that came after it, but
 * for the first one: work that starts from nothing again and again needs it. */
#include "core/limits.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Takes memory within the limit of this thread. What other threads free is not
 * counted, nor what was taken before the limit was set. */
static void *counted_realloc(void *p, size_t size)
{
    thread_budget *b = &clv__budget;
    int64_t had = p ? (int64_t)malloc_usable_size(p) : 0;
    if (size == 0) {
        free(p);
        b->held -= had;
        return NULL;
    }
    if ((uint64_t)size > INT64_MAX ||
        ((int64_t)size > had && (int64_t)size - had > b->memory - b->held)) {
        b->refused = true;
        return NULL;
    }
    void *got = realloc(p, size);
    if (got)
        b->held += (int64_t)malloc_usable_size(got) - had;
    return got;
}

static void *default_realloc(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (clv__budget.limits.max_memory > 0)
        return counted_realloc(p, size);
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

static clv_allocator own_memory = {default_realloc, NULL};
static clv_allocator *memory = &own_memory; /* of a plugin: the library's */

void clv_set_allocator(const clv_allocator *a)
{
    *memory = a ? *a : (clv_allocator){default_realloc, NULL};
}

clv_allocator *clv__memory(void)
{
    return memory;
}

void clv__memory_from(clv_allocator *a)
{
    memory = a;
}

void *clv__realloc(void *p, size_t size)
{
    return memory->realloc(memory->ctx, p, size ? size : 1);
}

void *clv__alloc(size_t size)
{
    return clv__realloc(NULL, size);
}

void *clv__zalloc(size_t size)
{
    void *p = clv__alloc(size);
    if (p)
        memset(p, 0, size);
    return p;
}

void clv__free(void *p)
{
    if (p)
        memory->realloc(memory->ctx, p, 0);
}

enum { HUGE_PAGE = 2 << 20 };

/* Asks for huge pages; without this advice pages are small. If the first huge
 * page comes late, as in a virtual machine whose host must find it, the others
 * stay small, because small pages are then faster. */
static void ask_for_huge(char *begin, size_t size)
{
#ifdef MADV_HUGEPAGE
    const double late = 0.4e-3;
    double start = clv__now();
    madvise(begin, HUGE_PAGE, MADV_HUGEPAGE);
    *(volatile char *)begin = 0;
    if (clv__now() - start < late)
        madvise(begin, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE,
                MADV_HUGEPAGE);
#else
    (void)begin, (void)size;
#endif
}

void *clv__huge_alloc(size_t size, void **block)
{
    const size_t align = size < HUGE_PAGE ? 64 : HUGE_PAGE;
    if (size > SIZE_MAX - 2 * HUGE_PAGE ||
        !(*block = clv__alloc(size + 2 * align)))
        return NULL;
    uintptr_t begin = ((uintptr_t)*block + align - 1) / align * align;
    if (align == HUGE_PAGE)
        ask_for_huge((char *)begin, size);
    return (void *)begin;
}

bool clv__reserve(void **items, size_t n, size_t *cap, size_t size)
{
    if (n <= *cap)
        return true;
    void *p = n > SIZE_MAX / size ? NULL : clv__realloc(*items, n * size);
    if (!p)
        return false;
    *items = p;
    *cap = n;
    return true;
}

bool clv__grow(void **items, size_t n, size_t *cap, size_t size)
{
    return n < *cap || clv__reserve(items, *cap ? *cap * 2 : 16, cap, size);
}

/* -- arena ----------------------------------------------------------------*/

enum { ARENA_FIRST = 8 << 10, ARENA_MAX = 256 << 10 };

struct arena_chunk {
    arena_chunk *prev;
    char *end;
    size_t size;
    size_t pad; /* keeps what follows 16-byte aligned */
};

static bool arena_more(arena *a, size_t size)
{
    size_t room = a->head ? a->head->size * 2 : ARENA_FIRST;
    if (room > ARENA_MAX)
        room = ARENA_MAX;
    if (size > SIZE_MAX - sizeof(arena_chunk))
        return false;
    if (room < size)
        room = size;
    arena_chunk *c = clv__alloc(sizeof *c + room);
    if (!c)
        return false;
    *c = (arena_chunk){a->head, (char *)(c + 1) + room, room, 0};
    a->head = c;
    a->cur = (char *)(c + 1);
    a->end = c->end;
    a->total += sizeof *c + room;
    return true;
}

/* Takes memory that the current chunk does not have. An empty request is not a
 * failure, so it takes one byte. */
void *arena_take_more(arena *a, size_t size, size_t align)
{
    size = size ? size : 1;
    if (size > SIZE_MAX - align || !arena_more(a, size + align))
        return NULL;
    uintptr_t at = ((uintptr_t)a->cur + align - 1) & ~(uintptr_t)(align - 1);
    a->cur = (char *)(at + size);
    return (char *)at;
}

void *arena_zalloc(arena *a, size_t size)
{
    void *p = arena_alloc(a, size);
    if (p)
        memset(p, 0, size);
    return p;
}

char *arena_strndup(arena *a, const char *s, size_t len)
{
    char *p = arena_take(a, len + 1, 1);
    if (!p)
        return NULL;
    if (len)
        memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *arena_printf(arena *a, const char *fmt, ...)
{
    char tmp[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = clv_vformat(tmp, sizeof tmp, fmt, ap);
    char *p = NULL;
    if (n >= 0 && (size_t)n < sizeof tmp)
        p = arena_strndup(a, tmp, (size_t)n);
    else if (n >= 0 && (p = arena_take(a, (size_t)n + 1, 1)))
        clv_vformat(p, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return p;
}

arena_mark arena_save(const arena *a)
{
    return (arena_mark){a->head, a->cur};
}

static void drop_until(arena *a, arena_chunk *last)
{
    while (a->head != last) {
        arena_chunk *c = a->head;
        a->head = c->prev;
        a->total -= sizeof *c + c->size;
        clv__free(c);
    }
}

void arena_rewind(arena *a, arena_mark m)
{
    arena_chunk *first = a->head;
    while (!m.head && first && first->prev)
        first = first->prev;
    drop_until(a, m.head ? m.head : first);
    a->cur = m.head ? m.cur : (char *)(first + (first ? 1 : 0));
    a->end = a->head ? a->head->end : NULL;
}

void arena_free(arena *a)
{
    drop_until(a, NULL);
    *a = (arena){0};
}
