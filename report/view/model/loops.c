/* SPDX-License-Identifier: MIT */
#include "report/view/model/loops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/frames.h"
#include "report/view/head.h"

enum {
    INDENT = 2,
    PLACE = 54,    /* columns before where the loop is */
    DETAIL = 7,    /* columns before what is said of a loop */
    LINKS_MAX = 8, /* of a chain, in the text */
    TEXT_MAX = 2048,
};

static const char *format_times(double value, char *buf, size_t size)
{
    if (value < 99.95 && fabs(value - round(value)) > 0.005)
        snprintf(buf, size, "%.1f", value);
    else
        td_format_count(buf, size, (uint64_t)(value + 0.5));
    return buf;
}

static double share(const struct td_loops *loops, double slots)
{
    return loops->slots > 0 ? slots / loops->slots : 0;
}

static void print_row(const struct td_loops_view *view, const struct td_loop *loop,
                      const struct td_style *style)
{
    char text[1024], cell[5][40];
    const double each = loop->iterations, cycles = loop->slots / view->loops->width;
    const unsigned at = PLACE + INDENT * loop->depth;

    td_style_begin(style, td_style_heat(share(view->loops, loop->slots)));
    fprintf(style->out, "%5.1f", 100 * share(view->loops, loop->slots));
    td_style_end(style, td_style_heat(share(view->loops, loop->slots)));
    fprintf(
        style->out, "%8s%8s%6s%14s%11s  %*s",
        td_loop_figure(each > 0 ? loop->cycles : NAN, cell[0], sizeof(cell[0])),
        td_loop_figure(each > 0 ? loop->uops / each : NAN, cell[1], sizeof(cell[1])),
        td_loop_figure(cycles > 0 ? loop->instructions / cycles : NAN, cell[2], sizeof(cell[2])),
        format_times(each, cell[3], sizeof(cell[3])),
        format_times(loop->entries > 0 ? each / loop->entries : 0, cell[4], sizeof(cell[4])),
        (int)(INDENT * loop->depth), "");
    td_loop_place(view->words.model, loop, text, sizeof(text));
    td_style_safe(style, text, style->full ? 0 : style->width > at + 8 ? style->width - at : 8);
    fputc('\n', style->out);
}

static void add(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);

    snprintf(text + used, size - used, "%s", more);
}

static void say_verdict(const struct td_loop *loop, char *text, size_t size)
{
    char what[80], bound[40], cycles[40], line[256];
    const double whole =
        loop->cycles + (loop->bound == TD_LOOP_CALLS ? loop->bounds[loop->bound] : 0);

    td_loop_bound_words(loop, loop->bound, what, sizeof(what));
    /* Where a loop is entered again, iterations of both entries run at the same time. */
    if (loop->bounds[loop->bound] > 1.005 * whole)
        snprintf(line, sizeof(line), "bound by %s: %s cycles; %s measured%s", what,
                 td_loop_figure(loop->bounds[loop->bound], bound, sizeof(bound)),
                 td_loop_figure(whole, cycles, sizeof(cycles)),
                 loop->bound == TD_LOOP_CHAIN ? ", since entries of the loop overlap" : "");
    else
        snprintf(line, sizeof(line), "bound by %s: %s of %s cycles (%.0f %%)", what,
                 td_loop_figure(loop->bounds[loop->bound], bound, sizeof(bound)),
                 td_loop_figure(whole, cycles, sizeof(cycles)), 100 * loop->explained);
    add(text, size, line);
}

