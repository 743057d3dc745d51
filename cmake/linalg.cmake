# SPDX-License-Identifier: BSD-3-Clause
# The block, branch and patch kernels are compiled once per instruction set and chosen at run time. Multiply-adds are
# fused there by name, the same way in every build.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-mavx2 -mfma -mavx512f -mavx512vl -mavx512dq")
check_c_source_compiles("
#include <immintrin.h>
int main(void) {
  __m512d x = _mm512_setzero_pd();
  return __builtin_cpu_supports(\"avx512f\") ? (int)_mm512_reduce_add_pd(x) : 0;
}" SAPSTEP_KERNELS_X86)
unset(CMAKE_REQUIRED_FLAGS)
if(SAPSTEP_KERNELS_X86)
  target_compile_definitions(sapstep_objects PRIVATE SAP_KERNELS_X86)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/linalg/block_kernels_avx2.c PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/linalg/branch_kernels_avx2.c
    ${CMAKE_SOURCE_DIR}/src/linalg/square_kernels_avx2.c PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/solvers/primal/patch_kernels_avx2.c PROPERTIES
    COMPILE_OPTIONS "-mavx2")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/linalg/block_kernels_avx512.c PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma;-mavx512f;-mavx512vl;-mavx512dq;-mprefer-vector-width=512")
endif()
