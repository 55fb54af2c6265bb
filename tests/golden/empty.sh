# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
printf "env source clock\nclock 1000\n" | "$COMPOSE" >profile.td
tdreport
