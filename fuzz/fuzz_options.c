/* fuzz_options.c - any bytes as a command line, one argument per line, run in
 * this process on a small model. A line of one byte above 127 is the name of a
 * flag, by its number in flags.def; the first line is a verb, by name or
 * number.
 *
 * Every model is one of two small ones, whatever it is called. Nothing outside
 * of the folder is touched: no argument has a slash, names a command or
 * measures the machine. */
#include "cli.h"
#include "fuzz.h"

#include <string.h>

enum { ARGS = 32, ROOM = 4096, FIRST = 128 };

static clv_status open_small(void *user, const char *model,
                             const clv_open_opts *opts, clv_graph **out,
                             clv_err *err)
{
    (void)user;
    return clv_graph_open(*model == 'p' ? FUZZ_PLAIN : FUZZ_TINY, opts, out,
                          err);
}

static bool is_harmless(const char *arg)
{
    return !strchr(arg, '/') && !strstr(arg, "cmd:") &&
           !strstr(arg, "--measure") && strcmp(arg, "-");
}

static char *word(char *line, bool verb)
{
    unsigned number = (unsigned char)line[0];
    if (number < FIRST || line[1])
        return line;
    size_t verbs = 0;
    while (cli_commands[verbs].verb)
        verbs++;
    return (
        char *)(verb ? cli_commands[(number - FIRST) % verbs].verb
                     : cli_flags[1 + (number - FIRST) % (FLAG_COUNT - 1)].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char seconds[] = "--max-seconds", two[] = "2";
    static char text[ROOM], *argv[ARGS + 4] = {"cleave"};
    int argc = 1;
    size_t n = size < ROOM - 1 ? size : ROOM - 1;
    memcpy(text, data, n);
    text[n] = '\0';
    for (char *at = text, *line; argc < ARGS && (line = strsep(&at, "\n"));) {
        argv[argc] = word(line, argc == 1);
        if (!is_harmless(argv[argc++]))
            return 0;
    }
    argv[argc++] = seconds;
    argv[argc++] = two;
    argv[argc] = NULL;
    clv_buf out = {0};
    cli_session session = {.open = open_small, .out = &out};
    fuzz_tiny_file();
    fuzz_enter();
    cli_main(argc, argv, &session);
    fuzz_leave();
    clv_buf_free(&out);
    fuzz_clear();
    return 0;
}
