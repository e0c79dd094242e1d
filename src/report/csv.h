/* csv.h - rows for spreadsheets, quoted as RFC 4180 says.
 *
 *     csv_text(out, "name"); csv_text(out, "flops"); csv_end(out);
 *     csv_text(out, name);   csv_int(out, flops);    csv_end(out); */
#ifndef CLV_REPORT_CSV_H
#define CLV_REPORT_CSV_H

#include "core/core.h"

void csv_text(clv_buf *out, const char *text);
void csv_int(clv_buf *out, int64_t n);
void csv_num(clv_buf *out, double x); /* empty when not finite */
void csv_bool(clv_buf *out, bool b);
/* "1x64x112x112"; empty when the rank is unknown (CLV_NONE). */
void csv_shape(clv_buf *out, uint32_t rank, const int64_t *dims);
/* A whole row of texts, such as the head. */
void csv_row(clv_buf *out, const char *const *texts, uint32_t n);
void csv_end(clv_buf *out);

#endif
