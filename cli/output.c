/* output.c - where reports go: standard output, or a file written whole.
 *
 * A report is one write(2). A file is made beside its place under a temporary
 * name and renamed, so a failure leaves nothing, and a reader never sees half
 * of it. A reader of standard output that went away is no error. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

clv_status emit_text(const options *o, clv_buf *text, clv_err *err)
{
    clv_status whole = clv_buf_check(text, err);
    if (whole == CLV_OK)
        whole = clv_files_intact(err);
    if (whole != CLV_OK)
        return whole;
    if (o->session->out) {
        clv_buf_add(o->session->out, text->text, text->len);
        return CLV_OK;
    }
    if (!write_all(STDOUT_FILENO, text->text, text->len) && errno != EPIPE)
        return fail(err, CLV_IO, "cannot write standard output: %s",
                    strerror(errno));
    return CLV_OK;
}

/* -- files ----------------------------------------------------------------*/

static clv_status cannot_write(const char *path, clv_err *err)
{
    return fail(err, CLV_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* Devices and pipes cannot be replaced by a rename. */
static clv_status write_special(const char *path, const clv_buf *text,
                                clv_err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(path, err);
    bool ok = write_all(fd, text->text, text->len);
    clv_status s = ok ? CLV_OK : cannot_write(path, err);
    close(fd);
    return s;
}

static clv_status write_renamed(const char *path, char *temporary, mode_t mode,
                                const clv_buf *text, clv_err *err)
{
    int fd = mkstemp(temporary);
    if (fd < 0)
        return cannot_write(path, err);
    clv_unfinished(temporary);
    bool ok = write_all(fd, text->text, text->len) && fchmod(fd, mode) == 0;
    clv_status s = CLV_OK;
    if (close(fd) != 0 || !ok || rename(temporary, path) != 0) {
        s = cannot_write(path, err);
        unlink(temporary);
    }
    clv_finished(temporary);
    return s;
}

clv_status write_file(const char *path, const clv_buf *text, clv_err *err)
{
    struct stat st;
    clv_status whole = clv_buf_check(text, err);
    if (whole == CLV_OK)
        whole = clv_files_intact(err);
    if (whole != CLV_OK)
        return whole;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return cannot_write(path, err);
    }
    if (exists && !S_ISREG(st.st_mode))
        return write_special(path, text, err);
    if (exists && access(path, W_OK) != 0)
        return cannot_write(path, err);
    mode_t mask = umask(0);
    umask(mask);
    size_t size = strlen(path) + sizeof ".XXXXXX";
    char *temporary = malloc(size);
    if (!temporary)
        return fail(err, CLV_NOMEM, "out of memory");
    snprintf(temporary, size, "%s.XXXXXX", path);
    mode_t mode = exists ? st.st_mode & 07777 : 0666 & ~mask;
    clv_status s = write_renamed(path, temporary, mode, text, err);
    free(temporary);
    return s;
}

/* -- formats --------------------------------------------------------------*/

static uint32_t text_columns(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long n = columns ? strtol(columns, NULL, 10) : 0;
    if (n >= 20 && n < 10000)
        return (uint32_t)n;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col)
        return size.ws_col;
    return 0;
}

static bool use_color(const options *o)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (o->color && strcmp(o->color, "auto"))
        return !strcmp(o->color, "always");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
           !(term && !strcmp(term, "dumb"));
}

static uint32_t to_u32(int64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

clv_report_opts report_options(const options *o)
{
    return (clv_report_opts){
        .size = sizeof(clv_report_opts),
        .format = CLV_REPORT_TEXT,
        .width = text_columns(),
        .color = use_color(o),
        .verbose = o->verbose,
        .shapes = o->showshape,
        .top = to_u32(o->top),
        .depth = to_u32(o->depth),
        .more = "--verbose",
    };
}

static clv_report_format format_of(const char *path)
{
    const char *end = strrchr(path, '.');
    if (end && same_word(end, ".json"))
        return CLV_REPORT_JSON;
    if (end && same_word(end, ".md"))
        return CLV_REPORT_MARKDOWN;
    return end && same_word(end, ".csv") ? CLV_REPORT_CSV : CLV_REPORT_TEXT;
}

static clv_status emit_file(const options *o, report_fn *report,
                            const void *result, clv_err *err)
{
    clv_report_opts r = report_options(o);
    clv_buf text = {0};
    r.format = format_of(o->output);
    r.color = false;
    r.width = 0;
    report(result, &r, &text);
    clv_status s = write_file(o->output, &text, err);
    clv_buf_free(&text);
    return s;
}

clv_status emit(const options *o, report_fn *report, const void *result,
                clv_err *err)
{
    clv_report_opts r = report_options(o);
    clv_buf text = {0};
    if (o->output) {
        clv_status s = emit_file(o, report, result, err);
        if (s != CLV_OK || !o->json)
            return s;
    }
    r.format = o->json ? CLV_REPORT_JSON : CLV_REPORT_TEXT;
    report(result, &r, &text);
    clv_status s = emit_text(o, &text, err);
    clv_buf_free(&text);
    return s;
}
