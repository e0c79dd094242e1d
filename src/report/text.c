/* text.c - numbers with units, colours, prose and bars for text reports. */
#include "report/text.h"

#include "core/decimal.h"

#include <stdio.h>
#include <string.h>

const clv_report_opts *clv__report_opts(const clv_report_opts *given,
                                        clv_report_opts *own, clv_buf *out)
{
    if (clv__read_sized(given, own, sizeof *own, "clv_report_opts", NULL)) {
        out->failed = true;
        return NULL;
    }
    return own;
}

static const char *const codes[] = {
    [PAINT_NONE] = "",           [PAINT_BOLD] = "\033[1m",
    [PAINT_DIM] = "\033[2m",     [PAINT_RED] = "\033[31m",
    [PAINT_YELLOW] = "\033[33m", [PAINT_GREEN] = "\033[32m",
    [PAINT_CYAN] = "\033[36m",
};

const char *paint_on(const clv_report_opts *o, text_paint p)
{
    return o->color ? codes[p] : "";
}

const char *paint_off(const clv_report_opts *o, text_paint p)
{
    return o->color && p != PAINT_NONE ? "\033[0m" : "";
}

void text_rest(clv_buf *out, const clv_report_opts *o, uint32_t n)
{
    if (n == 0)
        return;
    if (o->format == CLV_REPORT_MARKDOWN)
        clv_buf_printf(out, "\n"); /* or it is a row of the table above */
    clv_buf_printf(out, "  and %u more", n);
    if (o->more)
        clv_buf_printf(out, " (%s)", o->more);
    clv_buf_printf(out, "\n");
}

/* -- numbers --------------------------------------------------------------*/

/* Two decimals, rounded on integers so that 999,999 is "1.00 M". */
static const char *text_scaled(int64_t n, const char *unit, char *buf)
{
    static const char prefixes[] = "\0KMGTPE";
    uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    uint64_t step = 1;
    int i = 0;
    while (size / step >= 1000 && i < 6) {
        step *= 1000;
        i++;
    }
    uint64_t cent = step >= 100 ? step / 100 : 1;
    uint64_t hundredths = size / cent + (size % cent >= cent - cent / 2);
    if (i && i < 6 && hundredths >= 100000) {
        hundredths = 100;
        i++;
    }
    char *at = buf;
    if (n < 0)
        *at++ = '-';
    at += clv__int_text((int64_t)(i ? hundredths / 100 : size), at);
    if (i) {
        *at++ = '.';
        *at++ = (char)('0' + hundredths / 10 % 10);
        *at++ = (char)('0' + hundredths % 10);
    }
    if (i || *unit)
        *at++ = ' ';
    if (i)
        *at++ = prefixes[i];
    memcpy(at, unit, strlen(unit) + 1);
    return buf;
}

const char *text_count(int64_t n, char *buf)
{
    return text_scaled(n, "", buf);
}

const char *text_bytes(int64_t n, char *buf)
{
    return text_scaled(n, "B", buf);
}

const char *text_digits(int64_t n, char *buf)
{
    char plain[24];
    size_t len = clv__int_text(n, plain), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0 && plain[i - 1] != '-')
            buf[at++] = ',';
        buf[at++] = plain[i];
    }
    buf[at] = '\0';
    return buf;
}

const char *text_time(double s, char *buf)
{
    static const struct {
        double least;
        const char *unit;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {0, "ns"}};
    if (s < 0) {
        snprintf(buf, TEXT_MAX, "cannot");
        return buf;
    }
    int i = 0;
    while (s < units[i].least)
        i++;
    double scale = units[i].least > 0 ? units[i].least : 1e-9;
    size_t n = clv__fixed_text(s / scale, buf, TEXT_MAX - 4);
    buf[n] = ' ';
    memcpy(buf + n + 1, units[i].unit, strlen(units[i].unit) + 1);
    return buf;
}

