/* cmd_diagnose.c - why a count is not what was expected. */
#include "cli.h"

typedef struct finding {
    const char *model;
    const clv_diagnosis_info *info;
} finding;

static void diagnose_report(const void *result, const clv_report_opts *o,
                            clv_buf *out)
{
    const finding *f = result;
    clv_report_diagnosis(f->model, f->info, o, out);
}

clv_status cmd_diagnose(const options *o, clv_err *err)
{
    clv_graph *g;
    clv_diagnosis *d = NULL;
    double expected = o->expected_gflops * 1e9;
    if (expected >= 9e18)
        return fail(err, CLV_USAGE, "--expected-gflops: %g is too large",
                    o->expected_gflops);
    clv_status s = open_model(o, o->args.items[0], &g, err);
    if (s == CLV_OK)
        s = clv_diagnosis_new(g, (int64_t)(expected + 0.5), &d, err);
    if (s == CLV_OK) {
        finding f = {clv_graph_name(g), clv_diagnosis_get(d)};
        s = emit(o, diagnose_report, &f, err);
    }
    clv_diagnosis_free(d);
    clv_graph_free(g);
    return s;
}
