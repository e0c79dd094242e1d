/* options.c - the words of cleave-mpi's command line, one row each. */
#include "rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum word_kind {
    WORD_SWITCH,
    WORD_COUNT,
    WORD_NUMBER,
    WORD_TEXT,
    WORD_LIST,
    WORD_OPTION
} word_kind;

typedef struct word {
    const char *name;
    char letter;
    word_kind kind;
    size_t offset, count; /* of its field; of the length of a list */
} word;

#define WORD(name, letter, kind, field) \
    { \
        name, letter, WORD_##kind, offsetof(rank_options, field), 0 \
    }
static const word words[] = {
    {"--input", 'i', WORD_LIST, offsetof(rank_options, input),
     offsetof(rank_options, n_input)},
    {"--backend", 0, WORD_LIST, offsetof(rank_options, backend),
     offsetof(rank_options, n_backend)},
    WORD("--random", 0, OPTION, random),
    WORD("--micro-batches", 0, COUNT, micro_batches),
    WORD("--schedule", 0, TEXT, schedule),
    WORD("--replicas", 0, TEXT, replicas),
    WORD("--repeat", 0, COUNT, repeat),
    WORD("--warmup", 0, COUNT, warmup),
    WORD("--threads", 0, COUNT, threads),
    WORD("--timeout", 0, NUMBER, timeout),
    WORD("--verify", 0, OPTION, verify),
    WORD("--output", 'o', TEXT, output),
    WORD("--json", 0, SWITCH, json),
    WORD("--quiet", 'q', SWITCH, quiet),
    WORD("--help", 'h', SWITCH, help),
    WORD("--version", 0, SWITCH, version),
};

enum { N_WORDS = sizeof words / sizeof *words, COUNT_MAX = 1000000 };

const char *rank_help(void)
{
    return "cleave-mpi run DIR [flags]   runs the parts that "
           "'cleave partition -o DIR' wrote, on MPI ranks\n"
           "\n"
           "  mpirun -n 4 cleave-mpi run parts --input x.npy "
           "--micro-batches 8 --repeat 20\n"
           "\n"
           "One rank per partition; with --replicas more; or one rank per "
           "device of the cut.\n"
           "\n"
           "  -i, --input [NAME=]FILE      a tensor: .npy, .npz or .pb; repeat "
           "for several\n"
           "      --random[=SEED]          random inputs\n"
           "      --micro-batches N        split the batch, or feed it N times "
           "(1)\n"
           "      --schedule gpipe|1f1b    all micro-batches at once, or as "
           "many as stages (gpipe)\n"
           "      --replicas N|PART=N,..   ranks of the slowest part, or of "
           "these\n"
           "      --backend [PART=]B       who computes (cleave backends)\n"
           "      --threads N              threads of each rank (its share of "
           "the cores)\n"
           "      --repeat N, --warmup N   batches that count (1), and before "
           "them (1)\n"
           "      --verify[=MODEL]         compare with one process, bit for "
           "bit; and with MODEL\n"
           "      --timeout S              a rank silent for so long ends all "
           "(30)\n"
           "  -o, --output FOLDER|FILE.npz write every output\n"
           "      --json, -q, --quiet, -h, --help, --version\n";
}

static clv_status word_unknown(const char *given, clv_err *err)
{
    const char *names[N_WORDS];
    char near[200];
    for (size_t i = 0; i < N_WORDS; i++)
        names[i] = words[i].name;
    bool any = clv_suggest(given, names, N_WORDS, near, sizeof near);
    return rank_fail(err, CLV_USAGE, "no flag '%.60s'%s%s%s", given,
                     any ? "; did you mean " : "", near, any ? "?" : "");
}

