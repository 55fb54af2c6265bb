/* SPDX-License-Identifier: MIT */
#include "formats/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "formats/sums.h"

/* A growable array of `type`; `len` elements are in use. */
#define VECTOR(type)     \
    struct {             \
        struct type *at; \
        size_t len, cap; \
    }

/* The place of one more element at the end, zeroed by the caller's assignment. */
#define VECTOR_PUSH(v) \
    ((v).at = td_grow((v).at, &(v).cap, (v).len + 1, sizeof(*(v).at)), &(v).at[(v).len++])

#define VECTOR_BYTES(v) ((v).cap * sizeof(*(v).at))

/* Finds the ids of equal things: open addressing over (hash, id) pairs. The things themselves
 * stand in the model's arrays, so that an entry takes 8 bytes. A zeroed struct is an empty table.
 */
struct id_slot {
    uint32_t hash;
    uint32_t next_id; /* the id plus 1; 0: empty */
};

struct id_table {
    struct id_slot *slots;
    size_t cap; /* a power of two, or 0 */
    size_t len;
};

struct env_entry {
    uint32_t key, value;
};

struct module_symbols {
    struct td_symbol *at;
    size_t len, cap;
    bool sorted;
};

/* The tally of a node, good while its turn is the model's. */
struct near_tally {
    uint32_t turn, tally;
};

struct td_model {
    struct td_intern *strings;
    VECTOR(env_entry) env;
    uint64_t counters[TD_COUNTER_COUNT];
    bool complete;
    struct td_losses losses;
    uint8_t profile_id[TD_PROFILE_ID_SIZE];
    VECTOR(td_module) modules;
    VECTOR(td_location) locations;
    VECTOR(td_node) nodes;
    VECTOR(td_thread) threads;
    VECTOR(td_event) events;
    VECTOR(td_group) groups;
    VECTOR(td_function) functions;
    VECTOR(td_line) lines;
    VECTOR(td_tally) tallies;
    VECTOR(td_sample) samples;
    VECTOR(td_region) regions;
    VECTOR(td_region_row) region_rows;
    struct td_ran *code;
    VECTOR(td_shared_row) shareds;
    uint64_t shared_sum;          /* of the transfers, invalidations and cycles of all of them */
    struct td_map region_ids;     /* parent and name to region */
    struct td_map region_row_ids; /* thread and region, group to row */
    uint64_t *region_values;
    size_t region_values_len, region_values_cap;
    struct td_habits habits;
    VECTOR(module_symbols) symbols; /* by module, as far as any were added */
    size_t symbol_bytes;            /* of all of them */
    uint64_t *tally_values;
    size_t tally_values_len, tally_values_cap;
    uint64_t *sample_values;
    size_t sample_values_len, sample_values_cap;
    struct id_table module_ids, location_ids, node_ids, function_ids, tally_ids;
    uint32_t last_tally;             /* samples of one place often follow one another */
    struct near_tally *near_tallies; /* by node: those of the thread and group at hand */
    size_t near_cap;
    uint32_t near_thread, near_group, near_turn;
};

static void id_table_grow(struct id_table *table)
{
    struct id_table bigger = {.cap = table->cap ? table->cap * 2 : 64, .len = table->len};

    bigger.slots = td_xcalloc(bigger.cap, sizeof(*bigger.slots));
    for (size_t s = 0; s < table->cap; s++) {
        size_t i = table->slots[s].hash & (bigger.cap - 1);

        if (table->slots[s].next_id == 0)
            continue;
        while (bigger.slots[i].next_id)
            i = (i + 1) & (bigger.cap - 1);
        bigger.slots[i] = table->slots[s];
    }
    free(table->slots);
    *table = bigger;
}

/* Whether the model's thing `id` is the one that `key` describes. */
typedef bool equal_fn(const struct td_model *model, uint32_t id, const void *key);

