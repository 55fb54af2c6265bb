/* SPDX-License-Identifier: MIT */
/*
 * A QEMU user-mode plugin that feeds the modelled core. The program's blocks and addresses go to a
 * buffer a thread, and from there to that thread's model. Arguments: core=NAME
 * mode=exact|sample|warm|skip, spool=NAME: each process image leaves its profile there (spool.h),
 * after=N: the place of the image that executed this one, pmu=FILE: and is sampled (qemu_pmu.h);
 * out=FILE: at the end, lines of text.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
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
#include "record/sim/program.h"
#include "record/sim/qemu_exec.h"
#include "record/sim/qemu_fault.h"
#include "record/sim/qemu_feed.h"
#include "record/sim/qemu_piece.h"
#include "record/sim/qemu_pmu.h"
#include "record/sim/qemu_stack.h"
#include "record/sim/sampling.h"
#include "record/sim/sim.h"
#include "record/sim/spool.h"

TD_QEMU_EXPORT int qemu_plugin_version = TD_QEMU_VERSION;
TD_QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                       char **argv);

enum {
    BATCH_ROOM = TD_FEED_WORDS + TD_FEED_SLACK,
    /* Lines used last, while instructions are skipped: fewer than L1 holds, so that no line that
     * leaves L1 goes unseen. */
    RECENT_LINES = 512,
    LINE_BITS = 6,
    THREADS_MAX = 4096,
};

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
    GUEST_EXIT = 60,
    GUEST_KILL = 62,
    GUEST_PIVOT_ROOT = 155,
    GUEST_CHROOT = 161,
    GUEST_EXIT_GROUP = 231,
    GUEST_TGKILL = 234,
};

struct thread {
    struct td_feed *feed;
    struct td_feed_batch *batch; /* the one being filled */
    enum td_sim_mode mode;       /* of the phase that is under way */
    uint32_t tid;
    char name[16];
    int64_t left, planned; /* its instructions: still to come; when `left` was last reported */
    struct td_sampling sampling;
    uint64_t counted_instructions, counted_cycles, next_count_ns; /* told to the spool */
    uint64_t zeroed; /* address after the last block zeroed */
    uint64_t recent[RECENT_LINES];
    struct td_qemu_pmu_thread *sampled; /* NULL unless the PMU is simulated */
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
    char *pmu_folder;        /* of its records: where its plan is */
    const char *out;
    struct thread *threads[THREADS_MAX]; /* by vcpu index */

    /* Pieces (qemu_piece.h); spool NULL: none are wanted. */
    struct td_spool *spool;
    char *spool_name;
    _Atomic bool abandoned; /* nobody reads the spool any more: only run on */
    pthread_mutex_t piece_lock;
    uint32_t place; /* of this process image */
    uint32_t after; /* of the image that executed this one, or TD_SPOOL_NONE */
    char *process;  /* the program's name */
    uint64_t start_ns, next_piece_ns;
    uint64_t piece_cost_ns;    /* CPU time of all pieces so far */
    struct td_piece_maps maps; /* under `lock` */
    struct td_launch exec;
    struct td_guest_stack stack; /* of the main thread; set by its first batch */
    bool stack_known;
};

/* A process that is killed loses at most this much, or half of a short life, or this many times
 * what a piece takes. */
#define PIECE_EVERY_NS TD_NS_PER_S
#define PIECE_FIRST_NS (TD_NS_PER_S / 8)
#define PIECE_SHARE    50
/* Pieces before waits may bring the cost of all pieces to this, and one part in WAIT_SHARE. */
#define WAIT_FREE_NS   (TD_NS_PER_S / 50)
#define WAIT_SHARE     20
#define COUNT_EVERY_NS (TD_NS_PER_S / 16)

/* QEMU's callbacks carry no context of ours. */
static struct plugin *self;

