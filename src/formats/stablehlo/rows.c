/* rows.c - the table of operations, by name. */
#include "formats/aten/aten.h"
#include "formats/formats.h"
#include "formats/stablehlo/hlo.h"

#include <string.h>

#define HLO(name, op, map)  {name, "stablehlo." name, CLV_OP_##op, map},
#define CHLO(name, op, map) {name, "chlo." name, CLV_OP_##op, map},
static const hlo_row rows[] = {
#include "formats/stablehlo/stablehlo.def"
};
#undef HLO
#undef CHLO

enum { N_ROWS = sizeof rows / sizeof *rows };

const hlo_row *hlo_row_of(mlir_text name)
{
    uint32_t dot = 0;
    while (dot < name.n && name.s[dot] != '.')
        dot++;
    bool chlo = mlir_starts(name, "chlo.");
    if (dot == name.n ||
        !(chlo || mlir_starts(name, "stablehlo.") ||
          mlir_starts(name, "mhlo.") || mlir_starts(name, "arith.constant")))
        return NULL;
    mlir_text word = {name.s + dot + 1, name.n - dot - 1};
    for (size_t i = 0; i < N_ROWS; i++)
        if (mlir_is(word, rows[i].name) && chlo == (rows[i].origin[0] == 'c'))
            return &rows[i];
    return NULL;
}

bool clv__stablehlo_row(size_t i, const char **name, clv_op *op)
{
    if (i >= N_ROWS)
        return false;
    *name = rows[i].origin;
    *op = rows[i].op;
    return true;
}

/* -- what a region of two arguments computes ------------------------------*/

clv_op hlo_binary_op(mlir_text name, clv_dtype t)
{
    const hlo_row *row = hlo_row_of(name);
    if (!row || row->map != hlo_map_binary)
        return CLV_OP_UNKNOWN;
    if (t != CLV_BOOL)
        return row->op;
    switch (row->op) {
    case CLV_OP_ADD:
    case CLV_OP_MAXIMUM:
    case CLV_OP_BITWISE_OR:
        return CLV_OP_LOGICAL_OR;
    case CLV_OP_MUL:
    case CLV_OP_MINIMUM:
    case CLV_OP_BITWISE_AND:
        return CLV_OP_LOGICAL_AND;
    case CLV_OP_BITWISE_XOR:
        return CLV_OP_LOGICAL_XOR;
    default:
        return row->op;
    }
}

clv_op hlo_region_op(const hlo_scope *s, const mlir_region *region, clv_dtype t)
{
    (void)s;
    const mlir_op *op = region->ops, *end = op ? op->next : NULL;
    if (region->n_args != 2 || !op || !end || end->next || op->n_ins != 2 ||
        op->n_outs != 1 || end->n_ins != 1 ||
        !mlir_same(end->ins[0].name, op->outs->name))
        return CLV_OP_UNKNOWN;
    mlir_text a = region->args->name, b = region->args->next->name;
    bool ordered =
        mlir_same(op->ins[0].name, a) && mlir_same(op->ins[1].name, b);
    bool turned =
        mlir_same(op->ins[0].name, b) && mlir_same(op->ins[1].name, a);
    return ordered || turned ? hlo_binary_op(op->name, t) : CLV_OP_UNKNOWN;
}