/* The id of what `key` describes; when there is none yet, next_id becomes its id and is returned.
 * Inlined, so that `equal` is too. */
static inline __attribute__((always_inline)) uint32_t
id_table_put(struct id_table *table, uint64_t wide_hash, uint32_t next_id, equal_fn *equal,
             const struct td_model *model, const void *key)
{
    const uint32_t hash = (uint32_t)wide_hash;

    if (table->len * 4 >= table->cap * 3)
        id_table_grow(table);
    size_t i = hash & (table->cap - 1);
    for (; table->slots[i].next_id; i = (i + 1) & (table->cap - 1)) {
        const uint32_t id = table->slots[i].next_id - 1;

        if (table->slots[i].hash == hash && equal(model, id, key))
            return id;
    }
    table->slots[i] = (struct id_slot){.hash = hash, .next_id = next_id + 1};
    table->len++;
    return next_id;
}

struct td_model *td_model_new(void)
{
    struct td_model *model = td_xcalloc(1, sizeof(*model));

    model->strings = td_intern_new();
    model->code = td_ran_new();
    *VECTOR_PUSH(model->nodes) = (struct td_node){.parent = 0, .location = TD_NONE};
    return model;
}

void td_model_free(struct td_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->symbols.len; i++)
        free(model->symbols.at[i].at);
    td_intern_free(model->strings);
    free(model->env.at);
    free(model->modules.at);
    free(model->locations.at);
    free(model->nodes.at);
    free(model->threads.at);
    free(model->events.at);
    free(model->groups.at);
    free(model->functions.at);
    free(model->lines.at);
    free(model->tallies.at);
    free(model->near_tallies);
    free(model->samples.at);
    free(model->symbols.at);
    free(model->regions.at);
    free(model->region_rows.at);
    td_ran_free(model->code);
    free(model->shareds.at);
    td_map_release(&model->region_ids);
    td_map_release(&model->region_row_ids);
    free(model->region_values);
    td_habits_release(&model->habits);
    free(model->tally_values);
    free(model->sample_values);
    free(model->module_ids.slots);
    free(model->location_ids.slots);
    free(model->node_ids.slots);
    free(model->function_ids.slots);
    free(model->tally_ids.slots);
    free(model);
}

size_t td_model_bytes(const struct td_model *model)
{
    const size_t slots = model->module_ids.cap + model->location_ids.cap + model->node_ids.cap +
                         model->function_ids.cap + model->tally_ids.cap;
    size_t bytes = td_intern_bytes(model->strings) + slots * sizeof(struct id_slot);

    bytes += VECTOR_BYTES(model->env) + VECTOR_BYTES(model->modules);
    bytes += VECTOR_BYTES(model->locations) + VECTOR_BYTES(model->nodes);
    bytes += VECTOR_BYTES(model->threads) + VECTOR_BYTES(model->events);
    bytes += VECTOR_BYTES(model->groups) + VECTOR_BYTES(model->functions);
    bytes += VECTOR_BYTES(model->lines) + VECTOR_BYTES(model->tallies);
    bytes += VECTOR_BYTES(model->samples) + VECTOR_BYTES(model->symbols);
    bytes += td_ran_bytes(model->code);
    bytes += VECTOR_BYTES(model->shareds);
    bytes += VECTOR_BYTES(model->regions) + VECTOR_BYTES(model->region_rows);
    bytes += (model->region_ids.cap + model->region_row_ids.cap + model->habits.by_place.cap) *
             sizeof(struct td_map_slot);
    bytes += VECTOR_BYTES(model->habits);
    bytes += (model->tally_values_cap + model->sample_values_cap + model->region_values_cap) *
             sizeof(uint64_t);
    return bytes + model->near_cap * sizeof(*model->near_tallies) + model->symbol_bytes;
}

uint32_t td_model_intern(struct td_model *model, const char *s, size_t len)
{
    return td_intern_put(model->strings, s, len);
}

