/* SPDX-License-Identifier: MIT */
#include "report/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Code without symbols is taken as one piece over gaps up to this size: of unsampled instructions,
 * or padding. */
#define GAP_BYTES 32
/* Of one part; a symbol that claims more is not believed. */
#define RANGE_BYTES_MAX (4u << 20)

struct stretch {
    uint64_t start, end;
};

struct making {
    struct td_listing *listing;
    struct td_model *model;
    struct td_code_file *code;
    struct td_disasm *disasm;
    size_t cap;
    size_t next_cost; /* of the part */
};

static struct td_listed *add(struct making *m, uint64_t offset)
{
    struct td_listing *l = m->listing;

    l->at = td_grow(l->at, &m->cap, l->len + 1, sizeof(*l->at));
    l->at[l->len] =
        (struct td_listed){.offset = offset,
                           .address = offset,
                           .location = td_model_put_location(m->model, l->part->module, offset),
                           .target = TD_NONE};
    return &l->at[l->len++];
}

/* The cost at `offset`, if there is one; offsets are asked for in rising order. */
static const struct td_code_cost *cost_at(struct making *m, uint64_t offset)
{
    const struct td_code_part *part = m->listing->part;

    while (m->next_cost < part->len && part->at[m->next_cost].offset < offset)
        m->next_cost++;
    return m->next_cost < part->len && part->at[m->next_cost].offset == offset
               ? &part->at[m->next_cost]
               : NULL;
}

/* What is sampled stands at the start of an instruction: one that seems to reach over such a place
 * was not decoded from its start. */
static size_t room_at(const struct making *m, uint64_t offset, size_t size)
{
    const struct td_code_part *part = m->listing->part;
    size_t i = m->next_cost;

    while (i < part->len && part->at[i].offset <= offset)
        i++;
    if (i == part->len || part->at[i].offset - offset >= size)
        return size;
    return (size_t)(part->at[i].offset - offset);
}

static void set_target(struct making *m, struct td_listed *listed, uint64_t address)
{
    uint64_t offset = 0;

    listed->target_address = address;
    if (td_code_offset(m->code, address, &offset))
        listed->target = td_model_put_location(m->model, m->listing->part->module, offset);
}

/* The instruction at `offset`; returns its length, 0 when there is no code. */
static size_t decode(struct making *m, uint64_t offset, bool starts)
{
    const uint8_t *bytes = NULL;
    const struct td_code_cost *cost = cost_at(m, offset);
    const size_t size = td_code_bytes(m->code, offset, TD_LISTED_BYTES_MAX, &bytes);
    uint64_t address = offset;

    if (size == 0) {
        if (cost)
            *add(m, offset) = (struct td_listed){.offset = offset,
                                                 .address = offset,
                                                 .location = cost->location,
                                                 .target = TD_NONE,
                                                 .cost = cost,
                                                 .starts = starts};
        return 0;
    }
    td_code_address(m->code, offset, &address);
    const struct td_disasm_insn insn =
        td_disasm_next(m->disasm, bytes, room_at(m, offset, size), address);
    struct td_listed *listed = add(m, offset);
    listed->address = address;
    listed->cost = cost;
    listed->starts = starts;
    listed->length = insn.length;
    memcpy(listed->bytes, bytes, insn.length);
    listed->text = insn.text[0] ? td_xstrdup(insn.text) : NULL;
    if (insn.jumps)
        set_target(m, listed, insn.target);
    return insn.length;
}

/* Where the functions around the costs begin and end, by symbols; else the costs themselves. */
static struct stretch *find_stretches(const struct making *m, size_t *count)
{
    const struct td_code_part *part = m->listing->part;
    struct td_code_extent *extents = td_xcalloc(part->len + 1, sizeof(*extents));
    struct stretch *at = td_xcalloc(part->len + 1, sizeof(*at));
    size_t len = 0;

    for (size_t i = 0; i < part->len; i++)
        extents[i].offset = part->at[i].offset;
    td_code_extents(m->code, extents, part->len);
    for (size_t i = 0; i < part->len; i++) {
        const struct td_code_extent *e = &extents[i];
        const bool known = e->start < e->end && e->end - e->start <= RANGE_BYTES_MAX;
        const uint64_t start = known ? e->start : e->offset;
        const uint64_t end = known && e->end > e->offset ? e->end : e->offset + 1;

        if (len > 0 && start <= at[len - 1].end + (known ? 0 : GAP_BYTES))
            at[len - 1].end = end > at[len - 1].end ? end : at[len - 1].end;
        else
            at[len++] = (struct stretch){.start = start, .end = end};
    }
    free(extents);
    *count = len;
    return at;
}

static void list_code(struct making *m)
{
    size_t count = 0;
    struct stretch *stretches = find_stretches(m, &count);

    for (size_t i = 0; i < count; i++) {
        uint64_t offset = stretches[i].start;
        size_t length = 1;

        for (; offset < stretches[i].end && length > 0; offset += length)
            length = decode(m, offset, offset == stretches[i].start);
    }
    free(stretches);
}

/* Without bytes: the addresses that cost something. */
static void list_costs(struct making *m)
{
    const struct td_code_part *part = m->listing->part;

    for (size_t i = 0; i < part->len; i++) {
        struct td_listed *listed = add(m, part->at[i].offset);

        listed->cost = &part->at[i];
        listed->starts = i == 0;
    }
}

void td_listing_init(struct td_listing *listing, struct td_model *model,
                     const struct td_code_part *part, enum td_syntax syntax)
{
    const struct td_module module = *td_model_module(model, part->module);
    struct making m = {.listing = listing, .model = model};
    const struct td_origin origin =
        td_origin_of(model, td_model_counter(model, TD_COUNTER_STARTED_NS));
    struct td_err err = TD_ERR_INIT;

    *listing = (struct td_listing){.part = part};
    if (td_code_open(&m.code, module.kind, td_model_string(model, module.path), &module.build_id,
                     &origin, &err) < 0) {
        list_costs(&m);
    } else {
        (void)td_disasm_new(&m.disasm, td_code_machine(m.code), syntax, &err);
        list_code(&m);
    }
    if (err.code != TD_OK)
        listing->note = td_xasprintf("no instructions: %s", err.text);
    td_disasm_free(m.disasm);
    td_code_free(m.code);
}

void td_listing_release(struct td_listing *listing)
{
    for (size_t i = 0; i < listing->len; i++)
        free(listing->at[i].text);
    free(listing->at);
    free(listing->note);
    *listing = (struct td_listing){0};
}
