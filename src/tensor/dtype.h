/* dtype.h - what kind of number an element type holds. */
#ifndef CLV_DTYPE_H
#define CLV_DTYPE_H

#include "cleave/base.h"

typedef enum dtype_class {
    CLASS_NONE,
    CLASS_BOOL,
    CLASS_UINT,
    CLASS_INT,
    CLASS_FLOAT,
    CLASS_COMPLEX
} dtype_class;

dtype_class dtype_class_of(clv_dtype t);
bool dtype_is_integral(clv_dtype t); /* bool or an integer */
/* Any floating type, down to four bits; complex numbers are none. */
bool is_float(clv_dtype t);
bool is_float8(clv_dtype t);
/* Holds numbers below zero. */
bool is_signed(clv_dtype t);

#endif
