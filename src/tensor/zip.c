/* zip.c - reads zip archives that users bring, and writes plain ones.
 *
 *     entry | entry | .. | directory: one record per entry | end record
 *
 * The end record is found from the back, since a comment of any length may
 * follow it. It says where the directory begins, and a record of that says
 * where its entry lies. Where a number does not fit 32 bits, all of them are
 * ones, and the number stands elsewhere in 64 bits: that of the end record in
 * another one before it, that of an entry in the extra field of its record.
 * zlib unpacks, with our allocator. */
#include "tensor/zip.h"

#include <string.h>
#include <zlib.h>

enum { LOCAL_SIZE = 30, RECORD_SIZE = 46, END_SIZE = 22, COMMENT_MAX = 65535 };
enum { END64_SIZE = 56, LOCATOR_SIZE = 20, EXTRA64 = 1 };
enum { STORED = 0, DEFLATED = 8 };
enum { INFLATE_MOST = 1032 }; /* bytes that one byte of deflate can make */

static uint32_t u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static uint64_t u64(const uint8_t *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

/* The 64-bit end record, which a locator just before the plain one finds. */
static void open_large(zip *z, size_t end)
{
    const uint8_t *p = z->bytes + end - LOCATOR_SIZE;
    if (end < LOCATOR_SIZE || memcmp(p, "PK\6\7", 4) != 0)
        return;
    uint64_t at = u64(p + 8);
    if (at > z->size || z->size - at < END64_SIZE ||
        memcmp(z->bytes + at, "PK\6\6", 4) != 0)
        return;
    uint64_t count = u64(z->bytes + at + 32);
    z->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    uint64_t begin = u64(z->bytes + at + 48);
    z->at = begin < z->size ? (size_t)begin : z->size;
}

clv_status clv__zip_open(const void *bytes, size_t size, zip *z, clv_err *e)
{
    *z = (zip){.bytes = bytes, .size = size};
    for (size_t back = END_SIZE; back <= size && back <= END_SIZE + COMMENT_MAX;
         back++) {
        const uint8_t *end = z->bytes + size - back;
        if (memcmp(end, "PK\5\6", 4) != 0)
            continue;
        z->count = u16(end + 10);
        z->at = u32(end + 16);
        if (z->count == UINT16_MAX || z->at == UINT32_MAX)
            open_large(z, size - back);
        return CLV_OK;
    }
    return clv__fail(e, CLV_FORMAT, "not a zip archive");
}

/* An entry's numbers as its record has them, before they are checked. */
typedef struct record {
    uint64_t size, packed, local;
} record;

/* Takes from the extra field what does not fit the record: the sizes and the
 * place of the entry, in this order, those alone that do not. */
static void read_extra(const uint8_t *p, size_t n, record *r)
{
    uint64_t *const fields[] = {&r->size, &r->packed, &r->local};
    while (n >= 4) {
        size_t id = u16(p), len = u16(p + 2), at = 0;
        if (len > n - 4)
            return;
        for (int i = 0; id == EXTRA64 && i < 3; i++)
            if (*fields[i] == UINT32_MAX && len - at >= 8) {
                *fields[i] = u64(p + 4 + at);
                at += 8;
            }
        p += 4 + len;
        n -= 4 + len;
    }
}

/* Reads the record at z->at, and where its entry lies. */
static bool read_record(zip *z, zip_entry *x, uint64_t *local)
{
    if (z->at > z->size || z->size - z->at < RECORD_SIZE ||
        memcmp(z->bytes + z->at, "PK\1\2", 4) != 0)
        return false;
    const uint8_t *p = z->bytes + z->at;
    size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    record r = {
        .size = u32(p + 24), .packed = u32(p + 20), .local = u32(p + 42)};
    if (z->size - z->at - RECORD_SIZE < name + extra)
        return false;
    read_extra(p + RECORD_SIZE + name, extra, &r);
    if ((size_t)r.packed != r.packed) /* more than memory has addresses for */
        return false;
    *local = r.local;
    *x = (zip_entry){.name = (const char *)p + RECORD_SIZE,
                     .name_size = name,
                     .packed = (size_t)r.packed,
                     .method = u16(p + 10),
                     .size = r.size};
    z->at += RECORD_SIZE + name + extra + comment;
    return true;
}

/* The data begins behind a head whose length the head itself tells. */
static bool find_data(const zip *z, zip_entry *x, uint64_t local)
{
    if (local > z->size || z->size - local < LOCAL_SIZE)
        return false;
    const uint8_t *head = z->bytes + local;
    size_t skip = LOCAL_SIZE + u16(head + 26) + u16(head + 28);
    x->data = head + skip;
    return z->size - local >= skip && z->size - local - skip >= x->packed;
}

static clv_status zip_step(zip *z, zip_entry *x, bool data, clv_err *e)
{
    size_t at = z->at;
    uint64_t local;
    if (!read_record(z, x, &local) || (data && !find_data(z, x, local)))
        return clv__fail(e, CLV_FORMAT, "byte %zu: entry %u is malformed", at,
                         z->next);
    z->next++;
    return CLV_OK;
}

clv_status clv__zip_next(zip *z, zip_entry *x, clv_err *e)
{
    return zip_step(z, x, true, e);
}

clv_status clv__zip_list(zip *z, zip_entry *x, clv_err *e)
{
    return zip_step(z, x, false, e);
}

/* -- unpacking ------------------------------------------------------------*/

static void *zip_alloc(void *ctx, unsigned n, unsigned size)
{
    (void)ctx;
    return clv__alloc((size_t)n * size);
}

static void zip_free(void *ctx, void *p)
{
    (void)ctx;
    clv__free(p);
}

/* Inflates x into exactly x->size bytes of out. */
static clv_status inflate_entry(const zip_entry *x, uint8_t *out, clv_err *e)
{
    z_stream z = {.zalloc = zip_alloc, .zfree = zip_free};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) /* without a header of its own */
        return clv__nomem(e);
    z.next_in = (z_const Bytef *)(uintptr_t)x->data;
    z.avail_in = (uInt)x->packed;
    z.next_out = out;
    z.avail_out = (uInt)x->size;
    int result = inflate(&z, Z_FINISH);
    unsigned long read = z.total_in, made = z.total_out;
    inflateEnd(&z);
    if (result == Z_MEM_ERROR)
        return clv__nomem(e);
    if (result != Z_STREAM_END)
        return clv__fail(e, CLV_FORMAT, "deflate: malformed at byte %lu", read);
    if (made != x->size)
        return clv__fail(e, CLV_FORMAT, "deflate: %lu bytes, expected %llu",
                         made, (unsigned long long)x->size);
    return CLV_OK;
}

