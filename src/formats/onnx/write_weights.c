/* write_weights.c - the stored tensors of a file being written: their heads in
 * memory, so that the size of the graph is known; then their bytes, block by
 * block, as they lie in the file they came from, are drawn, or are zeros. */
#include "formats/onnx/write.h"

#include "formats/onnx/tensor_pb.h"
#include "ops/seeded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 20 };

static const int64_t INLINE_LIMIT = INT64_C(1) << 30;

static void weights_put_pair(clv_buf *b, const char *key, const char *value)
{
    clv_buf m = {0};
    pb_text(&m, PB_ENTRY_KEY, key);
    pb_text(&m, PB_ENTRY_VALUE, value);
    pb_message(b, PB_TENSOR_EXTERNAL_DATA, &m);
}

/* Small numbers that shapes follow from always stand in the file itself; of
 * the rest, weights may be left out, or lie beside it. */
static bool weights_is_inside(const writer *w, uint32_t v)
{
    const clv_payload *d = w->g->values[v].data;
    bool small =
        d && (d->ints || d->floats) && d->n == clv__numel(&w->g->values[v]);
    return small || (!w->external && w->opts->weights != CLV_WEIGHTS_NONE);
}

/* The TensorProto of a weight up to its data, with the tag and length before
 * it: everything but the bytes that are streamed. */
static void weights_put_head(writer *w, uint32_t v, const char *data_name,
                             int64_t offset)
{
    const clv_value *val = &w->g->values[v];
    clv_buf t = {0};
    char number[32];
    uint64_t bytes = (uint64_t)clv__bytes(val);
    bool inside = weights_is_inside(w, v);
    for (uint32_t i = 0; i < val->rank; i++)
        pb_uint(&t, PB_TENSOR_DIMS, (uint64_t)val->dims[i]);
    pb_uint(&t, PB_TENSOR_DATA_TYPE,
            (uint64_t)onnx_dtype_number((clv_dtype)val->dtype));
    pb_text(&t, PB_TENSOR_NAME, writer_name(w, v));
    if (val->kind != CLV_VALUE_PARAM)
        pb_text(&t, PB_TENSOR_DOC, PB_NOT_LEARNED);
    else if (clv__numel(val) == 1)
        pb_text(&t, PB_TENSOR_DOC, PB_LEARNED);
    if (inside) {
        pb_head(&t, PB_TENSOR_RAW_DATA, bytes);
    } else {
        weights_put_pair(&t, "location", data_name);
        snprintf(number, sizeof number, "%lld", (long long)offset);
        weights_put_pair(&t, "offset", number);
        snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
        weights_put_pair(&t, "length", number);
        pb_uint(&t, PB_TENSOR_DATA_LOCATION, PB_LOCATION_EXTERNAL);
    }
    pb_head(&w->heads, PB_GRAPH_INITIALIZER, t.len + (inside ? bytes : 0));
    clv_buf_add(&w->heads, t.text, t.len);
    w->heads.failed = w->heads.failed || t.failed;
    clv_buf_free(&t);
}

clv_status writer_weights(writer *w, const char *data_name, clv_err *e)
{
    const clv_graph *g = w->g;
    int64_t total = 0, offset = 0;
    w->weights =
        arena_array(&w->mem, (size_t)g->n_values + 1, sizeof *w->weights);
    w->head_end =
        arena_array(&w->mem, (size_t)g->n_values + 1, sizeof *w->head_end);
    if (!w->weights || !w->head_end)
        return clv__nomem(e);
    for (uint32_t v = 0; v < g->n_values; v++)
        if (w->read[v] &&
            (value_is_weight(&g->values[v]) || writer_folded(g, v))) {
            if (g->values[v].dtype == CLV_STRING)
                return clv__about(
                    e,
                    clv__fail(e, CLV_UNSUPPORTED,
                              "stored text is copied, not rewritten at an "
                              "opset"),
                    CLV_SUBJECT_OPSET, "");
            w->weights[w->n_weights++] = v;
            total = sat_add(total, clv__bytes(&g->values[v]));
        }
    w->external = total > INLINE_LIMIT;
    for (uint32_t i = 0; i < w->n_weights; i++) {
        weights_put_head(w, w->weights[i], data_name, offset);
        w->head_end[i] = w->heads.len;
        if (!weights_is_inside(w, w->weights[i]))
            offset = sat_add(offset, clv__bytes(&g->values[w->weights[i]]));
    }
    return CLV_OK;
}

