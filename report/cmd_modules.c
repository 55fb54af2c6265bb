/* SPDX-License-Identifier: MIT */
#include "report/cmd.h"

static void add_columns(struct td_table *table)
{
    td_table_add_cost(table);
    td_table_add_nodes(table, 1);
    td_table_add(table, &td_field_name, table->rows->primary);
    td_table_add(table, &td_field_path, table->rows->primary);
}

static const struct td_table_cmd modules = {
    .kind = TD_ROWS_MODULES,
    .functions_only = false,
    .percent_limit = 0,
    .noun = "modules",
    .add_columns = add_columns,
};

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    return td_table_cmd_run(&modules, cmd, common, argc, argv);
}

const struct td_cmd td_cmd_modules = {
    .name = "modules",
    .args = "[options]",
    .about = "what each binary and library costs",
    .run = run,
};
