# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
tdreport export --format folded -i nowhere.td
