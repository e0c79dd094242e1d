/* proto.h - writes protobuf's wire format into text buffers.
 *
 * A nested message is written into a buffer of its own and then added with its
 * length; what is written this way is small, since weights are streamed. */
#ifndef CLV_PROTO_H
#define CLV_PROTO_H

#include "core/core.h"

void pb_varint(clv_buf *b, uint64_t v);          /* bare */
void pb_uint(clv_buf *b, int field, uint64_t v); /* a varint field */
void pb_float(clv_buf *b, int field, float v);
void pb_bytes(clv_buf *b, int field, const void *p, size_t n);
void pb_text(clv_buf *b, int field, const char *s);
/* Adds a finished message and frees it. */
void pb_message(clv_buf *b, int field, clv_buf *message);
/* The tag and length of n bytes that follow. */
void pb_head(clv_buf *b, int field, uint64_t n);

#endif
