# SPDX-License-Identifier: BSD-3-Clause
# Everything that the library links, as one imported target: sapstep::dependencies. The installed
# package reads this file too, so that users of the static library link the same list. What could
# not be found is named in SAPSTEP_MISSING, one "library (Debian package)" each.
set(SAPSTEP_MISSING "")

find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
  list(APPEND SAPSTEP_MISSING "pkg-config (pkg-config)")
endif()

find_package(CHOLMOD QUIET)
if(NOT CHOLMOD_FOUND)
  list(APPEND SAPSTEP_MISSING "CHOLMOD, KLU, AMD and CAMD (libsuitesparse-dev)")
endif()

# LAPACKE is a library of its own, or a part of OpenBLAS (Fedora).
find_library(SAPSTEP_LAPACKE NAMES lapacke openblas)
mark_as_advanced(SAPSTEP_LAPACKE)
if(NOT SAPSTEP_LAPACKE)
  list(APPEND SAPSTEP_MISSING "LAPACKE (liblapacke-dev)")
endif()

# HDF5's module is hdf5-serial in Debian.
if(PkgConfig_FOUND)
  pkg_search_module(SAPSTEP_H5 QUIET hdf5-serial hdf5)
endif()
if(NOT SAPSTEP_H5_FOUND)
  set(SAPSTEP_H5_MODULE_NAME hdf5)
endif()

# pkg-config module and Debian package of each library that has a .pc file.
set(SAPSTEP_MODULES openblas libxml-2.0 qhull_r ${SAPSTEP_H5_MODULE_NAME} zlib)
set(SAPSTEP_MODULE_PACKAGES libopenblas-dev libxml2-dev libqhull-dev libhdf5-dev zlib1g-dev)
set(SAPSTEP_MODULE_TARGETS "")
if(PkgConfig_FOUND)
  foreach(module package IN ZIP_LISTS SAPSTEP_MODULES SAPSTEP_MODULE_PACKAGES)
    string(TOUPPER "SAPSTEP_${module}" name)
    string(MAKE_C_IDENTIFIER ${name} name)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    if(${name}_FOUND)
      list(APPEND SAPSTEP_MODULE_TARGETS PkgConfig::${name})
    else()
      list(APPEND SAPSTEP_MISSING "${module} (${package})")
    endif()
  endforeach()
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
if(NOT SAPSTEP_MISSING AND NOT TARGET sapstep::dependencies)
  add_library(sapstep::dependencies INTERFACE IMPORTED)
  target_link_libraries(sapstep::dependencies INTERFACE
    CHOLMOD::CHOLMOD ${SAPSTEP_LAPACKE} ${SAPSTEP_MODULE_TARGETS} Threads::Threads m)
endif()
