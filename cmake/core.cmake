# SPDX-License-Identifier: BSD-3-Clause
# Compiles files of src/core into a target of its own: a shared sapstep does not export them.
function(sapstep_use_core target)
  list(TRANSFORM ARGN REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/core/\\1.c" OUTPUT_VARIABLE sources)
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE SAPSTEP_VERSION="${PROJECT_VERSION}")
endfunction()
