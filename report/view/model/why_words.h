/* SPDX-License-Identifier: MIT */
/* What sentences of causes and the figures below them are put together from. */
#ifndef TD_REPORT_VIEW_MODEL_WHY_WORDS_H
#define TD_REPORT_VIEW_MODEL_WHY_WORDS_H

#include <stdbool.h>

#include "report/query/why/why.h"

enum { TD_WHY_TEXT = 256, TD_WHY_NUMBER = 48 };

/* "8.0 MB"; "64 bytes" */
const char *td_why_bytes(char buf[TD_WHY_NUMBER], double bytes);
/* Estimates, as "about 8.0 MB", "about 77,000"; few pages are counted well. */
const char *td_why_footprint(char buf[TD_WHY_NUMBER], const struct td_why_memory *m);
const char *td_why_about(char buf[TD_WHY_NUMBER], uint64_t pages);
/* "32 KB to 64 KB": of others, until a line comes again. */
const char *td_why_again(char buf[TD_WHY_NUMBER], const struct td_why_memory *m);
const char *td_why_count(char buf[TD_WHY_NUMBER], uint64_t count);
/* "8,192 bytes on", "16 bytes back" */
const char *td_why_stride(char buf[TD_WHY_NUMBER], int64_t stride);
/* "main.c:12", or the code's place where no line is known. */
void td_why_place(char *buf, size_t size, const struct td_model *model, uint32_t location);

/* Whether there are figures of its instruction as one that loads or stores, as a branch. */
bool td_why_uses_memory(const struct td_why *why);
bool td_why_branches(const struct td_why *why);
bool td_why_is_of_branch(enum td_why_cause cause);

#endif
