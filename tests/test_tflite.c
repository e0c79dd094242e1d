/* test_tflite.c - TFLite files of single operators and small networks against
 * what the interpreter of TensorFlow computes and plans for them
 * (tests/gen/tflite.py), and files that are no good. */
#include "check.h"
#include "cleave.h"
#include "formats/formats.h"

#include <dirent.h>
#include <stdlib.h>

#define FOLDER "tests/data/tflite"

enum { PATH = 300 };

/* -- values ---------------------------------------------------------------*/

/* Floats within 1e-4 of the largest; codes of quantised nets within two steps;
 * all else as it is. */
static void compare(const char *net, const clv_tensor *got,
                    const clv_tensor *want)
{
    int64_t n = 1;
    CHECK_EQ_INT(got->dtype, want->dtype);
    CHECK_EQ_INT(got->rank, want->rank);
    for (uint32_t i = 0; i < want->rank; i++) {
        CHECK_EQ_INT(got->dims[i], want->dims[i]);
        n *= want->dims[i];
    }
    if (check_state.bad)
        return;
    bool codes = strstr(net, "int8") || strstr(net, "int16");
    double most = 1, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double y = clv_tensor_get(want, i), x = clv_tensor_get(got, i);
        most = fabs(y) > most ? fabs(y) : most;
        worst = fabs(x - y) > worst || isnan(x) ? fabs(x - y) : worst;
    }
    bool real = want->dtype == CLV_FLOAT32;
    check_that(worst <= (real    ? 1e-4 * most
                         : codes ? 2
                                 : 0),
               __FILE__, __LINE__, "off by %g of %g", worst, most);
}

/* The tensor called `kind`/NAME of the archive. */
static bool truth(const char *npz, const char *kind, const char *name,
                  clv_tensor *out)
{
    char entry[PATH];
    snprintf(entry, sizeof entry, "%s/%s", kind, name);
    return clv_tensor_read(npz, entry, out, NULL) == CLV_OK;
}

static void run_net(const char *net, const clv_graph *g, const char *npz)
{
    clv_model *m = NULL;
    clv_context *c = NULL;
    clv_err err = {0};
    clv_tensor in[8] = {{0}};
    uint32_t n_in, n_out;
    const uint32_t *ins = clv_graph_inputs(g, &n_in);
    const uint32_t *outs = clv_graph_outputs(g, &n_out);
    CHECK(n_in <= 8);
    if (clv_model_new(g, NULL, &m, &err) != CLV_OK ||
        clv_context_new(m, &c, &err) != CLV_OK) {
        check_that(0, __FILE__, __LINE__, "%s", err.msg);
        clv_model_free(m);
        return;
    }
    for (uint32_t i = 0; i < n_in && i < 8; i++)
        CHECK(truth(npz, "in", clv_graph_value(g, ins[i]).name, &in[i]) &&
              clv_context_set(c, i, &in[i], &err) == CLV_OK);
    if (CHECK(clv_context_run(c, &err) == CLV_OK))
        for (uint32_t i = 0; i < n_out; i++) {
            clv_tensor want;
            if (!CHECK(
                    truth(npz, "out", clv_graph_value(g, outs[i]).name, &want)))
                continue;
            compare(net, clv_context_output(c, i), &want);
            clv_tensor_free(&want);
        }
    for (uint32_t i = 0; i < 8; i++)
        clv_tensor_free(&in[i]);
    clv_context_free(c);
    clv_model_free(m);
}

/* -- memory ---------------------------------------------------------------*/

/* Scratch of these kernels is not planned (docs/formats.md). */
static bool plan_is_short(const char *net)
{
    return !strncmp(net, "lstm_sequence", 13) ||
           !strncmp(net, "lstm_both_ways", 14);
}

/* The block that the interpreter plans, within 2 %; the truth is 0 where it
 * allocates tensors as it runs. */
static void plan_net(const char *net, clv_graph *g, const char *npz)
{
    clv_tensor want;
    clv_profile *p = NULL;
    clv_cut *cut = NULL;
    clv_memory *m = NULL;
    if (!CHECK(clv_tensor_read(npz, "arena", &want, NULL) == CLV_OK))
        return;
    double bytes = clv_tensor_get(&want, 0);
    clv_tensor_free(&want);
    if (CHECK(clv_profile_new(g, NULL, &p, NULL) == CLV_OK) &&
        CHECK(clv_cut_op(p, &cut, NULL) == CLV_OK) &&
        CHECK(clv_memory_new(cut, NULL, &m, NULL) == CLV_OK)) {
        double got = (double)clv_memory_get(m)->planned;
        check_that(bytes == 0 || plan_is_short(net) ||
                       fabs(got - bytes) <= 0.02 * bytes,
                   __FILE__, __LINE__, "plans %g, the interpreter %g", got,
                   bytes);
    }
    clv_memory_free(m);
    clv_cut_free(cut);
    clv_profile_free(p);
}

static void nets(void)
{
    DIR *d = opendir(FOLDER);
    struct dirent *f;
    int n = 0;
    while (d && (f = readdir(d))) {
        char path[PATH], npz[PATH], name[100];
        char *dot = strstr(f->d_name, ".tflite");
        clv_graph *g = NULL;
        clv_err err = {0};
        if (!dot)
            continue;
        snprintf(name, sizeof name, "%.90s", f->d_name);
        check_row(name);
        snprintf(path, sizeof path, FOLDER "/%s", f->d_name);
        snprintf(npz, sizeof npz, FOLDER "/%.*s.npz", (int)(dot - f->d_name),
                 f->d_name);
        if (check_that(clv_graph_open(path, NULL, &g, &err) == CLV_OK, __FILE__,
                       __LINE__, "%s", err.msg)) {
            run_net(f->d_name, g, npz);
            plan_net(f->d_name, g, npz);
        }
        clv_graph_free(g);
        n++;
    }
    if (d)
        closedir(d);
    CHECK(n > 100);
}

/* -- no good --------------------------------------------------------------*/

static size_t read_all(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(out, 1, size, f) : 0;
    if (f)
        fclose(f);
    return n;
}

/* Loads bytes; true when they are a model or fail with one line. */
static bool opens_or_says(const char *bytes, size_t n, int *opened)
{
    clv_mapping map = {
        .data = (const uint8_t *)bytes, .size = n, .borrowed = true};
    clv_graph *g = NULL;
    clv_err err = {0};
    clv_status s = clv__tflite_load(map, "net.tflite", NULL, &g, &err);
    clv_graph_free(g);
    *opened += s == CLV_OK;
    return s == CLV_OK || (err.msg[0] && !strchr(err.msg, '\n'));
}

/* A network cut off anywhere, and with one word changed at a time. */
static void damaged(void)
{
    static char whole[1 << 16], bytes[1 << 16];
    size_t n = read_all(FOLDER "/cnn_int8.tflite", whole, sizeof whole);
    int opened = 0;
    CHECK(n > 1000);
    for (size_t cut = 8; cut < n; cut += 37)
        CHECK(opens_or_says(whole, cut, &opened));
    CHECK_EQ_INT(opened, 0);
    for (size_t at = 8; at + 4 <= n; at += 12) {
        static const uint32_t odd[] = {0xffffffff, 0x7ffffff0, 3};
        memcpy(bytes, whole, n);
        memcpy(bytes + at, &odd[at / 12 % 3], 4);
        CHECK(opens_or_says(bytes, n, &opened));
    }
}

static const check_case cases[] = {{"nets", nets}, {"damaged", damaged}};
CHECK_MAIN(cases)
