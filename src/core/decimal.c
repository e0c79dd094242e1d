/* decimal.c - the shortest text that reads back as the same number.
 *
 * A double is m * 2^-s. For the sizes reports are full of, from 0.0001 to
 * 10^15, its first d digits are the integer nearest to m * 10^k / 2^s, which
 * 128 bits hold exactly; they read back as the double when they are less than
 * half a step of m away. Other doubles go through printf and strtod. */
#include "core/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t clv__int_text(int64_t value, char *buf)
{
    char digits[20];
    size_t n = 0, len = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        buf[len++] = '-';
    while (n)
        buf[len++] = digits[--n];
    buf[len] = '\0';
    return len;
}

__extension__ typedef unsigned __int128 wide;

static wide decimal_power(int k)
{
    wide p = 1;
    while (k-- > 0)
        p *= 10;
    return p;
}

/* Returns the first `digits` digits of m / 2^s, or 0 when `ten` is not the
 * power of ten of the first one. *exact says whether they read back as the same
 * number. */
static uint64_t decimal_leading(uint64_t m, int s, int ten, int digits,
                                bool *exact)
{
    wide unit = decimal_power(digits - 1 - ten), scaled = m * unit;
    wide half = (wide)1 << (s - 1), q = scaled >> s;
    wide rest = scaled - (q << s);
    if (rest > half || (rest == half && (q & 1)))
        q++;
    wide back = q << s, off = back > scaled ? back - scaled : scaled - back;
    *exact = 2 * off < unit || (2 * off == unit && !(m & 1));
    return q >= decimal_power(digits - 1) && q < decimal_power(digits)
               ? (uint64_t)q
               : 0;
}

/* Writes "0.00123" or "12.3" from digits and the power of ten of the first
 * one. */
static size_t place_point(uint64_t digits, int ten, bool negative, char *buf)
{
    char text[24], *at = buf;
    while (digits % 10 == 0)
        digits /= 10;
    size_t n = clv__int_text((int64_t)digits, text);
    size_t whole = ten < 0 ? 0 : (size_t)ten + 1;
    if (negative)
        *at++ = '-';
    if (whole == 0)
        *at++ = '0';
    memcpy(at, text, whole);
    at += whole;
    *at++ = '.';
    for (int i = -1; i > ten; i--)
        *at++ = '0';
    memcpy(at, text + whole, n - whole + 1);
    return (size_t)(at - buf) + n - whole;
}

/* -- numbers in another locale --------------------------------------------*/

/* Replaces what the locale writes between the digits by one '.'. */
static size_t plain_point(char *buf)
{
    size_t at = strspn(buf, "+-0123456789eE");
    size_t len = strcspn(buf + at, "0123456789");
    size_t rest = strlen(buf + at + len);
    if (len && rest) {
        buf[at] = '.';
        memmove(buf + at + 1, buf + at + len, rest + 1);
    }
    return strlen(buf);
}

/* Reads a copy of the number in which the first '.' is the locale's point. The
 * copy ends where the locale's point stands in the text. */
static double read_with(const char *point, const char *text, char **end)
{
    char copy[512], *stop;
    size_t n = 0, dot = SIZE_MAX, len = strlen(point);
    for (; text[n] && text[n] != point[0] && n + len < sizeof copy; n++) {
        if (text[n] == '.')
            break;
        copy[n] = text[n];
    }
    if (text[n] == '.') {
        dot = n;
        memcpy(copy + n, point, len);
        for (n += len; n + 1 < sizeof copy && text[n - len + 1] &&
                       text[n - len + 1] != point[0];
             n++)
            copy[n] = text[n - len + 1];
    }
    copy[n] = '\0';
    double x = strtod(copy, &stop);
    size_t used = (size_t)(stop - copy);
    if (end)
        *end = (char *)(uintptr_t)(text + (used > dot ? used - len + 1 : used));
    return x;
}

double clv__text_double(const char *text, char **end)
{
    char half[16]; /* "0.5", "0,5" */
    snprintf(half, sizeof half, "%.1f", 0.5);
    size_t n = strlen(half);
    if (n < 3 || !strcmp(half, "0.5"))
        return strtod(text, end);
    half[n - 1] = '\0';
    return read_with(half + 1, text, end);
}

static size_t slow_text(double value, char *buf, size_t size)
{
    for (int digits = 15; digits < 17; digits++) {
        snprintf(buf, size, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            return plain_point(buf);
    }
    snprintf(buf, size, "%.17g", value);
    return plain_point(buf);
}

size_t clv__double_text(double value, char *buf, size_t size)
{
    double x = fabs(value), above = 1e-3;
    if (x < 1e15 && x == (double)(int64_t)x)
        return clv__int_text((int64_t)value, buf);
    uint64_t bits, one = (uint64_t)1 << 52;
    memcpy(&bits, &x, sizeof bits);
    uint64_t m = one | (bits & (one - 1));
    bool small = x >= 1e-4 && x < 1e15;
    if (!small || m == one) /* the double just below a power of two is half a
                             * step away */
        return slow_text(value, buf, size);
    int ten = -4;
    for (; x >= above; above *= 10)
        ten++;
    for (int digits = 15; digits <= 17; digits++) {
        bool exact;
        uint64_t q =
            decimal_leading(m, 1075 - (int)(bits >> 52), ten, digits, &exact);
        if (q && (exact || digits == 17))
            return place_point(q, ten, value < 0, buf);
    }
    return slow_text(value, buf, size);
}
