/* SPDX-License-Identifier: MIT */
#include "formats/cores/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/banned.h"

static const struct td_uarch_builtin *list_of(const char *core)
{
    const struct td_uarch_builtin *list = NULL;

    for (size_t i = 0; (list = td_vendor_names_at(i)); i++) {
        if (strcmp(list->name, core) == 0)
            return list;
    }
    return NULL;
}

bool td_vendor_events_next(const struct td_uarch_builtin *list, size_t *at,
                           struct td_vendor_event *ret)
{
    while (*at < list->size) {
        const char *line = list->text + *at;
        const size_t len = strcspn(line, "\n"), name_len = strcspn(line, " \n");
        char *end = NULL;

        *at += len + 1;
        if (*line == '#' || name_len == 0 || name_len == len)
            continue;
        *ret = (struct td_vendor_event){.name = line, .name_len = name_len};
        ret->config = strtoull(line + name_len, &end, 16);
        if (*end == ' ')
            ret->config1 = strtoull(end, NULL, 16);
        return true;
    }
    return false;
}

/* What separates the parts of a name differs from tool to tool. */
static char plain(char c)
{
    return c == ':' || c == '.' ? '_' : (char)toupper((unsigned char)c);
}

bool td_vendor_event_find(struct td_vendor_event *ret, const char *core, const char *name,
                          size_t len)
{
    const struct td_uarch_builtin *list = list_of(core);

    for (size_t at = 0; list && td_vendor_events_next(list, &at, ret);) {
        size_t same = 0;

        while (ret->name_len == len && same < len && plain(ret->name[same]) == plain(name[same]))
            same++;
        if (same == len)
            return true;
    }
    return false;
}

char *td_vendor_event_near(const char *core, const char *word)
{
    const struct td_uarch_builtin *list = list_of(core);
    char *upper = td_xstrdup(word), *ret = NULL;
    struct td_vendor_event event;
    struct td_names names = {0};

    for (char *p = upper; *p; p++)
        *p = *p == ':' ? '.' : (char)toupper((unsigned char)*p);
    for (size_t at = 0; list && td_vendor_events_next(list, &at, &event);)
        td_names_add(&names, td_xstrndup(event.name, event.name_len));
    const char *near = td_names_nearest(&names, upper);
    if (near)
        ret = td_xstrdup(near);
    for (size_t i = 0; i < names.count; i++)
        free((void *)(uintptr_t)names.items[i]);
    td_names_release(&names);
    free(upper);
    return ret;
}
