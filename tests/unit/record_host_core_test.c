/* SPDX-License-Identifier: MIT */
/* The calibrated core: which named one it is made from, and that what is written can be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "formats/cores/core.h"
#include "record/machine/host_core.h"

static void test_base(void **state)
{
    (void)state;
    assert_string_equal(td_host_core_base("AuthenticAMD-23-49-0", 0), "zen3");
    assert_string_equal(td_host_core_base("AuthenticAMD-25-1-1", 0), "zen3");
    assert_string_equal(td_host_core_base("AuthenticAMD-25-17-1", 0), "zen4");
    assert_string_equal(td_host_core_base("AuthenticAMD-25-80-0", 0), "zen3");
    assert_string_equal(td_host_core_base("AuthenticAMD-25-97-2", 0), "zen4");
    assert_string_equal(td_host_core_base("AuthenticAMD-26-2-1", 0), "zen5");
    assert_string_equal(td_host_core_base("GenuineIntel-6-85-7", 0), "skylake-x");
    assert_string_equal(td_host_core_base("GenuineIntel-6-158-10", 0), "skylake");
    assert_string_equal(td_host_core_base("GenuineIntel-6-106-6", 0), "golden-cove");
    assert_string_equal(td_host_core_base("GenuineIntel-6-143-8", 0), "golden-cove");
    assert_string_equal(td_host_core_base("GenuineIntel-6-173-1", 0), "redwood-cove");
    assert_string_equal(td_host_core_base("GenuineIntel-6-167-1", 32), "golden-cove");
    assert_string_equal(td_host_core_base("GenuineIntel-6-167-1", 64), "redwood-cove");
    assert_string_equal(td_host_core_base("GenuineIntel-6-190-0", 64), "golden-cove");
    assert_string_equal(td_host_core_base("GenuineIntel-6-85-7", 64), "skylake-x");
    assert_string_equal(td_host_core_base("GenuineIntel", 0), "golden-cove");
    assert_string_equal(td_host_core_base("0x00000000410fd490", 0), "neoverse-n2");
    assert_string_equal(td_host_core_base("", 0), "golden-cove");
}

static void test_text(void **state)
{
    static const char *const bases[] = {"golden-cove", "redwood-cove", "skylake",    "skylake-x",
                                        "zen3",        "zen4",         "neoverse-n2"};
    const struct td_host_value values[] = {
        {"mhz", 2843.4},
        {"dram_line", 6.25},
        {"l3_latency", 1e6}, /* beyond the range: its end */
        {"walk", -3},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(bases); i++) {
        struct td_core_desc named, host;
        struct td_err err = TD_ERR_INIT;
        char *text = td_host_core_text(bases[i], "a machine", values, TD_ARRAY_SIZE(values));

        assert_non_null(text);
        assert_int_equal(td_core_desc_builtin(&named, bases[i], NULL), TD_OK);
        if (td_core_desc_text(&host, text, &err) != TD_OK)
            fail_msg("%s: %s", bases[i], err.text);
        assert_string_equal(host.name, "host");
        assert_string_equal(host.title, "a machine");
        assert_int_equal(host.mhz, 2843);
        assert_int_equal(host.dram_line, 400);
        assert_int_equal(host.l3_latency, 500);
        assert_int_equal(host.walk, 0);
        assert_int_equal(host.rob, named.rob);
        assert_memory_equal(&host.dispatch, &named.dispatch, sizeof(host.dispatch));
        assert_memory_equal(host.ops, named.ops, sizeof(host.ops));
        free(text);
    }
    assert_null(td_host_core_text("no-such-core", "", values, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
