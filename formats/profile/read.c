/* SPDX-License-Identifier: MIT */
#include "formats/profile/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* After a loss, ids may jump; this far at most, so that tables of them stay small. */
#define ID_GAP_MAX (UINT64_C(1) << 22)
#define ID_MAX     (UINT64_C(1) << 31)

/* A group takes 800 bytes of memory; a machine's recording has some ten. */
#define GROUPS_MAX 65536

#define KIND_COUNT 32

struct reader {
    const uint8_t *data;
    size_t size;
    const struct td_profile_visitor *visit;
    struct td_profile_header header;
    struct td_chunk_unpacker *unpacker;
    uint64_t defined[TD_TABLE_COUNT];
    uint8_t *columns; /* of each group; UINT8_MAX when the group's description was lost */
    size_t columns_cap;
    uint32_t epoch;
    uint64_t nodes; /* of this epoch, with the empty stack */
    struct td_node_row *node_rows;
    size_t node_cap;
    struct td_columns_reader values;
    uint64_t totals[KIND_COUNT];
    uint32_t sequence;
    bool lost; /* a chunk is missing: ids that are not known are no longer an error */
    bool ended;
    struct td_profile_ending ending;
};

#define VISIT(reader, noun, ...)                                      \
    do {                                                              \
        if ((reader)->visit->noun)                                    \
            (reader)->visit->noun((reader)->visit->ctx, __VA_ARGS__); \
    } while (0)

static void begin_record(struct reader *reader, const struct td_rd *rd, enum td_chunk_kind kind)
{
    reader->totals[kind]++;
    VISIT(reader, record, rd->pos);
}

static void damage(struct reader *reader, const struct td_err *err)
{
    reader->lost = true;
    reader->ending.damages++;
    VISIT(reader, damage, err);
}

/* Text never holds a zero byte, so that it can be handed on as a C string. */
static const char *get_text(struct td_rd *rd, size_t *len)
{
    const size_t start = rd->pos;
    const char *s = td_rd_string(rd, len);

    if (s && memchr(s, '\0', *len)) {
        rd->pos = start;
        td_rd_fail(rd);
        return NULL;
    }
    return s;
}

/* An id that must have been described before. */
static uint32_t get_id(struct reader *reader, struct td_rd *rd, enum td_profile_table table)
{
    return (uint32_t)td_rd_uleb_below(rd, reader->lost ? ID_MAX : reader->defined[table]);
}

/* The same, or TD_NONE: stored as the id plus 1, and 0. */
static uint32_t get_id_or_none(struct reader *reader, struct td_rd *rd, enum td_profile_table table)
{
    return (uint32_t)td_rd_uleb_below(rd, 1 + (reader->lost ? ID_MAX : reader->defined[table])) - 1;
}

/* A number out of one of the lists of profile_kinds.h. What a newer list holds is `other` to us. */
static uint32_t get_listed(struct td_rd *rd, const char *(*name)(unsigned), uint32_t other)
{
    const uint64_t number = td_rd_uleb(rd);

    return number <= UINT8_MAX && strcmp(name((unsigned)number), "?") != 0 ? (uint32_t)number
                                                                           : other;
}

static uint32_t get_u32(struct td_rd *rd)
{
    return (uint32_t)td_rd_uleb_below(rd, UINT64_C(1) << 32);
}

/* "first id, count": the ids must follow on those before. Returns the count. */
static uint32_t get_range(struct reader *reader, struct td_rd *rd, uint64_t *defined,
                          uint32_t *first)
{
    const uint64_t last = *defined;
    const uint64_t id = td_rd_uleb_below(rd, last + (reader->lost ? ID_GAP_MAX : 1));
    const uint64_t count = td_rd_uleb_below(rd, td_rd_left(rd) + 1);

    if (id < last || id + count > ID_MAX)
        td_rd_fail(rd);
    if (!td_rd_ok(rd))
        return 0;
    *first = (uint32_t)id;
    *defined = id + count;
    return (uint32_t)count;
}

