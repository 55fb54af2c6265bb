/* SPDX-License-Identifier: MIT */
#include "record/modelled.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/uarch_core.h"
#include "record/emulate.h"
#include "record/env.h"
#include "record/output.h"
#include "record/pieces.h"
#include "record/session.h"
#include "record/signals.h"
#include "record/sim/launch.h"
#include "record/sim_pmu.h"
#include "record/status.h"
#include "record/target.h"

struct modelled {
    const struct td_request *request;
    const struct td_plan *plan;
    struct td_status status;
    struct td_target target;
    struct td_output output;
    struct td_profile_writer *writer;
    struct td_pieces pieces;
    const struct td_guest *guest;
    struct td_sim_pmu_run *pmu; /* NULL unless asked for */
    char *qemu, *plugin, *spool, *option;
    char **argv, **env;
    int signal_fd;
    uint64_t start_ns;
};

static int prepare_command(struct modelled *m, struct td_err *err)
{
    const char *temp = getenv("TMPDIR");
    char *path = NULL;
    int rc = td_emulate_check(m->request->command[0], &path, &m->guest, err);

    if (rc == TD_OK)
        rc = td_emulate_find(m->guest, &m->qemu, &m->plugin, err);
    if (rc == TD_OK) {
        m->spool = td_xasprintf("%s/tdrec.XXXXXX", temp && temp[0] == '/' ? temp : "/tmp");
        if (!mkdtemp(m->spool)) {
            rc = td_fail_errno(err, TD_EIO, errno, "cannot create the folder '%s'", m->spool);
            free(m->spool);
            m->spool = NULL;
        } else if (strchr(m->spool, ',') || strchr(m->plugin, ',')) {
            rc = td_fail(err, TD_EUNSUPPORTED, "'%s': the emulator takes no commas in paths",
                         strchr(m->spool, ',') ? m->spool : m->plugin);
        }
    }
    if (rc == TD_OK && m->request->sim_pmu)
        rc = td_sim_pmu_prepare(&m->pmu, m->request->sim_pmu, m->plan->core, m->spool, err);
    if (rc == TD_OK) {
        m->option = td_xasprintf("%s,core=%s,mode=%s,spool=%s%s%s", m->plugin, m->plan->core,
                                 m->request->sim_sample ? "sample" : "exact", m->spool,
                                 m->pmu ? ",pmu=" : "", m->pmu ? td_sim_pmu_plan_path(m->pmu) : "");
        const struct td_launch launch = {.qemu = m->qemu, .guest = m->guest, .plugin = m->option};
        m->argv = td_launch_argv(&launch, path, m->request->command, environ);
        m->env = td_launch_env(&launch, environ);
    }
    free(path);
    return rc;
}

static int open_output(struct modelled *m, const struct td_caps *caps, struct td_err *err)
{
    char *path = NULL;
    int rc = td_output_expand(&path, m->request->output, caps->host, (uint32_t)m->target.pid,
                              td_output_rank(), err);

    if (rc == TD_OK)
        rc = td_output_open(&m->output, path, err);
    free(path);
    if (rc == TD_OK)
        rc = td_profile_writer_new(&m->writer, td_output_write, &m->output, NULL, err);
    return rc;
}

static void write_head(struct modelled *m, const struct td_caps *caps)
{
    static const char *const unseen[] = {
        "the model does not see: kernel time, page faults, waiting, frequency changes",
        "the model does not see: another thread of the core (SMT), other sockets (NUMA), "
        "coherence between cores",
    };
    struct td_core_desc desc = {.mhz = 0};
    char text[64];

    td_env_write(m->writer, caps, m->request, m->plan);
    if (td_core_desc_builtin(&desc, m->plan->core, NULL) == TD_OK) {
        snprintf(text, sizeof(text), "clock_hz=%llu", (unsigned long long)desc.mhz * 1000000);
        td_profile_env(m->writer, td_env_key_name(TD_ENV_PARAMETER), text);
        snprintf(text, sizeof(text), "width=%llu", (unsigned long long)desc.width);
        td_profile_env(m->writer, td_env_key_name(TD_ENV_PARAMETER), text);
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(unseen); i++)
        td_profile_env(m->writer, td_env_key_name(TD_ENV_LEFT_OUT), unseen[i]);
    td_profile_counter(m->writer, TD_COUNTER_STARTED_NS, m->start_ns);
}

static int start(struct modelled *m, const struct td_caps *caps, struct td_err *err)
{
    int rc = prepare_command(m, err);

    if (rc == TD_OK) {
        /* The child takes the environment as it is when it executes the emulator. */
        char **own = environ;

        environ = m->env;
        rc = td_target_fork(&m->target, m->argv, err);
        environ = own;
    }
    if (rc == TD_OK)
        rc = td_signals_open(true, &m->signal_fd, err);
    if (rc == TD_OK)
        rc = open_output(m, caps, err);
    if (rc < 0)
        return rc;
    m->start_ns = td_clock_ns();
    td_pieces_init(&m->pieces, m->writer);
    write_head(m, caps);
    rc = td_profile_flush(m->writer, err);
    return rc < 0 ? rc : td_target_start(&m->target, m->request->command[0], err);
}

