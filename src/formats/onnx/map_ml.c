/* map_ml.c - mapping of ai.onnx.ml, which scikit-learn, LightGBM and
 * XGBoost are converted to.
 *
 * What was learned lies in attributes: lists of coefficients, vectors,
 * thresholds. They become stored inputs, so that they are parameters like any
 * other. Features are picked, scaled and joined by the operators that do so
 * elsewhere. */
#include "formats/onnx/map_ml.h"
#include "graph/schema.h"

#include <math.h>
#include <string.h>

uint32_t ml_length(const draft *d, const char *name, const char *like)
{
    const clv_attr *a = draft_named(d, name), *b = draft_named(d, like);
    return a && a->n ? a->n : b ? b->n : 0;
}

clv_status ml_stored(draft *d, const char *name, clv_value_kind kind,
                     uint32_t *value, clv_err *e)
{
    clv_attr *a = draft_named(d, name);
    bool list = a && a->type == CLV_ATTR_FLOATS && a->n;
    *value = CLV_NONE;
    if (a && a->type == CLV_ATTR_TENSOR) {
        *value = a->u.value;
        d->g->values[*value].kind = (uint8_t)kind;
    } else if (list) {
        int64_t n = a->n;
        const char *own = arena_printf(&d->g->mem, "%s.%s", d->name, name);
        *value = own ? clv__value_add(d->g, own, kind, CLV_FLOAT32) : CLV_NONE;
        clv_payload *data =
            *value == CLV_NONE ? NULL : clv__value_data(d->g, *value);
        if (!data || !clv__value_set_shape(d->g, *value, 1, &n))
            return clv__nomem(e);
        data->floats = a->u.floats;
        data->n = a->n;
    }
    if (*value != CLV_NONE)
        *a = d->attrs[--d->n_attrs];
    return CLV_OK;
}

/* -- models ---------------------------------------------------------------*/

void ml_set_scores(draft *d, int64_t scores, const char *strings,
                   const char *ints)
{
    uint32_t labels = ml_length(d, strings, ints);
    const clv_attr *names = draft_named(d, strings);
    draft_set_int(d, CLV_A_DTYPE, names && names->n ? CLV_STRING : CLV_INT64);
    draft_set_int(d, CLV_A_SCORES, scores > 1 || labels > 2 ? scores : 2);
}

bool ml_classifies(const draft *d)
{
    return d->p->op.n > 10 &&
           !memcmp(d->p->op.s + d->p->op.n - 10, "Classifier", 10);
}

void ml_labels(draft *d, const char *ints)
{
    const char *const names[] = {ints, "classlabels_strings"};
    const clv_attr_key keys[] = {CLV_A_LABELS, CLV_A_LABEL_TEXTS};
    for (size_t i = 0; i < 2; i++) {
        clv_attr *a = draft_named(d, names[i]);
        if (!a || !a->n)
            continue;
        a->key = (uint8_t)keys[i];
        a->name = clv__attr_name(keys[i]);
    }
}

void ml_forget(draft *d, clv_op op)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->n_attrs; i++)
        if (clv__attr_spec(op, (clv_attr_key)d->attrs[i].key))
            d->attrs[kept++] = d->attrs[i];
    d->n_attrs = kept;
}

/* A word of the node; `otherwise` where there is none. */
static const char *ml_word(const draft *d, const char *name,
                           const char *otherwise)
{
    const clv_attr *a = draft_named(d, name);
    return a && a->type == CLV_ATTR_STRING ? a->u.s : otherwise;
}

/* Ends a model of operator d->op: its transform, its labels, and the inputs in
 * `ins`, of which those at the end may be left out. */
static clv_status ml_model(draft *d, const uint32_t *ins, uint32_t n,
                           const char *transform, clv_err *e)
{
    draft_set_str(d, CLV_A_TRANSFORM, transform);
    ml_labels(d, "classlabels_ints");
    ml_forget(d, d->op);
    while (n && ins[n - 1] == CLV_NONE)
        n--;
    d->done = true;
    return draft_emit(d, d->op, "", ins, n, d->attrs, d->n_attrs, d->outs,
                      d->n_out, NULL, e);
}

