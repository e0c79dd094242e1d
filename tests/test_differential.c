/* test_differential.c - random models against PyTorch and ONNX Runtime.
 *
 * tests/gen/differential.py draws small models, lets ONNX Runtime or PyTorch
 * say what comes out, and stores a seeded selection in
 * tests/data/differential.gz, and cases that failed once in
 * tests/data/differential_found.gz. Each is run by plain C kernels, by the fast
 * ones, and by oneDNN where that takes a part: shapes, types, values and MACs
 * must agree, those that are inferred too. A case is (little-endian)
 *
 *     u32 bytes that follow
 *     f32 rtol, f32 atol      |got - want| <= atol + rtol * |want|
 *     i64 macs                -1: not compared
 *     u8  inputs, u8 outputs, u8 flags (CASE_*)
 *     u32 size, bytes         its name
 *     u32 size, bytes         the ONNX model
 *     u32 size, bytes ...     each input and output, a TensorProto;
 *                             an output of size 0 is not compared
 *
 * With --pipe, cases come from stdin and each is answered by one line of three
 * columns: `ok`, `refuse` or `wrong`, with `+` before it when oneDNN ran a
 * part; the operators of the graph; and why. That is how the generator asks. */
#include "check.h"
#include "cleave.h"

#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

enum {
    INPUTS = 16,
    OUTPUTS = 8,
    SECONDS_PER_CASE = 20,
    LARGEST_CASE = 1 << 24,
    WHY = 400
};
enum {
    CASE_BOUND = 1 /* data decides the shape of an output: what is inferred is
                      not compared */
};

typedef struct span {
    const uint8_t *at;
    uint32_t size;
} span;

typedef struct sample {
    float rtol, atol;
    int64_t macs;
    uint8_t n_in, n_out, flags;
    char name[150];
    span model, in[INPUTS], out[OUTPUTS];
} sample;

typedef enum answer { ANSWER_OK, ANSWER_REFUSE, ANSWER_WRONG } answer;

static char model_path[256];
static clv_backend *ref, *onednn; /* NULL: not installed */

/* -- reading cases --------------------------------------------------------*/

typedef struct cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
} cursor;

static void take(cursor *c, void *to, size_t size)
{
    c->bad |= size > c->left;
    if (c->bad)
        return;
    memcpy(to, c->at, size);
    c->at += size;
    c->left -= size;
}

static span take_span(cursor *c)
{
    span s = {0};
    take(c, &s.size, sizeof s.size);
    c->bad |= s.size > c->left;
    if (c->bad)
        return (span){0};
    s.at = c->at;
    c->at += s.size;
    c->left -= s.size;
    return s;
}

static bool sample_parse(const uint8_t *data, size_t size, sample *out)
{
    cursor c = {data, size, false};
    *out = (sample){0};
    take(&c, &out->rtol, sizeof out->rtol);
    take(&c, &out->atol, sizeof out->atol);
    take(&c, &out->macs, sizeof out->macs);
    take(&c, &out->n_in, 1);
    take(&c, &out->n_out, 1);
    take(&c, &out->flags, 1);
    span name = take_span(&c);
    out->model = take_span(&c);
    if (c.bad || out->n_in > INPUTS || out->n_out > OUTPUTS)
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)name.size,
             (const char *)name.at);
    for (int i = 0; i < out->n_in; i++)
        out->in[i] = take_span(&c);
    for (int i = 0; i < out->n_out; i++)
        out->out[i] = take_span(&c);
    return !c.bad && c.left == 0;
}

/* -- comparing ------------------------------------------------------------*/

static bool near(double got, double want, const sample *s)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want))
        return got == want;
    return fabs(got - want) <= (double)s->atol + (double)s->rtol * fabs(want);
}

/* 64-bit integers, which a double does not hold. */
static bool is_wide(clv_dtype t)
{
    return t == CLV_INT64 || t == CLV_UINT64;
}

static bool same_element(const clv_tensor *got, const clv_tensor *want,
                         int64_t i, const sample *s)
{
    if (is_wide(want->dtype) && s->atol == 0)
        return ((const int64_t *)got->data)[i] ==
               ((const int64_t *)want->data)[i];
    return near(clv_tensor_get(got, i), clv_tensor_get(want, i), s);
}

