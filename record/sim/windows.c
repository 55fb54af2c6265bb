/* SPDX-License-Identifier: MIT */
#include "record/sim/windows.h"

#include <math.h>

void td_windows_open(struct td_windows *windows, uint64_t slots, uint64_t instructions)
{
    windows->open = true;
    windows->from_slots = slots;
    windows->from_instructions = instructions;
}

void td_windows_close(struct td_windows *windows, uint64_t slots, uint64_t instructions)
{
    if (!windows->open)
        return;
    const uint64_t s = slots - windows->from_slots, i = instructions - windows->from_instructions;

    windows->open = false;
    if (!windows->sampled) {
        windows->first_slots += s;
        windows->first_instructions += i;
        return;
    }
    windows->slots += s;
    windows->instructions += i;
    windows->count++;
    windows->slots2 += (double)s * (double)s;
    windows->cross += (double)s * (double)i;
    windows->instructions2 += (double)i * (double)i;
}

double td_windows_error(const struct td_windows *windows, uint64_t whole)
{
    const double n = (double)windows->count, slots = (double)windows->slots,
                 instructions = (double)windows->instructions;

    if (windows->count < 2 || windows->instructions == 0)
        return 0;
    /* The ratio estimator's variance (Cochran, Sampling Techniques, 6.3). */
    const double ratio = slots / instructions;
    const double squares =
        windows->slots2 - 2 * ratio * windows->cross + ratio * ratio * windows->instructions2;
    const double error = sqrt(fmax(squares, 0) / (n - 1) * n) / instructions;
    return 2 * error * (double)whole;
}
