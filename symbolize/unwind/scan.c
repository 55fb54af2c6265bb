/* SPDX-License-Identifier: MIT */
#include "symbolize/unwind/scan.h"

#include <string.h>

#include "base/mem.h"

/* x86-64: the rules between the instructions of a prologue and an epilogue. */
static const struct td_unwind_rule x86_entered = {.cfa_kind = TD_UNWIND_REG,
                                                  .cfa_reg = TD_CFI_X86_RSP,
                                                  .cfa_offset = 8,
                                                  .ra_where = TD_UNWIND_AT_CFA,
                                                  .ra_offset = -8,
                                                  .guessed = true};
static const struct td_unwind_rule x86_pushed = {.cfa_kind = TD_UNWIND_REG,
                                                 .cfa_reg = TD_CFI_X86_RSP,
                                                 .cfa_offset = 16,
                                                 .ra_where = TD_UNWIND_AT_CFA,
                                                 .ra_offset = -8,
                                                 .fp_where = TD_UNWIND_AT_CFA,
                                                 .fp_offset = -16,
                                                 .guessed = true};
static const struct td_unwind_rule x86_framed = {.cfa_kind = TD_UNWIND_REG,
                                                 .cfa_reg = TD_CFI_X86_RBP,
                                                 .cfa_offset = 16,
                                                 .ra_where = TD_UNWIND_AT_CFA,
                                                 .ra_offset = -8,
                                                 .fp_where = TD_UNWIND_AT_CFA,
                                                 .fp_offset = -16,
                                                 .guessed = true};
static const struct td_unwind_rule a64_entered = {.cfa_kind = TD_UNWIND_REG,
                                                  .cfa_reg = TD_CFI_A64_SP,
                                                  .ra_where = TD_UNWIND_SAME,
                                                  .guessed = true};
static const struct td_unwind_rule a64_framed = {.cfa_kind = TD_UNWIND_REG,
                                                 .cfa_reg = TD_CFI_A64_FP,
                                                 .cfa_offset = 16,
                                                 .ra_where = TD_UNWIND_AT_CFA,
                                                 .ra_offset = -8,
                                                 .fp_where = TD_UNWIND_AT_CFA,
                                                 .fp_offset = -16,
                                                 .guessed = true};

const struct td_unwind_rule *td_unwind_frame_pointer_rule(enum td_cfi_arch arch)
{
    return arch == TD_CFI_X86_64 ? &x86_framed : &a64_framed;
}

struct scan {
    const uint8_t *code;
    size_t size;
    uint64_t address;
    td_unwind_scan_fn *fn;
    void *ctx;
};

static bool has(const struct scan *s, size_t at, const uint8_t *bytes, size_t count)
{
    return s->size - at >= count && memcmp(s->code + at, bytes, count) == 0;
}

static void emit(const struct scan *s, size_t at, const struct td_unwind_rule *rule)
{
    s->fn(s->ctx, s->address + at, rule);
}

/* push %rbp; mov %rsp,%rbp in either encoding. */
static bool x86_prologue(const struct scan *s, size_t at)
{
    return has(s, at, (const uint8_t[]){0x55, 0x48, 0x89, 0xe5}, 4) ||
           has(s, at, (const uint8_t[]){0x55, 0x48, 0x8b, 0xec}, 4);
}

static bool x86_endbr(const struct scan *s, size_t at)
{
    return at >= 4 && memcmp(s->code + at - 4, (const uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa}, 4) == 0;
}

/* leave; ret and pop %rbp; ret, as gcc and clang end a function. */
static bool x86_epilogue(const struct scan *s, size_t at)
{
    return has(s, at, (const uint8_t[]){0xc9, 0xc3}, 2) ||
           has(s, at, (const uint8_t[]){0x5d, 0xc3}, 2);
}

static void scan_x86(const struct scan *s)
{
    bool inside = false;

    for (size_t i = 0; i < s->size; i++) {
        if (s->code[i] == 0x55 && x86_prologue(s, i)) {
            emit(s, x86_endbr(s, i) ? i - 4 : i, &x86_entered);
            emit(s, i + 1, &x86_pushed);
            emit(s, i + 4, &x86_framed);
            inside = true;
            i += 3;
        } else if (inside && x86_epilogue(s, i)) {
            emit(s, i + 1, &x86_entered); /* at the ret */
            emit(s, i + 2, &x86_framed);  /* what another path jumps to */
            i++;
        }
    }
}

static uint32_t a64_word(const struct scan *s, size_t at)
{
    uint32_t word = 0;

    memcpy(&word, s->code + at, sizeof(word));
    return word;
}

/* stp x29, x30, [sp, #-N]!; mov x29, sp */
static void a64_prologue(const struct scan *s, size_t at)
{
    const int frame_bytes = (int)(0x80 - (a64_word(s, at) >> 15 & 0x7f)) * 8;
    struct td_unwind_rule rule = a64_framed;

    emit(s, at, &a64_entered);
    rule.cfa_offset = frame_bytes;
    rule.ra_offset = (int16_t)(8 - frame_bytes);
    rule.fp_offset = (int16_t)-frame_bytes;
    rule.cfa_reg = TD_CFI_A64_SP;
    emit(s, at + 4, &rule);
    rule.cfa_reg = TD_CFI_A64_FP;
    emit(s, at + 8, &rule);
}

/* adrp x16, PAGE; ldr x17, [x16, #N]: linkers write no call frame information for a PLT. */
static bool a64_is_plt(const struct scan *s, size_t at)
{
    return (a64_word(s, at) & 0x9f00001f) == 0x90000010 &&
           (a64_word(s, at + 4) & 0xffc003ff) == 0xf9400211;
}

/* An entry, which begins with bti c where branches are protected; the header, which is entered with
 * the link register to be saved, begins with stp x16, x30, [sp, #-16]!. */
static void a64_plt(const struct scan *s, size_t at)
{
    const uint32_t before = at >= 4 ? a64_word(s, at - 4) : 0;
    struct td_unwind_rule rule = a64_entered;

    if (before != 0xa9bf7bf0) {
        emit(s, before == 0xd503245f ? at - 4 : at, &a64_entered);
        return;
    }
    emit(s, at - 4, &a64_entered);
    rule.cfa_offset = 16;
    rule.ra_where = TD_UNWIND_AT_CFA;
    rule.ra_offset = -8;
    emit(s, at, &rule);
}

static void scan_a64(const struct scan *s)
{
    for (size_t i = -s->address & 3; i + 8 <= s->size; i += 4) {
        if ((a64_word(s, i) & 0xffe07fff) == 0xa9a07bfd && a64_word(s, i + 4) == 0x910003fd)
            a64_prologue(s, i);
        else if (a64_is_plt(s, i))
            a64_plt(s, i);
    }
}

void td_unwind_scan(enum td_cfi_arch arch, const uint8_t *code, size_t size, uint64_t address,
                    td_unwind_scan_fn *fn, void *ctx)
{
    const struct scan s = {code, size, address, fn, ctx};

    if (arch == TD_CFI_X86_64)
        scan_x86(&s);
    else
        scan_a64(&s);
}
