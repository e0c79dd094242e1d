/* read_attrs.c - AttributeProto to attributes with canonical names.
 *
 * ONNX uses one name for one thing nearly everywhere, so a single table
 * renames; what differs by operator is left to its mapping function. Inside a
 * function an attribute may refer to one of the call ("ref_attr_name"): it is
 * looked up in the call's attributes, then in the caller's own call, and so
 * on; a reference to nothing is an attribute left out. */
#include "formats/formats.h"
#include "formats/onnx/read.h"
#include "graph/schema.h"

#include <string.h>

/* A row of the lists below, which are in the order of strcmp. */
typedef struct attrs_row {
    const char *name;
    clv_attr_key key;
} attrs_row;

static const attrs_row attrs_renamed[] = {
    {"align_corners", CLV_A_ALIGN_CORNERS},
    {"allowzero", CLV_A_ALLOWZERO},
    {"alpha", CLV_A_ALPHA},
    {"approximate", CLV_A_APPROXIMATE},
    {"auto_pad", CLV_A_AUTO_PAD},
    {"axes", CLV_A_AXES},
    {"axis", CLV_A_AXIS},
    {"batch_dims", CLV_A_BATCH_DIMS},
    {"beta", CLV_A_BETA},
    {"bits", CLV_A_BITS},
    {"block_size", CLV_A_BLOCK},
    {"blocksize", CLV_A_BLOCK},
    {"body", CLV_A_BODY},
    {"ceil_mode", CLV_A_CEIL},
    {"count_include_pad", CLV_A_COUNT_INCLUDE_PAD},
    {"cubic_coeff_a", CLV_A_CUBIC},
    {"decoder", CLV_A_BODY},
    {"dilations", CLV_A_DILATION},
    {"direction", CLV_A_DIRECTION},
    {"dtype", CLV_A_DTYPE},
    {"else_branch", CLV_A_ELSE},
    {"encoder", CLV_A_ENCODER},
    {"end", CLV_A_END},
    {"ends", CLV_A_END},
    {"epsilon", CLV_A_EPSILON},
    {"equation", CLV_A_EQUATION},
    {"exclusive", CLV_A_EXCLUSIVE},
    {"group", CLV_A_GROUPS},
    {"groups", CLV_A_GROUPS},
    {"hidden_size", CLV_A_HIDDEN},
    {"init_decoder", CLV_A_FIRST},
    {"is_causal", CLV_A_CAUSAL},
    {"k", CLV_A_K},
    {"keep_aspect_ratio_policy", CLV_A_ASPECT},
    {"keepdims", CLV_A_KEEPDIM},
    {"kernel_shape", CLV_A_KERNEL},
    {"kv_num_heads", CLV_A_KV_HEADS},
    {"largest", CLV_A_LARGEST},
    {"layout", CLV_A_LAYOUT},
    {"max", CLV_A_MAX},
    {"min", CLV_A_MIN},
    {"mode", CLV_A_MODE},
    {"num_groups", CLV_A_GROUPS},
    {"num_heads", CLV_A_HEADS},
    {"output_padding", CLV_A_OUTPUT_PADDING},
    {"p", CLV_A_P},
    {"paddings", CLV_A_PADDING},
    {"pads", CLV_A_PADDING},
    {"perm", CLV_A_PERM},
    {"q_num_heads", CLV_A_HEADS},
    {"reduction", CLV_A_REDUCTION},
    {"reverse", CLV_A_REVERSE},
    {"scale", CLV_A_SCALE},
    {"scales", CLV_A_SCALES},
    {"shape", CLV_A_SHAPE},
    {"size", CLV_A_SIZE},
    {"sorted", CLV_A_SORTED},
    {"start", CLV_A_START},
    {"starts", CLV_A_START},
    {"strides", CLV_A_STRIDE},
    {"then_branch", CLV_A_THEN},
    {"to", CLV_A_DTYPE},
    {"transA", CLV_A_TRANS_A},
    {"transB", CLV_A_TRANS_B},
    {"unidirectional", CLV_A_CAUSAL},
    {"value", CLV_A_VALUE},
};

/* Attributes of single operators that mean the same under another name. They
 * are kept as they came, for people and for the writer, and said again under
 * our key where the operator has it. */
