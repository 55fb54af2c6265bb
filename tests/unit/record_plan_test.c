/* SPDX-License-Identifier: MIT */
/* record/caps, request, source, plan: from recorded trees and command lines to what is opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "record/plan/attr.h"
#include "record/plan/print.h"
#include "record/run/sources.h"

/* A machine without a PMU and a user without privileges; a test changes what it is about. */
static struct td_caps caps_new(void)
{
    struct td_caps caps = {
        .root = td_xstrdup(""),
        .host = td_xstrdup("host"),
        .kernel = td_xstrdup("6.12.0"),
        .machine = td_xstrdup("x86_64"),
        .cpu = td_xstrdup("a CPU"),
        .cpu_id = td_xstrdup("GenuineIntel-6-143-8"),
        .hypervisor = td_xstrdup(""),
        .kernel_version = 6 << 16 | 12,
        .page_bytes = 4096,
        .paranoid = 2,
        .mlock_kb = 516,
        .max_sample_rate = 100000,
        .max_stack = 127,
    };

    assert_int_equal(td_cpulist_parse(&caps.online, "0-3,8", NULL), TD_OK);
    return caps;
}

#define MAX_WORDS 16

/* The plan for a command line, words split at blanks; its JSON, or the error. Freed by the caller.
 */
static char *plan_text(const struct td_caps *caps, const char *line, int *rc)
{
    char *words = td_xstrdup(line), *rest = words, *argv[MAX_WORDS + 1] = {NULL};
    struct td_request request;
    struct td_plan plan = {0};
    struct td_err err = TD_ERR_INIT;
    char *text = NULL;
    size_t size = 0;
    int argc = 0;

    while (argc < MAX_WORDS && (argv[argc] = strsep(&rest, " ")))
        argc++;
    *rc = td_request_parse(&request, argc, argv, &err);
    if (*rc == TD_OK)
        *rc = td_source_plan(&plan, caps, &request, &err);
    if (*rc == TD_OK) {
        FILE *out = open_memstream(&text, &size);
        td_plan_print_json(&plan, out);
        fclose(out);
    } else {
        text = td_xstrdup(err.text);
    }
    td_plan_release(&plan);
    td_request_release(&request);
    free(words);
    return text;
}

/* The plan's JSON holds each of the texts (a NULL ends them); one that starts with '!' is absent.
 */
static void expect(const struct td_caps *caps, const char *line, int code, ...)
{
    va_list args;
    int rc = 0;
    char *text = plan_text(caps, line, &rc);

    if (rc != code)
        print_error("%s: %s\n", line, text);
    assert_int_equal(rc, code);
    va_start(args, code);
    for (const char *part; (part = va_arg(args, const char *));) {
        const bool absent = part[0] == '!';

        if ((strstr(text, part + absent) != NULL) == absent)
            fail_msg("%s: '%s' in\n%s", line, part, text);
    }
    va_end(args);
    free(text);
}

static void test_golden(void **state)
{
    struct td_caps caps = caps_new();
    int rc = 0;
    char *text = plan_text(&caps, "tdrec --plan --json --call-graph fp ./app", &rc);

    (void)state;
    assert_int_equal(rc, TD_OK);
    assert_string_equal(
        text,
        "{\n"
        "  \"schema\": \"tdrec-plan/1\",\n"
        "  \"source\": \"clock\",\n"
        "  \"source_reason\": \"no hardware counters (no core PMU)\",\n"
        "  \"core\": null,\n"
        "  \"scope\": \"command\",\n"
        "  \"method\": \"per-task\",\n"
        "  \"privilege\": \"kernel time is not sampled: perf_event_paranoid is 2 (sudo sysctl "
        "kernel.perf_event_paranoid=1 allows it)\",\n"
        "  \"groups\": [\n"
        "    {\"name\": \"cpu-clock\", \"cpus\": \"0-3,8\", \"role\": \"time\", \"attribution\": "
        "\"none\", \"events\": [{\"name\": \"cpu-clock\", \"type\": 1, \"config\": \"0x0\", "
        "\"config1\": \"0x0\", \"config2\": \"0x0\", \"sample_period\": 0, \"freq\": 3989, "
        "\"precise_ip\": 0, \"inherit\": true, \"exclude_user\": false, \"exclude_kernel\": true, "
        "\"exclude_hv\": true, \"exclude_idle\": false, \"enable_on_exec\": true, \"sideband\": "
        "true, \"sample_type\": [\"IP\", \"TID\", \"TIME\", \"CALLCHAIN\"], \"read_format\": "
        "[\"LOST\"], \"branch_sample_type\": [], \"sample_regs_user\": \"0x0\", "
        "\"sample_stack_user\": 0}]}\n"
        "  ],\n"
        "  \"left_out\": []\n"
        "}\n");
    free(text);
    td_caps_release(&caps);
}

