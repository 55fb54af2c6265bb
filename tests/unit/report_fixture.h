/* SPDX-License-Identifier: MIT */
/* Small profiles in memory for the tests of report/ and the exporters. */
#ifndef TD_TESTS_REPORT_FIXTURE_H
#define TD_TESTS_REPORT_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "formats/model.h"
#include "report/query/figures/measure.h"

static inline uint32_t fx_module(struct td_model *model, const char *path)
{
    const struct td_module module = {.kind = TD_MODULE_FILE,
                                     .path = td_model_intern_z(model, path)};

    return td_model_put_module(model, &module);
}

static inline uint32_t fx_function(struct td_model *model, uint32_t module, const char *name,
                                   const char *file, uint32_t line)
{
    const struct td_function function = {.name = td_model_intern_z(model, name),
                                         .file = td_model_intern_z(model, file),
                                         .line = line,
                                         .module = module};

    return td_model_put_function(model, &function);
}

/* A location of one line in `function`. */
static inline uint32_t fx_location(struct td_model *model, uint32_t function, uint64_t offset,
                                   uint32_t line)
{
    const struct td_function f = *td_model_function(model, function);
    const uint32_t location = td_model_put_location(model, f.module, offset);
    const struct td_line at = {.function = function, .file = f.file, .line = line};

    td_model_set_lines(model, location, &at, 1);
    return location;
}

/* A location of `inner`, inlined at `call_line` of `outer`. */
static inline uint32_t fx_inlined(struct td_model *model, uint32_t inner, uint32_t line,
                                  uint32_t outer, uint32_t call_line, uint64_t offset)
{
    const struct td_function in = *td_model_function(model, inner);
    const struct td_function out = *td_model_function(model, outer);
    const uint32_t location = td_model_put_location(model, out.module, offset);
    const struct td_line at[2] = {{.function = inner, .file = in.file, .line = line},
                                  {.function = outer, .file = out.file, .line = call_line}};

    td_model_set_lines(model, location, at, 2);
    return location;
}

static inline uint32_t fx_thread(struct td_model *model, uint32_t pid, uint32_t tid,
                                 const char *name, const char *process)
{
    const struct td_thread thread = {.pid = pid,
                                     .tid = tid,
                                     .name = td_model_intern_z(model, name),
                                     .process = td_model_intern_z(model, process)};

    return td_model_add_thread(model, &thread);
}

/* cpu-clock at `frequency_hz`; one column, PERIOD in ns. */
static inline uint32_t fx_clock_group(struct td_model *model, uint64_t frequency_hz)
{
    const struct td_event event = {.name = td_model_intern_z(model, "cpu-clock"),
                                   .unit = TD_UNIT_NS,
                                   .pmu_type = 1,
                                   .frequency_hz = frequency_hz};
    struct td_group group = {.name = td_model_intern_z(model, "clock"),
                             .role = TD_ROLE_TIME,
                             .attribution = TD_ATTRIBUTION_NONE,
                             .locates = TD_NODE_NONE};

    group.sampler = td_model_add_event(model, &event);
    group.column_count = 1;
    group.columns[0] =
        (struct td_column){.kind = TD_COLUMN_PERIOD, .event = group.sampler, .node = TD_NODE_NONE};
    return td_model_add_group(model, &group);
}

/* A measure of the model, to be freed; `filter` may be NULL. */
static inline struct td_measure *fx_measure(const struct td_model *model,
                                            const struct td_filter *filter)
{
    struct td_measure *measure = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_measure_new(&measure, model, filter, &err) < 0)
        fail_msg("%s", err.text);
    return measure;
}

/* The same of a model whose slots were attributed. */
static inline struct td_measure *fx_slots_measure(const struct td_model *model,
                                                  const struct td_filter *filter)
{
    struct td_measure *measure = fx_measure(model, filter);

    assert_non_null(measure->slots);
    return measure;
}

#endif
