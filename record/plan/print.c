/* SPDX-License-Identifier: MIT */
#include "record/plan/print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/export/json.h"
#include "record/plan/attr.h"

/* The CPUs of a group; "any" when one instance follows its task over all of them. */
static char *cpus_text(const struct td_plan_group *group)
{
    return group->cpus.len ? td_cpulist_text(&group->cpus) : td_xstrdup("any");
}

static void hex_json(struct td_json *json, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    td_json_string(json, key, text);
}

static void event_json(struct td_json *json, const struct td_plan_event *event)
{
    td_json_object(json, NULL);
    td_json_string(json, "name", event->name);
    td_json_u64(json, "type", event->type);
    hex_json(json, "config", event->config[0]);
    hex_json(json, "config1", event->config[1]);
    hex_json(json, "config2", event->config[2]);
    td_json_u64(json, "sample_period", event->period);
    td_json_u64(json, "freq", event->frequency_hz);
    td_json_u64(json, "precise_ip", event->precise_ip);
    td_json_bool(json, "inherit", event->inherit);
    td_json_bool(json, "exclude_user", event->exclude_user);
    td_json_bool(json, "exclude_kernel", event->exclude_kernel);
    td_json_bool(json, "exclude_hv", event->exclude_hv);
    td_json_bool(json, "exclude_idle", event->exclude_idle);
    if (event->exclude_host)
        td_json_bool(json, "exclude_host", true);
    if (event->exclude_guest)
        td_json_bool(json, "exclude_guest", true);
    if (event->pinned)
        td_json_bool(json, "pinned", true);
    td_json_bool(json, "enable_on_exec", event->on_exec);
    if (event->switches)
        td_json_bool(json, "context_switch", true);
    td_json_bool(json, "sideband", event->sideband);
    td_attr_sample_type_json(json, "sample_type", event->sample_type);
    td_attr_read_format_json(json, "read_format", event->read_format);
    td_attr_branch_type_json(json, "branch_sample_type", event->branch_sample_type);
    hex_json(json, "sample_regs_user", event->user_regs);
    td_json_u64(json, "sample_stack_user", event->stack_bytes);
    td_json_end(json);
}

static void group_json(struct td_json *json, const struct td_plan *plan,
                       const struct td_plan_group *group)
{
    char *cpus = cpus_text(group);

    td_json_object(json, NULL);
    td_json_string(json, "name", group->name);
    td_json_string(json, "cpus", cpus);
    if (group->cpu_type[0])
        td_json_string(json, "cpu_type", group->cpu_type);
    if (plan->passes > 1)
        td_json_u64(json, "pass", group->pass);
    td_json_string(json, "role", td_group_role_name(group->role));
    td_json_string(json, "attribution", td_attribution_name(group->attribution));
    if (group->attribution == TD_ATTRIBUTION_PAIRED) {
        td_json_u64(json, "first_sampler", group->sampler);
        td_json_u64(json, "second_sampler", group->second);
        td_json_u64(json, "pair_ns", group->pair_ns);
    }
    td_json_array(json, "events");
    for (size_t i = 0; i < group->event_count; i++)
        event_json(json, &group->events[i]);
    td_json_end(json);
    td_json_end(json);
    free(cpus);
}

static const char *method_name(const struct td_plan *plan)
{
    return plan->method == TD_METHOD_CPU ? "per-cpu" : "per-task";
}

void td_plan_print_json(const struct td_plan *plan, FILE *out)
{
    struct td_json json = td_json_init(out, 2);

    td_json_object(&json, NULL);
    td_json_string(&json, "schema", "tdrec-plan/1");
    td_json_string(&json, "source", td_source_name(plan->source));
    td_json_string(&json, "source_reason", plan->source_reason[0] ? plan->source_reason : NULL);
    td_json_string(&json, "core", plan->core[0] ? plan->core : NULL);
    td_json_string(&json, "scope", td_scope_name(plan->scope));
    td_json_string(&json, "method", method_name(plan));
    td_json_string(&json, "privilege", plan->privilege[0] ? plan->privilege : NULL);
    if (plan->levels[0])
        td_json_string(&json, "levels", plan->levels);
    if (plan->passes > 1)
        td_json_u64(&json, "passes", plan->passes);
    td_json_array(&json, "groups");
    for (size_t i = 0; i < plan->group_count; i++)
        group_json(&json, plan, &plan->groups[i]);
    td_json_end(&json);
    td_json_array(&json, "left_out");
    for (size_t i = 0; i < plan->left_out_count; i++) {
        td_json_object(&json, NULL);
        td_json_string(&json, "what", plan->left_out[i].what);
        td_json_string(&json, "why", plan->left_out[i].why);
        td_json_end(&json);
    }
    td_json_end(&json);
    td_json_end(&json);
}

