/* test_onnx.c - ONNX files of torchvision and others against live figures.
 *
 * tests/data/onnx/manifest.csv (tests/gen/export_onnx.py) has, for each file,
 * the parameters and MACs measured on the live PyTorch module it came from. */
#include "check.h"
#include "cleave.h"

#include <stdlib.h>

enum { FILE_, MODEL, EXPORTER, OPSET, INPUT, PARAMS, MACS, INITIALIZERS, NOTE,
       COLUMNS };

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

static void check_file(char **f)
{
    char path[300];
    snprintf(path, sizeof path, "tests/data/onnx/%s", f[FILE_]);
    check_row(f[FILE_]);
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_err e;
    if (!check_that(clv_graph_open(path, NULL, &g, &e) == CLV_OK, __FILE__,
                    __LINE__, "%s", e.msg))
        return;
    if (check_that(clv_profile_new(g, NULL, &p, &e) == CLV_OK, __FILE__,
                   __LINE__, "%s", e.msg)) {
        const clv_totals *t = clv_profile_totals(p);
        if (*f[MACS])
            CHECK_EQ_INT(t->macs, strtoll(f[MACS], NULL, 10));
        CHECK_EQ_INT(t->params, strtoll(f[PARAMS], NULL, 10));
        CHECK_EQ_INT(t->trust[CLV_UNKNOWN], 0);
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

static const check_case cases[] = {
    {"live_figures", live_figures},
};
CHECK_MAIN(cases)
