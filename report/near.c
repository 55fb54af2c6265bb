/* SPDX-License-Identifier: MIT */
#include "report/near.h"

#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "formats/frames.h"

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
