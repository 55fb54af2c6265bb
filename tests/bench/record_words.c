/* SPDX-License-Identifier: MIT */
/*
 * A part of tdprof-words-plugin, which is tdprof's plugin but for this: what goes to the model of
 * the first thread is written to the file that TDPROF_WORDS names, up to TDPROF_WORDS_MB. The
 * linker puts these functions before those of the same name (--wrap).
 */
#include <stdio.h>
#include <stdlib.h>

#include "record/sim/qemu/queue.h"
#include "tests/bench/words_file.h"

uint32_t __real_td_blocks_define(struct td_blocks *blocks, uint64_t place, const uint8_t *bytes,
                                 const uint8_t *lengths, uint32_t count);
uint32_t __wrap_td_blocks_define(struct td_blocks *blocks, uint64_t place, const uint8_t *bytes,
                                 const uint8_t *lengths, uint32_t count);
void __real_td_queue_put(struct td_queue *queue);
void __wrap_td_queue_put(struct td_queue *queue);

static struct recording {
    FILE *file;
    const struct td_blocks *blocks; /* of the core; variants have others */
    const struct td_queue *queue;   /* of the first thread */
    uint64_t left;                  /* bytes */
} recording;

static void begin(const struct td_blocks *blocks)
{
    const char *path = getenv("TDPROF_WORDS"), *mb = getenv("TDPROF_WORDS_MB");

    if (recording.blocks)
        return;
    recording.blocks = blocks;
    recording.left = (mb ? strtoull(mb, NULL, 10) : 1000) << 20;
    recording.file = path ? fopen(path, "wb") : NULL;
}

/* A file that is cut is not taken for a whole one. */
static void write_or_die(const void *data, size_t size)
{
    if (fwrite(data, 1, size, recording.file) != size) {
        perror("record_words");
        abort();
    }
}

static bool begin_record(const struct words_head *head, uint64_t size)
{
    if (!recording.file || recording.left < size + sizeof(*head))
        return false;
    recording.left -= size + sizeof(*head);
    write_or_die(head, sizeof(*head));
    return true;
}

uint32_t __wrap_td_blocks_define(struct td_blocks *blocks, uint64_t place, const uint8_t *bytes,
                                 const uint8_t *lengths, uint32_t count)
{
    const uint32_t id = __real_td_blocks_define(blocks, place, bytes, lengths, count);
    uint32_t size = 0;

    begin(blocks);
    for (uint32_t i = 0; i < count; i++)
        size += lengths[i];
    const struct words_head head = {.kind = WORDS_BLOCK,
                                    .count = count,
                                    .mode = size,
                                    .id = id,
                                    .value = place,
                                    .own = td_blocks_get(blocks, id)->own};
    if (blocks == recording.blocks && begin_record(&head, count + size)) {
        write_or_die(lengths, count);
        write_or_die(bytes, size);
    }
    return id;
}

void __wrap_td_queue_put(struct td_queue *queue)
{
    const struct td_queue_batch *batch = td_queue_batch(queue);
    const uint64_t size = batch->used * sizeof(*batch->words);
    const struct words_head head = {
        .kind = WORDS_BATCH, .count = batch->used, .mode = batch->mode, .value = batch->skipped};

    if (!recording.queue)
        recording.queue = queue;
    if (queue == recording.queue) {
        if (begin_record(&head, size))
            write_or_die(batch->words, size);
        else
            recording.left = 0; /* nothing comes after what is missing */
        if (recording.file)
            fflush(recording.file);
    }
    __real_td_queue_put(queue);
}
