/* SPDX-License-Identifier: MIT */
/* Code that runs again and again on a new core, and the cycles of a round. */
#ifndef TD_TESTS_SIM_ROUNDS_H
#define TD_TESTS_SIM_ROUNDS_H

#include "sim_rig.h"

enum { ROUNDS = 20000, PC = 0x1000 };

/* One access of each round: instruction, direction, log2 of bytes, address. */
struct access {
    uint32_t insn;
    bool store;
    uint32_t log2_bytes;
    uint64_t address, step; /* `step` is added each round */
};

static inline void push_round(struct rig *rig, uint32_t block, const struct access *accesses,
                              int count, uint64_t round)
{
    rig_word(rig, td_trace_block(block));
    for (int i = 0; i < count; i++) {
        const struct access *a = &accesses[i];
        rig_word(rig,
                 td_trace_access(a->insn, a->store, a->log2_bytes, a->address + round * a->step));
    }
}

/* Runs the block ROUNDS times on a new core. Close the rig. */
static inline struct sums run(struct rig *rig, const char *core, const uint8_t *code,
                              const struct access *accesses, int count)
{
    rig_open(rig, core);
    const uint32_t block = rig_block(rig, PC, code);

    for (uint64_t i = 0; i < ROUNDS; i++)
        push_round(rig, block, accesses, count, i);
    return rig_sums(rig);
}

static inline uint64_t cycles_a_round(struct rig *rig, const char *core, const uint8_t *code,
                                      const struct access *accesses, int count)
{
    const struct sums sums = run(rig, core, code, accesses, count);
    const uint64_t cycles = (sums.cycles + ROUNDS / 2) / ROUNDS;

    rig_close(rig);
    return cycles;
}

/* Ten times the cycles of a round. */
static inline uint64_t ten_cycles_a_round(const char *core, const uint8_t *code,
                                          const struct access *accesses, int count)
{
    struct rig rig;
    const uint64_t cycles = run(&rig, core, code, accesses, count).cycles;

    rig_close(&rig);
    return cycles * 10 / ROUNDS;
}

/* Cycles of a round through blocks that follow each other, times ten; those below `own_end` are the
 * program's, the others a library's. */
static inline uint64_t ten_rounds_of(const char *core, uint64_t own_end,
                                     const uint8_t *const *codes, uint32_t count)
{
    struct rig rig;

    rig_open(&rig, core);
    td_blocks_set_own_end(rig.blocks, own_end);
    for (uint32_t i = 0; i < count; i++)
        rig_block(&rig, PC + 64 * (uint64_t)i, codes[i]);
    for (uint32_t i = 0; i < ROUNDS * count; i++)
        rig_word(&rig, td_trace_block(i % count));
    const struct sums sums = rig_sums(&rig);
    rig_close(&rig);
    return (sums.cycles * 10 + ROUNDS / 2) / ROUNDS;
}

static inline uint64_t ten_rounds(const char *core, const uint8_t *const *codes, uint32_t count)
{
    return ten_rounds_of(core, 0, codes, count);
}

#endif
