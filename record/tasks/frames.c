/* SPDX-License-Identifier: MIT */
#include "record/tasks/frames.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbolize/maps/vdso.h"

#if defined(__aarch64__)
static const enum td_cfi_arch own_arch = TD_CFI_AARCH64;
#else
static const enum td_cfi_arch own_arch = TD_CFI_X86_64;
#endif

/* What is known of a module's tables. */
struct table {
    bool tried;
    struct td_unwind_table *table; /* NULL: it has none, or its file cannot be had */
};

struct td_frames {
    const struct td_modules *modules;
    struct td_unwinder *unwinder;
    struct table *tables; /* by module */
    size_t cap;
    const struct td_space *space; /* of the present sample */
    struct td_unwind_stack stack;
};

struct td_frames *td_frames_new(const struct td_modules *modules)
{
    struct td_frames *frames = td_xcalloc(1, sizeof(*frames));

    frames->modules = modules;
    frames->unwinder = td_unwinder_new(own_arch);
    return frames;
}

void td_frames_free(struct td_frames *frames)
{
    if (!frames)
        return;
    for (size_t i = 0; i < frames->cap; i++)
        td_unwind_table_free(frames->tables[i].table);
    free(frames->tables);
    td_unwinder_free(frames->unwinder);
    free(frames);
}

static struct td_unwind_table *make_table(const struct td_frames *frames, uint32_t module)
{
    struct td_unwind_table *table = NULL;
    struct td_bytes image;
    int fd;

    switch (td_modules_kind(frames->modules, module)) {
    case TD_MODULE_VDSO:
        if (td_vdso_image(&image.data, &image.size))
            td_unwind_table_new(&table, image, NULL);
        break;
    case TD_MODULE_FILE:
        fd = td_modules_open(frames->modules, module);
        if (fd >= 0) {
            td_unwind_table_from_fd(&table, "module", fd, NULL);
            close(fd);
        }
        break;
    case TD_MODULE_UNKNOWN:
    case TD_MODULE_KERNEL:
    case TD_MODULE_KERNEL_MODULE:
    case TD_MODULE_ANON: break;
    }
    return table;
}

static const struct td_unwind_table *table_of(struct td_frames *frames, uint32_t module)
{
    if (module >= frames->cap) {
        const size_t old = frames->cap;

        frames->tables =
            td_grow(frames->tables, &frames->cap, (size_t)module + 1, sizeof(*frames->tables));
        memset(frames->tables + old, 0, (frames->cap - old) * sizeof(*frames->tables));
    }
    struct table *entry = &frames->tables[module];
    if (!entry->tried) {
        entry->tried = true;
        entry->table = make_table(frames, module);
    }
    return entry->table;
}

static bool find(void *ctx, uint64_t address, struct td_unwind_place *place)
{
    struct td_frames *frames = ctx;
    const struct td_range *range = td_range_set_find(&frames->space->ranges, address);
    uint64_t in_file;

    if (!range)
        return false;
    *place = (struct td_unwind_place){
        .begin = range->start, .end = range->end, .table = table_of(frames, range->value)};
    if (place->table &&
        td_unwind_table_address(place->table, range->offset + (address - range->start), &in_file))
        place->bias = address - in_file;
    return true;
}

enum td_unwind_stop td_frames_unwind(struct td_frames *frames, const struct td_task *task,
                                     const struct td_rec *rec, struct td_stack *stack)
{
    const struct td_rec_sample *from = &rec->u.sample;
    struct td_unwind_sample sample = {.stack = from->stack,
                                      .stack_bytes = (size_t)from->stack_size,
                                      .space = task->process->space->serial,
                                      .find = find,
                                      .ctx = frames};

    td_stack_take(stack, rec, false);
    if (!from->regs || from->regs_abi != PERF_SAMPLE_REGS_ABI_64 ||
        !td_unwind_take_registers(&sample, own_arch, from->regs, rec->layout->user_regs))
        return from->regs_abi == PERF_SAMPLE_REGS_ABI_NONE ? TD_UNWIND_COMPLETE
                                                           : TD_UNWIND_NO_TABLE;
    if (from->stack_size == 0) { /* as of a process that ends: its memory is gone */
        stack->truncated = true;
        return TD_UNWIND_SHORT_COPY;
    }
    frames->space = task->process->space;
    td_unwind(frames->unwinder, &sample, &frames->stack);
    td_stack_add_unwound(stack, frames->stack.frames, frames->stack.count);
    stack->truncated = stack->truncated || frames->stack.stop != TD_UNWIND_COMPLETE;
    return frames->stack.stop;
}
