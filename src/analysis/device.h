/* device.h - devices that are not in the table: read from a file, measured. */
#ifndef CLV_DEVICE_H
#define CLV_DEVICE_H

#include "cleave/hardware.h"
#include "core/core.h"

/* What clv_device_free frees: a device and the memory of its texts. */
typedef struct own_device {
    clv_device device; /* first: what the caller holds */
    arena mem;
} own_device;

#endif
