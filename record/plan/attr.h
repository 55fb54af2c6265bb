/* SPDX-License-Identifier: MIT */
/* A plan's event as the kernel's perf_event_attr, and the names of its bits. */
#ifndef TD_RECORD_PLAN_ATTR_H
#define TD_RECORD_PLAN_ATTR_H

#include <linux/perf_event.h>

#include "formats/export/json.h"
#include "record/plan/plan.h"

/* `watermark_bytes`: how full a ring is when it wakes the reader. */
struct perf_event_attr td_attr_make(const struct td_plan_event *event, uint32_t watermark_bytes);

/* Arrays of bit names, as the man page writes them without their prefix. */
void td_attr_sample_type_json(struct td_json *json, const char *key, uint64_t bits);
void td_attr_read_format_json(struct td_json *json, const char *key, uint64_t bits);
void td_attr_branch_type_json(struct td_json *json, const char *key, uint64_t bits);
/* "IP|TID|TIME" into `buf`, which is returned. */
const char *td_attr_sample_type_text(char *buf, size_t size, uint64_t bits);

#endif