static clv_status weights_put_data(const void *data, int64_t bytes, FILE *to,
                                   clv_err *e)
{
    if (bytes && fwrite(data, 1, (size_t)bytes, to) != (size_t)bytes)
        return clv__fail(e, CLV_IO, "cannot write weights: %s",
                         strerror(errno));
    return CLV_OK;
}

static clv_status weights_absent(writer *w, uint32_t v, clv_err *e)
{
    const char *name = writer_name(w, v);
    return clv__about(e,
                      clv__fail(e, CLV_NOT_FOUND,
                                "weight '%s': the file has no data of it",
                                name),
                      CLV_SUBJECT_WEIGHTS, name);
}

/* Numbers that are known from folding, drawn from the seed, or zeros. */
static clv_status weights_stream_made(writer *w, uint32_t v, FILE *to,
                                      clv_err *e)
{
    const clv_value *val = &w->g->values[v];
    int64_t n = clv__numel(val), step = BLOCK / 16;
    char *block = clv__zalloc(BLOCK);
    const clv_payload *d = val->data;
    bool known = d && (d->ints || d->floats || d->fill);
    clv_status s = block ? CLV_OK : clv__nomem(e);
    if (s == CLV_OK && !known && w->g->holds_weights &&
        w->opts->weights == CLV_WEIGHTS_RANDOM && !w->opts->draw_weights)
        s = weights_absent(w, v, e);
    for (int64_t i = 0; s == CLV_OK && i < n; i += step) {
        int64_t count = n - i < step ? n - i : step;
        if (known || w->opts->weights == CLV_WEIGHTS_RANDOM)
            clv__weight_fill(w->g, v, w->opts->seed, i, count, block);
        s = weights_put_data(
            block, clv_dtype_bytes((clv_dtype)val->dtype, count), to, e);
    }
    clv__free(block);
    return s;
}

/* A tensor that the file lists number by number. */
static clv_status weights_stream_listed(const clv_payload *d, int64_t bytes,
                                        FILE *to, clv_err *e)
{
    clv_tensor t;
    CLV_TRY((d->sparse ? clv__sparse_pb : clv__tensor_pb)(
        d->proto, (size_t)d->proto_size, &t, e));
    clv_status s = clv_tensor_bytes(&t) == bytes
                       ? weights_put_data(t.data, bytes, to, e)
                       : clv__fail(e, CLV_FORMAT, "its shape differs");
    clv__free(t.data);
    return s;
}

static clv_status weights_stream(writer *w, uint32_t v, FILE *to, clv_err *e)
{
    const clv_value *val = &w->g->values[v];
    const clv_payload *d = val->data;
    int64_t bytes = clv__bytes(val);
    const void *data;
    if (w->tensor && w->tensor[v].data)
        return weights_put_data(w->tensor[v].data, bytes, to, e);
    if (d && d->bytes && (int64_t)d->size == bytes)
        return weights_put_data(d->bytes, bytes, to, e);
    if (d && d->file) {
        clv_err untold = {0};
        clv_status s = clv__external_at(&w->files, w->root->g->folder, d, bytes,
                                        &data, &untold);
        if (s == CLV_OK)
            return weights_put_data(data, bytes, to, e);
        if (s != CLV_NOT_FOUND || !w->opts->draw_weights)
            return clv__about(e, clv__fail(e, s, "%s", untold.msg),
                              CLV_SUBJECT_WEIGHTS, writer_name(w, v));
    }
    if (d && d->ints && val->dtype == CLV_INT64 && d->n == clv__numel(val))
        return weights_put_data(d->ints, bytes, to, e);
    if (d && d->proto)
        return weights_stream_listed(d, bytes, to, e);
    return weights_stream_made(w, v, to, e);
}

uint64_t writer_weight_size(const writer *w)
{
    uint64_t n = w->heads.len;
    for (uint32_t i = 0; i < w->n_weights; i++)
        if (weights_is_inside(w, w->weights[i]))
            n += (uint64_t)clv__bytes(&w->g->values[w->weights[i]]);
    return n;
}

clv_status writer_stream(writer *w, clv_err *e)
{
    if (w->heads.failed)
        return clv__nomem(e);
    for (uint32_t i = 0; i < w->n_weights; i++) {
        size_t from = i ? w->head_end[i - 1] : 0;
        size_t len = w->head_end[i] - from;
        if (fwrite(w->heads.text + from, 1, len, w->file) != len)
            return clv__fail(e, CLV_IO, "cannot write: %s", strerror(errno));
        bool inside = weights_is_inside(w, w->weights[i]);
        if (inside || w->data)
            CLV_TRY(weights_stream(w, w->weights[i], inside ? w->file : w->data,
                                   e));
    }
    return CLV_OK;
}