/* The first access of a program is to its stack. */
static void learn_stack(const struct td_feed_batch *batch)
{
    self->stack_known = true;
    for (uint32_t i = 0; i < batch->used; i++) {
        if (!(batch->words[i] & TD_TRACE_BLOCK_BIT)) {
            td_guest_stack_learn(&self->stack, TD_TRACE_ADDRESS(batch->words[i]));
            return;
        }
    }
}

/* Hands on what the thread has done. */
static void put_batch(struct thread *thread)
{
    struct td_feed_batch *batch = thread->batch;

    if (!self->stack_known)
        learn_stack(batch);
    td_guest_stack_apply(&self->stack, batch->words, batch->used);
    batch->mode = thread->mode;
    if (thread->mode == TD_SIM_SKIP)
        batch->skipped = (uint64_t)(thread->planned - thread->left);
    thread->planned = thread->left;
    td_feed_put(thread->feed);
    thread->batch = td_feed_batch(thread->feed);
}

static void add_word(struct thread *thread, uint64_t word)
{
    struct td_feed_batch *batch = thread->batch;

    if (__builtin_expect(batch->used < BATCH_ROOM, 1))
        batch->words[batch->used++] = word;
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
    struct td_buf bytes = {0};
    size_t count = 0, cap = 0;

    pthread_mutex_lock(&self->piece_lock);
    pthread_mutex_lock(&self->lock);
    td_piece_maps_update(&self->maps);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = self->threads[i];

        if (!thread)
            continue;
        update_name(thread);
        threads = td_grow(threads, &cap, count + 1, sizeof(*threads));
        threads[count] =
            (struct td_piece_thread){.tid = thread->tid, .sim = td_feed_lock(thread->feed)};
        memcpy(threads[count].name, thread->name, sizeof(thread->name));
        if (thread->sampled)
            td_qemu_pmu_write(thread->sampled, self->pmu_folder, self->start_ns, (uint32_t)getpid(),
                              &threads[count], &self->maps, NULL);
        count++;
    }
    const struct td_piece_source image = {
        .pid = (uint32_t)getpid(),
        .process = self->process,
        .start_ns = self->start_ns,
        .maps = &self->maps,
        .threads = threads,
        .thread_count = count,
    };
    td_piece_write(&bytes, &image);
    /* There is nobody to tell: the next one may succeed, and tdrec misses the piece. */
    td_spool_put(self->spool, self->place, bytes.data, bytes.len);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i])
            td_feed_unlock(self->threads[i]->feed);
    }
    pthread_mutex_unlock(&self->lock);
    pthread_mutex_unlock(&self->piece_lock);
    td_buf_release(&bytes);
    free(threads);
}

/* Without a reader there is nothing to model for: the program runs on as fast as it can. */
static void abandon(void)
{
    self->sample = false;
    self->mode = TD_SIM_SKIP;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i]) {
            self->threads[i]->mode = TD_SIM_SKIP;
            self->threads[i]->left = self->threads[i]->planned = INT64_MAX;
        }
    }
    self->abandoned = true;
}

/* For the line that shows how far the program is. */
static void count_progress(struct thread *thread, uint64_t now)
{
    struct td_sim_totals totals;

    if (!self->spool || now < thread->next_count_ns)
        return;
    td_sim_totals(td_feed_lock(thread->feed), &totals);
    td_feed_unlock(thread->feed);
    td_spool_count(self->spool, totals.instructions - thread->counted_instructions,
                   totals.cycles - thread->counted_cycles);
    thread->counted_instructions = totals.instructions;
    thread->counted_cycles = totals.cycles;
    thread->next_count_ns = now + COUNT_EVERY_NS;
}

