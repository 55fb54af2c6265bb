# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_sim >profile.td
COLUMNS=80 tdreport
