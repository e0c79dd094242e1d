/* write_out.c - a NodeProto under construction: names, edges, attributes. */
#include "formats/onnx/writer.h"

enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTR };
enum { NODE_DOMAIN = 7 };
enum { A_NAME = 1, A_F, A_I, A_S, A_FLOATS = 7, A_INTS, A_STRINGS };
enum { A_TYPE = 20 };

void out_start(onnx_out *o, const char *op, const char *domain,
               const char *name)
{
    o->b = (clv_buf){0};
    if (*name)
        pb_text(&o->b, NODE_NAME, name);
    pb_text(&o->b, NODE_OP, op);
    if (*domain)
        pb_text(&o->b, NODE_DOMAIN, domain);
}

void out_input(onnx_out *o, const char *name)
{
    pb_text(&o->b, NODE_INPUT, name);
}

void out_output(onnx_out *o, const char *name)
{
    pb_text(&o->b, NODE_OUTPUT, name);
}

static void put_attr(onnx_out *o, clv_buf *a, int type)
{
    pb_uint(a, A_TYPE, (uint64_t)type);
    pb_message(&o->b, NODE_ATTR, a);
}

void out_int(onnx_out *o, const char *name, int64_t v)
{
    clv_buf a = {0};
    pb_text(&a, A_NAME, name);
    pb_uint(&a, A_I, (uint64_t)v);
    put_attr(o, &a, 2);
}

void out_float(onnx_out *o, const char *name, double v)
{
    clv_buf a = {0};
    pb_text(&a, A_NAME, name);
    pb_float(&a, A_F, (float)v);
    put_attr(o, &a, 1);
}

void out_string(onnx_out *o, const char *name, const char *s)
{
    clv_buf a = {0};
    pb_text(&a, A_NAME, name);
    pb_text(&a, A_S, s);
    put_attr(o, &a, 3);
}

void out_ints(onnx_out *o, const char *name, const int64_t *v, uint32_t n)
{
    clv_buf a = {0};
    pb_text(&a, A_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        pb_uint(&a, A_INTS, (uint64_t)v[i]);
    put_attr(o, &a, 7);
}

void out_floats(onnx_out *o, const char *name, const double *v, uint32_t n)
{
    clv_buf a = {0};
    pb_text(&a, A_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        pb_float(&a, A_FLOATS, (float)v[i]);
    put_attr(o, &a, 6);
}

void out_strings(onnx_out *o, const char *name, const char *const *v,
                 uint32_t n)
{
    clv_buf a = {0};
    pb_text(&a, A_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        pb_text(&a, A_STRINGS, v[i]);
    put_attr(o, &a, 8);
}

void out_attr(onnx_out *o, const clv_attr *a)
{
    switch ((clv_attr_type)a->type) {
    case CLV_INT_ATTR:
        out_int(o, a->name, a->u.i);
        break;
    case CLV_FLOAT_ATTR:
        out_float(o, a->name, a->u.f);
        break;
    case CLV_STRING_ATTR:
        out_string(o, a->name, a->u.s);
        break;
    case CLV_INTS_ATTR:
        out_ints(o, a->name, a->u.ints, a->n);
        break;
    case CLV_FLOATS_ATTR:
        out_floats(o, a->name, a->u.floats, a->n);
        break;
    case CLV_STRINGS_ATTR:
        out_strings(o, a->name, a->u.strings, a->n);
        break;
    case CLV_TENSOR_ATTR:
    case CLV_GRAPH_ATTR:
        break;
    }
}

void out_finish(body *b, onnx_out *o)
{
    pb_message(&b->nodes, b->field, &o->b);
}

int onnx_type(clv_dtype t)
{
    static const uint8_t numbers[CLV_DTYPE_COUNT] = {
        [CLV_FLOAT32] = 1,   [CLV_UINT8] = 2,       [CLV_INT8] = 3,
        [CLV_UINT16] = 4,    [CLV_INT16] = 5,       [CLV_INT32] = 6,
        [CLV_INT64] = 7,     [CLV_STRING] = 8,      [CLV_BOOL] = 9,
        [CLV_FLOAT16] = 10,  [CLV_FLOAT64] = 11,    [CLV_UINT32] = 12,
        [CLV_UINT64] = 13,   [CLV_COMPLEX64] = 14,  [CLV_COMPLEX128] = 15,
        [CLV_BFLOAT16] = 16, [CLV_FLOAT8E4M3] = 17, [CLV_FLOAT8E5M2] = 19,
        [CLV_UINT4] = 21,    [CLV_INT4] = 22,
    };
    return numbers[t];
}
