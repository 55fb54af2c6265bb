/* SPDX-License-Identifier: MIT */
#include "formats/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/notes.h"
#include "formats/profile/from_model.h"

/* Samples of top-down groups are kept up to so many, some 300 MB: how one follows another says in
 * which functions slots were lost. Beyond, their sums are left. */
#define SAMPLES_MAX ((size_t)1 << 21)

#define NO_SAMPLES                                                                             \
    "categories of functions: of the merged samples only the sums are kept, as they were too " \
    "many or an input had sums only; merge fewer profiles, or report each"

/* What a profile's figures are of: those of different kinds do not add up. */
enum kind {
    KIND_NOTHING,
    KIND_MODELLED,
    KIND_HYBRID,
    KIND_SLOTS,
    KIND_TIME,
    KIND_CYCLES,
    KIND_EVENTS,
};

static const char *const kind_names[] = {
    [KIND_NOTHING] = "nothing",
    [KIND_MODELLED] = "modelled figures (tdrec --source sim)",
    [KIND_HYBRID] = "measured and modelled figures (tdrec --source hybrid)",
    [KIND_SLOTS] = "samples of pipeline slots",
    [KIND_TIME] = "samples of time",
    [KIND_CYCLES] = "samples of cycles",
    [KIND_EVENTS] = "samples of other events than time and cycles",
};

/* An entry of the environment, as strings of the sum. */
struct entry {
    uint32_t key, value;
};

#define OTHER_COMMANDS "recordings of different commands were merged: one of them is shown"

/* Ids of an input's things in the sum. */
struct ids {
    uint32_t *modules, *nodes, *threads, *events, *groups, *regions;
};

static uint32_t id_or_none(const uint32_t *ids, uint32_t id)
{
    return id == TD_NONE ? TD_NONE : ids[id];
}

struct td_merge {
    struct td_model *sum; /* what things are, samples of top-down groups; no tallies */
    struct td_buf *rows;  /* by thread of the sum: group, node, samples, values, as ULEB128 */
    bool any_samples;     /* an input had samples of top-down groups */
    bool only_sums;       /* too many, or another input had sums only: the sum's are not written */
    size_t rows_len, rows_cap;
    struct entry *env; /* a set, but for the list of argv and the inputs */
    size_t env_len, env_cap;
    struct td_map env_seen;
    char **argv; /* the least of the inputs' commands */
    size_t argv_len;
    uint64_t counters[TD_COUNTER_COUNT];
    struct td_map thread_ids, symbol_ids;
    bool incomplete;
    bool some_ways; /* an input has no cycles that were counted in several ways */
    char *core;     /* NULL: no input named one yet */
    enum kind kind;
};

struct td_merge *td_merge_new(void)
{
    struct td_merge *const merge = td_xcalloc(1, sizeof(*merge));

    merge->sum = td_model_new();
    return merge;
}

static void free_argv(struct td_merge *merge)
{
    for (size_t i = 0; i < merge->argv_len; i++)
        free(merge->argv[i]);
    free(merge->argv);
    merge->argv = NULL;
    merge->argv_len = 0;
}

void td_merge_free(struct td_merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->rows_len; i++)
        td_buf_release(&merge->rows[i]);
    free(merge->rows);
    free(merge->env);
    free_argv(merge);
    free(merge->core);
    td_map_release(&merge->env_seen);
    td_map_release(&merge->thread_ids);
    td_map_release(&merge->symbol_ids);
    td_model_free(merge->sum);
    free(merge);
}

bool td_merge_field(const char *origin, const char *field, char *buf, size_t size)
{
    const size_t len = strlen(field);

    for (const char *p = origin; *p; p++) {
        const size_t part = strcspn(p, ";");

        if (part > len && strncmp(p, field, len) == 0 && p[len] == '=') {
            snprintf(buf, size, "%.*s", (int)(part - len - 1), p + len + 1);
            return true;
        }
        p += part;
        if (*p == '\0')
            break;
    }
    return false;
}

static void put_field(struct td_buf *buf, const char *field, const char *value)
{
    if (!value || !value[0])
        return;
    if (buf->len > 0)
        td_buf_u8(buf, ';');
    td_buf_bytes(buf, field, strlen(field));
    td_buf_u8(buf, '=');
    for (const char *c = value; *c; c++)
        td_buf_u8(buf, *c == ';' ? ':' : (uint8_t)*c);
}

