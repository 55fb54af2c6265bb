/* SPDX-License-Identifier: MIT */
#include "record/emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/sim/program.h"
#include "record/target.h"

#define QEMU_NAME "qemu-x86_64"
#define PLUGIN    "tdprof-sim-plugin.so"

/* Beside the program (a build), or where it is installed. */
static char *find_plugin(void)
{
    char *exe = realpath("/proc/self/exe", NULL);
    const char *slash = exe ? strrchr(exe, '/') : NULL;
    char *found = NULL;

    for (int i = 0; slash && i < 3 && !found; i++) {
        char path[4200];
        const int len = (int)(slash - exe);

        if (i == 0)
            snprintf(path, sizeof(path), "%.*s/" PLUGIN, len, exe);
        else
            snprintf(path, sizeof(path), "%.*s/../%s/tdprof/" PLUGIN, len, exe,
                     i == 1 ? "lib" : "lib64");
        found = realpath(path, NULL);
    }
    free(exe);
    return found;
}

int td_emulate_find(char **qemu, char **plugin, struct td_err *err)
{
    char *emulator = td_target_find_program(QEMU_NAME);
    char *module = NULL;

    if (!emulator)
        return td_fail(err, TD_EUNSUPPORTED,
                       "the modelled core needs " QEMU_NAME
                       ", which is not installed: sudo apt-get "
                       "install qemu-user");
    module = find_plugin();
    if (!module) {
        free(emulator);
        return td_fail(err, TD_EUNSUPPORTED,
                       PLUGIN " is neither beside tdrec nor in ../lib/tdprof: install tdprof "
                              "whole (cmake --install)");
    }
    *qemu = emulator;
    *plugin = module;
    return TD_OK;
}

/* "'FILE' is ..."; newly allocated. NULL when the program can be emulated. */
static char *find_obstacle(const char *command, const char *path, enum td_program_kind *kind)
{
    struct td_program program;
    char *text = NULL;

    td_program_look(&program, path);
    *kind = program.kind;
    if (program.kind != TD_PROGRAM_EMULATED && program.word_count)
        text = td_xasprintf("'%s' is a script of '%s', which is %s", command, program.file,
                            td_program_about(program.kind));
    else if (program.kind != TD_PROGRAM_EMULATED)
        text = td_xasprintf("'%s' is %s", command, td_program_about(program.kind));
    td_program_release(&program);
    return text;
}

int td_emulate_check(const char *command, char **path, struct td_err *err)
{
    enum td_program_kind kind = TD_PROGRAM_EMULATED;
    char *found = NULL;
    int rc = td_target_require_program(command, &found, err);

    if (rc < 0)
        return rc;
    char *obstacle = find_obstacle(command, found, &kind);
    if (obstacle) {
        rc = td_fail(err, TD_EUNSUPPORTED, "%s: %s", obstacle, td_program_help(kind));
        free(found);
    } else {
        *path = found;
    }
    free(obstacle);
    return rc;
}

/* Why nothing, or not this command, can be modelled here; NULL when it can, or cannot be run. */
static char *cannot_model(const struct td_caps *caps, const char *command)
{
    enum td_program_kind kind = TD_PROGRAM_EMULATED;
    struct td_err err = TD_ERR_INIT;
    char *qemu = NULL, *plugin = NULL;

    if (strcmp(caps->machine, "x86_64") != 0)
        return td_xstrdup("the modelled core takes x86-64 programs");
    if (td_emulate_find(&qemu, &plugin, &err) < 0)
        return td_xstrdup(err.text);
    free(qemu);
    free(plugin);
    char *path = command ? td_target_find_program(command) : NULL;
    char *obstacle = path && access(path, X_OK) == 0 ? find_obstacle(command, path, &kind) : NULL;
    free(path);
    return obstacle;
}

void td_emulate_look(struct td_caps *caps, const struct td_request *request)
{
    if (caps->root[0] || request->scope != TD_SCOPE_COMMAND)
        return;
    caps->cannot_model = cannot_model(caps, request->command ? request->command[0] : NULL);
    caps->can_model = !caps->cannot_model;
}
