/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define HELP_COLUMN 26
#define HELP_WIDTH  80
#define WORD_MAX    32
#define PREFIX_MIN  4

static bool is_end(const struct td_opt *opt)
{
    return opt->kind == TD_OPT_HEADING && !opt->help;
}

/* Levenshtein's distance of two words, each cut to WORD_MAX. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[WORD_MAX + 1];
    const size_t alen = strnlen(a, WORD_MAX), blen = strnlen(b, WORD_MAX);

    for (unsigned j = 0; j <= blen; j++)
        row[j] = j;
    for (unsigned i = 1; i <= alen; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= blen; j++) {
            const unsigned above = row[j];
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[blen];
}

/* The name that begins as the word does, for "frequency" where the name is "freq". */
static const char *longest_prefix(const char *word, const char *const *names)
{
    const char *best = NULL;
    size_t best_len = PREFIX_MIN - 1;

    for (; *names; names++) {
        size_t len = 0;

        while (word[len] && word[len] == (*names)[len])
            len++;
        if (len > best_len) {
            best = *names;
            best_len = len;
        }
    }
    return best;
}

/* The one name whose last word it is, for "core" where the name is "sim-core"; NULL when there are
 * none or several. */
static const char *last_word(const char *word, const char *const *names)
{
    const char *found = NULL;

    for (; *names; names++) {
        const char *dash = strrchr(*names, '-');

        if (!dash || strcmp(dash + 1, word) != 0)
            continue;
        if (found)
            return NULL;
        found = *names;
    }
    return found;
}

const char *td_nearest(const char *word, const char *const *names)
{
    const char *const *all = names;
    const char *best = last_word(word, names);
    const unsigned len = (unsigned)strnlen(word, WORD_MAX);
    /* Of a short word, half is soon another word. */
    unsigned best_distance = len / (len < 9 ? 4 : 3) + 1;

    if (best)
        return best;
    for (; *names; names++) {
        const unsigned d = distance(word, *names);

        if (d <= best_distance && (!best || d < best_distance)) {
            best = *names;
            best_distance = d;
        }
    }
    return best ? best : longest_prefix(word, all);
}

static const char *nearest_option(const struct td_opt *table, const char *word)
{
    const char *names[128];
    size_t len = 0;

    for (; !is_end(table) && len + 1 < TD_ARRAY_SIZE(names); table++) {
        if (table->name)
            names[len++] = table->name;
    }
    names[len] = NULL;
    return td_nearest(word, names);
}

static const struct td_opt *find_letter(const struct td_opt *table, char letter)
{
    for (; !is_end(table); table++) {
        if (letter && table->letter == letter)
            return table;
    }
    return NULL;
}

static const struct td_opt *find_name(const struct td_opt *table, const char *name, size_t len)
{
    for (; !is_end(table); table++) {
        if (table->name && strncmp(table->name, name, len) == 0 && table->name[len] == '\0')
            return table;
    }
    return NULL;
}

static int bad_value(const struct td_opt *opt, const char *value, const char *wanted,
                     struct td_err *err)
{
    if (opt->name)
        return td_fail(err, TD_EUSAGE, "--%s: '%s' is not %s", opt->name, value, wanted);
    return td_fail(err, TD_EUSAGE, "-%c: '%s' is not %s", opt->letter, value, wanted);
}

/* The words' table, and which of its rows were given; NULL: nobody asks. */
struct parse {
    const struct td_opt *table;
    bool *given;
};

static void note(const struct parse *parse, const struct td_opt *opt, bool given)
{
    if (parse->given)
        parse->given[opt - parse->table] = given;
}

static void set_flag(const struct parse *parse, const struct td_opt *opt, bool value)
{
    *(bool *)opt->value = value;
    note(parse, opt, value);
}

static int store(const struct parse *parse, const struct td_opt *opt, const char *value,
                 struct td_err *err)
{
    struct td_opt_list *list = NULL;

    note(parse, opt, true);
    switch (opt->kind) {
    case TD_OPT_STRING:
    case TD_OPT_OPTIONAL: *(const char **)opt->value = value; break;
    case TD_OPT_LIST:
        list = opt->value;
        list->items = td_grow(list->items, &list->cap, list->len + 1, sizeof(*list->items));
        list->items[list->len++] = value;
        break;
    case TD_OPT_U64:
        if (!td_parse_u64_base(value, strncmp(value, "0x", 2) == 0 ? 16 : 10, opt->value))
            return bad_value(opt, value, "a whole number", err);
        break;
    case TD_OPT_DOUBLE:
        if (!td_parse_double(value, opt->value))
            return bad_value(opt, value, "a number", err);
        break;
    case TD_OPT_HEADING:
    case TD_OPT_FLAG: break;
    }
    return TD_OK;
}

/* "-abVALUE": flags may be joined; the first that takes a value takes the rest or the next word.
 * Returns how many words were used. */
