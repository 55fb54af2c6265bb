/* SPDX-License-Identifier: MIT */
/* A core's description as it stands in the source, for tests of formulas. */
#ifndef TD_TESTS_UARCH_FIXTURE_H
#define TD_TESTS_UARCH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/file.h"
#include "formats/cores/pmu.h"

struct fx_uarch {
    struct td_uarch *uarch;
    struct td_pmu_core *core;
};

static void fx_uarch_load(struct fx_uarch *ret, const char *name)
{
    struct td_buf text = {0};
    struct td_err err = TD_ERR_INIT;
    char path[512];

    snprintf(path, sizeof(path), TD_TESTS_DIR "/../formats/cores/uarch/%s.uarch", name);
    assert_int_equal(td_file_read(path, 1 << 20, &text, &err), TD_OK);
    if (td_uarch_parse(&ret->uarch, (const char *)text.data, text.len, &err) != TD_OK ||
        td_pmu_core_read(&ret->core, ret->uarch, &err) != TD_OK)
        fail_msg("%s: %s", name, err.text);
    td_buf_release(&text);
}

static void fx_uarch_unload(struct fx_uarch *described)
{
    td_pmu_core_free(described->core);
    td_uarch_free(described->uarch);
}

#endif
