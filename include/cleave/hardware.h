/* hardware.h - the devices known, and the time they would take (roofline).
 *
 * Times are estimates from a stated model, not measurements:
 *
 *     occupancy = min(1, threads / units)
 *     compute   = flops / (peak * occupancy)
 *     memory    = bytes / bandwidth
 *     time      = launch + max(compute, memory)
 *
 * with `threads` the independent outputs of the work. docs/hardware.md says
 * where each figure comes from.
 *
 * Threads: devices are read-only, and any number of threads may read them. */
#ifndef CLEAVE_HARDWARE_H
#define CLEAVE_HARDWARE_H

#include "cleave/profile.h"

typedef enum clv_device_kind {
    CLV_DEVICE_GPU,
    CLV_DEVICE_CPU,
    CLV_DEVICE_TPU,
    CLV_DEVICE_NPU,
    CLV_DEVICE_SOC,
    CLV_DEVICE_MCU,
    CLV_DEVICE_FPGA
} clv_device_kind;

/* A number and the document it is from; value 0 and source NULL: unknown. */
typedef struct clv_figure {
    double value;
    const char *source;
} clv_figure;

/* All in base units: operations, bytes, seconds, watts. */
typedef struct clv_device {
    const char *name, *title, *alias; /* alias may be NULL */
    clv_device_kind kind;
    int year;
    clv_figure fp32, tf32, fp16, bf16, fp8, int8; /* peak operations/second */
    clv_figure bandwidth, memory, units, unit_threads, l2, tdp, launch, link;
    clv_figure bandwidth_l1, bandwidth_l2, bandwidth_l3; /* of its caches */
} clv_device;

/* The i-th device, NULL past the last. */
CLV_API const clv_device *clv_device_at(uint32_t i);
/* By name or alias; CLV_NOT_FOUND suggests the closest. */
CLV_API CLV_MUST clv_status clv_device_find(const char *name,
                                            const clv_device **out,
                                            clv_err *err);
CLV_API const char *clv_device_kind_name(clv_device_kind k);

/* Reads a device from a file in the JSON of `cleave hardware --json`; where it
 * lists several, the first. Returns it (caller frees with clv_device_free).
 * Fails with CLV_NOT_FOUND, CLV_IO or CLV_FORMAT, naming the file. */
CLV_API CLV_MUST clv_status clv_device_load(const char *path, clv_device **out,
                                            clv_err *err);
CLV_API void clv_device_free(clv_device *d);

/* One line per figure key, for tables: key, unit, meaning. NULL past the last.
 */
typedef struct clv_figure_info {
    size_t size; /* sizeof(clv_figure_info) */
    const char *key, *unit, *meaning;
} clv_figure_info;
CLV_API const clv_figure_info *clv_figure_at(uint32_t i);
CLV_API const clv_figure *clv_device_figure(const clv_device *d, uint32_t i);

/* Peak operations per second in dtype. Where the device has no rate for it,
 * the rate of the type it would compute in instead, named in *used ("bf16");
 * 0 when there is none. used may be NULL. */
CLV_API double clv_device_peak(const clv_device *d, clv_dtype dtype,
                               const char **used);
/* Peak over bandwidth, operations per byte; 0 when either is unknown. */
CLV_API double clv_device_ridge(const clv_device *d, clv_dtype dtype);

typedef enum clv_bound {
    CLV_BOUND_COMPUTE,
    CLV_BOUND_MEMORY,
    CLV_BOUND_LAUNCH, /* both are shorter than starting it */
    CLV_BOUND_NOTHING /* no work, or the device cannot do it (seconds < 0) */
} clv_bound;

CLV_API const char *clv_bound_name(clv_bound b);

typedef struct clv_roofline {
    double seconds; /* negative: the device has no rate for this type */
    double compute, memory, launch;
    double occupancy; /* share of the units that have work */
    double attained;  /* operations per second */
    double share;     /* of peak (compute-bound) or of bandwidth (else) */
    double of_total;  /* share of a map's seconds; 0 outside of one */
    clv_bound bound;
} clv_roofline;

CLV_API clv_roofline clv_device_roofline(const clv_device *d, clv_dtype dtype,
                                         const clv_cost *cost,
                                         const clv_parallel *parallel);

#endif