/* Writes a piece, and says when the next is due. */
static void write_piece_now(void)
{
    const uint64_t cpu = td_clock_thread_ns();

    __atomic_store_n(&self->next_piece_ns, UINT64_MAX, __ATOMIC_RELAXED);
    if (!td_spool_watched(self->spool, self->spool_name)) {
        abandon();
        return;
    }
    write_piece();
    const uint64_t after = td_clock_ns(), cost = td_clock_thread_ns() - cpu;
    const uint64_t pause = cost * PIECE_SHARE, age = after - self->start_ns;
    const uint64_t usual = age < PIECE_EVERY_NS ? age : PIECE_EVERY_NS;
    __atomic_store_n(&self->next_piece_ns, after + (pause > usual ? pause : usual),
                     __ATOMIC_RELAXED);
    __atomic_fetch_add(&self->piece_cost_ns, cost, __ATOMIC_RELAXED);
}

static void write_piece_in_time(struct thread *thread)
{
    const uint64_t now = td_clock_ns();

    count_progress(thread, now);
    if (self->spool && now >= __atomic_load_n(&self->next_piece_ns, __ATOMIC_RELAXED))
        write_piece_now();
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
    put_batch(thread);
    if (thread->left < count)
        begin_phase(thread);
    write_piece_in_time(thread);
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

    if (__builtin_expect(thread->left < count || thread->batch->used >= TD_FEED_WORDS, 0))
        flush(thread, count);
    thread->left -= count;
    if (thread->mode != TD_SIM_SKIP || self->link)
        add_word(thread, td_trace_block((uint32_t)data));
}

static inline void add_access(struct thread *thread, qemu_plugin_meminfo_t info, uint64_t vaddr,
                              uint32_t insn)
{
    add_word(thread, td_trace_access(insn, qemu_plugin_mem_is_store(info),
                                     qemu_plugin_mem_size_shift(info), vaddr));
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

        if (qemu_plugin_mem_is_store(info) != (block->branch != TD_BRANCH_RETURN))
            return;
        add_word(thread, td_trace_block(block->id));
    }
    add_access(thread, info, vaddr, insn);
}

/* QEMU does not tell what `dc zva` stores. Those who use it fill memory upwards: it is the block
 * after the last store. */
static void on_zero(unsigned int vcpu, void *userdata)
{
    struct thread *thread = self->threads[vcpu];
    const uint64_t bytes = self->exec.guest->zero_bytes;
    const uint64_t *words = thread->batch->words;
    uint32_t i = thread->batch->used;

    while (i > 0 &&
           (words[i - 1] & (TD_TRACE_BLOCK_BIT | TD_TRACE_STORE_BIT)) != TD_TRACE_STORE_BIT)
        i--;
    if (i > 0)
        thread->zeroed = TD_TRACE_ADDRESS(words[i - 1]) / bytes * bytes + bytes;
    for (uint64_t line = 0; line < bytes; line += 64)
        add_word(thread,
                 td_trace_access((uint32_t)(uintptr_t)userdata, true, 6, thread->zeroed + line));
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
    struct td_sim *sim = td_sim_new(self->blocks, self->llc);

    if (self->pmu)
        thread->sampled = td_qemu_pmu_attach(self->pmu, sim);
    /* Sampled, the program's thread has the more to do. */
    thread->feed = td_feed_new(sim, !self->sample);
    thread->batch = td_feed_batch(thread->feed);
    begin_phase(thread);
    return thread;
}

/* What the models share must be whole in the child, and the same each time. */
static void before_fork(void)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (!self->threads[i])
            continue;
        td_feed_drain(self->threads[i]->feed);
        td_feed_lock(self->threads[i]->feed);
    }
}

static void after_fork_in_parent(void)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i])
            td_feed_unlock(self->threads[i]->feed);
    }
}

/* A forked child has the threads' memory but only one thread, and none of its parent's work; the
 * parent's models stay where they are. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&self->lock, NULL);
    pthread_mutex_init(&self->piece_lock, NULL);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (self->threads[i])
            self->threads[i] = new_thread();
    }
    self->place = self->spool ? td_spool_claim(self->spool) : TD_SPOOL_NONE;
    self->start_ns = td_clock_ns();
    self->next_piece_ns = self->start_ns + PIECE_FIRST_NS;
}

/* What ended without a piece would not be in the profile. `own`: other threads may still run, and
 * their last batches are theirs; NULL at the end. */
