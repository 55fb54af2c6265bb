/* SPDX-License-Identifier: MIT */
#include "report/query/loops/loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/frames.h"
#include "report/query/figures/machine.h"
#include "report/query/loops/bounds.h"
#include "report/query/loops/nest.h"

/* Inner loops with so much of a loop's slots are what it is: its own chain does not matter. */
#define INNER_SHARE 0.5
/* Loops with less of all slots are not looked into. */
#define LEAST_SHARE 0.0005

const char *td_loop_bound_id(enum td_loop_bound bound)
{
    static const char *const ids[] = {
#define X(symbol, id, about) [TD_LOOP_##symbol] = (id),
        TD_LOOP_BOUNDS(X)
#undef X
    };

    return ids[bound];
}

struct making {
    const struct td_measure *measure;
    const struct td_measure *stacks; /* whose rows have stacks */
    const struct td_model *model;
    struct td_graph graph;
    struct td_nest nest;
    struct td_loops *ret;
    struct td_loop *loops; /* by index of nest.at */
    double *inner_slots;   /* by the same: of the loops directly in it */
    double *header_runs;   /* by the same: of its header's first instruction, in the measure */
    uint32_t *of_location; /* by location: index of nest.at; TD_NONE */
    bool link;
};

/* The locations that are in loops. */
static void place_locations(struct making *m)
{
    const uint32_t count = td_model_location_count(m->model);

    m->of_location = td_xcalloc((size_t)count + 1, sizeof(*m->of_location));
    for (uint32_t l = 0; l < count; l++) {
        const struct td_location *location = td_model_location(m->model, l);
        const uint32_t s = td_graph_find(&m->graph, location->module, location->offset);

        m->of_location[l] = s == TD_NONE ? TD_NONE : m->nest.inner[s];
    }
}

static double value_of(const struct td_measure *measure, enum td_metric metric, size_t row)
{
    return measure->values[metric] ? (double)measure->values[metric][row] : 0;
}

static void add_row(struct making *m, uint32_t index, uint32_t location, size_t row)
{
    struct td_loop *loop = &m->loops[index];
    const struct td_location *l = td_model_location(m->model, location);
    const double instructions = value_of(m->measure, TD_METRIC_INSTRUCTIONS, row);

    loop->slots += value_of(m->measure, TD_METRIC_SLOTS, row);
    loop->instructions += instructions;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        loop->nodes[n] += value_of(m->measure, td_metric_of_node((enum td_tma_node)n), row);
    for (uint32_t up = index; up != TD_NONE; up = m->nest.at[up].parent) {
        const struct td_segment *header = &m->graph.at[m->nest.at[up].header];

        if (header->module == l->module && header->offset == l->offset)
            m->header_runs[up] += instructions;
    }
}

/* What a row spent in callees, for each loop that a caller is in: once, however often it recurs. */
static void add_callers(struct making *m, uint32_t node, size_t row, uint32_t *stamps,
                        uint32_t stamp)
{
    const double slots = value_of(m->stacks, TD_METRIC_SLOTS, row);
    const uint32_t own = td_model_node(m->model, node)->location;

    /* Loops of its own code have it already. */
    for (uint32_t i = m->of_location[own]; i != TD_NONE; i = m->nest.at[i].parent)
        stamps[i] = stamp;
    for (node = td_model_node(m->model, node)->parent; node != 0;
         node = td_model_node(m->model, node)->parent) {
        uint32_t i = m->of_location[td_model_node(m->model, node)->location];

        for (; i != TD_NONE && stamps[i] != stamp; i = m->nest.at[i].parent) {
            stamps[i] = stamp;
            m->loops[i].called_slots += slots;
        }
    }
}

/* The innermost frame's; TD_NONE: not known. */
static uint32_t location_of(const struct making *m, uint32_t node)
{
    return node ? td_model_node(m->model, node)->location : TD_NONE;
}

