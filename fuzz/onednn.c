/* onednn.c - the oneDNN backend as part of a target, not as a plugin: its code
 * is instrumented like the rest. */
#include "backend/plugin.h"
#include "fuzz.h"

extern const clv_plugin clv_plugin_entry;

clv_backend *fuzz_onednn(void)
{
    static clv_backend b;
    if (b.type)
        return &b;
    b.type = clv_plugin_entry.type;
    b.name = b.type->name;
    b.about = b.type->about;
    return b.type->open(&b, "", NULL) == CLV_OK ? &b : NULL;
}
