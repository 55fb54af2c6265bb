/* SPDX-License-Identifier: MIT */
/* Sets of CPUs as the kernel and taskset write them: "0,3-7". */
#ifndef TD_BASE_CPULIST_H
#define TD_BASE_CPULIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The highest CPU number that is believed; Linux is built for at most 8192. */
#define TD_CPU_MAX 65535

/* Rising numbers without repetition. A zeroed struct is the empty set. */
struct td_cpulist {
    unsigned *cpus;
    size_t len, cap;
};

void td_cpulist_release(struct td_cpulist *list);
/* Blanks and a newline at the end are allowed; an empty text is the empty set. TD_EFORMAT with the
 * text otherwise. *ret is set on success only and then owned by the caller. */
int td_cpulist_parse(struct td_cpulist *ret, const char *text, struct td_err *err);
void td_cpulist_add(struct td_cpulist *list, unsigned cpu);
bool td_cpulist_has(const struct td_cpulist *list, unsigned cpu);
void td_cpulist_copy(struct td_cpulist *ret, const struct td_cpulist *list);
/* What both hold; the caller owns the result. */
void td_cpulist_intersect(struct td_cpulist *ret, const struct td_cpulist *a,
                          const struct td_cpulist *b);
/* "0,3-7", newly allocated; "" for the empty set. */
char *td_cpulist_text(const struct td_cpulist *list) __attribute__((returns_nonnull));

#endif