/* A regressor that leaves its sums as they are is a product: x (N,C), w (k,C)
 */
static clv_status as_product(draft *d, uint32_t w, uint32_t b, clv_err *e)
{
    int64_t all = clv__numel(&d->g->values[w]),
            k = draft_int(d, CLV_A_SCORES, 1);
    int64_t dims[2] = {k, k > 0 ? all / k : 0};
    if (k <= 0 || all % k)
        return clv__fail(e, CLV_FORMAT, "%lld coefficients for %lld targets",
                         (long long)all, (long long)k);
    if (!clv__value_set_shape(d->g, w, 2, dims))
        return clv__nomem(e);
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_TRANS_B, 1);
    return ms_finish(d, CLV_OP_GEMM, IN(d->ins[0], w, b), e);
}

clv_status map_ml_linear(draft *d, clv_err *e)
{
    const char *transform = ml_word(d, "post_transform", "NONE");
    uint32_t w, b, n = ml_length(d, "intercepts", "intercepts");
    int64_t labels = ml_length(d, "classlabels_strings", "classlabels_ints");
    int64_t targets = draft_other_int(d, "targets", 1);
    CLV_TRY(ml_stored(d, "coefficients", CLV_VALUE_PARAM, &w, e));
    CLV_TRY(ml_stored(d, "intercepts", CLV_VALUE_PARAM, &b, e));
    if (w == CLV_NONE)
        return clv__fail(e, CLV_FORMAT, "no coefficients");
    if (ml_classifies(d) && n == 1 && !labels)
        draft_set_int(d, CLV_A_DTYPE, CLV_INT64); /* and one score */
    else if (ml_classifies(d))
        ml_set_scores(d, n ? n : labels, "classlabels_strings",
                      "classlabels_ints");
    else
        draft_set_int(d, CLV_A_SCORES, targets);
    if (!ml_classifies(d) && n != targets)
        b = CLV_NONE; /* as ONNX Runtime does */
    const clv_value *x = draft_in(d, 0);
    if (!ml_classifies(d) && !strcmp(transform, "NONE") && x && x->rank == 2 &&
        x->dtype == CLV_FLOAT32)
        return as_product(d, w, b, e);
    return ml_model(d, IN(d->ins[0], w, b), transform, e);
}

/* How many vectors there are: none, and the model is linear. */
static int64_t svm_vectors(const draft *d)
{
    const clv_attr *per = draft_named(d, "vectors_per_class");
    int64_t all = 0;
    if (!ml_classifies(d))
        return draft_other_int(d, "n_supports", 0);
    for (uint32_t i = 0; per && per->type == CLV_ATTR_INTS && i < per->n; i++)
        all = sat_add(all, per->u.ints[i]);
    return all;
}

/* The scores of a classifier and, with vectors, how many each class has. Of
 * classes without probabilities, each pair has a score. */
static clv_status svm_classes(draft *d, bool vectors, bool odds, clv_err *e)
{
    const clv_attr *per = draft_named(d, "vectors_per_class");
    int64_t n = ml_length(d, "classlabels_strings", "classlabels_ints");
    int64_t pairs = n > 2 ? n * (n - 1) / 2 : 2;
    ml_set_scores(d, n, "classlabels_strings", "classlabels_ints");
    draft_set_int(d, CLV_A_SCORES, vectors && !odds ? pairs : n);
    return vectors ? draft_set_ints(d, CLV_A_SECTIONS, per->u.ints, per->n, e)
                   : CLV_OK;
}

/* gamma, coef0 and degree */
static void svm_kernel(draft *d, bool vectors)
{
    static const clv_attr_key keys[] = {CLV_A_GAMMA, CLV_A_BETA, CLV_A_P};
    const clv_attr *list = draft_named(d, "kernel_params");
    const double *params = list && list->type == CLV_ATTR_FLOATS && list->n >= 3
                               ? list->u.floats
                               : NULL;
    draft_set_str(d, CLV_A_MODE,
                  vectors ? ml_word(d, "kernel_type", "LINEAR") : "LINEAR");
    for (int i = 0; params && i < 3; i++)
        draft_set_float(d, keys[i], params[i]);
}

