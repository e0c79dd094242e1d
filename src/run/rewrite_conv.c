/* rewrite_conv.c - convolutions of one value that are added up become one.
 *
 *      x -> conv 3x3 -> batch_norm --\
 *      x -> conv 1x1 -> batch_norm --- add -> add -> y
 *      x -> batch_norm --------------/
 *      x -> conv 3x3 -> y               the smaller windows lie in the larger
 *
 * Nets that are trained with branches (RepVGG and what followed it) are often
 * exported with them. A branch is linear in x, and a batch norm of x alone is a
 * convolution of one point; so their weights can be added, each shifted to
 * where its window lies in the largest one. A constant per channel may follow a
 * branch. x itself counts beside a convolution channel by channel; beside
 * others it is added behind them for nothing. */
#include "run/rewrite.h"

#include <math.h>
#include <string.h>

/* One operand of a sum: scale norm(conv(x)), each of which may be missing. */
typedef struct conv_branch {
    uint32_t x, conv, norm; /* nodes; CLV_NONE: there is none */
    uint32_t scale;         /* constant, or CLV_NONE */
    double sign;
    int64_t kernel[CLV_MAX_RANK], before[CLV_MAX_RANK]; /* per spatial axis */
    int64_t after[CLV_MAX_RANK];
} conv_branch;

static bool is_plain_conv(clv_op op)
{
    return op == CLV_OP_CONV1D || op == CLV_OP_CONV2D || op == CLV_OP_CONV3D;
}

static double number_at(const rewriter *r, uint32_t v, int64_t i)
{
    float x; /* weights in a file may not be aligned */
    memcpy(&x, (const char *)r->tensor[v].data + (size_t)i * sizeof x,
           sizeof x);
    return (double)x;
}

/* -- finding --------------------------------------------------------------*/

static bool stored_floats(const rewriter *r, uint32_t v)
{
    return rw_is_float(r, v) && rw_known(r, v);
}

/* The four vectors of a norm are stored, and its variances are none of which
 * the root is NaN or infinite. */
static bool stored_norm(const rewriter *r, uint32_t id)
{
    const clv_node *n = rw_node(r, id);
    int64_t channels = rw_dim(r, rw_in(r, id, 0), 1);
    double eps = attr_float(n, CLV_A_EPSILON);
    if (n->n_in != 5 || n->n_out != 1 || channels < 1 ||
        attr_int(n, CLV_A_TRAINING))
        return false;
    for (uint32_t i = 1; i < 5; i++)
        if (!stored_floats(r, rw_in(r, id, i)) ||
            clv_tensor_numel(&r->tensor[rw_in(r, id, i)]) != channels)
            return false;
    for (int64_t c = 0; c < channels; c++)
        if (!(number_at(r, rw_in(r, id, 4), c) + eps > 0))
            return false;
    return true;
}

/* The convolution that makes v, with weights and bias that are stored. */
static uint32_t stored_conv(const rewriter *r, uint32_t v)
{
    uint32_t id = rw_maker(r, v);
    if (id == CLV_NONE || !is_plain_conv(rw_op(r, id)) || !rw_once(r, v) ||
        !rw_is_float(r, rw_in(r, id, 0)) ||
        !stored_floats(r, rw_in(r, id, 1)) ||
        rw_rank(r, rw_in(r, id, 0)) != rw_rank(r, rw_in(r, id, 1)))
        return CLV_NONE;
    uint32_t b = rw_in(r, id, 2);
    return b == CLV_NONE || stored_floats(r, b) ? id : CLV_NONE;
}

static bool branch_windows(const rewriter *r, conv_branch *b)
{
    const clv_node *n = rw_node(r, b->conv);
    uint32_t nd = rw_rank(r, b->x) - 2u, w = rw_in(r, b->conv, 1);
    for (uint32_t i = 0; i < nd; i++) {
        window win;
        if (get_window(n, i, nd, rw_dim(r, b->x, (int)(2 + i)),
                       rw_dim(r, w, (int)(2 + i)), &win, NULL) != CLV_OK)
            return false;
        b->kernel[i] = win.kernel;
        b->before[i] = win.before;
        b->after[i] = win.after;
    }
    return true;
}

