/* test_locale.c - the same bytes in every locale.
 *
 * German has a decimal comma, and groups of thousands; in Turkish the capital
 * of 'i' is not 'I'. Both are made with localedef where the system has their
 * sources, and named in LOCPATH; where not, the test is skipped. */
#include "check.h"
#include "cleave.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const locales[] = {"de_DE", "tr_TR"};
enum { N_LOCALES = sizeof locales / sizeof *locales };

/* What most reports say of one model, one behind the other. */
static void report_all(clv_buf *out)
{
    static const clv_report_format formats[] = {
        CLV_REPORT_TEXT, CLV_REPORT_JSON, CLV_REPORT_CSV};
    clv_graph *g;
    clv_profile *p;
    clv_cut *c;
    clv_err e;
    CHECK_OR_RETURN(clv_graph_open("mobilenet_v2", NULL, &g, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_profile_new(g, NULL, &p, &e) == CLV_OK);
    CHECK_OR_RETURN(clv_cut_fusion(p, NULL, &c, &e) == CLV_OK);
    const clv_device *d;
    CHECK_OR_RETURN(clv_device_find("h100", &d, &e) == CLV_OK);
    clv_map *m;
    CHECK_OR_RETURN(clv_map_new(c, d, &m, &e) == CLV_OK);
    clv_summary *sum;
    CHECK_OR_RETURN(clv_summary_new(c, &sum, &e) == CLV_OK);
    for (int i = 0; i < 3; i++) {
        clv_report_opts o = {
            .size = sizeof o, .format = formats[i], .verbose = true};
        clv_report_profile(p, &o, out);
        clv_report_partition(c, sum, &o, out);
        clv_report_maps((const clv_map *const *)&m, 1, &o, out);
    }
    clv_report_map_svg(m, out);
    clv_summary_free(sum);
    clv_map_free(m);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
}

static void numbers(void)
{
    char text[64], *end;
    clv_format(text, sizeof text, "%.2f %g %e", 1234.5, 0.25, 1e-3);
    CHECK_STR(text, "1234.50 0.25 1.000000e-03");
    CHECK(clv_text_double("3.25,7", &end) == 3.25 && *end == ',');
    CHECK(clv_dtype_find("INT8") == clv_dtype_find("int8") ||
          clv_dtype_find("INT8") == CLV_NODTYPE);
}

/* Makes the locale in the folder that LOCPATH names; false when it cannot. */
static bool made(const char *name, const char *folder)
{
    char command[300], full[40];
    snprintf(full, sizeof full, "%s.UTF-8", name);
    snprintf(command, sizeof command,
             "localedef -c -i %s -f UTF-8 %s/%s >/dev/null 2>&1", name, folder,
             full);
    (void)!system(command);
    return setlocale(LC_ALL, full) != NULL;
}

static void same_everywhere(void)
{
    char folder[] = "/tmp/cleave-locale-XXXXXX", command[64];
    clv_buf plain = {0};
    CHECK_OR_RETURN(mkdtemp(folder));
    setenv("LOCPATH", folder, 1);
    numbers();
    report_all(&plain);
    for (int i = 0; i < N_LOCALES; i++) {
        check_row(locales[i]);
        if (!made(locales[i], folder)) {
            printf("SKIP locale %s cannot be made here\n", locales[i]);
            continue;
        }
        clv_buf here = {0};
        CHECK(i > 0 || localeconv()->decimal_point[0] == ',');
        numbers();
        report_all(&here);
        CHECK(here.len == plain.len && plain.len > 10000 &&
              !memcmp(here.text, plain.text, plain.len));
        CHECK(i > 0 || localeconv()->decimal_point[0] == ','); /* still */
        clv_buf_free(&here);
        setlocale(LC_ALL, "C");
    }
    clv_buf_free(&plain);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}

static const check_case cases[] = {{"same_everywhere", same_everywhere}};
CHECK_MAIN(cases)
