/* SPDX-License-Identifier: MIT */
#include "record/tasks/stacks.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* More frames than this are cut off at the outer end; the kernel gives 127 unless
 * perf_event_max_stack was raised. */
#define DEPTH_MAX 512
/* Threads whose last chain is remembered; others' chains are interned whole, which is right but
 * slower. */
#define CACHE_COUNT 64

/* The last chain of a thread, the outermost frame first, and what it was interned as. */
struct cache {
    uint32_t tid, generation, epoch;
    uint64_t serial; /* of the address space; 0: empty */
    size_t len;
    uint64_t addresses[DEPTH_MAX];
    struct td_stack_node nodes[DEPTH_MAX];
};

struct td_stacks {
    struct td_profile_writer *writer;
    struct td_modules *modules;
    struct td_kernel *kernel;
    uint32_t unknown; /* the module of addresses outside of all */
    uint32_t vdso;    /* its module in the profile; TD_NONE */
    struct cache caches[CACHE_COUNT];
};

struct td_stacks *td_stacks_new(struct td_profile_writer *writer, struct td_modules *modules,
                                struct td_kernel *kernel)
{
    struct td_stacks *stacks = td_xcalloc(1, sizeof(*stacks));

    stacks->writer = writer;
    stacks->modules = modules;
    stacks->kernel = kernel;
    stacks->vdso = TD_NONE;
    stacks->unknown = td_modules_put_kernel(modules, TD_MODULE_UNKNOWN, "[unknown]", 0, NULL);
    return stacks;
}

void td_stacks_free(struct td_stacks *stacks)
{
    free(stacks);
}

bool td_stacks_take_vdso(struct td_stacks *stacks, uint32_t *profile_module)
{
    if (stacks->vdso == TD_NONE)
        return false;
    *profile_module = stacks->vdso;
    stacks->vdso = TD_NONE;
    return true;
}

/* Where an address is: module of ours, offset as in the profile. */
struct place {
    uint32_t module;
    uint64_t offset;
    bool mapped;
};

static struct place locate(struct td_stacks *stacks, const struct td_task *task,
                           const struct td_stack_frame *frame)
{
    struct place place = {.module = stacks->unknown, .offset = frame->address};

    const struct td_range *range =
        frame->context == PERF_RECORD_MISC_USER
            ? td_range_set_find(&task->process->space->ranges, frame->address)
            : NULL;
    if (range) {
        place.module = range->value;
        place.offset = range->offset + (frame->address - range->start);
        place.mapped = true;
    } else if (td_stack_is_kernel(frame) && frame->address >> 63) {
        place.module = td_kernel_locate(stacks->kernel, frame->address, &place.offset);
        place.mapped = true;
    }
    return place;
}

/* The node of `frame` inside of `outer`. A caller outside every mapping is no caller but what a
 * register without a frame pointer held: what is outside of it is dropped. */
static struct td_stack_node push(struct td_stacks *stacks, const struct td_task *task,
                                 const struct td_stack_frame *frame, struct td_stack_node outer)
{
    const struct place place = locate(stacks, task, frame);
    bool added = false;

    if (!place.mapped && frame->caller)
        return (struct td_stack_node){.truncated = true, .bad_caller = true};
    const uint32_t module = td_modules_use(stacks->modules, place.module, &added);
    const enum td_module_kind kind = td_modules_kind(stacks->modules, place.module);

    if (added && kind == TD_MODULE_VDSO)
        stacks->vdso = module;
    outer.jit = outer.jit || kind == TD_MODULE_ANON;
    outer.unmapped = !place.mapped;
    outer.node = td_profile_node(stacks->writer, outer.node, module, place.offset);
    return outer;
}

/* The thread's cache, emptied when it was another's or what it says is out of date. */
static struct cache *cache_of(struct td_stacks *stacks, const struct td_task *task)
{
    struct cache *cache = &stacks->caches[td_hash_u64(task->tid) % CACHE_COUNT];
    const uint32_t epoch = td_profile_node_epoch(stacks->writer);

    if (cache->tid != task->tid || cache->generation != task->process->generation ||
        cache->serial != task->process->space->serial || cache->epoch != epoch) {
        cache->tid = task->tid;
        cache->generation = task->process->generation;
        cache->serial = task->process->space->serial;
        cache->epoch = epoch;
        cache->len = 0;
    }
    return cache;
}

/* Frames that differ in kind at one address are told apart by the lowest bit that addresses of
 * code, shifted, leave free. */
static uint64_t cache_key(const struct td_stack_frame *frame)
{
    return frame->address << 1 | frame->caller;
}

/* Interns stack->frames from the outermost on; returns false when the nodes were started anew
 * meanwhile, so that the first ones are no more. */
static bool intern(struct td_stacks *stacks, const struct td_task *task,
                   const struct td_stack *stack, struct cache *cache, struct td_stack_node *ret)
{
    const size_t depth = stack->len < DEPTH_MAX ? stack->len : DEPTH_MAX;
    struct td_stack_node node = {.truncated = stack->truncated || depth < stack->len};
    bool same = true;

    for (size_t i = 0; i < depth; i++) {
        const struct td_stack_frame *frame = &stack->frames[depth - 1 - i];
        const uint64_t key = cache_key(frame);

        same = same && i < cache->len && cache->addresses[i] == key;
        if (same) {
            node = cache->nodes[i];
            continue;
        }
        node = push(stacks, task, frame, node);
        cache->addresses[i] = key;
        cache->nodes[i] = node;
    }
    cache->len = depth;
    *ret = node;
    return td_profile_node_epoch(stacks->writer) == cache->epoch;
}

struct td_stack_node td_stacks_intern(struct td_stacks *stacks, const struct td_task *task,
                                      const struct td_stack *stack)
{
    struct td_stack_node node;

    /* A second pass only when the table of nodes ran full in the first. */
    if (!intern(stacks, task, stack, cache_of(stacks, task), &node))
        intern(stacks, task, stack, cache_of(stacks, task), &node);
    node.truncated = node.truncated || stack->truncated;
    return node;
}
