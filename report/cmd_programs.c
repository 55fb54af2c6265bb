/* SPDX-License-Identifier: MIT */
#include "report/cmd.h"

static void add_columns(struct td_table *table)
{
    td_table_add_cost(table);
    td_table_add_nodes(table, 1);
    td_table_add(table, &td_field_processes, table->rows->primary);
    td_table_add(table, &td_field_name, table->rows->primary);
}

static const struct td_table_cmd programs = {
    .kind = TD_ROWS_PROGRAMS,
    .functions_only = false,
    .percent_limit = 0.1,
    .noun = "programs",
    .add_columns = add_columns,
};

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    return td_table_cmd_run(&programs, cmd, common, argc, argv);
}

const struct td_cmd td_cmd_programs = {
    .name = "programs",
    .args = "[options]",
    .about = "what each program costs, its processes together",
    .run = run,
};
