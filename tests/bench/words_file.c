/* SPDX-License-Identifier: MIT */
#include "tests/bench/words_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "record/sim/qemu/queue.h"

void words_fail(const char *text)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    exit(1);
}

static void define_block(struct td_blocks *blocks, const struct words_head *head,
                         const uint8_t *data)
{
    td_blocks_set_own_end(blocks, head->own ? UINT64_MAX : 0);
    if (td_blocks_define(blocks, head->value, data + head->count, data, head->count) != head->id)
        words_fail("a block has another number");
}

/* `words` has room for a batch. */
static struct words_batch batch_of(const struct words_head *head, const uint8_t *data,
                                   uint64_t *words)
{
    if (head->mode > TD_SIM_FAST_FORWARD)
        words_fail("a batch has an unknown mode");
    if (head->count > TD_QUEUE_WORDS + TD_QUEUE_SLACK)
        words_fail("a batch is too long");
    memcpy(words, data, head->count * sizeof(*words));
    return (struct words_batch){.mode = (enum td_sim_mode)head->mode,
                                .skipped = head->value,
                                .words = words,
                                .count = head->count};
}

void words_each(const char *path, struct td_blocks *blocks, words_fn *fn, void *ctx)
{
    struct td_err err = TD_ERR_INIT;
    struct td_buf file = {0};
    struct words_head head;
    struct words_batch batch;
    uint64_t *words = td_xcalloc(TD_QUEUE_WORDS + TD_QUEUE_SLACK, sizeof(*words));

    if (td_file_read(path, SIZE_MAX / 2, &file, &err) != TD_OK)
        words_fail(err.text);
    for (size_t at = 0; at + sizeof(head) <= file.len;) {
        memcpy(&head, file.data + at, sizeof(head));
        at += sizeof(head);
        const uint8_t *data = file.data + at;
        at += head.kind == WORDS_BLOCK ? head.count + head.mode : head.count * sizeof(uint64_t);
        if (at > file.len || (head.kind != WORDS_BLOCK && head.kind != WORDS_BATCH))
            words_fail("the file is damaged");
        if (head.kind == WORDS_BLOCK) {
            define_block(blocks, &head, data);
            continue;
        }
        batch = batch_of(&head, data, words);
        if (!fn(ctx, &batch))
            break;
    }
    free(words);
    td_buf_release(&file);
}
