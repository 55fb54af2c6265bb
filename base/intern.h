/* SPDX-License-Identifier: MIT */
/* Strings by id: each distinct string is kept once. Id 0 is always "". */
#ifndef TD_BASE_INTERN_H
#define TD_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct td_intern;

struct td_intern *td_intern_new(void);
void td_intern_free(struct td_intern *intern);
/* The id of `len` bytes (which may hold any byte but are kept terminated too). */
uint32_t td_intern_put(struct td_intern *intern, const char *s, size_t len);
/* Borrowed, valid until the free. `id` must be below the count. */
const char *td_intern_get(const struct td_intern *intern, uint32_t id);
size_t td_intern_len(const struct td_intern *intern, uint32_t id);
uint32_t td_intern_count(const struct td_intern *intern);
/* What it takes in memory. */
size_t td_intern_bytes(const struct td_intern *intern);

#endif
