/* SPDX-License-Identifier: MIT */
#include "report/query/figures/names.h"

#include <fnmatch.h>
#include <string.h>

#define OPERATOR "operator"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* The length of the symbol after "operator" ("<<=", "()", "->*"), or 0 when it is not one. */
static size_t operator_symbol(const char *s)
{
    static const char *const symbols[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">", NULL};

    for (size_t i = 0; symbols[i]; i++) {
        if (strncmp(s, symbols[i], strlen(symbols[i])) == 0)
            return strlen(symbols[i]);
    }
    return 0;
}

/* Just behind the bracket that closes the one at `s`, or the end of the text. */
static const char *skip_brackets(const char *s)
{
    int depth = 0;

    for (; *s; s++) {
        if (strchr("<([{", *s))
            depth++;
        else if (strchr(")]}", *s) || (*s == '>' && s[-1] != '-'))
            depth--;
        if (depth == 0)
            return s + 1;
    }
    return s;
}

/* What stays although it stands in brackets: "(anonymous namespace)", "{lambda()#1}", and the type
 * that a Rust path begins with, "<T as Trait>::f". */
static bool keeps_brackets(const char *s, size_t used, char before)
{
    return strncmp(s, "(anon", 5) == 0 || *s == '{' ||
           (*s == '<' && (used == 0 || before == ' ')) || (*s == '[' && used == 0);
}

/* The name ends before these. */
static bool is_tail(const char *s)
{
    static const char *const tails[] = {
        " const", " volatile", " [clone", " (.", ".constprop.", ".isra.", ".part.",
        ".cold",  ".lto_priv", " &",      "@@",  " noexcept",   NULL};

    for (size_t i = 0; tails[i]; i++) {
        if (strncmp(s, tails[i], strlen(tails[i])) == 0)
            return true;
    }
    return false;
}

struct bare {
    char *dst;
    size_t size, used;
    size_t start; /* of the last word, where a return type ends */
    bool in_operator;
};

static void append(struct bare *bare, const char *s, size_t len)
{
    for (; len > 0 && bare->used + 1 < bare->size; len--)
        bare->dst[bare->used++] = *s++;
}

/* "operator" and what belongs to it, when that is what stands at `s`; returns how much. */
static size_t take_operator(struct bare *bare, const char *s)
{
    const size_t len = strlen(OPERATOR);

    if (strncmp(s, OPERATOR, len) != 0 || is_word(s[len]) ||
        (bare->used > 0 && is_word(bare->dst[bare->used - 1])))
        return 0;
    const size_t symbol = operator_symbol(s + len);
    append(bare, s, len + symbol);
    bare->in_operator = true;
    return len + symbol;
}

size_t td_name_bare(char *dst, size_t size, const char *name)
{
    struct bare bare = {.dst = dst, .size = size};

    for (const char *s = name; *s;) {
        const size_t taken = take_operator(&bare, s);

        s += taken;
        if (taken > 0)
            continue;
        if (bare.used > bare.start && is_tail(s))
            break;
        if (strchr("<([{", *s)) {
            const char *end = skip_brackets(s);
            const char before = bare.used ? dst[bare.used - 1] : '\0';

            if (keeps_brackets(s, bare.used, before))
                append(&bare, s, (size_t)(end - s));
            s = end;
            continue;
        }
        append(&bare, s, 1);
        if (*s == ' ' && !bare.in_operator)
            bare.start = bare.used;
        s++;
    }
    while (bare.start < bare.used && strchr("*& ", dst[bare.start]))
        bare.start++;
    if (bare.start == bare.used)
        bare.start = 0;
    memmove(dst, dst + bare.start, bare.used - bare.start);
    dst[bare.used - bare.start] = '\0';
    return bare.used - bare.start;
}

static bool has_wildcard(const char *pattern)
{
    return strpbrk(pattern, "*?[") != NULL;
}

bool td_pattern_matches(const char *pattern, const char *text)
{
    return strcmp(pattern, text) == 0 || (has_wildcard(pattern) && fnmatch(pattern, text, 0) == 0);
}

/* `text` ends with `tail`, and what stands before it ends with `separator`. */
static bool ends_with(const char *text, const char *tail, const char *separator)
{
    const size_t len = strlen(text), tail_len = strlen(tail), sep_len = strlen(separator);

    return tail_len > 0 && len >= tail_len + sep_len && strcmp(text + len - tail_len, tail) == 0 &&
           strncmp(text + len - tail_len - sep_len, separator, sep_len) == 0;
}

bool td_pattern_names(const char *pattern, const char *name)
{
    char bare[1024];

    if (td_pattern_matches(pattern, name))
        return true;
    td_name_bare(bare, sizeof(bare), name);
    return td_pattern_matches(pattern, bare) || ends_with(bare, pattern, "::");
}

bool td_pattern_is_path(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');

    return td_pattern_matches(pattern, path) || (slash && td_pattern_matches(pattern, slash + 1)) ||
           ends_with(path, pattern, "/");
}
