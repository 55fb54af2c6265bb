/* SPDX-License-Identifier: MIT */
#include "record/sim/model/sampling/windows.h"

#include <math.h>

#include "base/mem.h"

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

double td_windows_widening(uint64_t windows)
{
    static const double t[] = {1,    1,    12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26,
                               2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09};

    return windows < TD_ARRAY_SIZE(t) ? t[windows] : 2 + 1.7 / (double)windows;
}

double td_windows_error(const struct td_windows *windows, uint64_t whole)
{
    const double n = (double)windows->count, seen = (double)windows->instructions;
    double error = 0;

    if (windows->count == 1)
        error = seen > 0 ? (double)windows->slots / seen * ((double)whole - seen) : 0;
    else if (windows->count > 1)
        error = td_windows_widening(windows->count) * deviation(windows) * (double)whole / sqrt(n);
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
