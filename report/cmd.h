/* SPDX-License-Identifier: MIT */
/*
 * The commands of tdreport: one const descriptor in one file each, and one line in the table;
 * those that print a table are rows of cmd_table.c.
 */
#ifndef TD_REPORT_CMD_H
#define TD_REPORT_CMD_H

#include "report/query/figures/rows.h"
#include "report/session.h"
#include "report/source.h"
#include "report/view/table/table.h"

struct td_cmd {
    const char *name;  /* "" for the default report */
    const char *args;  /* after the name, for help */
    const char *about; /* one line for help */
    /* argv[0] is the command's name. `common` may hold options given before it. Returns the exit
     * code. */
    int (*run)(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv);
};

/* NULL-terminated; the default report first. */
extern const struct td_cmd *const td_cmds[];

/* Parses the command's options. Returns how many of argv's first words were options and the name,
 * or -1 after help was shown or a mistake was explained, with the exit code in *exit_code. */
int td_cmd_parse(const struct td_cmd *cmd, const struct td_common_opts *common,
                 const struct td_opt *table, int argc, char **argv, int *exit_code);
/* As td_cmd_parse for a command that takes no word but a file, as -i FILE; false in place of -1. */
bool td_cmd_parse_all(const struct td_cmd *cmd, struct td_common_opts *common,
                      const struct td_opt *table, int argc, char **argv, int *exit_code);

/* Of an option that takes levels of the tree, 0 when it was not given; false after the mistake was
 * explained. */
bool td_cmd_check_level(const char *option, uint64_t level);
/* --disassembler-style; false after the mistake was explained. */
bool td_cmd_check_syntax(const char *name);
/* A word that is a profile's file stands for -i FILE, where none was given: takes the first such
 * one out of argv[first..*argc). */
void td_cmd_take_profile(struct td_common_opts *common, int first, int *argc, char **argv);

#define TD_TABLE_CMD_FIELDS 4

/* A command that prints one table. */
struct td_table_cmd {
    struct td_cmd cmd; /* its name is also that of the rows: "functions" */
    enum td_row_kind kind;
    double percent_limit;                               /* of the text, when none is given */
    const struct td_field *fields[TD_TABLE_CMD_FIELDS]; /* behind cost and categories; NULL ends */
};
extern const struct td_table_cmd td_table_cmds[]; /* by enum td_row_kind */

/* `functions --children`: each function with all it calls. `category` NULL: what it costs; `max` 0:
 * all rows. */
int td_children_run(const struct td_common_opts *common, const char *category, double percent_limit,
                    uint64_t max);

/* What --category names. TD_EXIT_USAGE after having said what there is. */
int td_category_parse(enum td_metric *ret, const struct td_measure *measure, const char *word);

/* That no row is of a function called so: what it may be, or a name like it. */
void td_cmd_complain_unknown(const struct td_session *session, const struct td_rows *rows,
                             const char *pattern);

/* Whether a stack of what the options choose goes through a function of this name. Reads the
 * profile once more, and says nothing. */
bool td_calls_any(const struct td_common_opts *common, const char *pattern);

/* `tui`, and --tui of the default report. `syntax` is "att" or "intel". */
int td_tui_run(const struct td_common_opts *common, const struct td_source_dirs *dirs,
               const char *syntax);

/* The first rows of at least `percent` of `metric`, in their order; the others are dropped and
 * counted. */
struct td_cut {
    size_t dropped;
    double dropped_share; /* of the primary metric */
};
struct td_cut td_rows_cut(struct td_rows *rows, enum td_metric metric, double percent,
                          uint64_t max);

/* How many rows are shown: `given` (0: all; UINT64_MAX: -n was not given), else in JSON all, and in
 * text at most `usual` of at least `least` of the cost. */
size_t td_cmd_shown_rows(const struct td_session *session, const struct td_rows *rows,
                         uint64_t given, uint64_t usual, double least);

struct td_loops;
struct td_loop;
/* The loops of a session that was opened with `stacks` and `by_leaf`; none where it is not
 * modelled. Release them after TD_EXIT_OK; else it has said what is wrong, and returns the exit
 * code. */
int td_cmd_find_loops(const struct td_session *session, struct td_loops *ret);
/* Why there are no loops to report on, or none of a function called so; TD_EXIT_NOTHING. */
int td_cmd_complain_loops(const struct td_session *session, const struct td_loops *loops);
int td_cmd_complain_loopless(const struct td_session *session, const char *pattern);
/* Whether it is in a function called so. */
bool td_cmd_loop_is_of(const struct td_model *model, const struct td_loop *loop,
                       const char *pattern);

/* What every report that is not JSON has above its tables. */
struct td_head;
struct td_head td_session_head(const struct td_session *session);

#endif
