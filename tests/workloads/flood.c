/* SPDX-License-Identifier: MIT */
/* flood COUNT: a hostile neighbour. It renames itself, maps a file, and maps files of ever other
 * names, COUNT times each. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void map_once(int fd)
{
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

    if (at != MAP_FAILED)
        munmap(at, PAGE);
}

static void map_new_file(const char *folder, unsigned long i)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/flood-%lu", folder, i);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
    if (fd < 0)
        return;
    if (ftruncate(fd, PAGE) == 0)
        map_once(fd);
    close(fd);
    unlink(path);
}

int main(int argc, char **argv)
{
    const unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    char folder[] = "/tmp/flood-XXXXXX", name[16];
    const int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    if (own < 0 || !mkdtemp(folder))
        return 1;
    for (unsigned long i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "name-%lu", i);
        prctl(PR_SET_NAME, name);
        map_once(own);
        map_new_file(folder, i);
    }
    rmdir(folder);
    return 0;
}
