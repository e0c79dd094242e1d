/* map_ml.c - mapping of ai.onnx.ml, which scikit-learn, LightGBM and
 * XGBoost are converted to.
 *
 * What was learned lies in attributes: lists of coefficients, vectors,
 * thresholds. They become stored inputs, so that they are parameters like any
 * other. Features are picked, scaled and joined by the operators that do so
 * elsewhere. */
#include "formats/onnx/map_ml.h"

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

static bool transforms(const draft *d)
{
    const clv_attr *post = draft_named(d, "post_transform");
    return post && post->type == CLV_ATTR_STRING && strcmp(post->u.s, "NONE");
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
    uint32_t w, b, n = ml_length(d, "intercepts", "intercepts");
    CLV_TRY(ml_stored(d, "coefficients", CLV_VALUE_PARAM, &w, e));
    CLV_TRY(ml_stored(d, "intercepts", CLV_VALUE_PARAM, &b, e));
    if (w == CLV_NONE)
        return clv__fail(e, CLV_FORMAT, "no coefficients");
    if (ml_classifies(d))
        ml_set_scores(
            d, n ? n : ml_length(d, "classlabels_strings", "classlabels_ints"),
            "classlabels_strings", "classlabels_ints");
    else
        draft_set_int(d, CLV_A_SCORES, draft_other_int(d, "targets", 1));
    const clv_value *x = draft_in(d, 0);
    if (!ml_classifies(d) && !transforms(d) && x && x->rank == 2 &&
        x->dtype == CLV_FLOAT32)
        return as_product(d, w, b, e);
    d->done = true;
    return draft_emit(d, d->op, "", (uint32_t[]){d->ins[0], w, b},
                      b == CLV_NONE ? 2 : 3, d->attrs, d->n_attrs, d->outs,
                      d->n_out, NULL, e);
}

/* Of classes without probabilities, each pair has a score. */
static void svm_scores(draft *d, bool pairs)
{
    int64_t n = ml_length(d, "classlabels_strings", "classlabels_ints");
    if (pairs && n > 2)
        n = n * (n - 1) / 2;
    ml_set_scores(d, n, "classlabels_strings", "classlabels_ints");
}

clv_status map_ml_svm(draft *d, clv_err *e)
{
    uint32_t vectors, w, rho;
    bool pairs =
        ml_length(d, "vectors_per_class", "") && !ml_length(d, "prob_a", "");
    CLV_TRY(ml_stored(d, "support_vectors", CLV_VALUE_PARAM, &vectors, e));
    CLV_TRY(ml_stored(d, "coefficients", CLV_VALUE_PARAM, &w, e));
    CLV_TRY(ml_stored(d, "rho", CLV_VALUE_PARAM, &rho, e));
    if (ml_classifies(d))
        svm_scores(d, pairs);
    else
        draft_set_int(d, CLV_A_SCORES, 1);
    d->done = true;
    return draft_emit(d, d->op, "", (uint32_t[]){d->ins[0], vectors, w, rho}, 4,
                      d->attrs, d->n_attrs, d->outs, d->n_out, NULL, e);
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

/* Rows divided by their norm; the largest element is the norm of no p. */
clv_status map_ml_normalizer(draft *d, clv_err *e)
{
    const clv_attr *norm = draft_named(d, "norm");
    bool l1 = norm && norm->type == CLV_ATTR_STRING && !strcmp(norm->u.s, "L1");
    bool l2 = norm && norm->type == CLV_ATTR_STRING && !strcmp(norm->u.s, "L2");
    d->n_attrs = 0;
    draft_set_int(d, CLV_A_AXIS, -1);
    draft_set_float(d, CLV_A_P, l1 ? 1 : 2);
    if (!l1 && !l2)
        ms_count_only(d, "Normalizer by the largest element");
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

/* Binarizer and Imputer keep the type. */
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

clv_status map_ml_encode(draft *d, clv_err *e)
{
    (void)d;
    (void)e;
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

/* 0, 1, ... as many as there are classes. */
static clv_status lookup_places(draft *d, uint32_t n, uint32_t *value,
                                clv_err *e)
{
    int64_t *places = arena_array(&d->g->mem, (size_t)n + 1, sizeof *places);
    if (!places)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++)
        places[i] = i;
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
                              &place, e));
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

/* x (..) -> (..,categories) in float32 */
clv_status map_ml_one_hot(draft *d, clv_err *e)
{
    uint32_t n = ml_length(d, "cats_int64s", "cats_strings"), hot;
    clv_attr depth[2] = {INT(DEPTH, n), INT(AXIS, -1)};
    CLV_TRY(ms_emit(d, CLV_OP_ONE_HOT, "hot", d->ins, 1, depth, 2, &hot, e));
    draft_set_int(d, CLV_A_DTYPE, CLV_FLOAT32);
    ms_count_only(d, "OneHotEncoder by a list of categories");
    return ms_finish(d, CLV_OP_CAST, &hot, 1, e);
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
