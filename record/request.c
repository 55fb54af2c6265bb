/* SPDX-License-Identifier: MIT */
#include "record/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/tma.h"
#include "record/run/control.h"

#define DEFAULT_STACK_BYTES 16384
/* The kernel copies what there is: most stacks are short, and few are longer than this. */
#define AUTO_STACK_BYTES 32768

#define OPTION_MAX 60

/* The options as written, before they are checked against each other. */
struct words {
    const char *frequency, *call_graph, *pids, *tids, *cpus, *method, *pairs, *source, *delay,
        *report, *overhead;
    uint64_t period, ring_pages, passes, level;
    double duration_s;
    bool graph, all;
};

/* What an option is for. */
enum {
    OF_SAMPLES = 1 << 0, /* counting has no use for it */
    OF_SAMPLER = 1 << 1, /* nor has the modelled core, which takes none */
    OF_COUNT = 1 << 2,
    OF_LIVE = 1 << 3,
};

/* A row of the table, and what it is for. */
struct row {
    struct td_opt opt;
    unsigned of;
};

#define FLAG_OF(of_, letter_, name_, help_, place) \
    {                                              \
        .opt = {.kind = TD_OPT_FLAG,               \
                .letter = (letter_),               \
                .name = (name_),                   \
                .help = (help_),                   \
                .value = (place)},                 \
        .of = (of_)                                \
    }
#define VALUE_OF(of_, kind_, letter_, name_, argument_, help_, place) \
    {                                                                 \
        .opt = {.kind = (kind_),                                      \
                .letter = (letter_),                                  \
                .name = (name_),                                      \
                .argument = (argument_),                              \
                .help = (help_),                                      \
                .value = (place)},                                    \
        .of = (of_)                                                   \
    }
#define FLAG(...)  FLAG_OF(0, __VA_ARGS__)
#define VALUE(...) VALUE_OF(0, __VA_ARGS__)
#define HEADING(help_)                                    \
    {                                                     \
        .opt = {.kind = TD_OPT_HEADING, .help = (help_) } \
    }

/* Filled below; `request` and `words` are where the values go. */
struct table {
    struct td_opt options[OPTION_MAX + 1];
    unsigned of[OPTION_MAX];
    bool given[OPTION_MAX];
    size_t count;
};

static void append(struct table *table, const struct row *rows, size_t count)
{
    assert(table->count + count <= OPTION_MAX);
    for (size_t i = 0; i < count; i++, table->count++) {
        table->options[table->count] = rows[i].opt;
        table->of[table->count] = rows[i].of;
    }
}

/* The first option that was given and is for one of `of`, as one writes it; false: none was. */
static bool first_given(const struct table *table, unsigned of, char name[TD_OPTION_BYTES])
{
    for (size_t i = 0; i < table->count; i++) {
        const struct td_opt *option = &table->options[i];

        if (!table->given[i] || !(table->of[i] & of))
            continue;
        if (option->letter)
            snprintf(name, TD_OPTION_BYTES, "-%c", option->letter);
        else
            snprintf(name, TD_OPTION_BYTES, "--%s", option->name);
        return true;
    }
    return false;
}

/* What is recorded. */
static void add_targets(struct table *table, struct td_request *request, struct words *words)
{
    const struct row rows[] = {
        HEADING("What to record (a command, or one of these):"),
        VALUE(TD_OPT_STRING, 'p', "pid", "PID,...", "running processes", &words->pids),
        VALUE(TD_OPT_STRING, 't', "tid", "TID,...", "single threads", &words->tids),
        FLAG('a', "all-cpus", "the whole machine", &words->all),
        VALUE(TD_OPT_STRING, 'C', "cpu", "LIST", "these CPUs, as 0,3-7", &words->cpus),
        VALUE(TD_OPT_STRING, 'G', "cgroup", "PATH", "a cgroup", &request->cgroup),
    };

    append(table, rows, TD_ARRAY_SIZE(rows));
}

