/* rewrite_quant.h - what rules on quantised numbers look and build with. */
#ifndef CLV_REWRITE_QUANT_H
#define CLV_REWRITE_QUANT_H

#include "run/rewrite.h"

/* Integers with scale and zero point, as dequantize has or quantize gives them.
 */
typedef struct quant_of {
    uint32_t x;           /* the integers */
    uint32_t scale, zero; /* values; zero: CLV_NONE where left out */
    int64_t many;         /* scales */
    uint32_t axis;        /* that they are along, if there are several */
} quant_of;

clv_dtype rwq_type(const rewriter *r, uint32_t v);
bool rwq_is_bytes(const rewriter *r, uint32_t v);
/* v is what dequantize makes of integers x, whose scales are known. */
bool rwq_made(const rewriter *r, uint32_t v, quant_of *q);
/* The same of bytes with one scale; v may be CLV_NONE. */
bool rwq_made_bytes(const rewriter *r, uint32_t v, quant_of *q);
/* Node id quantises floats to bytes x with one scale. */
bool rwq_gives_bytes(const rewriter *r, uint32_t id, quant_of *q);
double rwq_scale(const rewriter *r, const quant_of *q, int64_t i);
/* The zero point, of the first where there are several. */
double rwq_zero(const rewriter *r, const quant_of *q);
/* a and b have the same type, step and zero point. */
bool rwq_alike(const rewriter *r, const quant_of *a, const quant_of *b);
/* The zero point as a value, a new constant where it is left out. */
uint32_t rwq_zero_value(rewriter *r, const quant_of *q);
/* Adds x, its scale and its zero point to the inputs of f. */
void rwq_form(rewriter *r, rw_form *f, const quant_of *q);
/* The form of node id with x as its first input; false: it has too many
 * inputs. */
bool rwq_form_again(const rewriter *r, uint32_t id, uint32_t x, rw_form *f);

#endif
