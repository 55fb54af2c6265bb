/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The longest name that is tried: the demangler's work can grow faster than its input. */
#define NAME_MAX_BYTES 65536

/* Legacy Rust names are C++ names that end in a hash: "17h", 16 hexadecimal digits, "E". */
static bool is_legacy_rust(const char *name, size_t len)
{
    return len > 20 && name[len - 1] == 'E' && memcmp(name + len - 20, "17h", 3) == 0;
}

char *td_demangle(const char *linkage_name)
{
    const size_t len = strlen(linkage_name);

    if (len < 3 || len > NAME_MAX_BYTES || linkage_name[0] != '_')
        return NULL;
    if (linkage_name[1] == 'R' || (linkage_name[1] == 'Z' && is_legacy_rust(linkage_name, len))) {
        char *name = rust_demangle(linkage_name, DMGL_NO_OPTS);

        if (name)
            return name;
    }
    return linkage_name[1] == 'Z' ? cplus_demangle_v3(linkage_name, DMGL_NO_OPTS) : NULL;
}
