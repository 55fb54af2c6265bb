# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >whole.td
head -c $(($(wc -c <whole.td) - 20)) whole.td >profile.td
tdreport functions -w 80
