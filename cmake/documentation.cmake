# SPDX-License-Identifier: BSD-3-Clause
# Documentation beside the README: man pages from the program's own help (help2man), the reference of the
# headers as HTML (doxygen, `cmake --build build --target reference`), completion for bash. Each is left out
# where its tool is not installed.
find_program(SAPSTEP_HELP2MAN help2man)
find_program(SAPSTEP_DOXYGEN doxygen)
mark_as_advanced(SAPSTEP_HELP2MAN SAPSTEP_DOXYGEN)

if(TARGET sapstep_program)
  install(FILES src/cli/completion.bash RENAME sapstep
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  if(SAPSTEP_HELP2MAN)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man1/sapstep.1
      COMMAND sh ${CMAKE_SOURCE_DIR}/cmake/man_pages.sh $<TARGET_FILE:sapstep_program>
              ${CMAKE_BINARY_DIR}/man1
      DEPENDS sapstep_program cmake/man_pages.sh VERBATIM)
    add_custom_target(sapstep_man_pages ALL DEPENDS ${CMAKE_BINARY_DIR}/man1/sapstep.1)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  endif()
endif()

if(SAPSTEP_DOXYGEN)
  set(SAPSTEP_REFERENCE_DIR ${CMAKE_BINARY_DIR}/reference)
  configure_file(cmake/Doxyfile.in ${CMAKE_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(reference
    COMMAND ${SAPSTEP_DOXYGEN} ${CMAKE_BINARY_DIR}/Doxyfile
    COMMENT "The reference of the headers: ${SAPSTEP_REFERENCE_DIR}/html/index.html")
  install(DIRECTORY ${SAPSTEP_REFERENCE_DIR}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
