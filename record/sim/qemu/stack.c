/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/stack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "record/sim/model/trace.h"

enum {
    ARGUMENTS_MAX = 1 << 20,
    STACK_ALIGN = 16,    /* of the stack pointer when a program starts (psABI) */
    BEGIN_BYTES = 32768, /* from the modelled begin to the mapping's end */
    LINE_BYTES = 16384,  /* from the modelled begin to the line of the strings */
    SEARCH_BYTES = 4096, /* the first instructions push no more */
};

/* The words of a stack, copied: the guest's memory is ours, but may be gone. */
struct words {
    uint64_t *at;
    size_t count;
};

static struct words copy_words(uint64_t low, uint64_t high)
{
    struct words words = {.count = (size_t)(high - low) / sizeof(uint64_t)};

    words.at = td_xcalloc(words.count + 1, sizeof(uint64_t));
    const struct iovec local = {.iov_base = words.at, .iov_len = words.count * sizeof(uint64_t)};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)low, .iov_len = local.iov_len};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)local.iov_len)
        words.count = 0;
    return words;
}

/* Whether a stack begins here as a program gets it: argc, argv and NULL, envp and NULL, pairs of
 * the auxiliary vector up to AT_NULL. *end is the index behind it. */
static bool begins_here(const struct words *words, size_t i, uint64_t low, uint64_t high,
                        size_t *end)
{
    const uint64_t argc = words->at[i];
    size_t at = i + 1;

    if (argc == 0 || argc > ARGUMENTS_MAX || argc > words->count - i)
        return false;
    for (size_t n = 0; n < argc && at < words->count; n++, at++) {
        if (words->at[at] <= low || words->at[at] >= high)
            return false;
    }
    if (at >= words->count || words->at[at++] != 0)
        return false;
    while (at < words->count && words->at[at] != 0)
        at++;
    for (at++; at + 1 < words->count && words->at[at] != 0; at += 2)
        continue;
    *end = at + 2;
    return at + 1 < words->count;
}

/* The mapping that holds the address; false when none does. */
static bool find_mapping(uint64_t address, struct td_map_line *ret)
{
    char *text = td_procfs_text(NULL, "/proc/self/maps");
    const char *at = text;
    bool found = false;

    while (!found && at && td_map_line_next(&at, ret))
        found = ret->path_len == 0 && address >= ret->start && address < ret->end;
    free(text);
    return found;
}

void td_guest_stack_learn(struct td_guest_stack *stack, uint64_t address)
{
    const uint64_t from = address & ~(uint64_t)(STACK_ALIGN - 1);
    struct td_map_line mapping;
    size_t end = 0;

    if (!find_mapping(address, &mapping))
        return;
    const struct words words = copy_words(from, mapping.end);
    for (size_t i = 0; i < words.count && i < SEARCH_BYTES / sizeof(uint64_t);
         i += STACK_ALIGN / sizeof(uint64_t)) {
        if (!begins_here(&words, i, from, mapping.end, &end))
            continue;
        const uint64_t begin = from + i * sizeof(uint64_t);
        const uint64_t modelled = mapping.end - BEGIN_BYTES;
        *stack = (struct td_guest_stack){.low = mapping.start,
                                         .high = mapping.end,
                                         .strings = from + end * sizeof(uint64_t),
                                         .shift = begin - modelled,
                                         .line = modelled + LINE_BYTES};
        break;
    }
    free(words.at);
}

void td_guest_stack_apply(const struct td_guest_stack *stack, uint64_t *words, size_t count)
{
    const uint64_t span = stack->high - stack->low;

    if (span == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        const uint64_t address = TD_TRACE_ADDRESS(words[i]);

        if (words[i] & TD_TRACE_BLOCK_BIT || address - stack->low >= span)
            continue;
        const uint64_t moved = address >= stack->strings ? stack->line : address - stack->shift;
        words[i] = (words[i] - address) | TD_TRACE_ADDRESS(moved);
    }
}