static void finish_image(struct thread *own)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (!self->threads[i])
            continue;
        if (!own || own == self->threads[i])
            put_batch(self->threads[i]);
        td_feed_drain(self->threads[i]->feed);
    }
    if (self->spool && !self->abandoned)
        write_piece();
}

/* What runs natively from here on is not in the profile: say so. */
static void note_native(struct thread *thread, const char *path, const char *why)
{
    finish_image(thread);
    char *text = td_xasprintf("not modelled, it ran natively: '%s', %s", path, why);

    td_spool_note(self->spool, text);
    free(text);
}

/* The emulator executes itself with the program, unless that cannot be emulated. */
static void follow_exec(struct thread *thread, const struct td_exec_call *call)
{
    struct td_program program;

    td_program_look(&program, call->path);
    const bool can = program.kind == TD_PROGRAM_EMULATED && program.guest == self->exec.guest;
    if (can && td_spool_reachable(self->spool_name)) {
        learn_thread(thread);
        finish_image(thread);
        char *plugin = td_xasprintf("%s,after=%u", self->exec.plugin, self->place);
        const struct td_launch launch = {
            .qemu = self->exec.qemu, .guest = self->exec.guest, .plugin = plugin};
        td_exec_follow(&launch, call);
        free(plugin);
    } else if (can) {
        note_native(thread, call->path, "executed as another user, or with another root");
    } else if (program.kind == TD_PROGRAM_EMULATED) {
        note_native(thread, call->path, "for another processor than the program that executed it");
    } else if (program.kind != TD_PROGRAM_MISSING && program.kind != TD_PROGRAM_OTHER) {
        note_native(thread, call->path, td_program_about(program.kind));
    }
    td_program_release(&program);
}

static bool kills_itself(int64_t number, const uint64_t a[5])
{
    const int64_t pid = (int32_t)a[0];

    return (number == GUEST_KILL && a[1] == SIGKILL && (pid <= 0 || pid == getpid())) ||
           (number == GUEST_TGKILL && a[2] == SIGKILL && pid == getpid());
}

/* Waiting for time, for children, for other threads or for what comes from outside. */
static bool may_wait(int64_t number)
{
    static const int16_t calls[] = {
        7,   /* poll */
        23,  /* select */
        34,  /* pause */
        35,  /* nanosleep */
        61,  /* wait4 */
        130, /* rt_sigsuspend */
        202, /* futex */
        230, /* clock_nanosleep */
        232, /* epoll_wait */
        247, /* waitid */
        270, /* pselect6 */
        271, /* ppoll */
        281, /* epoll_pwait */
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(calls); i++) {
        if (calls[i] == number)
            return true;
    }
    return false;
}

/* Who kills this process while it waits finds in the profile what it did before, unless it waits so
 * often that pieces would cost more than their share. */
static void write_before_wait(struct thread *thread)
{
    const uint64_t cost = __atomic_load_n(&self->piece_cost_ns, __ATOMIC_RELAXED);

    if (!self->spool || cost > WAIT_FREE_NS + td_clock_process_ns() / WAIT_SHARE ||
        __atomic_load_n(&self->next_piece_ns, __ATOMIC_RELAXED) == UINT64_MAX)
        return;
    put_batch(thread);
    td_feed_drain(thread->feed);
    write_piece_now();
}

