/* signal.c - Fourier transforms by their definition, windows, mel weights. */
#include "backend/kernel.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* -- transforms -----------------------------------------------------------*/

/* One line of samples: real, or real and imaginary parts. */
typedef struct line {
    const clv_tensor *x;
    int64_t first, step, n; /* samples there are; the rest count as zero */
    bool complex;
    const clv_tensor *taper; /* a weight per sample, or NULL */
    bool half;
} line;

/* The sum over n samples of x e^(sign 2 pi i k t / length), times scale, to
 * y[to] and y[to + 1]. `half`: the samples are one side of a spectrum whose
 * other side is their conjugates; the sum is real then. */
static void signal_transform(const line *l, int64_t length, int64_t bin,
                             bool inverse, clv_tensor *y, int64_t to)
{
    double re = 0, im = 0, scale = inverse ? 1 / (double)length : 1;
    for (int64_t t = 0; t < l->n && t < length && clv__in_time(4); t++) {
        double turn = (double)(bin % length * t % length) / (double)length;
        double angle = (inverse ? 2 : -2) * pi * turn;
        int64_t at = l->first + t * l->step;
        double w = l->taper ? get_f(l->taper, t) : 1;
        if (l->half && t > 0 && 2 * t != length)
            w *= 2;
        double a = w * get_f(l->x, at);
        double b = l->complex ? w * get_f(l->x, at + 1) : 0;
        re += a * cos(angle) - b * sin(angle);
        im += a * sin(angle) + b * cos(angle);
    }
    put_f(y, to, re * scale);
    if (!l->half)
        put_f(y, to + 1, im * scale);
}

/* x (..,1 or 2) along an axis; attribute start: one side only. */
clv_status kernel_dft(kernel *k)
{
    const clv_tensor *x = k->in[0], *given = input_of(k, 1);
    clv_tensor *y = &k->out[0];
    uint32_t axis;
    int64_t parts = x->dims[x->rank - 1], inner = 1, rows = 1;
    CLV_TRY(norm_axis(whole_of(k, CLV_A_AXIS, 2), x->rank, &axis, k->e));
    int64_t length = x->dims[axis], bins = y->dims[axis];
    if (attr_get(k->n, CLV_A_SIZE) || (given && numel(given)))
        length = whole_of(k, CLV_A_SIZE, 1);
    bool half = y->dims[y->rank - 1] == 1;
    if (half && !attr_get(k->n, CLV_A_SIZE) && !(given && numel(given)))
        length = bins;
    if (length < 1 || axis + 1 == x->rank)
        return clv__fail(k->e, CLV_SHAPE, "a transform of length %lld",
                         (long long)length);
    bool inverse = attr_int(k->n, CLV_A_INVERSE) != 0;
    for (uint32_t i = axis + 1; i + 1 < x->rank; i++)
        inner *= x->dims[i];
    for (uint32_t i = 0; i < axis; i++)
        rows *= x->dims[i];
    int64_t step = parts * inner;
    for (int64_t r = 0; r < rows * inner; r++) {
        line l = {
            x,          r / inner * x->dims[axis] * step + r % inner * parts,
            step,       x->dims[axis],
            parts == 2, NULL,
            half};
        for (int64_t b = 0; b < bins; b++)
            signal_transform(&l, length, b, inverse, y,
                             ((r / inner * bins + b) * inner + r % inner) *
                                 (half ? 1 : 2));
    }
    return CLV_OK;
}

/* x (N,L,1 or 2), step, window, frame length -> (N, frames, bins, 2) */
clv_status kernel_stft(kernel *k)
{
    const clv_tensor *x = k->in[0], *taper = input_of(k, 2);
    clv_tensor *y = &k->out[0];
    int64_t parts = x->rank > 2 ? x->dims[2] : 1, frames = y->dims[1];
    int64_t step = whole_of(k, CLV_A_STEP, 1);
    int64_t length = whole_of(k, CLV_A_SIZE, 3);
    if (length < 1 && taper)
        length = numel(taper);
    if (length < 1 || step < 1 || (taper && numel(taper) < length) ||
        (frames - 1) * step + length > x->dims[1])
        return clv__fail(k->e, CLV_SHAPE, "frames of %lld every %lld",
                         (long long)length, (long long)step);
    for (int64_t i = 0, n = numel(y) / 2; i < n && clv__in_time(1); i++) {
        int64_t bin = i % y->dims[2], frame = i / y->dims[2] % frames;
        int64_t batch = i / y->dims[2] / frames;
        line l = {x,          (batch * x->dims[1] + frame * step) * parts,
                  parts,      length,
                  parts == 2, taper,
                  false};
        signal_transform(&l, length, bin, false, y, i * 2);
    }
    return CLV_OK;
}

/* -- made -----------------------------------------------------------------*/

/* A sum of cosines: Hann, Hamming or Blackman. */
clv_status kernel_window(kernel *k)
{
    clv_tensor *y = &k->out[0];
    bool periodic = attr_int(k->n, CLV_A_PERIODIC) != 0;
    double a = 0.5, b = 0.5, c = 0;
    if (attr_is(k->n, CLV_A_WINDOW, "hamming")) {
        a = 25.0 / 46;
        b = 1 - a;
    } else if (attr_is(k->n, CLV_A_WINDOW, "blackman")) {
        a = 0.42;
        c = 0.08;
    }
    int64_t n = numel(y);
    double size = (double)(periodic ? n : n - 1); /* 0: a window of NaN */
    for (int64_t i = 0; i < n; i++) {
        double t = 2 * pi * (double)i / size;
        put_f(y, i, a - b * cos(t) + c * cos(2 * t));
    }
    return CLV_OK;
}

/* The j-th edge of the triangles, as a bin of the spectrum. */
static int64_t mel_edge(const kernel *k, int64_t j, int64_t bins)
{
    double length = number_of(k, CLV_A_SIZE, 1), rate = get_f(k->in[2], 0);
    double low = 2595 * log10(1 + get_f(k->in[3], 0) / 700);
    double high = 2595 * log10(1 + get_f(k->in[4], 0) / 700);
    double mel = low + (double)j * (high - low) / (double)(bins + 2);
    double hertz = 700 * (pow(10, mel / 2595) - 1);
    double at = floor((length + 1) * hertz / rate);
    return at >= -1e15 && at <= 1e15 ? (int64_t)at : -1;
}

/* bins, dft_length, sample rate, lower and upper edge -> (spectrum, bins) */
clv_status kernel_mel(kernel *k)
{
    clv_tensor *y = &k->out[0];
    int64_t bins = y->dims[1];
    for (int64_t i = 0, n = numel(y); i < n && clv__in_time(1); i++) {
        int64_t j = i / bins, b = i % bins;
        int64_t low = mel_edge(k, b, bins), mid = mel_edge(k, b + 1, bins);
        int64_t high = mel_edge(k, b + 2, bins);
        double v = 0;
        if (j >= low && j <= mid)
            v = mid == low ? 1 : (double)(j - low) / (double)(mid - low);
        if (j >= mid && j < high)
            v = (double)(high - j) / (double)(high - mid);
        put_f(y, i, v);
    }
    return CLV_OK;
}
