# SPDX-License-Identifier: MIT
# cmake -DOUT=FILE.c -DDIR=report/html -P embed_page.cmake: the page of tdreport html as C arrays. page.css and the
# scripts, in one function, go into page.html with their hashes, which its content security policy allows and nothing else.
# Text is handled as hexadecimal digits, because CMake's lists would change some characters.

set(SCRIPTS base flame diff verdict time functions source main) # a script may use those before it, and all their functions

# base64 of bytes given in hexadecimal.
function(base64 hex result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  string(LENGTH "${hex}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${hex}" ${at} 6 group)
    string(LENGTH "${group}" have)
    string(SUBSTRING "${group}0000" 0 6 group)
    math(EXPR bits "0x${group}")
    math(EXPR chars "${have} / 2")
    foreach(i RANGE 0 ${chars})
      math(EXPR digit "(${bits} >> (18 - 6 * ${i})) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 char)
      string(APPEND text "${char}")
    endforeach()
    foreach(i RANGE ${chars} 3)
      if(i GREATER chars)
        string(APPEND text "=")
      endif()
    endforeach()
    math(EXPR at "${at} + 6")
  endwhile()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Puts hexadecimal digits in the place of a mark, which must be there.
macro(fill mark with)
  string(HEX "@${mark}@" mark_hex)
  string(FIND "${page}" "${mark_hex}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "embed_page: page.html has no @${mark}@")
  endif()
  string(REPLACE "${mark_hex}" "${with}" page "${page}")
endmacro()

file(READ ${DIR}/page.html page HEX)
file(WRITE ${OUT}.js "\"use strict\";\n(() => {\n")
foreach(script ${SCRIPTS})
  file(READ ${DIR}/${script}.js text)
  file(APPEND ${OUT}.js "${text}")
endforeach()
file(APPEND ${OUT}.js "})();\n")
file(COPY_FILE ${DIR}/page.css ${OUT}.css)
foreach(kind css js)
  file(READ ${OUT}.${kind} ${kind} HEX)
  file(SHA256 ${OUT}.${kind} digest)
  base64(${digest} hash)
  string(HEX "sha256-${hash}" ${kind}_hash)
endforeach()
fill(STYLE_HASH "${css_hash}")
fill(SCRIPT_HASH "${js_hash}")
fill(STYLE "${css}")
fill(SCRIPT "${js}")

set(arrays "")
set(rows "")
set(i 0)
foreach(mark TITLE TEXT DATA END)
  string(HEX "@${mark}@" mark_hex)
  string(FIND "${page}" "${mark_hex}" at)
  if(mark STREQUAL END)
    string(LENGTH "${page}" at)
  elseif(at EQUAL -1)
    message(FATAL_ERROR "embed_page: page.html has no @${mark}@ where it is expected")
  endif()
  string(SUBSTRING "${page}" 0 ${at} part)
  string(LENGTH "${mark_hex}" skip)
  math(EXPR at "${at} + ${skip}")
  if(NOT mark STREQUAL END)
    string(SUBSTRING "${page}" ${at} -1 page)
  endif()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${part}")
  string(APPEND arrays "static const char part_${i}[] = {${bytes}0};\n")
  string(APPEND rows "    {part_${i}, sizeof(part_${i}) - 1},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUT}.new "/* SPDX-License-Identifier: MIT */
/* Made from the files of report/html by scripts/embed_page.cmake. */
#include \"report/view/page/page_shell.h\"

${arrays}
const struct td_page_shell td_page_shell[TD_PAGE_SHELL_PARTS] = {
${rows}};
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
