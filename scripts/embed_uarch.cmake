# SPDX-License-Identifier: MIT
# cmake -DOUT=FILE.c -DDIR=formats/cores/uarch -P embed_uarch.cmake: the core descriptions as C arrays.
file(GLOB files ${DIR}/*.uarch)
list(SORT files)
set(arrays "")
set(rows "")
set(i 0)
foreach(path ${files})
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const char text_${i}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", text_${i}, sizeof(text_${i}) - 1},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUT}.new "/* SPDX-License-Identifier: MIT */
/* Made from the files of formats/cores/uarch by scripts/embed_uarch.cmake. */
#include \"formats/cores/uarch.h\"

#include <string.h>

${arrays}
static const struct td_uarch_builtin builtins[] = {
${rows}    {0, 0, 0},
};

const struct td_uarch_builtin *td_uarch_builtin_at(size_t i)
{
    return i < sizeof(builtins) / sizeof(builtins[0]) - 1 ? &builtins[i] : 0;
}

const struct td_uarch_builtin *td_uarch_builtin(const char *name)
{
    const size_t len = strcspn(name, \"+\");

    for (size_t i = 0; builtins[i].name; i++) {
        if (strlen(builtins[i].name) == len && memcmp(builtins[i].name, name, len) == 0)
            return &builtins[i];
    }
    return 0;
}
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