static int parse_letters(const struct parse *parse, char **argv, int left, struct td_err *err)
{
    for (const char *p = argv[0] + 1; *p; p++) {
        const struct td_opt *opt = find_letter(parse->table, *p);

        if (!opt)
            return td_fail(err, TD_EUSAGE, "unknown option '-%c' (try --help)", *p);
        if (opt->kind == TD_OPT_FLAG) {
            set_flag(parse, opt, true);
            continue;
        }
        if (opt->kind == TD_OPT_OPTIONAL) {
            const int rc = store(parse, opt, p + 1, err);
            return rc < 0 ? rc : 1;
        }
        if (p[1] == '\0' && left < 2)
            return td_fail(err, TD_EUSAGE, "-%c needs a value: -%c %s", *p, *p, opt->argument);
        const int rc = store(parse, opt, p[1] ? p + 1 : argv[1], err);
        return rc < 0 ? rc : (p[1] ? 1 : 2);
    }
    return 1;
}

static int parse_negation(const struct parse *parse, const char *word, struct td_err *err)
{
    const struct td_opt *opt = NULL;

    if (strncmp(word, "no-", 3) == 0)
        opt = find_name(parse->table, word + 3, strlen(word + 3));
    if (opt && opt->kind == TD_OPT_FLAG) {
        set_flag(parse, opt, false);
        return 1;
    }
    const char *near = nearest_option(parse->table, word);
    if (near)
        return td_fail(err, TD_EUSAGE, "unknown option '--%s': did you mean --%s?", word, near);
    return td_fail(err, TD_EUSAGE, "unknown option '--%s' (try --help)", word);
}

static int parse_long(const struct parse *parse, char **argv, int left, struct td_err *err)
{
    const char *word = argv[0] + 2;
    const size_t len = strcspn(word, "=");
    const struct td_opt *opt = find_name(parse->table, word, len);

    if (!opt)
        return parse_negation(parse, word, err);
    if (opt->kind == TD_OPT_FLAG) {
        if (word[len] == '=')
            return td_fail(err, TD_EUSAGE, "--%s takes no value", opt->name);
        set_flag(parse, opt, true);
        return 1;
    }
    if (word[len] == '=' || opt->kind == TD_OPT_OPTIONAL) {
        const int rc = store(parse, opt, word[len] ? word + len + 1 : "", err);
        return rc < 0 ? rc : 1;
    }
    if (left < 2)
        return td_fail(err, TD_EUSAGE, "--%s needs a value: --%s %s", opt->name, opt->name,
                       opt->argument);
    const int rc = store(parse, opt, argv[1], err);
    return rc < 0 ? rc : 2;
}

/* Moves argv[from..from+count) to argv[to...], to <= from, keeping the order of the rest. */
static void move_words(char **argv, int to, int from, int count)
{
    for (int k = 0; k < count; k++) {
        char *word = argv[from + k];

        for (int i = from + k; i > to + k; i--)
            argv[i] = argv[i - 1];
        argv[to + k] = word;
    }
}

int td_opt_parse_given(const struct td_opt *table, bool *given, int argc, char **argv, bool mixed,
                       struct td_err *err)
{
    const struct parse parse = {.table = table, .given = given};
    int done = 1; /* argv[1..done) are options already read */

    for (int i = 1; i < argc;) {
        int used = 0;

        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            if (!mixed)
                break;
            i++;
            continue;
        }
        const bool end = strcmp(argv[i], "--") == 0;
        if (end)
            used = 1;
        else if (argv[i][1] == '-')
            used = parse_long(&parse, argv + i, argc - i, err);
        else
            used = parse_letters(&parse, argv + i, argc - i, err);
        if (used < 0)
            return used;
        move_words(argv, done, i, used);
        done += used;
        i += used;
        if (end)
            break;
    }
    return done;
}

int td_opt_parse(const struct td_opt *table, int argc, char **argv, bool mixed, struct td_err *err)
{
    return td_opt_parse_given(table, NULL, argc, argv, mixed, err);
}

/* Prints `text` in the help column, broken at blanks. `at` is where the cursor stands. */
static void print_wrapped(FILE *out, const char *text, size_t at)
{
    if (at + 1 > HELP_COLUMN) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", (int)(HELP_COLUMN - at), "");
    at = HELP_COLUMN;
    while (*text) {
        const size_t len = strcspn(text, " ");

        if (at > HELP_COLUMN && at + 1 + len > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        }
        at += (size_t)fprintf(out, "%s%.*s", at > HELP_COLUMN ? " " : "", (int)len, text);
        text += len + strspn(text + len, " ");
    }
    fputc('\n', out);
}

void td_opt_print(const struct td_opt *table, FILE *out)
{
    for (; !is_end(table); table++) {
        size_t at = 0;

        if (table->kind == TD_OPT_HEADING) {
            fprintf(out, "%s\n", table->help);
            continue;
        }
        at += (size_t)(table->letter ? fprintf(out, "  -%c", table->letter) : fprintf(out, "    "));
        if (table->name)
            at += (size_t)fprintf(out, "%s--%s", table->letter ? ", " : "  ", table->name);
        if (table->kind == TD_OPT_OPTIONAL)
            at += (size_t)fprintf(out, "[=%s]", table->argument);
        else if (table->argument)
            at += (size_t)fprintf(out, " %s", table->argument);
        print_wrapped(out, table->help, at);
    }
}

void td_opt_list_release(struct td_opt_list *list)
{
    free(list->items);
    *list = (struct td_opt_list){0};
}
