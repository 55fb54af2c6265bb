/* SPDX-License-Identifier: MIT */
#include "symbolize/debian.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/procfs.h"

#define INFO "/var/lib/dpkg/info"

#define USR "/usr"

/* Whether the list of a package has the file, a line of its own. Where /lib is a link to /usr/lib,
 * packages still may say /lib: with `usr` the path begins behind a /usr that a line may lack. */
static bool has_file(const char *list, const char *path, bool usr)
{
    const size_t len = strlen(path), prefix = strlen(USR);

    for (const char *at = list; (at = strstr(at, path)); at += len) {
        const bool whole =
            usr && (size_t)(at - list) >= prefix && memcmp(at - prefix, USR, prefix) == 0;
        const char *line = whole ? at - prefix : at;

        if ((line == list || line[-1] == '\n') && (at[len] == '\n' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* Packages whose debug symbols have a name of their own. */
static char *debug_name(const char *package, size_t len)
{
    const char minimal[] = "-minimal";
    const size_t tail = sizeof(minimal) - 1;
    const bool python = strncmp(package, "python3.", 8) == 0 && isdigit((unsigned char)package[8]);

    if (len == 5 && strncmp(package, "libc6", len) == 0)
        return td_xstrdup("libc6-dbg");
    if (python && len > tail && strncmp(package + len - tail, minimal, tail) == 0)
        return td_xasprintf("%.*s-dbg", (int)(len - tail), package);
    if (python && !memchr(package, '-', len))
        return td_xasprintf("%.*s-dbg", (int)len, package);
    return td_xasprintf("%.*s-dbgsym", (int)len, package);
}

char *td_debian_debug_package(const char *root, const char *path)
{
    char **names = td_procfs_names(root, INFO);
    const bool usr = strncmp(path, USR "/", sizeof(USR)) == 0;
    const char *tail = usr ? path + strlen(USR) : path;
    char *found = NULL;

    for (size_t i = 0; names && names[i] && !found; i++) {
        const char *dot = strrchr(names[i], '.');

        if (!dot || strcmp(dot, ".list") != 0)
            continue;
        char *file = td_xasprintf(INFO "/%s", names[i]);
        char *list = td_procfs_text(root, file);
        const char *colon = strchr(names[i], ':'); /* "libc6:amd64.list" */

        if (list && has_file(list, tail, usr))
            found = debug_name(names[i], (size_t)((colon ? colon : dot) - names[i]));
        free(list);
        free(file);
    }
    td_procfs_names_free(names);
    return found;
}