/* c is a stored number, or one for each channel of v. */
static bool scales_channels(const rewriter *r, uint32_t c, uint32_t v)
{
    uint32_t rank = rw_rank(r, v);
    if (!stored_floats(r, c) || rank < 3 || rw_rank(r, c) > rank)
        return false;
    uint32_t lead = rank - rw_rank(r, c);
    for (uint32_t i = lead; i < rank; i++) {
        int64_t n = rw_dim(r, c, (int)(i - lead));
        if (n != 1 && (i != 1 || n != rw_dim(r, v, 1)))
            return false;
    }
    return true;
}

/* v is x times a constant per channel; returns x, or v where it is not. */
static uint32_t without_scale(const rewriter *r, uint32_t v, uint32_t *scale)
{
    uint32_t id = rw_made_by(r, v, CLV_OP_MUL);
    *scale = CLV_NONE;
    for (uint32_t i = 0; id != CLV_NONE && i < 2 && rw_node(r, id)->n_in == 2;
         i++) {
        uint32_t x = rw_in(r, id, i), c = rw_in(r, id, !i);
        if (rw_is_float(r, x) && rw_same_shape(r, x, v) &&
            scales_channels(r, c, v)) {
            *scale = c;
            return x;
        }
    }
    return v;
}

static void branch_of_x(uint32_t x, double sign, conv_branch *b)
{
    *b = (conv_branch){.x = x,
                       .conv = CLV_NONE,
                       .norm = CLV_NONE,
                       .scale = CLV_NONE,
                       .sign = sign};
    for (uint32_t i = 0; i < CLV_MAX_RANK; i++)
        b->kernel[i] = 1; /* one point, nothing around it */
}

/* v is a branch that nobody else reads. */
static bool branch_of(const rewriter *r, uint32_t v, double sign,
                      conv_branch *b)
{
    branch_of_x(v, sign, b);
    if (v == CLV_NONE || !rw_once(r, v) || !rw_is_float(r, v))
        return false;
    b->x = v = without_scale(r, v, &b->scale);
    b->norm = rw_made_by(r, v, CLV_OP_BATCH_NORM);
    if (b->norm != CLV_NONE) {
        if (!stored_norm(r, b->norm) ||
            (b->scale != CLV_NONE && !rw_once(r, v)))
            return false;
        b->x = rw_in(r, b->norm, 0);
    }
    b->conv = stored_conv(r, b->x);
    if (b->conv == CLV_NONE)
        return b->norm != CLV_NONE && rw_rank(r, b->x) > 2;
    b->x = rw_in(r, b->conv, 0);
    return branch_windows(r, b);
}

/* Operand v is what branch b is a convolution of, channel by channel. */
static bool is_beside(const rewriter *r, uint32_t v, const conv_branch *b)
{
    return b->conv != CLV_NONE && b->x == v &&
           rw_dim(r, rw_in(r, b->conv, 1), 1) == 1;
}

/* What must be equal for weights to be added: how windows move. */
static bool moves_alike(const rewriter *r, const conv_branch *large,
                        const conv_branch *small)
{
    const clv_node *a = rw_node(r, large->conv);
    const clv_node *b =
        small->conv == CLV_NONE ? NULL : rw_node(r, small->conv);
    uint32_t w = rw_in(r, large->conv, 1), nd = rw_rank(r, large->x) - 2u;
    int64_t groups = attr_int(a, CLV_A_GROUPS);
    if (b ? attr_int(b, CLV_A_GROUPS) != groups || b->op != a->op
          : rw_dim(r, w, 0) != rw_dim(r, w, 1) * groups)
        return false;
    for (uint32_t i = 0; i < nd; i++) {
        window x, y = {.kernel = 1, .stride = 1, .dilation = 1};
        int64_t in = rw_dim(r, large->x, (int)(2 + i));
        if (get_window(a, i, nd, in, large->kernel[i], &x, NULL) != CLV_OK ||
            (b &&
             get_window(b, i, nd, in, small->kernel[i], &y, NULL) != CLV_OK))
            return false;
        bool one_point = x.kernel == 1 && y.kernel == 1;
        if (x.stride != y.stride || (x.dilation != y.dilation && !one_point) ||
            (x.dilation != 1 && !one_point))
            return false;
    }
    return true;
}

