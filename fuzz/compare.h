/* compare.h - two runs of one model against each other. */
#ifndef COMPARE_H
#define COMPARE_H

#include "fuzz.h"

/* Operators that draw numbers, and those whose result jumps where their operand
 * hardly moves: the last digit, or a NaN, decides. With `computed` only a jump
 * that reads what another node computed counts: inputs and weights are the same
 * to the last bit. */
bool compare_jumps(const clv_graph *g, bool computed);

/* Aborts when the runs ended differently, or gave other numbers; `other` is
 * what it is called. Numbers so large that the order of sums decides what
 * becomes of them are left out, and with `drops_nan` outputs with a NaN. */
typedef struct compared {
    const fuzz_run *run;
    clv_status status;
    const char *name;
    bool drops_nan;
} compared;
void compare_runs(const clv_graph *g, const compared *plain,
                  const compared *other);

#endif