static const attrs_row attrs_said_again[] = {
    {"activation_alpha", CLV_A_ALPHAS},
    {"activation_beta", CLV_A_BETAS},
    {"activation_type", CLV_A_ACTIVATION},
    {"activations", CLV_A_ACTIVATIONS},
    {"antialias", CLV_A_ANTIALIAS},
    {"batch_axis", CLV_A_BATCH_AXIS},
    {"case_change_action", CLV_A_CASE},
    {"clip", CLV_A_CLIP},
    {"decay_factor", CLV_A_DECAY},
    {"delimiter", CLV_A_DELIMITER},
    {"detect_negative", CLV_A_DETECT_NEGATIVE},
    {"detect_positive", CLV_A_DETECT_POSITIVE},
    {"exclude_outside", CLV_A_EXCLUDE_OUTSIDE},
    {"extrapolation_value", CLV_A_EXTRAPOLATION},
    {"high", CLV_A_HIGH},
    {"ignore_index", CLV_A_IGNORE_INDEX},
    {"input_forget", CLV_A_INPUT_FORGET},
    {"interleaved", CLV_A_INTERLEAVED},
    {"is_case_sensitive", CLV_A_CASE_SENSITIVE},
    {"left_window_size", CLV_A_LEFT_WINDOW},
    {"linear_before_reset", CLV_A_LINEAR_BEFORE_RESET},
    {"low", CLV_A_LOW},
    {"mask_filter_value", CLV_A_MASK_VALUE},
    {"max_gram_length", CLV_A_MAX_GRAM},
    {"max_skip_count", CLV_A_MAX_SKIP},
    {"maxsplit", CLV_A_MAX_SPLITS},
    {"mean", CLV_A_MEAN},
    {"min_gram_length", CLV_A_MIN_GRAM},
    {"momentum", CLV_A_MOMENTUM},
    {"new_axis", CLV_A_NEW_AXIS},
    {"ngram_counts", CLV_A_GRAM_STARTS},
    {"ngram_indexes", CLV_A_GRAM_PLACES},
    {"norm_coefficient", CLV_A_NORM_COEFFICIENT},
    {"norm_coefficient_post", CLV_A_NORM_COEFFICIENT_POST},
    {"normalize_routing_weights", CLV_A_NORMALIZE},
    {"padding_mode", CLV_A_PADDING_MODE},
    {"pattern", CLV_A_PATTERN},
    {"periodic", CLV_A_PERIODIC},
    {"pool_int64s", CLV_A_GRAM_POOL},
    {"right_window_size", CLV_A_RIGHT_WINDOW},
    {"rotary_embedding_dim", CLV_A_ROTARY_DIM},
    {"rotary_interleaved", CLV_A_INTERLEAVED},
    {"round_mode", CLV_A_ROUNDING},
    {"sampling_ratio", CLV_A_SAMPLING},
    {"saturate", CLV_A_SATURATE},
    {"seed", CLV_A_SEED},
    {"select_last_index", CLV_A_SELECT_LAST},
    {"smooth_softmax", CLV_A_SMOOTH_SOFTMAX},
    {"softcap", CLV_A_SOFTCAP},
    {"spatial_scale", CLV_A_SPATIAL_SCALE},
    {"stopwords", CLV_A_STOPWORDS},
    {"swiglu_fusion", CLV_A_FUSION},
    {"swiglu_limit", CLV_A_LIMIT},
    {"time_axis", CLV_A_TIME_AXIS},
    {"training_mode", CLV_A_TRAINING},
    {"update_rule", CLV_A_RULE},
    {"weights", CLV_A_GRAM_WEIGHTS},
};

/* Attributes that mapping functions translate, or that change nothing that is
 * computed here. */
