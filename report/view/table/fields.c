/* SPDX-License-Identifier: MIT */
/* The fields that tables are made of. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/view/table/mostly.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"

const char *td_metric_heading(const struct td_measure *measure, enum td_metric metric)
{
    if (metric == TD_METRIC_EVENT && measure->event != TD_NONE)
        return td_measure_event_name(measure);
    if (metric >= TD_METRIC_FIRST_NODE && metric < TD_METRIC_COUNT)
        return td_tma_info((enum td_tma_node)(metric - TD_METRIC_FIRST_NODE))->name;
    return td_metric_id(metric);
}

static const struct td_model *model_of(const struct td_table *table)
{
    return table->rows->measure->model;
}

/* "% of l3_bound". */
static const char *node_share_heading(enum td_tma_node node)
{
    static const char *const headings[] = {
#define X(symbol, id, parent, level, name, meaning) [TD_NODE_##symbol] = "% of " id,
        TD_TMA_NODES(X)
#undef X
    };

    return headings[node];
}

static const char *share_heading(const struct td_style *style, const struct td_table *table,
                                 const struct td_table_column *column)
{
    (void)style;
    if (column->metric >= TD_METRIC_FIRST_NODE)
        return node_share_heading((enum td_tma_node)(column->metric - TD_METRIC_FIRST_NODE));
    return column->metric == table->rows->primary
               ? "%"
               : td_metric_heading(table->rows->measure, column->metric);
}

static enum td_tone share_cell(const struct td_table *table, const struct td_table_column *column,
                               const struct td_row *row, char *dst, size_t size)
{
    const double share = td_row_share_of(table->rows, row, column->metric);

    if (column->metric >= TD_METRIC_FIRST_NODE &&
        td_row_cell(table->rows, row, (enum td_tma_node)(column->metric - TD_METRIC_FIRST_NODE))
            .thin)
        return TD_TONE_PLAIN;
    snprintf(dst, size, "%.1f", share * 100);
    return td_style_heat(share);
}

const struct td_field td_field_share = {
    .id = "share", .right = true, .heading = share_heading, .cell = share_cell};

static const char *error_heading(const struct td_style *style, const struct td_table *table,
                                 const struct td_table_column *column)
{
    (void)table;
    (void)column;
    return td_style_plus_minus(style);
}

static enum td_tone error_cell(const struct td_table *table, const struct td_table_column *column,
                               const struct td_row *row, char *dst, size_t size)
{
    const double percent = td_row_error(table->rows, row) * 100;

    (void)column;
    snprintf(dst, size, percent < 0.095 ? "%.2f" : "%.1f", percent);
    return TD_TONE_DIM;
}

const struct td_field td_field_error = {
    .id = "error", .right = true, .heading = error_heading, .cell = error_cell};

static const char *value_heading(const struct td_style *style, const struct td_table *table,
                                 const struct td_table_column *column)
{
    if (column->metric == TD_METRIC_TIME_NS)
        return td_time_unit_of(style, table->rows->measure->totals[column->metric]).name;
    if (column->metric == TD_METRIC_EVENT) /* its name, which may be long, is in the head */
        return "count";
    return td_metric_heading(table->rows->measure, column->metric);
}

static enum td_tone value_cell(const struct td_table *table, const struct td_table_column *column,
                               const struct td_row *row, char *dst, size_t size)
{
    const uint64_t value = row->values[column->metric];
    const uint64_t total = table->rows->measure->totals[column->metric];

    if (column->metric == TD_METRIC_TIME_NS) {
        const struct td_time_unit unit = td_time_unit_of(NULL, total);

        snprintf(dst, size, "%.*f", unit.decimals, (double)value * unit.per_ns);
    } else {
        td_format_count(dst, size, value);
    }
    return TD_TONE_PLAIN;
}

const struct td_field td_field_value = {
    .id = "value", .right = true, .heading = value_heading, .cell = value_cell};

