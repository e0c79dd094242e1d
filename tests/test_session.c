/* test_session.c - a model at whatever shapes come: plans are kept for those
 * that come again, and a mistake leaves the session usable. */
#include "check.h"
#include "cleave.h"

#include <string.h>

/* Runs a session on a batch of texts of one length; ids and mask are int64. */
static clv_status run_texts(clv_session *s, int64_t batch, int64_t length,
                            clv_err *e)
{
    clv_tensor in[2];
    clv_status st = CLV_OK;
    for (int i = 0; i < 2; i++) {
        in[i] = (clv_tensor){
            .dtype = CLV_INT64, .rank = 2, .dims = {batch, length}};
        if (st == CLV_OK)
            st = clv_tensor_alloc(&in[i], e);
        int64_t *x = in[i].data;
        for (int64_t k = 0; st == CLV_OK && k < batch * length; k++)
            x[k] = i ? 1 : k % length % 90;
    }
    if (st == CLV_OK)
        st = clv_session_run(s, in, 2, e);
    for (int i = 0; i < 2; i++)
        clv_tensor_free(&in[i]);
    return st;
}

/* Lengths and batches change from run to run; those that come again are not
 * planned again, and give the same bits. */
static void session_keeps_plans(void)
{
    static const int64_t shapes[][2] = {{1, 16}, {1, 24}, {3, 16}, {1, 16},
                                        {1, 24}, {3, 16}, {2, 9}};
    static const char *const model = "tests/data/onnx/bert_tiny-free.onnx";
    const clv_session_opts o = {
        .size = sizeof o, .threads = 1, .seed = 3, .draw_weights = true};
    clv_session *s = NULL;
    clv_err e = {0};
    float first[4] = {0};
    CHECK(clv_session_new(model, &o, &s, &e) == CLV_OK);
    CHECK(clv_session_output(s, 0) == NULL);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        CHECK(run_texts(s, shapes[i][0], shapes[i][1], &e) == CLV_OK);
        const clv_tensor *y = clv_session_output(s, 0);
        CHECK(y && y->dims[0] == shapes[i][0] && y->dims[1] == shapes[i][1]);
        if (i == 0)
            memcpy(first, y->data, sizeof first);
        if (i == 3)
            CHECK(!memcmp(first, y->data, sizeof first));
    }
    CHECK(clv_session_plans(s) == 4);
    for (int64_t n = 30; n < 50; n++) /* more than are kept */
        CHECK(run_texts(s, 1, n, &e) == CLV_OK);
    CHECK(run_texts(s, 1, 16, &e) == CLV_OK);
    CHECK(clv_session_plans(s) == 24);
    CHECK(!memcmp(first, clv_session_output(s, 0)->data, sizeof first));
    clv_session_free(s);
}

static void session_survives_errors(void)
{
    const clv_session_opts o = {
        .size = sizeof o, .backend = "cpu", .draw_weights = true};
    clv_session *s = NULL;
    clv_err e = {0};
    clv_tensor odd = {.dtype = CLV_FLOAT32, .rank = 1, .dims = {0}};
    CHECK(clv_session_new("no/such/file.onnx", &o, &s, &e) == CLV_OK);
    CHECK(run_texts(s, 1, 4, &e) != CLV_OK);
    clv_session_free(s);
    CHECK(clv_session_new("tests/data/onnx/bert_tiny-free.onnx", &o, &s, &e) ==
          CLV_OK);
    CHECK(clv_session_run(s, &odd, 1, &e) != CLV_OK);
    CHECK(run_texts(s, 1, 4, &e) == CLV_OK);
    CHECK(clv_session_run(s, &odd, 1, &e) != CLV_OK);
    CHECK(run_texts(s, 1, 4, &e) == CLV_OK);
    clv_session_free(s);
}

static const check_case cases[] = {
    {"session_keeps_plans", session_keeps_plans},
    {"session_survives_errors", session_survives_errors},
};
CHECK_MAIN(cases)
