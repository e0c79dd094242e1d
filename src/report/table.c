/* table.c - aligned tables.
 *
 * Cells are kept in one text buffer, with where they lie and how wide they
 * are; widths are known when the last cell is in, so printing is one pass. */
#include "report/table.h"

#include "core/decimal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { GAP = 2, CUT_SOFT = 16, CUT_MIN = 12, WRAP_MIN = 20 };

/* No column is wider, on any output: one long name pads every row. */
enum { WIDTH_MAX = 200 };

/* The width of a column that is left out. */
#define DROPPED UINT32_MAX

void table_start(table *t, const table_col *cols, uint32_t n)
{
    *t = (table){0};
    for (uint32_t i = 0; i < n; i++)
        table_add_col(t, cols[i].head, cols[i].flags);
}

void table_add_col(table *t, const char *head, unsigned flags)
{
    assert(t->n_cols < TABLE_COLS && t->n_items == 0);
    t->cols[t->n_cols++] = (table_col){head, flags};
}

void table_indent(table *t, uint32_t depth)
{
    t->indent = 2 * depth;
}

void table_color(table *t, text_paint paint)
{
    t->paint = paint;
}

/* -- cells ----------------------------------------------------------------*/

static void begin_cell(table *t)
{
    if (!CLV_GROW(t->items, t->n_items, t->cap_items)) {
        t->failed = true;
        return;
    }
    t->items[t->n_items] = (table_item){t->text.len, 0, 0, t->paint};
    text_spaces(&t->text, t->indent);
}

static void end_cell(table *t)
{
    t->indent = 0;
    t->paint = PAINT_NONE;
    if (t->failed || t->text.failed) {
        t->failed = true;
        return;
    }
    table_item *i = &t->items[t->n_items++];
    i->len = t->text.len - i->start;
    i->width = text_width(t->text.text + i->start, i->len);
}

void table_text(table *t, const char *text)
{
    begin_cell(t);
    text_clean(&t->text, text);
    end_cell(t);
}

void table_printf(table *t, const char *fmt, ...)
{
    va_list ap;
    begin_cell(t);
    va_start(ap, fmt);
    text_vprint(&t->text, fmt, ap);
    va_end(ap);
    end_cell(t);
}

void table_count(table *t, int64_t n)
{
    char buf[TEXT_MAX];
    table_text(t, text_count(n, buf));
}

void table_bytes(table *t, int64_t n)
{
    char buf[TEXT_MAX];
    table_text(t, text_bytes(n, buf));
}

void table_digits(table *t, int64_t n)
{
    char buf[TEXT_MAX];
    table_text(t, text_digits(n, buf));
}

void table_percent(table *t, int64_t part, int64_t whole)
{
    char buf[TEXT_MAX];
    table_text(t, text_percent(part, whole, buf));
}

void table_num(table *t, double x)
{
    char buf[TEXT_MAX];
    clv__fixed_text(x, buf, sizeof buf);
    table_text(t, buf);
}

void table_shape(table *t, const clv_value_info *v)
{
    char buf[TEXT_MAX];
    table_text(t, text_shape(v, buf));
}

void table_bar(table *t, double part, double whole, uint32_t cells)
{
    begin_cell(t);
    text_bar(&t->text, part, whole, cells);
    end_cell(t);
}

/* -- printing -------------------------------------------------------------*/

/* How narrow a column may become, before and after others are left out. */
static uint32_t least_width(const table_col *col, uint32_t width, uint32_t cut)
{
    uint32_t least = width;
    if (col->flags & TABLE_CUT)
        least = cut;
    if (col->flags & TABLE_WRAP)
        least = WRAP_MIN;
    return least < width ? least : width;
}

/* Takes `over` columns away from the widest that can give, one by one; returns
 * how many are still too many. */
