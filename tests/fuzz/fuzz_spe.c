/* SPDX-License-Identifier: MIT */
/* The packets of Arm's SPE: the first byte is where in the buffer the others stand. */
#include "formats/data_source.h"
#include "formats/perfdata/spe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct td_pmu_cpu cpus[] = {
        {.vendor = TD_VENDOR_ARM, .family = 0x41, .model = 0xd49},
        {.vendor = TD_VENDOR_ARM, .family = 0xc0, .model = 0xac3},
        {.vendor = TD_VENDOR_ANY}};
    struct td_spe_record record;
    size_t count = 0;

    if (size < 1)
        return 0;
    struct td_spe spe = td_spe_init(data + 1, size - 1, data[0]);
    while (td_spe_next(&spe, &record)) {
        for (size_t i = 0; i < 3; i++) {
            const uint64_t word = td_spe_data_source(&record, &cpus[i]);

            if (td_data_access_of_perf(word).is_access != (record.class == TD_SPE_MEMORY))
                __builtin_trap();
        }
        if (!record.has_pc || td_spe_flags(&record) >> 17)
            __builtin_trap();
        count++;
    }
    /* A record is an address and an end at least: nine bytes and one. */
    if (spe.at != spe.size || spe.bad > size || count > size / 10)
        __builtin_trap();
    return 0;
}
