/* test_backend.c - who says what is supported: rules, profiles, commands that
 * behave and commands that do not, names, what the user forces. */
#include "backend/backend.h"
#include "check.h"
#include "cleave.h"

#include <stdlib.h>
#include <unistd.h>

/* conv2d 3x3 (groups 1) > relu > conv2d 1x1 > flatten > linear > topk-like */
static clv_graph *small(void)
{
    clv_graph *g = NULL;
    CHECK(clv_graph_open("alexnet", NULL, &g, NULL) == CLV_OK);
    return g;
}

/* One file, written anew by each case and removed at the end. */
static char path[] = "/tmp/cleave-backend-XXXXXX.json";

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");
    if (CHECK(f != NULL)) {
        fputs(text, f);
        fclose(f);
    }
}

/* The first node of an operator. */
static uint32_t first(const clv_graph *g, const char *op)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(clv__ops[g->nodes[i].op].name, op) == 0)
            return i;
    return 0;
}

static clv_support *ask_with(const char *spec, double timeout,
                             const clv_graph *g)
{
    const clv_backend_opts o = {.size = sizeof o, .timeout = timeout};
    clv_backend *b;
    clv_support *s = NULL;
    clv_err e = {0};
    if (CHECK(clv_backend_open(spec, &o, &b, &e) == CLV_OK))
        CHECK(clv_support_new(b, g, &s, &e) == CLV_OK);
    else
        printf("FAIL %s\n", e.msg);
    clv_backend_free(b);
    return s;
}

static clv_support *ask(const char *spec, const clv_graph *g)
{
    return ask_with(spec, 5, g);
}

/* -- rules ----------------------------------------------------------------*/

/* A rules file, an operator of alexnet, and the reason it is refused for; ""
 * when it is supported. */
static const struct rule_case {
    const char *rules, *op, *reason;
} rule_cases[] = {
    {"{\"default\": \"allow\"}", "conv2d", ""},
    {"{\"default\": \"deny\"}", "conv2d", "not in the allow list"},
    {"{\"default\": \"deny\", \"allow\": [\"conv2d\"]}", "conv2d", ""},
    {"{\"default\": \"deny\", \"allow\": [\"Conv\"]}", "conv2d", ""},
    {"{\"default\": \"deny\", \"allow\": [\"aten::conv2d\"]}", "conv2d", ""},
    {"{\"default\": \"allow\", \"deny\": [\"relu\"]}", "relu",
     "denied by the rules"},
    {"{\"default\": \"allow\", \"deny\": [{\"op\": \"relu\", \"reason\": "
     "\"r\"}]}",
     "relu", "r"},
    {"{\"default\": \"deny\", \"allow\": [{\"op\": \"conv2d\", \"attributes\": "
     "{\"kernel\": {\"max\": 7}}}]}",
     "conv2d", "kernel is 11, not at most 7"},
    {"{\"default\": \"deny\", \"allow\": [{\"op\": \"conv2d\", \"attributes\": "
     "{\"kernel\": {\"min\": 1, \"max\": 11}}}]}",
     "conv2d", ""},
    {"{\"default\": \"deny\", \"allow\": [{\"op\": \"conv2d\", \"attributes\": "
     "{\"stride\": [1, 2]}}]}",
     "conv2d", "stride is 4, not one of 1, 2"},
    {"{\"default\": \"allow\", \"deny\": [{\"op\": \"conv2d\", \"attributes\": "
     "{\"kernel\": 11, \"groups\": 2}}]}",
     "conv2d", ""},
    {"{\"default\": \"allow\", \"deny\": [{\"op\": \"conv2d\", \"attributes\": "
     "{\"kernel\": 11, \"groups\": 1}}]}",
     "conv2d", "denied by the rules"},
    {"{\"default\": \"deny\", \"allow\": [{\"dtype\": [\"int8\", \"uint8\"]}]}",
     "relu", "type float32 is not allowed"},
    {"{\"default\": \"deny\", \"allow\": [{\"dtype\": \"fp32\"}]}", "relu", ""},
    {"{\"default\": \"deny\", \"allow\": [{\"rank\": 2}]}", "relu",
     "rank is 4, not 2"},
    {"{\"default\": \"deny\", \"allow\": [{\"rank\": 2}, {\"rank\": 4}]}",
     "relu", ""},
    {"{\"default\": \"deny\", \"allow\": [{\"dims\": {\"max\": 50}}]}", "relu",
     "a dimension is 64, not at most 50"},
    {"{\"default\": \"allow\", \"deny\": [{\"shape\": [1, null, 55, 55]}]}",
     "relu", "denied by the rules"},
    {"{\"default\": \"allow\", \"deny\": [{\"shape\": [2, null, 55, 55]}]}",
     "relu", ""},
    {"{\"default\": \"deny\", \"allow\": [{\"elements\": {\"min\": 1e9}}]}",
     "relu", "the number of elements is 193600, not at least 1000000000"},
    {"{\"default\": \"deny\", \"allow\": [{\"op\": \"linear\", \"constant\": "
     "[1]}]}",
     "linear", ""},
    {"{\"default\": \"deny\", \"allow\": [{\"op\": \"linear\", \"constant\": "
     "[0]}]}",
     "linear", "input 0 is not constant"},
};

