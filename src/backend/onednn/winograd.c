/* winograd.c - 3x3 convolutions with fewer products.
 *
 * A tile of m x m outputs depends on (m+2) x (m+2) inputs. Both are seen
 * through small transforms, under which the convolution becomes one product
 * per point (Lavin and Gray, 2016):
 *
 *     V[i][t][c]  inputs of tile t, B' d B          points i, channels c
 *     U[i][o][c]  weights, G g G', made once        panels of 16 outputs
 *     P[i][t][o]  sum over c of V U                 a matrix product per i
 *     outputs     A' P A, plus bias, residual, and kept in bounds
 *
 * Tiles of 2x2 are as precise as the direct way; 4x4 lose about one digit.
 * Tiles are taken in chunks, so that V and P stay in the cache.
 *
 * Plain C with vectors of eight floats; on x86-64 it is compiled for AVX2,
 * whatever the rest is compiled for, and called only where that is there. */
#include "backend/onednn/winograd.h"

#include <math.h>
#include <string.h>

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,fma")))
#else
#define AVX2
#endif
#define INLINE static inline __attribute__((always_inline)) AVX2

enum {
    ROWS = 6,  /* tiles and */
    COLS = 16, /* output channels of one product in registers */
    MAX_SIDE = 6,
    MAX_POINTS = MAX_SIDE * MAX_SIDE,
    FLOAT = sizeof(float),
};

typedef float vec __attribute__((vector_size(32)));
typedef int32_t mask __attribute__((vector_size(32)));

INLINE vec load(const char *p)
{
    vec x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store(char *p, vec x)
{
    memcpy(p, &x, sizeof x);
}

INLINE vec fill(float x)
{
    return (vec){x, x, x, x, x, x, x, x};
}

/* Between low and high; what is no number stays so. */
INLINE vec clip(vec x, vec low, vec high)
{
    mask under = x<low, over = x> high;
    x = (vec)(((mask)low & under) | ((mask)x & ~under));
    return (vec)(((mask)high & over) | ((mask)x & ~over));
}

/* -- sizes ----------------------------------------------------------------*/

static int64_t winograd_side(const winograd *k)
{
    return k->tile + 2;
}

static int64_t points(const winograd *k)
{
    return winograd_side(k) * winograd_side(k);
}

static int64_t tiles_across(const winograd *k)
{
    return (k->ow + k->tile - 1) / k->tile;
}

static int64_t tiles_down(const winograd *k)
{
    return (k->oh + k->tile - 1) / k->tile;
}

static int64_t tiles(const winograd *k)
{
    return k->batch * tiles_across(k) * tiles_down(k);
}

size_t winograd_weights(const winograd *k)
{
    return (size_t)(points(k) * k->in * k->out) * FLOAT;
}

size_t winograd_scratch(const winograd *k)
{
    return (size_t)(points(k) * k->chunk * (k->in + k->out)) * FLOAT;
}

bool winograd_choose(winograd *k)
{
    enum { FEW_CHANNELS = 32, MANY_TILES = 8 * ROWS, CACHE = 4 << 20 };
    if (k->in % 8 || k->out % COLS || k->in < FEW_CHANNELS ||
        k->out < FEW_CHANNELS)
        return false;
    k->tile = 4; /* whose weights are large: many tiles must share them */
    if (tiles(k) < MANY_TILES)
        k->tile = 2;
    int64_t chunk = CACHE / (points(k) * (k->in + k->out) * FLOAT);
    k->chunk = chunk < 4 * ROWS ? 4 * ROWS : chunk / ROWS * ROWS;
    if (k->chunk > tiles(k))
        k->chunk = tiles(k);
    return k->chunk > 0;
}

/* -- weights --------------------------------------------------------------*/

static const float g2[4][3] = {
    {1, 0, 0}, {.5f, .5f, .5f}, {.5f, -.5f, .5f}, {0, 0, 1}};
static const float g4[6][3] = {{1 / 4.f, 0, 0},
                               {-1 / 6.f, -1 / 6.f, -1 / 6.f},
                               {-1 / 6.f, 1 / 6.f, -1 / 6.f},
                               {1 / 24.f, 1 / 12.f, 1 / 6.f},
                               {1 / 24.f, -1 / 12.f, 1 / 6.f},
                               {0, 0, 1}};

/* G w G' of sixteen channels at once. */
static void transform_weights(const float (*g)[3], int64_t side,
                              const float (*w)[COLS], float (*u)[COLS])
{
    float t[MAX_SIDE][3][COLS];
    for (int64_t i = 0; i < side; i++)
        for (int c = 0; c < 3; c++)
            for (int j = 0; j < COLS; j++)
                t[i][c][j] = g[i][0] * w[c][j] + g[i][1] * w[3 + c][j] +
                             g[i][2] * w[6 + c][j];
    for (int64_t i = 0; i < side; i++)
        for (int64_t c = 0; c < side; c++)
            for (int j = 0; j < COLS; j++)
                u[i * side + c][j] = g[c][0] * t[i][0][j] +
                                     g[c][1] * t[i][1][j] +
                                     g[c][2] * t[i][2][j];
}

/* Output channels [first, first + 16) */
static void pack_panel(const winograd *k, const char *plain, const float *scale,
                       int64_t first, char *packed)
{
    float w[9][COLS], u[MAX_POINTS][COLS], window[9];
    for (int64_t c = 0; c < k->in; c++) {
        for (int64_t j = 0; j < COLS; j++) {
            float s = scale ? scale[first + j] : 1;
            memcpy(window, plain + ((first + j) * k->in + c) * 9 * FLOAT,
                   sizeof window);
            for (int i = 0; i < 9; i++)
                w[i][j] = window[i] * s;
        }
        transform_weights(k->tile == 2 ? g2 : g4, winograd_side(k),
                          (const float(*)[COLS])w, u);
        for (int64_t i = 0; i < points(k); i++)
            memcpy(packed + ((i * k->out + first) * k->in + c * COLS) * FLOAT,
                   u[i], sizeof u[i]);
    }
}

void winograd_pack(const winograd *k, const char *plain, const float *scale,
                   char *packed)
{
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < k->out; first += COLS)
        pack_panel(k, plain, scale, first, packed);
}

