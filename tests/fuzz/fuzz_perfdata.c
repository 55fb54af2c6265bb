/* SPDX-License-Identifier: MIT */
/* Any bytes as a perf.data: refused or read, in bounded time. */
#include <stddef.h>
#include <stdint.h>

#include "formats/load.h"
#include "formats/perfdata/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches all that it is given, as an unwinder would. */
static size_t touch(void *ctx, const struct td_load_stack *stack, uint64_t *frames, size_t max,
                    bool *cut)
{
    struct td_load_place place;
    size_t count = 0;

    (void)ctx;
    for (size_t i = 0; i < stack->size && count < max; i += 8)
        frames[count++] = stack->bytes[i];
    for (uint64_t mask = stack->regs_mask, i = 0; mask && count < max; mask &= mask - 1)
        frames[count++] = stack->regs[8 * i++];
    *cut = count > 0 && stack->find(stack, frames[0], &place) && place.path[0] == '\0';
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct td_load_unwinder unwinder = {.unwind = touch};
    const struct td_load_opts opts = {.keep_samples = true, .unwinder = &unwinder};
    struct td_load_status status = {0};
    struct td_model *model = NULL;

    if (!td_perfdata_detect(data, size))
        return 0;
    if (td_load_bytes(&model, data, size, "fuzz", &opts, &status, NULL) == TD_OK)
        td_model_free(model);
    return 0;
}
