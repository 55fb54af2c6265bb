/* SPDX-License-Identifier: MIT */
/*
 * Command-line options as tables: one table gives the parse and the help. Options stop at the
 * first word that is not one ("--" is taken away), unless the table asks for mixing.
 */
#ifndef TD_BASE_OPT_H
#define TD_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum td_opt_kind {
    TD_OPT_HEADING, /* only `help`: a line of its own in the help text */
    TD_OPT_FLAG,    /* bool: true when given; "--no-NAME" gives false */
    TD_OPT_STRING,  /* const char *: borrowed from argv */
    TD_OPT_LIST,    /* struct td_opt_list: may be given several times */
    TD_OPT_U64,     /* uint64_t, decimal or 0x */
    TD_OPT_DOUBLE,  /* double */
    TD_OPT_OPTIONAL /* const char *: "--name" gives "", "--name=V" gives V */
};

struct td_opt_list {
    const char **items; /* borrowed from argv; the array is freed by td_opt_list_release */
    size_t len, cap;
};

struct td_opt {
    enum td_opt_kind kind;
    char letter;          /* 0: none */
    const char *name;     /* NULL: none */
    const char *argument; /* how the help names it, "HZ"; NULL for flags */
    const char *help;     /* one line */
    void *value;          /* where the value goes, of the type that the kind says */
};

#define TD_OPT_END                                                                         \
    {                                                                                      \
        .kind = TD_OPT_HEADING, .letter = 0, .name = NULL, .argument = NULL, .help = NULL, \
        .value = NULL                                                                      \
    }

/* Parses argv[1..argc). Returns the index of the first word that is not an option (argc when
 * there is none) or TD_EUSAGE with a sentence that names the word and, where one is near, what was
 * probably meant. With `mixed`, words between options are moved to the end, as GNU tools do. */
int td_opt_parse(const struct td_opt *table, int argc, char **argv, bool mixed, struct td_err *err);
/* As td_opt_parse, and says in given[i] whether the table's row i was given. */
int td_opt_parse_given(const struct td_opt *table, bool *given, int argc, char **argv, bool mixed,
                       struct td_err *err);
/* The table as help text, two columns, at most 80 wide. */
void td_opt_print(const struct td_opt *table, FILE *out);
void td_opt_list_release(struct td_opt_list *list);

/* The entry of `names` (NULL-terminated) nearest to `word`, or NULL when none is near. For
 * "did you mean" in any list of names. */
const char *td_nearest(const char *word, const char *const *names);

#endif