/* -- transforms of a line, whose elements lie `s` apart -------------------*/

INLINE void inputs2(vec *d, int s)
{
    vec d0 = d[0], d1 = d[s], d2 = d[2 * s], d3 = d[3 * s];
    d[0] = d0 - d2;
    d[s] = d1 + d2;
    d[2 * s] = d2 - d1;
    d[3 * s] = d1 - d3;
}

INLINE void inputs4(vec *d, int s)
{
    vec d0 = d[0], d1 = d[s], d2 = d[2 * s];
    vec d3 = d[3 * s], d4 = d[4 * s], d5 = d[5 * s];
    vec a = d4 - 4 * d2, b = d3 - 4 * d1, c = d4 - d2, e = 2 * (d3 - d1);
    d[0] = 4 * d0 - 5 * d2 + d4;
    d[s] = a + b;
    d[2 * s] = a - b;
    d[3 * s] = c + e;
    d[4 * s] = c - e;
    d[5 * s] = 4 * d1 - 5 * d3 + d5;
}

INLINE void outputs2(const vec *m, int s, vec *y, int to)
{
    y[0] = m[0] + m[s] + m[2 * s];
    y[to] = m[s] - m[2 * s] - m[3 * s];
}

INLINE void outputs4(const vec *m, int s, vec *y, int to)
{
    vec a = m[s] + m[2 * s], b = m[s] - m[2 * s];
    vec c = m[3 * s] + m[4 * s], d = m[3 * s] - m[4 * s];
    y[0] = m[0] + a + c;
    y[to] = b + 2 * d;
    y[2 * to] = a + 4 * c;
    y[3 * to] = b + 8 * d + m[5 * s];
}

/* -- tiles ----------------------------------------------------------------*/