static uint32_t table_shrink(const table *t, uint32_t over, uint32_t cut,
                             uint32_t *width)
{
    for (; over; over--) {
        uint32_t widest = CLV_NONE;
        for (uint32_t c = 0; c < t->n_cols; c++)
            if (width[c] != DROPPED &&
                width[c] > least_width(&t->cols[c], width[c], cut) &&
                (widest == CLV_NONE || width[c] > width[widest]))
                widest = c;
        if (widest == CLV_NONE)
            break;
        width[widest]--;
    }
    return over;
}

/* Leaves columns out, from the right, until `over` is made up for; returns how
 * many are still too many. */
static uint32_t table_drop(const table *t, uint32_t over, uint32_t *width)
{
    for (uint32_t c = t->n_cols; over && c-- > 1;) {
        if (!(t->cols[c].flags & TABLE_DROP))
            continue;
        uint32_t gain = width[c] + GAP;
        width[c] = DROPPED;
        over -= gain < over ? gain : over;
    }
    return over;
}

static void find_widths(const table *t, uint32_t limit, uint32_t *width)
{
    uint32_t total = t->margin;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        bool last = c + 1 == t->n_cols; /* it pads nothing */
        width[c] = text_width(t->cols[c].head, strlen(t->cols[c].head));
        for (size_t i = c; i < t->n_items; i += t->n_cols)
            if (t->items[i].width > width[c])
                width[c] = t->items[i].width;
        if (!last && width[c] > WIDTH_MAX)
            width[c] = WIDTH_MAX;
        total += width[c] + (c ? GAP : 0);
    }
    if (limit == 0 || total <= limit)
        return;
    uint32_t over = table_shrink(t, total - limit, CUT_SOFT, width);
    table_shrink(t, table_drop(t, over, width), CUT_MIN, width);
}

/* Bytes of the longest beginning of text that is at most `width` wide. */
static size_t table_fitting(const char *text, size_t len, uint32_t width)
{
    size_t at = 0;
    while (at < len) {
        uint32_t code;
        size_t n = clv__utf8(text + at, &code);
        if (text_width(text, at + n) > width)
            break;
        at += n;
    }
    return at;
}

/* Text without its middle: "lay...0.conv1"; more of the end is kept, where
 * paths differ. Exactly `width` columns unless a wide character does not fit.
 * Returns the columns it took. */
static uint32_t put_cut(clv_buf *out, const char *text, size_t len,
                        uint32_t width)
{
    uint32_t left = (width - 3) / 3, right = width - 3 - left;
    size_t head = table_fitting(text, len, left), tail = head;
    uint32_t rest = text_width(text + tail, len - tail), code;
    while (rest > right) {
        size_t n = clv__utf8(text + tail, &code);
        n = n ? n : 1;
        rest -= text_width(text + tail, n);
        tail += n;
    }
    clv_buf_add(out, text, head);
    clv_buf_add(out, "...", 3);
    clv_buf_add(out, text + tail, len - tail);
    return text_width(text, head) + 3 + rest;
}

static void table_put_words(clv_buf *out, const char *text)
{
    clv_buf_add(out, text, strlen(text));
}

/* The words of the last cell, on as many lines as they need. */
static void put_wrapped(clv_buf *out, const char *text, size_t len,
                        uint32_t width, uint32_t left)
{
    uint32_t at = 0;
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && text[i + n] != ' ')
            n++;
        uint32_t wide = text_width(text + i, n);
        if (at && at + 1 + wide > width) {
            clv_buf_add(out, "\n", 1);
            text_spaces(out, left);
            at = 0;
        }
        if (at)
            clv_buf_add(out, " ", 1);
        clv_buf_add(out, text + i, n);
        at += wide + (at > 0);
        i += n + 1;
    }
}