/* The bounds beside the verdict that come next. */
static void say_others(const struct td_loop *loop, char *text, size_t size)
{
    bool said[TD_LOOP_BOUND_COUNT] = {false};
    char what[80], figure[40], line[160];

    if (loop->bound == TD_LOOP_INNER)
        return;
    said[loop->bound] = said[TD_LOOP_CALLS] = said[TD_LOOP_INNER] = true;
    /* What is lost to a chain is lost to latency: one is enough. */
    said[TD_LOOP_LATENCY] = said[TD_LOOP_LATENCY] || loop->bound == TD_LOOP_CHAIN;
    for (int n = 0; n < 3; n++) {
        double most = 0.1 * loop->cycles;
        int best = -1;

        for (int b = 0; b < TD_LOOP_BOUND_COUNT; b++) {
            const double cycles = td_loop_binding(loop, (enum td_loop_bound)b);

            if (said[b] || !(cycles >= most) || (best >= 0 && cycles == most))
                continue;
            most = cycles;
            best = b;
        }
        if (best < 0)
            return;
        said[best] = true;
        td_loop_bound_words(loop, (enum td_loop_bound)best, what, sizeof(what));
        snprintf(line, sizeof(line), "%s %s %s", n == 0 ? "; next" : ",", what,
                 td_loop_figure(loop->bounds[best], figure, sizeof(figure)));
        add(text, size, line);
    }
}

static void say_chain(const struct td_loops_view *view, const struct td_loop *loop, char *text,
                      size_t size)
{
    char more[64], chain[TEXT_MAX];

    if (loop->link_count == 0 || !(loop->bounds[TD_LOOP_CHAIN] >= 0.3 * loop->cycles))
        return;
    add(text, size, ". Chain: ");
    td_loop_chain(&view->words, loop, LINKS_MAX, chain, sizeof(chain));
    add(text, size, chain);
    if (loop->path_share < 0.995) {
        snprintf(more, sizeof(more), " (on the path of %.0f %% of the iterations)",
                 100 * loop->path_share);
        add(text, size, more);
    }
}

static void print_detail(const struct td_loops_view *view, const struct td_loop *loop,
                         const struct td_style *style)
{
    char text[TEXT_MAX] = "", part[120];

    if (loop->iterations <= 0)
        return;
    say_verdict(loop, text, sizeof(text));
    say_others(loop, text, sizeof(text));
    say_chain(view, loop, text, sizeof(text));
    if (loop->bound != TD_LOOP_CALLS && loop->called_slots > 0.1 * loop->slots) {
        snprintf(part, sizeof(part), ". What it calls takes %.1f %% of the time besides",
                 100 * share(view->loops, loop->called_slots));
        add(text, sizeof(text), part);
    }
    if (loop->irregular)
        add(text, sizeof(text), ". It is entered in several places");
    fprintf(style->out, "%*s", DETAIL, "");
    td_style_begin(style, TD_TONE_DIM);
    td_style_wrap(style, text, DETAIL, DETAIL);
    td_style_end(style, TD_TONE_DIM);
}

void td_loops_print(const struct td_loops_view *view, const struct td_style *style)
{
    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%5s%8s%8s%6s%14s%11s  %s", "%", "cycles", "uops", "IPC", "iterations",
            "per entry", "loop");
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    for (size_t i = 0; i < view->loops->len; i++) {
        if (!view->shown[i])
            continue;
        print_row(view, &view->loops->at[i], style);
        print_detail(view, &view->loops->at[i], style);
    }
}

static void json_chain(const struct td_loop_words *words, const struct td_loop *loop,
                       struct td_json *json)
{
    char text[96];

    td_json_array(json, "chain");
    for (size_t i = 0; i < loop->link_count; i++) {
        const struct td_loop_link *link = &loop->links[i];
        const struct td_frame frame = td_frame_leaf(words->model, link->location, false);

        td_json_object(json, NULL);
        td_json_u64(json, "offset", link->offset);
        td_json_double(json, "cycles", link->cycles, 6);
        td_json_bool(json, "load", link->loads);
        if (frame.line)
            td_json_u64(json, "line", frame.line);
        else
            td_json_null(json, "line");
        td_json_string(json, "text",
                       td_loop_text(words, loop->module, link->offset, text, sizeof(text)) ? text
                                                                                           : NULL);
        td_json_end(json);
    }
    td_json_end(json);
}

