/* concurrency.h - the faces of a concurrency analysis. */
#ifndef CLV_REPORT_CONCURRENCY_H
#define CLV_REPORT_CONCURRENCY_H

#include "cleave/report.h"

void clv__concurrency_text(const clv_concurrency_report *r,
                           const clv_report_opts *o, clv_buf *out);
void clv__concurrency_compare(const clv_concurrency_report *r, uint32_t n,
                              const clv_report_opts *o, clv_buf *out);
/* A weight with its unit, "4.09 GFLOPs" or "12.30 us", in TEXT_MAX bytes. */
const char *clv__weight_text(const char *of, double w, char *buf);

#endif
