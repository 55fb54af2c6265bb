# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_hybrid >profile.td
COLUMNS=80 tdreport --topdown-level 2
