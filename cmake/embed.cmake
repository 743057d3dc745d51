# SPDX-License-Identifier: BSD-3-Clause
# cmake -DOUT=FILE -DPARTS="name=file+file|name=..." -P embed.cmake: a C file with the bytes of each part,
# files joined, as sap_page_<name> and sap_page_<name>_size. A part without files is empty.
set(text "// Generated.\n#include \"output/page/page.h\"\n")
string(REPLACE "|" ";" parts "${PARTS}")
foreach(part IN LISTS parts)
  string(REGEX MATCH "^([a-z]+)=(.*)$" matched "${part}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "+" ";" files "${CMAKE_MATCH_2}")
  set(bytes "")
  foreach(file IN LISTS files)
    file(READ ${file} hex HEX)
    string(APPEND bytes ${hex})
  endforeach()
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)"
                       "\\1\n" bytes "${bytes}")
  string(APPEND text "const size_t sap_page_${name}_size = ${size};\n"
                     "const unsigned char sap_page_${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
