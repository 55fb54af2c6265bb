# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
LC_ALL=C tdreport functions -w 60
