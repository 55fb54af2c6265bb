/* SPDX-License-Identifier: MIT */
#include "report/view/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/view/table/units.h"

#define REASON_COLUMNS   9
#define PLACE_COLUMNS    22
#define FUNCTION_COLUMNS 20

static const char *name_of(const struct td_model *model, const struct td_wait_place *place,
                           char *buf, size_t size)
{
    if (place->frame.location == TD_NONE) {
        snprintf(buf, size, "(thread %s)", td_model_string(model, place->thread));
        return buf;
    }
    return td_frame_name(model, &place->frame, buf, size);
}

/* "file.c:12", or the module's name. Newly allocated. */
static char *place_text(const struct td_model *model, const struct td_wait_place *place)
{
    if (place->frame.location == TD_NONE)
        return td_xstrdup("");
    if (place->frame.file && place->frame.line)
        return td_xasprintf("%s:%u", td_model_string(model, place->frame.file), place->frame.line);
    return td_xstrdup(td_module_name(model, place->frame.module));
}

static void print_row(const struct td_wait_places *places, const struct td_wait_place *place,
                      struct td_time_unit unit, const struct td_model *model,
                      const struct td_style *style)
{
    /* What the columns before the names take, and a blank before the threads. */
    const unsigned fixed = 6 + 2 + 7 + 2 + 6 + 2 + REASON_COLUMNS + 2 + 2 + PLACE_COLUMNS;
    char name[512], fitted[1024], count[32];
    char *where = place_text(model, place);

    fprintf(style->out, "%6.1f  %7.*f  %6s  %-*s  ",
            places->ns ? 100 * (double)place->ns / (double)places->ns : 0, unit.decimals,
            (double)place->ns * unit.per_ns, td_format_count(count, sizeof(count), place->waits),
            REASON_COLUMNS, place->reason[0] ? place->reason : "?");
    td_fit_path(style, fitted, sizeof(fitted), where, PLACE_COLUMNS);
    fprintf(style->out, "%s%*s  ", fitted,
            td_text_width(fitted) < PLACE_COLUMNS ? PLACE_COLUMNS - (int)td_text_width(fitted) : 0,
            "");
    td_fit_name(style, fitted, sizeof(fitted), name_of(model, place, name, sizeof(name)),
                style->full                               ? 0
                : style->width > fixed + FUNCTION_COLUMNS ? style->width - fixed
                                                          : FUNCTION_COLUMNS);
    fprintf(style->out, "%s\n", fitted);
    free(where);
}

void td_waits_print(const struct td_wait_places *places, const struct td_model *model,
                    double percent, uint64_t max, const struct td_style *style)
{
    const struct td_time_unit unit = td_time_unit_of(style, places->len ? places->at[0].ns : 0);
    size_t shown = 0;

    td_style_begin(style, TD_TONE_HEADING);
    fputs("Waiting, off the CPU, by time of all threads", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fprintf(style->out, "\n%6s  %7s  %6s  %-*s  %-*s  %s\n", "%", unit.name, "waits",
            REASON_COLUMNS, "for", PLACE_COLUMNS, "place", "function");
    for (; shown < places->len && shown < max; shown++) {
        if (shown && 100 * (double)places->at[shown].ns < percent * (double)places->ns)
            break;
        print_row(places, &places->at[shown], unit, model, style);
    }
    td_style_begin(style, TD_TONE_DIM);
    if (shown < places->len)
        fprintf(style->out, "  %s %zu more place%s (--rows, --percent-limit)\n",
                td_style_ellipsis(style), places->len - shown, places->len - shown == 1 ? "" : "s");
    fputs("  (stacks: tdreport folded --off-cpu; --off-cpu on the other reports, too)\n",
          style->out);
    td_style_end(style, TD_TONE_DIM);
}

void td_waits_print_head(const struct td_wait_places *places, const struct td_model *model,
                         const struct td_style *style)
{
    const struct td_wait_place *most = places->at;
    char all[64], taken[64], reason[64], name[512];
    char *text = NULL;

    if (places->len == 0)
        return;
    char *where = place_text(model, most);
    snprintf(reason, sizeof(reason), "for %s ", most->reason);
    td_format_time(style, all, sizeof(all), (double)places->ns);
    td_format_time(style, taken, sizeof(taken), (double)places->preempted_ns);
    text = td_xasprintf("%s of all threads, off the CPU: %.0f %% %sin %s%s%s%s%s%s", all,
                        places->ns ? 100 * (double)most->ns / (double)places->ns : 0,
                        most->reason[0] ? reason : "", name_of(model, most, name, sizeof(name)),
                        where[0] ? " (" : "", where, where[0] ? ")" : "",
                        places->preempted_ns ? "; ready, but without a CPU: " : "",
                        places->preempted_ns ? taken : "");
    td_style_paragraph(style, "waiting", TD_TONE_PLAIN, text);
    free(where);
    free(text);
}

void td_waits_json(const struct td_wait_places *places, const struct td_model *model, uint64_t max,
                   struct td_json *json)
{
    char name[512];

    td_json_object(json, "waits");
    td_json_u64(json, "time_ns", places->ns);
    td_json_u64(json, "waits", places->waits);
    td_json_u64(json, "preempted_ns", places->preempted_ns);
    td_json_array(json, "places");
    for (size_t i = 0; i < places->len && i < max; i++) {
        const struct td_wait_place *place = &places->at[i];
        const bool known = place->frame.location != TD_NONE;

        td_json_object(json, NULL);
        td_json_string(json, "function", known ? name_of(model, place, name, sizeof(name)) : NULL);
        td_json_string(json, "module", known ? td_module_name(model, place->frame.module) : NULL);
        td_json_string(json, "file",
                       place->frame.file ? td_model_string(model, place->frame.file) : NULL);
        td_json_u64(json, "line", place->frame.line);
        td_json_string(json, "for", place->reason[0] ? place->reason : NULL);
        td_json_string(json, "thread",
                       place->thread ? td_model_string(model, place->thread) : NULL);
        td_json_u64(json, "time_ns", place->ns);
        td_json_u64(json, "waits", place->waits);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}
