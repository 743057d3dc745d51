# SPDX-License-Identifier: BSD-3-Clause
# Installs the build into an empty prefix and moves the tree: nothing in it may depend on where it was
# installed.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-first)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}-first
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${PREFIX}-first ${PREFIX})

set(names sapstep.h sapstep.pc sapstep-config.cmake sapstep-config-version.cmake
          sapstep-targets.cmake)
if(PROGRAM)
  list(APPEND names bin/sapstep)
endif()
foreach(name ${names})
  file(GLOB_RECURSE found ${PREFIX}/${name} ${PREFIX}/*/${name})
  if(NOT found)
    message(FATAL_ERROR "not installed: ${name}")
  endif()
endforeach()
file(GLOB_RECURSE texts ${PREFIX}/*.cmake ${PREFIX}/*.pc ${PREFIX}/*.h)
foreach(text ${texts})
  file(READ ${text} content)
  string(FIND "${content}" "${BUILD}" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${text} names the build folder ${BUILD}")
  endif()
endforeach()