static void test_privilege(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    for (int level = 3; level <= 4; level++) {
        caps.paranoid = level;
        expect(&caps, "tdrec --source clock ./app", TD_OK, "\"groups\": []",
               "forbids all of them to users", "kernel.perf_event_paranoid=2", NULL);
    }
    for (int level = -1; level <= 2; level++) {
        caps.paranoid = level;
        expect(&caps, "tdrec ./app", TD_OK,
               level <= 1 ? "\"exclude_kernel\": false" : "\"exclude_kernel\": true",
               level <= 0 ? "\"method\": \"per-cpu\"" : "\"method\": \"per-task\"",
               level <= 0 ? "\"inherit\": false" : "\"inherit\": true",
               level <= 0 ? "\"exclude_idle\": true" : "\"exclude_idle\": false",
               level <= 1 ? "\"privilege\": null" : "perf_event_paranoid is", NULL);
        expect(&caps, "tdrec -a", level <= 0 ? TD_OK : TD_EPERM, "", NULL);
    }
    expect(&caps, "tdrec -a", TD_EPERM, "perf_event_paranoid is 2", "CAP_PERFMON", NULL);
    expect(&caps, "tdrec --method cpu ./app", TD_EPERM, "--method cpu", NULL);
    expect(&caps, "tdrec -e cpu-clock:k ./app", TD_EPERM, "cpu-clock:k", NULL);
    caps.cap_perfmon = true;
    expect(&caps, "tdrec ./app", TD_OK, "per-cpu", "\"exclude_kernel\": false", NULL);
    expect(&caps, "tdrec --method task ./app", TD_OK, "per-task", NULL);
    /* So many samples a second are taken of the command alone. */
    expect(&caps, "tdrec --source clock -F max ./app", TD_OK, "per-task", NULL);
    expect(&caps, "tdrec --source clock -F 25000 ./app", TD_OK, "per-cpu", NULL);
    expect(&caps, "tdrec --source clock -F max --method cpu ./app", TD_OK, "per-cpu", NULL);
    expect(&caps, "tdrec -F max -a", TD_OK, "per-cpu", NULL);
    /* A ring that does not hold two samples is refused, with the smallest that does. */
    expect(&caps, "tdrec --source clock -g -m 16 ./app", TD_EUSAGE, "-m 32 or more", NULL);
    expect(&caps, "tdrec --source clock -g -m 32 ./app", TD_OK, "stack", NULL);
    expect(&caps, "tdrec --source clock --call-graph fp -m 1 ./app", TD_OK, "CALLCHAIN", NULL);
    td_caps_release(&caps);
}

static void test_scopes(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    caps.cap_perfmon = true;
    expect(&caps, "tdrec -t 12,13", TD_OK, "\"cpus\": \"any\"", "\"inherit\": false",
           "\"scope\": \"thread\"", "\"enable_on_exec\": false", NULL);
    expect(&caps, "tdrec -p 12 --method task", TD_OK, "\"inherit\": true",
           "\"enable_on_exec\": false", NULL);
    expect(&caps, "tdrec -C 1-2", TD_OK, "\"cpus\": \"1-2\"", "\"cpus\": \"0-3,8\"", "dummy",
           "IDENTIFIER", NULL);
    expect(&caps, "tdrec -C 9", TD_EUSAGE, "online", NULL);
    expect(&caps, "tdrec -C 1-2,9", TD_EUSAGE, "CPU 9 is not online (0-3,8)", NULL);
    expect(&caps, "tdrec -a -p 1", TD_EUSAGE, "only one of", NULL);
    expect(&caps, "tdrec -p 1,x", TD_EUSAGE, "process id", NULL);
    expect(&caps, "tdrec -C 1-", TD_EUSAGE, "1-", NULL);
    /* Mappings must be seen from the start on, whatever the delay. */
    expect(&caps, "tdrec -D 100 ./app", TD_OK, "dummy", NULL);
    expect(&caps, "tdrec --method task --control fifo:/x ./app", TD_OK, "dummy",
           "\"enable_on_exec\": true", NULL);
    expect(&caps, "tdrec --method task -D -1 --control fd:3,4 ./app", TD_OK, "dummy",
           "!\"enable_on_exec\": true", NULL);
    expect(&caps, "tdrec -D -1 ./app", TD_EUSAGE, "--control", NULL);
    expect(&caps, "tdrec --off-cpu ./app", TD_OK, "dummy", "\"context-switches\"",
           "\"context_switch\": true", "STACK_USER", NULL);
    expect(&caps, "tdrec --off-cpu --call-graph fp ./app", TD_OK, "!STACK_USER", "CALLCHAIN", NULL);
    expect(&caps, "tdrec --off-cpu --count ./app", TD_EUSAGE, "--off-cpu", NULL);
    caps.cap_perfmon = false;
    expect(&caps, "tdrec --off-cpu ./app", TD_OK, "!\"context-switches\"", "!STACK_USER",
           "\"context_switch\": true", "by thread", NULL);
    caps.cap_perfmon = true;
    expect(&caps, "tdrec -D 1s ./app", TD_EUSAGE, "'1s'", "milliseconds", NULL);
    expect(&caps, "tdrec --control fif:/x ./app", TD_EUSAGE, "fifo:PATH", NULL);
    expect(&caps, "tdrec --control fifo:/x --passes 2 ./app", TD_EUSAGE, "--passes", NULL);
    expect(&caps, "tdrec --control fifo:/x --source sim ./app", TD_EUSAGE, "--source clock", NULL);
    td_caps_release(&caps);
}

