/* cli.h - what commands stand on: options, opening a model, output.
 *
 * A command is one row of commands.def and one function,
 *
 *     clv_status cmd_profile(const options *o, clv_err *err);
 *
 * that opens what it needs, fills a clv_buf through clv_report_*, and hands it
 * to `emit`. It never prints by itself: main prints the error, and its code
 * decides the exit code. */
#ifndef CLI_H
#define CLI_H

#include "cleave.h"

#include <stdio.h>

/* -- options --------------------------------------------------------------*/

typedef struct cli_counts {
    int64_t *items;
    size_t n;
} cli_counts;

typedef struct cli_texts {
    const char **items;
    size_t n;
} cli_texts;

typedef struct cli_shapes {
    clv_shape_arg *items;
    size_t n;
} cli_shapes;

typedef struct cli_dims {
    clv_dim_arg *items;
    size_t n;
} cli_dims;

typedef bool cli_SWITCH;
typedef int64_t cli_COUNT;
typedef cli_counts cli_COUNTS;
typedef double cli_NUMBER;
typedef const char *cli_TEXT;
typedef cli_texts cli_TEXTS;
typedef const char *cli_CHOICE;
typedef const char *cli_OPTION;
typedef clv_dtype cli_DTYPE;
typedef cli_shapes cli_SHAPES;
typedef cli_dims cli_DIMS;

typedef struct command command;

/* What one run of a command holds besides its options: all of its state, so
 * that several may run at once. Zero is the command line's; the Python package
 * opens models of its own and keeps what would be printed. */
typedef struct cli_session {
    clv_status (*open)(void *user, const char *model, const clv_open_opts *opts,
                       clv_graph **out,
                       clv_err *err); /* NULL: clv_graph_open */
    void *user;
    void (*restart)(char **argv); /* as a program that loads plugins; NULL: this
                                     one does */
    bool lent; /* models are graphs in memory: they have one batch and type */
    clv_buf *out;         /* NULL: standard output */
    clv_device **devices; /* of the user, as far as they were read */
    uint32_t n_devices;
    clv_cluster *cluster; /* of --cluster; cuts borrow it */
} cli_session;

/* What the user asked for. Text is borrowed from argv. */
typedef struct options {
    const command *cmd;
    cli_session *session; /* set by whoever parsed them */
    cli_texts args;       /* positional, --model and --models among them */
#define FLAG(field, name, letter, kind, arg, help) cli_##kind field;
#include "flags.def"
#undef FLAG
    struct cli_block *memory; /* everything the lists point to */
    const clv_data_arg *data; /* shapes of the tensors that --input gives */
    size_t n_data;
    bool folded; /* operators with bodies stay one node: to run or write it */
} options;

typedef clv_status command_fn(const options *o, clv_err *err);

/* -- the tables -----------------------------------------------------------*/

typedef enum flag_id {
    NO_FLAG, /* ends a list */
#define FLAG(field, ...) FLAG_##field,
#include "flags.def"
#undef FLAG
    FLAG_COUNT
} flag_id;

typedef enum flag_kind {
    KIND_SWITCH,
    KIND_COUNT,
    KIND_COUNTS,
    KIND_NUMBER,
    KIND_TEXT,
    KIND_TEXTS,
    KIND_CHOICE,
    KIND_OPTION,
    KIND_DTYPE,
    KIND_SHAPES,
    KIND_DIMS
} flag_kind;

typedef struct flag {
    const char *name; /* with its dashes */
    char letter;      /* of the short form, 0: none */
    flag_kind kind;
    const char *arg, *help;
    size_t offset; /* of its field in options */
} flag;

struct command {
    const char *verb;
    command_fn *run;
    size_t min_args, max_args;
    const char *args, *help, *example;
    const uint8_t *flags; /* flag_id, up to NO_FLAG */
};

extern const flag cli_flags[FLAG_COUNT]; /* row 0 is empty */
extern const command cli_commands[];     /* up to a row without a verb */

#define COMMAND(verb, ...) command_fn cmd_##verb;
#include "commands.def"
#undef COMMAND

/* -- limits (limits.c) ----------------------------------------------------*/

/* Sets the limits that the options ask for, or the default ones. */
clv_status limits_begin(const options *o, clv_err *err);
void limits_end(void);
/* For a command that runs g: what the shapes of its file ask for, up to a
 * bound, may be taken without --max-memory. */
void limits_for_run(const options *o, const clv_graph *g);
/* The command line's: a signal that ends the program leaves no unfinished files
 * and no commands behind. */
void clean_on_signals(void);
/* Takes variables of OpenMP away that would end the program, or make it print,
 * before it could say why. */
void tame_openmp(void);
/* Gives up what reading a model does not need, for good (sandbox.c). */
clv_status sandbox_enter(const options *o, clv_err *err);

/* ASCII letters in capitals, whatever the locale. */
static inline char cli_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Are two words the same but for capitals? */
static inline bool same_word(const char *a, const char *b)
{
    while (*a && cli_upper(*a) == cli_upper(*b))
        a++, b++;
    return *a == *b;
}