/* By which events or which model, and how often. */
static void add_events(struct table *table, struct td_request *request, struct words *words)
{
    const struct row rows[] = {
        HEADING("How:"),
        VALUE(TD_OPT_STRING, 'o', "output", "FILE",
              "the profile (profile.td); %p %h %r stand for pid, host, rank", &request->output),
        VALUE_OF(OF_SAMPLES | OF_SAMPLER, TD_OPT_STRING, 'F', "freq", "HZ",
                 "samples per second (3989), or max", &words->frequency),
        VALUE_OF(OF_SAMPLES | OF_SAMPLER, TD_OPT_U64, 'c', "period", "PERIOD",
                 "one sample every PERIOD (of cpu-clock: ns)", &words->period),
        VALUE(TD_OPT_LIST, 'e', "event", "EVENT,...", "events by name, as perf writes them",
              &request->events),
        VALUE(TD_OPT_LIST, 'M', "groups", "NAME,...",
              "only these levels, groups or metrics: TopdownL1, tlb ... (--list)",
              &request->groups),
        VALUE(TD_OPT_STRING, 0, "source", "NAME", "auto, pmu, sim, clock, hybrid or live",
              &words->source),
        VALUE_OF(OF_SAMPLES, TD_OPT_STRING, 0, "sim-core", "NAME",
                 "the core that sim models (nearest to this CPU)", &request->sim_core),
        VALUE_OF(OF_SAMPLES, TD_OPT_LIST, 0, "what-if", "WORD,...",
                 "sim: also with perfect branches, l1, l2, l3, dram, ports ..., width=8",
                 &request->what_if),
        FLAG_OF(OF_SAMPLES, 0, "sim-sample", "sim: model samples of the run, some 5 times faster",
                &request->sim_sample),
        FLAG_OF(OF_SAMPLES, 0, "cpi-methods",
                "sim: count in four more ways (tdreport cpi --methods)", &request->cpi_methods),
        VALUE_OF(OF_LIVE, TD_OPT_U64, 0, "windows", "N",
                 "live: at most N images of the program are taken", &request->windows),
        VALUE_OF(OF_LIVE, TD_OPT_STRING, 0, "overhead", "PERCENT",
                 "live: what images may cost the program (5%)", &words->overhead),
        VALUE_OF(OF_SAMPLES, TD_OPT_STRING, 0, "sim-pmu", "HZ,...",
                 "sample the modelled core's own PMU as well", &request->sim_pmu),
        VALUE(TD_OPT_U64, 0, "topdown-level", "N",
              "the deepest level of the tree, 1 to 5 (what fits)", &words->level),
        VALUE(TD_OPT_U64, 0, "passes", "N", "run the command N times: each run counts other events",
              &words->passes),
    };

    append(table, rows, TD_ARRAY_SIZE(rows));
}

/* What samples tell, when they are taken, how. */
static void add_ways(struct table *table, struct td_request *request, struct words *words)
{
    const struct row rows[] = {
        FLAG_OF(OF_SAMPLES | OF_SAMPLER, 'W', "weight",
                "samples tell latencies and where data came from, or it is refused",
                &request->weights),
        FLAG_OF(OF_SAMPLES, 'g', NULL, "call stacks, as --call-graph auto", &words->graph),
        VALUE_OF(OF_SAMPLES, TD_OPT_STRING, 0, "call-graph", "HOW",
                 "auto, fp, dwarf[,BYTES], lbr or none", &words->call_graph),
        VALUE(TD_OPT_STRING, 0, "toggle", "FUNC", "sim: only what runs while this function does",
              &request->toggle),
        FLAG_OF(OF_SAMPLES, 0, "regions",
                "also regions of programs that the command starts (tdprof/region.h)",
                &request->regions),
        FLAG_OF(OF_SAMPLES | OF_SAMPLER, 0, "off-cpu", "also where threads wait, and how long",
                &request->off_cpu),
        VALUE_OF(OF_SAMPLER, TD_OPT_STRING, 'D', "delay", "MS",
                 "start recording after MS; -1: when told to", &words->delay),
        VALUE_OF(OF_SAMPLER, TD_OPT_STRING, 0, "control", "HOW",
                 "fifo:PATH[,ACK] or fd:N[,ACK]: enable, disable, stop ... from outside",
                 &request->control),
        VALUE_OF(OF_SAMPLER, TD_OPT_DOUBLE, 0, "duration", "S", "stop recording after S seconds",
                 &words->duration_s),
        VALUE_OF(OF_SAMPLER, TD_OPT_STRING, 0, "method", "HOW",
                 "cpu (events per CPU, needs privilege) or task (inherited)", &words->method),
        VALUE_OF(OF_SAMPLES | OF_SAMPLER, TD_OPT_STRING, 0, "pairs", "WHEN",
                 "two samples a known time apart: auto, on or off", &words->pairs),
        VALUE_OF(OF_SAMPLES | OF_SAMPLER, TD_OPT_U64, 'm', "mmap-pages", "N",
                 "pages of ring buffer per CPU", &words->ring_pages),
        FLAG('q', "quiet", "no status, no summary", &request->quiet),
    };

    append(table, rows, TD_ARRAY_SIZE(rows));
}

