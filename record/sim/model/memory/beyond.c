/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/beyond.h"

#include <stdlib.h>

#include "base/mem.h"

void td_beyond_release(struct td_beyond *beyond)
{
    free(beyond->lines);
    free(beyond->pages);
    *beyond = (struct td_beyond){.lines = NULL};
}

void td_beyond_clear(struct td_beyond *beyond)
{
    beyond->line_count = beyond->page_count = 0;
}

void td_beyond_add_line(struct td_beyond *beyond, uint64_t line)
{
    beyond->lines =
        td_grow(beyond->lines, &beyond->line_cap, beyond->line_count + 1, sizeof(*beyond->lines));
    beyond->lines[beyond->line_count++] = line;
}

void td_beyond_add_page(struct td_beyond *beyond, uint64_t page)
{
    beyond->pages =
        td_grow(beyond->pages, &beyond->page_cap, beyond->page_count + 1, sizeof(*beyond->pages));
    beyond->pages[beyond->page_count++] = page;
}
