/* SPDX-License-Identifier: MIT */
/* record/frames, formats/kernel/chain: from a sample's registers, stack bytes, chain and branch
 * records to frames; this program samples itself and asks the C library for the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <execinfo.h>
#include <linux/perf_event.h>
#include <ucontext.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/tasks/frames.h"
#include "record/tasks/scan.h"

#define COPY_BYTES   65528
#define DEEPEST      20
#define TRUTH_MAX    128
#define BRANCHES_MAX 4

/* A sample of this thread, as the kernel would take it. */
struct own_sample {
    uint64_t words[TD_CFI_REGISTERS]; /* in the order of perf's numbers */
    uint8_t stack[COPY_BYTES];
    size_t stack_bytes;
    void *truth[TRUTH_MAX]; /* return addresses, from the sampling function on */
    int truth_count;
};

struct fixture {
    struct td_modules *modules;
    struct td_tasks *tasks;
    struct td_frames *frames;
    struct td_layout layout;
    struct td_rec rec;
    struct td_stack stack;
    struct own_sample own;
};

static int setup(void **state)
{
    struct fixture *f = td_xcalloc(1, sizeof(*f));

#if defined(__aarch64__)
    f->layout.user_regs = td_unwind_registers(TD_CFI_AARCH64);
#else
    f->layout.user_regs = td_unwind_registers(TD_CFI_X86_64);
#endif
    f->modules = td_modules_new(NULL);
    const struct td_tasks_hooks hooks = td_scan_hooks(f->modules);
    f->tasks = td_tasks_new(true, &hooks, NULL, NULL);
    f->frames = td_frames_new(f->modules);
    f->rec = (struct td_rec){.kind = TD_REC_SAMPLE, .layout = &f->layout};
    td_tasks_scan_process(f->tasks, (uint32_t)getpid(), 1);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    td_stack_release(&f->stack);
    td_frames_free(f->frames);
    td_tasks_free(f->tasks);
    td_modules_free(f->modules);
    free(f);
    return 0;
}

static enum td_unwind_stop unwind(struct fixture *f)
{
    const uint32_t pid = (uint32_t)getpid();
    const struct td_task *task = td_tasks_find(f->tasks, pid, pid);

    assert_non_null(task);
    return td_frames_unwind(f->frames, task, &f->rec, &f->stack);
}

