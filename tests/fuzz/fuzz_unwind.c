/* SPDX-License-Identifier: MIT */
/*
 * The table builder and both walkers. First byte: bit 0 the rest is an ELF image, bit 1 aarch64.
 * Otherwise: registers (33 words), 512 bytes of stack, then the bytes of .eh_frame.
 */
#include <string.h>

#include "symbolize/unwind/unwind.h"
#include "tests/unwind/synthetic.h"
#include "tests/unwind/full.h"

enum { STACK_BYTES = 512, HEAD_BYTES = 8 * TD_CFI_REGISTERS + STACK_BYTES };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find(void *ctx, uint64_t address, struct td_unwind_place *place)
{
    /* The file at 0, and a page of code without a file. */
    *place = (struct td_unwind_place){.begin = 0, .end = 0x20000, .table = ctx};
    if (address >= 0x20000 && address < 0x21000)
        *place = (struct td_unwind_place){.begin = 0x20000, .end = 0x21000};
    return address < 0x21000;
}

static void walk(enum td_cfi_arch arch, const uint8_t *data, struct td_unwind_table *table)
{
    struct td_unwind_sample sample = {.known = (UINT64_C(1) << TD_CFI_REGISTERS) - 1,
                                      .stack = data + 8 * TD_CFI_REGISTERS,
                                      .stack_bytes = STACK_BYTES,
                                      .find = find,
                                      .ctx = table};
    static struct td_unwind_stack fast, full;
    struct td_unwinder *unwinder = td_unwinder_new(arch);

    memcpy(sample.regs, data, sizeof(sample.regs));
    td_unwind(unwinder, &sample, &fast);
    td_unwind_full(arch, &sample, &full);
    if (fast.count == 0 || full.count == 0 || fast.count > TD_UNWIND_FRAMES_MAX ||
        full.count > TD_UNWIND_FRAMES_MAX)
        __builtin_trap();
    td_unwinder_free(unwinder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_buf elf = {0};
    struct td_unwind_table *table = NULL;

    if (size < 1)
        return 0;
    const enum td_cfi_arch arch = data[0] & 2 ? TD_CFI_AARCH64 : TD_CFI_X86_64;
    const bool whole = data[0] & 1;
    if (whole) {
        td_buf_bytes(&elf, data + 1, size - 1);
    } else if (size > 1 + HEAD_BYTES) {
        struct td_buf frames = {0};
        td_buf_bytes(&frames, data + 1 + HEAD_BYTES, size - 1 - HEAD_BYTES);
        const struct synthetic from = {.arch = arch, .frames = &frames, .section = ".eh_frame"};
        synthetic_elf(&elf, &from);
        td_buf_release(&frames);
    }
    const struct td_bytes image = {.data = elf.data, .size = elf.len};
    if (elf.len && td_unwind_table_new(&table, image, NULL) == TD_OK) {
        for (uint64_t address = 0; address < 0x12000; address += 61)
            td_unwind_table_find(table, address);
        if (!whole)
            walk(arch, data + 1, table);
    }
    td_unwind_table_free(table);
    td_buf_release(&elf);
    return 0;
}
