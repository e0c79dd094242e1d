/* test_onnx.c - ONNX files of torchvision and others against live figures.
 *
 * tests/data/onnx/manifest.csv (tests/gen/export_onnx.py) has, for each file,
 * the parameters and MACs measured on the live PyTorch module it came from. */
#include "check.h"
#include "cleave.h"
#include "formats/onnx/read.h"

#include <stdlib.h>

enum {
    FILE_,
    MODEL,
    EXPORTER,
    OPSET,
    INPUT,
    PARAMS,
    MACS,
    INITIALIZERS,
    NOTE,
    COLUMNS
};

/* One line of CSV; a quoted field may hold commas. Edits line. */
static int split(char *line, char **field)
{
    int n = 0;
    char *p = line;
    p[strcspn(p, "\r\n")] = '\0';
    while (n < COLUMNS) {
        bool quoted = *p == '"';
        field[n++] = p + quoted;
        char *end = quoted ? strchr(p + 1, '"') : p + strcspn(p, ",");
        if (!end || !*end)
            break;
        char *next = quoted ? end + 1 : end;
        *end = '\0';
        if (quoted && *next != ',')
            break;
        p = next + 1;
    }
    return n;
}

/* Files that hold other numbers than the live module's parameters. All they
 * store must still be accounted for: parameters, buffers, few constants. */
static const struct {
    const char *word, *why;
} stored_otherwise[] = {
    {"folded", "batch norm is folded into the convolutions"},
    {"resnet18-batch.dynamo", "batch norm is folded, though not noted"},
    {"merged", "equal tensors are stored once"},
    {"gpt2_tiny.legacy", "the tied head is stored a second time, transposed"},
    {"gpt2_tiny-fused", "the tied head is stored a second time, transposed"},
    {"llama_tiny.dynamo", "cosines and sines are stored, not computed"},
    {"maxvit", "position tables are gathered: 49*49 entries, not 13*13"},
    {"swin", "position tables are gathered: 49*49 entries, not 13*13"},
};

/* The coordinate MLP's first product (225*2*512, twelve times) is folded. */
static int64_t macs_in_file(char **f)
{
    int64_t live = strtoll(f[MACS], NULL, 10);
    bool v2 = !strcmp(f[FILE_], "swin_v2_t.dynamo.onnx");
    return live - (v2 ? 12 * 225 * 2 * 512 : 0);
}

static int64_t buffers_in(const clv_graph *g)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < clv_graph_num_values(g); i++) {
        clv_value_info v = clv_graph_value(g, i);
        int64_t n = v.kind == CLV_VALUE_BUFFER || v.kind == CLV_VALUE_CONST;
        for (uint32_t k = 0; k < v.rank && v.rank != CLV_NONE; k++)
            n *= v.dims[k];
        sum += n;
    }
    return sum;
}

static void check_params(char **f, const clv_graph *g, int64_t params)
{
    int64_t live = strtoll(f[PARAMS], NULL, 10);
    int64_t stored = strtoll(f[INITIALIZERS], NULL, 10);
    bool otherwise = false;
    for (size_t i = 0; i < sizeof stored_otherwise / sizeof *stored_otherwise;
         i++)
        otherwise |= strstr(f[FILE_], stored_otherwise[i].word) ||
                     strstr(f[NOTE], stored_otherwise[i].word);
    if (params == live || !otherwise) {
        CHECK_EQ_INT(params, live);
        return;
    }
    CHECK(params <= stored);
    CHECK(params + buffers_in(g) >= stored);
}

/* "1x16+1x16": the shapes of the inputs, in order, into args. */
static uint32_t parse_shapes(const char *at, const clv_graph *g,
                             clv_shape_arg *args, int64_t (*dims)[8])
{
    uint32_t n, i = 0;
    const uint32_t *ids = clv_graph_inputs(g, &n);
    for (; *at && i < n && i < 8; i++) {
        args[i] = (clv_shape_arg){clv_graph_value(g, ids[i]).name, dims[i], 0};
        while (*at && *at != '+') {
            char *end;
            dims[i][args[i].rank++] = strtoll(at, &end, 10);
            at = end + (*end == 'x');
        }
        at += *at == '+';
    }
    return i;
}

/* Opens it as it is, then with the shapes that were measured. */
static clv_status open_shaped(const char *path, const char *shapes,
                              clv_graph **g, clv_err *e)
{
    clv_shape_arg args[8];
    int64_t dims[8][8];
    clv_status s = clv_graph_open(path, NULL, g, e);
    if (s != CLV_OK || !clv_graph_warning(*g, 0))
        return s;
    clv_open_opts opts = {.size = sizeof opts,
                          .shapes = args,
                          .n_shapes = parse_shapes(shapes, *g, args, dims)};
    clv_graph *first = *g;
    s = clv_graph_open(path, &opts, g, e);
    clv_graph_free(first);
    return s;
}

/* The boxes found decide how often mask pasting runs, and on what. */
static bool pastes_masks(const char *model)
{
    return strstr(model, "maskrcnn") || strstr(model, "keypointrcnn");
}

static void check_file(char **f)
{
    char path[300];
    snprintf(path, sizeof path, "tests/data/onnx/%s", f[FILE_]);
    check_row(f[FILE_]);
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err e;
    if (!check_that(open_shaped(path, f[INPUT], &g, &e) == CLV_OK, __FILE__,
                    __LINE__, "%s", e.msg))
        return;
    if (check_that(clv_profile_new(g, NULL, &p, &e) == CLV_OK, __FILE__,
                   __LINE__, "%s", e.msg)) {
        const clv_totals *t = clv_profile_totals(p);
        if (*f[MACS])
            CHECK_EQ_INT(t->macs, macs_in_file(f));
        check_params(f, g, t->params);
        CHECK_EQ_INT(t->trust[CLV_TRUST_UNKNOWN], pastes_masks(f[MODEL]));
    }
    clv_profile_free(p);
    clv_graph_free(g);
}