static void put_cell(const table *t, const clv_report_opts *o, uint32_t col,
                     const table_item *i, const uint32_t *widths, clv_buf *out)
{
    const char *text = t->text.text + i->start;
    uint32_t width = widths[col];
    if (t->cols[col].flags & TABLE_WRAP && i->width > width) {
        uint32_t left = t->margin;
        for (uint32_t c = 0; c < col; c++)
            left += widths[c] == DROPPED ? 0 : widths[c] + GAP;
        put_wrapped(out, text, i->len, width, left);
        return;
    }
    uint32_t pad = i->width < width ? width - i->width : 0;
    if (t->cols[col].flags & TABLE_RIGHT)
        text_spaces(out, pad);
    table_put_words(out, paint_on(o, i->paint));
    if (i->width > width)
        pad = width - put_cut(out, text, i->len, width);
    else
        clv_buf_add(out, text, i->len);
    table_put_words(out, paint_off(o, i->paint));
    if (!(t->cols[col].flags & TABLE_RIGHT) && col + 1 < t->n_cols)
        text_spaces(out, pad);
}

static void trim_line(clv_buf *out)
{
    while (out->len && !out->failed && out->text[out->len - 1] == ' ')
        out->text[--out->len] = '\0';
    clv_buf_add(out, "\n", 1);
}

static void table_put_head(const table *t, const clv_report_opts *o,
                           const uint32_t *width, clv_buf *out)
{
    uint32_t total = 0;
    text_spaces(out, t->margin);
    table_put_words(out, paint_on(o, PAINT_BOLD));
    for (uint32_t c = 0; c < t->n_cols; c++) {
        if (width[c] == DROPPED)
            continue;
        uint32_t gap = c ? GAP : 0;
        size_t len = strlen(t->cols[c].head);
        uint32_t pad = len < width[c] ? width[c] - (uint32_t)len : 0;
        bool right = t->cols[c].flags & TABLE_RIGHT;
        text_spaces(out, gap + (right ? pad : 0));
        clv_buf_add(out, t->cols[c].head, len);
        text_spaces(out, right ? 0 : pad);
        total += width[c] + gap;
    }
    if (!o->color)
        trim_line(out);
    else
        clv_buf_printf(out, "%s\n", paint_off(o, PAINT_BOLD));
    text_spaces(out, t->margin);
    for (uint32_t i = 0; i < total; i++)
        clv_buf_add(out, "-", 1);
    clv_buf_add(out, "\n", 1);
}

/* | a | b |
 * |---|--:| */
static void table_markdown(const table *t, clv_buf *out)
{
    clv_buf_printf(out, "%s|", out->len ? "\n" : "");
    for (uint32_t c = 0; c < t->n_cols; c++) {
        clv_buf_printf(out, " ");
        text_markdown(out, t->cols[c].head, strlen(t->cols[c].head));
        clv_buf_printf(out, " |");
    }
    clv_buf_printf(out, "\n|");
    for (uint32_t c = 0; c < t->n_cols; c++)
        clv_buf_printf(out, t->cols[c].flags & TABLE_RIGHT ? "--:|" : "---|");
    for (size_t i = 0; i < t->n_items; i++) {
        const table_item *x = &t->items[i];
        clv_buf_printf(out, i % t->n_cols ? " " : "\n| ");
        text_markdown(out, t->text.text + x->start, x->len);
        clv_buf_printf(out, " |");
    }
    clv_buf_printf(out, "\n");
}

void table_print(table *t, const clv_report_opts *o, clv_buf *out)
{
    uint32_t width[TABLE_COLS] = {0};
    if (t->failed) {
        out->failed = true;
    } else if (o->format == CLV_REPORT_MARKDOWN) {
        table_markdown(t, out);
    } else {
        assert(t->n_cols && t->n_items % t->n_cols == 0);
        find_widths(t, o->width, width);
        table_put_head(t, o, width, out);
        for (size_t i = 0; i < t->n_items; i++) {
            uint32_t c = (uint32_t)(i % t->n_cols);
            if (width[c] != DROPPED) {
                text_spaces(out, c ? GAP : t->margin);
                put_cell(t, o, c, &t->items[i], width, out);
            }
            if (c + 1 == t->n_cols)
                trim_line(out);
        }
    }
    clv_buf_free(&t->text);
    clv__free(t->items);
    *t = (table){0};
}
