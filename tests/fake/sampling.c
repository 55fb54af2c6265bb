/* SPDX-License-Identifier: MIT */
#include "tests/fake/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/mem.h"

#define CPUS_MAX       64
#define NS_PER_MS      1e6
#define USUAL_HZ       3000000000
#define RECORD_WORDS   1024
#define THREAD_OF_NONE 4000000 /* above what pid_max is by itself */

struct fake_sampling {
    const struct fake_run *run;
    size_t at; /* the next line */
    bool began, ended;
    pid_t pid;
    double clock_ns[CPUS_MAX]; /* since the begin */
    uint64_t begin_ns;
};

/* A record as it grows. */
struct record {
    uint64_t words[RECORD_WORDS];
    size_t len;
};

/* What happens on a CPU while a line runs. */
struct passing {
    struct fake_sampling *s;
    const struct fake_line *line;
    double from_ns, to_ns; /* of the CPU's clock */
};

struct fake_sampling *fake_sampling_new(const struct fake_run *run)
{
    struct fake_sampling *s = td_xcalloc(1, sizeof(*s));

    s->run = run;
    return s;
}

void fake_sampling_free(struct fake_sampling *s)
{
    free(s);
}

void fake_sampling_command(struct fake_sampling *s, pid_t pid)
{
    const struct fake_run *run = s->run;

    *s = (struct fake_sampling){.run = run, .pid = pid};
}

static uint64_t now_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Records. */

static void put(struct record *record, uint64_t word)
{
    if (record->len == RECORD_WORDS)
        abort();
    record->words[record->len++] = word;
}

static void put_halves(struct record *record, uint32_t low, uint32_t high)
{
    put(record, low | (uint64_t)high << 32);
}

static void put_text(struct record *record, const char *text)
{
    const size_t words = strlen(text) / 8 + 1;

    for (size_t i = 0; i < words; i++)
        put(record, 0);
    memcpy(&record->words[record->len - words], text, strlen(text));
}

/* struct perf_event_header; the size is set when the record is whole. */
static struct record begin_record(uint32_t type, uint16_t misc)
{
    struct record record = {.len = 0};

    put_halves(&record, type, misc);
    return record;
}

static void copy_in(struct fake_ring *ring, const struct record *record)
{
    const uint8_t *bytes = (const uint8_t *)record->words;

    for (size_t i = 0; i < record->len * 8; i++)
        ring->data[(ring->page->data_head + i) & (ring->size - 1)] = bytes[i];
    __atomic_store_n(&ring->page->data_head, ring->page->data_head + record->len * 8,
                     __ATOMIC_RELEASE);
}

static bool has_room(const struct fake_ring *ring, size_t words)
{
    const uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);

    return ring->size - (ring->page->data_head - tail) > words * 8;
}

static void put_trailer(struct record *record, const struct fake_opened *event, uint32_t pid,
                        uint32_t tid, uint64_t time_ns, unsigned cpu)
{
    const uint64_t type = event->attr.sample_id_all ? event->attr.sample_type : 0;

    if (type & PERF_SAMPLE_TID)
        put_halves(record, pid, tid);
    if (type & PERF_SAMPLE_TIME)
        put(record, time_ns);
    if (type & PERF_SAMPLE_ID)
        put(record, (uint64_t)event->number + 1);
    if (type & PERF_SAMPLE_STREAM_ID)
        put(record, (uint64_t)event->number + 1);
    if (type & PERF_SAMPLE_CPU)
        put_halves(record, cpu, 0);
    if (type & PERF_SAMPLE_IDENTIFIER)
        put(record, (uint64_t)event->number + 1);
}

static void finish_record(struct record *record)
{
    record->words[0] |= (uint64_t)(record->len * 8) << 48;
}

/* perf_output_begin: what was lost is told before the next record that finds room. False when the
 * record finds none. */
static bool write_record(struct fake_opened *event, struct record *record, uint64_t time_ns)
{
    struct fake_ring *ring = &fake_opened_all()[event->output].ring;
    struct record lost = begin_record(PERF_RECORD_LOST, 0);

    if (!ring->page)
        return true;
    put(&lost, (uint64_t)event->number + 1);
    put(&lost, ring->lost);
    put_trailer(&lost, event, 0, 0, time_ns, 0);
    finish_record(&lost);
    finish_record(record);
    if (!has_room(ring, record->len + (ring->lost ? lost.len : 0))) {
        ring->lost++;
        return false;
    }
    if (ring->lost)
        copy_in(ring, &lost);
    ring->lost = 0;
    copy_in(ring, record);
    return true;
}

