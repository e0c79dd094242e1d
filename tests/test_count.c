/* test_count.c - conventions against the tools they are named after.
 *
 *   counts.csv      torch's FlopCounterMode, ultralytics-thop and fvcore's list
 *                   of unsupported operators, on torchvision (gen/counts.py)
 *   count_ops.csv   single operators that no model has (gen/count_ops.py)
 *
 * fvcore's totals and kinds for whole models are in test_zoo.c. */
#include "check.h"
#include "cleave.h"
#include "csv.h"
#include "models.h"

#include <stdlib.h>

static int64_t total(const clv_graph *g, clv_convention c)
{
    clv_profile *p = NULL;
    clv_profile_opts opts = {.size = sizeof opts, .convention = c};
    int64_t flops = -1;
    if (CHECK(clv_profile_new(g, &opts, &p, NULL) == CLV_OK))
        flops = clv_profile_totals(p)->flops;
    clv_profile_free(p);
    return flops;
}

/* -- whole models ---------------------------------------------------------*/

/* fvcore's trace of attention shows PyTorch's internals (and of in-place
 * dropout another name), not one node per operator. */
static bool traced_alike(const char *model)
{
    static const char *const others[] = {"vit", "swin", "maxvit", "mvit"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strncmp(model, others[i], strlen(others[i])))
            return false;
    return true;
}

static uint32_t unsupported(const clv_profile *p, const char *op)
{
    uint32_t n;
    const clv_unsupported *u = clv_profile_unsupported(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(u[i].op, op))
            return u[i].count;
    return 0;
}

/* `want` is {"add": 8, "max_pool2d": 1}, and that is all of them. */
static void check_unsupported(const clv_graph *g, const char *want)
{
    clv_profile *p = NULL;
    clv_profile_opts opts = {.size = sizeof opts,
                             .convention = CLV_CONVENTION_FVCORE};
    char op[64];
    int64_t count, all = 0;
    uint32_t n = 0;
    CHECK_OR_RETURN(clv_profile_new(g, &opts, &p, NULL) == CLV_OK);
    for (const char *at = want; (at = strchr(at, '"')); at = strchr(at, ':')) {
        int got = sscanf(at, "\"%63[^\"]\": %" SCNd64, op, &count);
        if (!CHECK(got == 2))
            break;
        if (!strcmp(op, "dropout"))
            continue;
        all++;
        check_that(unsupported(p, op) == count, __FILE__, __LINE__,
                   "%s: got %u, want %" PRId64, op, unsupported(p, op), count);
    }
    clv_profile_unsupported(p, &n);
    CHECK_EQ_INT(n, all);
    clv_profile_free(p);
}

static void models(void)
{
    csv t;
    CHECK_OR_RETURN(csv_open(&t, "tests/data/counts.csv"));
    while (csv_next(&t)) {
        const char *model = csv_get(&t, "model");
        if (!in_zoo(model))
            continue;
        check_row(model);
        clv_graph *g = open_at(model, csv_get(&t, "input"));
        if (!g)
            continue;
        int64_t torch = atoll(csv_get(&t, "torch"));
        CHECK_EQ_INT(total(g, CLV_CONVENTION_TORCH), torch);
        CHECK_EQ_INT(total(g, CLV_CONVENTION_TORCHVISION), torch / 2);
        CHECK_EQ_INT(total(g, CLV_CONVENTION_THOP), atoll(csv_get(&t, "thop")));
        const char *want = csv_get(&t, "fvcore_unsupported");
        if (*want && traced_alike(model))
            check_unsupported(g, want);
        clv_graph_free(g);
    }
}

/* -- single operators -----------------------------------------------------*/

/* "stride=2;padding=1,1;mode=linear", cut in place. */
typedef struct {
    clv_attr_arg list[8];
    int64_t ints[8][4];
    uint32_t n;
} attr_list;

