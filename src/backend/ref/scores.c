/* scores.c - scores of linear models, and what they share with trees and
 * support vectors: transforms and labels.
 *
 * Sums are in double and rounded once. Which score decides, and what becomes of
 * a single one, is as in ONNX Runtime (docs/differential.md). */
#include "backend/ref/scores.h"

#include <math.h>
#include <string.h>

/* -- shared ---------------------------------------------------------------*/

double scores_logistic(double v)
{
    double p = 1 / (1 + exp(-fabs(v)));
    return v < 0 ? 1 - p : p;
}

/* The inverse of the normal distribution, by Winitzki's approximation of the
 * inverse error function, which ONNX's implementations have. */
static double scores_probit(double v)
{
    double x = 2 * v - 1, l = log((1 - x) * (1 + x));
    double a = 2 / (acos(-1.0) * 0.147) + l / 2;
    double root = sqrt(sqrt(a * a - l / 0.147) - a);
    return sqrt(2) * (x < 0 ? -root : root);
}

/* In SOFTMAX_ZERO a score of 0 stays 0. */
static void scores_softmax(double *s, int64_t n, bool zero)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = s[i] > most ? s[i] : most;
    for (int64_t i = 0; i < n; i++) {
        bool kept = zero && fabs(s[i]) <= 1e-7;
        s[i] = kept ? s[i] * exp(-most) : exp(s[i] - most);
        sum += kept ? 0 : s[i];
    }
    for (int64_t i = 0; i < n; i++)
        s[i] /= sum;
}

void scores_transform(const char *how, double *s, int64_t n)
{
    if (!strncmp(how, "SOFTMAX", 7))
        scores_softmax(s, n, how[7] != '\0');
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(how, "LOGISTIC"))
            s[i] = scores_logistic(s[i]);
        else if (!strcmp(how, "PROBIT"))
            s[i] = scores_probit(s[i]);
}

void scores_transform_row(const char *how, double *s, int64_t n)
{
    if (n > 1 || !strcmp(how, "PROBIT"))
        scores_transform(how, s, n);
}

int64_t scores_greatest(const double *s, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        at = s[i] > s[at] ? i : at;
    return at;
}

clv_status scores_label(const kernel *k, int64_t row, int64_t label)
{
    const clv_attr *texts = attr_get(k->n, CLV_A_LABEL_TEXTS);
    const clv_attr *ints = attr_get(k->n, CLV_A_LABELS);
    clv_tensor *y = output_of(k, 0);
    if (!y)
        return CLV_OK;
    bool text = y->dtype == CLV_STRING;
    const clv_attr *list = text ? texts : ints;
    if ((text && !list) || (list && label >= list->n))
        return clv__fail(k->e, CLV_FORMAT, "no label for class %lld",
                         (long long)label);
    if (text)
        ((clv_text *)y->data)[row] =
            (clv_text){list->u.strings[label], strlen(list->u.strings[label])};
    else
        put_i(y, row, list ? list->u.ints[label] : label);
    return CLV_OK;
}

score_rows scores_rows(const kernel *k)
{
    const clv_tensor *x = k->in[0];
    return (score_rows){.x = x,
                        .n = x->rank > 1 ? x->dims[0] : 1,
                        .features = x->rank ? x->dims[x->rank - 1] : 1};
}

double scores_x(const score_rows *r, int64_t row, int64_t feature)
{
    return (float)get_f(r->x, row * r->features + feature);
}

/* -- linear models --------------------------------------------------------*/

/* x (N,C), w (k,C) and more, b (k) or NULL */
typedef struct linear_model {
    score_rows x;
    const clv_tensor *w, *b;
    int64_t k, n_scores;
    const char *transform;
    bool classes;
} linear_model;

static clv_status linear_read(const kernel *k, linear_model *m)
{
    *m = (linear_model){.x = scores_rows(k),
                        .w = k->in[1],
                        .b = input_of(k, 2),
                        .n_scores = attr_int(k->n, CLV_A_SCORES),
                        .transform = attr_str(k->n, CLV_A_TRANSFORM),
                        .classes = attr_get(k->n, CLV_A_DTYPE) != NULL};
    int64_t all = numel(m->w), c = m->x.features;
    m->k = !m->classes ? m->n_scores : m->b ? numel(m->b) : c ? all / c : 0;
    if (m->b && numel(m->b) != m->k)
        m->b = NULL;
    if (m->k < 1 || (c && all / c < m->k))
        return clv__fail(k->e, CLV_SHAPE,
                         "%lld coefficients of %lld scores for %lld features",
                         (long long)all, (long long)m->k, (long long)c);
    if (m->n_scores != m->k && !(m->k == 1 && m->n_scores == 2))
        return clv__fail(k->e, CLV_SHAPE, "%lld scores of %lld classes",
                         (long long)m->k, (long long)m->n_scores);
    if (m->n_scores != m->k && !strcmp(m->transform, "PROBIT"))
        return clv__fail(k->e, CLV_UNSUPPORTED,
                         "two classes by one score and PROBIT");
    return CLV_OK;
}

static void linear_sums(const linear_model *m, int64_t row, double *s)
{
    int64_t c = m->x.features;
    for (int64_t i = 0; i < m->k; i++) {
        double sum = m->b ? get_f(m->b, i) : 0;
        for (int64_t j = 0; j < c; j++)
            sum += scores_x(&m->x, row, j) * get_f(m->w, i * c + j);
        s[i] = sum;
    }
}

/* The scores of a row from its sums, and its class. One sum for two classes is
 * that of the second. */
static int64_t linear_scores(const linear_model *m, double *s)
{
    int64_t label = m->k > 1 ? scores_greatest(s, m->k) : s[0] > 0;
    if (m->n_scores == m->k) {
        scores_transform_row(m->transform, s, m->k);
        return label;
    }
    bool logistic = !strcmp(m->transform, "LOGISTIC");
    double sum = s[0];
    s[0] = logistic ? scores_logistic(-sum) : 1 - sum;
    s[1] = logistic ? scores_logistic(sum) : sum;
    return label;
}

/* x (N,C), w (k*C), b (k) -> labels (N) of a classifier; scores (N,k) */
clv_status kernel_linear_scores(kernel *k)
{
    linear_model m;
    CLV_TRY(linear_read(k, &m));
    clv_tensor *y = output_of(k, m.classes ? 1 : 0);
    double *s = arena_array(k->scratch, (size_t)m.n_scores + 1, sizeof *s);
    if (!s)
        return clv__nomem(k->e);
    for (int64_t r = 0; r < m.x.n && clv__in_time(numel(m.w)); r++) {
        linear_sums(&m, r, s);
        int64_t label = linear_scores(&m, s);
        if (m.classes)
            CLV_TRY(scores_label(k, r, label));
        for (int64_t i = 0; y && i < m.n_scores; i++)
            put_f(y, r * m.n_scores + i, s[i]);
    }
    return CLV_OK;
}