bool fake_sampling_wakes(struct fake_opened *event)
{
    struct fake_ring *ring = &fake_opened_all()[event->output].ring;

    if (!ring->page || ring->page->data_head - ring->awake_at < event->attr.wakeup_watermark)
        return false;
    ring->awake_at = ring->page->data_head;
    return true;
}

/* Counting. */

static bool is_task(const struct fake_opened *event)
{
    return event->pid != -1;
}

static uint32_t tid_of(const struct fake_sampling *s, int task)
{
    return task == FAKE_OTHER ? THREAD_OF_NONE : (uint32_t)(s->pid + task);
}

static struct fake_counter *counter_of(struct fake_opened *event, int task)
{
    return &event->counters[is_task(event) ? task : 0];
}

static struct fake_opened *leader_of(const struct fake_opened *event)
{
    return &fake_opened_all()[event->leader];
}

/* Whether what runs there counts: a thread's own, its CPU's, of the mode that is not left out. */
static bool counts_line(const struct fake_opened *event, const struct fake_line *line)
{
    if (!event->used || leader_of(event)->from_ns == 0 ||
        (event->cpu >= 0 && event->cpu != (int)line->cpu))
        return false;
    if (is_task(event) && (line->task == FAKE_OTHER || (line->task > 0 && !event->attr.inherit)))
        return false;
    return fake_line_is_kernel(line) ? !event->attr.exclude_kernel : !event->attr.exclude_user;
}

static struct fake_setting turn_of(const struct passing *p, const struct fake_opened *event)
{
    return fake_run_turn(p->s->run, &leader_of(event)->event);
}

/* How much of the time since the begin a group had its counters. */
static double had_ns(struct fake_setting turn, double ns)
{
    const double round_ns = (double)turn.turns * NS_PER_MS, rounds = floor(ns / round_ns);
    const double own = ns - rounds * round_ns - (double)turn.turn * NS_PER_MS;

    return turn.turns == 1 ? ns : rounds * NS_PER_MS + fmax(0, fmin(own, NS_PER_MS));
}

/* The other way round. */
static double when_had(struct fake_setting turn, double had)
{
    const double rounds =
        fmax(0, ceil(had / NS_PER_MS - 1e-9) - 1); /* its end is still of a turn */

    if (turn.turns == 1)
        return had;
    return (rounds * (double)turn.turns + (double)turn.turn) * NS_PER_MS + had - rounds * NS_PER_MS;
}

static double passed_ns(const struct passing *p, const struct fake_opened *event, double ns)
{
    const struct fake_setting turn = turn_of(p, event);

    return had_ns(turn, ns) - had_ns(turn, p->from_ns);
}

static uint64_t value_at(const struct passing *p, struct fake_opened *event, double ns)
{
    const double each = (double)fake_run_count(p->line, &event->event) / (double)p->line->ns;
    const uint64_t value = counter_of(event, p->line->task)->value;
    const bool counts = counts_line(event, p->line);

    return value + (counts ? (uint64_t)llround(each * passed_ns(p, event, ns)) : 0);
}

/* When an event overflows next; infinity: not while the line runs. */
static double overflow_ns(const struct passing *p, struct fake_opened *event)
{
    const double count = (double)fake_run_count(p->line, &event->event);
    const struct fake_setting turn = turn_of(p, event);

    if (count <= 0 || !counts_line(event, p->line))
        return INFINITY;
    const struct fake_counter *counter = counter_of(event, p->line->task);
    if (counter->next == 0)
        return INFINITY;
    const double left = (double)(counter->next - counter->value);
    const double ns = when_had(turn, had_ns(turn, p->from_ns) + left / count * (double)p->line->ns);
    return ns <= p->to_ns + 1e-3 ? fmin(fmax(ns, p->from_ns), p->to_ns) : INFINITY;
}

uint64_t fake_sampling_value(const struct fake_opened *event)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < FAKE_TASKS_MAX; i++)
        sum += event->counters[i].value;
    return sum;
}

/* Samples. */

static void put_read_value(struct record *record, const struct passing *p,
                           struct fake_opened *event, uint64_t format, double ns)
{
    put(record, value_at(p, event, ns));
    if (!(format & PERF_FORMAT_GROUP)) {
        if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
            put(record, leader_of(event)->enabled_ns + (uint64_t)(ns - p->from_ns));
        if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
            put(record, leader_of(event)->running_ns + (uint64_t)passed_ns(p, event, ns));
    }
    if (format & PERF_FORMAT_ID)
        put(record, (uint64_t)event->number + 1);
    if (format & PERF_FORMAT_LOST)
        put(record, event->lost);
}

