/* SPDX-License-Identifier: MIT */
/* What a category means, what usually causes it, what to try and how it is counted. */
#include <string.h>

#include "report/cmd.h"
#include "report/query/figures/tree.h"
#include "report/view/explain.h"

/* Says what there is when the word names no node, or several. */
static bool find_node(enum td_tma_node *ret, const char *word)
{
    enum td_tma_node found[TD_NODE_COUNT];
    const size_t count = td_tma_matches(word, found);
    char names[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 td_tma_info(found[i])->id);
    const char *near = td_nearest(word, td_tma_ids());
    if (count > 1)
        td_complain("'%s' may be any of %s", word, names);
    else if (count == 0 && near)
        td_complain("no category '%s': did you mean %s?", word, near);
    else if (count == 0)
        td_complain("no category '%s' (tdreport explain lists them)", word);
    *ret = count == 1 ? found[0] : TD_NODE_NONE;
    return count == 1;
}

static void print(const struct td_session *session, const enum td_tma_node *nodes, size_t count,
                  const struct td_explained_cores *cores, bool here)
{
    if (session->opts->json) {
        struct td_json json = td_json_init(stdout, 2);

        td_json_object(&json, NULL);
        td_json_string(&json, "schema", "tdreport/1");
        td_json_array(&json, "categories");
        for (size_t i = 0; i < count; i++)
            td_explain_json(&json, nodes[i], cores);
        td_json_end(&json);
        td_json_end(&json);
        return;
    }
    if (count == TD_NODE_COUNT)
        td_explain_list(&session->style);
    for (size_t i = 0; i < count && count < TD_NODE_COUNT; i++) {
        if (i > 0)
            fputc('\n', session->style.out);
        td_explain_print(nodes[i], cores, here, &session->style);
    }
}

/* The nodes that the words name; all, in the order of the tree, without a word. */
static size_t choose_nodes(enum td_tma_node nodes[TD_NODE_COUNT], char **words)
{
    size_t count = 0;

    for (; *words && count + 1 < TD_NODE_COUNT; words++) {
        if (!find_node(&nodes[count], *words))
            return 0;
        count++;
    }
    if (count > 0)
        return count;
    for (enum td_tma_node n = td_tree_next(TD_NODE_NONE); n != TD_NODE_NONE; n = td_tree_next(n))
        nodes[count++] = n;
    return count;
}

static int run(const struct td_cmd *cmd, struct td_common_opts *common, int argc, char **argv)
{
    const char *core = NULL;
    const struct td_opt table[] = {
        {TD_OPT_HEADING, 0, NULL, NULL, "Options", NULL},
        {TD_OPT_STRING, 0, "core", "NAME", "how this core counts it (this machine's)", &core},
        {TD_OPT_FLAG, 0, "json", NULL, "the same as JSON (schema tdreport/1)", &common->json},
        {TD_OPT_U64, 'w', "width", "COLUMNS", "columns to use (the terminal's; 100 in a pipe)",
         &common->width},
        {TD_OPT_FLAG, 0, "no-color", NULL, "no colours (also: NO_COLOR)", &common->no_color},
        {TD_OPT_FLAG, 0, "no-pager", NULL, "do not page on a terminal", &common->no_pager},
        {TD_OPT_FLAG, 'h', "help", NULL, "show this", &common->help},
        TD_OPT_END,
    };
    struct td_session session;
    enum td_tma_node nodes[TD_NODE_COUNT];
    struct td_explained_cores cores = {.len = 0};
    struct td_err err = TD_ERR_INIT;
    int exit_code = TD_EXIT_OK;
    const int used = td_cmd_parse(cmd, common, table, argc, argv, &exit_code);

    if (used < 0)
        return exit_code;
    const size_t count = choose_nodes(nodes, argv + used);
    if (count == 0)
        return TD_EXIT_USAGE;
    if (!core) {
        td_explained_here(&cores, NULL);
    } else if (td_explained_named(&cores, core, &err) == TD_EUSAGE) {
        td_complain("--core: %s", err.text);
        return TD_EXIT_USAGE;
    }
    td_session_begin(&session, common);
    td_session_begin_output(&session);
    print(&session, nodes, count, &cores, !core);
    td_explained_release(&cores);
    return td_session_end_output(&session);
}

const struct td_cmd td_cmd_explain = {
    .name = "explain",
    .args = "[CATEGORY]... [options]",
    .about = "what a category means, its causes, what to try, how it is counted",
    .run = run,
};