static void read_environment(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        const char *text[2];
        size_t len[2];

        begin_record(reader, rd, TD_CHUNK_ENVIRONMENT);
        text[0] = get_text(rd, &len[0]);
        text[1] = get_text(rd, &len[1]);
        if (td_rd_ok(rd))
            VISIT(reader, env, text, len);
    }
}

static void read_strings(struct reader *reader, struct td_rd *rd)
{
    uint32_t id = 0;
    const uint32_t count = get_range(reader, rd, &reader->defined[TD_TABLE_STRINGS], &id);

    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        size_t len = 0;

        begin_record(reader, rd, TD_CHUNK_STRINGS);
        const char *s = get_text(rd, &len);
        if (s)
            VISIT(reader, string, id + i, s, len);
    }
}

static void read_modules(struct reader *reader, struct td_rd *rd)
{
    uint32_t id = 0;
    const uint32_t count = get_range(reader, rd, &reader->defined[TD_TABLE_MODULES], &id);

    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        struct td_module module = {0};

        begin_record(reader, rd, TD_CHUNK_MODULES);
        module.kind = get_listed(rd, td_module_kind_name, TD_MODULE_UNKNOWN);
        module.path = get_id(reader, rd, TD_TABLE_STRINGS);
        module.pid = get_u32(rd);
        module.base = td_rd_uleb(rd);
        module.build_id.size = (uint8_t)td_rd_uleb_below(rd, TD_BUILD_ID_MAX + 1);
        const uint8_t *bytes = td_rd_bytes(rd, module.build_id.size);
        if (!bytes)
            return;
        memcpy(module.build_id.bytes, bytes, module.build_id.size);
        VISIT(reader, module, id + i, &module);
    }
}

static void read_threads(struct reader *reader, struct td_rd *rd)
{
    uint32_t id = 0;
    const uint32_t count = get_range(reader, rd, &reader->defined[TD_TABLE_THREADS], &id);

    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        struct td_thread thread = {0};

        begin_record(reader, rd, TD_CHUNK_THREADS);
        thread.pid = get_u32(rd);
        thread.tid = get_u32(rd);
        thread.name = get_id(reader, rd, TD_TABLE_STRINGS);
        thread.process = get_id(reader, rd, TD_TABLE_STRINGS);
        thread.start_ns = td_rd_uleb(rd);
        if (td_rd_ok(rd))
            VISIT(reader, thread, id + i, &thread);
    }
}

static void read_events(struct reader *reader, struct td_rd *rd)
{
    uint32_t id = 0;
    const uint32_t count = get_range(reader, rd, &reader->defined[TD_TABLE_EVENTS], &id);

    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        struct td_event event = {0};

        begin_record(reader, rd, TD_CHUNK_EVENTS);
        event.name = get_id(reader, rd, TD_TABLE_STRINGS);
        event.unit = get_listed(rd, td_unit_name, TD_UNIT_COUNT);
        event.pmu_type = get_u32(rd);
        for (int c = 0; c < 3; c++)
            event.config[c] = td_rd_uleb(rd);
        event.period = td_rd_uleb(rd);
        event.frequency_hz = td_rd_uleb(rd);
        event.flags = get_u32(rd);
        if (td_rd_ok(rd))
            VISIT(reader, event, id + i, &event);
    }
}

/* A node of the top-down tree: its number plus 1, 0 for none. A number that this version does not
 * know is none as well. */
static enum td_tma_node get_tma_node(struct td_rd *rd)
{
    const uint64_t number = td_rd_uleb(rd);

    return number > 0 && number <= TD_NODE_COUNT ? (enum td_tma_node)(number - 1) : TD_NODE_NONE;
}

