/* test_tensor.c - elements of every type: small floats against ml_dtypes and
 * ONNX (tests/gen/small_floats.py), all halves by brute force, packed integers,
 * and 64-bit integers that no double holds. */
#include "check.h"
#include "tensor/small_float.h"
#include "tensor/tensor.h"

#include <stdlib.h>

/* -- the table ------------------------------------------------------------*/

static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) != 0 : a == b && !signbit(a) == !signbit(b);
}

static void check_decode(clv_dtype t, char *rest)
{
    uint32_t code = 0;
    for (char *w = strtok(rest, " \n"); w; w = strtok(NULL, " \n"), code++)
        if (!CHECK(same_number(clv__small_decode(t, code), strtod(w, NULL))))
            printf("%s %u is %s\n", clv_dtype_name(t), code, w);
    CHECK_EQ_INT(code, t == CLV_FLOAT4E2M1 ? 16 : 256);
}

/* A NaN has many codes: any that is one will do. */
static void check_encode(clv_dtype t, bool saturate, char *rest)
{
    for (char *w = strtok(rest, " \n"); w; w = strtok(NULL, " \n")) {
        char *colon;
        double x = strtod(w, &colon);
        uint32_t want = (uint32_t)strtoul(colon + 1, NULL, 10);
        uint32_t got = clv__small_encode(t, x, saturate);
        if (!CHECK(got == want || (isnan(clv__small_decode(t, want)) &&
                                   isnan(clv__small_decode(t, got)))))
            printf("%s of %.17g: got %u, want %u\n", clv_dtype_name(t), x, got,
                   want);
    }
}

static void as_ml_dtypes(void)
{
    enum { LINE = 1 << 16 };
    static char line[LINE];
    char what[16], type[32], how[16];
    int rows = 0, used;
    FILE *f = fopen("tests/data/small_floats.txt", "r");
    CHECK_OR_RETURN(f != NULL);
    while (fgets(line, LINE, f)) {
        if (sscanf(line, "%15s %31s %n", what, type, &used) != 2)
            continue;
        clv_dtype t = clv_dtype_find(type);
        CHECK(t != CLV_NODTYPE);
        rows++;
        if (!strcmp(what, "decode")) {
            check_decode(t, line + used);
            continue;
        }
        int more = 0;
        CHECK_EQ_INT(sscanf(line + used, "%15s %n", how, &more), 1);
        check_encode(t, !strcmp(how, "saturate"), line + used + more);
    }
    fclose(f);
    CHECK(rows >= 19);
}

/* -- brute force ----------------------------------------------------------*/

/* The value of a code by its definition. */
static double defined(uint32_t code, int fraction, int bias, int bits)
{
    uint32_t f = code & ((1u << fraction) - 1);
    int e = (int)(code >> fraction & ((1u << (bits - 1 - fraction)) - 1));
    double m = ldexp(f, -fraction), sign = code >> (bits - 1) ? -1 : 1;
    if (e == (1 << (bits - 1 - fraction)) - 1)
        return f ? (double)NAN : sign * (double)INFINITY;
    return sign * (e ? ldexp(1 + m, e - bias) : ldexp(m, 1 - bias));
}

/* All codes there and back; all ties between neighbours, and next to ties. */
static void all_codes(clv_dtype t, int fraction, int bias)
{
    for (uint32_t c = 0; c < 65536; c++) {
        double x = defined(c, fraction, bias, 16);
        if (!CHECK(same_number(clv__small_decode(t, c), x)))
            return;
        if (!isnan(x) && !CHECK_EQ_INT(clv__small_encode(t, x, false), c))
            return;
        double next = defined(c + 1, fraction, bias, 16);
        if ((c & 0x7fff) == 0x7fff || isinf(x) || isnan(x))
            continue;
        if (isinf(next)) /* the next power of two, were there one */
            next = x + (x - defined(c - 1, fraction, bias, 16));
        double tie = (x + next) / 2;
        uint32_t even = c & 1 ? c + 1 : c;
        double out = c & 0x8000 ? -(double)INFINITY : (double)INFINITY;
        CHECK_EQ_INT(clv__small_encode(t, tie, false), even);
        CHECK_EQ_INT(clv__small_encode(t, nextafter(tie, out), false), c + 1);
        CHECK_EQ_INT(clv__small_encode(t, nextafter(tie, 0), false), c);
    }
}

static void every_half(void)
{
    all_codes(CLV_FLOAT16, 10, 15);
}

static void every_bfloat16(void)
{
    all_codes(CLV_BFLOAT16, 7, 127);
}

/* -- elements -------------------------------------------------------------*/

static clv_tensor over(clv_dtype t, void *data, int64_t n)
{
    return (clv_tensor){.dtype = t, .rank = 1, .dims = {n}, .data = data};
}