static void rules_decide(void)
{
    clv_graph *g = small();
    for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
        const struct rule_case *c = &rule_cases[i];
        check_row(c->rules);
        write_text(c->rules);
        clv_support *s = ask(path, g);
        CHECK_OR_RETURN(s != NULL);
        const clv_node_support *n = &clv_support_get(s)->nodes[first(g, c->op)];
        CHECK_STR(n->reason, c->reason);
        CHECK_EQ_INT(n->supported, !*c->reason);
        clv_support_free(s);
    }
    clv_graph_free(g);
}

static const struct {
    const char *rules, *message;
} bad_rules[] = {
    {"", "line 1, column 1"},
    {"[]", "line 1: expected an object"},
    {"{\"default\": \"allow\"", "line 1"},
    {"{\"name\": \"x\"}", "'default' is missing"},
    {"{\"default\": \"maybe\"}", "'default' must be \"allow\" or \"deny\""},
    {"{\"default\": \"deny\",\n \"alow\": []}", "line 2: 'alow' is unknown"},
    {"{\"default\": \"deny\", \"allow\": \"relu\"}", "'allow' must be a list"},
    {"{\"default\": \"deny\", \"allow\": [1]}", "'allow' must be a list"},
    {"{\"default\": \"deny\",\n\"allow\": [\"rellu\"]}",
     "line 2: no operator is called 'rellu'; did you mean 'relu'?"},
    {"{\"default\": \"deny\", \"allow\": [{\"op\": 3}]}", "'op' must be text"},
    {"{\"default\": \"deny\", \"allow\": [{\"opp\": \"relu\"}]}",
     "'opp' is unknown in an entry"},
    {"{\"default\": \"deny\", \"allow\": [{\"dtype\": \"fp33\"}]}",
     "no type is called 'fp33'"},
    {"{\"default\": \"deny\", \"allow\": [{\"rank\": \"4\"}]}",
     "'rank' must be a number"},
    {"{\"default\": \"deny\", \"allow\": [{\"rank\": {\"most\": 4}}]}",
     "'most' is unknown in a range"},
    {"{\"default\": \"deny\", \"allow\": [{\"rank\": {}}]}", "'rank' is empty"},
    {"{\"default\": \"deny\", \"allow\": [{\"shape\": 3}]}",
     "'shape' must be a list"},
    {"{\"default\": \"deny\", \"allow\": [{\"attributes\": []}]}",
     "'attributes' must be an object"},
    {"{\"default\": \"deny\", \"allow\": [{\"constant\": [-1]}]}",
     "'constant' must be a list of input numbers"},
    {"{\"default\": \"deny\", \"name\": 3}", "'name' must be text"},
};

static void rules_are_checked(void)
{
    for (size_t i = 0; i < sizeof bad_rules / sizeof *bad_rules; i++) {
        clv_backend *b;
        clv_err e = {0};
        check_row(bad_rules[i].rules);
        write_text(bad_rules[i].rules);
        CHECK_EQ_INT(clv_backend_open(path, NULL, &b, &e), CLV_FORMAT);
        CHECK(b == NULL);
        CHECK_HAS(e.msg, bad_rules[i].message);
        CHECK_HAS(e.msg, path);
    }
}

