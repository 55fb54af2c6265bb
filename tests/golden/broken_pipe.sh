# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
tdreport functions --json | true
echo "${PIPESTATUS[0]}" | sed "s/^141$/0/"
