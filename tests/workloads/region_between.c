/* SPDX-License-Identifier: MIT */
/*
 * What a mark reads without a system call is what read() says: counters only grow, so that each
 * value lies between one read() before and one after it. Two events, in the way that marks open
 * theirs; prints how they are read.
 */
#include "tdprof/region.h"

#include <stdio.h>
#include <string.h>

enum { EVENTS = 2, ROUNDS = 2000 };

static struct tdprof1_head head = {.event_count = EVENTS};

int main(void)
{
    static struct tdprof1_thread t = {.lock = 1};
    static struct tdprof1_region_cell region;
    struct tdprof1_thread_cell cell = {.kind = 0};
    uint64_t before[3 + TDPROF_EVENTS_MAX], after[3 + TDPROF_EVENTS_MAX];
    int wrong = 0;

    for (uint32_t e = 0; e < EVENTS; e++) /* cycles and instructions of user code */
        head.events[e] = (struct tdprof1_event){.config = e, .flags = 1 << 5 | 1 << 6};
    t.head = &head;
    tdprof1_open_events(&t, &cell);
    if (t.kind != TDPROF_KIND_USER) {
        printf("%s\n",
               t.kind == TDPROF_KIND_READ ? "user access is off" : strerror((int)cell.error));
        return 0;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (!tdprof1_read_group(&t, before))
            return 1;
        tdprof1_pass(&t, &region);
        if (!tdprof1_read_group(&t, after))
            return 1;
        for (uint32_t e = 0; e < EVENTS; e++)
            wrong += t.values[e] < before[3 + e] || t.values[e] > after[3 + e];
    }
    for (uint32_t e = 0; e < EVENTS; e++)
        wrong += region.values[e] != t.values[e];
    wrong += region.seen > region.whole;
    printf("%d wrong; %s\n", wrong, t.values[1] > ROUNDS ? "counted" : "nothing counted");
    return wrong != 0;
}
