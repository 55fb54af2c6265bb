/* SPDX-License-Identifier: MIT */
/* A piece of a process image, put into a profile after another one: what comes out is a profile. */
#include "formats/load.h"
#include "record/run/pieces.h"

/* Of the modelled core, in slots. */
#define WIDTH 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct td_profile_writer_opts opts = {.max_nodes = 1};
    struct td_profile_writer *writer = NULL;
    struct td_buf profile = {0}, piece = {0};
    struct td_load_status status = {.damaged = false};
    struct td_model *model = NULL;
    struct td_pieces pieces;

    if (td_profile_writer_new(&writer, append, &profile, &opts, NULL) != TD_OK)
        return 0;
    td_pieces_init(&pieces, writer, WIDTH);
    td_profile_env(writer, td_env_key_name(TD_ENV_PARAMETER), "width=6");
    /* The first two bytes say how many of the others are an image's first piece; the rest is its
     * second. */
    struct td_rd rd = td_rd_init(data, size, 0);
    const size_t wanted = td_rd_u16(&rd), first = wanted < td_rd_left(&rd) ? wanted : 0;
    td_buf_bytes(&piece, td_rd_bytes(&rd, first), first);
    td_pieces_add(&pieces, 0, &piece, false);
    td_buf_clear(&piece);
    td_buf_bytes(&piece, data + rd.pos, td_rd_left(&rd));
    td_pieces_add(&pieces, 0, &piece, true);
    td_profile_finish(writer, NULL);
    if (td_load_bytes(&model, profile.data, profile.len, "profile", NULL, &status, NULL) != TD_OK ||
        status.damaged)
        __builtin_trap();
    td_model_free(model);
    td_pieces_release(&pieces);
    td_profile_writer_free(writer);
    td_buf_release(&profile);
    td_buf_release(&piece);
    return 0;
}
