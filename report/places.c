/* SPDX-License-Identifier: MIT */
#include "report/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/code_of.h"
#include "report/query/figures/names.h"

void td_places_release(struct td_places *places)
{
    free(places->functions);
    free(places->file);
    *places = (struct td_places){.functions = NULL};
}

void td_places_add(struct td_places *r, uint32_t function)
{
    for (size_t i = 0; i < r->len; i++) {
        if (r->functions[i] == function)
            return;
    }
    r->functions = td_grow(r->functions, &r->cap, r->len + 1, sizeof(*r->functions));
    r->functions[r->len++] = function;
}

/* "FILE:14" or "FILE:10-20"; false when the word is not of that form. */
static bool parse_place(const char *word, struct td_places *r)
{
    const char *colon = strrchr(word, ':');
    uint64_t from = 0, to = 0;
    char number[24];

    if (!colon || colon == word || colon[-1] == ':' || strlen(colon) > sizeof(number))
        return false;
    const size_t len = strcspn(colon + 1, "-");
    memcpy(number, colon + 1, len);
    number[len] = '\0';
    if (!td_parse_u64(number, &from) || from == 0 || from > UINT32_MAX)
        return false;
    to = from;
    if (colon[1 + len] == '-' && (!td_parse_u64(colon + 2 + len, &to) || to < from))
        return false;
    r->file = td_xstrndup(word, (size_t)(colon - word));
    r->from = (uint32_t)from;
    r->to = to > UINT32_MAX ? UINT32_MAX : (uint32_t)to;
    return true;
}

/* By what they cost themselves; then those that only contain what costs. */
static void find_functions(const struct td_session *session, const struct td_rows *rows,
                           const char *pattern, struct td_places *r)
{
    const struct td_model *model = session->model;
    const size_t before = r->len;

    for (size_t i = 0; i < rows->len; i++) {
        if (rows->at[i].function != TD_NONE &&
            td_pattern_names(pattern, td_row_name(rows, &rows->at[i])))
            td_places_add(r, rows->at[i].function);
    }
    for (uint32_t f = 0; f < td_model_function_count(model) && r->len == before; f++) {
        if (td_pattern_names(pattern, td_model_string(model, td_model_function(model, f)->name)))
            td_places_add(r, f);
    }
}

/* A module's name stands for its code without names, which only instructions can show. */
static void find_unnamed(const struct td_model *model, const struct td_rows *rows,
                         const char *pattern, struct td_places *r)
{
    for (size_t i = 0; i < rows->len; i++) {
        const struct td_row *row = &rows->at[i];

        if (row->function == TD_NONE && row->module != TD_NONE &&
            td_pattern_is_path(pattern, td_module_name(model, row->module)))
            td_places_add(r, td_code_unnamed(model, row->module));
    }
}

/* "hot.c": a source file, or the end of its path. */
static bool find_file(const struct td_model *model, const char *word, struct td_places *r)
{
    for (uint32_t i = 0; i < td_model_line_count(model) && !r->file; i++) {
        const uint32_t file = td_model_line(model, i)->file;

        if (file != 0 && td_pattern_is_path(word, td_model_string(model, file)))
            r->file = td_xstrdup(word);
    }
    if (!r->file)
        return false;
    r->whole = true;
    r->from = 1;
    r->to = UINT32_MAX;
    return true;
}

bool td_places_find(struct td_places *places, const struct td_session *session,
                    const struct td_rows *rows, const char *word)
{
    const size_t before = places->len;

    if (!places->file && parse_place(word, places))
        return true;
    find_functions(session, rows, word, places);
    const bool named = places->len > before;
    if (!named)
        find_unnamed(session->model, rows, word, places);
    places->unnamed = places->unnamed || (!named && places->len > before);
    return places->len > before || (!places->file && find_file(session->model, word, places));
}
