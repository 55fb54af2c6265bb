# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >whole.td
# the first byte of the last chunks
size=$(wc -c <whole.td)
{ head -c $((size - 60)) whole.td; printf X; tail -c 59 whole.td; } >profile.td
tdreport functions -w 80
