/* SPDX-License-Identifier: MIT */
/* Which lines are the same: files in pairs, then lines by content, or by where functions begin. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "report/attribution/stats.h"
#include "report/query/diff/diff_priv.h"

#define LEAST_SHARE  0.0001 /* of a run: lines below that are in one row */
#define WORTH_SAYING 0.005  /* of a run: how so much of it was matched */
#define NO_LINE      (UINT64_C(1) << 62)
#define NEW_LINE     (UINT64_C(1) << 61)

/* A file of a side, and how its lines become those of the first side's. */
struct file {
    const char *path;
    const char *old; /* NULL: the first side has no such file */
    enum td_diff_lines by;
    uint32_t *old_of; /* TEXT */
    uint32_t count;
    struct td_match_anchor *anchors; /* DISTANCE */
    size_t anchor_count, anchor_cap;
};

struct files {
    struct td_map ids; /* (hash of the path, side) -> index */
    struct file *at;
    size_t len, cap;
};

static uint64_t hash_path(const char *path)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static struct file *find_file(struct files *files, size_t side, const char *path, bool *added)
{
    const uint32_t index =
        *td_map_put(&files->ids, hash_path(path), side, (uint32_t)files->len, added);

    if (*added) {
        files->at = td_grow(files->at, &files->cap, files->len + 1, sizeof(*files->at));
        files->at[files->len++] = (struct file){.path = path};
    }
    return &files->at[index];
}

static const char *file_of(const struct td_diff_source *source, const struct td_row *row)
{
    return row->file ? td_model_string(source->measure->model, row->file) : NULL;
}

/* The files of the first side's lines and functions. */
static void find_old_files(struct files *files, const struct td_diff_source *sources, size_t count)
{
    for (size_t i = 0; i < count && sources[i].side == 0; i++) {
        const struct td_rows *const tables[] = {&sources[i].lines, &sources[i].functions};

        for (size_t t = 0; t < 2; t++) {
            for (size_t r = 0; r < tables[t]->len; r++) {
                const char *path = file_of(&sources[i], &tables[t]->at[r]);
                bool added = false;

                if (path)
                    find_file(files, 0, path, &added);
            }
        }
    }
}

static bool is_old_file(const struct files *files, const char *path)
{
    return td_map_find(&files->ids, hash_path(path), 0) != NULL;
}

/* A file is the one of its path, else the one in which the side's costliest function of it was. */
static void pair_files(struct files *files, const struct td_diff *diff,
                       const struct td_diff_rows *functions)
{
    for (size_t side = 1; side < diff->column_count; side++) {
        for (size_t f = 0; f < functions->len; f++) {
            const struct td_diff_place *old = &functions->at[f].places[0];
            const struct td_diff_place *now = &functions->at[f].places[side];
            bool added = false;

            if (!now->there || !now->file)
                continue;
            struct file *file = find_file(files, side, now->file, &added);
            if (added && is_old_file(files, now->file))
                file->old = now->file;
            if (!file->old && old->there && old->file)
                file->old = old->file;
            if (!file->old || !old->there || !old->file || old->line == 0 || now->line == 0 ||
                strcmp(file->old, old->file) != 0)
                continue;
            file->anchors = td_grow(file->anchors, &file->anchor_cap, file->anchor_count + 1,
                                    sizeof(*file->anchors));
            file->anchors[file->anchor_count++] =
                (struct td_match_anchor){.old = old->line, .now = now->line};
        }
    }
}

/* How the file's lines are found, once. */
static void prepare(const struct files *files, struct file *file, size_t side,
                    const struct td_diff_opts *opts)
{
    const struct td_match_text *old = NULL, *now = NULL;

    if (!file->old && is_old_file(files, file->path))
        file->old = file->path;
    if (!file->old)
        return;
    if (opts->texts) {
        old = opts->texts->text(opts->texts->ctx, 0, file->old);
        now = opts->texts->text(opts->texts->ctx, side, file->path);
    }
    if (old && now) {
        file->by = TD_DIFF_LINES_TEXT;
        if (old->count == now->count &&
            (now->count == 0 ||
             memcmp(old->lines, now->lines, now->count * sizeof(*now->lines)) == 0))
            file->by = TD_DIFF_LINES_SAME;
    } else {
        file->by = file->anchor_count > 0 ? TD_DIFF_LINES_DISTANCE : TD_DIFF_LINES_NUMBER;
    }
    if (file->by == TD_DIFF_LINES_TEXT) {
        file->count = now->count;
        file->old_of = td_xcalloc((size_t)now->count + 1, sizeof(*file->old_of));
        td_match_lines(file->old_of, old, now);
    }
    td_match_sort_anchors(file->anchors, file->anchor_count);
}

/* The line's number in the first side's file; 0: it has none there. */
static uint32_t old_line(const struct file *file, uint32_t line)
{
    switch (file->by) {
    case TD_DIFF_LINES_TEXT: return line <= file->count ? file->old_of[line - 1] : 0;
    case TD_DIFF_LINES_DISTANCE: return td_match_line(file->anchors, file->anchor_count, line);
    case TD_DIFF_LINES_SAME:
    case TD_DIFF_LINES_NUMBER: return line;
    case TD_DIFF_LINES_NONE: break;
    }
    return 0;
}

struct keys {
    double matched_by[TD_DIFF_LINES_NUMBER + 1]; /* the greatest part of a run */
    struct files files;
    bool *prepared; /* by file */
    size_t prepared_cap;
    struct td_map ids;
    uint32_t count;
    const struct td_diff_opts *opts;
    struct td_map functions; /* of one source: (function, module) -> id of the function */
    bool *same;              /* of one source, by module: the first side has this very build */
};

