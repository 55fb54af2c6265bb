/* SPDX-License-Identifier: MIT */
/* An image of a process: what its reader lets through lies inside it. */
#include <string.h>

#include "record/sim/share/live_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_live_image image;
    uint64_t sum = 0;

    if (td_live_image_read(&image, data, size, NULL) != TD_OK)
        return 0;
    for (size_t i = 0; i < image.thread.registers_size; i++)
        sum += ((const uint8_t *)image.thread.registers)[i];
    for (size_t i = 0; i < image.thread.vector_size; i++)
        sum += ((const uint8_t *)image.thread.vector)[i];
    for (size_t i = 0; i < image.mapping_count; i++) {
        const struct td_live_mapping *m = &image.mappings[i];

        sum += strlen(m->name);
        if (m->content == TD_LIVE_DATA)
            sum += data[m->offset] + data[m->offset + m->size - 1];
    }
    for (size_t i = 0; i < image.file_count; i++)
        sum += strlen(image.files[i].name);
    for (size_t i = 0; i < image.calls_size; i++)
        sum += image.calls[i];
    td_live_image_release(&image);
    if (sum == UINT64_MAX)
        __builtin_trap(); /* so that all was read */
    return 0;
}
