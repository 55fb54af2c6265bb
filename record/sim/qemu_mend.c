/* SPDX-License-Identifier: MIT */
/*
 * A fault of QEMU's that the preloaded plugin keeps from the program. QEMU 7.2 (plugins/core.c,
 * qemu_plugin_vcpu_init_hook) enters each CPU into a table under its number, as key and value
 * alike, and aborts when the number is there. A forked child still has those of its parent's other
 * threads, so its own second thread would end it, with or without a plugin.
 */
#include <dlfcn.h>
#include <string.h>

#include "record/sim/qemu_api.h"

typedef int td_insert_fn(void *table, void *key, void *value);

TD_QEMU_EXPORT int g_hash_table_insert(void *table, void *key, void *value);

/* GLib's; true when the key was new. The new entry has taken the place of the old one in any case.
 */
int g_hash_table_insert(void *table, void *key, void *value)
{
    void *symbol = dlsym(RTLD_NEXT, "g_hash_table_insert");
    td_insert_fn *insert = NULL;

    memcpy(&insert, &symbol, sizeof(insert));
    return insert(table, key, value) || key == value;
}
