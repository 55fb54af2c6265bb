/* SPDX-License-Identifier: MIT */
/*
 * unwind_rows FILE...: at every address of every function, the compact table must say what libdw's
 * interpreter (dwarf_cfi_addrframe) says of the same file. Exit 1 when they differ.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbolize/unwind/rule.h"
#include "symbolize/unwind/table.h"

struct counts {
    uint64_t addresses, guessed, odd, differ;
};

/* libdw's answer about one register, in our words. */
static bool where_of(Dwarf_Frame *frame, unsigned reg, uint8_t *where, int16_t *offset)
{
    Dwarf_Op mem[3], *ops;
    size_t n;

    if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n) != 0)
        return false;
    *offset = 0;
    if (n == 0) {
        *where = ops == mem ? TD_UNWIND_UNDEFINED : TD_UNWIND_SAME;
        return true;
    }
    if (ops[n - 1].atom == DW_OP_stack_value)
        return false;
    if (ops[0].atom == DW_OP_call_frame_cfa) {
        *where = TD_UNWIND_AT_CFA;
        *offset = n > 1 ? (int16_t)ops[1].number : 0;
        if (n == 1 || (n == 2 && ops[1].atom == DW_OP_plus_uconst))
            return true;
        /* An expression starts with the CFA on its stack; those that compact rules know replace
         * it by a register. */
        *where = ops[1].atom == DW_OP_breg0 + TD_CFI_X86_RSP ? TD_UNWIND_AT_SP : TD_UNWIND_AT_FP;
        return n == 2 && (ops[1].atom == DW_OP_breg0 + TD_CFI_X86_RSP ||
                          ops[1].atom == DW_OP_breg0 + TD_CFI_X86_RBP);
    }
    if (n == 1 && ops[0].atom == DW_OP_regx) {
        *where = TD_UNWIND_IN_REG;
        *offset = (int16_t)ops[0].number;
        return true;
    }
    if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
        *where = TD_UNWIND_IN_REG;
        *offset = (int16_t)(ops[0].atom - DW_OP_reg0);
        return true;
    }
    return false;
}

static bool cfa_of(Dwarf_Frame *frame, struct td_unwind_rule *rule)
{
    Dwarf_Op *ops;
    size_t n;

    if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0)
        return false;
    if (n == 9 && ops[6].atom == DW_OP_lit3) {
        rule->cfa_kind = TD_UNWIND_PLT;
        rule->extra = (int16_t)(ops[4].atom - DW_OP_lit0);
        return true;
    }
    if (ops[0].atom == DW_OP_bregx) {
        rule->cfa_reg = (uint8_t)ops[0].number;
        rule->cfa_offset = (int32_t)ops[0].number2;
    } else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
        rule->cfa_reg = (uint8_t)(ops[0].atom - DW_OP_breg0);
        rule->cfa_offset = (int32_t)ops[0].number;
    } else {
        return false;
    }
    rule->cfa_kind = TD_UNWIND_REG;
    if (n == 1)
        return true;
    rule->cfa_kind = TD_UNWIND_DEREF;
    rule->extra = n > 2 ? (int16_t)ops[2].number : 0;
    return ops[1].atom == DW_OP_deref && n <= 3;
}

/* Whether the caller's stack pointer is the CFA, said in one of libdw's ways. */
static bool sp_is_cfa(Dwarf_Frame *frame, unsigned sp, const struct td_unwind_rule *rule)
{
    Dwarf_Op mem[3], *ops;
    size_t n;

    if (dwarf_frame_register(frame, (int)sp, mem, &ops, &n) != 0)
        return false;
    if (n == 0 ||
        (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value))
        return true;
    return rule->cfa_kind == TD_UNWIND_DEREF && n == 2 &&
           ops[1].atom == DW_OP_breg0 + rule->cfa_reg &&
           ops[1].number == (Dwarf_Word)(int64_t)rule->cfa_offset;
}

/* The rule as libdw sees it; false when it is one that a compact rule cannot say. */
static bool expected(Dwarf_CFI *cfi, uint64_t address, enum td_cfi_arch arch,
                     struct td_unwind_rule *rule)
{
    Dwarf_Frame *frame = NULL;
    bool signal_frame = false, ok = true;

