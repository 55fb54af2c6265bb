/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file with debug information: addresses all over it are looked up. */
#include "base/mem.h"
#include "symbolize/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t offsets[64];
    struct td_answers answers;
    struct td_answers_view view;
    struct td_buf buf = {0};

    for (size_t i = 0; i < TD_ARRAY_SIZE(offsets); i++)
        offsets[i] = 16 * i; /* the text of the seeds is in the first kilobyte */
    for (unsigned shard = 0; shard < 2; shard++) {
        const struct td_module_request request = {.path = "fuzz",
                                                  .bytes = {.data = data, .size = size},
                                                  .offsets = offsets,
                                                  .count = TD_ARRAY_SIZE(offsets),
                                                  .shard = shard,
                                                  .shards = 2};

        td_answers_init(&answers);
        td_module_resolve(&request, &answers);
        td_answers_encode(&answers, &buf);
        if (td_answers_open(&view, (struct td_bytes){buf.data, buf.len}, NULL) != TD_OK)
            __builtin_trap();
        td_buf_clear(&buf);
        td_answers_release(&answers);
    }
    td_buf_release(&buf);
    return 0;
}
