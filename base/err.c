/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void fill(struct td_err *err, enum td_code code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void fill(struct td_err *err, enum td_code code, const char *format, va_list args)
{
    char raw[sizeof(err->text)];

    vsnprintf(raw, sizeof(raw), format, args);
    td_text_safe(err->text, sizeof(err->text), raw, strlen(raw));
    err->code = code;
    err->sys_errno = 0;
    err->offset = TD_NO_OFFSET;
}

static void append(struct td_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct td_err *err, const char *format, ...)
{
    const size_t used = strlen(err->text);
    va_list args;

    va_start(args, format);
    vsnprintf(err->text + used, sizeof(err->text) - used, format, args);
    va_end(args);
}

int td_fail(struct td_err *err, enum td_code code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    return code;
}

int td_fail_errno(struct td_err *err, enum td_code code, int sys_errno, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    err->sys_errno = sys_errno;
    append(err, ": %s%s", strerror(sys_errno), sys_errno == EMFILE ? " (raise 'ulimit -n')" : "");
    return code;
}

int td_fail_at(struct td_err *err, enum td_code code, uint64_t offset, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    err->offset = offset;
    append(err, " (at byte %llu)", (unsigned long long)offset);
    return code;
}

void td_err_prefix(struct td_err *err, const char *format, ...)
{
    char context[sizeof(err->text)];
    char whole[2 * sizeof(err->text) + 2];
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    vsnprintf(context, sizeof(context), format, args);
    va_end(args);
    snprintf(whole, sizeof(whole), "%s: %s", context, err->text);
    td_text_safe(err->text, sizeof(err->text), whole, strlen(whole));
}
