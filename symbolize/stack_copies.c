/* SPDX-License-Identifier: MIT */
#include "symbolize/stack_copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbolize/identity.h"
#include "symbolize/unwind/unwind.h"

/* What is known of a module's tables. */
struct table {
    bool tried;
    struct td_unwind_table *table; /* NULL: it has none, or its file is not here */
};

struct td_replay {
    struct td_unwinder *unwinder; /* NULL before the first stack */
    enum td_cfi_arch arch;
    struct table *tables; /* by module */
    size_t cap;
    struct td_unwind_stack stack;
};

struct td_replay *td_replay_new(void)
{
    return td_xcalloc(1, sizeof(struct td_replay));
}

void td_replay_free(struct td_replay *replay)
{
    if (!replay)
        return;
    td_unwinder_free(replay->unwinder);
    for (size_t i = 0; i < replay->cap; i++)
        td_unwind_table_free(replay->tables[i].table);
    free(replay->tables);
    free(replay);
}

/* A file of another identity is another file, whatever its name. */
static bool is_recorded_file(const struct td_load_stack *stack, const struct td_load_place *place)
{
    if (place->about->kind != TD_MODULE_FILE)
        return false;
    const struct td_origin origin = td_origin_of(stack->model, stack->started_ns);
    return td_identity_check(place->path, &place->about->build_id, &origin, NULL) == TD_OK;
}

static const struct td_unwind_table *table_of(struct td_replay *replay,
                                              const struct td_load_stack *stack,
                                              const struct td_load_place *place)
{
    if (place->module >= replay->cap) {
        const size_t old = replay->cap;

        replay->tables = td_grow(replay->tables, &replay->cap, (size_t)place->module + 1,
                                 sizeof(*replay->tables));
        memset(replay->tables + old, 0, (replay->cap - old) * sizeof(*replay->tables));
    }
    struct table *const entry = &replay->tables[place->module];
    if (!entry->tried) {
        entry->tried = true;
        if (is_recorded_file(stack, place))
            td_unwind_table_open(&entry->table, place->path, NULL);
    }
    return entry->table;
}

struct question {
    struct td_replay *replay;
    const struct td_load_stack *stack;
};

static bool find(void *ctx, uint64_t address, struct td_unwind_place *place)
{
    const struct question *const question = ctx;
    struct td_load_place at;
    uint64_t in_file = 0;

    if (!question->stack->find(question->stack, address, &at))
        return false;
    *place = (struct td_unwind_place){.begin = at.begin,
                                      .end = at.end,
                                      .table = table_of(question->replay, question->stack, &at)};
    if (place->table &&
        td_unwind_table_address(place->table, at.offset + (address - at.begin), &in_file))
        place->bias = address - in_file;
    return true;
}

static size_t unwind(void *ctx, const struct td_load_stack *stack, uint64_t *frames, size_t max,
                     bool *cut)
{
    struct td_replay *const replay = ctx;
    struct question question = {.replay = replay, .stack = stack};
    struct td_unwind_sample sample = {.stack = stack->bytes,
                                      .stack_bytes = stack->size,
                                      .space = stack->space,
                                      .find = find,
                                      .ctx = &question};

    if (!replay->unwinder) {
        const bool arm = stack->machine && strcmp(stack->machine, "aarch64") == 0;

        replay->arch = arm ? TD_CFI_AARCH64 : TD_CFI_X86_64;
        replay->unwinder = td_unwinder_new(replay->arch);
    }
    if (!td_unwind_take_registers(&sample, replay->arch, stack->regs, stack->regs_mask))
        return 0;
    td_unwind(replay->unwinder, &sample, &replay->stack);
    const size_t count = replay->stack.count < max ? replay->stack.count : max;
    memcpy(frames, replay->stack.frames, count * sizeof(*frames));
    *cut = replay->stack.stop != TD_UNWIND_COMPLETE;
    return count;
}

struct td_load_unwinder td_replay_unwinder(struct td_replay *replay)
{
    return (struct td_load_unwinder){.ctx = replay, .unwind = unwind};
}
