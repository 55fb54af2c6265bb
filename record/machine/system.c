/* SPDX-License-Identifier: MIT */
#include "record/machine/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/procfs.h"

#define CPUFREQ "/sys/devices/system/cpu/cpu0/cpufreq/"

/* "48K": what sysfs writes of a cache. */
static uint64_t parse_kb(const char *text)
{
    char *end = NULL;
    const unsigned long kb = text ? strtoul(text, &end, 10) : 0;

    return kb > 0 && *end == 'K' ? kb : 0;
}

static char *cache_line(const char *root, int index, const char *file)
{
    char path[128];

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, file);
    return td_procfs_line(root, path);
}

uint32_t td_system_code_kb(const char *root)
{
    uint32_t kb = 0;

    for (int i = 0; i < TD_SYSTEM_CACHES_MAX && !kb; i++) {
        char *type = cache_line(root, i, "type"), *size = cache_line(root, i, "size");
        if (type && strcmp(type, "Instruction") == 0)
            kb = (uint32_t)parse_kb(size);
        free(type);
        free(size);
    }
    return kb;
}

static void read_cache(struct td_system *system, const char *root, int index)
{
    char *level = cache_line(root, index, "level"), *type = cache_line(root, index, "type");
    char *size = cache_line(root, index, "size");
    char *line = cache_line(root, index, "coherency_line_size");
    const uint64_t kb = parse_kb(size);

    if (level && kb > 0 && system->cache_count < TD_SYSTEM_CACHES_MAX) {
        struct td_system_cache *cache = &system->caches[system->cache_count++];

        snprintf(cache->level, sizeof(cache->level), "%.3s", level);
        cache->kb = kb;
        cache->kind = type && strcmp(type, "Data") == 0          ? 'd'
                      : type && strcmp(type, "Instruction") == 0 ? 'i'
                                                                 : 'u';
    }
    if (line && system->line_bytes == 0)
        system->line_bytes = strtoull(line, NULL, 10);
    free(level);
    free(type);
    free(size);
    free(line);
}

/* The clock now: the driver's word, else /proc/cpuinfo's. */
static void read_clock(struct td_system *system, const char *root)
{
    int64_t khz = 0;
    char *governor = td_procfs_line(root, CPUFREQ "scaling_governor");

    if (td_procfs_number(root, CPUFREQ "scaling_cur_freq", &khz) && khz > 0)
        system->mhz = (double)khz / 1000;
    if (td_procfs_number(root, CPUFREQ "cpuinfo_max_freq", &khz) && khz > 0)
        system->mhz_max = (double)khz / 1000;
    if (governor)
        snprintf(system->governor, sizeof(system->governor), "%s", governor);
    free(governor);
    if (system->mhz > 0)
        return;
    char *cpuinfo = td_procfs_text(root, "/proc/cpuinfo");
    char *mhz = cpuinfo ? td_procfs_field(cpuinfo, "cpu MHz") : NULL;
    system->mhz = mhz ? strtod(mhz, NULL) : 0;
    free(mhz);
    free(cpuinfo);
}

void td_system_read(struct td_system *system, const struct td_caps *caps)
{
    char *meminfo = td_procfs_text(caps->root, "/proc/meminfo");
    char *memory = meminfo ? td_procfs_field(meminfo, "MemTotal") : NULL;

    *system = (struct td_system){.smt = caps->smt};
    read_clock(system, caps->root);
    system->memory_kb = memory ? strtoull(memory, NULL, 10) : 0;
    for (int i = 0; i < TD_SYSTEM_CACHES_MAX; i++)
        read_cache(system, caps->root, i);
    free(memory);
    free(meminfo);
}

uint64_t td_system_cache_kb(const struct td_system *system, const char *level, char kind)
{
    for (size_t i = 0; i < system->cache_count; i++) {
        const struct td_system_cache *cache = &system->caches[i];

        if (strcmp(cache->level, level) == 0 && (cache->kind == kind || cache->kind == 'u'))
            return cache->kb;
    }
    return 0;
}
