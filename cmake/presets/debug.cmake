# SPDX-License-Identifier: BSD-3-Clause
# cmake -C cmake/presets/debug.cmake -S . -B build-debug
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(SAPSTEP_WERROR ON CACHE BOOL "")
