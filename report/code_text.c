/* SPDX-License-Identifier: MIT */
#include "report/code_text.h"

#include <stdio.h>

enum { INSTRUCTION_BYTES = 16 };

struct td_code_text td_code_text_init(const struct td_model *model, enum td_syntax syntax)
{
    return (struct td_code_text){.model = model, .syntax = syntax, .module = TD_NONE};
}

void td_code_text_release(struct td_code_text *texts)
{
    td_disasm_free(texts->disasm);
    td_code_free(texts->code);
    texts->disasm = NULL;
    texts->code = NULL;
}

static void open_module(struct td_code_text *texts, uint32_t module)
{
    const struct td_module *m = td_model_module(texts->model, module);
    struct td_err err = TD_ERR_INIT;

    td_code_text_release(texts);
    texts->module = module;
    if (td_code_open(&texts->code, m->kind, td_model_string(texts->model, m->path), &m->build_id,
                     NULL, &err) < 0)
        texts->code = NULL;
    if (texts->code)
        td_disasm_new(&texts->disasm, td_code_machine(texts->code), texts->syntax, &err);
}

bool td_code_text_of(void *ctx, uint32_t module, uint64_t offset, char *text, size_t size)
{
    struct td_code_text *texts = ctx;
    const uint8_t *bytes = NULL;
    uint64_t address = offset;

    if (texts->module != module)
        open_module(texts, module);
    const size_t count =
        texts->code ? td_code_bytes(texts->code, offset, INSTRUCTION_BYTES, &bytes) : 0;
    if (count == 0 || !texts->disasm)
        return false;
    td_code_address(texts->code, offset, &address);
    const struct td_disasm_insn insn = td_disasm_next(texts->disasm, bytes, count, address);
    snprintf(text, size, "%s", insn.text);
    return *text != '\0';
}
