/* SPDX-License-Identifier: MIT */
/* The screens of tdreport tui: keys in, rows of text out, without a terminal. */
#include <stdio.h>

#include "tests/unit/report_fixture.h"

#include "base/text.h"
#include "report/tui/keys.h"
#include "report/tui/tui.h"

struct shown {
    struct td_model *model;
    struct td_measure *measure;
    struct td_tui *tui;
    unsigned asked; /* for call paths */
    unsigned named; /* how often names of code were asked for */
    struct td_model *old_model;
    struct td_measure *old;
};

static const struct td_measure *with_calls(void *ctx, const char **why)
{
    struct shown *s = ctx;

    (void)why;
    s->asked++;
    return s->measure;
}

static const struct td_measure *other(void *ctx, const char *path, const char **why)
{
    struct shown *s = ctx;

    *why = "no such profile";
    return strcmp(path, "old.td") == 0 ? s->old : NULL;
}

/* Naming code says how far it is: the screen may be asked for while a page is half made. */
static void name_code(void *ctx)
{
    struct shown *s = ctx;

    s->named++;
    td_tui_wait(s->tui, "finding names: 40 %", true);
    char *line = td_canvas_line(td_tui_draw(s->tui), 23);
    assert_non_null(strstr(line, "finding names: 40 %"));
    free(line);
    td_tui_wait(s->tui, NULL, false);
}

/* A modelled profile: `chase` waits for L3, `branchy` mispredicts, both called by `main`. */
static struct td_model *make_model(uint64_t factor)
{
    static const enum td_tma_node nodes[] = {TD_NODE_LIGHT_OPERATIONS, TD_NODE_L3_BOUND,
                                             TD_NODE_BRANCH_MISPREDICTS};
    struct td_model *model = td_model_new();
    const uint32_t module = fx_module(model, "/bin/app");
    const uint32_t chase = fx_function(model, module, "ns::chase(int)", "/no/such/app.c", 10);
    const uint32_t branchy = fx_function(model, module, "branchy", "/no/such/app.c", 30);
    const uint32_t outer = fx_function(model, module, "main", "/no/such/app.c", 50);
    const uint32_t call = td_model_put_node(model, 0, fx_location(model, outer, 0x300, 52));
    const uint32_t thread = fx_thread(model, 1, 1, "app", "app");
    const struct td_event slots = {.name = td_model_intern_z(model, "slots"),
                                   .unit = TD_UNIT_SLOTS};
    struct td_group g = {.name = td_model_intern_z(model, "sim"),
                         .role = TD_ROLE_MODEL,
                         .attribution = TD_ATTRIBUTION_EXACT,
                         .locates = TD_NODE_NONE,
                         .sampler = TD_NONE};
    const uint32_t event = td_model_add_event(model, &slots);

    for (size_t i = 0; i < 3; i++)
        g.columns[g.column_count++] = (struct td_column){TD_COLUMN_TOTAL, event, nodes[i]};
    const uint32_t group = td_model_add_group(model, &g);
    const uint64_t waits[3] = {100 * factor, 500, 0}, mispredicts[3] = {150, 0, 150};
    td_model_add_values(model, thread,
                        td_model_put_node(model, call, fx_location(model, chase, 0x100, 12)), group,
                        10, waits);
    td_model_add_values(model, thread,
                        td_model_put_node(model, call, fx_location(model, branchy, 0x200, 33)),
                        group, 10, mispredicts);
    td_model_set_complete(model, true);
    return model;
}

static int set_up(void **state)
{
    struct shown *s = calloc(1, sizeof(*s));
    const struct td_tui_opts opts = {.name = "/tmp/app.td", .utf8 = true};
    const struct td_tui_host host = {
        .ctx = s, .with_calls = with_calls, .other = other, .name_code = name_code};

    s->old_model = make_model(7);
    s->old = fx_measure(s->old_model, NULL);
    s->model = make_model(1);
    s->measure = fx_measure(s->model, NULL);
    s->tui = td_tui_new(&opts, &host);
    td_tui_resize(s->tui, 24, 80);
    td_tui_show(s->tui, s->model, s->measure);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct shown *s = *state;

    td_tui_free(s->tui);
    td_measure_free(s->measure);
    td_model_free(s->model);
    td_measure_free(s->old);
    td_model_free(s->old_model);
    free(s);
    return 0;
}

static bool row_has(struct shown *s, unsigned row, const char *text)
{
    char *line = td_canvas_line(td_tui_draw(s->tui), row);
    const bool has = strstr(line, text) != NULL;

    free(line);
    return has;
}

