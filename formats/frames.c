/* SPDX-License-Identifier: MIT */
#include "formats/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct td_frame unknown_frame(const struct td_model *model, uint32_t location)
{
    struct td_frame frame = {.location = location, .module = TD_NONE, .function = TD_NONE};

    if (location != TD_NONE)
        frame.module = td_model_location(model, location)->module;
    return frame;
}

static struct td_frame line_frame(const struct td_model *model, uint32_t location, uint32_t line)
{
    const struct td_location *l = td_model_location(model, location);
    const struct td_line *source = td_model_line(model, line);

    return (struct td_frame){.location = location,
                             .module = l->module,
                             .function = source->function,
                             .file = source->file,
                             .line = source->line,
                             .inlined = line + 1 < l->line_first + l->line_count};
}

static void push(struct td_frames *frames, struct td_frame frame)
{
    frames->at = td_grow(frames->at, &frames->cap, frames->len + 1, sizeof(*frames->at));
    frames->at[frames->len++] = frame;
}

void td_frames_add(struct td_frames *frames, const struct td_model *model, uint32_t location,
                   bool no_inline)
{
    const struct td_location *l = td_model_location(model, location);

    if (l->line_count == 0 || no_inline) {
        push(frames, td_frame_leaf(model, location, no_inline));
        return;
    }
    for (uint32_t i = 0; i < l->line_count; i++)
        push(frames, line_frame(model, location, l->line_first + i));
}

void td_frames_fill(struct td_frames *frames, const struct td_model *model, uint32_t node,
                    bool no_inline)
{
    frames->len = 0;
    for (; node != 0; node = td_model_node(model, node)->parent)
        td_frames_add(frames, model, td_model_node(model, node)->location, no_inline);
}

void td_frames_release(struct td_frames *frames)
{
    free(frames->at);
    *frames = (struct td_frames){0};
}

struct td_frame td_frame_leaf(const struct td_model *model, uint32_t location, bool no_inline)
{
    if (location == TD_NONE)
        return unknown_frame(model, location);
    const struct td_location *l = td_model_location(model, location);
    if (l->line_count == 0)
        return unknown_frame(model, location);
    return line_frame(model, location, l->line_first + (no_inline ? l->line_count - 1 : 0));
}

bool td_frame_is_system(const struct td_model *model, const struct td_frame *frame)
{
    static const char *const roots[] = {"/usr/include/", "/usr/lib/gcc/",
                                        "/usr/local/include/c++/"};
    const char *file = frame->file ? td_model_string(model, frame->file) : "";

    for (size_t i = 0; i < TD_ARRAY_SIZE(roots); i++) {
        if (strncmp(file, roots[i], strlen(roots[i])) == 0)
            return true;
    }
    return false;
}

struct td_frame td_frame_own(const struct td_model *model, uint32_t location, bool no_inline)
{
    const struct td_frame leaf = td_frame_leaf(model, location, no_inline);

    if (location == TD_NONE || no_inline)
        return leaf;
    const struct td_location *l = td_model_location(model, location);
    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct td_frame frame = line_frame(model, location, l->line_first + i);

        if (!td_frame_is_system(model, &frame))
            return frame;
    }
    return leaf;
}

const char *td_frame_name(const struct td_model *model, const struct td_frame *frame, char *buf,
                          size_t size)
{
    if (frame->function != TD_NONE)
        return td_model_string(model, td_model_function(model, frame->function)->name);
    if (frame->location == TD_NONE)
        return "[unknown]";
    snprintf(buf, size, "%s+0x%" PRIx64, td_module_name(model, frame->module),
             td_model_location(model, frame->location)->offset);
    return buf;
}

const char *td_module_name(const struct td_model *model, uint32_t module)
{
    if (module == TD_NONE)
        return "[unknown]";
    const char *path = td_model_string(model, td_model_module(model, module)->path);
    const char *slash = strrchr(path, '/');
    if (path[0] == '\0')
        return "[unknown]";
    return slash && slash[1] ? slash + 1 : path;
}