static void test_rates(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    expect(&caps, "tdrec -F 99 ./app", TD_OK, "\"freq\": 99", NULL);
    expect(&caps, "tdrec -F max ./app", TD_OK, "\"freq\": 100000", "\"left_out\": []", NULL);
    expect(&caps, "tdrec -F 200000 ./app", TD_OK, "\"freq\": 100000", "perf_event_max_sample_rate",
           NULL);
    expect(&caps, "tdrec -c 1000000 ./app", TD_OK, "\"sample_period\": 1000000", "\"freq\": 0",
           NULL);
    expect(&caps, "tdrec -c 1000 -F 10 ./app", TD_EUSAGE, "-F and -c", NULL);
    expect(&caps, "tdrec -F 0 ./app", TD_EUSAGE, "-F", NULL);
    expect(&caps, "tdrec -F ten ./app", TD_EUSAGE, "ten", NULL);
    td_caps_release(&caps);
}

static void test_events(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    expect(&caps, "tdrec -e page-faults,cs:u ./app", TD_OK, "\"page-faults\"",
           "\"context-switches\"", "IDENTIFIER", "PERIOD", "!cpu-clock", NULL);
    expect(&caps, "tdrec -e cycles ./app", TD_EUNSUPPORTED, "'cycles'", "no core PMU", NULL);
    expect(&caps, "tdrec -e cpu-clok ./app", TD_EUSAGE, "did you mean cpu-clock", NULL);
    expect(&caps, "tdrec -e cpu-clock:q ./app", TD_EUSAGE, "'q'", NULL);
    expect(&caps, "tdrec -e {cpu-clock,faults}:S ./app", TD_OK, "\"name\": \"cpu-clock,faults\"",
           "\"read_format\": [\"ID\", \"GROUP\"", "\"READ\"", NULL);
    expect(&caps, "tdrec -e {cpu-clock,faults ./app", TD_EUSAGE, "brace", NULL);
    expect(&caps, "tdrec -e {cpu-clock}:X ./app", TD_EUSAGE, "':S'", NULL);
    expect(&caps, "tdrec -e {} ./app", TD_EUSAGE, "empty", NULL);
    caps.kernel_version = 5 << 16 | 10;
    expect(&caps, "tdrec ./app", TD_OK, "\"read_format\": []", NULL);
    td_caps_release(&caps);
}

/* Hardware events by the names of perf's users, on one PMU and on a hybrid machine. */
static void test_hardware_events(void **state)
{
    struct td_caps caps = caps_new();
    struct td_pmu pmus[] = {{.name = "cpu_core", .type = 4, .core = true, .max_precise = 3},
                            {.name = "cpu_atom", .type = 10, .core = true, .max_precise = 3}};

    (void)state;
    caps.pmus = pmus;
    caps.pmu_count = 1;
    expect(&caps, "tdrec -e {cycles,branches}:S ./app", TD_OK, "\"source\": \"pmu\"", "\"READ\"",
           "\"branch-instructions\"", "\"type\": 0, \"config\": \"0x4\"", "!cpu_type", NULL);
    expect(&caps, "tdrec -e L1-dcache-load-misses:ppp ./app", TD_OK,
           "\"type\": 3, \"config\": \"0x10000\"", "\"precise_ip\": 3", NULL);
    expect(&caps, "tdrec -e r1c0:P ./app", TD_OK, "\"type\": 4, \"config\": \"0x1c0\"", NULL);
    expect(&caps, "tdrec -e cycles:pppp ./app", TD_EUNSUPPORTED, "level 3", NULL);
    expect(&caps, "tdrec -e cache-mises ./app", TD_EUSAGE, "did you mean cache-misses", NULL);
    assert_int_equal(td_cpulist_parse(&pmus[0].cpus, "0-2", NULL), TD_OK);
    assert_int_equal(td_cpulist_parse(&pmus[1].cpus, "3-8", NULL), TD_OK);
    caps.pmu_count = 2;
    expect(&caps, "tdrec -e instructions,r1c0 ./app", TD_OK, "\"cpus\": \"0-2\"",
           "\"cpus\": \"3,8\"", "\"0x400000001\"", "\"0xa00000001\"",
           "\"type\": 10, \"config\": \"0x1c0\"", "\"cpu_type\": \"cpu_atom\"", NULL);
    td_cpulist_release(&pmus[0].cpus);
    td_cpulist_release(&pmus[1].cpus);
    caps.pmus = NULL;
    caps.pmu_count = 0;
    td_caps_release(&caps);
}

