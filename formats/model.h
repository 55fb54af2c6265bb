/* SPDX-License-Identifier: MIT */
/*
 * The hub: one profile in memory. Loaders fill it, symbolize/ completes it, report/ and the
 * exporters read it. Everything is named by dense index; index 0 of strings is "", node 0 is the
 * empty stack. Strings and arrays are owned by the model; what is handed out is borrowed and valid
 * until the next addition of its kind.
 *
 * What was counted, in three steps:
 *   event   one thing that is counted (cpu-clock, slots, a modelled cause)
 *   group   a stream of samples or tallies that carry the same columns of values
 *   tally   the values of one (thread, stack, group), summed over its samples
 * Samples themselves are kept only when the loader was asked to (td_load_opts.keep_samples).
 */
#ifndef TD_FORMATS_MODEL_H
#define TD_FORMATS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/ran.h"
#include "formats/kinds.h"
#include "formats/cores/tma.h"
#include "formats/habits.h"
#include "formats/regions.h"
#include "formats/sharing.h"

#define TD_BUILD_ID_MAX    32
#define TD_NONE            UINT32_MAX
#define TD_COLUMNS_MAX     64
#define TD_DENSE_COLUMNS   16 /* wider groups are sparse */
#define TD_PROFILE_ID_SIZE 16

struct td_model;

struct td_build_id {
    uint8_t size; /* 0: not known */
    uint8_t bytes[TD_BUILD_ID_MAX];
};

/* Two that are not known are equal. */
bool td_build_id_equal(const struct td_build_id *a, const struct td_build_id *b);

/* A mapped file, the kernel, or anonymous code of one process. */
struct td_module {
    enum td_module_kind kind;
    uint32_t path; /* string: as recorded; "[kernel]", "[vdso]", "//anon" for the others */
    uint32_t pid;  /* ANON: whose; 0 else */
    uint64_t base; /* KERNEL: where its text began, subtracted from addresses; 0 else */
    struct td_build_id build_id;
    uint32_t debug_file; /* string: the file that gave names or lines; 0 when none did */
    uint32_t note;   /* string: why names or lines are missing, one sentence; 0 when they are not */
    bool no_inlines; /* inlined functions are missing in a part of it: the note says why */
};

/* One symbol that the profile itself brought along (kernel, vdso, JIT): offsets as locations'. */
struct td_symbol {
    uint64_t offset, size;
    uint32_t name; /* string */
    uint32_t file; /* string: the source; 0 when not known */
    uint32_t line; /* in it; 0 when not known */
};

/* A function as reports show it: an inlined one is a function of its own. */
struct td_function {
    uint32_t name;         /* string: demangled */
    uint32_t linkage_name; /* string: as in the symbol table; may be 0 */
    uint32_t file;         /* string: where it is defined; 0 when not known */
    uint32_t line;         /* of its definition; 0 when not known */
    uint32_t module;
};

/* One source position of a location. */
struct td_line {
    uint32_t function; /* never TD_NONE */
    uint32_t file;     /* string; 0 when not known */
    uint32_t line;     /* 0 when not known */
    uint32_t column;   /* 0 when not known */
};

/* An address in a module. For a caller's frame it is the last byte of the call instruction (the
 * return address minus one), so that it symbolizes to the line of the call. */
struct td_location {
    uint32_t module;
    uint32_t line_first; /* lines[line_first .. +line_count): innermost inlined function first */
    uint32_t line_count; /* 0: not symbolized, or no name is known */
    uint64_t offset;     /* its meaning is the module kind's */
};

/* A frame and what is above it: stacks share their outer frames. */
struct td_node {
    uint32_t parent; /* node of the caller, 0 for the outermost frame */
    uint32_t location;
};

/* A thread between two changes of its names; tids are reused, so (pid, tid) is no key. */
struct td_thread {
    uint32_t pid, tid;
    uint32_t name;    /* string: comm */
    uint32_t process; /* string: comm of the process's main thread at the time */
    uint32_t origin;  /* string: which input of a merge it is from (formats/merge.h); 0: no merge */
    uint32_t holder;  /* the thread on which its tallies stand (td_load_opts.by_program) */
    uint64_t start_ns;
};

