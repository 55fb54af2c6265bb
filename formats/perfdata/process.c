/* SPDX-License-Identifier: MIT */
/*
 * perf.data: what is mapped where, for each process and the kernel, as MMAP, FORK and COMM records
 * tell it; and from that the modules, locations and nodes of a sample's stack.
 */
#include "formats/perfdata/session_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/file_id.h"

#define KERNEL_PID UINT32_MAX

struct range {
    uint64_t start, end;
    uint64_t bias; /* added to an address gives the location's offset */
    uint32_t module;
    bool code; /* executable */
};

struct process {
    uint32_t pid;
    struct range *ranges; /* sorted, not overlapping */
    size_t len, cap;
    /* The last stack and its nodes, outermost first: the next one mostly shares outer frames. */
    struct td_stack_frame *frames;
    uint32_t *nodes;
    size_t depth, frames_cap, nodes_cap;
    uint32_t version; /* of the mappings */
};

struct thread {
    uint32_t pid, tid;
    uint32_t comm;   /* string; 0: not known */
    uint32_t thread; /* of the model; TD_NONE before its first sample under this name */
};

struct td_perf_processes {
    struct process *processes; /* [0] is the kernel */
    size_t process_count, process_cap;
    struct thread *threads;
    size_t thread_count, thread_cap;
    struct td_map pids, tids; /* -> index */
    struct td_stack stack;    /* in work */
};

static struct process *add_process(struct td_perf_processes *all, uint32_t pid)
{
    all->processes =
        td_grow(all->processes, &all->process_cap, all->process_count + 1, sizeof(*all->processes));
    struct process *const process = &all->processes[all->process_count++];

    *process = (struct process){.pid = pid};
    return process;
}

/* Valid until the next one is added. */
static struct process *process_of(struct td_perf_processes *all, uint32_t pid)
{
    bool added = false;
    const uint32_t index = *td_map_put(&all->pids, pid, 0, (uint32_t)all->process_count, &added);

    return added ? add_process(all, pid) : &all->processes[index];
}

struct td_perf_processes *td_perf_processes_new(void)
{
    struct td_perf_processes *const all = td_xcalloc(1, sizeof(*all));

    process_of(all, KERNEL_PID);
    return all;
}

void td_perf_processes_free(struct td_perf_processes *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->process_count; i++) {
        free(all->processes[i].ranges);
        free(all->processes[i].frames);
        free(all->processes[i].nodes);
    }
    free(all->processes);
    free(all->threads);
    td_stack_release(&all->stack);
    td_map_release(&all->pids);
    td_map_release(&all->tids);
    free(all);
}

void td_perf_processes_count(const struct td_perf_processes *all, uint64_t *process_count,
                             uint64_t *thread_count)
{
    *process_count = all->process_count - 1;
    *thread_count = all->thread_count;
}

