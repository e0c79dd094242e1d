# The backend of docs/backends.md, taken from the page, compiled and run.
# builds: plain
cc=${CC:-cc}
command -v $cc >/dev/null || skip "no C compiler"
{
    echo '#include "backend/backend.h"'
    echo '#include <stdio.h>'
    sed -n 's/^    //p; /^$/p' "$CLEAVE_ROOT/docs/backends.md"
    cat <<'C'
int main(int argc, char **argv)
{
    clv_backend b = {.type = &clv__mine_type, .name = "mine", .about = ""};
    const clv_model_opts opts = {.size = sizeof opts, .backend = &b};
    clv_graph *g = NULL;
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_tensor x = {.dtype = CLV_FLOAT32, .rank = 2, .dims = {32, 16}};
    clv_err e = {0};
    clv_status s = argc > 1 ? clv_graph_open(argv[1], NULL, &g, &e) : CLV_USAGE;
    if (s == CLV_OK)
        s = clv_model_new(g, &opts, &m, &e);
    if (s == CLV_OK)
        s = clv_context_new(m, &c, &e);
    x.dims[1] = 28;
    if (s == CLV_OK)
        s = clv_tensor_alloc(&x, &e);
    if (s == CLV_OK)
        s = clv_context_set(c, 0, &x, &e);
    if (s == CLV_OK)
        s = clv_context_run(c, &e);
    for (uint32_t i = 0; s == CLV_OK && i < clv_model_get(m)->n_parts; i++)
        printf("%s: %u\n", clv_model_get(m)->parts[i].device,
               clv_model_get(m)->parts[i].n_nodes);
    if (s != CLV_OK)
        printf("%s\n", e.msg);
    clv_context_free(c);
    clv_model_free(m);
    clv_tensor_free(&x);
    clv_graph_free(g);
    return 0;
}
C
} >mine.c
sed -i '1i #include "cleave.h"' mine.c
$cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -I"$CLEAVE_ROOT/include" \
    -I"$CLEAVE_ROOT/src" mine.c "$CLEAVE_BUILD/libcleave.a" -lm -ldl -lz -lpthread -o mine 2>&1 | head -20
./mine "$CLEAVE_ROOT/tests/data/onnx_capability/sort_end.onnx"