clv_status map_ml_svm(draft *d, clv_err *e)
{
    bool vectors = svm_vectors(d) > 0, one = draft_other_int(d, "one_class", 0);
    uint32_t ins[6] = {d->ins[0]};
    static const char *const lists[] = {"support_vectors", "coefficients",
                                        "rho", "prob_a", "prob_b"};
    for (size_t i = 0; i < 5; i++)
        CLV_TRY(ml_stored(d, lists[i],
                          i < 3 ? CLV_VALUE_PARAM : CLV_VALUE_BUFFER,
                          &ins[i + 1], e));
    if (!vectors)
        ins[1] = CLV_NONE;
    if (ml_classifies(d))
        CLV_TRY(svm_classes(d, vectors, ins[4] != CLV_NONE, e));
    else
        draft_set_int(d, CLV_A_SCORES, 1);
    svm_kernel(d, vectors);
    /* ONNX Runtime's regressor has no other transform */
    return ml_model(d, ins, 6,
                    ml_classifies(d) ? ml_word(d, "post_transform", "NONE")
                    : one            ? "SIGN"
                                     : "NONE",
                    e);
}

/* -- features -------------------------------------------------------------*/

/* Input 0, which may be of any number type, as float32. */
static clv_status as_float(draft *d, uint32_t *x, clv_err *e)
{
    clv_attr to[1] = {INT(DTYPE, CLV_FLOAT32)};
    *x = d->ins[0];
    if (!draft_in(d, 0) || draft_in(d, 0)->dtype == CLV_FLOAT32)
        return CLV_OK;
    return ms_emit(d, CLV_OP_CAST, "cast", x, 1, to, 1, x, e);
}

/* (x - offset) * scale, in float32 */
clv_status map_ml_scaler(draft *d, clv_err *e)
{
    uint32_t offset, scale, x;
    CLV_TRY(ml_stored(d, "offset", CLV_VALUE_BUFFER, &offset, e));
    CLV_TRY(ml_stored(d, "scale", CLV_VALUE_BUFFER, &scale, e));
    CLV_TRY(as_float(d, &x, e));
    d->n_attrs = 0;
    if (scale == CLV_NONE)
        return ms_finish(d, offset == CLV_NONE ? CLV_OP_IDENTITY : CLV_OP_SUB,
                         IN(x, offset), e);
    if (offset != CLV_NONE)
        CLV_TRY(
            ms_emit(d, CLV_OP_SUB, "offset", IN(x, offset), NULL, 0, &x, e));
    return ms_finish(d, CLV_OP_MUL, IN(x, scale), e);
}

/* Rows divided by their largest element, where that is not 0. */
static clv_status normalize_by_max(draft *d, clv_err *e)
{
    clv_attr last[2] = {INT(AXES, -1), INT(KEEPDIM, 1)};
    clv_attr none[1] = {FLOAT(VALUE, 0)}, one[1] = {FLOAT(VALUE, 1)};
    uint32_t x, most, zero;
    CLV_TRY(as_float(d, &x, e));
    CLV_TRY(ms_emit(d, CLV_OP_MAX, "max", IN(x), last, 2, &most, e));
    CLV_TRY(ms_emit(d, CLV_OP_EQ, "zero", IN(most), none, 1, &zero, e));
    CLV_TRY(ms_emit(d, CLV_OP_MASKED_FILL, "divisor", IN(most, zero), one, 1,
                    &most, e));
    return ms_finish(d, CLV_OP_DIV, IN(x, most), e);
}

/* Rows divided by their norm. */
clv_status map_ml_normalizer(draft *d, clv_err *e)
{
    const char *norm = ml_word(d, "norm", "MAX");
    bool l1 = !strcmp(norm, "L1");
    d->n_attrs = 0;
    if (!strcmp(norm, "MAX"))
        return normalize_by_max(d, e);
    if (!l1 && strcmp(norm, "L2"))
        return clv__fail(e, CLV_FORMAT, "normalizes by '%.40s'", norm);
    draft_set_int(d, CLV_A_AXIS, -1);
    draft_set_float(d, CLV_A_P, l1 ? 1 : 2);
    return as_float(d, &d->ins[0], e);
}

