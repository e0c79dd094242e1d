/* proto.c - see proto.h. */
#include "formats/onnx/proto.h"

#include "formats/onnx/wire.h"

#include <string.h>

void pb_varint(clv_buf *b, uint64_t v)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    clv_buf_add(b, bytes, n);
}

static void pb_tag(clv_buf *b, int field, wire_type type)
{
    pb_varint(b, (uint64_t)field << 3 | (uint64_t)type);
}

void pb_uint(clv_buf *b, int field, uint64_t v)
{
    pb_tag(b, field, WIRE_VARINT);
    pb_varint(b, v);
}

void pb_float(clv_buf *b, int field, float v)
{
    char bytes[4];
    memcpy(bytes, &v, sizeof bytes);
    pb_tag(b, field, WIRE_FIXED32);
    clv_buf_add(b, bytes, sizeof bytes);
}

void pb_head(clv_buf *b, int field, uint64_t n)
{
    pb_tag(b, field, WIRE_BYTES);
    pb_varint(b, n);
}

void pb_bytes(clv_buf *b, int field, const void *p, size_t n)
{
    pb_head(b, field, n);
    clv_buf_add(b, p, n);
}

void pb_text(clv_buf *b, int field, const char *s)
{
    pb_bytes(b, field, s, strlen(s));
}

void pb_message(clv_buf *b, int field, clv_buf *message)
{
    pb_bytes(b, field, message->text, message->len);
    b->failed = b->failed || message->failed;
    clv_buf_free(message);
}
