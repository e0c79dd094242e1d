/* features.h - which instructions the processor has.
 *
 * The C library has asked the processor when the program starts, and its
 * answers are read here where it gives them. The compiler's own
 * __builtin_cpu_supports would ask again in a constructor, at every start of
 * every program that links it: under a hypervisor each question is a trap, 50
 * us in all. */
#ifndef CLV_BACKEND_CPU_FEATURES_H
#define CLV_BACKEND_CPU_FEATURES_H

#if defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

/* CPU_HAS(AVX2, "avx2"): the name in the C library's list, then the
 * compiler's. The library's own macro shifts a signed 1 by 31 places. */
#ifdef CPU_FEATURE_ACTIVE
#include <stdbool.h>

static inline bool cpu_feature_active(unsigned index)
{
    enum { BITS = 32, LEAF = 4 * BITS };
    const struct cpuid_feature *f = __x86_get_cpuid_feature_leaf(index / LEAF);
    return f->active_array[index % LEAF / BITS] >> index % BITS & 1;
}
#define CPU_HAS(feature, name) cpu_feature_active(x86_cpu_##feature)
#else
#define CPU_HAS(feature, name) __builtin_cpu_supports(name)
#endif

#endif
