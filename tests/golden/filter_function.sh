# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
tdreport functions --function Parser::match --function 'driver*' -w 80
