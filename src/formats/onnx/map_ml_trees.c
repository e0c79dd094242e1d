/* map_ml_trees.c - mapping of ensembles of trees.
 *
 * Version 5 lists branches and leaves apart, and marks what points to a leaf.
 * Before, leaves are nodes among the others, a node is named by the numbers of
 * its tree and its own, and weights name the leaf that they belong to. Here
 * both become one form: branches in order, whose children are branches (their
 * number) or leaves (-1 - number), and a root for each tree. */
#include "formats/onnx/map_ml.h"

#include <stdio.h>
#include <stdlib.h>

/* Comparisons, in the order of their codes in version 5. */
static const char *const tree_modes[] = {"BRANCH_LEQ", "BRANCH_LT",
                                         "BRANCH_GTE", "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ"};
static const char *const tree_sums[] = {"AVERAGE", "SUM", "MIN", "MAX"};
static const char *const tree_transforms[] = {"NONE", "SOFTMAX", "LOGISTIC",
                                              "SOFTMAX_ZERO", "PROBIT"};

/* A node of the older form by its name. */
typedef struct tree_name {
    int64_t tree, id;
    uint32_t at; /* in the lists */
} tree_name;

typedef struct forest {
    /* as the file has them, n each */
    const int64_t *left, *right, *left_leaf, *right_leaf, *tree, *id, *feature,
        *missing;
    const char *const *modes; /* older form: words, and LEAF */
    uint32_t n;
    tree_name *names; /* older form, sorted */
    /* as they are here */
    int64_t *number; /* of node i among the branches; -1 - that of a leaf */
    uint32_t branches, leaves, trees;
    int64_t depth; /* of all trees together */
} forest;

static const int64_t *tree_ints(const draft *d, const char *name, uint32_t n)
{
    const clv_attr *a = draft_named(d, name);
    return a && a->type == CLV_ATTR_INTS && a->n >= n ? a->u.ints : NULL;
}

static int64_t *tree_array(draft *d, size_t n)
{
    return arena_array(&d->r->mem, n + 1, sizeof(int64_t));
}

static int tree_by_name(const void *a, const void *b)
{
    const tree_name *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The place of a node in the lists; -1: no such node. */
static int64_t tree_find(const forest *f, int64_t tree, int64_t id)
{
    tree_name key = {.tree = tree, .id = id};
    const tree_name *found =
        f->n ? bsearch(&key, f->names, f->n, sizeof key, tree_by_name) : NULL;
    return found ? (int64_t)found->at : -1;
}

/* 1. The lists, and in the older form the names of nodes. */
static clv_status forest_read(draft *d, forest *f, clv_err *e)
{
    const clv_attr *modes = draft_named(d, "nodes_modes");
    *f = (forest){.n = ml_length(d, "nodes_truenodeids", "")};
    f->left = tree_ints(d, "nodes_truenodeids", f->n);
    f->right = tree_ints(d, "nodes_falsenodeids", f->n);
    f->left_leaf = tree_ints(d, "nodes_trueleafs", f->n);
    f->right_leaf = tree_ints(d, "nodes_falseleafs", f->n);
    f->tree = tree_ints(d, "nodes_treeids", f->n);
    f->id = tree_ints(d, "nodes_nodeids", f->n);
    f->feature = tree_ints(d, "nodes_featureids", f->n);
    f->missing = tree_ints(d, "nodes_missing_value_tracks_true", f->n);
    bool words = modes && modes->type == CLV_ATTR_STRINGS && modes->n >= f->n;
    f->modes = words ? modes->u.strings : NULL;
    bool newer = f->left_leaf && f->right_leaf;
    if (!f->left || !f->right || !f->feature ||
        !(newer || (f->modes && f->tree && f->id)))
        return clv__fail(e, CLV_FORMAT, "lists of the trees are missing");
    if (newer)
        return CLV_OK;
    f->left_leaf = f->right_leaf = NULL;
    f->names = arena_array(&d->r->mem, (size_t)f->n + 1, sizeof *f->names);
    if (!f->names)
        return clv__nomem(e);
    for (uint32_t i = 0; i < f->n; i++)
        f->names[i] = (tree_name){f->tree[i], f->id[i], i};
    if (f->n)
        qsort(f->names, f->n, sizeof *f->names, tree_by_name);
    return CLV_OK;
}

/* 2. Branches and leaves are numbered apart. */
static clv_status forest_number(draft *d, forest *f, clv_err *e)
{
    f->number = tree_array(d, f->n);
    if (!f->number)
        return clv__nomem(e);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->names && !strcmp(f->modes[i], "LEAF"))
            f->number[i] = -1 - (int64_t)f->leaves++;
        else
            f->number[i] = f->branches++;
    return CLV_OK;
}

