/* SPDX-License-Identifier: MIT */
#include "formats/kernel/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct thread {
    uint32_t pid, tid;
    uint64_t since_ns; /* 0: it is on a CPU, or nothing is known of it */
    bool preempted;
    struct td_stack stack; /* where it left the CPU, or is about to */
};

struct td_waits {
    td_wait_fn *fn;
    void *ctx;
    struct td_map by_tid;
    struct thread *threads;
    size_t count, cap;
    uint64_t preempted_ns;
    uint64_t seen_ns, lost_ns; /* the last switch; the end of the last loss; 0: none */
};

struct td_waits *td_waits_new(td_wait_fn *fn, void *ctx)
{
    struct td_waits *waits = td_xcalloc(1, sizeof(*waits));

    waits->fn = fn;
    waits->ctx = ctx;
    return waits;
}

void td_waits_free(struct td_waits *waits)
{
    if (!waits)
        return;
    for (size_t i = 0; i < waits->count; i++)
        td_stack_release(&waits->threads[i].stack);
    free(waits->threads);
    td_map_release(&waits->by_tid);
    free(waits);
}

static struct thread *thread_of(struct td_waits *waits, uint32_t tid)
{
    bool added = false;
    const uint32_t index = *td_map_put(&waits->by_tid, tid, 0, (uint32_t)waits->count, &added);

    if (added) {
        waits->threads =
            td_grow(waits->threads, &waits->cap, waits->count + 1, sizeof(*waits->threads));
        waits->threads[waits->count++] = (struct thread){.tid = tid};
    }
    return &waits->threads[index];
}

void td_waits_leave(struct td_waits *waits, uint32_t tid, const struct td_stack *stack)
{
    struct td_stack *own = &thread_of(waits, tid)->stack;

    own->frames = td_grow(own->frames, &own->cap, stack->len + 1, sizeof(*own->frames));
    if (stack->len)
        memcpy(own->frames, stack->frames, stack->len * sizeof(*own->frames));
    own->len = stack->len;
    own->truncated = stack->truncated;
}

static void come_back(struct td_waits *waits, struct thread *thread, uint64_t now_ns)
{
    const uint64_t since_ns = thread->since_ns;

    thread->since_ns = 0;
    if (since_ns && now_ns > since_ns && thread->preempted) {
        waits->preempted_ns += now_ns - since_ns;
    } else if (since_ns && now_ns > since_ns) {
        const struct td_wait wait = {.pid = thread->pid,
                                     .tid = thread->tid,
                                     .since_ns = since_ns,
                                     .ns = now_ns - since_ns,
                                     .stack = &thread->stack};

        waits->fn(waits->ctx, &wait);
    }
    thread->stack.len = 0;
}

/* One that left twice came back in between: that record was lost, and with it how long it was
 * away. */
void td_waits_switch(struct td_waits *waits, const struct td_rec *rec)
{
    if (rec->tid == 0 || rec->tid == TD_NONE || rec->time_ns == 0)
        return;
    struct thread *thread = thread_of(waits, rec->tid);

    waits->seen_ns = rec->time_ns;
    if (!rec->u.leaves.out) {
        come_back(waits, thread, rec->time_ns);
        return;
    }
    thread->pid = rec->pid;
    thread->since_ns = rec->time_ns;
    thread->preempted = rec->u.leaves.preempted;
}

void td_waits_lost(struct td_waits *waits, uint64_t time_ns)
{
    const uint64_t end_ns = time_ns ? time_ns : waits->seen_ns;

    if (end_ns > waits->lost_ns)
        waits->lost_ns = end_ns;
}

void td_waits_exit(struct td_waits *waits, uint32_t tid)
{
    const uint32_t *index = td_map_find(&waits->by_tid, tid, 0);

    if (!index)
        return;
    waits->threads[*index].since_ns = 0;
    td_stack_release(&waits->threads[*index].stack);
}

void td_waits_end(struct td_waits *waits, uint64_t now_ns)
{
    for (size_t i = 0; i < waits->count; i++) {
        struct thread *thread = &waits->threads[i];

        if (thread->since_ns <= waits->lost_ns)
            thread->since_ns = 0;
        come_back(waits, thread, now_ns);
    }
}

uint64_t td_waits_preempted_ns(const struct td_waits *waits)
{
    return waits->preempted_ns;
}
