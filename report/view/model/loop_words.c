/* SPDX-License-Identifier: MIT */
#include "report/view/model/loop_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/frames.h"

bool td_loop_text(const struct td_loop_words *words, uint32_t module, uint64_t offset, char *text,
                  size_t size)
{
    return words->text && words->text(words->ctx, module, offset, text, size);
}

const char *td_loop_name(const struct td_model *model, const struct td_loop *loop, char *buf,
                         size_t size)
{
    const struct td_frame frame = {
        .location = TD_NONE, .module = loop->module, .function = loop->function};

    return td_frame_name(model, &frame, buf, size);
}

void td_loop_place(const struct td_model *model, const struct td_loop *loop, char *text,
                   size_t size)
{
    char buf[512];
    const char *name = td_loop_name(model, loop, buf, sizeof(buf));

    if (loop->function == TD_NONE || loop->line_first == 0)
        snprintf(text, size, "%s+0x%llx%s%s", td_module_name(model, loop->module),
                 (unsigned long long)loop->header, loop->function == TD_NONE ? "" : " ",
                 loop->function == TD_NONE ? "" : name);
    else if (loop->line_first == loop->line_last)
        snprintf(text, size, "%s:%u %s", td_text_last_part(td_model_string(model, loop->file)),
                 loop->line_first, name);
    else
        snprintf(text, size, "%s:%u-%u %s", td_text_last_part(td_model_string(model, loop->file)),
                 loop->line_first, loop->line_last, name);
}

const char *td_loop_figure(double value, char *buf, size_t size)
{
    if (isnan(value))
        snprintf(buf, size, "-");
    else if (value < 99.995)
        snprintf(buf, size, "%.2f", value);
    else if (value < 9999.5)
        snprintf(buf, size, "%.1f", value);
    else if (value < 999999.5)
        td_format_count(buf, size, (uint64_t)(value + 0.5));
    else if (value < 999.95e6)
        snprintf(buf, size, "%.1fM", value / 1e6);
    else
        snprintf(buf, size, "%.3gG", value / 1e9);
    return buf;
}

void td_loop_ports(uint16_t ports, char *text, size_t size)
{
    size_t used = 0;

    for (int p = 0; p < 16 && used + 3 < size; p++) {
        if (ports >> p & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%X", used ? " " : "", p);
    }
}

void td_loop_bound_words(const struct td_loop *loop, enum td_loop_bound bound, char *text,
                         size_t size)
{
    static const char *const words[TD_LOOP_BOUND_COUNT] = {
        [TD_LOOP_CHAIN] = "a chain of dependencies",
        [TD_LOOP_WIDTH] = "the width of the core",
        [TD_LOOP_DIVIDER] = "the divider",
        [TD_LOOP_LOCK] = "locked instructions",
        [TD_LOOP_UNIT] = "a unit that takes one at a time",
        [TD_LOOP_MEMORY] = "memory",
        [TD_LOOP_STORES] = "the store buffer",
        [TD_LOOP_LATENCY] = "the latency of its operations",
        [TD_LOOP_PREDICTION] = "mispredicted branches",
        [TD_LOOP_FETCH] = "fetch and decode",
        [TD_LOOP_SERIAL] = "instructions that wait for all before them",
        [TD_LOOP_INNER] = "the loops in it",
        [TD_LOOP_CALLS] = "what it calls",
    };
    char ports[48] = "";

    td_loop_ports(loop->ports, ports, sizeof(ports));
    if (bound == TD_LOOP_PORTS)
        snprintf(text, size, "%sport%s %s",
                 loop->port_loads    ? "load "
                 : loop->port_stores ? "store "
                                     : "",
                 strchr(ports, ' ') ? "s" : "", ports);
    else
        snprintf(text, size, "%s", words[bound]);
}

static void append(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);

    snprintf(text + used, size - used, "%s", more);
}

void td_loop_each_port(const struct td_loop *loop, char *text, size_t size)
{
    uint16_t told = 0;
    char ports[48], figure[40], part[96];

    *text = '\0';
    for (;;) {
        double most = 0;
        uint16_t same = 0;

        for (int p = 0; p < TD_LOOP_EACH_PORT; p++)
            most = told >> p & 1 ? most : fmax(most, loop->each_port[p]);
        if (most <= 0)
            return;
        for (int p = 0; p < TD_LOOP_EACH_PORT; p++) {
            if (fabs(loop->each_port[p] - most) < 1e-6)
                same |= (uint16_t)(1U << p);
        }
        td_loop_ports(same, ports, sizeof(ports));
        snprintf(part, sizeof(part), "%s%s: %s", told ? ", " : "", ports,
                 td_loop_figure(most, figure, sizeof(figure)));
        append(text, size, part);
        told |= same;
    }
}

/* Of an instruction that nobody can read: its line, or its offset. */
static void link_place(const struct td_model *model, const struct td_loop_link *link, char *text,
                       size_t size)
{
    const struct td_frame frame = td_frame_leaf(model, link->location, false);

    if (frame.file && frame.line)
        snprintf(text, size, "%s:%u", td_text_last_part(td_model_string(model, frame.file)),
                 frame.line);
    else
        snprintf(text, size, "+0x%llx", (unsigned long long)link->offset);
}

static void append_link(const struct td_loop_words *words, const struct td_loop *loop,
                        const struct td_loop_link *link, char *text, size_t size)
{
    char code[96] = "", line[200];

    if (!td_loop_text(words, loop->module, link->offset, code, sizeof(code)))
        link_place(words->model, link, code, sizeof(code));
    snprintf(line, sizeof(line), "%s %.*f", code,
             fabs(link->cycles - round(link->cycles)) < 0.005 ? 0 : 2, link->cycles);
    append(text, size, line);
}

void td_loop_chain(const struct td_loop_words *words, const struct td_loop *loop, size_t max,
                   char *text, size_t size)
{
    const size_t shown = loop->link_count > max ? max - 1 : loop->link_count;
    char more[64];

    *text = '\0';
    for (size_t i = 0; i < shown; i++) {
        append_link(words, loop, &loop->links[i], text, size);
        append(text, size, i + 1 < loop->link_count ? ", " : "");
    }
    if (shown < loop->link_count) {
        snprintf(more, sizeof(more), "and %zu more", loop->link_count - shown);
        append(text, size, more);
    }
}