static void add_rows(struct making *m)
{
    uint32_t *stamps = td_xcalloc(m->nest.len + 1, sizeof(*stamps));

    for (size_t row = 0; row < m->measure->row_count; row++) {
        const uint32_t location = location_of(m, m->measure->rows[row].node);

        if (location != TD_NONE && m->of_location[location] != TD_NONE)
            add_row(m, m->of_location[location], location, row);
    }
    for (size_t row = 0; row < m->stacks->row_count; row++) {
        const uint32_t node = m->stacks->rows[row].node;

        if (location_of(m, node) != TD_NONE)
            add_callers(m, node, row, stamps, (uint32_t)row + 1);
    }
    free(stamps);
}

/* Inner loops come after those that they are in. */
static void add_up(struct making *m)
{
    for (size_t i = m->nest.len; i-- > 0;) {
        const uint32_t parent = m->nest.at[i].parent;
        const struct td_loop *loop = &m->loops[i];

        if (parent == TD_NONE)
            continue;
        struct td_loop *outer = &m->loops[parent];
        m->inner_slots[parent] += loop->slots;
        outer->slots += loop->slots;
        outer->instructions += loop->instructions;
        for (int n = 0; n < TD_NODE_COUNT; n++)
            outer->nodes[n] += loop->nodes[n];
    }
}

/* The frames of the location, outermost first. */
static size_t frames_of(const struct td_model *model, uint32_t location, struct td_frames *frames)
{
    frames->len = 0;
    td_frames_add(frames, model, location, false);
    for (size_t i = 0; i < frames->len / 2; i++) {
        const struct td_frame other = frames->at[i];

        frames->at[i] = frames->at[frames->len - 1 - i];
        frames->at[frames->len - 1 - i] = other;
    }
    return frames->len;
}

/* Where a loop is: as deep in inlined calls as all of its code is. */
struct where {
    struct td_frames common, frames;
    bool any;
};

static void narrow(struct making *m, struct where *w, uint32_t location)
{
    const size_t len = frames_of(m->model, location, &w->frames);
    size_t same = 0;

    if (!w->any) {
        const struct td_frames other = w->common;

        w->common = w->frames;
        w->frames = other;
        w->any = true;
        return;
    }
    while (same < len && same < w->common.len &&
           td_function_key(&w->frames.at[same]) == td_function_key(&w->common.at[same]) &&
           (same == 0 || w->frames.at[same - 1].line == w->common.at[same - 1].line))
        same++;
    if (same > 0)
        w->common.len = same;
}

static void widen(struct td_loop *loop, const struct td_frame *frame)
{
    if (frame->line == 0 || frame->file != loop->file)
        return;
    if (loop->line_first == 0 || frame->line < loop->line_first)
        loop->line_first = frame->line;
    if (frame->line > loop->line_last)
        loop->line_last = frame->line;
}

/* Function and lines of each loop. */
static void find_places(struct making *m)
{
    struct where *where = td_xcalloc(m->nest.len + 1, sizeof(*where));
    struct td_frames frames = {0};
    const uint32_t count = td_model_location_count(m->model);

    for (uint32_t l = 0; l < count; l++) {
        for (uint32_t i = m->of_location[l]; i != TD_NONE; i = m->nest.at[i].parent)
            narrow(m, &where[i], l);
    }
    for (size_t i = 0; i < m->nest.len; i++) {
        struct td_loop *loop = &m->loops[i];
        const struct td_frames *common = &where[i].common;

        if (common->len == 0)
            continue;
        loop->container = common->at[0].function;
        loop->function = common->at[common->len - 1].function;
        loop->file = common->at[common->len - 1].file;
    }
    for (uint32_t l = 0; l < count; l++) {
        const size_t len = m->of_location[l] == TD_NONE ? 0 : frames_of(m->model, l, &frames);

        for (uint32_t i = m->of_location[l]; i != TD_NONE; i = m->nest.at[i].parent) {
            const size_t common = where[i].common.len;

            if (common > 0 && len >= common)
                widen(&m->loops[i], &frames.at[common - 1]);
        }
    }
    for (size_t i = 0; i < m->nest.len; i++) {
        td_frames_release(&where[i].common);
        td_frames_release(&where[i].frames);
    }
    td_frames_release(&frames);
    free(where);
}