/* x (..,C), any number of indices: those columns; a vector is one row. */
clv_status map_ml_pick(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0), *y = draft_in(d, 1);
    if (!x || !y || x->rank == CLV_NO_RANK || y->rank == CLV_NO_RANK) {
        d->op = CLV_OP_UNKNOWN;
        return CLV_OK;
    }
    clv_attr all[1] = {INT(SHAPE, -1)}, front[1] = {INT(AXES, 0)};
    uint32_t row = d->ins[0], which = d->ins[1];
    bool flat = y->rank == 1; /* adding nodes may move the values */
    if (x->rank < 2)
        CLV_TRY(
            ms_emit(d, CLV_OP_UNSQUEEZE, "row", &row, 1, front, 1, &row, e));
    if (!flat)
        CLV_TRY(ms_emit(d, CLV_OP_RESHAPE, "columns", &which, 1, all, 1, &which,
                        e));
    draft_set_int(d, CLV_A_AXIS, -1);
    return ms_finish(d, CLV_OP_INDEX_SELECT, IN(row, which), e);
}

/* 1 above the threshold, else 0, in the type of x */
clv_status map_ml_binarizer(draft *d, clv_err *e)
{
    const clv_attr *given = draft_named(d, "threshold");
    const clv_value *x = draft_in(d, 0);
    bool number = given && given->type == CLV_ATTR_FLOAT;
    clv_attr bound[1] = {FLOAT(VALUE, number ? given->u.f : 0)};
    uint32_t above;
    if (!x || x->dtype == CLV_NODTYPE) {
        d->counted_only = "the type of its input is not known";
        return CLV_OK;
    }
    int64_t type = x->dtype;
    CLV_TRY(ms_emit(d, CLV_OP_GT, "above", IN(d->ins[0]), bound, 1, &above, e));
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_DTYPE, type);
    return ms_finish(d, CLV_OP_CAST, IN(above), e);
}

/* What replaces missing elements of x: a value per column, or where there is
 * another number of them the first. */
static clv_status imputed_values(draft *d, uint32_t *value, clv_err *e)
{
    const clv_value *x = draft_in(d, 0);
    clv_dtype type = (clv_dtype)x->dtype;
    const clv_attr *given = draft_named(
        d, is_float(type) ? "imputed_value_floats" : "imputed_value_int64s");
    if (!given || !given->n)
        return clv__fail(e, CLV_FORMAT, "no values of the type of x");
    clv_attr list = *given;
    int64_t columns = x->rank == CLV_NO_RANK || !x->rank ? list.n
                      : x->rank == 1                     ? x->dims[0]
                                                         : x->dims[1];
    if (columns >= 0 && columns != list.n)
        list.n = 1;
    if (list.n > 1 && x->rank != CLV_NO_RANK && x->rank > 2)
        ms_count_only(d, "values per column of a tensor of three axes");
    CLV_TRY(onnx_const_attr(d->g, &list, 1, value, e));
    d->g->values[*value].dtype = (uint8_t)type;
    return CLV_OK;
}

/* x, and other values where it is missing: is NaN, or the number that says so
 */
clv_status map_ml_imputer(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0);
    if (!x || x->dtype == CLV_NODTYPE) {
        d->counted_only = "the type of its input is not known";
        d->op = CLV_OP_IDENTITY;
        d->n_attrs = 0;
        return CLV_OK;
    }
    bool real = is_float((clv_dtype)x->dtype);
    double number = ms_float(d, "replaced_value_float", 0);
    clv_attr missing[1] = {
        INT(VALUE, draft_other_int(d, "replaced_value_int64", 0))};
    if (real)
        missing[0] = (clv_attr)FLOAT(VALUE, number);
    bool nan = real && isnan(number);
    uint32_t values, is_missing;
    CLV_TRY(imputed_values(d, &values, e));
    CLV_TRY(ms_emit(d, nan ? CLV_OP_ISNAN : CLV_OP_EQ, "missing", IN(d->ins[0]),
                    missing, nan ? 0 : 1, &is_missing, e));
    d->n_attrs = 0;
    return ms_finish(d, CLV_OP_WHERE, IN(is_missing, values, d->ins[0]), e);
}