/* Where a tile's outputs begin. */
typedef struct spot {
    int64_t n, y, x;
} spot;

static spot spot_of(const winograd *k, int64_t t)
{
    int64_t across = tiles_across(k), down = tiles_down(k);
    return (spot){t / (across * down), t / across % down * k->tile,
                  t % across * k->tile};
}

/* Where eight channels lie: the first pixel's, of channels [c, c + 8) of image
 * n, and how far apart those of two pixels are, in bytes. */
typedef struct plane {
    int64_t at, pixel;
} plane;

static plane plane_of(const winograd *k, int64_t channels, int64_t area,
                      int64_t n, int64_t c)
{
    int64_t image = n * channels * area;
    if (k->last)
        return (plane){(image + c) * FLOAT, channels * FLOAT};
    return (plane){(image + c * area) * FLOAT, 8 * FLOAT};
}

/* Eight channels of a tile, whose pixels lie `pixel` apart; points of v lie
 * `step` apart. */
INLINE void read_tile(const int m, const winograd *k, const char *src,
                      int64_t pixel, spot at, char *v, int64_t step)
{
    const int side = m + 2;
    vec d[MAX_POINTS];
    int64_t y = at.y - k->pad_y, x = at.x - k->pad_x;
    bool within = y >= 0 && x >= 0 && y + side <= k->h && x + side <= k->w;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            d[i * side + j] = within || (y + i >= 0 && y + i < k->h &&
                                         x + j >= 0 && x + j < k->w)
                                  ? load(src + ((y + i) * k->w + x + j) * pixel)
                                  : fill(0);
    for (int i = 0; i < side; i++)
        m == 2 ? inputs2(d + i, side) : inputs4(d + i, side);
    for (int i = 0; i < side; i++)
        m == 2 ? inputs2(d + i * side, 1) : inputs4(d + i * side, 1);
    for (int i = 0; i < side * side; i++)
        store(v + i * step, d[i]);
}

/* Eight channels of a tile's outputs; residual and dst are planes whose pixels
 * lie `pixel` apart. */
INLINE void write_tile(const int m, const winograd *k, const char *p,
                       int64_t step, spot at, vec bias, const char *residual,
                       char *dst, int64_t pixel)
{
    const int side = m + 2;
    vec d[MAX_POINTS], half[4 * MAX_SIDE], y[16];
    for (int i = 0; i < side * side; i++)
        d[i] = load(p + i * step);
    for (int i = 0; i < side; i++)
        m == 2 ? outputs2(d + i, side, half + i, side)
               : outputs4(d + i, side, half + i, side);
    for (int i = 0; i < m; i++)
        m == 2 ? outputs2(half + i * side, 1, y + i * m, 1)
               : outputs4(half + i * side, 1, y + i * m, 1);
    for (int i = 0; i < m && at.y + i < k->oh; i++)
        for (int j = 0; j < m && at.x + j < k->ow; j++) {
            int64_t to = ((at.y + i) * k->ow + at.x + j) * pixel;
            vec v = y[i * m + j] + bias;
            if (residual)
                v += load(residual + to);
            store(dst + to, clip(v, fill(k->low), fill(k->high)));
        }
}

/* -- products -------------------------------------------------------------*/

/* p[t][o] = sum over c of v[t][c] u[c][o], for up to 6 tiles and 16 outputs:
 * twelve vectors that stay in registers. */
INLINE void multiply(const int rows, const winograd *k, const char *v,
                     const char *u, char *p)
{
    vec s[ROWS][2];
    for (int i = 0; i < rows; i++)
        s[i][0] = s[i][1] = fill(0);
    for (int64_t c = 0; c < k->in; c++, v += FLOAT, u += COLS * FLOAT) {
        vec left = load(u), right = load(u + 8 * FLOAT);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            float x;
            memcpy(&x, v + i * k->in * FLOAT, sizeof x);
            s[i][0] += fill(x) * left;
            s[i][1] += fill(x) * right;
        }
    }
    for (int i = 0; i < rows; i++) {
        store(p + i * k->out * FLOAT, s[i][0]);
        store(p + (i * k->out + 8) * FLOAT, s[i][1]);
    }
}

