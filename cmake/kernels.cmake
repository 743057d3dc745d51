# SPDX-License-Identifier: BSD-3-Clause
# Kernels: code that is compiled once per instruction set and chosen at run time (src/core/kernels.h). Those of
# linear algebra and patches fuse multiply-adds by name, the same way in every build; those of cones and dynamics
# give the same bits in all sets.
include(CheckCSourceCompiles)
set(SAPSTEP_FLAGS_avx2 -mavx2 -mfma)
set(SAPSTEP_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512vl -mavx512dq -mprefer-vector-width=512)
set(CMAKE_REQUIRED_FLAGS "-mavx2 -mfma -mavx512f -mavx512vl -mavx512dq")
check_c_source_compiles("
#include <immintrin.h>
int main(void) {
  __m512d x = _mm512_setzero_pd();
  return __builtin_cpu_supports(\"avx512f\") ? (int)_mm512_reduce_add_pd(x) : 0;
}" SAPSTEP_KERNELS_X86)
unset(CMAKE_REQUIRED_FLAGS)
# Keeps loops over a few numbers: calls of memset and memcpy, which gcc makes of them, cost more.
check_c_compiler_flag("-Werror -fno-tree-loop-distribute-patterns" SAPSTEP_KEEPS_LOOPS)
if(SAPSTEP_KEEPS_LOOPS)
  set(SAPSTEP_FLAGS_baseline -fno-tree-loop-distribute-patterns)
  list(APPEND SAPSTEP_FLAGS_avx2 -fno-tree-loop-distribute-patterns)
  list(APPEND SAPSTEP_FLAGS_avx512 -fno-tree-loop-distribute-patterns)
endif()
# Roots and selections become vector instructions only where errno and floating-point exceptions may be ignored.
check_c_compiler_flag("-Werror -fno-math-errno -fno-trapping-math" SAPSTEP_VECTOR_ROOTS)
if(SAPSTEP_VECTOR_ROOTS)
  set(vector_roots -fno-math-errno -fno-trapping-math)
endif()

# sapstep_kernels(STEM SETS [FLAG...]): compiles src/STEM.inc once for the baseline and, on x86, once for each of
# SETS, with the FLAGs added.
function(sapstep_kernels stem sets)
  if(NOT SAPSTEP_KERNELS_X86)
    set(sets "")
  endif()
  foreach(set baseline ${sets})
    set(source ${CMAKE_BINARY_DIR}/kernels/src/${stem}_${set}.c)
    string(TOUPPER SAP_KERNEL_${set} macro)
    file(CONFIGURE OUTPUT ${source} CONTENT
         "#define ${macro}\n#define SAP_KERNEL_SET ${set}\n#include \"${stem}.inc\"\n")
    target_sources(sapstep_objects PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${SAPSTEP_FLAGS_${set}};-ftree-slp-vectorize;${ARGN}")
  endforeach()
endfunction()

if(SAPSTEP_KERNELS_X86)
  target_compile_definitions(sapstep_objects PRIVATE SAP_KERNELS_X86)
endif()
sapstep_kernels(linalg/block_kernels "avx2;avx512")
sapstep_kernels(linalg/block_kernels_single "avx2;avx512")
sapstep_kernels(linalg/branch_kernels avx2)
sapstep_kernels(linalg/square_kernels avx2)
sapstep_kernels(solvers/primal/patch_kernels avx2)
sapstep_kernels(solvers/primal/cone_kernels avx2 ${vector_roots})
sapstep_kernels(multibody/dynamics/kernels avx2)
