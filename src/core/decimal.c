/* decimal.c - the shortest text that reads back as the same number.
 *
 * A double is m * 2^-s. For the sizes reports are full of, from 0.0001 to
 * 10^15, its first d digits are the integer nearest to m * 10^k / 2^s, which
 * 128 bits hold exactly; they read back as the double when they are less than
 * half a step of m away. Other doubles go through printf and strtod. */
#include "core/decimal.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t clv__int_text(int64_t value, char *buf)
{
    static const char pairs[] = "0001020304050607080910111213141516171819"
                                "2021222324252627282930313233343536373839"
                                "4041424344454647484950515253545556575859"
                                "6061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char digits[20], *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (; rest >= 10; rest /= 100)
        memcpy(at -= 2, pairs + 2 * (rest % 100), 2);
    if (rest || at == digits + sizeof digits)
        *--at = (char)('0' + rest);
    size_t n = (size_t)(digits + sizeof digits - at), len = value < 0;
    if (value < 0)
        *buf = '-';
    memcpy(buf + len, at, n);
    buf[len + n] = '\0';
    return len + n;
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

/* -- whatever the locale --------------------------------------------------*/

/* The C locale; 0 when there is no memory for it. */
static locale_t plain_locale(void)
{
    static _Atomic(locale_t) known;
    locale_t l = atomic_load(&known), none = (locale_t)0;
    if (l)
        return l;
    l = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (l && !atomic_compare_exchange_strong(&known, &none, l)) {
        freelocale(l); /* another thread came first */
        l = none;
    }
    return l;
}

/* Sets the C locale for this thread if the one it has writes another point
 * than "."; returns what it had, for uselocale, or 0. */
static locale_t enter_plain(void)
{
    const char *point = nl_langinfo(RADIXCHAR);
    if (point[0] == '.' && point[1] == '\0')
        return (locale_t)0;
    locale_t plain = plain_locale();
    return plain ? uselocale(plain) : (locale_t)0;
}

static void leave_plain(locale_t before)
{
    if (before)
        uselocale(before);
}

int clv_vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
    locale_t before = enter_plain();
    int n = vsnprintf(buf, size, fmt, ap);
    leave_plain(before);
    return n;
}

int clv_format(char *buf, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = clv_vformat(buf, size, fmt, ap);
    va_end(ap);
    return n;
}

double clv_text_double(const char *text, char **end)
{
    locale_t before = enter_plain();
    double x = strtod(text, end);
    leave_plain(before);
    return x;
}

static size_t slow_text(double value, char *buf, size_t size)
{
    for (int digits = 15; digits < 17; digits++) {
        clv_format(buf, size, "%.*g", digits, value);
        if (clv_text_double(buf, NULL) == value)
            return strlen(buf);
    }
    return (size_t)clv_format(buf, size, "%.17g", value);
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

/* A double below 2^43 is m / 2^s with s > 9, and m * 100 fits 60 bits: the
 * hundredths are an integer division, rounded to the nearest, a tie to the even
 * one, as printf does. */
size_t clv__fixed_text(double value, char *buf, size_t size)
{
    uint64_t bits, one = (uint64_t)1 << 52;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 63;
    unsigned exponent = (unsigned)(bits >> 52) & 0x7ff;
    if (exponent >= 1023 + 43) { /* also infinite and not a number */
        int n = clv_format(buf, size, "%.2f", value);
        return n < (int)size ? (size_t)n : size - 1;
    }
    uint64_t scaled = exponent ? (one | (bits & (one - 1))) * 100 : 0,
             cents = 0;
    unsigned s = 1075 - exponent;
    if (s < 62) {
        uint64_t half = (uint64_t)1 << (s - 1), rest;
        cents = scaled >> s;
        rest = scaled - (cents << s);
        cents += rest > half || (rest == half && cents & 1);
    }
    size_t n = 0;
    if (negative)
        buf[n++] = '-';
    n += clv__int_text((int64_t)(cents / 100), buf + n);
    buf[n++] = '.';
    buf[n++] = (char)('0' + cents / 10 % 10);
    buf[n++] = (char)('0' + cents % 10);
    buf[n] = '\0';
    return n;
}