static const char *const understood[] = {
    "K",
    "N",
    "accuracy_level", /* how exact products need be at least */
    "activation",
    "activation_alpha",
    "activation_beta",
    "activation_params",
    "aggregate_function",
    "base_values",
    "base_values_as_tensor",
    "bias",
    "broadcast",
    "cats_int64s",
    "cats_strings",
    "center_point_box",
    "channels",
    "channels_last",
    "chunk_size",
    "class_ids",
    "class_nodeids",
    "class_treeids",
    "class_weights",
    "class_weights_as_tensor",
    "classes_strings",
    "classlabels_int64s",
    "classlabels_ints",
    "classlabels_strings",
    "coefficients",
    "consumed_inputs",
    "coordinate_transformation_mode",
    "decoder_start_token_id",
    "dim",
    "directions",
    "do_rotary",
    "early_stopping",
    "eos_token_id",
    "expert_weight_bits",
    "fc1_expert_weight_bits",
    "fc2_expert_weight_bits",
    "fc3_expert_weight_bits",
    "fmod",
    "gamma",
    "gather_axis",
    "imputed_value_floats",
    "inputdimensions",
    "intercepts",
    "inverse",
    "is_test",
    "kernel_params",
    "kernel_type",
    "keys_floats",
    "keys_int64s",
    "keys_strings",
    "keys_tensor",
    "lambd",
    "leaf_targetids",
    "leaf_weights",
    "local_window_size",
    "model_type",
    "multi_class",
    "n_supports",
    "n_targets",
    "nearest_mode",
    "no_repeat_ngram_size",
    "nodes_falseleafs",
    "nodes_falsenodeids",
    "nodes_featureids",
    "nodes_hitrates",
    "nodes_missing_value_tracks_true",
    "nodes_modes",
    "nodes_nodeids",
    "nodes_splits",
    "nodes_treeids",
    "nodes_trueleafs",
    "nodes_truenodeids",
    "nodes_values",
    "nodes_values_as_tensor",
    "noop_with_empty_axes",
    "norm",
    "num_outputs",
    "num_scan_inputs",
    "offset",
    "offset_group",
    "onesided",
    "opset",
    "output_datatype",
    "output_dtype",
    "output_height",
    "output_sequence",
    "output_shape",
    "output_width",
    "pad_token_id",
    "pooled_shape",
    "post_transform",
    "precision",
    "prob_a",
    "prob_b",
    "qk_matmul_output_mode",
    "qkv_hidden_sizes",
    "quant_type",
    "ratio",
    "replaced_value_float",
    "rho",
    "sample_size",
    "scan_input_axes",
    "scan_input_directions",
    "scan_output_axes",
    "scan_output_directions",
    "softmax_precision",
    "split",
    "stash_type",
    "step",
    "storage_order",
    "support_vectors",
    "target_ids",
    "target_nodeids",
    "target_treeids",
    "target_weights",
    "target_weights_as_tensor",
    "targets",
    "threshold",
    "transBatchA",
    "transBatchB",
    "tree_roots",
    "upper",
    "values_floats",
    "values_int64s",
    "values_strings",
    "values_tensor",
    "vectors_per_class",
    "vocab_size",
    "xs",
    "y",
};

/* Attributes that change nothing as long as they have this value. */
static const struct {
    const char *name;
    int64_t value;
} usual[] = {{"spatial", 1}};

bool clv__onnx_attr_row(size_t i, const char **name, clv_attr_key *key)
{
    enum {
        RENAMED = sizeof attrs_renamed / sizeof *attrs_renamed,
        AGAIN = sizeof attrs_said_again / sizeof *attrs_said_again,
        OTHERS = sizeof understood / sizeof *understood
    };
    if (i < RENAMED) {
        *name = attrs_renamed[i].name;
        *key = attrs_renamed[i].key;
    } else if (i < RENAMED + AGAIN) {
        *name = attrs_said_again[i - RENAMED].name;
        *key = attrs_said_again[i - RENAMED].key;
    } else if (i < RENAMED + AGAIN + OTHERS) {
        *name = understood[i - RENAMED - AGAIN];
        *key = CLV_A_OTHER;
    }
    return i < RENAMED + AGAIN + OTHERS;
}

#define ATTRS_COUNT(list) (sizeof(list) / sizeof *(list))

/* Compares two names that begin with the same character. */
static int attrs_rest(text name, const char *other)
{
    int order = strncmp(name.s, other, name.n);
    size_t n = order ? 0 : strlen(other);
    return order ? order : (name.n > n) - (name.n < n);
}

/* Looks a name up among n rows of `size` bytes, each of which begins with its
 * name, sorted. Most rows are told apart by their first character. */