/* The smaller window lies within the larger one, wherever they stand. */
static bool lies_within(const conv_branch *large, const conv_branch *small,
                        uint32_t nd)
{
    for (uint32_t i = 0; i < nd; i++) {
        int64_t at = large->before[i] - small->before[i];
        if (at < 0 || at + small->kernel[i] > large->kernel[i])
            return false;
    }
    return true;
}

static bool branches_fit(const rewriter *r, const conv_branch *large,
                         const conv_branch *small)
{
    uint32_t rank = rw_rank(r, large->x);
    return large->conv != CLV_NONE && large->x == small->x && rank > 2 &&
           moves_alike(r, large, small) && lies_within(large, small, rank - 2);
}

/* -- adding ---------------------------------------------------------------*/

static bool per_one(const rewriter *r, uint32_t v)
{
    return clv_tensor_numel(&r->tensor[v]) == 1;
}

/* conv(x) scale + shift, of channel o of a branch, with its sign. */
static void branch_affine(const rewriter *r, const conv_branch *b, int64_t o,
                          double *scale, double *shift)
{
    uint32_t bias = b->conv == CLV_NONE ? CLV_NONE : rw_in(r, b->conv, 2);
    *scale = 1;
    *shift = bias == CLV_NONE ? 0 : number_at(r, bias, o);
    if (b->norm != CLV_NONE) {
        double eps = attr_float(rw_node(r, b->norm), CLV_A_EPSILON);
        double var = number_at(r, rw_in(r, b->norm, 4), o);
        *scale = number_at(r, rw_in(r, b->norm, 1), o) / sqrt(var + eps);
        *shift = (*shift - number_at(r, rw_in(r, b->norm, 3), o)) * *scale +
                 number_at(r, rw_in(r, b->norm, 2), o);
    }
    double last = b->sign;
    if (b->scale != CLV_NONE)
        last *= number_at(r, b->scale, per_one(r, b->scale) ? 0 : o);
    *scale *= last;
    *shift *= last;
}

/* Where the weight at point `at` of a small window lies in the large one. */
static int64_t tap_place(const conv_branch *large, const conv_branch *small,
                         uint32_t nd, int64_t at)
{
    int64_t point = 0, stride = 1;
    for (uint32_t i = nd; i-- > 0;) {
        int64_t k = at % small->kernel[i];
        at /= small->kernel[i];
        point += (k + large->before[i] - small->before[i]) * stride;
        stride *= large->kernel[i];
    }
    return point;
}

/* Adds the weights of b for channel o to sum, which has `inputs` windows of
 * `points`. */
static void add_weights(const rewriter *r, const conv_branch *large,
                        const conv_branch *b, int64_t o, double scale,
                        double *sum, int64_t inputs)
{
    uint32_t nd = rw_rank(r, large->x) - 2u;
    int64_t points = dims_product(large->kernel, 0, nd);
    int64_t own = dims_product(b->kernel, 0, nd);
    if (b->conv == CLV_NONE) {
        sum[o % inputs * points + tap_place(large, b, nd, 0)] += scale;
        return;
    }
    uint32_t w = rw_in(r, b->conv, 1);
    for (int64_t p = 0; p < own; p++) {
        int64_t at = tap_place(large, b, nd, p);
        for (int64_t i = 0; i < inputs; i++)
            sum[i * points + at] +=
                scale * number_at(r, w, (o * inputs + i) * own + p);
    }
}

/* New weights and bias: the sum of both branches. */
static bool sum_branches(rewriter *r, const conv_branch *large,
                         const conv_branch *small, uint32_t *w, uint32_t *b)
{
    uint32_t from = rw_in(r, large->conv, 1);
    clv_tensor weights = r->tensor[from], bias;
    int64_t outputs = weights.dims[0];
    int64_t row = dims_product(weights.dims, 1, weights.rank);
    double *sum = clv__alloc((size_t)row * sizeof *sum + 1);
    if (!sum) {
        r->failed = true;
        return false;
    }
    *w = rw_const(r, CLV_FLOAT32, weights.rank, weights.dims, &weights);
    *b = *w == CLV_NONE ? CLV_NONE
                        : rw_const(r, CLV_FLOAT32, 1, &outputs, &bias);
    for (int64_t o = 0; *b != CLV_NONE && o < outputs; o++) {
        double scale, shift, shifts = 0;
        memset(sum, 0, (size_t)row * sizeof *sum);
        for (int i = 0; i < 2; i++) {
            const conv_branch *branch = i ? small : large;
            branch_affine(r, branch, o, &scale, &shift);
            add_weights(r, large, branch, o, scale, sum, weights.dims[1]);
            shifts += shift;
        }
        for (int64_t i = 0; i < row; i++)
            ((float *)weights.data)[o * row + i] = (float)sum[i];
        ((float *)bias.data)[o] = (float)shifts;
    }
    clv__free(sum);
    return *b != CLV_NONE;
}

