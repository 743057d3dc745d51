# SPDX-License-Identifier: BSD-3-Clause
# sapstep_mujoco, a library of its own, where MuJoCo is there. It uses sapstep through its public
# headers, and the few functions of the core that a shared sapstep does not export as its own copy.
set(SAPSTEP_WITH_MUJOCO OFF)
if(NOT SAPSTEP_MUJOCO)
  return()
endif()
# pip builds for the MuJoCo that the same Python imports, or without the adapter: other versions have other
# structures. Its build runs in isolation (PYTHONPATH, which -E ignores) or in an environment of its own.
if(SKBUILD AND NOT MUJOCO_DIR)
  unset(MuJoCo_INCLUDE_DIR CACHE)  # of an earlier build in the same folder
  unset(MuJoCo_LIBRARY CACHE)
  foreach(python ${Python_EXECUTABLE} $ENV{VIRTUAL_ENV}/bin/python $ENV{CONDA_PREFIX}/bin/python python3)
    execute_process(COMMAND ${python} -E -c
      "import importlib.util as u, os; print(os.path.dirname(u.find_spec('mujoco').origin))"
      OUTPUT_VARIABLE MUJOCO_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
    if(result EQUAL 0)
      break()
    endif()
  endforeach()
  if(NOT MUJOCO_DIR)
    message(STATUS "No mujoco in this Python: sapstep.mujoco will not be built")
    return()
  endif()
endif()
find_package(MuJoCo QUIET)
if(NOT MuJoCo_FOUND)
  if(MUJOCO_DIR)
    message(FATAL_ERROR "MUJOCO_DIR = ${MUJOCO_DIR}: no mujoco/mujoco.h or no libmujoco in it")
  endif()
  message(STATUS "No MuJoCo (libmujoco-dev, or -DMUJOCO_DIR=): sapstep_mujoco will not be built")
  return()
endif()
set(SAPSTEP_WITH_MUJOCO ON)
message(STATUS "MuJoCo ${MuJoCo_VERSION}: ${MuJoCo_LIBRARY}")

file(GLOB SAPSTEP_MUJOCO_SOURCES CONFIGURE_DEPENDS src/mujoco/*.c)
# Core files that the adapter uses; a shared sapstep hides them.
set(SAPSTEP_MUJOCO_CORE archive platform error file memory options)
# One compilation for the library and for its tests.
add_library(sapstep_mujoco_objects OBJECT ${SAPSTEP_MUJOCO_SOURCES})
target_include_directories(sapstep_mujoco_objects PRIVATE include src)
target_link_libraries(sapstep_mujoco_objects PRIVATE MuJoCo::MuJoCo sapstep_warnings)
set_target_properties(sapstep_mujoco_objects PROPERTIES C_VISIBILITY_PRESET hidden
                                                        POSITION_INDEPENDENT_CODE ON)

add_library(sapstep_mujoco $<TARGET_OBJECTS:sapstep_mujoco_objects>)
add_library(sapstep::mujoco ALIAS sapstep_mujoco)
if(BUILD_SHARED_LIBS)
  sapstep_use_core(sapstep_mujoco ${SAPSTEP_MUJOCO_CORE})
endif()
target_include_directories(sapstep_mujoco PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(sapstep_mujoco PUBLIC sapstep MuJoCo::MuJoCo)
set_target_properties(sapstep_mujoco PROPERTIES
  C_VISIBILITY_PRESET hidden EXPORT_NAME mujoco
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
