// SPDX-License-Identifier: BSD-3-Clause
// Kernels that are compiled once per instruction set and chosen at run time. CMake's
// sapstep_kernels compiles x_kernels.inc once per set with SAP_KERNEL_SET = baseline, avx2 (with
// FMA) or avx512. The file ends with
//   SAP_KERNEL_TABLE(sap_x_kernels) = {SAP_KERNEL_NAME, its functions};
//   SAP_KERNEL_GET(sap_x_kernels)
// and its header declares
//   const sap_x_kernels* sap_x_kernels_get(int32_t index);
// which returns the tables that this processor can run, the widest set at index 0, NULL past the
// last.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SAP_QUAD = 4 };  // lanes of a quad (math/simd.h)

// Inlines functions whose loops then have constant bounds: the tiles stay in registers.
#if defined(__GNUC__)
#define SAP_INLINE inline __attribute__((always_inline))
#else
#define SAP_INLINE inline
#endif

#define SAP_KERNEL_JOIN_(table, set) table##_##set
#define SAP_KERNEL_JOIN(table, set) SAP_KERNEL_JOIN_(table, set)
#define SAP_KERNEL_TEXT_(set) #set
#define SAP_KERNEL_TEXT(set) SAP_KERNEL_TEXT_(set)
#define SAP_KERNEL_NAME SAP_KERNEL_TEXT(SAP_KERNEL_SET)

// Begins the definition of this set's table.
#define SAP_KERNEL_TABLE(table)                              \
  extern const table SAP_KERNEL_JOIN(table, SAP_KERNEL_SET); \
  const table SAP_KERNEL_JOIN(table, SAP_KERNEL_SET)

// The baseline's compilation defines the functions that choose; the build defines SAP_KERNELS_X86
// if the compiler knows the sets beyond the baseline.
#if defined(SAP_KERNEL_BASELINE) && defined(SAP_KERNELS_X86)
#define SAP_KERNEL_RUNS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define SAP_KERNEL_RUNS_AVX512                                                \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && \
   __builtin_cpu_supports("avx512dq"))
#define SAP_KERNEL_GET(table)                                              \
  extern const table table##_avx2;                                         \
  const table* table##_get(int32_t index) {                                \
    static const table* const sets[] = {&table##_avx2, &table##_baseline}; \
    const int32_t first = SAP_KERNEL_RUNS_AVX2 ? 0 : 1;                    \
    return index >= 0 && index < 2 - first ? sets[first + index] : NULL;   \
  }
#define SAP_KERNEL_GET_AVX512(table)                                                        \
  extern const table table##_avx2;                                                          \
  extern const table table##_avx512;                                                        \
  const table* table##_get(int32_t index) {                                                 \
    static const table* const sets[] = {&table##_avx512, &table##_avx2, &table##_baseline}; \
    const int32_t first = SAP_KERNEL_RUNS_AVX512 ? 0 : SAP_KERNEL_RUNS_AVX2 ? 1 : 2;        \
    return index >= 0 && index < 3 - first ? sets[first + index] : NULL;                    \
  }
#elif defined(SAP_KERNEL_BASELINE)
#define SAP_KERNEL_GET(table)                     \
  const table* table##_get(int32_t index) {       \
    return index == 0 ? &table##_baseline : NULL; \
  }
#define SAP_KERNEL_GET_AVX512(table) SAP_KERNEL_GET(table)
#else
#define SAP_KERNEL_GET(table)
#define SAP_KERNEL_GET_AVX512(table)
#endif
