/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/beyond.h"

#include <stdlib.h>

#include "base/mem.h"

void td_beyond_release(struct td_beyond *beyond)
{
    free(beyond->asked);
    *beyond = (struct td_beyond){.asked = NULL};
}

void td_beyond_add(struct td_beyond *beyond, uint64_t asked)
{
    beyond->asked = td_grow(beyond->asked, &beyond->cap, beyond->count + 1, sizeof(*beyond->asked));
    beyond->asked[beyond->count++] = asked;
}