static void get_group(struct reader *reader, struct td_rd *rd, struct td_group *group)
{
    group->name = get_id(reader, rd, TD_TABLE_STRINGS);
    group->role = get_listed(rd, td_group_role_name, TD_ROLE_METRIC);
    group->attribution = get_listed(rd, td_attribution_name, TD_ATTRIBUTION_NONE);
    group->locates = get_tma_node(rd);
    group->sampler = get_id_or_none(reader, rd, TD_TABLE_EVENTS);
    group->cpu_type = get_id(reader, rd, TD_TABLE_STRINGS);
    group->column_count = (uint32_t)td_rd_uleb_below(rd, TD_COLUMNS_MAX + 1);
    for (uint32_t c = 0; c < group->column_count; c++) {
        group->columns[c].kind = get_listed(rd, td_column_kind_name, TD_COLUMN_UNKNOWN);
        group->columns[c].event = get_id_or_none(reader, rd, TD_TABLE_EVENTS);
        group->columns[c].node = get_tma_node(rd);
    }
}

static void read_groups(struct reader *reader, struct td_rd *rd)
{
    const uint64_t before = reader->defined[TD_TABLE_GROUPS];
    uint32_t id = 0;
    const uint32_t count = get_range(reader, rd, &reader->defined[TD_TABLE_GROUPS], &id);
    const size_t after = (size_t)reader->defined[TD_TABLE_GROUPS];

    if (after > GROUPS_MAX)
        td_rd_fail(rd);
    if (!td_rd_ok(rd)) {
        reader->defined[TD_TABLE_GROUPS] = before; /* no columns of more are known */
        return;
    }
    reader->columns = td_grow(reader->columns, &reader->columns_cap, after, 1);
    memset(reader->columns + before, UINT8_MAX, after - before);
    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        struct td_group group = {0};

        begin_record(reader, rd, TD_CHUNK_GROUPS);
        get_group(reader, rd, &group);
        if (!td_rd_ok(rd))
            return;
        reader->columns[id + i] = (uint8_t)group.column_count;
        VISIT(reader, group, id + i, &group);
    }
}

static void get_symbols(struct reader *reader, struct td_rd *rd, enum td_chunk_kind kind)
{
    uint64_t offset = 0;

    while (td_rd_left(rd) > 0) {
        struct td_symbol symbol = {0};

        begin_record(reader, rd, kind);
        const uint32_t module = get_id(reader, rd, TD_TABLE_MODULES);
        offset += (uint64_t)td_rd_zigzag(rd);
        symbol.offset = offset;
        symbol.size = td_rd_uleb(rd);
        symbol.name = get_id(reader, rd, TD_TABLE_STRINGS);
        if (kind == TD_CHUNK_PLACED) {
            symbol.file = get_id(reader, rd, TD_TABLE_STRINGS);
            symbol.line = get_u32(rd);
        }
        if (td_rd_ok(rd))
            VISIT(reader, symbol, module, &symbol);
    }
}

static void read_symbols(struct reader *reader, struct td_rd *rd)
{
    get_symbols(reader, rd, TD_CHUNK_SYMBOLS);
}

static void read_placed(struct reader *reader, struct td_rd *rd)
{
    get_symbols(reader, rd, TD_CHUNK_PLACED);
}

static void read_origins(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        begin_record(reader, rd, TD_CHUNK_ORIGINS);
        const uint32_t thread = get_id(reader, rd, TD_TABLE_THREADS);
        const uint32_t string = get_id(reader, rd, TD_TABLE_STRINGS);

        if (td_rd_ok(rd))
            VISIT(reader, origin, thread, string);
    }
}

static void read_passes(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        begin_record(reader, rd, TD_CHUNK_PASSES);
        const uint32_t group = get_id(reader, rd, TD_TABLE_GROUPS);
        const uint32_t pass = get_u32(rd);

        if (td_rd_ok(rd))
            VISIT(reader, pass, group, pass);
    }
}