/* What node i has in list `child`, as a branch or a leaf is told here. */
static clv_status forest_child(const forest *f, uint32_t i,
                               const int64_t *child, const int64_t *leaf,
                               int64_t *out, clv_err *e)
{
    int64_t at = f->names ? tree_find(f, f->tree[i], child[i]) : child[i];
    if (at < 0 || (!(leaf && leaf[i]) && at >= f->n))
        return clv__fail(e, CLV_FORMAT, "node %u has the child %lld", i,
                         (long long)child[i]);
    *out = leaf && leaf[i] ? -1 - at : f->number[at];
    return CLV_OK;
}

/* 3. Children, features and what becomes of NaN, for each branch. */
static clv_status forest_branches(draft *d, const forest *f, clv_err *e)
{
    int64_t *left = tree_array(d, f->branches),
            *right = tree_array(d, f->branches);
    int64_t *feature = tree_array(d, f->branches),
            *nan = tree_array(d, f->branches);
    uint32_t n = 0;
    if (!left || !right || !feature || !nan)
        return clv__nomem(e);
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->number[i] < 0)
            continue;
        CLV_TRY(forest_child(f, i, f->left, f->left_leaf, &left[n], e));
        CLV_TRY(forest_child(f, i, f->right, f->right_leaf, &right[n], e));
        feature[n] = f->feature[i];
        nan[n++] = f->missing && f->missing[i] != 0;
    }
    CLV_TRY(draft_set_ints(d, CLV_A_LEFT, left, n, e));
    CLV_TRY(draft_set_ints(d, CLV_A_RIGHT, right, n, e));
    CLV_TRY(draft_set_ints(d, CLV_A_FEATURES, feature, n, e));
    return f->missing ? draft_set_ints(d, CLV_A_MISSING, nan, n, e) : CLV_OK;
}

/* 4. Where trees begin: as listed, or at the first node of each. */
static clv_status forest_roots(draft *d, forest *f, const int64_t *given,
                               uint32_t n_given, clv_err *e)
{
    int64_t *roots = tree_array(d, f->names ? f->n : n_given);
    if (!roots)
        return clv__nomem(e);
    for (uint32_t i = 0; !f->names && i < n_given; i++) {
        if (given[i] < 0 || given[i] >= f->n)
            return clv__fail(e, CLV_FORMAT, "a tree begins at node %lld",
                             (long long)given[i]);
        roots[f->trees++] = given[i];
    }
    for (uint32_t i = 0, first = 0; f->names && i < f->n; i++) {
        bool begins = !i || f->names[i].tree != f->names[i - 1].tree;
        first = begins || f->names[i].at < first ? f->names[i].at : first;
        if (i + 1 == f->n || f->names[i + 1].tree != f->names[i].tree)
            roots[f->trees++] = f->number[first];
    }
    return draft_set_ints(d, CLV_A_ROOTS, roots, f->trees, e);
}

/* 5. Levels below each branch. Children come after their parents, so the last
 * one is looked at first; one that does not is not followed. */
