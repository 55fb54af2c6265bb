/* SPDX-License-Identifier: MIT */
#include "record/run/modelled.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/core.h"
#include "record/run/emulate.h"
#include "record/tasks/profile_head.h"
#include "record/run/pieces.h"
#include "record/run/recording.h"
#include "record/run/signals.h"
#include "record/run/sources.h"
#include "record/sim/share/launch.h"
#include "record/sim/share/spool.h"
#include "record/run/sim_pmu.h"
#include "record/status.h"
#include "record/run/still_running.h"
#include "record/run/target.h"

/* A recorder that is killed loses at most what came since the images were last looked at, or this
 * share of the time that takes. */
#define ADD_EVERY_NS TD_NS_PER_S
#define ADD_SHARE    40
#define FIRST_NS     (TD_NS_PER_S / 4)
/* How long processes that outlive the command have to say what they did. */
#define ANSWER_NS (TD_NS_PER_S / 2)
/* How often it is looked whether the program runs already. */
#define LOOK_MS 10
#define WAIT_MS 100

struct modelled {
    const struct td_request *request;
    const struct td_plan *plan;
    struct td_status status;
    struct td_target target;
    struct td_recording *recording; /* borrowed */
    struct td_pieces pieces;
    const struct td_run_end *native; /* of the same command; NULL unless hybrid */
    const struct td_guest *guest;
    struct td_sim_pmu_run *pmu; /* NULL unless asked for */
    char *pmu_folder;
    struct td_spool *spool;
    uint32_t *seen; /* by image: the sequence of its last piece that was added */
    size_t seen_count, seen_cap;
    uint64_t mhz; /* of the modelled core */
    char *qemu, *plugin, *option;
    char **argv, **env;
    int signal_fd;
    unsigned interrupts;
    bool running; /* the file takes what the images tell */
    bool leave;   /* end, whether or not the command did */
    int rc;       /* of writing the file */
    uint64_t start_ns, next_ns, next_line_ns;
};

/* The images open our descriptor under /proc, for which they need all that we are allowed: the
 * model itself needs no privilege. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (geteuid() != 0 && syscall(SYS_capset, &header, none) == 0)
        prctl(PR_SET_DUMPABLE, 1);
}

/* The records of a simulated PMU are many: they go through files. */
static int prepare_pmu(struct modelled *m, struct td_err *err)
{
    const char *temp = getenv("TMPDIR");

    m->pmu_folder = td_xasprintf("%s/tdrec.XXXXXX", temp && temp[0] == '/' ? temp : "/tmp");
    if (!mkdtemp(m->pmu_folder)) {
        const int sys_errno = errno;

        td_fail_errno(err, TD_EIO, sys_errno, "cannot create the folder '%s'", m->pmu_folder);
        free(m->pmu_folder);
        m->pmu_folder = NULL;
        return TD_EIO;
    }
    if (strchr(m->pmu_folder, ','))
        return td_fail(err, TD_EUNSUPPORTED, "'%s': the emulator takes no commas in paths",
                       m->pmu_folder);
    return td_sim_pmu_prepare(&m->pmu, m->request, m->plan->core, m->pmu_folder, err);
}

static int prepare_command(struct modelled *m, struct td_err *err)
{
    char *path = NULL;
    int rc = td_emulate_check(m->request->command[0], &path, &m->guest, err);

    drop_capabilities();
    if (rc == TD_OK)
        rc = td_emulate_find(m->guest, &m->qemu, &m->plugin, err);
    if (rc == TD_OK && strchr(m->plugin, ','))
        rc =
            td_fail(err, TD_EUNSUPPORTED, "'%s': the emulator takes no commas in paths", m->plugin);
    if (rc == TD_OK)
        rc = td_spool_create(&m->spool, err);
    if (rc == TD_OK && m->request->sim_pmu)
        rc = prepare_pmu(m, err);
    if (rc == TD_OK) {
        char *name = td_spool_name(m->spool);

        td_spool_set_core(m->spool, &m->plan->core_desc);

        m->option = td_xasprintf("%s,core=%s,mode=%s,spool=%s%s%s", m->plugin, m->plan->core,
                                 m->request->sim_sample ? "sample" : "exact", name,
                                 m->pmu ? ",pmu=" : "", m->pmu ? td_sim_pmu_plan_path(m->pmu) : "");
        const struct td_launch launch = {.qemu = m->qemu, .guest = m->guest, .plugin = m->option};
        m->argv = td_launch_argv(&launch, path, m->request->command, environ);
        m->env = td_launch_env(&launch, environ);
        free(name);
    }
    free(path);
    return rc;
}

