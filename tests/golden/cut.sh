# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock cut >profile.td
tdreport functions -w 80
