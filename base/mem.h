/* SPDX-License-Identifier: MIT */
/*
 * Allocation. td_x* abort when memory is out: they are for sizes of our own making. A size that
 * comes from input is first checked against what is left of that input and then goes through
 * td_try_alloc.
 */
#ifndef TD_BASE_MEM_H
#define TD_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What td_x* do when memory is out. This one says so and aborts; a program that has more to say, or
 * a status of its own, defines another. */
_Noreturn void td_out_of_memory(void);

#define TD_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *td_xalloc(size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1)));
void *td_xcalloc(size_t count, size_t size)
    __attribute__((malloc, returns_nonnull, alloc_size(1, 2)));
/* As reallocarray; aborts on overflow too. */
void *td_xrealloc(void *old, size_t count, size_t size) __attribute__((returns_nonnull));
char *td_xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *td_xstrndup(const char *s, size_t len) __attribute__((malloc, returns_nonnull));
char *td_xasprintf(const char *format, ...)
    __attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/* A stream that writes into *text, *size bytes, both of which hold once it is closed; the caller
 * frees the text. */
FILE *td_xmemstream(char **text, size_t *size) __attribute__((returns_nonnull));

/* Zeroed; NULL when count * size overflows or memory is out. */
void *td_try_alloc(size_t count, size_t size);

/* Makes room for `need` elements in a growable array: doubles *cap, moves `array`, and returns the
 * new place. Use: a = td_grow(a, &cap, len + 1, sizeof(*a)). */
void *td_grow(void *array, size_t *cap, size_t need, size_t size) __attribute__((returns_nonnull));
/* The same; what is beyond the former *cap is zero. */
void *td_grow_zeroed(void *array, size_t *cap, size_t need, size_t size)
    __attribute__((returns_nonnull));

#endif
