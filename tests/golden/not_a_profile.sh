# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
echo hello >profile.td
tdreport
