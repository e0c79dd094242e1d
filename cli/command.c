/* command.c - the cleave command: find the verb, parse its flags, run it, and
 * turn its status into one line on standard error and an exit code. */
#include "cli.h"

#include <signal.h>
#include <string.h>

static int command_finish(clv_status s, const clv_err *err)
{
    if (s != CLV_OK)
        say_hinted("", err);
    return clv_status_exit(s);
}

/* `cleave --help` and `cleave --version` are what people try first. */
static const char *verb_of(const char *word)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return "help";
    return !strcmp(word, "--version") ? "version" : word;
}

static clv_status command_run(const options *o, clv_err *err)
{
    if (!o->help)
        return o->json_lines ? fleet_run(o, err) : o->cmd->run(o, err);
    clv_buf text = {0};
    help_command(o->cmd, &text);
    clv_status s = emit_text(o, &text, err);
    clv_buf_free(&text);
    return s;
}

/* Returns true when the backend may be a shared object. */
static bool may_load(const options *o)
{
    return o->backend || o->measure || o->cmd->run == cmd_backends ||
           (o->cmd->run == cmd_run && !o->strategy && !o->sandbox);
}

int cli_main(int argc, char **argv, cli_session *session)
{
    clv_err err = {0};
    options o;
    signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe then fails, and we
                               * report it or clean up */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2)
        return command_finish(
            fail(&err, CLV_USAGE, "no command; 'cleave help' lists them"),
            &err);
    const command *cmd = command_find(verb_of(argv[1]), &err);
    if (!cmd)
        return command_finish(err.code, &err);
    clv_status s = options_parse(cmd, argc - 2, argv + 2, &o, &err);
    o.session = session;
    if (s == CLV_OK && !session->out && may_load(&o))
        tame_openmp();
    if (s == CLV_OK && session->restart && may_load(&o))
        session->restart(argv);
    if (s == CLV_OK && o.sandbox && session->out)
        s = fail(&err, CLV_USAGE, "--sandbox is of the command alone");
    if (s == CLV_OK && o.sandbox)
        s = sandbox_enter(&o, &err);
    if (s == CLV_OK && !o.json_lines) /* there each model has its own */
        s = limits_begin(&o, &err);
    if (s == CLV_OK)
        s = command_run(&o, &err);
    limits_end();
    options_free(&o);
    session_end(session);
    return command_finish(s, &err);
}
