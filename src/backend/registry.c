/* registry.c - all tables about operators, joined: one row per operator.
 *
 * Nothing is stated here. The schema says what an operator takes, the tables of
 * the formats which names lead to it and how it is written, kernels.def and
 * primitives.def who runs it, count.def who counts it. tests/test_registry.c
 * checks the tables against each other through these rows. */
#include "analysis/count.h"
#include "backend/cpu/cpu.h"
#include "backend/kernel.h"
#include "cleave/operators.h"
#include "cut/fusion.h"
#include "formats/aten/aten.h"
#include "formats/formats.h"
#include "graph/schema.h"

#include <stdio.h>
#include <string.h>

struct clv_registry {
    arena mem;
    clv_operator_info rows[CLV_OP_COUNT];
};

/* Columns of ops.def and costs.def as text. */
static const struct {
    const char *category, *kind;
    clv_cost_fn *cost;
} op_texts[CLV_OP_COUNT] = {
#define OP(kind, name, cat, cls, fuse, schema, unit, infer, cost, par, fold) \
    [CLV_OP_##kind] = {#cat, #cls, cost},
#include "ops/ops.def"
#undef OP
};

static const struct {
    clv_cost_fn *cost;
    const char *text;
} cost_texts[] = {
#define COST(rule, text) {rule, text},
#include "ops/costs.def"
#undef COST
};

static const bool has_primitive[CLV_OP_COUNT] = {
#define PRIMITIVE(op, rule) [CLV_OP_##op] = true,
#include "backend/onednn/primitives.def"
#undef PRIMITIVE
};

static const char *registry_lower(arena *mem, const char *text)
{
    char *own = arena_strndup(mem, text, strlen(text));
    for (char *c = own; c && *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
    return own;
}

/* The formula of op's cost rule, with its unit for the '#'. */
static const char *registry_flops(arena *mem, clv_op op)
{
    const char *text = "";
    for (size_t i = 0; i < sizeof cost_texts / sizeof *cost_texts; i++)
        if (cost_texts[i].cost == op_texts[op].cost)
            text = cost_texts[i].text;
    const char *mark = strchr(text, '#');
    if (!mark)
        return text;
    if (clv__ops[op].unit == 0)
        return "0";
    return arena_printf(mem, "%.*s%u%s", (int)(mark - text), text,
                        clv__ops[op].unit, mark + 1);
}

/* -- what it takes --------------------------------------------------------*/

static bool registry_inputs(arena *mem, clv_op op, clv_operator_info *row)
{
    const clv_input_spec *in = clv__schema_of(op)->inputs;
    uint32_t n = 0;
    while (in[n].name)
        n++;
    clv_operator_input *own = arena_array(mem, n + 1u, sizeof *own);
    for (uint32_t i = 0; own && i < n; i++)
        own[i] = (clv_operator_input){in[i].name, in[i].need == CLV_NEED_IN,
                                      in[i].need >= CLV_NEED_REST};
    row->inputs = own;
    row->n_inputs = n;
    return own != NULL;
}

/* What leaving an attribute out means: an input of its name stands for it. */
static const char *registry_absent(arena *mem, const clv_schema *takes,
                                   const clv_attr_spec *a)
{
    const char *name = clv__attr_name((clv_attr_key)a->key);
    const char *text = a->presence == CLV_PRESENCE_NONE ? a->text : "";
    bool required = a->presence == CLV_PRESENCE_REQUIRED;
    for (const clv_input_spec *in = takes->inputs; in->name && !required; in++)
        if (!strcmp(in->name, name))
            return arena_printf(mem, "input %s%s%s", name, *text ? ", or " : "",
                                text);
    return text;
}

static bool registry_attrs(arena *mem, clv_op op, clv_operator_info *row)
{
    const clv_schema *takes = clv__schema_of(op);
    clv_operator_attr *own = arena_array(mem, takes->n_attrs + 1u, sizeof *own);
    row->attrs = own;
    row->n_attrs = takes->n_attrs;
    for (uint32_t i = 0; own && i < takes->n_attrs; i++) {
        const clv_attr_spec *a = &takes->attrs[i];
        char value[80];
        clv__attr_default_text(a, value, sizeof value);
        own[i] = (clv_operator_attr){
            .name = clv__attr_name((clv_attr_key)a->key),
            .type = clv__attr_kind_text((clv_attr_kind)a->kind),
            .value = arena_strndup(mem, value, strlen(value)),
            .absent = registry_absent(mem, takes, a),
            .choices = a->choices ? a->choices : "",
            .required = a->presence == CLV_PRESENCE_REQUIRED,
            .bounded = a->bounded,
            .least = a->lo,
            .most = a->hi};
        if (!own[i].value || !own[i].absent)
            return false;
    }
    return own != NULL;
}

/* -- who leads to it ------------------------------------------------------*/

static bool registry_onnx(arena *mem, clv_op op, clv_operator_info *row)
{
    const char *domain, *name;
    clv_op to;
    uint32_t n = 0;
    for (size_t i = 0; clv__onnx_row(i, &domain, &name, &to); i++)
        n += to == op;
    const char **own = arena_array(mem, n + 1u, sizeof *own);
    for (size_t i = 0; own && clv__onnx_row(i, &domain, &name, &to); i++) {
        if (to != op)
            continue;
        own[row->n_onnx] =
            *domain ? arena_printf(mem, "%s.%s", domain, name) : name;
        if (!own[row->n_onnx++])
            return false;
    }
    row->onnx = own;
    return own != NULL;
}

/* A table of names, and the operator that each leads to. */
typedef bool registry_table(size_t i, const char **name, clv_op *op);

static bool registry_names(arena *mem, clv_op op, registry_table *table,
                           const char *const **names, uint32_t *count)
{
    const char *name;
    clv_op to;
    uint32_t n = 0;
    for (size_t i = 0; table(i, &name, &to); i++)
        n += to == op;
    const char **own = arena_array(mem, n + 1u, sizeof *own);
    for (size_t i = 0; own && table(i, &name, &to); i++)
        if (to == op)
            own[(*count)++] = name;
    *names = own;
    return own != NULL;
}

/* -- rows -----------------------------------------------------------------*/

static bool registry_fill(arena *mem, clv_op op, clv_operator_info *row)
{
    char part[80];
    clv__pattern_part(op, part, sizeof part);
    bool control = clv__ops[op].category == CLV_CAT_CONTROL; /* run by run/ */
    *row = (clv_operator_info){.size = sizeof *row,
                               .name = clv__ops[op].name,
                               .category =
                                   registry_lower(mem, op_texts[op].category),
                               .kind = registry_lower(mem, op_texts[op].kind),
                               .flops = registry_flops(mem, op),
                               .kernel = control || clv__kernel_of(op) != NULL,
                               .onednn = has_primitive[op],
                               .cpu = clv__cpu_has(op),
                               .written = clv__onnx_written(op),
                               .fused = arena_strndup(mem, part, strlen(part))};
    for (int c = 0; c < CLV_CONVENTION_COUNT; c++)
        row->counted[c] = c == CLV_CONVENTION_FULL
                              ? row->name
                              : clv__counted_as(op, (clv_convention)c);
    return row->category && row->kind && row->flops && row->fused &&
           registry_inputs(mem, op, row) && registry_attrs(mem, op, row) &&
           registry_onnx(mem, op, row) &&
           registry_names(mem, op, clv__aten_row, &row->torch, &row->n_torch) &&
           registry_names(mem, op, clv__tflite_row, &row->tflite,
                          &row->n_tflite) &&
           registry_names(mem, op, clv__stablehlo_row, &row->stablehlo,
                          &row->n_stablehlo);
}

clv_status clv_registry_new(clv_registry **out, clv_err *err)
{
    CLV_BEGIN(out, err);
    clv_registry *r = *out = clv__zalloc(sizeof *r);
    bool ok = r != NULL;
    for (int op = 0; ok && op < CLV_OP_COUNT; op++)
        ok = registry_fill(&r->mem, (clv_op)op, &r->rows[op]);
    if (ok)
        return CLV_OK;
    clv_registry_free(r);
    *out = NULL;
    return clv__nomem(err);
}

void clv_registry_free(clv_registry *r)
{
    if (r)
        arena_free(&r->mem);
    clv__free(r);
}

const clv_operator_info *clv_registry_at(const clv_registry *r, uint32_t i)
{
    return i < CLV_OP_COUNT ? &r->rows[i] : NULL;
}
