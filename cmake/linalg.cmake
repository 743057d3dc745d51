# SPDX-License-Identifier: BSD-3-Clause
# The kernels are compiled once per instruction set and chosen at run time. Those of linear algebra and patches fuse
# multiply-adds by name, the same way in every build; those of cones and dynamics give the same bits in all sets.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-mavx2 -mfma -mavx512f -mavx512vl -mavx512dq")
check_c_source_compiles("
#include <immintrin.h>
int main(void) {
  __m512d x = _mm512_setzero_pd();
  return __builtin_cpu_supports(\"avx512f\") ? (int)_mm512_reduce_add_pd(x) : 0;
}" SAPSTEP_KERNELS_X86)
unset(CMAKE_REQUIRED_FLAGS)
# Loops over a few numbers stay loops: gcc makes calls of memset and memcpy of them, which cost more.
include(CheckCCompilerFlag)
check_c_compiler_flag("-Werror -fno-tree-loop-distribute-patterns" SAPSTEP_KEEPS_LOOPS)
# Roots and choices become vectors only where neither errno nor the processor's exception flags are asked for.
check_c_compiler_flag("-Werror -fno-math-errno -fno-trapping-math" SAPSTEP_VECTOR_ROOTS)
if(SAPSTEP_VECTOR_ROOTS)
  set(vector_roots -fno-math-errno -fno-trapping-math)
endif()

# kernels(STEM SET [OPTION...]): how src/STEM_SET.c is compiled.
function(kernels stem set)
  set(options ${ARGN})
  if(SAPSTEP_KEEPS_LOOPS)
    list(APPEND options -fno-tree-loop-distribute-patterns)
  endif()
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/${stem}_${set}.c PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

foreach(stem linalg/block_cholesky/block_kernels linalg/branch_cholesky/branch_kernels linalg/square_kernels solvers/primal/patch_kernels
        multibody/dynamics/kernels)
  kernels(${stem} baseline)
endforeach()
kernels(solvers/primal/cone_kernels baseline ${vector_roots})
if(SAPSTEP_KERNELS_X86)
  target_compile_definitions(sapstep_objects PRIVATE SAP_KERNELS_X86)
  kernels(linalg/block_cholesky/block_kernels avx2 -mavx2 -mfma)
  kernels(linalg/block_cholesky/block_kernels avx512 -mavx2 -mfma -mavx512f -mavx512vl -mavx512dq -mprefer-vector-width=512)
  kernels(linalg/branch_cholesky/branch_kernels avx2 -mavx2 -mfma)
  kernels(linalg/square_kernels avx2 -mavx2 -mfma)
  kernels(solvers/primal/patch_kernels avx2 -mavx2 -mfma)
  kernels(solvers/primal/cone_kernels avx2 -mavx2 ${vector_roots})
  kernels(multibody/dynamics/kernels avx2 -mavx2)
endif()
