/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void __attribute__((weak)) td_out_of_memory(void)
{
    static const char text[] = "out of memory\n";

    fwrite(text, 1, sizeof(text) - 1, stderr);
    abort();
}

static void *check(void *p)
{
    if (!p)
        td_out_of_memory();
    return p;
}

void *td_xalloc(size_t size)
{
    return check(malloc(size ? size : 1));
}

void *td_xcalloc(size_t count, size_t size)
{
    return check(calloc(count ? count : 1, size ? size : 1));
}

void *td_xrealloc(void *old, size_t count, size_t size)
{
    return check(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *td_xstrdup(const char *s)
{
    return td_xstrndup(s, strlen(s));
}

char *td_xstrndup(const char *s, size_t len)
{
    char *copy = td_xalloc(len + 1);

    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *td_xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return check(text);
}

FILE *td_xmemstream(char **text, size_t *size)
{
    return check(open_memstream(text, size));
}

void *td_try_alloc(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

void *td_grow(void *array, size_t *cap, size_t need, size_t size)
{
    size_t room = *cap;

    if (array && need <= room)
        return array;
    if (room < 8)
        room = 8;
    while (room < need)
        room *= 2;
    *cap = room;
    return td_xrealloc(array, room, size);
}

void *td_grow_zeroed(void *array, size_t *cap, size_t need, size_t size)
{
    const size_t before = *cap;
    unsigned char *grown = td_grow(array, cap, need, size);

    memset(grown + before * size, 0, (*cap - before) * size);
    return grown;
}
