/* SPDX-License-Identifier: MIT */
#include "symbolize/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbolize/cache.h"
#include "symbolize/here.h"
#include "symbolize/identity.h"
#include "symbolize/kept.h"
#include "symbolize/worker.h"

/* Below these a module is not worth dividing between processes. */
#define SHARD_ADDRESSES_MIN  2000
#define SHARD_FILE_BYTES_MIN ((uint64_t)4 << 20)

struct td_symbolizer {
    struct td_symbolizer_opts opts;
    int cache_dir; /* a descriptor; -1: no cache */
    struct td_err no_cache;
};

/* An address of a module and who asked for it. */
struct want {
    uint64_t offset;
    uint32_t location;
};

struct module_work {
    uint32_t module;
    struct want *wants; /* by offset */
    size_t count, cap;
    uint64_t *missing; /* the distinct offsets that the cache does not know */
    size_t missing_count;
    size_t jobs_left;            /* that have not ended */
    uint32_t reason, debug_file; /* strings of the model */
    bool no_inlines;             /* of a part inlined functions are not known */
    struct td_cache *cache;
    struct td_module_claims *claims; /* shared by its jobs; NULL: there is one */
};

struct resolve {
    const struct td_symbolizer *symbolizer;
    struct td_model *model;
    struct td_origin origin;
    bool import;              /* of a file of another tool */
    struct module_work *work; /* by module */
    size_t work_count;
    struct td_job *jobs;
    size_t job_count, job_cap;
    size_t total; /* offsets of all jobs */
};

struct td_symbolizer *td_symbolizer_new(const struct td_symbolizer_opts *opts)
{
    struct td_symbolizer *symbolizer = td_xcalloc(1, sizeof(*symbolizer));

    if (opts)
        symbolizer->opts = *opts;
    symbolizer->no_cache = (struct td_err)TD_ERR_INIT;
    symbolizer->cache_dir = td_cache_dir(symbolizer->opts.cache_dir, &symbolizer->no_cache);
    return symbolizer;
}

void td_symbolizer_free(struct td_symbolizer *symbolizer)
{
    if (!symbolizer)
        return;
    if (symbolizer->cache_dir >= 0)
        close(symbolizer->cache_dir);
    free(symbolizer);
}

const char *td_symbolizer_no_cache(const struct td_symbolizer *symbolizer)
{
    return symbolizer->no_cache.code == TD_OK ? NULL : symbolizer->no_cache.text;
}

/* Stable, by bytes of the offset from the lowest to the highest in use. Locations come in order of
 * their ids, so equal offsets stay in that order too. */
static void sort_wants(struct want *wants, size_t count)
{
    struct want *spare = td_xalloc(count * sizeof(*spare));
    struct want *from = wants, *to = spare;
    uint64_t used = 0;

    for (size_t i = 1; i < count; i++)
        used |= wants[i].offset ^ wants[0].offset;
    for (unsigned shift = 0; shift < 64 && used >> shift; shift += 8) {
        size_t starts[257] = {0};

        for (size_t i = 0; i < count; i++)
            starts[(from[i].offset >> shift & 255) + 1]++;
        for (size_t b = 0; b < 256; b++)
            starts[b + 1] += starts[b];
        for (size_t i = 0; i < count; i++)
            to[starts[from[i].offset >> shift & 255]++] = from[i];
        struct want *swap = from;
        from = to;
        to = swap;
    }
    if (from != wants)
        memcpy(wants, from, count * sizeof(*wants));
    free(spare);
}

/* Sorts the locations that have no lines yet by module and offset. */
static void collect(struct resolve *r)
{
    const uint32_t locations = td_model_location_count(r->model);

    r->work_count = td_model_module_count(r->model);
    r->work = td_xcalloc(r->work_count, sizeof(*r->work));
    for (uint32_t i = 0; i < r->work_count; i++)
        r->work[i].module = i;
    for (uint32_t i = 0; i < locations; i++) {
        const struct td_location *l = td_model_location(r->model, i);

        if (l->line_count > 0 || l->module >= r->work_count)
            continue;
        struct module_work *w = &r->work[l->module];
        w->wants = td_grow(w->wants, &w->cap, w->count + 1, sizeof(*w->wants));
        w->wants[w->count++] = (struct want){.offset = l->offset, .location = i};
    }
    for (size_t i = 0; i < r->work_count; i++) {
        if (r->work[i].count > 1)
            sort_wants(r->work[i].wants, r->work[i].count);
    }
}

