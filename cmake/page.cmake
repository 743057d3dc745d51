# SPDX-License-Identifier: BSD-3-Clause
# The parts of the 3D page, as bytes in the library. three.js is Debian's (libjs-three, r111), or with
# -DSAPSTEP_THREE=npm a current one, which is fetched here; without any `sapstep view` says what is missing.
set(SAPSTEP_THREE "" CACHE STRING "three.js of pages: npm: fetch a current one; FILE: what cmake/three.sh wrote; empty: Debian's")
find_path(SAPSTEP_THREE_DIR three.min.js
          PATHS /usr/share/javascript/three /usr/local/share/javascript/three NO_DEFAULT_PATH)
mark_as_advanced(SAPSTEP_THREE_DIR)
set(page ${CMAKE_CURRENT_SOURCE_DIR}/src/output/page)
set(template ${page}/page.html)
set(style ${page}/page.css)
set(script "")
foreach(name data shapes contacts charts stage main)
  list(APPEND script ${page}/${name}.js)
endforeach()
set(three ${SAPSTEP_THREE})
if(SAPSTEP_THREE STREQUAL npm)
  set(three ${CMAKE_CURRENT_BINARY_DIR}/three.js)
  if(NOT EXISTS ${three})
    execute_process(COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cmake/three.sh ${three} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(WARNING "npm has no three.js here: pages get Debian's")
      set(three "")
    endif()
  endif()
endif()
set(orbit "")
if(three)
  set(orbit ${CMAKE_CURRENT_BINARY_DIR}/nothing.js)  # it is in the same file
  file(WRITE ${orbit} "")
elseif(SAPSTEP_THREE_DIR)
  set(three ${SAPSTEP_THREE_DIR}/three.min.js)
  set(orbit ${SAPSTEP_THREE_DIR}/examples/js/controls/OrbitControls.js)
else()
  message(STATUS "No three.js (libjs-three, or -DSAPSTEP_THREE=npm): sapstep view will not write pages")
endif()
string(REPLACE ";" "+" joined "${script}")
set(assets ${CMAKE_CURRENT_BINARY_DIR}/page_assets.c)
add_custom_command(
  OUTPUT ${assets}
  COMMAND ${CMAKE_COMMAND} -DOUT=${assets}
          -DTEMPLATE=${template} "-DPARTS=CSS=${style}|JS=${joined}|THREE=${three}|ORBIT=${orbit}"
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${template} ${style} ${script} ${three} ${orbit} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  VERBATIM)
target_sources(sapstep_objects PRIVATE ${assets})