uint32_t td_model_intern_z(struct td_model *model, const char *s)
{
    return td_intern_put(model->strings, s, strlen(s));
}

const char *td_model_string(const struct td_model *model, uint32_t id)
{
    return td_intern_get(model->strings, id);
}

void td_model_add_env_len(struct td_model *model, const char *key, size_t key_len,
                          const char *value, size_t value_len)
{
    *VECTOR_PUSH(model->env) = (struct env_entry){
        .key = td_intern_put(model->strings, key, key_len),
        .value = td_intern_put(model->strings, value, value_len),
    };
}

void td_model_add_env(struct td_model *model, const char *key, const char *value)
{
    td_model_add_env_len(model, key, strlen(key), value, strlen(value));
}

const char *td_model_env_at(const struct td_model *model, enum td_env_key key, size_t i)
{
    const char *name = td_env_key_name(key);

    for (size_t e = 0; e < model->env.len; e++) {
        if (strcmp(td_model_string(model, model->env.at[e].key), name) == 0 && i-- == 0)
            return td_model_string(model, model->env.at[e].value);
    }
    return NULL;
}

const char *td_model_env(const struct td_model *model, enum td_env_key key)
{
    return td_model_env_at(model, key, 0);
}

enum td_source_id td_model_source(const struct td_model *model)
{
    return td_source_by_name(td_model_env(model, TD_ENV_SOURCE));
}

enum td_method td_model_method(const struct td_model *model)
{
    return td_method_by_name(td_model_env(model, TD_ENV_METHOD));
}

size_t td_model_env_count(const struct td_model *model)
{
    return model->env.len;
}

void td_model_env_entry(const struct td_model *model, size_t i, const char **key,
                        const char **value)
{
    assert(i < model->env.len);
    *key = td_model_string(model, model->env.at[i].key);
    *value = td_model_string(model, model->env.at[i].value);
}

void td_model_set_counter(struct td_model *model, enum td_counter counter, uint64_t value)
{
    assert((unsigned)counter < TD_COUNTER_COUNT);
    model->counters[counter] = value;
}

uint64_t td_model_counter(const struct td_model *model, enum td_counter counter)
{
    assert((unsigned)counter < TD_COUNTER_COUNT);
    return model->counters[counter];
}

void td_model_set_profile_id(struct td_model *model, const uint8_t id[TD_PROFILE_ID_SIZE])
{
    memcpy(model->profile_id, id, TD_PROFILE_ID_SIZE);
}

const uint8_t *td_model_profile_id(const struct td_model *model)
{
    return model->profile_id;
}

void td_model_set_complete(struct td_model *model, bool complete)
{
    model->complete = complete;
}

bool td_model_complete(const struct td_model *model)
{
    return model->complete;
}

void td_model_set_losses(struct td_model *model, const struct td_losses *losses)
{
    model->losses = *losses;
}

const struct td_losses *td_model_losses(const struct td_model *model)
{
    return &model->losses;
}

