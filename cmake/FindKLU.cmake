# SPDX-License-Identifier: BSD-3-Clause
# Finds KLU and AMD of SuiteSparse 5 and 7; Debian's come without CMake or .pc files. Defines the target KLU::KLU.
find_path(KLU_INCLUDE_DIR NAMES klu.h PATH_SUFFIXES suitesparse)
find_library(KLU_LIBRARY klu)
find_library(AMD_LIBRARY amd)
find_library(SUITESPARSECONFIG_LIBRARY suitesparseconfig)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KLU REQUIRED_VARS KLU_LIBRARY AMD_LIBRARY SUITESPARSECONFIG_LIBRARY KLU_INCLUDE_DIR)
if(KLU_FOUND AND NOT TARGET KLU::KLU)
  add_library(KLU::KLU INTERFACE IMPORTED)
  set_target_properties(KLU::KLU PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${KLU_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${KLU_LIBRARY};${AMD_LIBRARY};${SUITESPARSECONFIG_LIBRARY}")
endif()
# Archives need what they use.
foreach(name colamd btf)
  find_library(SAPSTEP_${name}_LIBRARY ${name})
  mark_as_advanced(SAPSTEP_${name}_LIBRARY)
  if(KLU_FOUND AND KLU_LIBRARY MATCHES "\\.a$" AND SAPSTEP_${name}_LIBRARY)
    set_property(TARGET KLU::KLU APPEND PROPERTY INTERFACE_LINK_LIBRARIES
      ${SAPSTEP_${name}_LIBRARY} ${SUITESPARSECONFIG_LIBRARY})
  endif()
endforeach()
mark_as_advanced(KLU_INCLUDE_DIR KLU_LIBRARY AMD_LIBRARY SUITESPARSECONFIG_LIBRARY)
