/* packs.c - constants in oneDNN's layouts, shared by models of one network.
 *
 * A model of the same network at another batch or length reads the same
 * weights: their addresses are equal, as is the `family` that the caller gives.
 * What was packed of them for the first is taken by the others. Subgraphs of no
 * family share with nobody.
 *
 * Invariant: a family's weights live as long as its executables, so an address
 * means one weight as long as its packs are here. */
#include "backend/onednn/onednn.h"

#include "core/mapping.h"

/* A constant, and what it was made of. */
typedef struct dnn_pack {
    dnn_source from;
    float *scale; /* a copy of its own */
    void *data;
} dnn_pack;

struct dnn_packs {
    dnn_packs *next;
    const void *family;
    uint32_t users;
    pthread_mutex_t compiling;   /* held while a subgraph is lowered */
    void **slabs;                /* memory of constants, on huge pages */
    uintptr_t slab_at, slab_end; /* what is free of the last */
    size_t n_slabs, cap_slabs;
    dnn_pack *packs;
    size_t n_packs, cap_packs;
};

static dnn_packs *families;
static pthread_mutex_t families_lock = PTHREAD_MUTEX_INITIALIZER;

dnn_packs *dnn_packs_take(const void *family)
{
    pthread_mutex_lock(&families_lock);
    dnn_packs *p = families;
    while (p && (!family || p->family != family))
        p = p->next;
    if (p) {
        p->users++;
    } else if ((p = clv__zalloc(sizeof *p))) {
        pthread_mutex_init(&p->compiling, NULL);
        *p = (dnn_packs){.next = families,
                         .family = family,
                         .users = 1,
                         .compiling = p->compiling};
        families = p;
    }
    pthread_mutex_unlock(&families_lock);
    return p;
}

void dnn_packs_give(dnn_packs *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&families_lock);
    bool last = --p->users == 0;
    for (dnn_packs **at = &families; last && *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    pthread_mutex_unlock(&families_lock);
    if (!last)
        return;
    for (size_t i = 0; i < p->n_slabs; i++)
        clv__free(p->slabs[i]);
    for (size_t i = 0; i < p->n_packs; i++)
        clv__free(p->packs[i].scale);
    clv__free(p->slabs);
    clv__free(p->packs);
    pthread_mutex_destroy(&p->compiling);
    clv__free(p);
}

void dnn_packs_lock(dnn_packs *p)
{
    if (p)
        pthread_mutex_lock(&p->compiling);
}

void dnn_packs_unlock(dnn_packs *p)
{
    if (p)
        pthread_mutex_unlock(&p->compiling);
}

void *dnn_packs_room(dnn_packs *p, size_t size)
{
    enum { SLAB = 32 << 20 };
    size_t need = (size + 63) / 64 * 64;
    if (need < size)
        return NULL;
    if (!p->n_slabs || need > p->slab_end - p->slab_at) {
        size_t room = need > SLAB ? need : SLAB;
        if (!CLV_GROW(p->slabs, p->n_slabs, p->cap_slabs))
            return NULL;
        void *block, *begin = clv__huge_alloc(room, &block);
        if (!begin)
            return NULL;
        p->slabs[p->n_slabs++] = block;
        p->slab_at = (uintptr_t)begin;
        p->slab_end = p->slab_at + room;
    }
    void *data = (void *)p->slab_at;
    p->slab_at += need;
    return data;
}

static bool same_scales(const dnn_pack *p, const dnn_source *s)
{
    if (!s->scale || !p->scale)
        return !s->scale && !p->scale;
    return p->from.n == s->n && p->from.mask == s->mask &&
           !memcmp(p->scale, s->scale, (size_t)s->n * sizeof *s->scale);
}

void *dnn_packs_find(const dnn_packs *p, const dnn_source *s)
{
    for (size_t i = 0; p->family && i < p->n_packs; i++) {
        const dnn_pack *k = &p->packs[i];
        if (k->from.data == s->data && k->from.tile == s->tile &&
            dnnl_memory_desc_equal(&k->from.md, &s->md) &&
            dnnl_memory_desc_equal(&k->from.want, &s->want) &&
            same_scales(k, s))
            return k->data;
    }
    return NULL;
}

bool dnn_packs_add(dnn_packs *p, const dnn_source *s, void *data)
{
    if (!p->family)
        return true;
    dnn_pack k = {.from = *s, .data = data};
    if (!CLV_GROW(p->packs, p->n_packs, p->cap_packs))
        return false;
    if (s->scale) {
        k.scale = clv__alloc((size_t)s->n * sizeof *k.scale + 1);
        if (!k.scale)
            return false;
        memcpy(k.scale, s->scale, (size_t)s->n * sizeof *k.scale);
    }
    p->packs[p->n_packs++] = k;
    return true;
}