#if defined(__x86_64__)
/* ax bx cx bp sp ip r9 to r15, as perf numbers them. */
static void take_registers(uint64_t *words, const ucontext_t *context)
{
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RBP, REG_RSP, REG_RIP, REG_R9,
                                REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

    for (size_t i = 0; i < TD_ARRAY_SIZE(order); i++)
        words[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}
#elif defined(__aarch64__)
static void take_registers(uint64_t *words, const ucontext_t *context)
{
    for (size_t i = 0; i < 12; i++)
        words[i] = context->uc_mcontext.regs[19 + i];
    words[12] = context->uc_mcontext.sp;
    words[13] = context->uc_mcontext.pc;
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.sp;
}
#endif

/* The bytes from the stack pointer on, whoever they belong to, up to the environment, which lies
 * above all frames. */
__attribute__((noinline, no_sanitize_address)) static size_t copy_stack(uint8_t *to, uint64_t from,
                                                                        size_t size)
{
    const uint64_t top = (uint64_t)(uintptr_t)environ;

    if (size > top - from)
        size = (size_t)(top - from);
    for (size_t i = 0; i < size; i++)
        to[i] = ((const volatile uint8_t *)(uintptr_t)from)[i]; /* NOLINT: an address by number */
    return size;
}

__attribute__((noinline)) static void sample_here(struct own_sample *own)
{
    ucontext_t context;

    own->truth_count = backtrace(own->truth, TRUTH_MAX);
    getcontext(&context);
    take_registers(own->words, &context);
    own->stack_bytes = copy_stack(own->stack, stack_pointer(&context), own->stack_bytes);
}

__attribute__((noinline)) static void descend(struct own_sample *own, unsigned depth)
{
    if (depth == 0)
        sample_here(own);
    else
        descend(own, depth - 1);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void sample_self(struct fixture *f, size_t bytes)
{
    struct td_rec_sample *sample = &f->rec.u.sample;

    f->own.stack_bytes = bytes;
    descend(&f->own, DEEPEST);
    sample->regs_abi = PERF_SAMPLE_REGS_ABI_64;
    sample->regs = (const uint8_t *)f->own.words;
    sample->stack = f->own.stack;
    sample->stack_size = f->own.stack_bytes;
    sample->ip = (uint64_t)(uintptr_t)sample_here + 1;
}

/* Every caller of the sampling function is where the C library says; a sanitizer's interceptor puts
 * a frame or two in front. */
static void assert_truth(const struct fixture *f, size_t first)
{
    const uint64_t caller = f->stack.frames[first + 1].address;
    size_t skip = 0;

    while (skip < 3 && (uint64_t)(uintptr_t)f->own.truth[skip + 1] - 1 != caller)
        skip++;
    for (size_t i = 1; first + i < f->stack.len; i++) {
        assert_in_range(skip + i, 1, f->own.truth_count - 1);
        assert_true(f->stack.frames[first + i].caller);
        assert_int_equal(f->stack.frames[first + i].address,
                         (uint64_t)(uintptr_t)f->own.truth[skip + i] - 1);
    }
}

static void test_self(void **state)
{
    struct fixture *f = *state;

    sample_self(f, COPY_BYTES);
    assert_int_equal(unwind(f), TD_UNWIND_COMPLETE);
    assert_false(f->stack.truncated);
    assert_true(f->stack.len > DEEPEST + 2);
    assert_false(f->stack.frames[0].caller);
    assert_truth(f, 0);
}

/* A copy that ends in the middle gives the inner frames, and says why there are no more. */
static void test_short_copy(void **state)
{
    struct fixture *f = *state;

    sample_self(f, 1024);
    assert_int_equal(unwind(f), TD_UNWIND_SHORT_COPY);
    assert_true(f->stack.truncated);
    assert_in_range(f->stack.len, 1, DEEPEST);
    assert_truth(f, 0);
}

/* In the kernel: its part is the chain's, the user's behind it. */
static void test_kernel_part(void **state)
{
    struct fixture *f = *state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010),
                              UINT64_C(0xffffffff81000100)};

    sample_self(f, COPY_BYTES);
    f->rec.u.sample.ip = chain[1];
    f->rec.u.sample.chain = (const uint8_t *)chain;
    f->rec.u.sample.chain_count = TD_ARRAY_SIZE(chain);
    assert_int_equal(unwind(f), TD_UNWIND_COMPLETE);
    assert_true(td_stack_is_kernel(&f->stack.frames[0]));
    assert_true(td_stack_is_kernel(&f->stack.frames[1]));
    assert_int_equal(f->stack.frames[0].address, chain[1]);
    assert_int_equal(f->stack.frames[1].address, chain[2] - 1);
    assert_false(td_stack_is_kernel(&f->stack.frames[2]));
    assert_truth(f, 2);
}

/* A kernel thread has no registers, a 32-bit process other ones. */
static void test_no_registers(void **state)
{
    struct fixture *f = *state;
    const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010)};
    struct td_rec_sample *sample = &f->rec.u.sample;

    *sample = (struct td_rec_sample){.ip = chain[1]};
    sample->chain = (const uint8_t *)chain;
    sample->chain_count = TD_ARRAY_SIZE(chain);
    assert_int_equal(unwind(f), TD_UNWIND_COMPLETE);
    assert_int_equal(f->stack.len, 1);
    sample_self(f, 512);
    sample->regs_abi = PERF_SAMPLE_REGS_ABI_32;
    assert_int_equal(unwind(f), TD_UNWIND_NO_TABLE);
    f->layout.user_regs = 1; /* without the instruction pointer */
    sample->regs_abi = PERF_SAMPLE_REGS_ABI_64;
    assert_int_equal(unwind(f), TD_UNWIND_NO_TABLE);
}

/* Random registers and bytes: any answer, but an end. */
static void test_noise(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 1;

    for (unsigned round = 0; round < 300; round++) {
        sample_self(f, 4096);
        for (unsigned i = 0; i < 40; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const size_t word = (size_t)(seed >> 33) % (4096 / 8);

            memcpy(f->own.stack + 8 * word, &seed, sizeof(seed));
            if (i < round % 14)
                f->own.words[seed >> 40 & 7] ^= seed >> (seed & 63);
        }
        unwind(f);
        assert_in_range(f->stack.len, 1, TD_UNWIND_FRAMES_MAX);
    }
}

static void put_branch(struct td_buf *records, uint64_t from, uint64_t to)
{
    td_buf_u64(records, from);
    td_buf_u64(records, to);
    td_buf_u64(records, 0);
}

static const struct td_layout call_stack = {.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK,
                                            .branch_most = BRANCHES_MAX};

/* The fixture's sample becomes one with this chain and these branch records. */
static void take_stack(struct fixture *f, const struct td_layout *layout, const uint64_t *chain,
                       size_t chain_count, const struct td_buf *records)
{
    f->rec.layout = layout;
    f->rec.u.sample.chain = (const uint8_t *)chain;
    f->rec.u.sample.chain_count = chain_count;
    f->rec.u.sample.branches = records->data;
    f->rec.u.sample.branch_count = records->len / TD_BRANCH_BYTES;
    td_stack_take(&f->stack, &f->rec, false);
}

