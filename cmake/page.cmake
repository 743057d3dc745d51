# SPDX-License-Identifier: BSD-3-Clause
# The parts of the 3D page, as bytes in the library. three.js (libjs-three) is looked for where Debian has
# it; without it `sapstep view` says what is missing.
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
set(three "")
set(orbit "")
if(SAPSTEP_THREE_DIR)
  set(three ${SAPSTEP_THREE_DIR}/three.min.js)
  set(orbit ${SAPSTEP_THREE_DIR}/examples/js/controls/OrbitControls.js)
else()
  message(STATUS "No three.js (libjs-three): sapstep view will not write pages")
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