/* Whether the packed bytes can be those of x->size. */
static bool size_possible(const zip_entry *x)
{
    return x->method == STORED
               ? x->size == x->packed
               : x->packed < UINT32_MAX && x->size < UINT32_MAX &&
                     x->size <= ((uint64_t)x->packed + 1) * INFLATE_MOST;
}

clv_status clv__zip_unpack(const zip_entry *x, const uint8_t **bytes,
                           uint8_t **block, clv_err *e)
{
    *bytes = x->data;
    *block = NULL;
    if (x->method != STORED && x->method != DEFLATED)
        return clv__fail(e, CLV_UNSUPPORTED,
                         "packed by method %u; stored and deflated are read",
                         x->method);
    if (!size_possible(x))
        return clv__fail(e, CLV_FORMAT, "%zu bytes cannot unpack to %llu",
                         x->packed, (unsigned long long)x->size);
    if (x->method == STORED)
        return CLV_OK;
    uint8_t *plain = clv__alloc((size_t)x->size + 1);
    if (!plain)
        return clv__nomem(e);
    clv_status s = inflate_entry(x, plain, e);
    if (s != CLV_OK) {
        clv__free(plain);
        return s;
    }
    *bytes = *block = plain;
    return CLV_OK;
}

/* -- writing --------------------------------------------------------------*/

static void put_u16(clv_buf *b, uint32_t x)
{
    const char bytes[2] = {(char)(x & 255), (char)(x >> 8 & 255)};
    clv_buf_add(b, bytes, sizeof bytes);
}

static void put_u32(clv_buf *b, uint32_t x)
{
    put_u16(b, x & 65535);
    put_u16(b, x >> 16);
}

/* What the head of an entry and its record in the directory share: version,
 * flags, method, time, date (1980-01-01, so that the same outputs are the same
 * bytes), checksum, sizes, length of the name, no extra field. */
static void put_common(clv_buf *b, uint32_t crc, uint32_t size, size_t name)
{
    enum { VERSION = 20, FIRST_DAY = 0x21 };
    put_u16(b, VERSION);
    put_u16(b, 0);
    put_u16(b, STORED);
    put_u16(b, 0);
    put_u16(b, FIRST_DAY);
    put_u32(b, crc);
    put_u32(b, size);
    put_u32(b, size);
    put_u16(b, (uint32_t)name);
    put_u16(b, 0);
}

clv_status clv__zip_add(zip_out *z, const char *name, const void *data,
                        size_t size, clv_err *e)
{
    size_t len = strlen(name), at = z->all.len;
    if (size >= UINT32_MAX - at || len > UINT16_MAX || z->count == UINT16_MAX)
        return clv__fail(e, CLV_OVERFLOW,
                         "zip: more than 4 GB, or too many entries");
    uint32_t crc = (uint32_t)crc32_z(0, data, size);
    clv_buf_add(&z->all, "PK\3\4", 4);
    put_common(&z->all, crc, (uint32_t)size, len);
    clv_buf_add(&z->all, name, len);
    clv_buf_add(&z->all, data, size);
    clv_buf_add(&z->directory, "PK\1\2", 4);
    put_u16(&z->directory, 20); /* made by: the same version */
    put_common(&z->directory, crc, (uint32_t)size, len);
    for (int i = 0; i < 3; i++) /* comment, disk, internal attributes */
        put_u16(&z->directory, 0);
    put_u32(&z->directory, 0);
    put_u32(&z->directory, (uint32_t)at);
    clv_buf_add(&z->directory, name, len);
    z->count++;
    return CLV_OK;
}

clv_status clv__zip_finish(zip_out *z, clv_buf *out, clv_err *e)
{
    size_t at = z->all.len;
    clv_buf_add(&z->all, z->directory.text ? z->directory.text : "",
                z->directory.len);
    clv_buf_add(&z->all, "PK\5\6", 4);
    put_u32(&z->all, 0);
    put_u16(&z->all, z->count);
    put_u16(&z->all, z->count);
    put_u32(&z->all, (uint32_t)z->directory.len);
    put_u32(&z->all, (uint32_t)at);
    put_u16(&z->all, 0);
    bool failed = z->all.failed || z->directory.failed;
    if (!failed)
        clv_buf_add(out, z->all.text, z->all.len);
    clv_buf_free(&z->all);
    clv_buf_free(&z->directory);
    return failed || out->failed ? clv__nomem(e) : CLV_OK;
}