static void read_group_regions(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        begin_record(reader, rd, TD_CHUNK_GROUP_REGIONS);
        const uint32_t group = get_id(reader, rd, TD_TABLE_GROUPS);
        const uint32_t region = get_id(reader, rd, TD_TABLE_REGIONS);

        if (td_rd_ok(rd))
            VISIT(reader, group_region, group, region);
    }
}

static void read_counts(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        begin_record(reader, rd, TD_CHUNK_COUNTS);
        struct td_event_counts counts = {0};
        const uint32_t event = get_id(reader, rd, TD_TABLE_EVENTS);

        counts.counted = td_rd_uleb(rd);
        counts.sampled = td_rd_uleb(rd);
        counts.elsewhere = td_rd_uleb(rd);
        counts.rest = td_rd_uleb(rd);
        counts.enabled_ns = td_rd_uleb(rd);
        counts.running_ns = td_rd_uleb(rd);
        if (td_rd_ok(rd))
            VISIT(reader, counts, event, &counts);
    }
}

static void read_regions(struct reader *reader, struct td_rd *rd)
{
    const uint64_t before = reader->defined[TD_TABLE_REGIONS];
    uint32_t id = 0;
    const uint32_t count = get_range(reader, rd, &reader->defined[TD_TABLE_REGIONS], &id);
    const uint64_t after = reader->defined[TD_TABLE_REGIONS];

    for (uint32_t i = 0; i < count && td_rd_ok(rd); i++) {
        begin_record(reader, rd, TD_CHUNK_REGIONS);
        /* A parent comes before what is in it. */
        reader->defined[TD_TABLE_REGIONS] = (uint64_t)id + i;
        const uint32_t parent = get_id_or_none(reader, rd, TD_TABLE_REGIONS);
        const uint32_t name = get_id(reader, rd, TD_TABLE_STRINGS);

        if (td_rd_ok(rd))
            VISIT(reader, region, id + i, parent, name);
    }
    reader->defined[TD_TABLE_REGIONS] = td_rd_ok(rd) ? after : before;
}

static void read_region_rows(struct reader *reader, struct td_rd *rd)
{
    uint64_t values[TD_COLUMNS_MAX] = {0};

    while (td_rd_left(rd) > 0) {
        struct td_region_row row = {0};

        begin_record(reader, rd, TD_CHUNK_REGION_ROWS);
        row.thread = get_id(reader, rd, TD_TABLE_THREADS);
        row.region = get_id(reader, rd, TD_TABLE_REGIONS);
        row.group = get_id_or_none(reader, rd, TD_TABLE_GROUPS);
        row.unit = get_listed(rd, td_unit_name, TD_UNIT_COUNT);
        row.begun = td_rd_uleb(rd);
        row.ended = td_rd_uleb(rd);
        row.timed = td_rd_uleb(rd);
        row.sum = td_rd_uleb(rd);
        row.min = td_rd_uleb(rd);
        row.max = td_rd_uleb(rd);
        row.squares[0] = td_rd_uleb(rd);
        row.squares[1] = td_rd_uleb(rd);
        row.whole = td_rd_uleb(rd);
        row.seen = td_rd_uleb(rd);
        if (row.group != TD_NONE && (row.group >= reader->defined[TD_TABLE_GROUPS] ||
                                     reader->columns[row.group] == UINT8_MAX)) {
            td_rd_fail(rd); /* how many values it has was lost */
            return;
        }
        const uint32_t columns = row.group == TD_NONE ? 0 : reader->columns[row.group];
        for (uint32_t c = 0; c < columns; c++)
            values[c] = td_rd_uleb(rd);
        if (td_rd_ok(rd))
            VISIT(reader, region_row, &row, values, columns);
    }
}

