/* fourier.c - Fourier transforms in steps of their length's factors.
 *
 * A transform of n = p m samples is p transforms of every p-th sample, whose
 * results are turned and added up: n times the sum of n's prime factors instead
 * of n squared. All in double; powers of e^(2 pi i / n) are in a table. */
#include "backend/cpu/cpu.h"

#include <math.h>

typedef struct fourier {
    int64_t n;
    double *turns;           /* cos and sin of each n-th of a turn */
    double *in;              /* one line: real and imaginary parts */
    double *out;             /* its spectrum */
    double *column;          /* p numbers that are added up */
    const clv_tensor *taper; /* a weight per sample, or NULL */
} fourier;

/* Memory and the table for lines of n samples; false: no memory. */
static bool fourier_begin(kernel *k, fourier *f, int64_t n, bool inverse)
{
    const double pi = 3.14159265358979323846;
    *f = (fourier){.n = n};
    if (n < 1 || n > INT64_MAX / 64)
        return false;
    f->turns = arena_array(k->scratch, (size_t)n * 2, sizeof *f->turns);
    f->in = arena_array(k->scratch, (size_t)n * 2, sizeof *f->in);
    f->out = arena_array(k->scratch, (size_t)n * 2, sizeof *f->out);
    f->column = arena_array(k->scratch, (size_t)n * 2, sizeof *f->column);
    if (!f->turns || !f->in || !f->out || !f->column)
        return false;
    for (int64_t i = 0; i < n; i++) {
        double angle = (inverse ? 2 : -2) * pi * (double)i / (double)n;
        f->turns[2 * i] = cos(angle);
        f->turns[2 * i + 1] = sin(angle);
    }
    return true;
}

static int64_t fourier_factor(int64_t n)
{
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

/* Joins two transforms of m samples that lie behind each other. */
static void fourier_pair(const fourier *f, double *y, int64_t m)
{
    double *z = y + 2 * m;
    int64_t each = f->n / (2 * m);
    for (int64_t i = 0; i < m; i++) {
        const double *w = f->turns + 2 * i * each;
        double re = z[2 * i] * w[0] - z[2 * i + 1] * w[1];
        double im = z[2 * i] * w[1] + z[2 * i + 1] * w[0];
        z[2 * i] = y[2 * i] - re;
        z[2 * i + 1] = y[2 * i + 1] - im;
        y[2 * i] += re;
        y[2 * i + 1] += im;
    }
}

/* Joins p transforms of m samples. */
static void fourier_join(const fourier *f, double *y, int64_t p, int64_t m)
{
    int64_t n = p * m, each = f->n / n;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t r = 0; r < p; r++) {
            f->column[2 * r] = y[2 * (r * m + i)];
            f->column[2 * r + 1] = y[2 * (r * m + i) + 1];
        }
        for (int64_t q = 0; q < p; q++) {
            int64_t bin = i + q * m;
            double re = 0, im = 0;
            for (int64_t r = 0, at = 0; r < p; r++) {
                const double *w = f->turns + 2 * at * each;
                const double *c = f->column + 2 * r;
                re += c[0] * w[0] - c[1] * w[1];
                im += c[0] * w[1] + c[1] * w[0];
                at += bin;
                at -= at >= n ? n : 0;
            }
            y[2 * bin] = re;
            y[2 * bin + 1] = im;
        }
    }
}

/* Transforms n samples of x, `step` apart, to y. */
static void fourier_line(const fourier *f, const double *x, int64_t step,
                         double *y, int64_t n)
{
    if (n == 1) {
        y[0] = x[0];
        y[1] = x[1];
        return;
    }
    int64_t p = fourier_factor(n), m = n / p;
    for (int64_t r = 0; r < p; r++)
        fourier_line(f, x + 2 * r * step, step * p, y + 2 * r * m, m);
    if (p == 2)
        fourier_pair(f, y, m);
    else
        fourier_join(f, y, p, m);
}

/* Reads up to f->n samples of x from `at`, `step` apart, zeros behind them, and
 * transforms them. */
static void fourier_read(const fourier *f, const clv_tensor *x, int64_t at,
                         int64_t step, int64_t n, bool complex)
{
    for (int64_t t = 0; t < f->n; t++, at += step) {
        double w = t >= n ? 0 : f->taper ? get_f(f->taper, t) : 1;
        f->in[2 * t] = t < n ? w * get_f(x, at) : 0;
        f->in[2 * t + 1] = t < n && complex ? w * get_f(x, at + 1) : 0;
    }
    fourier_line(f, f->in, 1, f->out, f->n);
}

/* x (..,1 or 2) along an axis, as the plain kernel reads it. What that makes
 * real, or refuses, is left to it. */
bool CPU_NAME(cpu_dft)(kernel *k)
{
    const clv_tensor *x = k->in[0], *given = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    int64_t axis = whole_of(k, CLV_A_AXIS, 2), inner = 1, rows = 1;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis + 1 >= x->rank || y->dims[y->rank - 1] != 2)
        return false;
    int64_t parts = x->dims[x->rank - 1], samples = x->dims[axis];
    int64_t length = samples, bins = y->dims[axis];
    bool inverse = attr_int(k->n, CLV_A_INVERSE) != 0;
    if (attr_get(k->n, CLV_A_SIZE) || (given && numel(given)))
        length = whole_of(k, CLV_A_SIZE, 1);
    fourier f;
    if (bins > length || !fourier_begin(k, &f, length, inverse))
        return false;
    for (uint32_t i = (uint32_t)axis + 1; i + 1 < x->rank; i++)
        inner *= x->dims[i];
    for (uint32_t i = 0; i < (uint32_t)axis; i++)
        rows *= x->dims[i];
    double scale = inverse ? 1 / (double)length : 1;
    for (int64_t r = 0; r < rows * inner && clv__in_time(8 * length); r++) {
        int64_t at = (r / inner * samples * inner + r % inner) * parts;
        fourier_read(&f, x, at, parts * inner, samples, parts == 2);
        for (int64_t b = 0; b < bins; b++) {
            int64_t to = ((r / inner * bins + b) * inner + r % inner) * 2;
            put_f(y, to, f.out[2 * b] * scale);
            put_f(y, to + 1, f.out[2 * b + 1] * scale);
        }
    }
    return true;
}

/* x (N,L,1 or 2), step, window, frame length -> (N, frames, bins, 2) */
bool CPU_NAME(cpu_stft)(kernel *k)
{
    const clv_tensor *x = k->in[0], *taper = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    int64_t parts = x->rank > 2 ? x->dims[2] : 1, frames = y->dims[1];
    int64_t step = whole_of(k, CLV_A_STEP, 1), bins = y->dims[2];
    int64_t length = whole_of(k, CLV_A_SIZE, 3);
    if (length < 1 && taper)
        length = numel(taper);
    fourier f;
    if (length < 1 || step < 1 || bins > length || frames < 1 ||
        (taper && numel(taper) < length) ||
        (frames - 1) * step + length > x->dims[1] ||
        !fourier_begin(k, &f, length, false))
        return false;
    f.taper = taper;
    int64_t lines = x->dims[0] * frames;
    for (int64_t i = 0; i < lines && clv__in_time(8 * length); i++) {
        int64_t at = (i / frames * x->dims[1] + i % frames * step) * parts;
        fourier_read(&f, x, at, parts, length, parts == 2);
        for (int64_t b = 0; b < 2 * bins; b++)
            put_f(y, i * 2 * bins + b, f.out[b]);
    }
    return true;
}
