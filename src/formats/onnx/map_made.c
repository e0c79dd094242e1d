/* map_made.c - mapping of operators that make tensors or change types, of
 * signals, training steps, text, sequences, and of loops and scans. */
#include "formats/onnx/map.h"

#include <string.h>

/* -- types and made tensors -----------------------------------------------*/

/* The type as ours; a name before opset 6, else a number of ONNX. */
clv_status map_dtype(draft *d, clv_err *e)
{
    const clv_attr *a = draft_attr(d, CLV_A_DTYPE);
    if (!a)
        return CLV_OK;
    clv_dtype t = CLV_NODTYPE;
    if (a->type == CLV_ATTR_INT && a->u.i > 0)
        t = onnx_dtype((uint64_t)a->u.i);
    static const struct {
        const char *name;
        clv_dtype t;
    } old[] = {{"FLOAT", CLV_FLOAT32},   {"DOUBLE", CLV_FLOAT64},
               {"FLOAT16", CLV_FLOAT16}, {"INT64", CLV_INT64},
               {"INT32", CLV_INT32},     {"INT16", CLV_INT16},
               {"INT8", CLV_INT8},       {"UINT8", CLV_UINT8},
               {"UINT16", CLV_UINT16},   {"UINT32", CLV_UINT32},
               {"UINT64", CLV_UINT64},   {"BOOL", CLV_BOOL},
               {"STRING", CLV_STRING}};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (a->type == CLV_ATTR_STRING && !strcmp(a->u.s, old[i].name))
            t = old[i].t;
    if (t == CLV_NODTYPE)
        return clv__fail(e, CLV_FORMAT, "a type that ONNX does not have");
    draft_set_int(d, CLV_A_DTYPE, onnx_counted(d->r, t));
    return CLV_OK;
}

/* The type of the zero point, or attribute output_dtype, or uint8. */
clv_status map_quantize(draft *d, clv_err *e)
{
    (void)e;
    int64_t t = draft_other_int(d, "output_dtype", 0);
    const clv_value *zero = draft_in(d, 2);
    if (zero)
        draft_set_int(d, CLV_A_DTYPE, zero->dtype);
    else if (t > 0)
        draft_set_int(d, CLV_A_DTYPE, onnx_dtype((uint64_t)t));
    else
        draft_set_int(d, CLV_A_DTYPE, CLV_UINT8);
    return CLV_OK;
}

/* The type of the scale, unless attribute output_dtype says otherwise. */
clv_status map_dequantize(draft *d, clv_err *e)
{
    int64_t t = draft_other_int(d, "output_dtype", 0);
    if (t > 0)
        draft_set_int(d, CLV_A_DTYPE, t);
    return map_dtype(d, e);
}

clv_status map_random_like(draft *d, clv_err *e)
{
    bool bell = text_is(d->p->op, "RandomNormal") ||
                text_is(d->p->op, "RandomNormalLike");
    draft_set_str(d, CLV_A_DISTRIBUTION, bell ? "normal" : "uniform");
    return map_dtype(d, e);
}

/* float32 unless the attribute says otherwise. */
clv_status map_random(draft *d, clv_err *e)
{
    if (!draft_attr(d, CLV_A_DTYPE))
        draft_set_int(d, CLV_A_DTYPE, 1);
    return map_random_like(d, e);
}

clv_status map_multinomial(draft *d, clv_err *e)
{
    draft_set_int(d, CLV_A_SAMPLES, draft_other_int(d, "sample_size", 1));
    draft_set_int(d, CLV_A_LOGITS, 1);
    if (!draft_attr(d, CLV_A_DTYPE))
        draft_set_int(d, CLV_A_DTYPE, 6);
    return map_dtype(d, e);
}

clv_status map_eye_like(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0);
    if (!x || x->rank != 2)
        return CLV_OK;
    draft_set_int(d, CLV_A_DIAGONAL, draft_int(d, CLV_A_K, 0));
    if (draft_attr(d, CLV_A_DTYPE))
        CLV_TRY(map_dtype(d, e));
    else
        draft_set_int(d, CLV_A_DTYPE, x->dtype);
    d->n_in = 0;
    return draft_set_ints(d, CLV_A_SHAPE, x->dims, 2, e);
}

/* The value's type and its one element. */
clv_status map_constant_of_shape(draft *d, clv_err *e)
{
    (void)e;
    const clv_attr *a = draft_attr(d, CLV_A_VALUE);
    if (!a || a->type != CLV_ATTR_TENSOR) {
        draft_set_int(d, CLV_A_DTYPE, onnx_counted(d->r, CLV_FLOAT32));
        draft_set_float(d, CLV_A_VALUE, 0);
        return CLV_OK;
    }
    const clv_value *v = &d->g->values[a->u.value];
    clv_dtype t = (clv_dtype)v->dtype;
    if (v->data && v->data->n == 1 && v->data->ints)
        draft_set_int(d, CLV_A_VALUE, v->data->ints[0]);
    else if (v->data && v->data->n == 1 && v->data->floats)
        draft_set_float(d, CLV_A_VALUE, v->data->floats[0]);
    else
        draft_drop(d, CLV_A_VALUE);
    draft_set_int(d, CLV_A_DTYPE, t);
    return CLV_OK;
}

