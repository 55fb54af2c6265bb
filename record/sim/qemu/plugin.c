/* SPDX-License-Identifier: MIT */
/*
 * A QEMU user-mode plugin that feeds the modelled core: what QEMU calls. Arguments: core=NAME
 * mode=exact|sample, mailbox=NAME: each process image leaves its profile there (mailbox.h),
 * after=N: the place of the image that executed this one, blocked=MASK: the signals that its
 * guest had blocked (hexadecimal), pmu=FILE: and is sampled (qemu_pmu.h); counting=on: in four ways
 * as well (model/counting.h);
 * out=FILE: at the end, lines of text (qemu_text.h). windows=WARM:FILL:CYCLES: the program is the
 * loader, and what it loads is modelled in windows (window.h), under the name name=NAME.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/likely.h"
#include "base/mem.h"
#include "record/sim/qemu/api.h"
#include "record/sim/qemu/fault.h"
#include "record/sim/qemu/image.h"
#include "record/sim/qemu/syscall.h"
#include "record/sim/qemu/text.h"

TD_QEMU_EXPORT const char tdprof_plugin_mark[] = TD_PLUGIN_MARK;
TD_QEMU_EXPORT int qemu_plugin_version = TD_QEMU_VERSION;
TD_QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                       char **argv);

enum {
    LINE_BITS = 6,
    RETURNS = 1U << 30, /* with an instruction's index: it is a return */
};

/* QEMU's callbacks carry no context of ours. */
static struct td_image *self;

/* What callbacks are given: a block and its instructions, or an instruction's index. */
static void *block_data(uint32_t block, uint32_t number)
{
    return (void *)(uintptr_t)(block | (uint64_t)number << 32);
}

static inline void begin_block(struct td_image_thread *thread, uint64_t data)
{
    const uint32_t id = (uint32_t)data;

    thread->left -= (int64_t)(data >> 32);
    if (thread->blocks) {
        td_image_add_word(thread, td_trace_block(id));
        return;
    }
    uint32_t *place = &thread->recent_blocks[id & (TD_IMAGE_RECENT_BLOCKS - 1)];
    const uint32_t before = *place;
    *place = id + 1;
    td_image_add_if(thread, td_trace_block(id) | TD_TRACE_CODE, before != id + 1);
}

/* What is rare in a callback stands apart, so that what is not saves no registers for it. */
static __attribute__((noinline)) void flush_before(struct td_image_thread *thread, uint64_t data)
{
    td_image_flush(self, thread, (int64_t)(data >> 32));
    begin_block(thread, data);
}

static void on_block(unsigned int vcpu, void *userdata)
{
    struct td_image_thread *thread = self->threads[vcpu];
    const uint64_t data = (uint64_t)(uintptr_t)userdata;

    if (TD_UNLIKELY(thread->left < (int64_t)(data >> 32) || thread->next >= thread->full))
        flush_before(thread, data);
    else
        begin_block(thread, data);
}

/* QEMU tells an access's size and direction by a call each; of the numbers that stand for them
 * there are few. */
static _Atomic uint64_t *kind_memo(qemu_plugin_meminfo_t info)
{
    return &self->kinds[(info ^ info >> 13) % TD_IMAGE_KINDS];
}

static __attribute__((noinline)) void add_unknown(struct td_image_thread *thread,
                                                  qemu_plugin_meminfo_t info, uint64_t word)
{
    const uint64_t kind =
        td_trace_access(0, qemu_plugin_mem_is_store(info), qemu_plugin_mem_size_shift(info), 0);

    atomic_store_explicit(kind_memo(info), kind | (info + 1), memory_order_relaxed);
    td_image_add_word(thread, word | kind);
}