static void profiles_open(void)
{
    clv_graph *g = small();
    for (uint32_t i = 0; clv_backend_at(i); i++) {
        if (!strcmp(clv_backend_at(i), "all-but") ||
            !strcmp(clv_backend_at(i), "cmd") ||
            !strcmp(clv_backend_at(i), "ort")) /* test_backend_ort.c has it */
            continue;
        check_row(clv_backend_at(i));
        clv_support *s = ask(clv_backend_at(i), g);
        CHECK(s && clv_support_get(s)->supported > 10);
        clv_support_free(s);
    }
    clv_graph_free(g);
}

static void unknown_backends(void)
{
    static const struct {
        const char *spec;
        clv_status code;
        const char *message;
    } cases[] = {
        {"edgetpuu", CLV_NOT_FOUND, "did you mean"},
        {"zzz", CLV_NOT_FOUND, "no backend is called 'zzz'"},
        {"none.json", CLV_NOT_FOUND, "none.json: No such file"},
        {"null:x", CLV_USAGE, "takes no argument"},
        {"all-but", CLV_USAGE, "needs an argument"},
        {"all-but:,", CLV_USAGE, "needs operators"},
        {"cmd:", CLV_USAGE, "needs a command"},
        {"cmd:a 'b", CLV_USAGE, "a quote is not closed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clv_backend *b;
        clv_err e = {0};
        check_row(cases[i].spec);
        CHECK_EQ_INT(clv_backend_open(cases[i].spec, NULL, &b, &e),
                     cases[i].code);
        CHECK(b == NULL);
        CHECK_HAS(e.msg, cases[i].message);
    }
}

/* -- commands -------------------------------------------------------------*/

static const struct {
    const char *name, *command, *reason; /* of the first operator; "": yes */
} commands[] = {
    {"answers", "cmd:sed 's/.*/{\"supported\": true}/'", ""},
    {"refuses", "cmd:sed 's/.*/{\"supported\": false, \"reason\": \"why\"}/'",
     "why"},
    {"refuses without a reason", "cmd:sed 's/.*/{\"supported\": false}/'",
     "the command says no"},
    {"echoes", "cmd:cat", "the command answered nonsense"},
    {"answers garbage", "cmd:sed 's/.*/yes/'",
     "the command answered nonsense: 'yes'"},
    {"answers the wrong type", "cmd:sed 's/.*/{\"supported\": 1}/'",
     "the command answered nonsense"},
    {"ends at once", "cmd:true", "the command ended after 0 answers"},
    {"fails", "cmd:sh -c 'exit 3'",
     "the command ended after 0 answers (exit code 3)"},
    {"is killed", "cmd:sh -c 'kill -9 $$'", "the command died of signal 9"},
    {"hangs", "cmd:sleep 60", "the command gave no answer within 0.3 s"},
    {"never ends a line",
     "cmd:sh -c 'while :; do printf xxxxxxxxxxxxxxxx; done'", "the command"},
};

static void commands_answer(void)
{
    clv_graph *g = small();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        check_row(commands[i].name);
        bool slow = strcmp(commands[i].name, "hangs") == 0;
        clv_support *s = ask_with(commands[i].command, slow ? 0.3 : 10, g);
        CHECK_OR_RETURN(s != NULL);
        const clv_node_support *n = &clv_support_get(s)->nodes[0];
        if (*commands[i].reason)
            CHECK_HAS(n->reason, commands[i].reason);
        CHECK_EQ_INT(n->supported, !*commands[i].reason);
        clv_support_free(s);
    }
    clv_graph_free(g);
}

/* Three answers, then the end: the rest is a no. */
static void too_few_answers(void)
{
    clv_graph *g = small();
    clv_support *s =
        ask("cmd:sh -c 'for i in 1 2 3; do echo \"{\\\"supported\\\": true}\"; "
            "done'",
            g);
    CHECK_OR_RETURN(s != NULL);
    const clv_support_info *i = clv_support_get(s);
    CHECK(i->nodes[0].supported && i->nodes[2].supported);
    CHECK_HAS(i->nodes[i->n_nodes - 1].reason, "ended after 3 answers");
    clv_support_free(s);
    clv_graph_free(g);
}

/* -- configurations and names ---------------------------------------------*/