static double node(const struct td_loop *loop, enum td_tma_node which)
{
    return loop->nodes[which];
}

/* Of what was lost, per iteration. */
static void bound_losses(struct making *m, struct td_loop *loop, double inner_slots)
{
    const double unit = 1 / (loop->iterations * m->ret->width);
    double *b = loop->bounds;

    b[TD_LOOP_WIDTH] = unit * loop->uops;
    b[TD_LOOP_MEMORY] =
        unit * (node(loop, TD_NODE_MEMORY_BOUND) - node(loop, TD_NODE_STORE_BOUND) -
                node(loop, TD_NODE_L1_LATENCY_DEPENDENCY) - node(loop, TD_NODE_LOCK_LATENCY));
    b[TD_LOOP_STORES] = unit * node(loop, TD_NODE_STORE_BOUND);
    b[TD_LOOP_LATENCY] =
        unit * (node(loop, TD_NODE_DEPENDENCY_CHAINS) + node(loop, TD_NODE_L1_LATENCY_DEPENDENCY));
    b[TD_LOOP_PREDICTION] =
        unit * (node(loop, TD_NODE_BAD_SPECULATION) + node(loop, TD_NODE_BRANCH_RESTEERS));
    b[TD_LOOP_FETCH] =
        unit * (node(loop, TD_NODE_FRONTEND_BOUND) - node(loop, TD_NODE_BRANCH_RESTEERS));
    b[TD_LOOP_SERIAL] = unit * node(loop, TD_NODE_SERIALIZING_OPERATION);
    b[TD_LOOP_LOCK] =
        fmax(isnan(b[TD_LOOP_LOCK]) ? 0 : b[TD_LOOP_LOCK], unit * node(loop, TD_NODE_LOCK_LATENCY));
    b[TD_LOOP_INNER] = unit * inner_slots;
    b[TD_LOOP_CALLS] = unit * loop->called_slots;
}

/* The largest of the bounds is the one; what it calls is told apart from its own cycles. Of equal
 * ones the first counts, and a bound that inner loops have is theirs. */
static void choose_bound(struct td_loop *loop)
{
    const bool inner = loop->bounds[TD_LOOP_INNER] > INNER_SHARE * loop->cycles;
    double most = -1;

    loop->bound = TD_LOOP_WIDTH;
    for (int b = 0; b < TD_LOOP_BOUND_COUNT; b++) {
        const bool counts = b == TD_LOOP_CALLS   ? loop->bounds[b] > loop->cycles
                            : b == TD_LOOP_INNER ? inner
                                                 : !inner;

        if (!counts || isnan(loop->bounds[b]) ||
            td_loop_binding(loop, (enum td_loop_bound)b) < most * 1.005)
            continue;
        most = td_loop_binding(loop, (enum td_loop_bound)b);
        loop->bound = (enum td_loop_bound)b;
    }
    const double whole =
        loop->bound == TD_LOOP_CALLS ? loop->cycles + loop->bounds[TD_LOOP_CALLS] : loop->cycles;
    loop->explained = whole > 0 ? fmin(1, fmax(most, 0) / whole) : 0;
}

static void measure_loop(struct making *m, size_t index)
{
    const struct td_nest_loop *from = &m->nest.at[index];
    struct td_loop *loop = &m->loops[index];
    const double scale = m->header_runs[index] / (double)from->header_runs;
    const bool innermost = m->inner_slots[index] < INNER_SHARE * loop->slots;
    const struct td_loop_code code = {.graph = &m->graph,
                                      .nest = &m->nest,
                                      .from = from,
                                      .habits = td_model_habits(m->model),
                                      .link = m->link};

    for (int b = 0; b < TD_LOOP_BOUND_COUNT; b++)
        loop->bounds[b] = NAN;
    loop->iterations = scale * (double)from->iterations;
    loop->entries = scale * (double)from->entries;
    loop->uops = node(loop, TD_NODE_RETIRING);
    if (loop->iterations <= 0)
        return;
    loop->cycles = loop->slots / loop->iterations / m->ret->width;
    td_loop_find_bounds(loop, &code, innermost);
    bound_losses(m, loop, m->inner_slots[index]);
    choose_bound(loop);
}

