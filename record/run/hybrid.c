/* SPDX-License-Identifier: MIT */
/*
 * The `hybrid` source: the command runs natively, sampled by the clock, and then again on the
 * modelled core; one profile holds both, and a report joins them by place in the code.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "record/run/sim_check.h"
#include "record/run/recording.h"
#include "record/tasks/profile_head.h"
#include "record/run/sources.h"
#include "record/status.h"
#include "record/run/target.h"

struct hybrid {
    const struct td_request *request;
    const struct td_caps *caps;
    const struct td_plan *plan;
    struct td_status status;
    struct td_recording *recording; /* of both runs; borrowed */
};

/* What would fail in the second run must not wait for the first. */
static int check(const struct hybrid *h, struct td_err *err)
{
    const struct td_guest *guest = NULL;
    char *path = NULL, *qemu = NULL, *plugin = NULL;
    int rc = td_sim_check_command(h->request->command[0], &path, &guest, err);

    if (rc == TD_OK)
        rc = td_sim_check_emulator(guest, &qemu, &plugin, err);
    free(path);
    free(qemu);
    free(plugin);
    return rc;
}

static int run_natively(const struct hybrid *h)
{
    h->recording->more = true;
    const int status = td_source_clock.run(h->request, h->caps, h->plan, h->recording);
    h->recording->more = false;
    return status;
}

/* What ended the command by force would end it again. */
static int end_natively(struct hybrid *h, int status)
{
    const struct td_run_end *native = &h->recording->native;
    struct td_err err = TD_ERR_INIT;
    char text[160], how[32];

    td_env_exit_text(how, sizeof(how), native->status);
    if (native->whole)
        snprintf(text, sizeof(text),
                 "the native run was ended by %s: the command was not run again on the modelled "
                 "core",
                 how);
    else
        snprintf(text, sizeof(text),
                 "the native run was not recorded to its end: the command was not run again on the "
                 "modelled core");
    td_recording_cut(h->recording, &h->status, text);
    if (td_recording_finish(h->recording, &err) < 0) {
        td_status_error(&h->status, err.text);
        return TD_EXIT_FAILED;
    }
    td_recording_tell(h->recording, &h->status);
    return status;
}

static void tell_native(struct hybrid *h)
{
    const struct td_run_end *native = &h->recording->native;
    char samples[32];

    td_status_note(&h->status, "natively: %.2f s, %s samples; now the same on the modelled %s",
                   (double)native->elapsed_ns / 1e9,
                   td_format_count(samples, sizeof(samples), native->samples), h->plan->core);
}

static int run_both(struct hybrid *h)
{
    const struct td_run_end *native = &h->recording->native;
    struct td_err err = TD_ERR_INIT;
    const int rc = check(h, &err);

    if (rc < 0) {
        td_status_error(&h->status, err.text);
        return td_target_failure_status(rc);
    }
    const int status = run_natively(h);
    if (!native->began)
        return status;
    if (status == TD_EXIT_FAILED) /* the file cannot be written, which was told */
        return status;
    if (!native->whole || td_target_was_stopped(native->status))
        return end_natively(h, status);
    tell_native(h);
    const int modelled = td_source_sim.run(h->request, h->caps, h->plan, h->recording);
    return modelled == TD_EXIT_FAILED || h->recording->cut ? modelled : status;
}

/* The status is the native run's, or the modelled one's when that was cut. */
static int run_hybrid(const struct td_request *request, const struct td_caps *caps,
                      const struct td_plan *plan, struct td_recording *recording)
{
    struct hybrid h = {.request = request,
                       .caps = caps,
                       .plan = plan,
                       .status = td_status_init(stderr, request->quiet),
                       .recording = recording};

    return run_both(&h);
}

const struct td_source td_source_hybrid = {.id = TD_SOURCE_HYBRID,
                                           .needs = TD_NEEDS_EVENTS | TD_NEEDS_COMMAND,
                                           .plan = td_plan_hybrid,
                                           .run = run_hybrid};
