# SPDX-License-Identifier: BSD-3-Clause
# cmake -C cmake/presets/clang.cmake -S . -B build-clang
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(SAPSTEP_WERROR ON CACHE BOOL "")
