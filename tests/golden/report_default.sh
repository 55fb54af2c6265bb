# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
COLUMNS=80 tdreport
