/* fuzz_json.c - any text through the JSON reader; what it accepts, the writer
 * must write and the reader read again as the same number of values. */
#include "core/json.h"
#include "core/jsonw.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const json *v)
{
    size_t n = 1;
    for (const json *m = v->child; m; m = m->next)
        n += count(m);
    return n;
}

static void copy(jsonw *w, const char *key, const json *v)
{
    switch (v->type) {
    case JSON_NULL:
        jsonw_null(w, key);
        break;
    case JSON_BOOL:
        jsonw_bool(w, key, v->u.b);
        break;
    case JSON_INT:
        jsonw_int(w, key, v->u.i);
        break;
    case JSON_NUMBER:
        jsonw_num(w, key, v->u.d);
        break;
    case JSON_STRING:
        jsonw_str(w, key, v->u.s);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (v->type == JSON_ARRAY)
            jsonw_array(w, key);
        else
            jsonw_object(w, key);
        for (const json *m = v->child; m; m = m->next)
            copy(w, m->key, m);
        jsonw_end(w);
        break;
    }
}

static size_t depth(const json *v)
{
    size_t d = 0;
    for (const json *m = v->child; m; m = m->next) {
        size_t below = depth(m);
        d = below > d ? below : d;
    }
    return d + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a = {0};
    const json *root, *again;
    if (json_parse(&a, (const char *)data, size, &root, NULL) == CLV_OK &&
        size < 4096 && depth(root) < JSONW_DEPTH) {
        clv_buf out = {0};
        jsonw w;
        jsonw_start(&w, &out, JSONW_COMPACT);
        copy(&w, NULL, root);
        jsonw_finish(&w);
        clv_status s = json_parse(&a, out.text, out.len, &again, NULL);
        assert(s == CLV_OK && count(root) == count(again));
        (void)s;
        clv_buf_free(&out);
    }
    arena_free(&a);
    return 0;
}
