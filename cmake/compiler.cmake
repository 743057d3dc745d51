# SPDX-License-Identifier: BSD-3-Clause
# Warnings, sanitizers and floating-point rules that every target of ours shares.
add_library(sapstep_warnings INTERFACE)
target_compile_options(sapstep_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wundef
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  $<$<BOOL:${SAPSTEP_WERROR}>:-Werror>
  -Wno-psabi)  # vectors wider than the registers (src/math/simd.h) are passed between inlined functions only
# No fused multiply-add behind our back: the same bits whatever the optimiser does. Nobody reads errno or
# traps of floating point: without them roots are one instruction and more loops are vectorised, with the same bits.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math)
# Functions pass vectors of three numbers through memory. A load of two of them at once, which the optimiser makes of
# statements side by side, waits for stores that it does not match: 9 % of the time of a step of an arm. Same bits.
add_compile_options($<$<COMPILE_LANGUAGE:C>:-fno-tree-slp-vectorize>)
# gcc fills and copies structures by `rep stos` and `rep movs`, which take longer to start than memset and memcpy take.
include(CheckCCompilerFlag)
check_c_compiler_flag("-Werror -mstringop-strategy=libcall" SAPSTEP_STRING_CALLS)
if(SAPSTEP_STRING_CALLS)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-mstringop-strategy=libcall>)
endif()
if(SAPSTEP_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
