# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_sim >profile.td
tdreport functions --category bad_speculation -w 80