bool td_build_id_equal(const struct td_build_id *a, const struct td_build_id *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool module_equal(const struct td_model *model, uint32_t id, const void *key)
{
    const struct td_module *a = &model->modules.at[id], *b = key;

    return a->kind == b->kind && a->path == b->path && a->pid == b->pid && a->base == b->base &&
           td_build_id_equal(&a->build_id, &b->build_id);
}

uint32_t td_model_put_module(struct td_model *model, const struct td_module *module)
{
    uint64_t hash = td_hash_bytes(module->build_id.bytes, module->build_id.size);

    hash = td_hash_mix(hash, (uint64_t)module->kind << 32 | module->path);
    hash = td_hash_mix(hash + module->pid, module->base);
    const uint32_t id = id_table_put(&model->module_ids, hash, (uint32_t)model->modules.len,
                                     module_equal, model, module);
    if (id == model->modules.len)
        *VECTOR_PUSH(model->modules) = *module;
    return id;
}

static bool location_equal(const struct td_model *model, uint32_t id, const void *key)
{
    const struct td_location *a = &model->locations.at[id], *b = key;

    return a->module == b->module && a->offset == b->offset;
}

uint32_t td_model_put_location(struct td_model *model, uint32_t module, uint64_t offset)
{
    const struct td_location location = {.module = module, .offset = offset};

    assert(module < model->modules.len);
    const uint32_t id =
        id_table_put(&model->location_ids, td_hash_mix(module, offset),
                     (uint32_t)model->locations.len, location_equal, model, &location);
    if (id == model->locations.len)
        *VECTOR_PUSH(model->locations) = location;
    return id;
}

static bool node_equal(const struct td_model *model, uint32_t id, const void *key)
{
    const struct td_node *a = &model->nodes.at[id], *b = key;

    return a->parent == b->parent && a->location == b->location;
}

uint32_t td_model_put_node(struct td_model *model, uint32_t parent, uint32_t location)
{
    const struct td_node node = {.parent = parent, .location = location};

    assert(parent < model->nodes.len && location < model->locations.len);
    const uint32_t id = id_table_put(&model->node_ids, td_hash_mix(parent, location),
                                     (uint32_t)model->nodes.len, node_equal, model, &node);
    if (id == model->nodes.len)
        *VECTOR_PUSH(model->nodes) = node;
    return id;
}

uint32_t td_model_add_thread(struct td_model *model, const struct td_thread *thread)
{
    const uint32_t id = (uint32_t)model->threads.len;

    *VECTOR_PUSH(model->threads) = *thread;
    model->threads.at[id].holder = id;
    return id;
}

void td_model_set_holder(struct td_model *model, uint32_t thread, uint32_t holder)
{
    assert(thread < model->threads.len && holder < model->threads.len);
    model->threads.at[thread].holder = holder;
}

void td_model_set_origin(struct td_model *model, uint32_t thread, uint32_t origin)
{
    assert(thread < model->threads.len);
    model->threads.at[thread].origin = origin;
}

void td_model_set_pass(struct td_model *model, uint32_t group, uint32_t pass)
{
    assert(group < model->groups.len);
    model->groups.at[group].pass = pass;
}

void td_model_set_group_region(struct td_model *model, uint32_t group, uint32_t region)
{
    assert(group < model->groups.len);
    model->groups.at[group].in_region = region + 1;
}

uint32_t td_model_add_event(struct td_model *model, const struct td_event *event)
{
    *VECTOR_PUSH(model->events) = *event;
    return (uint32_t)model->events.len - 1;
}

void td_model_add_counts(struct td_model *model, uint32_t event,
                         const struct td_event_counts *counts)
{
    assert(event < model->events.len);
    td_event_counts_add(&model->events.at[event].counts, counts);
}

uint32_t td_model_add_group(struct td_model *model, const struct td_group *group)
{
    assert(group->column_count <= TD_COLUMNS_MAX);
    *VECTOR_PUSH(model->groups) = *group;
    return (uint32_t)model->groups.len - 1;
}

static bool function_equal(const struct td_model *model, uint32_t id, const void *key)
{
    const struct td_function *a = &model->functions.at[id], *b = key;

    return a->name == b->name && a->linkage_name == b->linkage_name && a->file == b->file &&
           a->line == b->line && a->module == b->module;
}

uint32_t td_model_put_function(struct td_model *model, const struct td_function *function)
{
    const uint64_t where = td_hash_mix((uint64_t)function->file << 32 | function->line,
                                       (uint64_t)function->linkage_name << 32 | function->module);
    const uint32_t id =
        id_table_put(&model->function_ids, td_hash_mix(where, function->name),
                     (uint32_t)model->functions.len, function_equal, model, function);

    if (id == model->functions.len)
        *VECTOR_PUSH(model->functions) = *function;
    return id;
}

void td_model_add_symbol(struct td_model *model, uint32_t module, const struct td_symbol *symbol)
{
    assert(module < model->modules.len);
    while (model->symbols.len <= module)
        *VECTOR_PUSH(model->symbols) = (struct module_symbols){.sorted = true};
    struct module_symbols *symbols = &model->symbols.at[module];
    model->symbol_bytes -= VECTOR_BYTES(*symbols);
    *VECTOR_PUSH(*symbols) = *symbol;
    model->symbol_bytes += VECTOR_BYTES(*symbols);
    symbols->sorted = symbols->len < 2 ||
                      (symbols->sorted && symbols->at[symbols->len - 2].offset <= symbol->offset);
}

static bool tally_equal(const struct td_model *model, uint32_t id, const void *key)
{
    const struct td_tally *a = &model->tallies.at[id], *b = key;

    return a->thread == b->thread && a->node == b->node && a->group == b->group;
}

static uint64_t tally_hash(const struct td_tally *tally)
{
    return td_hash_mix((uint64_t)tally->thread << 32 | tally->group, tally->node);
}

/* Profiles of many stacks bring their tallies thread by thread: a place of that thread is found
 * without hashing. */
static uint32_t find_tally(struct td_model *model, const struct td_tally *place)
{
    if (place->thread != model->near_thread || place->group != model->near_group ||
        model->near_turn == 0) {
        model->near_thread = place->thread;
        model->near_group = place->group;
        model->near_turn++;
    }
    while (place->node >= model->near_cap) {
        const size_t old = model->near_cap;

        model->near_tallies = td_grow(model->near_tallies, &model->near_cap,
                                      (size_t)place->node + 1, sizeof(*model->near_tallies));
        memset(model->near_tallies + old, 0, (model->near_cap - old) * sizeof(struct near_tally));
    }
    struct near_tally *near = &model->near_tallies[place->node];
    if (near->turn != model->near_turn) {
        near->turn = model->near_turn;
        near->tally = id_table_put(&model->tally_ids, tally_hash(place),
                                   (uint32_t)model->tallies.len, tally_equal, model, place);
    }
    return near->tally;
}

/* Room for so many zeros behind all values. */
static uint64_t *grow_values(struct td_model *model, size_t count)
{
    model->tally_values = td_grow(model->tally_values, &model->tally_values_cap,
                                  model->tally_values_len + count, sizeof(uint64_t));
    uint64_t *const ret = model->tally_values + model->tally_values_len;
    memset(ret, 0, count * sizeof(uint64_t));
    model->tally_values_len += count;
    return ret;
}

/* Of a wide group: a mask of the columns that are not 0, then their values. */
static bool is_sparse(uint32_t columns)
{
    return columns > TD_DENSE_COLUMNS;
}

static void add_tally(struct td_model *model, const struct td_tally *place, uint32_t columns)
{
    *VECTOR_PUSH(model->tallies) = *place;
    model->tallies.at[model->tallies.len - 1].values = model->tally_values_len;
    grow_values(model, is_sparse(columns) ? 1 : columns);
}

/* Makes room for the columns of `mask` as well: behind all values, where the tally's are not the
 * last. What it leaves behind stays unused. */
static void widen(struct td_model *model, struct td_tally *tally, uint64_t mask)
{
    uint64_t old[TD_COLUMNS_MAX + 1];
    const size_t count = 1 + (size_t)__builtin_popcountll(model->tally_values[tally->values]);

    memcpy(old, model->tally_values + tally->values, count * sizeof(*old));
    if (tally->values + count == model->tally_values_len)
        model->tally_values_len = tally->values;
    tally->values = model->tally_values_len;
    mask |= old[0];
    uint64_t *at = grow_values(model, 1 + (size_t)__builtin_popcountll(mask));
    const uint64_t *from = old + 1;
    *at++ = mask;
    for (uint64_t left = mask; left; left &= left - 1, at++) {
        if (old[0] >> __builtin_ctzll(left) & 1)
            *at = *from++;
    }
}

static void add_sparse(struct td_model *model, struct td_tally *tally, uint32_t columns,
                       const uint64_t *values)
{
    uint64_t mask = 0;

    for (uint32_t c = 0; c < columns; c++)
        mask |= (uint64_t)(values[c] != 0) << c;
    if (mask & ~model->tally_values[tally->values])
        widen(model, tally, mask);
    uint64_t *at = model->tally_values + tally->values;
    for (uint64_t left = *at++; left; left &= left - 1)
        *at++ += values[__builtin_ctzll(left)];
}

void td_model_add_values(struct td_model *model, uint32_t thread, uint32_t node, uint32_t group,
                         uint64_t samples, const uint64_t *values)
{
    const uint32_t columns = td_model_group(model, group)->column_count;
    const struct td_tally place = {.thread = thread, .node = node, .group = group};
    uint32_t id = model->last_tally;

    assert(thread < model->threads.len && node < model->nodes.len);
    if (id >= model->tallies.len || !tally_equal(model, id, &place))
        id = find_tally(model, &place);
    if (id == model->tallies.len)
        add_tally(model, &place, columns);
    model->last_tally = id;
    struct td_tally *tally = &model->tallies.at[id];
    tally->samples += samples;
    if (is_sparse(columns)) {
        add_sparse(model, tally, columns, values);
        return;
    }
    for (uint32_t c = 0; c < columns; c++)
        model->tally_values[tally->values + c] += values[c];
}

/* The tallies' ids are others now. */
static void find_tallies_anew(struct td_model *model)
{
    free(model->tally_ids.slots);
    model->tally_ids = (struct id_table){.slots = NULL};
    for (uint32_t id = 0; id < model->tallies.len; id++) {
        const struct td_tally *t = &model->tallies.at[id];

        id_table_put(&model->tally_ids, tally_hash(t), id, tally_equal, model, t);
    }
    model->near_turn++;
    model->near_thread = model->near_group = TD_NONE;
    model->last_tally = 0;
}

size_t td_model_drop_tallies(struct td_model *model, td_model_wrong_fn *wrong, void *ctx)
{
    const size_t before = model->tallies.len;
    size_t kept = 0;

    for (size_t i = 0; i < before; i++) {
        if (!wrong(ctx, model, &model->tallies.at[i]))
            model->tallies.at[kept++] = model->tallies.at[i];
    }
    model->tallies.len = kept;
    if (kept < before)
        find_tallies_anew(model);
    return before - kept;
}

void td_model_add_sample(struct td_model *model, const struct td_sample *sample,
                         const uint64_t *values)
{
    const uint32_t columns = td_model_group(model, sample->group)->column_count;
    struct td_sample *added = VECTOR_PUSH(model->samples);

    *added = *sample;
    added->values = model->sample_values_len;
    model->sample_values = td_grow(model->sample_values, &model->sample_values_cap,
                                   model->sample_values_len + columns, sizeof(uint64_t));
    memcpy(model->sample_values + model->sample_values_len, values, columns * sizeof(uint64_t));
    model->sample_values_len += columns;
}

/* Values stand in the order of addition, which tells samples of one time apart. */
static int by_time(const void *a, const void *b)
{
    const struct td_sample *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->values > y->values) - (x->values < y->values);
}

