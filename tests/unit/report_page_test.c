/* SPDX-License-Identifier: MIT */
/* Stacks and steps of time for the page: whatever is cut, sums hold; and the file around them. */
#include "tests/unit/report_fixture.h"

#include <string.h>

#include "base/mem.h"
#include "report/query/stacks.h"
#include "report/query/timeline.h"
#include "report/view/page/page.h"

#define FUNCTIONS 6
#define ROWS      400

struct fixture {
    struct td_model *model;
    struct td_measure measure;
    struct td_measure_row rows[ROWS];
    uint64_t time[ROWS], samples[ROWS];
};

/* Paths of up to six functions, of costs that fall quickly; the last row has no place. */
static int setup(void **state)
{
    struct fixture *f = td_xcalloc(1, sizeof(*f));
    uint32_t locations[FUNCTIONS];
    char name[] = "f0";

    f->model = td_model_new();
    const uint32_t module = fx_module(f->model, "/bin/app");
    const struct td_thread thread = {
        .pid = 1, .tid = 1, .process = td_model_intern_z(f->model, "app")};
    td_model_add_thread(f->model, &thread);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        name[1] = (char)('0' + i);
        locations[i] =
            fx_location(f->model, fx_function(f->model, module, name, "app.c", i + 1), 100 * i, i);
    }
    f->measure = (struct td_measure){
        .model = f->model, .event = TD_NONE, .row_count = ROWS, .rows = f->rows, .by_sample = true};
    f->measure.values[TD_METRIC_TIME_NS] = f->time;
    f->measure.values[TD_METRIC_SAMPLES] = f->samples;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t node = 0;

        for (uint32_t n = i * 2654435761U, d = 0; i + 1 < ROWS && d <= n % 5; d++)
            node = td_model_put_node(f->model, node, locations[(n >> (3 * d + 4)) % FUNCTIONS]);
        f->rows[i] = (struct td_measure_row){.node = node, .time_ns = 1000 + 10 * (uint64_t)i};
        f->time[i] = 100000 / (i + 1);
        f->samples[i] = 1;
        f->measure.totals[TD_METRIC_TIME_NS] += f->time[i];
        f->measure.totals[TD_METRIC_SAMPLES] += f->samples[i];
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    td_model_free(f->model);
    free(f);
    return 0;
}

static uint64_t sum_of(const uint64_t *values, size_t len)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += values[i];
    return sum;
}

/* What holds of stacks before and after any cut. */
static void expect_sound(const struct fixture *f, const struct td_stacks *s)
{
    assert_int_equal(s->at[0].frame, TD_STACK_ROOT);
    for (size_t i = 1; i < s->len; i++) {
        assert_true(s->at[i].outer < i);
        assert_int_not_equal(s->at[s->at[i].outer].frame, TD_STACK_REST);
        for (size_t k = 1; k < i; k++) /* a path stands once */
            assert_false(s->at[k].outer == s->at[i].outer && s->at[k].frame == s->at[i].frame);
    }
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (f->measure.values[m])
            assert_int_equal(sum_of(s->values[m], s->len), f->measure.totals[m]);
    }
}

static void test_cut(void **state)
{
    const struct fixture *f = *state;
    struct td_stacks s;

    td_stacks_init(&s, &f->measure, false);
    const size_t all = s.len;
    expect_sound(f, &s);
    assert_int_equal(s.left_out, 0);
    for (size_t max = all; max > 0; max /= 2) { /* again and again: what was cut is cut with more */
        td_stacks_cut(&s, max);
        expect_sound(f, &s);
        assert_true(s.len <= 2 * max);
        assert_true(s.left_out_share >= 0 && s.left_out_share <= 1);
    }
    assert_true(s.left_out > all / 2);
    assert_int_equal(s.len, 2); /* the root, and what is left out */
    td_stacks_release(&s);
}

static void test_dearest_stay(void **state)
{
    const struct fixture *f = *state;
    struct td_stacks s;
    uint64_t dearest = 0;

    td_stacks_init(&s, &f->measure, false);
    for (size_t i = 0; i < s.len; i++)
        dearest =
            s.values[TD_METRIC_TIME_NS][i] > dearest ? s.values[TD_METRIC_TIME_NS][i] : dearest;
    td_stacks_cut(&s, s.len / 4);
    bool found = false;
    for (size_t i = 0; i < s.len; i++)
        found =
            found || (s.values[TD_METRIC_TIME_NS][i] == dearest && s.at[i].frame != TD_STACK_REST);
    assert_true(found);
    td_stacks_release(&s);
}

static void test_timeline(void **state)
{
    struct fixture *f = *state;
    struct td_timeline t;

    assert_true(td_timeline_of(&t, &f->measure));
    assert_int_equal(t.from_ns, 1000);
    assert_true(t.from_ns + t.len * t.step_ns > f->rows[ROWS - 1].time_ns);
    assert_int_equal(sum_of(t.values[TD_METRIC_TIME_NS], t.len),
                     f->measure.totals[TD_METRIC_TIME_NS]);
    assert_int_equal(t.values[TD_METRIC_SAMPLES][0], ROWS / t.len);
    td_timeline_release(&t);
    f->measure.by_sample = false;
    assert_false(td_timeline_of(&t, &f->measure));
}

static void test_escapes(void **state)
{
    static const char data[] = "{\"a\": \"</script><!-- \\\"< \", \"b\": [1,\n 2]}";
    struct td_buf out = {0};

    (void)state;
    td_page_html(&out, "<title> & 'x'", "<b>\"", data, strlen(data));
    td_buf_u8(&out, '\0');
    const char *page = (const char *)out.data;
    assert_non_null(strstr(page, "<title>&lt;title&gt; &amp; &#39;x&#39; "));
    assert_non_null(strstr(page, ">&lt;b&gt;&quot;</pre>"));
    assert_non_null(
        strstr(page, "{\"a\":\"\\u003c/script>\\u003c!-- \\\"\\u003c \",\"b\":[1,2]}</script>"));
    td_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dearest_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_timeline, setup, teardown),
        cmocka_unit_test(test_escapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
