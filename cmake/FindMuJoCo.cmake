# SPDX-License-Identifier: BSD-3-Clause
# MuJoCo's C library: target MuJoCo::MuJoCo, MuJoCo_VERSION. MUJOCO_DIR may name a release, an
# installation prefix, or the folder of the Python wheel, `python3 -c "import mujoco, os;
# print(os.path.dirname(mujoco.__file__))"`; without it the system's (Debian: libmujoco-dev).
set(MUJOCO_DIR "" CACHE PATH "Folder of MuJoCo; empty: the system's")

if(MUJOCO_DIR)
  find_path(MuJoCo_INCLUDE_DIR mujoco/mujoco.h PATHS ${MUJOCO_DIR} PATH_SUFFIXES include NO_DEFAULT_PATH)
  file(GLOB candidates "${MUJOCO_DIR}/libmujoco.so*" "${MUJOCO_DIR}/lib/libmujoco.so*"
       "${MUJOCO_DIR}/lib*/libmujoco.*dylib")
  if(candidates AND NOT MuJoCo_LIBRARY)
    list(GET candidates 0 candidate)
    set(MuJoCo_LIBRARY ${candidate} CACHE FILEPATH "MuJoCo's library")
  endif()
else()
  find_path(MuJoCo_INCLUDE_DIR mujoco/mujoco.h)
  find_library(MuJoCo_LIBRARY mujoco)
endif()
mark_as_advanced(MuJoCo_INCLUDE_DIR MuJoCo_LIBRARY)

if(MuJoCo_INCLUDE_DIR)
  file(STRINGS ${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h line REGEX "define mjVERSION_HEADER")
  string(REGEX MATCH "[0-9]+" number "${line}")
  if(number GREATER_EQUAL 1000000)
    math(EXPR major "${number} / 1000000")
    math(EXPR minor "${number} / 1000 % 1000")
    math(EXPR patch "${number} % 1000")
  elseif(number)
    math(EXPR major "${number} / 100")
    math(EXPR minor "${number} / 10 % 10")
    math(EXPR patch "${number} % 10")
  endif()
  set(MuJoCo_VERSION ${major}.${minor}.${patch})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MuJoCo REQUIRED_VARS MuJoCo_LIBRARY MuJoCo_INCLUDE_DIR
                                  VERSION_VAR MuJoCo_VERSION)
if(MuJoCo_FOUND AND NOT TARGET MuJoCo::MuJoCo)
  add_library(MuJoCo::MuJoCo UNKNOWN IMPORTED)
  set_target_properties(MuJoCo::MuJoCo PROPERTIES
    IMPORTED_LOCATION ${MuJoCo_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${MuJoCo_INCLUDE_DIR})
endif()
