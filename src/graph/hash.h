/* hash.h - numbers that tell whether two operators are the same: equal things
 * have equal numbers, others almost surely have not. Nothing is decided by
 * these where a mistake would do harm: they fold pictures and align graphs. */
#ifndef CLV_HASH_H
#define CLV_HASH_H

#include "graph/graph.h"

#define CLV_HASH_START UINT64_C(14695981039346656037)

/* h with x added; order matters. */
static inline uint64_t clv__hash_word(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

uint64_t clv__hash_real(uint64_t h, double x);
uint64_t clv__hash_text(uint64_t h, const char *text);
/* The type and the shape of a value. */
uint64_t clv__hash_value(uint64_t h, const clv_value *v);
/* What the attributes of n mean: stated or by default, in short or at length.
 */
uint64_t clv__hash_attrs(uint64_t h, const clv_node *n);

#endif
