# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
tdreport export --format folded -o out.folded && sort out.folded && ls
