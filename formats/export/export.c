/* SPDX-License-Identifier: MIT */
#include "formats/export/export.h"

#include <string.h>

extern const struct td_exporter td_export_folded, td_export_pprof, td_export_firefox,
    td_export_callgrind, td_export_speedscope, td_export_json, td_export_csv, td_export_ndjson;

const struct td_exporter *const td_exporters[] = {
    &td_export_folded,    &td_export_pprof,      &td_export_firefox,
    &td_export_callgrind, &td_export_speedscope, &td_export_json,
    &td_export_csv,       &td_export_ndjson,     NULL,
};

const struct td_exporter *td_exporter_by_name(const char *name)
{
    for (const struct td_exporter *const *e = td_exporters; *e; e++) {
        if (strcmp((*e)->name, name) == 0)
            return *e;
    }
    return NULL;
}
