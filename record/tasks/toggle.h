/* SPDX-License-Identifier: MIT */
/* --toggle: where the code of one function is, in each module that has it. */
#ifndef TD_RECORD_TASKS_TOGGLE_H
#define TD_RECORD_TASKS_TOGGLE_H

#include <stdbool.h>
#include <stdint.h>

struct td_toggle;

/* `function` as the symbol tables have it, or as people write it, without parameters; borrowed. */
struct td_toggle *td_toggle_new(const char *function);
void td_toggle_free(struct td_toggle *toggle); /* NULL is allowed */
/* Looks the function up in a file, which may not be there, or be none with symbols. */
void td_toggle_add(struct td_toggle *toggle, uint32_t module, const char *path);
/* Whether the offset in the module's file is the function's code. */
bool td_toggle_has(const struct td_toggle *toggle, uint32_t module, uint64_t offset);
/* Whether any module has the function. */
bool td_toggle_found(const struct td_toggle *toggle);

#endif