static void event_text(const struct td_plan_event *event, bool samples, uint64_t later_ns,
                       FILE *out)
{
    char bits[256];

    fprintf(out, "  %-20s type %u config 0x%" PRIx64, event->name, event->type, event->config[0]);
    if (event->config[1])
        fprintf(out, " config1 0x%" PRIx64, event->config[1]);
    if (event->precise_ip)
        fprintf(out, ", precise_ip %u", event->precise_ip);
    if (samples && event->frequency_hz)
        fprintf(out, ", %" PRIu64 " Hz", event->frequency_hz);
    else if (samples)
        fprintf(out, ", period %" PRIu64, event->period);
    if (later_ns)
        fprintf(out, ", about %" PRIu64 " ns later", later_ns);
    fprintf(out, "%s%s%s%s", event->inherit ? ", inherit" : "",
            event->exclude_kernel ? ", user only" : "", event->exclude_user ? ", kernel only" : "",
            event->sideband ? ", sideband" : "");
    if (samples)
        fprintf(out, "\n  %-20s %s", "",
                td_attr_sample_type_text(bits, sizeof(bits), event->sample_type));
    fputc('\n', out);
}

static bool runs_in(const struct td_plan_group *group, unsigned pass)
{
    return group->pass == 0 || group->pass == pass;
}

/* Descriptors of one run, and how many of them a CPU has at most. */
static size_t count_descriptors(const struct td_plan *plan, unsigned pass, size_t *a_cpu)
{
    size_t all = 0;

    for (size_t i = 0; i < plan->group_count; i++) {
        const struct td_plan_group *group = &plan->groups[i];
        const struct td_cpulist *cpus = &group->cpus;
        size_t here = 0;

        if (!runs_in(group, pass))
            continue;
        all += group->event_count * (cpus->len ? cpus->len : 1);
        for (size_t k = 0; k < plan->group_count; k++) {
            const struct td_plan_group *other = &plan->groups[k];

            if (runs_in(other, pass) && (cpus->len == 0 || other->cpus.len == 0 ||
                                         td_cpulist_has(&other->cpus, cpus->cpus[0])))
                here += other->event_count;
        }
        *a_cpu = here > *a_cpu ? here : *a_cpu;
    }
    return all;
}

static void descriptors_text(const struct td_plan *plan, FILE *out)
{
    size_t most = 0, a_cpu = 0;

    for (unsigned pass = 1; pass <= plan->passes; pass++) {
        const size_t all = count_descriptors(plan, pass, &a_cpu);

        most = all > most ? all : most;
    }
    fprintf(out, "events %zu per CPU, descriptors %zu%s\n", a_cpu, most,
            plan->per_thread || (plan->method == TD_METHOD_TASK && plan->scope == TD_SCOPE_PROCESS)
                ? " for each thread that runs"
                : "");
}

void td_plan_print_text(const struct td_plan *plan, FILE *out)
{
    char text[768];

    fprintf(out, "source %s%s%s\n", td_source_name(plan->source),
            plan->source_reason[0] ? ": " : "", plan->source_reason);
    if (plan->core[0])
        fprintf(out, "core %s%s%s\n", plan->core, plan->levels[0] ? ": " : "", plan->levels);
    fprintf(out, "scope %s, %s events\n", td_scope_name(plan->scope), method_name(plan));
    descriptors_text(plan, out);
    for (size_t i = 0; i < plan->group_count; i++) {
        const struct td_plan_group *group = &plan->groups[i];
        char *cpus = cpus_text(group);

        if (plan->passes > 1 && group->pass)
            fprintf(out, "pass %u of %u: ", group->pass, plan->passes);
        fprintf(out, "group %s%s%s, CPUs %s\n", group->name, group->cpu_type[0] ? " on " : "",
                group->cpu_type, cpus);
        for (size_t k = 0; k < group->event_count; k++) {
            const bool second = td_plan_is_second(group, k);

            event_text(&group->events[k], k == group->sampler || second,
                       second ? group->pair_ns : 0, out);
        }
        free(cpus);
    }
    if (plan->privilege[0])
        fprintf(out, "%s\n", plan->privilege);
    for (size_t i = 0; i < plan->left_out_count; i++) {
        if (td_plan_left_out_text(plan, i, text, sizeof(text)))
            fprintf(out, "left out: %s\n", text);
    }
}
