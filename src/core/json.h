/* json.h - a small JSON reader for the files users write and models carry.
 *
 * A document becomes a tree of nodes in an arena: children of a node are a
 * chain in the order of the text. Integers that fit int64 stay exact; every
 * node knows its line, so that whoever rejects a value can say where. */
#ifndef CLV_JSON_H
#define CLV_JSON_H

#include "core/core.h"

typedef enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,    /* i */
    JSON_NUMBER, /* d: anything that is not an exact int64 */
    JSON_STRING, /* s, NUL-terminated, n bytes */
    JSON_ARRAY,
    JSON_OBJECT
} json_type;

typedef struct json json;
struct json {
    json_type type;
    uint32_t line;
    const char *key; /* in an object, else NULL */
    json *next;      /* sibling */
    json *child;     /* first of an array or object */
    uint32_t n;      /* children, or bytes of a string */
    union {
        bool b;
        int64_t i;
        double d;
        const char *s;
    } u;
};

/* Parses a whole document of at most 64 levels. Everything is in the arena.
 * Fails with CLV_FORMAT, naming line and column. */
CLV_MUST clv_status json_parse(arena *a, const char *text, size_t len,
                               const json **root, clv_err *e);

/* Returns the member called key. Returns NULL when it is absent or null, or
 * when obj is not an object. */
const json *json_get(const json *obj, const char *key);
/* Return the member called key, or `otherwise` when it is absent or of another
 * type. */
int64_t json_int(const json *obj, const char *key, int64_t otherwise);
double json_number(const json *obj, const char *key, double otherwise);
const char *json_string(const json *obj, const char *key,
                        const char *otherwise);
bool json_bool(const json *obj, const char *key, bool otherwise);
const char *json_type_name(json_type t);

#endif
