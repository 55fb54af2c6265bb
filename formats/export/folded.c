/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: "process;outermost;…;innermost COUNT", one line a stack, as flame graph tools
 * read them. Stacks are merged by name in a tree, so that memory grows with what is printed and
 * not with its text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/export/export.h"
#include "formats/frames.h"

#define NAME_MAX_BYTES 4096

struct fold_node {
    uint32_t parent; /* 0 is the root; its own parent is itself */
    uint32_t name;   /* in `names` */
    uint64_t value;
};

struct fold {
    const struct td_model *model;
    struct td_intern *names; /* escaped */
    struct td_map ids;       /* (parent, name) -> node */
    struct fold_node *nodes;
    size_t len, cap;
    uint32_t *name_of_function; /* 0: not yet made; two a function, the second when inlined */
    bool mark_inlined;
};

/* `;` separates frames, a newline ends a stack, and the last blank stands before the count. */
static uint32_t escaped(struct fold *fold, const char *name, bool mark)
{
    static const char inlined[] = "_[i]";
    char buf[NAME_MAX_BYTES + sizeof(inlined)];
    size_t used = 0;
    const size_t len = strlen(name);

    for (size_t i = 0; i < len;) {
        const unsigned n = td_text_utf8_len(name + i, len - i);
        char c = name[i];

        if (used + 4 >= NAME_MAX_BYTES)
            break;
        if (n > 1) {
            char safe[16];
            const bool harmless = td_text_safe(safe, sizeof(safe), name + i, n) == n;

            if (harmless)
                memcpy(buf + used, name + i, n);
            else
                buf[used] = '?';
            used += harmless ? n : 1;
            i += n;
            continue;
        }
        if (c == ';')
            c = ':';
        else if (c == '\n')
            c = ' ';
        else if (n == 0 || (unsigned char)c < 0x20 || c == 0x7f)
            c = '?';
        buf[used++] = c;
        i++;
    }
    if (mark) {
        memcpy(buf + used, inlined, sizeof(inlined) - 1);
        used += sizeof(inlined) - 1;
    }
    return td_intern_put(fold->names, used ? buf : "?", used ? used : 1);
}

static uint32_t frame_name(struct fold *fold, const struct td_frame *frame)
{
    char buf[512];

    if (frame->function == TD_NONE)
        return escaped(fold, td_frame_name(fold->model, frame, buf, sizeof(buf)), false);
    const bool mark = fold->mark_inlined && frame->inlined;
    uint32_t *name = &fold->name_of_function[2 * (size_t)frame->function + mark];
    if (*name == 0)
        *name = escaped(fold, td_frame_name(fold->model, frame, buf, sizeof(buf)), mark);
    return *name;
}

static uint32_t child(struct fold *fold, uint32_t parent, uint32_t name)
{
    bool added = false;
    const uint32_t *id = td_map_put(&fold->ids, parent, name, (uint32_t)fold->len, &added);

    if (added) {
        fold->nodes = td_grow(fold->nodes, &fold->cap, fold->len + 1, sizeof(*fold->nodes));
        fold->nodes[fold->len++] = (struct fold_node){.parent = parent, .name = name};
    }
    return *id;
}

static const char *process_name(const struct td_model *model, uint32_t thread)
{
    const struct td_thread *t = td_model_thread(model, thread);
    const char *process = td_model_string(model, t->process);

    return *process ? process : td_model_string(model, t->name);
}

static void add_row(struct fold *fold, struct td_frames *frames, const struct td_measure_row *row,
                    bool no_inline, uint64_t value)
{
    uint32_t node = child(fold, 0, escaped(fold, process_name(fold->model, row->thread), false));

    td_frames_fill(frames, fold->model, row->node, no_inline);
    for (size_t i = frames->len; i > 0; i--)
        node = child(fold, node, frame_name(fold, &frames->at[i - 1]));
    if (frames->len == 0)
        node = child(fold, node, escaped(fold, "[unknown]", false));
    fold->nodes[node].value += value;
}

struct order {
    const struct fold *fold;
    uint32_t node;
};

/* By parent, then by name: the children of a node end up side by side. */
static int compare_siblings(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    const struct fold_node *m = &x->fold->nodes[x->node], *n = &y->fold->nodes[y->node];

    if (m->parent != n->parent)
        return m->parent < n->parent ? -1 : 1;
    return strcmp(td_intern_get(x->fold->names, m->name), td_intern_get(x->fold->names, n->name));
}

