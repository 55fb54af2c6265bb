/* SPDX-License-Identifier: MIT */
/* How a core measures a node of the tree: its formula, the events that this needs, and the run of a
 * recording that counts them. */
#ifndef TD_REPORT_QUERY_EXPLAIN_H
#define TD_REPORT_QUERY_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/cores/pmu.h"

#define TD_EXPLAINED_CORES_MAX 4

/* One kind of core. */
struct td_explained_core {
    struct td_uarch *uarch;
    struct td_pmu_core *core; /* borrows from `uarch` */
    const char *modelled;     /* the model that it stands for: "golden-cove" is counted as
                                 sapphire-rapids; NULL: none was asked for */
};

/* The kinds of cores that are explained; hybrid CPUs have several. */
struct td_explained_cores {
    struct td_explained_core at[TD_EXPLAINED_CORES_MAX];
    size_t len;
};

/* The core of this name. TD_EUSAGE with the names that there are; TD_ENODATA when it is modelled
 * only. */
int td_explained_named(struct td_explained_cores *ret, const char *name, struct td_err *err);
/* This machine's cores; none when no description fits. `root` as of base/procfs.h. */
void td_explained_here(struct td_explained_cores *ret, const char *root);
void td_explained_release(struct td_explained_cores *cores);

struct td_node_counted {
    char *formula; /* "l3_bound = (a - b) / cycles"; NULL: the core does not count this node */
    const char **events;
    size_t event_count;
    uint32_t run;        /* of `tdrec --passes`, after which all are counted; 0: some never are */
    const char *locator; /* the event that says where; NULL: none */
    double threshold;    /* the core's own, or the usual one; NaN: none */
};

void td_node_counted_of(struct td_node_counted *ret, const struct td_explained_core *core,
                        enum td_tma_node node);
void td_node_counted_release(struct td_node_counted *counted);

#endif
