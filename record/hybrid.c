/* SPDX-License-Identifier: MIT */
#include "record/hybrid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/load.h"
#include "record/emulate.h"
#include "record/modelled.h"
#include "record/session.h"
#include "record/status.h"
#include "record/target.h"

struct hybrid {
    const struct td_request *request;
    const struct td_caps *caps;
    const struct td_plan *plan;
    struct td_status status;
    char *folder;
    struct td_model *native; /* what the native run recorded */
    int native_status;
};

/* A pattern (td_output_expand) that stands for this path. */
static char *literal_pattern(const char *path)
{
    struct td_buf buf = {0};

    for (; *path; path++) {
        td_buf_u8(&buf, (uint8_t)*path);
        if (*path == '%')
            td_buf_u8(&buf, '%');
    }
    td_buf_u8(&buf, 0);
    return (char *)buf.data;
}

/* What would fail in the second run must not wait for the first. */
static int check(struct hybrid *h, struct td_err *err)
{
    const struct td_guest *guest = NULL;
    char *path = NULL, *qemu = NULL, *plugin = NULL;
    int rc = td_emulate_check(h->request->command[0], &path, &guest, err);

    if (rc == TD_OK)
        rc = td_emulate_find(guest, &qemu, &plugin, err);
    free(path);
    free(qemu);
    free(plugin);
    return rc;
}

static int make_folder(struct hybrid *h, struct td_err *err)
{
    const char *temp = getenv("TMPDIR");
    char *folder = td_xasprintf("%s/tdrec.XXXXXX", temp && temp[0] == '/' ? temp : "/tmp");

    if (mkdtemp(folder)) {
        h->folder = folder;
        return TD_OK;
    }
    const int rc = td_fail_errno(err, TD_EIO, errno, "cannot create the folder '%s'", folder);
    free(folder);
    return rc;
}

static int run_natively(struct hybrid *h, struct td_err *err)
{
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_load_status status = {.damaged = false};
    char *path = td_xasprintf("%s/native.td", h->folder);
    char *pattern = literal_pattern(path);
    struct td_request request = *h->request;

    request.output = pattern;
    request.quiet = true;
    h->native_status = td_session_run(&request, h->caps, h->plan);
    const int rc = td_load_file(&h->native, path, &opts, &status, err);
    unlink(path);
    free(pattern);
    free(path);
    return rc;
}

/* What ended the command by force would end it again. */
static bool was_interrupted(const struct hybrid *h)
{
    const char *end = td_model_env(h->native, TD_ENV_EXIT);

    return !end || strcmp(end, "signal 2") == 0 || strcmp(end, "signal 15") == 0;
}

static void tell_native(struct hybrid *h)
{
    const uint64_t ns = td_model_counter(h->native, TD_COUNTER_ENDED_NS) -
                        td_model_counter(h->native, TD_COUNTER_STARTED_NS);
    char samples[32];

    td_status_note(
        &h->status, "natively: %.2f s, %s samples; now the same on the modelled %s",
        (double)ns / 1e9,
        td_format_count(samples, sizeof(samples), td_model_counter(h->native, TD_COUNTER_SAMPLES)),
        h->plan->core);
}

static int run_both(struct hybrid *h, struct td_err *err)
{
    int rc = check(h, err);

    if (rc < 0)
        return td_target_failure_status(rc);
    if (make_folder(h, err) < 0)
        return TD_EXIT_FAILED;
    rc = run_natively(h, err);
    if (rc < 0)
        return h->native_status ? h->native_status : TD_EXIT_FAILED;
    if (was_interrupted(h)) {
        td_status_note(&h->status, "the native run was ended by a signal: nothing was recorded");
        return h->native_status;
    }
    tell_native(h);
    const int status = td_modelled_run(h->request, h->caps, h->plan, h->native);
    return status == TD_EXIT_FAILED ? status : h->native_status;
}

int td_hybrid_run(const struct td_request *request, const struct td_caps *caps,
                  const struct td_plan *plan)
{
    struct td_err err = TD_ERR_INIT;
    struct hybrid h = {.request = request,
                       .caps = caps,
                       .plan = plan,
                       .status = td_status_init(stderr, request->quiet)};
    const int status = run_both(&h, &err);

    if (err.code != TD_OK)
        td_status_error(&h.status, err.text);
    if (h.folder)
        rmdir(h.folder);
    free(h.folder);
    td_model_free(h.native);
    return status;
}
