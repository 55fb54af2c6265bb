/* SPDX-License-Identifier: MIT */
/* Memory of the emulated program. Its addresses are ours (guest_base is 0), but may be bad: the
 * kernel copies, and says so. */
#ifndef TD_RECORD_SIM_QEMU_GUEST_MEMORY_H
#define TD_RECORD_SIM_QEMU_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

static inline bool td_guest_read(void *to, uint64_t from, size_t size)
{
    const struct iovec local = {.iov_base = to, .iov_len = size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* False when it is not there or may not be written. */
static inline bool td_guest_write(uint64_t to, void *from, size_t size)
{
    const struct iovec local = {.iov_base = from, .iov_len = size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)to, .iov_len = size};

    return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

#endif
