# SPDX-License-Identifier: MIT
# What the machine is built of: in the head as far as it may explain a time, in JSON whole; null where it was not said.
. "$CASES/profiles.inc"
make_clock 'env parameter machine_l1d_kb=48' 'env parameter machine_l1i_kb=32' 'env parameter machine_l2_kb=2048' \
    'env parameter machine_line_bytes=64' 'env parameter machine_memory_kb=65535924' 'env parameter machine_mhz=2100' \
    'env parameter machine_mhz_max=3800' 'env parameter machine_threads_per_core=2' \
    'env parameter machine_governor=powersave' > system.td
tdreport -w 80 system.td | sed -n '/^core/,/^coverage/p'
tdreport --json system.td | grep '"machine"'
make_clock > unsaid.td
tdreport -w 80 unsaid.td | grep ^core
tdreport --json unsaid.td | grep '"machine"'
