/* SPDX-License-Identifier: MIT */
#include "record/run/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/tasks/profile_head.h"

int td_recording_open(struct td_recording *recording, const struct td_request *request,
                      const struct td_caps *caps, const struct td_plan *plan, uint32_t pid,
                      struct td_err *err)
{
    char *path = NULL;

    if (recording->writer)
        return TD_OK;
    int rc = td_output_expand(&path, request->output, caps->host, pid, td_output_rank(), err);
    if (rc == TD_OK)
        rc = td_output_open(&recording->output, path, err);
    free(path);
    if (rc == TD_OK)
        rc = td_profile_writer_new(&recording->writer, td_output_write, &recording->output, NULL,
                                   err);
    if (rc < 0)
        return rc;
    td_env_write(recording->writer, caps, request, plan);
    return td_profile_flush(recording->writer, err);
}

int td_recording_place(struct td_recording *recording, struct td_err *err)
{
    return td_output_place(&recording->output, err);
}

void td_recording_warn(struct td_recording *recording, struct td_status *status, const char *text)
{
    td_profile_env(recording->writer, td_env_key_name(TD_ENV_WARNING), text);
    td_status_note(status, "%s", text);
}

void td_recording_cut(struct td_recording *recording, struct td_status *status, const char *text)
{
    recording->cut = true;
    td_recording_warn(recording, status, text);
}

void td_recording_tell(const struct td_recording *recording, struct td_status *status)
{
    const char *path = recording->output.path;
    char bytes[32], safe[1024];

    td_text_safe(safe, sizeof(safe), path, strlen(path));
    td_status_note(status, "wrote %s, %s", safe,
                   td_format_bytes(bytes, sizeof(bytes), td_profile_bytes(recording->writer)));
    if (strcmp(path, "profile.td") == 0)
        td_status_note(status, "now type: tdreport");
    else
        td_status_note(status, "now type: tdreport -i %s", safe);
}

void td_recording_prefix(const struct td_recording *recording, struct td_err *err)
{
    td_err_prefix(err, recording->output.placed
                           ? "recording stopped, what was written before is readable"
                           : "nothing is recorded");
}

int td_recording_finish(struct td_recording *recording, struct td_err *err)
{
    return recording->more || recording->cut ? td_profile_flush(recording->writer, err)
                                             : td_profile_finish(recording->writer, err);
}

int td_recording_close(struct td_recording *recording, struct td_err *err)
{
    td_profile_writer_free(recording->writer);
    const int rc = td_output_close(&recording->output, err);
    *recording = (struct td_recording)TD_RECORDING_INIT;
    return rc;
}
