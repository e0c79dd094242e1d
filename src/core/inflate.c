/* inflate.c - RFC 1951, for archives that users bring.
 *
 * Codes are read bit by bit against how many there are of each length, which is
 * all a canonical code needs:
 *
 *     first code of length n+1 = 2 * (first code of length n + their number)
 *
 * Input ends are met as zero bits and noticed once per symbol; every copy is
 * checked against what is written and what is left. */
#include "core/inflate.h"

#include <string.h>

enum { LONGEST = 15, LITERALS = 288, DISTANCES = 30, LENGTHS = 29, END = 256 };

typedef struct bits {
    const uint8_t *in;
    size_t n, at; /* bytes */
    uint32_t hold, count;
    bool past; /* asked for more than there is */
} bits;

typedef struct code {
    uint16_t count[LONGEST + 1], symbol[LITERALS];
} code;

typedef struct sink {
    uint8_t *out;
    size_t size, at;
} sink;

static uint32_t take(bits *b, uint32_t need)
{
    while (b->count < need) {
        uint32_t byte = 0;
        if (b->at < b->n)
            byte = b->in[b->at++];
        else
            b->past = true;
        b->hold |= byte << b->count;
        b->count += 8;
    }
    uint32_t v = b->hold & ((1u << need) - 1);
    b->hold >>= need;
    b->count -= need;
    return v;
}

/* Sorts n symbols by length; false when lengths claim too many codes. */
static bool make_code(code *c, const uint8_t *length, uint32_t n)
{
    uint16_t first[LONGEST + 2] = {0};
    int left = 1;
    memset(c->count, 0, sizeof c->count);
    for (uint32_t i = 0; i < n; i++)
        c->count[length[i]]++;
    c->count[0] = 0;
    for (int l = 1; l <= LONGEST; l++) {
        left = 2 * left - c->count[l];
        if (left < 0)
            return false;
        first[l + 1] = (uint16_t)(first[l] + c->count[l]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (length[i])
            c->symbol[first[length[i]]++] = (uint16_t)i;
    return true;
}

/* The next symbol; negative when no code matches. */
static int decode(bits *b, const code *c)
{
    int32_t value = 0, first = 0, index = 0;
    for (int l = 1; l <= LONGEST; l++) {
        int32_t n = c->count[l];
        value |= (int32_t)take(b, 1);
        if (value - n < first)
            return c->symbol[index + value - first];
        index += n;
        first = (first + n) << 1;
        value <<= 1;
    }
    return -1;
}

/* -- blocks ---------------------------------------------------------------*/

static bool stored(bits *b, sink *s)
{
    b->hold = b->count = 0; /* less than a byte is held here */
    if (b->n - b->at < 4)
        return false;
    const uint8_t *p = b->in + b->at;
    size_t n = (size_t)(p[0] | p[1] << 8), not_n = (size_t)(p[2] | p[3] << 8);
    b->at += 4;
    if (n != (~not_n & 0xffff) || b->n - b->at < n || s->size - s->at < n)
        return false;
    if (n)
        memcpy(s->out + s->at, b->in + b->at, n);
    b->at += n;
    s->at += n;
    return true;
}

static const struct {
    uint16_t base;
    uint8_t extra;
} lengths[LENGTHS] = {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},
                      {9, 0},   {10, 0},  {11, 1},  {13, 1},  {15, 1}, {17, 1},
                      {19, 2},  {23, 2},  {27, 2},  {31, 2},  {35, 3}, {43, 3},
                      {51, 3},  {59, 3},  {67, 4},  {83, 4},  {99, 4}, {115, 4},
                      {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};

/* Distances: 1..4, then two codes per extra bit. */
static size_t distance(bits *b, int symbol)
{
    if (symbol < 4)
        return (size_t)symbol + 1;
    uint32_t extra = (uint32_t)symbol / 2 - 1;
    return ((size_t)(2 + symbol % 2) << extra) + 1 + take(b, extra);
}

static bool repeat(bits *b, sink *s, const code *dist, int symbol)
{
    if (symbol - END - 1 >= LENGTHS)
        return false;
    size_t n = lengths[symbol - END - 1].base +
               take(b, lengths[symbol - END - 1].extra);
    int d = decode(b, dist);
    if (d < 0 || d >= DISTANCES)
        return false;
    size_t back = distance(b, d);
    if (back > s->at || s->size - s->at < n)
        return false;
    for (; n; n--, s->at++) /* may overlap what it makes */
        s->out[s->at] = s->out[s->at - back];
    return true;
}

static bool packed(bits *b, sink *s, const code *literal, const code *dist)
{
    for (;;) {
        int symbol = decode(b, literal);
        if (symbol < 0 || b->past)
            return false;
        if (symbol == END)
            return true;
        if (symbol > END) {
            if (!repeat(b, s, dist, symbol))
                return false;
        } else if (s->at < s->size) {
            s->out[s->at++] = (uint8_t)symbol;
        } else {
            return false;
        }
    }
}

static bool fixed_codes(code *literal, code *dist)
{
    uint8_t length[LITERALS];
    memset(length, 8, sizeof length);
    memset(length + 144, 9, 256 - 144);
    memset(length + 256, 7, 280 - 256);
    bool ok = make_code(literal, length, LITERALS);
    memset(length, 5, DISTANCES);
    return make_code(dist, length, DISTANCES) && ok;
}

/* Both codes come as lengths, themselves coded, with runs. */
static bool read_codes(bits *b, code *literal, code *dist)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length[LITERALS + 32] = {0};
    code c;
    uint32_t n = take(b, 5) + 257, m = take(b, 5) + 1, k = take(b, 4) + 4;
    if (n > LITERALS - 2 || m > DISTANCES)
        return false;
    for (uint32_t i = 0; i < k; i++)
        length[order[i]] = (uint8_t)take(b, 3);
    if (!make_code(&c, length, 19))
        return false;
    memset(length, 0, sizeof length);
    for (uint32_t i = 0; i < n + m;) {
        int symbol = decode(b, &c);
        uint8_t value = 0;
        uint32_t times = 1;
        if (symbol < 0 || b->past || (symbol == 16 && i == 0))
            return false;
        if (symbol < 16)
            value = (uint8_t)symbol;
        else if (symbol == 16)
            value = length[i - 1], times = 3 + take(b, 2);
        else
            times = symbol == 17 ? 3 + take(b, 3) : 11 + take(b, 7);
        if (times > n + m - i)
            return false;
        memset(length + i, value, times);
        i += times;
    }
    return length[END] && make_code(literal, length, n) &&
           make_code(dist, length + n, m);
}

static bool block(bits *b, sink *s, uint32_t kind)
{
    code literal, dist;
    if (kind == 0)
        return stored(b, s);
    if (kind == 3)
        return false;
    bool ok = kind == 1 ? fixed_codes(&literal, &dist)
                        : read_codes(b, &literal, &dist);
    return ok && packed(b, s, &literal, &dist);
}

clv_status clv__inflate(const uint8_t *in, size_t n, uint8_t *out, size_t size,
                        clv_err *e)
{
    bits b = {.in = in, .n = n};
    sink s = {out, size, 0};
    bool ok = true, last = false;
    while (ok && !last) {
        last = take(&b, 1);
        ok = block(&b, &s, take(&b, 2)) && !b.past;
    }
    if (!ok)
        return clv__fail(e, CLV_FORMAT, "deflate: malformed at byte %zu", b.at);
    return s.at == size
               ? CLV_OK
               : clv__fail(e, CLV_FORMAT, "deflate: %zu bytes, expected %zu",
                           s.at, size);
}
