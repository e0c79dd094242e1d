/* csv.c - comma-separated rows. A comma is written before every cell that does
 * not begin a line, so a row needs no state. */
#include "report/csv.h"

#include "core/jsonw.h"

#include <math.h>
#include <string.h>

static void csv_separate(clv_buf *out)
{
    if (out->len && !out->failed && out->text[out->len - 1] != '\n')
        clv_buf_add(out, ",", 1);
}

/* Writes a cell without quotes. An empty first cell becomes "", so that the
 * next cell sees that the row has begun. */
static void csv_plain(clv_buf *out, const char *text, size_t len)
{
    csv_separate(out);
    clv_buf_add(out, len ? text : "\"\"", len ? len : 2);
}

/* Spreadsheets run a cell that begins with one of these as a formula. A quote
 * in front, which they do not show, makes it text. */
static bool csv_is_formula(const char *text)
{
    return *text && strchr("=+-@\t\r", *text);
}

void csv_text(clv_buf *out, const char *text)
{
    bool formula = csv_is_formula(text);
    if (!formula && !text[strcspn(text, ",\"\r\n")]) {
        csv_plain(out, text, strlen(text));
        return;
    }
    csv_separate(out);
    clv_buf_add(out, formula ? "\"'" : "\"", formula ? 2 : 1);
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\"");
        clv_buf_add(out, s, n);
        if (s[n])
            clv_buf_add(out, "\"\"", 2);
        s += n + (s[n] != '\0');
    }
    clv_buf_add(out, "\"", 1);
}

void csv_int(clv_buf *out, int64_t n)
{
    char text[24];
    csv_plain(out, text, clv__int_text(n, text));
}

void csv_num(clv_buf *out, double x)
{
    char text[32] = "";
    size_t n = isfinite(x) ? clv__double_text(x, text, sizeof text) : 0;
    csv_plain(out, text, n);
}

void csv_bool(clv_buf *out, bool b)
{
    csv_text(out, b ? "true" : "false");
}

void csv_shape(clv_buf *out, uint32_t rank, const int64_t *dims)
{
    char text[24 * CLV_MAX_RANK];
    size_t n = 0;
    for (uint32_t i = 0; rank != CLV_NONE && i < rank; i++) {
        if (i)
            text[n++] = 'x';
        n += clv__int_text(dims[i], text + n);
    }
    csv_plain(out, text, n);
}

void csv_row(clv_buf *out, const char *const *texts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        csv_text(out, texts[i]);
    csv_end(out);
}

void csv_end(clv_buf *out)
{
    clv_buf_add(out, "\n", 1);
}
