/* scores.h - what the kernels of classical models make of their sums. */
#ifndef CLV_REF_SCORES_H
#define CLV_REF_SCORES_H

#include "backend/kernel.h"

double scores_logistic(double v);
/* Applies a transform of ONNX (NONE, SOFTMAX, ...) to n scores of one row. */
void scores_transform(const char *how, double *s, int64_t n);
/* The same as ONNX Runtime does it in linear models and support vectors: of one
 * score alone, only PROBIT changes it. */
void scores_transform_row(const char *how, double *s, int64_t n);
/* The place of the greatest score; the first of equal ones. */
int64_t scores_greatest(const double *s, int64_t n);
/* Writes the label of class `label` to row `row` of output 0. */
CLV_MUST clv_status scores_label(const kernel *k, int64_t row, int64_t label);

/* Row r of x (N,C), or of (C) as one row; numbers of any type as float32. */
typedef struct score_rows {
    const clv_tensor *x;
    int64_t n, features;
} score_rows;
score_rows scores_rows(const kernel *k);
double scores_x(const score_rows *r, int64_t row, int64_t feature);

#endif
