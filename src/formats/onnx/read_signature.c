/* read_signature.c - what torch's exporter says of its stored tensors.
 *
 * An initializer of ONNX is a number of bytes and a name: a learned weight and
 * a table look alike. Files of torch.onnx.export(dynamo=True) keep the
 * signature of the program they were made of as a text of such lines:
 *
 *     p_conv_weight: PARAMETER target='conv.weight'
 *     b_bn_running_mean: BUFFER target='bn.running_mean' persistent=True
 *     c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'
 *
 * The target is the name of the initializer. What the text says outweighs what
 * readers of the tensor take it for. */
#include "formats/onnx/read.h"

/* Takes the text up to `mark` and the mark itself off the head of *rest. */
static bool signature_cut(text *rest, const char *mark, text *head)
{
    size_t n = strlen(mark);
    const char *at = rest->s, *end = rest->s + rest->n;
    while ((size_t)(end - at) >= n &&
           (at = memchr(at, *mark, (size_t)(end - at) - n + 1))) {
        if (memcmp(at, mark, n) == 0) {
            *head = (text){rest->s, (size_t)(at - rest->s)};
            *rest = (text){at + n, (size_t)(end - at) - n};
            return true;
        }
        at++;
    }
    return false;
}

static void signature_mark(const frame *f, text kind, text name)
{
    uint32_t v = strmap_get(&f->names, name.s, name.n);
    clv_value *value = v < f->unit->g->n_values ? &f->unit->g->values[v] : NULL;
    if (!value || !value_is_weight(value) || !is_float((clv_dtype)value->dtype))
        return;
    if (text_is(kind, "PARAMETER"))
        value->kind = CLV_VALUE_PARAM;
    else if (value->kind == CLV_VALUE_PARAM &&
             (text_is(kind, "BUFFER") || text_is(kind, "CONSTANT_TENSOR")))
        value->kind = CLV_VALUE_BUFFER;
}

static void signature_lines(const frame *f, text rest)
{
    text line, kind, name;
    while (signature_cut(&rest, "\n", &line))
        if (signature_cut(&line, ": ", &name) &&
            signature_cut(&line, " target='", &kind) &&
            signature_cut(&line, "'", &name))
            signature_mark(f, kind, name);
}

clv_status onnx_signature(const frame *f, wire w, clv_err *e)
{
    while (wire_left(&w)) {
        wire_field field;
        text key, value;
        CLV_TRY(wire_next(&w, &field, e));
        if (field.number != PB_GRAPH_METADATA || field.type != WIRE_BYTES)
            continue;
        CLV_TRY(onnx_entry(field.bytes, &key, &value, e));
        if (text_is(key, PB_SIGNATURE))
            signature_lines(f, value);
    }
    return CLV_OK;
}
