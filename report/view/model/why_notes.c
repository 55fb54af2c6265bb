/* SPDX-License-Identifier: MIT */
#include "report/view/model/why_notes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/query/figures/measure.h"
#include "report/view/model/sentence.h"

/* A line with less of its section's slots is not worth a sentence. */
#define SECTION_SHARE 0.1

/* Modelled slots, and habits beside them. */
static bool is_told(const struct td_measure *measure)
{
    return measure->values[TD_METRIC_SLOTS] && td_measure_is_modelled(measure) &&
           td_model_habits(measure->model)->len > 0;
}

static uint64_t slots_of(const struct td_marked_line *line)
{
    return line->values[TD_METRIC_SLOTS];
}

/* The places in the section of its dearest lines, the dearest first. */
static size_t choose(size_t chosen[TD_LINE_NOTES_MAX], const struct td_section *section,
                     uint64_t least)
{
    size_t len = 0;

    for (size_t i = 0; i < section->len; i++) {
        const uint64_t slots = slots_of(&section->lines[i]);
        size_t at = len;

        if (slots < least || slots == 0)
            continue;
        while (at > 0 && slots_of(&section->lines[chosen[at - 1]]) < slots)
            at--;
        if (at == TD_LINE_NOTES_MAX)
            continue;
        len += len < TD_LINE_NOTES_MAX;
        for (size_t k = len - 1; k > at; k--)
            chosen[k] = chosen[k - 1];
        chosen[at] = i;
    }
    return len;
}

static void add_note(struct td_line_notes *notes, struct td_why_basis *basis,
                     const struct td_loop_words *words, const char *file, uint32_t line)
{
    struct td_code_parts parts = {.at = NULL};
    struct td_why why;
    size_t at = notes->len;

    td_code_of_lines(&parts, basis->measure, file, line, line);
    if (parts.len > 0)
        td_why_of(&why, basis, &parts);
    if (parts.len > 0 && why.cause != TD_WHY_NOTHING) {
        for (; at > 0 && notes->at[at - 1].line > line; at--)
            notes->at[at] = notes->at[at - 1];
        notes->at[at] = (struct td_line_note){.line = line,
                                              .id = td_why_id(why.cause),
                                              .title = td_why_text(why.cause),
                                              .text = td_why_sentence(&why, words)};
        notes->len++;
    }
    td_code_parts_release(&parts);
}

static void add_notes(struct td_line_notes *notes, struct td_why_basis *basis,
                      const struct td_loop_words *words, const struct td_section *section,
                      double least)
{
    const struct td_measure *measure = basis->measure;
    const double of_all = least * (double)measure->totals[TD_METRIC_SLOTS];
    const double of_section = SECTION_SHARE * (double)section->values[TD_METRIC_SLOTS];
    size_t chosen[TD_LINE_NOTES_MAX];

    if (!section->file)
        return;
    const size_t count =
        choose(chosen, section, (uint64_t)(of_all > of_section ? of_all : of_section));
    for (size_t i = 0; i < count; i++)
        add_note(notes, basis, words, td_model_string(measure->model, section->file),
                 section->lines[chosen[i]].line);
}

struct td_line_notes *td_why_notes_of(const struct td_measure *measure,
                                      const struct td_measure *stacks,
                                      const struct td_loop_words *words,
                                      const struct td_sections *sections, double least)
{
    struct td_why_basis basis = td_why_basis_init(measure, stacks);

    if (!is_told(measure))
        return NULL;
    struct td_line_notes *notes = td_xcalloc(sections->len + 1, sizeof(*notes));
    for (size_t i = 0; i < sections->len; i++)
        add_notes(&notes[i], &basis, words, &sections->at[i], least);
    td_why_basis_release(&basis);
    return notes;
}

void td_why_notes_free(struct td_line_notes *notes, size_t sections)
{
    for (size_t i = 0; notes && i < sections; i++) {
        for (size_t k = 0; k < notes[i].len; k++)
            free(notes[i].at[k].text);
    }
    free(notes);
}