static bool has(struct shown *s, const char *text)
{
    for (unsigned row = 0; row < td_tui_draw(s->tui)->rows; row++) {
        if (row_has(s, row, text))
            return true;
    }
    return false;
}

static unsigned selected_row(struct shown *s)
{
    const struct td_canvas *canvas = td_tui_draw(s->tui);

    for (unsigned row = 0; row < canvas->rows; row++) {
        if (canvas->at[row].selected)
            return row;
    }
    return UINT32_MAX;
}

static void press(struct shown *s, const char *keys)
{
    for (; *keys; keys++)
        assert_true(td_tui_press(s->tui, (unsigned char)*keys));
}

static void functions(void **state)
{
    struct shown *s = *state;

    assert_true(row_has(s, 0, "app.td  modelled  2 functions by slots"));
    assert_true(row_has(s, 1, "mostly"));
    assert_true(row_has(s, 2, "66.7"));
    assert_true(row_has(s, 2, "l3 83, retiring 17"));
    assert_true(row_has(s, 2, "ns::chase"));
    assert_true(row_has(s, 3, "branchy"));
    assert_int_equal(selected_row(s), 2);
    assert_true(row_has(s, 22, "ns::chase(int)"));
}

static void categories(void **state)
{
    struct shown *s = *state;

    press(s, "cc"); /* retiring, bad_speculation */
    assert_true(row_has(s, 0, "bad_speculation"));
    assert_true(row_has(s, 2, "branchy"));
    assert_true(row_has(s, 2, "100.0"));
    assert_true(has(s, "work that was thrown away"));
    press(s, "CC");
    assert_true(row_has(s, 2, "ns::chase"));
    /* Around and around: every category has its turn, then all of them together. */
    for (int i = 0; i < TD_NODE_COUNT + 1; i++) {
        press(s, "c");
        if (has(s, "all categories together"))
            return;
    }
    fail_msg("the categories do not come to an end");
}

static void sorting(void **state)
{
    struct shown *s = *state;

    while (!has(s, "sorted by name"))
        press(s, "s");
    assert_true(row_has(s, 2, "branchy"));
    while (!has(s, "sorted by slots"))
        press(s, "s");
    assert_true(row_has(s, 2, "ns::chase"));
}

/* Lines without their source, then callers, then back. */
static void walking(void **state)
{
    struct shown *s = *state;

    press(s, "j\n");
    assert_true(row_has(s, 0, "source of branchy"));
    assert_true(has(s, "source not shown"));
    assert_true(row_has(s, selected_row(s), "33"));
    press(s, "\n");
    assert_int_equal(s->asked, 1);
    assert_true(has(s, "callers and callees of branchy"));
    assert_true(has(s, "called by"));
    press(s, "j");
    assert_true(row_has(s, selected_row(s), "main"));
    press(s, "\n"); /* main costs nothing by itself */
    assert_true(has(s, "costs nothing by itself"));
    press(s, "qq");
    assert_true(row_has(s, 0, "2 functions"));
    assert_true(row_has(s, selected_row(s), "branchy"));
    assert_false(td_tui_press(s->tui, 'q'));
}

/* Instructions in place of source that has more rows, and of a page that is made anew. */
static void drawn_while_made(void **state)
{
    struct shown *s = *state;

    press(s, "\na");
    assert_int_equal(s->named, 1);
    assert_true(row_has(s, 0, "instructions of ns::chase"));
    td_tui_show(s->tui, s->model, s->measure);
    assert_int_equal(s->named, 2);
    assert_true(row_has(s, 0, "instructions of ns::chase"));
}

static void hottest(void **state)
{
    struct shown *s = *state;

    press(s, "jH");
    assert_true(row_has(s, 0, "source of ns::chase"));
    assert_true(row_has(s, selected_row(s), "12"));
    press(s, "qccH");
    assert_true(row_has(s, 0, "source of branchy"));
}

static void searching(void **state)
{
    struct shown *s = *state;

    press(s, "/BRANCH");
    assert_true(row_has(s, 23, "/BRANCH_"));
    press(s, "\n");
    assert_true(has(s, "no row has 'BRANCH'"));
    press(s, "/branch\n");
    assert_int_equal(selected_row(s), 3);
    press(s, "n");
    assert_int_equal(selected_row(s), 3);
    assert_true(has(s, "went on at the top"));
    press(s, "/a");
    assert_true(td_tui_press(s->tui, 0x20ac));
    assert_true(row_has(s, 23, "/a\xe2\x82\xac_"));
    assert_true(td_tui_press(s->tui, TD_TUI_BACKSPACE));
    assert_true(row_has(s, 23, "/a_"));
    assert_true(td_tui_press(s->tui, TD_TUI_ESCAPE));
    press(s, "N");
    assert_true(has(s, "/ begins a search"));
}