static void read_code(struct reader *reader, struct td_rd *rd)
{
    struct td_ran_room *room = td_xcalloc(1, sizeof(*room));
    struct td_ran_block block;
    uint64_t offset = 0;

    while (td_rd_left(rd) > 0) {
        begin_record(reader, rd, TD_CHUNK_CODE);
        const uint32_t module = get_id(reader, rd, TD_TABLE_MODULES);
        offset += (uint64_t)td_rd_zigzag(rd);
        td_ran_get(rd, &block, room);
        block.module = module;
        block.offset = offset;
        if (td_rd_ok(rd))
            VISIT(reader, code, &block);
    }
    free(room);
}

static void get_side(struct reader *reader, struct td_rd *rd, struct td_shared_side *side)
{
    side->thread = get_id_or_none(reader, rd, TD_TABLE_THREADS);
    side->module = get_id_or_none(reader, rd, TD_TABLE_MODULES);
    side->offset = td_rd_uleb(rd);
    side->location = TD_NONE;
    side->store = td_rd_uleb_below(rd, 2);
}

static void read_sharing(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        struct td_shared_row row = {0};

        begin_record(reader, rd, TD_CHUNK_SHARING);
        row.process = get_id(reader, rd, TD_TABLE_THREADS);
        row.address = td_rd_uleb(rd);
        row.area = (uint32_t)td_rd_uleb_below(rd, TD_SHARED_AREA_COUNT);
        row.module = get_id_or_none(reader, rd, TD_TABLE_MODULES);
        row.offset = td_rd_uleb(rd);
        get_side(reader, rd, &row.mine);
        get_side(reader, rd, &row.theirs);
        row.is_false = td_rd_uleb_below(rd, 2);
        row.transfers = td_rd_uleb(rd);
        row.invalidations = td_rd_uleb(rd);
        row.cycles = td_rd_uleb(rd);
        if (!td_shared_row_is_right(&row))
            td_rd_fail(rd);
        if (td_rd_ok(rd))
            VISIT(reader, shared, &row);
    }
}

/* What a newer version appends to the figures is not known here. */
static void read_figures(struct td_rd *rd, struct td_habit *habit)
{
    const uint64_t count = td_rd_uleb_below(rd, td_rd_left(rd) + 1);

    for (uint64_t i = 0; i < count && td_rd_ok(rd); i++) {
        const uint64_t figure = td_rd_uleb(rd);

        if (i < TD_HABIT_FIGURE_COUNT)
            habit->figures[i] = figure;
    }
}

static void read_marks(struct reader *reader, struct td_rd *rd, struct td_habit *habit)
{
    const uint64_t count = td_rd_uleb_below(rd, td_rd_left(rd) + 1);

    for (uint64_t i = 0; i < count && td_rd_ok(rd); i++) {
        struct td_habit_mark mark;

        mark.kind = get_u32(rd);
        mark.module = get_id_or_none(reader, rd, TD_TABLE_MODULES);
        mark.key = td_rd_zigzag(rd);
        mark.count = td_rd_uleb(rd);
        if (td_rd_ok(rd))
            td_habit_mark(habit, &mark);
    }
}

static void read_habits(struct reader *reader, struct td_rd *rd)
{
    uint64_t offset = 0;

    while (td_rd_left(rd) > 0) {
        struct td_habit habit = {0};

        begin_record(reader, rd, TD_CHUNK_HABITS);
        habit.module = get_id(reader, rd, TD_TABLE_MODULES);
        habit.offset = offset += (uint64_t)td_rd_zigzag(rd);
        read_figures(rd, &habit);
        read_marks(reader, rd, &habit);
        if (td_rd_ok(rd) && !td_habit_is_right(&habit))
            td_rd_fail(rd);
        if (td_rd_ok(rd))
            VISIT(reader, habit, &habit);
    }
}

/* An epoch follows the one before and starts with node 1, unless what was between is lost. */
static bool enter_epoch(struct reader *reader, struct td_rd *rd)
{
    const uint32_t epoch = get_u32(rd);

    if (!td_rd_ok(rd) || epoch == reader->epoch)
        return td_rd_ok(rd);
    if (epoch < reader->epoch || (!reader->lost && epoch != reader->epoch + 1)) {
        td_rd_fail(rd);
        return false;
    }
    reader->epoch = epoch;
    reader->nodes = 1;
    return true;
}