static void put_number(struct td_buf *buf, const char *field, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    put_field(buf, field, text);
}

/* The process that began first stands for the input. */
static const struct td_thread *first_thread(const struct td_model *model)
{
    const struct td_thread *first = NULL;

    for (uint32_t t = 0; t < td_model_thread_count(model); t++) {
        const struct td_thread *const thread = td_model_thread(model, t);

        if (!first || thread->start_ns < first->start_ns ||
            (thread->start_ns == first->start_ns && thread->pid < first->pid))
            first = thread;
    }
    return first;
}

/* The origin of a recording that is no merge; owned by the caller. */
static char *make_origin(const struct td_model *model)
{
    const struct td_thread *const thread = first_thread(model);
    struct td_buf buf = {0};

    put_field(&buf, "host", td_model_env(model, TD_ENV_HOST));
    if (thread) {
        put_field(&buf, "process", td_model_string(model, thread->process));
        put_number(&buf, "pid", thread->pid);
    }
    put_field(&buf, "rank", td_model_env(model, TD_ENV_RANK));
    put_number(&buf, "started", td_model_counter(model, TD_COUNTER_STARTED_NS));
    put_number(&buf, "ended", td_model_counter(model, TD_COUNTER_ENDED_NS));
    put_number(&buf, "samples", td_model_counter(model, TD_COUNTER_SAMPLES));
    put_number(&buf, "lost", td_model_counter(model, TD_COUNTER_LOST));
    td_buf_u8(&buf, '\0');
    return (char *)buf.data;
}

static uint32_t copy_string(struct td_merge *merge, const struct td_model *from, uint32_t string)
{
    return string == 0 ? 0 : td_model_intern_z(merge->sum, td_model_string(from, string));
}

static void add_entry(struct td_merge *merge, uint32_t key, uint32_t value, bool once)
{
    bool added = true;

    if (once)
        td_map_put(&merge->env_seen, key, value, 0, &added);
    if (!added)
        return;
    merge->env = td_grow(merge->env, &merge->env_cap, merge->env_len + 1, sizeof(*merge->env));
    merge->env[merge->env_len++] = (struct entry){.key = key, .value = value};
}

/* Of times, the earliest is kept. */
static void keep_least(struct td_merge *merge, uint32_t key, const char *value)
{
    uint64_t ours = 0;
    uint64_t theirs = 0;
    const uint32_t string = td_model_intern_z(merge->sum, value);

    for (size_t i = 0; i < merge->env_len; i++) {
        if (merge->env[i].key != key)
            continue;
        if (td_parse_u64(value, &theirs) &&
            td_parse_u64(td_model_string(merge->sum, merge->env[i].value), &ours) && theirs < ours)
            merge->env[i].value = string;
        return;
    }
    add_entry(merge, key, string, false);
}

static int compare_argv(const struct td_merge *merge, const struct td_model *model)
{
    for (size_t i = 0;; i++) {
        const char *const ours = i < merge->argv_len ? merge->argv[i] : NULL;
        const char *const theirs = td_model_env_at(model, TD_ENV_ARGV, i);

        if (!ours || !theirs)
            return (theirs == NULL) - (ours == NULL);
        if (strcmp(ours, theirs) != 0)
            return strcmp(ours, theirs);
    }
}

/* The least command of all stands for all; none at all is the greatest. */
static void merge_argv(struct td_merge *merge, const struct td_model *model)
{
    const char *word = td_model_env_at(model, TD_ENV_ARGV, 0);
    const int order = merge->argv_len > 0 && word ? compare_argv(merge, model) : 0;
    size_t cap = 0;

    if (order != 0)
        add_entry(merge, td_model_intern_z(merge->sum, td_env_key_name(TD_ENV_WARNING)),
                  td_model_intern_z(merge->sum, OTHER_COMMANDS), true);
    if (!word || (merge->argv_len > 0 && order <= 0))
        return;
    free_argv(merge);
    for (size_t i = 0; (word = td_model_env_at(model, TD_ENV_ARGV, i)); i++) {
        merge->argv = td_grow(merge->argv, &cap, i + 1, sizeof(*merge->argv));
        merge->argv[merge->argv_len++] = td_xstrdup(word);
    }
}

