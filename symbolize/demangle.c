/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <stddef.h>
#include <string.h>

/* The longest name that is tried: the demangler's work can grow faster than its input. */
#define NAME_MAX_BYTES 65536

char *td_demangle(const char *linkage_name)
{
    /* "_Z" C++ and legacy Rust, "_R" Rust v0; everything else is a plain name. */
    if (linkage_name[0] != '_' || (linkage_name[1] != 'Z' && linkage_name[1] != 'R') ||
        strlen(linkage_name) > NAME_MAX_BYTES)
        return NULL;
    return cplus_demangle(linkage_name, DMGL_AUTO);
}
