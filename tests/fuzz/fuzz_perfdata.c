/* SPDX-License-Identifier: MIT */
/* Any bytes as a perf.data: refused or read, in bounded time. */
#include <stddef.h>
#include <stdint.h>

#include "formats/load.h"
#include "formats/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_load_status status = {0};
    struct td_model *model = NULL;

    if (!td_perfdata_detect(data, size))
        return 0;
    if (td_load_bytes(&model, data, size, "fuzz", &opts, &status, NULL) == TD_OK)
        td_model_free(model);
    return 0;
}
