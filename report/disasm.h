/* SPDX-License-Identifier: MIT */
/* One instruction as text. The only part of tdreport that knows a disassembler. */
#ifndef TD_REPORT_DISASM_H
#define TD_REPORT_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/code.h"

enum td_syntax { TD_SYNTAX_ATT, TD_SYNTAX_INTEL, TD_SYNTAX_COUNT };

struct td_disasm;

struct td_disasm_insn {
    uint8_t length; /* bytes */
    char text[96];  /* "" when these bytes are no instruction, or no disassembler knows them */
    bool jumps;     /* or calls, to an address that the instruction itself names */
    uint64_t target;
};

/* TD_EUNSUPPORTED, saying so, when none is built in for this machine: td_disasm_next then still
 * gives lengths, as good as the machine allows. Never NULL on return. */
int td_disasm_new(struct td_disasm **ret, enum td_code_machine machine, enum td_syntax syntax,
                  struct td_err *err);
void td_disasm_free(struct td_disasm *disasm); /* NULL is allowed */

/* The instruction at `bytes`, which stands at `address`; `size` > 0. */
struct td_disasm_insn td_disasm_next(const struct td_disasm *disasm, const uint8_t *bytes,
                                     size_t size, uint64_t address);

/* "att", "intel"; TD_SYNTAX_COUNT for another word. */
enum td_syntax td_syntax_by_name(const char *name);

#endif
