/* SPDX-License-Identifier: MIT */
/* The vendors' names of events: lists without doubt, found however they are written, and equal to
 * what the descriptions have from other documents. */
#include "uarch_fixture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/cores/names.h"

static void every_name_is_found_in_either_spelling(void **state)
{
    const struct td_uarch_builtin *list = NULL;
    size_t lists = 0;

    (void)state;
    for (; (list = td_vendor_names_at(lists)); lists++) {
        struct td_vendor_event event, before = {.name = ""}, found;
        size_t count = 0;

        assert_non_null(td_uarch_builtin(list->name));
        for (size_t at = 0; td_vendor_events_next(list, &at, &event); count++) {
            char *other = td_xstrndup(event.name, event.name_len), *dot = strchr(other, '.');

            assert_int_not_equal(event.config, 0);
            assert_true(strncmp(before.name, event.name, event.name_len + 1) < 0);
            for (char *p = other; *p; p++)
                *p = *p == '.' ? (p == dot ? ':' : '_') : (char)tolower((unsigned char)*p);
            assert_true(td_vendor_event_find(&found, list->name, other, event.name_len));
            assert_true(found.config == event.config && found.config1 == event.config1);
            assert_false(td_vendor_event_find(&found, list->name, other, event.name_len - 1) &&
                         found.name == event.name);
            before = event;
            free(other);
        }
        assert_true(count > 35);
    }
    assert_int_equal(lists, 9);
    assert_false(td_vendor_event_find(&(struct td_vendor_event){0}, "neoverse-n2", "CYCLES", 6));
}

static bool is_listed(const struct td_uarch_builtin *list, const struct td_pmu_event *event)
{
    struct td_vendor_event one;

    for (size_t at = 0; td_vendor_events_next(list, &at, &one);) {
        if (one.config == event->config && one.config1 == event->config1)
            return true;
    }
    return false;
}

/* The few that are not are thresholds that formulas set on listed events, and sums of masks. Of
 * Lunar Lake Linux lists a part. */
static void descriptions_agree_with_the_lists(void **state)
{
    const struct td_uarch_builtin *list = NULL;

    (void)state;
    for (size_t i = 0; (list = td_vendor_names_at(i)); i++) {
        struct fx_uarch described = {0};
        size_t unlisted = 0;

        if (strncmp(list->name, "lunar-lake", 10) == 0)
            continue;
        fx_uarch_load(&described, list->name);
        for (size_t e = 0; e < described.core->event_count; e++) {
            const struct td_pmu_event *event = &described.core->events[e];

            unlisted += !event->metric && !event->given && !is_listed(list, event);
        }
        if (unlisted > 4)
            fail_msg("%s: %zu of %zu events are not in the vendor's list", list->name, unlisted,
                     described.core->event_count);
        fx_uarch_unload(&described);
    }
}

/* Intel's perfmon, GNR/events/graniterapids_core.json: its front end moved to another code. */
static void published_codes(void **state)
{
    static const struct {
        const char *core, *name;
        uint64_t config, config1;
    } published[] = {
        {"granite-rapids", "FRONTEND_RETIRED.LATENCY_GE_16", 0x3c6, 0x601006},
        {"granite-rapids", "FRONTEND_RETIRED:MISP_ANT", 0x2c6, 0x9},
        {"granite-rapids", "TOPDOWN:BACKEND_BOUND_SLOTS", 0x2a4, 0},
        {"granite-rapids", "INT_MISC.UNKNOWN_BRANCH_CYCLES", 0x40ad, 0x7},
        {"granite-rapids", "INST_RETIRED.ANY", 0xc0, 0},
        {"alder-lake-p", "FRONTEND_RETIRED.LATENCY_GE_16", 0x1c6, 0x601006},
        {"zen5", "de_no_dispatch_per_slot.smt_contention", 0x1000060a0, 0},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(published); i++) {
        struct td_vendor_event event;

        assert_true(td_vendor_event_find(&event, published[i].core, published[i].name,
                                         strlen(published[i].name)));
        assert_int_equal(event.config, published[i].config);
        assert_int_equal(event.config1, published[i].config1);
    }
    char *near = td_vendor_event_near("granite-rapids", "mem_load_retired:l3_mis");
    assert_string_equal(near, "MEM_LOAD_RETIRED.L3_MISS");
    free(near);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found_in_either_spelling),
        cmocka_unit_test(descriptions_agree_with_the_lists),
        cmocka_unit_test(published_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
