/* fake_ort.c - a shared library that claims to be ONNX Runtime and misbehaves.
 *
 * It compiles any model but these, told by the operators in its bytes: with a
 * Tanh it says no, with a Sigmoid it crashes, with an Erf it ends the process.
 * It runs nothing. tests/test_backend_ort.c names it as the engine's library.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char thing; /* what all handles point to */

static const char *error_message(const void *status)
{
    return status;
}

static void *create_env(int level, const char *id, void **out)
{
    (void)level, (void)id;
    *out = &thing;
    return NULL;
}

static int holds(const char *bytes, size_t size, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= size; i++)
        if (!memcmp(bytes + i, word, n))
            return 1;
    return 0;
}

static void *create_session(const void *env, const void *bytes, size_t size,
                            const void *options, void **out)
{
    static char refusal[] = "the fake has no Tanh\nand says more below";
    (void)env, (void)options;
    *out = NULL;
    if (holds(bytes, size, "Tanh"))
        return refusal;
    if (holds(bytes, size, "Sigmoid")) {
        fprintf(stderr, "fake: out of registers\n");
        abort();
    }
    if (holds(bytes, size, "Erf"))
        exit(7);
    *out = &thing;
    return NULL;
}

static void *run(void)
{
    static char refusal[] = "the fake runs nothing";
    return refusal;
}

static void *create_one(void **out)
{
    *out = &thing;
    return NULL;
}

static void *create_memory(int a, int b, void **out)
{
    (void)a, (void)b;
    return create_one(out);
}

static void *providers(char ***out, int *n)
{
    static char cpu[] = "CPUExecutionProvider", odd[] = "OddExecutionProvider";
    static char *list[] = {odd, cpu};
    *out = list;
    *n = 2;
    return NULL;
}

static void *fine(void)
{
    return NULL;
}

typedef void (*slot)(void);

static slot table[300];

static const void *api(uint32_t version)
{
    (void)version;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        table[i] = (slot)fine;
    table[2] = (slot)error_message;
    table[3] = (slot)create_env;
    table[8] = (slot)create_session;
    table[9] = (slot)run;
    table[10] = (slot)create_one;
    table[49] = (slot)fine;
    table[69] = (slot)create_memory;
    table[125] = (slot)providers;
    return table;
}

static const char *version(void)
{
    return "0.0-fake";
}

typedef struct base {
    const void *(*api)(uint32_t);
    const char *(*version)(void);
} base;

const base *OrtGetApiBase(void);

const base *OrtGetApiBase(void)
{
    static const base b = {api, version};
    return &b;
}
