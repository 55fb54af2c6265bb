/* SPDX-License-Identifier: MIT */
/*
 * What is found out about the addresses of one module: built where its file is read, encoded, and
 * read elsewhere (by the parent process, or later out of the cache). The reader trusts nothing.
 */
#ifndef TD_SYMBOLIZE_ANSWERS_H
#define TD_SYMBOLIZE_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/map.h"
#include "symbolize/elf/cursor.h"

/* Strings are ids of the answers' own table; 0 is "" and means not known. */
struct td_answer_function {
    uint32_t name;    /* demangled */
    uint32_t linkage; /* as in the symbol table */
    uint32_t file;    /* where it is defined */
    uint32_t line;
};

struct td_answer_frame {
    uint32_t function, file, line, column;
};

struct td_answer_place {
    uint64_t offset; /* as the locations': in the file */
    uint32_t frame_first, frame_count;
};

struct td_answers {
    struct td_intern *strings;
    struct td_answer_function *functions;
    size_t function_count, function_cap;
    struct td_answer_frame *frames;
    size_t frame_count, frame_cap;
    struct td_answer_place *places; /* sorted by offset when encoded */
    size_t place_count, place_cap;
    uint32_t note;       /* why names or lines are missing; "" when they are not */
    uint32_t debug_file; /* the file that gave names or lines */
    bool complete;       /* nothing that exists was missing: may be kept for the next time */
    bool no_inlines;     /* of a part inlined functions are not known */
    struct td_map function_ids, name_ids;
};

void td_answers_init(struct td_answers *answers);
void td_answers_release(struct td_answers *answers);
uint32_t td_answers_string(struct td_answers *answers, const char *s);
/* The function of these four; `linkage` or `name` may be NULL. It is called what the linkage name
 * means, where that is a mangled one; else `name`; else the linkage name. */
uint32_t td_answers_function(struct td_answers *answers, const char *linkage, const char *name,
                             uint32_t file, uint32_t line);
/* The function of these very ids. */
uint32_t td_answers_put_function(struct td_answers *answers,
                                 const struct td_answer_function *function);
/* The function of a symbol table's name, which may or may not be mangled. */
uint32_t td_answers_symbol(struct td_answers *answers, const char *name);
/* Borrowed until the next addition of a string. */
const char *td_answers_function_name(const struct td_answers *answers, uint32_t function);
void td_answers_frame(struct td_answers *answers, const struct td_answer_frame *frame);
/* The frames added since the last call belong to this offset. */
void td_answers_place(struct td_answers *answers, uint64_t offset);
void td_answers_encode(const struct td_answers *answers, struct td_buf *buf);

/* Encoded answers. The bytes are borrowed. */
struct td_answers_view {
    uint32_t place_count, frame_count, function_count, string_count;
    uint32_t note, debug_file;
    bool complete, no_inlines;
    struct td_bytes whole, offsets, ends, frames, functions, string_ends, text;
};

/* TD_EFORMAT when the parts do not add up. Indexes inside are checked as they are read. */
int td_answers_open(struct td_answers_view *view, struct td_bytes bytes, struct td_err *err);
/* Each gives zeros (or "") for an index that is out of bounds. */
uint64_t td_answers_view_offset(const struct td_answers_view *view, uint32_t place);
void td_answers_view_place(const struct td_answers_view *view, uint32_t place,
                           struct td_answer_place *ret);
void td_answers_view_frame(const struct td_answers_view *view, uint32_t frame,
                           struct td_answer_frame *ret);
void td_answers_view_function(const struct td_answers_view *view, uint32_t function,
                              struct td_answer_function *ret);
const char *td_answers_view_string(const struct td_answers_view *view, uint32_t string,
                                   size_t *len);

#endif