/* SIGTERM and the like are the command's, which is waited for; a second interrupt ends the wait. */
static void take_signals(struct modelled *m)
{
    for (int number; (number = td_signals_next(m->signal_fd));) {
        if (number == SIGTERM && m->target.pid > 0 && !m->target.ended)
            kill(m->target.pid, SIGTERM);
    }
}

static void wait_for_command(struct modelled *m)
{
    while (!td_target_poll(&m->target)) {
        struct pollfd fd = {.fd = m->signal_fd, .events = POLLIN};

        if (poll(&fd, 1, 100) > 0)
            take_signals(m);
    }
}

static void summarize(struct modelled *m)
{
    const uint64_t *counters = m->pieces.counters;
    const double seconds = (double)(td_clock_ns() - m->start_ns) / 1e9;
    char instructions[32], bytes[32];

    td_status_note(
        &m->status, "%.2f s, %s instructions modelled on %s (%.0f million a second)", seconds,
        td_format_count(instructions, sizeof(instructions), counters[TD_COUNTER_INSTRUCTIONS]),
        m->plan->core,
        (double)counters[TD_COUNTER_INSTRUCTIONS] / 1e6 / (seconds > 0 ? seconds : 1));
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
    td_status_note(&m->status, "%llu process images, %llu threads",
                   (unsigned long long)counters[TD_COUNTER_PROCESSES],
                   (unsigned long long)counters[TD_COUNTER_THREADS]);
    td_status_note(&m->status, "wrote %s, %s", m->output.path,
                   td_format_bytes(bytes, sizeof(bytes), td_profile_bytes(m->writer)));
    if (strcmp(m->output.path, "profile.td") == 0)
        td_status_note(&m->status, "now type: tdreport");
    else
        td_status_note(&m->status, "now type: tdreport -i %s", m->output.path);
}

static int finish(struct modelled *m, struct td_err *err)
{
    int rc = m->pmu ? td_sim_pmu_collect(m->pmu, m->request, m->output.path, err) : TD_OK;

    if (rc == TD_OK)
        rc = td_pieces_add_all(&m->pieces, m->spool, err);

    if (m->pieces.unread)
        td_profile_env(m->writer, td_env_key_name(TD_ENV_WARNING),
                       "some processes ended before they could write what was modelled of them");
    if (WIFSIGNALED(m->target.status) && WTERMSIG(m->target.status) == SIGILL) {
        static const char hint[] =
            "the command ended with an illegal instruction: the emulated CPU has AVX2 but no "
            "AVX-512 (build without -march=native, or use --source clock)";

        td_profile_env(m->writer, td_env_key_name(TD_ENV_WARNING), hint);
        td_status_note(&m->status, "%s", hint);
    }
    td_env_write_exit(m->writer, m->target.status);
    td_profile_counter(m->writer, TD_COUNTER_ENDED_NS, td_clock_ns());
    const int finished = td_profile_finish(m->writer, rc == TD_OK ? err : NULL);
    return rc < 0 ? rc : finished;
}

static int release(struct modelled *m, struct td_err *err)
{
    td_target_release(&m->target);
    td_profile_writer_free(m->writer);
    const int rc = td_output_close(&m->output, err);
    if (m->signal_fd >= 0)
        close(m->signal_fd);
    td_sim_pmu_run_free(m->pmu);
    if (m->spool)
        rmdir(m->spool);
    td_launch_free(m->argv);
    td_launch_free(m->env);
    free(m->qemu);
    free(m->plugin);
    free(m->spool);
    free(m->option);
    return rc;
}

static int failure_status(int rc)
{
    return rc == TD_ENOENT  ? TD_EXIT_NOT_FOUND
           : rc == TD_EPERM ? TD_EXIT_CANNOT_EXECUTE
                            : TD_EXIT_FAILED;
}

int td_modelled_run(const struct td_request *request, const struct td_caps *caps,
                    const struct td_plan *plan)
{
    struct td_err err = TD_ERR_INIT;
    struct modelled m = {
        .request = request,
        .plan = plan,
        .status = td_status_init(stderr, request->quiet),
        .target = {.go_fd = -1, .error_fd = -1},
        .output = {.fd = -1},
        .signal_fd = -1,
    };
    int rc = start(&m, caps, &err);
    int status = 0;

    if (rc < 0) {
        status = failure_status(rc);
    } else {
        wait_for_command(&m);
        rc = finish(&m, &err);
        status = rc < 0 ? TD_EXIT_FAILED : td_target_exit_status(&m.target);
        if (rc == TD_OK)
            summarize(&m);
    }
    if (rc < 0)
        td_status_error(&m.status, err.text);
    if (release(&m, &err) < 0 && rc == TD_OK) {
        td_status_error(&m.status, err.text);
        status = TD_EXIT_FAILED;
    }
    return status;
}