static const void *attrs_search(text name, const void *rows, size_t n,
                                size_t size)
{
    unsigned char first = name.n ? (unsigned char)*name.s : 0;
    size_t from = 0, to = n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const char *row = (const char *)rows + mid * size;
        const char *other = *(const char *const *)row;
        int order = first - (unsigned char)*other;
        if (!order)
            order = attrs_rest(name, other);
        if (!order)
            return row;
        if (order < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

static const attrs_row *attrs_find(text name, const attrs_row *list, size_t n)
{
    return attrs_search(name, list, n, sizeof *list);
}

bool onnx_attr_understood(const clv_attr *a)
{
    text name = {a->name, strlen(a->name)};
    if (attrs_find(name, attrs_renamed, ATTRS_COUNT(attrs_renamed)) ||
        attrs_find(name, attrs_said_again, ATTRS_COUNT(attrs_said_again)) ||
        attrs_search(name, understood, ATTRS_COUNT(understood),
                     sizeof *understood))
        return true;
    for (size_t i = 0; i < ATTRS_COUNT(usual); i++)
        if (!strcmp(a->name, usual[i].name))
            return a->type == CLV_ATTR_INT && a->u.i == usual[i].value;
    return false;
}

/* Says attribute a of operator op again under our key. */
static void attrs_say_again(draft *d, clv_op op, const clv_attr *a)
{
    const attrs_row *row =
        attrs_find((text){a->name, strlen(a->name)}, attrs_said_again,
                   ATTRS_COUNT(attrs_said_again));
    if (!row || !clv__attr_spec(op, row->key) || draft_attr(d, row->key) ||
        d->n_attrs >= ONNX_ATTR_ROOM)
        return;
    clv_attr *own = &d->attrs[d->n_attrs++];
    *own = *a;
    own->key = (uint8_t)row->key;
    own->name = clv__attr_name(row->key);
}

/* -- reading --------------------------------------------------------------*/

/* What a file that states no type must have meant. */
static uint32_t attrs_type_by_field(uint32_t number)
{
    switch (number) {
    case PB_ATTR_F:
        return PB_TYPE_FLOAT;
    case PB_ATTR_I:
        return PB_TYPE_INT;
    case PB_ATTR_S:
        return PB_TYPE_STRING;
    case PB_ATTR_T:
        return PB_TYPE_TENSOR;
    case PB_ATTR_G:
        return PB_TYPE_GRAPH;
    case PB_ATTR_FLOATS:
        return PB_TYPE_FLOATS;
    case PB_ATTR_INTS:
        return PB_TYPE_INTS;
    case PB_ATTR_STRINGS:
        return PB_TYPE_STRINGS;
    default:
        return 0;
    }
}

static clv_status attrs_field(const wire *w, const wire_field *f, onnx_attr *a,
                              clv_err *e)
{
    switch (f->number) {
    case PB_ATTR_NAME:
        a->name = text_of(f->bytes);
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_ATTR_F: {
        size_t n = 0;
        return wire_floats(f, &a->f, 1, &n, e);
    }
    case PB_ATTR_I:
        a->i = (int64_t)f->value;
        return wire_expect(w, f, WIRE_VARINT, e);
    case PB_ATTR_S:
        a->s = text_of(f->bytes);
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_ATTR_T:
        a->tensor = f->bytes;
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_ATTR_G:
        a->graph = f->bytes;
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_ATTR_FLOATS:
        return wire_floats(f, NULL, 0, &a->n_floats, e);
    case PB_ATTR_INTS:
        return wire_ints(f, NULL, 0, &a->n_ints, e);
    case PB_ATTR_STRINGS:
        a->n_strings++;
        return wire_expect(w, f, WIRE_BYTES, e);
    case PB_ATTR_TYPE:
        a->type = (uint32_t)f->value;
        return wire_expect(w, f, WIRE_VARINT, e);
    case PB_ATTR_REF:
        a->ref = text_of(f->bytes);
        return wire_expect(w, f, WIRE_BYTES, e);
    default:
        return CLV_OK;
    }
}

clv_status onnx_attr_read(wire w, onnx_attr *a, clv_err *e)
{
    *a = (onnx_attr){.all = w};
    uint32_t guess = 0;
    while (wire_left(&w)) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        CLV_TRY(attrs_field(&w, &f, a, e));
        if (attrs_type_by_field(f.number))
            guess = attrs_type_by_field(f.number);
    }
    if (a->type == 0)
        a->type = guess;
    if (a->n_floats > UINT32_MAX || a->n_ints > UINT32_MAX)
        return wire_fail(&a->all, e, "a list too long");
    return CLV_OK;
}

/* The attribute a reference stands for, NULL when the calls give none. */
static const onnx_attr *attrs_resolve(const frame *f, const onnx_attr *a)
{
    while (a && a->ref.n) {
        const onnx_attr *found = NULL;
        for (uint32_t i = 0; f && !found && i < f->n_bound; i++)
            if (f->bound[i].name.n == a->ref.n &&
                !memcmp(f->bound[i].name.s, a->ref.s, a->ref.n))
                found = &f->bound[i];
        a = found;
        f = f ? f->caller : NULL;
    }
    return a;
}

/* -- lists ----------------------------------------------------------------*/

static clv_status attrs_ints(clv_graph *g, const onnx_attr *a, clv_attr *out,
                             clv_err *e)
{
    size_t n = a->n_ints, at = 0;
    int64_t *v = arena_array(&g->mem, n, sizeof *v);
    if (!v)
        return clv__nomem(e);
    for (wire w = a->all; wire_left(&w);) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_ATTR_INTS)
            CLV_TRY(wire_ints(&f, v, n, &at, e));
    }
    out->n = (uint32_t)n;
    out->u.ints = v;
    return CLV_OK;
}

