/* SPDX-License-Identifier: MIT */
#include "base/cpulist.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/search.h"

void td_cpulist_release(struct td_cpulist *list)
{
    free(list->cpus);
    *list = (struct td_cpulist){0};
}

/* The index of the first CPU that is not below `cpu`. */
static size_t lower_bound(const struct td_cpulist *list, unsigned cpu)
{
    size_t low = 0;

    TD_SEARCH(low, list->len, i, list->cpus[i] < cpu)
    return low;
}

void td_cpulist_add(struct td_cpulist *list, unsigned cpu)
{
    const size_t at = lower_bound(list, cpu);

    if (at < list->len && list->cpus[at] == cpu)
        return;
    list->cpus = td_grow(list->cpus, &list->cap, list->len + 1, sizeof(*list->cpus));
    memmove(list->cpus + at + 1, list->cpus + at, (list->len - at) * sizeof(*list->cpus));
    list->cpus[at] = cpu;
    list->len++;
}

bool td_cpulist_has(const struct td_cpulist *list, unsigned cpu)
{
    const size_t at = lower_bound(list, cpu);

    return at < list->len && list->cpus[at] == cpu;
}

/* A decimal number at *p, which moves behind it. */
static bool parse_number(const char **p, unsigned *ret)
{
    unsigned value = 0;
    const char *s = *p;

    for (; *s >= '0' && *s <= '9'; s++) {
        value = value * 10 + (unsigned)(*s - '0');
        if (value > TD_CPU_MAX)
            return false;
    }
    if (s == *p)
        return false;
    *p = s;
    *ret = value;
    return true;
}

static bool parse_range(struct td_cpulist *list, const char **p)
{
    unsigned first = 0, last = 0;

    if (!parse_number(p, &first))
        return false;
    last = first;
    if (**p == '-') {
        (*p)++;
        if (!parse_number(p, &last) || last < first)
            return false;
    }
    for (unsigned cpu = first; cpu <= last; cpu++)
        td_cpulist_add(list, cpu);
    return true;
}

int td_cpulist_parse(struct td_cpulist *ret, const char *text, struct td_err *err)
{
    struct td_cpulist list = {0};
    const char *p = text;
    bool ok = true;

    while (ok && *p && !strchr(" \t\n", *p)) {
        ok = parse_range(&list, &p);
        if (ok && *p == ',')
            ok = *++p >= '0' && *p <= '9';
        else if (ok)
            ok = *p == '\0' || strchr(" \t\n", *p) != NULL;
    }
    if (!ok || p[strspn(p, " \t\n")] != '\0') {
        td_cpulist_release(&list);
        return td_fail(err, TD_EFORMAT, "'%.100s' is not a list of CPUs such as 0,3-7", text);
    }
    *ret = list;
    return TD_OK;
}

void td_cpulist_copy(struct td_cpulist *ret, const struct td_cpulist *list)
{
    td_cpulist_intersect(ret, list, list);
}

void td_cpulist_intersect(struct td_cpulist *ret, const struct td_cpulist *a,
                          const struct td_cpulist *b)
{
    struct td_cpulist both = {0};

    for (size_t i = 0; i < a->len; i++) {
        if (td_cpulist_has(b, a->cpus[i]))
            td_cpulist_add(&both, a->cpus[i]);
    }
    *ret = both;
}

char *td_cpulist_text(const struct td_cpulist *list)
{
    struct td_buf buf = {0};
    char word[32];

    for (size_t i = 0; i < list->len;) {
        size_t last = i;

        while (last + 1 < list->len && list->cpus[last + 1] == list->cpus[last] + 1)
            last++;
        int len = snprintf(word, sizeof(word), "%s%u", i ? "," : "", list->cpus[i]);
        td_buf_bytes(&buf, word, (size_t)len);
        if (last > i) {
            len = snprintf(word, sizeof(word), "-%u", list->cpus[last]);
            td_buf_bytes(&buf, word, (size_t)len);
        }
        i = last + 1;
    }
    td_buf_u8(&buf, 0);
    return (char *)buf.data;
}
