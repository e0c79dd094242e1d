/* hints.c - which flag helps: the library says what a message is about, the
 * command knows its own flags. */
#include "cli.h"

#include <string.h>

static const struct {
    clv_status code; /* CLV_OK: of a warning */
    clv_subject_kind about;
    const char *text; /* may take the subject */
} hints[] = {
    {CLV_OK, CLV_SUBJECT_DIM, "--dim %s=N sets it"},
    {CLV_OK, CLV_SUBJECT_SIZES, "--input-shape sets it"},
    {CLV_OK, CLV_SUBJECT_LOOP, "--loop N sets them"},
    {CLV_OK, CLV_SUBJECT_WEIGHTS, "--params says which are"},
    {CLV_USAGE, CLV_SUBJECT_DIM, "--batch and --input-shape set its sizes"},
    {CLV_NOT_FOUND, CLV_SUBJECT_MODEL, "'cleave models' lists the models"},
    {CLV_NOT_FOUND, CLV_SUBJECT_DEVICE, "'cleave hardware' lists the devices"},
    {CLV_NOT_FOUND, CLV_SUBJECT_BACKEND, "'cleave backends' lists them"},
    {CLV_NOT_FOUND, CLV_SUBJECT_PLUGIN, "'tools/deps' and 'make' build it"},
    {CLV_EXCEEDED, CLV_SUBJECT_LIMIT, "--max-%s sets it"},
    {CLV_SHAPE, CLV_SUBJECT_SIZES, "--input-shape sets them"},
    {CLV_SHAPE, CLV_SUBJECT_INPUT, "--input-shape and --dim change that"},
    {CLV_NOT_FOUND, CLV_SUBJECT_WEIGHTS, "--weights random draws it"},
    {CLV_UNSUPPORTED, CLV_SUBJECT_DTYPE, "choose another --dtype"},
    {CLV_UNSUPPORTED, CLV_SUBJECT_OPSET, "leave --opset out"},
    {CLV_UNSUPPORTED, CLV_SUBJECT_MEMORY,
     "a smaller --batch or --input-shape needs less"},
};

/* "; " and the hint, or "". */
static void hint_for(const clv_err *e, char *buf, size_t size)
{
    *buf = '\0';
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (hints[i].code == e->code && hints[i].about == e->about) {
            const char *mark = strstr(hints[i].text, "%s");
            int head = mark ? (int)(mark - hints[i].text) : 0;
            snprintf(buf, size, "; %.*s%s%s", head, hints[i].text,
                     mark ? e->subject : "", mark ? mark + 2 : hints[i].text);
            return;
        }
}

void say_hinted(const char *kind, const clv_err *e)
{
    char hint[200], line[sizeof e->msg + sizeof hint];
    hint_for(e, hint, sizeof hint);
    snprintf(line, sizeof line, "%s%s", e->msg, hint);
    say(kind, line);
}

void say_warnings(const clv_graph *g)
{
    const char *text, *subject;
    for (uint32_t i = 0; (text = clv_graph_warning(g, i)); i++) {
        clv_err e = {.about = clv_graph_warning_about(g, i, &subject)};
        snprintf(e.msg, sizeof e.msg, "%s", text);
        snprintf(e.subject, sizeof e.subject, "%s", subject);
        say_hinted("warning: ", &e);
    }
}
