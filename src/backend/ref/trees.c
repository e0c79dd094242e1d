/* trees.c - scores of an ensemble of trees.
 *
 * A row of x goes down each tree: at a branch, one of its features is compared
 * with a threshold, or looked for in a set. The leaf it reaches has weights,
 * each for one target; those of all trees are summed (or their least or
 * greatest taken), and scores are made of them. Of classes there is a label
 * too. Sums are in double and rounded once. */
#include "backend/ref/scores.h"

#include <math.h>
#include <string.h>

enum { TREE_MEMBER = 6 }; /* the code of a branch that looks in a set */

typedef struct forest {
    const clv_tensor *x, *thresholds, *weights, *base, *codes, *members;
    const int64_t *roots, *left, *right, *features, *missing, *places, *leaves,
        *targets;
    uint32_t n_roots, n_branches, n_weights;
    int64_t n_leaves, n_targets;
    int64_t *first; /* where the weights of a leaf begin in `order` */
    int64_t *order; /* weights by leaf */
    int64_t *sets;  /* where the members of a branch begin */
    const char *reduction, *transform;
    bool positive; /* no weight is below 0 */
} forest;

/* -- reading --------------------------------------------------------------*/

/* A list that must have n entries; NULL is allowed where `optional`. */
static clv_status trees_list(const kernel *k, clv_attr_key key, uint32_t n,
                             bool optional, const int64_t **list)
{
    uint32_t count = 0;
    *list = attr_ints(k->n, key, &count);
    if ((!*list || !count) && (optional || !n)) {
        *list = NULL;
        return CLV_OK;
    }
    if (!*list || count != n)
        return clv__fail(k->e, CLV_FORMAT, "%u entries of '%s', expected %u",
                         count, clv__attr_name(key), n);
    return CLV_OK;
}

static clv_status trees_read(kernel *k, forest *f)
{
    const clv_node *n = k->n;
    *f = (forest){.x = k->in[0],
                  .thresholds = input_of(k, 1),
                  .weights = input_of(k, 2),
                  .base = input_of(k, 3),
                  .codes = input_of(k, 4),
                  .members = input_of(k, 5),
                  .reduction = attr_str(n, CLV_A_REDUCTION),
                  .transform = attr_str(n, CLV_A_TRANSFORM),
                  .n_targets = attr_int(n, CLV_A_SCORES),
                  .positive = true};
    attr_ints(n, CLV_A_LEFT, &f->n_branches);
    f->roots = attr_ints(n, CLV_A_ROOTS, &f->n_roots);
    if (!f->weights || !f->roots || !f->codes ||
        numel(f->codes) < f->n_branches)
        return clv__fail(k->e, CLV_UNSUPPORTED, "trees without their lists");
    f->n_weights = (uint32_t)numel(f->weights);
    CLV_TRY(trees_list(k, CLV_A_LEFT, f->n_branches, false, &f->left));
    CLV_TRY(trees_list(k, CLV_A_RIGHT, f->n_branches, false, &f->right));
    CLV_TRY(trees_list(k, CLV_A_FEATURES, f->n_branches, false, &f->features));
    CLV_TRY(trees_list(k, CLV_A_MISSING, f->n_branches, true, &f->missing));
    CLV_TRY(trees_list(k, CLV_A_PLACES, f->n_branches, true, &f->places));
    CLV_TRY(trees_list(k, CLV_A_LEAVES, f->n_weights, true, &f->leaves));
    return trees_list(k, CLV_A_TARGETS, f->n_weights, false, &f->targets);
}

/* Sorts the weights by their leaves, so that those of a leaf are side by side.
 * A leaf without a weight, or a weight without a leaf, counts for nothing. */
static clv_status trees_leaves(kernel *k, forest *f)
{
    f->n_leaves = 0;
    for (uint32_t i = 0; i < f->n_weights; i++) {
        int64_t leaf = f->leaves ? f->leaves[i] : (int64_t)i;
        f->n_leaves = leaf >= f->n_leaves ? leaf + 1 : f->n_leaves;
        f->positive = f->positive && !(get_f(f->weights, i) < 0);
        if (f->targets[i] < 0 || f->targets[i] >= f->n_targets)
            return clv__fail(k->e, CLV_FORMAT, "target %lld of %lld",
                             (long long)f->targets[i], (long long)f->n_targets);
    }
    if (f->n_leaves > (int64_t)CLV_NONE)
        return clv__fail(k->e, CLV_FORMAT, "leaf %lld",
                         (long long)f->n_leaves - 1);
    f->first =
        arena_array(k->scratch, (size_t)f->n_leaves + 2, sizeof *f->first);
    f->order =
        arena_array(k->scratch, (size_t)f->n_weights + 1, sizeof *f->order);
    if (!f->first || !f->order)
        return clv__nomem(k->e);
    memset(f->first, 0, ((size_t)f->n_leaves + 2) * sizeof *f->first);
    for (uint32_t i = 0; i < f->n_weights; i++) {
        int64_t leaf = f->leaves ? f->leaves[i] : (int64_t)i;
        if (leaf >= 0)
            f->first[leaf + 2]++;
    }
    for (int64_t i = 0; i < f->n_leaves; i++)
        f->first[i + 1] += f->first[i];
    for (uint32_t i = 0; i < f->n_weights; i++) {
        int64_t leaf = f->leaves ? f->leaves[i] : (int64_t)i;
        if (leaf >= 0)
            f->order[f->first[leaf + 1]++] = i;
    }
    return CLV_OK;
}

