/* binary.c - elementwise over two or three operands that are broadcast.
 *
 * A loop is written once and made for each type; it takes operands that lie
 * side by side, stay where they are, or lie any number of elements apart. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vmath.h"

typedef void binary_loop(const void *a, int64_t sa, const void *b, int64_t sb,
                         void *y, int64_t n);

#define LOOP(name, T, R, expr) \
    static void loop_##name(const void *pa, int64_t sa, const void *pb, \
                            int64_t sb, void *py, int64_t n) \
    { \
        const T *va = pa, *vb = pb; \
        R *y = py; \
        if (sa == 1 && sb == 1) { \
            for (int64_t i = 0; i < n; i++) { \
                T a = va[i], b = vb[i]; \
                y[i] = (R)(expr); \
            } \
        } else if (sa == 1 && sb == 0) { \
            const T b = vb[0]; \
            for (int64_t i = 0; i < n; i++) { \
                T a = va[i]; \
                y[i] = (R)(expr); \
            } \
        } else if (sa == 0 && sb == 1) { \
            const T a = va[0]; \
            for (int64_t i = 0; i < n; i++) { \
                T b = vb[i]; \
                y[i] = (R)(expr); \
            } \
        } else { \
            for (int64_t i = 0; i < n; i++) { \
                T a = va[i * sa], b = vb[i * sb]; \
                y[i] = (R)(expr); \
            } \
        } \
    }

/* Integers wrap, so they are computed without a sign. */
#define NUMBERS(suffix, T, U) \
    LOOP(add_##suffix, T, T, (U)a + (U)b) \
    LOOP(sub_##suffix, T, T, (U)a - (U)b) \
    LOOP(mul_##suffix, T, T, (U)a *(U)b) \
    LOOP(most_##suffix, T, T, a != a || a > b ? a : b) \
    LOOP(least_##suffix, T, T, a != a || a < b ? a : b) \
    LOOP(eq_##suffix, T, uint8_t, a == b) \
    LOOP(ne_##suffix, T, uint8_t, a != b) \
    LOOP(lt_##suffix, T, uint8_t, a < b) \
    LOOP(le_##suffix, T, uint8_t, a <= b) \
    LOOP(gt_##suffix, T, uint8_t, a > b) \
    LOOP(ge_##suffix, T, uint8_t, a >= b)

NUMBERS(f32, float, float)
NUMBERS(f64, double, double)
NUMBERS(i64, int64_t, uint64_t)
NUMBERS(i32, int32_t, uint32_t)
NUMBERS(i8, int8_t, uint32_t)
NUMBERS(u8, uint8_t, uint32_t)
LOOP(div_f32, float, float, a / b)

/* Division by zero gives zero; -1 is told apart as the smallest number has no
 * negative. The rest has the sign of b (rest), or of a (left). */
#define WHOLES(suffix, T, U) \
    static inline T whole_quotient_##suffix(T a, T b) \
    { \
        return b == 0                    ? 0 \
               : b == (T)-1 && (T)-1 < 0 ? (T)(0 - (U)a) \
                                         : (T)(a / b); \
    } \
    static inline T whole_left_##suffix(T a, T b) \
    { \
        return b == 0 || (b == (T)-1 && (T)-1 < 0) ? 0 : (T)(a % b); \
    } \
    static inline T whole_rest_##suffix(T a, T b) \
    { \
        T r = whole_left_##suffix(a, b); \
        return b == 0 ? a : r == 0 || (r > 0) == (b > 0) ? r : (T)(r + b); \
    } \
    LOOP(div_##suffix, T, T, whole_quotient_##suffix(a, b)) \
    LOOP(left_##suffix, T, T, whole_left_##suffix(a, b)) \
    LOOP(rest_##suffix, T, T, whole_rest_##suffix(a, b)) \
    LOOP(bits_and_##suffix, T, T, a &b) \
    LOOP(bits_or_##suffix, T, T, a | b) \
    LOOP(bits_xor_##suffix, T, T, a ^ b)
WHOLES(i64, int64_t, uint64_t)
WHOLES(i32, int32_t, uint32_t)
WHOLES(i8, int8_t, uint32_t)
WHOLES(u8, uint8_t, uint32_t)
LOOP(left_f32, float, float, fmodf(a, b))
LOOP(pow_f64, double, double, pow(a, b))
LOOP(div_f64, double, double, a / b)
LOOP(pow_f32, float, float, powf(a, b))
LOOP(square_f32, float, float, ((void)b, a *a))
LOOP(cube_f32, float, float, ((void)b, a *a *a))
/* As pow(a, 0.5), whose -0 is 0 and -infinity infinity. */
LOOP(root_f32, float, float,
     ((void)b, a == -INFINITY ? INFINITY : sqrtf(a + 0.0f)))
LOOP(prelu_f32, float, float, a < 0 ? a * b : a)
LOOP(and_bool, uint8_t, uint8_t, a &&b)
LOOP(or_bool, uint8_t, uint8_t, a || b)
LOOP(xor_bool, uint8_t, uint8_t, !a != !b)
LOOP(eq_bool, uint8_t, uint8_t, !a == !b)

static const struct binary_row {
    clv_op op;
    clv_dtype in, out;
    binary_loop *loop;
} binary_rows[] = {
#define ROWS(suffix, T) \
    {CLV_OP_ADD, T, T, loop_add_##suffix}, \
        {CLV_OP_SUB, T, T, loop_sub_##suffix}, \
        {CLV_OP_MUL, T, T, loop_mul_##suffix}, \
        {CLV_OP_MAXIMUM, T, T, loop_most_##suffix}, \
        {CLV_OP_MINIMUM, T, T, loop_least_##suffix}, \
        {CLV_OP_EQ, T, CLV_BOOL, loop_eq_##suffix}, \
        {CLV_OP_NE, T, CLV_BOOL, loop_ne_##suffix}, \
        {CLV_OP_LT, T, CLV_BOOL, loop_lt_##suffix}, \
        {CLV_OP_LE, T, CLV_BOOL, loop_le_##suffix}, \
        {CLV_OP_GT, T, CLV_BOOL, loop_gt_##suffix}, \
    { \
        CLV_OP_GE, T, CLV_BOOL, loop_ge_##suffix \
    }
    ROWS(f32, CLV_FLOAT32),
    ROWS(f64, CLV_FLOAT64),
    ROWS(i64, CLV_INT64),
    ROWS(i32, CLV_INT32),
    ROWS(i8, CLV_INT8),
    ROWS(u8, CLV_UINT8),
#undef ROWS
#define ROWS(suffix, T) \
    {CLV_OP_DIV, T, T, loop_div_##suffix}, \
        {CLV_OP_FMOD, T, T, loop_left_##suffix}, \
        {CLV_OP_REMAINDER, T, T, loop_rest_##suffix}, \
        {CLV_OP_BITWISE_AND, T, T, loop_bits_and_##suffix}, \
        {CLV_OP_BITWISE_OR, T, T, loop_bits_or_##suffix}, \
    { \
        CLV_OP_BITWISE_XOR, T, T, loop_bits_xor_##suffix \
    }
    ROWS(i64, CLV_INT64),
    ROWS(i32, CLV_INT32),
    ROWS(i8, CLV_INT8),
    ROWS(u8, CLV_UINT8),
#undef ROWS
    {CLV_OP_FMOD, CLV_FLOAT32, CLV_FLOAT32, loop_left_f32},
    {CLV_OP_POW, CLV_FLOAT64, CLV_FLOAT64, loop_pow_f64},
    {CLV_OP_DIV, CLV_FLOAT32, CLV_FLOAT32, loop_div_f32},
    {CLV_OP_DIV, CLV_FLOAT64, CLV_FLOAT64, loop_div_f64},
    {CLV_OP_POW, CLV_FLOAT32, CLV_FLOAT32, loop_pow_f32},
    {CLV_OP_LOGICAL_AND, CLV_BOOL, CLV_BOOL, loop_and_bool},
    {CLV_OP_LOGICAL_OR, CLV_BOOL, CLV_BOOL, loop_or_bool},
    {CLV_OP_LOGICAL_XOR, CLV_BOOL, CLV_BOOL, loop_xor_bool},
    {CLV_OP_EQ, CLV_BOOL, CLV_BOOL, loop_eq_bool},
};

/* The loop for one exponent; most are 2, 3 or a half. */
static binary_loop *pow_loop(float exponent, binary_loop *any)
{
    return exponent == 2.0f   ? loop_square_f32
           : exponent == 3.0f ? loop_cube_f32
           : exponent == 0.5f ? loop_root_f32
                              : any;
}

static binary_loop *binary_find(clv_op op, clv_dtype in, clv_dtype out)
{
    for (size_t i = 0; i < sizeof binary_rows / sizeof *binary_rows; i++)
        if (binary_rows[i].op == op && binary_rows[i].in == in &&
            binary_rows[i].out == out)
            return binary_rows[i].loop;
    return NULL;
}

typedef struct binary_job {
    cpu_walk walk;
    binary_loop *loop;
    const char *a, *b;
    char *y;
    int64_t in_size, out_size; /* bytes of an element */
} binary_job;

static void binary_part(void *ctx, int64_t from, int64_t to)
{
    const binary_job *j = ctx;
    const cpu_walk *w = &j->walk;
    int64_t idx[CLV_MAX_RANK], at[CPU_OPERANDS], last = w->rank - 1;
    clv__cpu_seek(w, from, idx, at);
    while (from < to) {
        int64_t run = w->dims[last] - idx[last];
        if (run > to - from)
            run = to - from;
        j->loop(j->a + at[0] * j->in_size, w->strides[0][last],
                j->b + at[1] * j->in_size, w->strides[1][last],
                j->y + from * j->out_size, run);
        from += run;
        clv__cpu_step(w, run, idx, at);
    }
}

static bool binary_run(const kernel *k, binary_job *j, const clv_tensor *a,
                       const clv_tensor *b, clv_tensor *y)
{
    if (!j->walk.rank &&
        !clv__cpu_broadcast(y, (const clv_tensor *const[]){a, b}, 2, &j->walk))
        return false;
    j->a = a->data;
    j->b = b->data;
    j->y = y->data;
    j->in_size = (int64_t)clv__element_bytes(a);
    j->out_size = (int64_t)clv__element_bytes(y);
    clv__parallel(k->threads, numel(y), CPU_GRAIN, binary_part, j);
    j->walk.rank = 0;
    return true;
}

bool CPU_NAME(cpu_binary)(kernel *k)
{
    clv_op op = (clv_op)k->n->op;
    const clv_tensor *a = k->in[0], *b = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    double room;
    clv_tensor number = {.dtype = a->dtype, .data = &room};
    if (!b && attr_get(k->n, CLV_A_VALUE)) {
        scalar_arg value;
        (void)scalar_at(k, CLV_A_VALUE, UINT32_MAX, &value);
        if (is_float(value.t.dtype) && !is_float(a->dtype))
            return false;
        copy_run(&number, 0, &value.t, 0, 1);
        b = &number;
    }
    if (op == CLV_OP_POW && a->dtype != CLV_FLOAT32 && b && numel(b) == 1 &&
        numel(a) == numel(y) && get_f(b, 0) == 2) {
        op = CLV_OP_MUL;
        b = a;
    }
    binary_loop *loop = b ? binary_find(op, a->dtype, y->dtype) : NULL;
    if (!loop || b->dtype != a->dtype)
        return false;
    for (uint32_t i = 2; i < k->n->n_in; i++)
        if (!k->in[i] || k->in[i]->dtype != y->dtype)
            return false;
    if (op == CLV_OP_POW && a->dtype == CLV_FLOAT32 && numel(b) == 1)
        loop = pow_loop(*(const float *)b->data, loop);
    binary_job j = {.loop = loop};
    bool done = binary_run(k, &j, a, b, y);
    for (uint32_t i = 2; done && i < k->n->n_in; i++)
        done = binary_run(k, &j, y, k->in[i], y);
    return done;
}

bool CPU_NAME(cpu_add_n)(kernel *k)
{
    clv_tensor *y = &k->out[0];
    if (!all_float32(k) || k->n->n_in < 2)
        return false;
    for (uint32_t i = 0; i < k->n->n_in; i++)
        if (!k->in[i])
            return false;
    binary_job j = {.loop = loop_add_f32};
    const clv_tensor *a = k->in[0];
    bool done = true;
    for (uint32_t i = 1; done && i < k->n->n_in; i++, a = y)
        done = binary_run(k, &j, a, k->in[i], y);
    float n = (float)k->n->n_in;
    clv_tensor by = {.dtype = CLV_FLOAT32, .data = &n};
    j.loop = loop_div_f32;
    return done && (k->n->op != CLV_OP_MEAN_N || binary_run(k, &j, y, &by, y));
}

bool CPU_NAME(cpu_prelu)(kernel *k)
{
    const clv_tensor *x = k->in[0], *slope = k->in[1];
    clv_tensor *y = &k->out[0];
    binary_job j = {.loop = loop_prelu_f32};
    uint32_t axis;
    if (!all_float32(k) || x->rank == 0)
        return false;
    if (attr_get(k->n, CLV_A_AXIS) && numel(slope) != 1) {
        if (axis_of(k, &axis) != CLV_OK || numel(slope) != x->dims[axis])
            return false;
        j.walk = (cpu_walk){.rank = x->rank, .operands = 2};
        for (uint32_t a = 0; a < x->rank; a++)
            j.walk.dims[a] = x->dims[a];
        strides_of(x, j.walk.strides[0]);
        j.walk.strides[1][axis] = 1;
        clv__cpu_collapse(&j.walk);
    }
    return binary_run(k, &j, x, slope, y);
}

/* -- choices --------------------------------------------------------------*/

typedef void choice_loop(const uint8_t *c, int64_t sc, const void *a,
                         int64_t sa, const void *b, int64_t sb, void *y,
                         int64_t n);

#define CHOICE(bits) \
    static void choose_##bits(const uint8_t *c, int64_t sc, const void *pa, \
                              int64_t sa, const void *pb, int64_t sb, \
                              void *py, int64_t n) \
    { \
        const uint##bits##_t *a = pa, *b = pb; \
        uint##bits##_t *y = py; \
        if (sc == 1 && sa == 1 && sb == 1) \
            for (int64_t i = 0; i < n; i++) { \
                uint##bits##_t u = a[i], v = b[i]; \
                y[i] = c[i] ? u : v; \
            } \
        else if (sc == 1 && sa == 0 && sb == 1) \
            for (int64_t i = 0; i < n; i++) { \
                uint##bits##_t u = a[0], v = b[i]; \
                y[i] = c[i] ? u : v; \
            } \
        else if (sc == 1 && sa == 1 && sb == 0) \
            for (int64_t i = 0; i < n; i++) { \
                uint##bits##_t u = a[i], v = b[0]; \
                y[i] = c[i] ? u : v; \
            } \
        else \
            for (int64_t i = 0; i < n; i++) \
                y[i] = c[i * sc] ? a[i * sa] : b[i * sb]; \
    }
CHOICE(8)
CHOICE(16)
CHOICE(32)
CHOICE(64)

typedef struct choice_job {
    cpu_walk walk;
    choice_loop *loop;
    const uint8_t *c;
    const char *a, *b;
    char *y;
    int64_t size;
} choice_job;

static void choice_part(void *ctx, int64_t from, int64_t to)
{
    const choice_job *j = ctx;
    const cpu_walk *w = &j->walk;
    int64_t idx[CLV_MAX_RANK], at[CPU_OPERANDS], last = w->rank - 1;
    clv__cpu_seek(w, from, idx, at);
    while (from < to) {
        int64_t run = w->dims[last] - idx[last];
        if (run > to - from)
            run = to - from;
        j->loop(j->c + at[0], w->strides[0][last], j->a + at[1] * j->size,
                w->strides[1][last], j->b + at[2] * j->size,
                w->strides[2][last], j->y + from * j->size, run);
        from += run;
        clv__cpu_step(w, run, idx, at);
    }
}

static bool choose(const kernel *k, const clv_tensor *c, const clv_tensor *a,
                   const clv_tensor *b)
{
    clv_tensor *y = &k->out[0];
    choice_job j = {.c = c->data, .a = a->data, .b = b->data, .y = y->data};
    if (c->dtype != CLV_BOOL || a->dtype != y->dtype || b->dtype != y->dtype ||
        y->dtype == CLV_STRING)
        return false;
    j.size = (int64_t)clv__element_bytes(y);
    j.loop = j.size == 1   ? choose_8
             : j.size == 2 ? choose_16
             : j.size == 4 ? choose_32
             : j.size == 8 ? choose_64
                           : NULL;
    if (!j.loop || !clv__cpu_broadcast(y, (const clv_tensor *const[]){c, a, b},
                                       3, &j.walk))
        return false;
    clv__parallel(k->threads, numel(y), CPU_GRAIN, choice_part, &j);
    return true;
}

bool CPU_NAME(cpu_where)(kernel *k)
{
    return choose(k, k->in[0], k->in[1], k->in[2]);
}

bool CPU_NAME(cpu_masked_fill)(kernel *k)
{
    const clv_tensor *value = input_of(k, 2);
    double room[2];
    clv_tensor number = {.dtype = k->out[0].dtype, .data = room};
    scalar_arg v;
    if (!value) {
        (void)scalar_at(k, CLV_A_VALUE, 2, &v);
        copy_run(&number, 0, &v.t, 0, 1);
        value = &number;
    }
    return choose(k, k->in[1], value, k->in[0]);
}