static void merge_env(struct td_merge *merge, const struct td_model *model, const char *origin)
{
    const uint32_t input = td_model_intern_z(merge->sum, td_env_key_name(TD_ENV_INPUT));
    char *const damage = td_notes_damage(model);

    for (size_t i = 0; i < td_model_env_count(model); i++) {
        const char *key = NULL;
        const char *value = NULL;

        td_model_env_entry(model, i, &key, &value);
        const enum td_env_key known = td_env_key_by_name(key);
        const uint32_t key_id = td_model_intern_z(merge->sum, key);

        if (known == TD_ENV_REALTIME_NS || known == TD_ENV_BOOTTIME_NS)
            keep_least(merge, key_id, value);
        else if (known != TD_ENV_ARGV) /* an input twice was given twice */
            add_entry(merge, key_id, td_model_intern_z(merge->sum, value), known != TD_ENV_INPUT);
    }
    if (damage) {
        char *const text = td_xasprintf("of an input (%s), %s", origin, damage);

        add_entry(merge, td_model_intern_z(merge->sum, td_env_key_name(TD_ENV_WARNING)),
                  td_model_intern_z(merge->sum, text), true);
        free(text);
    }
    free(damage);
    if (!td_model_env(model, TD_ENV_INPUT))
        add_entry(merge, input, td_model_intern_z(merge->sum, origin), false);
    merge_argv(merge, model);
}

/* Cycles counted in several ways are of the whole sum, or nobody's: an input without them would be
 * taken for a part that a sampled model did not see. */
static void merge_ways(struct td_merge *merge, const struct td_model *model)
{
    merge->some_ways = merge->some_ways || td_model_counter(model, TD_COUNTER_CPI_CYCLES) == 0;
    if (merge->some_ways)
        memset(&merge->counters[TD_COUNTER_CPI_CYCLES], 0,
               TD_CPI_COUNTS * sizeof(merge->counters[0]));
}

static void merge_counters(struct td_merge *merge, const struct td_model *model)
{
    for (int c = 0; c < TD_COUNTER_COUNT; c++) {
        const uint64_t value = td_model_counter(model, (enum td_counter)c);
        uint64_t *const ours = &merge->counters[c];

        if (c == TD_COUNTER_STARTED_NS)
            *ours = *ours == 0 || (value != 0 && value < *ours) ? value : *ours;
        else if (c == TD_COUNTER_ENDED_NS)
            *ours = value > *ours ? value : *ours;
        else
            *ours += value;
    }
    merge_ways(merge, model);
}

static void merge_symbols(struct td_merge *merge, const struct td_model *model, uint32_t from,
                          uint32_t to)
{
    size_t count = 0;
    const struct td_symbol *const symbols = td_model_symbols(model, from, &count);

    for (size_t i = 0; i < count; i++) {
        struct td_symbol symbol = symbols[i];
        bool added = false;

        symbol.name = copy_string(merge, model, symbol.name);
        symbol.file = copy_string(merge, model, symbol.file);
        td_map_put(&merge->symbol_ids, (uint64_t)to << 32 | symbol.name,
                   td_hash_mix(td_hash_mix(symbol.offset, symbol.size), symbol.line), 0, &added);
        if (added)
            td_model_add_symbol(merge->sum, to, &symbol);
    }
}

static void merge_modules(struct td_merge *merge, const struct td_model *model, struct ids *ids)
{
    for (uint32_t m = 0; m < td_model_module_count(model); m++) {
        struct td_module module = *td_model_module(model, m);

        module.path = copy_string(merge, model, module.path);
        module.note = 0;
        module.debug_file = 0;
        ids->modules[m] = td_model_put_module(merge->sum, &module);
        merge_symbols(merge, model, m, ids->modules[m]);
    }
}

static void merge_nodes(struct td_merge *merge, const struct td_model *model, struct ids *ids)
{
    for (uint32_t n = 1; n < td_model_node_count(model); n++) {
        const struct td_node *const node = td_model_node(model, n);
        const struct td_location *const location = td_model_location(model, node->location);

        ids->nodes[n] = td_model_put_node(
            merge->sum, ids->nodes[node->parent],
            td_model_put_location(merge->sum, ids->modules[location->module], location->offset));
    }
}

