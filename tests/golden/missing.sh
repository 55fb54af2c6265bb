# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
tdreport
