# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
tdreport annotate "[unknown]"
