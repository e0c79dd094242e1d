/* main.c - the cleave command: find the verb, parse its flags, run it, and
 * turn its status into one line on standard error and an exit code. */
#include "cli.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int finish(clv_status s, const clv_err *err)
{
    if (s != CLV_OK)
        say("", err->msg);
    return clv_status_exit(s);
}

/* `cleave --help` and `cleave --version` are what people try first. */
static const char *verb_of(const char *word)
{
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return "help";
    return !strcmp(word, "--version") ? "version" : word;
}

static clv_status run(const options *o, clv_err *err)
{
    if (!o->help)
        return o->cmd->run(o, err);
    clv_buf text = {0};
    help_command(o->cmd, &text);
    clv_status s = emit_text(o, &text, err);
    clv_buf_free(&text);
    return s;
}

int cli_main(int argc, char **argv, cli_session *session)
{
    clv_err err = {0};
    options o;
    signal(SIGPIPE, SIG_IGN); /* writes then fail, and we say or clean up */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2)
        return finish(
            fail(&err, CLV_USAGE, "no command; 'cleave help' lists them"),
            &err);
    const command *cmd = command_find(verb_of(argv[1]), &err);
    if (!cmd)
        return finish(err.code, &err);
    clv_status s = options_parse(cmd, argc - 2, argv + 2, &o, &err);
    o.session = session;
    if (s == CLV_OK)
        s = run(&o, &err);
    options_free(&o);
    session_end(session);
    return finish(s, &err);
}

/* A fault on a small page takes as long as reading a node of a model, so the
 * heap goes on on large ones after its beginning, which is all that most
 * models need. */
static void use_large_pages(void)
{
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
    enum { LARGE = 2 << 20, SMALL = 256 << 10, HEAP = SMALL + 2 * LARGE };
    uintptr_t now = (uintptr_t)sbrk(0);
    uintptr_t large = (now + SMALL + LARGE - 1) / LARGE * LARGE;
    if (sbrk((intptr_t)(large - SMALL - now)) == (void *)-1)
        return;
    mallopt(M_TOP_PAD, HEAP);
    mallopt(M_MMAP_THRESHOLD, HEAP);
    void *volatile first = malloc(1); /* takes the heap from the system */
    free(first);
    madvise((void *)large, HEAP - SMALL, MADV_HUGEPAGE);
#endif
}

int main(int argc, char **argv)
{
    cli_session session = {0};
    use_large_pages();
    return cli_main(argc, argv, &session);
}
