/* SPDX-License-Identifier: MIT */
/*
 * perf.data: modules of what is mapped, threads, and the locations and nodes of a sample's stack.
 */
#include "formats/perfdata/session_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/range.h"
#include "formats/file_id.h"
#include "formats/kernel/tasks.h"

/* The last stack of a process and its nodes, outermost first: the next one mostly shares outer
 * frames. */
struct last_stack {
    uint32_t generation;             /* of the process */
    uint64_t space, kernel_mappings; /* as they were then */
    struct td_stack_frame *frames;
    uint32_t *nodes;
    size_t depth, frames_cap, nodes_cap;
};

/* Code of which no mapping is known, by whose it is; a module each. */
enum nowhere { NOWHERE_USER, NOWHERE_GUEST, NOWHERE_HYPERVISOR, NOWHERE_COUNT };

struct td_perf_processes {
    struct td_tasks *tasks;
    struct td_range_set kernel; /* its text, modules and code made at run time */
    uint64_t kernel_mappings;   /* so many were added */
    struct td_map index;        /* (pid, 0) -> last_stacks */
    struct last_stack *last_stacks;
    size_t len, cap;
    uint32_t nowhere[NOWHERE_COUNT]; /* TD_NONE: not made yet */
    struct td_map ended;   /* (pid, 0) -> the model's thread of samples that do not tell theirs */
    struct td_stack stack; /* in work */
};

/* Ranges hold a module of the model and whether its memory is executable. */
static uint32_t module_in(const struct td_range *range)
{
    return range->value >> 1;
}

static bool is_code(const struct td_range *range)
{
    return range->value & 1;
}

static bool has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The number of the module; its build-id is the mapping's, the one that perf lists or, since perf
 * lists only what a sample's own address was in, a name made of the inode. */
static uint32_t put_module(struct td_perf_session *session, struct td_module module,
                           const struct td_rec_mmap *mmap)
{
    const struct td_file_inode inode = {
        .major = mmap->major, .minor = mmap->minor, .inode = mmap->inode};
    const uint32_t *const listed = td_map_find(&session->build_ids, module.path, 0);

    module.build_id = mmap->build_id;
    if (module.build_id.size == 0 && listed)
        module.build_id = session->build_id_list[*listed];
    if (module.kind == TD_MODULE_FILE && module.build_id.size == 0 && inode.inode)
        module.build_id = td_file_id_of_inode(&inode);
    return td_model_put_module(session->model, &module);
}

static uint32_t module_of(void *ctx, uint32_t pid, const struct td_rec_mmap *mmap)
{
    struct td_perf_session *const session = ctx;
    const uint32_t path = td_model_intern(session->model, mmap->path, mmap->path_len);
    const char *const name = td_model_string(session->model, path);
    struct td_module module = {.kind = td_mapping_kind(mmap->path, mmap->path_len), .path = path};
    const bool code =
        mmap->executable && !has_prefix(name, "[stack") && !has_prefix(name, "[heap]");

    if (module.kind == TD_MODULE_ANON)
        module.pid = pid;
    return put_module(session, module, mmap) << 1 | code;
}

static enum td_module_kind kind_of(void *ctx, uint32_t module)
{
    const struct td_perf_session *const session = ctx;

    return td_model_module(session->model, module >> 1)->kind;
}

struct td_perf_processes *td_perf_processes_new(struct td_perf_session *session)
{
    struct td_perf_processes *const all = td_xcalloc(1, sizeof(*all));
    const struct td_tasks_hooks hooks = {.module = module_of, .kind = kind_of, .ctx = session};

    all->tasks = td_tasks_new(false, &hooks, NULL, NULL);
    for (size_t i = 0; i < NOWHERE_COUNT; i++)
        all->nowhere[i] = TD_NONE;
    return all;
}

void td_perf_processes_free(struct td_perf_processes *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->len; i++) {
        free(all->last_stacks[i].frames);
        free(all->last_stacks[i].nodes);
    }
    free(all->last_stacks);
    td_tasks_free(all->tasks);
    td_range_set_release(&all->kernel);
    td_map_release(&all->index);
    td_map_release(&all->ended);
    td_stack_release(&all->stack);
    free(all);
}

void td_perf_processes_count(const struct td_perf_processes *all, uint64_t *process_count,
                             uint64_t *thread_count)
{
    *process_count = td_tasks_process_count(all->tasks);
    *thread_count = td_tasks_thread_count(all->tasks);
}

/* The kernel's own text is named "[kernel.kallsyms]_text" and alike. */
static void map_kernel(struct td_perf_session *session, const struct td_rec_mmap *mmap)
{
    struct td_perf_processes *const all = session->processes;
    struct td_module module = {.kind = TD_MODULE_KERNEL_MODULE,
                               .path = td_model_intern(session->model, mmap->path, mmap->path_len)};
    struct td_range range = {.start = mmap->start, .end = mmap->start + mmap->size};

    if (range.end < range.start)
        range.end = UINT64_MAX;
    if (has_prefix(td_model_string(session->model, module.path), TD_PERF_KERNEL)) {
        module.kind = TD_MODULE_KERNEL;
        module.path = td_model_intern_z(session->model, TD_PERF_KERNEL);
        module.base = mmap->start;
        /* perf once wrote a kernel of no size at 0 when addresses were hidden from it. */
        if (range.end == 0)
            range.end = UINT64_MAX;
    }
    if (range.start == range.end)
        return;
    range.value = put_module(session, module, mmap) << 1 | 1;
    td_range_set_put(&all->kernel, &range);
    all->kernel_mappings++;
}

