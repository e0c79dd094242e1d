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

/* What becomes of an attribute, by its name. */
typedef struct onnx_attr_row {
    const char *name;
    uint8_t key;
    bool renamed; /* whatever the operator */
} attrs_row;

/* It has a key of ours wherever it stands. */
#define RENAMED(name, key) \
    { \
        name, CLV_A_##key, true \
    }

/* An attribute of single operators: it has a key of ours where the operator
 * has that key, and stays as it came with all others. */
#define RENAMED_BY_OP(name, key) \
    { \
        name, CLV_A_##key, false \
    }

/* Mapping functions translate it, or it changes nothing that is computed here.
 */
#define UNDERSTOOD(name) \
    { \
        name, CLV_A_OTHER, false \
    }

static const attrs_row attrs_rows[] = {
    /* in the order of strcmp */
    UNDERSTOOD("K"),
    UNDERSTOOD("N"),
    UNDERSTOOD("accuracy_level"), /* how exact products need be at least */
    UNDERSTOOD("activation"),
    RENAMED_BY_OP("activation_alpha", ALPHAS),
    RENAMED_BY_OP("activation_beta", BETAS),
    UNDERSTOOD("activation_params"),
    RENAMED_BY_OP("activation_type", ACTIVATION),
    RENAMED_BY_OP("activations", ACTIVATIONS),
    UNDERSTOOD("aggregate_function"),
    RENAMED("align_corners", ALIGN_CORNERS),
    RENAMED("allowzero", ALLOWZERO),
    RENAMED("alpha", ALPHA),
    RENAMED_BY_OP("antialias", ANTIALIAS),
    RENAMED("approximate", APPROXIMATE),
    RENAMED("auto_pad", AUTO_PAD),
    RENAMED("axes", AXES),
    RENAMED("axis", AXIS),
    UNDERSTOOD("base_values"),
    UNDERSTOOD("base_values_as_tensor"),
    RENAMED_BY_OP("batch_axis", BATCH_AXIS),
    RENAMED("batch_dims", BATCH_DIMS),
    RENAMED("beta", BETA),
    UNDERSTOOD("bias"),
    RENAMED("bits", BITS),
    RENAMED("block_size", BLOCK),
    RENAMED("blocksize", BLOCK),
    RENAMED("body", BODY),
    UNDERSTOOD("broadcast"),
    RENAMED_BY_OP("case_change_action", CASE),
    UNDERSTOOD("cats_int64s"),
    UNDERSTOOD("cats_strings"),
    RENAMED("ceil_mode", CEIL),
    UNDERSTOOD("center_point_box"),
    UNDERSTOOD("channels"),
    UNDERSTOOD("channels_last"),
    UNDERSTOOD("chunk_size"),
    UNDERSTOOD("class_ids"),
    UNDERSTOOD("class_nodeids"),
    UNDERSTOOD("class_treeids"),
    UNDERSTOOD("class_weights"),
    UNDERSTOOD("class_weights_as_tensor"),
    UNDERSTOOD("classes_strings"),
    UNDERSTOOD("classlabels_int64s"),
    UNDERSTOOD("classlabels_ints"),
    UNDERSTOOD("classlabels_strings"),
    RENAMED_BY_OP("clip", CLIP),
    UNDERSTOOD("coefficients"),
    UNDERSTOOD("consumed_inputs"),
    UNDERSTOOD("coordinate_transformation_mode"),
    RENAMED("count_include_pad", COUNT_INCLUDE_PAD),
    RENAMED("cubic_coeff_a", CUBIC),
    RENAMED_BY_OP("decay_factor", DECAY),
    RENAMED("decoder", BODY),
    UNDERSTOOD("decoder_start_token_id"),
    RENAMED_BY_OP("delimiter", DELIMITER),
    RENAMED_BY_OP("detect_negative", DETECT_NEGATIVE),
    RENAMED_BY_OP("detect_positive", DETECT_POSITIVE),
    RENAMED("dilations", DILATION),
    UNDERSTOOD("dim"),
    RENAMED("direction", DIRECTION),
    UNDERSTOOD("directions"),
    UNDERSTOOD("do_rotary"),
    RENAMED("dtype", DTYPE),
    UNDERSTOOD("early_stopping"),
    RENAMED("else_branch", ELSE),
    RENAMED("encoder", ENCODER),
    RENAMED("end", END),
    RENAMED("ends", END),
    UNDERSTOOD("eos_token_id"),
    RENAMED("epsilon", EPSILON),
    RENAMED("equation", EQUATION),
    RENAMED_BY_OP("exclude_outside", EXCLUDE_OUTSIDE),
    RENAMED("exclusive", EXCLUSIVE),
    UNDERSTOOD("expert_weight_bits"),
    RENAMED_BY_OP("extrapolation_value", EXTRAPOLATION),
    UNDERSTOOD("fc1_expert_weight_bits"),
    UNDERSTOOD("fc2_expert_weight_bits"),
    UNDERSTOOD("fc3_expert_weight_bits"),
    UNDERSTOOD("fmod"),
    UNDERSTOOD("gamma"),
    UNDERSTOOD("gather_axis"),
    RENAMED("group", GROUPS),
    RENAMED("groups", GROUPS),
    RENAMED("hidden_size", HIDDEN),
    RENAMED_BY_OP("high", HIGH),
    RENAMED_BY_OP("ignore_index", IGNORE_INDEX),
    UNDERSTOOD("imputed_value_floats"),
    RENAMED("init_decoder", FIRST),
    RENAMED_BY_OP("input_forget", INPUT_FORGET),
    UNDERSTOOD("inputdimensions"),
    UNDERSTOOD("intercepts"),
    RENAMED_BY_OP("interleaved", INTERLEAVED),
    UNDERSTOOD("inverse"),
    RENAMED_BY_OP("is_case_sensitive", CASE_SENSITIVE),
    RENAMED("is_causal", CAUSAL),
    UNDERSTOOD("is_test"),
    RENAMED("k", K),
    RENAMED("keep_aspect_ratio_policy", ASPECT),
    RENAMED("keepdims", KEEPDIM),
    UNDERSTOOD("kernel_params"),
    RENAMED("kernel_shape", KERNEL),
    UNDERSTOOD("kernel_type"),
    UNDERSTOOD("keys_floats"),
    UNDERSTOOD("keys_int64s"),
    UNDERSTOOD("keys_strings"),
    UNDERSTOOD("keys_tensor"),
    RENAMED("kv_num_heads", KV_HEADS),
    UNDERSTOOD("lambd"),
    RENAMED("largest", LARGEST),
    RENAMED("layout", LAYOUT),
    UNDERSTOOD("leaf_targetids"),
    UNDERSTOOD("leaf_weights"),
    RENAMED_BY_OP("left_window_size", LEFT_WINDOW),
    RENAMED_BY_OP("linear_before_reset", LINEAR_BEFORE_RESET),
    UNDERSTOOD("local_window_size"),
    RENAMED_BY_OP("low", LOW),
    RENAMED_BY_OP("mask_filter_value", MASK_VALUE),
    RENAMED("max", MAX),
    RENAMED_BY_OP("max_gram_length", MAX_GRAM),
    RENAMED_BY_OP("max_skip_count", MAX_SKIP),
    RENAMED_BY_OP("maxsplit", MAX_SPLITS),
    RENAMED_BY_OP("mean", MEAN),
    RENAMED("min", MIN),
    RENAMED_BY_OP("min_gram_length", MIN_GRAM),
    RENAMED("mode", MODE),
    UNDERSTOOD("model_type"),
    RENAMED_BY_OP("momentum", MOMENTUM),
    UNDERSTOOD("multi_class"),
    UNDERSTOOD("n_supports"),
    UNDERSTOOD("n_targets"),
    UNDERSTOOD("nearest_mode"),
    RENAMED_BY_OP("new_axis", NEW_AXIS),
    RENAMED_BY_OP("ngram_counts", GRAM_STARTS),
    RENAMED_BY_OP("ngram_indexes", GRAM_PLACES),
    UNDERSTOOD("no_repeat_ngram_size"),
    UNDERSTOOD("nodes_falseleafs"),
    UNDERSTOOD("nodes_falsenodeids"),
    UNDERSTOOD("nodes_featureids"),
    UNDERSTOOD("nodes_hitrates"),
    UNDERSTOOD("nodes_missing_value_tracks_true"),
    UNDERSTOOD("nodes_modes"),
    UNDERSTOOD("nodes_nodeids"),
    UNDERSTOOD("nodes_splits"),
    UNDERSTOOD("nodes_treeids"),
    UNDERSTOOD("nodes_trueleafs"),
    UNDERSTOOD("nodes_truenodeids"),
    UNDERSTOOD("nodes_values"),
    UNDERSTOOD("nodes_values_as_tensor"),
    UNDERSTOOD("noop_with_empty_axes"),
    UNDERSTOOD("norm"),
    RENAMED_BY_OP("norm_coefficient", NORM_COEFFICIENT),
    RENAMED_BY_OP("norm_coefficient_post", NORM_COEFFICIENT_POST),
    RENAMED_BY_OP("normalize_routing_weights", NORMALIZE),
    RENAMED("num_groups", GROUPS),
    RENAMED("num_heads", HEADS),
    UNDERSTOOD("num_outputs"),
    UNDERSTOOD("num_scan_inputs"),
    UNDERSTOOD("offset"),
    UNDERSTOOD("offset_group"),
    UNDERSTOOD("onesided"),
    UNDERSTOOD("opset"),
    UNDERSTOOD("output_datatype"),
    UNDERSTOOD("output_dtype"),
    UNDERSTOOD("output_height"),
    RENAMED("output_padding", OUTPUT_PADDING),
    UNDERSTOOD("output_sequence"),
    UNDERSTOOD("output_shape"),
    UNDERSTOOD("output_width"),
    RENAMED("p", P),
    UNDERSTOOD("pad_token_id"),
    RENAMED_BY_OP("padding_mode", PADDING_MODE),
    RENAMED("paddings", PADDING),
    RENAMED("pads", PADDING),
    UNDERSTOOD("past_present_share_buffer"),
    RENAMED_BY_OP("pattern", PATTERN),
    RENAMED_BY_OP("periodic", PERIODIC),
    RENAMED("perm", PERM),
    RENAMED_BY_OP("pool_int64s", GRAM_POOL),
    UNDERSTOOD("pooled_shape"),
    UNDERSTOOD("post_transform"),
    UNDERSTOOD("precision"),
    UNDERSTOOD("prob_a"),
    UNDERSTOOD("prob_b"),
    RENAMED("q_num_heads", HEADS),
    UNDERSTOOD("qk_matmul_output_mode"),
    UNDERSTOOD("qkv_hidden_sizes"),
    UNDERSTOOD("quant_type"),
    UNDERSTOOD("ratio"),
    RENAMED("reduction", REDUCTION),
    UNDERSTOOD("replaced_value_float"),
    RENAMED("reverse", REVERSE),
    UNDERSTOOD("rho"),
    RENAMED_BY_OP("right_window_size", RIGHT_WINDOW),
    RENAMED_BY_OP("rotary_embedding_dim", ROTARY_DIM),
    RENAMED_BY_OP("rotary_interleaved", INTERLEAVED),
    RENAMED_BY_OP("round_mode", ROUNDING),
    UNDERSTOOD("sample_size"),
    RENAMED_BY_OP("sampling_ratio", SAMPLING),
    RENAMED_BY_OP("saturate", SATURATE),
    RENAMED("scale", SCALE),
    RENAMED("scales", SCALES),
    UNDERSTOOD("scan_input_axes"),
    UNDERSTOOD("scan_input_directions"),
    UNDERSTOOD("scan_output_axes"),
    UNDERSTOOD("scan_output_directions"),
    RENAMED_BY_OP("seed", SEED),
    RENAMED_BY_OP("select_last_index", SELECT_LAST),
    RENAMED("shape", SHAPE),
    RENAMED("size", SIZE),
    RENAMED_BY_OP("smooth_softmax", SMOOTH_SOFTMAX),
    RENAMED_BY_OP("softcap", SOFTCAP),
    UNDERSTOOD("softmax_precision"),
    RENAMED("sorted", SORTED),
    RENAMED_BY_OP("spatial_scale", SPATIAL_SCALE),
    UNDERSTOOD("split"),
    RENAMED("start", START),
    RENAMED("starts", START),
    UNDERSTOOD("stash_type"),
    UNDERSTOOD("step"),
    RENAMED_BY_OP("stopwords", STOPWORDS),
    UNDERSTOOD("storage_order"),
    RENAMED("strides", STRIDE),
    UNDERSTOOD("support_vectors"),
    RENAMED_BY_OP("swiglu_fusion", FUSION),
    RENAMED_BY_OP("swiglu_limit", LIMIT),
    UNDERSTOOD("target_ids"),
    UNDERSTOOD("target_nodeids"),
    UNDERSTOOD("target_treeids"),
    UNDERSTOOD("target_weights"),
    UNDERSTOOD("target_weights_as_tensor"),
    UNDERSTOOD("targets"),
    RENAMED("then_branch", THEN),
    UNDERSTOOD("threshold"),
    RENAMED_BY_OP("time_axis", TIME_AXIS),
    RENAMED("to", DTYPE),
    RENAMED_BY_OP("training_mode", TRAINING),
    RENAMED("transA", TRANS_A),
    RENAMED("transB", TRANS_B),
    UNDERSTOOD("transBatchA"),
    UNDERSTOOD("transBatchB"),
    UNDERSTOOD("tree_roots"),
    RENAMED("unidirectional", CAUSAL),
    RENAMED_BY_OP("update_rule", RULE),
    UNDERSTOOD("upper"),
    RENAMED("value", VALUE),
    UNDERSTOOD("values_floats"),
    UNDERSTOOD("values_int64s"),
    UNDERSTOOD("values_strings"),
    UNDERSTOOD("values_tensor"),
    UNDERSTOOD("vectors_per_class"),
    UNDERSTOOD("vocab_size"),
    RENAMED_BY_OP("weights", GRAM_WEIGHTS),
    UNDERSTOOD("xs"),
    UNDERSTOOD("y"),
};