static void write_head(struct modelled *m)
{
    const struct td_core_desc *desc = &m->plan->core_desc;
    const struct {
        const char *name;
        uint64_t value;
    } parameters[] = {
        {"clock_hz", (uint64_t)desc->mhz * 1000000},
        {"width", (uint64_t)desc->width},
        {"l1d_kb", (uint64_t)desc->l1d_kb},
        {"l1i_kb", (uint64_t)desc->l1i_kb},
        {"l2_kb", (uint64_t)desc->l2_kb},
        {"l3_kb", (uint64_t)desc->l3_kb},
    };
    struct td_profile_writer *writer = m->recording->writer;
    char text[64];

    m->mhz = (uint64_t)desc->mhz;
    for (size_t i = 0; i < TD_ARRAY_SIZE(parameters); i++) {
        snprintf(text, sizeof(text), "%s=%llu", parameters[i].name,
                 (unsigned long long)parameters[i].value);
        td_profile_env(writer, td_env_key_name(TD_ENV_PARAMETER), text);
    }
    td_profile_env(writer, td_env_key_name(TD_ENV_LEFT_OUT),
                   "not modelled (man tdrec): kernel, page faults, waits, SMT, NUMA, coherence");
    if (!m->native)
        td_profile_counter(writer, TD_COUNTER_STARTED_NS, m->start_ns);
}

static int start(struct modelled *m, const struct td_caps *caps, struct td_err *err)
{
    int rc = prepare_command(m, err);

    const struct td_target_program program = {
        .argv = m->argv, .env = m->env, .origin = m->request->origin};
    if (m->native)
        td_origin_rewind(program.origin);
    if (rc == TD_OK)
        rc = td_target_fork(&m->target, &program, err);
    if (rc == TD_OK)
        rc = td_signals_open(true, &m->signal_fd, err);
    if (rc == TD_OK)
        rc = td_recording_open(m->recording, m->request, caps, m->plan, (uint32_t)m->target.pid,
                               err);
    if (rc < 0)
        return rc;
    m->start_ns = td_clock_ns();
    m->next_ns = m->start_ns + FIRST_NS;
    m->next_line_ns = m->start_ns + TD_NS_PER_S;
    m->running = true;
    td_pieces_init(&m->pieces, m->recording->writer, (uint32_t)m->plan->core_desc.width);
    m->pieces.native = m->native != NULL;
    write_head(m);
    rc = td_profile_flush(m->recording->writer, err);
    return rc < 0 ? rc : td_target_start(&m->target, m->request->command[0], err);
}

/* Adds the piece of an image when it is a new one, or turns out to be the last one. */
static void add_image(struct modelled *m, uint32_t image)
{
    const struct td_spool_piece piece = td_spool_look(m->spool, image);
    struct td_buf bytes = {0};

    m->seen = td_grow(m->seen, &m->seen_cap, image + 1, sizeof(*m->seen));
    while (m->seen_count <= image)
        m->seen[m->seen_count++] = 0;
    if ((piece.sequence != m->seen[image] || piece.ended) &&
        td_spool_get(m->spool, image, &bytes) &&
        td_pieces_add(&m->pieces, image, &bytes, piece.ended))
        m->seen[image] = piece.sequence;
    if (piece.ended) {
        td_pieces_name_code(&m->pieces, image);
        td_pieces_forget(&m->pieces, image);
        td_spool_discard(m->spool, image);
        m->seen[image] = 0;
    }
    td_buf_release(&bytes);
}

static void add_images(struct modelled *m, struct td_err *err)
{
    for (uint32_t i = 0; i < td_spool_images(m->spool); i++)
        add_image(m, i);
    if (!m->native)
        td_profile_counter(m->recording->writer, TD_COUNTER_ENDED_NS, td_clock_ns());
    m->rc = td_profile_flush(m->recording->writer, err);
}

/* Images whose last words never came. */
static uint64_t count_lost(const struct modelled *m)
{
    uint64_t lost = td_spool_refused(m->spool);

    for (uint32_t i = 0; i < td_spool_images(m->spool); i++) {
        const struct td_spool_piece piece = td_spool_look(m->spool, i);

        lost += piece.claimed && !piece.ended && piece.sequence == 0 && !td_target_runs(piece.pid);
    }
    return lost;
}