static bool same_thread(const struct td_thread *a, const struct td_thread *b)
{
    return a->pid == b->pid && a->tid == b->tid && a->name == b->name && a->process == b->process &&
           a->origin == b->origin && a->start_ns == b->start_ns;
}

static uint32_t put_thread(struct td_merge *merge, const struct td_thread *thread)
{
    const uint64_t names = (uint64_t)thread->name << 32 | thread->process;
    bool added = false;
    uint32_t *const id =
        td_map_put(&merge->thread_ids, (uint64_t)thread->pid << 32 | thread->tid,
                   td_hash_mix(td_hash_mix(thread->start_ns, names), thread->origin),
                   td_model_thread_count(merge->sum), &added);

    if (!added && same_thread(td_model_thread(merge->sum, *id), thread))
        return *id;
    /* Another of the same hash (never seen) is a thread of its own; the writer joins equal ones. */
    *id = td_model_add_thread(merge->sum, thread);
    merge->rows = td_grow(merge->rows, &merge->rows_cap, merge->rows_len + 1, sizeof(*merge->rows));
    merge->rows[merge->rows_len++] = (struct td_buf){0};
    return *id;
}

static void merge_threads(struct td_merge *merge, const struct td_model *model, const char *origin,
                          struct ids *ids)
{
    for (uint32_t t = 0; t < td_model_thread_count(model); t++) {
        struct td_thread thread = *td_model_thread(model, t);

        thread.name = copy_string(merge, model, thread.name);
        thread.process = copy_string(merge, model, thread.process);
        thread.origin = thread.origin ? copy_string(merge, model, thread.origin)
                                      : td_model_intern_z(merge->sum, origin);
        ids->threads[t] = put_thread(merge, &thread);
    }
}

static bool same_event(const struct td_event *a, const struct td_event *b)
{
    return a->name == b->name && a->unit == b->unit && a->pmu_type == b->pmu_type &&
           memcmp(a->config, b->config, sizeof(a->config)) == 0 && a->period == b->period &&
           a->frequency_hz == b->frequency_hz && a->flags == b->flags;
}

static void merge_events(struct td_merge *merge, const struct td_model *model, struct ids *ids)
{
    for (uint32_t e = 0; e < td_model_event_count(model); e++) {
        struct td_event event = *td_model_event(model, e);
        uint32_t id = 0;

        event.name = copy_string(merge, model, event.name);
        while (id < td_model_event_count(merge->sum) &&
               !same_event(td_model_event(merge->sum, id), &event))
            id++;
        const bool known = id < td_model_event_count(merge->sum);
        ids->events[e] = known ? id : td_model_add_event(merge->sum, &event);
        if (known)
            td_model_add_counts(merge->sum, id, &event.counts);
    }
}

static bool same_group(const struct td_group *a, const struct td_group *b)
{
    bool same = a->name == b->name && a->role == b->role && a->attribution == b->attribution &&
                a->locates == b->locates && a->sampler == b->sampler &&
                a->cpu_type == b->cpu_type && a->pass == b->pass && a->in_region == b->in_region &&
                a->column_count == b->column_count;

    for (uint32_t c = 0; same && c < a->column_count; c++)
        same = a->columns[c].kind == b->columns[c].kind &&
               a->columns[c].event == b->columns[c].event &&
               a->columns[c].node == b->columns[c].node;
    return same;
}

static void merge_groups(struct td_merge *merge, const struct td_model *model, struct ids *ids)
{
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        struct td_group group = *td_model_group(model, g);
        uint32_t id = 0;

        group.name = copy_string(merge, model, group.name);
        group.cpu_type = copy_string(merge, model, group.cpu_type);
        group.sampler = id_or_none(ids->events, group.sampler);
        group.in_region = id_or_none(ids->regions, group.in_region - 1) + 1;
        for (uint32_t c = 0; c < group.column_count; c++) {
            if (group.columns[c].event != TD_NONE)
                group.columns[c].event = ids->events[group.columns[c].event];
        }
        while (id < td_model_group_count(merge->sum) &&
               !same_group(td_model_group(merge->sum, id), &group))
            id++;
        ids->groups[g] =
            id < td_model_group_count(merge->sum) ? id : td_model_add_group(merge->sum, &group);
    }
}

