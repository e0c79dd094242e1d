/* zlib.c - see include/zlib.h. A deflate stream may hold its bytes as they are,
 * in blocks of up to 65535, between a head of two bytes and a checksum:
 *
 *     78 01 | last? len ~len bytes | ... | adler32 */
#include "core/core.h"

#include <string.h>
#include <zlib.h>

/* Inflates n bytes to `size` bytes; returns how many it made, or -1. */
__attribute__((import_module("cleave"), import_name("inflate"))) int32_t
host_inflate(const void *from, uint32_t n, void *to, uint32_t size);

int inflateInit2(z_stream *z, int bits)
{
    z->total_in = z->total_out = 0;
    return bits < 0 ? Z_OK : Z_DATA_ERROR;
}

int inflate(z_stream *z, int flush)
{
    (void)flush;
    uint8_t *copy = clv__alloc(z->avail_in + 1);
    if (!copy)
        return Z_MEM_ERROR;
    memcpy(copy, z->next_in, z->avail_in); /* pages come when they are read */
    int32_t made = host_inflate(copy, z->avail_in, z->next_out, z->avail_out);
    clv__free(copy);
    if (made < 0)
        return Z_DATA_ERROR;
    z->total_in = z->avail_in;
    z->total_out = (uLong)made;
    return Z_STREAM_END;
}

int inflateEnd(z_stream *z)
{
    (void)z;
    return Z_OK;
}

/* -- stored blocks --------------------------------------------------------*/

enum { BLOCK_MOST = 65535, ADLER = 65521 };

int deflateInit(z_stream *z, int level)
{
    (void)level;
    *z = (z_stream){.check = 1, .frame = {0x78, 0x01}, .n_frame = 2};
    return Z_OK;
}

static uint32_t zlib_adler(uint32_t sum, const Bytef *p, uint32_t n)
{
    uint32_t a = sum & 65535, b = sum >> 16;
    while (n) {
        uint32_t part = n < 5552 ? n : 5552; /* more would not fit 32 bits */
        for (uint32_t i = 0; i < part; i++) {
            a += *p++;
            b += a;
        }
        a %= ADLER;
        b %= ADLER;
        n -= part;
    }
    return b << 16 | a;
}

static void zlib_frame(z_stream *z, const uint8_t *bytes, uint8_t n)
{
    memcpy(z->frame, bytes, n);
    z->n_frame = n;
    z->framed = 0;
}

/* Begins a block of what there is; the last one also when there is nothing. */
static void zlib_block(z_stream *z, bool finish)
{
    uint32_t n = z->avail_in < BLOCK_MOST ? z->avail_in : BLOCK_MOST;
    bool last = finish && n == z->avail_in;
    const uint8_t head[] = {last, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n,
                            (uint8_t)(~n >> 8)};
    zlib_frame(z, head, sizeof head);
    z->block = n;
    z->part = last ? Z_LAST : Z_BLOCKS;
}

static void zlib_sum(z_stream *z)
{
    const uint8_t sum[] = {(uint8_t)(z->check >> 24), (uint8_t)(z->check >> 16),
                           (uint8_t)(z->check >> 8), (uint8_t)z->check};
    zlib_frame(z, sum, sizeof sum);
    z->part = Z_SUM;
}

/* Copies as much of a block as there is room for. */
static void zlib_copy(z_stream *z)
{
    uint32_t n = z->block < z->avail_out ? z->block : z->avail_out;
    memcpy(z->next_out, z->next_in, n);
    z->check = zlib_adler(z->check, z->next_in, n);
    z->next_in += n;
    z->avail_in -= n;
    z->next_out += n;
    z->avail_out -= n;
    z->block -= n;
}

int deflate(z_stream *z, int flush)
{
    while (z->avail_out) {
        if (z->framed < z->n_frame) {
            *z->next_out++ = z->frame[z->framed++];
            z->avail_out--;
        } else if (z->block) {
            zlib_copy(z);
        } else if (z->part == Z_SUM) {
            return Z_STREAM_END;
        } else if (z->part == Z_LAST) {
            zlib_sum(z);
        } else if (z->avail_in || flush == Z_FINISH) {
            zlib_block(z, flush == Z_FINISH);
        } else {
            break;
        }
    }
    return z->part == Z_SUM && z->framed == z->n_frame ? Z_STREAM_END : Z_OK;
}

int deflateEnd(z_stream *z)
{
    (void)z;
    return Z_OK;
}

uLong crc32_z(uLong crc, const Bytef *bytes, size_t n)
{
    uint32_t c = ~(uint32_t)crc;
    for (size_t i = 0; i < n; i++) {
        c ^= bytes[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

uLong crc32(uLong crc, const Bytef *bytes, uInt n)
{
    return crc32_z(crc, bytes, n);
}
