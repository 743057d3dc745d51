# SPDX-License-Identifier: BSD-3-Clause
# Installs the build into an empty prefix and moves the tree: nothing in it may depend on where it was
# installed.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-first)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}-first
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${PREFIX}-first ${PREFIX})

# Uninstalling removes all installed files. Other files in the prefix stay, empty folders too,
# also where the prefix has the library's name.
set(gone ${PREFIX}-gone/sapstep)
file(REMOVE_RECURSE ${PREFIX}-gone)
file(WRITE ${gone}/lib/other "")
file(MAKE_DIRECTORY ${gone}/include)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${gone}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -DMANIFEST=${BUILD}/install_manifest.txt
                        -P ${CMAKE_CURRENT_LIST_DIR}/../../cmake/uninstall.cmake
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${gone}/lib/other OR NOT IS_DIRECTORY ${gone}/include)
  message(FATAL_ERROR "uninstall took more than what was installed")
endif()
# (names within it: the folders above may have the word in theirs)
file(GLOB_RECURSE left LIST_DIRECTORIES true RELATIVE ${gone} ${gone}/*)
list(FILTER left INCLUDE REGEX "sapstep")
if(left OR EXISTS ${BUILD}/install_manifest.txt)
  message(FATAL_ERROR "uninstall left ${left}")
endif()

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