static void merge_tallies(struct td_merge *merge, const struct td_model *model,
                          const struct ids *ids)
{
    uint64_t room[TD_COLUMNS_MAX];

    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *const tally = td_model_tally(model, i);
        const uint64_t *const values = td_model_tally_values(model, tally, room);
        struct td_buf *const buf = &merge->rows[ids->threads[tally->thread]];
        const uint32_t columns = td_model_group(model, tally->group)->column_count;

        td_buf_uleb(buf, ids->groups[tally->group]);
        td_buf_uleb(buf, ids->nodes[tally->node]);
        td_buf_uleb(buf, tally->samples);
        for (uint32_t c = 0; c < columns; c++)
            td_buf_uleb(buf, values[c]);
    }
}

static void merge_regions(struct td_merge *merge, const struct td_model *model, struct ids *ids)
{
    for (uint32_t r = 0; r < td_model_region_count(model); r++) {
        const struct td_region *region = td_model_region(model, r);
        const uint32_t parent = id_or_none(ids->regions, region->parent);

        ids->regions[r] =
            td_model_put_region(merge->sum, parent, copy_string(merge, model, region->name));
    }
}

static void merge_region_rows(struct td_merge *merge, const struct td_model *model,
                              const struct ids *ids)
{
    for (uint32_t i = 0; i < td_model_region_row_count(model); i++) {
        struct td_region_row row = *td_model_region_row(model, i);
        const uint64_t *values = td_model_region_values(model, &row);

        row.thread = ids->threads[row.thread];
        row.region = ids->regions[row.region];
        row.group = id_or_none(ids->groups, row.group);
        td_model_add_region_row(merge->sum, &row, values);
    }
}

/* Of more blocks than there may be, the first stay. */
static void merge_code(struct td_merge *merge, const struct td_model *model, const struct ids *ids)
{
    const struct td_ran *code = td_model_ran_of(model);

    for (size_t i = 0; i < td_ran_count(code); i++) {
        struct td_ran_block block = *td_ran_block(code, i);

        block.module = ids->modules[block.module];
        td_ran_add(td_model_ran(merge->sum), &block);
    }
}

static void merge_side(const struct ids *ids, struct td_shared_side *side)
{
    side->thread = id_or_none(ids->threads, side->thread);
    side->module = id_or_none(ids->modules, side->module);
}

/* Of more than a profile can hold, the first stay; so do habits. */
static void merge_sharing(struct td_merge *merge, const struct td_model *model,
                          const struct ids *ids)
{
    for (uint32_t i = 0; i < td_model_shared_count(model); i++) {
        struct td_shared_row row = *td_model_shared(model, i);

        row.process = ids->threads[row.process];
        row.module = id_or_none(ids->modules, row.module);
        merge_side(ids, &row.mine);
        merge_side(ids, &row.theirs);
        td_model_add_shared(merge->sum, &row);
    }
}

static void merge_habits(struct td_merge *merge, const struct td_model *model,
                         const struct ids *ids)
{
    const struct td_habits *habits = td_model_habits(model);

    for (size_t i = 0; i < habits->len; i++) {
        struct td_habit habit = habits->at[i];

        habit.module = ids->modules[habit.module];
        for (uint32_t m = 0; m < habit.mark_count; m++) {
            habit.marks[m].module = id_or_none(ids->modules, habit.marks[m].module);
        }
        td_model_put_habit(merge->sum, &habit);
    }
}

static bool is_slots(const struct td_model *model, uint32_t group)
{
    return td_model_group(model, group)->role == TD_ROLE_SLOTS;
}

/* What the tallies of top-down groups sum, less the samples that were kept. */
static uint64_t count_without_samples(const struct td_model *model)
{
    uint64_t count = 0, kept = 0;

    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *const tally = td_model_tally(model, i);

        count += is_slots(model, tally->group) ? tally->samples : 0;
    }
    for (size_t i = 0; i < td_model_sample_count(model); i++)
        kept += is_slots(model, td_model_sample(model, i)->group);
    return count - kept;
}

