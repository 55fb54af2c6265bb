/* SPDX-License-Identifier: MIT */
#include "report/view/model/why_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"

const char *td_why_bytes(char buf[TD_WHY_NUMBER], double bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    size_t unit = 0;

    if (bytes < 10240) {
        td_format_count(buf, TD_WHY_NUMBER, (uint64_t)(bytes + 0.5));
        snprintf(buf + strlen(buf), TD_WHY_NUMBER - strlen(buf), " bytes");
        return buf;
    }
    for (bytes /= 1024; bytes >= 1024 && unit + 1 < TD_ARRAY_SIZE(units); bytes /= 1024)
        unit++;
    snprintf(buf, TD_WHY_NUMBER, "%.*f %s", bytes < 10 ? 1 : 0, bytes, units[unit]);
    return buf;
}

/* An estimate is within a tenth or so (formats/profile.md, habits): two digits of it are said. */
static double two_digits(double value)
{
    const double unit = value >= 100 ? pow(10, floor(log10(value)) - 1) : 1;

    return round(value / unit) * unit;
}

const char *td_why_footprint(char buf[TD_WHY_NUMBER], const struct td_why_memory *m)
{
    double bytes = (double)m->footprint, unit = 1;
    char number[TD_WHY_NUMBER];

    while (bytes / unit >= 10240)
        unit *= 1024;
    snprintf(buf, TD_WHY_NUMBER, "about %s", td_why_bytes(number, two_digits(bytes / unit) * unit));
    return buf;
}

const char *td_why_about(char buf[TD_WHY_NUMBER], uint64_t pages)
{
    snprintf(buf, TD_WHY_NUMBER, "%s", pages >= 100 ? "about " : "");
    td_format_count(buf + strlen(buf), TD_WHY_NUMBER - strlen(buf),
                    (uint64_t)two_digits((double)pages));
    return buf;
}

const char *td_why_again(char buf[TD_WHY_NUMBER], const struct td_why_memory *m)
{
    char from[TD_WHY_NUMBER / 2], number[TD_WHY_NUMBER];

    snprintf(from, sizeof(from), "%s", td_why_bytes(number, m->again_bytes));
    snprintf(buf, TD_WHY_NUMBER, "%s to %s", from, td_why_bytes(number, 2 * m->again_bytes));
    return buf;
}

const char *td_why_count(char buf[TD_WHY_NUMBER], uint64_t count)
{
    td_format_count(buf, TD_WHY_NUMBER, count);
    return buf;
}

const char *td_why_stride(char buf[TD_WHY_NUMBER], int64_t stride)
{
    td_format_count(buf, TD_WHY_NUMBER, (uint64_t)(stride < 0 ? -stride : stride));
    snprintf(buf + strlen(buf), TD_WHY_NUMBER - strlen(buf), " bytes %s",
             stride < 0 ? "back" : "on");
    return buf;
}

void td_why_place(char *buf, size_t size, const struct td_model *model, uint32_t location)
{
    const struct td_frame frame = td_frame_leaf(model, location, false);

    if (frame.file && frame.line) {
        snprintf(buf, size, "%s:%" PRIu32, td_text_last_part(td_model_string(model, frame.file)),
                 frame.line);
    } else {
        char name[TD_WHY_TEXT];

        snprintf(buf, size, "%s", td_frame_name(model, &frame, name, sizeof(name)));
    }
}

bool td_why_uses_memory(const struct td_why *why)
{
    return why->habit && why->habit->figures[TD_HABIT_ACCESSES] > 0;
}

bool td_why_branches(const struct td_why *why)
{
    return why->habit && why->habit->figures[TD_HABIT_BRANCHES] > 0;
}

bool td_why_is_of_branch(enum td_why_cause cause)
{
    return cause >= TD_WHY_BRANCH_RANDOM && cause <= TD_WHY_BRANCH;
}
