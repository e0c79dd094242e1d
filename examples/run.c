/* run.c - runs a model on random numbers: run [MODEL [BACKEND]]. */
#include <cleave.h>

#include <stdio.h>
#include <string.h>

static clv_status fill(const clv_graph *g, clv_tensor *t, clv_err *err)
{
    const uint32_t *ids = clv_graph_inputs(g, NULL);
    clv_value_info v = clv_graph_value(g, ids[0]);
    *t = (clv_tensor){.dtype = v.dtype, .rank = v.rank};
    memcpy(t->dims, v.dims, v.rank * sizeof *t->dims);
    clv_status s = clv_tensor_alloc(t, err);
    if (s == CLV_OK)
        clv_tensor_random(t, 0);
    return s;
}

int main(int argc, char **argv)
{
    clv_graph *g = NULL;
    clv_backend *b = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_tensor x = {0};
    clv_err err;
    clv_model_opts opts = {.size = sizeof opts, .seed = 0};
    clv_status s =
        clv_graph_open(argc > 1 ? argv[1] : "squeezenet1_1", NULL, &g, &err);
    if (s == CLV_OK && argc > 2)
        s = clv_backend_open(argv[2], NULL, &b, &err);
    opts.backend = b;
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &m, &err);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, &err);
    if (s == CLV_OK)
        s = fill(g, &x, &err);
    if (s == CLV_OK)
        s = clv_context_set(c, 0, &x, &err);
    if (s == CLV_OK)
        s = clv_context_run(c, &err);
    if (s == CLV_OK)
        printf("first output: %g\n",
               clv_tensor_get(clv_context_output(c, 0), 0));
    else
        fprintf(stderr, "%s\n", err.msg);
    clv_tensor_free(&x);
    clv_context_free(c);
    clv_model_free(m);
    clv_backend_free(b);
    clv_graph_free(g);
    return clv_status_exit(s);
}
