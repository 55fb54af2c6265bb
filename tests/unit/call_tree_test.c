/* SPDX-License-Identifier: MIT */
/* formats/call_tree: each path once, whatever it is put on, with its frames from the outermost in.
 */
#include "report_fixture.h"

#include "formats/call_tree.h"

struct seen {
    uint32_t functions[8];
    size_t len;
};

/* A function's number is its own; the order of the calls is kept. */
static uint32_t number_of(void *ctx, const struct td_frame *frame)
{
    struct seen *seen = ctx;

    seen->functions[seen->len++ % 8] = frame->function;
    return frame->function;
}

static void test_paths(void **state)
{
    struct td_model *model = td_model_new();
    const uint32_t module = fx_module(model, "/usr/bin/app");
    uint32_t f[3], node[3], outer = 0;
    struct td_call_tree tree = {.at = NULL};
    struct td_call_paths paths;
    struct seen seen = {.len = 0};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const char *const names[] = {"main", "run", "work"};

        f[i] = fx_function(model, module, names[i], "/src/app.c", 10 * (i + 1));
        node[i] = td_model_put_node(model, outer, fx_location(model, f[i], 0x10 * i, 11 * (i + 1)));
        outer = node[i];
    }
    td_call_paths_init(&paths, &tree, model, false, number_of, &seen);
    assert_int_equal(td_call_paths_of(&paths, TD_NONE, 0), TD_NONE);
    const uint32_t work = td_call_paths_of(&paths, TD_NONE, node[2]);
    assert_int_equal(seen.len, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(seen.functions[i], f[i]);
    assert_int_equal(tree.at[work].frame, f[2]);
    assert_int_equal(tree.at[tree.at[work].outer].frame, f[1]);
    assert_int_equal(tree.at[tree.at[tree.at[work].outer].outer].outer, TD_NONE);
    /* Callers are known by now, and so is the path. */
    assert_int_equal(td_call_paths_of(&paths, TD_NONE, node[1]), tree.at[work].outer);
    assert_int_equal(td_call_paths_of(&paths, TD_NONE, node[2]), work);
    assert_int_equal(seen.len, 3);
    assert_int_equal(tree.len, 3);
    /* On another base they are other paths, and back on the first the same ones again. */
    const uint32_t base = td_call_tree_put(&tree, TD_NONE, 99);
    const uint32_t below = td_call_paths_of(&paths, base, node[2]);
    assert_int_equal(td_call_paths_of(&paths, base, 0), base);
    assert_int_not_equal(below, work);
    assert_int_equal(tree.at[tree.at[tree.at[below].outer].outer].outer, base);
    assert_int_equal(td_call_paths_of(&paths, TD_NONE, node[2]), work);
    assert_int_equal(tree.len, 7);
    assert_int_equal(td_call_tree_put(&tree, TD_NONE, 99), base);
    td_call_paths_release(&paths);
    td_call_tree_release(&tree);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