static const char *const node_headings[] = {
    [TD_NODE_RETIRING] = "Ret",
    [TD_NODE_BAD_SPECULATION] = "Bad",
    [TD_NODE_FRONTEND_BOUND] = "Front",
    [TD_NODE_BACKEND_BOUND] = "Back",
    [TD_NODE_LIGHT_OPERATIONS] = "Light",
    [TD_NODE_HEAVY_OPERATIONS] = "Heavy",
    [TD_NODE_BRANCH_MISPREDICTS] = "Mispr",
    [TD_NODE_MACHINE_CLEARS] = "Clear",
    [TD_NODE_FETCH_LATENCY] = "FLat",
    [TD_NODE_FETCH_BANDWIDTH] = "FBw",
    [TD_NODE_MEMORY_BOUND] = "Mem",
    [TD_NODE_CORE_BOUND] = "Core",
    [TD_NODE_ICACHE_MISSES] = "ICache",
    [TD_NODE_ITLB_MISSES] = "ITLB",
    [TD_NODE_BRANCH_RESTEERS] = "Rest",
    [TD_NODE_L1_BOUND] = "L1",
    [TD_NODE_L2_BOUND] = "L2",
    [TD_NODE_L3_BOUND] = "L3",
    [TD_NODE_DRAM_BOUND] = "DRAM",
    [TD_NODE_STORE_BOUND] = "Store",
    [TD_NODE_DIVIDER] = "Div",
    [TD_NODE_PORTS_UTILIZATION] = "Ports",
    [TD_NODE_SMT_CONTENTION] = "SMT",
    [TD_NODE_DSB_SWITCHES] = "DsbSw",
    [TD_NODE_LCP] = "LCP",
    [TD_NODE_MS_SWITCHES] = "MsSw",
    [TD_NODE_MITE] = "MITE",
    [TD_NODE_DSB] = "DSB",
    [TD_NODE_LSD] = "LSD",
    [TD_NODE_SERIALIZING_OPERATION] = "Serial",
    [TD_NODE_FP_ARITH] = "FP",
    [TD_NODE_INT_OPERATIONS] = "IntV",
    [TD_NODE_MEMORY_OPERATIONS] = "MemOp",
    [TD_NODE_FUSED_INSTRUCTIONS] = "Fused",
    [TD_NODE_NON_FUSED_BRANCHES] = "Branch",
    [TD_NODE_NOP_INSTRUCTIONS] = "Nop",
    [TD_NODE_FEW_UOPS_INSTRUCTIONS] = "FewUop",
    [TD_NODE_MICROCODE_SEQUENCER] = "Ucode",
    [TD_NODE_BRANCH_DETECT] = "BrDet",
    [TD_NODE_DECODE] = "Dec",
    [TD_NODE_PREDECODE] = "Predec",
    [TD_NODE_MISPREDICTS_RESTEERS] = "MisRst",
    [TD_NODE_CLEARS_RESTEERS] = "ClrRst",
    [TD_NODE_UNKNOWN_BRANCHES] = "UnkBr",
    [TD_NODE_DTLB_LOAD] = "DtlbL",
    [TD_NODE_STORE_FWD_BLK] = "StFwd",
    [TD_NODE_L1_LATENCY_DEPENDENCY] = "L1Lat",
    [TD_NODE_LOCK_LATENCY] = "Lock",
    [TD_NODE_SPLIT_LOADS] = "SplitL",
    [TD_NODE_ALIASING_4K] = "4K",
    [TD_NODE_FB_FULL] = "FbFull",
    [TD_NODE_L2_HIT_LATENCY] = "L2Lat",
    [TD_NODE_CONTESTED_ACCESSES] = "Contes",
    [TD_NODE_DATA_SHARING] = "Share",
    [TD_NODE_L3_HIT_LATENCY] = "L3Lat",
    [TD_NODE_SQ_FULL] = "SqFull",
    [TD_NODE_MEM_BANDWIDTH] = "MemBw",
    [TD_NODE_MEM_LATENCY] = "MemLat",
    [TD_NODE_STORE_LATENCY] = "StLat",
    [TD_NODE_FALSE_SHARING] = "FShare",
    [TD_NODE_SPLIT_STORES] = "SplitS",
    [TD_NODE_STREAMING_STORES] = "Stream",
    [TD_NODE_DTLB_STORE] = "DtlbS",
    [TD_NODE_PORTS_UTILIZED_0] = "P0",
    [TD_NODE_PORTS_UTILIZED_1] = "P1",
    [TD_NODE_PORTS_UTILIZED_2] = "P2",
    [TD_NODE_PORTS_UTILIZED_3M] = "P3m",
    [TD_NODE_X87_USE] = "x87",
    [TD_NODE_FP_SCALAR] = "FpSc",
    [TD_NODE_FP_VECTOR] = "FpVec",
    [TD_NODE_ASSISTS] = "Assist",
    [TD_NODE_CISC] = "CISC",
    [TD_NODE_FP_VECTOR_128B] = "Fp128",
    [TD_NODE_FP_VECTOR_256B] = "Fp256",
    [TD_NODE_FP_VECTOR_512B] = "Fp512",
    [TD_NODE_OTHER_LIGHT_OPS] = "OthOp",
    [TD_NODE_DEPENDENCY_CHAINS] = "Chain",
    [TD_NODE_INTEGER_PORTS] = "PInt",
    [TD_NODE_MULTIPLY_PORT] = "PMul",
    [TD_NODE_BRANCH_PORTS] = "PBr",
    [TD_NODE_FLOAT_PORTS] = "PFp",
    [TD_NODE_SHUFFLE_PORTS] = "PShuf",
    [TD_NODE_VECTOR_PORTS] = "PVec",
    [TD_NODE_LOAD_PORTS] = "PLoad",
    [TD_NODE_STORE_PORTS] = "PStore",
    [TD_NODE_FRONTEND_MEM_BOUND] = "FeMem",
    [TD_NODE_FRONTEND_CORE_BOUND] = "FeCore",
    [TD_NODE_FRONTEND_MEM_CACHE_BOUND] = "FeCac",
    [TD_NODE_FRONTEND_MEM_TLB_BOUND] = "FeTlb",
    [TD_NODE_FRONTEND_CORE_FLOW_BOUND] = "FeFlow",
    [TD_NODE_FRONTEND_CORE_FLUSH_BOUND] = "FeFlsh",
    [TD_NODE_FRONTEND_CACHE_L1I_BOUND] = "L1I",
    [TD_NODE_FRONTEND_CACHE_L2I_BOUND] = "L2I",
    [TD_NODE_BACKEND_MEM_CACHE_BOUND] = "BeCac",
    [TD_NODE_BACKEND_MEM_TLB_BOUND] = "BeTlb",
    [TD_NODE_BACKEND_CACHE_L1D_BOUND] = "L1D",
    [TD_NODE_BACKEND_CACHE_L2D_BOUND] = "L2D",
    [TD_NODE_BACKEND_CORE_RENAME_BOUND] = "Rename",
};
_Static_assert(sizeof(node_headings) / sizeof(node_headings[0]) == TD_NODE_COUNT, "one per node");

