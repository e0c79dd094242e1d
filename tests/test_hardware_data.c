/* test_hardware_data.c - the device files, against rules and published truth.
 *
 * The table is built here from the .def files alone, so a bad file fails
 * whatever the library makes of it. tests/data/ridge.csv states ridge points
 * as others print them, with the inputs they used; tests/data/device_truth.csv
 * holds figures of Epoch AI's table of hardware. */
#include "check.h"
#include "cleave.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct {
    double value;
    const char *source;
} figure;

enum {
#define KEY(key, unit, meaning) FIGURE_##key,
#include "../data/hardware/figures.def"
#undef KEY
    N_FIGURES
};

static const char *const keys[N_FIGURES] = {
#define KEY(key, unit, meaning) #key,
#include "../data/hardware/figures.def"
#undef KEY
};

typedef struct {
    const char *name, *title, *alias;
    int year;
    figure figures[N_FIGURES];
} device;

static const device devices[] = {
/* clang-format off */
#define DEVICE(n, t, kind, y) {.name = n, .title = t, .year = y,
#define ALIAS(a) .alias = a,
#define FIGURE(key, v, src) .figures[FIGURE_##key] = {v, src},
#define END },
#include "../data/hardware/devices.def"
    /* clang-format on */
};

enum { N_DEVICES = sizeof devices / sizeof devices[0] };

