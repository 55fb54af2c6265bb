/* SPDX-License-Identifier: MIT */
/* Branches that repeat a random pattern: what the predictor learns of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "record/sim/model/bpred.h"

enum { LENGTH = 1000, ROWS = 400, LEARNT = 200, FIRST_PC = 0x401000, SECOND_PC = 0x401020 };

/* One of four letters. */
static uint32_t draw(uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    return *random >> 30;
}

/* Letters are looked for in a text of 1,000, one after another in a random order. Of 1,000
 * branches, how many were predicted wrongly in the last rows. `opposite`: each is followed by one
 * that goes the other way. */
static unsigned wrong_of(const char *core, bool opposite)
{
    struct td_core_desc desc;
    struct td_bpred bpred;
    uint8_t first = TD_BIAS_NEW, second = TD_BIAS_NEW;
    uint32_t text[LENGTH], random = 12345;
    unsigned wrong = 0;

    assert_int_equal(td_core_desc_builtin(&desc, core, NULL), TD_OK);
    td_bpred_init(&bpred, &desc);
    for (int i = 0; i < LENGTH; i++)
        text[i] = draw(&random);
    for (int row = 0; row < ROWS; row++) {
        const uint32_t letter = draw(&random);

        for (int i = 0; i < LENGTH; i++) {
            const bool taken = text[i] == letter;
            unsigned missed = td_bpred_conditional(&bpred, FIRST_PC, &first, taken);

            if (opposite)
                missed += td_bpred_conditional(&bpred, SECOND_PC, &second, !taken);
            wrong += row < LEARNT ? 0 : missed;
        }
    }
    td_bpred_release(&bpred);
    return wrong / (ROWS - LEARNT);
}

/* A branch that says the opposite of the one before says nothing new, and hides nothing. */
static void patterns_are_learnt(void **state)
{
    static const char *const cores[] = {"zen3", "zen4", "zen5", "golden-cove"};

    (void)state;
    for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
        assert_in_range(wrong_of(cores[i], false), 0, 20);
        assert_in_range(wrong_of(cores[i], true), 0, 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns_are_learnt)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