/* Whether an image that runs has not answered since it was asked. */
static bool is_awaited(const struct modelled *m, uint32_t image)
{
    const struct td_spool_piece piece = td_spool_look(m->spool, image);

    return piece.claimed && !piece.ended && !piece.answered && td_target_runs(piece.pid);
}

/* What still runs when the command has ended goes on without the model: what it did until now is
 * asked for, and waited for a moment. */
static void ask_running(struct modelled *m)
{
    const uint64_t until_ns = td_clock_ns() + ANSWER_NS;
    bool awaited = true;

    td_spool_ask(m->spool);
    while (awaited && td_clock_ns() < until_ns) {
        awaited = false;
        for (uint32_t i = 0; i < td_spool_images(m->spool) && !awaited; i++)
            awaited = is_awaited(m, i);
        if (awaited)
            poll(NULL, 0, 5);
    }
}

static void warn(struct modelled *m, const char *text)
{
    td_recording_warn(m->recording, &m->status, text);
}

/* What the images noted, each sentence once. */
static void tell_notes(struct modelled *m)
{
    char *notes = td_spool_notes(m->spool);
    struct td_intern *told = td_intern_new();
    char *rest = notes, *line;

    while ((line = strsep(&rest, "\n"))) {
        const uint32_t known = td_intern_count(told);

        if (line[0] && td_intern_put(told, line, strlen(line)) == known)
            warn(m, line);
    }
    td_intern_free(told);
    free(notes);
}

/* Joined figures are of two runs: they must have been of the same work. */
static void tell_other_end(struct modelled *m)
{
    char native[32], modelled[32], text[160];

    td_env_exit_text(native, sizeof(native), m->native->status);
    td_env_exit_text(modelled, sizeof(modelled), m->target.status);
    if (!m->target.ended || strcmp(native, modelled) == 0)
        return;
    if (td_target_was_stopped(m->target.status)) {
        snprintf(text, sizeof(text),
                 "the modelled run was ended by %s: what it had not come to is not modelled",
                 modelled);
        td_recording_cut(m->recording, &m->status, text);
        return;
    }
    snprintf(text, sizeof(text),
             "the command ended differently on the modelled core (%s) than natively (%s)", modelled,
             native);
    warn(m, text);
}

/* Why the recording ends although the command does not. */
static void tell_cut(struct modelled *m)
{
    static const char second[] = "recording stopped by a second interrupt; the command goes on "
                                 "without the model";

    if (m->target.ended)
        return;
    if (m->leave)
        td_recording_cut(m->recording, &m->status,
                         "the recorder was hung up (SIGHUP) before the command ended: it goes on "
                         "without the model");
    else if (m->native)
        td_recording_cut(m->recording, &m->status, second);
    else
        warn(m, second);
}

/* Processes that outlive the command. */
static void tell_running(struct modelled *m)
{
    struct td_still_running running = {0};

    for (uint32_t i = 0; m->target.ended && i < td_spool_images(m->spool); i++) {
        const struct td_spool_piece piece = td_spool_look(m->spool, i);

        if (piece.claimed && !piece.ended && td_target_runs(piece.pid))
            td_still_running_add(&running, piece.pid);
    }
    if (running.count == 0)
        return;
    char *text = td_still_running_text(&running, "modelled");
    warn(m, text);
    free(text);
}

static void tell_lost(struct modelled *m)
{
    const uint64_t lost = count_lost(m);
    char text[128];

    if (lost == 0)
        return;
    snprintf(text, sizeof(text), "%llu process%s ended before anything of %s could be kept",
             (unsigned long long)lost, lost == 1 ? "" : "es", lost == 1 ? "it" : "them");
    warn(m, text);
}

