/* SPDX-License-Identifier: MIT */
#include "symbolize/maps/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"

/* Longer lines are not believed: KSYM_NAME_LEN is 512 (linux/kallsyms.h). */
#define LINE_MAX_BYTES 1024
#define PIECE_BYTES    65536

struct symbol {
    uint64_t start;
    uint32_t name;   /* offset in names */
    uint32_t module; /* id in modules; 0: the kernel proper */
};

struct td_kallsyms {
    struct symbol *items;
    size_t len, cap;
    struct td_buf names; /* terminated, one after the other */
    struct td_intern *modules;
    uint64_t text_start, text_end;
    size_t zero_count; /* addresses hidden by the kernel */
    char line[LINE_MAX_BYTES];
    size_t line_len;
};

struct td_kallsyms *td_kallsyms_new(void)
{
    struct td_kallsyms *symbols = td_xcalloc(1, sizeof(*symbols));

    symbols->modules = td_intern_new();
    return symbols;
}

void td_kallsyms_free(struct td_kallsyms *symbols)
{
    if (!symbols)
        return;
    free(symbols->items);
    td_buf_release(&symbols->names);
    td_intern_free(symbols->modules);
    free(symbols);
}

/* The leading hexadecimal number; returns how many digits it has. */
static size_t parse_hex(const char *s, size_t len, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < len && i < 16; i++) {
        const char c = s[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    *ret = value;
    return i;
}

static bool is_name(const char *name, size_t len, const char *wanted)
{
    return len == strlen(wanted) && memcmp(name, wanted, len) == 0;
}

static void add_symbol(struct td_kallsyms *symbols, uint64_t start, const char *name,
                       size_t name_len, const char *module, size_t module_len)
{
    if (is_name(name, name_len, "_text") ||
        (is_name(name, name_len, "_stext") && !symbols->text_start))
        symbols->text_start = start;
    if (is_name(name, name_len, "_etext"))
        symbols->text_end = start;
    symbols->items =
        td_grow(symbols->items, &symbols->cap, symbols->len + 1, sizeof(*symbols->items));
    symbols->items[symbols->len++] = (struct symbol){
        .start = start,
        .name = (uint32_t)symbols->names.len,
        .module = module_len ? td_intern_put(symbols->modules, module, module_len) : 0,
    };
    td_buf_bytes(&symbols->names, name, name_len);
    td_buf_u8(&symbols->names, 0);
}

/* "address type name[\t[module]]" */
static void take_line(struct td_kallsyms *symbols, const char *line, size_t len)
{
    uint64_t start = 0;
    const size_t digits = parse_hex(line, len, &start);

    if (digits == 0 || len < digits + 4 || line[digits] != ' ' || line[digits + 2] != ' ')
        return;
    if (!strchr("tTwW", line[digits + 1]))
        return;
    if (start == 0) {
        symbols->zero_count++;
        return;
    }
    const char *name = line + digits + 3;
    const size_t left = len - digits - 3;
    const char *tab = memchr(name, '\t', left);
    const size_t name_len = tab ? (size_t)(tab - name) : left;
    const char *module = tab && left - name_len > 3 && tab[1] == '[' ? tab + 2 : "";
    const size_t module_len = module[0] ? left - name_len - 3 : 0;

    add_symbol(symbols, start, name, name_len, module, module_len);
}

void td_kallsyms_feed(struct td_kallsyms *symbols, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        const char *newline = memchr(p, '\n', size);
        const size_t len = newline ? (size_t)(newline - p) : size;

        if (newline && symbols->line_len == 0) {
            take_line(symbols, p, len);
        } else {
            const size_t room = sizeof(symbols->line) - symbols->line_len;

            memcpy(symbols->line + symbols->line_len, p, len < room ? len : room);
            symbols->line_len += len < room ? len : room;
            if (newline) {
                take_line(symbols, symbols->line, symbols->line_len);
                symbols->line_len = 0;
            }
        }
        p += len + (newline != NULL);
        size -= len + (newline != NULL);
    }
}

static int compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    /* Of aliases at one address the first in the kernel's own order stays first. */
    return x->name < y->name ? -1 : x->name > y->name;
}

int td_kallsyms_end(struct td_kallsyms *symbols, struct td_err *err)
{
    if (symbols->line_len)
        take_line(symbols, symbols->line, symbols->line_len);
    symbols->line_len = 0;
    if (symbols->len == 0 && symbols->zero_count)
        return td_fail(err, TD_EPERM,
                       "the kernel hides its addresses from this user (kernel.kptr_restrict)");
    if (symbols->len == 0)
        return td_fail(err, TD_ENODATA, "no kernel functions in kallsyms");
    qsort(symbols->items, symbols->len, sizeof(*symbols->items), compare);
    return TD_OK;
}

int td_kallsyms_read(struct td_kallsyms *symbols, const char *path, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *piece = NULL;
    ssize_t n = 0;

    if (fd < 0)
        return td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open '%s'",
                             path);
    piece = td_xalloc(PIECE_BYTES);
    while ((n = read(fd, piece, PIECE_BYTES)) > 0)
        td_kallsyms_feed(symbols, piece, (size_t)n);
    free(piece);
    close(fd);
    return td_kallsyms_end(symbols, err);
}

uint64_t td_kallsyms_text_start(const struct td_kallsyms *symbols)
{
    return symbols->text_start;
}

static bool is_marker(const char *name)
{
    return strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0;
}

/* Of the aliases at one address, of which `last` is the last: the kernel's first, but a function's
 * name rather than that of the section it starts. */
static const struct symbol *best_alias(const struct td_kallsyms *symbols, const struct symbol *last)
{
    const char *names = (const char *)symbols->names.data;
    const struct symbol *first = last;

    while (first > symbols->items && first[-1].start == last->start)
        first--;
    for (const struct symbol *symbol = first; symbol <= last; symbol++) {
        if (!is_marker(names + symbol->name))
            return symbol;
    }
    return first;
}

int td_kallsyms_find(const struct td_kallsyms *symbols, uint64_t address,
                     struct td_kernel_symbol *ret)
{
    size_t low = 0;

    /* the first symbol behind the address */
    TD_SEARCH(low, symbols->len, i, symbols->items[i].start <= address)
    if (low == 0)
        return TD_ENODATA;
    const struct symbol *found = best_alias(symbols, &symbols->items[low - 1]);
    ret->start = found->start;
    ret->end = low < symbols->len ? symbols->items[low].start : found->start + 1;
    if (found->module == 0 && symbols->text_end > found->start && symbols->text_end < ret->end)
        ret->end = symbols->text_end;
    ret->name = (const char *)symbols->names.data + found->name;
    ret->module = td_intern_get(symbols->modules, found->module);
    return TD_OK;
}
