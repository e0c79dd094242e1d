/* inflate.h - what deflate packed (RFC 1951), unpacked. */
#ifndef CLV_INFLATE_H
#define CLV_INFLATE_H

#include "core/core.h"

/* Unpacks n bytes into exactly `size` bytes of out. Fails with CLV_FORMAT when
 * the stream is malformed, cut off, or makes more or fewer. */
CLV_MUST clv_status clv__inflate(const uint8_t *in, size_t n, uint8_t *out,
                                 size_t size, clv_err *e);

/* No stream of n bytes can make more than this. */
static inline uint64_t clv__inflate_most(size_t n)
{
    return ((uint64_t)n + 1) * 1032;
}

#endif