/* Code that the kernel made (BPF programs): each is a module with one symbol. */
static void apply_ksymbol(struct td_perf_session *session, const struct td_rec *rec)
{
    const struct td_rec_mmap mmap = {.start = rec->u.ksymbol.start,
                                     .size = rec->u.ksymbol.size,
                                     .path = rec->u.ksymbol.name,
                                     .path_len = rec->u.ksymbol.len};
    size_t known = 0;

    if (rec->u.ksymbol.unregistered || mmap.size == 0 || mmap.path_len == 0)
        return;
    map_kernel(session, &mmap);
    const struct td_range *const range = td_range_set_find(&session->processes->kernel, mmap.start);
    td_model_symbols(session->model, module_in(range), &known);
    if (known > 0)
        return;
    const struct td_symbol symbol = {
        .size = mmap.size, .name = td_model_intern(session->model, mmap.path, mmap.path_len)};
    td_model_add_symbol(session->model, module_in(range), &symbol);
}

void td_perf_processes_apply(struct td_perf_session *session, const struct td_rec *rec)
{
    const bool guest =
        rec->mode == PERF_RECORD_MISC_GUEST_KERNEL || rec->mode == PERF_RECORD_MISC_GUEST_USER;

    if (rec->kind == TD_REC_KSYMBOL)
        apply_ksymbol(session, rec);
    else if (rec->kind == TD_REC_MMAP && rec->mode == PERF_RECORD_MISC_KERNEL)
        map_kernel(session, &rec->u.mmap);
    else if (rec->kind != TD_REC_MMAP || !guest)
        td_tasks_apply(session->processes->tasks, rec);
}

static uint32_t add_thread(struct td_perf_session *session, const struct td_rec *rec,
                           const struct td_task *task)
{
    char buf[TD_TASK_NAME_BYTES];
    const bool known = task->tid == rec->tid && task->comm[0];
    const char *const name = known ? task->comm : td_rec_task_name(buf, rec->tid);
    const char *const process = task->process->comm[0] ? task->process->comm : name;
    const struct td_thread made = {
        .pid = rec->pid,
        .tid = rec->tid,
        .name = td_model_intern_z(session->model, name),
        .process = td_model_intern_z(session->model, process),
        .start_ns = rec->time_ns,
    };

    return td_model_add_thread(session->model, &made);
}

/* A thread that has just ended has no number of its own any more (-1). */
static uint32_t ended_thread(struct td_perf_session *session, const struct td_rec *rec,
                             const struct td_task *task)
{
    bool added = false;
    uint32_t *const thread = td_map_put(&session->processes->ended, rec->pid, 0, TD_NONE, &added);

    if (added)
        *thread = add_thread(session, rec, task);
    return *thread;
}

/* The model's thread, made when it is new or has another name. */
static uint32_t thread_of(struct td_perf_session *session, const struct td_rec *rec,
                          struct td_task *task)
{
    if (task->tid != rec->tid)
        return ended_thread(session, rec, task);
    if (task->profile_thread == TD_NONE)
        task->profile_thread = add_thread(session, rec, task);
    return task->profile_thread;
}

static enum nowhere nowhere_of(uint32_t context)
{
    switch (context) {
    case PERF_RECORD_MISC_HYPERVISOR: return NOWHERE_HYPERVISOR;
    case PERF_RECORD_MISC_GUEST_KERNEL:
    case PERF_RECORD_MISC_GUEST_USER: return NOWHERE_GUEST;
    default: return NOWHERE_USER;
    }
}

/* Where no mapping is known. */
static uint32_t unknown_location(struct td_perf_session *session,
                                 const struct td_stack_frame *frame)
{
    static const char *const paths[] = {[NOWHERE_USER] = "[unknown]",
                                        [NOWHERE_GUEST] = "[guest]",
                                        [NOWHERE_HYPERVISOR] = "[hypervisor]"};
    const enum nowhere of = nowhere_of(frame->context);
    uint32_t *const module = &session->processes->nowhere[of];

    if (frame->context == PERF_RECORD_MISC_USER)
        session->counters[TD_COUNTER_UNMAPPED]++;
    if (*module == TD_NONE)
        *module = td_model_put_module(
            session->model,
            &(struct td_module){.kind = TD_MODULE_UNKNOWN,
                                .path = td_model_intern_z(session->model, paths[of])});
    return td_model_put_location(session->model, *module, frame->address);
}

