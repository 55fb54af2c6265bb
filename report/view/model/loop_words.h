/* SPDX-License-Identifier: MIT */
/* What is said of a loop wherever one is shown: its place, figures, bounds and chain. */
#ifndef TD_REPORT_VIEW_MODEL_LOOP_WORDS_H
#define TD_REPORT_VIEW_MODEL_LOOP_WORDS_H

#include "report/query/loops/loops.h"

/* The text of the instruction: "imul rax, rdx"; false: not known. `ctx` is the caller's. */
typedef bool td_loop_text_fn(void *ctx, uint32_t module, uint64_t offset, char *text, size_t size);

/* What words are made from. */
struct td_loop_words {
    const struct td_model *model;
    td_loop_text_fn *text; /* NULL: no instruction's is known */
    void *ctx;
};

bool td_loop_text(const struct td_loop_words *words, uint32_t module, uint64_t offset, char *text,
                  size_t size);
/* Of the function that it is in. Writes to `buf` only when the name must be made. */
const char *td_loop_name(const struct td_model *model, const struct td_loop *loop, char *buf,
                         size_t size);
/* "gzip.c:12-19 longest_match", or the module and offset where no line is known. */
void td_loop_place(const struct td_model *model, const struct td_loop *loop, char *text,
                   size_t size);
/* Two digits behind the point, as long as there is room for them; "-": not a number. Returns
 * `buf`. */
const char *td_loop_figure(double value, char *buf, size_t size);
/* "0 1 5", ports by bit, as descriptions write them. */
void td_loop_ports(uint16_t ports, char *text, size_t size);
/* "1: 4.00, 0 5 6: 0.67": for how many cycles of an iteration each port is busy, the busiest first;
 * "" where that is not known. */
void td_loop_each_port(const struct td_loop *loop, char *text, size_t size);
/* "load ports 2 3", "memory": what stands for a bound in a sentence. */
void td_loop_bound_words(const struct td_loop *loop, enum td_loop_bound bound, char *text,
                         size_t size);
/* "imul %rdx,%rax 3, add $1,%rax 1": the instructions of the chain with the cycles of each; where
 * there are more than `max`, the others as a number. */
void td_loop_chain(const struct td_loop_words *words, const struct td_loop *loop, size_t max,
                   char *text, size_t size);

#endif