static clv_status forest_measure(draft *d, forest *f, clv_err *e)
{
    const clv_attr *left = draft_attr(d, CLV_A_LEFT);
    const clv_attr *right = draft_attr(d, CLV_A_RIGHT);
    const clv_attr *roots = draft_attr(d, CLV_A_ROOTS);
    int64_t *levels = tree_array(d, f->branches);
    if (!levels)
        return clv__nomem(e);
    for (uint32_t i = f->branches; i-- > 0;) {
        int64_t a = left->u.ints[i], b = right->u.ints[i];
        a = a > i && a < f->branches ? levels[a] : 0;
        b = b > i && b < f->branches ? levels[b] : 0;
        levels[i] = 1 + (a > b ? a : b);
    }
    for (uint32_t i = 0; i < roots->n; i++)
        if (roots->u.ints[i] >= 0)
            f->depth = sat_add(f->depth, levels[roots->u.ints[i]]);
    return CLV_OK;
}

/* -- what was learned -----------------------------------------------------*/

/* A leaf has no threshold: those of branches stay. A tensor of thresholds is
 * not read here, so the branches say which ones are theirs. */
static clv_status tree_thresholds(draft *d, const forest *f, uint32_t v,
                                  clv_err *e)
{
    clv_payload *p = d->g->values[v].data;
    bool list =
        p && p->floats && p->n >= f->n && !p->bytes && !p->proto && !p->file;
    double *kept = arena_array(&d->g->mem, f->branches + 1u, sizeof *kept);
    int64_t *places = tree_array(d, f->branches), n = 0;
    if (!kept || !places)
        return clv__nomem(e);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->number[i] >= 0) {
            kept[n] = list ? p->floats[i] : 0;
            places[n++] = i;
        }
    if (!list)
        return draft_set_ints(d, CLV_A_PLACES, places, (uint32_t)n, e);
    if (!clv__value_set_shape(d->g, v, 1, &n))
        return clv__nomem(e);
    p->floats = kept;
    p->n = (uint32_t)n;
    return CLV_OK;
}

/* The comparison of each branch: a tensor, or words. */
static clv_status tree_codes(draft *d, const forest *f, uint32_t *value,
                             clv_err *e)
{
    const clv_attr *a = draft_named(d, "nodes_modes");
    if (a && a->type == CLV_ATTR_TENSOR)
        return ml_stored(d, "nodes_modes", CLV_VALUE_CONST, value, e);
    int64_t *codes = tree_array(d, f->branches);
    uint32_t n = 0, known = sizeof tree_modes / sizeof *tree_modes;
    if (!codes)
        return clv__nomem(e);
    for (uint32_t i = 0; f->modes && i < f->n; i++) {
        uint32_t m = 0;
        while (m < known && strcmp(f->modes[i], tree_modes[m]))
            m++;
        if (f->number[i] >= 0 && m == known)
            return clv__fail(e, CLV_FORMAT, "node %u compares by '%.40s'", i,
                             f->modes[i]);
        if (f->number[i] >= 0)
            codes[n++] = m;
    }
    clv_attr list = {.type = CLV_ATTR_INTS, .n = n, .u.ints = codes};
    return onnx_const_attr(d->g, &list, 1, value, e);
}

/* The target of each weight, and in the older form the leaf it belongs to;
 * leaf -1 does not exist: ONNX Runtime ignores weights of branches. */
static clv_status tree_weights(draft *d, const forest *f, const char *kind,
                               clv_err *e)
{
    char name[40];
    snprintf(name, sizeof name, "%s_ids", kind);
    const char *ids = f->names ? name : "leaf_targetids";
    uint32_t n = ml_length(d, ids, "");
    const int64_t *targets = tree_ints(d, ids, n);
    if (!targets)
        return clv__fail(e, CLV_FORMAT,
                         "the weights of leaves have no targets");
    CLV_TRY(draft_set_ints(d, CLV_A_TARGETS, targets, n, e));
    if (!f->names)
        return CLV_OK;
    snprintf(name, sizeof name, "%s_treeids", kind);
    const int64_t *tree = tree_ints(d, name, n);
    snprintf(name, sizeof name, "%s_nodeids", kind);
    const int64_t *id = tree_ints(d, name, n);
    int64_t *leaves = tree_array(d, n);
    if (!tree || !id)
        return clv__fail(e, CLV_FORMAT, "the weights of leaves have no leaf");
    if (!leaves)
        return clv__nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = tree_find(f, tree[i], id[i]);
        leaves[i] = at >= 0 && f->number[at] < 0 ? -1 - f->number[at] : -1;
    }
    return draft_set_ints(d, CLV_A_LEAVES, leaves, n, e);
}

