/* SPDX-License-Identifier: MIT */
#include "record/sim/model/sampling/learning.h"

#include <math.h>

double td_learning_fall(const struct td_learning *learning)
{
    double rates[2];

    for (int i = 0; i < 2; i++) {
        if (learning->parts[i].instructions == 0)
            return 0;
        rates[i] = (double)learning->parts[i].mispredicts / (double)learning->parts[i].instructions;
    }
    return fmax(rates[0] - rates[1], 0);
}
