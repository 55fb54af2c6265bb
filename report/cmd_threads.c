/* SPDX-License-Identifier: MIT */
#include "report/cmd.h"

static void add_columns(struct td_table *table)
{
    td_table_add_cost(table);
    td_table_add_nodes(table, 1);
    td_table_add(table, &td_field_tid, table->rows->primary);
    td_table_add(table, &td_field_name, table->rows->primary);
    td_table_add(table, &td_field_process, table->rows->primary);
}

static const struct td_table_cmd threads = {
    .kind = TD_ROWS_THREADS,
    .functions_only = false,
    .percent_limit = 0.1,
    .noun = "threads",
    .add_columns = add_columns,
};

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    return td_table_cmd_run(&threads, cmd, common, argc, argv);
}

const struct td_cmd td_cmd_threads = {
    .name = "threads",
    .args = "[options]",
    .about = "what each thread costs",
    .run = run,
};