/* What is done instead of recording. */
static void add_others(struct table *table, struct td_request *request, struct words *words)
{
    const struct row rows[] = {
        HEADING("Instead of recording:"),
        FLAG(0, "count", "count and print: the tree, rates, events (--json)", &request->count),
        VALUE_OF(OF_COUNT, TD_OPT_U64, 'I', "interval", "MS",
                 "with --count: print every MS as well", &request->interval_ms),
        VALUE_OF(OF_COUNT, TD_OPT_STRING, 0, "report", "NAME",
                 "with --count: stalls, what stalled cycles wait for (--passes)", &words->report),
        FLAG_OF(OF_COUNT, 0, "per-thread", "with --count: each thread as well",
                &request->per_thread),
        FLAG(0, "doctor", "what this machine and user can record, and the fixes", &request->doctor),
        FLAG(0, "list", "the metrics, groups and events of this machine's cores", &request->list),
        FLAG(0, "calibrate", "measure this machine's core, for --sim-core host",
             &request->calibrate),
        FLAG(0, "plan", "print what would be opened (--json)", &request->plan),
        FLAG(0, "json", "with --plan or --count", &request->json),
        VALUE(TD_OPT_STRING, 0, "root", "DIR",
              "--plan, --list, --doctor for the machine of DIR/sys, DIR/proc", &request->root),
        FLAG(0, "version", "version and features", &request->version),
        FLAG('h', "help", "this text", &request->help),
    };

    append(table, rows, TD_ARRAY_SIZE(rows));
}

static void make_table(struct table *table, struct td_request *request, struct words *words)
{
    const struct td_opt end = TD_OPT_END;

    *table = (struct table){.count = 0};
    add_targets(table, request, words);
    add_events(table, request, words);
    add_ways(table, request, words);
    add_others(table, request, words);
    table->options[table->count] = end;
}

/* "12,34": whole numbers above 0. */
static int parse_ids(struct td_request *request, const char *text, const char *what,
                     struct td_err *err)
{
    size_t cap = 0;
    const char *p = text;

    while (*p) {
        uint64_t id = 0;
        const size_t len = strcspn(p, ",");
        char *word = td_xstrndup(p, len);
        const bool ok = td_parse_u64(word, &id) && id > 0 && id <= INT32_MAX;

        free(word);
        if (!ok)
            return td_fail(err, TD_EUSAGE, "'%s' is no %s (several are written 12,34)", text, what);
        request->ids = td_grow(request->ids, &cap, request->id_count + 1, sizeof(*request->ids));
        request->ids[request->id_count++] = (uint32_t)id;
        p += len + (p[len] == ',');
    }
    if (request->id_count == 0)
        return td_fail(err, TD_EUSAGE, "a %s is missing", what);
    return TD_OK;
}

