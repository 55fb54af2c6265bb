/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/files.h"

#include <stdlib.h>

#include "base/procfs.h"
#include "record/sim/model/memory/memory.h"
#include "record/sim/qemu/image.h"

static uint64_t page_of(uint64_t address)
{
    return address >> TD_PAGE_BITS;
}

static void tell(struct td_image_thread *thread, const struct td_range *pages)
{
    for (uint64_t at = pages->start; at < pages->end; at += TD_TRACE_PAGES_MAX) {
        const uint64_t left = pages->end - at;

        td_image_add_word(thread,
                          td_trace_pages(pages->value, at,
                                         left < TD_TRACE_PAGES_MAX ? left : TD_TRACE_PAGES_MAX));
    }
}

void td_files_tell(const struct td_image *process, struct td_image_thread *thread)
{
    const struct td_range_set *pages = &process->files.pages;

    for (size_t i = 0; i < pages->len; i++) {
        if (pages->items[i].value)
            tell(thread, &pages->items[i]);
    }
}

void td_files_begin(struct td_image *process, struct td_image_thread *thread)
{
    struct td_map_line line;

    process->files.known = true;
    char *text = td_procfs_text(NULL, "/proc/self/maps");
    for (const char *at = text; at && td_map_line_next(&at, &line);) {
        const struct td_range range = {
            .start = page_of(line.start), .end = page_of(line.end), .value = 1};

        if (line.path_len > 0 && line.path[0] == '/' && (!line.writable || line.shared))
            td_range_set_put(&process->files.pages, &range);
    }
    free(text);
    td_files_tell(process, thread);
}

void td_files_map(struct td_image *process, struct td_image_thread *thread, uint64_t start,
                  uint64_t end, bool file)
{
    const struct td_range range = {
        .start = page_of(start), .end = page_of(end + (1 << TD_PAGE_BITS) - 1), .value = file};

    if (!process->files.known)
        return;
    pthread_mutex_lock(&process->lock);
    /* Most of what is mapped is no file, and lies where none was. */
    if (file || td_range_set_overlaps(&process->files.pages, range.start, range.end)) {
        td_range_set_put(&process->files.pages, &range);
        tell(thread, &range);
    }
    pthread_mutex_unlock(&process->lock);
}