static void test_sources(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    expect(&caps, "tdrec --source clock ./app", TD_OK, "\"source_reason\": null", NULL);
    expect(&caps, "tdrec --source clok ./app", TD_EUSAGE, "did you mean clock", NULL);
    expect(&caps, "tdrec --call-graph fp,1 ./app", TD_EUSAGE, "dwarf,BYTES", NULL);
    expect(&caps, "tdrec --plan --json --call-graph dwarf ./app", TD_OK,
           "\"REGS_USER\", \"STACK_USER\"", "\"sample_stack_user\": 16384", NULL);
    expect(&caps, "tdrec --plan --json --call-graph dwarf,65528 ./app", TD_OK,
           "\"sample_stack_user\": 65528", NULL);
    expect(&caps, "tdrec --plan --json --call-graph dwarf,65529 ./app", TD_EUSAGE, "65528", NULL);
    expect(&caps, "tdrec --plan --json -g ./app", TD_OK, "\"sample_stack_user\": 32768", NULL);
    expect(&caps, "tdrec --call-graph foo ./app", TD_EUSAGE, "foo", NULL);
    free(caps.hypervisor);
    caps.hypervisor = td_xstrdup("KVM");
    expect(&caps, "tdrec ./app", TD_OK, "no hardware counters in this VM (no core PMU under KVM)",
           NULL);
    td_caps_release(&caps);
}

/* Without a PMU: the modelled core where the command can run on it, unless an option samples;
 * windows of what runs already. */
static void test_default(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    caps.cannot_model = td_xstrdup("no emulator");
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"clock\"",
           "\"source_reason\": \"no hardware counters (no core PMU); no emulator\"", NULL);
    /* What is of the model alone is not dropped without a word: the recording says what is missing.
     */
    expect(&caps, "tdrec --sim-sample ./app", TD_OK, "\"source\": \"sim\"", NULL);
    expect(&caps, "tdrec --sim-core zen4 ./app", TD_OK, "\"source\": \"sim\"",
           "\"source_reason\": null", NULL);
    free(caps.cannot_model);
    caps.cannot_model = NULL;
    caps.can_model = true;
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"sim\"", "\"core\": \"golden-cove\"",
           "\"source_reason\": \"no hardware counters (no core PMU)\"", NULL);
    expect(&caps, "tdrec -g ./app", TD_OK, "\"source\": \"sim\"", NULL);
    expect(&caps, "tdrec -F 99 ./app", TD_OK, "\"source\": \"clock\"",
           "\"source_reason\": \"no hardware counters (no core PMU); -F is for sampling\"", NULL);
    expect(&caps, "tdrec -c 1000 ./app", TD_OK, "; -c is", NULL);
    expect(&caps, "tdrec -D 10 ./app", TD_OK, "; -D is", NULL);
    expect(&caps, "tdrec --duration 1 ./app", TD_OK, "; --duration is", NULL);
    expect(&caps, "tdrec --method task ./app", TD_OK, "; --method is", NULL);
    expect(&caps, "tdrec --pairs on ./app", TD_OK, "; --pairs is", NULL);
    expect(&caps, "tdrec -m 8 ./app", TD_OK, "; -m is", NULL);
    expect(&caps, "tdrec --call-graph dwarf ./app", TD_OK, "; --call-graph is", NULL);
    expect(&caps, "tdrec -e cpu-clock ./app", TD_OK, "\"source\": \"clock\"",
           "\"source_reason\": null", NULL);
    expect(&caps, "tdrec -p 1", TD_OK, "\"source\": \"live\"", "\"core\": \"golden-cove\"",
           "\"source_reason\": \"no hardware counters (no core PMU)\"", NULL);
    expect(&caps, "tdrec -F 99 --duration 1 -p 1", TD_OK, "\"source\": \"live\"", NULL);
    expect(&caps, "tdrec --sim-core neoverse-n2 -p 1", TD_EUSAGE, "that core runs aarch64 programs",
           NULL);
    expect(&caps, "tdrec --count -p 1", TD_OK, "\"source\": \"clock\"", NULL);
    expect(&caps, "tdrec -e cpu-clock -p 1", TD_OK, "\"source\": \"clock\"", NULL);
    expect(&caps, "tdrec -t 1", TD_OK, "\"source\": \"clock\"", NULL);
    caps.can_model = false;
    caps.cannot_model = td_xstrdup("no emulator");
    expect(&caps, "tdrec -p 1", TD_OK, "\"source\": \"clock\"",
           "\"source_reason\": \"no hardware counters (no core PMU); no emulator\"", NULL);
    td_caps_release(&caps);
}

