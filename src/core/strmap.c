/* strmap.c - a table of slots over a list of entries.
 *
 *   slots     a hash and the number of an entry; linear probing, at most three
 *             quarters full
 *   entries   key and value, in the order they came
 *
 * Growing moves slots only, eight bytes each. The hash is keyed by a number
 * drawn once per process: names made to collide in a file would have to know
 * it, so a hostile file cannot make lookups slow. */
#include "core/core.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct strmap_slot {
    uint32_t hash, entry; /* entry 0: empty; else one more than its index */
};

struct strmap_entry {
    const char *key;
    uint32_t len, value;
};

static uint64_t process_key(void)
{
    static _Atomic uint64_t key;
    uint64_t had = atomic_load_explicit(&key, memory_order_relaxed);
    if (had)
        return had;
    uint64_t drawn;
    if (getentropy(&drawn, sizeof drawn) != 0)
        drawn = (uint64_t)(uintptr_t)&drawn * 0x9e3779b97f4a7c15u;
    drawn |= 1; /* 0 means none yet */
    return atomic_compare_exchange_strong(&key, &had, drawn) ? drawn : had;
}

/* Multiplies a and b and folds the high half of the product into the low
 * half. */
static uint64_t strmap_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Reads a key of at most sixteen bytes into two words. Reads overlap, so that
 * none has a length to loop over; keys of one length stay distinct. */
static void strmap_short(const char *key, size_t len, uint64_t word[2])
{
    uint32_t half[2];
    word[0] = word[1] = 0;
    if (len >= 8) {
        memcpy(&word[0], key, 8);
        memcpy(&word[1], key + len - 8, 8);
    } else if (len >= 4) {
        memcpy(&half[0], key, 4);
        memcpy(&half[1], key + len - 4, 4);
        word[0] = half[0];
        word[1] = half[1];
    } else if (len) {
        word[0] = (unsigned char)key[0];
        word[0] |= (uint64_t)(unsigned char)key[len / 2] << 8;
        word[1] = (unsigned char)key[len - 1];
    }
}

/* Hashes sixteen bytes at a time, because names in model files are long. The
 * last sixteen may overlap those before. */
static uint32_t hash_of(const strmap *m, const char *key, size_t len)
{
    uint64_t h = m->seed ^ len, word[2];
    if (len > 16) {
        const char *last = key + len - 16;
        for (; key < last; key += 16) {
            memcpy(word, key, 16);
            h = strmap_fold(word[0] ^ m->seed, word[1] ^ h);
        }
        memcpy(word, last, 16);
    } else {
        strmap_short(key, len, word);
    }
    h = strmap_fold(word[0] ^ m->seed, word[1] ^ h);
    return (uint32_t)strmap_fold(h ^ 0x9e3779b97f4a7c15u, m->seed);
}

/* Returns the slot that holds key, or the empty slot where it would go. */
static struct strmap_slot *strmap_find(const strmap *m, const char *key,
                                       size_t len, uint32_t hash)
{
    for (uint32_t i = hash & m->mask;; i = (i + 1) & m->mask) {
        struct strmap_slot *s = &m->slots[i];
        if (!s->entry)
            return s;
        const struct strmap_entry *e = &m->entries[s->entry - 1];
        if (s->hash == hash && e->len == len && !memcmp(e->key, key, len))
            return s;
    }
}

uint32_t strmap_get(const strmap *m, const char *key, size_t len)
{
    if (!m->slots)
        return CLV_NONE;
    if (!key)
        key = "";
    const struct strmap_slot *s =
        strmap_find(m, key, len, hash_of(m, key, len));
    return s->entry ? m->entries[s->entry - 1].value : CLV_NONE;
}

static bool strmap_resize(strmap *m, uint32_t cap)
{
    struct strmap_slot *slots = clv__zalloc(cap * sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; m->slots && i <= m->mask; i++) {
        struct strmap_slot from = m->slots[i];
        uint32_t to = from.hash & (cap - 1);
        while (from.entry && slots[to].entry)
            to = (to + 1) & (cap - 1);
        if (from.entry)
            slots[to] = from;
    }
    clv__free(m->slots);
    m->slots = slots;
    m->mask = cap - 1;
    m->seed = process_key();
    return true;
}

bool strmap_reserve(strmap *m, size_t n)
{
    if (n > UINT32_MAX / 4)
        return false;
    uint32_t cap = m->slots ? m->mask + 1 : 64;
    while (cap / 4 * 3 < n)
        cap *= 2;
    return (m->slots && cap == m->mask + 1) || strmap_resize(m, cap);
}

/* Returns the entry of key and adds it if it is new. Returns NULL when memory
 * ran out. */
static struct strmap_entry *strmap_entry_of(strmap *m, const char *key,
                                            size_t len, bool *added)
{
    if (!key)
        key = "";
    if (len > UINT32_MAX || !strmap_reserve(m, (size_t)m->n + 1) ||
        !CLV_GROW(m->entries, m->n, m->cap))
        return NULL;
    uint32_t hash = hash_of(m, key, len);
    struct strmap_slot *s = strmap_find(m, key, len, hash);
    *added = !s->entry;
    if (*added) {
        m->entries[m->n] = (struct strmap_entry){key, (uint32_t)len, 0};
        *s = (struct strmap_slot){hash, ++m->n};
    }
    return &m->entries[s->entry - 1];
}

uint32_t *strmap_add(strmap *m, const char *key, size_t len, uint32_t value,
                     bool *added)
{
    *added = false;
    struct strmap_entry *e = strmap_entry_of(m, key, len, added);
    if (e && *added)
        e->value = value;
    return e ? &e->value : NULL;
}

bool strmap_put(strmap *m, const char *key, size_t len, uint32_t value)
{
    bool added;
    struct strmap_entry *e = strmap_entry_of(m, key, len, &added);
    if (e)
        e->value = value;
    return e;
}

void strmap_free(strmap *m)
{
    clv__free(m->slots);
    clv__free(m->entries);
    *m = (strmap){0};
}
