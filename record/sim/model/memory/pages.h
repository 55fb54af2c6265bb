/* SPDX-License-Identifier: MIT */
/*
 * The pages of data that a thread has touched, and which of those to come hold a file as it stands
 * in the kernel's page cache: those it has not just written, so that no cache near the core has
 * their lines. All others the kernel clears or copies when they are first touched.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_PAGES_H
#define TD_RECORD_SIM_MODEL_MEMORY_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/range.h"

/* A zeroed struct: nothing is touched, and no file mapped. */
struct td_pages {
    struct td_map touched;     /* numbers of pages; of files, of windows, too */
    struct td_range_set files; /* numbers of pages; value: 1 of a file, 0 not any more */
};

enum td_page_touch {
    TD_PAGE_AGAIN,
    TD_PAGE_CLEARED, /* for the first time: the kernel has cleared or copied it */
    TD_PAGE_FILE,    /* for the first time, after a page near it of the same file */
    TD_PAGE_FILE_FAULT,
};

void td_pages_release(struct td_pages *pages);
/* `count` pages from `page` on hold a file that is only read, or do not any more. */
void td_pages_map(struct td_pages *pages, uint64_t page, uint64_t count, bool file);
enum td_page_touch td_pages_touch(struct td_pages *pages, uint64_t page);
/* Whether an access to the page would be no page fault. */
bool td_pages_mapped(const struct td_pages *pages, uint64_t page);

#endif
