/* ops.c - the reader's lookup in the table of operators (onnx.def). */
#include "formats/formats.h"
#include "formats/onnx/map.h"
#include "formats/onnx/read.h"

#include <string.h>

static const onnx_op ops_rows[] = {
#define READ(domain, name, op, roles, map) \
    {name, CLV_OP_##op, ONNX_##domain, 0, roles, map, NULL},
#define ONNX(domain, name, op, roles, map, since, when, attrs) \
    READ(domain, name, op, roles, map)
#define KEPT(domain, name, op, roles, map, since, names) \
    {name, \
     CLV_OP_##op, \
     ONNX_##domain, \
     since, \
     roles, \
     map, \
     (const onnx_rename[]){names{NULL, 0}}},
#define AS(name, key) {name, CLV_A_##key},
#define NONE
#define WRITE(name, op, since, when, attrs)
#define BODY(op, body)
#define ALSO(domain, name, op)
#include "formats/onnx/onnx.def"
#undef ALSO
#undef READ
#undef ONNX
#undef KEPT
#undef AS
#undef NONE
#undef WRITE
#undef BODY
};
enum { OPS_ROWS = sizeof ops_rows / sizeof *ops_rows };

/* Operators that a mapping function makes of a row besides the row's own. */
static const struct {
    const char *name;
    onnx_domain domain;
    clv_op op;
} ops_also[] = {
#define READ(domain, name, op, roles, map)
#define ONNX(domain, name, op, roles, map, since, when, attrs)
#define KEPT(domain, name, op, roles, map, since, names)
#define WRITE(name, op, since, when, attrs)
#define BODY(op, body)
#define ALSO(domain, name, op) {name, ONNX_##domain, CLV_OP_##op},
#include "formats/onnx/onnx.def"
#undef READ
#undef ONNX
#undef KEPT
#undef WRITE
#undef BODY
#undef ALSO
};

onnx_domain onnx_domain_of(text name)
{
    if (name.n == 0 || text_is(name, "ai.onnx"))
        return ONNX_AI;
    if (text_is(name, "com.microsoft") || text_is(name, "com.microsoft.nhwc"))
        return ONNX_MICROSOFT;
    if (text_is(name, "com.microsoft.nchwc"))
        return ONNX_NCHWC;
    if (text_is(name, "ai.onnx.ml"))
        return ONNX_ML;
    if (text_is(name, "cleave"))
        return ONNX_CLEAVE;
    if (name.n >= 15 && !memcmp(name.s, "ai.onnx.preview", 15))
        return ONNX_PREVIEW;
    return ONNX_OTHER;
}

/* Functions that our writer made are the operators they are named after:
 * "linear_2" is the third function for what ONNX has no single operator for. */
static const onnx_op ops_cleave[CLV_OP_COUNT] = {
#define OP(kind, name, ...) \
    [CLV_OP_##kind] = {name, CLV_OP_##kind, ONNX_CLEAVE, 0, "", NULL, NULL},
#include "ops/ops.def"
#undef OP
};

static const onnx_op *ops_own(text name)
{
    char plain[64];
    size_t n = name.n;
    while (n > 0 && name.s[n - 1] >= '0' && name.s[n - 1] <= '9')
        n--;
    if (n < 2 || n == name.n || name.s[n - 1] != '_' || n > sizeof plain)
        return NULL;
    memcpy(plain, name.s, n - 1);
    plain[n - 1] = '\0';
    clv_op op = clv__op_find(plain);
    return op == CLV_OP_UNKNOWN ? NULL : &ops_cleave[op];
}

/* Below, at or above 0: how a domain and a name compare with those of a row. */
static int ops_compare(onnx_domain domain, text name, const onnx_op *row)
{
    size_t n = strlen(row->name);
    if (domain != row->domain)
        return domain < row->domain ? -1 : 1;
    int order = memcmp(name.s, row->name, name.n < n ? name.n : n);
    return order ? order : (name.n > n) - (name.n < n);
}

const onnx_op *onnx_op_find(text domain, text name)
{
    onnx_domain d = onnx_domain_of(domain);
    if (d == ONNX_CLEAVE)
        return ops_own(name);
    size_t from = 0, to = OPS_ROWS;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = ops_compare(d, name, &ops_rows[mid]);
        if (order == 0)
            return &ops_rows[mid];
        if (order < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

const onnx_op *onnx_op_row(size_t i)
{
    return i < OPS_ROWS ? &ops_rows[i] : NULL;
}

const onnx_op *onnx_op_of(reader *r, const proto *p)
{
    const unsigned char *s = (const unsigned char *)p->op.s;
    if (onnx_domain_of(p->domain) != ONNX_AI)
        return onnx_op_find(p->domain, p->op);
    const onnx_op **slot =
        &r->recent[(p->op.n + 5u * s[0] + 3u * s[p->op.n / 2]) % ONNX_RECENT];
    if (!*slot || !text_is(p->op, (*slot)->name))
        *slot = onnx_op_find(p->domain, p->op);
    return *slot;
}

char onnx_role(const onnx_op *row, uint32_t i)
{
    size_t n = strlen(row->roles);
    if (n == 0)
        return 'x';
    return row->roles[i < n ? i : n - 1];
}

bool clv__onnx_row(size_t i, const char **domain, const char **name, clv_op *op)
{
    static const char *const domains[ONNX_DOMAINS] = {
        [ONNX_AI] = "",
        [ONNX_ML] = "ai.onnx.ml",
        [ONNX_MICROSOFT] = "com.microsoft",
        [ONNX_NCHWC] = "com.microsoft.nchwc",
        [ONNX_PREVIEW] = "ai.onnx.preview"};
    size_t also = i - OPS_ROWS;
    if (i >= OPS_ROWS && also >= sizeof ops_also / sizeof *ops_also)
        return false;
    bool own = i < OPS_ROWS;
    *domain = domains[own ? ops_rows[i].domain : ops_also[also].domain];
    *name = own ? ops_rows[i].name : ops_also[also].name;
    *op = own ? (clv_op)ops_rows[i].op : ops_also[also].op;
    return true;
}
