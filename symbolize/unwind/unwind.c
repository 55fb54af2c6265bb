/* SPDX-License-Identifier: MIT */
/* The table walker: three registers, one rule a frame, remembered by address. */
#include "symbolize/unwind/unwind.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "symbolize/unwind/odd.h"
#include "symbolize/unwind/unwind_priv.h"

/* 96 KB: the return addresses of a busy program; a collision costs one table lookup. */
#define CACHE_BITS 12

struct remembered {
    uint64_t address, space;
    const struct td_unwind_rule *rule; /* NULL: empty */
};

struct td_unwinder {
    enum td_cfi_arch arch;
    uint8_t sp, fp, ip;        /* DWARF numbers */
    struct td_unwind_odd *odd; /* made when it is first needed */
    struct remembered cache[1 << CACHE_BITS];
};

const char *td_unwind_stop_name(enum td_unwind_stop stop)
{
    static const char *const names[TD_UNWIND_STOPS] = {"complete",   "no_table", "bad_address",
                                                       "short_copy", "bad_rule", "deep"};

    return stop < TD_UNWIND_STOPS ? names[stop] : "?";
}

struct td_unwinder *td_unwinder_new(enum td_cfi_arch arch)
{
    struct td_unwinder *u = td_xcalloc(1, sizeof(*u));

    u->arch = arch;
    u->sp = (uint8_t)td_unwind_sp(arch);
    u->fp = (uint8_t)td_unwind_fp(arch);
    u->ip = (uint8_t)td_unwind_ip(arch);
    return u;
}

void td_unwinder_free(struct td_unwinder *unwinder)
{
    if (unwinder)
        td_unwind_odd_free(unwinder->odd);
    free(unwinder);
}

void td_unwinder_forget(struct td_unwinder *unwinder)
{
    memset(unwinder->cache, 0, sizeof(unwinder->cache));
}

const struct td_unwind_rule *
td_unwind_rule_at(enum td_cfi_arch arch, const struct td_unwind_place *place, uint64_t address)
{
    /* Code that no file describes must keep frame pointers to be walked. A file of which
     * something is known is not guessed at where it says nothing: that is assembly. */
    if (!place->table || place->table->row_count == 0)
        return td_unwind_frame_pointer_rule(arch);
    return td_unwind_table_find(place->table, address - place->bias);
}

struct walk {
    struct td_unwinder *unwinder;
    const struct td_unwind_sample *sample;
    struct td_unwind_memory memory;
    uint64_t ip, sp, fp, lr;
    bool exact;   /* ip is an instruction, not what follows a call */
    bool leaf;    /* nothing was called from this frame: registers are as they were */
    bool sampled; /* the first frame: all sampled registers are its own */
    bool guessed; /* the frame before was left by a frame pointer that may not be one */
};

/* The rule at the frame's address, or NULL when no executable mapping holds it. */
static const struct td_unwind_rule *find_rule(struct walk *w)
{
    const struct td_unwind_sample *s = w->sample;
    const uint64_t address = w->ip - !w->exact;
    const uint64_t hash = td_hash_mix(s->space, address);
    struct remembered *slot = &w->unwinder->cache[hash >> (64 - CACHE_BITS)];
    struct td_unwind_place place;

    if (slot->rule && slot->address == address && slot->space == s->space)
        return slot->rule;
    if (!s->find(s->ctx, address, &place))
        return NULL;
    const struct td_unwind_rule *rule = td_unwind_rule_at(w->unwinder->arch, &place, address);
    *slot = (struct remembered){address, s->space, rule};
    return rule;
}

/* A register's value in this frame; false when only the full walker can know it. */
static bool frame_register(const struct walk *w, unsigned reg, uint64_t *value)
{
    const struct td_unwinder *u = w->unwinder;

    if (reg == u->sp)
        *value = w->sp;
    else if (reg == u->fp)
        *value = w->fp;
    else if (w->sampled && reg < TD_CFI_REGISTERS && (w->sample->known >> reg & 1))
        *value = w->sample->regs[reg];
    else
        return false;
    return true;
}

enum outcome { STEPPED, STOPPED, TOO_ODD };

static enum outcome stop(enum td_unwind_stop why, struct td_unwind_stack *ret)
{
    ret->stop = why;
    return STOPPED;
}

static enum outcome find_cfa(struct walk *w, const struct td_unwind_rule *rule, uint64_t *cfa,
                             struct td_unwind_stack *ret)
{
    uint64_t base;

    if (rule->cfa_kind == TD_UNWIND_PLT) {
        *cfa = w->sp + 8 + ((w->ip & 15) >= (uint64_t)rule->extra ? 8 : 0);
        return STEPPED;
    }
    if (!frame_register(w, rule->cfa_reg, &base))
        return TOO_ODD;
    base += (uint64_t)(int64_t)rule->cfa_offset;
    *cfa = base;
    if (rule->cfa_kind == TD_UNWIND_REG)
        return STEPPED;
    if (!td_unwind_load(&w->memory, base, cfa))
        return stop(td_unwind_load_stop(&w->memory, base), ret);
    *cfa += (uint64_t)(int64_t)rule->extra;
    return STEPPED;
}

/* A register of the caller, saved or still there. `same` is its value when it did not change. */
static enum outcome recover(struct walk *w, unsigned where, int16_t offset, uint64_t cfa,
                            uint64_t *value, struct td_unwind_stack *ret)
{
    uint64_t address = (uint64_t)(int64_t)offset;

    switch (where) {
    case TD_UNWIND_AT_CFA: address += cfa; break;
    case TD_UNWIND_AT_SP: address += w->sp; break;
    case TD_UNWIND_AT_FP: address += w->fp; break;
    case TD_UNWIND_IN_REG: return frame_register(w, (unsigned)offset, value) ? STEPPED : TOO_ODD;
    default: return STEPPED; /* the same */
    }
    if (!td_unwind_load(&w->memory, address, value))
        return stop(td_unwind_load_stop(&w->memory, address), ret);
    return STEPPED;
}

