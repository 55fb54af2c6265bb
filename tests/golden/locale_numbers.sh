# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 tdreport functions --json | grep -c "0\.5"