/* Code in the upper half is the kernel's, also without a map of it. */
static uint32_t unmapped_kernel(struct td_perf_session *session, uint64_t address)
{
    const struct td_range_set *const kernel = &session->processes->kernel;

    for (size_t i = 0; i < kernel->len; i++) {
        const uint32_t id = module_in(&kernel->items[i]);
        const struct td_module *const of = td_model_module(session->model, id);

        if (of->kind == TD_MODULE_KERNEL && of->base <= address)
            return td_model_put_location(session->model, id, address - of->base);
    }
    const struct td_module module = {
        .kind = TD_MODULE_KERNEL,
        .path = td_model_intern_z(session->model, TD_PERF_KERNEL),
    };
    return td_model_put_location(session->model, td_model_put_module(session->model, &module),
                                 address);
}

static uint32_t location_of(struct td_perf_session *session, const struct td_process *process,
                            const struct td_stack_frame *frame)
{
    const bool kernel = td_stack_is_kernel(frame);
    const struct td_range *range = frame->context == PERF_RECORD_MISC_USER
                                       ? td_range_set_find(&process->space->ranges, frame->address)
                                       : NULL;

    if (!range && kernel)
        range = td_range_set_find(&session->processes->kernel, frame->address);
    if (range)
        return td_model_put_location(session->model, module_in(range),
                                     range->offset + (frame->address - range->start));
    if (kernel && frame->address >> 63)
        return unmapped_kernel(session, frame->address);
    return unknown_location(session, frame);
}

bool td_perf_find(const struct td_perf_session *session, uint32_t pid, uint64_t address,
                  struct td_load_place *place)
{
    const struct td_process *const process = td_tasks_find_process(session->processes->tasks, pid);
    const struct td_range *const range =
        process ? td_range_set_find(&process->space->ranges, address) : NULL;

    if (!range || !is_code(range))
        return false;
    const struct td_module *const module = td_model_module(session->model, module_in(range));
    *place = (struct td_load_place){
        .begin = range->start,
        .end = range->end,
        .offset = range->offset,
        .module = module_in(range),
        .about = module,
        .path = td_model_string(session->model, module->path),
    };
    return true;
}

const struct td_task *td_perf_thread(const struct td_perf_session *session, uint32_t tid)
{
    return td_tasks_find_thread(session->processes->tasks, tid);
}

uint64_t td_perf_space(const struct td_perf_session *session, uint32_t pid)
{
    return td_tasks_find_process(session->processes->tasks, pid)->space->serial;
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

/* The process's last stack, emptied when what it says is out of date. */
static struct last_stack *last_stack_of(struct td_perf_processes *all,
                                        const struct td_process *process)
{
    bool added = false;
    const uint32_t index = *td_map_put(&all->index, process->pid, 0, (uint32_t)all->len, &added);

    if (added) {
        all->last_stacks =
            td_grow(all->last_stacks, &all->cap, all->len + 1, sizeof(*all->last_stacks));
        all->last_stacks[all->len++] = (struct last_stack){.depth = 0};
    }
    struct last_stack *const last = &all->last_stacks[index];
    if (last->generation != process->generation || last->space != process->space->serial ||
        last->kernel_mappings != all->kernel_mappings)
        last->depth = 0;
    last->generation = process->generation;
    last->space = process->space->serial;
    last->kernel_mappings = all->kernel_mappings;
    return last;
}

/* The node of the stack. Outer frames that the process's last stack had keep their nodes. */
static uint32_t put_nodes(struct td_perf_session *session, const struct td_process *process)
{
    const struct td_stack *const stack = &session->processes->stack;
    struct last_stack *const last = last_stack_of(session->processes, process);
    const size_t depth = stack->len;
    size_t shared = 0;

    last->frames = td_grow(last->frames, &last->frames_cap, depth, sizeof(*last->frames));
    last->nodes = td_grow(last->nodes, &last->nodes_cap, depth, sizeof(*last->nodes));
    while (shared < depth && shared < last->depth) {
        const struct td_stack_frame *const frame = &stack->frames[depth - 1 - shared];
        const struct td_stack_frame *const old = &last->frames[shared];

        if (frame->address != old->address || frame->context != old->context)
            break;
        shared++;
    }
    for (size_t i = shared; i < depth; i++) {
        const struct td_stack_frame *const frame = &stack->frames[depth - 1 - i];
        const uint32_t location = location_of(session, process, frame);

        last->frames[i] = *frame;
        last->nodes[i] =
            td_model_put_node(session->model, i > 0 ? last->nodes[i - 1] : 0, location);
    }
    last->depth = depth;
    return last->nodes[depth - 1];
}

void td_perf_place(struct td_perf_session *session, const struct td_rec *rec, uint32_t *thread,
                   uint32_t *node)
{
    struct td_perf_processes *const all = session->processes;
    struct td_task *const task = td_tasks_sampled(all->tasks, rec);

    *thread = thread_of(session, rec, task);
    td_stack_take(&all->stack, rec, session->big);
    session->counters[TD_COUNTER_TRUNCATED_STACKS] += all->stack.truncated;
    if (rec->u.sample.stack_size > 0)
        add_unwound(session, rec);
    *node = put_nodes(session, task->process);
}
