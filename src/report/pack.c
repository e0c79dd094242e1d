/* pack.c - deflate and base64, in pieces, so that text of any size goes
 * through a small buffer. */
#include "report/pack.h"

#include "core/core.h"

#include <string.h>
#include <zlib.h>

/* A multiple of 3, so that only the end of base64 has padding. */
enum { PIECE = 3 * 8192, LEVEL = 9, FAST_LEVEL = 5 };

/* Above this, nine tenths of the time would go into the last percent. */
#define LARGE_TEXT ((size_t)4 << 20)

static void *pack_alloc(void *ctx, unsigned n, unsigned size)
{
    (void)ctx;
    return clv__alloc((size_t)n * size);
}

static void pack_free(void *ctx, void *p)
{
    (void)ctx;
    clv__free(p);
}

static void add_base64(const uint8_t *p, size_t n, clv_buf *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[PIECE / 3 * 4];
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t left = (uint32_t)(n - i), word = (uint32_t)p[i] << 16;
        if (left > 1)
            word |= (uint32_t)p[i + 1] << 8;
        if (left > 2)
            word |= p[i + 2];
        text[at++] = digits[word >> 18];
        text[at++] = digits[word >> 12 & 63];
        text[at++] = left > 1 ? digits[word >> 6 & 63] : '=';
        text[at++] = left > 2 ? digits[word & 63] : '=';
    }
    clv_buf_add(out, text, at);
}

/* Gives zlib the next part of what is left: it counts in 32 bits. */
static void pack_feed(z_stream *z, const char *end)
{
    size_t left = (size_t)(end - (const char *)z->next_in);
    z->avail_in = (uInt)(left > UINT32_MAX ? UINT32_MAX : left);
}

void clv__pack(const clv_buf *text, clv_buf *out)
{
    z_stream z = {.zalloc = pack_alloc, .zfree = pack_free};
    uint8_t piece[PIECE];
    int result = Z_OK;
    const char *end = text->text + text->len;
    if (text->failed || !text->text ||
        deflateInit(&z, text->len > LARGE_TEXT ? FAST_LEVEL : LEVEL) != Z_OK) {
        out->failed = true;
        return;
    }
    z.next_in = (z_const Bytef *)(uintptr_t)text->text;
    while (result == Z_OK) {
        z.next_out = piece;
        z.avail_out = sizeof piece;
        while (result == Z_OK && z.avail_out) {
            pack_feed(&z, end);
            bool last = (const char *)z.next_in + z.avail_in == end;
            result = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
        }
        add_base64(piece, sizeof piece - z.avail_out, out);
    }
    out->failed |= result != Z_STREAM_END;
    deflateEnd(&z);
}
