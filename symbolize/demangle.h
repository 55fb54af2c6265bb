/* SPDX-License-Identifier: MIT */
/* Linkage names to names as the source has them: C++ (Itanium ABI) and Rust (v0 and legacy). */
#ifndef TD_SYMBOLIZE_DEMANGLE_H
#define TD_SYMBOLIZE_DEMANGLE_H

/* Without parameter lists, as profiles show them (overloads keep apart by their linkage names). The
 * caller frees it. NULL when the name is not mangled, or not well. */
char *td_demangle(const char *linkage_name);

#endif
