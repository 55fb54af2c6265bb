/* SPDX-License-Identifier: MIT */
#include "base/names.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/opt.h"

void td_names_add(struct td_names *names, const char *name)
{
    names->items = td_grow(names->items, &names->cap, names->count + 2, sizeof(*names->items));
    names->items[names->count++] = name;
    names->items[names->count] = NULL;
}

const char *td_names_nearest(const struct td_names *names, const char *word)
{
    return names->count ? td_nearest(word, names->items) : NULL;
}

void td_names_release(struct td_names *names)
{
    free(names->items);
    *names = (struct td_names){0};
}