static void configurations_are_shared(void)
{
    clv_graph *g = NULL;
    CHECK(clv_graph_open("resnet50", NULL, &g, NULL) == CLV_OK);
    clv_support *s = ask("null", g);
    CHECK_OR_RETURN(s != NULL);
    const clv_support_info *i = clv_support_get(s);
    CHECK(i->n_configs < i->n_nodes / 2);
    CHECK_EQ_INT(i->supported, i->total);
    CHECK_EQ_INT(i->total, i->n_nodes - 1); /* flatten does no work */
    for (uint32_t a = 0; a < i->n_nodes; a++)
        CHECK(i->nodes[a].config < i->n_configs);
    clv_support_free(s);
    clv_graph_free(g);
}

static void forcing(void)
{
    clv_graph *g = small();
    clv_support *s = ask("null", g);
    clv_err e = {0};
    const clv_node_support *n = clv_support_get(s)->nodes;
    CHECK(clv_support_force_op(s, "MaxPool", CLV_SIDE_CPU, &e) == CLV_OK);
    CHECK_EQ_INT(n[first(g, "max_pool2d")].side, CLV_SIDE_CPU);
    CHECK(n[first(g, "max_pool2d")].supported);
    CHECK(clv_support_force_op(s, "sort", CLV_SIDE_CPU, &e) == CLV_OK);
    CHECK_EQ_INT(clv_support_force_op(s, "max_pol2d", CLV_SIDE_CPU, &e),
                 CLV_USAGE);
    CHECK_HAS(e.msg, "did you mean 'max_pool2d'?");
    CHECK(clv_support_force_nodes(s, "classifier", CLV_SIDE_CPU, &e) == CLV_OK);
    CHECK_EQ_INT(n[g->n_nodes - 1].side, CLV_SIDE_CPU);
    CHECK_EQ_INT(n[0].side, CLV_SIDE_ACCELERATOR);
    CHECK(clv_support_force_nodes(s, "features.?", CLV_SIDE_CPU, &e) == CLV_OK);
    CHECK_EQ_INT(n[0].side, CLV_SIDE_CPU);
    CHECK_EQ_INT(clv_support_force_nodes(s, "nothing*", CLV_SIDE_CPU, &e),
                 CLV_NOT_FOUND);
    clv_support_free(s);
    clv_graph_free(g);
}

static void overrides(void)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "line 1: expected an object"},
        {"{\"oops\": {}}", "line 1: unknown key 'oops'"},
        {"{\"ops\": []}", "'ops' must be an object"},
        {"{\"ops\": {\"relu\": \"gpu\"}}", "'relu' must be \"cpu\""},
        {"{\"ops\": {\"rellu\": \"cpu\"}}", "line 1: no operator is called"},
        {"{\"nodes\": {\n\"x*\": \"cpu\"}}", "line 2: no node or module"},
    };
    clv_graph *g = small();
    clv_support *s = ask("all-but:relu", g);
    clv_err e = {0};
    write_text("{\"ops\": {\"relu\": \"accelerator\"},\n"
               " \"nodes\": {\"features.0\": \"cpu\"}}");
    CHECK(clv_support_overrides(s, path, &e) == CLV_OK);
    CHECK_EQ_INT(clv_support_get(s)->nodes[0].side, CLV_SIDE_CPU);
    CHECK_EQ_INT(clv_support_get(s)->nodes[1].side, CLV_SIDE_ACCELERATOR);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_row(bad[i].text);
        write_text(bad[i].text);
        CHECK(clv_support_overrides(s, path, &e) != CLV_OK);
        CHECK_HAS(e.msg, bad[i].message);
    }
    clv_support_free(s);
    clv_graph_free(g);
}

static const check_case cases[] = {
    {"rules_decide", rules_decide},
    {"rules_are_checked", rules_are_checked},
    {"profiles_open", profiles_open},
    {"unknown_backends", unknown_backends},
    {"commands_answer", commands_answer},
    {"too_few_answers", too_few_answers},
    {"configurations_are_shared", configurations_are_shared},
    {"forcing", forcing},
    {"overrides", overrides},
};

int main(int argc, char **argv)
{
    int fd = mkstemps(path, 5);
    if (fd >= 0)
        close(fd);
    int rc = check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    unlink(path);
    return rc;
}