/* The first of three attributes that is there, as an input. */
static clv_status tree_list(draft *d, const char *const *names, uint32_t *value,
                            clv_err *e)
{
    *value = CLV_NONE;
    for (; *names && *value == CLV_NONE; names++)
        CLV_TRY(ml_stored(d, *names, CLV_VALUE_PARAM, value, e));
    return CLV_OK;
}

/* A word, or its place in `words`; `otherwise` where there is none. */
static const char *tree_word(const draft *d, const char *name,
                             const char *const *words, uint32_t n,
                             uint32_t otherwise)
{
    const clv_attr *a = draft_named(d, name);
    if (a && a->type == CLV_ATTR_STRING)
        return a->u.s;
    if (a && a->type == CLV_ATTR_INT && a->u.i >= 0 && a->u.i < n)
        return words[a->u.i];
    return words[otherwise];
}

clv_status map_ml_trees(draft *d, clv_err *e)
{
    static const char *const thresholds[] = {
        "nodes_values", "nodes_values_as_tensor", "nodes_splits", NULL};
    static const char *const weights[] = {
        "class_weights",  "class_weights_as_tensor",
        "target_weights", "target_weights_as_tensor",
        "leaf_weights",   NULL};
    static const char *const base[] = {"base_values", "base_values_as_tensor",
                                       NULL};
    static const char *const members[] = {"membership_values", NULL};
    forest f;
    uint32_t ins[6] = {d->ins[0]}, n_roots = ml_length(d, "tree_roots", "");
    const clv_value *x = draft_in(d, 0);
    bool wide = x && x->dtype == CLV_FLOAT64;
    CLV_TRY(forest_read(d, &f, e));
    CLV_TRY(forest_number(d, &f, e));
    CLV_TRY(forest_branches(d, &f, e));
    CLV_TRY(
        forest_roots(d, &f, tree_ints(d, "tree_roots", n_roots), n_roots, e));
    CLV_TRY(forest_measure(d, &f, e));
    CLV_TRY(tree_codes(d, &f, &ins[4], e));
    CLV_TRY(tree_weights(d, &f, ml_classifies(d) ? "class" : "target", e));
    CLV_TRY(tree_list(d, thresholds, &ins[1], e));
    CLV_TRY(tree_list(d, weights, &ins[2], e));
    CLV_TRY(tree_list(d, base, &ins[3], e));
    CLV_TRY(tree_list(d, members, &ins[5], e));
    if (ins[5] != CLV_NONE)
        d->g->values[ins[5]].kind = CLV_VALUE_CONST;
    if (ins[1] != CLV_NONE && f.names)
        CLV_TRY(tree_thresholds(d, &f, ins[1], e));
    uint32_t labels = ml_length(d, "classlabels_strings", "classlabels_int64s");
    if (ml_classifies(d))
        ml_set_scores(d, labels, "classlabels_strings", "classlabels_int64s");
    else
        draft_set_int(d, CLV_A_SCORES, draft_other_int(d, "n_targets", 1));
    draft_set_str(d, CLV_A_REDUCTION,
                  tree_word(d, "aggregate_function", tree_sums, 4, 1));
    draft_set_str(d, CLV_A_TRANSFORM,
                  tree_word(d, "post_transform", tree_transforms, 5, 0));
    if (!f.names && wide)
        draft_set_int(d, CLV_A_SCORE_DTYPE, CLV_FLOAT64);
    draft_set_int(d, CLV_A_DEPTH, f.depth);
    draft_set_int(d, CLV_A_TREES, f.trees);
    ml_labels(d, "classlabels_int64s");
    ml_forget(d, CLV_OP_TREE_SCORES);
    d->done = true;
    return draft_emit(d, d->op, "", ins, 6, d->attrs, d->n_attrs, d->outs,
                      d->n_out, NULL, e);
}