/* perf_output_read: the leader, then its members in the order of their opening. */
static void put_read(struct record *record, const struct passing *p, struct fake_opened *event,
                     double ns)
{
    const uint64_t format = event->attr.read_format;
    struct fake_opened *all = fake_opened_all();

    if (!(format & PERF_FORMAT_GROUP)) {
        put_read_value(record, p, event, format, ns);
        return;
    }
    const size_t count_at = record->len;
    put(record, 0);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        put(record, leader_of(event)->enabled_ns + (uint64_t)(ns - p->from_ns));
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        put(record, leader_of(event)->running_ns + (uint64_t)passed_ns(p, event, ns));
    for (int fd = 0; fd < FAKE_FDS_MAX; fd++) {
        if (!all[fd].used || all[fd].leader != event->leader)
            continue;
        put_read_value(record, p, &all[fd], format, ns);
        record->words[count_at]++;
    }
}

static void put_chain(struct record *record, const struct fake_line *line)
{
    put(record, 2 + line->chain.len);
    put(record, fake_line_is_kernel(line) ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER);
    put(record, line->ip);
    for (size_t i = 0; i < line->chain.len; i++)
        put(record, line->chain.at[i]);
}

/* A size of 4 bytes, a word of capabilities, registers; the whole of it is a multiple of 8. */
static void put_raw(struct record *record, const struct fake_list *raw)
{
    if (raw->len == 0) {
        put_halves(record, 4, 0);
        return;
    }
    put_halves(record, (uint32_t)(4 + 8 * (raw->len - 1)), (uint32_t)raw->at[0]);
    for (size_t i = 1; i < raw->len; i++)
        put(record, raw->at[i]);
}

static void put_branches(struct record *record, const struct fake_line *line, uint64_t type)
{
    put(record, line->branch_len);
    if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
        put(record, 0);
    for (size_t i = 0; i < line->branch_len; i++) {
        put(record, line->branches[i].from);
        put(record, line->branches[i].to);
        put(record, line->branches[i].missed ? 1 : 2); /* mispredicted, predicted */
    }
}

static uint64_t nth(const struct fake_list *list, size_t i)
{
    return list->len ? list->at[i % list->len] : 0;
}

/* The order of perf_output_sample, up to the read. */
static void put_ids(struct record *record, const struct passing *p, struct fake_opened *event,
                    double ns)
{
    const uint64_t type = event->attr.sample_type, id = (uint64_t)event->number + 1;
    const int task = p->line->task;

    if (type & PERF_SAMPLE_IDENTIFIER)
        put(record, id);
    if (type & PERF_SAMPLE_IP)
        put(record, p->line->ip);
    if (type & PERF_SAMPLE_TID)
        put_halves(record, task == FAKE_OTHER ? THREAD_OF_NONE : (uint32_t)p->s->pid,
                   tid_of(p->s, task));
    if (type & PERF_SAMPLE_TIME)
        put(record, p->s->begin_ns + (uint64_t)ns);
    if (type & PERF_SAMPLE_ADDR)
        put(record, p->line->address);
    if (type & PERF_SAMPLE_ID)
        put(record, id);
    if (type & PERF_SAMPLE_STREAM_ID)
        put(record, id);
    if (type & PERF_SAMPLE_CPU)
        put_halves(record, p->line->cpu, 0);
    if (type & PERF_SAMPLE_PERIOD)
        put(record, event->attr.sample_period);
}

static void write_sample(struct passing *p, struct fake_opened *event, double ns)
{
    const struct fake_line *line = p->line;
    const uint64_t type = event->attr.sample_type;
    const uint16_t mode =
        fake_line_is_kernel(line) ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    struct record record = begin_record(
        PERF_RECORD_SAMPLE, mode | (event->attr.precise_ip ? PERF_RECORD_MISC_EXACT_IP : 0));

    put_ids(&record, p, event, ns);
    if (type & PERF_SAMPLE_READ)
        put_read(&record, p, event, ns);
    if (type & PERF_SAMPLE_CALLCHAIN)
        put_chain(&record, line);
    if (type & PERF_SAMPLE_RAW)
        put_raw(&record, &line->raw);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        put_branches(&record, line, event->attr.branch_sample_type);
    if (type & PERF_SAMPLE_REGS_USER)
        put(&record, PERF_SAMPLE_REGS_ABI_NONE);
    if (type & PERF_SAMPLE_STACK_USER)
        put(&record, 0);
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        put(&record, nth(&line->weights, event->samples));
    if (type & PERF_SAMPLE_DATA_SRC)
        put(&record, nth(&line->sources, event->samples));
    event->samples++;
    if (!write_record(event, &record, p->s->begin_ns + (uint64_t)ns))
        event->lost++;
}

