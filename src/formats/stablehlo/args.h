/* args.h - the arguments of the function that is read. */
#ifndef CLV_HLO_ARGS_H
#define CLV_HLO_ARGS_H

#include "formats/stablehlo/hlo.h"

typedef struct hlo_arg {
    const mlir_arg *is;
    const char *name; /* "params.Dense_0.kernel", or "arg0" */
    bool named;       /* by the program that was lowered */
    clv_value_kind kind;
    int64_t dims[CLV_MAX_RANK];
    const char *dim_names[CLV_MAX_RANK]; /* of open sizes, NULL: none */
} hlo_arg;

/* Names the arguments of f and says which are weights (weights.c). */
CLV_MUST clv_status hlo_args_kinds(hlo_reader *r, const mlir_func *f,
                                   hlo_arg *args, uint32_t n, clv_err *e);
/* Gives open sizes their values (sizes.c). */
CLV_MUST clv_status hlo_args_sizes(hlo_reader *r, const mlir_func *f,
                                   hlo_arg *args, uint32_t n, clv_err *e);

#endif
