/* table.h - aligned tables: describe the columns, add cells row by row, print.
 *
 *     static const table_col cols[] = {
 *         {"Module", TABLE_CUT}, {"MACs", TABLE_RIGHT}};
 *     table t;
 *     table_start(&t, cols, 2);
 *     table_indent(&t, 2); table_text(&t, "conv1"); table_count(&t, macs);
 *     table_print(&t, opts, out);
 *
 * Columns are as wide as their widest cell, by display width. Where the table
 * is wider than opts->width, a TABLE_WRAP column is folded into several lines,
 * cells of TABLE_CUT columns lose their middle ("lay...0.conv1"), the widest
 * first, and TABLE_DROP columns are left out before names become unreadable.
 * Text of model files is shown without control characters, so a name cannot
 * drive the terminal. */
#ifndef CLV_REPORT_TABLE_H
#define CLV_REPORT_TABLE_H

#include "report/text.h"

enum {
    TABLE_LEFT = 0,
    TABLE_RIGHT = 1,
    TABLE_CUT = 2,  /* may lose its middle */
    TABLE_WRAP = 4, /* words go on below; the last column only */
    TABLE_DROP = 8, /* left out where there is no room, from the right */
    TABLE_COLS = 24
};

typedef struct table_col {
    const char *head;
    unsigned flags;
} table_col;

typedef struct table_item {
    size_t start, len; /* in the table's text */
    uint32_t width;
    text_paint paint;
} table_item;

typedef struct table {
    table_col cols[TABLE_COLS];
    uint32_t n_cols;
    clv_buf text;
    table_item *items; /* rows of n_cols */
    size_t n_items, cap_items;
    uint32_t margin; /* spaces before every line; set it before printing */
    uint32_t indent;
    text_paint paint;
    bool failed;
} table;

/* Copies cols; the heads are borrowed. */
void table_start(table *t, const table_col *cols, uint32_t n);
/* One more column, before the first cell: for columns that an option adds. */
void table_add_col(table *t, const char *head, unsigned flags);

/* The next cell begins with 2 * depth spaces, or has this colour. */
void table_indent(table *t, uint32_t depth);
void table_color(table *t, text_paint paint);

void table_text(table *t, const char *text);
void table_printf(table *t, const char *fmt, ...) CLV_PRINTF(2, 3);
void table_count(table *t, int64_t n);  /* "4.09 G" */
void table_bytes(table *t, int64_t n);  /* "102.23 MB" */
void table_digits(table *t, int64_t n); /* "4,089,184,256" */
void table_percent(table *t, int64_t part, int64_t whole);
void table_num(table *t, double x); /* two decimals */
void table_shape(table *t, const clv_value_info *v);
void table_bar(table *t, double part, double whole, uint32_t cells);

/* Prints head, rule and rows, and frees the table. An unfinished last row is
 * a bug (assert). */
void table_print(table *t, const clv_report_opts *o, clv_buf *out);

#endif
