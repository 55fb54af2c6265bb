# SPDX-License-Identifier: MIT
# What a table is sorted by is shown in it.
. "$CASES/profiles.inc"
make_sim >profile.td
COLUMNS=80 tdreport functions -s dram_bound
COLUMNS=80 tdreport functions -s Instructions
