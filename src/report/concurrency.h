/* concurrency.h - the faces of a concurrency analysis. */
#ifndef CLV_REPORT_CONCURRENCY_H
#define CLV_REPORT_CONCURRENCY_H

#include "cleave/report.h"

void clv__concurrency_text(const clv_concurrency_report *r,
                           const clv_report_opts *o, clv_buf *out);
void clv__concurrency_compare(const clv_concurrency_report *r, uint32_t n,
                              const clv_report_opts *o, clv_buf *out);

#endif
