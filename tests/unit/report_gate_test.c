/* SPDX-License-Identifier: MIT */
/* Conditions on a diff: what is read out of their text, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/query/diff/gate.h"

static void read_as_meant(void **state)
{
    static const struct {
        const char *text, *target;
        double limit;
        bool below, is_part;
    } cases[] = {
        {"total > +2 %", "total", 0.02, false, true},
        {"total>2%", "total", 0.02, false, true},
        {"  probe.l3_bound  >  +5.5 %  ", "probe.l3_bound", 0.055, false, true},
        {"probe < -10 %", "probe", -0.1, true, true},
        {"probe > - 10 %", "probe", -0.1, false, true},
        {"probe > 3 ms", "probe", 3e6, false, false},
        {"probe > +0.5us", "probe", 500, false, false},
        {"probe > 2 s", "probe", 2e9, false, false},
        {"probe > 2 NS", "probe", 2, false, false},
        /* Names hold what comparisons do. */
        {"std::map<int, long>::find > 1 %", "std::map<int, long>::find", 0.01, false, true},
        {"operator> > 1 %", "operator>", 0.01, false, true},
        {"A<(B)3>::operator<< < 1 %", "A<(B)3>::operator<<", 0.01, true, true},
        {"main.probe.func1 > 1 %", "main.probe.func1", 0.01, false, true},
        {"bool ns::f(int) const > 1 %", "bool ns::f(int) const", 0.01, false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct td_gate gate;
        struct td_err err = TD_ERR_INIT;

        if (td_gate_parse(&gate, cases[i].text, &err) != TD_OK)
            fail_msg("'%s': %s", cases[i].text, err.text);
        assert_string_equal(gate.target, cases[i].target);
        assert_true(fabs(gate.limit - cases[i].limit) <= 1e-9 * fabs(cases[i].limit));
        assert_int_equal(gate.below, cases[i].below);
        assert_int_equal(gate.is_part, cases[i].is_part);
        td_gate_release(&gate);
    }
}

static void refused(void **state)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "total",
                                        "total > 2",
                                        "> 2 %",
                                        "total 2 %",
                                        "total = 2 %",
                                        "total > %",
                                        "total > 2..5 %",
                                        "total > x %",
                                        "total >",
                                        "total > 2 %%",
                                        "total > 1e3 %",
                                        "total > . %",
                                        "%",
                                        "<5%",
                                        "total > ++2 %"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct td_gate gate;
        struct td_err err = TD_ERR_INIT;

        if (td_gate_parse(&gate, texts[i], &err) != TD_EUSAGE)
            fail_msg("'%s' is taken", texts[i]);
        assert_non_null(strstr(err.text, texts[i]));
    }
}

/* Whatever is written: it is refused, or names something and has a finite limit. */
static void anything(void **state)
{
    static const char letters[] = "total.l3_bound<> +-%msnu0123456789(),\t";
    uint64_t random = 7;

    (void)state;
    for (int round = 0; round < 200000; round++) {
        char text[24];
        struct td_gate gate;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const size_t len = random >> 60;
        for (size_t i = 0; i < len; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[i] = letters[(random >> 33) % (sizeof(letters) - 1)];
        }
        text[len] = '\0';
        if (td_gate_parse(&gate, text, NULL) != TD_OK)
            continue;
        assert_true(gate.target[0] && isfinite(gate.limit));
        assert_true(strlen(gate.target) < len);
        td_gate_release(&gate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(read_as_meant), cmocka_unit_test(refused),
                                       cmocka_unit_test(anything)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
