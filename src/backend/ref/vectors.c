/* vectors.c - scores of support vectors.
 *
 * A kernel of a row of x and each vector, then sums of the kernels. A regressor
 * has one sum. A classifier has vectors of each class, and a sum for each pair
 * of classes, which is a vote for one of the two; probabilities are made of the
 * sums of all pairs. Without vectors it is a linear model, a sum per class.
 *
 * Coefficients of classes 0, 1 and 2 (k - 1 rows, V columns), by the class that
 * a vector belongs to and the other class of the pair:
 *
 *      0 with 1 | 1 with 0 | 2 with 0
 *      0 with 2 | 1 with 2 | 2 with 1
 */
#include "backend/ref/scores.h"

#include <math.h>
#include <string.h>

typedef struct vector_model {
    score_rows x;
    const clv_tensor *vectors, *w, *rho, *prob_a, *prob_b;
    const char *mode, *transform;
    double gamma, coef0, degree;
    const int64_t *per_class; /* vectors of each class */
    uint32_t n_classes;
    int64_t n_vectors, n_pairs, n_scores;
    bool classes, positive; /* no coefficient is below 0 */
    /* of one row */
    double *kernels, *pairs, *s;
    int64_t *votes;
    float *r, *q, *qp, *p;
} vector_model;

/* -- reading --------------------------------------------------------------*/

static bool vectors_have(const clv_tensor *t, int64_t n)
{
    return t && numel(t) >= n;
}

/* The lists of a classifier with vectors must fit its classes. */
static clv_status vectors_check_classes(const kernel *k, vector_model *m)
{
    int64_t n = m->n_classes, all = 0, scores;
    for (uint32_t i = 0; i < m->n_classes; i++) {
        if (m->per_class[i] < 0 || m->per_class[i] > m->n_vectors - all)
            return clv__fail(k->e, CLV_FORMAT, "%lld vectors of class %u",
                             (long long)m->per_class[i], i);
        all += m->per_class[i];
    }
    m->n_pairs = n * (n - 1) / 2;
    scores = m->prob_a ? n : n > 2 ? m->n_pairs : 2;
    if (n < 2 || all != m->n_vectors || scores != m->n_scores)
        return clv__fail(k->e, CLV_FORMAT,
                         "%lld classes of %lld vectors, %lld scores",
                         (long long)n, (long long)all, (long long)m->n_scores);
    if (numel(m->w) / (n - 1) < all || !vectors_have(m->rho, m->n_pairs) ||
        (m->prob_a && (!vectors_have(m->prob_a, m->n_pairs) ||
                       !vectors_have(m->prob_b, m->n_pairs))))
        return clv__fail(k->e, CLV_FORMAT,
                         "lists too short for %lld classes of %lld vectors",
                         (long long)n, (long long)all);
    if (!m->prob_a && n == 2 && !strcmp(m->transform, "PROBIT"))
        return clv__fail(k->e, CLV_UNSUPPORTED,
                         "two classes by one score and PROBIT");
    return CLV_OK;
}

static clv_status vectors_check(const kernel *k, vector_model *m)
{
    int64_t c = m->x.features;
    if (!m->w || !vectors_have(m->rho, 1) || c < 1)
        return clv__fail(k->e, CLV_FORMAT, "coefficients or offsets missing");
    m->n_vectors = m->vectors ? numel(m->vectors) / c : 0;
    if (m->vectors && numel(m->vectors) != m->n_vectors * c)
        return clv__fail(k->e, CLV_SHAPE, "%lld numbers of vectors of %lld",
                         (long long)numel(m->vectors), (long long)c);
    if (m->vectors && m->classes)
        return vectors_check_classes(k, m);
    if (!m->classes && m->n_scores != 1)
        return clv__fail(k->e, CLV_FORMAT, "%lld scores of a regressor",
                         (long long)m->n_scores);
    bool fits = m->vectors ? numel(m->w) >= m->n_vectors
                           : numel(m->w) / m->n_scores == c;
    if (!fits)
        return clv__fail(k->e, CLV_SHAPE,
                         "%lld coefficients for %lld scores of %lld features",
                         (long long)numel(m->w), (long long)m->n_scores,
                         (long long)c);
    return CLV_OK;
}

static clv_status vectors_room(kernel *k, vector_model *m)
{
    size_t n = m->n_classes, square = m->prob_a && m->vectors ? n * n : 0;
    m->kernels =
        arena_array(k->scratch, (size_t)m->n_vectors + 1, sizeof *m->kernels);
    m->pairs =
        arena_array(k->scratch, (size_t)m->n_pairs + 1, sizeof *m->pairs);
    m->s = arena_array(k->scratch, (size_t)m->n_scores + 1, sizeof *m->s);
    m->votes = arena_array(k->scratch, n + 1, sizeof *m->votes);
    m->r = arena_array(k->scratch, square + 1, sizeof *m->r);
    m->q = arena_array(k->scratch, square + 1, sizeof *m->q);
    m->qp = arena_array(k->scratch, n + 1, sizeof *m->qp);
    m->p = arena_array(k->scratch, n + 1, sizeof *m->p);
    return m->kernels && m->pairs && m->s && m->votes && m->r && m->q &&
                   m->qp && m->p
               ? CLV_OK
               : clv__nomem(k->e);
}

