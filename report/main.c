/* SPDX-License-Identifier: MIT */
/* tdreport: reads a profile and says where the time and the slots went. */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "report/cmd.h"
#include "report/session.h"
#include "report/tui/terminal.h"

/* In processes that read symbols too (symbolize/worker.c): those have no stderr, and tell by the
 * status. */
void td_out_of_memory(void)
{
    static const char text[] = "tdreport: out of memory: allow it more (ulimit -v), or look at a "
                               "part (--time)\n";

    const int fd = td_terminal_restore() ? STDOUT_FILENO : STDERR_FILENO;
    const ssize_t written = write(fd, text, sizeof(text) - 1);

    (void)written;
    _exit(TD_EXIT_DAMAGED);
}

static const struct td_cmd *find_cmd(const char *name)
{
    for (const struct td_cmd *const *c = td_cmds; *c; c++) {
        if ((*c)->name[0] && strcmp((*c)->name, name) == 0)
            return *c;
    }
    return NULL;
}

/* Words that other tools have, and what does that here. */
static const struct {
    const char *word, *hint;
} elsewhere[] = {
    {"flamegraph",
     "tdreport html draws one; or tdreport folded | flamegraph.pl, or tdreport export "
     "-f speedscope"},
    {"flame", "tdreport html draws a flame graph"},
    {"record", "tdrec ./app records"},
    {"stat", "tdrec --count ./app counts"},
    {"count", "tdrec --count ./app counts"},
    {"top", "tdreport functions; of what runs now: tdrec -a --duration 5, then tdreport"},
    {"report", "tdreport without a command is the report"},
    {"show", "tdreport without a command is the report"},
    {"script", "tdreport export -f ndjson, or tdreport dump"},
    {"list", "tdreport functions; tdrec --list lists what can be counted"},
    {"doctor", "tdrec --doctor says what this machine can record"},
    {"disasm", "tdreport annotate --asm"},
    {"asm", "tdreport annotate --asm"},
    {"source", "tdreport annotate"},
    {"view", "tdreport html"},
    {"convert", "tdreport export"},
    {"topdown", "tdreport --topdown-level 3"},
    {"categories", "tdreport explain"},
};

static const char *hint_for(const char *word)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(elsewhere); i++) {
        if (strcmp(word, elsewhere[i].word) == 0)
            return elsewhere[i].hint;
    }
    return NULL;
}

static int complain_unknown(const char *word)
{
    const char *names[32];
    size_t len = 0;

    for (const struct td_cmd *const *c = td_cmds; *c && len + 1 < 32; c++)
        names[len++] = (*c)->name;
    names[len] = NULL;
    const char *near = td_nearest(word, names);
    if (hint_for(word))
        td_complain("no command '%s': %s", word, hint_for(word));
    else if (near && *near)
        td_complain("no command '%s': did you mean '%s'?", word, near);
    else
        td_complain("no command '%s', and no such file (tdreport --help lists the commands)", word);
    return TD_EXIT_USAGE;
}

static int print_version(void)
{
    puts("tdreport " TD_VERSION_LINE);
    puts("with " TD_REPORT_FEATURES);
    return td_finish_stdout();
}

/* The command's name may stand anywhere: options before it are the command's too, so it is moved
 * to the front. A word after an option that takes a value is no command unless it is spelled like
 * one and nothing before it is. */
static const struct td_cmd *take_cmd(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct td_cmd *cmd = find_cmd(argv[i]);

        if (!cmd)
            continue;
        char *word = argv[i];
        for (int k = i; k > 1; k--)
            argv[k] = argv[k - 1];
        argv[1] = word;
        return cmd;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct td_common_opts common = {.input = NULL};
    int exit_code = TD_EXIT_OK;

    /* Character widths are the terminal's; numbers stay "C", so that they can be read back. */
    setlocale(LC_CTYPE, "");
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0))
        return print_version();
    if (argc > 1 && strcmp(argv[1], "help") == 0) {
        const struct td_cmd *cmd = argc > 2 ? find_cmd(argv[2]) : NULL;
        char help[] = "--help";
        char *words[] = {argv[0], help, NULL};

        if (argc > 2 && !cmd)
            return complain_unknown(argv[2]);
        cmd = cmd ? cmd : td_cmds[0];
        return cmd->run(cmd, &common, 2, words);
    }
    const struct td_cmd *cmd = argc > 1 && argv[1][0] != '-' ? find_cmd(argv[1]) : NULL;
    if (argc > 1 && argv[1][0] != '-' && !cmd && access(argv[1], F_OK) != 0)
        return complain_unknown(argv[1]);
    cmd = cmd ? cmd : take_cmd(argc, argv);
    if (cmd)
        exit_code = cmd->run(cmd, &common, argc - 1, argv + 1);
    else
        exit_code = td_cmds[0]->run(td_cmds[0], &common, argc, argv);
    td_common_opts_release(&common);
    return exit_code;
}