/* A list of numbers (scores), whose keys are labels. */
clv_status map_ml_zip_map(draft *d, clv_err *e)
{
    (void)e;
    ml_labels(d, "classlabels_int64s");
    ml_forget(d, CLV_OP_ZIP_MAP);
    return CLV_OK;
}

/* The first attribute of these names that is there, as a constant; CLV_NONE
 * when none is. */
static clv_status lookup_list(draft *d, const char *const *names,
                              uint32_t *value, clv_err *e)
{
    *value = CLV_NONE;
    for (; *names; names++) {
        const clv_attr *a = draft_named(d, *names);
        if (a && a->type == CLV_ATTR_TENSOR)
            *value = a->u.value;
        if (a && a->type != CLV_ATTR_TENSOR)
            return onnx_const_attr(d->g, a, 1, value, e);
        if (a)
            return CLV_OK;
    }
    return CLV_OK;
}

/* 0, 1, ... as many as there are classes; the last first if `back`. */
static clv_status lookup_places(draft *d, uint32_t n, bool back,
                                uint32_t *value, clv_err *e)
{
    int64_t *places = arena_array(&d->g->mem, (size_t)n + 1, sizeof *places);
    if (!places)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++)
        places[i] = back ? n - 1 - i : i;
    clv_attr a = {.type = CLV_ATTR_INTS, .n = n, .u.ints = places};
    return onnx_const_attr(d->g, &a, 1, value, e);
}

/* What an element without a key becomes. */
static clv_status lookup_otherwise(draft *d, clv_dtype type, uint32_t *value,
                                   clv_err *e)
{
    static const char *const tensors[] = {"default_tensor", NULL};
    CLV_TRY(lookup_list(d, tensors, value, e));
    if (*value != CLV_NONE)
        return CLV_OK;
    bool words = type == CLV_STRING, real = is_float(type);
    const clv_attr *given = draft_named(d, words  ? "default_string"
                                           : real ? "default_float"
                                                  : "default_int64");
    clv_attr usual = {.type = words  ? CLV_ATTR_STRING
                              : real ? CLV_ATTR_FLOAT
                                     : CLV_ATTR_INT};
    if (words)
        usual.u.s = "_Unused";
    else if (!real)
        usual.u.i = -1;
    CLV_TRY(onnx_const_attr(d->g, given ? given : &usual, 1, value, e));
    d->g->values[*value].dtype = (uint8_t)type;
    return CLV_OK;
}

/* One number or word for another: x, keys, values, and what all else becomes.
 * A list of classes is both: words are keys, their places values, or the other
 * way round. */
clv_status map_ml_lookup(draft *d, clv_err *e)
{
    static const char *const keys[] = {"keys_strings", "keys_int64s",
                                       "keys_floats", "keys_tensor", NULL};
    static const char *const values[] = {"values_strings", "values_int64s",
                                         "values_floats", "values_tensor",
                                         NULL};
    static const char *const words[] = {"classes_strings", "cats_strings",
                                        NULL};
    static const char *const places[] = {"cats_int64s", NULL};
    const clv_value *x = draft_in(d, 0);
    bool is_text = x && x->dtype == CLV_STRING;
    uint32_t ins[4] = {d->ins[0]}, word, place;
    CLV_TRY(lookup_list(d, keys, &ins[1], e));
    CLV_TRY(lookup_list(d, values, &ins[2], e));
    CLV_TRY(lookup_list(d, words, &word, e));
    CLV_TRY(lookup_list(d, places, &place, e));
    if (word != CLV_NONE && place == CLV_NONE)
        CLV_TRY(lookup_places(d, (uint32_t)clv__numel(&d->g->values[word]),
                              false, &place, e));
    if (word != CLV_NONE) {
        ins[1] = is_text ? word : place;
        ins[2] = is_text ? place : word;
    }
    if (ins[1] == CLV_NONE || ins[2] == CLV_NONE)
        return clv__fail(e, CLV_FORMAT, "no keys, or no values");
    CLV_TRY(
        lookup_otherwise(d, (clv_dtype)d->g->values[ins[2]].dtype, &ins[3], e));
    d->n_attrs = 0;
    return ms_finish(d, CLV_OP_LOOKUP, ins, 4, e);
}