/* Ids of answers to ids of the model, filled as they are met. */
struct translation {
    struct td_model *model;
    const struct td_answers_view *view;
    uint32_t module;
    uint32_t *strings, *functions; /* TD_NONE: not yet */
    struct td_line *lines;         /* of one location */
    size_t line_cap;
};

static uint32_t *none_array(size_t count)
{
    uint32_t *ids = td_xalloc(count * sizeof(*ids));

    memset(ids, 0xff, count * sizeof(*ids));
    return ids;
}

static uint32_t string_of(struct translation *t, uint32_t id)
{
    size_t len = 0;

    if (id == 0 || id >= t->view->string_count)
        return 0;
    if (t->strings[id] == TD_NONE) {
        const char *text = td_answers_view_string(t->view, id, &len);

        t->strings[id] = td_model_intern(t->model, text, len);
    }
    return t->strings[id];
}

static uint32_t function_of(struct translation *t, uint32_t id)
{
    struct td_answer_function f;

    if (id >= t->view->function_count)
        return TD_NONE;
    if (t->functions[id] == TD_NONE) {
        td_answers_view_function(t->view, id, &f);
        const struct td_function function = {.name = string_of(t, f.name),
                                             .linkage_name = string_of(t, f.linkage),
                                             .file = string_of(t, f.file),
                                             .line = f.line,
                                             .module = t->module};

        t->functions[id] = td_model_put_function(t->model, &function);
    }
    return t->functions[id];
}

static void set_location(struct translation *t, uint32_t location,
                         const struct td_answer_place *place)
{
    uint32_t count = 0;

    t->lines = td_grow(t->lines, &t->line_cap, place->frame_count, sizeof(*t->lines));
    for (uint32_t i = 0; i < place->frame_count; i++) {
        struct td_answer_frame f;

        td_answers_view_frame(t->view, place->frame_first + i, &f);
        const struct td_line line = {.function = function_of(t, f.function),
                                     .file = string_of(t, f.file),
                                     .line = f.line,
                                     .column = f.column};
        if (line.function != TD_NONE)
            t->lines[count++] = line;
    }
    if (count > 0)
        td_model_set_lines(t->model, location, t->lines, count);
}

/* Gives the answers' places to the locations that asked; both are sorted. When `missing` is not
 * NULL, the distinct offsets that have no place go there. */
static size_t apply(struct resolve *r, struct module_work *w, const struct td_answers_view *view,
                    uint64_t *missing)
{
    struct translation t = {.model = r->model, .view = view, .module = w->module};
    struct td_answer_place place;
    size_t missing_count = 0;
    uint32_t p = 0;

    t.strings = none_array(view->string_count);
    t.functions = none_array(view->function_count);
    for (size_t i = 0; i < w->count; i++) {
        const struct want *want = &w->wants[i];

        while (p < view->place_count && td_answers_view_offset(view, p) < want->offset)
            p++;
        td_answers_view_place(view, p, &place);
        if (p < view->place_count && place.offset == want->offset)
            set_location(&t, want->location, &place);
        else if (missing && (missing_count == 0 || missing[missing_count - 1] != want->offset))
            missing[missing_count++] = want->offset;
    }
    if (view->note != 0 && w->reason == 0)
        w->reason = string_of(&t, view->note);
    w->no_inlines |= view->no_inlines;
    if (view->debug_file != 0)
        w->debug_file = string_of(&t, view->debug_file);
    free(t.strings);
    free(t.functions);
    free(t.lines);
    return missing_count;
}

