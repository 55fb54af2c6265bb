# SPDX-License-Identifier: MIT
# One program on several modelled cores: a column each.
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >one.td
make_faster gracemont 1000000000 >two.td
make_faster zen5 2000000000 >three.td
COLUMNS=80 tdreport diff one.td two.td three.td
