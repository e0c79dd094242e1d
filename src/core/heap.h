/* heap.h - a binary heap of numbers: least key first, then lowest number.
 *
 *     heap h = {items, 0, keys};    room for all, keys by number
 *     heap_push(&h, 3);
 *     uint32_t least = heap_pop(&h);
 *
 * A key must not change while its number is in the heap. */
#ifndef CLV_HEAP_H
#define CLV_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct heap {
    uint32_t *item, n;
    const double *key;
} heap;

static inline bool heap_before(const heap *h, uint32_t a, uint32_t b)
{
    return h->key[a] < h->key[b] || (h->key[a] == h->key[b] && a < b);
}

static inline void heap_push(heap *h, uint32_t x)
{
    uint32_t i = h->n++;
    for (; i > 0 && heap_before(h, x, h->item[(i - 1) / 2]); i = (i - 1) / 2)
        h->item[i] = h->item[(i - 1) / 2];
    h->item[i] = x;
}

/* The heap must not be empty. */
static inline uint32_t heap_pop(heap *h)
{
    uint32_t top = h->item[0], x = h->item[--h->n], i = 0;
    for (uint32_t c = 1; c < h->n; c = 2 * i + 1) {
        c += c + 1 < h->n && heap_before(h, h->item[c + 1], h->item[c]);
        if (!heap_before(h, h->item[c], x))
            break;
        h->item[i] = h->item[c];
        i = c;
    }
    h->item[i] = x;
    return top;
}

#endif