static void packed_integers(void)
{
    static const struct {
        clv_dtype dtype;
        int64_t low, high;
    } types[] = {{CLV_INT4, -8, 7},
                 {CLV_UINT4, 0, 15},
                 {CLV_INT2, -2, 1},
                 {CLV_UINT2, 0, 3}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint8_t bytes[8] = {0};
        clv_tensor t = over(types[i].dtype, bytes, 16);
        int64_t span = types[i].high - types[i].low + 1;
        for (int64_t k = 0; k < 16; k++)
            put_i(&t, k, types[i].low + k % span);
        for (int64_t k = 0; k < 16; k++)
            CHECK_EQ_INT(get_i(&t, k), types[i].low + k % span);
    }
    uint8_t two = 0;
    clv_tensor t = over(CLV_UINT4, &two, 2);
    put_i(&t, 0, 3);
    put_i(&t, 1, 10);
    CHECK_EQ_INT(two, 0xa3); /* the first in the low bits, as ONNX packs */
}

static void wide_integers(void)
{
    int64_t data[2] = {INT64_MAX, (INT64_C(1) << 53) + 1}, back[2];
    uint64_t most = UINT64_MAX;
    double x;
    clv_tensor in = over(CLV_INT64, data, 2), out = over(CLV_UINT64, back, 2);
    clv_tensor u = over(CLV_UINT64, &most, 1), f = over(CLV_FLOAT64, &x, 1);
    copy_run(&out, 0, &in, 0, 2);
    CHECK_EQ_INT(back[0], data[0]);
    CHECK_EQ_INT(back[1], data[1]);
    copy_run(&f, 0, &u, 0, 1);
    CHECK(x == 0x1p64);
    put_f(&u, 0, 0x1p65);
    CHECK_EQ_U64(most, UINT64_MAX);
    put_f(&u, 0, -1);
    CHECK_EQ_U64(most, 0);
}

static void small_floats_of_tensors(void)
{
    uint8_t bytes[4] = {0};
    clv_tensor t = over(CLV_FLOAT4E2M1, bytes, 3);
    for (int i = 0; i < 3; i++)
        put_f(&t, i, (const double[]){1.5, -100, 0.24}[i]);
    CHECK(get_f(&t, 0) == 1.5 && get_f(&t, 1) == -6 && get_f(&t, 2) == 0);
    t = over(CLV_FLOAT8E4M3, bytes, 4);
    put_f(&t, 3, 1e9); /* saturates, as a Cast of ONNX does */
    CHECK(get_f(&t, 3) == 448 && get_i(&t, 3) == 448);
    CHECK(get_f(&t, 4) == 0);
}

/* -- comparison -----------------------------------------------------------*/

static clv_tensor floats(float *data, int64_t n)
{
    return (clv_tensor){
        .dtype = CLV_FLOAT32, .rank = 1, .dims = {n}, .data = data};
}

static void close_tensors(void)
{
    static const struct {
        float a[2], b[2];
        bool same;
    } rows[] = {
        {{1, 2}, {1, 2}, true},
        {{0.5f, 0}, {0.50009f, 0}, true}, /* below one: off by 1e-4 */
        {{0.5f, 0}, {0.50011f, 0}, false},
        {{100, 0.005f}, {100, 0.0f}, true}, /* of the largest: 1e-2 */
        {{100, 0.02f}, {100, 0.0f}, false},
        {{NAN, 1}, {NAN, 1}, true},
        {{NAN, 1}, {1, 1}, false},
        {{INFINITY, 1}, {INFINITY, 1}, true},
        {{INFINITY, 1}, {-INFINITY, 1}, false},
        {{INFINITY, 1}, {3, 1}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float a[2], b[2];
        memcpy(a, rows[i].a, sizeof a);
        memcpy(b, rows[i].b, sizeof b);
        clv_tensor x = floats(a, 2), y = floats(b, 2);
        if (!CHECK(clv_tensor_close(&x, &y, 1e-4) == rows[i].same))
            printf("row %zu\n", i);
    }
    int64_t big = INT64_C(1) << 60,
            next = big + 1; /* one double, two numbers */
    clv_tensor m = {.dtype = CLV_INT64, .data = &big};
    clv_tensor n = {.dtype = CLV_INT64, .data = &next};
    CHECK(clv_tensor_close(&m, &m, 0) && !clv_tensor_close(&m, &n, 1));
    float one[1] = {1};
    clv_tensor flat = floats(one, 1), scalar = flat;
    scalar.rank = 0;
    CHECK(!clv_tensor_close(&flat, &scalar, 1)); /* another shape */
    clv_tensor none = floats(NULL, 0);
    CHECK(clv_tensor_close(&none, &none, 0));
    none.dtype = CLV_BOOL;
    CHECK(clv_tensor_close(&none, &none, 0));
}

static const check_case cases[] = {
    {"small floats are those of ml_dtypes and ONNX", as_ml_dtypes},
    {"every float16 by its definition", every_half},
    {"every bfloat16 by its definition", every_bfloat16},
    {"integers of 4 and 2 bits", packed_integers},
    {"integers beyond 2^53 stay exact", wide_integers},
    {"small floats as elements", small_floats_of_tensors},
    {"equal within a tolerance", close_tensors},
};
CHECK_MAIN(cases)
