/* SPDX-License-Identifier: MIT */
/* The source `sim`: the command runs under the emulator, on the modelled core. */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
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
#include "record/run/sim_check.h"
#include "record/tasks/profile_head.h"
#include "record/tasks/toggle.h"
#include "record/run/snapshots.h"
#include "record/run/loop.h"
#include "record/run/sources.h"
#include "record/sim/share/launch.h"
#include "record/sim/share/mailbox.h"
#include "record/run/sim_pmu.h"

/* A recorder that is killed loses at most what came since the images were last looked at, or this
 * share of the time that takes. */
#define ADD_EVERY_NS TD_NS_PER_S
#define ADD_SHARE    40
#define FIRST_NS     (TD_NS_PER_S / 4)
/* How long processes that outlive the command have to say what they did. */
#define ANSWER_NS (TD_NS_PER_S / 2)
/* How often it is looked whether the program runs already. */
#define LOOK_NS (TD_NS_PER_S / 100)
#define WAIT_NS (TD_NS_PER_S / 10)

struct modelling {
    const struct td_request *request;
    const struct td_plan *plan;
    struct td_recording *recording; /* borrowed */
    struct td_run run;
    struct td_snapshots snapshots;
    const struct td_run_end *native; /* of the same command; NULL unless hybrid */
    const struct td_guest *guest;
    struct td_sim_pmu_run *pmu; /* NULL unless asked for */
    struct td_mailbox *mailbox;
    uint32_t *seen; /* by image: the sequence of its last snapshot that was added */
    size_t seen_count, seen_cap;
    const char *variants[TD_VARIANTS_MAX]; /* what is changed in them; borrowed of the plan */
    uint64_t mhz;                          /* of the modelled core */
    char *qemu, *plugin, *option;
    char **argv, **env;
    uint64_t next_ns, next_line_ns;
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

static int prepare_command(struct modelling *m, struct td_err *err)
{
    char *path = NULL;
    int rc = td_sim_check_command(m->request->command[0], &path, &m->guest, err);

    drop_capabilities();
    if (rc == TD_OK)
        rc = td_sim_check_emulator(m->guest, &m->qemu, &m->plugin, err);
    if (rc == TD_OK && strchr(m->plugin, ','))
        rc =
            td_fail(err, TD_EUNSUPPORTED, "'%s': the emulator takes no commas in paths", m->plugin);
    if (rc == TD_OK)
        rc = td_mailbox_create(&m->mailbox, err);
    if (rc == TD_OK && m->request->sim_pmu)
        rc = td_sim_pmu_prepare(&m->pmu, m->request, m->plan->core, err);
    if (rc == TD_OK) {
        char *name = td_mailbox_name(m->mailbox);

        td_mailbox_set_core(m->mailbox, &m->plan->core_desc);
        td_mailbox_set_variants(m->mailbox, m->plan->variants, m->plan->variant_count);

        m->option = td_xasprintf("%s,core=%s,mode=%s%s,mailbox=%s%s%s", m->plugin, m->plan->core,
                                 m->request->sim_sample ? "sample" : "exact",
                                 m->request->cpi_methods ? ",counting=on" : "", name,
                                 m->pmu ? ",pmu=" : "", m->pmu ? td_sim_pmu_plan_path(m->pmu) : "");
        const struct td_launch launch = {.qemu = m->qemu, .guest = m->guest, .plugin = m->option};
        m->argv = td_launch_argv(&launch, path, m->request->command, environ);
        m->env = td_launch_env(&launch, environ);
        free(name);
    }
    free(path);
    return rc;
}

static void write_head(struct modelling *m)
{
    m->mhz = (uint64_t)m->plan->core_desc.mhz;
    td_snapshots_write_core(m->recording->writer, &m->plan->core_desc);
    if (!m->native)
        td_profile_counter(m->recording->writer, TD_COUNTER_STARTED_NS, m->run.start_ns);
}

static void begin_toggle(struct modelling *m)
{
    char *text = td_xasprintf("toggle=%s", m->request->toggle);

    m->snapshots.toggle = td_toggle_new(m->request->toggle);
    m->snapshots.width = (uint32_t)m->plan->core_desc.width;
    td_profile_env(m->recording->writer, td_env_key_name(TD_ENV_PARAMETER), text);
    free(text);
}

static int open_run(void *ctx, struct td_err *err)
{
    struct modelling *m = ctx;
    struct td_run *run = &m->run;
    int rc = prepare_command(m, err);

    const struct td_target_program program = {
        .argv = m->argv, .env = m->env, .inherited = m->request->inherited};
    if (m->native)
        td_inherited_rewind(program.inherited);
    if (rc == TD_OK)
        rc = td_run_prepare(run, &program, err);
    if (rc == TD_OK)
        rc = td_recording_open(m->recording, m->request, run->caps, m->plan,
                               (uint32_t)run->target.pid, err);
    if (rc < 0)
        return rc;
    run->start_ns = td_clock_ns();
    m->next_ns = run->start_ns + FIRST_NS;
    m->next_line_ns = run->start_ns + TD_NS_PER_S;
    td_snapshots_init(&m->snapshots, m->recording->writer);
    m->snapshots.native = m->native != NULL;
    m->snapshots.variants = m->variants;
    m->snapshots.variant_count = m->plan->variant_count;
    for (size_t i = 0; i < m->plan->variant_count; i++)
        m->variants[i] = m->plan->variants[i].name + strlen(m->plan->core) + 1;
    if (m->request->toggle)
        begin_toggle(m);
    write_head(m);
    return td_profile_flush(m->recording->writer, err);
}

/* Adds the snapshot of an image when it is a new one, or turns out to be the last one: of those
 * that were killed, and of those that go on when the recording ends (`ends`), it is what there is.
 */
static void add_image(struct modelling *m, uint32_t image, bool ends)
{
    const struct td_mailbox_snapshot snapshot = td_mailbox_look(m->mailbox, image);
    const bool last = snapshot.ended || ends;
    struct td_buf bytes = {0};

    m->seen = td_grow(m->seen, &m->seen_cap, image + 1, sizeof(*m->seen));
    while (m->seen_count <= image)
        m->seen[m->seen_count++] = 0;
    if ((snapshot.sequence != m->seen[image] || last) &&
        td_mailbox_get(m->mailbox, image, &bytes) &&
        td_snapshots_add(&m->snapshots, image, &bytes, last))
        m->seen[image] = snapshot.sequence;
    if (snapshot.ended) {
        td_snapshots_name_code(&m->snapshots, image);
        td_snapshots_forget(&m->snapshots, image);
        td_mailbox_discard(m->mailbox, image);
        m->seen[image] = 0;
    }
    td_buf_release(&bytes);
}

static int add_images(struct modelling *m, bool ends, struct td_err *err)
{
    for (uint32_t i = 0; i < td_mailbox_images(m->mailbox); i++)
        add_image(m, i, ends);
    if (!m->native)
        td_profile_counter(m->recording->writer, TD_COUNTER_ENDED_NS, td_clock_ns());
    return td_profile_flush(m->recording->writer, err);
}

/* Images whose last words never came. */
static uint64_t count_lost(const struct modelling *m)
{
    uint64_t lost = td_mailbox_refused(m->mailbox);

    for (uint32_t i = 0; i < td_mailbox_images(m->mailbox); i++) {
        const struct td_mailbox_snapshot snapshot = td_mailbox_look(m->mailbox, i);

        lost += snapshot.claimed && !snapshot.ended && snapshot.sequence == 0 &&
                !td_target_runs(snapshot.pid);
    }
    return lost;
}

/* Whether an image that runs has not answered since it was asked. */
static bool is_awaited(const struct modelling *m, uint32_t image)
{
    const struct td_mailbox_snapshot snapshot = td_mailbox_look(m->mailbox, image);

    return snapshot.claimed && !snapshot.ended && !snapshot.answered &&
           td_target_runs(snapshot.pid);
}

/* What still runs when the command has ended goes on without the model: what it did until now is
 * asked for, and waited for a moment. */
static void ask_running(struct modelling *m)
{
    const uint64_t until_ns = td_clock_ns() + ANSWER_NS;
    bool awaited = true;

    td_mailbox_ask(m->mailbox);
    while (awaited && td_clock_ns() < until_ns) {
        awaited = false;
        for (uint32_t i = 0; i < td_mailbox_images(m->mailbox) && !awaited; i++)
            awaited = is_awaited(m, i);
        if (awaited)
            poll(NULL, 0, 5);
    }
}

/* What the images noted, each sentence once. */
static void tell_notes(struct modelling *m)
{
    char *notes = td_mailbox_notes(m->mailbox);
    struct td_intern *told = td_intern_new();
    char *rest = notes, *line;

    while ((line = strsep(&rest, "\n"))) {
        const uint32_t known = td_intern_count(told);

        if (line[0] && td_intern_put(told, line, strlen(line)) == known)
            td_run_warn(&m->run, line);
    }
    td_intern_free(told);
    free(notes);
}

/* Joined figures are of two runs: they must have been of the same work. */
static void tell_other_end(struct modelling *m)
{
    char native[32], modelled[32], text[160];

    td_env_exit_text(native, sizeof(native), m->native->status);
    td_env_exit_text(modelled, sizeof(modelled), m->run.target.status);
    if (!m->run.target.ended || strcmp(native, modelled) == 0)
        return;
    if (td_target_was_stopped(m->run.target.status)) {
        snprintf(text, sizeof(text),
                 "the modelled run was ended by %s: what it had not come to is not modelled",
                 modelled);
        td_run_cut(&m->run, text);
        return;
    }
    snprintf(text, sizeof(text),
             "the command ended differently on the modelled core (%s) than natively (%s)", modelled,
             native);
    td_run_warn(&m->run, text);
}

/* Why the recording ends although the command does not. */
static void tell_cut(struct modelling *m)
{
    static const char second[] = "recording stopped by a second interrupt; the command goes on "
                                 "without the model";

    if (m->run.target.ended)
        return;
    if (m->run.leave)
        td_run_cut(&m->run,
                   "the recorder was hung up (SIGHUP) before the command ended: it goes on "
                   "without the model");
    else if (m->native)
        td_run_cut(&m->run, second);
    else
        td_run_warn(&m->run, second);
}

/* Processes that outlive the command. */
static void tell_running(struct modelling *m)
{
    struct td_still_running running = {0};

    for (uint32_t i = 0; m->run.target.ended && i < td_mailbox_images(m->mailbox); i++) {
        const struct td_mailbox_snapshot snapshot = td_mailbox_look(m->mailbox, i);

        if (snapshot.claimed && !snapshot.ended && td_target_runs(snapshot.pid))
            td_still_running_add(&running, snapshot.pid);
    }
    td_run_tell_left(&m->run, &running, "modelled");
}

static void tell_lost(struct modelling *m)
{
    const uint64_t lost = count_lost(m);
    char text[128];

    if (lost == 0)
        return;
    snprintf(text, sizeof(text), "%llu process%s ended before anything of %s could be kept",
             (unsigned long long)lost, lost == 1 ? "" : "es", lost == 1 ? "it" : "them");
    td_run_warn(&m->run, text);
}

/* What the profile leaves out. */
static void tell_toggle(struct modelling *m)
{
    const char *function = m->request->toggle;
    const struct td_snapshots *s = &m->snapshots;
    const uint64_t all = s->counters[TD_COUNTER_INSTRUCTIONS];
    char count[32], *text = NULL;

    if (!function)
        return;
    if (!td_toggle_found(s->toggle))
        text = td_xasprintf("--toggle: no function of the program is called '%s', so nothing is in "
                            "the profile (one that was inlined has no code of its own: name its "
                            "caller)",
                            function);
    else
        text = td_xasprintf("only what ran in %s, and what it called, is in the profile "
                            "(--toggle): %.1f %% of %s instructions",
                            function, all ? 100 * (double)s->inside_instructions / (double)all : 0,
                            td_format_count(count, sizeof(count), all));
    td_run_warn(&m->run, text);
    free(text);
}

/* "took 2.31 s; the program would take 0.587 s on golden-cove"; what several threads take adds up,
 * and says nothing of when the last of them ends. The caller frees it. */
static char *time_words(const struct modelling *m, double seconds, double modelled_s)
{
    const uint64_t threads = m->snapshots.counters[TD_COUNTER_THREADS];
    const bool tiny = modelled_s < 0.001;
    const double shown = modelled_s * (tiny ? 1e3 : 1);
    const char *unit = tiny ? "ms" : "s";
    char count[32];

    if (threads <= 1)
        return td_xasprintf("took %.2f s; the program would take %.3f %s on %s", seconds, shown,
                            unit, m->plan->core);
    return td_xasprintf("took %.2f s; on %s the program would take %.3f %s of CPU time in %s "
                        "threads together",
                        seconds, m->plan->core, shown, unit,
                        td_format_count(count, sizeof(count), threads));
}

static void summarize(struct modelling *m)
{
    const uint64_t *counters = m->snapshots.counters;
    const double seconds = (double)(td_clock_ns() - m->run.start_ns) / 1e9;
    const double modelled_s =
        m->mhz ? (double)counters[TD_COUNTER_CYCLES] / ((double)m->mhz * 1e6) : 0;
    const double rate =
        (double)counters[TD_COUNTER_INSTRUCTIONS] / 1e6 / (seconds > 0 ? seconds : 1);
    char instructions[32], images[32], threads[32], speed[64] = "";

    /* Of a short run it says nothing: most of that is the emulator's start. */
    if (rate >= 1)
        snprintf(speed, sizeof(speed), " (%.0f million per second)", rate);
    char *took = time_words(m, seconds, modelled_s);
    td_status_note(
        &m->run.status, "%s: %s instructions%s", took,
        td_format_count(instructions, sizeof(instructions), counters[TD_COUNTER_INSTRUCTIONS]),
        speed);
    free(took);
    if (m->request->sim_sample) {
        const double whole = (double)counters[TD_COUNTER_INSTRUCTIONS] + 1e-9,
                     cycles = (double)counters[TD_COUNTER_CYCLES] + 1e-9;

        if (counters[TD_COUNTER_DETAILED] == counters[TD_COUNTER_INSTRUCTIONS])
            td_status_note(&m->run.status, "too short to be sampled: all of it was modelled");
        else
            td_status_note(&m->run.status, "sampled: %.1f %% in detail, error of the total %.1f %%",
                           100 * (double)counters[TD_COUNTER_DETAILED] / whole,
                           100 * (double)counters[TD_COUNTER_CYCLES_ERROR] / cycles);
    }
    td_status_note(&m->run.status, "%s process image%s, %s thread%s",
                   td_format_count(images, sizeof(images), counters[TD_COUNTER_PROCESSES]),
                   counters[TD_COUNTER_PROCESSES] == 1 ? "" : "s",
                   td_format_count(threads, sizeof(threads), counters[TD_COUNTER_THREADS]),
                   counters[TD_COUNTER_THREADS] == 1 ? "" : "s");
    td_recording_tell(m->recording, &m->run.status);
}

static void give_up(struct modelling *m, struct td_err *err)
{
    td_mailbox_leave(m->mailbox);
    td_run_give_up(&m->run, err);
}

/* Whether the emulator came to run the program. */
static bool has_begun(const struct modelling *m)
{
    return td_mailbox_began(m->mailbox);
}

/* The profile takes its place when the program runs, and there will be something to keep. */
static void place_once(struct modelling *m)
{
    struct td_err err = TD_ERR_INIT;

    if (has_begun(m) && td_recording_place(m->recording, &err) < 0)
        give_up(m, &err);
}

/* The emulator ended, or was ended, before it ran the program. */
static void never_began(struct modelling *m)
{
    struct td_err err = TD_ERR_INIT;
    char how[32];

    td_env_exit_text(how, sizeof(how), m->run.target.status);
    td_mailbox_leave(m->mailbox);
    if (!m->run.target.ended || td_target_was_stopped(m->run.target.status)) {
        td_fail(&err, TD_ENODATA, "%s before the emulator was ready: nothing was modelled",
                m->run.target.ended ? how : "the recorder was told to end");
    } else {
        m->run.failed = true;
        td_fail(&err, TD_EIO,
                "the emulator ended (%s) before the command began: its own message says "
                "why (too little memory? ulimit -v)",
                how);
    }
    td_status_error(&m->run.status, err.text);
    if (!m->native)
        return;
    /* The native run stays, and says what it is without. */
    m->recording->cut = true;
    td_profile_env(m->recording->writer, td_env_key_name(TD_ENV_WARNING), err.text);
    m->run.failed = m->run.failed || td_recording_finish(m->recording, NULL) < 0;
}

/* The last snapshots, the totals, the end of the file. */
static void finish(void *ctx)
{
    struct modelling *m = ctx;
    struct td_err err = TD_ERR_INIT;
    int rc = TD_OK;

    place_once(m);
    if (!m->run.running)
        return;
    if (!has_begun(m)) {
        never_began(m);
        return;
    }
    ask_running(m);
    if (m->pmu)
        rc = td_sim_pmu_collect(m->pmu, m->request, m->recording->output.path, &err);
    if (rc == TD_OK)
        rc = add_images(m, true, &err);
    for (uint32_t i = 0; rc == TD_OK && i < td_mailbox_images(m->mailbox); i++)
        td_snapshots_name_code(&m->snapshots, i);
    td_snapshots_names_end(&m->snapshots);
    tell_notes(m);
    tell_lost(m);
    tell_toggle(m);
    tell_running(m);
    tell_cut(m);
    if (m->native)
        tell_other_end(m);
    else if (m->run.target.ended)
        td_env_write_exit(m->recording->writer, m->run.target.status);
    if (rc == TD_OK)
        rc = td_recording_finish(m->recording, &err);
    if (rc < 0) {
        give_up(m, &err);
        return;
    }
    td_mailbox_leave(m->mailbox);
    summarize(m);
}

static void show_progress(struct modelling *m, uint64_t now)
{
    const double seconds = (double)(now - m->run.start_ns) / 1e9;
    const uint64_t instructions = td_mailbox_instructions(m->mailbox);
    const double modelled_s =
        m->mhz ? (double)td_mailbox_cycles(m->mailbox) / ((double)m->mhz * 1e6) : 0;
    char count[32];

    td_status_live(&m->run.status, "tdrec %.0f s, %s instructions, %.0f M/s, %.0f times slower",
                   seconds, td_format_count(count, sizeof(count), instructions),
                   (double)instructions / 1e6 / seconds, modelled_s > 0 ? seconds / modelled_s : 0);
}

static uint64_t due_ns(void *ctx, uint64_t now)
{
    const struct modelling *m = ctx;

    return now + (has_begun(m) ? WAIT_NS : LOOK_NS);
}

static void on_time(void *ctx, uint64_t now)
{
    struct modelling *m = ctx;
    struct td_err err = TD_ERR_INIT;

    place_once(m);
    if (m->run.running && now >= m->next_ns) {
        const uint64_t cpu = td_clock_thread_ns();
        if (add_images(m, false, &err) < 0)
            give_up(m, &err);
        const uint64_t after = td_clock_ns(), pause = (td_clock_thread_ns() - cpu) * ADD_SHARE;
        m->next_ns = after + (pause > ADD_EVERY_NS ? pause : ADD_EVERY_NS);
    }
    if (m->run.running && now >= m->next_line_ns) {
        show_progress(m, now);
        m->next_line_ns = now + TD_NS_PER_S;
    }
}

static void release(struct modelling *m)
{
    td_toggle_free(m->snapshots.toggle);
    td_snapshots_release(&m->snapshots);
    td_mailbox_close(m->mailbox);
    td_sim_pmu_run_free(m->pmu);
    td_launch_free(m->argv);
    td_launch_free(m->env);
    free(m->qemu);
    free(m->plugin);
    free(m->seen);
    free(m->option);
}

static int run_model(const struct td_request *request, const struct td_caps *caps,
                     const struct td_plan *plan, struct td_recording *recording)
{
    static const struct td_run_job job = {.open = open_run,
                                          .due_ns = due_ns,
                                          .on_time = on_time,
                                          .finish = finish,
                                          .second_ends = true};
    struct modelling m = {
        .request = request,
        .plan = plan,
        .recording = recording,
        .native = recording->native.began ? &recording->native : NULL,
    };

    td_run_init(&m.run, request, caps, plan, recording);
    const int status = td_loop_run(&m.run, &job, &m);
    release(&m);
    return status;
}

const struct td_source td_source_sim = {
    .id = TD_SOURCE_SIM, .needs = TD_NEEDS_COMMAND, .plan = td_plan_sim, .run = run_model};
