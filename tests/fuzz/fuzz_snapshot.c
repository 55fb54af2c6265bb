/* SPDX-License-Identifier: MIT */
/* A snapshot of a process image, put into a profile after another one: what comes out is a profile.
 */
#include "formats/load.h"
#include "record/run/snapshots.h"

/* Of the modelled core, in slots. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const variants[] = {"branches", "width=8"};
    const struct td_profile_writer_opts opts = {.max_nodes = 1};
    struct td_profile_writer *writer = NULL;
    struct td_buf profile = {0}, snapshot = {0};
    struct td_load_status status = {.damaged = false};
    struct td_model *model = NULL;
    struct td_snapshots snapshots;

    if (td_profile_writer_new(&writer, append, &profile, &opts, NULL) != TD_OK)
        return 0;
    td_snapshots_init(&snapshots, writer);
    snapshots.variants = variants;
    snapshots.variant_count = 2;
    td_profile_env(writer, td_env_key_name(TD_ENV_PARAMETER), "width=6");
    /* The first two bytes say how many of the others are an image's first snapshot; the rest is its
     * second. */
    struct td_rd rd = td_rd_init(data, size, 0);
    const size_t wanted = td_rd_u16(&rd), first = wanted < td_rd_left(&rd) ? wanted : 0;
    td_buf_bytes(&snapshot, td_rd_bytes(&rd, first), first);
    td_snapshots_add(&snapshots, 0, &snapshot, false);
    td_buf_clear(&snapshot);
    td_buf_bytes(&snapshot, data + rd.pos, td_rd_left(&rd));
    td_snapshots_add(&snapshots, 0, &snapshot, true);
    td_snapshots_names_end(&snapshots);
    td_profile_finish(writer, NULL);
    if (td_load_bytes(&model, profile.data, profile.len, "profile", NULL, &status, NULL) != TD_OK ||
        status.damaged)
        __builtin_trap();
    td_model_free(model);
    td_snapshots_release(&snapshots);
    td_profile_writer_free(writer);
    td_buf_release(&profile);
    td_buf_release(&snapshot);
    return 0;
}
