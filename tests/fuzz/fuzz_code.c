/* SPDX-License-Identifier: MIT */
/* An ELF file: its code at any offset, the extents of its functions, and what a disassembler makes
 * of the bytes. */
#include <stdlib.h>

#include "report/disasm.h"
#include "symbolize/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void disassemble(const struct td_code_file *code, uint64_t offset)
{
    static const enum td_code_machine machines[] = {TD_CODE_X86_64, TD_CODE_X86_32,
                                                    TD_CODE_AARCH64};

    for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
        const uint8_t *bytes = NULL;
        struct td_disasm *disasm = NULL;
        const size_t room = td_code_bytes(code, offset, 15, &bytes);

        (void)td_disasm_new(&disasm, machines[m], TD_SYNTAX_ATT, NULL);
        if (room > 0) {
            const struct td_disasm_insn insn = td_disasm_next(disasm, bytes, room, offset);

            if (insn.length == 0 || insn.length > room)
                __builtin_trap();
        }
        td_disasm_free(disasm);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_code_extent extents[64];
    struct td_code_file *code = NULL;

    if (td_code_parse(&code, "fuzz", data, size, NULL) != TD_OK)
        return 0;
    for (size_t i = 0; i < 64; i++)
        extents[i].offset = 16 * i;
    td_code_extents(code, extents, 64);
    for (size_t i = 0; i < 64; i++) {
        uint64_t address = 0;

        if (extents[i].start > extents[i].offset || extents[i].end < extents[i].start)
            __builtin_trap();
        if (td_code_address(code, extents[i].offset, &address))
            (void)td_code_offset(code, address, &address);
        disassemble(code, extents[i].offset);
    }
    td_code_free(code);
    return 0;
}
