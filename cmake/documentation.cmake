# SPDX-License-Identifier: BSD-3-Clause
# Documentation that is installed: completion for bash, and man pages from the program's own help, which are
# left out where help2man is not installed. The site with the reference: cmake/site/CMakeLists.txt.
find_program(SAPSTEP_HELP2MAN help2man)
mark_as_advanced(SAPSTEP_HELP2MAN)

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
