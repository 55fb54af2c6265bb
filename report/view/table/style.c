/* SPDX-License-Identifier: MIT */
#include "report/view/table/style.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/query/figures/names.h"

#define NAME_BYTES 4096

const char *td_style_ellipsis(const struct td_style *style)
{
    return style->utf8 ? "\xe2\x80\xa6" : "..";
}

void td_style_more(const struct td_style *style, size_t count, const char *word)
{
    if (count == 0)
        return;
    td_style_begin(style, TD_TONE_DIM);
    fprintf(style->out, "%s %zu more %s%s (-n 0 shows all)\n", td_style_ellipsis(style), count,
            word, count == 1 ? "" : "s");
    td_style_end(style, TD_TONE_DIM);
}

const char *td_style_plus_minus(const struct td_style *style)
{
    return style->utf8 ? "\xc2\xb1" : "+-";
}

const char *td_style_bar(const struct td_style *style)
{
    return style->utf8 ? "\xe2\x94\x82" : "|";
}

static const char *tone_code(enum td_tone tone)
{
    switch (tone) {
    case TD_TONE_PLAIN: break;
    case TD_TONE_HEADING: return "\033[1m";
    case TD_TONE_DIM: return "\033[2m";
    case TD_TONE_WARM: return "\033[33m";
    case TD_TONE_HOT: return "\033[1;31m";
    case TD_TONE_NOTE: return "\033[36m";
    }
    return "";
}

void td_style_begin(const struct td_style *style, enum td_tone tone)
{
    if (style->colour)
        fputs(tone_code(tone), style->out);
}

void td_style_end(const struct td_style *style, enum td_tone tone)
{
    if (style->colour && tone != TD_TONE_PLAIN)
        fputs("\033[0m", style->out);
}

enum td_tone td_style_heat(double share)
{
    if (share >= 0.10)
        return TD_TONE_HOT;
    return share >= 0.02 ? TD_TONE_WARM : TD_TONE_PLAIN;
}

void td_style_safe(const struct td_style *style, const char *text, unsigned width)
{
    char buf[NAME_BYTES];

    td_fit_text(style, buf, sizeof(buf), text, width);
    fputs(buf, style->out);
}

