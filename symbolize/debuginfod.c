/* SPDX-License-Identifier: MIT */
#include "symbolize/debuginfod.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The calls of libdebuginfod.so.1 that are used (debuginfod_find_debuginfo(3)). */
struct library {
    void *handle;
    void *(*begin)(void);
    void (*end)(void *client);
    int (*find)(void *client, const unsigned char *id, int size, char **path);
};

static bool load(struct library *lib)
{
    lib->handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle)
        return false;
    *(void **)&lib->begin = dlsym(lib->handle, "debuginfod_begin");
    *(void **)&lib->end = dlsym(lib->handle, "debuginfod_end");
    *(void **)&lib->find = dlsym(lib->handle, "debuginfod_find_debuginfo");
    return lib->begin && lib->end && lib->find;
}

char *td_debuginfod_find(const struct td_build_id *id, char *why, size_t why_size)
{
    struct library lib = {0};
    char *path = NULL;

    if (!getenv("DEBUGINFOD_URLS")) {
        snprintf(why, why_size, "DEBUGINFOD_URLS names no server");
        return NULL;
    }
    /* Seconds without progress; the user's own setting stands. */
    setenv("DEBUGINFOD_TIMEOUT", "5", 0);
    if (!load(&lib)) {
        snprintf(why, why_size, "libdebuginfod1 is not installed");
    } else {
        void *client = lib.begin();
        const int fd = client ? lib.find(client, id->bytes, id->size, &path) : -1;

        if (fd < 0)
            snprintf(why, why_size, "no debuginfod server has its debug file");
        else
            close(fd);
        if (client)
            lib.end(client);
    }
    if (lib.handle)
        dlclose(lib.handle);
    return path;
}