static bool is_kept(const struct making *m, size_t index)
{
    const struct td_loop *loop = &m->loops[index];

    return loop->slots > 0 && loop->slots + loop->called_slots >= LEAST_SHARE * m->ret->slots;
}

static int by_slots(const void *a, const void *b, void *ctx)
{
    const struct making *m = ctx;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const double x = m->loops[i].slots, y = m->loops[k].slots;

    if (x != y)
        return x > y ? -1 : 1;
    return (i > k) - (i < k);
}

/* The loop, then those in it. `order` are all loops by slots, `ids` what becomes of each. */
static void give(struct making *m, const uint32_t *order, uint32_t index, uint32_t *ids)
{
    struct td_loops *ret = m->ret;
    const uint32_t parent = m->nest.at[index].parent;
    struct td_loop *loop = &ret->at[ret->len];

    *loop = m->loops[index];
    loop->parent = parent == TD_NONE ? TD_NONE : ids[parent];
    loop->depth = loop->parent == TD_NONE ? 0 : ret->at[loop->parent].depth + 1;
    ids[index] = (uint32_t)ret->len++;
    m->loops[index].links = m->loops[index].divides = m->loops[index].takers = NULL;
    for (size_t i = 0; i < m->nest.len; i++) {
        if (m->nest.at[order[i]].parent == index && is_kept(m, order[i]))
            give(m, order, order[i], ids);
    }
}

static void give_all(struct making *m)
{
    struct td_loops *ret = m->ret;
    uint32_t *order = td_xcalloc(m->nest.len + 1, sizeof(*order));
    uint32_t *ids = td_xcalloc(m->nest.len + 1, sizeof(*ids));

    for (uint32_t i = 0; i < m->nest.len; i++) {
        order[i] = i;
        ids[i] = TD_NONE;
    }
    qsort_r(order, m->nest.len, sizeof(*order), by_slots, m);
    ret->at = td_xcalloc(m->nest.len + 1, sizeof(*ret->at));
    for (size_t i = 0; i < m->nest.len; i++) {
        if (m->nest.at[order[i]].parent == TD_NONE && is_kept(m, order[i]))
            give(m, order, order[i], ids);
    }
    ret->location_count = td_model_location_count(m->model);
    ret->of_location = td_xcalloc(ret->location_count + 1, sizeof(*ret->of_location));
    for (size_t l = 0; l < ret->location_count; l++) {
        uint32_t i = m->of_location[l];

        while (i != TD_NONE && ids[i] == TD_NONE)
            i = m->nest.at[i].parent;
        ret->of_location[l] = i == TD_NONE ? TD_NONE : ids[i];
    }
    free(order);
    free(ids);
}

/* Instructions of four bytes each: not x86. */
static bool has_links(const struct td_ran *ran)
{
    bool any = false, all = true;

    for (size_t i = 0; i < td_ran_count(ran); i++) {
        const struct td_ran_block *block = td_ran_block(ran, i);

        any = any || block->uop_count > 0;
        all = all && block->size == 4 * block->insn_count;
    }
    return any && all;
}

static void init_loops(struct making *m)
{
    m->loops = td_xcalloc(m->nest.len + 1, sizeof(*m->loops));
    m->inner_slots = td_xcalloc(m->nest.len + 1, sizeof(*m->inner_slots));
    m->header_runs = td_xcalloc(m->nest.len + 1, sizeof(*m->header_runs));
    for (size_t i = 0; i < m->nest.len; i++) {
        const struct td_nest_loop *from = &m->nest.at[i];
        const struct td_segment *header = &m->graph.at[from->header];

        m->loops[i] = (struct td_loop){.module = header->module,
                                       .header = header->offset,
                                       .function = TD_NONE,
                                       .container = TD_NONE,
                                       .irregular = from->irregular};
    }
}

