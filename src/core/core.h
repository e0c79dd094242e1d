/* core.h - what every layer stands on: memory, errors, checked integers.
 *
 * Integers that count things (elements, bytes, MACs) are int64_t and only
 * grow through sat_mul and sat_add: once a result does not fit, it sticks at
 * CLV_SAT, and the pass that publishes the number reports the overflow. */
#ifndef CLV_CORE_H
#define CLV_CORE_H

#include "cleave/base.h"

#include <stdarg.h>

/* -- errors ---------------------------------------------------------------*/

/* Records the first failure in e (may be NULL) and returns its code. */
clv_status clv__fail(clv_err *e, clv_status code, const char *fmt, ...)
    CLV_PRINTF(3, 4);
/* Puts "where: " before the message of a failure already recorded. */
void clv__err_prefix(clv_err *e, const char *fmt, ...) CLV_PRINTF(2, 3);
void clv__err_clear(clv_err *e);
clv_status clv__nomem(clv_err *e);
/* Says what a failure with `code` is about, if e holds it and nobody has said
 * so yet. Returns code:
 *     return clv__about(e, clv__fail(e, CLV_SHAPE, ...), CLV_SUBJECT_DIM,
 * name);
 */
clv_status clv__about(clv_err *e, clv_status code, clv_subject_kind about,
                      const char *subject);

#define CLV_TRY(call) \
    do { \
        clv_status clv_try_status = (call); \
        if (clv_try_status != CLV_OK) \
            return clv_try_status; \
    } while (0)

/* -- arguments of public functions ----------------------------------------*/

