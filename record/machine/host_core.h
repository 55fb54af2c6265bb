/* SPDX-License-Identifier: MIT */
/* The description of this machine's own core: a named one with what was measured here. */
#ifndef TD_RECORD_MACHINE_HOST_CORE_H
#define TD_RECORD_MACHINE_HOST_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TD_HOST_CORE "host"

/* The named core that is nearest to a CPU of this id (td_caps.cpu_id) with a cache for code of so
 * many kB (0: not known). Never NULL. */
const char *td_host_core_base(const char *cpu_id, uint32_t code_kb);

/* A number of the description: KEY VALUE. */
struct td_host_value {
    const char *key;
    double value; /* brought into the key's range */
};

/* The model part of the description `base`, under the name TD_HOST_CORE, with the title and the
 * values given; newly allocated. NULL when there is no such core. Pure. */
char *td_host_core_text(const char *base, const char *title, const struct td_host_value *values,
                        size_t count);

/* Where it is kept; newly allocated. NULL when the user has no home. */
char *td_host_core_path(void);
/* Its text, newly allocated; NULL when nothing was calibrated. */
char *td_host_core_read(void);
int td_host_core_write(const char *text, struct td_err *err);

#endif