static void live_figures(void)
{
    FILE *csv = fopen("tests/data/onnx/manifest.csv", "r");
    CHECK_OR_RETURN(csv != NULL);
    char line[1024], *field[COLUMNS] = {NULL};
    CHECK(fgets(line, sizeof line, csv) != NULL); /* the header */
    while (fgets(line, sizeof line, csv)) {
        for (int i = 0; i < COLUMNS; i++)
            field[i] = "";
        if (split(line, field) > INITIALIZERS)
            check_file(field);
    }
    fclose(csv);
}

/* -- the light networks of the ONNX suite ---------------------------------*/

/* Every shape is known, and parameters are as tests/gen/light_params.py counts
 * them: 25557032 for resnet50, 143667240 for vgg19, as published. */
static void light_network(const char *file, int64_t params)
{
    char path[200];
    snprintf(path, sizeof path, "tests/data/onnx/light/%.100s", file);
    check_row(file);
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err e;
    if (!check_that(clv_graph_open(path, NULL, &g, &e) == CLV_OK, __FILE__,
                    __LINE__, "%s", e.msg))
        return;
    for (uint32_t i = 0; i < clv_graph_num_values(g); i++)
        CHECK(clv_graph_value(g, i).rank != CLV_NONE);
    CHECK(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    CHECK_EQ_INT(clv_profile_totals(p)->params, params);
    CHECK_EQ_INT(clv_profile_totals(p)->trust[CLV_TRUST_UNKNOWN], 0);
    clv_profile_free(p);
    clv_graph_free(g);
}

static void light_networks(void)
{
    FILE *csv = fopen("tests/data/onnx/light/params.csv", "r");
    CHECK_OR_RETURN(csv != NULL);
    char line[120];
    CHECK(fgets(line, sizeof line, csv) != NULL);
    while (fgets(line, sizeof line, csv)) {
        char *comma = strchr(line, ',');
        CHECK_OR_RETURN(comma != NULL);
        *comma = '\0';
        light_network(line, strtoll(comma + 1, NULL, 10));
    }
    fclose(csv);
}

/* -- operators of real models ---------------------------------------------*/

/* None of the operator types of 2190 real exports is unknown. */
static void operators_of_real_models(void)
{
    FILE *list = fopen("tests/data/onnx_ops.txt", "r");
    CHECK_OR_RETURN(list != NULL);
    char line[120];
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#' || !strcmp(line, "Constant"))
            continue; /* a Constant is a value, not a node */
        check_row(line);
        CHECK(onnx_op_find((text){"", 0}, (text){line, strlen(line)}));
    }
    fclose(list);
}

/* Reading looks rows up by halves: they must be in order, each once. */
static void table_in_order(void)
{
    for (size_t i = 1; onnx_op_row(i); i++) {
        const onnx_op *a = onnx_op_row(i - 1), *b = onnx_op_row(i);
        check_row(b->name);
        CHECK(a->domain < b->domain ||
              (a->domain == b->domain && strcmp(a->name, b->name) < 0));
    }
}

/* -- the zoo --------------------------------------------------------------*/

/* The built-in model of the same name has the same MACs at the same shape. */
static void check_zoo(char **f)
{
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err e;
    int64_t dims[8];
    clv_shape_arg shape = {NULL, dims, 0};
    for (const char *t = f[INPUT]; *t;) {
        char *end;
        dims[shape.rank++] = strtoll(t, &end, 10);
        t = end + (*end == 'x');
    }
    clv_open_opts opts = {.size = sizeof opts, .shapes = &shape, .n_shapes = 1};
    check_row(f[MODEL]);
    if (!check_that(clv_graph_open(f[MODEL], &opts, &g, &e) == CLV_OK, __FILE__,
                    __LINE__, "%s", e.msg))
        return;
    if (CHECK(clv_profile_new(g, NULL, &p, &e) == CLV_OK)) {
        CHECK_EQ_INT(clv_profile_totals(p)->macs, strtoll(f[MACS], NULL, 10));
        const clv_totals *t = clv_profile_totals(p);
        CHECK_EQ_INT(t->params - t->unused_params, /* no auxiliary heads */
                     strtoll(f[PARAMS], NULL, 10));
    }
    clv_profile_free(p);
    clv_graph_free(g);
}

static bool in_zoo(const char *name)
{
    for (uint32_t i = 0; clv_zoo_at(i); i++)
        if (!strcmp(clv_zoo_at(i)->name, name))
            return true;
    return false;
}

static void equal_to_the_zoo(void)
{
    FILE *csv = fopen("tests/data/onnx/manifest.csv", "r");
    CHECK_OR_RETURN(csv != NULL);
    char line[1024], last[200] = "", *field[COLUMNS] = {NULL};
    while (fgets(line, sizeof line, csv)) {
        for (int i = 0; i < COLUMNS; i++)
            field[i] = "";
        split(line, field);
        if (strcmp(field[MODEL], last) && *field[MACS] && in_zoo(field[MODEL]))
            check_zoo(field);
        snprintf(last, sizeof last, "%s", field[MODEL]);
    }
    fclose(csv);
}

static const check_case cases[] = {
    {"live_figures", live_figures},
    {"light_networks", light_networks},
    {"operators_of_real_models", operators_of_real_models},
    {"table_in_order", table_in_order},
    {"equal_to_the_zoo", equal_to_the_zoo},
};
CHECK_MAIN(cases)
