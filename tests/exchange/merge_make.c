/* SPDX-License-Identifier: MIT */
/*
 * Writes COUNT profiles of 200 stacks x 5 values into FOLDER, each of its own host and process, as
 * a large run leaves them. usage: merge_make FOLDER COUNT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/profile/write.h"

#define STACKS  200
#define COLUMNS 5

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

static uint32_t add_group(struct td_profile_writer *writer)
{
    struct td_group group = {.role = TD_ROLE_SLOTS,
                             .attribution = TD_ATTRIBUTION_INTERVAL,
                             .locates = TD_NODE_NONE,
                             .column_count = COLUMNS};

    for (uint32_t c = 0; c < COLUMNS; c++) {
        static const char *const names[COLUMNS] = {"slots", "topdown-retiring", "topdown-bad-spec",
                                                   "topdown-fe-bound", "topdown-be-bound"};
        const struct td_profile_event event = {.name = names[c], .unit = TD_UNIT_SLOTS};

        group.columns[c] =
            (struct td_column){TD_COLUMN_DELTA, td_profile_event(writer, &event), TD_NODE_NONE};
    }
    group.sampler = group.columns[0].event;
    return td_profile_group(writer, &group, "topdown", "");
}

static void fill(struct td_profile_writer *writer, unsigned i)
{
    static const struct td_profile_module module = {
        .kind = TD_MODULE_FILE, .path = "/opt/app/bin/solver", .build_id = {4, {1, 2, 3, 4}}};
    char text[32];
    uint32_t node = 0;

    snprintf(text, sizeof(text), "node%04u", i / 16);
    td_profile_env(writer, "host", text);
    snprintf(text, sizeof(text), "%u", i);
    td_profile_env(writer, "rank", text);
    td_profile_env(writer, "argv", "solver");
    const uint32_t module_id = td_profile_module(writer, &module);
    const uint32_t group = add_group(writer);
    const uint32_t thread = td_profile_thread(writer, 1000 + i, 1000 + i, "solver", "solver", i);

    for (unsigned s = 0; s < STACKS; s++) {
        uint64_t values[COLUMNS];

        /* Most stacks are everybody's, a few are this process's own. */
        const uint64_t offset = s < STACKS - 2 ? 64 * s : 64 * (uint64_t)(s + 7 * i);

        node = td_profile_node(writer, s % 10 == 0 ? 0 : node, module_id, offset);
        for (unsigned c = 0; c < COLUMNS; c++)
            values[c] = (uint64_t)(s + 1) * (c + 1) * (i % 97 + 1) * 1009;
        td_profile_tally(writer, thread, node, group, s % 13 + 1, values);
    }
    td_profile_counter(writer, TD_COUNTER_SAMPLES, 1234);
}

int main(int argc, char **argv)
{
    uint64_t count = 0;

    if (argc != 3 || !td_parse_u64(argv[2], &count) || td_make_dirs(argv[1], NULL) != TD_OK)
        return 2;
    for (unsigned i = 0; i < count; i++) {
        char *const path = td_xasprintf("%s/run.node%04u.%u.td", argv[1], i / 16, i);
        struct td_profile_writer *writer = NULL;
        struct td_buf buf = {0};

        if (td_profile_writer_new(&writer, append, &buf, NULL, NULL) != TD_OK)
            return 1;
        fill(writer, i);
        if (td_profile_finish(writer, NULL) != TD_OK ||
            td_file_replace(path, buf.data, buf.len, NULL) != TD_OK)
            return 1;
        td_profile_writer_free(writer);
        td_buf_release(&buf);
        free(path);
    }
    return 0;
}