void td_style_wrap(const struct td_style *style, const char *text, unsigned at, unsigned indent)
{
    char buf[NAME_BYTES];
    char *rest = buf;
    bool first = true; /* of its line */

    td_text_safe(buf, sizeof(buf), text, strlen(text));
    if (at < indent)
        fprintf(style->out, "%*s", (int)(indent - at), "");
    at = at < indent ? indent : at;
    for (char *word = rest; *word; word = rest) {
        const size_t len = strcspn(word, " ");
        const bool last = word[len] == '\0';

        rest = word + len + (last ? 0 : 1);
        word[len] = '\0';
        const unsigned width = (unsigned)td_text_width(word);
        if (!first && at + 1 + width > style->width) {
            fprintf(style->out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        fprintf(style->out, "%s%s", first ? "" : " ", word);
        at += width + (first ? 0 : 1);
        first = false;
    }
    fputc('\n', style->out);
}

void td_style_label(const struct td_style *style, const char *label, enum td_tone tone)
{
    td_style_begin(style, tone);
    fprintf(style->out, "%-*s", TD_LABEL_WIDTH, label);
    td_style_end(style, tone);
}

void td_style_paragraph(const struct td_style *style, const char *label, enum td_tone tone,
                        const char *text)
{
    td_style_label(style, label, tone);
    td_style_wrap(style, text, TD_LABEL_WIDTH, TD_LABEL_WIDTH);
}

/* The bytes of the longest beginning of `s` that takes at most `width` columns. */
static size_t prefix_bytes(const char *s, unsigned width)
{
    const size_t len = strlen(s);
    size_t used = 0;
    char one[8];

    while (used < len) {
        unsigned n = td_text_utf8_len(s + used, len - used);

        n = n ? n : 1;
        memcpy(one, s + used, n);
        one[n] = '\0';
        const unsigned columns = (unsigned)td_text_width(one);
        if (columns > width)
            break;
        width -= columns;
        used += n;
    }
    return used;
}

/* Where the shortest end of `s` begins that leaves out at least `width` columns. */
static size_t suffix_start(const char *s, unsigned leave_out)
{
    size_t start = prefix_bytes(s, leave_out);

    if (td_text_width(s) > leave_out && leave_out > 0 && s[start] != '\0') {
        char head[NAME_BYTES];

        memcpy(head, s, start);
        head[start] = '\0';
        if (td_text_width(head) < leave_out) /* a wide character would be cut: leave it out too */
            start += prefix_bytes(s + start, 2);
    }
    return start;
}

static void join(char *dst, size_t size, const char *a, size_t a_len, const char *middle,
                 const char *b)
{
    snprintf(dst, size, "%.*s%s%s", (int)a_len, a, middle, b);
}

/* An escaped string into `width` columns, its middle left out; the end, which tells functions of a
 * family apart, gets the larger part. */
static void cut_middle(const struct td_style *style, char *dst, size_t size, const char *safe,
                       unsigned width)
{
    const char *dots = td_style_ellipsis(style);
    const unsigned dots_width = style->utf8 ? 1 : 2;
    const unsigned full = (unsigned)td_text_width(safe);

    if (width <= dots_width + 2) {
        join(dst, size, safe, prefix_bytes(safe, width), "", "");
        return;
    }
    const unsigned tail = (width - dots_width) * 3 / 5;
    const unsigned head = width - dots_width - tail;
    join(dst, size, safe, prefix_bytes(safe, head), dots, safe + suffix_start(safe, full - tail));
}

/* Where the bracket that closes the one at `s` stands, or NULL. */
static const char *closing(const char *s)
{
    int depth = 0;

    for (const char *p = s; *p; p++) {
        if (strchr("<([{", *p))
            depth++;
        else if (strchr(")]}", *p) || (*p == '>' && p > s && p[-1] != '-'))
            depth--;
        if (depth == 0)
            return p;
    }
    return NULL;
}

static bool after_operator(const char *text, const char *s)
{
    return s >= text + 8 && memcmp(s - 8, "operator", 8) == 0;
}

/* Replaces the inside of every outermost pair of `open` brackets; "(anonymous namespace)", "()"
 * and operators stay. */
static void hollow(const struct td_style *style, char *dst, size_t size, const char *src, char open)
{
    size_t used = 0;

    for (const char *s = src; *s && used + 8 < size; s++) {
        const char *end = *s == open && !after_operator(src, s) && s > src ? closing(s) : NULL;

        dst[used++] = *s;
        if (!end || end - s <= 3 || strncmp(s, "(anon", 5) == 0)
            continue;
        for (const char *d = td_style_ellipsis(style); *d; d++)
            dst[used++] = *d;
        s = end - 1;
    }
    dst[used] = '\0';
}

/* "(anonymous namespace)" is long for what it says. */
static void shorten_anonymous(const struct td_style *style, char *dst, size_t size, const char *src)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t used = 0;

    while (*src && used + 16 < size) {
        if (strncmp(src, anonymous, sizeof(anonymous) - 1) == 0) {
            used += (size_t)snprintf(dst + used, 16, "(anon%s)", td_style_ellipsis(style));
            src += sizeof(anonymous) - 1;
            continue;
        }
        dst[used++] = *src++;
    }
    dst[used] = '\0';
}

/* A hollowed name without the return type that template functions carry, and without parameters
 * that are only dots: both say nothing. */
static void trim_name(const struct td_style *style, char *name, unsigned width)
{
    const size_t len = strlen(name), dots = strlen(td_style_ellipsis(style)) + 2;

    const char *blank = NULL;
    for (const char *s = name; *s && *s != '('; s++) {
        /* "<T as Trait>::f" has no return type. */
        const char *end = *s == '<' && !after_operator(name, s) ? closing(s) : NULL;

        s = end ? end : s;
        if (*s == ' ' && !after_operator(name, s))
            blank = s;
    }
    if (blank && blank[1] && blank[1] != '(')
        memmove(name, blank + 1, strlen(blank + 1) + 1);
    const size_t left = strlen(name);
    if (td_text_width(name) > width && left > dots && len >= left && name[left - 1] == ')' &&
        name[left - dots] == '(')
        name[left - dots] = '\0';
}

/* The longest run of last parts ("…Class::method") that fits; false when not even one does. */
static bool last_parts(const struct td_style *style, char *dst, size_t size, const char *name,
                       unsigned width)
{
    const unsigned dots = style->utf8 ? 1 : 2;

    for (const char *s = strstr(name, "::"); s; s = strstr(s + 2, "::")) {
        if (s[2] && td_text_width(s + 2) + dots <= width) {
            join(dst, size, "", 0, td_style_ellipsis(style), s + 2);
            return true;
        }
    }
    return false;
}

void td_fit_name(const struct td_style *style, char *dst, size_t size, const char *text,
                 unsigned width)
{
    const char *dots = td_style_ellipsis(style);
    char full[NAME_BYTES], a[NAME_BYTES], b[NAME_BYTES];

    td_text_safe(full, sizeof(full), text, strlen(text));
    if (width == 0 || td_text_width(full) <= width) {
        snprintf(dst, size, "%s", full);
        return;
    }
    shorten_anonymous(style, b, sizeof(b), full);
    hollow(style, a, sizeof(a), b, '(');
    if (td_text_width(a) > width) {
        hollow(style, b, sizeof(b), a, '<');
        memcpy(a, b, sizeof(a));
    }
    if (td_text_width(a) > width)
        trim_name(style, a, width);
    if (td_text_width(a) > width) {
        td_name_bare(b, sizeof(b), a);
        memcpy(a, b, sizeof(a));
    }
    /* A name without its parameters could be taken for a whole one. */
    join(b, sizeof(b), a, strlen(a), strstr(a, dots) || strcmp(a, full) == 0 ? "" : dots, "");
    if (td_text_width(b) <= width)
        snprintf(dst, size, "%s", b);
    else if (!last_parts(style, dst, size, a, width))
        cut_middle(style, dst, size, a, width);
}

/* "/a/./b/../c" is "/a/c" to people. Where a link stands in between, the shorter path may not
 * exist; it is only shown. */
static void collapse_parents(char *path)
{
    for (char *dot = strstr(path, "/./"); dot; dot = strstr(dot, "/./"))
        memmove(dot, dot + 2, strlen(dot + 2) + 1);
    for (char *up = strstr(path, "/../"); up; up = strstr(up, "/../")) {
        char *from = up;

        while (from > path && from[-1] != '/')
            from--;
        if (from == up || from == path || strncmp(from, "../", 3) == 0) {
            up++; /* nothing before it to take away */
            continue;
        }
        memmove(from, up + 4, strlen(up + 4) + 1);
        up = path;
    }
}

void td_fit_path(const struct td_style *style, char *dst, size_t size, const char *text,
                 unsigned width)
{
    char safe[NAME_BYTES];
    const unsigned dots_width = style->utf8 ? 1 : 2;

    td_text_safe(safe, sizeof(safe), text, strlen(text));
    collapse_parents(safe);
    const unsigned full = (unsigned)td_text_width(safe);
    if (width == 0 || full <= width) {
        snprintf(dst, size, "%s", safe);
        return;
    }
    for (const char *slash = strchr(safe + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (td_text_width(slash) + dots_width <= width) {
            join(dst, size, "", 0, td_style_ellipsis(style), slash);
            return;
        }
    }
    if (width > dots_width)
        join(dst, size, "", 0, td_style_ellipsis(style),
             safe + suffix_start(safe, full - width + dots_width));
    else
        join(dst, size, safe, prefix_bytes(safe, width), "", "");
}

void td_fit_text(const struct td_style *style, char *dst, size_t size, const char *text,
                 unsigned width)
{
    char safe[NAME_BYTES];
    const unsigned dots_width = style->utf8 ? 1 : 2;

    td_text_safe(safe, sizeof(safe), text, strlen(text));
    if (width == 0 || td_text_width(safe) <= width)
        snprintf(dst, size, "%s", safe);
    else if (width > dots_width)
        join(dst, size, safe, prefix_bytes(safe, width - dots_width), td_style_ellipsis(style), "");
    else
        join(dst, size, safe, prefix_bytes(safe, width), "", "");
}