    memset(rule, 0, sizeof(*rule));
    if (dwarf_cfi_addrframe(cfi, address, &frame) != 0)
        return true; /* none: an empty rule */
    const int ra = dwarf_frame_info(frame, NULL, NULL, &signal_frame);
    ok = ra >= 0 && where_of(frame, (unsigned)ra, &rule->ra_where, &rule->ra_offset);
    if (ok && rule->ra_where == TD_UNWIND_UNDEFINED) {
        rule->cfa_kind = TD_UNWIND_REG;
    } else {
        rule->signal_frame = signal_frame;
        ok = ok && cfa_of(frame, rule) &&
             where_of(frame, td_unwind_fp(arch), &rule->fp_where, &rule->fp_offset) &&
             sp_is_cfa(frame, td_unwind_sp(arch), rule);
    }
    free(frame);
    return ok;
}

/* libdw calls a frame pointer that the ABI preserves the same, where nothing is said of it. */
static void compare_at(const struct td_unwind_table *table, Dwarf_CFI *cfi, uint64_t address,
                       struct counts *counts)
{
    const struct td_unwind_rule *ours = td_unwind_table_find(table, address);
    struct td_unwind_rule theirs;
    const bool plain = expected(cfi, address, table->elf.arch, &theirs);

    counts->addresses++;
    counts->guessed += ours->guessed;
    /* The entry point's function is the outermost, said or unsaid. */
    if (ours == td_unwind_table_find(table, table->elf.entry) &&
        ours->ra_where == TD_UNWIND_UNDEFINED)
        return;
    if (ours->guessed && theirs.cfa_kind == TD_UNWIND_NONE && plain)
        return;
    counts->odd += ours->cfa_kind == TD_UNWIND_ODD;
    if (ours->cfa_kind == TD_UNWIND_ODD ? !plain : plain && !memcmp(ours, &theirs, sizeof(theirs)))
        return;
    if (counts->differ++ < 20)
        printf("  %#llx: ours %u r%u%+d ra %u%+d fp %u%+d %d, libdw%s %u r%u%+d ra %u%+d fp %u%+d "
               "%d\n",
               (unsigned long long)address, ours->cfa_kind, ours->cfa_reg, ours->cfa_offset,
               ours->ra_where, ours->ra_offset, ours->fp_where, ours->fp_offset, ours->extra,
               plain ? "" : " (odd)", theirs.cfa_kind, theirs.cfa_reg, theirs.cfa_offset,
               theirs.ra_where, theirs.ra_offset, theirs.fp_where, theirs.fp_offset, theirs.extra);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int check(const char *path)
{
    struct td_unwind_table *table;
    struct td_err err = TD_ERR_INIT;
    struct counts counts = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
    const uint64_t start = now_ns();

    if (!cfi || td_unwind_table_open(&table, path, &err) < 0) {
        fprintf(stderr, "unwind_rows: %s: %s\n", path, cfi ? err.text : "libdw finds no CFI");
        return 77;
    }
    const double build_ms = (double)(now_ns() - start) / 1e6;
    const uint32_t last = table->row_count ? table->pcs[table->row_count - 1] : 0;
    for (uint32_t pc = 0; pc < last; pc++)
        compare_at(table, cfi, table->base + pc, &counts);
    printf("%s: built in %.1f ms, %u rows of %u FDEs, %u rules, %zu bytes without sections, "
           "%llu addresses, %llu by prologue, %llu odd, %u bad, %llu differ\n",
           path, build_ms, table->row_count, table->fde_count, table->rule_count,
           td_unwind_table_bytes(table) - table->elf.sections[0].size - table->elf.sections[1].size,
           (unsigned long long)counts.addresses, (unsigned long long)counts.guessed,
           (unsigned long long)counts.odd, table->bad_count, (unsigned long long)counts.differ);
    td_unwind_table_free(table);
    dwarf_cfi_end(cfi);
    elf_end(elf);
    close(fd);
    return counts.differ ? 1 : 0;
}

int main(int argc, char **argv)
{
    int worst = 0;

    elf_version(EV_CURRENT);
    for (int i = 1; i < argc; i++) {
        const int rc = check(argv[i]);
        if (rc == 1 || worst == 0)
            worst = rc;
    }
    return worst;
}
