/* strmap.c - open addressing, linear probing, at most half full. */
#include "core/core.h"

#include <string.h>

struct strmap_slot {
    const char *key; /* NULL: empty */
    uint32_t len, hash, value;
};

/* Eight bytes at a time: names of model files are long. */
static uint32_t hash_of(const char *key, size_t len)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ len, word;
    for (; len >= 8; key += 8, len -= 8) {
        memcpy(&word, key, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, key, len);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
    return (uint32_t)(h * 0xc4ceb9fe1a85ec53u >> 32);
}

/* The slot that holds key, or the empty one where it would go. */
static struct strmap_slot *find(const strmap *m, const char *key, size_t len,
                                uint32_t hash)
{
    for (uint32_t i = hash & m->mask;; i = (i + 1) & m->mask) {
        struct strmap_slot *s = &m->slots[i];
        if (!s->key ||
            (s->hash == hash && s->len == len && !memcmp(s->key, key, len)))
            return s;
    }
}

uint32_t strmap_get(const strmap *m, const char *key, size_t len)
{
    if (!m->slots)
        return CLV_NONE;
    if (!key)
        key = "";
    struct strmap_slot *s = find(m, key, len, hash_of(key, len));
    return s->key ? s->value : CLV_NONE;
}

static bool grow(strmap *m)
{
    uint32_t cap = m->slots ? (m->mask + 1) * 2 : 64;
    if (cap == 0)
        return false;
    strmap bigger = {clv__zalloc(cap * sizeof *m->slots), m->n, cap - 1};
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; m->slots && i <= m->mask; i++) {
        struct strmap_slot *s = &m->slots[i];
        if (s->key)
            *find(&bigger, s->key, s->len, s->hash) = *s;
    }
    clv__free(m->slots);
    *m = bigger;
    return true;
}

bool strmap_add(strmap *m, const char *key, size_t len, uint32_t value,
                bool *added)
{
    if (!key)
        key = "";
    *added = false;
    if (len > UINT32_MAX)
        return false;
    if ((!m->slots || m->n >= (m->mask + 1) / 2) && !grow(m))
        return false;
    uint32_t hash = hash_of(key, len);
    struct strmap_slot *s = find(m, key, len, hash);
    if (s->key)
        return true;
    m->n++;
    *s = (struct strmap_slot){key, (uint32_t)len, hash, value};
    *added = true;
    return true;
}

bool strmap_put(strmap *m, const char *key, size_t len, uint32_t value)
{
    if (!key)
        key = ""; /* NULL marks an empty slot */
    if (len > UINT32_MAX)
        return false;
    if ((!m->slots || m->n >= (m->mask + 1) / 2) && !grow(m))
        return false;
    uint32_t hash = hash_of(key, len);
    struct strmap_slot *s = find(m, key, len, hash);
    if (!s->key) {
        *s = (struct strmap_slot){key, (uint32_t)len, hash, 0};
        m->n++;
    }
    s->value = value;
    return true;
}

void strmap_free(strmap *m)
{
    clv__free(m->slots);
    *m = (strmap){0};
}
