/* partition.h - the three faces of a cut. */
#ifndef CLV_REPORT_PARTITION_H
#define CLV_REPORT_PARTITION_H

#include "cleave/report.h"

void clv__partition_text(const clv_cut *c, const clv_summary *s,
                         const clv_report_opts *o, clv_buf *out);

#endif