/* A pid or tid as it is shown: -1 is what the kernel gives for a task that has ended. */
static inline int32_t td_task_id(uint32_t id)
{
    return (int32_t)id;
}

/* What the kernel's counters of an event held at the end, all of them together, and where it went:
 * counted = sampled + elsewhere + rest. */
struct td_event_counts {
    uint64_t counted;
    uint64_t sampled;                /* what the stored samples stand for */
    uint64_t elsewhere;              /* what samples of tasks that were not wanted stood for */
    uint64_t rest;                   /* after each counter's last sample */
    uint64_t enabled_ns, running_ns; /* less running than enabled: multiplexed; 0 when not known */
};

static inline void td_event_counts_add(struct td_event_counts *sum,
                                       const struct td_event_counts *counts)
{
    sum->counted += counts->counted;
    sum->sampled += counts->sampled;
    sum->elsewhere += counts->elsewhere;
    sum->rest += counts->rest;
    sum->enabled_ns += counts->enabled_ns;
    sum->running_ns += counts->running_ns;
}

struct td_event {
    uint32_t name; /* string */
    enum td_unit unit;
    uint32_t pmu_type;  /* perf_event_attr.type; 0 with config 0 and no PMU when modelled */
    uint64_t config[3]; /* config, config1, config2 */
    uint64_t period;    /* 0 when a frequency was asked for */
    uint64_t frequency_hz;
    uint32_t flags;                /* TD_EVENT_*: see below */
    struct td_event_counts counts; /* zeros when not known */
};

enum td_event_flag {
    TD_EVENT_USER = 1 << 0,   /* counted in user mode */
    TD_EVENT_KERNEL = 1 << 1, /* counted in kernel mode */
    TD_EVENT_PRECISE = 1 << 2,
};

struct td_column {
    enum td_column_kind kind;
    uint32_t event;        /* event, or TD_NONE where the kind needs none */
    enum td_tma_node node; /* MODEL groups: whose slots these are; TD_NODE_NONE else */
};

struct td_group {
    uint32_t name; /* string */
    enum td_group_role role;
    enum td_attribution attribution;
    enum td_tma_node locates; /* LOCATOR groups: which node; TD_NODE_NONE else */
    uint32_t sampler;         /* the event whose overflow takes the sample; TD_NONE for tallies */
    uint32_t cpu_type;        /* string: "" or the PMU's name on hybrid machines */
    uint32_t pass;            /* of several runs, the one that sampled it; 0: the first, or only */
    uint32_t in_region; /* plus 1: the innermost region in which all of it was counted; 0: in none,
                           or it is not known in which */
    uint32_t column_count;
    struct td_column columns[TD_COLUMNS_MAX];
};

/* Values stand in td_model_values at [values, values + column_count of the group). */
struct td_tally {
    uint32_t thread;
    uint32_t node;
    uint32_t group;
    uint64_t samples; /* how many samples were summed; for modelled tallies, instructions executed
                         or 0 when not known */
    size_t values;    /* where td_model_tally_values finds them */
};

struct td_sample {
    uint64_t time_ns;
    uint32_t thread;
    uint32_t node;
    uint32_t group;
    uint32_t cpu; /* TD_NONE when not known */
    size_t values;
};

/* What a model lacks of its file. */
struct td_losses {
    bool damaged;             /* a part was wrong and was skipped */
    bool cut;                 /* the recorder did not come to its end */
    bool exact;               /* what was left out is known to the last; else it may be more */
    uint64_t read_samples;    /* that could be read, before any filter */
    uint64_t dropped_samples; /* left out: they, or what they refer to, could not be read */
    uint64_t dropped_tallies; /* the same, of modelled ones */
    bool model_is_partial;    /* damage took modelled tallies, or it is not known whether it did */
    double dropped_share;     /* of what shares are of, when that is known; else NaN */
    const char *share_of;     /* "CPU time", "modelled cycles", "samples" */
};

struct td_model *td_model_new(void);
void td_model_free(struct td_model *model); /* NULL is allowed */
/* What it takes in memory. */
size_t td_model_bytes(const struct td_model *model);

