/* quantity.c - numbers with units, as people write budgets: 4.2G, 100MB. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* K, M, G, T are powers of 1000; Ki, Mi, Gi, Ti of 1024; a final B is bytes
 * and changes nothing. */
bool parse_quantity(const char *text, int64_t *out)
{
    static const char letters[] = "KMGT";
    char *end;
    double x = clv_text_double(text, &end);
    if (end == text || !(x > 0) || isinf(x))
        return false;
    const char *unit = *end ? strchr(letters, cli_upper(*end)) : 0;
    if (unit && *unit) {
        end++;
        double base = *end == 'i' ? 1024 : 1000;
        end += *end == 'i';
        x *= pow(base, (double)(unit - letters) + 1);
    }
    end += *end == 'B' || *end == 'b';
    x = round(x);
    if (*end || x < 1 || x >= 9.2e18)
        return false;
    *out = (int64_t)x;
    return true;
}

bool parse_seconds(const char *text, double *out)
{
    static const struct {
        const char *name;
        double scale;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    char *end;
    double x = clv_text_double(text, &end);
    if (end == text || !(x > 0) || isinf(x))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].name)) {
            *out = x * units[i].scale;
            return true;
        }
    return false;
}
