/* SPDX-License-Identifier: MIT */
#include "record/sim/share/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE_BYTES 4096

uint64_t td_sealed_room(uint64_t size, unsigned parts)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size)
        size = limit.rlim_cur;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / parts < size)
        size = limit.rlim_cur / parts;
    return size / PAGE_BYTES * PAGE_BYTES;
}

int td_sealed_memory(const char *name, uint64_t size)
{
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || (ftruncate(fd, (off_t)size) == 0 &&
                   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0))
        return fd;
    const int sys_errno = errno;

    close(fd);
    errno = sys_errno;
    return -1;
}