static const device *find_device(const char *name)
{
    for (size_t i = 0; i < N_DEVICES; i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    return NULL;
}

static const figure *find_figure(const device *d, const char *key)
{
    for (size_t i = 0; i < N_FIGURES; i++)
        if (strcmp(keys[i], key) == 0)
            return &d->figures[i];
    return NULL;
}

static void check_name(const char *name)
{
    CHECK(name[0] != '\0');
    for (const char *c = name; *c; c++)
        CHECK(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
              strchr("-+", *c));
}

static void check_figure(const figure *f)
{
    if (!f->source)
        return;
    CHECK(f->value > 0);
    CHECK(strlen(f->source) > 5);
    CHECK(!strstr(f->source, "  "));
}

static void files_keep_the_rules(void)
{
    for (size_t i = 0; i < N_DEVICES; i++) {
        const device *d = &devices[i];
        check_row(d->name);
        CHECK(i == 0 || strcmp(devices[i - 1].name, d->name) < 0);
        check_name(d->name);
        CHECK(d->year >= 2010 && d->year <= 2030);
        CHECK(d->title[0] != '\0');
        double peak = 0;
        for (int k = 0; k < N_FIGURES; k++) {
            check_figure(&d->figures[k]);
            if (k <= FIGURE_int8 && d->figures[k].value > peak)
                peak = d->figures[k].value;
        }
        CHECK(peak > 0);
    }
}

/* A name or alias means one device. */
static void names_are_unique(void)
{
    for (size_t i = 0; i < N_DEVICES; i++) {
        if (!devices[i].alias)
            continue;
        check_name(devices[i].alias);
        CHECK(!find_device(devices[i].alias));
        for (size_t j = 0; j < i; j++)
            CHECK(!devices[j].alias ||
                  strcmp(devices[i].alias, devices[j].alias) != 0);
    }
}

/* The devices the notes and examples name are there. */
static void well_known_devices(void)
{
    const device *h100 = find_device("h100-sxm");
    CHECK_OR_RETURN(h100);
    CHECK_STR(h100->alias, "h100");
    CHECK_NEAR(h100->figures[FIGURE_units].value, 132, 0);
    CHECK_NEAR(h100->figures[FIGURE_unit_threads].value, 2048, 0);
    CHECK(find_device("raspberry-pi-4"));
    CHECK(N_DEVICES >= 50);
}

/* device,dtype,peak,bandwidth,ridge,source: our inputs lie within 3 % of the
 * author's, who rounds, and his quotient within 0.5 %. */
static void ridge_row(char *line)
{
    const char *name = strtok(line, ","), *dtype = strtok(NULL, ",");
    const char *text[3];
    for (int i = 0; i < 3; i++)
        text[i] = strtok(NULL, ",");
    check_row(name);
    CHECK_OR_RETURN(text[2]);
    double peak = atof(text[0]), bandwidth = atof(text[1]);
    double ridge = atof(text[2]);
    CHECK_NEAR(peak / bandwidth, ridge, 0.005 * ridge);
    const device *d = find_device(name);
    CHECK_OR_RETURN(d);
    const figure *f = find_figure(d, dtype);
    CHECK_OR_RETURN(f);
    CHECK_NEAR(f->value, peak, 0.03 * peak);
    CHECK_NEAR(d->figures[FIGURE_bandwidth].value, bandwidth, 0.03 * bandwidth);
}

/* device,figure,value,why: within 3 % of the value, or, where `why` gives a
 * reason to differ, not. */
static void truth_row(char *line)
{
    char name[64], key[32], row[100];
    double want;
    int end = 0;
    int fields = sscanf(line, "%63[^,],%31[^,],%lf,%n", name, key, &want, &end);
    snprintf(row, sizeof row, "%s %s", name, key);
    check_row(row);
    CHECK_OR_RETURN(fields == 3 && end > 0);
    bool differs = line[end] != '\n' && line[end] != '\0';
    const device *d = find_device(name);
    CHECK_OR_RETURN(d);
    const figure *f = find_figure(d, key);
    CHECK_OR_RETURN(f && f->source);
    CHECK((fabs(f->value - want) > 0.03 * want) == differs);
}

/* C (m,n) = A (m,k) x B (k,n) in fp16, as the library counts it. */
static double gemm_intensity(int64_t m, int64_t n, int64_t k)
{
    const int64_t a_dims[] = {m, k}, b_dims[] = {k, n};
    const clv_value_arg args[] = {
        {sizeof *args, "a", CLV_VALUE_INPUT, CLV_FLOAT16, 2, a_dims},
        {sizeof *args, "b", CLV_VALUE_INPUT, CLV_FLOAT16, 2, b_dims},
    };
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    uint32_t ab[2], c;
    double intensity = -1;
    if (clv_graph_new("gemm", &g, NULL) == CLV_OK &&
        clv_graph_add_value(g, &args[0], &ab[0], NULL) == CLV_OK &&
        clv_graph_add_value(g, &args[1], &ab[1], NULL) == CLV_OK &&
        clv_graph_add_node(g,
                           &(clv_node_arg){.size = sizeof(clv_node_arg),
                                           .op = "matmul",
                                           .inputs = ab,
                                           .n_inputs = 2},
                           &c, NULL) == CLV_OK &&
        clv_graph_add_output(g, c, NULL) == CLV_OK &&
        clv_graph_infer(g, NULL) == CLV_OK &&
        clv_profile_new(g, NULL, &p, NULL) == CLV_OK)
        intensity = clv_profile_totals(p)->intensity;
    clv_profile_free(p);
    clv_graph_free(g);
    return intensity;
}

/* m,n,k,bytes_per_element,intensity,source */
static void gemm_row(char *line)
{
    long long m, n, k;
    double bytes, want;
    int fields =
        sscanf(line, "%lld,%lld,%lld,%lf,%lf", &m, &n, &k, &bytes, &want);
    CHECK_EQ_INT(fields, 5);
    CHECK_NEAR(bytes, 2, 0);
    CHECK_NEAR(gemm_intensity(m, n, k), want, 0.001 * want);
}

static void each_row(const char *path, void (*row)(char *line))
{
    char line[512];
    FILE *f = fopen(path, "r");
    CHECK_OR_RETURN(f);
    if (fgets(line, sizeof line, f))
        while (fgets(line, sizeof line, f))
            row(line);
    fclose(f);
}

static void published_ridge_points(void)
{
    each_row("tests/data/ridge.csv", ridge_row);
}

static void figures_of_epoch(void)
{
    each_row("tests/data/device_truth.csv", truth_row);
}

static void published_intensities(void)
{
    each_row("tests/data/gemm_intensity.csv", gemm_row);
}

static const check_case cases[] = {
    {"files keep the rules", files_keep_the_rules},
    {"names are unique", names_are_unique},
    {"well-known devices", well_known_devices},
    {"published ridge points", published_ridge_points},
    {"figures as Epoch AI states them", figures_of_epoch},
    {"published intensities of a matrix product", published_intensities},
};

CHECK_MAIN(cases)