static void summarize(struct modelled *m)
{
    const uint64_t *counters = m->pieces.counters;
    const double seconds = (double)(td_clock_ns() - m->start_ns) / 1e9;
    const double modelled_s =
        m->mhz ? (double)counters[TD_COUNTER_CYCLES] / ((double)m->mhz * 1e6) : 0;
    const double rate =
        (double)counters[TD_COUNTER_INSTRUCTIONS] / 1e6 / (seconds > 0 ? seconds : 1);
    const bool tiny = modelled_s < 0.001;
    char instructions[32], images[32], threads[32], speed[64] = "";

    /* Of a short run it says nothing: most of that is the emulator's start. */
    if (rate >= 1)
        snprintf(speed, sizeof(speed), " (%.0f million per second)", rate);
    td_status_note(
        &m->status, "took %.2f s; the program would take %.3f %s on %s: %s instructions%s", seconds,
        modelled_s * (tiny ? 1e3 : 1), tiny ? "ms" : "s", m->plan->core,
        td_format_count(instructions, sizeof(instructions), counters[TD_COUNTER_INSTRUCTIONS]),
        speed);
    if (m->request->sim_sample) {
        const double whole = (double)counters[TD_COUNTER_INSTRUCTIONS] + 1e-9,
                     cycles = (double)counters[TD_COUNTER_CYCLES] + 1e-9;

        if (counters[TD_COUNTER_DETAILED] == counters[TD_COUNTER_INSTRUCTIONS])
            td_status_note(&m->status, "too short to be sampled: all of it was modelled");
        else
            td_status_note(&m->status, "sampled: %.1f %% in detail, error of the total %.1f %%",
                           100 * (double)counters[TD_COUNTER_DETAILED] / whole,
                           100 * (double)counters[TD_COUNTER_CYCLES_ERROR] / cycles);
    }
    td_status_note(&m->status, "%s process image%s, %s thread%s",
                   td_format_count(images, sizeof(images), counters[TD_COUNTER_PROCESSES]),
                   counters[TD_COUNTER_PROCESSES] == 1 ? "" : "s",
                   td_format_count(threads, sizeof(threads), counters[TD_COUNTER_THREADS]),
                   counters[TD_COUNTER_THREADS] == 1 ? "" : "s");
    td_recording_tell(m->recording, &m->status);
}

/* The file cannot be written any more: the command goes on, we only wait for it. */
static void give_up(struct modelled *m, struct td_err *err)
{
    m->running = false;
    td_spool_leave(m->spool);
    td_recording_prefix(m->recording, err);
    td_status_error(&m->status, err->text);
}

/* Whether the emulator came to run the program. */
static bool has_begun(const struct modelled *m)
{
    return td_spool_began(m->spool);
}

/* The profile takes its place when the program runs, and there will be something to keep. */
static void place_once(struct modelled *m)
{
    struct td_err err = TD_ERR_INIT;

    if (!m->running || !has_begun(m) || td_recording_place(m->recording, &err) == TD_OK)
        return;
    m->rc = err.code;
    give_up(m, &err);
}

/* The emulator ended, or was ended, before it ran the program. */
static void never_began(struct modelled *m)
{
    struct td_err err = TD_ERR_INIT;
    char how[32];

    td_env_exit_text(how, sizeof(how), m->target.status);
    m->running = false;
    td_spool_leave(m->spool);
    if (!m->target.ended || td_target_was_stopped(m->target.status)) {
        td_fail(&err, TD_ENODATA, "%s before the emulator was ready: nothing was modelled",
                m->target.ended ? how : "the recorder was told to end");
    } else {
        m->rc = td_fail(&err, TD_EIO,
                        "the emulator ended (%s) before the command began: its own message says "
                        "why (too little memory? ulimit -v)",
                        how);
    }
    td_status_error(&m->status, err.text);
    if (!m->native)
        return;
    /* The native run stays, and says what it is without. */
    m->recording->cut = true;
    td_profile_env(m->recording->writer, td_env_key_name(TD_ENV_WARNING), err.text);
    if (td_recording_finish(m->recording, NULL) < 0)
        m->rc = TD_EIO;
}

/* The last pieces, the totals, the end of the file. */
static void finish(struct modelled *m)
{
    struct td_err err = TD_ERR_INIT;

    if (!m->running)
        return;
    if (!has_begun(m)) {
        never_began(m);
        return;
    }
    ask_running(m);
    if (m->pmu)
        m->rc = td_sim_pmu_collect(m->pmu, m->request, m->recording->output.path, &err);
    if (m->rc == TD_OK)
        add_images(m, &err);
    for (uint32_t i = 0; m->rc == TD_OK && i < td_spool_images(m->spool); i++)
        td_pieces_name_code(&m->pieces, i);
    td_pieces_names_end(&m->pieces);
    tell_notes(m);
    tell_lost(m);
    tell_running(m);
    tell_cut(m);
    if (m->native)
        tell_other_end(m);
    else if (m->target.ended)
        td_env_write_exit(m->recording->writer, m->target.status);
    if (m->rc == TD_OK)
        m->rc = td_recording_finish(m->recording, &err);
    if (m->rc < 0) {
        give_up(m, &err);
        return;
    }
    m->running = false;
    td_spool_leave(m->spool);
    summarize(m);
}