static void read_attr(attr_list *a, const char *name, const char *value)
{
    clv_attr_arg *arg = &a->list[a->n];
    int64_t *ints = a->ints[a->n++];
    *arg = (clv_attr_arg){.name = name, .type = CLV_ATTR_STRING};
    arg->u.s = value;
    if (!strchr("-0123456789", *value))
        return;
    for (char *end = (char *)value; arg->n < 4; value = end + 1) {
        ints[arg->n++] = strtoll(value, &end, 10);
        if (*end != ',')
            break;
    }
    arg->type = arg->n > 1 ? CLV_ATTR_INTS : CLV_ATTR_INT;
    if (arg->n > 1)
        arg->u.ints = ints;
    else
        arg->u.i = ints[0];
}

static void read_attrs(attr_list *a, char *text)
{
    a->n = 0;
    for (char *at = strtok(text, ";"); at && a->n < 8; at = strtok(NULL, ";")) {
        char *value = strchr(at, '=');
        CHECK_OR_RETURN(value != NULL);
        *value = '\0';
        read_attr(a, at, value + 1);
    }
}

/* "2x3x4 6x4 - 4i": shapes, an absent input, indices. */
static uint32_t add_inputs(clv_graph *g, char *text, uint32_t *ids)
{
    uint32_t n = 0;
    for (char *at = strtok(text, " "); at && n < 12; at = strtok(NULL, " ")) {
        int64_t dims[8];
        clv_value_arg v = {.size = sizeof v,
                           NULL,
                           n ? CLV_VALUE_PARAM : CLV_VALUE_INPUT,
                           CLV_FLOAT32,
                           0,
                           dims};
        if (strchr(at, 'i'))
            v.dtype = CLV_INT64;
        v.rank = read_shape(at, dims);
        ids[n] = CLV_NONE;
        if (*at != '-')
            CHECK(clv_graph_add_value(g, &v, &ids[n], NULL) == CLV_OK);
        n++;
    }
    return n;
}

/* A graph of one operator; NULL, and a failed check, when it is refused. */
static clv_graph *one_operator(const char *op, const char *attrs,
                               const char *inputs)
{
    char attr_text[256], input_text[256];
    uint32_t ids[12], y;
    attr_list a;
    clv_graph *g = NULL;
    clv_err err;
    snprintf(attr_text, sizeof attr_text, "%s", attrs);
    snprintf(input_text, sizeof input_text, "%s", inputs);
    read_attrs(&a, attr_text);
    if (!CHECK(clv_graph_new(op, &g, NULL) == CLV_OK))
        return NULL;
    clv_node_arg n = {.size = sizeof n,
                      .op = op,
                      .inputs = ids,
                      .n_inputs = add_inputs(g, input_text, ids),
                      .attrs = a.list,
                      .n_attrs = a.n};
    CHECK(clv_graph_add_node(g, &n, &y, NULL) == CLV_OK);
    CHECK(clv_graph_add_output(g, y, NULL) == CLV_OK);
    if (check_that(clv_graph_infer(g, &err) == CLV_OK, __FILE__, __LINE__, "%s",
                   err.msg))
        return g;
    clv_graph_free(g);
    return NULL;
}

static void check_fvcore(const clv_graph *g, const char *kind, int64_t want)
{
    clv_profile *p = NULL;
    clv_profile_opts opts = {.size = sizeof opts,
                             .convention = CLV_CONVENTION_FVCORE};
    uint32_t n;
    CHECK_OR_RETURN(clv_profile_new(g, &opts, &p, NULL) == CLV_OK);
    const clv_kind_total *k = clv_profile_kinds(p, &n);
    CHECK_EQ_INT(clv_profile_totals(p)->flops, want);
    CHECK_EQ_INT(n, *kind ? 1 : 0);
    if (n == 1 && *kind)
        CHECK_STR(k[0].kind, kind);
    clv_profile_free(p);
}

