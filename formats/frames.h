/* SPDX-License-Identifier: MIT */
/* The frames of a stack as people read them: inlined functions unfolded, unknown places named. */
#ifndef TD_FORMATS_FRAMES_H
#define TD_FORMATS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/model.h"

struct td_frame {
    uint32_t location;
    uint32_t module;   /* of the location */
    uint32_t function; /* TD_NONE: no name is known */
    uint32_t file;     /* string; 0 when not known */
    uint32_t line;     /* 0 when not known */
    bool inlined;      /* into the frame after it */
};

/* A zeroed struct is empty and can be filled again and again. */
struct td_frames {
    struct td_frame *at;
    size_t len, cap;
};

/* The frames of `node`, innermost first; with `no_inline` one a location, the containing
 * function's. */
void td_frames_fill(struct td_frames *frames, const struct td_model *model, uint32_t node,
                    bool no_inline);
/* Appends those of one location, innermost first. */
void td_frames_add(struct td_frames *frames, const struct td_model *model, uint32_t location,
                   bool no_inline);
void td_frames_release(struct td_frames *frames);

/* The frame at which `location` spends its own cost. `location` may be TD_NONE: nothing known. */
struct td_frame td_frame_leaf(const struct td_model *model, uint32_t location, bool no_inline);

/* Whether the frame's source is a header of the system's: of the C or C++ library, or the
 * compiler's. What is inlined from there stands for who uses it. */
bool td_frame_is_system(const struct td_model *model, const struct td_frame *frame);
/* The innermost frame of `location` that is of no such header; where all are, the leaf. */
struct td_frame td_frame_own(const struct td_model *model, uint32_t location, bool no_inline);

/* What the frames of one function have in common; code without a name is one function a module. */
static inline uint64_t td_function_key(const struct td_frame *frame)
{
    return frame->function != TD_NONE ? frame->function : UINT64_C(1) << 63 | frame->module;
}

/* The function's name, or "libz.so.1+0x1f40", or "[unknown]". Not escaped. Writes to `buf` only
 * when the name must be made; returns a string that lives as long as the model and `buf`. */
const char *td_frame_name(const struct td_model *model, const struct td_frame *frame, char *buf,
                          size_t size);

/* The last part of the module's path: "libz.so.1.2.13", "[kernel]". TD_NONE gives "[unknown]". */
const char *td_module_name(const struct td_model *model, uint32_t module);

#endif