/* At most one of -p, -t, -a, -C, -G; a command beside one of them only sets how long. */
static int parse_scope(struct td_request *request, const struct words *words, struct td_err *err)
{
    const int count = (words->pids != NULL) + (words->tids != NULL) + words->all +
                      (words->cpus != NULL) + (request->cgroup != NULL);

    if (count > 1 && !(count == 2 && words->all && (words->cpus || request->cgroup)))
        return td_fail(err, TD_EUSAGE, "only one of -p, -t, -a, -C and -G can be recorded");
    request->scope = TD_SCOPE_COMMAND;
    if (words->pids) {
        request->scope = TD_SCOPE_PROCESS;
        return parse_ids(request, words->pids, "process id", err);
    }
    if (words->tids) {
        request->scope = TD_SCOPE_THREAD;
        return parse_ids(request, words->tids, "thread id", err);
    }
    if (words->cpus) {
        request->scope = TD_SCOPE_CPUS;
        const int rc = td_cpulist_parse(&request->cpus, words->cpus, err);
        return rc < 0 ? TD_EUSAGE : TD_OK;
    }
    if (request->cgroup)
        request->scope = TD_SCOPE_CGROUP;
    else if (words->all)
        request->scope = TD_SCOPE_SYSTEM;
    return TD_OK;
}

static int parse_call_graph(struct td_request *request, const struct words *words,
                            struct td_err *err)
{
    const char *text = words->call_graph ? words->call_graph : words->graph ? "auto" : "none";
    const size_t len = strcspn(text, ",");
    uint64_t bytes = DEFAULT_STACK_BYTES;

    if (text[len] == ',' &&
        (strncmp(text, "dwarf", len) != 0 || !td_parse_u64(text + len + 1, &bytes) || bytes == 0 ||
         bytes > TD_STACK_BYTES_MAX))
        return td_fail(err, TD_EUSAGE, "--call-graph %s: write dwarf,BYTES with 8 to %u bytes",
                       text, TD_STACK_BYTES_MAX);
    if (strcmp(text, "auto") == 0)
        bytes = AUTO_STACK_BYTES;
    request->stack_bytes = (uint32_t)(bytes + 7) & ~UINT32_C(7);
#define X(symbol, name)                                         \
    if (strlen(name) == len && strncmp(text, name, len) == 0) { \
        request->call_graph = TD_CALL_GRAPH_##symbol;           \
        return TD_OK;                                           \
    }
    TD_CALL_GRAPHS(X)
#undef X
    return td_fail(err, TD_EUSAGE,
                   "--call-graph %s: there is auto, fp, dwarf[,BYTES], lbr and none", text);
}

static int parse_rate(struct td_request *request, const struct words *words, struct td_err *err)
{
    if (words->frequency && words->period)
        return td_fail(err, TD_EUSAGE, "-F and -c exclude each other");
    request->period = words->period;
    request->frequency_hz = words->period ? 0 : TD_DEFAULT_FREQUENCY_HZ;
    if (!words->frequency)
        return TD_OK;
    if (strcmp(words->frequency, "max") == 0)
        request->frequency_max = true;
    else if (!td_parse_u64(words->frequency, &request->frequency_hz) || request->frequency_hz == 0)
        return td_fail(err, TD_EUSAGE, "-F: '%s' is not a frequency (a number of Hz, or max)",
                       words->frequency);
    return TD_OK;
}

/* More runs than groups would record nothing new. */
#define PASSES_MAX 32

static int parse_passes(struct td_request *request, const struct words *words, struct td_err *err)
{
    if (words->passes > PASSES_MAX)
        return td_fail(err, TD_EUSAGE, "--passes: at most %d runs", PASSES_MAX);
    if (words->level > TD_TMA_LEVELS)
        return td_fail(err, TD_EUSAGE, "--topdown-level: there are levels 1 to %d", TD_TMA_LEVELS);
    request->passes = words->passes ? (unsigned)words->passes : 1;
    request->topdown_level = (unsigned)words->level;
    return TD_OK;
}

/* A word and what it stands for; the first of three is meant when there is none. */
struct choice {
    const char *word;
    int value;
};

static int choose(int *value, const char *option, const char *text, const struct choice choices[3],
                  struct td_err *err)
{
    *value = choices[0].value;
    for (int i = 0; i < 3; i++) {
        if (text && strcmp(text, choices[i].word) == 0) {
            *value = choices[i].value;
            return TD_OK;
        }
    }
    return text ? td_fail(err, TD_EUSAGE, "%s %s: there is %s, %s and %s", option, text,
                          choices[0].word, choices[1].word, choices[2].word)
                : TD_OK;
}

