# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_pmu >profile.td
tdreport folded --category bad_speculation
