/* SPDX-License-Identifier: MIT */
#include "report/cmd.h"

static void add_columns(struct td_table *table)
{
    td_table_add_cost(table);
    td_table_add_nodes(table, 1);
    td_table_add(table, &td_field_place, table->rows->primary);
    td_table_add(table, &td_field_name, table->rows->primary);
    td_table_add(table, &td_field_others, table->rows->primary);
}

static const struct td_table_cmd lines = {
    .kind = TD_ROWS_LINES,
    .functions_only = false,
    .percent_limit = 0.1,
    .noun = "lines",
    .add_columns = add_columns,
};

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    return td_table_cmd_run(&lines, cmd, common, argc, argv);
}

const struct td_cmd td_cmd_lines = {
    .name = "lines",
    .args = "[options]",
    .about = "what each source line costs by itself",
    .run = run,
};