static void operators(void)
{
    csv t;
    char name[160];
    CHECK_OR_RETURN(csv_open(&t, "tests/data/count_ops.csv"));
    while (csv_next(&t)) {
        const char *op = csv_get(&t, "op"), *attrs = csv_get(&t, "attrs");
        const char *inputs = csv_get(&t, "inputs");
        snprintf(name, sizeof name, "%s %s %s", op, attrs, inputs);
        check_row(name);
        clv_graph *g = one_operator(op, attrs, inputs);
        if (!g)
            continue;
        if (*csv_get(&t, "fvcore"))
            check_fvcore(g, csv_get(&t, "fvcore_kind"),
                         atoll(csv_get(&t, "fvcore")));
        CHECK_EQ_INT(total(g, CLV_CONVENTION_TORCH),
                     atoll(csv_get(&t, "torch")));
        CHECK_EQ_INT(total(g, CLV_CONVENTION_THOP), atoll(csv_get(&t, "thop")));
        clv_graph_free(g);
    }
}

/* -- the reconciliation ---------------------------------------------------*/

/* What is explained adds up to the whole difference. */
static void check_verdict(const clv_verdict *v, int64_t ours)
{
    int64_t sum = 0, last = INT64_MAX;
    for (uint32_t i = 0; i < v->n_differences; i++) {
        const clv_difference *d = &v->differences[i];
        int64_t size = llabs(d->difference);
        sum += d->difference;
        CHECK_EQ_INT(d->difference, d->ours - d->theirs);
        CHECK(size > 0 && size <= last);
        CHECK(d->reason && *d->reason);
        last = size;
    }
    CHECK_EQ_INT(sum, v->difference);
    CHECK_EQ_INT(v->difference, ours - v->flops);
    CHECK(v->accuracy >= 0 && v->accuracy <= 100);
    CHECK(v->total <= v->flops);
}

static void differences_add_up(void)
{
    const clv_zoo_model *m;
    for (uint32_t i = 0; (m = clv_zoo_at(i)); i++) {
        check_row(m->name);
        clv_graph *g = NULL;
        clv_validation *v = NULL;
        if (!CHECK(clv_graph_open(m->name, NULL, &g, NULL) == CLV_OK))
            continue;
        if (CHECK(clv_validation_new(g, &v, NULL) == CLV_OK)) {
            uint32_t n;
            const clv_verdict *w = clv_validation_verdicts(v, &n);
            CHECK_EQ_INT(n, CLV_CONVENTION_COUNT);
            for (uint32_t k = 0; k < n; k++)
                check_verdict(&w[k], clv_validation_ours(v)->flops);
        }
        clv_validation_free(v);
        clv_graph_free(g);
    }
}

/* The figures everyone quotes for resnet50, side by side. */
static void resnet50(void)
{
    static const struct {
        int64_t total;
        const char *unit;
    } want[CLV_CONVENTION_COUNT] = {
        [CLV_CONVENTION_FULL] = {8217431528, "FLOP"},
        [CLV_CONVENTION_FVCORE] = {4111512576, "MAC"},
        [CLV_CONVENTION_TORCH] = {8178368512, "FLOP"},
        [CLV_CONVENTION_TORCHVISION] = {4089184256, "MAC"},
        [CLV_CONVENTION_THOP] = {4133742592, "MAC"},
    };
    clv_graph *g = NULL;
    clv_validation *v = NULL;
    CHECK_OR_RETURN(clv_graph_open("resnet50", NULL, &g, NULL) == CLV_OK);
    if (CHECK(clv_validation_new(g, &v, NULL) == CLV_OK)) {
        uint32_t n;
        const clv_verdict *w = clv_validation_verdicts(v, &n);
        for (uint32_t i = 0; i < n; i++) {
            CHECK_EQ_INT(w[i].total, want[i].total);
            CHECK_STR(w[i].unit, want[i].unit);
        }
    }
    clv_validation_free(v);
    clv_graph_free(g);
}

/* -- diagnosis ------------------------------------------------------------*/

