/* test_onnx_suite.c - the test suite of ONNX, as Debian packages it.
 *
 * timeout: 600
 *
 * Each case of libonnx-testdata is a model with inputs and expected outputs.
 * Every model must load; the shapes and types inferred for its outputs must be
 * those of the expected tensors. Of a sequence or an optional, that is: it is
 * one, and of that type; there are as many tensors, if their number was told;
 * each has the shape that was told for all, or fits into the bound.
 * Many cases feed a shape, an axis or a count as an input: small inputs are
 * therefore given to the reader as constants, which is how exported models
 * have them. What does not agree is listed by
 * name and reason in docs/onnx-coverage.md, which this test writes when
 * CLEAVE_UPDATE is set and else compares. */
#include "check.h"
#include "cleave.h"
#include "formats/onnx/read.h"
#include "onnx_bytes.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char root[] = "/usr/share/libonnx-testdata/data";
static const char *const groups[] = {"node", "simple", "pytorch-converted",
                                     "pytorch-operator"};
enum { PATH = 600, LONGER = 700 };

static bytes all_rest; /* lines of the document */
static long cases_run, cases_agree, cases_inferred;

/* -- files and messages ---------------------------------------------------*/

static wire over(const bytes *b)
{
    return wire_over(b->data, b->size);
}

/* The span of the first field `number`; empty when there is none. */
static wire field_of(wire w, uint32_t number)
{
    wire_field f;
    while (wire_left(&w) && wire_next(&w, &f, NULL) == CLV_OK)
        if (f.number == number && f.type == WIRE_BYTES)
            return f.bytes;
    return (wire){w.end, w.end, w.file};
}

/* -- tensors of the suite -------------------------------------------------*/

typedef struct tensor_info {
    int64_t dims[CLV_MAX_RANK];
    uint32_t rank;
    clv_dtype dtype;
} tensor_info;

static tensor_info tensor_of(wire w)
{
    tensor_info t = {.rank = 0};
    size_t n = 0;
    wire_field f;
    while (wire_left(&w) && wire_next(&w, &f, NULL) == CLV_OK) {
        if (f.number == 1 &&
            wire_ints(&f, t.dims, CLV_MAX_RANK, &n, NULL) != CLV_OK)
            break;
        if (f.number == 2)
            t.dtype = onnx_dtype(f.value);
    }
    t.rank = (uint32_t)n;
    return t;
}

/* Shapes, axes, counts, conditions, scales: what an export has as constants. */
static bool is_small(const tensor_info *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n = sat_mul(n, t->dims[i]);
    if (dtype_is_integral(t->dtype))
        return n <= 256;
    return dtype_class_of(t->dtype) == CLASS_FLOAT && t->rank < 2 && n <= 8;
}

/* The graph; unless `keep`, outputs have their names only and values nothing,
 * so that all must be inferred. */
static void put_graph(bytes *graph, wire w, bool keep)
{
    wire_field f;
    const uint8_t *from = w.cur;
    while (wire_left(&w) && wire_next(&w, &f, NULL) == CLV_OK) {
        text name;
        onnx_type t;
        if (keep) {
            put(graph, from, (size_t)(w.cur - from));
        } else if (f.number == 12 &&
                   onnx_value_info(f.bytes, &name, &t, NULL) == CLV_OK) {
            bytes only = {0};
            put_field(&only, 1, name.s, name.n);
            put_field(graph, 12, only.data, only.size);
            free(only.data);
        } else if (f.number != 13) {
            put(graph, from, (size_t)(w.cur - from));
        }
        from = w.cur;
    }
}

/* The model with input tensors as initializers. */
static bytes with_constants(const bytes *model, const char *folder,
                            const clv_graph *g, bool keep)
{
    bytes graph = {0}, out = {0};
    put_graph(&graph, field_of(over(model), 7), keep);
    uint32_t n;
    const uint32_t *ids = clv_graph_inputs(g, &n);
    for (uint32_t i = 0; i < n; i++) {
        char path[LONGER];
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%u.pb", folder,
                 i);
        bytes pb = bytes_of_file(path);
        tensor_info t = tensor_of(over(&pb));
        const char *name = clv_graph_value(g, ids[i]).name;
        clv_value_info v = clv_graph_value(g, ids[i]);
        if (pb.size && v.dtype == t.dtype && is_small(&t)) {
            put_field(&pb, 8, name, strlen(name)); /* the last name counts */
            put_field(&graph, 5, pb.data, pb.size);
        }
        free(pb.data);
    }
    wire w = over(model);
    wire_field f;
    const uint8_t *from = w.cur;
    while (wire_left(&w) && wire_next(&w, &f, NULL) == CLV_OK) {
        if (f.number == 7)
            put_field(&out, 7, graph.data, graph.size);
        else
            put(&out, from, (size_t)(w.cur - from));
        from = w.cur;
    }
    free(graph.data);
    return out;
}

