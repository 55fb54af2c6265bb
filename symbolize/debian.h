/* SPDX-License-Identifier: MIT */
/* Which package has the debug file of an installed program, where dpkg installs programs. */
#ifndef TD_SYMBOLIZE_DEBIAN_H
#define TD_SYMBOLIZE_DEBIAN_H

/* The name of the package with the debug symbols of the file at `path`: "libsqlite3-0-dbgsym"; the
 * caller frees it. NULL when no package has installed the file. `root` is put before
 * /var/lib/dpkg, "" for this machine. */
char *td_debian_debug_package(const char *root, const char *path);

#endif