/* Strings. */
uint32_t td_model_intern(struct td_model *model, const char *s, size_t len);
uint32_t td_model_intern_z(struct td_model *model, const char *s); /* terminated */
const char *td_model_string(const struct td_model *model, uint32_t id)
    __attribute__((returns_nonnull));

/* Environment and coverage. Unknown keys are kept. */
void td_model_add_env(struct td_model *model, const char *key, const char *value);
void td_model_add_env_len(struct td_model *model, const char *key, size_t key_len,
                          const char *value, size_t value_len);
/* The first value of the key, or NULL. */
const char *td_model_env(const struct td_model *model, enum td_env_key key);
/* The i-th value of the key (argv, warning), or NULL past the last. */
const char *td_model_env_at(const struct td_model *model, enum td_env_key key, size_t i);
/* TD_SOURCE_NONE, TD_METHOD_AUTO: not known. */
enum td_source_id td_model_source(const struct td_model *model);
enum td_method td_model_method(const struct td_model *model);
size_t td_model_env_count(const struct td_model *model);
void td_model_env_entry(const struct td_model *model, size_t i, const char **key,
                        const char **value);
void td_model_set_counter(struct td_model *model, enum td_counter counter, uint64_t value);
uint64_t td_model_counter(const struct td_model *model, enum td_counter counter);
/* The file's own id (16 bytes): random for a recording, zeros for one made from others. */
void td_model_set_profile_id(struct td_model *model, const uint8_t id[TD_PROFILE_ID_SIZE]);
const uint8_t *td_model_profile_id(const struct td_model *model) __attribute__((returns_nonnull));
/* False for a recording that was cut off, or a file of which only a part could be read. */
void td_model_set_complete(struct td_model *model, bool complete);
bool td_model_complete(const struct td_model *model);
/* Of a new model: nothing. */
void td_model_set_losses(struct td_model *model, const struct td_losses *losses);
const struct td_losses *td_model_losses(const struct td_model *model)
    __attribute__((returns_nonnull));

/* Each *_add returns the new index; *_put finds an equal one first. */
uint32_t td_model_put_module(struct td_model *model, const struct td_module *module);
uint32_t td_model_put_location(struct td_model *model, uint32_t module, uint64_t offset);
uint32_t td_model_put_node(struct td_model *model, uint32_t parent, uint32_t location);
uint32_t td_model_add_thread(struct td_model *model, const struct td_thread *thread);
uint32_t td_model_add_event(struct td_model *model, const struct td_event *event);
uint32_t td_model_add_group(struct td_model *model, const struct td_group *group);
uint32_t td_model_put_function(struct td_model *model, const struct td_function *function);
void td_model_set_origin(struct td_model *model, uint32_t thread, uint32_t origin);
void td_model_set_pass(struct td_model *model, uint32_t group, uint32_t pass);
void td_model_set_group_region(struct td_model *model, uint32_t group, uint32_t region);
/* At first each thread is its own holder. */
void td_model_set_holder(struct td_model *model, uint32_t thread, uint32_t holder);
/* Adds to what is known of the event. */
void td_model_add_counts(struct td_model *model, uint32_t event,
                         const struct td_event_counts *counts);
void td_model_add_symbol(struct td_model *model, uint32_t module, const struct td_symbol *symbol);

/* The region of this name in `parent` (TD_NONE: in none). TD_NONE when it would be nested too deep.
 */
uint32_t td_model_put_region(struct td_model *model, uint32_t parent, uint32_t name);
/* What is known of the region in the thread and of the group: in place of what was known before, or
 * added to it. False, and nothing was done, when its numbers cannot be. */
bool td_model_set_region_row(struct td_model *model, const struct td_region_row *row,
                             const uint64_t *values);
bool td_model_add_region_row(struct td_model *model, const struct td_region_row *row,
                             const uint64_t *values);
/* What threads paid for a line that they share; equal sides may come several times. False, and
 * nothing was done, when all rows would be more than a profile can hold. */
bool td_model_add_shared(struct td_model *model, const struct td_shared_row *row);