/* Attributes that change nothing as long as they have this value. */
static const struct {
    const char *name;
    int64_t value;
} usual[] = {{"spatial", 1}};

enum { ATTRS_ROWS = sizeof attrs_rows / sizeof *attrs_rows };

bool clv__onnx_attr_row(size_t i, const char **name, clv_attr_key *key)
{
    if (i >= ATTRS_ROWS)
        return false;
    *name = attrs_rows[i].name;
    *key = (clv_attr_key)attrs_rows[i].key;
    return true;
}

static const attrs_row *attrs_search(text name)
{
    size_t from = 0, to = ATTRS_ROWS;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const char *other = attrs_rows[mid].name;
        int order = strncmp(name.s, other, name.n);
        size_t n = order ? 0 : strlen(other);
        if (!order && name.n == n)
            return &attrs_rows[mid];
        if (order < 0 || (!order && name.n < n))
            to = mid;
        else
            from = mid + 1;
    }
    return NULL;
}

/* The row of a name, or NULL. Nodes have the same few again and again. */
static const attrs_row *attrs_find(reader *r, text name)
{
    const unsigned char *s = (const unsigned char *)name.s;
    if (!name.n)
        return NULL;
    const attrs_row **slot =
        &r->recent_attrs[(name.n + 5u * s[0]) % ONNX_RECENT];
    if (!*slot || !text_is(name, (*slot)->name))
        *slot = attrs_search(name);
    return *slot;
}

