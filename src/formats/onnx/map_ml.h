/* map_ml.h - what the mapping functions of ai.onnx.ml share. */
#ifndef CLV_ONNX_MAP_ML_H
#define CLV_ONNX_MAP_ML_H

#include "formats/onnx/map_ms.h"

/* How many entries list `name` has, or its like of another type. */
uint32_t ml_length(const draft *d, const char *name, const char *like);
/* Takes attribute `name`, a list of floats or a tensor, out of the draft and
 * makes it a stored value; CLV_NONE when the node has none. */
CLV_MUST clv_status ml_stored(draft *d, const char *name, clv_value_kind kind,
                              uint32_t *value, clv_err *e);
/* A classifier whose labels are in list `strings` or `ints`: their type, and a
 * score for each. One score that tells two classes apart is given as two. */
void ml_set_scores(draft *d, int64_t scores, const char *strings,
                   const char *ints);
bool ml_classifies(const draft *d);
/* The labels of list `ints` or classlabels_strings, under our names. */
void ml_labels(draft *d, const char *ints);
/* Drops what operator `op` has no name for: it has been said in other words. */
void ml_forget(draft *d, clv_op op);

#endif