/* The first range that ends behind `address`. */
static size_t range_at(const struct process *process, uint64_t address)
{
    size_t low = 0;
    size_t high = process->len;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (process->ranges[mid].end <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Puts `pieces` in the place of ranges [from, to). */
static void replace_ranges(struct process *process, size_t from, size_t to,
                           const struct range *pieces, size_t count)
{
    const size_t tail = process->len - to;

    process->ranges =
        td_grow(process->ranges, &process->cap, process->len + count, sizeof(*process->ranges));
    memmove(process->ranges + from + count, process->ranges + to, tail * sizeof(*process->ranges));
    if (count > 0)
        memcpy(process->ranges + from, pieces, count * sizeof(*pieces));
    process->len = from + count + tail;
    process->depth = 0;
    process->version++;
}

/* The newer mapping wins; what it covers only in part is cut. */
static void insert_range(struct process *process, const struct range *range)
{
    const size_t from = range_at(process, range->start);
    struct range pieces[3];
    size_t count = 0;
    size_t to = from;

    if (from < process->len && process->ranges[from].start < range->start) {
        pieces[count] = process->ranges[from];
        pieces[count++].end = range->start;
    }
    pieces[count++] = *range;
    while (to < process->len && process->ranges[to].end <= range->end)
        to++;
    if (to < process->len && process->ranges[to].start < range->end) {
        pieces[count] = process->ranges[to++];
        pieces[count++].start = range->end;
    }
    replace_ranges(process, from, to, pieces, count);
}

static bool has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Memory without a file behind it that could be read for names. */
static bool is_anonymous(const char *path)
{
    static const char *const prefixes[] = {"//anon", "[heap]",         "[stack",
                                           "[anon",  "[vvar",          "/dev/zero",
                                           "/SYSV",  "/anon_hugepage", "anon_inode:"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(prefixes); i++) {
        if (has_prefix(path, prefixes[i]))
            return true;
    }
    return path[0] == '\0';
}

struct mapping {
    uint32_t pid;
    uint64_t start, size, page_offset;
    uint32_t path; /* string */
    struct td_build_id build_id;
    struct td_file_inode inode;
    bool data; /* not executable */
};

/* The kernel's own text is named "[kernel.kallsyms]_text" and alike. */
static enum td_module_kind kind_of(const char *path, bool kernel)
{
    if (kernel)
        return has_prefix(path, TD_PERF_KERNEL) ? TD_MODULE_KERNEL : TD_MODULE_KERNEL_MODULE;
    if (strcmp(path, "[vdso]") == 0)
        return TD_MODULE_VDSO;
    return is_anonymous(path) ? TD_MODULE_ANON : TD_MODULE_FILE;
}

static void add_mapping(struct td_perf_session *session, struct mapping *mapping, bool kernel)
{
    const char *const path = td_model_string(session->model, mapping->path);
    struct td_module module = {.kind = kind_of(path, kernel), .path = mapping->path};
    struct range range = {.start = mapping->start,
                          .end = mapping->start + mapping->size,
                          .code = !mapping->data && !has_prefix(path, "[stack") &&
                                  !has_prefix(path, "[heap]")};

    if (range.end < range.start)
        range.end = UINT64_MAX;
    /* perf once wrote a kernel of no size at 0 when addresses were hidden from it. */
    if (module.kind == TD_MODULE_KERNEL && range.start == 0 && range.end == 0)
        range.end = UINT64_MAX;
    if (range.start == range.end)
        return;
    if (module.kind == TD_MODULE_KERNEL) {
        module.path = td_model_intern_z(session->model, TD_PERF_KERNEL);
        module.base = mapping->start;
    }
    if (module.kind == TD_MODULE_FILE)
        range.bias = mapping->page_offset - mapping->start;
    else if (module.kind == TD_MODULE_ANON)
        module.pid = mapping->pid;
    else
        range.bias = 0 - mapping->start;
    module.build_id = mapping->build_id;
    const uint32_t *const listed = td_map_find(&session->build_ids, module.path, 0);
    if (module.build_id.size == 0 && listed)
        module.build_id = session->build_id_list[*listed];
    /* perf lists only what a sample's own address was in. */
    if (module.kind == TD_MODULE_FILE && module.build_id.size == 0 && mapping->inode.inode)
        module.build_id = td_file_id_of_inode(&mapping->inode);
    range.module = td_model_put_module(session->model, &module);
    insert_range(process_of(session->processes, kernel ? KERNEL_PID : mapping->pid), &range);
    if (kernel) {
        for (size_t i = 0; i < session->processes->process_count; i++)
            session->processes->processes[i].depth = 0;
    }
}

static void apply_mmap(struct td_perf_session *session, const struct td_rec *rec)
{
    const struct td_rec_mmap *const mmap = &rec->u.mmap;

    if (rec->mode == PERF_RECORD_MISC_GUEST_KERNEL || rec->mode == PERF_RECORD_MISC_GUEST_USER)
        return;
    struct mapping mapping = {
        .pid = rec->pid,
        .start = mmap->start,
        .size = mmap->size,
        .page_offset = mmap->offset,
        .path = td_model_intern(session->model, mmap->path, mmap->path_len),
        .build_id = mmap->build_id,
        .inode = {.major = mmap->major, .minor = mmap->minor, .inode = mmap->inode},
        .data = !mmap->executable,
    };
    add_mapping(session, &mapping, rec->mode == PERF_RECORD_MISC_KERNEL);
}

/* Code that the kernel made (BPF programs): each is a module with one symbol. */
static void apply_ksymbol(struct td_perf_session *session, const struct td_rec *rec)
{
    const uint64_t start = rec->u.ksymbol.start;
    const uint32_t size = rec->u.ksymbol.size;

    if (rec->u.ksymbol.unregistered || size == 0 || rec->u.ksymbol.len == 0)
        return;
    struct mapping mapping = {.pid = KERNEL_PID, .start = start, .size = size};
    mapping.path = td_model_intern(session->model, rec->u.ksymbol.name, rec->u.ksymbol.len);
    add_mapping(session, &mapping, true);
    const struct process *const kernel = &session->processes->processes[0];
    const uint32_t module = kernel->ranges[range_at(kernel, start)].module;
    size_t known = 0;
    td_model_symbols(session->model, module, &known);
    if (known == 0)
        td_model_add_symbol(session->model, module,
                            &(struct td_symbol){.size = size, .name = mapping.path});
}

/* Valid until the next one is added. */
static struct thread *thread_of(struct td_perf_processes *all, uint32_t pid, uint32_t tid)
{
    bool added = false;
    uint32_t *const index = td_map_put(&all->tids, tid, 0, (uint32_t)all->thread_count, &added);

    if (!added && all->threads[*index].pid == pid)
        return &all->threads[*index];
    *index = (uint32_t)all->thread_count;
    all->threads =
        td_grow(all->threads, &all->thread_cap, all->thread_count + 1, sizeof(*all->threads));
    struct thread *const thread = &all->threads[all->thread_count++];
    *thread = (struct thread){.pid = pid, .tid = tid, .thread = TD_NONE};
    return thread;
}

static void copy_ranges(struct td_perf_processes *all, uint32_t from_pid, uint32_t to_pid)
{
    process_of(all, to_pid);
    const struct process *const from = process_of(all, from_pid);
    struct process *const to = process_of(all, to_pid);

    replace_ranges(to, 0, to->len, from->ranges, from->len);
}

static void apply_fork(struct td_perf_session *session, const struct td_rec *rec)
{
    struct td_perf_processes *const all = session->processes;
    const uint32_t pid = rec->u.task.pid, parent_pid = rec->u.task.ppid, tid = rec->u.task.tid;

    if (pid == KERNEL_PID || parent_pid == KERNEL_PID)
        return;
    const uint32_t *const parent = td_map_find(&all->tids, rec->u.task.ptid, 0);
    const uint32_t comm = parent ? all->threads[*parent].comm : 0;
    struct thread *const thread = thread_of(all, pid, tid);
    const bool made_up = rec->u.task.made_up;

    *thread = (struct thread){
        .pid = pid,
        .tid = tid,
        .comm = made_up && thread->comm ? thread->comm : comm,
        .thread = TD_NONE,
    };
    if (pid != parent_pid && !made_up)
        copy_ranges(all, parent_pid, pid);
}

static void apply_comm(struct td_perf_session *session, const struct td_rec *rec)
{
    const uint32_t pid = rec->pid;

    if (pid == KERNEL_PID)
        return;
    struct thread *const thread = thread_of(session->processes, pid, rec->tid);
    thread->comm = td_model_intern(session->model, rec->u.comm.name, rec->u.comm.len);
    thread->thread = TD_NONE;
    if (rec->u.comm.exec) {
        struct process *const process = process_of(session->processes, pid);

        replace_ranges(process, 0, process->len, NULL, 0);
    }
}

void td_perf_processes_apply(struct td_perf_session *session, const struct td_rec *rec)
{
    switch (rec->kind) {
    case TD_REC_MMAP: apply_mmap(session, rec); break;
    case TD_REC_COMM: apply_comm(session, rec); break;
    case TD_REC_FORK: apply_fork(session, rec); break;
    case TD_REC_KSYMBOL: apply_ksymbol(session, rec); break;
    case TD_REC_OTHER:
    case TD_REC_SAMPLE:
    case TD_REC_EXIT:
    case TD_REC_LOST:
    case TD_REC_LOST_SAMPLES:
    case TD_REC_THROTTLE: break;
    }
}

uint32_t td_perf_thread(struct td_perf_session *session, uint32_t pid, uint32_t tid,
                        uint64_t time_ns)
{
    struct td_perf_processes *const all = session->processes;
    struct thread *const thread = thread_of(all, pid, tid);

    if (thread->thread == TD_NONE) {
        const uint32_t *const leader = td_map_find(&all->tids, pid, 0);
        char buf[TD_TASK_NAME_BYTES];
        const uint32_t name = thread->comm
                                  ? thread->comm
                                  : td_model_intern_z(session->model, td_rec_task_name(buf, tid));
        const struct td_thread made = {
            .pid = pid,
            .tid = tid,
            .name = name,
            .process = leader && all->threads[*leader].comm ? all->threads[*leader].comm : name,
            .start_ns = time_ns,
        };

        thread->thread = td_model_add_thread(session->model, &made);
    }
    return thread->thread;
}

/* Where no mapping is known. */
static uint32_t unknown_location(struct td_perf_session *session,
                                 const struct td_stack_frame *frame)
{
    const char *path = "[unknown]";

    if (frame->context == PERF_RECORD_MISC_HYPERVISOR)
        path = "[hypervisor]";
    else if (frame->context == PERF_RECORD_MISC_GUEST_KERNEL ||
             frame->context == PERF_RECORD_MISC_GUEST_USER)
        path = "[guest]";
    else if (frame->context == PERF_RECORD_MISC_USER)
        session->counters[TD_COUNTER_UNMAPPED]++;
    const struct td_module module = {
        .kind = TD_MODULE_UNKNOWN,
        .path = td_model_intern_z(session->model, path),
    };
    return td_model_put_location(session->model, td_model_put_module(session->model, &module),
                                 frame->address);
}

/* Code in the upper half is the kernel's, also without a map of it. */
static uint32_t unmapped_kernel(struct td_perf_session *session, uint64_t address)
{
    const struct process *const kernel = &session->processes->processes[0];
    const struct td_module module = {
        .kind = TD_MODULE_KERNEL,
        .path = td_model_intern_z(session->model, TD_PERF_KERNEL),
    };
    uint32_t id = TD_NONE;

    for (size_t i = 0; i < kernel->len && id == TD_NONE; i++) {
        const struct td_module *const of =
            td_model_module(session->model, kernel->ranges[i].module);

        if (of->kind == TD_MODULE_KERNEL && of->base <= address) {
            id = kernel->ranges[i].module;
            address -= of->base;
        }
    }
    if (id == TD_NONE)
        id = td_model_put_module(session->model, &module);
    return td_model_put_location(session->model, id, address);
}

/* The range that holds an address, or NULL. */
static const struct range *find_range(const struct process *process, uint64_t address)
{
    const size_t i = range_at(process, address);

    return i < process->len && process->ranges[i].start <= address ? &process->ranges[i] : NULL;
}

static uint32_t location_of(struct td_perf_session *session, const struct process *process,
                            const struct td_stack_frame *frame)
{
    const bool kernel = td_stack_is_kernel(frame);
    const struct range *range =
        frame->context == PERF_RECORD_MISC_USER ? find_range(process, frame->address) : NULL;

    if (!range && kernel)
        range = find_range(&session->processes->processes[0], frame->address);
    if (range)
        return td_model_put_location(session->model, range->module, frame->address + range->bias);
    if (kernel && frame->address >> 63)
        return unmapped_kernel(session, frame->address);
    return unknown_location(session, frame);
}

bool td_perf_find(const struct td_perf_session *session, uint32_t pid, uint64_t address,
                  struct td_load_place *place)
{
    const struct td_perf_processes *const all = session->processes;
    const uint32_t *const index = td_map_find(&all->pids, pid, 0);
    const struct range *const range = index ? find_range(&all->processes[*index], address) : NULL;

    if (!range || !range->code)
        return false;
    const struct td_module *const module = td_model_module(session->model, range->module);
    *place = (struct td_load_place){
        .begin = range->start,
        .end = range->end,
        .offset = range->start + range->bias,
        .module = range->module,
        .about = module,
        .path = td_model_string(session->model, module->path),
    };
    return true;
}

uint64_t td_perf_space(struct td_perf_session *session, uint32_t pid)
{
    return (uint64_t)pid << 32 | process_of(session->processes, pid)->version;
}

/* A chain that has user frames already is left as it is. */
static void add_unwound(struct td_perf_session *session, const struct td_rec *rec)
{
    struct td_stack *const stack = &session->processes->stack;
    uint64_t frames[TD_PERF_UNWIND_MAX];

    if (stack->len > 1 && stack->frames[stack->len - 1].context == PERF_RECORD_MISC_USER)
        return;
    const size_t count = td_perf_unwind(session, rec, frames, TD_PERF_UNWIND_MAX);
    td_stack_add_unwound(stack, frames, count);
}

/* The node of the stack. Outer frames that the process's last stack had keep their
 * nodes. */
static uint32_t put_nodes(struct td_perf_session *session, struct process *process)
{
    const struct td_stack *const stack = &session->processes->stack;
    const size_t depth = stack->len;
    size_t shared = 0;

    process->frames =
        td_grow(process->frames, &process->frames_cap, depth, sizeof(*process->frames));
    process->nodes = td_grow(process->nodes, &process->nodes_cap, depth, sizeof(*process->nodes));
    while (shared < depth && shared < process->depth) {
        const struct td_stack_frame *const frame = &stack->frames[depth - 1 - shared];
        const struct td_stack_frame *const old = &process->frames[shared];

        if (frame->address != old->address || frame->context != old->context)
            break;
        shared++;
    }
    for (size_t i = shared; i < depth; i++) {
        const struct td_stack_frame *const frame = &stack->frames[depth - 1 - i];
        const uint32_t location = location_of(session, process, frame);

        process->frames[i] = *frame;
        process->nodes[i] =
            td_model_put_node(session->model, i > 0 ? process->nodes[i - 1] : 0, location);
    }
    process->depth = depth;
    return process->nodes[depth - 1];
}

uint32_t td_perf_stack(struct td_perf_session *session, const struct td_rec *rec)
{
    struct td_perf_processes *const all = session->processes;

    td_stack_take(&all->stack, rec, session->big);
    session->counters[TD_COUNTER_TRUNCATED_STACKS] += all->stack.truncated;
    if (rec->u.sample.stack_size > 0)
        add_unwound(session, rec);
    return put_nodes(session, process_of(all, rec->pid));
}
