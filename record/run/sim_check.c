/* SPDX-License-Identifier: MIT */
#include "record/run/sim_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "record/sim/share/program.h"
#include "record/sim/share/mailbox.h"
#include "record/sim/window/loader_file.h"
#include "record/run/target.h"

#define PLUGIN       "tdprof-sim-plugin.so"
#define PLUGIN_LIMIT (64u << 20) /* it has some megabytes, with debug information */
#ifndef TD_LIBDIR                /* where CMakeLists.txt installs it, below the prefix */
#    define TD_LIBDIR "lib"
#endif

/* Beside the program (a build), or where it is installed. */
static char *find_plugin(void)
{
    static const char *const folders[] = {"", "../" TD_LIBDIR "/tdprof/", "../lib/tdprof/",
                                          "../lib64/tdprof/"};
    char *exe = realpath("/proc/self/exe", NULL);
    const char *slash = exe ? strrchr(exe, '/') : NULL;
    char *found = NULL;

    for (size_t i = 0; slash && i < TD_ARRAY_SIZE(folders) && !found; i++) {
        char path[4200];

        snprintf(path, sizeof(path), "%.*s/%s" PLUGIN, (int)(slash - exe), exe, folders[i]);
        found = realpath(path, NULL);
    }
    free(exe);
    return found;
}

/* A plugin of another version would be read as what it is not. */
static bool is_ours(const char *plugin)
{
    struct td_buf file = {0};
    const bool ours = td_file_read(plugin, PLUGIN_LIMIT, &file, NULL) == TD_OK &&
                      memmem(file.data, file.len, TD_PLUGIN_MARK, strlen(TD_PLUGIN_MARK));

    td_buf_release(&file);
    return ours;
}

int td_sim_check_emulator(const struct td_guest *guest, char **qemu, char **plugin,
                          struct td_err *err)
{
    char *emulator = NULL, *module = NULL;

    if (td_procfs_self() == 0)
        return td_fail(err, TD_EUNSUPPORTED,
                       "the modelled core needs /proc: mount -t proc proc /proc (or --source "
                       "clock)");
    emulator = td_target_find_program(guest->emulator);
    if (!emulator)
        return td_fail(err, TD_EUNSUPPORTED,
                       "the modelled core needs %s, which is not installed: sudo apt-get install "
                       "qemu-user",
                       guest->emulator);
    module = find_plugin();
    if (!module) {
        free(emulator);
        return td_fail(err, TD_EUNSUPPORTED,
                       PLUGIN " is neither beside tdrec nor in ../" TD_LIBDIR
                              "/tdprof: install tdprof "
                              "whole (cmake --install)");
    }
    if (!is_ours(module)) {
        const int rc = td_fail(err, TD_EUNSUPPORTED,
                               "'%s' is of another version than this tdrec (" TD_VERSION
                               "): install tdprof whole (cmake --install)",
                               module);

        free(emulator);
        free(module);
        return rc;
    }
    *qemu = emulator;
    *plugin = module;
    return TD_OK;
}

/* "'FILE' is ..."; newly allocated. NULL when the program can be emulated. */
static char *describe_obstacle(const char *command, const struct td_program *program)
{
    if (program->kind == TD_PROGRAM_EMULATED)
        return NULL;
    if (program->word_count)
        return td_xasprintf("'%s' is a script of '%s', which is %s", command, program->file,
                            td_program_about(program->kind));
    return td_xasprintf("'%s' is %s", command, td_program_about(program->kind));
}

static int explain_obstacle(const char *obstacle, const struct td_program *program,
                            struct td_err *err)
{
    if (program->kind == TD_PROGRAM_LOADER)
        return td_fail(err, TD_EUNSUPPORTED,
                       "%s: sudo apt-get install %s (or link it statically, or set QEMU_LD_PREFIX "
                       "to where its libraries are)",
                       obstacle, program->guest->package);
    return td_fail(err, TD_EUNSUPPORTED, "%s: %s", obstacle, td_program_help(program->kind));
}

int td_sim_check_command(const char *command, char **path, const struct td_guest **guest,
                         struct td_err *err)
{
    struct td_program program;
    char *found = NULL;
    int rc = td_target_require_program(command, &found, err);

    if (rc < 0)
        return rc;
    td_program_look(&program, found);
    char *obstacle = describe_obstacle(command, &program);
    if (obstacle) {
        rc = explain_obstacle(obstacle, &program, err);
        free(found);
    } else {
        *path = found;
        *guest = program.guest;
    }
    free(obstacle);
    td_program_release(&program);
    return rc;
}

/* Why the program at `path` (NULL: unknown) cannot be modelled here, newly allocated, or NULL. */
static char *find_obstacle(const char *command, const char *path, const struct td_guest **guest)
{
    struct td_program program;
    struct td_err err = TD_ERR_INIT;
    char *qemu = NULL, *plugin = NULL, *obstacle = NULL;

    *guest = td_guest_native();
    if (path) {
        td_program_look(&program, path);
        *guest = program.guest ? program.guest : *guest;
        obstacle = describe_obstacle(command, &program);
        td_program_release(&program);
    }
    if (obstacle)
        return obstacle;
    if (!*guest)
        return td_xstrdup("the modelled core takes x86-64 and aarch64 programs");
    if (td_sim_check_emulator(*guest, &qemu, &plugin, &err) < 0)
        return td_xstrdup(err.text);
    free(qemu);
    free(plugin);
    return td_mailbox_fits() ? NULL
                             : td_xstrdup("ulimit -v or -f leaves no room for what is modelled");
}

/* Why no windows of what runs already can be modelled here, as above. */
static char *find_live_obstacle(void)
{
    const struct td_guest *guest = NULL;
    size_t loader_size = 0;

    td_loader_file(&loader_size);
    return loader_size > 0 ? find_obstacle(NULL, NULL, &guest)
                           : td_xstrdup("windows of what runs are modelled on x86-64 only");
}

void td_sim_check_caps(struct td_caps *caps, const struct td_request *request)
{
    if (caps->root[0])
        return;
    if (request->scope == TD_SCOPE_PROCESS) {
        caps->cannot_model = find_live_obstacle();
        caps->can_model = !caps->cannot_model;
    }
    if (request->scope != TD_SCOPE_COMMAND)
        return;
    const char *command = request->command ? request->command[0] : NULL;
    const struct td_guest *guest = NULL;
    char *path = command ? td_target_find_program(command) : NULL;
    const bool there = path && access(path, X_OK) == 0;

    caps->cannot_model = find_obstacle(command, there ? path : NULL, &guest);
    caps->can_model = !caps->cannot_model;
    caps->program = guest ? guest->name : NULL;
    free(path);
}
