/* measure.c - how fast this machine multiplies matrices, type by type.
 *
 * One product a b = y of n x n matrices, weights in the layout oneDNN prefers,
 * as in a compiled model. A tiny n measures what starting a primitive costs. */
#include "backend/onednn/onednn.h"

#include <string.h>

typedef struct product {
    dnnl_primitive_t run;
    dnnl_memory_t memory[3]; /* a, b, y */
    dnnl_stream_t stream;
} product;

/* The types of a, b and y in which a type is computed. */
static const struct {
    clv_dtype type;
    dnnl_data_type_t of[3];
} types[] = {
    {CLV_FLOAT32, {dnnl_f32, dnnl_f32, dnnl_f32}},
    {CLV_BFLOAT16, {dnnl_bf16, dnnl_bf16, dnnl_f32}},
    {CLV_FLOAT16, {dnnl_f16, dnnl_f16, dnnl_f16}},
    {CLV_INT8, {dnnl_u8, dnnl_s8, dnnl_s32}},
};

static const dnnl_data_type_t *types_of(clv_dtype t)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == t)
            return types[i].of;
    return NULL;
}

static void product_free(product *p)
{
    for (int i = 0; i < 3; i++)
        if (p->memory[i])
            dnnl_memory_destroy(p->memory[i]);
    if (p->run)
        dnnl_primitive_destroy(p->run);
    if (p->stream)
        dnnl_stream_destroy(p->stream);
}

/* Plain loops of oneDNN are no figure of the machine. */
static bool is_fast(dnnl_primitive_desc_t pd)
{
    const char *by = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&by);
    return strncmp(by, "ref", 3) != 0;
}

static clv_status product_make(dnnl_engine_t engine, const dnnl_data_type_t *t,
                               int64_t n, product *p, clv_err *e)
{
    static const dnnl_query_t query[] = {
        dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    const dnnl_dims_t dims = {n, n};
    dnnl_memory_desc_t md[3];
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    for (int i = 0; i < 3; i++)
        dnnl_memory_desc_init_by_tag(&md[i], 2, dims, t[i],
                                     i == 1 ? dnnl_format_tag_any : dnnl_ab);
    dnnl_matmul_desc_init(&d, &md[0], &md[1], NULL, &md[2]);
    if (dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL) != dnnl_success)
        return clv__fail(e, CLV_UNSUPPORTED, "oneDNN: no such product here");
    dnnl_status_t s = is_fast(pd) ? dnnl_success : dnnl_unimplemented;
    for (int i = 0; i < 3 && s == dnnl_success; i++)
        s = dnnl_memory_create(&p->memory[i], dnn_query(pd, query[i], 0),
                               engine, DNNL_MEMORY_ALLOCATE);
    for (int i = 0; i < 3 && s == dnnl_success; i++) {
        void *data;
        s = dnnl_memory_get_data_handle(p->memory[i], &data);
        if (s == dnnl_success)
            memset(data, 0,
                   dnnl_memory_desc_get_size(dnn_query(pd, query[i], 0)));
    }
    if (s == dnnl_success)
        s = dnn_primitive(&p->run, pd);
    if (s == dnnl_success)
        s = dnnl_stream_create(&p->stream, engine, dnnl_stream_default_flags);
    dnnl_primitive_desc_destroy(pd);
    if (s == dnnl_out_of_memory)
        return clv__nomem(e);
    return s == dnnl_success
               ? CLV_OK
               : clv__fail(e, CLV_UNSUPPORTED, "oneDNN: no fast product here");
}

/* The least time of one of `times` runs, over as many rounds as fit. */
static double best_time(const product *p, int times)
{
    enum { ROUNDS = 7 };
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->memory[0]},
                                    {DNNL_ARG_WEIGHTS, p->memory[1]},
                                    {DNNL_ARG_DST, p->memory[2]}};
    double best = -1;
    for (int r = 0; r < ROUNDS; r++) {
        double before = clv__now();
        for (int i = 0; i < times; i++) {
            if (dnnl_primitive_execute(p->run, p->stream, 3, args) !=
                dnnl_success)
                return -1;
            dnnl_stream_wait(p->stream);
        }
        double each = (clv__now() - before) / times;
        if (r > 0 && (best < 0 || each < best)) /* the first warms up */
            best = each;
    }
    return best;
}

clv_status dnn_product(clv_backend *b, clv_dtype t, int64_t n, uint32_t threads,
                       double *seconds, clv_err *e)
{
    const dnnl_data_type_t *of = types_of(t);
    product p = {0};
    if (!of)
        return clv__fail(e, CLV_UNSUPPORTED, "oneDNN: no products in %s",
                         clv_dtype_name(t));
    dnn_use_threads(threads);
    clv_status s = product_make(b->state, of, n, &p, e);
    if (s == CLV_OK) {
        *seconds = best_time(&p, n < 64 ? 2000 : 1);
        if (*seconds < 0)
            s = clv__fail(e, CLV_INTERNAL, "oneDNN: a product failed");
    }
    product_free(&p);
    return s;
}
