/* SPDX-License-Identifier: MIT */
/* Built twice, as libplugin_a.so and libplugin_b.so, with PLUGIN_WORK as the name of the one
 * function. */
#include "work.h"

uint64_t PLUGIN_WORK(uint64_t x);

__attribute__((noinline)) uint64_t PLUGIN_WORK(uint64_t x)
{
    return work_chain(x, 100000);
}
