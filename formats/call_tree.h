/* SPDX-License-Identifier: MIT */
/*
 * Call paths, each once: its innermost frame, and the path that called it. What the number of a
 * frame stands for, its user says.
 */
#ifndef TD_FORMATS_CALL_TREE_H
#define TD_FORMATS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "formats/frames.h"

struct td_call {
    uint32_t outer; /* index of a path before this one; what its user took for none */
    uint32_t frame;
};

/* A zeroed struct is empty. */
struct td_call_tree {
    struct td_call *at; /* in the order in which they were put */
    size_t len, cap;
    struct td_map ids; /* (outer, frame) to the index */
};

/* The index of the path; a new one when there is none such yet. */
uint32_t td_call_tree_put(struct td_call_tree *tree, uint32_t outer, uint32_t frame);
void td_call_tree_release(struct td_call_tree *tree);

/* The number of a frame. Called for the outermost frames first. */
typedef uint32_t td_call_frame_fn(void *ctx, const struct td_frame *frame);

struct td_call_known {
    uint32_t base, path;
};

/* Paths of a model's stack nodes in a tree. Callers that many nodes share are gone through once. */
struct td_call_paths {
    struct td_call_tree *tree;
    const struct td_model *model;
    bool no_inline;
    td_call_frame_fn *frame;
    void *ctx;
    struct td_call_known *known; /* by node: its path on a base; TD_NONE: not yet */
    uint32_t *nodes;             /* scratch: from the innermost out */
    size_t node_cap;
    struct td_frames location;
};

/* Borrows all it is given. Release afterwards. */
void td_call_paths_init(struct td_call_paths *paths, struct td_call_tree *tree,
                        const struct td_model *model, bool no_inline, td_call_frame_fn *frame,
                        void *ctx);
/* The path of `node` on `base`, which may be TD_NONE; of node 0, `base` itself. */
uint32_t td_call_paths_of(struct td_call_paths *paths, uint32_t base, uint32_t node);
void td_call_paths_release(struct td_call_paths *paths);

#endif
