/* SPDX-License-Identifier: MIT */
#include "formats/load.h"
#include "formats/merge.h"
#include "report/cmd.h"
#include "report/profile_file.h"
#include "symbolize/stack_copies.h"

static int fill(void *arg, td_profile_write_fn *write, void *ctx, struct td_err *err)
{
    return td_merge_write(arg, write, ctx, err);
}

/* An input that is damaged in part counts with what could be read of it. */
static int add_file(struct td_merge *merge, const char *path, bool *damaged)
{
    struct td_replay *replay = td_replay_new();
    const struct td_load_unwinder unwinder = td_replay_unwinder(replay);
    const struct td_load_opts opts = {.unwinder = &unwinder, .keep_slots = true};
    struct td_load_status status = {0};
    struct td_err err = TD_ERR_INIT;
    struct td_model *model = NULL;
    int rc = td_load_file(&model, path, &opts, &status, &err);

    td_replay_free(replay);
    if (rc == TD_OK && status.damaged) {
        td_complain("%s: %s", path, status.damage.text);
        *damaged = true;
    }
    if (rc == TD_OK)
        rc = td_merge_add(merge, model, path, &err);
    if (rc < 0)
        td_complain("%s", err.text);
    td_model_free(model);
    return rc;
}

static int merge_files(const char *output, int count, char **paths)
{
    struct td_merge *const merge = td_merge_new();
    struct td_err err = TD_ERR_INIT;
    bool damaged = false;
    int rc = TD_OK;

    for (int i = 0; i < count && rc == TD_OK; i++)
        rc = add_file(merge, paths[i], &damaged);
    if (rc == TD_OK) {
        rc = td_profile_file_write(output, fill, merge, &err);
        if (rc < 0)
            td_complain("%s", err.text);
    }
    td_merge_free(merge);
    if (rc == TD_EMISMATCH)
        return TD_EXIT_USAGE;
    if (rc < 0)
        return td_exit_of((enum td_code)rc);
    return damaged ? TD_EXIT_DAMAGED : TD_EXIT_OK;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    const char *output = NULL;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 'o', "output", "FILE", "the profile to write (-: stdout)", &output},
        {TD_OPT_FLAG, 'h', "help", NULL, "show this", &common->help},
        TD_OPT_END,
    };
    int exit_code = TD_EXIT_OK;
    const int first = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (first < 0)
        return exit_code;
    if (!output || first >= argc) {
        td_complain("say what to write and what to merge: tdreport merge -o OUT FILE...");
        return TD_EXIT_USAGE;
    }
    return merge_files(output, argc - first, argv + first);
}

const struct td_cmd td_cmd_merge = {
    .name = "merge",
    .args = "-o OUT FILE...",
    .about = "add profiles up: of ranks, hosts, runs",
    .run = run,
};
