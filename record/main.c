/* SPDX-License-Identifier: MIT */
/* tdrec: records a profile of a command, of what runs already, or of the whole machine. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/version.h"
#include "record/machine/calibrate.h"
#include "record/machine/caps.h"
#include "record/count/count.h"
#include "record/run/doctor.h"
#include "record/run/sim_check.h"
#include "record/machine/host_core.h"
#include "record/machine/grants.h"
#include "record/run/inherited.h"
#include "record/plan/list.h"
#include "record/plan/plan.h"
#include "record/plan/print.h"
#include "record/machine/probe.h"
#include "record/run/recording.h"
#include "record/hints.h"
#include "record/request.h"
#include "record/run/sources.h"
#include "record/run/target.h"
#include "symbolize/kept.h"

/* A status of ours (mem.h); the command goes on. */
void td_out_of_memory(void)
{
    static const char text[] = "tdrec: out of memory (ulimit -v?); what was recorded before it "
                               "is readable\n";

    const ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)written;
    _exit(TD_EXIT_FAILED);
}

/* With another's rights it would run any command and write any file with them. */
static bool has_foreign_rights(void)
{
    return getuid() != geteuid() || getgid() != getegid();
}

static int fail(const struct td_err *err)
{
    fprintf(stderr, "tdrec: %s\n", err->text);
    return TD_EXIT_FAILED;
}

static int checked_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fputs("tdrec: cannot write to stdout\n", stderr);
    return TD_EXIT_FAILED;
}

static int print_plan(const struct td_plan *plan, bool json)
{
    if (json)
        td_plan_print_json(plan, stdout);
    else
        td_plan_print_text(plan, stdout);
    return checked_stdout();
}

/* One line each on what is not as one would think. */
static void announce(const struct td_plan *plan, bool count, bool sampled)
{
    if (plan->source_reason[0] && count)
        fprintf(stderr,
                "tdrec: software events only: %s (tdrec --source sim models the slots of a "
                "command)\n",
                plan->source_reason);
    else if (plan->source_reason[0] && plan->source == TD_SOURCE_SIM)
        fprintf(stderr,
                "tdrec: source sim: %s; modelled on %s, about %s (--source clock: at full speed, "
                "time only)\n",
                plan->source_reason, plan->core,
                sampled ? "40 times slower" : "200 times slower, or 40 with --sim-sample");
    else if (plan->source_reason[0] && plan->source == TD_SOURCE_LIVE)
        fprintf(stderr,
                "tdrec: source live: %s; windows of the run are modelled on %s, for which it is "
                "stopped now and then (--source clock: never, time only)\n",
                plan->source_reason, plan->core);
    else if (plan->source_reason[0])
        fprintf(stderr, "tdrec: source %s: %s (choose another with --source)\n",
                td_source_name(plan->source), plan->source_reason);
    if (plan->privilege[0])
        fprintf(stderr, "tdrec: %s\n", plan->privilege);
    size_t minor = 0;
    for (size_t i = 0; i < plan->left_out_count; i++) {
        minor += plan->left_out[i].minor;
        if (!plan->left_out[i].minor)
            fprintf(stderr, "tdrec: %s: %s\n", plan->left_out[i].what, plan->left_out[i].why);
    }
    if (minor)
        fprintf(stderr, "tdrec: %zu %s left out (--plan lists %s%s)\n", minor,
                minor == 1 ? "level, locator or group is" : "levels, locators or groups are",
                minor == 1 ? "it with the reason" : "them with the reasons",
                plan->passes > 1 || count ? "" : ", --passes records more");
}

/* Said once the command runs: what keeps it from starting is said alone. */
struct announcement {
    const struct td_plan *plan;
    const struct td_request *request;
    bool done;
};

static void on_start(void *ctx)
{
    struct announcement *a = ctx;

    if (!a->done && !a->request->quiet)
        announce(a->plan, a->request->count, a->request->sim_sample);
    a->done = true;
}

/* Printing a plan opens no event. */
static void look_at_kernel(struct td_caps *caps, const struct td_request *request)
{
    const bool wanted = request->source == TD_SOURCE_NONE || request->source == TD_SOURCE_PMU;

    if (!request->root && !request->plan)
        td_grants_try(caps);
    if (request->root)
        td_probe(caps, td_probe_recorded, caps);
    else if (!request->plan && (wanted || request->doctor))
        td_probe(caps, td_probe_count, NULL);
}

