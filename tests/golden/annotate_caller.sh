# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
tdreport annotate driver_poll | tail -n 4
tdreport annotate do_syscall_64
