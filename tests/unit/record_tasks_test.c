/* SPDX-License-Identifier: MIT */
/* record/tasks: forks, execs, ends, names, mappings; pids that come again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/tasks/scan.h"

struct fixture {
    struct td_modules *modules;
    struct td_tasks *tasks;
    unsigned ended;
};

static void count_end(void *ctx, const struct td_process *process)
{
    struct fixture *f = ctx;

    assert_non_null(process);
    f->ended++;
}

static struct fixture *fixture_new(bool follow)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->modules = td_modules_new(NULL);
    const struct td_tasks_hooks hooks = td_scan_hooks(f->modules);
    f->tasks = td_tasks_new(follow, &hooks, count_end, f);
    return f;
}

static void fixture_free(struct fixture *f)
{
    td_tasks_free(f->tasks);
    td_modules_free(f->modules);
    free(f);
}

static void do_fork(struct fixture *f, uint32_t parent, uint32_t forker, uint32_t pid, uint32_t tid)
{
    struct td_rec rec = {.kind = TD_REC_FORK};

    rec.u.task.ppid = parent;
    rec.u.task.ptid = forker;
    rec.u.task.pid = pid;
    rec.u.task.tid = tid;
    td_tasks_apply(f->tasks, &rec);
}

static void do_exit(struct fixture *f, uint32_t pid, uint32_t tid)
{
    struct td_rec rec = {.kind = TD_REC_EXIT};

    rec.u.task.pid = pid;
    rec.u.task.tid = tid;
    td_tasks_apply(f->tasks, &rec);
}

static void do_comm(struct fixture *f, uint32_t pid, uint32_t tid, const char *name, bool exec)
{
    struct td_rec rec = {.kind = TD_REC_COMM, .pid = pid, .tid = tid};

    rec.u.comm.name = name;
    rec.u.comm.len = strlen(name);
    rec.u.comm.exec = exec;
    td_tasks_apply(f->tasks, &rec);
}

static void do_map(struct fixture *f, uint32_t pid, uint64_t start, uint64_t size, uint64_t offset,
                   const char *path)
{
    struct td_rec rec = {.kind = TD_REC_MMAP, .pid = pid, .tid = pid};

    rec.u.mmap.start = start;
    rec.u.mmap.size = size;
    rec.u.mmap.offset = offset;
    rec.u.mmap.path = path;
    rec.u.mmap.path_len = strlen(path);
    rec.u.mmap.inode = 1;
    rec.u.mmap.executable = true;
    td_tasks_apply(f->tasks, &rec);
}

/* The module at an address, TD_NONE for none; *offset as a profile has it. */
static uint32_t where(struct fixture *f, uint32_t pid, uint64_t address, uint64_t *offset)
{
    const struct td_process *process = td_tasks_find_process(f->tasks, pid);
    const struct td_range *range =
        process ? td_range_set_find(&process->space->ranges, address) : NULL;

    *offset = range ? range->offset + (address - range->start) : 0;
    return range ? range->value : TD_NONE;
}

static struct fixture *with_root(void)
{
    struct fixture *f = fixture_new(true);

    td_modules_put_kernel(f->modules, TD_MODULE_KERNEL, "[kernel]", 0, NULL);
    td_tasks_add_process(f->tasks, 100, "tdrec", 1)->before_exec = true;
    do_comm(f, 100, 100, "app", true);
    do_map(f, 100, 0x1000, 0x1000, 0x400, "/bin/app");
    return f;
}

static void test_follow(void **state)
{
    struct fixture *f = with_root();

    (void)state;
    assert_false(td_tasks_find(f->tasks, 100, 100)->process->before_exec);
    do_fork(f, 7, 7, 8, 8); /* of others */
    do_map(f, 7, 0x1000, 0x1000, 0, "/bin/other");
    do_comm(f, 8, 8, "other", true);
    assert_null(td_tasks_find(f->tasks, 8, 8));
    assert_null(td_tasks_find(f->tasks, 7, 7));
    do_fork(f, 100, 100, 101, 101);
    assert_non_null(td_tasks_find(f->tasks, 101, 101));
    assert_int_equal(td_tasks_process_count(f->tasks), 2);
    fixture_free(f);
}