/* Where the set of each branch begins: sets come in the order of branches that
 * look in one, and end with a NaN. */
static clv_status trees_sets(kernel *k, forest *f)
{
    int64_t at = 0, n = f->members ? numel(f->members) : 0;
    f->sets = arena_array(k->scratch, f->n_branches + 1u, sizeof *f->sets);
    if (!f->sets)
        return clv__nomem(k->e);
    for (uint32_t i = 0; i < f->n_branches; i++) {
        int64_t place = f->places ? f->places[i] : (int64_t)i;
        int64_t code = get_i(f->codes, i);
        if (code < 0 || code > TREE_MEMBER)
            return clv__fail(k->e, CLV_FORMAT, "branch %u compares by %lld", i,
                             (long long)code);
        f->sets[i] = at;
        if (code != TREE_MEMBER) {
            if (!f->thresholds || place < 0 || place >= numel(f->thresholds))
                return clv__fail(k->e, CLV_FORMAT, "branch %u has no threshold",
                                 i);
            continue;
        }
        while (at < n && !isnan(get_f(f->members, at)))
            at++;
        if (at++ >= n)
            return clv__fail(k->e, CLV_FORMAT,
                             "the set of branch %u has no end", i);
    }
    return CLV_OK;
}

/* -- walking --------------------------------------------------------------*/

/* Whether a row whose feature is v goes left at branch i. */
static bool trees_left(const forest *f, uint32_t i, double v)
{
    if (isnan(v) && f->missing && f->missing[i])
        return true;
    int64_t code = get_i(f->codes, i);
    if (code == TREE_MEMBER) {
        for (int64_t at = f->sets[i]; !isnan(get_f(f->members, at)); at++)
            if (get_f(f->members, at) == v)
                return true;
        return false;
    }
    double t = get_f(f->thresholds, f->places ? f->places[i] : (int64_t)i);
    switch (code) {
    case 0:
        return v <= t;
    case 1:
        return v < t;
    case 2:
        return v >= t;
    case 3:
        return v > t;
    case 4:
        return v == t;
    default:
        return v != t;
    }
}

/* The leaf that a row reaches from `at`, a branch or -1 - leaf. */
static clv_status trees_walk(const kernel *k, const forest *f, int64_t row,
                             int64_t at, int64_t *leaf)
{
    int64_t width = f->x->dims[f->x->rank - 1];
    for (uint32_t steps = 0; at >= 0; steps++) {
        if (at >= f->n_branches || steps > f->n_branches)
            return clv__fail(k->e, CLV_FORMAT, "%s",
                             at >= f->n_branches ? "a branch that is not there"
                                                 : "a tree that goes round");
        int64_t feature = f->features[at];
        if (feature < 0 || feature >= width)
            return clv__fail(k->e, CLV_SHAPE, "feature %lld of %lld",
                             (long long)feature, (long long)width);
        double v = get_f(f->x, row * width + feature);
        at = trees_left(f, (uint32_t)at, v) ? f->left[at] : f->right[at];
    }
    *leaf = -1 - at;
    return CLV_OK;
}

/* Adds the weights of a leaf to the sums, or compares them. */
static void trees_take(const forest *f, int64_t leaf, double *sums, bool *has)
{
    bool least = !strcmp(f->reduction, "MIN");
    bool greatest = !strcmp(f->reduction, "MAX");
    if (leaf >= f->n_leaves)
        return;
    for (int64_t j = f->first[leaf]; j < f->first[leaf + 1]; j++) {
        int64_t t = f->targets[f->order[j]];
        double w = get_f(f->weights, f->order[j]);
        if (!least && !greatest)
            sums[t] += w;
        else if (!has[t] || (least ? w < sums[t] : w > sums[t]))
            sums[t] = w;
        has[t] = true;
    }
}

