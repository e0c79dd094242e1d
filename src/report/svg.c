/* svg.c - shapes as SVG text, and the colours all pictures share. */
#include "report/svg.h"

#include "core/core.h"

#include <math.h>

static const struct {
    const char *color, *words;
} classes[CLV_BOTTLENECK_COUNT] = {
    [CLV_BOTTLENECK_COMPUTE] = {"#b7dfc4", "compute bound"},
    [CLV_BOTTLENECK_BALANCED] = {"#c9dff5", "balanced"},
    [CLV_BOTTLENECK_MEMORY] = {"#fbe3a3", "memory bound"},
    [CLV_BOTTLENECK_BANDWIDTH] = {"#f4c7c3", "bandwidth bound"},
};

const char *clv__bottleneck_fill(clv_bottleneck b)
{
    return classes[b].color;
}

const char *clv__bottleneck_words(clv_bottleneck b)
{
    return classes[b].words;
}

void svg_escape(clv_buf *out, const char *text)
{
    while (*text) {
        uint32_t code;
        size_t n = clv__utf8(text, &code);
        if (n == 0)
            clv_buf_add(out, "\ufffd", 3);
        else if (code == '<')
            clv_buf_add(out, "&lt;", 4);
        else if (code == '>')
            clv_buf_add(out, "&gt;", 4);
        else if (code == '&')
            clv_buf_add(out, "&amp;", 5);
        else if (code >= ' ' && code != 0x7f)
            clv_buf_add(out, text, n);
        text += n ? n : 1;
    }
}

void svg_start(clv_buf *out, double w, double h, const char *title)
{
    clv_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                   "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                   "font-family=\"Helvetica,Arial,sans-serif\">\n<title>",
                   w, h, w, h);
    svg_escape(out, title);
    clv_buf_printf(out, "</title>\n<rect width=\"100%%\" height=\"100%%\" "
                        "fill=\"#ffffff\"/>\n");
}

void svg_end(clv_buf *out)
{
    clv_buf_printf(out, "</svg>\n");
}

void svg_rect(clv_buf *out, svg_box b, const char *fill, const char *stroke,
              const char *hint)
{
    clv_buf_printf(out,
                   "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                   "fill=\"%s\" stroke=\"%s\"",
                   b.x, b.y, b.w, b.h, fill, stroke);
    if (hint) {
        clv_buf_printf(out, "><title>");
        svg_escape(out, hint);
        clv_buf_printf(out, "</title></rect>\n");
    } else {
        clv_buf_printf(out, "/>\n");
    }
}

static void put_line(clv_buf *out, const double at[4], const char *stroke,
                     const char *more)
{
    clv_buf_printf(out,
                   "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" "
                   "stroke=\"%s\"%s/>\n",
                   at[0], at[1], at[2], at[3], stroke, more);
}

void svg_line(clv_buf *out, double x1, double y1, double x2, double y2,
              const char *stroke)
{
    put_line(out, (const double[]){x1, y1, x2, y2}, stroke, "");
}

void svg_dashes(clv_buf *out, double x1, double y1, double x2, double y2,
                const char *stroke)
{
    put_line(out, (const double[]){x1, y1, x2, y2}, stroke,
             " stroke-dasharray=\"5 4\"");
}

void svg_polyline(clv_buf *out, const double *xy, uint32_t n, const char *fill,
                  const char *stroke)
{
    clv_buf_printf(out, "<polyline fill=\"%s\" stroke=\"%s\" points=\"", fill,
                   stroke);
    for (uint32_t i = 0; i < n; i++)
        clv_buf_printf(out, "%s%.2f,%.2f", i ? " " : "", xy[2 * i],
                       xy[2 * i + 1]);
    clv_buf_printf(out, "\"/>\n");
}

void svg_circle(clv_buf *out, double x, double y, double r, const char *fill,
                const char *stroke, const char *hint)
{
    clv_buf_printf(out,
                   "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"%s\" "
                   "stroke=\"%s\"><title>",
                   x, y, r, fill, stroke);
    svg_escape(out, hint ? hint : "");
    clv_buf_printf(out, "</title></circle>\n");
}

void svg_text(clv_buf *out, double x, double y, svg_anchor a, double size,
              const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    clv_buf_printf(out,
                   "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%g\" "
                   "text-anchor=\"%s\" fill=\"#222222\">",
                   x, y, size, anchors[a]);
    svg_escape(out, text);
    clv_buf_printf(out, "</text>\n");
}

void svg_text_up(clv_buf *out, double x, double y, double size,
                 const char *text)
{
    clv_buf_printf(out,
                   "<text transform=\"translate(%.2f %.2f) rotate(-90)\" "
                   "font-size=\"%g\" text-anchor=\"middle\" "
                   "fill=\"#222222\">",
                   x, y, size);
    svg_escape(out, text);
    clv_buf_printf(out, "</text>\n");
}

double svg_step(double most, int n)
{
    if (!(most > 0) || n < 1)
        return 1;
    double raw = most / n, power = pow(10, floor(log10(raw)));
    double times = raw / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}