static void dims_text(uint32_t rank, const int64_t *dims, char *out,
                      size_t size)
{
    size_t at = (size_t)snprintf(out, size, "[");
    for (uint32_t i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%lld", i ? "," : "",
                               (long long)dims[i]);
    if (at < size)
        snprintf(out + at, size - at, "]");
}

static bool same_shape(const char *who, clv_dtype dtype, uint32_t rank,
                       const int64_t *dims, const clv_tensor *want, char *why)
{
    char a[120], b[120];
    if (dtype == want->dtype && rank == want->rank &&
        !memcmp(dims, want->dims, rank * sizeof *dims))
        return true;
    dims_text(rank, dims, a, sizeof a);
    dims_text(want->rank, want->dims, b, sizeof b);
    snprintf(why, WHY, "%s %s%s, expected %s%s", who, clv_dtype_name(dtype), a,
             clv_dtype_name(want->dtype), b);
    return false;
}

static bool same_tensor(const clv_tensor *got, const clv_tensor *want,
                        const sample *s, char *why)
{
    int64_t n = clv_tensor_numel(want);
    if (!same_shape("is", got->dtype, got->rank, got->dims, want, why))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!same_element(got, want, i, s)) {
            snprintf(why, WHY, "element %lld is %.9g, expected %.9g",
                     (long long)i, clv_tensor_get(got, i),
                     clv_tensor_get(want, i));
            return false;
        }
    return true;
}

/* What is inferred of output i before anything runs. */
static bool same_inferred(const clv_graph *g, uint32_t i,
                          const clv_tensor *want, const sample *s, char *why)
{
    uint32_t n;
    const uint32_t *ids = clv_graph_outputs(g, &n);
    clv_value_info v = clv_graph_value(g, ids[i]);
    if (s->flags & CASE_BOUND || v.rank == CLV_NONE)
        return true;
    return same_shape("is inferred as", v.dtype, v.rank, v.dims, want, why);
}

/* -- running --------------------------------------------------------------*/

typedef struct job {
    const sample *s;
    clv_graph *g;
    clv_model *m;
    clv_context *c;
    clv_tensor in[INPUTS];
    clv_err e;
} job;

static clv_status job_open(job *j)
{
    FILE *f = fopen(model_path, "wb");
    if (!f)
        return CLV_IO;
    size_t n = fwrite(j->s->model.at, 1, j->s->model.size, f);
    if (fclose(f) != 0 || n != j->s->model.size)
        return CLV_IO;
    clv_status s = clv_graph_open(model_path, NULL, &j->g, &j->e);
    unlink(model_path); /* the graph has it mapped */
    for (int i = 0; i < j->s->n_in && s == CLV_OK; i++)
        s = clv_tensor_parse("pb", j->s->in[i].at, j->s->in[i].size, NULL,
                             &j->in[i], &j->e);
    return s;
}

static clv_status job_run(job *j, clv_backend *backend)
{
    uint32_t n;
    clv_model_opts opts = {
        .size = sizeof opts, .backend = backend, .threads = 1};
    clv_graph_inputs(j->g, &n);
    if (n != j->s->n_in) {
        snprintf(j->e.msg, sizeof j->e.msg, "%u inputs, expected %u", n,
                 j->s->n_in);
        return CLV_USAGE;
    }
    clv_status s = clv_model_new(j->g, &opts, &j->m, &j->e);
    if (s == CLV_OK)
        s = clv_context_new(j->m, &j->c, &j->e);
    for (uint32_t i = 0; i < n && s == CLV_OK; i++)
        s = clv_context_set(j->c, i, &j->in[i], &j->e);
    return s == CLV_OK ? clv_context_run(j->c, &j->e) : s;
}

static void job_stop(job *j)
{
    clv_context_free(j->c);
    clv_model_free(j->m);
    j->c = NULL;
    j->m = NULL;
}

