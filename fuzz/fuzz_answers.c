/* fuzz_answers.c - any bytes as what an external command answers
 * (--backend cmd:...). */
#include "fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const clv_backend_opts o = {.size = sizeof o, .timeout = 5};
    char spec[700];
    clv_backend *b;
    clv_support *s;
    snprintf(spec, sizeof spec, "cmd:cat %s", fuzz_file("answers", data, size));
    if (clv_backend_open(spec, &o, &b, NULL) != CLV_OK)
        return 0;
    if (clv_support_new(b, fuzz_tiny(), &s, NULL) == CLV_OK)
        clv_support_free(s);
    clv_backend_free(b);
    return 0;
}
