/* SPDX-License-Identifier: MIT */
#include "formats/kernel/chain.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/cursor.h"

/* Newer than an older system's header: what follows is no address. */
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)

void td_stack_release(struct td_stack *stack)
{
    free(stack->frames);
    *stack = (struct td_stack){0};
}

static void push(struct td_stack *stack, uint64_t address, uint32_t context, bool caller)
{
    stack->frames = td_grow(stack->frames, &stack->cap, stack->len + 1, sizeof(*stack->frames));
    stack->frames[stack->len++] =
        (struct td_stack_frame){.address = address, .context = context, .caller = caller};
}

static uint32_t context_of_address(uint64_t address)
{
    return address >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

/* The mode that a PERF_CONTEXT_* marker stands for, or 0. */
static uint32_t context_of_marker(uint64_t marker)
{
    switch ((int64_t)marker) {
    case PERF_CONTEXT_HV: return PERF_RECORD_MISC_HYPERVISOR;
    case PERF_CONTEXT_KERNEL: return PERF_RECORD_MISC_KERNEL;
    case PERF_CONTEXT_USER: return PERF_RECORD_MISC_USER;
    case PERF_CONTEXT_GUEST:
    case PERF_CONTEXT_GUEST_KERNEL: return PERF_RECORD_MISC_GUEST_KERNEL;
    case PERF_CONTEXT_GUEST_USER: return PERF_RECORD_MISC_GUEST_USER;
    default: return 0;
    }
}

static uint64_t chain_word(const struct td_rec_sample *sample, uint64_t i, bool big)
{
    return td_cur_word(sample->chain + i * 8, big);
}

/* The calls that have not returned, the innermost first. Of a stack whose leaf is the kernel's, the
 * user's own innermost frame comes before them: `left`, where the chain says that the user was
 * left, or the entry of the function that was called last. */
static void push_calls(struct td_stack *stack, const struct td_rec *rec, bool big, uint64_t left)
{
    const struct td_rec_sample *const sample = &rec->u.sample;
    const uint8_t *entry = sample->branches; /* perf_branch_entry: from, to, flags */
    const uint32_t most = rec->layout->branch_most;

    if (!td_stack_in_user(stack))
        push(stack, left && !rec->layout->user_at_entry ? left : td_cur_word(entry + 8, big),
             PERF_RECORD_MISC_USER, false);
    stack->truncated = most && sample->branch_count >= most;
    for (uint64_t i = 0; i < sample->branch_count; i++, entry += TD_BRANCH_BYTES) {
        const uint64_t from = td_cur_word(entry, big);

        if (from == 0)
            return;
        push(stack, from, PERF_RECORD_MISC_USER, true);
    }
}

/* A precise address may lie in user code though the chain was taken in the kernel, whose part of
 * the chain is then not this stack's. */
static uint64_t chain_begin(const struct td_rec_sample *sample, bool user_leaf, bool big)
{
    for (uint64_t i = 0; user_leaf && i < sample->chain_count; i++) {
        if (chain_word(sample, i, big) == (uint64_t)PERF_CONTEXT_USER)
            return i;
    }
    return 0;
}

/* The first address of each context is where that context was interrupted, or left by a system
 * call; the others are return addresses. The very first is the sample's address again, or where the
 * interrupt was taken when the sample's is more precise. */
static void push_callers(struct td_stack *stack, const struct td_rec *rec, bool big)
{
    const struct td_rec_sample *const sample = &rec->u.sample;
    const uint32_t leaf = stack->frames[0].context;
    const bool calls =
        sample->branch_count > 0 && rec->layout->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
    uint32_t context = leaf;
    bool first = true, exact = true;

    for (uint64_t i = chain_begin(sample, td_stack_in_user(stack), big); i < sample->chain_count;
         i++) {
        const uint64_t word = chain_word(sample, i, big);

        if (word == CONTEXT_USER_DEFERRED) {
            stack->truncated = true;
            return;
        }
        if (word >= (uint64_t)PERF_CONTEXT_MAX) {
            context = context_of_marker(word);
            exact = true;
            if (calls && context == PERF_RECORD_MISC_USER) {
                push_calls(stack, rec, big,
                           i + 1 < sample->chain_count ? chain_word(sample, i + 1, big) : 0);
                return;
            }
            continue;
        }
        const bool is_leaf = first && context == leaf;
        first = false;
        if (!is_leaf && word != 0)
            push(stack, exact ? word : word - 1, context, !exact);
        exact = false;
    }
}

void td_stack_set(struct td_stack *stack, uint64_t address)
{
    stack->len = 0;
    stack->truncated = false;
    push(stack, address, context_of_address(address), false);
}

void td_stack_take(struct td_stack *stack, const struct td_rec *rec, bool big)
{
    td_stack_set(stack, rec->u.sample.ip);
    if (rec->mode != PERF_RECORD_MISC_CPUMODE_UNKNOWN)
        stack->frames[0].context = rec->mode;
    push_callers(stack, rec, big);
}

void td_stack_add_unwound(struct td_stack *stack, const uint64_t *frames, size_t count)
{
    const bool user_leaf = td_stack_in_user(stack);

    if (user_leaf)
        stack->len = 1;
    for (size_t i = user_leaf; i < count; i++)
        push(stack, frames[i], PERF_RECORD_MISC_USER, i > 0);
}

bool td_stack_in_user(const struct td_stack *stack)
{
    return stack->frames[0].context == PERF_RECORD_MISC_USER;
}

bool td_stack_is_kernel(const struct td_stack_frame *frame)
{
    return frame->context == PERF_RECORD_MISC_KERNEL ||
           (frame->context == PERF_RECORD_MISC_USER && !frame->caller && frame->address >> 63);
}