/* n tiles at one point, times one panel of weights. */
AVX2 static void multiply_panel(const winograd *k, int64_t n, const char *v,
                                const char *u, char *p)
{
    for (; n >= ROWS; n -= ROWS) {
        multiply(ROWS, k, v, u, p);
        v += ROWS * k->in * FLOAT;
        p += ROWS * k->out * FLOAT;
    }
    switch (n) {
    case 5:
        multiply(5, k, v, u, p);
        break;
    case 4:
        multiply(4, k, v, u, p);
        break;
    case 3:
        multiply(3, k, v, u, p);
        break;
    case 2:
        multiply(2, k, v, u, p);
        break;
    case 1:
        multiply(1, k, v, u, p);
        break;
    default:
        break;
    }
}

/* -- chunks: tiles [first, first + n); all threads take part --------------*/

/* Blocks of channels times tiles, of which one comes after the other in memory:
 * where channels are last all blocks of a tile, else all tiles of a block. */
typedef struct visit {
    int64_t c, t;
} visit;

static visit visit_of(const winograd *k, int64_t i, int64_t channels, int64_t n)
{
    int64_t blocks = channels / 8;
    return k->last ? (visit){i % blocks * 8, i / blocks}
                   : (visit){i / n * 8, i % n};
}

INLINE void read_chunk(const int m, const winograd *k, const char *src,
                       int64_t first, int64_t n, char *v)
{
    int64_t area = k->h * k->w;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < k->in / 8 * n; i++) {
        visit of = visit_of(k, i, k->in, n);
        spot at = spot_of(k, first + of.t);
        plane x = plane_of(k, k->in, area, at.n, of.c);
        read_tile(m, k, src + x.at, x.pixel, at,
                  v + (of.t * k->in + of.c) * FLOAT, n * k->in * FLOAT);
    }
}

AVX2 static void multiply_chunk(const winograd *k, const char *u, int64_t n,
                                const char *v, char *p)
{
#pragma omp for schedule(static) collapse(2)
    for (int64_t i = 0; i < points(k); i++)
        for (int64_t o = 0; o < k->out; o += COLS)
            multiply_panel(k, n, v + i * n * k->in * FLOAT,
                           u + (i * k->out + o) * k->in * FLOAT,
                           p + (i * n * k->out + o) * FLOAT);
}

INLINE void write_chunk(const int m, const winograd *k, const winograd_args *a,
                        int64_t first, int64_t n, const char *p)
{
    int64_t area = k->oh * k->ow;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < k->out / 8 * n; i++) {
        visit of = visit_of(k, i, k->out, n);
        spot at = spot_of(k, first + of.t);
        plane y = plane_of(k, k->out, area, at.n, of.c);
        write_tile(m, k, p + (of.t * k->out + of.c) * FLOAT, n * k->out * FLOAT,
                   at, a->bias ? load(a->bias + of.c * FLOAT) : fill(0),
                   a->residual ? a->residual + y.at : NULL, a->dst + y.at,
                   y.pixel);
    }
}

INLINE void run_chunks(const int m, const winograd *k, const winograd_args *a)
{
    int64_t all = tiles(k);
    for (int64_t first = 0; first < all; first += k->chunk) {
        int64_t n = all - first < k->chunk ? all - first : k->chunk;
        char *v = a->scratch, *p = v + points(k) * n * k->in * FLOAT;
        read_chunk(m, k, a->src, first, n, v);
        multiply_chunk(k, a->weights, n, v, p);
        write_chunk(m, k, a, first, n, p);
    }
}

AVX2 static void run_threads(const winograd *k, const winograd_args *a)
{
    if (k->tile == 2)
        run_chunks(2, k, a);
    else
        run_chunks(4, k, a);
}

void winograd_run(const winograd *k, const winograd_args *a)
{
#pragma omp parallel
    run_threads(k, a);
}