void td_model_sort_samples(struct td_model *model)
{
    if (model->samples.len == 0)
        return;
    qsort(model->samples.at, model->samples.len, sizeof(*model->samples.at), by_time);
}

void td_model_set_lines(struct td_model *model, uint32_t location, const struct td_line *lines,
                        uint32_t count)
{
    assert(location < model->locations.len);
    model->locations.at[location].line_first = (uint32_t)model->lines.len;
    model->locations.at[location].line_count = count;
    for (uint32_t i = 0; i < count; i++)
        *VECTOR_PUSH(model->lines) = lines[i];
}

void td_model_set_module_note(struct td_model *model, uint32_t module, uint32_t note,
                              uint32_t debug_file)
{
    assert(module < model->modules.len);
    model->modules.at[module].note = note;
    model->modules.at[module].debug_file = debug_file;
}

void td_model_set_no_inlines(struct td_model *model, uint32_t module)
{
    assert(module < model->modules.len);
    model->modules.at[module].no_inlines = true;
}

struct td_ran *td_model_ran(struct td_model *model)
{
    return model->code;
}

const struct td_ran *td_model_ran_of(const struct td_model *model)
{
    return model->code;
}

uint32_t td_model_put_region(struct td_model *model, uint32_t parent, uint32_t name)
{
    assert(parent == TD_NONE || parent < model->regions.len);
    const uint32_t depth = parent == TD_NONE ? 0 : model->regions.at[parent].depth + 1;
    bool added = false;

    if (depth > TD_REGION_DEPTH_MAX)
        return TD_NONE;
    const uint32_t id =
        *td_map_put(&model->region_ids, parent, name, (uint32_t)model->regions.len, &added);
    if (added)
        *VECTOR_PUSH(model->regions) =
            (struct td_region){.parent = parent, .name = name, .depth = depth};
    return id;
}

