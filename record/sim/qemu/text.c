/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/text.h"

#include <stdio.h>

struct output {
    FILE *file;
    unsigned int thread;
};

static void write_tally(void *ctx, const struct td_sim_tally *tally)
{
    const struct output *output = ctx;

    fprintf(output->file, "T %u %u %llx", output->thread, tally->path,
            (unsigned long long)tally->pc);
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        fprintf(output->file, " %llu", (unsigned long long)tally->values[c]);
    fputc('\n', output->file);
}

static void write_thread(const struct output *output, const struct td_sim *sim)
{
    struct td_sim_totals t;

    td_sim_totals(sim, &t);
#define TOTAL(name) fprintf(output->file, " " #name " %llu", (unsigned long long)t.name)
    fprintf(output->file, "S %u", output->thread);
    TOTAL(slots), TOTAL(cycles), TOTAL(instructions), TOTAL(warmed), TOTAL(skipped),
        TOTAL(detailed);
    TOTAL(windows);
    fprintf(output->file, " cycles_error %.0f", t.cycles_error);
    TOTAL(branches), TOTAL(mispredicts), TOTAL(indirect_mispredicts), TOTAL(unknown_targets);
    TOTAL(l1d_misses), TOTAL(l2_misses), TOTAL(l3_misses), TOTAL(tlb_misses), TOTAL(prefetches);
    TOTAL(l1i_misses), TOTAL(itlb_misses), TOTAL(machine_clears), TOTAL(unmatched_returns);
#undef TOTAL
    fputc('\n', output->file);
    td_sim_each_tally(sim, write_tally, (void *)(uintptr_t)output);
}

static void write_columns(FILE *file)
{
    fputc('C', file);
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        fprintf(file, " %s", td_sim_column_info((enum td_sim_column)c).name);
    fputc('\n', file);
}

static void write_maps(FILE *file)
{
    char line[4400];
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && fgets(line, sizeof(line), maps))
        fprintf(file, "M %s", line);
    if (maps)
        fclose(maps);
}

void td_qemu_text_write(const struct td_image *process, const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return;
    write_maps(file);
    write_columns(file);
    for (unsigned i = 0; i < process->thread_limit; i++) {
        const struct td_image_thread *thread = process->threads[i];
        if (!thread || thread->shared)
            continue;
        const struct output output = {.file = file, .thread = i};
        write_thread(&output, td_queue_lock(thread->queue));
        td_queue_unlock(thread->queue);
    }
    fclose(file);
}
