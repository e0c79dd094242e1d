/* form_words.h - a small vocabulary in which the bodies of functions are
 * written: names of their inputs, outputs and what lies between, and nodes. */
#ifndef CLV_ONNX_FORM_WORDS_H
#define CLV_ONNX_FORM_WORDS_H

#include "formats/onnx/writer.h"

#include <stdio.h>

enum { NAME = 24 };

typedef struct name {
    char s[NAME];
} name;

static inline name named(char kind, int i)
{
    name n;
    snprintf(n.s, sizeof n.s, "%c%d", kind, i);
    return n;
}

/* The i-th input and output of the function, and a new name inside it. */
static inline name in(int i)
{
    return named('i', i);
}

static inline name out(int i)
{
    return named('o', i);
}

static inline name fresh(body *b)
{
    return named('t', b->made++);
}

/* to = op(x, y); y and z may be "" for none. */
static inline void node3(body *b, const char *op, name x, name y, name z,
                         name to)
{
    onnx_out o;
    out_start(&o, op, "", "");
    out_input(&o, x.s);
    if (*y.s || *z.s)
        out_input(&o, y.s);
    if (*z.s)
        out_input(&o, z.s);
    out_output(&o, to.s);
    out_finish(b, &o);
}

static const name none = {""};

static inline void node1(body *b, const char *op, name x, name to)
{
    node3(b, op, x, none, none, to);
}

static inline void node2(body *b, const char *op, name x, name y, name to)
{
    node3(b, op, x, y, none, to);
}

static inline name ints(body *b, const int64_t *v, uint32_t n)
{
    name to = fresh(b);
    onnx_out o;
    out_start(&o, "Constant", "", "");
    out_output(&o, to.s);
    out_ints(&o, "value_ints", v, n);
    out_finish(b, &o);
    return to;
}

static inline name number(body *b, double v)
{
    name to = fresh(b);
    onnx_out o;
    out_start(&o, "Constant", "", "");
    out_output(&o, to.s);
    out_float(&o, "value_float", v);
    out_finish(b, &o);
    return to;
}

static inline uint32_t axis(const body *b)
{
    uint32_t a = 0, r = form_in(b, 0)->rank;
    clv_status s = get_axis(b->n, r, &a, NULL);
    return s == CLV_OK ? a : 0;
}

/* A node whose attributes follow; close it with out_finish. */
static inline void begin(onnx_out *o, const char *op, name x, name to)
{
    out_start(o, op, "", "");
    out_input(o, x.s);
    out_output(o, to.s);
}

/* x with its axes in this order. */
static inline name permuted(body *b, name x, const int64_t *perm, uint32_t n)
{
    name to = fresh(b);
    onnx_out o;
    begin(&o, "Transpose", x, to);
    out_ints(&o, "perm", perm, n);
    out_finish(b, &o);
    return to;
}

/* x in another shape of as many elements. */
static inline name shaped(body *b, name x, const int64_t *dims, uint32_t n)
{
    name to = fresh(b);
    node2(b, "Reshape", x, ints(b, dims, n), to);
    return to;
}

/* x[from..to) along an axis. */
static inline name part(body *b, name x, int64_t from, int64_t to, int64_t on)
{
    name s = ints(b, &from, 1), e = ints(b, &to, 1), a = ints(b, &on, 1);
    name y = fresh(b);
    onnx_out o;
    out_start(&o, "Slice", "", "");
    out_input(&o, x.s);
    out_input(&o, s.s);
    out_input(&o, e.s);
    out_input(&o, a.s);
    out_output(&o, y.s);
    out_finish(b, &o);
    return y;
}

static inline void joined(body *b, name x, name y, int64_t on, name to)
{
    onnx_out o;
    out_start(&o, "Concat", "", "");
    out_input(&o, x.s);
    out_input(&o, y.s);
    out_output(&o, to.s);
    out_int(&o, "axis", on);
    out_finish(b, &o);
}

/* x as type t. */
static inline name cast_to(body *b, name x, clv_dtype t)
{
    name to = fresh(b);
    onnx_out o;
    begin(&o, "Cast", x, to);
    out_int(&o, "to", onnx_dtype_number(t));
    out_finish(b, &o);
    return to;
}

/* A number of the type of input 0. */
static inline name number_like(body *b, double v)
{
    clv_dtype t = (clv_dtype)form_in(b, 0)->dtype;
    name n = number(b, v);
    return t == CLV_FLOAT32 ? n : cast_to(b, n, t);
}

/* A reduction: axes are an attribute before opset 18, an input from it on
 * (ReduceSum from 13 on). */
void reduce(body *b, const char *op, name x, const int64_t *axes, uint32_t n,
            bool keep, name to);

#endif
