/* SPDX-License-Identifier: MIT */
#include "formats/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

uint32_t td_call_tree_put(struct td_call_tree *tree, uint32_t outer, uint32_t frame)
{
    bool added = false;
    const uint32_t index = *td_map_put(&tree->ids, outer, frame, (uint32_t)tree->len, &added);

    if (added) {
        tree->at = td_grow(tree->at, &tree->cap, tree->len + 1, sizeof(*tree->at));
        tree->at[tree->len++] = (struct td_call){.outer = outer, .frame = frame};
    }
    return index;
}

void td_call_tree_release(struct td_call_tree *tree)
{
    free(tree->at);
    td_map_release(&tree->ids);
    *tree = (struct td_call_tree){.at = NULL};
}

void td_call_paths_init(struct td_call_paths *paths, struct td_call_tree *tree,
                        const struct td_model *model, bool no_inline, td_call_frame_fn *frame,
                        void *ctx)
{
    const size_t nodes = (size_t)td_model_node_count(model) + 1;

    *paths = (struct td_call_paths){.tree = tree,
                                    .model = model,
                                    .no_inline = no_inline,
                                    .frame = frame,
                                    .ctx = ctx,
                                    .known = td_xcalloc(nodes, sizeof(*paths->known))};
    memset(paths->known, 0xff, nodes * sizeof(*paths->known)); /* TD_NONE */
}

/* Puts the frames of a location on a path. */
static uint32_t put_location(struct td_call_paths *p, uint32_t path, uint32_t location)
{
    p->location.len = 0;
    td_frames_add(&p->location, p->model, location, p->no_inline);
    for (size_t i = p->location.len; i > 0; i--)
        path = td_call_tree_put(p->tree, path, p->frame(p->ctx, &p->location.at[i - 1]));
    return path;
}

uint32_t td_call_paths_of(struct td_call_paths *p, uint32_t base, uint32_t node)
{
    uint32_t path = base;
    size_t depth = 0;

    for (; node != 0; node = td_model_node(p->model, node)->parent) {
        if (p->known[node].base == base && p->known[node].path != TD_NONE) {
            path = p->known[node].path;
            break;
        }
        p->nodes = td_grow(p->nodes, &p->node_cap, depth + 1, sizeof(*p->nodes));
        p->nodes[depth++] = node;
    }
    while (depth > 0) {
        const uint32_t at = p->nodes[--depth];

        path = put_location(p, path, td_model_node(p->model, at)->location);
        p->known[at] = (struct td_call_known){.base = base, .path = path};
    }
    return path;
}

void td_call_paths_release(struct td_call_paths *paths)
{
    free(paths->known);
    free(paths->nodes);
    td_frames_release(&paths->location);
    *paths = (struct td_call_paths){.tree = NULL};
}