/* The row of the same place; a new one is of nothing. */
static struct td_region_row *region_row_of(struct td_model *model, const struct td_region_row *row)
{
    const uint32_t columns = row->group == TD_NONE ? 0 : model->groups.at[row->group].column_count;
    bool added = false;
    const uint32_t at =
        *td_map_put(&model->region_row_ids, (uint64_t)row->thread << 32 | row->region, row->group,
                    (uint32_t)model->region_rows.len, &added);

    if (!added)
        return &model->region_rows.at[at];
    model->region_values = td_grow(model->region_values, &model->region_values_cap,
                                   model->region_values_len + columns + 1, sizeof(uint64_t));
    memset(model->region_values + model->region_values_len, 0, columns * sizeof(uint64_t));
    *VECTOR_PUSH(model->region_rows) = (struct td_region_row){.thread = row->thread,
                                                              .region = row->region,
                                                              .group = row->group,
                                                              .unit = row->unit,
                                                              .values = model->region_values_len};
    model->region_values_len += columns;
    return &model->region_rows.at[at];
}

static bool put_region_row(struct td_model *model, const struct td_region_row *row,
                           const uint64_t *values, bool add)
{
    assert(row->thread < model->threads.len && row->region < model->regions.len);
    const uint32_t columns = row->group == TD_NONE ? 0 : model->groups.at[row->group].column_count;
    struct td_region_row *known = region_row_of(model, row);
    struct td_region_row sum = *known;
    uint64_t *at = model->region_values + known->values;

    if (!add)
        sum = (struct td_region_row){.thread = row->thread,
                                     .region = row->region,
                                     .group = row->group,
                                     .unit = row->unit,
                                     .values = known->values};
    for (uint32_t c = 0; c < columns; c++) {
        if (values[c] >= TD_SUM_MAX || (add && values[c] + at[c] >= TD_SUM_MAX))
            return false;
    }
    if (sum.unit != row->unit || !td_region_row_add(&sum, row))
        return false;
    *known = sum;
    for (uint32_t c = 0; c < columns; c++)
        at[c] = values[c] + (add ? at[c] : 0);
    return true;
}