/* NULL and a suggestion in err when there is no such command. */
const command *command_find(const char *verb, clv_err *err);

/* Finds the verb, parses its flags, runs it; returns the exit code, after one
 * line on standard error when it is not 0. */
int cli_main(int argc, char **argv, cli_session *session);

/* Parses what follows the verb. Frees nothing on failure: call options_free in
 * any case. */
CLV_MUST clv_status options_parse(const command *cmd, int argc, char **argv,
                                  options *o, clv_err *err);
void options_free(options *o);
/* Was this flag (a flag_id) on the command line? */
bool flag_given(const options *o, uint8_t id);
/* What '-' stands for: *path is a file with all of standard input in it. */
CLV_MUST clv_status stdin_as_file(const char **path, clv_err *err);
/* n zeroed elements that live as long as the options; NULL: out of memory. */
void *options_alloc(options *o, size_t n, size_t size);

/* -- what commands use ----------------------------------------------------*/

/* Records a failure, unless there is one already; returns the code kept. */
clv_status fail(clv_err *err, clv_status code, const char *fmt, ...)
    CLV_PRINTF(3, 4);

/* One line on standard error. Names of a model file may be part of it, so
 * control characters are shown as '?'. */
void say(const char *kind, const char *text);

/* The same of an error, or of every warning of a graph, with the flag that
 * helps. */
void say_hinted(const char *kind, const clv_err *e);
void say_warnings(const clv_graph *g);

/* Opens a model as the options say; warnings go to standard error. Returns a
 * graph (caller frees with clv_graph_free). */
CLV_MUST clv_status open_model(const options *o, const char *model,
                               clv_graph **out, clv_err *err);
/* open_model of the first argument and its profile (caller frees both). */
CLV_MUST clv_status open_profile(const options *o, clv_graph **g,
                                 clv_profile **p, clv_err *err);
/* The first axis of the first input; 1 where there is none. */
int64_t batch_of(const clv_graph *g);
/* With --strict: CLV_LIMIT when an operator is unknown. */
CLV_MUST clv_status check_strict(const options *o, const clv_profile *p,
                                 clv_err *err);

/* A report is written once for each place it goes to: standard output as text
 * or, with --json, as JSON; and the file of --output in the format of its
 * ending. Text is left out when a file is asked for. */
typedef void report_fn(const void *result, const clv_report_opts *o,
                       clv_buf *out);
CLV_MUST clv_status emit(const options *o, report_fn *report,
                         const void *result, clv_err *err);
/* Writes finished text to standard output, or to where the session says. */
CLV_MUST clv_status emit_text(const options *o, clv_buf *text, clv_err *err);
/* The options of text on standard output: width, colours, --top and so on. */
clv_report_opts report_options(const options *o);
/* Writes a file whole or not at all. */
CLV_MUST clv_status write_file(const char *path, const clv_buf *text,
                               clv_err *err);

/* "4.2G", "100MB", "64KiB" as a whole number of 1 or more. */
bool parse_quantity(const char *text, int64_t *out);
/* "5ms", "20us", "0.1s" or "0.1", in seconds. */
bool parse_seconds(const char *text, double *out);

/* -- devices (known.c) ----------------------------------------------------*/

#define USUAL_HOST "i7-12700k" /* the CPU beside a device, without --host */
/* A device of the library, of the user's folder, or of a file. It is good until
 * the session ends. */
CLV_MUST clv_status find_device(const options *o, const char *name,
                                const clv_device **out, clv_err *err);
/* Reads the user's own devices; one that cannot be read is a warning. */
CLV_MUST clv_status own_devices(const options *o, clv_err *err);
/* The i-th device that was read; NULL past the last. */
const clv_device *own_device_at(const options *o, uint32_t i);
/* Reads a cluster, which the session keeps until its end. */
CLV_MUST clv_status known_cluster(cli_session *own, const char *path,
                                  const clv_cluster **out, clv_err *err);
void session_end(cli_session *s);
/* Where the device `name` is kept: makes the folder, and fails when it cannot
 * be written to. */
CLV_MUST clv_status device_place(const char *name, char *path, size_t size,
                                 clv_err *err);
CLV_MUST clv_status save_device(const clv_device *d, const char *path,
                                clv_err *err);

/* -- progress (progress.c) ------------------------------------------------*/

typedef struct progress {
    double start, last;
    bool shown, silent;
} progress;

double seconds_now(void);
void progress_start(progress *p, const options *o);
void progress_show(progress *p, const char *what, double share); /* 0 to 1 */
void progress_end(progress *p);

/* -- many models (fleet.c) ------------------------------------------------*/

/* Runs the command of the options on each of its arguments: a line of JSON
 * each. Fails with CLV_LIMIT when a model failed. */
CLV_MUST clv_status fleet_run(const options *o, clv_err *err);

/* -- help -----------------------------------------------------------------*/

void help_overview(clv_buf *out);
void help_command(const command *c, clv_buf *out);
void help_completion(clv_buf *out);
void help_man(clv_buf *out);

#endif
