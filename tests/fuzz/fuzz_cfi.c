/* SPDX-License-Identifier: MIT */
/* A call frame section (first byte: bit 0 .debug_frame, bit 1 aarch64), its rows, its expressions.
 */
#include "symbolize/unwind/cfi.h"
#include "tests/unwind/full.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_reg(void *ctx, unsigned reg, uint64_t *value)
{
    (void)ctx;
    *value = 8 * (uint64_t)reg;
    return true;
}

static bool read_memory(void *ctx, uint64_t address, unsigned bytes, uint64_t *value)
{
    (void)ctx;
    *value = address + bytes;
    return address % 3 != 0;
}

static bool take_row(void *ctx, uint64_t begin, uint64_t end, const struct td_cfi_row *row)
{
    const struct td_cfi *cfi = ctx;
    const struct td_cfi_access access = {read_reg, read_memory, NULL};
    uint64_t value;

    if (begin >= end)
        __builtin_trap();
    for (unsigned reg = 0; reg < TD_CFI_REGISTERS; reg++) {
        if (row->regs[reg].kind == TD_CFI_SAVED_EXPR || row->regs[reg].kind == TD_CFI_VALUE_EXPR)
            td_cfi_eval(cfi->data + row->regs[reg].expr, row->regs[reg].expr_size, &begin, &access,
                        &value);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t budget = 10000;
    struct td_cfi_fde fde;
    int n;

    if (size < 1)
        return 0;
    struct td_cfi cfi = {.data = data + 1,
                         .size = size - 1,
                         .address = 0x10000,
                         .arch = data[0] & 2 ? TD_CFI_AARCH64 : TD_CFI_X86_64,
                         .debug_frame = data[0] & 1};
    struct td_cfi_reader reader = {.cfi = &cfi};
    while ((n = td_cfi_next(&reader, &fde, NULL)) != 0) {
        if (n == 1)
            td_cfi_rows(&cfi, &reader.cie, &fde, &budget, take_row, &cfi, NULL);
    }
    return 0;
}
