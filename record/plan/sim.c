/* SPDX-License-Identifier: MIT */
/* The plan of the `sim` source: no events, only the core that is modelled; and of `hybrid`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/cores/core.h"
#include "formats/cores/variant.h"
#include "record/machine/host_core.h"
#include "record/plan/plan.h"
#include "record/sim/share/guest.h"

static int read_core(struct td_core_desc *desc, const struct td_caps *caps, const char *name,
                     struct td_err *err)
{
    const size_t len = strcspn(name, "+");

    if (len != strlen(TD_HOST_CORE) || strncmp(name, TD_HOST_CORE, len) != 0)
        return td_core_desc_builtin(desc, name, err);
    if (!caps->host_core)
        return td_fail(err, TD_ENOENT,
                       "--sim-core " TD_HOST_CORE ": nothing was calibrated here yet: run "
                       "tdrec --calibrate (some 20 seconds)");
    const int rc = td_core_desc_text(desc, caps->host_core, err);
    if (rc < 0)
        td_err_prefix(err, "--sim-core " TD_HOST_CORE
                           ": what was calibrated here is not for this version (tdrec --calibrate "
                           "makes it anew)");
    return rc == TD_OK && name[len] ? td_variant_apply(desc, name + len + 1, err) : rc;
}

/* The named core nearest to this machine's, when the program runs on such a machine. Only the
 * guest's own has a PMU to sample. */
static const char *default_core(const struct td_caps *caps, const struct td_request *request,
                                const struct td_guest *guest)
{
    if (request->sim_pmu)
        return guest->core;
    return td_guest_by_name(caps->machine) == guest ? td_host_core_base(caps->cpu_id, caps->code_kb)
                                                    : guest->core;
}

/* One core of --what-if; what stands twice is modelled once. */
static int add_variant(struct td_plan *plan, const char *words, struct td_err *err)
{
    struct td_core_desc desc = plan->core_desc;
    const int rc = td_variant_apply(&desc, words, err);

    if (rc < 0) {
        td_err_prefix(err, "--what-if");
        return rc;
    }
    for (size_t i = 0; i < plan->variant_count; i++) {
        if (strcmp(plan->variants[i].name, desc.name) == 0)
            return TD_OK;
    }
    if (plan->variant_count == TD_VARIANTS_MAX)
        return td_fail(err, TD_EUSAGE, "--what-if: at most %d cores are modelled beside the core",
                       TD_VARIANTS_MAX);
    plan->variants[plan->variant_count++] = desc;
    return TD_OK;
}

static int add_variants(struct td_plan *plan, const struct td_opt_list *lists, struct td_err *err)
{
    int rc = TD_OK;

    if (lists->len > 0)
        plan->variants = td_xcalloc(TD_VARIANTS_MAX, sizeof(*plan->variants));
    for (size_t i = 0; i < lists->len; i++) {
        char *list = td_xstrdup(lists->items[i]), *rest = list;

        for (char *words; rc == TD_OK && (words = strsep(&rest, ","));)
            rc = add_variant(plan, words, err);
        free(list);
    }
    return rc;
}

int td_plan_sim(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                struct td_err *err)
{
    const struct td_guest *guest = td_guest_by_name(caps->program ? caps->program : caps->machine);
    struct td_core_desc desc = {.mhz = 0};

    if (request->events.len)
        return td_fail(err, TD_EUSAGE, "-e %s: the modelled core takes no events",
                       request->events.items[0]);
    if (request->control && plan->source == TD_SOURCE_SIM)
        return td_fail(err, TD_EUSAGE,
                       "--control: the modelled core counts all of the command; --source clock or "
                       "pmu can be switched on and off");
    if (!guest)
        return td_fail(err, TD_EUNSUPPORTED,
                       "--source sim models x86-64 and aarch64 programs; this machine is %s",
                       caps->machine);
    const char *core = request->sim_core ? request->sim_core : default_core(caps, request, guest);
    const int rc = read_core(&desc, caps, core, err);
    if (rc < 0)
        return rc;
    if (strcmp(desc.isa, guest->name) != 0)
        return td_fail(err, TD_EUSAGE,
                       "--sim-core %s: that core runs %s programs, the command is one for %s "
                       "(--sim-core %s)",
                       core, td_guest_by_name(desc.isa)->title, guest->title, guest->core);
    plan->method = TD_METHOD_TASK;
    plan->follow = false;
    snprintf(plan->core, sizeof(plan->core), "%s", desc.name);
    plan->core_desc = desc;
    const int varied = add_variants(plan, &request->what_if, err);
    if (varied < 0)
        return varied;
    const char *option = td_request_sampling_option(request);
    if (option && plan->source == TD_SOURCE_SIM)
        td_plan_leave_out(plan, option,
                          "the modelled core takes no samples, it counts all of the command");
    return TD_OK;
}

int td_plan_hybrid(struct td_plan *plan, const struct td_caps *caps,
                   const struct td_request *request, struct td_err *err)
{
    int rc = td_plan_sim(plan, caps, request, err);

    if (rc == TD_OK)
        rc = td_plan_decide_method(plan, caps, request, err);
    return rc == TD_OK ? td_plan_clock(plan, caps, request, err) : rc;
}

int td_plan_live(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                 struct td_err *err)
{
    if (request->scope != TD_SCOPE_COMMAND && request->scope != TD_SCOPE_PROCESS)
        return td_fail(err, TD_EUSAGE, "--source live records a command or processes (-p)");
    return td_plan_hybrid(plan, caps, request, err);
}
