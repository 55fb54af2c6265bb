/* SPDX-License-Identifier: MIT */
#include "base/procfs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#define TEXT_LIMIT ((size_t)64 << 20)

char *td_procfs_text(const char *root, const char *path)
{
    struct td_buf buf = {0};
    char *full = td_xasprintf("%s%s", root ? root : "", path);
    const int rc = td_file_read(full, TEXT_LIMIT, &buf, NULL);

    free(full);
    if (rc < 0) {
        td_buf_release(&buf);
        return NULL;
    }
    td_buf_u8(&buf, 0);
    return (char *)buf.data;
}

char *td_procfs_line(const char *root, const char *path)
{
    char *text = td_procfs_text(root, path);

    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

bool td_procfs_number(const char *root, const char *path, int64_t *ret)
{
    char *line = td_procfs_line(root, path);
    bool ok = false;
    uint64_t value = 0;

    if (line) {
        const bool negative = line[0] == '-';

        line[strcspn(line, " \t")] = '\0';
        ok = td_parse_u64(line + negative, &value) && value <= INT64_MAX;
        if (ok)
            *ret = negative ? -(int64_t)value : (int64_t)value;
    }
    free(line);
    return ok;
}

char *td_procfs_field(const char *text, const char *key)
{
    const size_t key_len = strlen(key);

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        const char *p = text + key_len;

        if (strncmp(text, key, key_len) != 0)
            continue;
        p += strspn(p, " \t");
        if (*p != ':')
            continue;
        p++;
        p += strspn(p, " \t");
        return td_xstrndup(p, strcspn(p, "\n"));
    }
    return NULL;
}

static char *x86_id(const char *cpuinfo)
{
    char *vendor = td_procfs_field(cpuinfo, "vendor_id");
    char *family = td_procfs_field(cpuinfo, "cpu family");
    char *model = td_procfs_field(cpuinfo, "model");
    char *stepping = td_procfs_field(cpuinfo, "stepping");
    char *id = NULL;

    if (vendor && family && model)
        id = td_xasprintf("%s-%s-%s-%s", vendor, family, model, stepping ? stepping : "0");
    free(vendor);
    free(family);
    free(model);
    free(stepping);
    return id;
}

char *td_procfs_cpu_id(const char *root, const char *cpuinfo)
{
    char *id = x86_id(cpuinfo);

    return id ? id
              : td_procfs_line(root, "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **td_procfs_names(const char *root, const char *path)
{
    char *full = td_xasprintf("%s%s", root ? root : "", path);
    DIR *dir = opendir(full);
    char **names = NULL;
    size_t len = 0, cap = 0;

    free(full);
    if (!dir)
        return NULL;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names = td_grow(names, &cap, len + 1, sizeof(*names));
        names[len++] = td_xstrdup(entry->d_name);
    }
    closedir(dir);
    names = td_grow(names, &cap, len + 1, sizeof(*names));
    names[len] = NULL;
    qsort(names, len, sizeof(*names), compare_names);
    return names;
}

void td_procfs_names_free(char **names)
{
    for (char **p = names; p && *p; p++)
        free(*p);
    free(names);
}

/* A number in `base` at *p, which moves behind it and behind one `after`. */
static bool take_number(const char **p, unsigned base, char after, uint64_t *ret)
{
    uint64_t value = 0;
    const char *s = *p;

    for (;; s++) {
        const char c = *s;
        unsigned digit = base;

        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    if (s == *p || *s != after)
        return false;
    *p = s + 1;
    *ret = value;
    return true;
}

/* "start-end perms offset major:minor inode   path" */
static bool parse_map_line(const char *p, struct td_map_line *ret)
{
    uint64_t major = 0, minor = 0;

    if (!take_number(&p, 16, '-', &ret->start) || !take_number(&p, 16, ' ', &ret->end))
        return false;
    if (strnlen(p, 5) < 5 || p[4] != ' ')
        return false;
    ret->readable = p[0] == 'r';
    ret->writable = p[1] == 'w';
    ret->executable = p[2] == 'x';
    ret->shared = p[3] == 's';
    p += 5;
    if (!take_number(&p, 16, ' ', &ret->offset) || !take_number(&p, 16, ':', &major) ||
        !take_number(&p, 16, ' ', &minor))
        return false;
    const size_t digits = strspn(p, "0123456789");
    ret->inode = strtoull(p, NULL, 10);
    p += digits;
    p += strspn(p, " \t");
    ret->major = (uint32_t)major;
    ret->minor = (uint32_t)minor;
    ret->path = p;
    ret->path_len = strcspn(p, "\n");
    return digits > 0;
}

bool td_map_line_next(const char **text, struct td_map_line *ret)
{
    while (**text) {
        const char *line = *text;

        *text += strcspn(*text, "\n");
        *text += **text == '\n';
        if (parse_map_line(line, ret))
            return true;
    }
    return false;
}

int td_procfs_self(void)
{
    char text[16] = "";
    uint64_t pid = 0;
    const ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

    return n > 0 && td_parse_u64(text, &pid) && pid <= INT32_MAX ? (int)pid : 0;
}

bool td_procfs_is_ours(void)
{
    return td_procfs_self() == (int)getpid();
}
