/* profile.h - the three faces of a profile. */
#ifndef CLV_REPORT_PROFILE_H
#define CLV_REPORT_PROFILE_H

#include "cleave/report.h"
#include "core/jsonw.h"

/* The first output of a node; without a rank when it has none. */
clv_value_info clv__first_output(const clv_graph *g, uint32_t node);

void clv__profile_text(const clv_profile *p, const clv_report_opts *o,
                       clv_buf *out);
void clv__profile_json(const clv_profile *p, const clv_report_opts *o,
                       clv_buf *out);
void clv__profile_csv(const clv_profile *p, clv_buf *out);

/* The member "parallelism" of an operator or subgraph. */
void clv__json_parallel(jsonw *w, const clv_parallel *p);

#endif
