# SPDX-License-Identifier: MIT
# Category columns: the smallest give way where names would have no room.
. "$CASES/profiles.inc"
make_sim >profile.td
tdreport functions --level 4 --width 40
tdreport functions --level 4 --width 40 --full
