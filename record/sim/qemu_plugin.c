/* SPDX-License-Identifier: MIT */
/*
 * A QEMU user-mode plugin that feeds the modelled core. The program's blocks and addresses go to a
 * buffer a thread, and from there to that thread's model. Arguments: core=NAME
 * mode=exact|sample|warm|skip, spool=FOLDER: each process image writes its profile there; pmu=FILE:
 * and is sampled (qemu_pmu.h); out=FILE: at the end, lines of text.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "formats/uarch_core.h"
#include "record/sim/qemu_api.h"
#include "record/sim/qemu_exec.h"
#include "record/sim/qemu_piece.h"
#include "record/sim/qemu_pmu.h"
#include "record/sim/sampling.h"
#include "record/sim/sim.h"

TD_QEMU_EXPORT int qemu_plugin_version = TD_QEMU_VERSION;
TD_QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                       char **argv);

enum {
    BATCH_WORDS = 4096,
    BATCH_SLACK = TD_TRACE_INSNS_MAX * 8, /* accesses of one block after the batch is full */
    /* Lines used last, while instructions are skipped: fewer than L1 holds, so that no line that
     * leaves L1 goes unseen. */
    RECENT_LINES = 512,
    LINE_BITS = 6,
    THREADS_MAX = 4096,
};

struct thread {
    pthread_mutex_t lock; /* held while the model runs or is read */
    uint32_t used;
    uint32_t tid;
    char name[16];
    enum td_sim_mode mode; /* of the phase that is under way */
    int64_t left, planned; /* its instructions: still to come; when `left` was last reported */
    struct td_sampling sampling;
    struct td_sim *sim;
    uint64_t zeroed; /* address after the last block zeroed */
    uint64_t recent[RECENT_LINES];
    struct td_qemu_pmu_thread *sampled; /* NULL unless the PMU is simulated */
    uint64_t words[BATCH_WORDS + BATCH_SLACK];
};

struct plugin {
    pthread_mutex_t lock; /* held for definitions and for making threads */
    struct td_core_desc desc;
    struct td_blocks *blocks;
    struct td_llc *llc;
    bool link; /* td_blocks_link */
    bool sample;
    enum td_sim_mode mode;   /* of all, when it is not sampled */
    struct td_qemu_pmu *pmu; /* NULL: none is simulated */
    const char *out;
    struct thread *threads[THREADS_MAX]; /* by vcpu index */

    /* Pieces (qemu_piece.h); spool NULL: none are wanted. */
    const char *spool;
    pthread_mutex_t piece_lock;
    char *piece_path; /* of this process image; NULL before the first */
    char *process;    /* the program's name */
    uint64_t start_ns, next_piece_ns;
    struct td_piece_maps maps; /* under `lock` */
    struct td_launch exec;
};

/* A process that is killed loses at most this much, or this many times what a piece takes. */
#define PIECE_EVERY_NS TD_NS_PER_S
#define PIECE_SHARE    50

/* System calls of the guest, x86-64's numbers. */
enum { GUEST_EXIT = 60, GUEST_EXIT_GROUP = 231 };

/* QEMU's callbacks carry no context of ours. */
static struct plugin *self;

static void run_batch(struct thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    td_sim_run(thread->sim, thread->words, thread->used, thread->mode);
    if (thread->mode == TD_SIM_SKIP)
        td_sim_skipped(thread->sim, (uint64_t)(thread->planned - thread->left));
    thread->planned = thread->left;
    thread->used = 0;
    pthread_mutex_unlock(&thread->lock);
}

/* A name that no earlier image of this process has: exec keeps the pid. */
static char *reserve_piece(void)
{
    for (unsigned i = 0;; i++) {
        char *path = td_xasprintf("%s/%d.%u.td", self->spool, (int)getpid(), i);
        const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

        if (fd >= 0)
            close(fd);
        if (fd >= 0 || i > 10000)
            return path;
        free(path);
    }
}

/* Threads may be renamed, also by others; one that has ended keeps its last name. */
static void update_name(struct thread *thread)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread->tid);
    char *name = thread->tid ? td_procfs_line(NULL, path) : NULL;
    if (name)
        snprintf(thread->name, sizeof(thread->name), "%s", name);
    /* The emulator's own name is the program's. */
    if (strncmp(thread->name, "qemu-", 5) == 0 && self->process)
        snprintf(thread->name, sizeof(thread->name), "%s", self->process);
    free(name);
}