/* The caller's address; *value enters as the link register. */
static enum outcome recover_ra(struct walk *w, const struct td_unwind_rule *rule, uint64_t cfa,
                               uint64_t *value, struct td_unwind_stack *ret)
{
    if (rule->ra_where == TD_UNWIND_SAME && (w->unwinder->arch == TD_CFI_X86_64 || !w->leaf))
        return stop(TD_UNWIND_BAD_RULE, ret);
    if (rule->ra_where == TD_UNWIND_IN_REG && rule->ra_offset == TD_CFI_A64_LR &&
        w->unwinder->arch == TD_CFI_AARCH64)
        return w->leaf ? STEPPED : stop(TD_UNWIND_BAD_RULE, ret);
    return recover(w, rule->ra_where, rule->ra_offset, cfa, value, ret);
}

/* In an epilogue the slot is below the stack pointer: the register has been restored from it, which
 * compilers do not say. */
static bool popped(const struct walk *w, const struct td_unwind_rule *rule, uint64_t cfa)
{
    return rule->fp_where == TD_UNWIND_AT_CFA &&
           td_unwind_popped(w->sp, cfa + (uint64_t)(int64_t)rule->fp_offset, w->leaf);
}

/* From a frame to its caller. */
static enum outcome step(struct walk *w, const struct td_unwind_rule *rule,
                         struct td_unwind_stack *ret)
{
    const struct td_unwinder *u = w->unwinder;
    const enum td_cfi_arch arch = u->arch;
    uint64_t cfa, ra = w->lr, fp = w->fp;
    enum outcome outcome;

    if (rule->ra_where == TD_UNWIND_UNDEFINED)
        return stop(TD_UNWIND_COMPLETE, ret);
    if (rule->cfa_kind == TD_UNWIND_ODD)
        return TOO_ODD;
    if (rule->cfa_kind == TD_UNWIND_NONE ||
        (rule->guessed && !td_unwind_guess_makes_sense(&w->memory, rule, u->fp, w->sp, w->fp)))
        return stop(TD_UNWIND_NO_TABLE, ret);
    outcome = find_cfa(w, rule, &cfa, ret);
    if (outcome == STEPPED)
        outcome = recover_ra(w, rule, cfa, &ra, ret);
    if (outcome == STEPPED && rule->fp_where != TD_UNWIND_SAME && !popped(w, rule, cfa))
        outcome = recover(w, rule->fp_where, rule->fp_offset, cfa, &fp, ret);
    if (outcome != STEPPED)
        return outcome;
    ra = td_unwind_strip(arch, ra);
    if (ra == 0)
        return stop(TD_UNWIND_COMPLETE, ret);
    const bool bare = rule->ra_where == TD_UNWIND_SAME || rule->ra_where == TD_UNWIND_IN_REG;
    if (!td_unwind_advances(w->sp, cfa, rule->signal_frame, w->leaf && bare))
        return stop(TD_UNWIND_BAD_RULE, ret);
    if (rule->signal_frame) {
        w->memory.after_signal = true;
        if (arch == TD_CFI_AARCH64)
            td_unwind_load(&w->memory, w->sp + TD_UNWIND_A64_SIGNAL_LR, &w->lr);
    }
    w->ip = ra;
    w->sp = cfa;
    w->fp = fp;
    w->exact = w->leaf = rule->signal_frame;
    w->sampled = false;
    w->guessed = rule->guessed;
    return STEPPED;
}

static struct walk walk_start(struct td_unwinder *u, const struct td_unwind_sample *s)
{
    return (struct walk){
        .unwinder = u,
        .sample = s,
        .memory = {.bytes = s->stack, .size = s->stack_bytes, .base = s->regs[u->sp]},
        .ip = s->regs[u->ip],
        .sp = s->regs[u->sp],
        .fp = s->regs[u->fp],
        .lr = u->arch == TD_CFI_AARCH64 ? s->regs[TD_CFI_A64_LR] : 0,
        .exact = true,
        .leaf = true,
        .sampled = true};
}

void td_unwind(struct td_unwinder *unwinder, const struct td_unwind_sample *sample,
               struct td_unwind_stack *ret)
{
    struct walk w = walk_start(unwinder, sample);
    enum outcome outcome = STEPPED;

    ret->frames[0] = w.ip;
    ret->count = 0;
    ret->odd = false;
    while (outcome == STEPPED) {
        const struct td_unwind_rule *rule = find_rule(&w);

        if (!rule) {
            outcome = stop(w.guessed ? TD_UNWIND_NO_TABLE : TD_UNWIND_BAD_ADDRESS, ret);
        } else if (ret->count == TD_UNWIND_FRAMES_MAX) {
            outcome = stop(TD_UNWIND_DEEP, ret);
        } else {
            ret->frames[ret->count++] = w.ip - !w.exact;
            outcome = step(&w, rule, ret);
        }
    }
    if (outcome == TOO_ODD) {
        ret->odd = true;
        if (!unwinder->odd)
            unwinder->odd = td_unwind_odd_new(unwinder->arch);
        if (unwinder->odd) {
            td_unwind_odd(unwinder->odd, sample, ret);
            return;
        }
        ret->stop = TD_UNWIND_BAD_RULE;
    }
    if (ret->count == 0)
        ret->count = 1; /* the sampled address, whatever it is */
    ret->used_bytes = w.memory.used;
}
