/* SPDX-License-Identifier: MIT */
/*
 * unwind_foreign PROGRAM STACKS: unwinds stacks of an aarch64 program that a debugger took
 * (arm_stops.py says how they are written) by the tables and by the interpreter, and compares frame
 * by frame with what the debugger found. Exit 1 when they differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unwind/full.h"

#define SHOW 3 /* stacks that differ are printed, so many */

struct program {
    struct td_unwind_table *table;
    uint64_t begin, end; /* its code, where it is linked to */
};

static bool find(void *ctx, uint64_t address, struct td_unwind_place *place)
{
    const struct program *program = ctx;

    if (address < program->begin || address >= program->end)
        return false;
    *place = (struct td_unwind_place){program->begin, program->end, 0, program->table};
    return true;
}

/* The debugger's callers are return addresses. */
static bool equal(const struct td_unwind_stack *ours, const uint64_t *theirs, size_t count)
{
    for (size_t i = 0; i < count && i < ours->count; i++) {
        if (ours->frames[i] + (i > 0) != theirs[i])
            return false;
    }
    return count == ours->count;
}

static void show(const struct td_unwind_stack *ours, const uint64_t *theirs, size_t count)
{
    printf("stopped: %s\n", td_unwind_stop_name(ours->stop));
    for (size_t i = 0; i < count || i < ours->count; i++)
        printf("  %2zu ours %#" PRIx64 " debugger's %#" PRIx64 "\n", i,
               i < ours->count ? ours->frames[i] + (i > 0) : 0, i < count ? theirs[i] : 0);
}

static void take_sample(struct td_rd *rd, struct td_unwind_sample *sample)
{
    for (unsigned i = 0; i <= TD_CFI_A64_PC; i++)
        sample->regs[i] = td_rd_u64(rd);
    sample->known = (UINT64_C(1) << (TD_CFI_A64_PC + 1)) - 1;
    sample->stack_bytes = td_rd_u64(rd);
    sample->stack = td_rd_bytes(rd, sample->stack_bytes);
}

static size_t take_frames(struct td_rd *rd, uint64_t *frames)
{
    const size_t count = td_rd_u64(rd);

    for (size_t i = 0; i < count && i < TD_UNWIND_FRAMES_MAX; i++)
        frames[i] = td_rd_u64(rd);
    return count < TD_UNWIND_FRAMES_MAX ? count : TD_UNWIND_FRAMES_MAX;
}

static int compare(struct td_rd *rd, struct program *program)
{
    static struct td_unwind_stack stack, full;
    static uint64_t theirs[TD_UNWIND_FRAMES_MAX];
    struct td_unwinder *unwinder = td_unwinder_new(TD_CFI_AARCH64);
    struct td_unwind_sample sample = {.space = 1, .find = find, .ctx = program};
    unsigned samples = 0, differ = 0, full_differs = 0, complete = 0, frames = 0;

    while (td_rd_left(rd) > 0) {
        take_sample(rd, &sample);
        const size_t count = take_frames(rd, theirs);
        if (!td_rd_ok(rd))
            break;
        td_unwind(unwinder, &sample, &stack);
        td_unwind_full(TD_CFI_AARCH64, &sample, &full);
        samples++;
        frames += (unsigned)stack.count;
        complete += stack.stop == TD_UNWIND_COMPLETE;
        full_differs += full.count != stack.count || full.stop != stack.stop ||
                        memcmp(full.frames, stack.frames, full.count * sizeof(uint64_t)) != 0;
        if (!equal(&stack, theirs, count) && differ++ < SHOW)
            show(&stack, theirs, count);
    }
    td_unwinder_free(unwinder);
    printf("%u stacks, %u frames, %u complete; differ from interpreter %u, from debugger %u\n",
           samples, frames, complete, full_differs, differ);
    return !td_rd_ok(rd) || samples == 0 || differ || full_differs || complete < samples;
}

int main(int argc, char **argv)
{
    struct program program = {.table = NULL};
    struct td_buf file = {0};
    struct td_err err = TD_ERR_INIT;

    if (argc < 3 || td_unwind_table_open(&program.table, argv[1], &err) < 0 ||
        td_file_read(argv[2], SIZE_MAX / 2, &file, &err) < 0) {
        fprintf(stderr, "unwind_foreign: %s\n", argc < 3 ? "PROGRAM STACKS" : err.text);
        return 2;
    }
    struct td_rd rd = td_rd_init(file.data, file.len, 0);
    program.begin = td_rd_u64(&rd);
    program.end = td_rd_u64(&rd);
    const int rc = compare(&rd, &program);
    td_unwind_table_free(program.table);
    td_buf_release(&file);
    return rc;
}