/* What was unmapped is forgotten where it would pile up; what is mapped stays. */
static void test_many_mappings(void **state)
{
    struct fixture *f = with_root();
    const uint32_t pid = (uint32_t)getpid();
    uint64_t offset = 0, most = 0;

    (void)state;
    do_fork(f, 100, 100, pid, pid);
    const struct td_process *process = td_tasks_find_process(f->tasks, pid);
    for (uint64_t i = 0; i < 20000; i++) {
        do_map(f, pid, (UINT64_C(1) << 40) - 0x2000 * i, 0x1000, 0, "/bin/many");
        most = process->space->ranges.len > most ? process->space->ranges.len : most;
    }
    assert_in_range(most, 1000, 12000);
    assert_int_not_equal(where(f, pid, (uint64_t)(uintptr_t)&test_many_mappings, &offset), TD_NONE);
    fixture_free(f);
}

static void test_fork_shares_mappings(void **state)
{
    struct fixture *f = with_root();
    uint64_t offset = 0;

    (void)state;
    do_fork(f, 100, 100, 101, 101);
    const uint32_t app = where(f, 100, 0x1234, &offset);
    assert_int_equal(offset, 0x634);
    assert_int_equal(where(f, 101, 0x1234, &offset), app);
    /* What the child maps is not the parent's. */
    do_map(f, 101, 0x5000, 0x1000, 0, "/lib/x.so");
    assert_int_not_equal(where(f, 101, 0x5000, &offset), TD_NONE);
    assert_int_equal(where(f, 100, 0x5000, &offset), TD_NONE);
    /* Another program: nothing of the old one is left. */
    do_comm(f, 101, 101, "tool", true);
    assert_int_equal(where(f, 101, 0x1234, &offset), TD_NONE);
    assert_int_equal(where(f, 100, 0x1234, &offset), app);
    fixture_free(f);
}

static void test_other_library_at_the_same_address(void **state)
{
    struct fixture *f = with_root();
    uint64_t offset = 0;

    (void)state;
    do_map(f, 100, 0x8000, 0x2000, 0, "/lib/a.so");
    const uint64_t serial = td_tasks_find_process(f->tasks, 100)->space->serial;
    const uint32_t a = where(f, 100, 0x8800, &offset);
    do_map(f, 100, 0x8000, 0x2000, 0, "/lib/b.so");
    assert_int_not_equal(where(f, 100, 0x8800, &offset), a);
    assert_int_not_equal(td_tasks_find_process(f->tasks, 100)->space->serial, serial);
    fixture_free(f);
}

static void test_remapped_text(void **state)
{
    struct fixture *f = with_root();
    uint64_t offset = 0;
    const uint32_t app = where(f, 100, 0x1800, &offset);

    (void)state;
    do_map(f, 100, 0x1800, 0x100, 0, "//anon"); /* huge pages over text */
    assert_int_equal(where(f, 100, 0x1810, &offset), app);
    assert_int_equal(offset, 0xc10);
    do_map(f, 100, 0x9000, 0x1000, 0, "//anon"); /* code made at run time */
    const uint32_t jit = where(f, 100, 0x9010, &offset);
    assert_int_equal(td_modules_kind(f->modules, jit), TD_MODULE_ANON);
    assert_int_equal(offset, 0x9010);
    fixture_free(f);
}