/* A profile in place of its beginning: what is open stays open, by names. */
static void another(void **state)
{
    struct shown *s = *state;
    struct td_model *former = s->model;
    struct td_measure *former_measure = s->measure;

    press(s, "j\n");
    s->model = make_model(7);
    s->measure = fx_measure(s->model, NULL);
    td_tui_show(s->tui, s->model, s->measure);
    td_measure_free(former_measure);
    td_model_free(former);
    assert_true(row_has(s, 0, "source of branchy"));
    press(s, "q");
    assert_true(row_has(s, selected_row(s), "branchy"));
    assert_true(row_has(s, 2, "retiring 58"));
}

/* chase did 600 slots of useful work more before. */
static void comparing(void **state)
{
    struct shown *s = *state;

    press(s, "dnone.td\n");
    assert_true(has(s, "no such profile"));
    assert_true(row_has(s, 0, "2 functions"));
    press(s, "dold.td");
    assert_true(row_has(s, 23, "what changed since the file: old.td_"));
    press(s, "\n");
    assert_true(row_has(s, 0, "since old.td: -40.0 %"));
    assert_true(row_has(s, 2, "total"));
    assert_true(row_has(s, 3, "-40.0 %"));
    assert_true(row_has(s, 3, "ns::chase"));
    press(s, "j\n");
    assert_true(row_has(s, 0, "source of ns::chase"));
}

/* While something is waited for, keys that would ask the host are refused; others are not. */
static void waiting(void **state)
{
    struct shown *s = *state;

    td_tui_wait(s->tui, "finding names: 5 %", true);
    assert_true(row_has(s, 23, "finding names: 5 %"));
    press(s, "j\n");
    assert_int_equal(selected_row(s), 3);
    assert_true(has(s, "a moment"));
    td_tui_wait(s->tui, NULL, false);
    press(s, "\n");
    assert_true(row_has(s, 0, "source of branchy"));
}

/* Before there is a profile, and at every size, there is a screen, and no row is too wide. */
static void sizes(void **state)
{
    struct shown *s = *state;
    const struct td_tui_opts opts = {.name = "x.td"};
    const struct td_tui_host host = {.ctx = s};
    struct td_tui *early = td_tui_new(&opts, &host);

    assert_true(td_tui_press(early, '\n'));
    assert_true(td_tui_press(early, 'c'));
    assert_non_null(td_tui_draw(early));
    td_tui_free(early);
    for (unsigned size = 1; size < 120; size++) {
        td_tui_resize(s->tui, 1 + size / 4, size);
        press(s, "\n<?qqqC");
        const struct td_canvas *canvas = td_tui_draw(s->tui);
        for (unsigned row = 0; row < canvas->rows; row++) {
            char *line = td_canvas_line(canvas, row);

            assert_in_range(td_text_width(line), 0, size);
            free(line);
        }
    }
}

static void harmless(void **state)
{
    struct td_canvas canvas;

    (void)state;
    td_canvas_init(&canvas, 1, 20, false);
    td_canvas_put(&canvas, 0, TD_TONE_PLAIN, "a\033[31m \xe2\x82\xac \xe2\x80\xae");
    td_canvas_put(&canvas, 0, TD_TONE_PLAIN, " and what has no room");
    char *line = td_canvas_line(&canvas, 0);
    assert_string_equal(line, "a\\x1b[31m ? \\xe2\\x..");
    free(line);
    td_canvas_release(&canvas);
}

/* No key does two things, and each has what help and manual need. */
static void table(void **state)
{
    (void)state;
    for (const struct td_tui_key *key = td_tui_keys; key->keys; key++) {
        assert_true(strlen(key->does) > 5 && key->codes[0] != 0);
        for (size_t i = 0; i < TD_TUI_CODES && key->codes[i]; i++)
            assert_int_equal(td_tui_action_of(key->codes[i]), key->action);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(categories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sorting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(walking, set_up, tear_down),
        cmocka_unit_test_setup_teardown(drawn_while_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hottest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(searching, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(comparing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes, set_up, tear_down),
        cmocka_unit_test(harmless),
        cmocka_unit_test(table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