/* The core that is modelled: named, else the nearest to the CPU; of programs for another machine,
 * and of the simulated PMU, the one there is. */
static void test_default_core(void **state)
{
    static const struct {
        const char *cpu, *program, *line, *core;
    } cases[] = {
        {"AuthenticAMD-26-2-1", NULL, "tdrec --source sim ./app", "zen5"},
        {"AuthenticAMD-25-97-2", NULL, "tdrec --source sim ./app", "zen4"},
        {"AuthenticAMD-25-1-1", NULL, "tdrec --source sim ./app", "zen3"},
        {"GenuineIntel-6-85-7", NULL, "tdrec --source sim ./app", "skylake-x"},
        {"GenuineIntel-6-94-3", NULL, "tdrec --source sim ./app", "skylake"},
        {"GenuineIntel-6-106-6", NULL, "tdrec --source sim ./app", "golden-cove"},
        {"", NULL, "tdrec --source sim ./app", "golden-cove"},
        {"AuthenticAMD-25-1-1", NULL, "tdrec --source sim --sim-core skylake ./app", "skylake"},
        {"AuthenticAMD-25-1-1", NULL, "tdrec --source sim --sim-pmu 1000 ./app", "golden-cove"},
        {"AuthenticAMD-25-1-1", "aarch64", "tdrec --source sim ./app", "neoverse-n2"},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        struct td_caps caps = caps_new();
        char *wanted = td_xasprintf("\"core\": \"%s\"", cases[i].core);

        caps.can_model = true;
        free(caps.cpu_id);
        caps.cpu_id = td_xstrdup(cases[i].cpu);
        caps.program = cases[i].program;
        expect(&caps, cases[i].line, TD_OK, wanted, NULL);
        free(wanted);
        td_caps_release(&caps);
    }
}

/* A machine with a PMU: it is taken where it counts slots and this user may. */
static void test_default_hardware(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    caps.can_model = true;
    caps.pmus = td_xcalloc(1, sizeof(*caps.pmus));
    caps.pmu_count = 1;
    caps.pmus[0] = (struct td_pmu){.name = "cpu", .type = 4, .core = true, .slots = true};
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"pmu\"", "\"source_reason\": null",
           "\"core\": \"sapphire-rapids\"", NULL);
    expect(&caps, "tdrec -F 99 ./app", TD_OK, "\"source\": \"pmu\"", NULL);
    expect(&caps, "tdrec --source clock ./app", TD_OK, "\"source\": \"clock\"", NULL);
    expect(&caps, "tdrec --pairs on ./app", TD_OK, "keep no distance", "!paired", NULL);
    expect(&caps, "tdrec --pairs of ./app", TD_EUSAGE, "auto, on and off", NULL);
    caps.cap_perfmon = true;
    expect(&caps, "tdrec -a", TD_OK, "\"attribution\": \"paired\"", "\"second_sampler\": 13",
           "\"sample_period\": 9024818", NULL);
    caps.pmus[0].max_khz = 2000000;
    expect(&caps, "tdrec -a", TD_OK, "\"sample_period\": 6016545", NULL);
    /* Level 1 needs four of the eight metrics. */
    expect(&caps, "tdrec -a --topdown-level 1", TD_OK, "topdown_be_bound", "!topdown_mem_bound",
           "!topdown_heavy_ops", "\"levels\": \"level 1 on", "\"first_sampler\": 1",
           "\"second_sampler\": 9", NULL);
    expect(&caps, "tdrec --count --topdown-level 1 ./app", TD_OK, "topdown_be_bound",
           "!topdown_mem_bound", NULL);
    expect(&caps, "tdrec -a --pairs off", TD_OK, "!paired", "!pairs of samples", NULL);
    expect(&caps, "tdrec -G some", TD_OK, "!paired", "a cgroup's counters", NULL);
    expect(&caps, "tdrec -a --pairs on -e {cycles,branches}:S", TD_OK, "\"second_sampler\": 2",
           NULL);
    expect(&caps, "tdrec -a --pairs on -e cycles", TD_OK, "!paired", "they are of groups", NULL);
    caps.cap_perfmon = false;
    expect(&caps, "tdrec --passes 2 --source clock ./app", TD_EUSAGE, "--passes", NULL);
    caps.pmus[0].slots = false;
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"sim\"", "needs the kernel's slots event",
           NULL);
    caps.pmus[0].slots = true;
    caps.pmus[0].dead = true;
    snprintf(caps.pmus[0].fault, sizeof(caps.pmus[0].fault), "its counters stay at 0");
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"sim\"",
           "\"source_reason\": \"PMU cpu: its counters stay at 0\"", NULL);
    caps.pmus[0].dead = false;
    caps.pmus[0].refused = true;
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"sim\"", "PMU cpu: its", NULL);
    expect(&caps, "tdrec --source pmu ./app", TD_OK, "\"source\": \"pmu\"", NULL);
    caps.pmus[0].refused = false;
    caps.paranoid = 3;
    expect(&caps, "tdrec ./app", TD_OK, "\"source\": \"sim\"", "perf_event_paranoid is 3", NULL);
    td_caps_release(&caps);
}

