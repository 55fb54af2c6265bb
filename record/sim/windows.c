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

/* The ratio estimator's standard error (Cochran, Sampling Techniques, 6.3), times the root of the
 * number of windows: slots an instruction. */
static double deviation(const struct td_windows *windows)
{
    const double n = (double)windows->count, instructions = (double)windows->instructions;

    if (windows->count < 2 || windows->instructions == 0)
        return 0;
    const double ratio = (double)windows->slots / instructions;
    const double squares =
        windows->slots2 - 2 * ratio * windows->cross + ratio * ratio * windows->instructions2;
    return sqrt(fmax(squares, 0) / (n - 1)) * n / instructions;
}

double td_windows_error(const struct td_windows *windows, uint64_t whole)
{
    const double error =
        windows->count < 2 ? 0
                           : 2 * deviation(windows) * (double)whole / sqrt((double)windows->count);

    return sqrt(windows->settled_error2 + error * error);
}

double td_windows_spread(const struct td_windows *windows)
{
    return windows->slots == 0
               ? 0
               : deviation(windows) * (double)windows->instructions / (double)windows->slots;
}

void td_windows_settle(struct td_windows *windows, uint64_t whole, uint64_t slots,
                       uint64_t instructions)
{
    const double error = td_windows_error(windows, whole);

    windows->settled_error2 = error * error;
    windows->settled_count += windows->count;
    windows->first_slots = slots;
    windows->first_instructions = instructions;
    windows->slots = windows->instructions = windows->count = 0;
    windows->slots2 = windows->cross = windows->instructions2 = 0;
}