static bool two_branches(const rewriter *r, uint32_t v, uint32_t w, double sign,
                         conv_branch *a, conv_branch *b)
{
    bool first = branch_of(r, v, 1, a), second = branch_of(r, w, sign, b);
    if (first && !second && is_beside(r, w, a)) {
        branch_of_x(w, sign, b);
        second = true;
    } else if (second && !first && is_beside(r, v, b)) {
        branch_of_x(v, 1, a);
        first = true;
    }
    return first && second && v != w;
}

bool rewrite_parallel_convs(rewriter *r, uint32_t id)
{
    conv_branch a, b;
    uint32_t w, bias, y = rw_out(r, id);
    double sign = rw_op(r, id) == CLV_OP_SUB ? -1 : 1;
    if (rw_node(r, id)->n_in != 2 || rw_node(r, id)->n_attrs ||
        !two_branches(r, rw_in(r, id, 0), rw_in(r, id, 1), sign, &a, &b) ||
        !rw_same_shape(r, rw_in(r, id, 0), y) ||
        !rw_same_shape(r, rw_in(r, id, 1), y))
        return false;
    bool first = branches_fit(r, &a, &b);
    const conv_branch *large = first ? &a : &b, *small = first ? &b : &a;
    if ((!first && !branches_fit(r, large, small)) ||
        !sum_branches(r, large, small, &w, &bias))
        return false;
    rw_form f = {.op = rw_op(r, large->conv)};
    rw_form_input(&f, large->x);
    rw_form_input(&f, w);
    rw_form_input(&f, bias);
    rw_form_attr(r, &f, large->conv, CLV_A_STRIDE);
    rw_form_attr(r, &f, large->conv, CLV_A_PADDING);
    rw_form_attr(r, &f, large->conv, CLV_A_DILATION);
    rw_form_attr(r, &f, large->conv, CLV_A_AUTO_PAD);
    rw_form_attr(r, &f, large->conv, CLV_A_GROUPS);
    clv__weight_drop(r->weights, r->from, &r->tensor[rw_in(r, large->conv, 1)]);
    return rw_become(r, id, &f);
}

/* -- norms of rows --------------------------------------------------------*/

/* A batch norm of a matrix: one number per column is multiplied, one added. A
 * product in front of them takes both into its weights. */
bool rewrite_norm_of_rows(rewriter *r, uint32_t id)
{
    uint32_t x = rw_in(r, id, 0);
    int64_t n = rw_dim(r, x, 1);
    clv_tensor scale, shift;
    if (!rw_is_float(r, x) || rw_rank(r, x) != 2 || !stored_norm(r, id))
        return false;
    uint32_t s = rw_const(r, CLV_FLOAT32, 1, &n, &scale);
    uint32_t b = s == CLV_NONE ? s : rw_const(r, CLV_FLOAT32, 1, &n, &shift);
    if (b == CLV_NONE)
        return false;
    conv_branch norm;
    branch_of_x(x, 1, &norm);
    norm.norm = id;
    for (int64_t i = 0; i < n; i++) {
        double times, plus;
        branch_affine(r, &norm, i, &times, &plus);
        ((float *)scale.data)[i] = (float)times;
        ((float *)shift.data)[i] = (float)plus;
    }
    rw_form mul = {.op = CLV_OP_MUL}, add = {.op = CLV_OP_ADD};
    rw_form_input(&mul, x);
    rw_form_input(&mul, s);
    rw_form_input(&add, rw_add(r, &mul));
    rw_form_input(&add, b);
    return add.in[0] != CLV_NONE && rw_become(r, id, &add);
}