/* The blocks of code that ran (formats/ran.h); empty where nobody recorded them. */
struct td_ran *td_model_ran(struct td_model *model) __attribute__((returns_nonnull));
const struct td_ran *td_model_ran_of(const struct td_model *model) __attribute__((returns_nonnull));
/* How instructions of a modelled program used memory and branched: adds to what is known of the
 * place. False, and nothing was done, when there are too many. */
bool td_model_put_habit(struct td_model *model, const struct td_habit *habit);

/* Adds `samples` and the group's column values to the tally of (thread, node, group). PERIOD,
 * DELTA and TOTAL columns are summed; of the others the sum is kept too (divide by samples). */
void td_model_add_values(struct td_model *model, uint32_t thread, uint32_t node, uint32_t group,
                         uint64_t samples, const uint64_t *values);
/* Takes the tallies out for which `wrong` returns true, when all were added; returns how many. */
typedef bool td_model_wrong_fn(void *ctx, const struct td_model *model,
                               const struct td_tally *tally);
size_t td_model_drop_tallies(struct td_model *model, td_model_wrong_fn *wrong, void *ctx);
/* Appends a sample as such; does not touch the tallies. */
void td_model_add_sample(struct td_model *model, const struct td_sample *sample,
                         const uint64_t *values);
/* Puts the samples in the order of their times; equal ones keep theirs. */
void td_model_sort_samples(struct td_model *model);

/* What symbolize/ completes. */
void td_model_set_lines(struct td_model *model, uint32_t location, const struct td_line *lines,
                        uint32_t count);
void td_model_set_module_note(struct td_model *model, uint32_t module, uint32_t note,
                              uint32_t debug_file);
void td_model_set_no_inlines(struct td_model *model, uint32_t module);

/* Reading. `i` must be below the count. Module symbols are sorted by offset on first use. */
#define TD_MODEL_ARRAY(noun, type)                                               \
    uint32_t td_model_##noun##_count(const struct td_model *model);              \
    const struct type *td_model_##noun(const struct td_model *model, uint32_t i) \
        __attribute__((returns_nonnull));
TD_MODEL_ARRAY(module, td_module)
TD_MODEL_ARRAY(location, td_location)
TD_MODEL_ARRAY(node, td_node)
TD_MODEL_ARRAY(thread, td_thread)
TD_MODEL_ARRAY(event, td_event)
TD_MODEL_ARRAY(group, td_group)
TD_MODEL_ARRAY(function, td_function)
TD_MODEL_ARRAY(line, td_line)
TD_MODEL_ARRAY(region, td_region)
TD_MODEL_ARRAY(region_row, td_region_row)
TD_MODEL_ARRAY(shared, td_shared_row)
#undef TD_MODEL_ARRAY
/* As many as its group has columns. */
const uint64_t *td_model_region_values(const struct td_model *model,
                                       const struct td_region_row *row)
    __attribute__((returns_nonnull));
const struct td_habits *td_model_habits(const struct td_model *model)
    __attribute__((returns_nonnull));
size_t td_model_tally_count(const struct td_model *model);
const struct td_tally *td_model_tally(const struct td_model *model, size_t i)
    __attribute__((returns_nonnull));
/* As many as its group has columns, in the model or in `room`: of wide groups, most of whose values
 * are 0, the model holds the others only. NULL is allowed where there are TD_DENSE_COLUMNS or
 * less. */
const uint64_t *td_model_tally_values(const struct td_model *model, const struct td_tally *tally,
                                      uint64_t room[TD_COLUMNS_MAX])
    __attribute__((returns_nonnull));
size_t td_model_sample_count(const struct td_model *model);
const struct td_sample *td_model_sample(const struct td_model *model, size_t i)
    __attribute__((returns_nonnull));
const uint64_t *td_model_sample_values(const struct td_model *model, const struct td_sample *sample)
    __attribute__((returns_nonnull));
/* The symbols of a module that came with the profile; sorted by offset. */
const struct td_symbol *td_model_symbols(const struct td_model *model, uint32_t module,
                                         size_t *count);

#endif
