/* SPDX-License-Identifier: MIT */
/* The functions of tdprof/region.h for languages that do not read it: libtdprof-region.so. */
#define tdprof_region_begin begin_here
#define tdprof_region_end   end_here
#include "region/tdprof/region.h"
#undef tdprof_region_begin
#undef tdprof_region_end

void tdprof_region_begin(const char *name);
void tdprof_region_end(const char *name);

void tdprof_region_begin(const char *name)
{
    begin_here(name);
}

void tdprof_region_end(const char *name)
{
    end_here(name);
}