bool td_model_set_region_row(struct td_model *model, const struct td_region_row *row,
                             const uint64_t *values)
{
    return put_region_row(model, row, values, false);
}

bool td_model_add_region_row(struct td_model *model, const struct td_region_row *row,
                             const uint64_t *values)
{
    return put_region_row(model, row, values, true);
}

static void locate_side(struct td_model *model, struct td_shared_side *side)
{
    side->location = side->module == TD_NONE
                         ? TD_NONE
                         : td_model_put_location(model, side->module, side->offset);
}

bool td_model_add_shared(struct td_model *model, const struct td_shared_row *row)
{
    assert(row->process < model->threads.len && td_shared_row_is_right(row));
    /* Each is below a quarter of all that fits. */
    const uint64_t sum = row->transfers + row->invalidations + row->cycles;

    if (sum >= TD_SUM_MAX || model->shared_sum + sum >= TD_SUM_MAX)
        return false;
    model->shared_sum += sum;
    struct td_shared_row *added = VECTOR_PUSH(model->shareds);

    *added = *row;
    locate_side(model, &added->mine);
    locate_side(model, &added->theirs);
    return true;
}

const uint64_t *td_model_region_values(const struct td_model *model,
                                       const struct td_region_row *row)
{
    return model->region_values + row->values;
}