static void test_threads(void **state)
{
    struct fixture *f = with_root();

    (void)state;
    do_fork(f, 100, 100, 100, 110);
    do_comm(f, 100, 110, "worker", false);
    do_fork(f, 100, 110, 100, 111);
    assert_string_equal(td_tasks_find(f->tasks, 100, 111)->comm, "worker");
    assert_string_equal(td_tasks_find(f->tasks, 100, 100)->comm, "app");
    /* The main thread may end first; the process lives. */
    do_exit(f, 100, 100);
    assert_int_equal(f->ended, 1); /* the exec of with_root */
    do_exit(f, 100, 110);
    /* The last samples come after the end. */
    assert_string_equal(td_tasks_find(f->tasks, 100, 110)->comm, "worker");
    do_exit(f, 100, 111);
    assert_int_equal(f->ended, 2);
    assert_int_equal(td_tasks_thread_count(f->tasks), 3);
    fixture_free(f);
}

static void test_exec_by_a_thread(void **state)
{
    struct fixture *f = with_root();

    (void)state;
    do_fork(f, 100, 100, 100, 110);
    do_fork(f, 100, 100, 100, 111);
    do_exit(f, 100, 100); /* the kernel ends the leader, the thread takes its place */
    do_exit(f, 100, 111);
    do_comm(f, 100, 100, "next", true);
    assert_string_equal(td_tasks_find(f->tasks, 100, 100)->comm, "next");
    do_exit(f, 100, 100);
    assert_int_equal(f->ended, 3);
    fixture_free(f);
}

static void test_pid_reuse(void **state)
{
    struct fixture *f = with_root();
    uint64_t offset = 0;

    (void)state;
    do_fork(f, 100, 100, 101, 101);
    const uint32_t generation = td_tasks_find_process(f->tasks, 101)->generation;
    do_comm(f, 101, 101, "first", true);
    do_map(f, 101, 0x1000, 0x1000, 0, "/bin/first");
    do_exit(f, 101, 101);
    do_fork(f, 100, 100, 101, 101);
    assert_int_not_equal(td_tasks_find_process(f->tasks, 101)->generation, generation);
    assert_string_equal(td_tasks_find(f->tasks, 101, 101)->comm, "app");
    const uint32_t app = where(f, 100, 0x1000, &offset);
    assert_int_equal(where(f, 101, 0x1000, &offset), app);
    fixture_free(f);
}

/* Many more processes than are kept: memory is given back, lookups stay right. */
static void test_storm(void **state)
{
    struct fixture *f = with_root();
    uint64_t offset = 0;

    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        const uint32_t pid = 200 + i % 3000;

        do_fork(f, 100, 100, pid, pid);
        do_comm(f, pid, pid, "cc1", true);
        do_map(f, pid, 0x1000, 0x1000, 0, "/bin/cc1");
        assert_int_not_equal(where(f, pid, 0x1000, &offset), TD_NONE);
        do_exit(f, pid, pid);
    }
    assert_int_equal(td_tasks_process_count(f->tasks), 20001);
    td_tasks_end_all(f->tasks);
    assert_null(td_tasks_find(f->tasks, 100, 100));
    fixture_free(f);
}

static void test_scan(void **state)
{
    struct fixture *f = fixture_new(false);
    uint64_t offset = 0;
    const uint32_t self = (uint32_t)getpid();

    (void)state;
    assert_true(td_tasks_scan_process(f->tasks, self, 1));
    assert_false(td_tasks_scan_process(f->tasks, 0x7ffffff0, 1));
    assert_string_equal(td_tasks_find(f->tasks, self, self)->comm, "record_tasks_te");
    const uint32_t module = where(f, self, (uint64_t)(uintptr_t)test_scan, &offset);
    assert_int_not_equal(module, TD_NONE);
    assert_int_equal(td_modules_kind(f->modules, module), TD_MODULE_FILE);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follow),
        cmocka_unit_test(test_fork_shares_mappings),
        cmocka_unit_test(test_many_mappings),
        cmocka_unit_test(test_other_library_at_the_same_address),
        cmocka_unit_test(test_remapped_text),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_exec_by_a_thread),
        cmocka_unit_test(test_pid_reuse),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
