/* test_unfold.c - operators with bodies laid open: what each part costs and how
 * often it runs, and that the totals stay what they were. */
#include "check.h"
#include "cleave.h"

#include <dirent.h>
#include <stdio.h>

#define DATA "tests/data/unfold/"

/* A product in a body: how often it runs, and its multiply-adds in all. */
typedef struct product_row {
    const char *file, *node;
    int64_t times, macs;
} product_row;

static const product_row products[] = {
    {"decided", "y/then/p", 1, 64 * 8},
    {"undecided", "y/then/p", 0, 0},
    {"undecided", "y/else/p", 1, 64 * 64},
    {"loop", "last/n", 7, 7 * 32 * 32},
    {"scan", "last/m", 5, 5 * 16 * 16},
    {"nested", "y/n/n", 3 * 4, 3 * 4 * 8 * 8},
};

typedef struct counted {
    clv_graph *g, *open;
    clv_profile *before, *after;
} counted;

static bool count_file(const char *path, counted *c)
{
    *c = (counted){0};
    return clv_graph_open(path, NULL, &c->g, NULL) == CLV_OK &&
           clv_profile_new(c->g, NULL, &c->before, NULL) == CLV_OK &&
           CHECK(clv_graph_unfold(c->g, &c->open, NULL) == CLV_OK) &&
           CHECK(clv_profile_new(c->open, NULL, &c->after, NULL) == CLV_OK);
}

static void release_file(counted *c)
{
    clv_profile_free(c->after);
    clv_profile_free(c->before);
    clv_graph_free(c->g); /* the other holds it as long as it must */
    clv_graph_free(c->open);
}

static void parts(void)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const product_row *r = &products[i];
        char path[160];
        counted c;
        uint32_t n, found = 0;
        check_row(r->file);
        snprintf(path, sizeof path, DATA "%s.onnx", r->file);
        if (CHECK(count_file(path, &c))) {
            const clv_layer *l = clv_profile_layers(c.after, &n);
            for (uint32_t k = 0; k < n; k++) {
                clv_node_info info = clv_graph_node(c.open, l[k].node);
                if (strcmp(info.name, r->node) != 0)
                    continue;
                found++;
                CHECK_EQ_INT(info.times, r->times);
                CHECK_EQ_INT(l[k].cost.macs, r->macs);
            }
        }
        CHECK_EQ_INT(found, 1);
        release_file(&c);
    }
}

/* The sums over all nodes are what the operators with bodies cost before, where
 * that was known. */
static void compare_totals(const char *path)
{
    counted c;
    if (count_file(path, &c)) {
        const clv_totals *a = clv_profile_totals(c.before);
        const clv_totals *b = clv_profile_totals(c.after);
        CHECK_EQ_INT(b->params, a->params);
        if (!a->trust[CLV_TRUST_UNKNOWN]) {
            CHECK_EQ_INT(b->macs, a->macs);
            CHECK_EQ_INT(b->flops, a->flops);
            CHECK_EQ_INT(b->memory, a->memory);
        }
        CHECK(c.open != c.g || b->operators == a->operators);
    }
    release_file(&c);
}

static void totals_of_folder(const char *folder, const char *tail)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    while (d && (entry = readdir(d))) {
        char path[1024], name[128];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%.120s", entry->d_name);
        check_row(name);
        snprintf(path, sizeof path, "%s%s%s", folder, entry->d_name, tail);
        compare_totals(path);
    }
    if (d)
        closedir(d);
}

static void totals(void)
{
    totals_of_folder(DATA, "");
    totals_of_folder("tests/data/onnx/", "");
    totals_of_folder("tests/data/crashes/", "");
}

/* The cases of ONNX's own suite that Debian has. */
static void suite(void)
{
    totals_of_folder("/usr/share/libonnx-testdata/data/node/", "/model.onnx");
}

static const check_case cases[] = {
    {"parts", parts}, {"totals", totals}, {"suite", suite}};
CHECK_MAIN(cases)