/* Writes what all threads have done up to their last batches. */
static void write_piece(void)
{
    struct td_piece_thread *threads = NULL;
    size_t count = 0, cap = 0;

    pthread_mutex_lock(&self->piece_lock);
    if (!self->piece_path)
        self->piece_path = reserve_piece();
    pthread_mutex_lock(&self->lock);
    td_piece_maps_update(&self->maps);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = self->threads[i];

        if (!thread)
            continue;
        pthread_mutex_lock(&thread->lock);
        update_name(thread);
        threads = td_grow(threads, &cap, count + 1, sizeof(*threads));
        threads[count] = (struct td_piece_thread){.tid = thread->tid, .sim = thread->sim};
        memcpy(threads[count].name, thread->name, sizeof(thread->name));
        if (thread->sampled)
            td_qemu_pmu_write(thread->sampled, self->spool, self->start_ns, (uint32_t)getpid(),
                              &threads[count], &self->maps, NULL);
        count++;
    }
    const struct td_piece piece = {
        .pid = (uint32_t)getpid(),
        .process = self->process,
        .start_ns = self->start_ns,
        .maps = &self->maps,
        .threads = threads,
        .thread_count = count,
    };
    /* There is nobody to tell: the next one may succeed, and tdrec misses the piece. */
    td_piece_write(self->piece_path, &piece, NULL);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i])
            pthread_mutex_unlock(&self->threads[i]->lock);
    }
    pthread_mutex_unlock(&self->lock);
    pthread_mutex_unlock(&self->piece_lock);
    free(threads);
}

