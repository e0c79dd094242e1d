/* fuzz_tflite.c - any bytes as a TFLite model. What loads is profiled, and its
 * memory planned. With libFuzzer, a mutator of its own changes offsets, vtables
 * and lists where they stand, so that most inputs stay models. */
#include "cleave.h"
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const clv_open_opts opts = {.size = sizeof opts};
    clv_mapping map = {.data = data, .size = size, .borrowed = true};
    clv_graph *g;
    clv_profile *p = NULL;
    clv_err err = {0};
    if (clv__tflite_load(map, "fuzz.tflite", &opts, &g, &err) != CLV_OK) {
        if (!err.msg[0])
            abort(); /* a failure says why */
        return 0;
    }
    if (clv_profile_new(g, NULL, &p, &err) == CLV_OK &&
        clv_profile_totals(p)->params < 0)
        abort();
    clv_profile_free(p);
    clv_graph_free(g);
    return 0;
}

/* -- structure ------------------------------------------------------------*/

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
    __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed);

static uint32_t mutate_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static uint32_t mutate_get(const uint8_t *data, size_t at)
{
    uint32_t x;
    memcpy(&x, data + at, sizeof x);
    return x;
}

static void mutate_put(uint8_t *data, size_t at, uint32_t x)
{
    memcpy(data + at, &x, sizeof x);
}

/* A word of the file, aligned: what an offset, a length or an index is. */
static size_t mutate_word(size_t size, uint32_t *state)
{
    return mutate_next(state) % (size / 4) * 4;
}

/* One change: an index or a length by a little, a word copied from elsewhere,
 * an offset that leads to another part, or a byte of an option. */
static void mutate_once(uint8_t *data, size_t size, uint32_t *state)
{
    static const uint32_t odd[] = {
        0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x40000000, 16, 255};
    size_t at = mutate_word(size, state), from = mutate_word(size, state);
    uint32_t was = mutate_get(data, at);
    switch (mutate_next(state) % 6) {
    case 0:
        mutate_put(data, at, was + mutate_next(state) % 9 - 4);
        break;
    case 1:
        mutate_put(data, at, mutate_get(data, from));
        break;
    case 2: /* an offset that points where another one does */
        mutate_put(data, at, (uint32_t)(from + mutate_get(data, from) - at));
        break;
    case 3:
        mutate_put(data, at, odd[mutate_next(state) % 8]);
        break;
    case 4:
        data[at + mutate_next(state) % 4] = (uint8_t)mutate_next(state);
        break;
    default: /* the code of another operator */
        mutate_put(data, at, mutate_next(state) % 210);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
                               unsigned seed)
{
    uint32_t state = seed | 1u, changes;
    if (size < 16 || mutate_next(&state) % 8 == 0)
        return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max) : size;
    changes = 1 + mutate_next(&state) % 4;
    for (uint32_t i = 0; i < changes; i++)
        mutate_once(data, size, &state);
    memcpy(data + 4, "TFL3", 4);
    return size;
}
