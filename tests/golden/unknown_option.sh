# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
tdreport functions --percent-limt 3