static void job_free(job *j)
{
    job_stop(j);
    clv_graph_free(j->g);
    for (uint32_t i = 0; i < INPUTS; i++)
        clv_tensor_free(&j->in[i]);
}

static answer check_output(job *j, uint32_t i, char *why)
{
    clv_tensor want;
    char text[WHY] = "";
    const span *pb = &j->s->out[i];
    if (!pb->size)
        return ANSWER_OK;
    if (clv_tensor_parse("pb", pb->at, pb->size, NULL, &want, &j->e) !=
        CLV_OK) {
        snprintf(why, WHY, "%.300s", j->e.msg);
        return ANSWER_WRONG;
    }
    const clv_tensor *got = clv_context_output(j->c, i);
    bool same = same_inferred(j->g, i, &want, j->s, text) &&
                same_tensor(got, &want, j->s, text);
    if (!same)
        snprintf(why, WHY, "output %u %.300s", i, text);
    clv_tensor_free(&want);
    return same ? ANSWER_OK : ANSWER_WRONG;
}

static answer check_macs(const job *j, char *why)
{
    clv_profile *p;
    if (j->s->macs < 0)
        return ANSWER_OK;
    if (clv_profile_new(j->g, NULL, &p, NULL) != CLV_OK) {
        snprintf(why, WHY, "cannot be counted");
        return ANSWER_WRONG;
    }
    int64_t macs = clv_profile_totals(p)->macs;
    clv_profile_free(p);
    if (macs == j->s->macs)
        return ANSWER_OK;
    snprintf(why, WHY, "%lld MACs, expected %lld", (long long)macs,
             (long long)j->s->macs);
    return ANSWER_WRONG;
}

static answer run_on(job *j, clv_backend *backend, bool *used, char *why)
{
    answer a = ANSWER_OK;
    uint32_t n;
    clv_status s = job_run(j, backend);
    if (s != CLV_OK) {
        snprintf(why, WHY, "%.300s", j->e.msg);
        a = s == CLV_INTERNAL ? ANSWER_WRONG : ANSWER_REFUSE;
    }
    clv_graph_outputs(j->g, &n);
    for (uint32_t i = 0; i < n && i < j->s->n_out && a == ANSWER_OK; i++)
        a = check_output(j, i, why);
    const clv_model_info *info = j->m ? clv_model_get(j->m) : NULL;
    for (uint32_t i = 0; info && i < info->n_parts; i++)
        *used |= strcmp(info->parts[i].device, "cpu") != 0;
    job_stop(j);
    return a;
}

static void put_operators(const clv_graph *g, clv_buf *out)
{
    for (uint32_t i = 0; g && i < clv_graph_num_nodes(g); i++)
        clv_buf_printf(out, "%s%s", i ? " " : "", clv_graph_node(g, i).op);
}

/* Ends the process when it has computed for so long; a busy machine does not
 * count. 0: no limit any more. */
static void limit(int seconds)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = seconds}},
              NULL);
}

/* Runs s on plain C, on the fast kernels, then on oneDNN; `why` says what is
 * not as expected. `ops`, unless NULL, receives the operators of the graph. */
static answer sample_run(const sample *s, bool *used, clv_buf *ops, char *why)
{
    job j = {.s = s};
    char text[WHY] = "";
    *used = false;
    *why = '\0';
    if (job_open(&j) != CLV_OK) {
        snprintf(why, WHY, "%.300s", j.e.msg);
        job_free(&j);
        return ANSWER_REFUSE;
    }
    if (ops)
        put_operators(j.g, ops);
    answer a = check_macs(&j, why);
    if (a == ANSWER_OK) {
        a = run_on(&j, ref, used, text);
        snprintf(why, WHY, "%s%.380s", a == ANSWER_WRONG ? "plain C: " : "",
                 text);
    }
    if (a == ANSWER_OK) {
        bool ours = false;
        a = run_on(&j, NULL, &ours, text);
        if (a != ANSWER_OK)
            snprintf(why, WHY, "cpu: %.380s", text);
        a = a == ANSWER_OK ? a : ANSWER_WRONG;
    }
    if (a == ANSWER_OK && onednn) {
        a = run_on(&j, onednn, used, text);
        snprintf(why, WHY, "oneDNN: %.380s", text);
        a = a == ANSWER_OK ? a : ANSWER_WRONG;
    }
    job_free(&j);
    return a;
}