/* Modules whose symbols came with the profile: kernel, vdso, JIT code. */
static void use_own_symbols(struct resolve *r, struct module_work *w)
{
    size_t count = 0, s = 0;
    const struct td_symbol *symbols = td_model_symbols(r->model, w->module, &count);

    for (size_t i = 0; i < w->count; i++) {
        const struct want *want = &w->wants[i];

        while (s + 1 < count && symbols[s + 1].offset <= want->offset)
            s++;
        if (s >= count || symbols[s].offset > want->offset ||
            (symbols[s].size > 0 && want->offset - symbols[s].offset >= symbols[s].size) ||
            td_model_location(r->model, want->location)->line_count > 0)
            continue;
        const struct td_function function = {.name = symbols[s].name, .module = w->module};
        const struct td_line line = {.function = td_model_put_function(r->model, &function),
                                     .file = symbols[s].file,
                                     .line = symbols[s].line};

        td_model_set_lines(r->model, want->location, &line, 1);
    }
}

static unsigned cpu_count(const struct resolve *r)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (r->symbolizer->opts.jobs > 0)
        return r->symbolizer->opts.jobs;
    return cpus > 0 ? (unsigned)cpus : 1;
}

/* Kept answers belong to the recorded build whatever the file is now; that it changed is said all
 * the same, for sources and disassembly will not fit. */
static void note_change(struct resolve *r, struct module_work *w, const struct td_module *module,
                        const char *names)
{
    const char *root = r->symbolizer->opts.sysroot;
    char *path = td_xasprintf("%s%s", root ? root : "", td_model_string(r->model, module->path));
    struct td_err err = TD_ERR_INIT;
    const int rc = td_identity_check(path, &module->build_id, &r->origin, &err);

    free(path);
    if (rc == TD_OK)
        return;
    char *text = td_xasprintf("%s; %s", rc == TD_ENOENT ? "the file is gone" : err.text, names);
    w->reason = td_model_intern_z(r->model, text);
    free(text);
}

/* Where the file is that was recorded: at its path, or kept from when it was recorded, since
 * another stands there now. */
static const char *file_of(struct resolve *r, struct module_work *w, const struct td_module *module)
{
    const struct td_symbolizer_opts *opts = &r->symbolizer->opts;
    const char *path = td_model_string(r->model, module->path);
    char *kept = opts->sysroot ? NULL : td_kept_path(r->symbolizer->cache_dir, &module->build_id);

    if (kept && td_identity_check(path, &module->build_id, &r->origin, NULL) != TD_OK &&
        td_identity_check(kept, &module->build_id, &r->origin, NULL) == TD_OK) {
        note_change(r, w, module, "names are of the copy that tdrec kept");
        path = td_model_string(r->model, td_model_intern_z(r->model, kept));
    }
    free(kept);
    return path;
}

static unsigned shard_count(const struct resolve *r, const struct module_work *w,
                            uint64_t file_bytes)
{
    return w->missing_count >= SHARD_ADDRESSES_MIN && file_bytes >= SHARD_FILE_BYTES_MIN &&
                   !r->symbolizer->opts.functions_only
               ? cpu_count(r)
               : 1;
}

