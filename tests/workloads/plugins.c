/* SPDX-License-Identifier: MIT */
/* Opens two libraries in turn, often at the same address: plugin_a_work() and plugin_b_work() each
 * take half of the time. plugins FOLDER [SECONDS] */
#include <dlfcn.h>
#include <stdio.h>

#include "work.h"

static uint64_t use(const char *folder, char which, uint64_t x)
{
    char text[4096];

    snprintf(text, sizeof(text), "%s/libplugin_%c.so", folder, which);
    void *handle = dlopen(text, RTLD_NOW);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    snprintf(text, sizeof(text), "plugin_%c_work", which);
    uint64_t (*work)(uint64_t) = (uint64_t(*)(uint64_t))dlsym(handle, text);
    for (int i = 0; i < 200; i++)
        x = work(x);
    dlclose(handle);
    return x;
}

int main(int argc, char **argv)
{
    const double end = argc > 2 ? strtod(argv[2], NULL) : 1.0;
    uint64_t x = 1;

    if (argc < 2)
        return 2;
    while (work_cpu_s() < end)
        x = use(argv[1], 'b', use(argv[1], 'a', x));
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