const char *text_percent(int64_t part, int64_t whole, char *buf)
{
    double share = whole ? 100.0 * (double)part / (double)whole : 0;
    size_t n = clv__fixed_text(share, buf, TEXT_MAX - 3);
    memcpy(buf + n, " %", 3);
    return buf;
}

const char *text_shape(const clv_value_info *v, char *buf)
{
    size_t at = 0;
    if (v->sequence)
        at = (size_t)(v->count == CLV_NONE
                          ? snprintf(buf, TEXT_MAX, "any of ")
                          : snprintf(buf, TEXT_MAX, "%u of ", v->count));
    if (v->rank == CLV_NONE) {
        snprintf(buf + at, TEXT_MAX - at, "[?]");
        return buf;
    }
    buf[at++] = '[';
    for (uint32_t i = 0; i < v->rank; i++) {
        char dim[TEXT_MAX];
        const char *name = v->dim_names ? v->dim_names[i] : NULL;
        size_t n = 0, len = name ? strlen(name) : 0;
        if (i) {
            dim[n++] = ',';
            dim[n++] = ' ';
        }
        if (name && len < sizeof dim - 24) {
            memcpy(dim + n, name, len);
            n += len;
            dim[n++] = '=';
        }
        n += clv__int_text(v->dims[i], dim + n);
        if (at + n + 6 > TEXT_MAX) {
            memcpy(buf + at, ", ...", 5);
            at += 5;
            break;
        }
        memcpy(buf + at, dim, n);
        at += n;
    }
    buf[at++] = ']';
    buf[at] = '\0';
    return buf;
}

/* -- width ----------------------------------------------------------------*/

static uint32_t code_width(uint32_t c)
{
    static const struct {
        uint32_t first, last, width;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0},
        {0x20d0, 0x20ff, 0},   {0x2e80, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},
        {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0}, {0xfe30, 0xfe6f, 2},
        {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2},
        {0x20000, 0x3fffd, 2},
    };
    if (c < 0x0300)
        return c >= 0x20 && c != 0x7f;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

/* How many characters of plain ASCII text begins with, at most len. */
static size_t ascii_run(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (unsigned char)(text[n] - ' ') < 0x7f - ' ')
        n++;
    return n;
}

uint32_t text_width(const char *text, size_t len)
{
    size_t plain = ascii_run(text, len);
    uint32_t width = (uint32_t)plain, code;
    for (size_t i = plain; i < len;) {
        size_t n = clv__utf8(text + i, &code);
        if (n)
            width += code_width(code);
        i += n ? n : 1;
    }
    return width;
}

/* -- prose ----------------------------------------------------------------*/

void text_clean(clv_buf *out, const char *text)
{
    size_t run = ascii_run(text, SIZE_MAX);
    clv_buf_add(out, text, run);
    for (const char *s = text + run; *s;) {
        uint32_t code;
        size_t n = clv__utf8(s, &code);
        bool plain = n && clv__is_shown(code);
        clv_buf_add(out, plain ? s : "?", plain ? n : 1);
        s += n ? n : 1;
    }
}

/* Formats into `few`, or into memory of its own when that is too small. Returns
 * NULL when there is none; *more is to be freed. */
static char *text_formatted(char *few, size_t size, char **more,
                            const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = clv_vformat(few, size, fmt, ap);
    char *text = n >= 0 ? few : NULL;
    *more = NULL;
    if (text && (size_t)n >= size) {
        text = *more = clv__alloc((size_t)n + 1);
        if (text)
            clv_vformat(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return text;
}

void text_vprint(clv_buf *out, const char *fmt, va_list ap)
{
    char few[256], *more;
    const char *text = text_formatted(few, sizeof few, &more, fmt, ap);
    if (text)
        text_clean(out, text);
    else
        out->failed = true;
    clv__free(more);
}

void text_markdown(clv_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr("\\`*_[]<>|&#!~$@", text[i]))
            clv_buf_add(out, "\\", 1);
        clv_buf_add(out, text + i, 1);
    }
}