/* a calls b calls c, which is in the kernel: the calls that have not returned. */
static void test_branches(void **state)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010),
                                     (uint64_t)PERF_CONTEXT_USER, 0x3010, 0x9999};
    static const uint64_t wanted[] = {UINT64_C(0xffffffff81000010), 0x3010, 0x2050, 0x1050};
    const struct td_layout shallow = {.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK,
                                      .branch_most = 2};
    struct fixture *f = *state;
    struct td_buf records = {0};

    put_branch(&records, 0x2050, 0x3000);
    put_branch(&records, 0x1050, 0x2000);
    f->rec.u.sample.ip = chain[1];
    take_stack(f, &call_stack, chain, TD_ARRAY_SIZE(chain), &records);
    assert_int_equal(f->stack.len, TD_ARRAY_SIZE(wanted));
    for (size_t i = 0; i < TD_ARRAY_SIZE(wanted); i++) {
        assert_int_equal(f->stack.frames[i].address, wanted[i]);
        assert_int_equal(td_stack_is_kernel(&f->stack.frames[i]), i == 0);
        assert_int_equal(f->stack.frames[i].caller, i >= 2);
    }
    assert_false(f->stack.truncated);
    take_stack(f, &shallow, chain, TD_ARRAY_SIZE(chain), &records); /* all that the CPU keeps */
    assert_true(f->stack.truncated);
    td_buf_release(&records);
}

/* Empty records end the list; without any, the frame pointers' chain is all there is. */
static void test_empty_branches(void **state)
{
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x3010, 0x9999};
    struct fixture *f = *state;
    struct td_buf records = {0};

    f->rec.u.sample.ip = chain[1];
    take_stack(f, &call_stack, chain, TD_ARRAY_SIZE(chain), &records);
    assert_int_equal(f->stack.len, 2);
    assert_int_equal(f->stack.frames[1].address, 0x9998);
    put_branch(&records, 0x2050, 0x3000);
    put_branch(&records, 0, 0);
    put_branch(&records, 0x1050, 0x2000);
    take_stack(f, &call_stack, chain, TD_ARRAY_SIZE(chain), &records);
    assert_int_equal(f->stack.len, 2);
    assert_int_equal(f->stack.frames[1].address, 0x2050);
    td_buf_release(&records);
}

/* Records of any branches are no call stack: the callers are the chain's. */
static void test_other_branches(void **state)
{
    static const struct td_layout layout = {.branch_sample_type = PERF_SAMPLE_BRANCH_ANY};
    static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x3010, 0x9999};
    struct fixture *f = *state;
    struct td_buf records = {0};

    put_branch(&records, 0x3008, 0x3000);
    f->rec.u.sample.ip = chain[1];
    take_stack(f, &layout, chain, TD_ARRAY_SIZE(chain), &records);
    assert_int_equal(f->stack.len, 2);
    assert_int_equal(f->stack.frames[1].address, 0x9998);
    td_buf_release(&records);
}

/* A precise sample (PEBS, IBS): its address is the instruction's, the chain begins where the
 * interrupt was taken, which may be later, or in the kernel already. */
static void test_precise_address(void **state)
{
    static const uint64_t user[] = {(uint64_t)PERF_CONTEXT_USER, 0x3018, 0x9999};
    static const uint64_t kernel[] = {(uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000010),
                                      (uint64_t)PERF_CONTEXT_USER, 0x3012, 0x9999};
    static const struct td_layout layout = {.sample_type = PERF_SAMPLE_CALLCHAIN};
    struct fixture *f = *state;
    const struct td_buf none = {0};

    f->rec.mode = PERF_RECORD_MISC_USER;
    f->rec.u.sample.ip = 0x3010;
    take_stack(f, &layout, user, TD_ARRAY_SIZE(user), &none);
    assert_int_equal(f->stack.len, 2);
    assert_int_equal(f->stack.frames[0].address, 0x3010);
    assert_int_equal(f->stack.frames[1].address, 0x9998);
    take_stack(f, &layout, kernel, TD_ARRAY_SIZE(kernel), &none);
    assert_int_equal(f->stack.len, 2);
    assert_int_equal(f->stack.frames[0].address, 0x3010);
    assert_int_equal(f->stack.frames[1].address, 0x9998);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_self, setup, teardown),
        cmocka_unit_test_setup_teardown(test_short_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernel_part, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_registers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
        cmocka_unit_test_setup_teardown(test_branches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_branches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_branches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_precise_address, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