static inline void add_access(struct td_image_thread *thread, qemu_plugin_meminfo_t info,
                              uint64_t vaddr, uint32_t insn)
{
    const uint64_t known = atomic_load_explicit(kind_memo(info), memory_order_relaxed);
    const uint64_t word = td_trace_access(insn, false, 0, vaddr);

    if (TD_UNLIKELY((uint32_t)known != info + 1))
        add_unknown(thread, info, word);
    else
        td_image_add_word(thread, word | known >> 32 << 32);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    struct td_image_thread *thread = self->threads[vcpu];
    const uint64_t line = vaddr >> LINE_BITS;

    if (!thread->filters) {
        add_access(thread, info, vaddr, (uint32_t)(uintptr_t)userdata);
        return;
    }
    uint64_t *place = &thread->recent[line & (TD_IMAGE_RECENT - 1)];
    const uint64_t before = *place;
    *place = line;
    td_image_add_if(thread, td_trace_access(TD_TRACE_NO_INSN, false, 0, vaddr), before != line);
}

/* A call's or return's access: its return address is never left out, where it goes may be. */
static void on_stack(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    struct td_image_thread *thread = self->threads[vcpu];
    const uint64_t data = (uint64_t)(uintptr_t)userdata;
    const uint32_t insn = (uint32_t)(data >> 32);

    if (thread->mode == TD_SIM_FAST_FORWARD) {
        if (qemu_plugin_mem_is_store(info) != !(insn & RETURNS))
            return;
        td_image_add_word(thread, td_trace_block((uint32_t)data));
    }
    add_access(thread, info, vaddr, insn & ~RETURNS);
}

/* QEMU does not tell what `dc zva` stores. Those who use it fill memory upwards: it is the block
 * after the last store. */
static void on_zero(unsigned int vcpu, void *userdata)
{
    struct td_image_thread *thread = self->threads[vcpu];
    const uint64_t bytes = self->exec.guest->zero_bytes;
    const uint64_t *words = thread->batch->words;
    size_t i = (size_t)(thread->next - words);

    while (i > 0 &&
           (words[i - 1] & (TD_TRACE_BLOCK_BIT | TD_TRACE_STORE_BIT)) != TD_TRACE_STORE_BIT)
        i--;
    if (i > 0)
        thread->zeroed = TD_TRACE_ADDRESS(words[i - 1]) / bytes * bytes + bytes;
    for (uint64_t line = 0; line < bytes; line += 64)
        td_image_add_word(
            thread, td_trace_access((uint32_t)(uintptr_t)userdata, true, 6, thread->zeroed + line));
    thread->zeroed += bytes;
}

/* The load of a mark: its word follows those of the block, which ends behind it. */
static void on_region(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
    const uint64_t data = (uint64_t)(uintptr_t)userdata;

    on_access(vcpu, info, vaddr, (void *)(uintptr_t)(uint32_t)data);
    td_image_region(self, self->threads[vcpu], data >> 32 == TD_REGION_MARK_BEGIN, vaddr);
}

/* dc zva, Xt */
static bool is_zero(const uint8_t *insn, size_t size)
{
    return self->exec.guest->zero_bytes && size == 4 && (insn[0] & 0xe0) == 0x20 &&
           insn[1] == 0x74 && insn[2] == 0x0b && insn[3] == 0xd5;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are QEMU's. */
static void on_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
                       uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                       uint64_t a8)
{
    const uint64_t arguments[TD_LIVE_ARGUMENTS] = {a1, a2, a3, a4, a5, a6};

    (void)id;
    (void)a7;
    (void)a8;
    td_image_syscall(self, self->threads[vcpu], number, arguments);
}

static void on_syscall_done(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result)
{
    (void)id;
    td_image_syscall_done(self, self->threads[vcpu], number, result);
}

/* The last instruction that a thread began. */
static uint64_t last_pc(const struct td_image_thread *thread)
{
    for (const uint64_t *words = thread->next; words > thread->batch->words; words--) {
        const uint64_t word = words[-1];

        if ((word & TD_TRACE_BLOCK_BIT) && !(word & TD_TRACE_MARK_BIT)) {
            const struct td_block *block = td_blocks_get(self->blocks, (uint32_t)word);
            return block->pc + block->insn_offsets[block->insn_count - 1];
        }
    }
    return 0;
}

/* QEMU translates up to the instruction that it does not know and fails when it gets there. */
static void note_illegal(const struct td_image_thread *thread)
{
    td_snapshot_maps_update(&self->maps);
    char *text = td_fault_text(self->exec.guest, self->name, last_pc(thread), &self->maps);
    if (text)
        td_mailbox_note(self->mailbox, text);
    free(text);
}