static void write_piece_in_time(void)
{
    const uint64_t before = td_clock_ns();

    if (!self->spool || before < __atomic_load_n(&self->next_piece_ns, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&self->next_piece_ns, UINT64_MAX, __ATOMIC_RELAXED);
    write_piece();
    const uint64_t after = td_clock_ns();
    const uint64_t pause = (after - before) * PIECE_SHARE;
    __atomic_store_n(&self->next_piece_ns,
                     after + (pause > PIECE_EVERY_NS ? pause : PIECE_EVERY_NS), __ATOMIC_RELAXED);
}

/* Who the thread is; called in it. */
static void learn_thread(struct thread *thread)
{
    thread->tid = (uint32_t)syscall(SYS_gettid);
    prctl(PR_GET_NAME, thread->name);
}

static void begin_phase(struct thread *thread)
{
    struct td_sampling_phase phase = {.mode = self->mode, .instructions = INT64_MAX};

    if (self->sample)
        phase = td_sampling_next(&thread->sampling);
    thread->mode = phase.mode;
    thread->left = thread->planned = (int64_t)phase.instructions;
}

/* The batch is full, or a block of `count` instructions goes beyond the phase. */
static void flush(struct thread *thread, int64_t count)
{
    /* Callbacks that make a thread run in the thread that made it; its first batch is its own. */
    if (!thread->tid)
        learn_thread(thread);
    run_batch(thread);
    if (thread->left < count)
        begin_phase(thread);
    write_piece_in_time();
}

/* What callbacks are given: a block and its instructions, or an instruction's index. */
static void *block_data(uint32_t block, uint32_t number)
{
    return (void *)(uintptr_t)(block | (uint64_t)number << 32);
}

static void on_block(unsigned int vcpu, void *userdata)
{
    struct thread *thread = self->threads[vcpu];
    const uint64_t data = (uint64_t)(uintptr_t)userdata;
    const int64_t count = (int64_t)(data >> 32);

    if (__builtin_expect(thread->left < count || thread->used >= BATCH_WORDS, 0))
        flush(thread, count);
    thread->left -= count;
    if (thread->mode != TD_SIM_SKIP || self->link)
        thread->words[thread->used++] = td_trace_block((uint32_t)data);
}

static inline void add_access(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t vaddr,
                              uint32_t insn)
{
    if (__builtin_expect(thread->used >= BATCH_WORDS + BATCH_SLACK, 0))
        return;
    thread->words[thread->used++] = td_trace_access(insn, qemu_plugin_mem_is_store(info),
                                                    qemu_plugin_mem_size_shift(info), vaddr);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    struct thread *thread = self->threads[vcpu];

    if (thread->mode == TD_SIM_SKIP) {
        const uint64_t line = vaddr >> LINE_BITS;
        uint64_t *place = &thread->recent[line & (RECENT_LINES - 1)];

        if (*place == line)
            return;
        *place = line;
    }
    add_access(thread, info, vaddr, (uint32_t)(uintptr_t)userdata);
}

/* A call's or return's access: its return address is never left out, where it goes may be. */
static void on_stack(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    struct thread *thread = self->threads[vcpu];
    const uint64_t data = (uint64_t)(uintptr_t)userdata;
    const uint32_t insn = (uint32_t)(data >> 32);

    if (thread->mode == TD_SIM_SKIP) {
        const struct td_block *block = td_blocks_get(self->blocks, (uint32_t)data);

        if (qemu_plugin_mem_is_store(info) != (block->branch != TD_BRANCH_RETURN) ||
            thread->used >= BATCH_WORDS + BATCH_SLACK)
            return;
        thread->words[thread->used++] = td_trace_block(block->id);
    }
    add_access(thread, info, vaddr, insn);
}

/* QEMU does not tell what `dc zva` stores. Those who use it fill memory upwards: it is the block
 * after the last store. */
static void on_zero(unsigned int vcpu, void *userdata)
{
    struct thread *thread = self->threads[vcpu];
    const uint64_t bytes = self->exec.guest->zero_bytes;
    uint32_t i = thread->used;

    while (i > 0 &&
           (thread->words[i - 1] & (TD_TRACE_BLOCK_BIT | TD_TRACE_STORE_BIT)) != TD_TRACE_STORE_BIT)
        i--;
    if (i > 0)
        thread->zeroed = TD_TRACE_ADDRESS(thread->words[i - 1]) / bytes * bytes + bytes;
    for (uint64_t line = 0; line < bytes && thread->used < BATCH_WORDS + BATCH_SLACK; line += 64)
        thread->words[thread->used++] =
            td_trace_access((uint32_t)(uintptr_t)userdata, true, 6, thread->zeroed + line);
    thread->zeroed += bytes;
}

/* dc zva, Xt */
static bool is_zero(const uint8_t *insn, size_t size)
{
    return self->exec.guest->zero_bytes && size == 4 && (insn[0] & 0xe0) == 0x20 &&
           insn[1] == 0x74 && insn[2] == 0x0b && insn[3] == 0xd5;
}

static struct thread *new_thread(void)
{
    struct thread *thread = td_xcalloc(1, sizeof(*thread));

    pthread_mutex_init(&thread->lock, NULL);
    thread->sim = td_sim_new(self->blocks, self->llc);
    begin_phase(thread);
    if (self->pmu)
        thread->sampled = td_qemu_pmu_attach(self->pmu, thread->sim);
    return thread;
}

/* A forked child has the threads' memory but only one thread, and none of its parent's work. The
 * parent's models are left as they are: they may have been at work in the moment of the fork. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&self->lock, NULL);
    pthread_mutex_init(&self->piece_lock, NULL);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i])
            self->threads[i] = new_thread();
    }
    self->piece_path = NULL;
    self->start_ns = td_clock_ns();
    self->next_piece_ns = self->start_ns + PIECE_EVERY_NS;
}

/* What ended without a piece would not be in the profile. */
static void finish_image(void)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i])
            run_batch(self->threads[i]);
    }
    if (self->spool)
        write_piece();
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are QEMU's. */
static void on_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
                       uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                       uint64_t a8)
{
    const uint64_t arguments[5] = {a1, a2, a3, a4, a5};

    number = td_guest_call(self->exec.guest, number);
    (void)id;
    (void)a6;
    (void)a7;
    (void)a8;
    if (number == GUEST_EXIT || number == GUEST_EXIT_GROUP)
        learn_thread(self->threads[vcpu]);
    if (!td_exec_can_follow(&self->exec, number, arguments))
        return;
    learn_thread(self->threads[vcpu]);
    finish_image();
    td_exec_follow(&self->exec, number, arguments);
}

/* QEMU ends a process that a signal kills with kill() on itself, and calls no plugin. It finds this
 * one because the plugin is preloaded too. */
TD_QEMU_EXPORT int kill(pid_t pid, int number)
{
    if (self && self->spool && pid == getpid())
        finish_image();
    return (int)syscall(SYS_kill, pid, number);
}

static void on_thread(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    pthread_mutex_lock(&self->lock);
    if (vcpu < THREADS_MAX && !self->threads[vcpu]) {
        self->threads[vcpu] = new_thread();
    }
    pthread_mutex_unlock(&self->lock);
}