static void diagnoses(void)
{
    static const struct {
        const char *name;
        double gflops;
        const char *says; /* the first explanation; NULL: none */
    } rows[] = {
        {"ours", 8.217431528, "our own count"},
        {"MACs", 4.089184256, "MACs"},
        {"fvcore", 4.111512576, "fvcore"},
        {"thop", 4.133742592, "thop"},
        {"thop in FLOPs", 8.267485184, "twice what ultralytics-thop"},
        {"another batch", 65.739452224, "batch 8 instead of 1"},
        {"a training step", 24.652294584, "training step"},
        {"nothing fits", 5.9, NULL},
    };
    clv_graph *g = NULL;
    CHECK_OR_RETURN(clv_graph_open("resnet50", NULL, &g, NULL) == CLV_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        clv_diagnosis *d = NULL;
        check_row(rows[i].name);
        int64_t expected = (int64_t)(rows[i].gflops * 1e9 + 0.5);
        if (!CHECK(clv_diagnosis_new(g, expected, &d, NULL) == CLV_OK))
            continue;
        const clv_diagnosis_info *f = clv_diagnosis_get(d);
        CHECK_EQ_INT(f->convs, 53);
        CHECK_EQ_INT(f->unknown_operators, 0);
        CHECK_EQ_INT(f->n_zeros, 1);
        CHECK_STR(f->zeros[0].type, "flatten");
        CHECK(f->low == (8.217431528 < 0.8 * rows[i].gflops));
        CHECK_EQ_INT(f->n_explanations > 0, rows[i].says != NULL);
        if (rows[i].says && f->n_explanations > 0)
            CHECK_HAS(f->explanations[0].text, rows[i].says);
        clv_diagnosis_free(d);
    }
    clv_graph_free(g);
}

static void unknown_operators(void)
{
    clv_graph *g = NULL;
    clv_diagnosis *d = NULL;
    uint32_t x, y;
    CHECK_OR_RETURN(clv_graph_new("odd", &g, NULL) == CLV_OK);
    const int64_t dims[] = {2, 3};
    clv_value_arg in = {
        .size = sizeof in, "x", CLV_VALUE_INPUT, CLV_FLOAT32, 2, dims};
    CHECK(clv_graph_add_value(g, &in, &x, NULL) == CLV_OK);
    clv_node_arg odd = {.size = sizeof odd,
                        .op = "my_op",
                        .origin = "my::op",
                        .inputs = &x,
                        .n_inputs = 1};
    CHECK(clv_graph_add_node(g, &odd, &y, NULL) == CLV_OK);
    CHECK(clv_graph_add_output(g, y, NULL) == CLV_OK);
    CHECK(clv_graph_infer(g, NULL) == CLV_OK);
    if (CHECK(clv_diagnosis_new(g, 0, &d, NULL) == CLV_OK)) {
        const clv_diagnosis_info *f = clv_diagnosis_get(d);
        CHECK_EQ_INT(f->unknown_operators, 1);
        CHECK_EQ_INT(f->n_unknowns, 1);
        CHECK_STR(f->unknowns[0].type, "my::op");
        CHECK_EQ_INT(f->n_explanations, 0);
    }
    clv_diagnosis_free(d);
    CHECK(clv_diagnosis_new(g, -1, &d, NULL) == CLV_USAGE);
    clv_graph_free(g);
}

static void names(void)
{
    for (unsigned c = 0; c < CLV_CONVENTION_COUNT; c++)
        CHECK_EQ_INT(
            clv_convention_find(clv_convention_name((clv_convention)c)), c);
    CHECK_EQ_INT(clv_convention_find("ptflops"), CLV_CONVENTION_COUNT);
}

static const check_case cases[] = {
    {"models", models},
    {"operators", operators},
    {"differences add up", differences_add_up},
    {"resnet50", resnet50},
    {"diagnoses", diagnoses},
    {"unknown operators", unknown_operators},
    {"names", names},
};

CHECK_MAIN(cases)
