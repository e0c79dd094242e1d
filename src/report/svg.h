/* svg.h - the few shapes charts are drawn with, written as SVG text.
 *
 *     svg_start(out, 800, 300, "Schedule of resnet18");
 *     svg_rect(out, (svg_box){60, 20, 100, 18}, "#b7dfc4", "#555", "conv1");
 *     svg_text(out, 60, 15, SVG_START, 11, "stream 0");
 *     svg_end(out);
 *
 * Coordinates are pixels. Text is escaped: names of models may hold anything.
 */
#ifndef CLV_REPORT_SVG_H
#define CLV_REPORT_SVG_H

#include "cleave/report.h"

typedef enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END } svg_anchor;

typedef struct svg_box {
    double x, y, w, h;
} svg_box;

void svg_start(clv_buf *out, double w, double h, const char *title);
void svg_end(clv_buf *out);
/* hint: shown while the pointer rests on it; NULL: none. */
void svg_rect(clv_buf *out, svg_box b, const char *fill, const char *stroke,
              const char *hint);
void svg_line(clv_buf *out, double x1, double y1, double x2, double y2,
              const char *stroke);
void svg_dashes(clv_buf *out, double x1, double y1, double x2, double y2,
                const char *stroke);
/* Through n points, x and y in turn; closed where it is filled. */
void svg_polyline(clv_buf *out, const double *xy, uint32_t n, const char *fill,
                  const char *stroke);
void svg_circle(clv_buf *out, double x, double y, double r, const char *fill,
                const char *stroke, const char *hint);
void svg_text(clv_buf *out, double x, double y, svg_anchor a, double size,
              const char *text);

/* Text that reads upwards, centred: the name of a vertical axis. */
void svg_text_up(clv_buf *out, double x, double y, double size,
                 const char *text);

/* Text of a model file: markup is escaped, control characters are left out,
 * what is not UTF-8 becomes U+FFFD. */
void svg_escape(clv_buf *out, const char *text);

/* A round step (1, 2 or 5 times a power of ten) so that about n of them reach
 * from 0 to most. */
double svg_step(double most, int n);

/* Fill of a bottleneck class in every picture, and its name for the legend. */
const char *clv__bottleneck_fill(clv_bottleneck b);
const char *clv__bottleneck_words(clv_bottleneck b);

#endif
