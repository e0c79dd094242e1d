/* names.c - one operator, three spellings: ours, ONNX's and ATen's.
 *
 * Names are compared plain: without namespace, overload, case or underscores.
 * Where ONNX has one operator for several of ours (Conv), or another word for
 * it (Concat), the table below says which of ours it means. */
#include "backend/backend.h"

#include <string.h>

static const struct alias {
    const char *plain;
    const char *ours; /* separated by spaces */
} aliases[] = {
    {"averagepool", "avg_pool1d avg_pool2d avg_pool3d"},
    {"batchnormalization", "batch_norm"},
    {"clip", "clamp relu6"},
    {"concat", "cat"},
    {"conv", "conv1d conv2d conv3d"},
    {"convolution", "conv1d conv2d conv3d"},
    {"convtranspose", "conv_transpose1d conv_transpose2d conv_transpose3d"},
    {"gemm", "linear addmm"},
    {"globalaveragepool", "adaptive_avg_pool2d"},
    {"groupnormalization", "group_norm"},
    {"instancenormalization", "instance_norm"},
    {"layernormalization", "layer_norm"},
    {"maxpool", "max_pool1d max_pool2d max_pool3d"},
    {"mm", "matmul"},
    {"reducemean", "mean"},
    {"reducesum", "sum"},
    {"rmsnormalization", "rms_norm"},
    {"split", "chunk split"},
    {"swish", "silu"},
    {"t", "transpose"},
    {"view", "reshape"},
};

const char *clv__plain_name(const char *name, char *buf, size_t size)
{
    const char *colons = strstr(name, "::");
    for (; colons; colons = strstr(name, "::"))
        name = colons + 2;
    if (strncmp(name, "aten.", 5) == 0)
        name += 5;
    size_t n = 0;
    for (; *name && *name != '.' && n + 1 < size; name++)
        if (*name != '_')
            buf[n++] = clv__lower(*name);
    buf[n] = '\0';
    return buf;
}

static const struct alias *alias_of(const char *plain)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].plain, plain) == 0)
            return &aliases[i];
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(words, word); p; p = strstr(p + 1, word))
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

bool clv__names_node(const char *name, const clv_node *n)
{
    char want[80], have[80];
    const char *ours = clv__ops[n->op].name;
    clv__plain_name(name, want, sizeof want);
    if (n->op != CLV_OP_UNKNOWN &&
        strcmp(want, clv__plain_name(ours, have, sizeof have)) == 0)
        return true;
    const char *there = clv__op_at_source(n);
    if (strcmp(want, clv__plain_name(there, have, sizeof have)) == 0)
        return true;
    const struct alias *a = alias_of(want);
    return a && has_word(a->ours, ours);
}

bool clv__names_operator(const char *name)
{
    char want[80], have[80];
    clv__plain_name(name, want, sizeof want);
    for (uint32_t op = 0; op < CLV_OP_COUNT; op++)
        if (strcmp(want,
                   clv__plain_name(clv__ops[op].name, have, sizeof have)) == 0)
            return true;
    return alias_of(want) != NULL;
}

static const char *op_at(const void *ctx, uint32_t i)
{
    (void)ctx;
    return clv__ops[i].name;
}

clv_status clv__unknown_operator(const char *name, clv_status code, clv_err *e)
{
    uint32_t near = clv__closest(name, CLV_OP_COUNT, op_at, NULL);
    if (near == CLV_NONE)
        return clv__fail(e, code, "no operator is called '%.80s'", name);
    return clv__fail(e, code,
                     "no operator is called '%.80s'; did you mean '%s'?", name,
                     clv__ops[near].name);
}