/* QEMU ends a process that a signal kills with kill() on itself, and calls no plugin. It finds this
 * one because the plugin is preloaded too. */
TD_QEMU_EXPORT int kill(pid_t pid, int number)
{
    if (self && self->mailbox && !self->abandoned && pid == getpid()) {
        struct td_image_thread *thread = td_image_find_thread(self);

        if (number == SIGILL && thread)
            note_illegal(thread);
        td_image_finish(self, thread);
        td_others_end(self);
        td_mailbox_end(self->mailbox, self->place);
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
    if (self && self->mailbox && strncmp(format, message, sizeof(message) - 1) == 0)
        return 0;
    va_start(args, format);
    written = vfprintf(file, format, args);
    va_end(args);
    return written;
}

/* QEMU's mappings of files, for the program and for itself. */
TD_QEMU_EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd,
                            off64_t offset);

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    if (self && td_quirks_refuses_map(&self->quirks, flags, fd)) {
        errno = EPERM;
        return MAP_FAILED;
    }
    if (self && td_quirks_is_too_large(size)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    /* What it returns is an address or -1, as mmap's. */
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

static void on_thread(qemu_plugin_id_t id, unsigned int vcpu)
{
    (void)id;
    td_image_add_thread(self, vcpu);
}

/* The last instruction of a block may be a call or return. Of several callbacks for one instruction
 * QEMU makes one only. */
static void watch_accesses(struct qemu_plugin_insn *insn, const struct td_block *block,
                           uint32_t index)
{
    const bool returns = block->branch == TD_BRANCH_RETURN;
    const bool stack = index == block->branch_insn && (td_block_calls(block) || returns);
    const enum td_region_mark mark = td_region_mark(
        self->exec.guest->name, qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
    qemu_plugin_vcpu_mem_cb_t call = stack ? on_stack : on_access;
    void *data =
        stack ? block_data(block->id, index | (returns ? RETURNS : 0)) : block_data(index, 0);

    if (mark != TD_REGION_MARK_NONE) {
        call = on_region;
        data = block_data(index, (uint32_t)mark);
    }
    qemu_plugin_register_vcpu_mem_cb(insn, call, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, data);
}

/* Once for a process: what it computes is not to be trusted. */
static void note_misread(uint64_t pc)
{
    pthread_mutex_lock(&self->lock);
    if (self->mailbox && !self->misread) {
        td_snapshot_maps_update(&self->maps);
        char *text = td_fault_misread_text(self->name, pc, &self->maps);
        td_mailbox_note(self->mailbox, text);
        free(text);
        self->misread = true;
    }
    pthread_mutex_unlock(&self->lock);
}

/* The instructions of a block that are executed as its. */
static size_t count_insns(const struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);

    if (count < 2)
        return count;
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, count - 1);
    return count - td_quirks_is_taken_back(self->exec.guest, qemu_plugin_insn_vaddr(last));
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    uint8_t bytes[TD_TRACE_INSNS_MAX * 16], lengths[TD_TRACE_INSNS_MAX];
    const size_t count = count_insns(tb);
    size_t at = 0;

    (void)id;
    if (self->mailbox)
        td_mailbox_begin(self->mailbox);
    assert(count < TD_TRACE_INSNS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const size_t size = qemu_plugin_insn_size(insn);
        memcpy(bytes + at, qemu_plugin_insn_data(insn), size);
        lengths[i] = (uint8_t)size;
        if (td_fault_misread(self->exec.guest, bytes + at, size))
            note_misread(qemu_plugin_tb_vaddr(tb) + at);
        if (is_zero(bytes + at, size))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_zero, QEMU_PLUGIN_CB_NO_REGS,
                                                   (void *)(uintptr_t)i);
        at += size;
    }
    pthread_mutex_lock(&self->lock);
    if (!self->files.known && !self->window.wanted)
        td_files_begin(self, self->threads[0]);
    const uint64_t place = td_image_place(self, qemu_plugin_tb_vaddr(tb), bytes, at);
    if (qemu_plugin_end_code)
        td_image_set_own_end(self, qemu_plugin_end_code());
    const struct td_block *block = td_image_define(self, place, bytes, lengths, (uint32_t)count);
    pthread_mutex_unlock(&self->lock);
    for (size_t i = 0; i < count; i++) {
        watch_accesses(qemu_plugin_tb_get_insn(tb, i), block, (uint32_t)i);
    }
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                         block_data(block->id, block->insn_counted));
}

