/* SPDX-License-Identifier: MIT */
/* Damaged files through the whole symbolizer, and children that die. (The reading itself is fuzzed
 * in process: tests/fuzz/fuzz_dwarf.c.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "symbolize/symbolize.h"
#include "symbolize/identity.h"
#include "symbolize/worker.h"

#define MUTATIONS 150
#define OFFSETS   32

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Every location is named, or the module says why not; and it does not take long. */
static void check_file(const char *path)
{
    const struct td_symbolizer_opts opts = {.cache_dir = "", .timeout_s = 2};
    struct td_symbolizer *s = td_symbolizer_new(&opts);
    struct td_model *model = td_model_new();
    struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, path)};
    assert_int_equal(td_identity_read(path, NULL, &module.build_id, NULL), TD_OK);
    const uint32_t m = td_model_put_module(model, &module);
    const double start = now_s();
    uint32_t named = 0;

    for (uint64_t i = 0; i < OFFSETS; i++)
        td_model_put_location(model, m, 32 * i);
    assert_int_equal(td_symbolizer_resolve(s, model, NULL), TD_OK);
    assert_true(now_s() - start < 2.0);
    for (uint32_t i = 0; i < OFFSETS; i++)
        named += td_model_location(model, i)->line_count > 0;
    if (named < OFFSETS)
        assert_string_not_equal(td_model_string(model, td_model_module(model, m)->note), "");
    td_model_free(model);
    td_symbolizer_free(s);
}

static void damaged_files_cost_only_themselves(void **state)
{
    (void)state;
    const char *seeds[] = {"gcc5", "gcc4", "clang5", "gxx5z", "stripped_xz"};
    char path[] = "/tmp/tdprof-XXXXXX";
    uint64_t random = 1;
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    for (size_t s = 0; s < TD_ARRAY_SIZE(seeds); s++) {
        char seed[512];
        struct td_buf buf = {0};

        snprintf(seed, sizeof(seed), "%s/fuzz/corpus/dwarf/%s", TD_TESTS_DIR, seeds[s]);
        assert_int_equal(td_file_read(seed, 1 << 20, &buf, NULL), TD_OK);
        for (int i = 0; i < MUTATIONS / (int)TD_ARRAY_SIZE(seeds); i++) {
            for (uint64_t k = next_random(&random) % 8; k < 8; k++)
                buf.data[next_random(&random) % buf.len] = (uint8_t)next_random(&random);
            assert_int_equal(td_file_replace(path, buf.data, buf.len, NULL), TD_OK);
            check_file(path);
        }
        td_buf_release(&buf);
    }
    unlink(path);
}

struct seen {
    unsigned answered, failed;
    char failure[256];
};

static void take(void *ctx, const struct td_job *job, const struct td_answers_view *view,
                 const char *failure)
{
    struct seen *seen = ctx;

    (void)job;
    seen->answered += view != NULL;
    seen->failed += view == NULL;
    if (failure)
        snprintf(seen->failure, sizeof(seen->failure), "%s", failure);
}

static void crash_of_a_child_is_one_failed_job(void **state)
{
    (void)state;
    const uint64_t good = 0x200;
    const char *path = "/proc/self/exe";
    struct td_job jobs[3] = {{.request = {.path = path, .offsets = &good, .count = 1}},
                             {.request = {.path = path, .count = 1}},
                             {.request = {.path = path, .offsets = &good, .count = 1}}};
    struct seen seen = {0};
    const struct td_workers workers = {.done = take, .done_ctx = &seen, .timeout_s = 10};

    for (size_t i = 0; i < TD_ARRAY_SIZE(jobs); i++)
        assert_int_equal(td_identity_read(path, NULL, &jobs[i].request.build_id, NULL), TD_OK);
    /* The second job's offsets are nowhere: whoever reads them dies. */
    jobs[1].request.offsets = (const uint64_t *)(uintptr_t)16;
    assert_int_equal(td_workers_run(&workers, jobs, 3, NULL), TD_OK);
    assert_int_equal(seen.answered, 2);
    assert_int_equal(seen.failed, 1);
    assert_non_null(strstr(seen.failure, "its debug information"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_cost_only_themselves),
        cmocka_unit_test(crash_of_a_child_is_one_failed_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