/* Windows of signal processing and mel weights: output_datatype. */
clv_status map_window(draft *d, clv_err *e)
{
    if (d->op == CLV_OP_WINDOW)
        draft_set_str(d, CLV_A_WINDOW,
                      text_is(d->p->op, "HannWindow")      ? "hann"
                      : text_is(d->p->op, "HammingWindow") ? "hamming"
                                                           : "blackman");
    draft_set_int(d, CLV_A_DTYPE, draft_other_int(d, "output_datatype", 1));
    return map_dtype(d, e);
}

/* -- signals --------------------------------------------------------------*/

clv_status map_dft(draft *d, clv_err *e)
{
    (void)e;
    bool frames = text_is(d->p->op, "STFT");
    draft_set_int(d, CLV_A_ONESIDED, draft_other_int(d, "onesided", frames));
    if (!frames)
        draft_set_int(d, CLV_A_INVERSE, draft_other_int(d, "inverse", 0));
    return CLV_OK;
}

/* -- bodies ---------------------------------------------------------------*/

/* The loop's own inputs come first; captured ones follow. */
clv_status map_loop(draft *d, clv_err *e)
{
    (void)e;
    uint32_t formal = d->p->n_in < 2 ? 2 : d->p->n_in;
    draft_set_int(d, CLV_A_OWN_INPUTS, formal);
    if (d->r->opts->loop > 0)
        draft_set_int(d, CLV_A_TRIPS, d->r->opts->loop);
    return CLV_OK;
}

static clv_status rename_list(draft *d, const char *from, clv_attr_key to,
                              clv_err *e)
{
    const clv_attr *a = draft_other(d, from);
    if (!a || a->type != CLV_ATTR_INTS)
        return CLV_OK;
    return draft_set_ints(d, to, a->u.ints, a->n, e);
}

/* Before opset 9 there is a batch axis, and the lengths of the sequences came
 * first; here they come after what the body captures. */
static clv_status map_batched_scan(draft *d, clv_err *e)
{
    uint32_t lengths = CLV_NONE;
    draft_set_int(d, CLV_A_BATCHED, 1);
    if (d->p->n_in && d->p->ins[0].n)
        CLV_TRY(onnx_lookup(d->f, d->p->ins[0], &lengths, e));
    if (lengths != CLV_NONE && lengths != ONNX_ABSENT)
        d->ins[d->n_in++] = lengths;
    return rename_list(d, "directions", CLV_A_INPUT_REVERSED, e);
}

clv_status map_scan(draft *d, clv_err *e)
{
    int64_t scans = draft_other_int(d, "num_scan_inputs", 1);
    uint32_t formal = d->p->n_in - (d->opset < 9 && d->p->n_in ? 1 : 0);
    if (scans < 0 || scans > formal)
        return clv__fail(e, CLV_FORMAT, "%lld scanned inputs of %u",
                         (long long)scans, formal);
    draft_set_int(d, CLV_A_SCANS, scans);
    draft_set_int(d, CLV_A_STATES, formal - scans);
    if (d->opset < 9)
        return map_batched_scan(d, e);
    CLV_TRY(rename_list(d, "scan_input_directions", CLV_A_INPUT_REVERSED, e));
    CLV_TRY(rename_list(d, "scan_output_directions", CLV_A_OUTPUT_REVERSED, e));
    CLV_TRY(rename_list(d, "scan_input_axes", CLV_A_INPUT_AXES, e));
    return rename_list(d, "scan_output_axes", CLV_A_OUTPUT_AXES, e);
}

clv_status map_sequence_map(draft *d, clv_err *e)
{
    (void)e;
    if (d->r->opts->loop > 0)
        draft_set_int(d, CLV_A_TRIPS, d->r->opts->loop);
    return CLV_OK;
}

/* -- sequences, optionals, text -------------------------------------------*/

/* One that holds nothing says what it could hold: attribute `type`, which
 * field 14 of the AttributeProto has. */
