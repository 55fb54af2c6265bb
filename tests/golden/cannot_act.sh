# SPDX-License-Identifier: MIT
# An option that cannot act on the profile is refused, and says what there is.
. "$CASES/profiles.inc"
make_sim >sim.td
make_clock >clock.td
try() {
    echo "$@"
    tdreport "$@" 2>&1 | tail -1
    echo "exit ${PIPESTATUS[0]}"
}
try -i sim.td --time 1..2
try folded -i sim.td --time 0..1
try -i clock.td --time 0..1
try functions -i sim.td -s samples
try functions -i clock.td -s dram_bound
try threads -i clock.td -s file
try functions -i clock.td -s nonsense
try functions -i sim.td --category l3
try functions -i clock.td --children -s name
try folded -i clock.td --category slots
try folded -i sim.td --category samples
try export -i sim.td -f csv --category dram_bound
try export -i sim.td -f td --module kernel
try -i clock.td --topdown-level 3
try -i sim.td --event cycles
try functions -i sim.td --category misprd
try functions -i sim.td --level 6
try -i sim.td --level 3
try -i sim.td --topdown-level 6
try -i sim.td --off-cpu
