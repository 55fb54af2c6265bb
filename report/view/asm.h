/* SPDX-License-Identifier: MIT */
/* Instructions with what they cost beside them, source lines as headings. */
#ifndef TD_REPORT_VIEW_ASM_H
#define TD_REPORT_VIEW_ASM_H

#include "formats/export/json.h"
#include "report/listing.h"
#include "report/view/annotate.h"

void td_asm_print(const struct td_listing *listing, const struct td_measure *measure,
                  const struct td_annotate_opts *opts, const struct td_style *style);
/* "mov     %rax, (%rdi)": operands in a column, a target outside of the function named; or the
 * bytes. Not escaped. `size` > 0. */
void td_asm_text(const struct td_listing *listing, const struct td_model *model,
                 const struct td_listed *listed, char *text, size_t size);
/* "annotate": an object a listing, its instructions in "instructions". */
void td_asm_json(struct td_json *json, const struct td_measure *measure,
                 const struct td_listing *listings, size_t count);

#endif