clv_status map_optional(draft *d, clv_err *e)
{
    for (uint32_t i = 0; i < d->p->n_attrs && !draft_in(d, 0); i++)
        for (wire w = d->p->attrs[i]; wire_left(&w);) {
            wire_field f;
            onnx_type t;
            CLV_TRY(wire_next(&w, &f, e));
            if (f.number != PB_ATTR_TP || f.type != WIRE_BYTES)
                continue;
            CLV_TRY(onnx_type_read(f.bytes, &t, e));
            t.form |= CLV_V_OPTIONAL;
            CLV_TRY(onnx_declare(d->r, d->f->unit, d->outs[0], &t, e));
        }
    return CLV_OK;
}

/* -- others ---------------------------------------------------------------*/

/* Indices go across, one row per axis. */
clv_status map_nonzero(draft *d, clv_err *e)
{
    (void)e;
    draft_set_int(d, CLV_A_BY_AXIS, 1);
    return CLV_OK;
}

/* The result has the type of the base. */
static clv_status pow_cast(draft *d, uint32_t i, const char *suffix,
                           clv_dtype type, clv_err *e)
{
    clv_attr to = {.name = clv__attr_name(CLV_A_DTYPE),
                   .key = CLV_A_DTYPE,
                   .type = CLV_ATTR_INT,
                   .u.i = type};
    return draft_emit(d, CLV_OP_CAST, suffix, &d->ins[i], 1, &to, 1, NULL, 1,
                      &d->ins[i], e);
}

/* The result has the type of the base. An integer to a power that may not be
 * whole is computed in float64, and cut. */
clv_status map_pow(draft *d, clv_err *e)
{
    CLV_TRY(map_arithmetic(d, e));
    const clv_value *a = draft_in(d, 0), *b = draft_in(d, 1);
    if (!a || !b || a->dtype == b->dtype || a->dtype == CLV_NODTYPE)
        return CLV_OK;
    clv_dtype type = (clv_dtype)a->dtype;
    if (!dtype_is_integral(type) || dtype_is_integral((clv_dtype)b->dtype))
        return pow_cast(d, 1, "exponent", type, e);
    CLV_TRY(pow_cast(d, 0, "base", CLV_FLOAT64, e));
    CLV_TRY(pow_cast(d, 1, "exponent", CLV_FLOAT64, e));
    CLV_TRY(draft_emit(d, CLV_OP_POW, "power", d->ins, 2, NULL, 0, NULL, 1,
                       &d->ins[0], e));
    d->op = CLV_OP_CAST;
    d->n_in = 1;
    draft_set_int(d, CLV_A_DTYPE, type);
    return CLV_OK;
}

clv_status map_nms(draft *d, clv_err *e)
{
    (void)e;
    if (draft_other_int(d, "center_point_box", 0))
        draft_set_str(d, CLV_A_BOXES, "center");
    return CLV_OK;
}

/* A depth given as a floating number. */
clv_status map_one_hot(draft *d, clv_err *e)
{
    (void)e;
    double depth;
    if (draft_float(d, 1, &depth) && depth >= 0 && depth < 1e15)
        draft_set_int(d, CLV_A_DEPTH, (int64_t)depth);
    return CLV_OK;
}

/* Momentum has two ways, which its own attribute tells apart. */
clv_status map_optimizer(draft *d, clv_err *e)
{
    (void)e;
    const clv_attr *mode = draft_attr(d, CLV_A_MODE);
    bool ahead =
        mode && mode->type == CLV_ATTR_STRING && !strcmp(mode->u.s, "nesterov");
    draft_set_str(d, CLV_A_RULE,
                  text_is(d->p->op, "Adam")      ? "adam"
                  : text_is(d->p->op, "Adagrad") ? "adagrad"
                  : ahead                        ? "nesterov"
                                                 : "momentum");
    return CLV_OK;
}

/* As long as the largest position that an n-gram is counted at. */
clv_status map_tfidf(draft *d, clv_err *e)
{
    const clv_attr *a = draft_attr(d, CLV_A_GRAM_PLACES);
    int64_t most = -1;
    if (!a || a->type != CLV_ATTR_INTS)
        return clv__fail(e, CLV_FORMAT, "no ngram_indexes");
    for (uint32_t i = 0; i < a->n; i++)
        most = a->u.ints[i] > most ? a->u.ints[i] : most;
    if (most < 0 || most == INT64_MAX)
        return clv__fail(e, CLV_FORMAT, "ngram_indexes up to %lld",
                         (long long)most);
    draft_set_int(d, CLV_A_SIZE, most + 1);
    return CLV_OK;
}

/* Integers stay integers. */
clv_status map_div(draft *d, clv_err *e)
{
    CLV_TRY(map_arithmetic(d, e));
    const clv_value *a = draft_in(d, 0);
    if (a && a->dtype == CLV_NODTYPE)
        draft_set_str(d, CLV_A_MODE, "typed");
    else if (a && dtype_is_integral((clv_dtype)a->dtype))
        draft_set_str(d, CLV_A_MODE, "trunc");
    return CLV_OK;
}
