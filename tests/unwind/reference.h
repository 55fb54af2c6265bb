/* SPDX-License-Identifier: MIT */
/* libunwind over stored samples: a remote address space with our accessors. */
#ifndef TD_TESTS_UNWIND_REFERENCE_H
#define TD_TESTS_UNWIND_REFERENCE_H

#include "tests/unwind/triples.h"

struct reference;

struct reference *reference_new(void);
void reference_free(struct reference *reference);
/* Frames in the form of struct td_unwind_stack; returns how many. *no_table (NULL: not wanted):
 * nothing describes the code of the last one, so that libunwind can only try its frame pointer. */
size_t reference_unwind(struct reference *reference, const struct td_unwind_sample *sample,
                        const struct triple_space *space, uint64_t *frames, size_t max,
                        bool *no_table);

#endif
