/* SPDX-License-Identifier: MIT */
/* report/query/waits: where a thread waits, and for what, from the names on its stack. */
#include "report_fixture.h"

#include "report/query/waits.h"

struct fixture {
    struct td_model *model;
    uint32_t kernel, libc, app, worker, other, group;
    uint64_t offset;
};

static void setup(struct fixture *f)
{
    const struct td_event event = {.unit = TD_UNIT_NS};
    struct td_group group = {.role = TD_ROLE_METRIC, .locates = TD_NODE_NONE, .column_count = 1};

    *f = (struct fixture){.model = td_model_new()};
    const struct td_module kernel = {.kind = TD_MODULE_KERNEL,
                                     .path = td_model_intern_z(f->model, "[kernel]")};
    f->kernel = td_model_put_module(f->model, &kernel);
    f->libc = fx_module(f->model, "/lib/libc.so.6");
    f->app = fx_module(f->model, "/usr/bin/app");
    f->worker = fx_thread(f->model, 1, 2, "worker", "app");
    f->other = fx_thread(f->model, 1, 3, "other", "app");
    struct td_event named = event;
    named.name = td_model_intern_z(f->model, TD_OFF_CPU_EVENT);
    group.sampler = td_model_add_event(f->model, &named);
    group.columns[0] =
        (struct td_column){.kind = TD_COLUMN_PERIOD, .event = group.sampler, .node = TD_NODE_NONE};
    f->group = td_model_add_group(f->model, &group);
}

/* The node of a stack: "kernel:schedule libc:read app:serve", the innermost first. */
static uint32_t stack(struct fixture *f, const char *text)
{
    char *copy = strdup(text), *words[16], *rest = copy;
    size_t count = 0;
    uint32_t node = 0;

    while (count < 16 && (words[count] = strsep(&rest, " ")))
        count++;
    while (count-- > 0) {
        const uint32_t module = words[count][0] == 'k'   ? f->kernel
                                : words[count][0] == 'l' ? f->libc
                                                         : f->app;
        const char *name = strchr(words[count], ':') + 1;
        const uint32_t function = fx_function(f->model, module, name, "", 0);

        node =
            td_model_put_node(f->model, node, fx_location(f->model, function, f->offset += 16, 0));
    }
    free(copy);
    return node;
}

static void check(const char *text, const char *function, const char *reason)
{
    struct fixture f;
    struct td_wait_places places;
    const struct td_filter none = {.event = NULL};
    const uint64_t ns = 5000;
    char buf[64];

    setup(&f);
    assert_true(td_waits_known(f.model));
    td_model_add_values(f.model, f.worker, text[0] ? stack(&f, text) : 0, f.group, 1, &ns);
    assert_int_equal(td_waits_of(&places, f.model, &none, NULL), TD_OK);
    assert_int_equal(places.len, 1);
    assert_int_equal(places.ns, 5000);
    assert_string_equal(places.at[0].reason, reason);
    if (function)
        assert_string_equal(td_frame_name(f.model, &places.at[0].frame, buf, sizeof(buf)),
                            function);
    else
        assert_int_equal(places.at[0].frame.location, TD_NONE);
    td_waits_release(&places);
    td_model_free(f.model);
}

static void test_places(void **state)
{
    (void)state;
    check("k:schedule k:futex_wait l:__lll_lock_wait l:pthread_mutex_lock a:f a:main", "f", "lock");
    check("k:schedule k:futex_wait l:__futex_abstimed_wait_common64 l:pthread_cond_wait a:f", "f",
          "condition");
    check(
        "k:schedule k:futex_wait l:__futex_abstimed_wait_common64 l:__pthread_clockjoin_ex a:main",
        "main", "thread");
    check("k:schedule k:anon_pipe_read k:vfs_read l:read a:serve", "serve", "pipe");
    check("k:schedule k:do_nanosleep l:clock_nanosleep l:nanosleep a:sleep_for", "sleep_for",
          "sleep");
    check("k:schedule k:io_schedule k:folio_wait_bit_common l:read a:load", "load", "disk");
    /* Linked statically, or through the C++ library's templates. */
    check("k:schedule k:futex_wait a:__lll_lock_wait a:std::mutex::lock a:g a:main", "g", "lock");
    /* The kernel has no names here, or waits without having been asked. */
    check("l:nanosleep a:f", "f", "sleep");
    check("k:schedule k:rwsem_down_read_slowpath k:do_user_addr_fault a:touch", "touch", "kernel");
    check("k:schedule k:something_new l:obscure a:f", "f", "");
    /* No caller outside the C library is known; no stack at all. */
    check("k:schedule k:do_nanosleep l:nanosleep", "nanosleep", "sleep");
    check("", NULL, "");
    /* What only begins like a function of the library is the program's. */
    check("k:schedule k:do_nanosleep l:nanosleep a:sleep_well", "sleep_well", "sleep");
    check("k:schedule k:anon_pipe_read l:read a:reader", "reader", "pipe");
}

/* Equal places add up, of all threads; without a stack the threads are told apart. */
static void test_sums(void **state)
{
    struct fixture f;
    struct td_wait_places places;
    const struct td_filter none = {.event = NULL};
    const uint64_t ns[] = {100, 30, 7, 5};

    (void)state;
    setup(&f);
    const uint32_t node = stack(&f, "k:do_poll l:poll a:f");
    td_model_add_values(f.model, f.worker, node, f.group, 1, &ns[0]);
    td_model_add_values(f.model, f.other, stack(&f, "k:do_poll l:poll a:f"), f.group, 2, &ns[1]);
    td_model_add_values(f.model, f.worker, 0, f.group, 1, &ns[2]);
    td_model_add_values(f.model, f.other, 0, f.group, 1, &ns[3]);
    assert_int_equal(td_waits_of(&places, f.model, &none, NULL), TD_OK);
    assert_int_equal(places.len, 3);
    assert_int_equal(places.at[0].ns, 130);
    assert_int_equal(places.at[0].waits, 3);
    assert_int_equal(places.at[0].thread, 0);
    assert_int_equal(places.at[1].ns, 7);
    assert_string_equal(td_model_string(f.model, places.at[1].thread), "worker");
    assert_int_equal(places.ns, 142);
    td_waits_release(&places);
    td_model_free(f.model);
    f.model = td_model_new();
    assert_false(td_waits_known(f.model));
    td_model_free(f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
