/* SPDX-License-Identifier: MIT */
/*
 * What a faked machine counts, from a small text. A line is an event and what it does:
 *
 *     EVENT[@MEMBER] [count=N] [step=N] [rate=N] [share=X] [errno=N]      # comment
 *
 * EVENT is 0xCONFIG or 0xCONFIG:0xCONFIG1 of the core's PMU, PMU/0xCONFIG of another, sw:N a
 * software event, * every other hardware event; of two lines for the same the later one holds. With
 * @0xCONFIG the line is for groups that hold that event too: a clock that many groups count may
 * have another count in each.
 *
 * count: from its start on; step: added by each read; rate: added each millisecond; share: the part
 * of the time that it has a counter, so that only this part is counted; errno: it is not opened.
 */
#ifndef TD_TESTS_FAKE_RULES_H
#define TD_TESTS_FAKE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FAKE_RULES_MAX 256

struct fake_event {
    bool software;
    char pmu[16]; /* "": of the core's */
    uint64_t config, config1;
};

/* Takes an event (without *) off the text. */
bool fake_event_read(struct fake_event *event, const char **text);
bool fake_event_same(const struct fake_event *a, const struct fake_event *b);

struct fake_rule {
    struct fake_event event;
    bool any, with_member;
    uint64_t member;
    double count, step, rate;
    double share; /* NaN: not said */
    int error;
};

struct fake_rules {
    struct fake_rule at[FAKE_RULES_MAX];
    size_t len;
};

/* 0, or the number of the line that is wrong. */
unsigned fake_rules_read(struct fake_rules *rules, FILE *in);
/* The line for an event in a group of these members; never NULL: without a line it counts 0. */
const struct fake_rule *fake_rules_find(const struct fake_rules *rules,
                                        const struct fake_event *event,
                                        const struct fake_event *members, size_t member_count);

#endif