/* What a group of counters is read for is exact; the sampler's period is not, since it runs on. */
static void test_columns(void **state)
{
    static char tdrec[] = "tdrec", option[] = "-e", app[] = "./app";
    static char hardware[] = "{cycles,instructions}:S,cycles", software[] = "{cpu-clock,faults}:S";
    struct td_caps caps = caps_new();

    (void)state;
    caps.pmus = td_xcalloc(1, sizeof(*caps.pmus));
    caps.pmu_count = 1;
    caps.pmus[0] = (struct td_pmu){.name = "cpu", .type = 4, .core = true};
    for (int i = 0; i < 2; i++) {
        char *argv[] = {tdrec, option, i ? software : hardware, app, NULL};
        struct td_request request;
        struct td_plan plan = {0};

        assert_int_equal(td_request_parse(&request, 4, argv, NULL), TD_OK);
        assert_int_equal(td_source_plan(&plan, &caps, &request, NULL), TD_OK);
        const enum td_column_kind first = i ? TD_COLUMN_PERIOD : TD_COLUMN_DELTA;
        assert_int_equal(plan.groups[0].columns[0].kind, first);
        assert_int_equal(plan.groups[0].columns[1].kind, TD_COLUMN_DELTA);
        if (i == 0)
            assert_int_equal(plan.groups[1].columns[0].kind, TD_COLUMN_PERIOD);
        td_plan_release(&plan);
        td_request_release(&request);
    }
    td_caps_release(&caps);
}

/* Each run has its groups, none is twice, and one that is not needed is not made. */
static void test_passes(void **state)
{
    struct td_caps caps = caps_new();

    (void)state;
    caps.pmus = td_xcalloc(1, sizeof(*caps.pmus));
    caps.pmu_count = 1;
    caps.pmus[0] = (struct td_pmu){.name = "cpu", .type = 4, .core = true, .slots = true};
    expect(&caps, "tdrec ./app", TD_OK, "!\"passes\"", "--passes records them",
           "\"levels\": \"level 1, 2 on sapphire-rapids\"",
           "level 3 of light_operations, heavy_operations, fetch_latency, fetch_bandwidth",
           "\"precise samples\"", NULL);
    caps.pmus[0].max_precise = 3;
    expect(&caps, "tdrec ./app", TD_OK, "!\"precise samples\"", NULL);
    expect(&caps, "tdrec --topdown-level 1 ./app", TD_OK, "!level 2", "!level 3", NULL);
    expect(&caps, "tdrec --passes 2 ./app", TD_OK, "\"passes\": 2", "\"pass\": 2",
           "\"name\": \"branch\"", NULL);
    expect(&caps, "tdrec --passes 32 ./app", TD_OK, "\"passes\": 20", "!\"pass\": 21",
           "fewer runs do", "!--passes records them", NULL);
    expect(&caps, "tdrec --topdown-level 3 ./app", TD_OK,
           "level 3 of light_operations, heavy_operations, fetch_latency, fetch_bandwidth", NULL);
    expect(&caps, "tdrec --passes 2 -p 1", TD_EUSAGE, "--duration", NULL);
    expect(&caps, "tdrec --passes 2 --duration 2 -p 1", TD_OK, "\"passes\": 2", NULL);
    expect(&caps, "tdrec --passes 33 ./app", TD_EUSAGE, "32", NULL);
    td_caps_release(&caps);
}

static void test_attr(void **state)
{
    const struct td_plan_event event = {
        .type = PERF_TYPE_SOFTWARE,
        .frequency_hz = 100,
        .sideband = true,
        .build_id = true,
        .inherit = true,
        .exclude_kernel = true,
        .on_exec = true,
        .sample_type = PERF_SAMPLE_IP,
    };
    const struct perf_event_attr attr = td_attr_make(&event, 4096);

    (void)state;
    assert_int_equal(attr.size, sizeof(attr));
    assert_true(attr.freq && attr.sample_freq == 100);
    assert_true(attr.mmap && attr.mmap2 && attr.build_id && attr.comm && attr.comm_exec);
    assert_true(attr.task && attr.sample_id_all && attr.use_clockid && attr.watermark);
    assert_true(attr.disabled && attr.enable_on_exec && attr.exclude_callchain_kernel);
    assert_int_equal(attr.wakeup_watermark, 4096);
}

