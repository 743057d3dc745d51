# SPDX-License-Identifier: BSD-3-Clause
# Everything that the library links, gathered in one interface target.
find_package(PkgConfig REQUIRED)
find_package(CHOLMOD REQUIRED)
pkg_check_modules(SAPSTEP_BLAS REQUIRED IMPORTED_TARGET openblas)
find_library(SAPSTEP_LAPACKE lapacke REQUIRED)
pkg_check_modules(SAPSTEP_XML REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(SAPSTEP_ODE REQUIRED IMPORTED_TARGET ode)
pkg_check_modules(SAPSTEP_CCD REQUIRED IMPORTED_TARGET ccd)

add_library(sapstep_dependencies INTERFACE)
target_link_libraries(sapstep_dependencies INTERFACE
  CHOLMOD::CHOLMOD ${SAPSTEP_LAPACKE} PkgConfig::SAPSTEP_BLAS PkgConfig::SAPSTEP_XML
  PkgConfig::SAPSTEP_ODE PkgConfig::SAPSTEP_CCD m)
