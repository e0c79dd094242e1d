/* random.h - numbers that a seed and a place decide: the same on every machine
 * and in any order. */
#ifndef CLV_TENSOR_RANDOM_H
#define CLV_TENSOR_RANDOM_H

#include "cleave/tensor.h"

/* A bijection of 64-bit numbers that leaves no pattern (splitmix64). */
uint64_t clv__mix(uint64_t x);
/* Number i of the sequence `key`, uniform in [-1, 1): 24 bits, exact in
 * float32. */
double clv__uniform(uint64_t key, int64_t i);

#endif
