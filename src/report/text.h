/* text.h - the pieces that text reports are made of: numbers with units,
 * headings, colours, wrapped prose, bars.
 *
 * K, M, G, T are powers of 1000, for counts (4.09 G) and for bytes (102.23 MB)
 * alike. A count below 1000 is printed as it is, so nothing exact is hidden. */
#ifndef CLV_REPORT_TEXT_H
#define CLV_REPORT_TEXT_H

#include "cleave/report.h"
#include "core/core.h"

#include <stdarg.h>

/* Copies what the caller asks for, in any version of the struct, to *own and
 * returns own. NULL, and out->failed, when its size is not set. */
const clv_report_opts *clv__report_opts(const clv_report_opts *given,
                                        clv_report_opts *own, clv_buf *out);

typedef enum text_paint {
    PAINT_NONE,
    PAINT_BOLD,
    PAINT_DIM,
    PAINT_RED,
    PAINT_YELLOW,
    PAINT_GREEN,
    PAINT_CYAN
} text_paint;

/* The escape codes that begin and end a colour; "" when colour is off. */
const char *paint_on(const clv_report_opts *o, text_paint p);
const char *paint_off(const clv_report_opts *o, text_paint p);

enum { TEXT_MAX = 64 };

/* All fill buf (TEXT_MAX bytes) and return it. */
const char *text_count(int64_t n, char *buf);  /* "4.09 G", "964" */
const char *text_bytes(int64_t n, char *buf);  /* "102.23 MB", "964 B" */
const char *text_digits(int64_t n, char *buf); /* "4,089,184,256" */
const char *text_time(double s, char *buf);    /* "1.23 ms"; "cannot" below 0 */
/* part / whole as "97.31 %"; "0.00 %" of nothing. */
const char *text_percent(int64_t part, int64_t whole, char *buf);
/* "[1, 64, 112, 112]" or "[batch=1, 8]", cut with "..." when too long. */
const char *text_shape(const clv_value_info *v, char *buf);

/* Columns a text takes on a terminal: wide characters are two, combining and
 * malformed ones none. */
uint32_t text_width(const char *text, size_t len);

/* Appends text of a model file: control characters and malformed bytes become
 * '?', so that a name cannot drive the terminal. */
void text_clean(clv_buf *out, const char *text);
/* The same of what a format makes, however long it is. */
void text_vprint(clv_buf *out, const char *fmt, va_list ap);
/* "  and 5 more (HOW)": rows that were left out, and what shows them if the
 * caller said so. */
void text_rest(clv_buf *out, const clv_report_opts *o, uint32_t n);
/* Text that Markdown shows as it is: no name becomes a link, a row or markup.
 */
void text_markdown(clv_buf *out, const char *text, size_t len);
/* An empty line, unless it is the first, then "Title:" in bold; a heading where
 * the text is Markdown. */
void text_heading(clv_buf *out, const clv_report_opts *o, const char *fmt, ...)
    CLV_PRINTF(3, 4);
void text_spaces(clv_buf *out, uint32_t n);
/* "  Label:   ", as wide for every label of a section. */
void text_label(clv_buf *out, const char *label);
/* A label, its value and the end of the line. */
void text_field(clv_buf *out, const char *label, const char *fmt, ...)
    CLV_PRINTF(3, 4);
/* The same with a count, short and exact: "4.09 G (4,089,184,256)". */
void text_field_count(clv_buf *out, const char *label, int64_t n);
/* Prose wrapped to the width; every line begins with `indent` spaces. */
void text_wrap(clv_buf *out, const clv_report_opts *o, uint32_t indent,
               const char *fmt, ...) CLV_PRINTF(4, 5);

/* A bar of part / whole, `cells` wide, in eighths of a cell. */
void text_bar(clv_buf *out, double part, double whole, uint32_t cells);
/* One of eight heights per value, the largest is full: "▁▃█▂". */
void text_spark(clv_buf *out, const double *values, uint32_t n);

#endif
