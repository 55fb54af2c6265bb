/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/pages.h"

#include <stddef.h>

/* Linux maps the pages of a file that it has in memory 16 at a time, aligned, around the one that
 * was asked for: fault_around_bytes, 64 KB (mm/memory.c, do_fault_around). */
enum { WINDOW_BITS = 4 };
/* The second word of keys in `touched`. */
enum { KEY_PAGE, KEY_WINDOW };

void td_pages_release(struct td_pages *pages)
{
    td_map_release(&pages->touched);
    td_range_set_release(&pages->files);
}

void td_pages_map(struct td_pages *pages, uint64_t page, uint64_t count, bool file)
{
    const struct td_range range = {.start = page, .end = page + count, .value = file};

    td_range_set_put(&pages->files, &range);
}

static bool is_file(const struct td_pages *pages, uint64_t page)
{
    const struct td_range *range = td_range_set_find(&pages->files, page);

    return range && range->value;
}

enum td_page_touch td_pages_touch(struct td_pages *pages, uint64_t page)
{
    bool first, first_in_window;

    td_map_put(&pages->touched, page, KEY_PAGE, 1, &first);
    if (!first)
        return TD_PAGE_AGAIN;
    if (!is_file(pages, page))
        return TD_PAGE_CLEARED;
    td_map_put(&pages->touched, page >> WINDOW_BITS, KEY_WINDOW, 1, &first_in_window);
    return first_in_window ? TD_PAGE_FILE_FAULT : TD_PAGE_FILE;
}

bool td_pages_mapped(const struct td_pages *pages, uint64_t page)
{
    return td_map_find(&pages->touched, page, KEY_PAGE) ||
           (is_file(pages, page) && td_map_find(&pages->touched, page >> WINDOW_BITS, KEY_WINDOW));
}