void text_heading(clv_buf *out, const clv_report_opts *o, const char *fmt, ...)
{
    va_list ap;
    if (o->format == CLV_REPORT_MARKDOWN) {
        clv_buf text = {0};
        va_start(ap, fmt);
        text_vprint(&text, fmt, ap);
        va_end(ap);
        clv_buf_printf(out, "%s### ", out->len ? "\n" : "");
        if (text.text)
            text_markdown(out, text.text, text.len);
        clv_buf_printf(out, "\n");
        out->failed = out->failed || text.failed;
        clv_buf_free(&text);
        return;
    }
    clv_buf_printf(out, "%s%s", out->len ? "\n" : "", paint_on(o, PAINT_BOLD));
    va_start(ap, fmt);
    text_vprint(out, fmt, ap);
    va_end(ap);
    clv_buf_printf(out, ":%s\n", paint_off(o, PAINT_BOLD));
}

void text_spaces(clv_buf *out, uint32_t n)
{
    if (!n || !clv__buf_room(out, n))
        return;
    memset(out->text + out->len, ' ', n);
    out->len += n;
    out->text[out->len] = '\0';
}

void text_label(clv_buf *out, const char *label)
{
    enum { LABEL = 22 };
    size_t len = strlen(label);
    clv_buf_add(out, "  ", 2);
    clv_buf_add(out, label, len);
    text_spaces(out, len < LABEL ? (uint32_t)(LABEL - len) + 1 : 1);
}

void text_field(clv_buf *out, const char *label, const char *fmt, ...)
{
    va_list ap;
    text_label(out, label);
    va_start(ap, fmt);
    text_vprint(out, fmt, ap);
    va_end(ap);
    clv_buf_add(out, "\n", 1);
}

void text_field_count(clv_buf *out, const char *label, int64_t n)
{
    char a[TEXT_MAX], b[TEXT_MAX];
    text_field(out, label, "%s (%s)", text_count(n, a), text_digits(n, b));
}

void text_wrap(clv_buf *out, const clv_report_opts *o, uint32_t indent,
               const char *fmt, ...)
{
    char few[2048], *more;
    va_list ap;
    va_start(ap, fmt);
    char *prose = text_formatted(few, sizeof few, &more, fmt, ap);
    va_end(ap);
    uint32_t at = 0;
    out->failed = out->failed || !prose;
    for (char *word = prose, *next; prose && *word; word = next) {
        size_t len = strcspn(word, " ");
        uint32_t width = text_width(word, len);
        next = word + len + (word[len] == ' ');
        word[len] = '\0';
        if (at && o->width && at + 1 + width > o->width) {
            clv_buf_add(out, "\n", 1);
            at = 0;
        }
        text_spaces(out, at ? 1 : indent);
        text_clean(out, word);
        at += (at ? 1 : indent) + width;
    }
    clv_buf_add(out, "\n", 1);
    clv__free(more);
}

/* -- pictures -------------------------------------------------------------*/

void text_bar(clv_buf *out, double part, double whole, uint32_t cells)
{
    static const char *const eighths[] = {"",  "▏", "▎", "▍",
                                          "▌", "▋", "▊", "▉"};
    double fill = whole > 0 && part > 0 ? part / whole : 0;
    uint32_t n = (uint32_t)((fill < 1 ? fill : 1) * 8 * cells + 0.5);
    for (uint32_t i = 0; i < n / 8; i++)
        clv_buf_add(out, "█", strlen("█"));
    clv_buf_add(out, eighths[n % 8], strlen(eighths[n % 8]));
}

void text_spark(clv_buf *out, const double *values, uint32_t n)
{
    static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    for (uint32_t i = 0; i < n; i++) {
        int step =
            most > 0 && values[i] > 0 ? (int)(values[i] / most * 7 + 0.5) : 0;
        clv_buf_add(out, steps[step], strlen(steps[step]));
    }
}