/* So that its profile has names also when it is built anew before the report. */
static void keep_program(const struct td_request *request)
{
    char *path = request->command ? td_target_find_program(request->command[0]) : NULL;

    if (path)
        td_kept_add(path);
    free(path);
}

static int record(const struct td_request *request, const struct td_caps *caps,
                  const struct td_plan *plan)
{
    struct td_recording recording = TD_RECORDING_INIT;
    struct td_err err = TD_ERR_INIT;

    if (request->count)
        return td_count_run(request, caps, plan);
    keep_program(request);
    const int status = td_source_of(plan)->run(request, caps, plan, &recording);
    return td_recording_close(&recording, &err) < 0 ? fail(&err) : status;
}

static void hint(const struct td_request *request)
{
    char *text = request->quiet ? NULL : td_hint_of(request);
    char safe[1024];

    if (text) {
        td_text_safe(safe, sizeof(safe), text, strlen(text));
        fprintf(stderr, "tdrec: %s\n", safe);
    }
    free(text);
}

static int run(const struct td_request *request)
{
    struct td_err err = TD_ERR_INIT;
    struct td_caps caps = {0};
    struct td_plan plan = {0};
    int status = 0;

    int rc = td_caps_read(&caps, request->root, &err);
    if (rc == TD_OK)
        look_at_kernel(&caps, request);
    if (rc == TD_OK && request->events.len)
        td_caps_read_events(&caps);
    if (rc == TD_OK && request->doctor) {
        status = td_doctor(&caps, stdout) ? 0 : 1;
        status = checked_stdout() ? TD_EXIT_FAILED : status;
        goto out;
    }
    if (rc == TD_OK && request->list) {
        status = td_plan_list(&caps, stdout, &err) < 0 ? fail(&err) : checked_stdout();
        goto out;
    }
    if (rc == TD_OK && request->calibrate) {
        status = td_calibrate(&caps, stdout, &err) < 0 ? fail(&err) : checked_stdout();
        goto out;
    }
    if (rc == TD_OK)
        td_sim_check_caps(&caps, request);
    if (rc == TD_OK && request->sim_core && strcmp(request->sim_core, TD_HOST_CORE) == 0)
        caps.host_core = td_host_core_read();
    if (rc == TD_OK)
        rc = td_source_plan(&plan, &caps, request, &err);
    if (rc < 0) {
        status = fail(&err);
    } else if (request->plan) {
        status = print_plan(&plan, request->json);
    } else if (plan.forbidden) {
        td_fail(&err, TD_EPERM, "%s", plan.privilege);
        status = fail(&err);
    } else {
        struct announcement announcement = {.plan = &plan, .request = request};
        struct td_request watched = *request;

        watched.started = on_start;
        watched.started_ctx = &announcement;
        status = record(&watched, &caps, &plan);
    }
out:
    td_plan_release(&plan);
    td_caps_release(&caps);
    return status;
}

/* Modelled figures compare only on one core: CI pins it for all its machines. */
static void take_environment(struct td_request *request)
{
    const char *core = getenv("TDPROF_SIM_CORE");

    if (!request->sim_core && core && *core)
        request->sim_core = core;
}

int main(int argc, char **argv)
{
    struct td_err err = TD_ERR_INIT;
    struct td_request request;
    struct td_inherited inherited;
    int status = 0;

    if (has_foreign_rights()) {
        fputs("tdrec: is installed setuid or setgid, which gives every user its owner's rights: "
              "chmod ug-s tdrec; setcap cap_perfmon+ep tdrec is enough to record\n",
              stderr);
        return TD_EXIT_FAILED;
    }
    td_inherited_save(&inherited);
    if (td_request_parse(&request, argc, argv, &err) < 0) {
        status = fail(&err);
    } else if (request.help) {
        td_request_help(stdout);
        status = checked_stdout();
    } else if (request.version) {
        puts("tdrec " TD_VERSION_LINE "\nwith " TD_RECORD_FEATURES);
        status = checked_stdout();
    } else {
        take_environment(&request);
        request.inherited = &inherited;
        hint(&request);
        status = run(&request);
    }
    td_request_release(&request);
    return status;
}
