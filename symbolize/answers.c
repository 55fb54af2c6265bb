/* SPDX-License-Identifier: MIT */
#include "symbolize/answers.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"
#include "symbolize/demangle.h"

#define ANSWERS_VERSION 3
#define FLAG_COMPLETE   1u
#define FLAG_NO_INLINES 2u
#define HEAD_WORDS      10

void td_answers_init(struct td_answers *answers)
{
    *answers = (struct td_answers){.strings = td_intern_new(), .complete = true};
}

void td_answers_release(struct td_answers *answers)
{
    td_intern_free(answers->strings);
    free(answers->functions);
    free(answers->frames);
    free(answers->places);
    td_map_release(&answers->function_ids);
    td_map_release(&answers->name_ids);
    *answers = (struct td_answers){0};
}

uint32_t td_answers_string(struct td_answers *answers, const char *s)
{
    return s ? td_intern_put(answers->strings, s, strlen(s)) : 0;
}

/* Each linkage name is demangled once; 0 when it is no mangled name. */
static uint32_t demangled(struct td_answers *answers, uint32_t linkage)
{
    bool added = false;
    uint32_t *id = td_map_put(&answers->name_ids, linkage, 0, 0, &added);

    if (added) {
        char *name = td_demangle(td_intern_get(answers->strings, linkage));

        *id = td_answers_string(answers, name);
        free(name);
    }
    return *id;
}

uint32_t td_answers_put_function(struct td_answers *answers,
                                 const struct td_answer_function *function)
{
    bool added = false;
    const uint32_t id = *td_map_put(
        &answers->function_ids, (uint64_t)function->linkage << 32 | function->name,
        (uint64_t)function->file << 32 | function->line, (uint32_t)answers->function_count, &added);

    if (added) {
        answers->functions = td_grow(answers->functions, &answers->function_cap,
                                     answers->function_count + 1, sizeof(*function));
        answers->functions[answers->function_count++] = *function;
    }
    return id;
}

uint32_t td_answers_function(struct td_answers *answers, const char *linkage, const char *name,
                             uint32_t file, uint32_t line)
{
    struct td_answer_function f = {.file = file, .line = line};

    f.linkage = td_answers_string(answers, linkage);
    f.name = f.linkage ? demangled(answers, f.linkage) : 0;
    if (f.name == 0)
        f.name = name ? td_answers_string(answers, name) : f.linkage;
    return td_answers_put_function(answers, &f);
}

uint32_t td_answers_symbol(struct td_answers *answers, const char *name)
{
    return td_answers_function(answers, name, NULL, 0, 0);
}

const char *td_answers_function_name(const struct td_answers *answers, uint32_t function)
{
    return td_intern_get(answers->strings, answers->functions[function].name);
}

void td_answers_frame(struct td_answers *answers, const struct td_answer_frame *frame)
{
    answers->frames =
        td_grow(answers->frames, &answers->frame_cap, answers->frame_count + 1, sizeof(*frame));
    answers->frames[answers->frame_count++] = *frame;
}

void td_answers_place(struct td_answers *answers, uint64_t offset)
{
    uint32_t first = 0;

    if (answers->place_count > 0) {
        const struct td_answer_place *last = &answers->places[answers->place_count - 1];

        first = last->frame_first + last->frame_count;
    }
    answers->places = td_grow(answers->places, &answers->place_cap, answers->place_count + 1,
                              sizeof(*answers->places));
    answers->places[answers->place_count++] =
        (struct td_answer_place){.offset = offset,
                                 .frame_first = first,
                                 .frame_count = (uint32_t)(answers->frame_count - first)};
}

static void put_words(struct td_buf *buf, const uint32_t *words, size_t count)
{
    uint8_t *p = td_buf_reserve(buf, count * 4);

    for (size_t i = 0; i < count; i++) {
        const uint32_t word = htole32(words[i]);

        memcpy(p + 4 * i, &word, 4);
    }
    buf->len += count * 4;
}

static void put_places(struct td_buf *buf, const struct td_answers *answers)
{
    for (size_t i = 0; i < answers->place_count; i++)
        td_buf_u64(buf, answers->places[i].offset);
    for (size_t i = 0; i < answers->place_count; i++)
        td_buf_u32(buf, answers->places[i].frame_first + answers->places[i].frame_count);
}

static void put_strings(struct td_buf *buf, const struct td_intern *strings)
{
    const uint32_t count = td_intern_count(strings);
    uint32_t end = 0;

    for (uint32_t i = 0; i < count; i++) {
        end += (uint32_t)td_intern_len(strings, i);
        td_buf_u32(buf, end);
    }
    for (uint32_t i = 0; i < count; i++)
        td_buf_bytes(buf, td_intern_get(strings, i), td_intern_len(strings, i));
}

/*
 * The layout, all little-endian: ten words (version, flags, counts of places, frames, functions and
 * strings, note, debug file, bytes of text, 0); offsets of places (8 bytes each); where each
 * place's frames end (4); frames (4 x 4); functions (4 x 4); where each string ends (4); the text.
 */