/* The last instruction of a block may be a call or return. */
static void watch_accesses(struct qemu_plugin_insn *insn, const struct td_block *block,
                           uint32_t index)
{
    const bool call = block->branch == TD_BRANCH_CALL || block->branch == TD_BRANCH_INDIRECT_CALL;
    const bool stack = index == block->branch_insn && (call || block->branch == TD_BRANCH_RETURN);

    qemu_plugin_register_vcpu_mem_cb(insn, stack ? on_stack : on_access, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW,
                                     stack ? block_data(block->id, index) : block_data(index, 0));
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
        if (is_zero(bytes + at, size))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_zero, QEMU_PLUGIN_CB_NO_REGS,
                                                   (void *)(uintptr_t)i);
        at += size;
    }
    pthread_mutex_lock(&self->lock);
    const struct td_block *block =
        td_blocks_get(self->blocks, td_blocks_define(self->blocks, qemu_plugin_tb_vaddr(tb), bytes,
                                                     lengths, (uint32_t)count));
    pthread_mutex_unlock(&self->lock);
    for (size_t i = 0; i < count; i++)
        watch_accesses(qemu_plugin_tb_get_insn(tb, i), block, (uint32_t)i);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                         block_data(block->id, block->insn_counted));
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
    finish_image();
    FILE *file = self->out ? fopen(self->out, "w") : NULL;

    if (!file)
        return;
    write_maps(file);
    for (unsigned int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = self->threads[i];
        if (!thread)
            continue;
        const struct output output = {.file = file, .thread = i};
        write_thread(&output, thread->sim);
    }
    fclose(file);
}

/* The emulator's own words, to execute it again, and the program's name: "... -cpu C -plugin P -0
 * NAME PROGRAM ...". */
static void learn_command_line(void)
{
    struct td_buf text = {0};
    const char *words[16] = {NULL};
    size_t count = 0;

    if (td_file_read("/proc/self/cmdline", 1 << 24, &text, NULL) != TD_OK)
        return;
    td_buf_u8(&text, 0);
    for (size_t at = 0; at + 1 < text.len && count < TD_ARRAY_SIZE(words);
         at += strlen((const char *)text.data + at) + 1)
        words[count++] = (const char *)text.data + at;
    self->exec.qemu = realpath("/proc/self/exe", NULL);
    for (size_t i = 1; i + 2 < count && !self->process; i++) {
        if (strcmp(words[i], "-plugin") == 0)
            self->exec.plugin = td_xstrdup(words[++i]);
        else if (strcmp(words[i], "-0") == 0) {
            const char *slash = strrchr(words[i + 2], '/');

            self->process = td_xstrndup(slash ? slash + 1 : words[i + 2], 15);
        }
    }
    td_buf_release(&text);
}

static int parse_arguments(struct plugin *plugin, int argc, char **argv)
{
    const char *core = plugin->exec.guest->core, *pmu = NULL;
    struct td_err err = TD_ERR_INIT;

    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "core=", 5) == 0)
            core = argv[i] + 5;
        else if (strncmp(argv[i], "out=", 4) == 0)
            plugin->out = td_xstrdup(argv[i] + 4);
        else if (strncmp(argv[i], "spool=", 6) == 0)
            plugin->spool = td_xstrdup(argv[i] + 6);
        else if (strncmp(argv[i], "pmu=", 4) == 0)
            pmu = argv[i] + 4;
        else if (strcmp(argv[i], "mode=warm") == 0)
            plugin->mode = TD_SIM_WARM;
        else if (strcmp(argv[i], "mode=skip") == 0)
            plugin->mode = TD_SIM_SKIP;
        else if (strcmp(argv[i], "mode=sample") == 0)
            plugin->sample = true;
    }
    if (td_core_desc_builtin(&plugin->desc, core, &err) != TD_OK ||
        (pmu && !(plugin->pmu = td_qemu_pmu_read(pmu, &plugin->desc, &err)))) {
        fprintf(stderr, "tdprof: %s\n", err.text);
        return -1;
    }
    if (strcmp(plugin->desc.isa, plugin->exec.guest->name) != 0) {
        fprintf(stderr, "tdprof: core %s runs no %s programs\n", core, plugin->exec.guest->title);
        return -1;
    }
    return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    const struct td_guest *guest = td_guest_by_name(info->target_name);

    if (info->version.min > TD_QEMU_VERSION || !guest) {
        fprintf(stderr, "tdprof: this QEMU (%s, plugin version %d and up) is not supported\n",
                info->target_name, info->version.min);
        return -1;
    }
    self = td_xcalloc(1, sizeof(*self));
    self->exec.guest = guest;
    pthread_mutex_init(&self->lock, NULL);
    if (parse_arguments(self, argc, argv) < 0)
        return -1;
    self->blocks = td_blocks_new(&self->desc);
    self->link = td_blocks_link(self->blocks);
    self->llc = td_llc_new(&self->desc);
    pthread_mutex_init(&self->piece_lock, NULL);
    self->start_ns = td_clock_ns();
    self->next_piece_ns = self->start_ns + PIECE_EVERY_NS;
    if (self->spool) {
        learn_command_line();
        pthread_atfork(NULL, NULL, after_fork_in_child);
        qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    }
    qemu_plugin_register_vcpu_init_cb(id, on_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