static clv_status vectors_read(kernel *k, vector_model *m)
{
    const clv_node *n = k->n;
    *m = (vector_model){.x = scores_rows(k),
                        .vectors = input_of(k, 1),
                        .w = input_of(k, 2),
                        .rho = input_of(k, 3),
                        .prob_a = input_of(k, 4),
                        .prob_b = input_of(k, 5),
                        .mode = attr_str(n, CLV_A_MODE),
                        .transform = attr_str(n, CLV_A_TRANSFORM),
                        .gamma = attr_float(n, CLV_A_GAMMA),
                        .coef0 = attr_float(n, CLV_A_BETA),
                        .degree = attr_float(n, CLV_A_P),
                        .n_scores = attr_int(n, CLV_A_SCORES),
                        .classes = attr_get(n, CLV_A_DTYPE) != NULL,
                        .positive = true};
    m->per_class = attr_ints(n, CLV_A_SECTIONS, &m->n_classes);
    CLV_TRY(vectors_check(k, m));
    for (int64_t i = 0; i < numel(m->w) && m->positive; i++)
        m->positive = get_f(m->w, i) >= 0;
    return vectors_room(k, m);
}

/* -- kernels and sums -----------------------------------------------------*/

static double vectors_kernel(const vector_model *m, int64_t row, int64_t at)
{
    bool rbf = !strcmp(m->mode, "RBF");
    double sum = 0;
    for (int64_t j = 0, c = m->x.features; j < c; j++) {
        double a = scores_x(&m->x, row, j), b = get_f(m->vectors, at * c + j);
        sum += rbf ? (a - b) * (a - b) : a * b;
    }
    if (rbf)
        return exp(-m->gamma * sum);
    if (!strcmp(m->mode, "LINEAR"))
        return sum;
    sum = m->gamma * sum + m->coef0;
    return strcmp(m->mode, "POLY") ? tanh(sum) : pow(sum, m->degree);
}

/* The part of a pair's sum that vectors [first, first + n) have. */
static double vectors_part(const vector_model *m, int64_t coefficients,
                           int64_t first, int64_t n)
{
    double sum = 0;
    for (int64_t i = first; i < first + n; i++)
        sum += get_f(m->w, coefficients * m->n_vectors + i) * m->kernels[i];
    return sum;
}

static void vectors_vote(vector_model *m)
{
    int64_t pair = 0, first_i = 0;
    memset(m->votes, 0, m->n_classes * sizeof *m->votes);
    for (int64_t i = 0; i < m->n_classes; i++) {
        int64_t first_j = first_i + m->per_class[i];
        for (int64_t j = i + 1; j < m->n_classes; j++) {
            double sum = vectors_part(m, j - 1, first_i, m->per_class[i]) +
                         vectors_part(m, i, first_j, m->per_class[j]) +
                         get_f(m->rho, pair);
            m->pairs[pair++] = (float)sum;
            m->votes[sum > 0 ? i : j]++;
            first_j += m->per_class[j];
        }
        first_i += m->per_class[i];
    }
}

/* -- probabilities --------------------------------------------------------*/

/* r[i][j]: how likely class i is if it is i or j. */
static void vectors_pair_odds(vector_model *m)
{
    const float least = 1e-7f;
    size_t n = m->n_classes;
    int64_t pair = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++, pair++) {
            double v = m->pairs[pair] * get_f(m->prob_a, pair) +
                       get_f(m->prob_b, pair);
            float p = (float)(1 - scores_logistic(v));
            p = p < least ? least : p > 1 - least ? 1 - least : p;
            m->r[i * n + j] = p;
            m->r[j * n + i] = 1 - p;
        }
}

/* One step of the iteration below for class i. */
static float vectors_step(vector_model *m, size_t i, float pqp)
{
    size_t n = m->n_classes;
    float diff = (pqp - m->qp[i]) / m->q[i * n + i];
    m->p[i] += diff;
    pqp = (pqp + diff * (diff * m->q[i * n + i] + 2 * m->qp[i])) / (1 + diff) /
          (1 + diff);
    for (size_t j = 0; j < n; j++) {
        m->qp[j] = (m->qp[j] + diff * m->q[i * n + j]) / (1 + diff);
        m->p[j] /= 1 + diff;
    }
    return pqp;
}

