/* export.h - what the formats of `cleave export` share. */
#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

#include "cli.h"

/* Draws a Graphviz graph in a format of dot ("svg", "png"). CLV_UNSUPPORTED
 * when Graphviz is not installed. */
CLV_MUST clv_status graphviz(const clv_buf *dot, const char *format,
                             clv_buf *picture, clv_err *err);

#endif
