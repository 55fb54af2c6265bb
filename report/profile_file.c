/* SPDX-License-Identifier: MIT */
#include "report/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

static int write_fd(void *ctx, const void *data, size_t size, struct td_err *err)
{
    const int *const fd = ctx;

    return td_fd_write_all(*fd, data, size, err);
}

int td_profile_file_write(const char *path, td_profile_fill_fn *fill, void *arg, struct td_err *err)
{
    int out = STDOUT_FILENO;

    if (strcmp(path, "-") == 0)
        return fill(arg, write_fd, &out, err);
    char *const temporary = td_xasprintf("%s.XXXXXX", path);
    out = mkostemp(temporary, O_CLOEXEC);
    int rc = out < 0 ? td_fail_errno(err, TD_EIO, errno, "cannot create a file beside '%s'", path)
                     : fill(arg, write_fd, &out, err);
    if (out >= 0 && close(out) < 0 && rc == TD_OK)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write '%s'", path);
    if (rc == TD_OK && rename(temporary, path) < 0)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot rename '%s' to '%s'", temporary, path);
    if (rc < 0 && out >= 0)
        unlink(temporary);
    free(temporary);
    return rc;
}
