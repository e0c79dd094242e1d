/* text.c - the closest name (for "did you mean"), shell patterns, UTF-8. */
#include "core/core.h"

#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64, NEAR_MAX = 3 };

/* Returns the edit distance with swaps of neighbours, ignoring case. Only the
 * first WORD_MAX characters of a word count; no name of ours is longer. */
static int text_distance(const char *a, const char *b)
{
    size_t na = strnlen(a, WORD_MAX), nb = strnlen(b, WORD_MAX);
    int row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++)
        row[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *cur = row[i % 3], *prev = row[(i + 2) % 3],
            *old = row[(i + 1) % 3];
        cur[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int ca = clv__lower(a[i - 1]);
            int cb = clv__lower(b[j - 1]);
            int best = prev[j - 1] + (ca != cb);
            if (prev[j] + 1 < best)
                best = prev[j] + 1;
            if (cur[j - 1] + 1 < best)
                best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && ca == clv__lower(b[j - 2]) &&
                cb == clv__lower(a[i - 2]) && old[j - 2] + 1 < best)
                best = old[j - 2] + 1;
            cur[j] = best;
        }
    }
    return row[na % 3][nb];
}

/* Returns how far a name is from a word. A name that begins with the word is as
 * close as one with a single mistake: the word was cut short. */
static int text_far(const char *word, const char *name)
{
    enum { PREFIX_MIN = 4 };
    size_t n = strnlen(word, WORD_MAX), i = 0;
    while (i < n && clv__lower(word[i]) == clv__lower(name[i]))
        i++;
    return i == n && n >= PREFIX_MIN ? name[i] != '\0'
                                     : text_distance(word, name);
}

/* Finds the `max` closest names, closest first. Equally close names keep their
 * order. Returns how many there are. */
static uint32_t text_nearest(const char *word, uint32_t n,
                             const char *(*name)(const void *ctx, uint32_t i),
                             const void *ctx, uint32_t *out, uint32_t max)
{
    int far[NEAR_MAX], limit = (int)strnlen(word, WORD_MAX) / 3 + 1;
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        int d = text_far(word, name(ctx, i));
        if (d > limit || (found == max && d >= far[found - 1]))
            continue;
        uint32_t at = found < max ? found++ : found - 1;
        for (; at > 0 && far[at - 1] > d; at--) {
            far[at] = far[at - 1];
            out[at] = out[at - 1];
        }
        far[at] = d;
        out[at] = i;
    }
    return found;
}

uint32_t clv__closest(const char *word, uint32_t n,
                      const char *(*name)(const void *ctx, uint32_t i),
                      const void *ctx)
{
    uint32_t best;
    return text_nearest(word, n, name, ctx, &best, 1) ? best : CLV_NONE;
}

bool clv__suggest(const char *word, uint32_t n,
                  const char *(*name)(const void *ctx, uint32_t i),
                  const void *ctx, char *buf, size_t size)
{
    uint32_t best[NEAR_MAX];
    uint32_t found = text_nearest(word, n, name, ctx, best, NEAR_MAX);
    size_t at = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < found && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s'%s'",
                               i == 0           ? ""
                               : i + 1 == found ? " or "
                                                : ", ",
                               name(ctx, best[i]));
    return found > 0;
}

static const char *array_name(const void *names, uint32_t i)
{
    return ((const char *const *)names)[i];
}

bool clv_suggest(const char *word, const char *const *names, size_t n,
                 char *buf, size_t size)
{
    return clv__suggest(word, (uint32_t)n, array_name, names, buf, size);
}

bool clv__glob(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool clv__is_shown(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},
        {0x61c, 0x61c},   {0x180e, 0x180e},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfeff, 0xfeff},
        {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code <= hidden[i].last)
            return code < hidden[i].first;
    return true;
}

void clv_clean_text(char *text)
{
    char *to = text;
    for (const char *s = text; *s;) {
        uint32_t code;
        size_t n = clv__utf8(s, &code);
        if (n && clv__is_shown(code)) {
            memmove(to, s, n);
            to += n;
        } else {
            *to++ = '?';
        }
        s += n ? n : 1;
    }
    *to = '\0';
}

size_t clv__utf8(const char *text, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t n = s[0] < 0x80         ? 1
               : s[0] >> 5 == 0x06 ? 2
               : s[0] >> 4 == 0x0e ? 3
               : s[0] >> 3 == 0x1e ? 4
                                   : 0;
    *code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code < least[n] || *code > 0x10ffff || surrogate ? 0 : n;
}
