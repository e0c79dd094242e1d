/* paging.c - reads what is touched of a file, and no more.
 *
 * Importers read a file as if it were memory, and of a large one they touch
 * little: weights are skipped. Linear memory has no pages that fault, so the
 * compiler calls __sanitizer_cov_loadN before every load of N bytes (the flag
 * -fsanitize-coverage=trace-loads), and the linker leads calls of memcpy and
 * the like here (--wrap). A load outside of all files costs a call and a
 * comparison. One inside looks its page up in a bitmap:
 *
 *     memory   ... heap ... | file A | heap | file B | ...
 *                           low ------------------- high
 *     bits                  1 0 0 1 ...    a page of the file was read
 *
 * Pages that are missed one after another are read ahead, twice as many each
 * time. Memory that is grown but not touched takes no room, as on any system. */
#include "paging.h"

#include <unistd.h>

#define PLAIN __attribute__((no_sanitize("coverage")))

enum {
    PAGE = 16 << 10,
    AHEAD_MOST = 64, /* pages that one read brings */
    LINEAR_PAGE = 64 << 10,
    FILES_MOST = 64,
};

typedef struct paged_file {
    uintptr_t begin;
    size_t size;
    uint8_t *bits; /* one per page: it was read */
    int fd;
    size_t next, ahead; /* the page behind the last read; how many it had */
} paged_file;

static paged_file files[FILES_MOST];
static uint32_t n_files;
static uintptr_t low, span; /* of all files */
static bool failed;

const uint8_t *engine_page_in(int fd, size_t size)
{
    size_t pages = size / PAGE + 1;
    uint8_t *bits = n_files < FILES_MOST ? clv__zalloc(pages / 8 + 1) : NULL;
    size_t room = size / LINEAR_PAGE + 1;
    size_t at = bits ? __builtin_wasm_memory_grow(0, room) : SIZE_MAX;
    if (at == SIZE_MAX) {
        clv__free(bits);
        return NULL;
    }
    uintptr_t begin = at * LINEAR_PAGE;
    files[n_files++] =
        (paged_file){.begin = begin, .size = size, .bits = bits, .fd = fd};
    low = low ? low : begin; /* memory grows upwards only */
    span = begin + size - low;
    return (const uint8_t *)begin;
}

bool engine_page_failed(void)
{
    bool was = failed;
    failed = false;
    return was;
}

PLAIN static bool page_there(const paged_file *f, size_t page)
{
    return f->bits[page / 8] >> page % 8 & 1;
}

/* Reads `page` and those behind it that are not there yet, up to `n`. */
PLAIN static void page_read(paged_file *f, size_t page, size_t n)
{
    size_t last = (f->size - 1) / PAGE, end = page;
    while (end <= last && end - page < n && !page_there(f, end)) {
        f->bits[end / 8] |= (uint8_t)(1u << end % 8);
        end++;
    }
    size_t at = page * PAGE, to = end > last ? f->size : end * PAGE;
    while (at < to) {
        ssize_t got = pread(f->fd, (void *)(f->begin + at), to - at, (off_t)at);
        if (got <= 0) {
            failed = true;
            return;
        }
        at += (size_t)got;
    }
}

PLAIN static void page_miss(paged_file *f, size_t page)
{
    bool follows = f->ahead && page == f->next;
    f->ahead = !follows ? 1 : f->ahead < AHEAD_MOST ? f->ahead * 2 : AHEAD_MOST;
    page_read(f, page, f->ahead);
    f->next = page + f->ahead;
}

/* Brings the pages of [at, at + n), which lies near some file. */
PLAIN __attribute__((noinline)) static void page_touch(uintptr_t at, size_t n)
{
    for (uint32_t i = 0; i < n_files; i++) {
        paged_file *f = &files[i];
        uintptr_t from = at < f->begin ? f->begin : at;
        uintptr_t to = at + n < f->begin + f->size ? at + n : f->begin + f->size;
        if (from >= to)
            continue;
        size_t last = (to - 1 - f->begin) / PAGE;
        for (size_t p = (from - f->begin) / PAGE; p <= last; p++)
            if (!page_there(f, p))
                page_miss(f, p);
    }
}

PLAIN static inline void page_need(const void *p, size_t n)
{
    uintptr_t at = (uintptr_t)p;
    if (n && (at - low < span || (at < low && n > low - at)))
        page_touch(at, n);
}

/* -- what the compiler calls ----------------------------------------------*/

#define LOADED(n, type) \
    void __sanitizer_cov_load##n(const type *p); \
    PLAIN void __sanitizer_cov_load##n(const type *p) \
    { \
        if ((uintptr_t)p - low < span) \
            page_touch((uintptr_t)p, n); \
    }

LOADED(1, uint8_t)
LOADED(2, uint16_t)
LOADED(4, uint32_t)
LOADED(8, uint64_t)
LOADED(16, void)

/* -- what the linker leads here -------------------------------------------*/

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
PLAIN void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    page_need(from, n);
    return __real_memcpy(to, from, n);
}

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
PLAIN void *__wrap_memmove(void *to, const void *from, size_t n)
{
    page_need(from, n);
    return __real_memmove(to, from, n);
}

int __real_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
PLAIN int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    page_need(a, n);
    page_need(b, n);
    return __real_memcmp(a, b, n);
}

/* Searches page by page: what it looks for is mostly near. */
void *__real_memchr(const void *p, int c, size_t n);
void *__wrap_memchr(const void *p, int c, size_t n);
PLAIN void *__wrap_memchr(const void *p, int c, size_t n)
{
    const char *at = p;
    while (n) {
        size_t part = PAGE - (uintptr_t)at % PAGE;
        part = n < part ? n : part;
        page_need(at, part);
        void *found = __real_memchr(at, c, part);
        if (found)
            return found;
        at += part;
        n -= part;
    }
    return NULL;
}

/* Both may end long before n, which then says nothing of what is read. */
int __wrap_strncmp(const char *a, const char *b, size_t n);
PLAIN int __wrap_strncmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        page_need(a + i, 1);
        page_need(b + i, 1);
        if (a[i] != b[i] || !a[i])
            return (unsigned char)a[i] - (unsigned char)b[i];
    }
    return 0;
}

size_t __wrap_strnlen(const char *s, size_t n);
PLAIN size_t __wrap_strnlen(const char *s, size_t n)
{
    const char *end = __wrap_memchr(s, 0, n);
    return end ? (size_t)(end - s) : n;
}