static void json_ports(const struct td_loop *loop, struct td_json *json)
{
    char ports[48] = "";

    td_loop_ports(loop->ports, ports, sizeof(ports));
    td_json_object(json, "ports");
    td_json_string(json, "names", ports);
    td_json_double(json, "uops", isnan(loop->bounds[TD_LOOP_PORTS]) ? NAN : loop->port_uops, 6);
    td_json_array(json, "each");
    for (int p = 0; p < TD_LOOP_EACH_PORT; p++) {
        if (loop->each_port[p] <= 0)
            continue;
        td_loop_ports((uint16_t)(1U << p), ports, sizeof(ports));
        td_json_object(json, NULL);
        td_json_string(json, "port", ports);
        td_json_double(json, "cycles", loop->each_port[p], 6);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

/* Among those that are shown; TD_NONE: it is not. */
static uint32_t place_among_shown(const struct td_loops_view *view, uint32_t loop)
{
    uint32_t before = 0;

    if (loop == TD_NONE || !view->shown[loop])
        return TD_NONE;
    for (uint32_t i = 0; i < loop; i++)
        before += view->shown[i];
    return before;
}

void td_loop_json(const struct td_loops *loops, const struct td_loop *loop,
                  const struct td_loop_words *words, const char *key, uint32_t parent,
                  struct td_json *json)
{
    const double each = loop ? loop->iterations : 0;
    const double cycles = loop ? loop->slots / loops->width : 0;
    char buf[512];

    if (!loop) {
        td_json_null(json, key);
        return;
    }
    td_json_object(json, key);
    td_json_string(json, "function", td_loop_name(words->model, loop, buf, sizeof(buf)));
    td_json_string(json, "file", loop->file ? td_model_string(words->model, loop->file) : NULL);
    td_json_u64(json, "line_first", loop->line_first);
    td_json_u64(json, "line_last", loop->line_last);
    td_json_string(json, "module", td_module_name(words->model, loop->module));
    td_json_u64(json, "offset", loop->header);
    if (parent == TD_NONE)
        td_json_null(json, "parent");
    else
        td_json_u64(json, "parent", parent);
    td_json_u64(json, "depth", loop->depth);
    td_json_bool(json, "irregular", loop->irregular);
    td_json_double(json, "share", share(loops, loop->slots), 6);
    td_json_double(json, "called_share", share(loops, loop->called_slots), 6);
    td_json_double(json, "entries", loop->entries, 15);
    td_json_double(json, "iterations", each, 15);
    td_json_double(json, "iterations_per_entry", loop->entries > 0 ? each / loop->entries : NAN, 9);
    td_json_double(json, "cycles_per_iteration", each > 0 ? loop->cycles : NAN, 6);
    td_json_double(json, "uops_per_iteration", each > 0 ? loop->uops / each : NAN, 6);
    td_json_double(json, "instructions_per_iteration", each > 0 ? loop->instructions / each : NAN,
                   6);
    td_json_double(json, "ipc", cycles > 0 ? loop->instructions / cycles : NAN, 6);
    td_json_string(json, "bound_by", each > 0 ? td_loop_bound_id(loop->bound) : NULL);
    td_json_double(json, "explained", each > 0 ? loop->explained : NAN, 6);
    td_json_object(json, "bounds");
    for (int b = 0; b < TD_LOOP_BOUND_COUNT; b++)
        td_json_double(json, td_loop_bound_id((enum td_loop_bound)b), loop->bounds[b], 6);
    td_json_end(json);
    json_ports(loop, json);
    td_json_double(json, "code_bytes", loop->code_lines ? (double)loop->code_bytes : NAN, 15);
    td_json_double(json, "code_lines", loop->code_lines ? loop->code_lines : NAN, 15);
    td_json_double(json, "chain_path_share", loop->link_count ? loop->path_share : NAN, 6);
    json_chain(words, loop, json);
    td_json_end(json);
}

void td_loops_json(const struct td_loops_view *view, struct td_json *json)
{
    td_json_array(json, "loops");
    for (size_t i = 0; i < view->loops->len; i++) {
        if (view->shown[i])
            td_loop_json(view->loops, &view->loops->at[i], &view->words, NULL,
                         place_among_shown(view, view->loops->at[i].parent), json);
    }
    td_json_end(json);
}
