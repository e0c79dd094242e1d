/* pattern.c - names of fused subgraphs: "Conv_BN_ReLU", "Linear_GELU". */
#include "cut/fusion.h"

#include <stdio.h>
#include <string.h>

/* Short names, where people do not use the canonical name in capitals. */
static const struct {
    clv_op op;
    const char *name;
} usual[] = {
    {CLV_OP_QUANTIZE_LINEAR, "Q"}, {CLV_OP_DEQUANTIZE_LINEAR, "DQ"},
    {CLV_OP_BATCH_NORM, "BN"},     {CLV_OP_RELU, "ReLU"},
    {CLV_OP_RELU6, "ReLU6"},       {CLV_OP_LEAKY_RELU, "LeakyReLU"},
    {CLV_OP_PRELU, "PReLU"},       {CLV_OP_GELU, "GELU"},
    {CLV_OP_SILU, "SiLU"},         {CLV_OP_ELU, "ELU"},
    {CLV_OP_GLU, "GLU"},           {CLV_OP_MATMUL, "MatMul"},
    {CLV_OP_BMM, "BMM"},           {CLV_OP_SDPA, "SDPA"},
    {CLV_OP_RMS_NORM, "RMSNorm"},  {CLV_OP_CONVT2D, "ConvTranspose"},
};

enum { NAME_MAX_LEN = 160, NAME_PARTS = 8 };

/* "adaptive_avg_pool2d" -> "AdaptiveAvgPool". */
static size_t pattern_camel(const char *from, char *to, size_t size)
{
    size_t n = 0;
    bool up = true;
    for (; *from && n + 1 < size; from++) {
        if (*from == '_')
            up = true;
        else if (clv__is_digit(*from) && from[1] == 'd' && !from[2])
            break;
        else {
            to[n++] = up ? clv__upper(*from) : *from;
            up = false;
        }
    }
    to[n] = '\0';
    return n;
}

size_t clv__pattern_part(clv_op op, char *to, size_t size)
{
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (usual[i].op == op)
            return (size_t)snprintf(to, size, "%s", usual[i].name);
    return pattern_camel(clv__op_name(op), to, size);
}

static const char *pattern_intern(pattern_names *names, const char *text,
                                  size_t len)
{
    uint32_t at = strmap_get(&names->map, text, len);
    if (at != CLV_NONE)
        return names->text[at];
    const char *copy = arena_strndup(names->mem, text, len);
    if (!copy || !CLV_GROW(names->text, names->n, names->cap) ||
        !strmap_put(&names->map, copy, len, (uint32_t)names->n))
        return NULL;
    return names->text[names->n++] = copy;
}

const char *clv__pattern(pattern_names *names, const clv_graph *g,
                         const uint32_t *nodes, uint32_t n, const char *head,
                         uint32_t skip)
{
    char text[NAME_MAX_LEN];
    size_t len = 0;
    uint32_t parts = 0, more = 0, only = n ? nodes[0] : 0;
    if (head) {
        len = (size_t)snprintf(text, sizeof text, "%s", head);
        parts = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        const clv_node *node = &g->nodes[nodes[i]];
        if (node_is_view(node))
            continue;
        if (skip > 0) {
            skip--;
        } else if (parts == NAME_PARTS || len + 40 > sizeof text) {
            more++;
        } else {
            if (parts++)
                text[len++] = '_';
            else
                only = nodes[i];
            len += clv__pattern_part((clv_op)node->op, text + len,
                                     sizeof text - len);
        }
    }
    if (parts <= 1 && !head && n)
        return clv__ops[g->nodes[only].op].name;
    if (more)
        len += (size_t)snprintf(text + len, sizeof text - len, "_and_%u_more",
                                more);
    return pattern_intern(names, text, len);
}

void clv__patterns_free(pattern_names *names)
{
    strmap_free(&names->map);
    clv__free(names->text);
}