const char *td_node_heading(enum td_tma_node node)
{
    return node_headings[node];
}

static const char *node_heading(const struct td_style *style, const struct td_table *table,
                                const struct td_table_column *column)
{
    (void)style;
    (void)table;
    return td_node_heading((enum td_tma_node)(column->metric - TD_METRIC_FIRST_NODE));
}

/* A share of the row's own slots; nothing where there is nothing. */
static enum td_tone node_cell(const struct td_table *table, const struct td_table_column *column,
                              const struct td_row *row, char *dst, size_t size)
{
    const enum td_tma_node node = (enum td_tma_node)(column->metric - TD_METRIC_FIRST_NODE);
    const struct td_cell known = td_row_cell(table->rows, row, node);
    const double share = known.share;

    if (known.thin)
        return TD_TONE_PLAIN;
    if (row->values[column->metric] > 0)
        snprintf(dst, size, share < 0.00995 ? "<1" : "%.0f", share * 100);
    if (td_tma_retires(node))
        return TD_TONE_PLAIN;
    return share >= 0.5 ? TD_TONE_HOT : share >= 0.2 ? TD_TONE_WARM : TD_TONE_PLAIN;
}

const struct td_field td_field_node = {
    .id = "node", .right = true, .heading = node_heading, .cell = node_cell};

static const char *mostly_heading(const struct td_style *style, const struct td_table *table,
                                  const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "mostly";
}

static enum td_tone mostly_cell(const struct td_table *table, const struct td_table_column *column,
                                const struct td_row *row, char *dst, size_t size)
{
    (void)column;
    td_mostly_text(dst, size, table->mostly_width, table->rows->measure, row->values,
                   td_row_thin(table->rows, row));
    return TD_TONE_PLAIN;
}

const struct td_field td_field_mostly = {
    .id = "mostly", .heading = mostly_heading, .cell = mostly_cell};

static const char *name_heading(const struct td_style *style, const struct td_table *table,
                                const struct td_table_column *column)
{
    (void)style;
    (void)column;
    static const char *const headings[] = {[TD_ROWS_FUNCTIONS] = "function",
                                           [TD_ROWS_LINES] = "function",
                                           [TD_ROWS_MODULES] = "module",
                                           [TD_ROWS_THREADS] = "thread",
                                           [TD_ROWS_PROGRAMS] = "program"};

    return headings[table->rows->kind];
}

