# SPDX-License-Identifier: MIT
# cmake -DOUT=FILE.c -DDIR=formats/cores -P embed_uarch.cmake: the core descriptions and the vendors' names of events as C arrays.
set(arrays "")
set(i 0)
foreach(kind uarch names)
  set(${kind}_rows "")
  file(GLOB files ${DIR}/${kind}/*.${kind})
  list(SORT files)
  foreach(path ${files})
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "static const char text_${i}[] = {${bytes}0};\n")
    string(APPEND ${kind}_rows "    {\"${name}\", text_${i}, sizeof(text_${i}) - 1},\n")
    math(EXPR i "${i} + 1")
  endforeach()
endforeach()
file(WRITE ${OUT}.new "/* SPDX-License-Identifier: MIT */
/* Made from the files of formats/cores/uarch and formats/cores/names by scripts/embed_uarch.cmake. */
#include \"formats/cores/names.h\"
#include \"formats/cores/uarch.h\"

#include <string.h>

${arrays}
static const struct td_uarch_builtin builtins[] = {
${uarch_rows}    {0, 0, 0},
};
static const struct td_uarch_builtin names[] = {
${names_rows}    {0, 0, 0},
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

const struct td_uarch_builtin *td_vendor_names_at(size_t i)
{
    return i < sizeof(names) / sizeof(names[0]) - 1 ? &names[i] : 0;
}
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
