# SPDX-License-Identifier: MIT
# In time, and of a category: a word of its name is enough, in any case.
. "$CASES/profiles.inc"
make_sim >profile.td
tdreport callers branchy
tdreport callees --category DRAM chase
tdreport functions --children --category mispred
tdreport functions --category Dram
tdreport functions --category bound 2>&1
tdreport folded --category L1
tdreport functions -s mispredicts -n 1
tdreport callees --json --category dram chase | grep -c '"time_ns": 50000000'