/* The categories of a OneHotEncoder, the last first: of two that are the same
 * the last one counts, and a look-up takes the first. */
static clv_status one_hot_keys(draft *d, bool words, uint32_t *keys,
                               uint32_t *n, clv_err *e)
{
    const clv_attr *given =
        draft_named(d, words ? "cats_strings" : "cats_int64s");
    clv_attr_type type = words ? CLV_ATTR_STRINGS : CLV_ATTR_INTS;
    if (!given || given->type != type || !given->n)
        return clv__fail(e, CLV_FORMAT, "no categories of the type of x");
    clv_attr list = *given;
    int64_t *ints = arena_array(&d->g->mem, list.n, sizeof *ints);
    const char **texts = arena_array(&d->g->mem, list.n, sizeof *texts);
    if (!ints || !texts)
        return clv__nomem(e);
    for (uint32_t i = 0; i < list.n; i++)
        if (words)
            texts[i] = given->u.strings[list.n - 1 - i];
        else
            ints[i] = given->u.ints[list.n - 1 - i];
    if (words)
        list.u.strings = texts;
    else
        list.u.ints = ints;
    *n = list.n;
    return onnx_const_attr(d->g, &list, 1, keys, e);
}

/* x (..) -> (..,categories) in float32: the place of each element among the
 * categories, then a row with 1 in that place. An element without one is a row
 * of zeros, or an error. */
clv_status map_ml_one_hot(draft *d, clv_err *e)
{
    const clv_value *x = draft_in(d, 0);
    bool words = x && x->dtype == CLV_STRING;
    bool whole = words || (x && x->dtype == CLV_INT64);
    uint32_t keys, places, none = CLV_NONE, levels, n = 0, at = d->ins[0];
    double off_on[2] = {0, 1};
    CLV_TRY(one_hot_keys(d, words, &keys, &n, e));
    CLV_TRY(lookup_places(d, n, true, &places, e));
    clv_attr beyond = {.type = CLV_ATTR_INT, .u.i = n};
    clv_attr values = {.type = CLV_ATTR_FLOATS, .n = 2, .u.floats = off_on};
    clv_attr to[1] = {INT(DTYPE, CLV_INT64)};
    if (draft_other_int(d, "zeros", 1))
        CLV_TRY(onnx_const_attr(d->g, &beyond, 1, &none, e));
    CLV_TRY(onnx_const_attr(d->g, &values, 1, &levels, e));
    if (!whole)
        CLV_TRY(ms_emit(d, CLV_OP_CAST, "cast", &at, 1, to, 1, &at, e));
    CLV_TRY(ms_emit(d, CLV_OP_LOOKUP, "place", IN(at, keys, places, none), NULL,
                    0, &at, e));
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_DEPTH, n);
    draft_set_int(d, CLV_A_AXIS, -1);
    return ms_finish(d, CLV_OP_ONE_HOT, IN(at, CLV_NONE, levels), e);
}

/* Columns side by side, in float32. */
clv_status map_ml_vectorize(draft *d, clv_err *e)
{
    clv_attr to[1] = {INT(DTYPE, CLV_FLOAT32)};
    for (uint32_t i = 0; i < d->n_in; i++)
        if (draft_in(d, i) && draft_in(d, i)->dtype != CLV_FLOAT32)
            CLV_TRY(ms_emit(d, CLV_OP_CAST, "cast", &d->ins[i], 1, to, 1,
                            &d->ins[i], e));
    draft_set_int(d, CLV_A_AXIS, 1);
    return CLV_OK;
}