void td_answers_encode(const struct td_answers *answers, struct td_buf *buf)
{
    const uint32_t strings = td_intern_count(answers->strings);
    uint32_t text = 0;

    for (uint32_t i = 0; i < strings; i++)
        text += (uint32_t)td_intern_len(answers->strings, i);
    const uint32_t head[HEAD_WORDS] = {ANSWERS_VERSION,
                                       (answers->complete ? FLAG_COMPLETE : 0) |
                                           (answers->no_inlines ? FLAG_NO_INLINES : 0),
                                       (uint32_t)answers->place_count,
                                       (uint32_t)answers->frame_count,
                                       (uint32_t)answers->function_count,
                                       strings,
                                       answers->note,
                                       answers->debug_file,
                                       text,
                                       0};
    put_words(buf, head, HEAD_WORDS);
    put_places(buf, answers);
    for (size_t i = 0; i < answers->frame_count; i++) {
        const struct td_answer_frame *f = &answers->frames[i];
        const uint32_t words[4] = {f->function, f->file, f->line, f->column};

        put_words(buf, words, 4);
    }
    for (size_t i = 0; i < answers->function_count; i++) {
        const struct td_answer_function *f = &answers->functions[i];
        const uint32_t words[4] = {f->name, f->linkage, f->file, f->line};

        put_words(buf, words, 4);
    }
    put_strings(buf, answers->strings);
}

static struct td_bytes take(struct td_cur *cur, uint64_t size)
{
    const struct td_bytes part = {.data = cur->at, .size = (size_t)size};

    (void)td_cur_bytes(cur, size);
    return part;
}

int td_answers_open(struct td_answers_view *view, struct td_bytes bytes, struct td_err *err)
{
    struct td_cur cur = td_cur_init(bytes);
    struct td_answers_view v = {.whole = bytes};
    const uint32_t version = td_cur_u32(&cur);

    if (version != ANSWERS_VERSION)
        return td_fail(err, TD_EVERSION, "answers of version %u", version);
    const uint32_t flags = td_cur_u32(&cur);
    v.complete = flags & FLAG_COMPLETE;
    v.no_inlines = flags & FLAG_NO_INLINES;
    v.place_count = td_cur_u32(&cur);
    v.frame_count = td_cur_u32(&cur);
    v.function_count = td_cur_u32(&cur);
    v.string_count = td_cur_u32(&cur);
    v.note = td_cur_u32(&cur);
    v.debug_file = td_cur_u32(&cur);
    const uint32_t text = td_cur_u32(&cur);
    (void)td_cur_u32(&cur);
    v.offsets = take(&cur, (uint64_t)v.place_count * 8);
    v.ends = take(&cur, (uint64_t)v.place_count * 4);
    v.frames = take(&cur, (uint64_t)v.frame_count * 16);
    v.functions = take(&cur, (uint64_t)v.function_count * 16);
    v.string_ends = take(&cur, (uint64_t)v.string_count * 4);
    v.text = take(&cur, text);
    if (cur.bad || td_cur_left(&cur) > 0)
        return td_fail_at(err, TD_EFORMAT, bytes.size - td_cur_left(&cur),
                          "the answers are not whole");
    *view = v;
    return TD_OK;
}

static uint32_t u32_at(struct td_bytes bytes, uint64_t index)
{
    struct td_cur cur = td_cur_at(bytes, index * 4);

    return td_cur_u32(&cur);
}

uint64_t td_answers_view_offset(const struct td_answers_view *view, uint32_t place)
{
    struct td_cur cur = td_cur_at(view->offsets, (uint64_t)place * 8);

    return td_cur_u64(&cur);
}

void td_answers_view_place(const struct td_answers_view *view, uint32_t place,
                           struct td_answer_place *ret)
{
    const uint32_t first = place > 0 ? u32_at(view->ends, place - 1) : 0;
    const uint32_t end = u32_at(view->ends, place);
    const bool good = first <= end && end <= view->frame_count;

    *ret = (struct td_answer_place){.offset = td_answers_view_offset(view, place),
                                    .frame_first = first,
                                    .frame_count = good ? end - first : 0};
}

void td_answers_view_frame(const struct td_answers_view *view, uint32_t frame,
                           struct td_answer_frame *ret)
{
    struct td_cur cur = td_cur_at(view->frames, (uint64_t)frame * 16);

    ret->function = td_cur_u32(&cur);
    ret->file = td_cur_u32(&cur);
    ret->line = td_cur_u32(&cur);
    ret->column = td_cur_u32(&cur);
}

void td_answers_view_function(const struct td_answers_view *view, uint32_t function,
                              struct td_answer_function *ret)
{
    struct td_cur cur = td_cur_at(view->functions, (uint64_t)function * 16);

    ret->name = td_cur_u32(&cur);
    ret->linkage = td_cur_u32(&cur);
    ret->file = td_cur_u32(&cur);
    ret->line = td_cur_u32(&cur);
}

const char *td_answers_view_string(const struct td_answers_view *view, uint32_t string, size_t *len)
{
    const uint32_t first = string > 0 ? u32_at(view->string_ends, string - 1) : 0;
    const uint32_t end = u32_at(view->string_ends, string);

    *len = 0;
    if (string >= view->string_count || first > end || end > view->text.size)
        return "";
    *len = end - first;
    return (const char *)view->text.data + first;
}