/* A file of a recorded tree. */
static void put_file(const char *root, const char *path, const char *text)
{
    char *full = td_xasprintf("%s%s", root, path);
    char *slash = strrchr(full, '/');

    *slash = '\0';
    assert_int_equal(td_make_dirs(full, NULL), TD_OK);
    *slash = '/';
    assert_int_equal(td_file_replace(full, text, strlen(text), NULL), TD_OK);
    free(full);
}

static void test_recorded_tree(void **state)
{
    char root[] = "/tmp/td-plan-XXXXXX";
    struct td_caps caps;

    (void)state;
    assert_non_null(mkdtemp(root));
    put_file(root, "/proc/version", "Linux version 6.1.0-18-amd64 (debian) #1 SMP\n");
    put_file(root, "/proc/cpuinfo",
             "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon\n"
             "stepping\t: 8\nflags\t\t: fpu hypervisor\n");
    put_file(root, "/proc/sys/kernel/perf_event_paranoid", "-1\n");
    put_file(root, "/proc/sys/kernel/perf_event_max_sample_rate", "50000\n");
    put_file(root, "/sys/devices/system/cpu/online", "0,3-7\n");
    put_file(root, "/sys/bus/event_source/devices/cpu/type", "4\n");
    put_file(root, "/sys/bus/event_source/devices/cpu/events/slots", "event=0x00,umask=0x4\n");
    put_file(root, "/sys/bus/event_source/devices/cpu/caps/max_precise", "3\n");
    put_file(root, "/sys/bus/event_source/devices/cpu_atom/cpus", "4-7\n");
    put_file(root, "/sys/bus/event_source/devices/software/type", "1\n");
    put_file(root, "/proc/self/status", "CapEff:\t0000004000000000\nSeccomp:\t2\n");
    put_file(root, "/proc/self/limits",
             "Max open files            1024                 4096                 files\n"
             "Max locked memory         unlimited            unlimited            bytes\n");
    assert_int_equal(td_caps_read(&caps, root, NULL), TD_OK);
    assert_int_equal(caps.kernel_version, 6 << 16 | 1);
    assert_string_equal(caps.kernel, "6.1.0-18-amd64");
    assert_string_equal(caps.cpu_id, "GenuineIntel-6-143-8");
    assert_string_equal(caps.hypervisor, "virtual machine");
    assert_int_equal(caps.online.len, 6);
    assert_int_equal(caps.paranoid, -1);
    assert_int_equal(caps.max_sample_rate, 50000);
    assert_true(caps.cap_perfmon && !caps.cap_ipc_lock && caps.seccomp);
    assert_int_equal(caps.nofile_hard, 4096);
    assert_int_equal(caps.memlock_bytes, UINT64_MAX);
    const struct td_pmu *pmu = td_caps_core_pmu(&caps);
    assert_non_null(pmu);
    assert_string_equal(pmu->name, "cpu");
    assert_true(pmu->slots);
    assert_int_equal(pmu->max_precise, 3);
    assert_int_equal(caps.pmus[1].cpus.len, 4);
    td_caps_release(&caps);

    struct td_err err = TD_ERR_INIT;
    assert_int_equal(td_caps_read(&caps, "/nonexistent", &err), TD_ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent"));
    td_caps_release(&caps);
    char *command = td_xasprintf("rm -r %s", root);
    FILE *rm = popen(command, "r");
    if (rm)
        pclose(rm);
    free(command);
}

/* Branch records as call stacks: Intel's core PMUs have them, and only hardware events. */
static void test_branches(void **state)
{
    struct td_caps caps = caps_new();
    struct td_pmu pmu = {.name = "cpu", .type = 4, .core = true, .branches = 32};

    (void)state;
    expect(&caps, "tdrec --call-graph lbr ./app", TD_EUNSUPPORTED, "core PMU", "use -g", NULL);
    caps.pmus = &pmu;
    caps.pmu_count = 1;
    expect(&caps, "tdrec --source clock --call-graph lbr ./app", TD_EUNSUPPORTED,
           "the source is clock", NULL);
    expect(&caps, "tdrec --plan --json --source pmu --call-graph lbr ./app", TD_OK,
           "\"CALLCHAIN\", \"PERIOD\", \"BRANCH_STACK\"",
           "[\"USER\", \"CALL_STACK\", \"NO_FLAGS\", \"NO_CYCLES\"]", "!REGS_USER", NULL);
    expect(&caps, "tdrec --plan --json --source pmu ./app", TD_OK, "!BRANCH_STACK", NULL);
    pmu.branches = 0;
    expect(&caps, "tdrec --source pmu --call-graph lbr ./app", TD_EUNSUPPORTED, "Haswell", "use -g",
           NULL);
    pmu.branches = 16;
    caps.cpu_id[0] = 'A'; /* AMD's do not follow calls */
    expect(&caps, "tdrec --source pmu --call-graph lbr ./app", TD_EUNSUPPORTED, "Haswell", NULL);
    caps.pmus = NULL;
    caps.pmu_count = 0;
    td_caps_release(&caps);
}

/* Which samples tell latencies, by machine: without asking where they can, and with -W or :R a
 * sentence where they cannot. */
static void test_latency(void **state)
{
    struct td_caps caps = caps_new();
    struct td_pmu pmus[] = {
        {.name = "cpu", .type = 4, .core = true, .slots = true, .max_precise = 3},
        {.name = "ibs_op", .type = 9}};
    const char *weights = "\"PERIOD\", \"WEIGHT_STRUCT\"]",
               *sources = "\"DATA_SRC\", \"WEIGHT_STRUCT\"]";

    (void)state;
    caps.pmus = pmus;
    caps.pmu_count = 1;
    expect(&caps, "tdrec -e r20d1:pp ./app", TD_OK, sources, NULL);
    expect(&caps, "tdrec -W -e r1c2:p ./app", TD_OK, weights, "!DATA_SRC", NULL);
    expect(&caps, "tdrec -e {cycles,instructions:p}:S ./app", TD_EUSAGE, "precise", NULL);
    expect(&caps, "tdrec -e r20d1 ./app", TD_OK, "!WEIGHT", NULL);
    expect(&caps, "tdrec -W -e r20d1 ./app", TD_EUNSUPPORTED, "r20d1", "EVENT:p", NULL);
    expect(&caps, "tdrec -W -e cpu-clock ./app", TD_EUNSUPPORTED, "the kernel counts it", NULL);
    expect(&caps, "tdrec -W --source clock ./app", TD_EUNSUPPORTED, "the source is clock", NULL);
    expect(&caps, "tdrec -W --count ./app", TD_EUSAGE, "-W", NULL);
    expect(&caps, "tdrec -W ./app", TD_OK, "WEIGHT_STRUCT", NULL);
    expect(&caps, "tdrec -e r20d1:R ./app", TD_EUNSUPPORTED, "r20d1:R", "Granite Rapids", NULL);
    caps.kernel_version = 5 << 16 | 10;
    expect(&caps, "tdrec -e r20d1:pp ./app", TD_OK, "!WEIGHT", NULL);
    expect(&caps, "tdrec -W -e r20d1:pp ./app", TD_EUNSUPPORTED, "Linux before 5.12", NULL);
    caps.kernel_version = 6 << 16 | 12;
    free(caps.cpu_id);
    caps.cpu_id = td_xstrdup("GenuineIntel-6-173-1"); /* Granite Rapids */
    expect(&caps, "tdrec -e r20d1:R ./app", TD_OK, sources, "\"precise_ip\": 1", NULL);
    expect(&caps, "tdrec -e r20d1:ppR ./app", TD_OK, "\"precise_ip\": 2", NULL);
    expect(&caps, "tdrec --count -e r20d1:R ./app", TD_EUSAGE, "--count takes none", NULL);
    caps.kernel_version = 6 << 16 | 1;
    expect(&caps, "tdrec -e r20d1:R ./app", TD_EUNSUPPORTED, "Linux before 6.3", NULL);
    caps.kernel_version = 6 << 16 | 12;
    pmus[0].max_precise = 0;
    expect(&caps, "tdrec -e r20d1:R ./app", TD_EUNSUPPORTED, "no precise samples", NULL);
    free(caps.cpu_id);
    caps.cpu_id = td_xstrdup("AuthenticAMD-25-17-1");
    expect(&caps, "tdrec -W --source pmu -e cycles ./app", TD_EUNSUPPORTED, "no PMU ibs_op", NULL);
    expect(&caps, "tdrec -e cycles:R ./app", TD_EUNSUPPORTED, "this core has none", NULL);
    caps.pmu_count = 2;
    expect(&caps, "tdrec -W --source pmu -e cycles ./app", TD_EUNSUPPORTED, "EVENT:p", NULL);
    free(caps.cpu_id);
    caps.cpu_id = td_xstrdup("0x410fd490");
    expect(&caps, "tdrec -W --source pmu -e cycles ./app", TD_EUNSUPPORTED, "arm_spe", NULL);
    caps.pmus = NULL;
    caps.pmu_count = 0;
    td_caps_release(&caps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),           cmocka_unit_test(test_privilege),
        cmocka_unit_test(test_scopes),           cmocka_unit_test(test_rates),
        cmocka_unit_test(test_events),           cmocka_unit_test(test_hardware_events),
        cmocka_unit_test(test_sources),          cmocka_unit_test(test_attr),
        cmocka_unit_test(test_recorded_tree),    cmocka_unit_test(test_branches),
        cmocka_unit_test(test_default),          cmocka_unit_test(test_default_core),
        cmocka_unit_test(test_default_hardware), cmocka_unit_test(test_passes),
        cmocka_unit_test(test_columns),          cmocka_unit_test(test_latency),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
