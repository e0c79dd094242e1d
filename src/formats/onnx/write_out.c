/* write_out.c - a NodeProto under construction: names, edges, attributes. */
#include "formats/onnx/writer.h"

void out_start(onnx_out *o, const char *op, const char *domain,
               const char *name)
{
    o->b = (clv_buf){0};
    if (*name)
        pb_text(&o->b, PB_NODE_NAME, name);
    pb_text(&o->b, PB_NODE_OP_TYPE, op);
    if (*domain)
        pb_text(&o->b, PB_NODE_DOMAIN, domain);
}

void out_input(onnx_out *o, const char *name)
{
    pb_text(&o->b, PB_NODE_INPUT, name);
}

void out_output(onnx_out *o, const char *name)
{
    pb_text(&o->b, PB_NODE_OUTPUT, name);
}

static void out_put_attr(onnx_out *o, clv_buf *a, int type)
{
    pb_uint(a, PB_ATTR_TYPE, (uint64_t)type);
    pb_message(&o->b, PB_NODE_ATTRIBUTE, a);
}

void out_int(onnx_out *o, const char *name, int64_t v)
{
    clv_buf a = {0};
    pb_text(&a, PB_ATTR_NAME, name);
    pb_uint(&a, PB_ATTR_I, (uint64_t)v);
    out_put_attr(o, &a, PB_TYPE_INT);
}

void out_float(onnx_out *o, const char *name, double v)
{
    clv_buf a = {0};
    pb_text(&a, PB_ATTR_NAME, name);
    pb_float(&a, PB_ATTR_F, (float)v);
    out_put_attr(o, &a, PB_TYPE_FLOAT);
}

void out_string(onnx_out *o, const char *name, const char *s)
{
    clv_buf a = {0};
    pb_text(&a, PB_ATTR_NAME, name);
    pb_text(&a, PB_ATTR_S, s);
    out_put_attr(o, &a, PB_TYPE_STRING);
}

void out_ints(onnx_out *o, const char *name, const int64_t *v, uint32_t n)
{
    clv_buf a = {0};
    pb_text(&a, PB_ATTR_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        pb_uint(&a, PB_ATTR_INTS, (uint64_t)v[i]);
    out_put_attr(o, &a, PB_TYPE_INTS);
}

void out_floats(onnx_out *o, const char *name, const double *v, uint32_t n)
{
    clv_buf a = {0};
    pb_text(&a, PB_ATTR_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        pb_float(&a, PB_ATTR_FLOATS, (float)v[i]);
    out_put_attr(o, &a, PB_TYPE_FLOATS);
}

void out_strings(onnx_out *o, const char *name, const char *const *v,
                 uint32_t n)
{
    clv_buf a = {0};
    pb_text(&a, PB_ATTR_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        pb_text(&a, PB_ATTR_STRINGS, v[i]);
    out_put_attr(o, &a, PB_TYPE_STRINGS);
}

void out_attr(onnx_out *o, const clv_attr *a)
{
    switch ((clv_attr_type)a->type) {
    case CLV_ATTR_INT:
        out_int(o, a->name, a->u.i);
        break;
    case CLV_ATTR_FLOAT:
        out_float(o, a->name, a->u.f);
        break;
    case CLV_ATTR_STRING:
        out_string(o, a->name, a->u.s);
        break;
    case CLV_ATTR_INTS:
        out_ints(o, a->name, a->u.ints, a->n);
        break;
    case CLV_ATTR_FLOATS:
        out_floats(o, a->name, a->u.floats, a->n);
        break;
    case CLV_ATTR_STRINGS:
        out_strings(o, a->name, a->u.strings, a->n);
        break;
    case CLV_ATTR_TENSOR:
    case CLV_ATTR_GRAPH:
        break;
    }
}

void out_finish(body *b, onnx_out *o)
{
    pb_message(&b->nodes, b->field, &o->b);
}
