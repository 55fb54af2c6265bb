/* SPDX-License-Identifier: MIT */
/* The page without a profile: report/html/ put together when this was built
 * (scripts/embed_page.cmake). */
#ifndef TD_REPORT_VIEW_PAGE_PAGE_SHELL_H
#define TD_REPORT_VIEW_PAGE_PAGE_SHELL_H

#include <stddef.h>

/* Between them stand the title, the text for where scripts do not run, and the data. */
#define TD_PAGE_SHELL_PARTS 4

struct td_page_shell {
    const char *at; /* terminated */
    size_t len;
};

extern const struct td_page_shell td_page_shell[TD_PAGE_SHELL_PARTS];

#endif
