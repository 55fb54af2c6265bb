/* SPDX-License-Identifier: MIT */
#include "record/sim/model/habits/lines.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

struct td_lines *td_lines_new(uint32_t slots)
{
    struct td_lines *lines = td_xcalloc(1, sizeof(*lines));

    lines->slots = td_xcalloc(slots, sizeof(*lines->slots));
    lines->slot_count = slots;
    return lines;
}

void td_lines_free(struct td_lines *lines)
{
    if (!lines)
        return;
    free(lines->slots);
    free(lines);
}

void td_lines_watch(struct td_lines *lines, bool watching)
{
    lines->watching = watching;
    for (uint32_t i = 0; !watching && i < lines->slot_count; i++)
        lines->slots[i].owner = TD_LINE_NOBODY;
}

static void leave(struct td_lines *lines, const struct td_line_slot *slot)
{
    if (slot->owner == TD_LINE_NEW || slot->owner == TD_LINE_NOBODY ||
        slot->life != lines->lives[slot->owner])
        return;
    lines->uses[slot->owner].gone++;
    lines->uses[slot->owner].bytes += (uint64_t)__builtin_popcountll(slot->used);
}

void td_lines_replace_owner(struct td_lines *lines, uint16_t owner)
{
    lines->lives[owner]++;
    lines->uses[owner] = (struct td_line_use){0};
}

/* Lines since it came last, and notes that it comes now; 0: not known. */
static uint32_t distance(struct td_lines *lines, struct td_line_seen *seen, uint32_t tag)
{
    const uint32_t since = seen->tag == tag ? lines->fills - seen->fill : 0;

    *seen = (struct td_line_seen){.tag = tag, .fill = lines->fills};
    return since;
}

static uint8_t back_of(uint32_t since)
{
    return (uint8_t)(TD_LINE_BACK_KNOWN + 31 - __builtin_clz(since));
}

void td_lines_fill(struct td_lines *lines, uint32_t slot, uint64_t line)
{
    const uint64_t hash = td_hash_u64(line + 1);
    const uint32_t tag = (uint32_t)(hash >> 32) | 1;
    struct td_line_slot *to = &lines->slots[slot];

    leave(lines, to);
    lines->fills++;
    *to = (struct td_line_slot){.owner = lines->watching ? TD_LINE_NEW : TD_LINE_NOBODY};
    const uint32_t near = distance(lines, &lines->near[hash % TD_LINES_NEAR], tag);
    if (near > 0) {
        to->back = back_of(near);
        to->weight = 1;
        to->conflict = near < lines->slot_count / 4 * 3;
    }
    if (hash >> 32 & (TD_LINES_SAMPLED - 1) << 1)
        return;
    /* The bits that chose it say no more where it belongs. */
    const uint32_t far = distance(lines, &lines->far[(hash >> 12) % TD_LINES_FAR], tag);
    if (near == 0) {
        to->back = far > 0 ? back_of(far) : TD_LINE_BACK_NEVER;
        to->weight = TD_LINES_SAMPLED;
    }
}

void td_lines_skip(struct td_lines *lines, uint32_t slot)
{
    leave(lines, &lines->slots[slot]);
    lines->slots[slot] = (struct td_line_slot){.owner = TD_LINE_NOBODY};
}