static void merge_samples(struct td_merge *merge, const struct td_model *model,
                          const struct ids *ids)
{
    if (count_without_samples(model) > 0)
        merge->only_sums = true;
    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        struct td_sample sample = *td_model_sample(model, i);

        if (!is_slots(model, sample.group))
            continue;
        merge->any_samples = true;
        if (td_model_sample_count(merge->sum) >= SAMPLES_MAX)
            merge->only_sums = true;
        if (merge->only_sums)
            return;
        sample.group = ids->groups[sample.group];
        sample.thread = ids->threads[sample.thread];
        sample.node = ids->nodes[sample.node];
        td_model_add_sample(merge->sum, &sample,
                            td_model_sample_values(model, td_model_sample(model, i)));
    }
}

static int check_core(struct td_merge *merge, const struct td_model *model, const char *name,
                      struct td_err *err)
{
    const char *const core = td_model_env(model, TD_ENV_CORE);

    if (!core)
        return TD_OK;
    if (merge->core && strcmp(merge->core, core) != 0)
        return td_fail(err, TD_EMISMATCH,
                       "'%s' is of the core '%s', those before are of '%s': their slots do not add "
                       "up; merge them apart",
                       name, core, merge->core);
    if (!merge->core)
        merge->core = td_xstrdup(core);
    return TD_OK;
}

static enum kind kind_of(const struct td_model *model)
{
    bool modelled = false, sampled = false, time = false, slots = false, cycles = false;

    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *const group = td_model_group(model, g);

        modelled = modelled || group->role == TD_ROLE_MODEL;
        sampled = sampled || (group->role != TD_ROLE_MODEL && group->role != TD_ROLE_REPLICATES &&
                              group->role != TD_ROLE_VARIANT);
        time = time || group->role == TD_ROLE_TIME;
        slots = slots || group->role == TD_ROLE_SLOTS;
        cycles = cycles || (group->sampler != TD_NONE &&
                            td_model_event(model, group->sampler)->unit == TD_UNIT_CYCLES);
    }
    if (modelled)
        return sampled ? KIND_HYBRID : KIND_MODELLED;
    return slots     ? KIND_SLOTS
           : time    ? KIND_TIME
           : cycles  ? KIND_CYCLES
           : sampled ? KIND_EVENTS
                     : KIND_NOTHING;
}

static int check_kind(struct td_merge *merge, const struct td_model *model, const char *name,
                      struct td_err *err)
{
    const enum kind kind = kind_of(model);
    const bool joins = (kind == KIND_MODELLED && merge->kind == KIND_TIME) ||
                       (kind == KIND_TIME && merge->kind == KIND_MODELLED);

    if (kind != KIND_NOTHING && merge->kind != KIND_NOTHING && kind != merge->kind)
        return td_fail(err, TD_EMISMATCH,
                       "'%s' holds %s, those before hold %s: they do not add up%s", name,
                       kind_names[kind], kind_names[merge->kind],
                       joins ? "; tdreport -i SIM --weights CLOCK joins two runs of one command"
                             : "; merge them apart");
    if (kind != KIND_NOTHING)
        merge->kind = kind;
    return TD_OK;
}

size_t td_merge_inputs(const struct td_model *model, uint64_t *longest_ns)
{
    size_t count = 0;

    *longest_ns = 0;
    for (size_t i = 0; i < td_model_env_count(model); i++) {
        const char *key = NULL, *origin = NULL;
        char started[24], ended[24];
        uint64_t from = 0, to = 0;

        td_model_env_entry(model, i, &key, &origin);
        if (td_env_key_by_name(key) != TD_ENV_INPUT)
            continue;
        count++;
        if (td_merge_field(origin, "started", started, sizeof(started)) &&
            td_merge_field(origin, "ended", ended, sizeof(ended)) && td_parse_u64(started, &from) &&
            td_parse_u64(ended, &to) && to > from && to - from > *longest_ns)
            *longest_ns = to - from;
    }
    return count;
}

int td_merge_add(struct td_merge *merge, const struct td_model *model, const char *name,
                 struct td_err *err)
{
    const int core = check_core(merge, model, name, err);
    const int rc = core == TD_OK ? check_kind(merge, model, name, err) : core;
    struct ids ids = {
        .modules = td_xcalloc((size_t)td_model_module_count(model) + 1, sizeof(uint32_t)),
        .nodes = td_xcalloc((size_t)td_model_node_count(model) + 1, sizeof(uint32_t)),
        .threads = td_xcalloc((size_t)td_model_thread_count(model) + 1, sizeof(uint32_t)),
        .events = td_xcalloc((size_t)td_model_event_count(model) + 1, sizeof(uint32_t)),
        .groups = td_xcalloc((size_t)td_model_group_count(model) + 1, sizeof(uint32_t)),
        .regions = td_xcalloc((size_t)td_model_region_count(model) + 1, sizeof(uint32_t)),
    };