static void print_stack(const struct fold *fold, uint32_t node, uint32_t *path, FILE *out)
{
    const uint64_t value = fold->nodes[node].value;
    size_t len = 0;

    for (; node != 0; node = fold->nodes[node].parent)
        path[len++] = fold->nodes[node].name;
    while (len > 0) {
        fputs(td_intern_get(fold->names, path[--len]), out);
        fputc(len ? ';' : ' ', out);
    }
    fprintf(out, "%" PRIu64 "\n", value);
}

/* In the order of the text, so that two profiles can be compared by diff. */
static void print_tree(const struct fold *fold, FILE *out)
{
    struct order *order = td_xcalloc(fold->len, sizeof(*order));
    uint32_t *first = td_xcalloc(fold->len + 1, sizeof(*first)); /* child in `order`; 0: none */
    uint32_t *stack = td_xcalloc(fold->len + 1, sizeof(*stack));
    uint32_t *path = td_xcalloc(fold->len + 1, sizeof(*path));
    size_t depth = 0;

    for (size_t i = 0; i < fold->len; i++)
        order[i] = (struct order){fold, (uint32_t)i};
    qsort(order + 1, fold->len - 1, sizeof(*order), compare_siblings);
    for (size_t i = fold->len; i-- > 1;)
        first[fold->nodes[order[i].node].parent] = (uint32_t)i;
    if (first[0])
        stack[depth++] = first[0];
    while (depth > 0) {
        const uint32_t at = stack[--depth], node = order[at].node;

        if (fold->nodes[node].value > 0)
            print_stack(fold, node, path, out);
        if (at + 1 < fold->len &&
            fold->nodes[order[at + 1].node].parent == fold->nodes[node].parent)
            stack[depth++] = at + 1;
        if (first[node])
            stack[depth++] = first[node];
    }
    free(path);
    free(stack);
    free(first);
    free(order);
}

/* What flame graph tools expect is a number of samples. It is given where each sample stands for as
 * much time; else the shares would not be those of the tables, and what they are of is given. */
static enum td_metric own_choice(const struct td_measure *measure)
{
    const enum td_metric primary = td_measure_primary(measure);
    const uint64_t *const samples = measure->values[TD_METRIC_SAMPLES];
    const uint64_t *const values = measure->values[primary];
    const uint64_t count = measure->totals[TD_METRIC_SAMPLES];

    if (primary != TD_METRIC_TIME_NS || measure->weighted || !samples || count == 0)
        return primary;
    const uint64_t each = measure->totals[primary] / count;
    for (size_t i = 0; i < measure->row_count; i++) {
        if (values[i] != samples[i] * each)
            return primary;
    }
    return TD_METRIC_SAMPLES;
}

static int write_folded(const struct td_measure *measure, const struct td_export_opts *opts,
                        FILE *out, struct td_err *err)
{
    const enum td_metric metric =
        opts->metric < TD_METRIC_COUNT ? opts->metric : own_choice(measure);
    const uint64_t *values = measure->values[metric];
    struct fold fold = {.model = measure->model, .mark_inlined = opts->mark_inlined};
    struct td_frames frames = {0};

    if (!values)
        return td_fail(err, TD_ENODATA, "this profile has no values of '%s'", td_metric_id(metric));
    fold.names = td_intern_new();
    fold.name_of_function = td_xcalloc(2 * (size_t)td_model_function_count(measure->model) + 2,
                                       sizeof(*fold.name_of_function));
    fold.nodes = td_grow(NULL, &fold.cap, 1, sizeof(*fold.nodes));
    fold.nodes[fold.len++] = (struct fold_node){0};
    for (size_t i = 0; i < measure->row_count; i++) {
        if (values[i] > 0)
            add_row(&fold, &frames, &measure->rows[i], opts->no_inline, values[i]);
    }
    print_tree(&fold, out);
    td_frames_release(&frames);
    td_map_release(&fold.ids);
    td_intern_free(fold.names);
    free(fold.name_of_function);
    free(fold.nodes);
    return TD_OK;
}

const struct td_exporter td_export_folded = {
    .name = "folded",
    .suffix = "folded",
    .about = "folded stacks: flamegraph.pl, inferno, speedscope",
    .one_value = true,
    .write = write_folded,
};
