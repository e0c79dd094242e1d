/* hardware.c - the device table, compiled from data/hardware/, and the
 * roofline model over it. */
#include "cleave/hardware.h"
#include "core/core.h"

#include <string.h>

/* clang-format off */
static const clv_device devices[] = {
#define DEVICE(n, t, k, y) {.name = n, .title = t, .kind = CLV_DEVICE_##k, .year = y,
#define ALIAS(a) .alias = a,
#define FIGURE(key, v, src) .key = {v, src},
#define END },
#include "../../data/hardware/devices.def"
#undef DEVICE
#undef ALIAS
#undef FIGURE
#undef END
};
/* clang-format on */

enum { N_DEVICES = sizeof devices / sizeof *devices };

static const struct {
    clv_figure_info info;
    size_t offset;
} figures[] = {
#define KEY(key, unit, meaning) \
    {{sizeof(clv_figure_info), #key, unit, meaning}, offsetof(clv_device, key)},
#include "../../data/hardware/figures.def"
#undef KEY
};

enum { N_FIGURES = sizeof figures / sizeof *figures };

const clv_device *clv_device_at(uint32_t i)
{
    return i < N_DEVICES ? &devices[i] : NULL;
}

const clv_figure_info *clv_figure_at(uint32_t i)
{
    return i < N_FIGURES ? &figures[i].info : NULL;
}

const clv_figure *clv_device_figure(const clv_device *d, uint32_t i)
{
    if (i >= N_FIGURES)
        return NULL;
    return (const clv_figure *)((const char *)d + figures[i].offset);
}

const char *clv_device_kind_name(clv_device_kind k)
{
    static const char *const names[] = {"GPU", "CPU", "TPU", "NPU",
                                        "SoC", "MCU", "FPGA"};
    return CLV_NAME(names, k);
}

/* All names, then all aliases. */
static const char *device_name(const void *ctx, uint32_t i)
{
    (void)ctx;
    if (i < N_DEVICES)
        return devices[i].name;
    i -= N_DEVICES;
    return devices[i].alias ? devices[i].alias : devices[i].name;
}

clv_status clv_device_find(const char *name, const clv_device **out,
                           clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(name, err);
    for (uint32_t i = 0; i < N_DEVICES && !*out; i++)
        if (clv__same_word(devices[i].name, name) ||
            (devices[i].alias && clv__same_word(devices[i].alias, name)))
            *out = &devices[i];
    if (*out)
        return CLV_OK;
    uint32_t near = clv__closest(name, 2 * N_DEVICES, device_name, NULL);
    if (near != CLV_NONE)
        return clv__fail(err, CLV_NOT_FOUND,
                         "no device '%s'; did you mean '%s'?", name,
                         device_name(NULL, near));
    return clv__about(err,
                      clv__fail(err, CLV_NOT_FOUND, "no device '%s'", name),
                      CLV_SUBJECT_DEVICE, name);
}

/* -- roofline -------------------------------------------------------------*/

#define RATE(key) \
    { \
        offsetof(clv_device, key), #key \
    }

/* The rates at which each type can be computed: its own rate first, then the
 * rates of types that lose the least. The list ends with an empty name. An
 * integer model runs on a device with float rates only, at that rate. */
static const struct rate {
    size_t offset;
    const char *key;
} rates[][6] = {
    {RATE(fp32), RATE(tf32), RATE(bf16), RATE(fp16), {0, NULL}},
    {RATE(fp16), RATE(bf16), RATE(tf32), RATE(fp32), {0, NULL}},
    {RATE(bf16), RATE(fp16), RATE(tf32), RATE(fp32), {0, NULL}},
    {RATE(fp8), RATE(fp16), RATE(bf16), RATE(fp32), {0, NULL}},
    {RATE(int8), RATE(fp16), RATE(bf16), RATE(fp32), {0, NULL}},
};

static const struct rate *rates_of(clv_dtype dtype)
{
    switch (dtype) {
    case CLV_FLOAT16:
        return rates[1];
    case CLV_BFLOAT16:
        return rates[2];
    case CLV_FLOAT8E4M3:
    case CLV_FLOAT8E4M3UZ:
    case CLV_FLOAT8E5M2:
    case CLV_FLOAT8E5M2UZ:
        return rates[3];
    case CLV_INT8:
    case CLV_UINT8:
    case CLV_INT4:
    case CLV_UINT4:
        return rates[4];
    default:
        return rates[0];
    }
}

double clv_device_peak(const clv_device *d, clv_dtype dtype, const char **used)
{
    for (const struct rate *r = rates_of(dtype); r->key; r++) {
        const clv_figure *f = (const clv_figure *)((const char *)d + r->offset);
        if (f->value <= 0)
            continue;
        if (used)
            *used = r->key;
        return f->value;
    }
    if (used)
        *used = "";
    return 0;
}

double clv_device_ridge(const clv_device *d, clv_dtype dtype)
{
    double peak = clv_device_peak(d, dtype, NULL);
    return d->bandwidth.value > 0 ? peak / d->bandwidth.value : 0;
}

const char *clv_bound_name(clv_bound b)
{
    static const char *const names[] = {"compute", "memory", "launch", "none"};
    return CLV_NAME(names, b);
}

clv_roofline clv_device_roofline(const clv_device *d, clv_dtype dtype,
                                 const clv_cost *cost,
                                 const clv_parallel *parallel)
{
    clv_roofline r = {.bound = CLV_BOUND_NOTHING, .occupancy = 1};
    double peak = clv_device_peak(d, dtype, NULL);
    double bytes = (double)cost->bytes_in + (double)cost->bytes_weights +
                   (double)cost->bytes_out;
    if (bytes <= 0 && cost->flops == 0)
        return r;
    if (peak <= 0) {
        r.seconds = -1;
        return r;
    }
    double threads = (double)parallel->total_threads;
    if (threads > 0 && threads < d->units.value)
        r.occupancy = threads / d->units.value;
    r.compute = (double)cost->flops / (peak * r.occupancy);
    if (d->bandwidth.value > 0)
        r.memory = bytes / d->bandwidth.value;
    r.launch = d->launch.value;
    bool compute = r.compute >= r.memory;
    double work = compute ? r.compute : r.memory;
    r.seconds = r.launch + work;
    r.bound = work < r.launch ? CLV_BOUND_LAUNCH
              : compute       ? CLV_BOUND_COMPUTE
                              : CLV_BOUND_MEMORY;
    if (r.seconds <= 0)
        return r; /* there are only bytes to move, and no bandwidth is published
                   */
    r.attained = (double)cost->flops / r.seconds;
    r.share =
        compute ? r.attained / peak : bytes / r.seconds / d->bandwidth.value;
    return r;
}
