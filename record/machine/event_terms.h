/* SPDX-License-Identifier: MIT */
/*
 * Events as sysfs describes them: a PMU's format files say where a term's bits go, its event files
 * are lists of terms, and users write lists of their own (cpu/event=0x3c,umask=0/). Pure.
 */
#ifndef TD_RECORD_MACHINE_EVENT_TERMS_H
#define TD_RECORD_MACHINE_EVENT_TERMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/machine/caps.h"

/* Sets the bits of "event=0x3c,umask=0x1,edge" in config, config1, config2. A term is one of the
 * PMU's formats, one of its events, or config, config1, config2. TD_EUSAGE with the term. */
int td_terms_encode(const struct td_pmu *pmu, const char *terms, size_t len, uint64_t config[3],
                    struct td_err *err);

/* The terms of the PMU's event of this name; NULL when it has none. */
const char *td_terms_event(const struct td_pmu *pmu, const char *name, size_t len);

#endif