static void place_link(struct td_loop_link *links, size_t count, uint64_t offset, uint32_t location)
{
    for (size_t i = 0; i < count; i++) {
        if (links[i].offset == offset)
            links[i].location = location;
    }
}

/* Locations of the instructions on chains. */
static void place_links(struct making *m)
{
    const uint32_t count = td_model_location_count(m->model);

    for (uint32_t l = 0; l < count; l++) {
        const struct td_location *location = td_model_location(m->model, l);

        for (uint32_t i = m->of_location[l]; i != TD_NONE; i = m->nest.at[i].parent) {
            struct td_loop *loop = &m->loops[i];

            if (loop->module != location->module)
                continue;
            place_link(loop->links, loop->link_count, location->offset, l);
        }
    }
}

void td_loops_init(struct td_loops *loops, const struct td_measure *measure,
                   const struct td_measure *stacks)
{
    struct making m = {.measure = measure, .stacks = stacks, .model = measure->model, .ret = loops};
    const struct td_ran *ran = td_model_ran_of(measure->model);

    *loops = (struct td_loops){.slots = (double)measure->totals[TD_METRIC_SLOTS],
                               .width = td_machine_of(measure).width,
                               .recorded = td_ran_count(ran) > 0};
    if (!loops->recorded || loops->width <= 0)
        return;
    m.link = has_links(ran);
    td_graph_init(&m.graph, measure->model);
    td_nest_init(&m.nest, &m.graph);
    init_loops(&m);
    place_locations(&m);
    add_rows(&m);
    add_up(&m);
    for (size_t i = 0; i < m.nest.len; i++) {
        if (is_kept(&m, i))
            measure_loop(&m, i);
    }
    find_places(&m);
    place_links(&m);
    give_all(&m);
    free(m.loops);
    free(m.inner_slots);
    free(m.header_runs);
    free(m.of_location);
    td_nest_release(&m.nest);
    td_graph_release(&m.graph);
}

void td_loops_release(struct td_loops *loops)
{
    for (size_t i = 0; i < loops->len; i++) {
        free(loops->at[i].links);
        free(loops->at[i].divides);
        free(loops->at[i].takers);
    }
    free(loops->at);
    free(loops->of_location);
    *loops = (struct td_loops){.at = NULL};
}

double td_loop_binding(const struct td_loop *loop, enum td_loop_bound bound)
{
    const double cycles = loop->bounds[bound];

    return bound == TD_LOOP_CHAIN && cycles > TD_LOOP_LONGER * loop->cycles
               ? cycles * loop->path_share
               : cycles;
}

double td_loop_chain_loads(const struct td_loop *loop)
{
    double loads = 0;

    for (size_t i = 0; i < loop->link_count; i++)
        loads += loop->links[i].loads ? loop->links[i].cycles : 0;
    return loads;
}

bool td_loop_overlaps(const struct td_loop *loop)
{
    enum { UOPS_IN_FLIGHT = 1000 };

    return loop->entries > 0 && loop->uops < UOPS_IN_FLIGHT * loop->entries;
}

bool td_loop_is_of_code_lines(const struct td_loop *loop)
{
    /* Less than the lines take shows that they did not come one a cycle. */
    return loop->code_lines >= 2 && loop->cycles >= 0.98 * loop->code_lines &&
           loop->cycles <= 1.25 * loop->code_lines;
}

const struct td_loop *td_loops_at(const struct td_loops *loops, uint32_t location)
{
    const uint32_t i = location < loops->location_count ? loops->of_location[location] : TD_NONE;

    return i == TD_NONE ? NULL : &loops->at[i];
}