/* Refuses a NULL pointer, naming the function and the argument. */
#define CLV_NEED(argument, err) \
    do { \
        if (!(argument)) \
            return clv__fail(err, CLV_USAGE, "%s: '%s' is NULL", __func__, \
                             #argument); \
    } while (0)

/* Begins a function that makes an object: clears err and *out. */
#define CLV_BEGIN(out, err) \
    do { \
        clv__err_clear(err); \
        CLV_NEED(out, err); \
        *(out) = NULL; \
    } while (0)

/* Copies a caller's struct, which begins with its size, to `own`, which is as
 * large as this version knows it. What an older caller does not have becomes
 * zero; NULL means all zero. Fails with CLV_USAGE when the size is not set, or
 * when a newer caller sets a field that this version does not know. */
CLV_MUST clv_status clv__read_sized(const void *given, void *own, size_t known,
                                    const char *type, clv_err *e);
#define CLV_READ(type, given, own, err) \
    CLV_TRY(clv__read_sized(given, own, sizeof(type), #type, err))
/* Copies `full` to the caller's struct as far as the size set there reaches,
 * which stays; what this version does not know becomes zero. */
CLV_MUST clv_status clv__fill_sized(void *out, const void *full, size_t known,
                                    const char *type, clv_err *e);

/* How long a list is, for a getter; count may be NULL. */
static inline void clv__set_count(uint32_t *count, uint32_t n)
{
    if (count)
        *count = n;
}

/* Row i of a table of names, "?" past its end. */
#define CLV_NAME(table, i) \
    ((size_t)(i) < sizeof(table) / sizeof *(table) ? (table)[i] : "?")

/* ASCII, whatever the locale: in Turkish the capital of 'i' is no ASCII. */
static inline bool clv__is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char clv__lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether two words are the same but for case. */
static inline bool clv__same_word(const char *a, const char *b)
{
    while (*a && clv__lower(*a) == clv__lower(*b)) {
        a++;
        b++;
    }
    return clv__lower(*a) == clv__lower(*b);
}

static inline char clv__upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static inline bool clv__is_alnum(char c)
{
    return clv__is_digit(c) || (clv__lower(c) >= 'a' && clv__lower(c) <= 'z');
}

/* True for characters that show as themselves and do nothing else. */
bool clv__is_shown(uint32_t code);

/* -- memory ---------------------------------------------------------------*/

void *clv__alloc(size_t size);  /* NULL when there is none */
void *clv__zalloc(size_t size); /* likewise, zeroed */
/* Allocates memory for tensors, 64-byte aligned. It is on huge pages if it is
 * large and the system has them ready. The caller frees *block with
 * clv__free. */
void *clv__huge_alloc(size_t size, void **block);
void *clv__realloc(void *p, size_t size);
/* Where memory comes from; and to take it from where another copy of the
 * library does, from now on. */
clv_allocator *clv__memory(void);
void clv__memory_from(clv_allocator *a);
void clv__free(void *p);

/* Bump allocation; everything is freed at once. Starts as {0}. */
typedef struct arena_chunk arena_chunk;
typedef struct arena {
    arena_chunk *head;
    char *cur, *end;
    size_t total; /* bytes taken from the allocator */
} arena;

typedef struct arena_mark {
    arena_chunk *head;
    char *cur;
} arena_mark;

/* Returns bytes at a multiple of align, a power of two, or NULL on failure. */
void *arena_take_more(arena *a, size_t size, size_t align);
static inline void *arena_take(arena *a, size_t size, size_t align)
{
    uintptr_t end = (uintptr_t)a->end;
    uintptr_t at = ((uintptr_t)a->cur + align - 1) & ~(uintptr_t)(align - 1);
    if (at >= end || size >= end - at)
        return arena_take_more(a, size, align);
    a->cur = (char *)(at + size);
    return (char *)at;
}

/* Memory for any type: 16-byte aligned, 8 if it is smaller than that. */
static inline void *arena_alloc(arena *a, size_t size)
{
    return arena_take(a, size, size < 16 ? 8 : 16);
}

void *arena_zalloc(arena *a, size_t size);
/* Memory for n items; the product is checked. */
static inline void *arena_array(arena *a, size_t n, size_t size)
{
    return size && n > SIZE_MAX / size ? NULL : arena_alloc(a, n * size);
}

char *arena_strndup(arena *a, const char *s, size_t len);
char *arena_printf(arena *a, const char *fmt, ...) CLV_PRINTF(2, 3);
arena_mark arena_save(const arena *a);
void arena_rewind(arena *a, arena_mark m);
void arena_free(arena *a);

/* Makes room for one more element of a doubling array: grows *items when
 * n == *cap. False on failure, with the array untouched. */
bool clv__grow(void **items, size_t n, size_t *cap, size_t size);
/* Makes room for n elements in all. Returns false on failure, like
 * clv__grow. */
bool clv__reserve(void **items, size_t n, size_t *cap, size_t size);
/* items is the array itself: CLV_GROW(g->nodes, g->n_nodes, g->cap_nodes) */
#define CLV_GROW(items, n, cap) \
    clv__grow((void **)&(items), (n), &(cap), sizeof *(items))
#define CLV_RESERVE(items, n, cap) \
    clv__reserve((void **)&(items), (n), &(cap), sizeof *(items))

/* -- checked integers -----------------------------------------------------*/

#define CLV_SAT INT64_MAX

static inline int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? CLV_SAT : r;
}

static inline int64_t sat_add(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? CLV_SAT : r;
}

/* -- names to numbers -----------------------------------------------------*/

/* A map from strings to uint32_t. Keys are borrowed and must outlive the map.
 * Starts as {0}. */
typedef struct strmap {
    struct strmap_slot *slots;
    struct strmap_entry *entries;
    size_t cap; /* of entries */
    uint64_t seed;
    uint32_t n, mask;
} strmap;

/* Makes room for n keys in all; false when memory ran out. */
bool strmap_reserve(strmap *m, size_t n);
/* CLV_NONE when absent. */
uint32_t strmap_get(const strmap *m, const char *key, size_t len);
/* Sets the value of key, or replaces it (the key stored first stays). Returns
 * false when memory ran out. */
bool strmap_put(strmap *m, const char *key, size_t len, uint32_t value);
/* Sets the value of key if the key is new; *added says whether it was. Returns
 * the place of its value, good until the next key comes; NULL when memory ran
 * out. */
uint32_t *strmap_add(strmap *m, const char *key, size_t len, uint32_t value,
                     bool *added);
void strmap_free(strmap *m);

/* -- text -----------------------------------------------------------------*/

/* Makes room for more characters and the NUL; false when memory ran out. */
bool clv__buf_room(clv_buf *b, size_t more);

/* Finds the name closest to `word` among `n` names; name(ctx, i) returns the
 * i-th. Returns its index, or CLV_NONE when no name is close enough to
 * suggest. */
uint32_t clv__closest(const char *word, uint32_t n,
                      const char *(*name)(const void *ctx, uint32_t i),
                      const void *ctx);
/* Seconds of a clock that only goes forward. */
double clv__now(void);
/* Writes up to three of the closest names to buf, as "'a', 'b' or 'c'". Returns
 * false when no name is close. */
bool clv__suggest(const char *word, uint32_t n,
                  const char *(*name)(const void *ctx, uint32_t i),
                  const void *ctx, char *buf, size_t size);
/* Matches the whole text against a shell pattern with * and ?. */
bool clv__glob(const char *pattern, const char *text);
/* Returns how many bytes the first UTF-8 character of text has, or 0 when it is
 * malformed. `code` receives its code point. text is NUL-terminated. */
size_t clv__utf8(const char *text, uint32_t *code);

#endif