static void read_nodes(struct reader *reader, struct td_rd *rd)
{
    struct td_profile_nodes nodes = {0};
    bool known = true;

    VISIT(reader, record, rd->pos);
    if (!enter_epoch(reader, rd))
        return;
    nodes.epoch = reader->epoch;
    nodes.count = get_range(reader, rd, &reader->nodes, &nodes.first);
    if (nodes.count > TD_CHUNK_ROWS_MAX)
        td_rd_fail(rd);
    if (!td_rd_ok(rd))
        return;
    reader->node_rows =
        td_grow(reader->node_rows, &reader->node_cap, nodes.count, sizeof(*reader->node_rows));
    td_columns_get_nodes(rd, &reader->values.scratch, nodes.first, reader->node_rows, nodes.count);
    for (uint32_t i = 0; i < nodes.count; i++)
        known = known && reader->node_rows[i].module < reader->defined[TD_TABLE_MODULES];
    if (!known && !reader->lost)
        td_rd_fail(rd);
    if (!td_rd_ok(rd))
        return;
    reader->totals[TD_CHUNK_NODES] += nodes.count;
    nodes.rows = reader->node_rows;
    VISIT(reader, nodes, &nodes);
}

static uint32_t columns_of(const void *ctx, uint32_t group)
{
    const struct reader *reader = ctx;

    if (group >= reader->defined[TD_TABLE_GROUPS] || reader->columns[group] == UINT8_MAX)
        return TD_NONE;
    return reader->columns[group];
}

/* Every row names a thread and a node that exist. */
static bool rows_known(const struct reader *reader, uint32_t epoch)
{
    const struct td_value_runs *runs = &reader->values.runs;
    const uint64_t threads = reader->defined[TD_TABLE_THREADS];
    const uint64_t nodes = epoch == reader->epoch ? reader->nodes : 0;

    for (size_t i = 0; i < runs->row_count; i++) {
        if (runs->rows[i].thread >= threads || runs->rows[i].node >= nodes)
            return false;
    }
    return true;
}

static bool read_values(struct reader *reader, struct td_rd *rd, enum td_chunk_kind kind,
                        struct td_profile_values *values)
{
    VISIT(reader, record, rd->pos);
    values->epoch = get_u32(rd);
    values->runs = &reader->values.runs;
    if (kind == TD_CHUNK_SAMPLES)
        td_columns_get_samples(rd, &reader->values);
    else
        td_columns_get_tallies(rd, &reader->values);
    if (td_rd_ok(rd) && !reader->lost && !rows_known(reader, values->epoch))
        td_rd_fail(rd);
    if (td_rd_ok(rd))
        reader->totals[kind] += reader->values.runs.row_count;
    return td_rd_ok(rd);
}

static void read_samples(struct reader *reader, struct td_rd *rd)
{
    struct td_profile_values values;

    if (read_values(reader, rd, TD_CHUNK_SAMPLES, &values))
        VISIT(reader, samples, &values);
}

static void read_tallies(struct reader *reader, struct td_rd *rd)
{
    struct td_profile_values values;

    if (read_values(reader, rd, TD_CHUNK_TALLIES, &values))
        VISIT(reader, tallies, &values);
}

static void read_counters(struct reader *reader, struct td_rd *rd)
{
    while (td_rd_left(rd) > 0) {
        begin_record(reader, rd, TD_CHUNK_COUNTERS);
        const uint64_t counter = td_rd_uleb(rd);
        const uint64_t value = td_rd_uleb(rd);

        if (td_rd_ok(rd))
            VISIT(reader, counter, counter, value);
    }
}

