/* jsonw.h - writes JSON into a text buffer.
 *
 *     jsonw w;
 *     jsonw_start(&w, out, JSONW_LINES);
 *     jsonw_object(&w, NULL);
 *     jsonw_int(&w, "schema", 1);
 *     jsonw_array(&w, "layers");
 *     jsonw_object(&w, NULL); jsonw_str(&w, "name", "conv1"); jsonw_end(&w);
 *     jsonw_end(&w);
 *     jsonw_end(&w);
 *     jsonw_finish(&w);
 *
 * Every word takes the key first: NULL in an array, never NULL in an object.
 * Nesting is checked by assert. Integers are exact; doubles are the shortest
 * text that reads back as the same number, NaN and infinities are null; text
 * is UTF-8, with what is not replaced by U+FFFD. */
#ifndef CLV_JSONW_H
#define CLV_JSONW_H

#include "core/core.h"
#include "core/decimal.h"

enum { JSONW_DEPTH = 32 };

typedef enum jsonw_style {
    JSONW_COMPACT, /* no white space at all */
    JSONW_LINES,   /* a line per member; an object in an array is one line */
    JSONW_PRETTY   /* a line per member everywhere; lists of numbers are one */
} jsonw_style;

typedef struct jsonw {
    clv_buf *out;
    jsonw_style style;
    int depth;
    int flat; /* depth below which all is one line; 0: nowhere */
    struct {
        char close;
        bool any;
    } level[JSONW_DEPTH];
} jsonw;

void jsonw_start(jsonw *w, clv_buf *out, jsonw_style style);
/* Ends the text with a newline; every level must be closed. */
void jsonw_finish(jsonw *w);

void jsonw_object(jsonw *w, const char *key);
void jsonw_array(jsonw *w, const char *key);
/* The same, kept on one line in every style. */
void jsonw_object_flat(jsonw *w, const char *key);
void jsonw_array_flat(jsonw *w, const char *key);
void jsonw_end(jsonw *w);

void jsonw_int(jsonw *w, const char *key, int64_t value);
void jsonw_num(jsonw *w, const char *key, double value);
void jsonw_bool(jsonw *w, const char *key, bool value);
void jsonw_null(jsonw *w, const char *key);
/* NULL writes null. */
void jsonw_str(jsonw *w, const char *key, const char *value);
void jsonw_ints(jsonw *w, const char *key, const int64_t *values, uint32_t n);
void jsonw_strs(jsonw *w, const char *key, const char *const *values,
                uint32_t n);

#endif
