/* moving.h - slices whose place only running tells (moving.c). */
#ifndef CLV_MOVING_H
#define CLV_MOVING_H

#include "ops/ops.h"

/* Infers a slice from i to i + n, where i is not known: n elements, or fewer
 * at the ends. Sets *done when it is one. */
CLV_MUST clv_status clv__slice_moving(clv_graph *g, clv_node *n, bool *done,
                                      clv_err *e);

#endif
