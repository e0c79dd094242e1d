/* help.c - what the tables say, for people, shells and man(1). */
#include "cli.h"

#include <string.h>

static const char *const exit_codes[] = {
    "done",
    "a check or constraint failed",
    "usage: a bad command, flag or value",
    "the input could not be read, or the output not written",
    "internal error",
};

/* "-o, --output FILE" */
static void flag_words(const flag *f, char *buf, size_t size)
{
    char letter[8] = "    ";
    if (f->letter)
        snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(buf, size, "%s%s%s%s", letter, f->name, *f->arg ? " " : "",
             f->arg);
}

enum { COLUMNS = 80, FLAG_WIDTH = 28, VERB_WIDTH = 11 };

/* Writes text that begins at column `left`, folded at column 80. */
static void put_folded(clv_buf *out, size_t left, const char *text)
{
    size_t at = left;
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, " ");
        if (at > left && at + 1 + n > COLUMNS) {
            clv_buf_printf(out, "\n%*s", (int)left, "");
            at = left;
        }
        clv_buf_printf(out, "%s%.*s", at > left ? " " : "", (int)n, s);
        at += n + (at > left);
        s += n;
        s += strspn(s, " ");
    }
    clv_buf_add(out, "\n", 1);
}

static void put_flag(clv_buf *out, const flag *f)
{
    char words[96];
    flag_words(f, words, sizeof words);
    if (strlen(words) > FLAG_WIDTH)
        clv_buf_printf(out, "  %s\n%*s", words, FLAG_WIDTH + 4, "");
    else
        clv_buf_printf(out, "  %-*s  ", FLAG_WIDTH, words);
    put_folded(out, FLAG_WIDTH + 4, f->help);
}

void help_overview(clv_buf *out)
{
    clv_buf_printf(out, "usage: cleave COMMAND [ARGUMENT...] [FLAG...]\n\n"
                        "What a neural network costs, and how to cut and run "
                        "it.\n\n");
    for (const command *c = cli_commands; c->verb; c++) {
        clv_buf_printf(out, "  %-*s  ", VERB_WIDTH, c->verb);
        put_folded(out, VERB_WIDTH + 4, c->help);
    }
    clv_buf_printf(out,
                   "\nMODEL is a built-in name such as resnet50, the path of a "
                   "model file, or -\nfor a model file on standard input.\n"
                   "'cleave help COMMAND' lists the flags of a command.\n");
}

void help_command(const command *c, clv_buf *out)
{
    clv_buf_printf(out, "usage: cleave %s%s%s [FLAG...]\n\n", c->verb,
                   *c->args ? " " : "", c->args);
    clv_buf_printf(out, "%c", cli_upper(c->help[0]));
    put_folded(out, 0, c->help + 1);
    clv_buf_add(out, "\n", 1);
    for (const uint8_t *f = c->flags; *f != NO_FLAG; f++)
        put_flag(out, &cli_flags[*f]);
    clv_buf_printf(out, "\nexample: %s\n", c->example);
}

void help_completion(clv_buf *out)
{
    for (const command *c = cli_commands; c->verb; c++) {
        clv_buf_printf(out, "%s", c->verb);
        for (const uint8_t *f = c->flags; *f != NO_FLAG; f++)
            clv_buf_printf(out, " %s", cli_flags[*f].name);
        clv_buf_printf(out, "\n");
    }
}

/* -- the manual -----------------------------------------------------------*/

/* Writes text for roff: dashes stay dashes, and no line begins with a dot. */
static void help_roff(clv_buf *out, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (*s == '-' || *s == '\\')
            clv_buf_add(out, "\\", 1);
        clv_buf_add(out, s, 1);
    }
}

static void man_item(clv_buf *out, const char *term, const char *arg,
                     const char *text)
{
    clv_buf_printf(out, ".TP\n\\fB");
    help_roff(out, term);
    clv_buf_printf(out, "\\fR \\fI");
    help_roff(out, arg);
    clv_buf_printf(out, "\\fR\n");
    help_roff(out, text);
    clv_buf_printf(out, "\n");
}

void help_man(clv_buf *out)
{
    char term[64];
    clv_buf_printf(out,
                   ".TH CLEAVE 1 \"\" \"cleave %s\" \"User Commands\"\n"
                   ".SH NAME\n"
                   "cleave \\- what a neural network costs, and how to cut and "
                   "run it\n.SH SYNOPSIS\n.B cleave\n.I COMMAND\n"
                   ".RI [ ARGUMENT ...]\n.RI [ FLAG ...]\n.SH DESCRIPTION\n"
                   ".B cleave\nreads the graph of a neural network and "
                   "reports, exactly, the parameters,\nmultiply-accumulates, "
                   "FLOPs and bytes moved of every operator.\n.I MODEL\nis a "
                   "built-in name such as\n.B resnet50\n(see\n"
                   ".BR \"cleave models\" )\nor the path of a model file.\n"
                   ".SH COMMANDS\n",
                   clv_version());
    for (const command *c = cli_commands; c->verb; c++)
        man_item(out, c->verb, c->args, c->help);
    clv_buf_printf(out, ".SH FLAGS\nWhich command takes which is listed by\n"
                        ".BR \"cleave help\" \" \\fICOMMAND\\fR.\"\n");
    for (int i = NO_FLAG + 1; i < FLAG_COUNT; i++) {
        const flag *f = &cli_flags[i];
        if (f->letter)
            snprintf(term, sizeof term, "-%c, %s", f->letter, f->name);
        else
            snprintf(term, sizeof term, "%s", f->name);
        man_item(out, term, f->arg, f->help);
    }
    clv_buf_printf(out, ".SH EXIT STATUS\n");
    for (int i = 0; i < 5; i++) {
        snprintf(term, sizeof term, "%d", i);
        man_item(out, term, "", exit_codes[i]);
    }
    clv_buf_printf(out, ".SH EXAMPLES\n");
    for (const command *c = cli_commands; c->verb; c++) {
        clv_buf_printf(out, ".PP\n.B ");
        help_roff(out, c->example);
        clv_buf_printf(out, "\n");
    }
    clv_buf_printf(out, ".SH SEE ALSO\n.BR jq (1),\n.BR dot (1)\n");
}
