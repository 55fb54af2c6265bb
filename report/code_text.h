/* SPDX-License-Identifier: MIT */
/* The text of single instructions of a profile's modules. */
#ifndef TD_REPORT_CODE_TEXT_H
#define TD_REPORT_CODE_TEXT_H

#include "formats/model.h"
#include "report/disasm.h"

/* Keeps the code of the module that was asked for last. */
struct td_code_text {
    const struct td_model *model; /* borrowed */
    enum td_syntax syntax;
    uint32_t module; /* TD_NONE: none yet */
    struct td_code_file *code;
    struct td_disasm *disasm;
};

/* Release it afterwards. */
struct td_code_text td_code_text_init(const struct td_model *model, enum td_syntax syntax);
void td_code_text_release(struct td_code_text *texts);
/* False: the module's code cannot be had, or nobody knows it. `ctx` is a struct td_code_text. */
bool td_code_text_of(void *ctx, uint32_t module, uint64_t offset, char *text, size_t size);

#endif
