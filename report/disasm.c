/* SPDX-License-Identifier: MIT */
#include "report/disasm.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"

#define AARCH64_LENGTH 4

struct td_disasm {
    enum td_code_machine machine;
    bool known; /* decoder and formatter are set up */
    ZydisDecoder decoder;
    ZydisFormatter formatter;
};

enum td_syntax td_syntax_by_name(const char *name)
{
    static const char *const names[TD_SYNTAX_COUNT] = {
        [TD_SYNTAX_ATT] = "att", [TD_SYNTAX_INTEL] = "intel"};

    for (int s = 0; s < TD_SYNTAX_COUNT; s++) {
        if (strcmp(names[s], name) == 0)
            return (enum td_syntax)s;
    }
    return TD_SYNTAX_COUNT;
}

/* As short as objdump writes it: lower case, nothing padded with zeros. */
static bool set_up(struct td_disasm *d, enum td_syntax syntax)
{
    static const struct {
        ZydisFormatterProperty property;
        ZyanUPointer value;
    } properties[] = {{ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE},
                      {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
                      {ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED},
                      {ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
                      {ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED}};
    const bool wide = d->machine == TD_CODE_X86_64;

    if (!wide && d->machine != TD_CODE_X86_32)
        return false;
    if (ZYAN_FAILED(ZydisDecoderInit(
            &d->decoder, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
            wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32)) ||
        ZYAN_FAILED(ZydisFormatterInit(&d->formatter, syntax == TD_SYNTAX_INTEL
                                                          ? ZYDIS_FORMATTER_STYLE_INTEL
                                                          : ZYDIS_FORMATTER_STYLE_ATT)))
        return false;
    for (size_t i = 0; i < TD_ARRAY_SIZE(properties); i++)
        ZydisFormatterSetProperty(&d->formatter, properties[i].property, properties[i].value);
    return true;
}

int td_disasm_new(struct td_disasm **ret, enum td_code_machine machine, enum td_syntax syntax,
                  struct td_err *err)
{
    struct td_disasm *d = td_xcalloc(1, sizeof(*d));

    d->machine = machine;
    d->known = set_up(d, syntax);
    *ret = d;
    if (d->known)
        return TD_OK;
    return td_fail(err, TD_EUNSUPPORTED, "no disassembler for %s is built in: bytes are shown",
                   td_code_machine_name(machine));
}

void td_disasm_free(struct td_disasm *disasm)
{
    free(disasm);
}

/* A direct jump or call: its one visible operand is relative to the instruction's end. */
static void find_target(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                        uint64_t address, struct td_disasm_insn *insn)
{
    ZyanU64 target = 0;

    if (in->operand_count_visible == 0 || operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
        !operands[0].imm.is_relative ||
        ZYAN_FAILED(ZydisCalcAbsoluteAddress(in, &operands[0], address, &target)))
        return;
    insn->jumps = true;
    insn->target = target;
}

static bool is_vector(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands)
{
    for (int i = 0; i < in->operand_count_visible; i++) {
        if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        const ZydisRegisterClass class = ZydisRegisterGetClass(operands[i].reg.value);

        if (class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
            class == ZYDIS_REGCLASS_ZMM)
            return true;
    }
    return false;
}

/* Zydis 4.0 puts the suffix of an operand's size on vector instructions too, which have none. */
static void drop_suffix(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                        struct td_disasm_insn *insn)
{
    const char *name = ZydisMnemonicGetString(in->mnemonic);
    const size_t len = name ? strlen(name) : 0;

    if (len > 0 && is_vector(in, operands) && strncmp(insn->text, name, len) == 0 &&
        insn->text[len] && strchr("bwlq", insn->text[len]) && insn->text[len + 1] == ' ')
        memmove(insn->text + len, insn->text + len + 1, strlen(insn->text + len));
}

struct td_disasm_insn td_disasm_next(const struct td_disasm *disasm, const uint8_t *bytes,
                                     size_t size, uint64_t address)
{
    const size_t unknown = disasm->machine == TD_CODE_AARCH64 ? AARCH64_LENGTH : 1;
    struct td_disasm_insn insn = {.length = (uint8_t)(size < unknown ? size : unknown)};
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecodedInstruction in;

    if (!disasm->known ||
        ZYAN_FAILED(ZydisDecoderDecodeFull(&disasm->decoder, bytes, size, &in, operands)))
        return insn;
    insn.length = in.length;
    if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&disasm->formatter, &in, operands,
                                                    in.operand_count_visible, insn.text,
                                                    sizeof(insn.text), address, NULL)))
        insn.text[0] = '\0';
    drop_suffix(&in, operands, &insn);
    find_target(&in, operands, address, &insn);
    return insn;
}