static clv_status load(const bytes *b, clv_graph **g, clv_err *e)
{
    clv_mapping map = {.data = b->data, .size = b->size, .borrowed = true};
    *e = (clv_err){0};
    return clv__onnx_load(map, "model.onnx", NULL, g, e);
}

/* -- one case -------------------------------------------------------------*/

/* What output i is by the file: CLV_V_SEQUENCE, CLV_V_OPTIONAL. */
static uint8_t output_form(const bytes *model, uint32_t i)
{
    wire w = field_of(over(model), 7);
    wire_field f;
    while (wire_left(&w) && wire_next(&w, &f, NULL) == CLV_OK) {
        text name;
        onnx_type t;
        if (f.number != 12 || i-- > 0)
            continue;
        return onnx_value_info(f.bytes, &name, &t, NULL) == CLV_OK ? t.form : 0;
    }
    return 0;
}

/* The tensor has the type and shape told for those of a sequence. */
static bool tensor_fits(const clv_value *v, const tensor_info *t)
{
    bool fits =
        v->dtype == t->dtype && (v->rank == CLV_NO_RANK || v->rank == t->rank);
    for (uint32_t i = 0; fits && v->rank != CLV_NO_RANK && i < t->rank; i++)
        fits = v->flags & CLV_V_BOUND ? t->dims[i] <= v->dims[i]
                                      : t->dims[i] == v->dims[i];
    return fits;
}

/* A SequenceProto: its tensors are field 3. */
static bool sequence_fits(const clv_value *v, wire w)
{
    uint32_t n = 0;
    wire_field f;
    while (wire_left(&w) && wire_next(&w, &f, NULL) == CLV_OK) {
        if (f.number != 3)
            continue;
        tensor_info t = tensor_of(f.bytes);
        if (!tensor_fits(v, &t))
            return false;
        n++;
    }
    return v->count == CLV_NONE || v->count == n;
}

/* An OptionalProto: its tensor is field 3, its sequence field 5; of one that
 * holds neither there is no more to compare. */
static bool form_fits(const clv_value *v, uint8_t form, wire w)
{
    if ((v->flags & CLV_V_FORM) != form)
        return false;
    if (!(form & CLV_V_OPTIONAL))
        return sequence_fits(v, w);
    wire tensor = field_of(w, 3), sequence = field_of(w, 5);
    tensor_info t = tensor_of(tensor);
    return form & CLV_V_SEQUENCE
               ? !wire_left(&sequence) || sequence_fits(v, sequence)
               : !wire_left(&tensor) || tensor_fits(v, &t);
}

/* Why output i differs from the tensor expected; "" when it does not. */
static void compare_output(const clv_graph *g, const bytes *model,
                           const char *folder, uint32_t i, char *why,
                           size_t size)
{
    char path[LONGER], got[200], want[200];
    const uint32_t *ids = clv_graph_outputs(g, NULL);
    const clv_value *v = &g->values[ids[i]];
    uint8_t form = output_form(model, i);
    *why = '\0';
    snprintf(path, sizeof path, "%s/test_data_set_0/output_%u.pb", folder, i);
    bytes pb = bytes_of_file(path);
    if (!pb.size) {
        free(pb.data);
        return; /* nothing to compare with */
    }
    clv__shape_text(v, got, sizeof got);
    if (form && !form_fits(v, form, over(&pb)))
        snprintf(why, size, "output %u: %s %.120s is not what the suite has", i,
                 clv_dtype_name((clv_dtype)v->dtype), got);
    tensor_info t = tensor_of(over(&pb));
    free(pb.data);
    if (v->dtype == CLV_BFLOAT16 && t.dtype == CLV_UINT16)
        t.dtype = CLV_BFLOAT16; /* whose bits the suite stores so */
    clv_value b = {.dims = t.dims, .rank = (uint8_t)t.rank};
    clv__shape_text(&b, want, sizeof want);
    if (!form && (strcmp(got, want) || v->dtype != t.dtype))
        snprintf(why, size, "output %u: %s%s %.120s, the suite has %s %.120s",
                 i, v->flags & CLV_V_BOUND ? "at most " : "",
                 clv_dtype_name((clv_dtype)v->dtype), got,
                 clv_dtype_name(t.dtype), want);
}