static clv_status attrs_floats(clv_graph *g, const onnx_attr *a, clv_attr *out,
                               clv_err *e)
{
    size_t n = a->n_floats, at = 0;
    double *v = arena_array(&g->mem, n, sizeof *v);
    if (!v)
        return clv__nomem(e);
    for (wire w = a->all; wire_left(&w);) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number == PB_ATTR_FLOATS)
            CLV_TRY(wire_floats(&f, v, n, &at, e));
    }
    out->n = (uint32_t)n;
    out->u.floats = v;
    return CLV_OK;
}

static clv_status attrs_strings(clv_graph *g, const onnx_attr *a, clv_attr *out,
                                clv_err *e)
{
    size_t n = a->n_strings, at = 0;
    const char **v = arena_array(&g->mem, n, sizeof *v);
    if (!v)
        return clv__nomem(e);
    for (wire w = a->all; wire_left(&w);) {
        wire_field f;
        CLV_TRY(wire_next(&w, &f, e));
        if (f.number != PB_ATTR_STRINGS)
            continue;
        text t = text_of(f.bytes);
        v[at] = arena_strndup(&g->mem, t.s, t.n);
        if (!v[at++])
            return clv__nomem(e);
    }
    out->n = (uint32_t)n;
    out->u.strings = v;
    return CLV_OK;
}

/* -- one attribute --------------------------------------------------------*/

static clv_status attrs_name(draft *d, text name, clv_attr *out, clv_err *e)
{
    if (onnx_domain_of(d->p->domain) == ONNX_CLEAVE) {
        out->name = arena_strndup(&d->g->mem, name.s, name.n);
        out->key = (uint8_t)(out->name ? clv__attr_find(out->name) : 0);
        return out->name ? CLV_OK : clv__nomem(e);
    }
    const attrs_row *row =
        attrs_find(name, attrs_renamed, ATTRS_COUNT(attrs_renamed));
    if (row) {
        out->key = (uint8_t)row->key;
        out->name = clv__attr_name(row->key);
        return CLV_OK;
    }
    out->key = CLV_A_OTHER;
    out->name = arena_strndup(&d->g->mem, name.s, name.n);
    return out->name ? CLV_OK : clv__nomem(e);
}

static clv_status attrs_value(draft *d, const onnx_attr *a, clv_attr *out,
                              clv_err *e)
{
    clv_graph *g = d->g;
    switch (a->type) {
    case PB_TYPE_FLOAT:
        out->type = CLV_ATTR_FLOAT;
        out->u.f = a->f;
        return CLV_OK;
    case PB_TYPE_INT:
        out->type = CLV_ATTR_INT;
        out->u.i = a->i;
        return CLV_OK;
    case PB_TYPE_STRING:
        out->type = CLV_ATTR_STRING;
        out->u.s = arena_strndup(&g->mem, a->s.n ? a->s.s : "", a->s.n);
        return out->u.s ? CLV_OK : clv__nomem(e);
    case PB_TYPE_TENSOR:
        out->type = CLV_ATTR_TENSOR;
        return onnx_tensor(d->r, d->f->unit, a->tensor, &(text){"", 0}, false,
                           &out->u.value, e);
    case PB_TYPE_GRAPH:
        out->type = CLV_ATTR_GRAPH;
        return onnx_body(d, a->graph, &out->u.body, e);
    case PB_TYPE_FLOATS:
        out->type = CLV_ATTR_FLOATS;
        return attrs_floats(g, a, out, e);
    case PB_TYPE_INTS:
        out->type = CLV_ATTR_INTS;
        return attrs_ints(g, a, out, e);
    default:
        out->type = CLV_ATTR_STRINGS;
        return attrs_strings(g, a, out, e);
    }
}

/* Fails when an attribute that rules know by its key comes again. */
static clv_status attrs_once(const clv_attr *a, uint64_t seen[4], clv_err *e)
{
    uint64_t bit = 1ull << (a->key & 63);
    if (a->key == CLV_A_OTHER)
        return CLV_OK;
    if (seen[a->key >> 6] & bit)
        return clv__fail(e, CLV_SHAPE, "attribute '%s' is there twice",
                         a->name);
    seen[a->key >> 6] |= bit;
    return CLV_OK;
}