/* The event that overflows next, not later than the line ends; NULL: none does. */
static struct fake_opened *next_overflow(const struct passing *p, double *ns)
{
    struct fake_opened *all = fake_opened_all(), *next = NULL;

    *ns = INFINITY;
    for (int fd = 0; fd < FAKE_FDS_MAX; fd++) {
        const double its = all[fd].used ? overflow_ns(p, &all[fd]) : INFINITY;

        if (its < *ns) {
            *ns = its;
            next = &all[fd];
        }
    }
    return next;
}

static void count_line(const struct passing *p)
{
    struct fake_opened *all = fake_opened_all();

    for (int fd = 0; fd < FAKE_FDS_MAX; fd++) {
        struct fake_opened *event = &all[fd];

        if (!event->used || !counts_line(event, p->line))
            continue;
        counter_of(event, p->line->task)->value = value_at(p, event, p->to_ns);
        event->enabled_ns += p->line->ns;
        event->running_ns += (uint64_t)llround(passed_ns(p, event, p->to_ns));
    }
}

static void run_line(struct fake_sampling *s, const struct fake_line *line)
{
    double *clock_ns = &s->clock_ns[line->cpu % CPUS_MAX], ns = 0;
    struct passing p = {.s = s, .line = line, .from_ns = *clock_ns};

    for (int fd = 0; fd < FAKE_FDS_MAX; fd++)
        fake_opened_all()[fd].samples = 0;
    p.to_ns = p.from_ns + (double)line->ns;
    for (struct fake_opened *event; (event = next_overflow(&p, &ns));) {
        struct fake_counter *counter = counter_of(event, line->task);

        write_sample(&p, event, ns);
        counter->next += event->attr.sample_period;
    }
    count_line(&p);
    *clock_ns = p.to_ns;
}

/* Tasks and what they map. */

typedef void body_fn(struct record *record, const struct fake_sampling *s, size_t i);

static void put_command_name(struct record *record, const struct fake_sampling *s, size_t task)
{
    put_halves(record, (uint32_t)s->pid, tid_of(s, (int)task));
    put_text(record, s->run->names[task]);
}

static void put_mapping(struct record *record, const struct fake_sampling *s, size_t i)
{
    const struct fake_mapping *map = &s->run->maps[i];
    struct stat st = {.st_ino = 0};

    (void)stat(map->path, &st);
    put_halves(record, (uint32_t)s->pid, (uint32_t)s->pid);
    put(record, map->start);
    put(record, map->size);
    put(record, map->offset);
    put_halves(record, major(st.st_dev), minor(st.st_dev));
    put(record, st.st_ino);
    put(record, 0); /* the inode's generation */
    put_halves(record, PROT_READ | PROT_EXEC, MAP_PRIVATE);
    put_text(record, map->path);
}

/* perf_event_task: pid, ppid, tid, ptid, time. */
static void put_task(struct record *record, const struct fake_sampling *s, size_t task)
{
    put_halves(record, (uint32_t)s->pid, (uint32_t)s->pid);
    put_halves(record, tid_of(s, (int)task), (uint32_t)s->pid);
    put(record, s->begin_ns);
}

static bool wants(const struct perf_event_attr *attr, uint32_t type)
{
    return type == PERF_RECORD_COMM    ? attr->comm
           : type == PERF_RECORD_MMAP2 ? attr->mmap2
                                       : attr->task;
}

/* To each event that asks for such records, on the CPU where the command begins. */
static void tell(const struct fake_sampling *s, uint32_t type, uint16_t misc, unsigned cpu,
                 double ns, body_fn *body, size_t i)
{
    struct fake_opened *all = fake_opened_all();
    const uint64_t time_ns = s->begin_ns + (uint64_t)ns;

    for (int fd = 0; fd < FAKE_FDS_MAX; fd++) {
        struct record record = begin_record(type, misc);

        if (!all[fd].used || !wants(&all[fd].attr, type) ||
            (all[fd].cpu >= 0 && all[fd].cpu != (int)cpu))
            continue;
        body(&record, s, i);
        put_trailer(&record, &all[fd], (uint32_t)s->pid, (uint32_t)s->pid, time_ns, cpu);
        write_record(&all[fd], &record, time_ns);
    }
}

static unsigned first_cpu(const struct fake_run *run)
{
    for (size_t i = 0; i < run->len; i++) {
        if (run->lines[i].kind == FAKE_RUN && run->lines[i].task != FAKE_OTHER)
            return run->lines[i].cpu;
    }
    return 0;
}

