/* SPDX-License-Identifier: MIT */
/*
 * Stored (registers, stack bytes, mappings): samples of a program that can be unwound again and
 * again, by us and by others. unwind_capture makes the files, unwind_replay and the tests read
 * them.
 */
#ifndef TD_TESTS_UNWIND_TRIPLES_H
#define TD_TESTS_UNWIND_TRIPLES_H

#include "base/bytes.h"
#include "base/map.h"
#include "symbolize/unwind/unwind.h"

#define TRIPLES_MAGIC 0x3170697274647475 /* "utdtrip1" */

/* One record each: kind, then what the comments say. */
enum triple_kind {
    TRIPLE_MAP = 1,    /* pid, start, length, file offset, path */
    TRIPLE_FORK = 2,   /* pid, parent */
    TRIPLE_EXEC = 3,   /* pid */
    TRIPLE_SAMPLE = 4, /* pid, registers (TD_CFI_X86_RA + 1 words), stack bytes */
};

struct triple_map {
    uint64_t begin, end, bias;
    struct td_unwind_table *table; /* NULL: anonymous or unreadable */
    const char *path;
};

/* The executable mappings of one process. */
struct triple_space {
    uint32_t pid;
    uint64_t id; /* changes with the mappings */
    struct triple_map *maps;
    size_t count, cap;
};

struct triple_table {
    char *path;
    struct td_unwind_table *table;
};

struct triples {
    struct td_buf file;
    struct td_rd rd;
    struct triple_space *spaces;
    size_t space_count, space_cap;
    struct triple_table *tables;
    size_t table_count, table_cap;
    uint64_t next_id;
    const char *table_dir; /* where the mapped files are looked for, by base name; NULL: as is */
};

int triples_open(struct triples *triples, const char *path, struct td_err *err);
void triples_release(struct triples *triples);
/* From the first record again; forgets the mappings. */
void triples_rewind(struct triples *triples);

/* The next sample with its address space: 1, 0 at the end, TD_EFORMAT. */
int triples_next(struct triples *triples, struct td_unwind_sample *sample,
                 struct triple_space **space, struct td_err *err);

/* td_unwind_find_fn over a struct triple_space. */
bool triples_find(void *ctx, uint64_t address, struct td_unwind_place *place);
const struct triple_map *triples_map(const struct triple_space *space, uint64_t address);

/* The vdso of this process, which is that of all on this machine. */
struct td_bytes triples_vdso(void);

#endif