static void one_line(char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            *text = ' ';
}

/* -- the committed selection ----------------------------------------------*/

/* Where cases come from: reads `size` bytes, and returns how many there were.
 */
typedef size_t read_fn(void *from, void *to, size_t size);

static size_t read_packed(void *from, void *to, size_t size)
{
    int n = gzread(from, to, (unsigned)size);
    return n > 0 ? (size_t)n : 0;
}

/* zlib would wait until its buffer is full. */
static size_t read_plain(void *from, void *to, size_t size)
{
    return fread(to, 1, size, from);
}

typedef struct case_file {
    read_fn *read;
    void *from;
    uint8_t *buf; /* the case that was read last */
    size_t cap;
} case_file;

/* Bytes of the next case, in f->buf; 0 at the end, -1 when it is cut. */
static int64_t next_case(case_file *f)
{
    uint32_t size;
    size_t n = f->read(f->from, &size, sizeof size);
    if (n == 0)
        return 0;
    if (n != sizeof size || size > LARGEST_CASE)
        return -1;
    if (size > f->cap) {
        free(f->buf);
        f->buf = malloc(size);
        f->cap = size;
    }
    return f->read(f->from, f->buf, size) == size ? (int64_t)size : -1;
}

static void run_file(const char *path)
{
    gzFile gz = gzopen(path, "rb");
    case_file f = {read_packed, gz, NULL, 0};
    long count = 0, on_backend = 0;
    int64_t size;
    CHECK_OR_RETURN(gz != NULL);
    while ((size = next_case(&f)) > 0) {
        sample s;
        bool used;
        char why[WHY];
        if (!CHECK(sample_parse(f.buf, (size_t)size, &s)))
            break;
        check_row(s.name);
        limit(SECONDS_PER_CASE);
        answer a = sample_run(&s, &used, NULL, why);
        check_that(a == ANSWER_OK, __FILE__, __LINE__, "%s", why);
        count++;
        on_backend += used;
    }
    limit(0);
    check_row("the whole file was read");
    CHECK_EQ_INT(size, 0);
    printf("oneDNN has a part in %ld of %ld cases\n", on_backend, count);
    free(f.buf);
    gzclose(gz);
}

/* -- the generator's questions --------------------------------------------*/

static int answer_pipe(void)
{
    static const char *const words[] = {"ok", "refuse", "wrong"};
    case_file f = {read_plain, stdin, NULL, 0};
    int64_t size;
    while ((size = next_case(&f)) > 0) {
        sample s;
        bool used;
        char why[WHY];
        clv_buf ops = {0};
        if (!sample_parse(f.buf, (size_t)size, &s))
            return 2;
        limit(SECONDS_PER_CASE);
        answer a = sample_run(&s, &used, &ops, why);
        one_line(why);
        printf("%s%s\t%s\t%s\n", used ? "+" : "", words[a],
               ops.text ? ops.text : "", a == ANSWER_OK ? "" : why);
        fflush(stdout);
        clv_buf_free(&ops);
    }
    free(f.buf);
    return size < 0;
}

static void found(void)
{
    run_file("tests/data/differential_found.gz");
}

static void selected(void)
{
    run_file("tests/data/differential.gz");
}

static const check_case cases[] = {{"found", found}, {"selected", selected}};

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(model_path, sizeof model_path, "%s/cleave-differential-%ld.onnx",
             tmp ? tmp : "/tmp", (long)getpid());
    if (clv_backend_open("onednn", NULL, &onednn, NULL) != CLV_OK)
        onednn = NULL;
    if (clv_backend_open("ref", NULL, &ref, NULL) != CLV_OK)
        return 2;
    int status =
        argc > 1 && !strcmp(argv[1], "--pipe")
            ? answer_pipe()
            : check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    clv_backend_free(ref);
    clv_backend_free(onednn);
    return status;
}