/* -- scores ---------------------------------------------------------------*/

/* The target that all weights are for; -1: there are several. */
static int64_t trees_target(const forest *f)
{
    for (uint32_t i = 1; i < f->n_weights; i++)
        if (f->targets[i] != f->targets[0])
            return -1;
    return f->n_weights ? f->targets[0] : -1;
}

/* Two classes told apart by one score s: p of the second class, or its
 * distance from the border where weights have both signs. */
static int64_t trees_binary(const forest *f, int64_t target, double *s)
{
    double score = s[target];
    bool logistic = !strcmp(f->transform, "LOGISTIC");
    int64_t label = score > (f->positive ? 0.5 : 0);
    if (target == 0) {
        s[0] = f->positive && !logistic ? 1 - score : -score;
        s[1] = score;
    }
    scores_transform(f->transform, s, 2);
    return label;
}

static int64_t trees_classify(const forest *f, double *s)
{
    int64_t n = f->n_targets, target = n == 2 ? trees_target(f) : -1;
    if (target >= 0)
        return trees_binary(f, target, s);
    int64_t label = 0;
    for (int64_t i = 1; i < n; i++)
        label = s[i] > s[label] ? i : label;
    scores_transform(f->transform, s, n);
    return label;
}

/* What ONNX does not say, and its implementations do not agree on. */
static clv_status trees_check(const kernel *k, const forest *f, bool classes)
{
    int64_t n = f->n_targets, n_base = f->base ? numel(f->base) : 0;
    bool one = classes && n == 2 && trees_target(f) >= 0;
    bool plain = !strcmp(f->transform, "NONE");
    if (one && !plain && strcmp(f->transform, "LOGISTIC"))
        return clv__fail(k->e, CLV_UNSUPPORTED,
                         "two classes by one score and %s", f->transform);
    if (!classes && n == 1 && !plain && strcmp(f->transform, "PROBIT"))
        return clv__fail(k->e, CLV_UNSUPPORTED, "one target and %s",
                         f->transform);
    if (n_base && n_base != (one ? 1 : n) && !(n_base == 1 && one))
        return clv__fail(k->e, CLV_UNSUPPORTED,
                         "%lld base values for %lld scores", (long long)n_base,
                         (long long)n);
    return CLV_OK;
}

/* Sums of one row, and the base values. */
static clv_status trees_sum(const kernel *k, const forest *f, int64_t row,
                            double *s, bool *has)
{
    int64_t n = f->n_targets, n_base = f->base ? numel(f->base) : 0;
    int64_t one = n_base == 1 && n > 1 ? trees_target(f) : 0;
    memset(s, 0, (size_t)n * sizeof *s);
    memset(has, 0, (size_t)n * sizeof *has);
    for (uint32_t t = 0; t < f->n_roots; t++) {
        int64_t leaf = 0;
        CLV_TRY(trees_walk(k, f, row, f->roots[t], &leaf));
        trees_take(f, leaf, s, has);
    }
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(f->reduction, "AVERAGE"))
            s[i] /= f->n_roots;
    for (int64_t i = 0; i < n_base; i++)
        s[one + i] += get_f(f->base, i);
    return CLV_OK;
}

/* x (N,C), thresholds, weights, base, codes, members -> labels (N) of a
 * classifier; scores (N,k) */
clv_status kernel_tree_scores(kernel *k)
{
    bool classes = attr_get(k->n, CLV_A_DTYPE) != NULL;
    clv_tensor *y = output_of(k, classes ? 1 : 0);
    forest f;
    CLV_TRY(trees_read(k, &f));
    CLV_TRY(trees_leaves(k, &f));
    CLV_TRY(trees_sets(k, &f));
    CLV_TRY(trees_check(k, &f, classes));
    double *s = arena_array(k->scratch, (size_t)f.n_targets + 1, sizeof *s);
    bool *has = arena_array(k->scratch, (size_t)f.n_targets + 1, sizeof *has);
    int64_t rows = f.x->rank > 1 ? f.x->dims[0] : 1;
    if (!s || !has)
        return clv__nomem(k->e);
    for (int64_t r = 0; r < rows; r++) {
        CLV_TRY(trees_sum(k, &f, r, s, has));
        if (classes)
            CLV_TRY(scores_label(k, r, trees_classify(&f, s)));
        else
            scores_transform(f.transform, s, f.n_targets);
        for (int64_t i = 0; y && i < f.n_targets; i++)
            put_f(y, r * f.n_targets + i, s[i]);
    }
    return CLV_OK;
}
