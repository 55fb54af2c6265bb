/* SPDX-License-Identifier: MIT */
/*
 * Memory that programs get to write into, and tdrec reads: of a fixed size, since whoever cut it
 * would end its readers by SIGBUS.
 */
#ifndef TD_RECORD_SIM_SHARE_SEALED_H
#define TD_RECORD_SIM_SHARE_SEALED_H

#include <stdint.h>

/* As much of `size` bytes as this process's limits leave, in whole pages of 4 kB; of the address
 * space one part in `parts`. */
uint64_t td_sealed_room(uint64_t size, unsigned parts);
/* A descriptor (close-on-exec) of that much memory, the caller's; -1 with errno. `name` is what
 * /proc shows. */
int td_sealed_memory(const char *name, uint64_t size);

#endif
