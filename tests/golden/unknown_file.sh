# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >x.td
tdreport x.td
