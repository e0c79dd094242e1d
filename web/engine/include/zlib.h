/* zlib.h - as much of zlib's interface as cleave calls, for the page: nothing
 * is compressed there (the browser does that, when a report is saved), and the
 * host inflates. See zlib.c. */
#ifndef ENGINE_ZLIB_H
#define ENGINE_ZLIB_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t Bytef;
typedef unsigned uInt;
typedef unsigned long uLong;
#define z_const const

enum { Z_NO_FLUSH = 0, Z_FINISH = 4 };
enum { Z_OK = 0, Z_STREAM_END = 1, Z_DATA_ERROR = -3, Z_MEM_ERROR = -4 };
enum { MAX_WBITS = 15 };

typedef struct z_stream {
    const Bytef *next_in;
    uInt avail_in;
    Bytef *next_out;
    uInt avail_out;
    uLong total_in, total_out;
    void *(*zalloc)(void *ctx, unsigned n, unsigned size);
    void (*zfree)(void *ctx, void *p);
    uint32_t check;   /* of the bytes that were stored */
    uint32_t block;   /* bytes that are left of the block */
    uint8_t frame[8]; /* what comes before them */
    uint8_t framed, n_frame;
    enum { Z_BLOCKS, Z_LAST, Z_SUM } part;
} z_stream;

int inflateInit2(z_stream *z, int bits);
/* Takes the whole input at once, and makes the whole output. */
int inflate(z_stream *z, int flush);
int inflateEnd(z_stream *z);

int deflateInit(z_stream *z, int level);
int deflate(z_stream *z, int flush);
int deflateEnd(z_stream *z);

uLong crc32(uLong crc, const Bytef *bytes, uInt n);
uLong crc32_z(uLong crc, const Bytef *bytes, size_t n);

#endif
