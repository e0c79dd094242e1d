/* strmap.c - open addressing, linear probing, FNV-1a, at most half full. */
#include "core/core.h"

#include <string.h>

struct strmap_slot {
    const char *key; /* NULL: empty */
    uint32_t len, hash, value;
};

static uint32_t hash_of(const char *key, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)key[i]) * 16777619u;
    return h;
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