/* As td_session_run's: the first interrupt is the command's alone, SIGTERM is handed on. */
static void take_signal(struct modelled *m, int number)
{
    if (number == SIGINT && ++m->interrupts == 2)
        finish(m);
    else if (number == SIGTERM && m->target.pid > 0 && !m->target.ended)
        kill(m->target.pid, SIGTERM);
    else if (number == SIGHUP)
        m->leave = true;
}

static void show_progress(struct modelled *m, uint64_t now)
{
    const double seconds = (double)(now - m->start_ns) / 1e9;
    const uint64_t instructions = td_spool_instructions(m->spool);
    const double modelled_s =
        m->mhz ? (double)td_spool_cycles(m->spool) / ((double)m->mhz * 1e6) : 0;
    char count[32];

    td_status_live(&m->status, "tdrec %.0f s, %s instructions, %.0f M/s, %.0f times slower",
                   seconds, td_format_count(count, sizeof(count), instructions),
                   (double)instructions / 1e6 / seconds, modelled_s > 0 ? seconds / modelled_s : 0);
}

static void on_time(struct modelled *m)
{
    struct td_err err = TD_ERR_INIT;
    const uint64_t before = td_clock_ns();

    if (m->running && before >= m->next_ns) {
        const uint64_t cpu = td_clock_thread_ns();
        add_images(m, &err);
        if (m->rc < 0)
            give_up(m, &err);
        const uint64_t after = td_clock_ns(), pause = (td_clock_thread_ns() - cpu) * ADD_SHARE;
        m->next_ns = after + (pause > ADD_EVERY_NS ? pause : ADD_EVERY_NS);
    }
    if (m->running && before >= m->next_line_ns) {
        show_progress(m, before);
        m->next_line_ns = before + TD_NS_PER_S;
    }
}

static void wait_for_command(struct modelled *m)
{
    while (!m->leave && !td_target_poll(&m->target)) {
        struct pollfd fd = {.fd = m->signal_fd, .events = POLLIN};

        place_once(m);
        if (poll(&fd, 1, has_begun(m) ? WAIT_MS : LOOK_MS) > 0) {
            for (int number; (number = td_signals_next(m->signal_fd));)
                take_signal(m, number);
        }
        on_time(m);
    }
}

static void release(struct modelled *m)
{
    td_target_release(&m->target);
    td_pieces_release(&m->pieces);
    td_spool_close(m->spool);
    if (m->signal_fd >= 0)
        close(m->signal_fd);
    td_sim_pmu_run_free(m->pmu);
    if (m->pmu_folder)
        rmdir(m->pmu_folder);
    free(m->pmu_folder);
    td_launch_free(m->argv);
    td_launch_free(m->env);
    free(m->qemu);
    free(m->plugin);
    free(m->seen);
    free(m->option);
}

int td_modelled_run(const struct td_request *request, const struct td_caps *caps,
                    const struct td_plan *plan, struct td_recording *recording)
{
    struct td_err err = TD_ERR_INIT;
    struct modelled m = {
        .request = request,
        .plan = plan,
        .recording = recording,
        .native = recording->native.began ? &recording->native : NULL,
        .status = td_status_init(stderr, request->quiet),
        .target = {.go_fd = -1, .error_fd = -1},
        .signal_fd = -1,
    };
    int rc = start(&m, caps, &err);
    int status = 0;

    if (rc < 0) {
        status = td_target_failure_status(rc);
    } else {
        wait_for_command(&m);
        place_once(&m);
        finish(&m);
        if (m.rc < 0)
            status = TD_EXIT_FAILED;
        else if (m.target.ended)
            status = td_target_exit_status(&m.target);
        else
            status = 128 + SIGHUP;
    }
    if (rc < 0)
        td_status_error(&m.status, err.text);
    release(&m);
    return status;
}

const struct td_source td_source_sim = {
    .id = TD_SOURCE_SIM, .needs = TD_NEEDS_COMMAND, .plan = td_plan_sim, .run = td_modelled_run};
