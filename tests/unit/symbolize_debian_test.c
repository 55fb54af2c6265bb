/* SPDX-License-Identifier: MIT */
/* symbolize/debian: the package that has the debug symbols of an installed file. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbolize/debian.h"

static void put(const char *root, const char *name, const char *text)
{
    char *path = td_xasprintf("%s/var/lib/dpkg/info/%s", root, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

static void check(const char *root, const char *path, const char *package)
{
    char *found = td_debian_debug_package(root, path);

    if (package)
        assert_string_equal(found ? found : "none", package);
    else
        assert_null(found);
    free(found);
}

static void test_packages(void **state)
{
    char root[] = "/tmp/tdprof-debian-XXXXXX";
    static const char *const folders[] = {"/var", "/var/lib", "/var/lib/dpkg",
                                          "/var/lib/dpkg/info"};
    static const char *const files[] = {"libsqlite3-0:amd64.list", "libc6:amd64.list",
                                        "python3.11-minimal.list", "gzip.list", "gzip.md5sums"};

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < TD_ARRAY_SIZE(folders); i++) {
        char *path = td_xasprintf("%s%s", root, folders[i]);

        assert_int_equal(mkdir(path, 0700), 0);
        free(path);
    }
    put(root, files[0], "/.\n/usr/lib\n/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6\n");
    put(root, files[1], "/.\n/lib/x86_64-linux-gnu/libc.so.6\n");
    put(root, files[2], "/usr/bin/python3.11\n");
    put(root, files[3], "/.\n/bin\n/bin/gzip\n/bin/gzip.old");
    put(root, files[4], "/usr/bin/zcat\n");
    check(root, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6", "libsqlite3-0-dbgsym");
    check(root, "/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"); /* /lib is /usr/lib */
    check(root, "/usr/bin/python3.11", "python3.11-dbg");
    check(root, "/bin/gzip", "gzip-dbgsym");
    check(root, "/bin/gzip.old", "gzip-dbgsym");
    check(root, "/bin/gz", NULL);       /* a part of a line */
    check(root, "/usr/bin/zcat", NULL); /* in no list of files */
    check("/nonexistent", "/bin/gzip", NULL);
    for (size_t i = 0; i < TD_ARRAY_SIZE(files); i++) {
        char *path = td_xasprintf("%s/var/lib/dpkg/info/%s", root, files[i]);

        unlink(path);
        free(path);
    }
    for (size_t i = TD_ARRAY_SIZE(folders); i-- > 0;) {
        char *path = td_xasprintf("%s%s", root, folders[i]);

        rmdir(path);
        free(path);
    }
    rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packages)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