/* Lines of the same build are the same, whatever became of its source since. */
static void find_same_builds(struct keys *k, const struct td_diff_source *sources, size_t count,
                             const struct td_diff_source *source)
{
    const struct td_model *model = source->measure->model;

    free(k->same);
    k->same = td_xcalloc((size_t)td_model_module_count(model) + 1, sizeof(*k->same));
    for (size_t i = 0; i < count && sources[i].side == 0; i++) {
        const struct td_model *old = sources[i].measure->model;

        for (uint32_t m = 0; m < td_model_module_count(model); m++) {
            const struct td_build_id *id = &td_model_module(model, m)->build_id;

            for (uint32_t o = 0; id->size && o < td_model_module_count(old) && !k->same[m]; o++)
                k->same[m] = td_build_id_equal(id, &td_model_module(old, o)->build_id);
        }
    }
}

static void index_functions(struct keys *k, const struct td_diff_source *source)
{
    td_map_clear(&k->functions);
    for (size_t r = 0; r < source->functions.len; r++) {
        const struct td_row *row = &source->functions.at[r];

        td_map_put(&k->functions, row->function, row->function == TD_NONE ? row->module : 0,
                   source->function_ids[r], NULL);
    }
}

static uint32_t key_id(struct keys *k, uint64_t a, uint64_t b)
{
    bool added = false;
    const uint32_t id = *td_map_put(&k->ids, a, b, k->count, &added);

    k->count += added;
    return id;
}

/* `shares`: adds the row's to those of how its line was found. */
static uint32_t id_of(struct keys *k, const struct td_diff_source *source, const struct td_row *row,
                      double *shares)
{
    const char *path = file_of(source, row);
    bool added = false;

    if (row->line == 0 || !path) {
        const uint32_t *function =
            td_map_find(&k->functions, row->function, row->function == TD_NONE ? row->module : 0);

        return key_id(k, function ? *function : TD_NONE, NO_LINE);
    }
    if (source->side == 0)
        return key_id(k, hash_path(path), row->line);
    if (row->module != TD_NONE && k->same[row->module]) {
        shares[TD_DIFF_LINES_SAME] += td_row_share(&source->lines, row);
        return key_id(k, hash_path(path), row->line);
    }
    struct file *file = find_file(&k->files, source->side, path, &added);
    const size_t index = (size_t)(file - k->files.at);
    k->prepared = td_grow_zeroed(k->prepared, &k->prepared_cap, k->files.len, sizeof(bool));
    if (!k->prepared[index])
        prepare(&k->files, file, source->side, k->opts);
    k->prepared[index] = true;
    const uint32_t line = old_line(file, row->line);
    /* What did not move is the same however it was found. */
    shares[line == row->line && file->by != TD_DIFF_LINES_NUMBER ? TD_DIFF_LINES_SAME : file->by] +=
        td_row_share(&source->lines, row);
    return line ? key_id(k, hash_path(file->old), line)
                : key_id(k, hash_path(path), NEW_LINE | row->line);
}

/* Ids of lines that are small in every run become 0, the others 1 and up; returns how many. */
static uint32_t drop_small(uint32_t **ids, const struct td_diff_source *sources, size_t count,
                           uint32_t all)
{
    uint32_t *new_id = td_xcalloc((size_t)all + 1, sizeof(*new_id));
    uint32_t kept = 1;

    for (size_t i = 0; i < count; i++) {
        const struct td_rows *lines = &sources[i].lines;

        for (size_t r = 0; r < lines->len; r++) {
            if (new_id[ids[i][r]] == 0 && td_row_share(lines, &lines->at[r]) >= LEAST_SHARE)
                new_id[ids[i][r]] = kept++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t r = 0; r < sources[i].lines.len; r++)
            ids[i][r] = new_id[ids[i][r]];
    }
    free(new_id);
    return kept;
}

uint32_t td_diff_line_ids(struct td_diff *diff, struct td_diff_source *sources, size_t count,
                          const struct td_diff_rows *functions, const struct td_diff_opts *opts,
                          uint32_t **ids)
{
    struct keys k = {.opts = opts};

    find_old_files(&k.files, sources, count);
    pair_files(&k.files, diff, functions);
    for (size_t i = 0; i < count; i++) {
        const struct td_rows *lines = &sources[i].lines;
        double shares[TD_DIFF_LINES_NUMBER + 1] = {0};

        index_functions(&k, &sources[i]);
        find_same_builds(&k, sources, count, &sources[i]);
        ids[i] = td_xcalloc(lines->len + 1, sizeof(*ids[i]));
        for (size_t r = 0; r < lines->len; r++)
            ids[i][r] = id_of(&k, &sources[i], &lines->at[r], shares);
        for (unsigned by = TD_DIFF_LINES_SAME; by <= TD_DIFF_LINES_NUMBER; by++)
            k.matched_by[by] = fmax(k.matched_by[by], shares[by]);
    }
    for (unsigned by = TD_DIFF_LINES_SAME; by <= TD_DIFF_LINES_NUMBER; by++)
        diff->lines_by |= (unsigned)(k.matched_by[by] >= WORTH_SAYING) << by;
    for (size_t i = 0; i < k.files.len; i++) {
        free(k.files.at[i].old_of);
        free(k.files.at[i].anchors);
    }
    free(k.files.at);
    free(k.prepared);
    free(k.same);
    td_map_release(&k.files.ids);
    td_map_release(&k.ids);
    td_map_release(&k.functions);
    return drop_small(ids, sources, count, k.count);
}