bool td_model_put_habit(struct td_model *model, const struct td_habit *habit)
{
    assert(habit->module < model->modules.len);
    return td_habits_put(&model->habits, habit);
}

const struct td_habits *td_model_habits(const struct td_model *model)
{
    return &model->habits;
}

#define MODEL_ARRAY(noun, type, member)                                          \
    uint32_t td_model_##noun##_count(const struct td_model *model)               \
    {                                                                            \
        return (uint32_t)model->member.len;                                      \
    }                                                                            \
    const struct type *td_model_##noun(const struct td_model *model, uint32_t i) \
    {                                                                            \
        assert(i < model->member.len);                                           \
        return &model->member.at[i];                                             \
    }
MODEL_ARRAY(module, td_module, modules)
MODEL_ARRAY(location, td_location, locations)
MODEL_ARRAY(node, td_node, nodes)
MODEL_ARRAY(thread, td_thread, threads)
MODEL_ARRAY(event, td_event, events)
MODEL_ARRAY(group, td_group, groups)
MODEL_ARRAY(function, td_function, functions)
MODEL_ARRAY(line, td_line, lines)
MODEL_ARRAY(region, td_region, regions)
MODEL_ARRAY(region_row, td_region_row, region_rows)
MODEL_ARRAY(shared, td_shared_row, shareds)

size_t td_model_tally_count(const struct td_model *model)
{
    return model->tallies.len;
}

const struct td_tally *td_model_tally(const struct td_model *model, size_t i)
{
    assert(i < model->tallies.len);
    return &model->tallies.at[i];
}

const uint64_t *td_model_tally_values(const struct td_model *model, const struct td_tally *tally,
                                      uint64_t room[TD_COLUMNS_MAX])
{
    const uint32_t columns = td_model_group(model, tally->group)->column_count;
    const uint64_t *at = model->tally_values + tally->values;

    if (!is_sparse(columns))
        return at;
    memset(room, 0, columns * sizeof(*room));
    for (uint64_t left = *at++; left; left &= left - 1)
        room[__builtin_ctzll(left)] = *at++;
    return room;
}

size_t td_model_sample_count(const struct td_model *model)
{
    return model->samples.len;
}

const struct td_sample *td_model_sample(const struct td_model *model, size_t i)
{
    assert(i < model->samples.len);
    return &model->samples.at[i];
}

const uint64_t *td_model_sample_values(const struct td_model *model, const struct td_sample *sample)
{
    return model->sample_values + sample->values;
}

static int by_offset(const void *a, const void *b)
{
    const struct td_symbol *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

const struct td_symbol *td_model_symbols(const struct td_model *model, uint32_t module,
                                         size_t *count)
{
    *count = 0;
    if (module >= model->symbols.len || model->symbols.at[module].len == 0)
        return NULL;
    /* Sorting is a cache of order, not a change of the profile. */
    struct module_symbols *symbols = &model->symbols.at[module];
    if (!symbols->sorted)
        qsort(symbols->at, symbols->len, sizeof(*symbols->at), by_offset);
    symbols->sorted = true;
    *count = symbols->len;
    return symbols->at;
}
