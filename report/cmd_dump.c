/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "formats/profile/dump.h"
#include "report/cmd.h"

static int dump(struct td_session *session, const char *path)
{
    struct td_file_map map = {.data = NULL};
    struct td_err err = TD_ERR_INIT;
    bool sound = false;

    int rc = td_file_load(&map, path, &err);
    if (rc < 0) {
        td_complain("%s", err.text);
        return td_exit_of((enum td_code)rc);
    }
    td_session_begin_output(session);
    rc = td_profile_dump(map.data, map.size, stdout, &sound, &err);
    td_file_unmap(&map);
    session->coverage.complete = rc == TD_OK && sound;
    const int exit_code = td_session_end_output(session);
    if (rc < 0) {
        td_complain("%s: %s", path, err.text);
        return td_exit_of((enum td_code)rc);
    }
    return exit_code;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 'i', "input", "FILE", "the profile (profile.td)", &common->input},
        {TD_OPT_FLAG, 0, "no-pager", NULL, "do not page on a terminal", &common->no_pager},
        {TD_OPT_FLAG, 'h', "help", NULL, "show this", &common->help},
        TD_OPT_END,
    };
    struct td_session session = {.opts = common};
    int exit_code = TD_EXIT_OK;

    if (!td_cmd_parse_all(cmd, common, table, argc, argv, &exit_code))
        return exit_code;
    return dump(&session, common->input ? common->input : "profile.td");
}

const struct td_cmd td_cmd_dump = {
    .name = "dump",
    .args = "[-i FILE]",
    .about = "every record of a profile file, with offsets",
    .run = run,
};