clv_status onnx_attrs_read(draft *d, clv_err *e)
{
    uint64_t seen[4] = {0};
    for (uint32_t i = 0; i < d->p->n_attrs; i++) {
        onnx_attr own;
        CLV_TRY(onnx_attr_read(d->p->attrs[i], &own, e));
        const onnx_attr *a = attrs_resolve(d->f, &own);
        if (!a || a->type == 0 || a->type > PB_TYPE_STRINGS)
            continue; /* lists of tensors and graphs, types: no rule asks */
        clv_attr *out = &d->attrs[d->n_attrs];
        *out = (clv_attr){0};
        CLV_TRY(attrs_name(d, own.name, out, e));
        if (d->row && a->type == PB_TYPE_GRAPH && out->key == CLV_A_OTHER)
            continue; /* no operator of ours has it: draft_inline */
        CLV_TRY(attrs_once(out, seen, e));
        CLV_TRY(attrs_value(d, a, out, e));
        d->n_attrs++;
    }
    for (uint32_t i = 0, n = d->n_attrs; d->row && i < n; i++)
        if (d->attrs[i].key == CLV_A_OTHER)
            attrs_say_again(d, (clv_op)d->row->op, &d->attrs[i]);
    return CLV_OK;
}

/* -- for mapping functions ------------------------------------------------*/

clv_attr *draft_attr(const draft *d, clv_attr_key key)
{
    for (uint32_t i = 0; i < d->n_attrs; i++)
        if (d->attrs[i].key == key)
            return &d->attrs[i];
    return NULL;
}

clv_attr *draft_other(const draft *d, const char *name)
{
    for (uint32_t i = 0; i < d->n_attrs; i++)
        if (d->attrs[i].key == CLV_A_OTHER && !strcmp(d->attrs[i].name, name))
            return &d->attrs[i];
    return NULL;
}

clv_attr *draft_named(const draft *d, const char *name)
{
    for (uint32_t i = 0; i < d->n_attrs; i++)
        if (!strcmp(d->attrs[i].name, name))
            return &d->attrs[i];
    return NULL;
}

int64_t draft_int(const draft *d, clv_attr_key key, int64_t otherwise)
{
    const clv_attr *a = draft_attr(d, key);
    return a && a->type == CLV_ATTR_INT ? a->u.i : otherwise;
}

int64_t draft_other_int(const draft *d, const char *name, int64_t otherwise)
{
    const clv_attr *a = draft_other(d, name);
    return a && a->type == CLV_ATTR_INT ? a->u.i : otherwise;
}

void draft_drop(draft *d, clv_attr_key key)
{
    clv_attr *a = draft_attr(d, key);
    if (a)
        *a = d->attrs[--d->n_attrs];
}

/* A slot for key: the one it has, or a new one, of the ONNX_MORE_ATTRS that
 * there is room for. */
static clv_attr *attrs_slot(draft *d, clv_attr_key key)
{
    clv_attr *a = draft_attr(d, key);
    if (!a)
        a = &d->attrs[d->n_attrs++];
    *a = (clv_attr){.name = clv__attr_name(key), .key = (uint8_t)key};
    return a;
}

void draft_set_int(draft *d, clv_attr_key key, int64_t i)
{
    clv_attr *a = attrs_slot(d, key);
    a->type = CLV_ATTR_INT;
    a->u.i = i;
}

void draft_set_float(draft *d, clv_attr_key key, double x)
{
    clv_attr *a = attrs_slot(d, key);
    a->type = CLV_ATTR_FLOAT;
    a->u.f = x;
}

void draft_set_str(draft *d, clv_attr_key key, const char *s)
{
    clv_attr *a = attrs_slot(d, key);
    a->type = CLV_ATTR_STRING;
    a->u.s = s;
}

clv_status draft_set_ints(draft *d, clv_attr_key key, const int64_t *v,
                          uint32_t n, clv_err *e)
{
    int64_t *own = arena_array(&d->g->mem, n, sizeof *own);
    if (!own)
        return clv__nomem(e);
    if (n)
        memcpy(own, v, n * sizeof *own);
    clv_attr *a = attrs_slot(d, key);
    a->type = CLV_ATTR_INTS;
    a->n = n;
    a->u.ints = own;
    return CLV_OK;
}