    if (rc == TD_OK) {
        char *const origin = make_origin(model);

        merge_env(merge, model, origin);
        merge_counters(merge, model);
        merge_modules(merge, model, &ids);
        merge_nodes(merge, model, &ids);
        merge_threads(merge, model, origin, &ids);
        merge_events(merge, model, &ids);
        merge_regions(merge, model, &ids);
        merge_groups(merge, model, &ids);
        merge_tallies(merge, model, &ids);
        merge_region_rows(merge, model, &ids);
        merge_code(merge, model, &ids);
        merge_sharing(merge, model, &ids);
        merge_habits(merge, model, &ids);
        merge_samples(merge, model, &ids);
        merge->incomplete = merge->incomplete || !td_model_complete(model);
        free(origin);
    }
    free(ids.modules);
    free(ids.nodes);
    free(ids.threads);
    free(ids.events);
    free(ids.groups);
    free(ids.regions);
    return rc;
}

static int compare_entries(const void *a, const void *b, void *ctx)
{
    const struct td_model *const model = ctx;
    const struct entry *const x = a;
    const struct entry *const y = b;
    const int keys = strcmp(td_model_string(model, x->key), td_model_string(model, y->key));

    return keys != 0 ? keys
                     : strcmp(td_model_string(model, x->value), td_model_string(model, y->value));
}

/* The environment goes to the sum only now: sorted by key and value, the command in its order. */
static void finish_env(const struct td_merge *merge)
{
    qsort_r(merge->env, merge->env_len, sizeof(*merge->env), compare_entries, merge->sum);
    for (size_t i = 0; i < merge->argv_len; i++)
        td_model_add_env(merge->sum, td_env_key_name(TD_ENV_ARGV), merge->argv[i]);
    for (size_t i = 0; i < merge->env_len; i++) {
        /* Copies: adding a string may move those that are there. */
        char *const key = td_xstrdup(td_model_string(merge->sum, merge->env[i].key));
        char *const value = td_xstrdup(td_model_string(merge->sum, merge->env[i].value));

        td_model_add_env(merge->sum, key, value);
        free(key);
        free(value);
    }
}

static void each_row(const void *ctx, uint32_t thread, td_profile_row_fn *row, void *row_ctx)
{
    const struct td_merge *const merge = ctx;
    const bool sampled = merge->any_samples && !merge->only_sums;
    struct td_rd rd = td_rd_init(merge->rows[thread].data, merge->rows[thread].len, 0);
    uint64_t values[TD_COLUMNS_MAX];

    while (td_rd_left(&rd) > 0) {
        const uint32_t group = (uint32_t)td_rd_uleb(&rd);
        const uint32_t node = (uint32_t)td_rd_uleb(&rd);
        const uint64_t samples = td_rd_uleb(&rd);

        for (uint32_t c = 0; c < td_model_group(merge->sum, group)->column_count; c++)
            values[c] = td_rd_uleb(&rd);
        if (sampled && is_slots(merge->sum, group))
            continue;
        row(row_ctx, node, group, samples, values);
    }
}

int td_merge_write(struct td_merge *merge, td_profile_write_fn *write, void *ctx,
                   struct td_err *err)
{
    const struct td_profile_rows rows = {
        .ctx = merge, .each = each_row, .samples_too = merge->any_samples && !merge->only_sums};

    if (merge->any_samples && merge->only_sums)
        add_entry(merge, td_model_intern_z(merge->sum, td_env_key_name(TD_ENV_LEFT_OUT)),
                  td_model_intern_z(merge->sum, NO_SAMPLES), true);
    finish_env(merge);
    merge->env_len = 0;
    for (int c = 0; c < TD_COUNTER_COUNT; c++)
        td_model_set_counter(merge->sum, (enum td_counter)c, merge->counters[c]);
    td_model_set_complete(merge->sum, !merge->incomplete);
    return td_profile_write_rows(merge->sum, &rows, NULL, write, ctx, err);
}