bool onnx_attr_understood(reader *r, const clv_attr *a)
{
    if (attrs_find(r, (text){a->name, strlen(a->name)}))
        return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(a->name, usual[i].name))
            return a->type == CLV_ATTR_INT && a->u.i == usual[i].value;
    return false;
}

/* Gives attribute a of operator op our key, where the operator has it. */
static void attrs_rename(const draft *d, clv_op op, clv_attr *a)
{
    const attrs_row *row = attrs_find(d->r, (text){a->name, strlen(a->name)});
    if (!row || row->key == CLV_A_OTHER || !clv__attr_spec(op, row->key) ||
        draft_attr(d, row->key))
        return;
    a->key = (uint8_t)row->key;
    a->name = clv__attr_name(row->key);
}

const char *onnx_attr_name(const clv_attr *a)
{
    if (a->key == CLV_A_OTHER)
        return a->name;
    for (size_t i = 0; i < ATTRS_ROWS; i++)
        if (attrs_rows[i].key == a->key && !attrs_rows[i].renamed)
            return attrs_rows[i].name;
    return NULL;
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
    const attrs_row *row = attrs_find(d->r, name);
    if (row && row->renamed) {
        out->key = row->key;
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
    for (uint32_t i = 0; d->row && i < d->n_attrs; i++)
        if (d->attrs[i].key == CLV_A_OTHER)
            attrs_rename(d, (clv_op)d->row->op, &d->attrs[i]);
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