/* Where /proc is out of reach afterwards, what is known of the mappings stays. */
static void read_maps(void)
{
    pthread_mutex_lock(&self->lock);
    td_piece_maps_update(&self->maps);
    pthread_mutex_unlock(&self->lock);
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are QEMU's. */
static void on_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
                       uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                       uint64_t a8)
{
    const uint64_t arguments[5] = {a1, a2, a3, a4, a5};
    struct td_exec_call call;

    number = td_guest_call(self->exec.guest, number);
    (void)id;
    (void)a6;
    (void)a7;
    (void)a8;
    if (number == GUEST_EXIT || number == GUEST_EXIT_GROUP)
        learn_thread(self->threads[vcpu]);
    if (self->abandoned)
        return;
    if (number == GUEST_CHROOT || number == GUEST_PIVOT_ROOT)
        read_maps();
    if (kills_itself(number, arguments))
        finish_image(self->threads[vcpu]);
    else if (may_wait(number))
        write_before_wait(self->threads[vcpu]);
    if (!td_exec_read(&call, number, arguments))
        return;
    follow_exec(self->threads[vcpu], &call);
    free(call.path);
}

/* The last instruction that a thread began. */
static uint64_t last_pc(const struct thread *thread)
{
    for (uint32_t i = thread->batch->used; i > 0; i--) {
        const uint64_t word = thread->batch->words[i - 1];

        if ((word & TD_TRACE_BLOCK_BIT) && !(word & TD_TRACE_MARK_BIT)) {
            const struct td_block *block = td_blocks_get(self->blocks, (uint32_t)word);
            return block->pc + block->insn_offsets[block->insn_count - 1];
        }
    }
    return 0;
}

/* The thread that this is; NULL when that is not known. */
static struct thread *find_thread(void)
{
    const uint32_t tid = (uint32_t)syscall(SYS_gettid);
    struct thread *alone = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (!self->threads[i])
            continue;
        if (self->threads[i]->tid == tid)
            return self->threads[i];
        alone = self->threads[i];
        count++;
    }
    /* A thread learns who it is with its first batch. */
    return count == 1 ? alone : NULL;
}

/* QEMU translates up to the instruction that it does not know and fails when it gets there. */
static void note_illegal(const struct thread *thread)
{
    td_piece_maps_update(&self->maps);
    char *text = td_fault_text(self->exec.guest, self->process, last_pc(thread), &self->maps);
    if (text)
        td_spool_note(self->spool, text);
    free(text);
}

/* QEMU ends a process that a signal kills with kill() on itself, and calls no plugin. It finds this
 * one because the plugin is preloaded too. */
TD_QEMU_EXPORT int kill(pid_t pid, int number)
{
    if (self && self->spool && !self->abandoned && pid == getpid()) {
        struct thread *thread = find_thread();

        if (number == SIGILL && thread)
            note_illegal(thread);
        finish_image(thread);
        td_spool_end(self->spool, self->place);
    }
    return (int)syscall(SYS_kill, pid, number);
}

/* The same for what QEMU then tells on the program's stderr, which the program would not. */
TD_QEMU_EXPORT int td_print_checked(FILE *file, int flag, const char *format,
                                    ...) __asm__("__fprintf_chk")
    __attribute__((format(printf, 3, 4)));

int td_print_checked(FILE *file, int flag, const char *format, ...)
{
    static const char message[] = "qemu: uncaught target signal";
    va_list args;
    int written = 0;

    (void)flag;
    if (self && self->spool && strncmp(format, message, sizeof(message) - 1) == 0)
        return 0;
    va_start(args, format);
    written = vfprintf(file, format, args);
    va_end(args);
    return written;
}

/* QEMU gives a new thread the number of one that has ended. */
static void reuse_thread(struct thread *thread)
{
    add_word(thread, td_trace_mark(TD_TRACE_THREAD));
    thread->tid = 0;
}

static void on_thread(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    pthread_mutex_lock(&self->lock);
    if (vcpu < THREADS_MAX && !self->threads[vcpu])
        self->threads[vcpu] = new_thread();
    else if (vcpu < THREADS_MAX)
        reuse_thread(self->threads[vcpu]);
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
    finish_image(NULL);
    if (self->spool)
        td_spool_end(self->spool, self->place);
    FILE *file = self->out ? fopen(self->out, "w") : NULL;

    if (!file)
        return;
    write_maps(file);
    for (unsigned int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = self->threads[i];
        if (!thread)
            continue;
        const struct output output = {.file = file, .thread = i};
        write_thread(&output, td_feed_lock(thread->feed));
        td_feed_unlock(thread->feed);
    }
    fclose(file);
}