/* Probabilities p of all classes from those of pairs, as libsvm finds them (Wu,
 * Lin and Weng 2004, algorithm 2), in float32 with ONNX Runtime's bound. */
static void vectors_probabilities(vector_model *m)
{
    enum { STEPS = 100 };
    size_t n = m->n_classes;
    float bound = 0.005f / (float)n;
    for (size_t i = 0; i < n; i++) {
        m->p[i] = 1 / (float)n;
        m->q[i * n + i] = 0;
        for (size_t j = 0; j < n; j++)
            if (j != i) {
                m->q[i * n + i] += m->r[j * n + i] * m->r[j * n + i];
                m->q[i * n + j] = -m->r[j * n + i] * m->r[i * n + j];
            }
    }
    for (int step = 0; step < STEPS; step++) {
        float pqp = 0, most = 0;
        for (size_t i = 0; i < n; i++) {
            m->qp[i] = 0;
            for (size_t j = 0; j < n; j++)
                m->qp[i] += m->q[i * n + j] * m->p[j];
            pqp += m->p[i] * m->qp[i];
        }
        for (size_t i = 0; i < n; i++)
            most = fmaxf(most, fabsf(m->qp[i] - pqp));
        if (most < bound)
            return;
        for (size_t i = 0; i < n; i++)
            pqp = vectors_step(m, i, pqp);
    }
}

/* -- scores ---------------------------------------------------------------*/

/* A classifier with vectors: its class by votes. Two classes without
 * probabilities have one sum, which is for the first. */
static int64_t vectors_classify(vector_model *m)
{
    int64_t label = 0;
    vectors_vote(m);
    for (int64_t i = 1; i < m->n_classes; i++)
        label = m->votes[i] > m->votes[label] ? i : label;
    if (m->prob_a) {
        vectors_pair_odds(m);
        vectors_probabilities(m);
        for (int64_t i = 0; i < m->n_scores; i++)
            m->s[i] = m->p[i];
    } else if (m->n_classes == 2) {
        bool logistic = !strcmp(m->transform, "LOGISTIC");
        bool plain = !strcmp(m->transform, "NONE");
        double sum = m->pairs[0];
        m->s[0] = logistic ? scores_logistic(-sum) : (plain ? 0 : 1) - sum;
        m->s[1] = logistic ? scores_logistic(sum) : sum;
        return label;
    } else {
        memcpy(m->s, m->pairs, (size_t)m->n_scores * sizeof *m->s);
    }
    scores_transform_row(m->transform, m->s, m->n_scores);
    return label;
}

/* Without vectors: a sum per class, and the class of the greatest; of two
 * classes the second one where that is above the border. */
static int64_t vectors_linear(vector_model *m, int64_t row)
{
    int64_t c = m->x.features;
    for (int64_t i = 0; i < m->n_scores; i++) {
        double sum = get_f(m->rho, 0);
        for (int64_t j = 0; j < c; j++)
            sum += scores_x(&m->x, row, j) * get_f(m->w, i * c + j);
        m->s[i] = sum;
    }
    int64_t label = scores_greatest(m->s, m->n_scores);
    double most = m->s[label];
    if (m->classes && m->n_scores == 2 && !m->prob_a &&
        (m->positive ? most >= 0.5 : most > 0))
        label = 1;
    return label;
}

static int64_t vectors_row(vector_model *m, int64_t row)
{
    for (int64_t i = 0; i < m->n_vectors; i++)
        m->kernels[i] = (float)vectors_kernel(m, row, i);
    if (m->vectors && m->classes)
        return vectors_classify(m);
    int64_t label = 0;
    if (m->vectors)
        m->s[0] = vectors_part(m, 0, 0, m->n_vectors) + get_f(m->rho, 0);
    else
        label = vectors_linear(m, row);
    if (!strcmp(m->transform, "SIGN"))
        m->s[0] = m->s[0] > 0 ? 1 : -1;
    else
        scores_transform_row(m->transform, m->s, m->n_scores);
    return label;
}

/* x (N,C), vectors (V*C), coefficients, offsets, two of probabilities -> labels
 * (N) of a classifier; scores (N,k) */
clv_status kernel_vector_scores(kernel *k)
{
    vector_model m;
    CLV_TRY(vectors_read(k, &m));
    clv_tensor *y = output_of(k, m.classes ? 1 : 0);
    int64_t work = sat_add(numel(m.w), sat_mul(m.n_vectors, m.x.features));
    for (int64_t r = 0; r < m.x.n && clv__in_time(work); r++) {
        int64_t label = vectors_row(&m, r);
        if (m.classes)
            CLV_TRY(scores_label(k, r, label));
        for (int64_t i = 0; y && i < m.n_scores; i++)
            put_f(y, r * m.n_scores + i, m.s[i]);
    }
    return CLV_OK;
}
