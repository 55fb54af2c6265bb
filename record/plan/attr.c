/* SPDX-License-Identifier: MIT */
#include "record/plan/attr.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

struct bit_name {
    uint64_t bit;
    const char *name;
};

#define BIT(prefix, name_)                      \
    {                                           \
        .bit = prefix##_##name_, .name = #name_ \
    }

static const struct bit_name sample_types[] = {
    BIT(PERF_SAMPLE, IP),
    BIT(PERF_SAMPLE, TID),
    BIT(PERF_SAMPLE, TIME),
    BIT(PERF_SAMPLE, ADDR),
    BIT(PERF_SAMPLE, READ),
    BIT(PERF_SAMPLE, CALLCHAIN),
    BIT(PERF_SAMPLE, ID),
    BIT(PERF_SAMPLE, CPU),
    BIT(PERF_SAMPLE, PERIOD),
    BIT(PERF_SAMPLE, STREAM_ID),
    BIT(PERF_SAMPLE, RAW),
    BIT(PERF_SAMPLE, BRANCH_STACK),
    BIT(PERF_SAMPLE, REGS_USER),
    BIT(PERF_SAMPLE, STACK_USER),
    BIT(PERF_SAMPLE, WEIGHT),
    BIT(PERF_SAMPLE, DATA_SRC),
    BIT(PERF_SAMPLE, IDENTIFIER),
    BIT(PERF_SAMPLE, TRANSACTION),
    BIT(PERF_SAMPLE, REGS_INTR),
    BIT(PERF_SAMPLE, PHYS_ADDR),
    BIT(PERF_SAMPLE, AUX),
    BIT(PERF_SAMPLE, CGROUP),
    BIT(PERF_SAMPLE, DATA_PAGE_SIZE),
    BIT(PERF_SAMPLE, CODE_PAGE_SIZE),
    BIT(PERF_SAMPLE, WEIGHT_STRUCT),
};

static const struct bit_name read_formats[] = {
    {PERF_FORMAT_TOTAL_TIME_ENABLED, "TOTAL_TIME_ENABLED"},
    {PERF_FORMAT_TOTAL_TIME_RUNNING, "TOTAL_TIME_RUNNING"},
    {PERF_FORMAT_ID, "ID"},
    {PERF_FORMAT_GROUP, "GROUP"},
    {PERF_FORMAT_LOST, "LOST"},
};

static const struct bit_name branch_types[] = {
    BIT(PERF_SAMPLE_BRANCH, USER),      BIT(PERF_SAMPLE_BRANCH, KERNEL),
    BIT(PERF_SAMPLE_BRANCH, HV),        BIT(PERF_SAMPLE_BRANCH, ANY),
    BIT(PERF_SAMPLE_BRANCH, ANY_CALL),  BIT(PERF_SAMPLE_BRANCH, ANY_RETURN),
    BIT(PERF_SAMPLE_BRANCH, IND_CALL),  BIT(PERF_SAMPLE_BRANCH, ABORT_TX),
    BIT(PERF_SAMPLE_BRANCH, IN_TX),     BIT(PERF_SAMPLE_BRANCH, NO_TX),
    BIT(PERF_SAMPLE_BRANCH, COND),      BIT(PERF_SAMPLE_BRANCH, CALL_STACK),
    BIT(PERF_SAMPLE_BRANCH, IND_JUMP),  BIT(PERF_SAMPLE_BRANCH, CALL),
    BIT(PERF_SAMPLE_BRANCH, NO_FLAGS),  BIT(PERF_SAMPLE_BRANCH, NO_CYCLES),
    BIT(PERF_SAMPLE_BRANCH, TYPE_SAVE), BIT(PERF_SAMPLE_BRANCH, HW_INDEX),
    BIT(PERF_SAMPLE_BRANCH, PRIV_SAVE),
};

static void set_sideband(struct perf_event_attr *attr, const struct td_plan_event *event)
{
    attr->mmap = 1;
    attr->mmap2 = 1;
    attr->build_id = event->build_id;
    attr->comm = 1;
    attr->comm_exec = 1;
    attr->task = 1;
}

struct perf_event_attr td_attr_make(const struct td_plan_event *event, uint32_t watermark_bytes)
{
    struct perf_event_attr attr = {
        .type = event->type,
        .size = sizeof(attr),
        .config = event->config[0],
        .config1 = event->config[1],
        .config2 = event->config[2],
        .sample_type = event->sample_type,
        .read_format = event->read_format,
        .branch_sample_type = event->branch_sample_type,
        .sample_regs_user = event->user_regs,
        .sample_stack_user = event->stack_bytes,
        .disabled = !event->at_once && !event->member,
        .enable_on_exec = event->on_exec,
        .inherit = event->inherit,
        .exclude_user = event->exclude_user,
        .exclude_kernel = event->exclude_kernel,
        .exclude_callchain_kernel = event->exclude_kernel,
        /* What the stack's bytes say is not asked of frame pointers too. */
        .exclude_callchain_user = event->exclude_user || event->stack_bytes > 0,
        .exclude_hv = event->exclude_hv,
        .exclude_idle = event->exclude_idle,
        .exclude_host = event->exclude_host,
        .exclude_guest = event->exclude_guest,
        .pinned = event->pinned,
        .context_switch = event->switches,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = 1,
        .wakeup_watermark = watermark_bytes,
    };

    attr.precise_ip = event->precise_ip & 3;
    if (event->frequency_hz) {
        attr.freq = 1;
        attr.sample_freq = event->frequency_hz;
    } else {
        attr.sample_period = event->period;
    }
    if (event->sideband)
        set_sideband(&attr, event);
    return attr;
}

static void bits_json(struct td_json *json, const char *key, const struct bit_name *names,
                      size_t count, uint64_t bits)
{
    td_json_array(json, key);
    for (size_t i = 0; i < count; i++) {
        if (bits & names[i].bit)
            td_json_string(json, NULL, names[i].name);
    }
    td_json_end(json);
}

void td_attr_sample_type_json(struct td_json *json, const char *key, uint64_t bits)
{
    bits_json(json, key, sample_types, TD_ARRAY_SIZE(sample_types), bits);
}

void td_attr_read_format_json(struct td_json *json, const char *key, uint64_t bits)
{
    bits_json(json, key, read_formats, TD_ARRAY_SIZE(read_formats), bits);
}

void td_attr_branch_type_json(struct td_json *json, const char *key, uint64_t bits)
{
    bits_json(json, key, branch_types, TD_ARRAY_SIZE(branch_types), bits);
}

const char *td_attr_sample_type_text(char *buf, size_t size, uint64_t bits)
{
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < TD_ARRAY_SIZE(sample_types); i++) {
        if (!(bits & sample_types[i].bit) || len >= size)
            continue;
        len +=
            (size_t)snprintf(buf + len, size - len, "%s%s", len ? "|" : "", sample_types[i].name);
    }
    return buf;
}