/* What comes after ",after=" is of another image. */
static char *without_after(const char *plugin)
{
    const char *after = strstr(plugin, ",after=");

    return td_xstrndup(plugin, after ? (size_t)(after - plugin) : strlen(plugin));
}

/* The emulator's own words, to execute it again, and the program's name: options with a value each,
 * then the program. */
static void learn_command_line(void)
{
    struct td_buf text = {0};
    size_t at = 0;

    if (td_file_read("/proc/self/cmdline", 1 << 24, &text, NULL) != TD_OK)
        return;
    td_buf_u8(&text, 0);
    self->exec.qemu = realpath("/proc/self/exe", NULL);
    for (at = strlen((const char *)text.data) + 1; at + 1 < text.len && text.data[at] == '-';) {
        const char *name = (const char *)text.data + at;
        const char *value = name + strlen(name) + 1;

        at = (size_t)(value - (const char *)text.data) + strlen(value) + 1;
        if (strcmp(name, "-plugin") == 0)
            self->exec.plugin = without_after(value);
    }
    if (at + 1 < text.len) {
        const char *program = (const char *)text.data + at;
        const char *slash = strrchr(program, '/');

        self->process = td_xstrndup(slash ? slash + 1 : program, 15);
        prctl(PR_SET_NAME, self->process);
    }
    td_buf_release(&text);
}

/* tdrec's core stands in the spool; without one, the name says it. Nobody looks at what is modelled
 * when the spool is gone: any core will do. */
static int read_core(struct plugin *plugin, const char *name, struct td_err *err)
{
    if (plugin->spool) {
        plugin->desc = *td_spool_core(plugin->spool);
        return TD_OK;
    }
    return td_core_desc_builtin(&plugin->desc, plugin->spool_name ? plugin->exec.guest->core : name,
                                err);
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
            plugin->spool_name = td_xstrdup(argv[i] + 6);
        else if (strncmp(argv[i], "after=", 6) == 0)
            plugin->after = (uint32_t)strtoul(argv[i] + 6, NULL, 10);
        else if (strncmp(argv[i], "pmu=", 4) == 0)
            pmu = argv[i] + 4;
        else if (strcmp(argv[i], "mode=warm") == 0)
            plugin->mode = TD_SIM_WARM;
        else if (strcmp(argv[i], "mode=skip") == 0)
            plugin->mode = TD_SIM_SKIP;
        else if (strcmp(argv[i], "mode=sample") == 0)
            plugin->sample = true;
    }
    plugin->spool = plugin->spool_name ? td_spool_open(plugin->spool_name) : NULL;
    if (pmu)
        plugin->pmu_folder = td_xstrndup(pmu, (size_t)(strrchr(pmu, '/') - pmu));
    if (read_core(plugin, core, &err) != TD_OK ||
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
    self->place = self->after = TD_SPOOL_NONE;
    if (parse_arguments(self, argc, argv) < 0)
        return -1;
    if (self->spool) {
        self->place = td_spool_claim(self->spool);
        td_spool_end(self->spool, self->after);
    }
    if (self->spool_name && !self->spool)
        abandon();
    self->blocks = td_blocks_new(&self->desc);
    self->link = td_blocks_link(self->blocks);
    self->llc = td_llc_new(&self->desc);
    pthread_mutex_init(&self->piece_lock, NULL);
    self->start_ns = td_clock_ns();
    self->next_piece_ns = self->start_ns + PIECE_FIRST_NS;
    if (self->spool) {
        learn_command_line();
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    }
    qemu_plugin_register_vcpu_init_cb(id, on_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