static clv_status word_take(const word *d, const char *text, rank_options *o,
                            clv_err *err)
{
    char *field = (char *)o + d->offset, *end = NULL;
    double x = text ? clv_text_double(text, &end) : 0;
    bool number = text && end != text && !*end && isfinite(x) && x > 0;
    switch (d->kind) {
    case WORD_SWITCH:
        *(bool *)(void *)field = true;
        return CLV_OK;
    case WORD_COUNT:
        if (!number || x != floor(x) || x > COUNT_MAX)
            return rank_fail(err, CLV_USAGE,
                             "%s takes a whole number from 1 to a million, not "
                             "'%.60s'",
                             d->name, text);
        *(int64_t *)(void *)field = (int64_t)x;
        return CLV_OK;
    case WORD_NUMBER:
        if (!number)
            return rank_fail(err, CLV_USAGE,
                             "%s takes a number above 0, not '%.60s'", d->name,
                             text);
        *(double *)(void *)field = x;
        return CLV_OK;
    case WORD_LIST: {
        uint32_t *n = (uint32_t *)(void *)((char *)o + d->count);
        if (*n == RANK_LIST_MAX)
            return rank_fail(err, CLV_USAGE, "%s is given too often", d->name);
        ((const char **)(void *)field)[(*n)++] = text;
        return CLV_OK;
    }
    default:
        *(const char **)(void *)field = text ? text : "";
        return CLV_OK;
    }
}

/* Finds the flag of a word: --name, --name=text or -n. */
static const word *word_find(const char *given, const char **text)
{
    const char *eq = strchr(given, '=');
    size_t n = eq ? (size_t)(eq - given) : strlen(given);
    *text = eq ? eq + 1 : NULL;
    for (size_t i = 0; i < N_WORDS; i++) {
        const word *d = &words[i];
        bool whole = strlen(d->name) == n && !strncmp(given, d->name, n);
        bool letter =
            d->letter && given[0] == '-' && given[1] == d->letter && !given[2];
        if (whole || letter)
            return d;
    }
    return NULL;
}

static clv_status words_check(const rank_options *o, clv_err *err)
{
    if (!o->dir)
        return rank_fail(err, CLV_USAGE,
                         "which folder? cleave-mpi run DIR, where 'cleave "
                         "partition MODEL -o DIR' wrote the parts");
    if (o->schedule && strcmp(o->schedule, "gpipe") &&
        strcmp(o->schedule, "1f1b"))
        return rank_fail(err, CLV_USAGE,
                         "--schedule takes gpipe or 1f1b, not '%.60s'",
                         o->schedule);
    if (o->n_input && o->random && *o->random)
        return rank_fail(err, CLV_USAGE, "--input or --random=SEED, not both");
    return CLV_OK;
}

clv_status rank_options_parse(int argc, char **argv, rank_options *o,
                              clv_err *err)
{
    int i = 1;
    for (int k = 1; k < argc; k++)
        for (const char *c = argv[k]; *c || c == argv[k]; c++) {
            o->crc = (o->crc ^ (uint8_t)*c) * 16777619u; /* FNV-1 */
            if (!*c)
                break;
        }
    if (argc > 1 && !strcmp(argv[1], "run"))
        i = 2;
    else if (argc < 2 || argv[1][0] != '-')
        return rank_fail(err, CLV_USAGE,
                         "%s%.60s%s: the command is 'cleave-mpi run DIR'",
                         argc < 2 ? "no command" : "no command '",
                         argc < 2 ? "" : argv[1], argc < 2 ? "" : "'");
    for (; i < argc; i++) {
        const char *text;
        const word *d = argv[i][0] == '-' ? word_find(argv[i], &text) : NULL;
        if (!d && argv[i][0] == '-')
            return word_unknown(argv[i], err);
        if (!d && o->dir)
            return rank_fail(err, CLV_USAGE, "one folder, not '%.60s' too",
                             argv[i]);
        if (!d) {
            o->dir = argv[i];
            continue;
        }
        bool needs = d->kind != WORD_SWITCH && d->kind != WORD_OPTION;
        if (needs && !text && ++i >= argc)
            return rank_fail(err, CLV_USAGE, "%s needs a value", d->name);
        if (needs && !text)
            text = argv[i];
        if (d->kind == WORD_SWITCH && text)
            return rank_fail(err, CLV_USAGE, "%s takes no value", d->name);
        clv_status s = word_take(d, text, o, err);
        if (s != CLV_OK)
            return s;
    }
    return o->help || o->version ? CLV_OK : words_check(o, err);
}
