/* tables.c - flags.def and commands.def as arrays, and looking a name up. */
#include "cli.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "full|fvcore|...": a '|' before every name, and on from the first name. */
#define CLV_X(code, name, unit, tool, column, special) "|" name
#define COUNT_CHOICES                                  (&CLV_CONVENTION_TABLE(CLV_X)[1])

const flag cli_flags[FLAG_COUNT] = {
#define FLAG(field, name, letter, kind, arg, help) \
    [FLAG_##field] = {name, letter, KIND_##kind, \
                      arg,  help,   offsetof(options, field)},
#include "flags.def"
#undef FLAG
};

#define F(field) FLAG_##field
#define MODEL_FLAGS \
    F(input_shape), F(batch), F(dim), F(dtype), F(arg), F(loop), F(params), \
        F(signature), F(ops), F(threads)
#define FUSION_FLAGS F(max_fusion_ops), F(max_fusion_bytes), F(max_fusion_flops)
#define DEVICE_FLAGS \
    F(backend), F(timeout), F(min_support), F(min_subgraph_size), \
        F(max_subgraph_count), F(demote), F(cpu_ops), F(cpu_nodes), \
        F(overrides), F(objective), F(connected), F(host), F(costs), F(link), \
        F(latency), F(curve), F(stages), F(stage_memory)
#define REPORT_FLAGS F(json), F(output), F(quiet)
#define FLEET_FLAGS  F(json_lines), F(jobs), F(resume), F(shard)
#define MANY         SIZE_MAX

#define COMMAND(verb, min, max, args, help, example, ...) \
    static const uint8_t flags_of_##verb[] = { \
        __VA_ARGS__,  FLAG_max_memory, FLAG_max_seconds, FLAG_max_nodes, \
        FLAG_sandbox, FLAG_color,      FLAG_help,        NO_FLAG};
#include "commands.def"
#undef COMMAND

const command cli_commands[] = {
#define COMMAND(verb, min, max, args, help, example, ...) \
    {#verb, cmd_##verb, min, max, args, help, example, flags_of_##verb},
#include "commands.def"
#undef COMMAND
    {0},
};

enum { N_COMMANDS = sizeof cli_commands / sizeof *cli_commands - 1 };

const command *command_find(const char *verb, clv_err *err)
{
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = cli_commands[i].verb;
        if (!strcmp(verb, names[i]))
            return &cli_commands[i];
    }
    char near[96];
    if (clv_suggest(verb, names, N_COMMANDS, near, sizeof near))
        fail(err, CLV_USAGE, "no command '%s'; did you mean %s?", verb, near);
    else
        fail(err, CLV_USAGE, "no command '%s'; 'cleave help' lists them", verb);
    return NULL;
}