/* NULL when there is no memory: the units are divided beforehand then. */
static struct td_module_claims *share_claims(void)
{
    void *memory = mmap(NULL, sizeof(struct td_module_claims), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    return memory;
}

static void add_jobs(struct resolve *r, struct module_work *w, const struct td_module *module)
{
    const struct td_symbolizer_opts *opts = &r->symbolizer->opts;
    const char *path = file_of(r, w, module);
    char *full = td_xasprintf("%s%s", opts->sysroot ? opts->sysroot : "", path);
    struct stat st = {0};

    struct td_job job = {.owner = w};
    if (stat(full, &st) == 0 && st.st_blocks > 0)
        job.file_bytes = (uint64_t)st.st_blocks * 512;
    free(full);
    job.request = (struct td_module_request){.path = path,
                                             .build_id = module->build_id,
                                             .offsets = w->missing,
                                             .count = w->missing_count,
                                             .functions_only = opts->functions_only};
    job.request.search = (struct td_search){
        .debug_dirs = opts->debug_dirs,
        .sysroot = opts->sysroot,
        .origin = &r->origin,
        .debuginfod = opts->debuginfod,
    };
    job.request.shards = shard_count(r, w, job.file_bytes);
    w->claims = job.request.shards > 1 ? share_claims() : NULL;
    job.request.claims = w->claims;
    for (unsigned i = 0; i < job.request.shards; i++) {
        job.request.shard = i;
        r->jobs = td_grow(r->jobs, &r->job_cap, r->job_count + 1, sizeof(job));
        r->jobs[r->job_count++] = job;
        w->jobs_left++;
    }
    r->total += w->missing_count;
}

/* Names of files that are none: "[heap]", "//anon", "/memfd:x (deleted)", "/dev/zero". */
static bool is_real_path(const char *path)
{
    return path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) != 0 &&
           strncmp(path, "/SYSV", 5) != 0 && strncmp(path, "/dev/", 5) != 0 &&
           strncmp(path, "/anon_hugepage", 14) != 0;
}

static void prepare_file(struct resolve *r, struct module_work *w, const struct td_module *module)
{
    struct td_answers_view view;

    w->missing = td_xcalloc(w->count, sizeof(*w->missing));
    w->cache = r->symbolizer->cache_dir >= 0 && !r->symbolizer->opts.functions_only
                   ? td_cache_open(r->symbolizer->cache_dir, &module->build_id)
                   : NULL;
    if (w->cache && td_cache_answers(w->cache, &view)) {
        w->missing_count = apply(r, w, &view, w->missing);
        if (w->missing_count == 0)
            note_change(r, w, module, "names are those kept from before");
    } else {
        for (size_t i = 0; i < w->count; i++) {
            if (i == 0 || w->wants[i].offset != w->wants[i - 1].offset)
                w->missing[w->missing_count++] = w->wants[i].offset;
        }
    }
    if (w->missing_count > 0)
        add_jobs(r, w, module);
}

/* What an import did not bring along. */
static void prepare_import(struct resolve *r, const struct module_work *w)
{
    uint64_t *offsets = td_xcalloc(w->count, sizeof(*offsets));
    size_t known = 0;

    for (size_t i = 0; i < w->count; i++)
        offsets[i] = w->wants[i].offset;
    td_model_symbols(r->model, w->module, &known);
    if (known == 0)
        td_here_add_symbols(r->model, w->module, &r->origin, r->symbolizer->opts.kallsyms, offsets,
                            w->count);
    free(offsets);
}

static void prepare(struct resolve *r)
{
    for (size_t i = 0; i < r->work_count; i++) {
        struct module_work *w = &r->work[i];
        const struct td_module module = *td_model_module(r->model, w->module);

        if (w->count == 0)
            continue;
        if (module.kind == TD_MODULE_FILE && is_real_path(td_model_string(r->model, module.path)))
            prepare_file(r, w, &module);
        else if (r->import)
            prepare_import(r, w);
    }
}

static void job_done(void *ctx, const struct td_job *job, const struct td_answers_view *view,
                     const char *failure)
{
    struct resolve *r = ctx;
    struct module_work *w = job->owner;

    w->jobs_left--;
    if (failure)
        w->reason = td_model_intern_z(r->model, failure);
    if (!view)
        return;
    apply(r, w, view, NULL);
    if (w->cache && view->complete && !failure)
        td_cache_add(w->cache, view);
}

