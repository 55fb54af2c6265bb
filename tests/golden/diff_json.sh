# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >old.td
make_faster golden-cove 1000000000 >new.td
tdreport diff old.td new.td --json
