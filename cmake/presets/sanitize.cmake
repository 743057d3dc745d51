# SPDX-License-Identifier: BSD-3-Clause
# cmake -C cmake/presets/sanitize.cmake -S . -B build-sanitize
# The shared library, so that both kinds are built and tested: the release preset has the static one.
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g" CACHE STRING "")
set(BUILD_SHARED_LIBS ON CACHE BOOL "")
set(SAPSTEP_WERROR ON CACHE BOOL "")
set(SAPSTEP_SANITIZE ON CACHE BOOL "")
