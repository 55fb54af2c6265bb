/* SPDX-License-Identifier: MIT */
#include "report/near.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/figures/names.h"

static void add_threads(struct td_names *names, const struct td_model *model)
{
    for (uint32_t i = 0; i < td_model_thread_count(model); i++)
        td_names_add(names, td_model_string(model, td_model_thread(model, i)->name));
}

static void add_processes(struct td_names *names, const struct td_model *model)
{
    for (uint32_t i = 0; i < td_model_thread_count(model); i++)
        td_names_add(names, td_model_string(model, td_model_thread(model, i)->process));
}

static void add_modules(struct td_names *names, const struct td_model *model)
{
    for (uint32_t i = 0; i < td_model_module_count(model); i++)
        td_names_add(names, td_module_name(model, i));
}

static void add_functions(struct td_names *names, const struct td_model *model)
{
    for (uint32_t i = 0; i < td_model_function_count(model); i++)
        td_names_add(names, td_model_string(model, td_model_function(model, i)->name));
}

const char *td_near_filter(const struct td_model *model, const struct td_common_opts *opts)
{
    const struct {
        const struct td_opt_list *words;
        void (*add)(struct td_names *names, const struct td_model *model);
    } kinds[] = {{&opts->threads, add_threads},
                 {&opts->processes, add_processes},
                 {&opts->modules, add_modules},
                 {&opts->functions, add_functions}};
    struct td_names names = {.items = NULL};
    const char *word = NULL, *near = NULL;
    size_t words = opts->regions.len + (opts->time != NULL);

    for (size_t k = 0; k < TD_ARRAY_SIZE(kinds); k++) {
        words += kinds[k].words->len;
        if (kinds[k].words->len != 1)
            continue;
        word = kinds[k].words->items[0];
        kinds[k].add(&names, model);
    }
    if (words == 1 && word && !strpbrk(word, "*?["))
        near = td_names_nearest(&names, word);
    td_names_release(&names);
    return near;
}

/* The line of the file that cost something and is nearest to those that were asked for; 0: none. */
static uint32_t nearest_line(const struct td_session *session, const struct td_places *places)
{
    struct td_rows rows;
    uint32_t nearest = 0, least = UINT32_MAX;

    td_rows_init(&rows, session->measure, TD_ROWS_LINES, session->opts->no_inline);
    for (size_t i = 0; i < rows.len; i++) {
        const struct td_row *row = &rows.at[i];
        const uint32_t away =
            row->line < places->from ? places->from - row->line : row->line - places->from;

        if (row->file == 0 || row->line == 0 || away >= least ||
            !td_pattern_is_path(places->file, td_model_string(session->model, row->file)))
            continue;
        nearest = row->line;
        least = away;
    }
    td_rows_release(&rows);
    return nearest;
}

/* Whether the profile knows a file of the name. Else adds the last parts of all names. */
static bool is_file(struct td_names *names, const struct td_model *model, const char *file)
{
    for (uint32_t i = 0; i < td_model_line_count(model); i++) {
        const uint32_t known = td_model_line(model, i)->file;

        if (known == 0)
            continue;
        if (td_pattern_is_path(file, td_model_string(model, known)))
            return true;
        if (names->count == 0 || strcmp(names->items[names->count - 1],
                                        td_text_last_part(td_model_string(model, known))) != 0)
            td_names_add(names, td_text_last_part(td_model_string(model, known)));
    }
    return false;
}

char *td_near_lines(const struct td_session *session, const struct td_places *places)
{
    struct td_names names = {.items = NULL};
    const uint32_t line = nearest_line(session, places);
    char *text = NULL;

    if (line != 0) {
        text = td_xasprintf("the nearest line that has a cost is %s:%" PRIu32, places->file, line);
    } else if (is_file(&names, session->model, places->file)) {
        text = td_xstrdup("no line of the file has a cost");
    } else {
        const char *near = td_names_nearest(&names, td_text_last_part(places->file));

        text = near ? td_xasprintf("no such file is known; did you mean %s?", near)
                    : td_xstrdup("no such file is known");
    }
    td_names_release(&names);
    return text;
}
