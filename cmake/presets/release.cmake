# SPDX-License-Identifier: BSD-3-Clause
# cmake -C cmake/presets/release.cmake -S . -B build
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(SAPSTEP_WERROR ON CACHE BOOL "")
set(SAPSTEP_PYTHON ON CACHE BOOL "")
