/* SPDX-License-Identifier: MIT */
/* report/query/code_of and report/listing: costs by instruction, and what is listed without a
 * file. */
#include "report_fixture.h"

#include "report/listing.h"
#include "report/query/code_of.h"
#include "report/query/figures/measure.h"

struct profile {
    struct td_model *model;
    struct td_measure *measure;
    uint32_t f, g, h, app;
};

static void add(struct profile *p, uint32_t thread, uint32_t location, uint32_t group, uint64_t ns)
{
    const uint32_t node = td_model_put_node(p->model, 0, location);

    td_model_add_values(p->model, thread, node, group, 1, &ns);
}

/* g is inlined into f and into h; one instruction of f runs in two threads. */
static struct profile make(void)
{
    struct profile p = {.model = td_model_new()};
    const uint32_t one = fx_thread(p.model, 1, 1, "one", "app");
    const uint32_t two = fx_thread(p.model, 1, 2, "two", "app");
    const uint32_t group = fx_clock_group(p.model, 1000);
    struct td_err err = TD_ERR_INIT;

    p.app = fx_module(p.model, "/nonexistent/app");
    p.f = fx_function(p.model, p.app, "f", "/src/a.c", 1);
    p.g = fx_function(p.model, p.app, "g", "/src/g.h", 1);
    p.h = fx_function(p.model, p.app, "h", "/src/a.c", 20);
    add(&p, one, fx_location(p.model, p.f, 0x18, 3), group, 5);
    add(&p, two, fx_location(p.model, p.f, 0x18, 3), group, 6);
    add(&p, one, fx_location(p.model, p.f, 0x10, 2), group, 10);
    add(&p, one, fx_inlined(p.model, p.g, 2, p.f, 4, 0x20), group, 20);
    add(&p, one, fx_inlined(p.model, p.g, 3, p.h, 22, 0x80), group, 30);
    if (td_measure_new(&p.measure, p.model, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static void release(struct profile *p)
{
    td_measure_free(p->measure);
    td_model_free(p->model);
}

static void by_function(void **state)
{
    struct profile p = make();
    struct td_code_parts parts;
    const uint32_t wanted[] = {p.f, p.g};

    (void)state;
    td_code_of_functions(&parts, p.measure, wanted, 2);
    assert_int_equal(parts.len, 3);
    assert_int_equal(parts.at[0].function, p.f);
    assert_int_equal(parts.at[0].container, p.f);
    assert_int_equal(parts.at[0].len, 3); /* with what is inlined into it */
    assert_int_equal(parts.at[0].at[0].offset, 0x10);
    assert_int_equal(parts.at[0].at[1].offset, 0x18);
    assert_int_equal(parts.at[0].at[1].values[TD_METRIC_TIME_NS], 11);
    assert_int_equal(parts.at[0].values[TD_METRIC_TIME_NS], 41);
    assert_int_equal(parts.at[1].function, p.g); /* hottest container first */
    assert_int_equal(parts.at[1].container, p.h);
    assert_int_equal(parts.at[1].values[TD_METRIC_TIME_NS], 30);
    assert_int_equal(parts.at[2].container, p.f);
    td_code_parts_release(&parts);
    release(&p);
}

static void by_lines(void **state)
{
    struct profile p = make();
    struct td_code_parts parts;

    (void)state;
    td_code_of_lines(&parts, p.measure, "a.c", 3, 4);
    assert_int_equal(parts.len, 1);
    assert_int_equal(parts.at[0].function, TD_NONE);
    assert_int_equal(parts.at[0].container, p.f);
    assert_int_equal(parts.at[0].values[TD_METRIC_TIME_NS], 31);
    td_code_parts_release(&parts);
    td_code_of_lines(&parts, p.measure, "b.c", 1, 100);
    assert_int_equal(parts.len, 0);
    td_code_parts_release(&parts);
    release(&p);
}

/* Code of which no name is known goes by its module. */
static void unnamed(void **state)
{
    struct profile p = make();
    struct td_code_parts parts;
    const uint32_t wanted[] = {td_code_unnamed(p.model, p.app), p.f};

    (void)state;
    add(&p, 0, td_model_put_location(p.model, p.app, 0x200), 0, 7);
    td_measure_free(p.measure);
    assert_int_equal(td_measure_new(&p.measure, p.model, NULL, NULL), TD_OK);
    td_code_of_functions(&parts, p.measure, wanted, 2);
    assert_int_equal(parts.len, 2);
    assert_int_equal(parts.at[0].function, TD_NONE);
    assert_int_equal(parts.at[0].container, TD_NONE);
    assert_int_equal(parts.at[0].values[TD_METRIC_TIME_NS], 7);
    assert_int_equal(parts.at[1].function, p.f);
    td_code_parts_release(&parts);
    release(&p);
}

static void without_file(void **state)
{
    struct profile p = make();
    struct td_code_parts parts;
    struct td_listing listing;

    (void)state;
    td_code_of_functions(&parts, p.measure, &p.f, 1);
    td_listing_init(&listing, p.model, &parts.at[0], TD_SYNTAX_ATT);
    assert_non_null(listing.note);
    assert_non_null(strstr(listing.note, "/nonexistent/app"));
    assert_int_equal(listing.len, 3);
    for (size_t i = 0; i < listing.len; i++) {
        assert_int_equal(listing.at[i].length, 0);
        assert_ptr_equal(listing.at[i].cost, &parts.at[0].at[i]);
        assert_null(listing.at[i].text);
    }
    td_listing_release(&listing);
    td_code_parts_release(&parts);
    release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_function),
        cmocka_unit_test(by_lines),
        cmocka_unit_test(unnamed),
        cmocka_unit_test(without_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
