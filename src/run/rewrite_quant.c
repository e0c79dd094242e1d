/* rewrite_quant.c - numbers of 8 bits stay such: what an exporter wrote as
 * dequantize, arithmetic on floats, quantize becomes arithmetic on bytes.
 *
 *      x8 -> dequantize -> conv -> relu -> quantize -> y8
 *      x8 -> qlinear_conv -> y8
 */
#include "run/rewrite.h"

#include <math.h>
#include <string.h>

/* A dequantize node with known scale and zero point. */
typedef struct quant_from {
    uint32_t x, scale, zero; /* values; zero: CLV_NONE where left out */
} quant_from;

/* Whether v is what dequantize makes of bytes; fills *q. */
static bool quant_made(const rewriter *r, uint32_t v, quant_from *q)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_DEQUANTIZE_LINEAR);
    if (id == CLV_NONE)
        return false;
    const clv_node *n = rw_node(r, id);
    *q = (quant_from){rw_in(r, id, 0), rw_in(r, id, 1), rw_in(r, id, 2)};
    return rw_is_static(r, q->x) && rw_known(r, q->scale) &&
           (q->zero == CLV_NONE || rw_known(r, q->zero)) &&
           attr_int(n, CLV_A_BLOCK) <= 0 && attr_float(n, CLV_A_OFFSET) == 0;
}

static clv_dtype quant_type(const rewriter *r, uint32_t v)
{
    return (clv_dtype)r->g->values[v].dtype;
}

static bool quant_is_bytes(const rewriter *r, uint32_t v)
{
    clv_dtype t = quant_type(r, v);
    return t == CLV_INT8 || t == CLV_UINT8;
}

/* -- recurrent layers -----------------------------------------------------*/

/* v is permute(dequantize(bytes)) with the last two axes turned. */
static bool quant_turned(const rewriter *r, uint32_t v, quant_from *q)
{
    uint32_t perm[CLV_MAX_RANK], id = rw_made_by(r, v, CLV_OP_PERMUTE);
    return id != CLV_NONE && rw_rank(r, v) == 3 && rw_perm(r, id, perm) &&
           perm[0] == 0 && perm[1] == 2 && quant_made(r, rw_in(r, id, 0), q) &&
           quant_is_bytes(r, q->x) && rw_known(r, q->x) &&
           q->zero != CLV_NONE;
}

bool rewrite_lstm_bytes(rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    enum { WEIGHTS = 8 };
    quant_from w, u;
    if (!attr_int(n, CLV_A_QUANTIZED) || n->n_in < 3 || n->n_in > WEIGHTS ||
        !quant_turned(r, rw_in(r, id, 1), &w) ||
        !quant_turned(r, rw_in(r, id, 2), &u))
        return false;
    rw_form f = {.op = CLV_OP_LSTM};
    for (uint32_t i = 0; i < WEIGHTS; i++)
        rw_form_input(&f, i < n->n_in ? rw_in(r, id, i) : CLV_NONE);
    f.in[1] = w.x;
    f.in[2] = u.x;
    rw_form_input(&f, w.scale);
    rw_form_input(&f, w.zero);
    rw_form_input(&f, u.scale);
    rw_form_input(&f, u.zero);
    return rw_reads(r, id, &f);
}
