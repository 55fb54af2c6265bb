# SPDX-License-Identifier: MIT
# On a narrow screen the tree's bars and the tables' words give way: no row is wider.
. "$CASES/profiles.inc"
make_sim >profile.td
tdreport -w 60 | sed -n '/^Top-down/,/^Most/p'
