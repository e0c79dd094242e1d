/* fused.c - calls of torch that stand for several operators.
 *
 * Tracing a module in evaluation takes the fast path of torch's transformer
 * layer, which is one call. It is read as what it computes. */
#include "formats/torchscript/script.h"

#include <string.h>

enum { FUSED_INS = 20, FUSED_MASKS = 18 };

/* The arguments of _transformer_encoder_layer_fwd, by place. */
enum {
    LAYER_SRC,
    LAYER_EMBED,
    LAYER_HEADS,
    LAYER_IN_WEIGHT,
    LAYER_GELU = 7,
    LAYER_NORM_FIRST,
    LAYER_EPS,
    LAYER_NORM1,
    LAYER_NORM2 = 12,
    LAYER_FFN1 = 14,
    LAYER_FFN2 = 16
};

typedef struct fused_layer {
    ts_machine *m;
    const ts_val *in;
    clv_err *e;
} fused_layer;

static clv_status fused_call(fused_layer *f, const char *name, ts_val *args,
                             uint32_t n, ts_val *out)
{
    ts_val made; /* out may be one of args */
    CLV_TRY(ts_builtin(f->m, name, args, n, NULL, 1, &made, f->e));
    *out = made;
    return CLV_OK;
}

/* Norms x with the weight and bias at `at`. */
static clv_status fused_norm(fused_layer *f, uint32_t at, ts_val *x)
{
    ts_val sizes,
        args[5] = {*x, ts_none(), f->in[at], f->in[at + 1], f->in[LAYER_EPS]};
    CLV_TRY(ts_new_items(f->m, TS_V_LIST, &sizes, f->e));
    CLV_TRY(ts_append(f->m, sizes.u.items, f->in[LAYER_EMBED], f->e));
    args[1] = sizes;
    return fused_call(f, "layer_norm", args, 5, x);
}

static clv_status fused_linear(fused_layer *f, uint32_t at, ts_val *x)
{
    ts_val args[3] = {*x, f->in[at], f->in[at + 1]};
    return fused_call(f, "linear", args, 3, x);
}

static clv_status fused_attend(fused_layer *f, ts_val *x)
{
    ts_val args[11] = {*x, *x, *x, f->in[LAYER_EMBED], f->in[LAYER_HEADS]}, two;
    memcpy(args + 5, f->in + LAYER_IN_WEIGHT, 4 * sizeof *args);
    args[9] = f->in[FUSED_MASKS];
    args[10] = ts_bool(false);
    CLV_TRY(ts_builtin(f->m, "_native_multi_head_attention", args, 11, NULL, 2,
                       &two, f->e));
    if (two.kind != TS_V_LIST || two.u.items->n == 0)
        return ts_fail(f->m, CLV_FORMAT, f->e, "attention gives nothing");
    *x = two.u.items->v[0];
    return CLV_OK;
}

static clv_status fused_feed_forward(fused_layer *f, ts_val *x)
{
    CLV_TRY(fused_linear(f, LAYER_FFN1, x));
    CLV_TRY(fused_call(f, f->in[LAYER_GELU].u.b ? "gelu" : "relu", x, 1, x));
    return fused_linear(f, LAYER_FFN2, x);
}

/* Adds `part` of x to x, with the norm at `norm` before the part or behind the
 * sum. */
static clv_status fused_residual(fused_layer *f, uint32_t norm,
                                 clv_status part(fused_layer *, ts_val *),
                                 ts_val *x)
{
    bool first = f->in[LAYER_NORM_FIRST].u.b;
    ts_val sum[2] = {*x, *x};
    if (first)
        CLV_TRY(fused_norm(f, norm, &sum[1]));
    CLV_TRY(part(f, &sum[1]));
    CLV_TRY(fused_call(f, "add", sum, 2, x));
    return first ? CLV_OK : fused_norm(f, norm, x);
}

clv_status ts_fused(ts_machine *m, const char *name, const ts_val *args,
                    uint32_t n, bool *known, ts_val *out, clv_err *e)
{
    ts_val in[FUSED_INS] = {0};
    *known = !strcmp(name, "_transformer_encoder_layer_fwd") &&
             n >= FUSED_MASKS && n <= FUSED_INS &&
             args[LAYER_GELU].kind == TS_V_BOOL &&
             args[LAYER_NORM_FIRST].kind == TS_V_BOOL;
    if (!*known)
        return CLV_OK;
    for (uint32_t i = 0; i < FUSED_INS; i++)
        in[i] = i < n ? args[i] : ts_none();
    fused_layer f = {m, in, e};
    *out = in[LAYER_SRC];
    CLV_TRY(fused_residual(&f, LAYER_NORM1, fused_attend, out));
    return fused_residual(&f, LAYER_NORM2, fused_feed_forward, out);
}
