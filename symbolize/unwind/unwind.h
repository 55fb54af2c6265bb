/* SPDX-License-Identifier: MIT */
/*
 * Call stacks from sampled registers and a copy of the top of the stack: by compact tables
 * (table), by libunwind where a rule does not fit one (odd), by frame pointer through code that has
 * no file. Nothing outside the copy is read, and every walk ends.
 */
#ifndef TD_SYMBOLIZE_UNWIND_UNWIND_H
#define TD_SYMBOLIZE_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/unwind/cfi.h"
#include "symbolize/unwind/table.h"

#define TD_UNWIND_FRAMES_MAX 512

/* Why a walk ended. All but COMPLETE leave a stack whose outer frames are missing. */
enum td_unwind_stop {
    TD_UNWIND_COMPLETE,    /* at the process's or thread's first function */
    TD_UNWIND_NO_TABLE,    /* no call frame information, and no frame pointer that makes sense */
    TD_UNWIND_BAD_ADDRESS, /* a return address that is in no executable mapping */
    TD_UNWIND_SHORT_COPY,  /* the rest lies behind the copied bytes */
    TD_UNWIND_BAD_RULE,    /* a rule that cannot be followed, or (ip, sp) did not advance */
    TD_UNWIND_DEEP,        /* TD_UNWIND_FRAMES_MAX frames */
    TD_UNWIND_STOPS
};

/* A mapping that holds executable code. */
struct td_unwind_place {
    uint64_t begin, end;
    uint64_t bias; /* address in memory minus address in the file, modulo 2^64 */
    const struct td_unwind_table *table; /* NULL: anonymous code, or a file that cannot be read */
};

/* The mapping that holds an address; false when none does or it is not executable. */
typedef bool td_unwind_find_fn(void *ctx, uint64_t address, struct td_unwind_place *place);

struct td_unwind_sample {
    /* By DWARF number; the instruction pointer is [TD_CFI_X86_RA] or [TD_CFI_A64_PC]. */
    uint64_t regs[TD_CFI_REGISTERS];
    uint64_t known;       /* bit i: regs[i] was sampled; ip, sp and fp must be */
    const uint8_t *stack; /* the bytes from the stack pointer upwards; any alignment */
    size_t stack_bytes;
    uint64_t space; /* names (address space, its mappings as they are now); see below */
    td_unwind_find_fn *find;
    void *ctx;
};

/* The registers to sample, as bits of perf's numbers (asm/perf_regs.h). The compact tables need
 * three or four; the others are those by which call frame information finds a frame now and then:
 * the ones that calls preserve, and what OpenSSL's, glibc's and libgcc's assembly keeps the stack
 * pointer in. Pure. */
uint64_t td_unwind_registers(enum td_cfi_arch arch);

/* Takes the registers of a sample: for each bit of `mask`, the lowest first, a word in this
 * machine's order. False when the instruction, stack or frame pointer is not among them. */
bool td_unwind_take_registers(struct td_unwind_sample *sample, enum td_cfi_arch arch,
                              const uint8_t *words, uint64_t mask);

struct td_unwinder;

/* One thread owns an unwinder. It remembers rules by (space, address): a caller whose mappings
 * change gives another `space`, and calls td_unwinder_forget before it frees a table. */
struct td_unwinder *td_unwinder_new(enum td_cfi_arch arch);
void td_unwinder_free(struct td_unwinder *unwinder); /* NULL is allowed */
void td_unwinder_forget(struct td_unwinder *unwinder);

struct td_unwind_stack {
    /* Innermost first. frames[0] is the sampled address; an interrupted frame's is exact too; a
     * caller's is the last byte of its call instruction (return address minus one). */
    uint64_t frames[TD_UNWIND_FRAMES_MAX];
    size_t count; /* at least 1 */
    enum td_unwind_stop stop;
    size_t used_bytes; /* how much of the stack copy was needed */
    bool odd;          /* a rule that does not fit a table was met */
};

/* Fills *ret; cannot fail, only stop early. */
void td_unwind(struct td_unwinder *unwinder, const struct td_unwind_sample *sample,
               struct td_unwind_stack *ret);

/* "complete", "no_table", ... as the coverage counters are named. */
const char *td_unwind_stop_name(enum td_unwind_stop stop);

#endif
