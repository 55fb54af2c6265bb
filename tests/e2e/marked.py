# SPDX-License-Identifier: MIT
"""Programs with marks of regions (tdprof/region.h), for what is built in more ways than a workload is."""

SMALL = '#include <tdprof/region.h>\nint main(void)\n{\n    tdprof_region_begin("a");\n    tdprof_region_end("a");\n' \
        '    return 0;\n}\n'

CXX = r"""
#include "tdprof/region.h"
#include <stdexcept>
static volatile int sink;
int main() {
    for (int i = 0; i < 3; i++) {
        try {
            tdprof::region outer("outer");
            tdprof::region inner("inner");
            if (i == 1) throw std::runtime_error("left early");
            sink = i;
        } catch (const std::exception &) { sink = -1; }
    }
    return 0;
}
"""
