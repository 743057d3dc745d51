# SPDX-License-Identifier: BSD-3-Clause
# `cmake --install` puts in place: library, headers, program, and the two ways to find them,
# find_package(sapstep) and pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sapstep)

install(TARGETS sapstep EXPORT sapstep-targets)
install(DIRECTORY include/sapstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET sapstep_program)
  # Relative to the program, so that an installed tree may be moved.
  file(RELATIVE_PATH program_to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(sapstep_program PROPERTIES INSTALL_RPATH
    "$<$<BOOL:${BUILD_SHARED_LIBS}>:$ORIGIN/${program_to_libraries}>")
  install(TARGETS sapstep_program)
endif()

if(SAPSTEP_WITH_MUJOCO)
  set_target_properties(sapstep_mujoco PROPERTIES INSTALL_RPATH "$<$<BOOL:${BUILD_SHARED_LIBS}>:$ORIGIN>")
  install(TARGETS sapstep_mujoco EXPORT sapstep-mujoco-targets)
  install(EXPORT sapstep-mujoco-targets NAMESPACE sapstep:: DESTINATION ${package_dir})
  install(FILES cmake/FindMuJoCo.cmake DESTINATION ${package_dir})
  set(SAPSTEP_PC_MUJOCO "-lmujoco")
  set(SAPSTEP_PC_MUJOCO_CFLAGS "")
  if(MUJOCO_DIR)
    get_filename_component(mujoco_folder ${MuJoCo_LIBRARY} DIRECTORY)
    get_filename_component(mujoco_name ${MuJoCo_LIBRARY} NAME)
    set(SAPSTEP_PC_MUJOCO "-L${mujoco_folder} -l:${mujoco_name} -Wl,-rpath,${mujoco_folder}")
    set(SAPSTEP_PC_MUJOCO_CFLAGS "-I${MuJoCo_INCLUDE_DIR}")
  endif()
  if(TARGET sapstep_program)
    set_target_properties(sapstep_program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endif()

install(EXPORT sapstep-targets NAMESPACE sapstep:: DESTINATION ${package_dir})
configure_package_config_file(cmake/sapstep-config.cmake.in ${CMAKE_BINARY_DIR}/sapstep-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sapstep-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sapstep-config.cmake
              ${CMAKE_BINARY_DIR}/sapstep-config-version.cmake
              cmake/dependencies.cmake cmake/FindCHOLMOD.cmake
        DESTINATION ${package_dir})

# An archive needs its dependencies at every link, without `pkg-config --static`, which would ask for
# the dependencies' own archives as well.
list(JOIN SAPSTEP_MODULES " " SAPSTEP_PC_MODULES)
get_filename_component(lapacke ${SAPSTEP_LAPACKE} NAME_WE)
string(REGEX REPLACE "^lib" "-l" lapacke ${lapacke})
set(libraries "-lcholmod -lklu -lamd -lcamd -lsuitesparseconfig ${lapacke} -lpthread -lm")
if(BUILD_SHARED_LIBS)
  set(SAPSTEP_PC_REQUIRES Requires.private)
  set(SAPSTEP_PC_LIBS "")
  set(SAPSTEP_PC_LIBS_PRIVATE ${libraries})
else()
  set(SAPSTEP_PC_REQUIRES Requires)
  set(SAPSTEP_PC_LIBS ${libraries})
  set(SAPSTEP_PC_LIBS_PRIVATE "")
endif()
# Relative to the .pc file, so that an installed tree may be moved.
file(RELATIVE_PATH SAPSTEP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/sapstep.pc.in ${CMAKE_BINARY_DIR}/sapstep.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sapstep.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(SAPSTEP_WITH_MUJOCO)
  configure_file(cmake/sapstep-mujoco.pc.in ${CMAKE_BINARY_DIR}/sapstep-mujoco.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/sapstep-mujoco.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
