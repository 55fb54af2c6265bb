/* SPDX-License-Identifier: MIT */
/* Split DWARF: the entries of a skeleton unit, in a .dwo file or in the .dwp package. */
#ifndef TD_SYMBOLIZE_DWARF_SPLIT_H
#define TD_SYMBOLIZE_DWARF_SPLIT_H

#include "symbolize/debugfile.h"

struct td_split {
    struct td_elf *dwo; /* NULL when the unit came out of the package */
    struct td_dwarf_image image;
    struct td_dwarf *dwarf;
};

/* The package beside the module or its debug file, opened once; NULL when there is none. */
struct td_package;
struct td_package *td_package_open(const struct td_object *object, const struct td_search *search);
void td_package_free(struct td_package *package); /* NULL is allowed */

/* Finds what belongs to the skeleton of `program`, by its id; `main` is the file that has the
 * skeleton. Returns the unit with the entries, which lives in *split; NULL, and the reason in err,
 * when it is not to be had. One unit of a package at a time. */
struct td_dwarf_unit *td_split_open(struct td_split *split, struct td_dwarf_unit *skeleton,
                                    struct td_elf *main, struct td_package *package,
                                    const struct td_search *search, const char *program,
                                    struct td_err *err);
void td_split_release(struct td_split *split);
/* Whether a unit only stands for one in a .dwo. */
bool td_split_is_skeleton(const struct td_dwarf_unit *unit);

#endif