/* One sentence about what is missing and nothing else explains. */
static uint32_t coverage_note(struct resolve *r, const struct module_work *w,
                              const struct td_module *module)
{
    size_t unnamed = 0, unlined = 0;
    char text[256];

    for (size_t i = 0; i < w->count; i++) {
        const struct td_location *l = td_model_location(r->model, w->wants[i].location);

        unnamed += l->line_count == 0;
        unlined += l->line_count > 0 && td_model_line(r->model, l->line_first)->line == 0;
    }
    if (unnamed == 0 && (unlined == 0 || module->kind != TD_MODULE_FILE))
        return 0;
    switch (module->kind) {
    case TD_MODULE_KERNEL:
    case TD_MODULE_KERNEL_MODULE:
        snprintf(text, sizeof(text), "no symbol for %zu of %zu kernel addresses; %s", unnamed,
                 w->count,
                 r->import && r->symbolizer->opts.kallsyms
                     ? "the file of --kallsyms does not name them: it is of another boot, or was "
                       "copied without the right to see addresses"
                 : r->import ? "they are found as root on the machine of the recording, until it "
                               "is started anew; --kallsyms FILE takes a copy of /proc/kallsyms"
                             : "record as root or with kernel.kptr_restrict=0");
        break;
    case TD_MODULE_ANON:
        snprintf(text, sizeof(text), "no symbol for %zu of %zu addresses of generated code; %s",
                 unnamed, w->count,
                 r->import ? "on the machine of the recording they are found in /tmp/perf-PID.map "
                             "or the jitdump"
                           : "a JIT can write /tmp/perf-PID.map or a jitdump");
        break;
    case TD_MODULE_FILE:
        if (unnamed == 0 && r->symbolizer->opts.functions_only)
            return 0;
        if (unnamed > 0)
            snprintf(text, sizeof(text), "no symbol covers %zu of %zu addresses", unnamed,
                     w->count);
        else
            snprintf(text, sizeof(text),
                     "no lines for %zu of %zu addresses: parts of it were built without -g",
                     unlined, w->count);
        break;
    case TD_MODULE_UNKNOWN:
    case TD_MODULE_VDSO:
    default:
        snprintf(text, sizeof(text), "no symbol for %zu of %zu addresses", unnamed, w->count);
        break;
    }
    return td_model_intern_z(r->model, text);
}

/* `failure`: why no more files could be read; NULL: all were. */
static void complete(struct resolve *r, const char *failure)
{
    for (size_t i = 0; i < r->work_count; i++) {
        struct module_work *w = &r->work[i];
        const struct td_module module = *td_model_module(r->model, w->module);

        if (w->count == 0)
            continue;
        use_own_symbols(r, w);
        td_cache_close(w->cache);
        if (failure && w->jobs_left > 0)
            w->reason = td_model_intern_z(r->model, failure);
        if (w->reason == 0)
            w->reason = coverage_note(r, w, &module);
        if (w->reason != 0 || w->debug_file != 0)
            td_model_set_module_note(r->model, w->module, w->reason, w->debug_file);
        if (w->no_inlines)
            td_model_set_no_inlines(r->model, w->module);
    }
}

static void release(struct resolve *r)
{
    for (size_t i = 0; i < r->work_count; i++) {
        free(r->work[i].wants);
        free(r->work[i].missing);
        if (r->work[i].claims)
            munmap(r->work[i].claims, sizeof(*r->work[i].claims));
    }
    free(r->work);
    free(r->jobs);
}

int td_symbolizer_resolve(struct td_symbolizer *symbolizer, struct td_model *model,
                          struct td_err *err)
{
    struct resolve r = {
        .symbolizer = symbolizer,
        .model = model,
        .import = td_model_source(model) == TD_SOURCE_IMPORT,
        .origin = td_origin_of(model, td_model_counter(model, TD_COUNTER_STARTED_NS)),
    };

    collect(&r);
    prepare(&r);
    const struct td_workers workers = {.at_once = cpu_count(&r),
                                       .timeout_s = symbolizer->opts.timeout_s,
                                       .progress = symbolizer->opts.progress,
                                       .progress_ctx = symbolizer->opts.progress_ctx,
                                       .total = r.total,
                                       .done = job_done,
                                       .done_ctx = &r};
    struct td_err failure = TD_ERR_INIT;
    const int rc = td_workers_run(&workers, r.jobs, r.job_count, &failure);
    complete(&r, rc < 0 ? failure.text : NULL);
    release(&r);
    if (rc < 0 && err)
        *err = failure;
    return rc;
}
