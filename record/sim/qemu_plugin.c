/* SPDX-License-Identifier: MIT */
/*
 * A QEMU user-mode plugin that feeds the modelled core. The program's blocks and addresses go to a
 * buffer a thread, and from there to that thread's model. Arguments: core=NAME out=FILE
 * mode=exact|warm|count. At the program's end FILE gets totals and tallies as lines of text.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/uarch_core.h"
#include "record/sim/qemu_api.h"
#include "record/sim/sim.h"

TD_QEMU_EXPORT int qemu_plugin_version = TD_QEMU_VERSION;
TD_QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                       char **argv);

enum {
    BATCH_WORDS = 4096,
    BATCH_SLACK = TD_TRACE_INSNS_MAX * 8, /* accesses of one block after the batch is full */
    THREADS_MAX = 4096,
};

struct thread {
    uint32_t used;
    struct td_sim *sim;
    uint64_t words[BATCH_WORDS + BATCH_SLACK];
};

struct plugin {
    pthread_mutex_t lock; /* held for definitions and for making threads */
    struct td_core_desc desc;
    struct td_blocks *blocks;
    struct td_llc *llc;
    enum td_sim_mode mode;
    const char *out;
    struct thread *threads[THREADS_MAX]; /* by vcpu index */
};

/* QEMU's callbacks carry no context of ours. */
static struct plugin *self;

static void flush(struct thread *thread)
{
    td_sim_run(thread->sim, thread->words, thread->used, self->mode);
    thread->used = 0;
}

static void on_block(unsigned int vcpu, void *userdata)
{
    struct thread *thread = self->threads[vcpu];

    if (__builtin_expect(thread->used >= BATCH_WORDS, 0))
        flush(thread);
    thread->words[thread->used++] = (uint64_t)(uintptr_t)userdata | TD_TRACE_BLOCK_BIT;
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    struct thread *thread = self->threads[vcpu];

    if (__builtin_expect(thread->used >= BATCH_WORDS + BATCH_SLACK, 0))
        return;
    thread->words[thread->used++] =
        td_trace_access((uint32_t)(uintptr_t)userdata, qemu_plugin_mem_is_store(info),
                        qemu_plugin_mem_size_shift(info), vaddr);
}

static void on_thread(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    pthread_mutex_lock(&self->lock);
    if (vcpu < THREADS_MAX && !self->threads[vcpu]) {
        struct thread *thread = td_xcalloc(1, sizeof(*thread));
        thread->sim = td_sim_new(self->blocks, self->llc);
        self->threads[vcpu] = thread;
    }
    pthread_mutex_unlock(&self->lock);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    uint8_t bytes[TD_TRACE_INSNS_MAX * 16], lengths[TD_TRACE_INSNS_MAX];
    const size_t count = qemu_plugin_tb_n_insns(tb);
    size_t at = 0;

    (void)id;
    assert(count < TD_TRACE_INSNS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const size_t size = qemu_plugin_insn_size(insn);
        memcpy(bytes + at, qemu_plugin_insn_data(insn), size);
        lengths[i] = (uint8_t)size;
        at += size;
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, (void *)(uintptr_t)i);
    }
    pthread_mutex_lock(&self->lock);
    const uint32_t block =
        td_blocks_define(self->blocks, qemu_plugin_tb_vaddr(tb), bytes, lengths, (uint32_t)count);
    pthread_mutex_unlock(&self->lock);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                         (void *)(uintptr_t)block);
}

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
    TOTAL(slots), TOTAL(cycles), TOTAL(instructions), TOTAL(warmed), TOTAL(counted);
    TOTAL(branches), TOTAL(mispredicts), TOTAL(indirect_mispredicts), TOTAL(unknown_targets);
    TOTAL(l1d_misses), TOTAL(l2_misses), TOTAL(l3_misses), TOTAL(tlb_misses), TOTAL(prefetches);
    TOTAL(l1i_misses), TOTAL(itlb_misses), TOTAL(machine_clears), TOTAL(unmatched_returns);
#undef TOTAL
    fputc('\n', output->file);
    td_sim_each_tally(sim, write_tally, (void *)(uintptr_t)output);
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

static void on_exit_of_program(qemu_plugin_id_t id, void *userdata)
{
    (void)id;
    (void)userdata;
    FILE *file = self->out ? fopen(self->out, "w") : NULL;

    if (!file)
        return;
    write_maps(file);
    for (unsigned int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = self->threads[i];
        if (!thread)
            continue;
        flush(thread);
        const struct output output = {.file = file, .thread = i};
        write_thread(&output, thread->sim);
    }
    fclose(file);
}

static int parse_arguments(struct plugin *plugin, int argc, char **argv)
{
    const char *core = "golden-cove";
    struct td_err err = TD_ERR_INIT;

    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "core=", 5) == 0)
            core = argv[i] + 5;
        else if (strncmp(argv[i], "out=", 4) == 0)
            plugin->out = td_xstrdup(argv[i] + 4);
        else if (strcmp(argv[i], "mode=warm") == 0)
            plugin->mode = TD_SIM_WARM;
        else if (strcmp(argv[i], "mode=count") == 0)
            plugin->mode = TD_SIM_COUNT;
    }
    if (td_core_desc_builtin(&plugin->desc, core, &err) != TD_OK) {
        fprintf(stderr, "tdprof: %s\n", err.text);
        return -1;
    }
    return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    if (info->version.min > TD_QEMU_VERSION || strcmp(info->target_name, "x86_64") != 0) {
        fprintf(stderr, "tdprof: this QEMU (%s, plugin version %d and up) is not supported\n",
                info->target_name, info->version.min);
        return -1;
    }
    self = td_xcalloc(1, sizeof(*self));
    pthread_mutex_init(&self->lock, NULL);
    if (parse_arguments(self, argc, argv) < 0)
        return -1;
    self->blocks = td_blocks_new(&self->desc);
    self->llc = td_llc_new(&self->desc);
    qemu_plugin_register_vcpu_init_cb(id, on_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
