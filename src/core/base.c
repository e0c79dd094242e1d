/* base.c - status codes, error text, data types, text buffers. */
#include "core/core.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const int status_exit[] = {
#define CLV_X(code, exit, text) [CLV_##code] = exit,
    CLV_STATUS_TABLE(CLV_X)
#undef CLV_X
};

int clv_status_exit(clv_status s)
{
    enum { N = sizeof status_exit / sizeof *status_exit };
    return status_exit[(unsigned)s < N ? s : CLV_INTERNAL];
}

const char *clv_version(void)
{
    return CLV_VERSION;
}

int clv_version_number(void)
{
    return CLV_VERSION_NUMBER;
}

double clv__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* -- errors ---------------------------------------------------------------*/

clv_status clv__fail(clv_err *e, clv_status code, const char *fmt, ...)
{
    if (!e || e->code != CLV_OK)
        return code;
    va_list ap;
    va_start(ap, fmt);
    e->code = code;
    clv_vformat(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    clv_clean_text(e->msg);
    return code;
}

clv_status clv__about(clv_err *e, clv_status code, clv_subject_kind about,
                      const char *subject)
{
    if (e && e->code == code && e->about == CLV_SUBJECT_NONE) {
        e->about = about;
        snprintf(e->subject, sizeof e->subject, "%s", subject);
        clv_clean_text(e->subject);
    }
    return code;
}

void clv__err_prefix(clv_err *e, const char *fmt, ...)
{
    if (!e || e->code == CLV_OK || e->code == CLV_NOMEM)
        return;
    char rest[sizeof e->msg];
    memcpy(rest, e->msg, sizeof rest);
    va_list ap;
    va_start(ap, fmt);
    clv_vformat(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    strncat(e->msg, ": ", sizeof e->msg - strlen(e->msg) - 1);
    strncat(e->msg, rest, sizeof e->msg - strlen(e->msg) - 1);
    clv_clean_text(e->msg);
}

void clv__err_clear(clv_err *e)
{
    if (!e)
        return;
    e->code = CLV_OK;
    e->about = CLV_SUBJECT_NONE;
    e->subject[0] = '\0';
    e->msg[0] = '\0';
}

/* -- structs that grow ----------------------------------------------------*/

/* The size that a struct begins with; the caller may have given it as const. */
static size_t stated_size(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

clv_status clv__read_sized(const void *given, void *own, size_t known,
                           const char *type, clv_err *e)
{
    size_t size = given ? stated_size(given) : known;
    if (size < sizeof size)
        return clv__fail(e, CLV_USAGE, "%s: size is %zu; set it to sizeof(%s)",
                         type, size, type);
    for (size_t i = known; i < size; i++)
        if (((const char *)given)[i])
            return clv__fail(e, CLV_USAGE,
                             "%s: byte %zu is set, but version %s has %zu",
                             type, i, CLV_VERSION, known);
    size_t copied = !given ? 0 : size < known ? size : known;
    if (copied)
        memcpy(own, given, copied);
    memset((char *)own + copied, 0, known - copied);
    memcpy(own, &known, sizeof known);
    return CLV_OK;
}

clv_status clv__fill_sized(void *out, const void *full, size_t known,
                           const char *type, clv_err *e)
{
    size_t size = stated_size(out);
    if (size < sizeof size)
        return clv__fail(e, CLV_USAGE, "%s: size is %zu; set it to sizeof(%s)",
                         type, size, type);
    memset(out, 0, size);
    memcpy(out, full, size < known ? size : known);
    memcpy(out, &size, sizeof size);
    return CLV_OK;
}

/* -- data types -----------------------------------------------------------*/

static const struct {
    const char *name, *alias;
    int bits;
} dtypes[CLV_DTYPE_COUNT] = {
#define CLV_X(code, name, alias, bits, cls) [CLV_##code] = {name, alias, bits},
    CLV_DTYPE_TABLE(CLV_X)
#undef CLV_X
};

const char *clv_dtype_name(clv_dtype t)
{
    return (unsigned)t < CLV_DTYPE_COUNT ? dtypes[t].name : "?";
}

clv_dtype clv_dtype_find(const char *name)
{
    for (int t = CLV_NODTYPE + 1; t < CLV_DTYPE_COUNT; t++)
        if (!strcmp(name, dtypes[t].name) ||
            (dtypes[t].alias[0] && !strcmp(name, dtypes[t].alias)))
            return (clv_dtype)t;
    return CLV_NODTYPE;
}

int64_t clv_dtype_bytes(clv_dtype t, int64_t n)
{
    if ((unsigned)t >= CLV_DTYPE_COUNT || n < 0)
        return -1;
    if (n < INT64_C(1) << 48) /* nearly always: it cannot overflow */
        return (n * dtypes[t].bits + 7) / 8;
    int64_t bits = sat_mul(n, dtypes[t].bits);
    if (bits >= CLV_SAT - 7)
        return dtypes[t].bits >= 8 && n <= CLV_SAT / (dtypes[t].bits / 8)
                   ? n * (dtypes[t].bits / 8)
                   : -1;
    return (bits + 7) / 8;
}

/* -- text buffers ---------------------------------------------------------*/

bool clv__buf_room(clv_buf *b, size_t more)
{
    if (b->failed)
        return false;
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 1024;
    while (cap < need)
        cap *= 2;
    char *text = clv__realloc(b->text, cap);
    if (!text) {
        b->failed = true;
        return false;
    }
    b->text = text;
    b->cap = cap;
    return true;
}

void clv_buf_add(clv_buf *b, const char *text, size_t len)
{
    if (!clv__buf_room(b, len))
        return;
    if (len)
        memcpy(b->text + b->len, text, len);
    b->len += len;
    b->text[b->len] = '\0';
}

void clv_buf_printf(clv_buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t room = b->failed ? 0 : b->cap - b->len;
    int n = clv_vformat(room ? b->text + b->len : NULL, room, fmt, ap);
    if (n >= 0 && (size_t)n >= room && clv__buf_room(b, (size_t)n))
        clv_vformat(b->text + b->len, (size_t)n + 1, fmt, again);
    if (n >= 0 && !b->failed)
        b->len += (size_t)n;
    va_end(again);
    va_end(ap);
}

clv_status clv_buf_check(const clv_buf *b, clv_err *err)
{
    return b->failed ? clv__nomem(err) : CLV_OK;
}

void clv_buf_free(clv_buf *b)
{
    clv__free(b->text);
    *b = (clv_buf){0};
}
