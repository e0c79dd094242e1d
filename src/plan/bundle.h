/* bundle.h - what the two halves of checking an exported cut share. */
#ifndef CLV_BUNDLE_H
#define CLV_BUNDLE_H

#include "cleave/bundle.h"
#include "core/json.h"

/* Reads DIR/FILE, an ONNX file, and compares it with the partition: `part` is
 * the partition's own file, `entry` what the manifest says of it. */
CLV_MUST clv_status clv__bundle_onnx(const char *dir, const char *file,
                                     const json *part, const json *entry,
                                     clv_err *e);

/* The size and the CRC-32 of a file. */
CLV_MUST clv_status clv__bundle_sum(const char *path, int64_t *bytes,
                                    uint32_t *crc, clv_err *e);

#endif
