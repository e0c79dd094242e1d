/* pack.h - text that a page unpacks: deflated (with zlib's header), in base64.
 */
#ifndef CLV_REPORT_PACK_H
#define CLV_REPORT_PACK_H

#include "cleave/base.h"

/* Appends `text` packed. `out->failed` tells of a lack of memory. */
void clv__pack(const clv_buf *text, clv_buf *out);

#endif