static int parse_method(struct td_request *request, const char *text, struct td_err *err)
{
    static const struct choice methods[3] = {
        {"auto", TD_METHOD_AUTO}, {"cpu", TD_METHOD_CPU}, {"task", TD_METHOD_TASK}};
    int method = 0;
    const int rc = choose(&method, "--method", text, methods, err);

    request->method = (enum td_method)method;
    return rc;
}

static int parse_pairs(struct td_request *request, const char *text, struct td_err *err)
{
    static const struct choice pairs[3] = {
        {"auto", TD_PAIRS_AUTO}, {"on", TD_PAIRS_ON}, {"off", TD_PAIRS_OFF}};
    int chosen = 0;
    const int rc = choose(&chosen, "--pairs", text, pairs, err);

    request->pairs = (enum td_pairs)chosen;
    return rc;
}

static int parse_source(struct td_request *request, const char *text, struct td_err *err)
{
    static const char *const names[] = {"auto",
#define X(symbol, number, name, modelled, meaning) #name,
                                        TD_RECORDED_SOURCES(X)
#undef X
                                            NULL};
    size_t i = 0;

    while (text && names[i] && strcmp(text, names[i]) != 0)
        i++;
    request->source = td_source_by_name(text);
    if (names[i])
        return TD_OK;
    const char *near = td_nearest(text, names);

    return td_fail(err, TD_EUSAGE,
                   "--source %s: there is auto, pmu, sim, clock, hybrid and live%s%s%s", text,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* "5%", "5" */
static int parse_overhead(struct td_request *request, const struct words *words, struct td_err *err)
{
    char *text = td_xstrdup(words->overhead ? words->overhead : "5%");
    const size_t len = strlen(text);
    double percent = 0;

    if (len > 0 && text[len - 1] == '%')
        text[len - 1] = '\0';
    const bool ok = td_parse_double(text, &percent) && percent >= 0.1 && percent <= 100;
    free(text);
    request->overhead = percent / 100;
    if (!ok)
        return td_fail(err, TD_EUSAGE, "--overhead %s: write a percentage from 0.1 to 100, as 5%%",
                       words->overhead);
    return TD_OK;
}

static int parse_count(struct td_request *request, struct td_err *err)
{
    if (!request->count) {
        request->output = request->output ? request->output : "profile.td";
        return TD_OK;
    }
    if (request->per_thread && request->scope != TD_SCOPE_COMMAND &&
        request->scope != TD_SCOPE_PROCESS && request->scope != TD_SCOPE_THREAD)
        return td_fail(err, TD_EUSAGE,
                       "--per-thread goes with a command, -p or -t: of whole CPUs, tdrec -a and "
                       "tdreport threads have the threads");
    if (request->per_thread && request->passes > 1)
        return td_fail(err, TD_EUSAGE,
                       "--per-thread is of one run: threads of another are others (no --passes)");
    if (request->interval_ms > INT32_MAX || (request->interval_ms && request->interval_ms < 10))
        return td_fail(err, TD_EUSAGE, "-I: a number of milliseconds from 10 on");
    request->frequency_hz = 0;
    return TD_OK;
}

static int parse_control(struct td_request *request, const struct words *words, struct td_err *err)
{
    const char *delay = words->delay;

    request->start_off = delay && strcmp(delay, "-1") == 0;
    if (delay && !request->start_off &&
        (!td_parse_u64(delay, &request->delay_ms) || request->delay_ms > INT32_MAX))
        return td_fail(err, TD_EUSAGE,
                       "-D: '%s' is not a number of milliseconds (or -1: wait for --control)",
                       delay);
    if (request->start_off && !request->control)
        return td_fail(err, TD_EUSAGE,
                       "-D -1 waits for an 'enable': say with --control where it comes from");
    if (request->toggle &&
        ((request->source != TD_SOURCE_NONE && request->source != TD_SOURCE_SIM) ||
         request->count || request->sim_sample || request->cpi_methods || request->sim_pmu))
        return td_fail(err, TD_EUSAGE,
                       "--toggle goes with --source sim, which knows exactly when a function runs "
                       "(natively: tdrec -g, then tdreport callees %s)",
                       request->toggle);
    if (request->control && request->source == TD_SOURCE_HYBRID)
        return td_fail(err, TD_EUSAGE,
                       "--control is of one run, and hybrid has two: --source clock or sim");
    if (request->control && request->passes > 1)
        return td_fail(err, TD_EUSAGE, "--control is of one run (no --passes)");
    return request->control ? td_control_check(request->control, err) : TD_OK;
}

/* Which report of a count, and what it excludes: it decides itself what is counted. */
static int parse_report(struct td_request *request, const char *name, struct td_err *err)
{
    if (!name)
        return TD_OK;
    if (strcmp(name, "stalls") != 0)
        return td_fail(err, TD_EUSAGE, "--report '%s' is not known; there is stalls", name);
    if (request->groups.len || request->events.len || request->topdown_level)
        return td_fail(err, TD_EUSAGE,
                       "--report stalls chooses what is counted: without -e, -M and "
                       "--topdown-level");
    if (request->per_thread || request->interval_ms)
        return td_fail(err, TD_EUSAGE, "--report stalls is of the whole: without %s",
                       request->per_thread ? "--per-thread" : "-I");
    request->stalls = true;
    return TD_OK;
}

/* It is of the modelled core alone, all of the run. */
static int parse_what_if(struct td_request *request, struct td_err *err)
{
    if (request->what_if.len == 0)
        return TD_OK;
    if (request->source != TD_SOURCE_NONE && request->source != TD_SOURCE_SIM)
        return td_fail(err, TD_EUSAGE, "--what-if goes with --source sim");
    if (request->sim_pmu)
        return td_fail(err, TD_EUSAGE,
                       "--sim-pmu samples one core, --what-if models several: one of the two");
    request->source = TD_SOURCE_SIM;
    return TD_OK;
}

/* Who names the model's core or asks for its samples wants the model of the command, and is told
 * where there can be none. */
static void take_model(struct td_request *request)
{
    if (request->source == TD_SOURCE_NONE && request->command && !request->count &&
        request->scope == TD_SCOPE_COMMAND && (request->sim_core || request->sim_sample))
        request->source = TD_SOURCE_SIM;
}

static bool records(const struct td_request *request)
{
    return !request->help && !request->version && !request->doctor && !request->list &&
           !request->calibrate;
}

/* What is given for one thing only, where another is recorded, is refused and not ignored. */
static int check_use(struct td_request *request, const struct table *table, struct td_err *err)
{
    const struct {
        unsigned of;
        bool refused;
        const char *sentence;
    } rules[] = {
        {OF_COUNT, !request->count, "goes with --count"},
        {OF_SAMPLES, request->count, "is for samples, and --count takes none"},
        {OF_LIVE, request->source != TD_SOURCE_LIVE, "is of --source live"},
    };
    char option[TD_OPTION_BYTES];

    for (size_t i = 0; i < TD_ARRAY_SIZE(rules); i++) {
        if (rules[i].refused && first_given(table, rules[i].of, option))
            return td_fail(err, TD_EUSAGE, "%s %s", option, rules[i].sentence);
    }
    if (!first_given(table, OF_SAMPLER, request->sampler_option) &&
        (request->call_graph == TD_CALL_GRAPH_FP || request->call_graph == TD_CALL_GRAPH_DWARF ||
         request->call_graph == TD_CALL_GRAPH_LBR))
        snprintf(request->sampler_option, TD_OPTION_BYTES, "--call-graph");
    return TD_OK;
}

static int check_command(struct td_request *request, struct td_err *err)
{
    if (request->passes > 1 && !request->command && request->duration_s <= 0)
        return td_fail(err, TD_EUSAGE,
                       "--passes: name a command to run again, or a --duration to divide");
    if (request->json && !request->plan && !request->count)
        return td_fail(err, TD_EUSAGE, "--json goes with --plan or --count");
    if ((request->sim_core || request->sim_sample) && request->source != TD_SOURCE_NONE &&
        !td_source_is_modelled(request->source))
        return td_fail(err, TD_EUSAGE, "--%s goes with --source sim",
                       request->sim_core ? "sim-core" : "sim-sample");
    if (request->cpi_methods && request->source != TD_SOURCE_SIM)
        return td_fail(err, TD_EUSAGE,
                       "--cpi-methods goes with --source sim: the modelled core counts");
    if (request->root && !request->plan && !request->doctor && !request->list)
        return td_fail(err, TD_EUSAGE, "--root goes with --plan, --list or --doctor");
    if (request->groups.len && request->events.len)
        return td_fail(err, TD_EUSAGE, "-M and -e exclude each other");
    if (records(request) && !request->plan && request->scope == TD_SCOPE_COMMAND &&
        !request->command)
        return td_fail(err, TD_EUSAGE,
                       "nothing to record: name a command, or -p, -t, -a, -C or -G (try --help)");
    if (request->command && request->command[0][0] == '\0')
        return td_fail(err, TD_EUSAGE, "the command is an empty word");
    return TD_OK;
}

int td_request_parse(struct td_request *request, int argc, char **argv, struct td_err *err)
{
    struct words words = {0};
    struct table table;

    *request = (struct td_request){.source = TD_SOURCE_NONE};
    make_table(&table, request, &words);
    const int first = td_opt_parse_given(table.options, table.given, argc, argv, false, err);
    if (first < 0)
        return first;
    request->command = first < argc ? argv + first : NULL;
    request->command_marked = request->command && strcmp(argv[first - 1], "--") == 0;
    request->duration_s = words.duration_s;
    request->ring_pages = words.ring_pages;
    if (request->duration_s < 0 || request->duration_s > 1e9)
        return td_fail(err, TD_EUSAGE, "--duration must be a positive time");
    if (request->ring_pages & (request->ring_pages - 1) || request->ring_pages > 1 << 18)
        return td_fail(err, TD_EUSAGE, "-m: the number of pages must be a power of two");
    int rc = parse_passes(request, &words, err);
    if (rc == TD_OK)
        rc = parse_scope(request, &words, err);
    if (rc == TD_OK)
        rc = parse_call_graph(request, &words, err);
    if (rc == TD_OK)
        rc = parse_rate(request, &words, err);
    if (rc == TD_OK)
        rc = parse_method(request, words.method, err);
    if (rc == TD_OK)
        rc = parse_pairs(request, words.pairs, err);
    if (rc == TD_OK)
        rc = parse_source(request, words.source, err);
    if (rc == TD_OK)
        rc = check_use(request, &table, err);
    if (rc == TD_OK)
        rc = parse_what_if(request, err);
    if (rc == TD_OK)
        take_model(request);
    if (rc == TD_OK)
        rc = parse_overhead(request, &words, err);
    if (rc == TD_OK)
        rc = parse_count(request, err);
    if (rc == TD_OK)
        rc = parse_report(request, words.report, err);
    if (rc == TD_OK)
        rc = parse_control(request, &words, err);
    return rc == TD_OK ? check_command(request, err) : rc;
}

const char *td_request_sampling_option(const struct td_request *request)
{
    return request->sampler_option[0] ? request->sampler_option : NULL;
}

void td_request_release(struct td_request *request)
{
    td_opt_list_release(&request->events);
    td_opt_list_release(&request->groups);
    td_opt_list_release(&request->what_if);
    td_cpulist_release(&request->cpus);
    free(request->ids);
    *request = (struct td_request){0};
}

void td_request_help(FILE *out)
{
    struct table table;
    struct td_request request = {0};
    struct words words = {0};

    make_table(&table, &request, &words);
    fputs("Usage: tdrec [options] [--] command [arguments]\n"
          "Records where a program spends its time, into a profile that tdreport reads.\n\n",
          out);
    td_opt_print(table.options, out);
    fputs("\nThe exit status is the command's (128+N for signal N), 125 when recording\n"
          "failed, 127 or 126 when the command was not found or could not be run.\n",
          out);
}

const char *td_scope_name(enum td_scope scope)
{
    static const char *const names[] = {
#define X(symbol, name) [TD_SCOPE_##symbol] = (name),
        TD_SCOPES(X)
#undef X
    };

    return names[scope];
}

const char *td_call_graph_name(enum td_call_graph call_graph)
{
    static const char *const names[] = {
#define X(symbol, name) [TD_CALL_GRAPH_##symbol] = (name),
        TD_CALL_GRAPHS(X)
#undef X
    };

    return names[call_graph];
}