/* The command's exec. */
static void begin(struct fake_sampling *s)
{
    const unsigned cpu = first_cpu(s->run);
    struct fake_opened *all = fake_opened_all();

    s->began = true;
    s->begin_ns = now_ns();
    for (int fd = 0; fd < FAKE_FDS_MAX; fd++) {
        if (all[fd].used && all[fd].attr.enable_on_exec)
            all[fd].from_ns = s->begin_ns;
    }
    tell(s, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, cpu, 0, put_command_name, 0);
    for (size_t i = 0; i < s->run->map_len; i++)
        tell(s, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, cpu, 0, put_mapping, i);
    for (size_t task = 1; task < FAKE_TASKS_MAX; task++) {
        if (!s->run->names[task][0])
            continue;
        tell(s, PERF_RECORD_FORK, 0, cpu, 0, put_task, task);
        tell(s, PERF_RECORD_COMM, 0, cpu, 0, put_command_name, task);
    }
}

static double last_ns(const struct fake_sampling *s)
{
    double last = 0;

    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
        last = fmax(last, s->clock_ns[cpu]);
    return last;
}

static void end(struct fake_sampling *s)
{
    const unsigned cpu = first_cpu(s->run);

    if (s->ended)
        return;
    s->ended = true;
    for (size_t task = FAKE_TASKS_MAX; task-- > 0;) {
        if (s->run->names[task][0])
            tell(s, PERF_RECORD_EXIT, 0, cpu, last_ns(s), put_task, task);
    }
}

static void throttle(struct fake_sampling *s, const struct fake_line *line)
{
    struct fake_opened *all = fake_opened_all();
    const uint64_t time_ns = s->begin_ns + (uint64_t)s->clock_ns[line->cpu % CPUS_MAX];

    for (int fd = 0; fd < FAKE_FDS_MAX; fd++) {
        struct record record = begin_record(PERF_RECORD_THROTTLE, 0);

        if (!all[fd].used || !all[fd].attr.sample_type || all[fd].cpu != (int)line->cpu ||
            !fake_event_same(&all[fd].event, &line->counts[0].event))
            continue;
        put(&record, time_ns);
        put(&record, (uint64_t)all[fd].number + 1);
        put(&record, (uint64_t)all[fd].number + 1);
        put_trailer(&record, &all[fd], (uint32_t)s->pid, (uint32_t)s->pid, time_ns, line->cpu);
        write_record(&all[fd], &record, time_ns);
    }
}

/* Records are never older than what was there before. */
static void go_on_now(struct fake_sampling *s)
{
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
        s->clock_ns[cpu] = fmax(s->clock_ns[cpu], (double)(now_ns() - s->begin_ns));
}

bool fake_sampling_go_on(struct fake_sampling *s)
{
    if (!fake_sampling_is_left(s))
        return false;
    if (s->began)
        go_on_now(s);
    else
        begin(s);
    for (; s->at < s->run->len; s->at++) {
        const struct fake_line *line = &s->run->lines[s->at];

        if (line->kind == FAKE_WAIT) {
            s->at++;
            return true;
        }
        if (line->kind == FAKE_THROTTLE)
            throttle(s, line);
        else
            run_line(s, line);
    }
    end(s);
    return true;
}

bool fake_sampling_is_left(const struct fake_sampling *s)
{
    return s->at < s->run->len;
}

void fake_sampling_finish(struct fake_sampling *s)
{
    const struct fake_opened *all = fake_opened_all();
    bool rings = false;

    for (int fd = 0; fd < FAKE_FDS_MAX; fd++)
        rings = rings || (all[fd].used && all[fd].ring.page);
    while (rings && fake_sampling_go_on(s))
        continue;
}

/* Opening and controlling. */

void fake_sampling_open(const struct fake_sampling *s, struct fake_opened *event)
{
    const uint64_t said = fake_run_period(s->run, &event->event);

    if (event->attr.freq)
        event->attr.sample_period = said ? said : USUAL_HZ / event->attr.sample_freq;
    for (size_t i = 0; i < FAKE_TASKS_MAX; i++)
        event->counters[i].next = event->attr.sample_period;
}

void fake_sampling_period(struct fake_sampling *s, struct fake_opened *event, uint64_t period)
{
    struct fake_line spin = s->run->spin;
    const double before = s->clock_ns[event->cpu % CPUS_MAX];

    event->attr.sample_period = period;
    event->counters[0].next = event->counters[0].value + period;
    spin.cpu = (unsigned)event->cpu;
    run_line(s, &spin);
    s->clock_ns[event->cpu % CPUS_MAX] = before;
}
