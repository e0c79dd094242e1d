/* read_peek.c - heads of fields, read without touching their pages.
 *
 * A weight is a head of some fifty bytes before very many. Read where it lies,
 * each head costs a page fault, for which the kernel maps the pages around it
 * too. So one that lies far behind the last that was read in place is copied
 * from the file, with the bytes behind it. What the copy does not show plainly
 * is read in place, where errors are found and named. */
#include "formats/onnx/read.h"

enum {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    NEAR = 16, /* small files try it too */
#else
    NEAR = 4096, /* the page of the last head is there, or the next */
#endif
    PAGE = ONNX_PEEK / 2,
    HEAD = 256, /* bytes of a copy that hold a tensor's head, mostly */
};

void onnx_near(reader *r, const wire *w)
{
    r->near = (size_t)(w->cur - w->file);
}

wire onnx_peek(reader *r, wire w)
{
    peek *p = &r->peek;
    size_t at = (size_t)(w.cur - w.file), left = wire_left(&w);
    if (w.file != r->map.data || (at >= r->near && at - r->near <= NEAR))
        return (wire){0};
    size_t need = left < HEAD ? left : HEAD;
    if (at < p->at || at - p->at > p->n || p->n - (at - p->at) < need) {
        size_t rest = PAGE - at % PAGE; /* another one would come from disk */
        p->at = at;
        p->n = clv__mapping_peek(&r->map, at, p->bytes,
                                 rest < HEAD ? rest + PAGE : rest);
    }
    if (p->n - (at - p->at) < need)
        return (wire){0};
    const uint8_t *begin = p->bytes + (at - p->at);
    size_t n = p->n - (at - p->at);
    return (wire){begin, begin + (n < left ? n : left), begin};
}

/* Key and length of a field of bytes. */
static bool peek_head(wire *head, uint64_t *number, uint64_t *size)
{
    uint64_t key;
    if (!head->cur || wire_varint(head, &key, NULL) != CLV_OK ||
        (key & 7) != WIRE_BYTES || wire_varint(head, size, NULL) != CLV_OK)
        return false;
    *number = key >> 3;
    return *number > 0 && *number <= UINT32_MAX;
}

clv_status onnx_next(reader *r, wire *w, wire_field *f, clv_err *e)
{
    wire head = onnx_peek(r, *w);
    const uint8_t *begin = head.cur;
    uint64_t number, size;
    if (peek_head(&head, &number, &size)) {
        size_t skip = (size_t)(head.cur - begin);
        if (size <= wire_left(w) - skip) {
            const uint8_t *bytes = w->cur + skip;
            w->cur = bytes + size;
            *f = (wire_field){
                (uint32_t)number, WIRE_BYTES, 0, {bytes, w->cur, w->file}};
            return CLV_OK;
        }
    }
    onnx_near(r, w);
    return wire_next(w, f, e);
}
