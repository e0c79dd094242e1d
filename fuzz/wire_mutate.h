/* wire_mutate.h - changes protobuf messages without knowing their schema. */
#ifndef CLEAVE_FUZZ_WIRE_MUTATE_H
#define CLEAVE_FUZZ_WIRE_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* The next number of a sequence that *state decides (splitmix64). */
static inline uint64_t wire_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The same, below n. */
static inline uint64_t wire_below(uint64_t *state, uint64_t n)
{
    return n ? wire_random(state) % n : 0;
}

/* Changes the n bytes of `a` in one to four places, some with pieces of `b`,
 * and stores at most `max` bytes in `out`. Returns how many. */
size_t wire_mutate(uint64_t *state, const uint8_t *a, size_t n,
                   const uint8_t *b, size_t n_b, uint8_t *out, size_t max);
/* The same without a look at the structure: for JSON and everything else. */
size_t byte_mutate(uint64_t *state, const uint8_t *a, size_t n, uint8_t *out,
                   size_t max);

#endif
