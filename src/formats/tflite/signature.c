/* signature.c - a TFLite file may hold several models: each signature names a
 * subgraph ("encode", "decode"). The first subgraph is taken, or the one of the
 * signature that was asked for. */
#include "formats/tflite/tflite.h"

#include <stdio.h>
#include <string.h>

enum {
    MODEL_SIGNATURES = 7,
    SIGNATURE_KEY = 2,
    SIGNATURE_SUBGRAPH = 4,
    NAMES_SHOWN = 8
};

/* "encode, decode, .." */
static void signature_names(flat *f, flat_vector all, char *buf, size_t size)
{
    size_t n = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < all.n && n + 1 < size; i++) {
        flat_text key = flat_string(f, flat_item(f, all, i), SIGNATURE_KEY);
        if (i == NAMES_SHOWN) {
            snprintf(buf + n, size - n, " and %u more", all.n - i);
            return;
        }
        int wrote = snprintf(buf + n, size - n, "%s%.*s", i ? ", " : "",
                             key.n < 64 ? (int)key.n : 64, key.s);
        n += wrote > 0 ? (size_t)wrote : 0;
    }
}

clv_status tfl_signature(tfl_model *m, int64_t *subgraph)
{
    flat *f = &m->f;
    flat_vector all = flat_list(f, flat_root(f), MODEL_SIGNATURES, 4);
    const char *asked = m->opts ? m->opts->signature : NULL;
    char names[640];
    *subgraph = 0;
    if (f->status != CLV_OK || (!asked && all.n < 2))
        return f->status;
    signature_names(f, all, names, sizeof names);
    clv__import_scrub(names, strlen(names));
    for (uint32_t i = 0; i < all.n; i++) {
        flat_table t = flat_item(f, all, i);
        flat_text key = flat_string(f, t, SIGNATURE_KEY);
        if (asked && key.n == strlen(asked) && !memcmp(key.s, asked, key.n)) {
            *subgraph = flat_u32(f, t, SIGNATURE_SUBGRAPH);
            return f->status;
        }
    }
    if (f->status != CLV_OK)
        return f->status;
    if (asked)
        return tfl_fail(m, CLV_USAGE, "no signature '%s'; it has %s", asked,
                        all.n ? names : "none");
    return clv__graph_warn(m->g,
                           "it has %u signatures: %s; the first subgraph is "
                           "taken",
                           all.n, names)
               ? CLV_OK
               : (f->status = clv__nomem(f->e));
}