/* What the writer says it wrote, against what was read. */
static void read_end(struct reader *reader, struct td_rd *rd)
{
    reader->ended = true;
    while (td_rd_left(rd) > 0) {
        VISIT(reader, record, rd->pos);
        const size_t start = rd->pos;
        const uint64_t kind = td_rd_uleb(rd);
        const uint64_t total = td_rd_uleb(rd);

        if (!td_rd_ok(rd))
            return;
        VISIT(reader, end, kind, total);
        if (kind < KIND_COUNT && td_chunk_kind_name((unsigned)kind) && !reader->lost &&
            !reader->visit->kinds && total != reader->totals[kind]) {
            rd->pos = start;
            td_rd_fail(rd);
        }
    }
}

static void (*const decoders[KIND_COUNT])(struct reader *, struct td_rd *) = {
    [TD_CHUNK_ENVIRONMENT] = read_environment,
    [TD_CHUNK_STRINGS] = read_strings,
    [TD_CHUNK_MODULES] = read_modules,
    [TD_CHUNK_THREADS] = read_threads,
    [TD_CHUNK_EVENTS] = read_events,
    [TD_CHUNK_GROUPS] = read_groups,
    [TD_CHUNK_SYMBOLS] = read_symbols,
    [TD_CHUNK_NODES] = read_nodes,
    [TD_CHUNK_SAMPLES] = read_samples,
    [TD_CHUNK_TALLIES] = read_tallies,
    [TD_CHUNK_COUNTERS] = read_counters,
    [TD_CHUNK_END] = read_end,
    [TD_CHUNK_ORIGINS] = read_origins,
    [TD_CHUNK_PLACED] = read_placed,
    [TD_CHUNK_COUNTS] = read_counts,
    [TD_CHUNK_PASSES] = read_passes,
    [TD_CHUNK_REGIONS] = read_regions,
    [TD_CHUNK_REGION_ROWS] = read_region_rows,
    [TD_CHUNK_CODE] = read_code,
    [TD_CHUNK_SHARING] = read_sharing,
    [TD_CHUNK_HABITS] = read_habits,
    [TD_CHUNK_GROUP_REGIONS] = read_group_regions,
};

static bool wanted(const struct reader *reader, unsigned kind)
{
    return kind < KIND_COUNT && decoders[kind] &&
           (reader->visit->kinds == 0 || (reader->visit->kinds >> kind & 1) ||
            kind == TD_CHUNK_END);
}

static void decode_chunk(struct reader *reader, uint64_t offset, const struct td_chunk_head *head)
{
    const char *name = td_chunk_kind_name(head->kind);
    const uint8_t *raw = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_chunk_unpack(reader->unpacker, head, reader->data + offset + TD_CHUNK_HEAD_SIZE, offset,
                        &raw, &err) < 0) {
        damage(reader, &err);
        reader->ended = reader->ended || head->kind == TD_CHUNK_END;
        return;
    }
    VISIT(reader, chunk, offset, head);
    if (!wanted(reader, head->kind))
        return;
    struct td_rd rd = td_rd_init(raw, head->raw_size, 0);
    decoders[head->kind](reader, &rd);
    if (td_rd_ok(&rd) && td_rd_left(&rd) > 0 && reader->header.minor <= TD_PROFILE_MINOR)
        td_rd_fail(&rd);
    if (td_rd_ok(&rd))
        return;
    td_fail_at(&err, TD_EFORMAT, offset, "%s chunk does not decode, at byte %llu of its payload",
               name ? name : "?", (unsigned long long)td_rd_offset(&rd));
    damage(reader, &err);
}

static int check_known(const struct td_chunk_head *head, uint64_t offset, struct td_err *err)
{
    if (head->flags & ~(unsigned)TD_CHUNK_FLAGS_KNOWN)
        return td_fail_at(err, TD_EVERSION, offset,
                          "chunk with flags 0x%x: written by a newer version, which is needed to "
                          "read it",
                          head->flags);
    if (!td_chunk_kind_name(head->kind) && (head->flags & TD_CHUNK_REQUIRED))
        return td_fail_at(err, TD_EVERSION, offset,
                          "chunk of kind %u: written by a newer version, which is needed to read "
                          "it",
                          head->kind);
    return TD_OK;
}