static void on_exit_of_program(qemu_plugin_id_t id, void *userdata)
{
    (void)id;
    (void)userdata;
    td_image_finish(self, NULL);
    td_others_end(self);
    if (self->mailbox)
        td_mailbox_end(self->mailbox, self->place);
    if (self->text_path)
        td_qemu_text_write(self, self->text_path);
}

/* Around fork(), which QEMU calls for the program's. */
static void before_fork(void)
{
    td_image_before_fork(self);
}

static void after_fork_in_parent(void)
{
    td_image_forked_parent(self);
}

static void after_fork_in_child(void)
{
    td_image_forked_child(self);
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

        if (!self->name)
            self->name = td_xstrndup(slash ? slash + 1 : program, 15);
        prctl(PR_SET_NAME, self->name);
        self->program = realpath(program, NULL);
    }
    td_buf_release(&text);
}

/* tdrec's core stands in the mailbox; without one, the name says it. Nobody looks at what is
 * modelled when the mailbox is gone: any core will do. */
static int read_core(struct td_image *process, const char *name, struct td_err *err)
{
    if (process->mailbox) {
        process->desc = *td_mailbox_core(process->mailbox);
        return TD_OK;
    }
    return td_core_desc_builtin(&process->desc,
                                process->mailbox_name ? process->exec.guest->core : name, err);
}

static int parse_arguments(struct td_image *process, int argc, char **argv)
{
    const char *core = process->exec.guest->core, *pmu = NULL;
    struct td_err err = TD_ERR_INIT;

    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "core=", 5) == 0)
            core = argv[i] + 5;
        else if (strncmp(argv[i], "out=", 4) == 0)
            process->text_path = td_xstrdup(argv[i] + 4);
        else if (strncmp(argv[i], "mailbox=", 8) == 0)
            process->mailbox_name = td_xstrdup(argv[i] + 8);
        else if (strncmp(argv[i], "after=", 6) == 0)
            process->after = (uint32_t)strtoul(argv[i] + 6, NULL, 10);
        else if (strncmp(argv[i], "blocked=", 8) == 0)
            td_signals_set_mask(strtoull(argv[i] + 8, NULL, 16));
        else if (strncmp(argv[i], "pmu=", 4) == 0)
            pmu = argv[i] + 4;
        else if (strcmp(argv[i], "mode=sample") == 0)
            process->sample = true;
        else if (strcmp(argv[i], "counting=on") == 0)
            process->counting = true;
        else if (strncmp(argv[i], "name=", 5) == 0)
            process->name = td_xstrdup(argv[i] + 5);
        else if (strncmp(argv[i], "windows=", 8) == 0 &&
                 !td_window_parse(&process->window, argv[i] + 8))
            return -1;
    }
    process->mailbox = process->mailbox_name ? td_mailbox_open(process->mailbox_name) : NULL;
    if (read_core(process, core, &err) != TD_OK ||
        (pmu && !(process->pmu = td_qemu_pmu_read(pmu, &process->desc, &err)))) {
        fprintf(stderr, "tdprof: %s\n", err.text);
        return -1;
    }
    if (strcmp(process->desc.isa, process->exec.guest->name) != 0) {
        fprintf(stderr, "tdprof: core %s runs no %s programs\n", core, process->exec.guest->title);
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
    self->place = self->after = TD_MAILBOX_NONE;
    if (parse_arguments(self, argc, argv) < 0)
        return -1;
    td_image_begin(self);
    if (self->mailbox) {
        learn_command_line();
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
        qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_done);
    }
    qemu_plugin_register_vcpu_init_cb(id, on_thread);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
