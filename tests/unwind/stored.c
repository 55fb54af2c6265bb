/* SPDX-License-Identifier: MIT */
/*
 * unwind_stored FILE.tri DIR EXPECTED: samples stored long ago, unwound against the program that is
 * kept beside them, give the stacks that libunwind gave (EXPECTED: addresses of the program, a
 * stack a line). With no EXPECTED, prints them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/unwind/triples.h"
#include "tests/unwind/full.h"

static void write_stack(struct td_buf *text, const struct td_unwind_stack *stack,
                        const struct triple_space *space)
{
    char word[32];

    for (size_t i = 0; i < stack->count; i++) {
        const struct triple_map *map = triples_map(space, stack->frames[i]);
        const int n = snprintf(word, sizeof(word), "%s%" PRIx64, i ? " " : "",
                               stack->frames[i] - (map ? map->bias : 0));
        td_buf_bytes(text, word, (size_t)n);
    }
    td_buf_u8(text, '\n');
}

static int unwind_all(struct triples *triples, struct td_buf *text)
{
    struct td_unwinder *unwinder = td_unwinder_new(TD_CFI_X86_64);
    static struct td_unwind_stack fast, full;
    struct td_unwind_sample sample;
    struct triple_space *space;
    int failures = 0;

    while (triples_next(triples, &sample, &space, NULL) == 1) {
        td_unwind(unwinder, &sample, &fast);
        td_unwind_full(TD_CFI_X86_64, &sample, &full);
        failures += fast.stop != TD_UNWIND_COMPLETE || fast.count != full.count ||
                    memcmp(fast.frames, full.frames, fast.count * sizeof(*fast.frames)) != 0;
        write_stack(text, &fast, space);
    }
    td_unwinder_free(unwinder);
    return failures;
}

int main(int argc, char **argv)
{
    struct triples triples = {0};
    struct td_buf text = {0}, expected = {0};
    struct td_err err = TD_ERR_INIT;
    int status = 1;

    if (argc < 3 || triples_open(&triples, argv[1], &err) < 0) {
        fprintf(stderr, "unwind_stored: %s\n", err.text);
        return 2;
    }
    triples.table_dir = argv[2];
    const int failures = unwind_all(&triples, &text);
    if (argc < 4) {
        fwrite(text.data, 1, text.len, stdout);
        status = 0;
    } else if (td_file_read(argv[3], 1 << 20, &expected, &err) < 0) {
        fprintf(stderr, "unwind_stored: %s\n", err.text);
    } else {
        status = failures || text.len == 0 || text.len != expected.len ||
                 memcmp(text.data, expected.data, text.len) != 0;
        if (status)
            fprintf(stderr,
                    "unwind_stored: %d stacks incomplete or not as the interpreter's; got\n%.*s",
                    failures, (int)text.len, (const char *)text.data);
    }
    td_buf_release(&text);
    td_buf_release(&expected);
    triples_release(&triples);
    return status;
}
