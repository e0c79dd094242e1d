/* decimal.h - numbers as decimal text. */
#ifndef CLV_DECIMAL_H
#define CLV_DECIMAL_H

#include "cleave/base.h"

/* The shortest decimal text of a finite double, into buf; returns its length.
 * `size` is at least 32. */
size_t clv__double_text(double value, char *buf, size_t size);
/* A double with two decimals into buf, as "%.2f" writes it in the C locale;
 * returns its length. `size` is at least 32; what is longer is cut. */
size_t clv__fixed_text(double value, char *buf, size_t size);
/* Decimal digits of an integer into buf (at least 21 bytes). */
size_t clv__int_text(int64_t value, char *buf);

#endif
