/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/company.h"

/* Figures come from memory that programs may write to. */
static uint64_t capped(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

static uint64_t threads_of(const struct td_company_other *other)
{
    return capped(other->threads, TD_COMPANY_THREADS_MAX);
}

static uint64_t rate(uint32_t value)
{
    return capped(value, (uint64_t)TD_COMPANY_LINES_MAX * TD_COMPANY_ONE);
}

uint64_t td_company_share(uint64_t whole, const struct td_company_other *others, size_t count)
{
    uint64_t share = 0, equal = 0;

    /* Each round those who take less than an equal share of what is left leave more to the rest. */
    do {
        uint64_t left = whole, takers = 1;

        share = equal;
        for (size_t i = 0; i < count; i++) {
            if (rate(others[i].lines) <= share)
                left -= capped(rate(others[i].lines) * threads_of(&others[i]), left);
            else
                takers += threads_of(&others[i]);
        }
        equal = left / takers;
    } while (equal > share);
    return share;
}

/* Ticks that a line takes of the core's time. */
static int line_ticks(const struct td_core_desc *desc, const struct td_company_other *others,
                      size_t count)
{
    const uint64_t scale = (uint64_t)TD_TICKS_PER_CYCLE * TD_COMPANY_ONE;

    if (desc->dram_shared == 0)
        return desc->dram_line;
    const uint64_t least = (uint64_t)desc->dram_shared > (uint64_t)desc->dram_line
                               ? (uint64_t)desc->dram_shared
                               : (uint64_t)desc->dram_line;
    /* Nobody to divide with: no rounding either. */
    if (count == 0)
        return (int)least;
    const uint64_t share = td_company_share(scale / (uint64_t)desc->dram_shared, others, count);
    const uint64_t ticks = share > 0 ? scale / share : UINT64_MAX;
    return (int)(ticks < least ? least : capped(ticks, least * TD_COMPANY_SLOWEST));
}

void td_company_set(struct td_company *company, const struct td_core_desc *desc, uint32_t threads,
                    const struct td_company_other *others, size_t count)
{
    const int line = line_ticks(desc, others, count);
    const int whole = desc->dram_line > 0 ? desc->dram_line : 1;
    uint64_t fills = 0;

    for (size_t i = 0; i < count; i++)
        fills += rate(others[i].fills) * threads_of(&others[i]);
    /* Its threads' cycles go by side by side. */
    fills /= threads > 0 ? threads : 1;
    atomic_store_explicit(&company->fills, (uint32_t)capped(fills, UINT32_MAX),
                          memory_order_relaxed);
    atomic_store_explicit(&company->line, line, memory_order_relaxed);
    atomic_store_explicit(&company->write,
                          line > whole ? (int)((int64_t)desc->dram_write * line / whole)
                                       : desc->dram_write,
                          memory_order_relaxed);
}

void td_company_init(struct td_company *company, const struct td_core_desc *desc)
{
    atomic_store(&company->cycles, 0);
    atomic_store(&company->ticks, 0);
    atomic_store(&company->brought, 0);
    td_company_set(company, desc, 1, NULL, 0);
}

void td_company_work(struct td_company *company, uint64_t cycles, uint64_t ticks)
{
    const uint32_t fills = atomic_load_explicit(&company->fills, memory_order_relaxed);

    atomic_fetch_add_explicit(&company->cycles, cycles, memory_order_relaxed);
    atomic_fetch_add_explicit(&company->ticks, ticks, memory_order_relaxed);
    if (fills > 0)
        atomic_fetch_add_explicit(&company->brought, cycles * fills / TD_COMPANY_ONE,
                                  memory_order_relaxed);
}

struct td_company_done td_company_done(const struct td_company *company)
{
    return (struct td_company_done){
        .cycles = atomic_load_explicit(&company->cycles, memory_order_relaxed),
        .ticks = atomic_load_explicit(&company->ticks, memory_order_relaxed)};
}

static uint32_t rate_of(uint64_t count, uint64_t cycles)
{
    return (uint32_t)capped(count * TD_COMPANY_ONE / cycles,
                            (uint64_t)TD_COMPANY_LINES_MAX * TD_COMPANY_ONE);
}

struct td_company_other td_company_rates(const struct td_core_desc *desc,
                                         const struct td_company_done *did, uint64_t fills)
{
    const uint64_t line = desc->dram_line > 0 ? (uint64_t)desc->dram_line : 1;

    if (did->cycles == 0)
        return (struct td_company_other){.threads = 0};
    return (struct td_company_other){.threads = 1,
                                     .lines = rate_of(did->ticks / line, did->cycles),
                                     .fills = rate_of(fills, did->cycles)};
}