static void note(const char *name, const char *why, bool in_file)
{
    char line[1000];
    snprintf(line, sizeof line, "| %s | %s | %s |\n", name,
             in_file ? "from the file" : "no", why);
    put(&all_rest, line, strlen(line));
}

/* Why the outputs of the model, with constants, are not those expected. */
static void compare(const bytes *model, const char *folder, const clv_graph *g,
                    bool keep, char *why, size_t size)
{
    bytes whole = with_constants(model, folder, g, keep);
    clv_graph *fed = NULL;
    clv_err e;
    *why = '\0';
    if (load(&whole, &fed, &e) != CLV_OK)
        snprintf(why, size, "%.300s", e.msg);
    uint32_t n = 0;
    if (fed)
        clv_graph_outputs(fed, &n);
    for (uint32_t i = 0; i < n && !*why; i++)
        compare_output(fed, model, folder, i, why, size);
    clv_graph_free(fed);
    free(whole.data);
}

static void run_case(const char *group, const char *name)
{
    char folder[PATH], path[LONGER], label[300], why[400], alone[400];
    snprintf(folder, sizeof folder, "%s/%s/%s", root, group, name);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    snprintf(label, sizeof label, "%s/%s", group, name);
    bytes model = bytes_of_file(path);
    if (!model.size) {
        free(model.data);
        return;
    }
    char row[150];
    snprintf(row, sizeof row, "%.140s", name);
    check_row(row);
    cases_run++;
    clv_graph *g = NULL;
    clv_err e;
    if (check_that(load(&model, &g, &e) == CLV_OK, __FILE__, __LINE__, "%s",
                   e.msg)) {
        compare(&model, folder, g, true, why, sizeof why);
        compare(&model, folder, g, false, alone, sizeof alone);
        cases_agree += !*why;
        cases_inferred += !*alone;
        if (*why || *alone)
            note(label, *why ? why : alone, !*why);
    }
    clv_graph_free(g);
    free(model.data);
}

/* -- the suite ------------------------------------------------------------*/

static void run_group(const char *group)
{
    char path[PATH];
    struct dirent **entries = NULL;
    snprintf(path, sizeof path, "%s/%s", root, group);
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            run_case(group, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void check_document(void)
{
    bytes doc = {0};
    char head[1200];
    snprintf(head, sizeof head,
             "# ONNX test suite\n\n"
             "All %ld models of libonnx-testdata 1.12.0 load. Shapes and types "
             "of the outputs\nequal the expected tensors' for %ld of them, "
             "%.1f %%. With everything that the files\ndeclare about outputs "
             "and values taken out, inference alone gets %ld, %.1f %%.\n"
             "Of a sequence or an optional, its type, and number and shape of "
             "its tensors\nwhere they are told. A size that depends on data is "
             "an upper bound: \"at most\".\n"
             "docs/onnx-run.md lists the cases that do not run to the expected "
             "numbers.\nThe rest, by name and reason:\n\n"
             "| case | known | inferred, and expected |\n|---|---|---|\n",
             cases_run, cases_agree,
             100.0 * (double)cases_agree / (double)cases_run, cases_inferred,
             100.0 * (double)cases_inferred / (double)cases_run);
    put(&doc, head, strlen(head));
    put(&doc, all_rest.data, all_rest.size);
    check_row("docs/onnx-coverage.md is what this run says");
    bytes old = bytes_of_file("docs/onnx-coverage.md");
    bool same = old.size == doc.size && !memcmp(old.data, doc.data, doc.size);
    if (!same && getenv("CLEAVE_UPDATE")) {
        FILE *f = fopen("docs/onnx-coverage.md", "wb");
        if (CHECK(f != NULL)) {
            fwrite(doc.data, 1, doc.size, f);
            fclose(f);
        }
    } else {
        CHECK(same);
    }
    free(old.data);
    free(doc.data);
}

static void suite(void)
{
    struct stat st;
    if (stat(root, &st) != 0) {
        check_skip("libonnx-testdata is not installed");
        return;
    }
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        run_group(groups[i]);
    CHECK(cases_run >= 1000);
    check_row("at least 97 % agree");
    CHECK(cases_agree * 100 >= cases_run * 97);
    check_row("at least 97 % without any declared shape");
    CHECK(cases_inferred * 100 >= cases_run * 97);
    check_document();
    free(all_rest.data);
}

static const check_case cases[] = {{"suite", suite}};
CHECK_MAIN(cases)