static enum td_tone name_cell(const struct td_table *table, const struct td_table_column *column,
                              const struct td_row *row, char *dst, size_t size)
{
    (void)column;
    snprintf(dst, size, "%s", td_row_name(table->rows, row));
    return row->function == TD_NONE && table->rows->kind < TD_ROWS_MODULES ? TD_TONE_DIM
                                                                           : TD_TONE_PLAIN;
}

const struct td_field td_field_name = {
    .id = "name", .stretch = 3, .heading = name_heading, .cell = name_cell, .fit = td_fit_name};

static const char *processes_heading(const struct td_style *style, const struct td_table *table,
                                     const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "processes";
}

static enum td_tone processes_cell(const struct td_table *table,
                                   const struct td_table_column *column, const struct td_row *row,
                                   char *dst, size_t size)
{
    (void)table;
    (void)column;
    td_format_count(dst, size, (uint64_t)row->others + 1);
    return TD_TONE_DIM;
}

const struct td_field td_field_processes = {
    .id = "processes", .right = true, .heading = processes_heading, .cell = processes_cell};

static const char *others_heading(const struct td_style *style, const struct td_table *table,
                                  const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "";
}

static enum td_tone others_cell(const struct td_table *table, const struct td_table_column *column,
                                const struct td_row *row, char *dst, size_t size)
{
    (void)table;
    (void)column;
    if (row->others > 0)
        snprintf(dst, size, "+%" PRIu32, row->others);
    return TD_TONE_DIM;
}

const struct td_field td_field_others = {
    .id = "others", .heading = others_heading, .cell = others_cell};

static const char *module_heading(const struct td_style *style, const struct td_table *table,
                                  const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "module";
}

static enum td_tone module_cell(const struct td_table *table, const struct td_table_column *column,
                                const struct td_row *row, char *dst, size_t size)
{
    (void)column;
    snprintf(dst, size, "%s", td_module_name(model_of(table), row->module));
    return TD_TONE_DIM;
}

const struct td_field td_field_module = {
    .id = "module", .stretch = 1, .heading = module_heading, .cell = module_cell};

static const char *place_heading(const struct td_style *style, const struct td_table *table,
                                 const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "line";
}

static enum td_tone place_cell(const struct td_table *table, const struct td_table_column *column,
                               const struct td_row *row, char *dst, size_t size)
{
    const struct td_model *model = model_of(table);

    (void)column;
    if (row->line == 0) {
        snprintf(dst, size, "(no line) %s", td_module_name(model, row->module));
        return TD_TONE_DIM;
    }
    snprintf(dst, size, "%s:%" PRIu32, td_model_string(model, row->file), row->line);
    return TD_TONE_PLAIN;
}

const struct td_field td_field_place = {
    .id = "line", .stretch = 2, .heading = place_heading, .cell = place_cell, .fit = td_fit_path};

static const char *process_heading(const struct td_style *style, const struct td_table *table,
                                   const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "process";
}

static enum td_tone process_cell(const struct td_table *table, const struct td_table_column *column,
                                 const struct td_row *row, char *dst, size_t size)
{
    const struct td_thread *thread = td_model_thread(model_of(table), row->thread);

    (void)column;
    snprintf(dst, size, "%s (%" PRId32 ")", td_model_string(model_of(table), thread->process),
             td_task_id(thread->pid));
    return TD_TONE_DIM;
}

const struct td_field td_field_process = {
    .id = "process", .stretch = 3, .heading = process_heading, .cell = process_cell};

static const char *tid_heading(const struct td_style *style, const struct td_table *table,
                               const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "tid";
}

static enum td_tone tid_cell(const struct td_table *table, const struct td_table_column *column,
                             const struct td_row *row, char *dst, size_t size)
{
    (void)column;
    snprintf(dst, size, "%" PRId32, td_task_id(td_model_thread(model_of(table), row->thread)->tid));
    return TD_TONE_PLAIN;
}

const struct td_field td_field_tid = {
    .id = "tid", .right = true, .heading = tid_heading, .cell = tid_cell};

static const char *path_heading(const struct td_style *style, const struct td_table *table,
                                const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "path";
}

static enum td_tone path_cell(const struct td_table *table, const struct td_table_column *column,
                              const struct td_row *row, char *dst, size_t size)
{
    const struct td_model *model = model_of(table);

    (void)column;
    if (row->module != TD_NONE)
        snprintf(dst, size, "%s",
                 td_model_string(model, td_model_module(model, row->module)->path));
    return TD_TONE_DIM;
}

const struct td_field td_field_path = {
    .id = "path", .stretch = 4, .heading = path_heading, .cell = path_cell, .fit = td_fit_path};
