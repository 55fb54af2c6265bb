# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_pmu >profile.td
COLUMNS=80 tdreport
