/* mutate_onnx.h - changes ONNX models as somebody would who knows operators.
 *
 * The file is read as protobuf, changed in a few places and written as valid
 * protobuf again. What is changed, and to what, follows the tables of the
 * importer: names of operators and attributes (onnx.def), numbers of inputs and
 * outputs, types, ranges and lengths of attributes (schema.def). Most changes
 * stay near what is allowed, some go just past it. */
#ifndef FUZZ_MUTATE_ONNX_H
#define FUZZ_MUTATE_ONNX_H

#include "cleave/base.h"

/* Writes a changed copy of the model in data to out, at most `room` bytes.
 * `other` (may be NULL) is a model whose nodes may be taken over. The same seed
 * gives the same copy. Returns its size; 0 when data is no protobuf, or the
 * result has no room. */
size_t onnx_mutate(const uint8_t *data, size_t size, const uint8_t *other,
                   size_t other_size, uint8_t *out, size_t room, uint64_t seed);

#endif