/* Chunks are numbered from 0: a number that is missing is data that is missing. False for one that
 * has been before: what it holds must not count twice. */
static bool follows(struct reader *reader, uint64_t offset, const struct td_chunk_head *head)
{
    const bool again = head->sequence < reader->sequence;
    struct td_err err = TD_ERR_INIT;

    if (head->sequence != reader->sequence) {
        td_fail_at(&err, TD_EFORMAT, offset, "chunk %u follows where chunk %u was expected",
                   head->sequence, reader->sequence);
        damage(reader, &err);
    }
    if (!again)
        reader->sequence = head->sequence + 1;
    return !again;
}

/* Past what is no chunk, to the next that is one. */
static size_t resynchronise(struct reader *reader, size_t pos)
{
    const size_t next = td_chunk_find(reader->data, reader->size, pos + 1, reader->header.crc);
    struct td_err err = TD_ERR_INIT;

    td_fail_at(&err, TD_EFORMAT, pos,
               reader->ended ? "%zu bytes of something else follow the end of the profile"
                             : "%zu bytes are damaged and were skipped",
               next - pos);
    damage(reader, &err);
    return next;
}

/* The visitor may have had enough. */
static bool goes_on(struct reader *reader, size_t pos)
{
    struct td_err err = TD_ERR_INIT;

    if (!reader->visit->enough || !reader->visit->enough(reader->visit->ctx, pos, &err))
        return true;
    if (err.code != TD_OK)
        damage(reader, &err);
    return false;
}

/* Chunk after chunk. `cut` is set when the data ends inside one, or after one that is not END;
 * where damage reaches to the end of the data, END may have stood in it. */
static int walk(struct reader *reader, struct td_err *err)
{
    size_t pos = reader->header.size;
    bool cut = true;

    reader->ending.end_offset = pos;
    while (pos < reader->size) {
        struct td_chunk_head head;
        const int rc =
            td_chunk_head_get(&head, reader->data, reader->size, pos, reader->header.crc);

        if (!reader->ended &&
            (rc == TD_ENODATA ||
             (rc == TD_OK && head.stored_size > reader->size - pos - TD_CHUNK_HEAD_SIZE)))
            break;
        if (rc < 0 || reader->ended) {
            pos = resynchronise(reader, pos);
            cut = pos < reader->size;
            continue;
        }
        const int known = check_known(&head, pos, err);
        if (known < 0)
            return known;
        if (follows(reader, pos, &head))
            decode_chunk(reader, pos, &head);
        pos += TD_CHUNK_HEAD_SIZE + head.stored_size;
        reader->ending.end_offset = pos;
        cut = goes_on(reader, pos);
        if (!cut)
            break;
    }
    reader->ending.complete = reader->ended;
    reader->ending.cut = !reader->ended && cut;
    return TD_OK;
}

int td_profile_read(const void *data, size_t size, const struct td_profile_visitor *visitor,
                    struct td_profile_ending *ending, struct td_err *err)
{
    struct reader reader = {.data = data, .size = size, .visit = visitor, .nodes = 1};
    int rc = td_profile_header_get(&reader.header, data, size, err);

    if (rc < 0)
        return rc;
    VISIT(&reader, header, &reader.header);
    reader.unpacker = td_chunk_unpacker_new();
    reader.values.columns_of = columns_of;
    reader.values.ctx = &reader;
    reader.defined[TD_TABLE_STRINGS] = 1; /* "" needs no description */
    rc = walk(&reader, err);
    *ending = reader.ending;
    td_chunk_unpacker_free(reader.unpacker);
    td_value_runs_release(&reader.values.runs);
    td_column_scratch_release(&reader.values.scratch);
    free(reader.node_rows);
    free(reader.columns);
    return rc;
}
