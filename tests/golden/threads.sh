# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
tdreport threads -w 80 -s name
