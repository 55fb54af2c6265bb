/* SPDX-License-Identifier: MIT */
/*
 * Walks a profile file and hands every record to a visitor: the loader fills a model from it, the
 * dump prints it. Checks everything that profile.md asks a reader to check.
 */
#ifndef TD_FORMATS_PROFILE_READ_H
#define TD_FORMATS_PROFILE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/ran.h"
#include "formats/model.h"
#include "formats/profile/columns.h"
#include "formats/profile/frame.h"

/* What ids are counted of. */
enum td_profile_table {
    TD_TABLE_STRINGS,
    TD_TABLE_MODULES,
    TD_TABLE_THREADS,
    TD_TABLE_EVENTS,
    TD_TABLE_GROUPS,
    TD_TABLE_REGIONS,
    TD_TABLE_COUNT
};

struct td_profile_nodes {
    uint32_t epoch;
    uint32_t first; /* ids first .. first + count - 1; 1 is the first of an epoch */
    uint32_t count;
    const struct td_node_row *rows;
};

struct td_profile_values {
    uint32_t epoch; /* of the nodes */
    const struct td_value_runs *runs;
};

/* Each may be NULL. Ids, also those inside the structs (strings, modules, events), are the file's;
 * after a loss they may be ids that were never described. */
struct td_profile_visitor {
    void *ctx;
    uint32_t kinds; /* bits 1 << kind: decode no others; 0 is all */
    void (*header)(void *ctx, const struct td_profile_header *header);
    void (*chunk)(void *ctx, uint64_t offset, const struct td_chunk_head *head);
    /* Before each record: where it begins in the chunk's (decompressed) payload. */
    void (*record)(void *ctx, size_t payload_offset);
    void (*env)(void *ctx, const char *const text[2], const size_t len[2]);
    void (*string)(void *ctx, uint32_t id, const char *s, size_t len);
    void (*module)(void *ctx, uint32_t id, const struct td_module *module);
    void (*thread)(void *ctx, uint32_t id, const struct td_thread *thread);
    void (*origin)(void *ctx, uint32_t thread, uint32_t string);
    void (*event)(void *ctx, uint32_t id, const struct td_event *event);
    void (*counts)(void *ctx, uint32_t event, const struct td_event_counts *counts);
    void (*group)(void *ctx, uint32_t id, const struct td_group *group); /* without pass, region */
    void (*pass)(void *ctx, uint32_t group, uint32_t pass);
    void (*group_region)(void *ctx, uint32_t group, uint32_t region);
    void (*region)(void *ctx, uint32_t id, uint32_t parent, uint32_t name); /* TD_NONE: no parent */
    void (*region_row)(void *ctx, const struct td_region_row *row, const uint64_t *values,
                       uint32_t value_count);
    void (*code)(void *ctx, const struct td_ran_block *block);
    void (*shared)(void *ctx, const struct td_shared_row *row);
    void (*habit)(void *ctx, const struct td_habit *habit); /* its figures can be */
    void (*symbol)(void *ctx, uint32_t module, const struct td_symbol *symbol);
    void (*nodes)(void *ctx, const struct td_profile_nodes *nodes);
    void (*samples)(void *ctx, const struct td_profile_values *values);
    void (*tallies)(void *ctx, const struct td_profile_values *values);
    void (*counter)(void *ctx, uint64_t counter, uint64_t value);
    void (*end)(void *ctx, uint64_t kind, uint64_t total);
    /* Something was wrong and has been stepped over. */
    void (*damage)(void *ctx, const struct td_err *err);
    /* Asked after each chunk, which ends at `offset`: true when the rest is not to be read; with a
     * reason that is damage. */
    bool (*enough)(void *ctx, uint64_t offset, struct td_err *reason);
};

/* How the walk ended. */
struct td_profile_ending {
    bool complete;       /* the end chunk was there */
    bool cut;            /* the file ends without one; what stands there is not damaged */
    uint64_t end_offset; /* after the last whole chunk */
    uint64_t damages;
};

/* TD_OK when the file could be walked, with damage or without; TD_EFORMAT and TD_EVERSION when its
 * header says no, or a chunk of a kind that must be known is not. */
int td_profile_read(const void *data, size_t size, const struct td_profile_visitor *visitor,
                    struct td_profile_ending *ending, struct td_err *err);

#endif
