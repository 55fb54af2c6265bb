/* SPDX-License-Identifier: MIT */
/* A jitdump, asked for every code's addresses at several times. */
#include "symbolize/maps/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_jitdump dump = {.stopped_at = 0};
    struct td_jitdump_place place;

    if (td_jitdump_parse(&dump, data, size, NULL) == TD_OK) {
        if (dump.stopped_at > size)
            __builtin_trap();
        for (size_t i = 0; i < dump.code_count && i < 1000; i++) {
            const struct td_jitdump_code *code = &dump.codes[i];
            const uint64_t last = code->start + code->size - 1;

            if (code->until_ns > code->from_ns &&
                !td_jitdump_find(&dump, code->start, code->from_ns, &place))
                __builtin_trap(); /* somebody was there then */
            if (td_jitdump_find(&dump, last, code->from_ns + 1, &place) &&
                last - place.code->start >= place.code->size)
                __builtin_trap();
        }
    }
    td_jitdump_release(&dump);
    return 0;
}
