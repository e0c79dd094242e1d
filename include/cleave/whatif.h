/* whatif.h - what a model would cost at another batch, in another type, on
 * another device, and with some operators in int8, on the CPU, or gone.
 *
 * Threads: nothing here keeps state; a scaling never changes after it is made,
 * and any number of threads may read it. */
#ifndef CLEAVE_WHATIF_H
#define CLEAVE_WHATIF_H

#include "cleave/hardware.h"
#include "cleave/profile.h"

/* What becomes of an operator: code, name. */
#define CLV_FATE_TABLE(X) \
    X(STAYS, "stays") \
    X(INT8, "int8") \
    X(CPU, "cpu") \
    X(REMOVED, "removed")

typedef enum clv_fate {
#define CLV_X(code, name) CLV_FATE_##code,
    CLV_FATE_TABLE(CLV_X)
#undef CLV_X
        CLV_FATE_COUNT
} clv_fate;

CLV_API const char *clv_fate_name(clv_fate f);

/* Gives that fate to every node that `pattern` means, in a list with one entry
 * per node: "layer4.*" by name or module, "#7" or "#7-12" by number. Fails with
 * CLV_NOT_FOUND when it means none. */
CLV_API CLV_MUST clv_status clv_fate_give(const clv_graph *g,
                                          const char *pattern, clv_fate fate,
                                          uint8_t *fates, clv_err *err);

typedef struct clv_whatif_opts {
    size_t size;                /* sizeof(clv_whatif_opts) */
    const clv_profile *profile; /* at the batch and in the type asked for */
    const clv_profile *int8;    /* the same in int8: of operators that go there;
                                 * NULL when none does */
    const uint8_t *fates;       /* a clv_fate per node; NULL: all stay */
    const clv_device *device;   /* NULL: no times */
    const clv_device *host;     /* the CPU's; needed when an operator moves */
    double link;                /* bytes per second between the two; 0: 16 GB/s
                                 */
    double latency;             /* seconds per tensor moved; 0: 10 us */
} clv_whatif_opts;

/* Sums over operators one by one. A tensor crosses when an operator on the
 * other side reads it; inputs lie on the device. */
typedef struct clv_whatif {
    size_t size; /* sizeof(clv_whatif), set by caller */
    uint32_t operators[CLV_FATE_COUNT];
    int64_t params, macs, flops;
    int64_t bytes_in, bytes_weights, bytes_out, memory;
    int64_t crossing_bytes;
    uint32_t crossing_tensors;
    uint32_t cannot; /* operators in a type their device has no rate for */
    double device_seconds, host_seconds, transfer_seconds, seconds;
} clv_whatif;

/* Fills *out. Fails with CLV_USAGE when a profile or a device is missing. */
CLV_API CLV_MUST clv_status clv_whatif_find(const clv_whatif_opts *opts,
                                            clv_whatif *out, clv_err *err);

/* -- for every batch ------------------------------------------------------*/

/* Profiles of one model in one type at batches 1, 2, 3 and one more, or at its
 * own batch alone. */
enum { CLV_SCALING_POINTS = 3, CLV_SCALING_COLUMNS = 6 };
typedef struct clv_scaling_type {
    const clv_profile *at[CLV_SCALING_POINTS];
    const clv_profile *extra; /* at batch `extra_batch`, to check with */
    int64_t extra_batch;
} clv_scaling_type;

/* A number per row as a polynomial in the batch n,
 *
 *     d[0] + d[1] (n - 1) + d[2] (n - 1)(n - 2) / 2                         */
typedef struct clv_scaling_column {
    const int64_t *d[CLV_SCALING_POINTS];
    uint32_t degree;
} clv_scaling_column;

typedef struct clv_scaling clv_scaling;

/* Whether the nodes and tensors of s are those of g, at whatever sizes. A file
 * may give another graph at another batch. */
CLV_API bool clv_scaling_fits(const clv_scaling *s, const clv_graph *g);

/* Finds the polynomials of every operator and of every tensor that is computed,
 * and checks them at the extra batch. Fails with CLV_UNSUPPORTED, naming the
 * operator, when something is no polynomial of degree 2. Returns a scaling
 * (caller frees with clv_scaling_free). */
CLV_API CLV_MUST clv_status clv_scaling_new(const clv_scaling_type *types,
                                            uint32_t n_types, clv_scaling **out,
                                            clv_err *err);
CLV_API void clv_scaling_free(clv_scaling *s);
CLV_API uint32_t clv_scaling_types(const clv_scaling *s);
/* flops, macs, bytes_in, bytes_weights, bytes_out, threads: one row per node.
 */
CLV_API const char *clv_scaling_name(uint32_t column);
CLV_API clv_scaling_column clv_scaling_nodes(const clv_scaling *s,
                                             uint32_t type, uint32_t column);
/* Bytes of the tensors clv_scaling_ids lists: inputs, and what is computed. */
CLV_API clv_scaling_column clv_scaling_values(const clv_scaling *s,
                                              uint32_t type);
CLV_API const uint32_t *clv_scaling_ids(const clv_scaling *s, uint32_t *count);
/* The type that each node computes in. */
CLV_API clv_dtype clv_scaling_dtype(const clv_scaling *s, uint32_t type,
                                    uint32_t node);

#endif
